"""Scenes: one sentence about a few people and organisations of a circle, and every fact it states.

A scene knows the label of each ordered pair of its mentions; which pair becomes a row is left to
`relations`.
"""

from functools import cache
from random import Random
from typing import NamedTuple

from .streams import seen_in, zipf
from .tables import table
from .templates import Draft, Filler, Mention, slots
from .world import Circle, Entity

TOP, JOB, TITLE = "org:top_members/employees", "per:employee_of", "per:title"
# Objects of one topic that have something to do with each other, though the sentence does not say what.
_CLOSE = {"parent", "child", "sib", "spouse", "kin", "by", "staff", "over", "unit", "mate", "job"}


class Scene:
    """A sentence with its mentions; `facts` maps (subject, object) positions in `mentions` to relations."""

    def __init__(self) -> None:
        self.draft = Draft()
        self.facts: dict[tuple[int, int], str] = {}
        self.vague: set[tuple[int, int]] = set()  # perhaps true, not stated: neither fact nor negative

    @property
    def text(self) -> str:
        return self.draft.text

    @property
    def mentions(self) -> list[Mention]:
        return self.draft.mentions

    def mention(self, entity: Entity) -> int:
        """Name an entity at the end of the draft; return the mention's position."""
        self.draft.mention(Filler(entity.name, entity.kind, entity))
        return len(self.mentions) - 1

    def state(self, subject: int, relation: str, thing: int) -> None:
        """Record a fact and its inverse; where no inverse relation exists, that way round stays vague."""
        self.facts[subject, thing] = relation
        if relation in inverses() and self.mentions[thing].label in ("PER", "ORG"):
            self.facts[thing, subject] = inverses()[relation]
        else:
            self.vague.add((thing, subject))

    def pairs(self, relation: str) -> list[tuple[int, int]]:
        """Ordered pairs of mentions that carry a label; no_relation is what is neither stated nor vague."""
        if relation != "no_relation":
            return [pair for pair, label in self.facts.items() if label == relation]
        actors = [i for i, m in enumerate(self.mentions) if m.label in ("PER", "ORG")]
        free = (
            (i, j) for i in actors for j, m in enumerate(self.mentions) if m.key is not self.mentions[i].key
        )
        return [pair for pair in free if pair not in self.facts and pair not in self.vague]


def scene(rng: Random, circle: Circle, split: str, *, relation: str) -> Scene:
    """Write a sentence that states `relation` (unless it is no_relation) among other things."""
    narrator = _Narrator(rng, circle, split)
    if relation in inverses() and rng.random() < 0.5:
        relation = inverses()[relation]
    if relation in (JOB, TITLE, "no_relation") and rng.random() < 0.25:
        narrator.roster()
    else:
        narrator.story(relation)
    return narrator.scene


class _Plan(NamedTuple):
    """Templates chosen for one topic: attribute before the name, gloss after it, predicates."""

    before: str
    after: str
    clauses: list[str]


