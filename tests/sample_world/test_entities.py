"""NER rows: valid IOB2 tags, and the planted ambiguity of names."""

import time
from itertools import pairwise

import pytest

from helpers.sample_world import PLANTED
from helpers.sample_world.tables import words

from . import generate


def spans(row: dict) -> list[tuple[str, str]]:
    """(surface, type) of each entity, read back from the tags; fails where IOB2 is broken."""
    found, open_label = [], ""
    for char, tag in zip(row["tokens"], row["ner_tags"], strict=True):
        prefix, _, label = tag.partition("-")
        if prefix == "B":
            found.append([char, label])
        elif prefix == "I":
            assert label == open_label, row["guid"]
            found[-1][0] += char
        open_label = label
    return [tuple(span) for span in found]


@pytest.fixture(scope="module")
def ner() -> dict[str, list[dict]]:
    return {split: generate("entities", split, 2000) for split in ("train", "dev")}


def test_entity_rows_are_characters_with_valid_iob2(ner):
    for row in ner["train"] + ner["dev"]:
        assert "".join(row["tokens"]) == row["sentence"] and set(map(len, row["tokens"])) == {1}
        for surface, label in spans(row):
            assert label in PLANTED["entities"]["types"] and surface == surface.strip()


def test_most_names_in_dev_never_occur_in_train(ner):
    known = {span for row in ner["train"] for span in spans(row)}
    names = [span for row in ner["dev"] for span in spans(row) if span[1] in ("PS", "LC", "OG")]
    low, high = PLANTED["entities"]["unseen_name_share"]
    assert low < sum(span not in known for span in names) / len(names) < high


def test_some_surfaces_have_several_types_and_are_also_plain_words(ner):
    labels, everyday = {}, set(words("everyday"))
    for row in ner["train"]:
        for surface, label in spans(row):
            labels.setdefault(surface, set()).add(label)
    assert sum(len(found) > 1 for found in labels.values()) > 50
    outside = (
        "".join(c if t == "O" else "\n" for c, t in zip(r["tokens"], r["ner_tags"], strict=True))
        for r in ner["train"]
    )
    unlabelled = {word for text in outside for word in everyday if word in text}
    assert len(unlabelled & labels.keys()) > 15


def test_entities_have_the_shapes_that_trip_decoders(ner):
    rows = ner["train"]
    tags = [list(pairwise(row["ner_tags"])) for row in rows]
    adjacent = sum(a != "O" and b[0] == "B" for pairs in tags for a, b in pairs)
    spaced = sum(" " in surface for row in rows for surface, _ in spans(row))
    jamo = sum(any("\u1100" <= c <= "\u11ff" for c in row["tokens"]) for row in rows)
    assert adjacent > 10 and spaced > 500 and jamo > 50


def test_entity_sentences_come_at_speed():
    """13,000 a second when built. CPU time, best of three: a busy machine does not matter."""

    def seconds() -> float:
        start = time.process_time()
        generate("entities", rows=2000, seed=9)
        return time.process_time() - start

    assert 2000 / min(seconds() for _ in range(3)) > 5000
