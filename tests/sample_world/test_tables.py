"""The data files: every template parses, every list has entries, and reading them is quick."""

import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.sample_world.tables import table, words
from helpers.sample_world.templates import parse, slots

FILES = ("documents", "entities", "lambada", "posts", "relations")


def strings(value: object) -> Iterator[str]:
    """All strings of a table, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)
    else:
        pytest.fail(f"expected text, lists and mappings only; got {value!r}")


ALL_TEMPLATES = [text for name in FILES for text in strings(table(name)) if text]


@given(st.sampled_from(ALL_TEMPLATES))
def test_every_template_parses_and_names_its_particles_correctly(template):
    """A bracketed Hangul group that is no particle would raise; a slot must not be empty."""
    assert all(slots(template)) and parse(template)


def test_word_lists_are_running_text_or_lists():
    assert words("town_suffixes") == ("시", "군", "읍", "동", "마을", "섬")
    assert words("club_suffixes")[:2] == (" FC", " 호크스")
    assert all(words(name) and all(words(name)) for name in table("words"))


def test_the_files_are_read_in_a_tenth_of_a_second():
    """6 ms when built. CPU time: a busy machine does not matter."""
    start = time.process_time()
    for name in (*FILES, "words"):
        table.__wrapped__(name)
    assert time.process_time() - start < 0.1
