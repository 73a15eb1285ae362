"""Checkpoints of a masked LM on disk: find them, load them, and the score by which the study ranked them.

How a checkpoint is scored is in `scoring`, which checkpoints are evaluated and chosen in `evaluation`.
"""

import re
from pathlib import Path

WEIGHTS = {"real1": 0.4, "real5": 0.3, "lambada1": 0.3}


def composite(real1: float, real5: float, lambada1: float) -> float:
    """Return the study's score: 0.4 Real@1 + 0.3 Real@5 + 0.3 LAMBADA@1.

    >>> round(composite(0.6558, 0.8167, 0.3567), 4)
    0.6143
    """
    return WEIGHTS["real1"] * real1 + WEIGHTS["real5"] * real5 + WEIGHTS["lambada1"] * lambada1


def step_of(name: str | Path) -> int:
    """Return the step in the name of a checkpoint: `checkpoint-390` → 390."""
    match = re.fullmatch(r"checkpoint-(\d+)", Path(name).name)
    if not match:
        raise ValueError(f"a checkpoint is called checkpoint-<step>, got {Path(name).name!r}")
    return int(match[1])


def find_checkpoints(path: str | Path, *, from_step: int = 0) -> list[Path]:
    """Return the checkpoints at or below a path, in the order of folder, then step (a number, not a string).

    A folder with a `config.json` is itself a checkpoint, whatever its name.
    """
    path = Path(path)
    if not path.is_dir():
        raise ValueError(f"no folder {path}; name a checkpoint, or a folder with checkpoint-<step> folders")
    if (path / "config.json").exists():
        return [path]
    found = [folder for folder in path.rglob("checkpoint-*") if re.fullmatch(r"checkpoint-\d+", folder.name)]
    if not found:
        raise ValueError(f"{path} holds no checkpoint-<step> folder; save some, or name another folder")
    found = [folder for folder in found if folder.is_dir() and step_of(folder) >= from_step]
    return sorted(found, key=lambda folder: (folder.parent, step_of(folder)))


def load_checkpoint(folder: str | Path):
    """Return `(model, tokenizer)`.

    Our checkpoints hold their tokenizer; those of others may share one in a folder above.
    """
    from helpers.learning.encoders import masked_lm
    from helpers.text.tokenizers import load_tokenizer

    folder = Path(folder)
    places = [
        place for place in (folder, *folder.resolve().parents[:3]) if (place / "tokenizer.json").exists()
    ]
    if not places:
        raise ValueError(f"no tokenizer.json in {folder} or above; save the tokenizer beside the checkpoints")
    return masked_lm(folder), load_tokenizer(str(places[0]))
