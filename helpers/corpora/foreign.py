"""Records of other tools and tables, as rows of ours: doccano, Label Studio, spaCy, Prodigy, TACRED, tables.

Each function takes one record (a dictionary, whatever file it came from) and looks for text, labels and
offsets under the names that tools use, or that `--map` gives. Offsets are checked against the words beside
them; what has to be mended or left out is logged with its place. Files are read and written in `imports`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from helpers.corpora import words
from helpers.corpora.files import listed, parsed, shown, whole

TEXT = (
    "text",
    "sentence",
    "content",
    "form",
    "document",
    "body",
    "comment",
    "문장",
    "본문",
    "텍스트",
    "내용",
)
LABEL = ("label", "labels", "relation", "type", "class", "category", "tag", "라벨")
SPANS = ("entities", "spans", "ents", "label", "labels", "NE")
TOKENS, TAGS = ("tokens", "token", "words"), ("ner_tags", "tags", "labels", "ner", "label")
CLASSES = ("techniques", "labels", "label", "cats", "classes", "categories", "category", "class", "라벨")
ROLES = {"subject": ("subject", "subj", "head", "h", "e1"), "object": ("object", "obj", "tail", "t", "e2")}
START = ("start", "start_idx", "start_offset", "begin", "from")
END = ("end", "end_idx", "end_offset", "to")  # end_idx is inclusive
KIND = ("label", "labels", "type", "entity_type", "tag", "kind")
WORD = ("word", "text", "name", "form", "entity")
FLAGS = {"0": False, "1": True, "0.0": False, "1.0": True, "False": False, "True": True}
NOT_CLASSES = {"id", "guid", "index", "idx", "fold", "no"}  # columns of numbers that may be 0 and 1 by chance
JOINTS = (";", "|", ",")
BARE = "record without labels"
UNTYPED = "entity"  # the type of entities without one

Row = dict[str, Any]


@dataclass
class Reading:
    """How to read the records of one file, and what had to be repaired or dropped, by reason, and where."""

    fields: Mapping[str, str] = field(default_factory=dict)  # what `--map` says: our name → theirs
    test: bool = False  # records need no labels
    flags: Sequence[str] = ()  # columns of a table that are a class each
    joint: str = ""  # what joins several labels in one cell
    joined_by: str = " "  # what stood between tagged words
    repaired: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    dropped: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def check(self, records: Sequence[Mapping], name: str) -> None:
        """Refuse a field that `--map` names and no record has."""
        places = (one for row in records for one in (row, row.get("data")) if isinstance(one, Mapping))
        known = {key: 1 for place in places for key in place}
        for ours, theirs in self.fields.items():
            needed = ours != "none" and not (ours == "label" and self.test)
            if known and needed and not known.keys() & {theirs, *re.split(r"\s*,\s*", theirs)}:
                raise ValueError(
                    f"{name}: --map {ours}={theirs}, but no record has that field; fields: {listed(known)}"
                )

    def get(self, record: Mapping, ours: str, names: Sequence[str], kind: type | None = None) -> Any:
        """Return a field by the name that `--map` gives for `ours`, or by the first of `names` it has."""
        return _first(record, (self.fields[ours],) if ours in self.fields else names, kind)


def entities(record: Row, where: str, reading: Reading) -> Row | None:
    """Return {"text", "spans"} of a record with entities; None where it was left out."""
    if tokens := reading.get(record, "text", TOKENS, list):
        tags = reading.get(record, "label", TAGS, list) or (["O"] * len(tokens) if reading.test else [])
        if len(tags) != len(tokens):
            raise ValueError(f"{where}: {len(tokens)} words but {len(tags)} tags; expected one each")
        return tagged(words.Sentence(tokens, [str(tag) for tag in tags], where), reading)
    opened = _opened(record, where, reading)
    if opened is None:
        return None
    if opened.marks is None and not reading.test:
        reading.dropped[BARE].append(where)
        return None
    found = [(located(opened.text, mark, where, reading), _kind(mark)) for mark in opened.marks or ()]
    spans = [(*place, kind) for place, kind in found if place and kind]
    return {"text": opened.text, "spans": apart(spans, where, reading)}


def tagged(sentence: words.Sentence, reading: Reading) -> Row:
    """Return {"text", "spans"} of tagged words."""
    try:
        found = words.tagged(sentence, joined_by=reading.joined_by)
    except ValueError as error:
        raise ValueError(f"{sentence.where}: {error}") from None
    if found.repaired:
        reading.repaired["I- that continued nothing begins an entity"] += [sentence.where] * found.repaired
    spans = [span for span in found.spans if span[0] < span[1]]
    if empty := len(found.spans) - len(spans):
        reading.dropped["entity that is empty or outside its text"] += [sentence.where] * empty
    return {"text": found.text, "spans": spans}


def relations(record: Row, where: str, reading: Reading) -> Iterator[Row]:
    """Yield the relations of a record, which is one itself or a text with entities and relations by id."""
    if isinstance(record.get("token"), list) and "subj_start" in record:
        text, sides = _tacred(record, where)
        yield from _relation(text, sides, record.get("relation"), where, reading)
        return
    sides = [_side(record, ours, where, reading) for ours in ROLES]
    text = reading.get(record, "text", TEXT, str)
    if text is not None and all(sides):
        yield from _relation(text, sides, reading.get(record, "label", LABEL), where, reading)
        return
    opened = _opened(record, where, reading)
    if opened is not None:
        by_id = {str(mark.get("id")): mark for mark in opened.marks or ()}
        for n, (subject, object_, label) in enumerate(opened.links, 1):
            ends = [by_id.get(str(subject)), by_id.get(str(object_))]
            yield from _relation(opened.text, ends, label, f"{where}, relation {n}", reading)


def posts(record: Row, where: str, reading: Reading) -> Row | None:
    """Return {"content", "techniques"} of a record, with lang and trigger_words where it has them."""
    opened = _opened(record, where, reading)
    if opened is None:
        return None
    row: Row = {"content": opened.text}
    value = reading.get(record, "label", CLASSES)
    if reading.flags:
        row["techniques"] = [name for name in reading.flags if _flag(record.get(name), f"{where}, {name}")]
    elif opened.choices is not None:
        row["techniques"] = opened.choices
    elif value is not None:
        row["techniques"] = _names(value, reading.joint, where)
    elif not reading.test:
        reading.dropped[BARE].append(where)
        return None
    for name in ("lang", "trigger_words"):
        if (value := reading.get(record, name, (name,))) not in (None, ""):
            row[name] = value
    return row


def document(record: Row, where: str, reading: Reading) -> Row | None:
    """Return {"text", "title"} of a record."""
    opened = _opened(record, where, reading)
    title = reading.get(record, "title", ("title", "제목"))
    return {"text": opened.text, "title": str(title or "")} if opened else None


def flag_columns(records: Sequence[Row], fields: Mapping[str, str]) -> list[str]:
    """Return the columns of a table that hold nothing but 0 and 1, or those that `--map label=a,b` names."""
    named = [name for name in re.split(r"\s*,\s*", fields.get("label", "")) if name]
    if not records or len(named) == 1:
        return []
    if named:
        return [name for name in named if name in records[0]]
    columns = [name for name in records[0] if name.casefold() not in NOT_CLASSES]
    return [name for name in columns if all(str(row.get(name)) in FLAGS for row in records)]


def joint_of(records: Sequence[Row], reading: Reading) -> str:
    """Return the character that joins several labels in one cell, "" where each cell holds one."""
    cells = [reading.get(row, "label", CLASSES) for row in records]
    texts = [cell for cell in cells if isinstance(cell, str) and not cell.startswith("[")]
    return next((joint for joint in JOINTS if any(joint in text for text in texts)), "")


def located(text: str, mark: Row, where: str, reading: Reading) -> tuple[int, int] | None:
    """Return the half-open place of a mark in the text, trimmed of spaces; None, logged, where it has none.

    A word beside the offsets decides: about an end that is inclusive, about offsets in UTF-16 units (a
    browser's), and where the offsets miss it altogether while it occurs once.
    """
    word, start, end = _first(mark, WORD, str), _number(mark, START), _number(mark, END)
    if start is None and isinstance(mark.get("pos"), list):
        start, end = mark["pos"][0], mark["pos"][-1]
    if start is None or end is None:
        number = text.count(word) if word else 0
        if number == 1:
            return text.index(word), text.index(word) + len(word)
        occurs = "occurs more than once" if number else "does not occur"
        reading.dropped[f"entity without offsets whose word {occurs}"].append(where)
        return None
    exclusive, inclusive = (start, end), (start, end + 1)
    usual, other = (inclusive, exclusive) if "end_idx" in mark else (exclusive, inclusive)
    wide = _characters(text, start), _characters(text, end)
    once = (text.index(word), text.index(word) + len(word)) if word and text.count(word) == 1 else None
    for place, repair in (
        (usual, ""),
        (other, "end that is inclusive" if other == inclusive else "end that is exclusive"),
        (wide, "offset in UTF-16 units, where characters beyond U+FFFF count twice"),
        (once, "offset beside its word"),
    ):
        inside = place and place[0] >= 0 and place[1] <= len(text)
        if place and (word is None or (inside and text[slice(*place)] == word)):
            if repair:
                reading.repaired[repair].append(where)
            return _inside(text, *place, where, reading)
    reading.dropped["entity whose offsets do not hold its word"].append(where)
    return None


def apart(spans: Iterable[words.Span], where: str, reading: Reading) -> list[words.Span]:
    """Keep spans that do not overlap, longer ones first, in the order of the text; copies count once."""
    kept: list[words.Span] = []
    for span in sorted(set(spans), key=lambda span: (span[0] - span[1], span)):
        if any(span[0] < other[1] and other[0] < span[1] for other in kept):
            reading.dropped["entity inside or across a longer one"].append(where)
        else:
            kept.append(span)
    return sorted(kept)


@dataclass
class _Opened:
    """A tool's record: text, marked entities, (from, to, label) of relations, classes chosen."""

    text: str
    marks: list[Row] | None = None
    links: list[tuple[Any, Any, Any]] = field(default_factory=list)
    choices: list[str] | None = None


def _opened(record: Row, where: str, reading: Reading) -> _Opened | None:
    if record.get("answer", "accept") != "accept":  # Prodigy's
        reading.dropped[f"record with the answer {shown(record['answer'])}"].append(where)
        return None
    whole = record["data"] if isinstance(record.get("data"), Mapping) else record
    names = (reading.fields["text"],) if "text" in reading.fields else TEXT
    if not any(name in whole for name in names):
        raise ValueError(f"{where}: no text in it; fields: {listed(whole)}. Name it: --map text=<field>")
    text = _first(whole, names, str) or ""
    if not text.strip():
        reading.dropped["record without text"].append(where)
        return None
    if whole is not record:
        return _label_studio(record, text, where, reading)
    marks = reading.get(record, "label", SPANS, list)
    links = [
        (_first(link, ("from_id", "from", "head")), _first(link, ("to_id", "to", "child")), _kind(link))
        for link in _first(record, ("relations",), list) or ()
    ]
    return _Opened(text, marks and [mark for mark in map(_mark, marks) if mark], links)


def _label_studio(record: Row, text: str, where: str, reading: Reading) -> _Opened | None:
    annotations = [
        one
        for one in record.get("annotations") or record.get("completions") or ()
        if isinstance(one, Mapping) and not one.get("was_cancelled")
    ]
    if not annotations:
        if not reading.test:
            reading.dropped["task without an annotation"].append(where)
        return _Opened(text) if reading.test else None
    if len(annotations) > 1:
        reading.repaired["task with several annotations, of which the first is used"].append(where)
    opened = _Opened(text, marks := [])
    for part in annotations[0].get("result", ()):
        value = part.get("value") or {}
        if part.get("type") == "relation":
            ends = (part.get("from_id"), part.get("to_id"))
            opened.links.append((*(ends[::-1] if part.get("direction") == "left" else ends), _kind(part)))
        elif part.get("type") == "choices":
            opened.choices = [*(opened.choices or ()), *value.get("choices", ())]
        elif "start" in value:
            named = next((value[key] for key in value if key.endswith("labels")), None)
            place = value.get("globalOffsets") or {}  # hypertext has paths for its start and end
            marks.append({"id": part.get("id"), **value, **place, "labels": named})
    return opened


def _side(record: Row, ours: str, where: str, reading: Reading) -> Row | None:
    """Return an entity given as a dictionary, as its text (a CSV's spelling), or in columns of its own."""
    for name in (reading.fields[ours],) if ours in reading.fields else (f"{ours}_entity", *ROLES[ours]):
        value = record.get(name)
        if isinstance(value, str) and value.startswith("{"):
            value = parsed(value, f"{where}, {name}", kind=dict)
        if isinstance(value, Mapping):
            return dict(value)
        if value is not None:
            cells = {key: record.get(f"{name}_{key}") for key in (*START, *END, *KIND)}
            return {
                "word": str(value),
                **{key: cell for key, cell in cells.items() if cell not in (None, "")},
            }
    return None


def _tacred(record: Row, where: str) -> tuple[str, list[Row | None]]:
    """Return text and entities of a record in TACRED's form, whose ends are the last word."""
    tokens: list[str] = record["token"]
    sides: list[Row | None] = []
    starts = [sum(len(word) + 1 for word in tokens[:i]) for i in range(len(tokens))]
    for role in ("subj", "obj"):
        first, last = (
            whole(record[f"{role}_{edge}"], f"{where}, {role}_{edge}") for edge in ("start", "end")
        )
        end = starts[last] + len(tokens[last])
        sides.append({"start": starts[first], "end": end, "type": record.get(f"{role}_type")})
    return " ".join(tokens), sides


def _relation(text: str, sides: list[Row | None], label: Any, where: str, reading: Reading) -> Iterator[Row]:
    row: Row = {"sentence": text}
    for role, side in zip(("subject", "object"), sides, strict=True):
        if side is None:
            reading.dropped["relation to an entity that is not there"].append(where)
            return
        place = located(text, side, where, reading)
        if place is None:
            return
        spot = {"word": text[slice(*place)], "start_idx": place[0], "end_idx": place[1] - 1}
        row[f"{role}_entity"] = spot | {"type": _kind(side) or UNTYPED}
    subject, object_ = row["subject_entity"], row["object_entity"]
    if subject["start_idx"] <= object_["end_idx"] and object_["start_idx"] <= subject["end_idx"]:
        reading.dropped["relation between overlapping entities"].append(where)
    elif label in (None, "") and not reading.test:
        reading.dropped["relation without a label"].append(where)
    else:
        yield row | ({} if label in (None, "") else {"label": str(label)})


def _mark(mark: Any) -> Row | None:
    """Return a span as a dictionary, given as one or as [start, end, label]."""
    if isinstance(mark, Mapping):
        return dict(mark)
    if isinstance(mark, (list, tuple)) and len(mark) >= 3 and isinstance(mark[0], int):
        return {"start": mark[0], "end": mark[1], "label": mark[2]}
    return None


def _inside(text: str, start: int, end: int, where: str, reading: Reading) -> tuple[int, int] | None:
    inner = text[start:end]
    if not 0 <= start < end <= len(text) or not inner.strip():
        reading.dropped["entity that is empty or outside its text"].append(where)
        return None
    if inner != inner.strip():
        reading.repaired["entity with spaces at its ends"].append(where)
    return start + len(inner) - len(inner.lstrip()), end - len(inner) + len(inner.rstrip())


def _characters(text: str, units: int) -> int:
    """Return how many characters the first `units` UTF-16 units of a text are."""
    return len(text.encode("utf-16-le")[: 2 * max(units, 0)].decode("utf-16-le", "ignore"))


def _kind(mark: Row) -> str:
    value = _first(mark, KIND)
    value = value[0] if isinstance(value, list) and value else value
    return "" if value in (None, [], "") else str(value)


def _number(mark: Row, names: Sequence[str]) -> int | None:
    value = _first(mark, names)
    return int(value) if re.fullmatch(r"-?\d{1,12}", str(value)) else None


def _flag(value: Any, where: str) -> bool:
    if str(value) not in FLAGS:
        raise ValueError(f"{where}: expected 0 or 1, got {shown(value)}")
    return FLAGS[str(value)]


def _names(value: Any, joint: str, where: str) -> list[str]:
    """Return the classes in a cell: a list or its spelling, {class: 0 or 1}, or names with joints between."""
    if isinstance(value, str) and value.startswith("["):
        value = parsed(value, where, kind=list)
    if isinstance(value, Mapping):
        return [str(name) for name, on in value.items() if float(on) >= 0.5]
    if not isinstance(value, (list, tuple)):
        value = str(value).split(joint) if joint else [value]
    return [name for name in (str(one).strip() for one in value) if name]


def _first(record: Mapping, names: Sequence[str], kind: type | None = None) -> Any:
    """Return the first field that is there, and of the kind."""
    values = (record.get(name) for name in names)
    return next((v for v in values if v is not None and (kind is None or isinstance(v, kind))), None)
