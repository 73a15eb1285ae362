"""Relation rows in KLUE-RE's schema: a sentence full of entities, one marked pair, one of 30 labels.

Planted truth (`PLANTED`): no_relation is 30 % of train and 60 % of dev, before label noise moves both by up
to half a point; the other classes have KLUE's long tail; the label's prefix is the subject's type and each
relation takes KLUE's object types; facts recur within a split but hardly across, so a random split of train
leaks; a sentence may return with another pair and another label; some entity words occur before the marked
mention; a little label noise, a few duplicates and contradictions.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

from .scenes import TOP, Scene, scene
from .streams import SPLITS, check, stream
from .templates import Mention
from .world import Circle, circle


class _Class(NamedTuple):
    train: float  # share of the rows
    dev: float
    objects: dict[str, int]  # types of the object and their weights, the natural one first


# KLUE's rates and object types, the tail lifted to .4 % so that a few thousand rows show every class.
_CLASSES = {
    "org:dissolved": _Class(0.004, 0.004, {"DAT": 100}),
    "org:founded": _Class(0.014, 0.005, {"DAT": 100}),
    "org:place_of_headquarters": _Class(0.037, 0.025, {"LOC": 80, "ORG": 18, "POH": 2}),
    "org:alternate_names": _Class(0.041, 0.010, {"ORG": 89, "POH": 8, "LOC": 3}),
    "org:member_of": _Class(0.057, 0.013, {"ORG": 75, "POH": 16, "LOC": 9}),
    "org:members": _Class(0.013, 0.016, {"ORG": 72, "LOC": 20, "POH": 8}),
    "org:political/religious_affiliation": _Class(0.004, 0.004, {"ORG": 60, "POH": 40}),
    "org:product": _Class(0.012, 0.030, {"POH": 88, "ORG": 12}),
    "org:founded_by": _Class(0.005, 0.004, {"PER": 97, "POH": 3}),
    "org:top_members/employees": _Class(0.130, 0.066, {"PER": 100, "POH": 0}),
    "org:number_of_employees/members": _Class(0.004, 0.004, {"NOH": 100}),
    "per:date_of_birth": _Class(0.034, 0.004, {"DAT": 100}),
    "per:date_of_death": _Class(0.013, 0.004, {"DAT": 100}),
    "per:place_of_birth": _Class(0.005, 0.004, {"LOC": 98, "ORG": 2}),
    "per:place_of_death": _Class(0.004, 0.004, {"LOC": 95, "ORG": 5}),
    "per:place_of_residence": _Class(0.006, 0.016, {"LOC": 94, "ORG": 6}),
    "per:origin": _Class(0.038, 0.015, {"LOC": 75, "ORG": 22, "POH": 3}),
    "per:employee_of": _Class(0.110, 0.031, {"ORG": 94, "LOC": 4, "POH": 2}),
    "per:schools_attended": _Class(0.004, 0.004, {"ORG": 97, "LOC": 3}),
    "per:alternate_names": _Class(0.031, 0.013, {"PER": 90, "POH": 8, "ORG": 2}),
    "per:parents": _Class(0.016, 0.004, {"PER": 95, "POH": 5}),
    "per:children": _Class(0.009, 0.004, {"PER": 95, "POH": 5}),
    "per:siblings": _Class(0.004, 0.004, {"PER": 95, "POH": 5}),
    "per:spouse": _Class(0.024, 0.005, {"PER": 97, "POH": 3}),
    "per:other_family": _Class(0.006, 0.004, {"PER": 96, "POH": 4}),
    "per:colleagues": _Class(0.016, 0.028, {"PER": 94, "POH": 6}),
    "per:product": _Class(0.004, 0.009, {"POH": 90, "ORG": 10}),
    "per:religion": _Class(0.004, 0.004, {"ORG": 84, "POH": 16}),
    "per:title": _Class(0.065, 0.092, {"POH": 92, "ORG": 8}),
}
_NO_RELATION = {"train": 0.30, "dev": 0.60}


def _rates(split: str) -> dict[str, float]:
    shares = {name: getattr(row, split) for name, row in _CLASSES.items()}
    scale = (1 - _NO_RELATION[split]) / sum(shares.values())
    return {"no_relation": _NO_RELATION[split]} | {name: share * scale for name, share in shares.items()}


PLANTED: dict[str, Any] = {
    "no_relation": _NO_RELATION,
    "rates": {split: _rates(split) for split in SPLITS},
    "object_types": {name: tuple(row.objects) for name, row in _CLASSES.items()},
    "label_noise": 0.025,  # rows relabelled to another relation that fits the subject's and object's types
    "duplicates": 0.003,  # rows that repeat an earlier row, one in ten with another label
    "reused_sentence": 0.2,  # rows that take up an earlier row's sentence, usually with another pair
    "title_as_member": {"train": 0.03, "dev": 0.6},  # org:top_members rows whose object is a title
    "dev_from_train": 0.03,  # dev rows about people and organisations of train
    "train_sentence_in_dev": 0.017,  # dev rows on a sentence of train
}
# How often a no_relation row has these types, relative to how often the sentence offers them.
_NEGATIVE_TYPES = {
    "train": {"ORG-ORG": 3.0, "ORG-DAT": 2.5, "PER-PER": 2.0, "PER-POH": 1.0, "PER-ORG": 1.0, "ORG-POH": 1.0},
    "dev": {"ORG-POH": 6.0, "PER-POH": 5.0, "ORG-ORG": 1.5, "ORG-DAT": 1.0, "PER-PER": 1.0, "ORG-LOC": 1.5},
}
# Rows are dealt in blocks; the rows of a block are about a few circles of people.
_BLOCK, _CIRCLES = 600, {"train": 4, "dev": 20}


def relations(split: str, rows: int, seed: int = 0) -> Iterator[dict]:
    """Yield `rows` marked pairs in KLUE-RE's schema; `end_idx` is inclusive, labels are strings."""
    check(split, rows)
    for index in range(rows):
        row = _row(split, seed, index)
        yield {"guid": f"sample-re-v1_{split}_{index:05d}", **row}


