"""Scenes: one sentence about two or three topics of a circle, with every mention and every stated fact.

A scene knows the label of each ordered pair of its mentions; choosing which pair becomes a row is left
to `relations`.
"""

from dataclasses import dataclass, field
from functools import cache
from random import Random

from . import relation_templates as templates
from .streams import seen_in
from .templates import Draft, Filler, Mention, slots
from .world import Actor, Circle

INVERSE = (
    {
        "per:employee_of": "org:top_members/employees",
        "org:top_members/employees": "per:employee_of",
        "per:parents": "per:children",
        "per:children": "per:parents",
        "org:member_of": "org:members",
        "org:members": "org:member_of",
    }
    | {
        f"per:{r}": f"per:{r}"
        for r in ("spouse", "siblings", "other_family", "colleagues", "alternate_names")
    }
    | {"org:alternate_names": "org:alternate_names"}
)
TOP, TITLE = "org:top_members/employees", "per:title"
_CLOSE = {"aka", "parent", "child", "sib", "spouse", "kin", "by", "staff", "over", "unit", "mate", "job"}


@dataclass
class Scene:
    """A sentence with its mentions; `facts` maps (subject, object) positions in `mentions` to a relation."""

    draft: Draft = field(default_factory=Draft)
    facts: dict[tuple[int, int], str] = field(default_factory=dict)
    vague: set[tuple[int, int]] = field(
        default_factory=set
    )  # implied but not stated: neither fact nor negative

    @property
    def mentions(self) -> list[Mention]:
        return self.draft.mentions

    def pairs(self, relation: str) -> list[tuple[int, int]]:
        """Ordered pairs of mentions that carry a label."""
        if relation != "no_relation":
            return [pair for pair, label in self.facts.items() if label == relation]
        size = range(len(self.mentions))
        free = ((i, j) for i in size for j in size if i != j and self.mentions[i].label in ("PER", "ORG"))
        return [p for p in free if p not in self.facts and p not in self.vague and not self._same(*p)]

    def _same(self, i: int, j: int) -> bool:
        return self.mentions[i].key is self.mentions[j].key

    def state(self, subject: int, relation: str, thing: int) -> None:
        self.facts[subject, thing] = relation
        if relation in INVERSE:
            self.facts[thing, subject] = INVERSE[relation]
        elif self.mentions[thing].label in ("PER", "ORG"):
            self.vague.add((thing, subject))


@cache
def units(kind: str, place: str, split: str) -> tuple[str, ...]:
    """Templates of a topic kind for a place in the sentence: BEFORE, AFTER, CLAUSES or ASIDES."""
    prefix = "PERSON" if kind == "PER" else "GROUP"
    return tuple(seen_in(getattr(templates, f"{prefix}_{place}"), split))


@cache
def wordings(relation: str, split: str) -> tuple[tuple[str, str], ...]:
    """All (place, template) that state a relation about a topic."""
    kind = "PER" if relation.startswith("per:") else "ORG"
    slot = next(s for s, r in templates.SLOTS[kind].items() if r == relation)
    places = ("BEFORE", "AFTER", "CLAUSES")
    return tuple((place, t) for place in places for t in units(kind, place, split) if slot in slots(t))


def scene(rng: Random, circle: Circle, split: str, *, relation: str | None) -> Scene:
    """Write a sentence that states `relation` (or nothing in particular) among other things."""
    count = rng.choices((1, 2, 3), (0.12, 0.5, 0.38))[0]
    goal = rng.randrange(count)
    result, taken = Scene(), []
    if rng.random() < 0.5 and relation in INVERSE:
        relation = INVERSE[relation]
    for position in range(count):
        wanted = relation if position == goal else None
        topic = _topic(rng, circle, wanted, taken)
        if position == goal and rng.random() < 0.13:
            _lead(rng, result, topic, taken)
        taken.append(topic)
        if position:
            result.draft.write(rng.choice(templates.JOINTS))
        _Segment(rng, circle, split, result, topic).write(wanted)
    result.draft.write(rng.choice(templates.ENDINGS))
    return result


def _topic(rng: Random, circle: Circle, relation: str | None, taken: list[Actor]) -> Actor:
    if relation:
        kind = "PER" if relation.startswith("per:") else "ORG"
    elif taken and rng.random() < 0.6:
        kind = taken[-1].kind
    else:
        kind = rng.choice(("PER", "ORG"))
    return rng.choice([actor for actor in circle.actors(kind) if actor not in taken])


def _lead(rng: Random, result: Scene, topic: Actor, taken: list[Actor]) -> None:
    """Name the topic once before its real mention: the first match of the word is not the entity."""
    if not taken:
        result.draft.add(rng.choice(templates.LEADS), lambda _: Filler(topic.name))


