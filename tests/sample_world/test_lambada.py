"""Items with a gap: the story decides, and the particle gives nothing away."""

import pytest

from helpers.sample_world import PLANTED
from helpers.sample_world.particles import final_sound, particle

from . import generate


def test_lambada_is_decided_by_the_story_alone():
    rows = generate("lambada", "dev", rows=800)
    first = 0
    for row in rows:
        *context, last = row["text"].split(". ")
        answer, candidate, story = row["answer"], row["candidate"], ". ".join(context)
        assert row["text"].count("_") == last.count("_") == 1
        assert answer in story and candidate in story and answer != candidate
        assert final_sound(answer) == final_sound(candidate)
        first += story.index(answer) < story.index(candidate)
    assert first / len(rows) == pytest.approx(PLANTED["lambada"]["chance"], abs=0.07)


def test_a_filled_gap_agrees_with_its_particle():
    for row in generate("lambada", rows=300):
        after = row["text"].partition("_")[2]
        form = next(f for f in ("이었", "였", "은", "는", "을", "를") if after.startswith(f))
        consonant = {"였": "이었", "는": "은", "를": "을"}.get(form, form)
        assert particle(row["answer"], consonant) == form
