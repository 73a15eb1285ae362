"""People, organisations and the facts between them, in circles of a dozen who know each other.

A circle is the unit of the relation data: its facts recur in many sentences, so a random split of
sentences leaks pairs, while circles of train and dev share nobody. How facts are worded is left to
`data/relations.yaml`.
"""

from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from . import lexicon, quantities
from .tables import words


@dataclass(eq=False)
class Entity:
    """Something a sentence can mention. `kind` is its type in KLUE-RE; `facts` maps relations to objects."""

    name: str
    kind: str
    woman: bool = False
    post: "Entity" = field(init=False, repr=False)  # what a person is called at work
    facts: dict[str, list["Entity"]] = field(default_factory=dict)


class Circle(NamedTuple):
    people: tuple[Entity, ...]
    groups: tuple[Entity, ...]

    def actors(self, kind: str) -> tuple[Entity, ...]:
        """Those who can be the subject of a relation, the prominent ones first."""
        return self.people if kind == "PER" else self.groups


_GROUPS = ("firm", "club", "body", "firm", "school")


def circle(rng: Random, split: str) -> Circle:
    """Make a circle: a family of five with three friends, and the five organisations they work for."""
    people = tuple(_people(rng, split))
    groups = tuple(Entity(_group_name(rng, split, sort), "ORG") for sort in _GROUPS)
    for group in groups:
        group.facts = _history(rng, split, group) | {"org:founded_by": [rng.choice(people)]}
    _affiliate(rng, split, groups)
    for person in people:
        person.facts = _biography(rng, split)
    _employ(rng, people, groups)
    _relate(rng, split, people)
    return Circle(people, groups)


def _people(rng: Random, split: str) -> list[Entity]:
    """Father, mother, two children, an uncle, three friends; the father's side shares a surname."""
    surname = rng.choice(words("surnames")[:40])
    father, elder, younger, uncle = (surname + lexicon.given_name(rng, split) for _ in range(4))
    mother, *friends = (lexicon.person(rng, split) for _ in range(4))
    names = (father, mother, elder, younger, uncle, *friends)
    women = (False, True, *(rng.random() < 0.5 for _ in names[2:]))
    return [Entity(name, "PER", woman=woman) for name, woman in zip(names, women, strict=True)]


def _group_name(rng: Random, split: str, sort: str) -> str:
    if sort == "firm":
        return lexicon.firm(rng, split) if rng.random() < 0.8 else lexicon.stem(rng, split)
    suffixes = {"club": words("club_suffixes"), "body": words("body_suffixes")[3:]}
    return lexicon.stem(rng, split) + rng.choice(suffixes.get(sort, words("school_suffixes")))


def _history(rng: Random, split: str, group: Entity) -> dict[str, list[Entity]]:
    short = rng.random() < 0.6
    alias = lexicon.acronym(rng, split) if short else group.name[:2] + rng.choice(("연합", "클럽", "조합"))
    creed = lexicon.stem(rng, split) + rng.choice(("당", *words("faiths")))
    return {
        "org:founded": [Entity(quantities.date(rng, 1920, 1990), "DAT")],
        "org:dissolved": [Entity(quantities.date(rng, 1991, 2030), "DAT")],
        "org:place_of_headquarters": [Entity(_seat(rng, split, group), "LOC")],
        "org:alternate_names": [Entity(alias, "ORG")],
        "org:product": [Entity(lexicon.product(rng), "POH") for _ in range(2)],
        "org:number_of_employees/members": [Entity(quantities.headcount(rng), "NOH")],
        "org:political/religious_affiliation": [Entity(creed, "ORG")],
    }


def _seat(rng: Random, split: str, group: Entity) -> str:
    """A town; now and then the one that the organisation is named after, so that the name contains it."""
    if rng.random() < 0.3:
        return group.name[:2] + rng.choice(("", "시", "군"))
    return lexicon.town(rng, split)


def _affiliate(rng: Random, split: str, groups: tuple[Entity, ...]) -> None:
    """Give each group a federation above and a branch below; the first two also belong together."""
    for group in groups:
        above = lexicon.stem(rng, split) + rng.choice(("그룹", "연맹", "연합회", "리그"))
        below = lexicon.stem(rng, split) + rng.choice(("지부", "지회", "센터", "사업단"))
        group.facts["org:member_of"] = [Entity(above, "ORG")]
        group.facts["org:members"] = [Entity(below, "ORG")]
    parent, subsidiary = groups[0], groups[3]
    subsidiary.facts["org:member_of"] = [parent]
    parent.facts["org:members"] = [subsidiary]


def _biography(rng: Random, split: str) -> dict[str, list[Entity]]:
    home = lexicon.nation(rng, split) if rng.random() < 0.4 else lexicon.town(rng, split)
    school = lexicon.stem(rng, split) + rng.choice(words("school_suffixes"))
    faith = lexicon.stem(rng, split) + rng.choice(words("faiths"))
    return {
        "per:date_of_birth": [Entity(quantities.date(rng, 1880, 1960), "DAT")],
        "per:date_of_death": [Entity(quantities.date(rng, 1961, 2030), "DAT")],
        "per:place_of_birth": [Entity(lexicon.town(rng, split), "LOC")],
        "per:place_of_death": [Entity(lexicon.town(rng, split), "LOC")],
        "per:place_of_residence": [Entity(lexicon.town(rng, split), "LOC")],
        "per:origin": [Entity(home, "LOC")],
        "per:schools_attended": [Entity(school, "ORG")],
        "per:alternate_names": [Entity(_alias(rng, split), "PER")],
        "per:product": [Entity(lexicon.work(rng), "POH") for _ in range(2)],
        "per:religion": [Entity(faith, "ORG")],
        "per:title": [Entity(rng.choice(words("crafts")), "POH")],
    }


def _alias(rng: Random, split: str) -> str:
    draw = rng.random()
    if draw < 0.4:
        return lexicon.stem(rng, split)
    return lexicon.person(rng, split) if draw < 0.8 else rng.choice(words("everyday"))


def _employ(rng: Random, people: tuple[Entity, ...], groups: tuple[Entity, ...]) -> None:
    """Everybody works somewhere, and every group has somebody."""
    places = [*range(len(groups)), *rng.choices(range(len(groups)), k=len(people) - len(groups))]
    rng.shuffle(places)
    for person, place in zip(people, places, strict=True):
        group = groups[place]
        person.post = Entity(rng.choice(words(f"{_GROUPS[place]}_posts")), "POH")
        person.facts["per:employee_of"] = [group]
        group.facts.setdefault("org:top_members/employees", []).append(person)


def _relate(rng: Random, split: str, people: tuple[Entity, ...]) -> None:
    """Tie the family together; whoever lacks a relative has one outside the circle."""
    father, mother, elder, younger, uncle, *friends = people
    ties = {
        "per:spouse": {father: [mother], mother: [father]},
        "per:children": {father: [elder, younger], mother: [elder, younger]},
        "per:parents": {elder: [father, mother], younger: [father, mother]},
        "per:siblings": {elder: [younger], younger: [elder], father: [uncle], uncle: [father]},
        "per:other_family": {uncle: [elder, younger], elder: [uncle], younger: [uncle]},
        "per:colleagues": {
            person: [friend for friend in friends if friend is not person] for person in people
        },
    }
    for relation, known in ties.items():
        for person in people:
            stranger = Entity(lexicon.person(rng, split), "PER")
            person.facts[relation] = known.get(person, [stranger])