class _Segment:
    """What a scene says about one topic."""

    def __init__(self, rng: Random, circle: Circle, split: str, result: Scene, topic: Actor) -> None:
        self.rng, self.circle, self.split, self.scene, self.topic = rng, circle, split, result, topic
        self.pending: list[
            tuple[str, int]
        ] = []  # (slot, mention) stated before the topic itself is mentioned
        self.at: int | None = None

    def write(self, relation: str | None) -> None:
        plan = self._plan(relation)
        if "BEFORE" in plan:
            self._unit(plan["BEFORE"])
        self.at = len(self.scene.mentions)
        self.scene.draft.mention(Filler(self.topic.name, self.topic.kind, self.topic))
        if "AFTER" in plan:
            self._unit(plan["AFTER"])
        self.scene.draft.add("[은] ", lambda slot: Filler(slot))
        for place, template in enumerate(plan["CLAUSES"]):
            if place:
                self.scene.draft.write(self.rng.choice(templates.WITHIN))
            self._unit(template)
        self._settle()

    def _plan(self, relation: str | None) -> dict:
        """Choose a template for each place; no slot is used twice in a segment."""
        rng, kind = self.rng, self.topic.kind
        plan: dict = {"CLAUSES": []}
        used: set[str] = set()

        def offer(place: str, template: str) -> None:
            facts = {s for s in slots(template) if "." not in s and "=" not in s}
            if facts & used:
                return
            used.update(facts)
            if place == "CLAUSES":
                plan["CLAUSES"].append(template)
            else:
                plan[place] = template

        if relation:
            offer(*rng.choice(wordings(relation, self.split)))
        if "BEFORE" not in plan and rng.random() < 0.4:
            offer("BEFORE", rng.choice(units(kind, "BEFORE", self.split)))
        if "AFTER" not in plan and rng.random() < 0.25:
            offer("AFTER", rng.choice(units(kind, "AFTER", self.split)))
        if not plan["CLAUSES"] or rng.random() < 0.3:
            offer(
                "CLAUSES", rng.choice(units(kind, "CLAUSES" if rng.random() < 0.6 else "ASIDES", self.split))
            )
        if not plan["CLAUSES"]:
            offer("CLAUSES", rng.choice(units(kind, "ASIDES", self.split)))
        rng.shuffle(plan["CLAUSES"])
        return plan

    def _unit(self, template: str) -> None:
        bound: dict[str, object] = {}
        here: dict[str, int] = {}

        def fill(slot: str) -> Filler:
            if slot.startswith("="):
                return Filler(_agree(slot[1:], self.topic))
            if slot not in bound:
                bound[slot] = self._value(slot, bound)
            value = bound[slot]
            here[slot] = len(self.scene.mentions)
            return Filler(value.name, value.kind, value)

        self.scene.draft.add(template, fill)
        self.pending += here.items()
        if {"job", "title"} <= here.keys():
            self.scene.facts[here["job"], here["title"]] = TOP
        if {"staff", "role"} <= here.keys():
            self.scene.facts[here["staff"], here["role"]] = TITLE

    def _value(self, slot: str, bound: dict) -> object:
        if slot.startswith("x."):
            return self._stranger(slot[2:])
        if slot in ("role", "staff"):
            staff = bound.setdefault("staff", self.rng.choice(self.topic.facts[TOP]))
            return staff.facts[TITLE][0] if slot == "role" else staff
        return self.rng.choice(self.topic.facts[templates.SLOTS[self.topic.kind][slot]])

    def _stranger(self, kind: str) -> object:
        """Somebody or something of the circle that the sentence states no fact about."""
        known = {id(m.key) for m in self.scene.mentions}
        if kind in ("PER", "ORG"):
            others = [a for a in self.circle.actors(kind) if a is not self.topic]
            return self.rng.choice([a for a in others if id(a) not in known] or others)
        others = [a for a in self.circle.people + self.circle.groups if a is not self.topic]
        actor = self.rng.choice(others)
        things = [v for values in actor.facts.values() for v in values if v.kind == kind]
        if not things:
            return self._stranger(kind)
        return self.rng.choice(things)

    def _settle(self) -> None:
        """State the facts about the topic, now that it has been mentioned, and mark what is only implied."""
        relations = templates.SLOTS[self.topic.kind]
        for slot, thing in self.pending:
            if slot in relations:
                self.scene.state(self.at, relations[slot], thing)
            elif slot == "role":
                self.scene.facts[self.at, thing] = TOP
        close = [thing for slot, thing in self.pending if slot in _CLOSE]
        alias = [thing for slot, thing in self.pending if slot == "aka"]
        segment = [thing for _, thing in self.pending]
        for i in segment:
            for j in segment:
                implied = (i in close and j in close) or i in alias or j in alias
                if i != j and implied and (i, j) not in self.scene.facts:
                    self.scene.vague.add((i, j))


def _agree(word: str, topic: Actor) -> str:
    man, woman = {
        "child": ("아들", "딸"),
        "spouse": ("남편", "아내"),
        "parent": ("아버지", "어머니"),
        "sibling": ("남동생", "여동생"),
    }[word]
    return woman if topic.woman else man
