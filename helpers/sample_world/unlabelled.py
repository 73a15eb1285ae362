"""Unlabelled sentences of the sample world, to pretrain on.

They name the people, places and organisations of train, never those that only dev knows, and use every
template: annotated sentences are few, plain text is not, so it shows phrases that the training rows do not.
"""

from collections.abc import Iterator
from functools import lru_cache

from .entities import sentence
from .relations import PLANTED
from .scenes import scene
from .streams import stream
from .world import Circle, circle

_SCENES = 0.6  # share of sentences written like those of the relations; the others are like the entities'
_PER_CIRCLE = 40  # sentences about the same people, one after another


def unlabelled(rows: int, seed: int = 0) -> Iterator[str]:
    """Yield `rows` sentences; a shorter request is the prefix of a longer one."""
    relations = PLANTED["rates"]["train"]
    for index in range(rows):
        rng = stream("unlabelled", seed, index)
        if rng.random() < _SCENES:
            stated = rng.choices(tuple(relations), tuple(relations.values()))[0]
            yield scene(rng, _circle(seed, index // _PER_CIRCLE), "dev", relation=stated).text
        else:
            yield sentence(rng, "train", templates="dev").text


@lru_cache(maxsize=8)
def _circle(seed: int, number: int) -> Circle:
    return circle(stream("unlabelled circle", seed, number), "train")
