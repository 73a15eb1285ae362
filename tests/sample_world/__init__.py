"""The sample world: correct Korean, valid schemas, and the truth that each generator says it planted."""

from helpers import sample_world


def generate(name: str, split: str = "train", rows: int = 300, seed: int = 0) -> list[dict]:
    """Rows of a generator, as a list."""
    return list(getattr(sample_world, name)(split, rows, seed))
