"""Relation rows in KLUE-RE's schema: a sentence full of entities, one marked pair, one of 30 labels.

Planted truth (`PLANTED`): no_relation is 30 % of train and 60 % of dev; the other classes have KLUE's
long tail; the label's prefix is the subject's type and each relation takes KLUE's object types; facts
recur within a split but hardly across, so a random split of train leaks; a sentence may return with
another pair and another label; some entity words occur before the marked mention; a little label noise,
a few duplicates and contradictions.
"""

from collections.abc import Iterator
from functools import lru_cache
from random import Random

from .scenes import TOP, Scene, scene
from .streams import check, stream
from .templates import Mention
from .world import Circle, circle

# relation: (share in train, share in dev, object types with weights); KLUE's, the tail lifted to .4 %.
_TABLE = {
    "org:dissolved": (0.004, 0.004, {"DAT": 100}),
    "org:founded": (0.014, 0.005, {"DAT": 100}),
    "org:place_of_headquarters": (0.037, 0.025, {"LOC": 80, "ORG": 18, "POH": 2}),
    "org:alternate_names": (0.041, 0.010, {"ORG": 89, "POH": 8, "LOC": 3}),
    "org:member_of": (0.057, 0.013, {"ORG": 75, "POH": 16, "LOC": 9}),
    "org:members": (0.013, 0.016, {"ORG": 72, "LOC": 20, "POH": 8}),
    "org:political/religious_affiliation": (0.004, 0.004, {"ORG": 60, "POH": 40}),
    "org:product": (0.012, 0.030, {"POH": 88, "ORG": 12}),
    "org:founded_by": (0.005, 0.004, {"PER": 97, "POH": 3}),
    "org:top_members/employees": (0.130, 0.066, {"PER": 100, "POH": 0}),
    "org:number_of_employees/members": (0.004, 0.004, {"NOH": 100}),
    "per:date_of_birth": (0.034, 0.004, {"DAT": 100}),
    "per:date_of_death": (0.013, 0.004, {"DAT": 100}),
    "per:place_of_birth": (0.005, 0.004, {"LOC": 98, "ORG": 2}),
    "per:place_of_death": (0.004, 0.004, {"LOC": 95, "ORG": 5}),
    "per:place_of_residence": (0.006, 0.016, {"LOC": 94, "ORG": 6}),
    "per:origin": (0.038, 0.015, {"LOC": 75, "ORG": 22, "POH": 3}),
    "per:employee_of": (0.110, 0.031, {"ORG": 94, "LOC": 4, "POH": 2}),
    "per:schools_attended": (0.004, 0.004, {"ORG": 97, "LOC": 3}),
    "per:alternate_names": (0.031, 0.013, {"PER": 90, "POH": 8, "ORG": 2}),
    "per:parents": (0.016, 0.004, {"PER": 95, "POH": 5}),
    "per:children": (0.009, 0.004, {"PER": 95, "POH": 5}),
    "per:siblings": (0.004, 0.004, {"PER": 95, "POH": 5}),
    "per:spouse": (0.024, 0.005, {"PER": 97, "POH": 3}),
    "per:other_family": (0.006, 0.004, {"PER": 96, "POH": 4}),
    "per:colleagues": (0.016, 0.028, {"PER": 94, "POH": 6}),
    "per:product": (0.004, 0.009, {"POH": 90, "ORG": 10}),
    "per:religion": (0.004, 0.004, {"ORG": 84, "POH": 16}),
    "per:title": (0.065, 0.092, {"POH": 92, "ORG": 8}),
}
_RATES = {
    split: {"no_relation": rest} | {name: row[place] / share * (1 - rest) for name, row in _TABLE.items()}
    for place, (split, rest) in enumerate({"train": 0.30, "dev": 0.60}.items())
    for share in [sum(row[place] for row in _TABLE.values())]
}
PLANTED = {
    "no_relation": {"train": 0.30, "dev": 0.60},
    "rates": _RATES,
    "object_types": {name: tuple(row[2]) for name, row in _TABLE.items()},
    "label_noise": 0.025,  # rows relabelled to another relation that fits the subject's and object's types
    "duplicates": 0.003,  # rows that repeat an earlier row, one in ten with another label
    "reused_sentence": 0.2,  # rows that take up an earlier row's sentence, usually with another pair
    "title_as_member": {
        "train": 0.03,
        "dev": 0.6,
    },  # org:top_members whose object is the title, not the person
    "dev_from_train": 0.03,  # dev rows about people and organisations of train
    "train_sentence_in_dev": 0.017,  # dev rows on a sentence of train
}
# How often a no_relation row has these types, relative to how often the sentence offers them.
_NEGATIVE_TYPES = {
    "train": {"ORG-ORG": 3.0, "ORG-DAT": 2.5, "PER-PER": 2.0, "PER-POH": 1.0, "PER-ORG": 1.0, "ORG-POH": 1.0},
    "dev": {"ORG-POH": 6.0, "PER-POH": 5.0, "ORG-ORG": 1.5, "ORG-DAT": 1.0, "PER-PER": 1.0, "ORG-LOC": 1.5},
}
_BLOCK, _CIRCLES = (
    600,
    {"train": 4, "dev": 20},
)  # rows are dealt in blocks; a block's rows share a few circles of people


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
    relation = _draw(rng, _RATES[split])
    scenes = (_scene(*key)[1] for key in keys)
    return next(((relation, found) for found in scenes if found.pairs(relation)), None)


@lru_cache(maxsize=4 * _BLOCK)
def _scene(split: str, seed: int, index: int) -> tuple[str, Scene]:
    """The sentence that row `index` is born with, and the relation it was written for."""
    rng = stream("scene", split, seed, index)
    relation = _draw(rng, _RATES[split])
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


def _draw(rng: Random, weights: dict[str, float]) -> str:
    return rng.choices(tuple(weights), tuple(weights.values()))[0]


def _mark(rng: Random, split: str, relation: str, found: Scene) -> dict:
    """Mark one of the scene's pairs that carry `relation`; annotators sometimes mistype or mislabel it."""
    pairs = found.pairs(relation)
    i, j = rng.choices(pairs, [_weight(split, relation, found, *pair) for pair in pairs])[0]
    subject, thing = found.mentions[i], found.mentions[j]
    kind = thing.label
    if relation in _TABLE and kind == next(iter(_TABLE[relation][2])):
        kind = _draw(rng, _TABLE[relation][2])
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
    fitting = [name for name, row in _TABLE.items() if name.startswith(prefix) and kind in row[2]]
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
