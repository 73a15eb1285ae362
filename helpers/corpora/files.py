"""Files as plain rows: text, JSON, JSON lines, CSV, Parquet and `save_to_disk` folders, without a schema.

Every reader returns dictionaries and says which file and line is broken. What the fields mean is the
business of the module named after the data set.
"""

import ast
import csv
import gc
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasets import Dataset

SAVED = ("dataset_dict.json", "state.json")  # what Dataset.save_to_disk leaves in its folder
SHOWN = 80  # characters of a wrong value
LARGEST = 2**31 - 1  # offset or index
WIDE = {b"\xff\xfe\0\0": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}  # by byte-order mark
# What pyarrow and datasets raise about a damaged file, beside errors of their own and ValueError.
UNREADABLE = (KeyError, IndexError, TypeError, AttributeError, RecursionError, MemoryError)
ESCAPED = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")  # JSON's spelling of NUL and of surrogates

HALF = re.compile("[\ud800-\udfff]")


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the garbage collector: it would walk over all rows so far again and again, and find nothing."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def read_text(path: Path) -> str:
    """Return a file's text: UTF-8, a byte-order mark dropped, lines ended by a bare newline."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    if wide := _wide(data):
        raise ValueError(
            f"{path}, line 1: this is {wide}, expected UTF-8. "
            f"Convert it: iconv -f {wide} -t utf-8 {path.name} > utf8.{path.name}"
        )
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise ValueError(f"{path}, line {line}: a NUL byte; text has none, so the file is damaged")
    try:
        text = data.decode("utf-8-sig")
        return text.replace("\r\n", "\n") if b"\r\n" in data else text
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
    return _parsed_json(read_text(path), str(path))


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
        row = _parsed_json(line, str(path), line=number)
        if not isinstance(row, dict):
            raise ValueError(f"{path}, line {number}: expected a JSON object, got {_shape(row)}")
        rows.append(row)
    return rows


def read_csv(path: Path, *, header: bool = True) -> list[dict]:
    """Return rows of strings under the header's names; a row with too few or too many cells is an error.

    Without a header, columns are called "1", "2" and so on.
    """
    text = read_text(path)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    rows = []
    try:
        if not header:
            first = next(csv.reader(io.StringIO(text, newline="")), [])
            reader.fieldnames = [str(i) for i, _ in enumerate(first, 1)]
        names = reader.fieldnames or []
        for row in reader:
            if None in row or None in row.values():
                raise ValueError(
                    f"{path}, line {reader.line_num}: expected {len(names)} cells "
                    f"({listed(names)}), got another number; is the file truncated?"
                )
            rows.append(row)
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {max(reader.line_num, 1)}: not CSV ({error}); is the file truncated, or a quote "
            "left open?"
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
                f"{path}, line {number}: expected {len(names)} cells ({listed(names)}), got {len(cells)}"
            )
    return [dict(zip(names, map(_unquoted, cells), strict=True)) for cells in lines]


def read_parquet(path: Path) -> list[dict]:
    """Return the rows of a Parquet file, class labels by name where the file says what they are."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from datasets import Dataset

    try:
        table = pq.ParquetFile(path).read()
        table.validate(full=True)
        return rows_of(Dataset(table))
    except (pa.ArrowException, OSError, ValueError, *UNREADABLE) as error:
        raise ValueError(
            f"{path}: not Parquet ({_reason(error)}); is the file truncated? Download it again"
        ) from None


READERS = {".json": read_json, ".jsonl": read_jsonl, ".csv": read_csv, ".parquet": read_parquet}


def is_saved(folder: Path) -> bool:
    """Tell whether `save_to_disk` wrote this folder."""
    return any((folder / name).is_file() for name in SAVED)


