"""Ko-LAMBADA-style items: a short story, a gap `_` in its last sentence, the answer among what came
before.

Planted truth (`PLANTED`): the answer and the candidate (a wrong noun of the same kind) both occur in
the story, the story alone decides between them, and both end in the same kind of sound, so the particle
after the gap gives nothing away.
"""

from collections.abc import Iterator
from typing import Any

from . import documents
from .particles import final_sound
from .streams import check, stream
from .tables import table
from .templates import Draft, Filler

PLANTED: dict[str, Any] = {
    "chance": 0.5,  # answer against candidate
    "fillers": (0, 3),  # sentences between the clue and the gap
}


def lambada(split: str, rows: int, seed: int = 0) -> Iterator[dict]:
    """Yield `rows` items: index, text (with one `_`), answer, candidate."""
    check(split, rows)
    for index in range(rows):
        rng = stream("lambada", split, seed, index)
        story = rng.choice(table("lambada")["stories"])
        answer, candidate = story["answer"], story["candidate"]
        names = documents.cast(rng, split)
        while final_sound(names[answer]) != final_sound(names[candidate]):
            names = documents.cast(rng, split)
        fillers = rng.sample(table("lambada")["fillers"], rng.randint(*PLANTED["fillers"]))
        *clues, last = story["sentences"]
        context = [documents.sentence(t, names) for t in clues[:1] + fillers + clues[1:]]
        yield {
            "index": index,
            "text": " ".join([*context, _gapped(last, names, names[answer])]),
            "answer": names[answer],
            "candidate": names[candidate],
        }


def _gapped(template: str, names: dict[str, str], answer: str) -> str:
    """Write the last sentence with the answer, for the particle's sake, then blank it."""
    draft = Draft()
    draft.add(template, lambda slot: Filler(answer, "gap") if slot == "_" else Filler(names[slot]))
    start, end, *_ = draft.mentions[0]
    return f"{draft.text[:start]}_{draft.text[end:]}"
