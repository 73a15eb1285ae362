"""Posts with any number of classes: UNLP 2025's manipulation techniques, their languages and trigger spans.

The published file has spans that end after their post, that overlap and that are out of order. The first
are clipped and counted; the others are left as the annotators made them.
"""

import warnings
from collections.abc import Mapping, Sequence

from helpers.corpora.files import check_unique, id_of, parsed, shown, text_of, whole
from helpers.corpora.schemas import Schema, unknown

FLAGS = {True: True, False: False, "True": True, "False": False, "true": True, "false": False}


class CorpusWarning(UserWarning):
    """Something in a file had to be mended."""


def posts(rows: Sequence[Mapping], name: str, schema: Schema) -> tuple[list[dict], str]:
    """Return posts with fields as documented, and a sentence on what had to be mended ("" when nothing).

    Spans out of range are clipped, counted and warned of. Without a language in any row it is "" in all.
    """
    spoken = any(row.get("lang") for row in rows)
    checked = [_post(row, f"{name}, row {i}", schema, spoken=spoken) for i, row in enumerate(rows, 1)]
    check_unique((row["id"] for row in checked), name, field="id")
    given = [span for row in checked for span in row["trigger_words"]]
    cut = [span for row in checked for span in clip(row["trigger_words"], len(row["content"]))]
    outside = sum(before != after for before, after in zip(given, cut, strict=True))
    note = ""
    if outside:
        empty = sum(start >= end for start, end in cut)
        note = (
            f"{name}: {outside:,} of {len(given):,} trigger spans reach outside their post; "
            f"{outside - empty:,} clipped, {empty:,} dropped as empty"
        )
        warnings.warn(note, CorpusWarning, stacklevel=3)
    return [{**row, "trigger_words": _inside(row)} for row in checked], note


def clip(spans: Sequence[Sequence[int]], length: int) -> list[list[int]]:
    """Cut half-open spans to `[0, length)`, one for one; a span wholly outside comes back empty.

    >>> clip([[2, 9], [8, 9]], 8)
    [[2, 8], [8, 8]]
    """
    return [[max(start, 0), min(end, length)] for start, end in spans]


def _inside(post: Mapping) -> list[list[int]]:
    return [span for span in clip(post["trigger_words"], len(post["content"])) if span[0] < span[1]]


def _post(row: Mapping, where: str, schema: Schema, *, spoken: bool) -> dict:
    key = id_of(row, ("id",), where)
    where = f"{where} ({key})"
    names = _list(row, "techniques", where)
    strange = [name for name in names if name not in schema.labels]
    if strange:
        raise ValueError(
            f"{where}: {unknown('technique', strange[0], schema.labels)}; names are separated by commas"
        )
    own = [i for i, name in enumerate(schema.labels) if name in names]
    flag = row.get("manipulative", bool(names))
    if not isinstance(flag, str | int) or flag not in FLAGS:
        raise ValueError(f"{where}: manipulative must be true or false, got {shown(flag)}")
    return {
        "id": key,
        "content": text_of(row, "content", where),
        "lang": text_of(row, "lang", where) if spoken else "",
        "manipulative": FLAGS[flag],
        "techniques": [schema.labels[i] for i in own],
        "labels": own,
        "trigger_words": [_span(span, where) for span in _list(row, "trigger_words", where)],
    }


def _list(row: Mapping, field: str, where: str) -> list:
    """Return a list field; None and the empty cell of a CSV mean no entries."""
    value = row.get(field)
    if value is None or value in ("", "nan"):
        return []
    return parsed(value, f"{where}, {field}", kind=list)


def _span(span: Sequence[int], where: str) -> list[int]:
    if not isinstance(span, list | tuple) or len(span) != 2:
        raise ValueError(f"{where}: a trigger span is [start, end], got {shown(span)}")
    start, end = (whole(edge, f"{where}, trigger_words") for edge in span)
    if start > end:
        raise ValueError(f"{where}: the trigger span [{start}, {end}] ends before it starts")
    return [start, end]