def read_saved(folder: Path, names: Iterable[str]) -> tuple[list[dict], bool]:
    """Return the rows of a `save_to_disk` folder, and whether it has splits: then of the first in `names`."""
    import pyarrow as pa
    from datasets import DatasetDict, load_from_disk

    try:
        saved = load_from_disk(str(folder))
        if not isinstance(saved, DatasetDict):
            return rows_of(saved), False
        for name in names:
            if name in saved:
                return rows_of(saved[name]), True
    except (pa.ArrowException, OSError, ValueError, *UNREADABLE) as error:
        raise ValueError(
            f"{folder}: not what save_to_disk writes ({_reason(error)}); save it again"
        ) from None
    raise ValueError(f"{folder} holds the splits {listed(saved)}, none of {listed(names)}")


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
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise ValueError(f"{where}: expected a {kind.__name__}, got the text {shown(value)}") from None
    if not isinstance(value, kind):
        raise ValueError(f"{where}: expected a {kind.__name__}, got {shown(value)}")
    return value


def text_of(row: Mapping, field: str, where: str) -> str:
    """Return a text field that must be there, must not be blank and holds no NUL."""
    value = row.get(field)
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError(f"{where}: expected text in {field!r}, got {shown(value)}; fields: {listed(row)}")
    return value


def whole(value: Any, where: str) -> int:
    """Return a whole number, given as one or (in a CSV) as its spelling; bounded, as offsets are."""
    number = value
    if isinstance(value, str) and len(value) <= 12:
        number = int(value) if value.strip().lstrip("-").isdecimal() else value
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    if type(number) is not int or not -LARGEST <= number <= LARGEST:
        raise ValueError(f"{where}: expected a whole number, got {shown(value)}")
    return number


def id_of(row: Mapping, fields: Sequence[str], where: str) -> str:
    """Return a row's id, the first of `fields` that it has; numbers become text."""
    for field in fields:
        value = row.get(field)
        if value is not None and value != "":
            if type(value) not in (str, int, float) or len(text := str(value)) > SHOWN or "\0" in text:
                raise ValueError(f"{where}: expected an id of at most {SHOWN} characters, got {shown(value)}")
            return text
    raise ValueError(f"{where}: expected an id in {' or '.join(map(repr, fields))}; fields: {listed(row)}")


def shown(value: Any) -> str:
    """Return a value as an error message shows it: on one line, cut where it is long."""
    text = repr(value[: SHOWN + 1] if isinstance(value, str) else value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}…"


def listed(names: Iterable[object]) -> str:
    """Return names for an error message: the first few, none of them long."""
    first = [f"{str(name)[:40]}{'…' * (len(str(name)) > 40)}" for name in names]
    return ", ".join(first[:20]) + (f" and {len(first) - 20} more" if len(first) > 20 else "")


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


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]:.200}"


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


def _parsed_json(text: str, name: str, *, line: int = 0) -> Any:
    """Return the value of a JSON text; every error says in which line of the file it is."""
    try:
        value = json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        place = f"{name}, line {line or error.lineno}"
        raise ValueError(f"{place}: not JSON ({error.msg}); {_ending(error, text)}") from None
    except (ValueError, RecursionError) as error:
        reason = "lists in lists without end" if isinstance(error, RecursionError) else error
        if "integer string" in str(error):  # Python's own limit
            reason = "expected an ordinary number, got one of thousands of digits"
        raise ValueError(f"{name}{f', line {line}' if line else ''}: {reason}; mend that value") from None
    if ESCAPED.search(text):
        _check_characters(value, name, line)
    return value


def _no_number(name: str) -> None:
    """Refuse NaN and Infinity, which Python's JSON would read."""
    raise ValueError(f"expected an ordinary number, got {name}")


def _check_characters(value: Any, name: str, line: int) -> None:
    """Refuse NUL and halves of characters, which JSON can spell and no text file can hold."""
    for number, row in enumerate(value if isinstance(value, list) else [value], 1):
        text = json.dumps(row, ensure_ascii=False)
        half = HALF.search(text)
        if half or "\\u0000" in text.replace("\\\\", ""):
            what = f"half a character, {half[0]!a}" if half else "a NUL"
            raise ValueError(f"{name}, {f'line {line}' if line else f'row {number}'}: {what}; write it out")


def _wide(data: bytes) -> str:
    """Name an encoding of two or four bytes a character; "" for none."""
    for mark, name in WIDE.items():
        if data.startswith(mark):
            return name
    start = data[:2000]
    if len(start) > 3 and max(start[::2].count(0), start[1::2].count(0)) > len(start) // 4:
        return "UTF-16BE" if start[::2].count(0) > start[1::2].count(0) else "UTF-16LE"
    return ""
