"""Weights in safetensors, whatever a model comes with.

Many published models have nothing but `pytorch_model.bin`, a pickle. It is read by torch's restricted loader
(`weights_only=True`: tensors, no code), once, and kept as safetensors beside the sweeps' cache.
"""

import hashlib
import os
import shutil
from pathlib import Path

from safetensors.torch import save_file

SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"


def safe_folder(name_or_folder: str | Path) -> str:
    """Return what to load: the name or folder itself, or a converted copy if it has a pickle only."""
    if (pickled := _only_pickled(name_or_folder)) is None:
        return str(name_or_folder)
    place = _converted(pickled)
    if not (place / SAFE).is_file():
        _convert(pickled, place)
    return str(place)


def _only_pickled(name_or_folder: str | Path) -> Path | None:
    """Return the file to convert, if there is one and nothing safe beside it; sharded pickles are refused."""
    from transformers.utils import cached_file

    known = {
        name: cached_file(
            str(name_or_folder),
            name,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
            _raise_exceptions_for_gated_repo=False,
        )
        for name in (SAFE, f"{SAFE}.index.json", PICKLED, f"{PICKLED}.index.json")
    }
    if known[SAFE] or known[f"{SAFE}.index.json"]:
        return None
    if known[f"{PICKLED}.index.json"]:
        raise ValueError(
            f"{name_or_folder} has its weights in several pickles: convert it where it came from "
            "(model.save_pretrained) and pass the folder"
        )
    return Path(known[PICKLED]) if known[PICKLED] else None


def _converted(pickled: Path) -> Path:
    stat = pickled.resolve().stat()
    key = hashlib.sha256(f"{pickled.resolve()} {stat.st_size} {stat.st_mtime_ns}".encode()).hexdigest()[:16]
    beside = Path(__file__).resolve().parents[2] / ".cache"
    return Path(os.environ.get("NUNCHI_CACHE") or beside) / "converted" / key


def _convert(pickled: Path, place: Path) -> None:
    import torch

    state = torch.load(pickled, map_location="cpu", weights_only=True)
    partial = place.with_name(f".{place.name}.{os.getpid()}")
    partial.mkdir(parents=True, exist_ok=True)
    for file in pickled.parent.iterdir():
        if file.suffix in (".json", ".txt", ".model"):
            shutil.copy(file, partial)
    # Tied weights share memory, which safetensors does not allow: each gets its own.
    save_file(
        {name: value.contiguous().clone() for name, value in state.items()}, partial / SAFE, {"format": "pt"}
    )
    print(f"{pickled}: converted once to {place / SAFE}")
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        partial.rename(place)
    except OSError:  # another process was first
        shutil.rmtree(partial, ignore_errors=True)
