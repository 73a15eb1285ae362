"""People, organisations and the facts between them, in circles of a dozen who know each other.

A circle is the unit of the relation data: its facts recur in many sentences, so a random split of
sentences leaks pairs, while circles of train and dev share nobody. Leaves out how facts are worded
(`relation_templates`).
"""

from dataclasses import dataclass, field
from random import Random

from . import lexicon, quantities
from .wordlists import (
    BODY_SUFFIXES,
    CLUB_SUFFIXES,
    CRAFT_TITLES,
    EVERYDAY,
    FAITH_SUFFIXES,
    FIRM_SUFFIXES,
    SCHOOL_SUFFIXES,
    SENIOR_TITLES,
    SURNAMES,
)


@dataclass(frozen=True)
class Entity:
    """Something that a sentence can mention; `kind` is its type in KLUE-RE."""

    name: str
    kind: str


@dataclass(eq=False)
class Actor:
    """A person or organisation with its facts: relation -> objects, which may be other actors."""

    name: str
    kind: str
    split: str
    woman: bool = False
    facts: dict[str, list] = field(default_factory=dict)


@dataclass(frozen=True)
class Circle:
    people: tuple[Actor, ...]
    groups: tuple[Actor, ...]

    def actors(self, kind: str) -> tuple[Actor, ...]:
        return self.people if kind == "PER" else self.groups


def circle(rng: Random, split: str) -> Circle:
    """Make a circle: a family of five with three friends, and five organisations around them."""
    people = tuple(Actor(name, "PER", split, woman=rng.random() < 0.5) for name in _people_names(rng, split))
    groups = tuple(Actor(name, "ORG", split) for name in _group_names(rng, split))
    for actor in groups:
        _found(rng, actor, people)
    _affiliate(rng, groups)
    for actor in people:
        _live(rng, actor, groups)
    _marry_and_raise(people, rng)
    return Circle(people, groups)


def _people_names(rng: Random, split: str) -> list[str]:
    """Father, mother, two children, an uncle, three friends; the father's side shares a surname."""
    surname = rng.choice(SURNAMES[:40])
    father, elder, younger, uncle = (surname + lexicon.given_name(rng, split) for _ in range(4))
    mother, *friends = (lexicon.person(rng, split) for _ in range(4))
    return [father, mother, elder, younger, uncle, *friends]


def _group_names(rng: Random, split: str) -> list[str]:
    """A firm, its subsidiary, a club, a body and a school; some are named after a town of the circle."""
    stem = lexicon.stem(rng, split)
    return [
        lexicon.firm(rng, split),
        stem + rng.choice(FIRM_SUFFIXES),
        lexicon.stem(rng, split) + rng.choice(CLUB_SUFFIXES),
        stem + rng.choice(BODY_SUFFIXES[2:]),
        lexicon.organisation(rng, split),
    ]


def _found(rng: Random, group: Actor, people: tuple[Actor, ...]) -> None:
    stem = group.name[:2]
    founder, head, other = rng.sample(people, 3)
    alias = (
        lexicon.acronym(rng, group.split)
        if rng.random() < 0.6
        else stem + rng.choice(("연합", "클럽", "조합"))
    )
    group.facts |= {
        "org:founded": [Entity(quantities.date(rng, 1920, 1990), "DAT")],
        "org:dissolved": [Entity(quantities.date(rng, 1991, 2030), "DAT")],
        "org:place_of_headquarters": [Entity(_seat(rng, group), "LOC")],
        "org:alternate_names": [Entity(alias, "ORG")],
        "org:product": [Entity(lexicon.product(rng), "POH") for _ in range(2)],
        "org:founded_by": [founder],
        "org:top_members/employees": [head, other],
        "org:number_of_employees/members": [Entity(quantities.headcount(rng), "NOH")],
        "org:political/religious_affiliation": [Entity(_creed(rng, group.split), "ORG")],
    }