class _Narrator:
    def __init__(self, rng: Random, circle: Circle, split: str) -> None:
        self.rng, self.circle, self.split, self.scene = rng, circle, split, Scene()
        self.table = table("relations")

    def story(self, relation: str) -> None:
        """Tell about one to three topics, one of which has the wanted relation."""
        count = self.rng.choices((1, 2, 3), (0.12, 0.48, 0.4))[0]
        goal = self.rng.randrange(count)
        told: list[Entity] = []
        for place in range(count):
            wanted = relation if place == goal else "no_relation"
            told.append(self._topic(wanted, told))
            if place:
                self.scene.draft.write(self.rng.choice(self.table["joints"]))
            elif self.rng.random() < 0.12:
                self.scene.draft.add(self.rng.choice(self.table["leads"]), lambda _: Filler(told[0].name))
            self._segment(told[-1], wanted)
        self.scene.draft.write(self.rng.choice(self.table["endings"]))

    def roster(self) -> None:
        """List who was there, each with employer and post: many pairs of the same types, few related."""
        opening, closing = self.rng.choice(self.table["roster_frames"])
        host = self.rng.choice(self.circle.groups)
        self._unit(host, opening)
        for place, person in enumerate(self.rng.sample(self.circle.people, self.rng.choice((2, 3, 3, 4)))):
            self.scene.draft.write(", " if place else "")
            before, after = self.rng.choice(self.table["roster_items"])
            stated = self._unit(person, before)
            at = self.scene.mention(person)
            self._settle(person, at, stated + self._unit(person, after))
        self._unit(host, closing)

    def _topic(self, relation: str, told: list[Entity]) -> Entity:
        """Somebody new: of the relation's kind, else mostly of the same kind as the last topic."""
        kind = relation[:3].upper()
        if relation == "no_relation":
            kind = told[-1].kind if told and self.rng.random() < 0.6 else self.rng.choice(("PER", "ORG"))
        return zipf(self.rng, [actor for actor in self.circle.actors(kind) if actor not in told])

    def _segment(self, topic: Entity, relation: str) -> None:
        plan = self._plan(topic.kind, relation)
        stated = self._unit(topic, plan.before)
        at = self.scene.mention(topic)
        stated += self._unit(topic, plan.after)
        self._unit(topic, "[은] ")
        for place, clause in enumerate(plan.clauses):
            self.scene.draft.write(self.rng.choice(self.table["within"]) if place else "")
            stated += self._unit(topic, clause)
        self._settle(topic, at, stated)

    def _plan(self, kind: str, relation: str) -> _Plan:
        """Choose templates that do not state the same fact twice, one of them the wanted relation."""
        rng = self.rng
        offers = [
            (place, rng.choice(units(kind, place, self.split))) for place in ("before", "after", "clauses")
        ]
        wanted = [rng.choice(wordings(relation, self.split))] if relation != "no_relation" else []
        kept = [
            offer for offer, chance in zip(offers, (0.4, 0.25, 0.45), strict=True) if rng.random() < chance
        ]
        aside = ("clauses", rng.choice(units(kind, "asides", self.split)))
        chosen: dict[str, list[str]] = {"before": [], "after": [], "clauses": []}
        used: set[str] = set()
        for place, template in [*wanted, *kept, aside]:
            facts = set(slots(template)) & self.table["slots"][kind].keys()
            full = len(chosen[place]) > (place == "clauses") or (template == aside[1] and chosen["clauses"])
            if not full and not facts & used:
                chosen[place].append(template)
                used |= facts
        rng.shuffle(chosen["clauses"])
        return _Plan("".join(chosen["before"]), "".join(chosen["after"]), chosen["clauses"])

    def _unit(self, topic: Entity, template: str) -> list[tuple[str, int]]:
        """Write a template about a topic; return (slot, mention) of what it names."""
        bound: dict[str, Entity] = {}
        named: list[tuple[str, int]] = []

        def fill(slot: str) -> Filler:
            if slot.startswith("="):
                return Filler(self.table["agreement"][slot[1:]][topic.woman])
            thing = self._thing(topic, slot, bound)
            named.append((slot, len(self.scene.mentions)))
            return Filler(thing.name, thing.kind, thing)

        self.scene.draft.add(template, fill)
        return named

    def _thing(self, topic: Entity, slot: str, bound: dict[str, Entity]) -> Entity:
        if slot.startswith("x."):
            return self._bystander(topic, slot[2:])
        if slot in ("role", "staff"):  # the post of the person named in the same template
            staff = bound.setdefault("staff", self.rng.choice(topic.facts[TOP]))
            return staff if slot == "staff" else staff.post
        if slot == "post":
            return topic.post
        return self.rng.choice(topic.facts[self.table["slots"][topic.kind][slot]])

    def _bystander(self, topic: Entity, kind: str) -> Entity:
        """Somebody or something of the circle about which the sentence states nothing."""
        rng, named = self.rng, {id(m.key) for m in self.scene.mentions}
        if kind in ("PER", "ORG"):
            others = [actor for actor in self.circle.actors(kind) if actor is not topic]
            return rng.choice([actor for actor in others if id(actor) not in named] or others)
        owner = rng.choice([actor for actor in self.circle.people if actor is not topic])
        if kind == "ROLE":
            return rng.choice((owner.post, *owner.facts[TITLE]))
        if kind == "NOH" or (kind in ("POH", "LOC", "DAT") and rng.random() < 0.5):
            owner = rng.choice([actor for actor in self.circle.groups if actor is not topic])
        return rng.choice(owner.facts[rng.choice(self.table["sources"][owner.kind][kind])])

    def _settle(self, topic: Entity, at: int, stated: list[tuple[str, int]]) -> None:
        """State the facts about a topic that has now been mentioned, and set aside what is only implied."""
        relations, where = self.table["slots"][topic.kind], dict(stated)
        for slot, thing in stated:
            if slot in relations:
                self.scene.state(at, relations[slot], thing)
        if "job" in where and "post" in where:
            self.scene.state(where["job"], TOP, where["post"])
        if "role" in where:
            self.scene.state(at, TOP, where["role"])
            self.scene.state(where["staff"], TITLE, where["role"])
        for a, i in stated:
            for b, j in stated:
                if i != j and ("aka" in (a, b) or {a, b} <= _CLOSE) and (i, j) not in self.scene.facts:
                    self.scene.vague.add((i, j))


def inverses() -> dict[str, str]:
    """Relations that say the same of a pair the other way round."""
    return table("relations")["inverses"]


@cache
def units(kind: str, place: str, split: str) -> tuple[str, ...]:
    """Templates for a place in the sentence: before, after, clauses or asides."""
    return tuple(seen_in(table("relations")[kind][place], split))


@cache
def wordings(relation: str, split: str) -> tuple[tuple[str, str], ...]:
    """All (place, template) that state a relation about a topic."""
    kind = relation[:3].upper()
    naming = {slot for slot, name in table("relations")["slots"][kind].items() if name == relation}
    places = ("before", "after", "clauses")
    return tuple((place, t) for place in places for t in units(kind, place, split) if naming & set(slots(t)))
