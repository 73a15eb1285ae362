"""The sample world: correct Korean, valid schemas, and the truth that each generator says it planted."""

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import sample_world
from helpers.sample_world.particles import FORMS, final_sound, particle

GENERATORS = ("entities", "relations", "documents", "lambada", "posts")
HANGUL = st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3)


def generate(name: str, split: str = "train", rows: int = 300, seed: int = 0) -> list[dict]:
    return list(getattr(sample_world, name)(split, rows, seed))


# Particles


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


# Every generator


@pytest.mark.parametrize("name", GENERATORS)
def test_a_shorter_request_is_the_prefix_of_a_longer_one(name):
    assert generate(name, rows=40) == generate(name, rows=90)[:40]
    assert generate(name, "dev", rows=40, seed=1) != generate(name, "dev", rows=40, seed=2)
    assert generate(name, rows=0) == []


@pytest.mark.parametrize("name", GENERATORS)
def test_bad_requests_are_refused(name):
    with pytest.raises(ValueError, match="split"):
        generate(name, "test")
    with pytest.raises(ValueError, match="rows"):
        generate(name, rows=-1)


def test_rows_do_not_depend_on_the_hash_seed_or_on_earlier_calls():
    code = (
        "import sys, json, zlib; from helpers import sample_world as w\n"
        "names = sys.argv[1].split(',')\n"
        "out = {n: zlib.crc32(json.dumps(list(getattr(w, n)('dev', 60, 5))).encode()) for n in names}\n"
        "print(sorted(out.items()))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code, ",".join(names)],
            env={"PYTHONHASHSEED": salt, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for salt, names in (("1", GENERATORS), ("2", GENERATORS[::-1]))
    }
    assert len(runs) == 1