def _row(split: str, seed: int, index: int) -> dict:
    rng = stream("relations", split, seed, index)
    first = index - index % _BLOCK
    if index > first and rng.random() < PLANTED["duplicates"]:
        return _repeat(rng, _row(split, seed, rng.randrange(first, index)))
    own = _scene(split, seed, index)
    if split == "dev" and rng.random() < PLANTED["train_sentence_in_dev"]:
        own = _borrowed(rng, split, [("train", seed, rng.randrange(_BLOCK)) for _ in range(12)]) or own
    elif index > first and rng.random() < PLANTED["reused_sentence"]:
        own = _borrowed(rng, split, [(split, seed, rng.randrange(first, index)) for _ in range(12)]) or own
    return _mark(rng, split, *own)


def _borrowed(rng: Random, split: str, keys: list[tuple]) -> tuple[str, Scene] | None:
    """The first of some existing sentences that offers a pair for a freshly drawn relation."""
    relation = _draw(rng, PLANTED["rates"][split])
    scenes = (_scene(*key)[1] for key in keys)
    return next(((relation, found) for found in scenes if found.pairs(relation)), None)


@lru_cache(maxsize=4 * _BLOCK)
def _scene(split: str, seed: int, index: int) -> tuple[str, Scene]:
    """The sentence that row `index` is born with, and the relation it was written for."""
    rng = stream("scene", split, seed, index)
    relation = _draw(rng, PLANTED["rates"][split])
    owner, block = split, index // _BLOCK
    if split == "dev" and rng.random() < PLANTED["dev_from_train"]:
        owner, block = "train", 0
    number = block * _CIRCLES[owner] + rng.randrange(_CIRCLES[owner])
    titled = relation == TOP and rng.random() < PLANTED["title_as_member"][split]
    while True:
        found = scene(rng, _circle(owner, seed, number), split, relation=relation)
        pairs = found.pairs(relation)
        if pairs and (not titled or any(found.mentions[j].label == "POH" for _, j in pairs)):
            return relation, found


@lru_cache(maxsize=128)
def _circle(split: str, seed: int, number: int) -> Circle:
    return circle(stream("circle", split, seed, number), split)


def _draw(rng: Random, weights: Mapping[str, float]) -> str:
    return rng.choices(tuple(weights), tuple(weights.values()))[0]


def _mark(rng: Random, split: str, relation: str, found: Scene) -> dict:
    """Mark one of the scene's pairs that carry `relation`; annotators sometimes mistype or mislabel it."""
    pairs = found.pairs(relation)
    i, j = rng.choices(pairs, [_weight(split, relation, found, *pair) for pair in pairs])[0]
    subject, thing = found.mentions[i], found.mentions[j]
    kind = thing.label
    if relation in _CLASSES and kind == next(iter(_CLASSES[relation].objects)):
        kind = _draw(rng, _CLASSES[relation].objects)
    if rng.random() < PLANTED["label_noise"]:
        relation = _mislabel(rng, relation, subject.label, kind)
    return {
        "sentence": found.text,
        "subject_entity": _entity(found, subject, subject.label),
        "object_entity": _entity(found, thing, kind),
        "label": relation,
        "source": rng.choices(("encyclopedia", "news", "briefing"), (66, 33, 1))[0],
    }


def _weight(split: str, relation: str, found: Scene, i: int, j: int) -> float:
    kind = found.mentions[j].label
    if relation == "no_relation":
        return _NEGATIVE_TYPES[split].get(f"{found.mentions[i].label}-{kind}", 0.5)
    if relation == TOP:
        titled = PLANTED["title_as_member"][split]
        return titled if kind == "POH" else 1 - titled
    return 1.0


def _mislabel(rng: Random, relation: str, subject: str, kind: str) -> str:
    prefix = f"{subject.lower()}:"
    fitting = [name for name, row in _CLASSES.items() if name.startswith(prefix) and kind in row.objects]
    others = [name for name in ("no_relation", *fitting) if name != relation]
    return rng.choice(others) if others else relation


def _entity(found: Scene, mention: Mention, kind: str) -> dict:
    word = found.text[mention.start : mention.end]
    return {"word": word, "start_idx": mention.start, "end_idx": mention.end - 1, "type": kind}


def _repeat(rng: Random, row: dict) -> dict:
    """An accidental duplicate; one in ten contradicts its original."""
    if rng.random() >= 0.1:
        return row
    kinds = row["subject_entity"]["type"], row["object_entity"]["type"]
    return row | {"label": _mislabel(rng, row["label"], *kinds)}
