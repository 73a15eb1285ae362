"""Files and folders that a configuration names: known by what they hold, whatever their place or machine."""

import functools
import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np


def replaced(value: Any, change: Callable[[Any], Any]) -> Any:
    """Copy a configuration with `change(leaf)` in place of each of its leaves, however deep."""
    if isinstance(value, dict):
        return {name: replaced(part, change) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(replaced(part, change) for part in value)
    return change(value)


def located(value: Any) -> Path | None:
    """The file or folder on this machine that a value of a configuration names, if it does.

    Only strings with a path separator are taken for paths, and "local:<name>" for that vocabulary: a model
    "bilstm" is not the folder of that name that happens to be here.
    """
    if not isinstance(value, str):
        return None
    if value.startswith("local:"):
        from helpers.text.tokenizers import local_path

        return local_path(value.removeprefix("local:"))
    return Path(value) if os.sep in value and os.path.exists(value) else None  # noqa: PTH110


def digest(path: Path) -> str:
    """Hash what a file or folder holds: names below it and contents, not where it lies."""
    whole = hashlib.sha256(path.suffix.encode() if path.is_file() else b"")
    for name, file in sorted(_files(path).items()):
        state = file.stat()
        whole.update(f"{name}\0{_file_digest(file.resolve(), state.st_mtime_ns, state.st_size)}\n".encode())
    return whole.hexdigest()[:32]


@functools.cache
def _file_digest(file: Path, changed: int, size: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def pack(path: Path) -> dict[str, np.ndarray]:
    """Read a file or folder: contents by name below it; a file is its own ".".

    As arrays of bytes, which Ray keeps in memory that processes share instead of copying them.
    """
    return {name: np.fromfile(file, dtype=np.uint8) for name, file in _files(path).items()}


def unpack(contents: Mapping[str, np.ndarray], path: Path) -> None:
    """Write what `pack` read to another place."""
    for name, content in contents.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        content.tofile(path / name)


def _files(path: Path) -> dict[str, Path]:
    below = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {file.relative_to(path).as_posix(): file for file in below}
