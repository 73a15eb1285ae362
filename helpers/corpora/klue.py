"""KLUE: relations (JSON, hub, Boostcamp CSV) and named entities (TSV, hub), checked row by row.

Offsets are KLUE's: `end_idx` is the last character of the word, so `sentence[start_idx:end_idx + 1] == word`.
The entity TSV carries each sentence twice, as rows and as markup in its comment; rows are read, because
sentences may contain `<` and `>` of their own.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType

from helpers.corpora.files import check_unique, id_of, parsed, read_text, shown, text_of, whole
from helpers.corpora.labels import tags_of
from helpers.corpora.schemas import Schema, unknown

COMMENT = "## "  # a row is one character and a tab, so no row can begin like this
MARKUP = re.compile(r"<(.+?):[^:<>]+>")


def relations(rows: Sequence[Mapping], name: str, schema: Schema) -> list[dict]:
    """Return relation rows with fields as documented, or raise for the first that is wrong."""
    checked = [_relation(row, f"{name}, row {i}", schema) for i, row in enumerate(rows, 1)]
    check_unique((row["guid"] for row in checked), name, field="guid")
    return checked


def entities(rows: Sequence[Mapping], name: str, schema: Schema, *, split: str) -> list[dict]:
    """Return entity rows with fields as documented; rows without a guid (the hub's) are numbered."""
    tags = _Tags(schema.labels)
    checked = [
        _entity_sentence(row, name, tags, default_guid=f"{split}-{i:05d}", number=i + 1)
        for i, row in enumerate(rows)
    ]
    check_unique((row["guid"] for row in checked), name, field="guid")
    return checked


def read_ner_tsv(path: Path) -> list[dict]:
    """Return the sentences of an entity TSV; `line` is where their first character stands.

    Nothing is stripped: a row may be a space (`" \\tO"`) or a hash (`"#\\tO"`). A file that does not end with
    an empty line is accepted only when the comment of its last sentence shows that nothing is missing.
    """
    text = read_text(path)
    lines = text.removesuffix("\n").split("\n")
    blanks = [i for i, line in enumerate(lines) if not line]
    starts, ends = [0, *(i + 1 for i in blanks)], [*blanks, len(lines)]
    sentences = [_sentence(lines, s, e, path) for s, e in zip(starts, ends, strict=True) if s < e]
    if sentences and not text.endswith("\n\n"):
        _check_whole(sentences[-1], lines, path)
    return sentences


def _check_whole(last: Mapping, lines: Sequence[str], path: Path) -> None:
    """Refuse a last sentence that stops before its comment does."""
    _, _, comment = lines[last["line"] - 2].partition("\t")
    read = "".join(last["tokens"])
    where = f"{path}, line {len(lines)} ({last['guid']})"
    if not comment.strip():
        raise ValueError(
            f"{where}: no empty line after the last sentence: add one, or is the file truncated?"
        )
    if read.strip() not in (comment.strip(), MARKUP.sub(r"\1", comment).strip()):
        raise ValueError(
            f"{where}: the file ends at {read[-10:]!r}, inside the sentence {shown(comment)}: it is "
            "truncated, download it again"
        )


def _sentence(lines: list[str], start: int, end: int, path: Path) -> dict:
    first = start
    while first < end and lines[first].startswith(COMMENT):
        first += 1
    if first == start:
        got = shown(lines[start])
        raise ValueError(f"{path}, line {start + 1}: expected `## <id>` above the rows, got {got}")
    if first == end:
        raise ValueError(
            f"{path}, line {end}: no rows below the comment {shown(lines[end - 1])}; is the file truncated?"
        )
    guid = id_of(
        {"id": lines[first - 1].removeprefix(COMMENT).split("\t")[0]}, ("id",), f"{path}, line {first}"
    )
    rows = lines[first:end]
    wrong = next((at for at, row in enumerate(rows) if row[1:2] != "\t" or "\t" in row[2:]), None)
    if wrong is not None:
        raise ValueError(
            f"{path}, line {first + wrong + 1} ({guid}): expected one character, a tab and a tag, "
            f"got {shown(rows[wrong])}"
        )
    return {
        "guid": guid,
        "tokens": [row[0] for row in rows],
        "ner_tags": [row[2:] for row in rows],
        "line": first + 1,
    }


def _relation(row: Mapping, where: str, schema: Schema) -> dict:
    guid = id_of(row, ("guid", "id"), where)
    where = f"{where} ({guid})"
    sentence = text_of(row, "sentence", where)
    subject = _entity(row, "subject_entity", sentence, where, schema)
    object_ = _entity(row, "object_entity", sentence, where, schema)
    if subject["start_idx"] <= object_["end_idx"] and object_["start_idx"] <= subject["end_idx"]:
        raise ValueError(
            f"{where}: subject and object overlap, {_placed(subject)} and {_placed(object_)}; "
            "a relation needs two entities"
        )
    return {
        "guid": guid,
        "sentence": sentence,
        "subject_entity": subject,
        "object_entity": object_,
        "label": schema.id_of(row.get("label"), where),
        "source": _source(row.get("source"), where),
    }


def _entity(row: Mapping, field: str, sentence: str, where: str, schema: Schema) -> dict:
    where = f"{where}, {field}"
    entity = parsed(row.get(field), where, kind=dict)
    try:
        word, kind = entity["word"], entity["type"]
        start, end = entity["start_idx"], entity["end_idx"]
    except KeyError:
        raise ValueError(
            f"{where}: expected word, start_idx, end_idx and type, got {shown(entity)}"
        ) from None
    if type(start) is not int or type(end) is not int:
        start, end = whole(start, where), whole(end, where)
    if not 0 <= start <= end < len(sentence) or sentence[start : end + 1] != word:
        found = shown(sentence[max(start, 0) : end + 1])
        raise ValueError(
            f"{where}: characters {shown(start)}–{shown(end)} are {found}, "
            f"not {shown(word)}; end_idx is inclusive, so {shown(word)} would be {_offsets(sentence, word)}"
        )
    if kind not in schema.types:
        raise ValueError(f"{where}: {unknown('type', kind, schema.types)}")
    return {"word": word, "start_idx": start, "end_idx": end, "type": kind}


def _source(value: object, where: str) -> str:
    if type(value) not in (str, int, float, NoneType):
        raise ValueError(f"{where}: expected text in 'source', got {shown(value)}")
    return str(value or "")


def _placed(entity: Mapping) -> str:
    return f"{shown(entity['word'])} at {entity['start_idx']}–{entity['end_idx']}"


def _offsets(sentence: str, word: str) -> str:
    at = sentence.find(word) if isinstance(word, str) else -1
    return f"{at}–{at + len(word) - 1}" if at >= 0 else "nowhere in this sentence"


class _Tags:
    """The tags of a schema: ids by name, and which may follow which."""

    def __init__(self, types: Sequence[str]) -> None:
        self.names = tags_of(types)
        self.ids = {tag: i for i, tag in enumerate(self.names)}
        begin = {(old, tag) for old in self.names for tag in self.names if tag[0] != "I"}
        self.moves = begin | {(f"{old}-{kind}", f"I-{kind}") for kind in types for old in "BI"}

    def problem(self, tag: str, previous: str) -> str:
        if tag not in self.ids:
            return unknown("label", tag, self.names)
        return (
            f"{tag} follows {previous}: an entity begins with B-; write B-{tag[2:]}, or mend the tag before"
        )


def _entity_sentence(row: Mapping, name: str, known: _Tags, *, default_guid: str, number: int) -> dict:
    guid = id_of({"guid": row.get("guid") or default_guid}, ("guid",), f"{name}, row {number}")
    where = f"{name}, row {number} ({guid})"
    tokens, tags = (
        parsed(row.get(field), f"{where}, {field}", kind=list) for field in ("tokens", "ner_tags")
    )
    if not tokens or len(tokens) != len(tags):
        raise ValueError(f"{where}: {len(tokens)} characters but {len(tags)} tags; expected one tag each")
    if {*map(type, tokens), *map(type, tags)} != {str}:
        other = next(value for value in (*tokens, *tags) if type(value) is not str)
        raise ValueError(f"{where}: characters and tags are texts, got {shown(other)}")
    if {*map(len, tokens)} != {1} or "\0" in tokens:
        long = next(token for token in tokens if len(token) != 1 or token == "\0")
        raise ValueError(
            f"{where}: {shown(long)} is not one character; tags are per character, spaces included"
        )
    moves = list(zip(["O", *tags], tags, strict=False))
    if not known.moves.issuperset(moves):
        at, (previous, tag) = next((at, move) for at, move in enumerate(moves) if move not in known.moves)
        raise ValueError(f"{_at(row, where, at, name)}: {known.problem(tag, previous)}")
    return {
        "guid": guid,
        "sentence": "".join(tokens),
        "tokens": tokens,
        "ner_tags": [known.ids[tag] for tag in tags],
    }


def _at(row: Mapping, where: str, position: int, name: str) -> str:
    if "line" in row:
        return f"{name}, line {row['line'] + position} ({row['guid']})"
    return f"{where}, character {position}"
