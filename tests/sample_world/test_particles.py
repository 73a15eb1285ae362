"""Particles agree with the sound that precedes them: Hangul, digits, letters, units, quotes and glosses."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.sample_world.particles import FORMS, final_sound, particle

HANGUL = st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3)


@given(st.text(HANGUL, min_size=1), st.sampled_from(sorted(FORMS)))
def test_particles_follow_the_final_consonant(word, form):
    """Oracle: Unicode's canonical decomposition has a third jamo exactly when there is a final consonant."""
    jamo = unicodedata.normalize("NFD", word[-1])
    consonant, vowel = FORMS[form]
    soft = len(jamo) == 2 or (form.startswith("으로") and jamo[2] == "\u11af")
    assert particle(word, form) == (vowel if soft else consonant)


@given(st.text(HANGUL, min_size=1), st.text(HANGUL), st.sampled_from(("({})", "({})’", " ({})")))
def test_a_bracketed_gloss_is_transparent(word, gloss, bracket):
    assert final_sound(word + bracket.format(gloss)) == final_sound(word)


@pytest.mark.parametrize(
    ("text", "form", "want"),
    [
        ("3", "은", "은"),
        ("2", "은", "는"),
        ("1", "으로", "로"),
        ("10", "으로", "으로"),
        ("20,000", "을", "을"),
        ("0.5", "이", "가"),
        ("3km", "을", "를"),
        ("12%", "은", "는"),
        ("KBL", "으로", "로"),
        ("DKN", "이", "이"),
        ("SG", "과", "와"),
        ("서울", "으로", "로"),
        ("‘하늘’", "이라", "이라"),
        ("나래(1990년 ~ )", "은", "는"),
    ],
)
def test_numbers_letters_and_quotes_are_read_aloud(text, form, want):
    assert particle(text, form) == want


def test_an_unknown_particle_is_refused():
    with pytest.raises(ValueError, match="form after a consonant"):
        particle("말", "는")
