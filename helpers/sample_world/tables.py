"""The data files of the sample world: word lists and sentence templates, each read when first needed.

`data/words.yaml` has the word lists; the other files are named after the generator that uses them and say
at their top what their slots mean.
"""

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "data"


@cache
def table(name: str) -> dict:
    """Everything in `data/<name>.yaml`; shared by all callers, so never change it."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), loader)


@cache
def words(name: str) -> tuple[str, ...]:
    """A word list: running text is split at whitespace, a list is taken as it is."""
    value = table("words")[name]
    return tuple(value.split() if isinstance(value, str) else value)
