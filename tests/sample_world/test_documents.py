"""Documents: length, a cast that comes back, pronouns, names that are new in dev."""

import re

import pytest

from helpers.sample_world import PLANTED
from helpers.sample_world.tables import words

from . import generate


def test_documents_keep_to_their_length_and_come_back_to_their_cast():
    rows = generate("documents", rows=300)
    sizes = [len(row["text"].replace("\n", " ").split(". ")) for row in rows]
    assert (min(sizes), max(sizes)) == PLANTED["documents"]["sentences"]
    repeated = sum(any(row["text"].count(word) > 1 for word in words("things")) for row in rows)
    assert repeated > 0.9 * len(rows)


def test_pronouns_occur_in_the_planted_share_of_documents():
    pronoun = re.compile(r"(?:^|\s)(?:그|그녀|이것|그곳|그들|나|우리|이곳|그것)(?:는|은|에게|을|에서)\s")
    rows = generate("documents", rows=1000)
    share = sum(bool(pronoun.search(row["text"])) for row in rows) / len(rows)
    assert share == pytest.approx(PLANTED["documents"]["pronoun_share"], abs=0.06)


def test_names_of_dev_documents_are_new():
    """Titles are names of the cast; none of train's is used in dev."""
    known = {row["title"] for row in generate("documents", rows=1500)}
    assert not known & {row["title"] for row in generate("documents", "dev", rows=500)}