def _seat(rng: Random, group: Actor) -> str:
    """A town; now and then the one that the organisation is named after, so that the name contains it."""
    if rng.random() < 0.3 and group.name[:2].isalpha() and not group.name[:2].isascii():
        return group.name[:2] + rng.choice(("", "시", "군"))
    return lexicon.town(rng, group.split)


def _creed(rng: Random, split: str) -> str:
    return lexicon.stem(rng, split) + rng.choice(("당", *FAITH_SUFFIXES))


def _affiliate(rng: Random, groups: tuple[Actor, ...]) -> None:
    """Arrange membership: the first group leads, the second belongs to it; all belong to some federation."""
    for group in groups:
        federation = Entity(
            lexicon.stem(rng, group.split) + rng.choice(("그룹", "연맹", "연합회", "리그")), "ORG"
        )
        group.facts["org:member_of"] = [federation]
        branch = Entity(
            lexicon.stem(rng, group.split) + rng.choice(("지부", "지회", "센터", "사업단")), "ORG"
        )
        group.facts["org:members"] = [branch]
    groups[1].facts["org:member_of"] = [groups[0]]
    groups[0].facts["org:members"] = [groups[1]]


def _live(rng: Random, actor: Actor, groups: tuple[Actor, ...]) -> None:
    employer = rng.choice(groups)
    senior = rng.random() < 0.45
    split = actor.split
    actor.facts |= {
        "per:date_of_birth": [Entity(quantities.date(rng, 1880, 1960), "DAT")],
        "per:date_of_death": [Entity(quantities.date(rng, 1961, 2030), "DAT")],
        "per:place_of_birth": [Entity(lexicon.town(rng, split), "LOC")],
        "per:place_of_death": [Entity(lexicon.town(rng, split), "LOC")],
        "per:place_of_residence": [Entity(lexicon.town(rng, split), "LOC")],
        "per:origin": [
            Entity(lexicon.nation(rng, split) if rng.random() < 0.5 else lexicon.town(rng, split), "LOC")
        ],
        "per:employee_of": [employer],
        "per:schools_attended": [Entity(lexicon.stem(rng, split) + rng.choice(SCHOOL_SUFFIXES), "ORG")],
        "per:alternate_names": [Entity(_alias(rng, split), "PER")],
        "per:product": [Entity(lexicon.work(rng), "POH") for _ in range(2)],
        "per:religion": [Entity(lexicon.stem(rng, split) + rng.choice(FAITH_SUFFIXES[:3]), "ORG")],
        "per:title": [Entity(rng.choice(SENIOR_TITLES if senior else CRAFT_TITLES), "POH")],
    }


def _alias(rng: Random, split: str) -> str:
    draw = rng.random()
    if draw < 0.4:
        return lexicon.stem(rng, split)
    return lexicon.person(rng, split) if draw < 0.8 else rng.choice(EVERYDAY)


def _marry_and_raise(people: tuple[Actor, ...], rng: Random) -> None:
    """Two parents, two children, an uncle; each of the others gets family outside the circle."""
    father, mother, elder, younger, uncle, *_ = people
    father.woman, mother.woman = False, True
    ties = {
        "per:spouse": {father: [mother], mother: [father]},
        "per:children": {father: [elder, younger], mother: [elder, younger]},
        "per:parents": {elder: [father, mother], younger: [father, mother]},
        "per:siblings": {elder: [younger], younger: [elder], father: [uncle], uncle: [father]},
        "per:other_family": {uncle: [elder, younger], elder: [uncle], younger: [uncle]},
    }
    for relation, known in ties.items():
        for actor in people:
            outsider = Entity(lexicon.person(rng, actor.split), "PER")
            actor.facts[relation] = known.get(actor, [outsider])
    for actor in people:
        actor.facts["per:colleagues"] = [rng.choice([p for p in people[5:] if p is not actor])]
