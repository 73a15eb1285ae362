"""Files as plain rows: text, JSON, JSON lines, CSV, Parquet and `save_to_disk` folders, without a schema.

Every reader returns dictionaries and says which file and line is broken. What the fields mean is the
business of the module named after the data set.
"""

import ast
import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasets import Dataset

SAVED = ("dataset_dict.json", "state.json")  # what Dataset.save_to_disk leaves in its folder


def read_text(path: Path) -> str:
    """Return a file's text: UTF-8, a byte-order mark dropped, lines ended by a bare newline."""
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        codec = "cp949" if _decodes(data, "cp949") else "ENCODING"
        raise ValueError(
            f"{path}, line {line}: byte {error.object[error.start]:#04x} is not UTF-8"
            f"{'; it reads as CP949' if codec == 'cp949' else ''}. "
            f"Convert it: iconv -f {codec} -t utf-8 {path.name} > utf8.{path.name}"
        ) from None


def read_anything(path: Path) -> Any:
    """Return the value of a JSON file."""
    text = read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path}, line {error.lineno}: not JSON ({error.msg}); {_ending(error, text)}"
        ) from None


def read_json(path: Path) -> list[dict]:
    """Return the objects of a JSON array."""
    rows = read_anything(path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{path}: expected a JSON array of objects, got {_shape(rows)}; one object per row")
    return rows


def read_jsonl(path: Path) -> list[dict]:
    """Return one object per line; empty lines are skipped."""
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{path}, line {number}: not JSON ({error.msg}); {_ending(error, line)}"
            ) from None
        if not isinstance(row, dict):
            raise ValueError(f"{path}, line {number}: expected a JSON object, got {_shape(row)}")
        rows.append(row)
    return rows


def read_csv(path: Path, *, header: bool = True) -> list[dict]:
    """Return rows of strings under the header's names; a row with too few or too many cells is an error.

    Without a header, columns are called "1", "2" and so on.
    """
    text = read_text(path)
    first = next(csv.reader(io.StringIO(text, newline="")), [])
    names = None if header else [str(i) for i, _ in enumerate(first, 1)]
    reader = csv.DictReader(io.StringIO(text, newline=""), names, strict=True)
    shown = reader.fieldnames or []
    rows = []
    try:
        for row in reader:
            if None in row or None in row.values():
                raise ValueError(
                    f"{path}, line {reader.line_num}: expected {len(shown)} cells "
                    f"({', '.join(shown)}), got another number; is the file truncated?"
                )
            rows.append(row)
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {reader.line_num}: not CSV ({error}); is the file truncated, or a quote left open?"
        ) from None
    return rows


def read_tsv(path: Path, *, header: bool = True) -> list[dict]:
    """Return rows of strings under the header's names, cells divided by tabs, quoted or not.

    Without a header, columns are called "1", "2" and so on.
    """
    lines = [line.split("\t") for line in read_text(path).rstrip("\n").split("\n")]
    names = lines.pop(0) if header else [str(i) for i, _ in enumerate(lines[0], 1)]
    for number, cells in enumerate(lines, 1 + header):
        if len(cells) != len(names):
            raise ValueError(
                f"{path}, line {number}: expected {len(names)} cells ({', '.join(names)}), got {len(cells)}"
            )
    return [dict(zip(names, map(_unquoted, cells), strict=True)) for cells in lines]


def read_parquet(path: Path) -> list[dict]:
    """Return the rows of a Parquet file, class labels by name where the file says what they are."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from datasets import Dataset

    try:
        return rows_of(Dataset(pq.read_table(path)))
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: not Parquet ({error}); is the file truncated? Download it again") from None


READERS = {".json": read_json, ".jsonl": read_jsonl, ".csv": read_csv, ".parquet": read_parquet}


def is_saved(folder: Path) -> bool:
    """Tell whether `save_to_disk` wrote this folder."""
    return any((folder / name).is_file() for name in SAVED)


def read_saved(folder: Path, names: Iterable[str]) -> tuple[list[dict], bool]:
    """Return the rows of a `save_to_disk` folder, and whether it has splits: then of the first in `names`."""
    from datasets import DatasetDict, load_from_disk

    saved = load_from_disk(str(folder))
    if not isinstance(saved, DatasetDict):
        return rows_of(saved), False
    for name in names:
        if name in saved:
            return rows_of(saved[name]), True
    raise ValueError(f"{folder} holds the splits {list(saved)}, none of {list(names)}")


def rows_of(dataset: "Dataset") -> list[dict]:
    """Return a data set as plain rows, with the names of its class labels instead of their numbers."""
    from datasets import ClassLabel

    names = {}
    for column, feature in dataset.features.items():
        inner = getattr(feature, "feature", feature)
        if isinstance(inner, ClassLabel) and inner.names:
            names[column] = inner.names
    rows = dataset.with_format(None).to_list()
    for row in rows:
        for column, labels in names.items():
            value = row[column]
            row[column] = [labels[i] for i in value] if isinstance(value, list) else labels[value]
    return rows


def parsed(value: Any, where: str, *, kind: type) -> Any:
    """Return a field that is `kind`, reading it from its Python spelling when a CSV made it text.

    >>> parsed("{'word': '비틀즈', 'start_idx': 24}", "train.csv, row 1", kind=dict)["start_idx"]
    24
    """
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise ValueError(f"{where}: expected a {kind.__name__}, got the text {_short(value)}") from None
    if not isinstance(value, kind):
        raise ValueError(f"{where}: expected a {kind.__name__}, got {_short(value)}")
    return value


def text_of(row: Mapping, field: str, where: str) -> str:
    """Return a text field that must be there and must not be blank."""
    value = row.get(field)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(
            f"{where}: expected text in {field!r}, got {_short(value)}; fields: {', '.join(row)}"
        )
    return value


def id_of(row: Mapping, fields: Sequence[str], where: str) -> str:
    """Return a row's id, the first of `fields` that it has; numbers become text."""
    for field in fields:
        if row.get(field) not in (None, ""):
            return str(row[field])
    raise ValueError(f"{where}: expected an id in {' or '.join(map(repr, fields))}; fields: {', '.join(row)}")


def check_unique(ids: Iterable[str], name: str, *, field: str) -> None:
    """Refuse two rows with one id."""
    seen: dict[str, int] = {}
    for number, key in enumerate(ids, 1):
        if key in seen:
            raise ValueError(
                f"{name}: rows {seen[key]} and {number} both have the {field} {key!r}; give each row its own"
            )
        seen[key] = number


def _unquoted(cell: str) -> str:
    """Undo the quotes of a cell that was written with them; a text that only begins with one keeps it."""
    inner = cell[1:-1].replace('""', "")
    quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner
    return cell[1:-1].replace('""', '"') if quoted else cell


def _decodes(data: bytes, codec: str) -> bool:
    try:
        data.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _ending(error: json.JSONDecodeError, text: str) -> str:
    cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
    return "the text ends too early: the file is truncated, download it again" if cut else "mend that line"


def _shape(value: Any) -> str:
    return f"a {type(value).__name__}" if not isinstance(value, list) else "an array with other things in it"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
