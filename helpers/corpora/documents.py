"""Running text: documents (JSON lines, one document per .txt file, the hub) and Ko-LAMBADA items.

Documents mostly come without a split, so a hash of the text makes one: the same text is on the same side in
every run and every file, and copies of a document never face each other across the split.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from helpers.corpora.files import (
    check_unique,
    id_of,
    is_saved,
    read_jsonl,
    read_saved,
    read_text,
    text_of,
    whole,
)

DEV_SHARE = 0.1
GAP = "_"


def in_dev(text: str) -> bool:
    """Tell on which side of the split a text falls, by its content alone."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") < DEV_SHARE * 2**64


def read_folder(path: Path, wanted: Callable[[Path], bool] = lambda file: True) -> list[dict]:
    """Return every document of a file, or of the files in a folder that are wanted, in the order of names.

    A folder holds what `save_to_disk` wrote, or .jsonl files, or else .txt files, each one document.
    """
    if path.is_dir() and is_saved(path):
        return read_saved(path, ("train",))[0]
    for suffix, reader in ((".jsonl", _lines), (".txt", _whole)):
        files = [path] if path.suffix == suffix else sorted(filter(wanted, path.glob(f"*{suffix}")))
        if files:
            return [row for file in files for row in reader(file)]
    raise ValueError(
        f"{path}: expected documents as .jsonl (one per line) or .txt (one per file), found none"
    )


def documents(rows: Sequence[Mapping], name: str) -> list[dict]:
    """Return documents in the one schema; those without an id are numbered."""
    checked = []
    for i, row in enumerate(rows):
        where = f"{name}, document {i + 1}"
        key = id_of({"id": row.get("id") or f"document-{i:05d}"}, ("id",), where)
        title = text_of(row, "title", f"{where} ({key})") if row.get("title") else ""
        checked.append({"id": key, "title": title, "text": text_of(row, "text", f"{where} ({key})")})
    check_unique((row["id"] for row in checked), name, field="id")
    return checked


def lambada(rows: Sequence[Mapping], name: str) -> list[dict]:
    """Return Ko-LAMBADA items: `_` in the text marks the gap that `answer`, not `candidate`, fills."""
    checked = []
    for i, row in enumerate(rows):
        where = f"{name}, row {i + 1}"
        text = text_of(row, "text", where)
        if GAP not in text:
            raise ValueError(f"{where}: the text has no {GAP!r} to mark the gap")
        answer, candidate = (text_of(row, field, where) for field in ("answer", "candidate"))
        index = i if row.get("index") in (None, "") else whole(row["index"], f"{where}, index")
        checked.append({"index": index, "text": text, "answer": answer, "candidate": candidate})
    check_unique((str(row["index"]) for row in checked), name, field="index")
    return checked


def _lines(path: Path) -> list[dict]:
    rows = read_jsonl(path)
    return [row if row.get("id") else {"id": f"{path.stem}-{i:05d}", **row} for i, row in enumerate(rows)]


def _whole(path: Path) -> list[dict]:
    return [{"id": path.stem, "text": read_text(path)}]
