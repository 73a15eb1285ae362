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
TAGGED = ("tokens", "ner_tags")
MARKUP = re.compile(r"<(.+?):[^:<>]+>")


def relations(rows: Sequence[Mapping], name: str, schema: Schema) -> list[dict]:
    """Return relation rows with fields as documented, or raise for the first that is wrong."""
    checked = []
    for number, row in enumerate(rows, 1):
        try:
            checked.append(_relation(row, schema))
        except ValueError as error:
            raise ValueError(f"{name}, row {number}{error}") from None
    check_unique((row["guid"] for row in checked), name, field="guid")
    return checked


def entities(rows: Sequence[Mapping], name: str, schema: Schema, *, split: str) -> list[dict]:
    """Return entity rows with fields as documented; rows without a guid (the hub's) are numbered."""
    known, checked = _Tags(schema.labels), []
    for number, row in enumerate(rows, 1):
        try:
            guid = row.get("guid") or f"{split}-{number - 1:05d}"
            checked.append(_entity_sentence(row, known, id_of({"guid": guid}, ("guid",), "")))
        except ValueError as error:
            raise ValueError(f"{name}, {_place(row, number, error)}") from None
    check_unique((row["guid"] for row in checked), name, field="guid")
    return checked


def read_ner_tsv(path: Path) -> list[dict]:
    """Return the sentences of an entity TSV; `line` is where their first character stands.

    Nothing is stripped: a row may be a space (`" \\tO"`) or a hash (`"#\\tO"`). A file that does not end with
    an empty line is accepted only when the comment of its last sentence shows that nothing is missing.
    """
    text = read_text(path)
    sentences, known, line = [], _TagOf(), 1
    for block in text.removesuffix("\n").split("\n\n"):
        if rows := block.strip("\n"):
            first = line + (block[0] == "\n")
            sentences.append(_sentence(rows.split("\n"), first, path, known))
        line += block.count("\n") + 2
    if sentences and not text.endswith("\n\n"):
        _check_whole(sentences[-1], text.removesuffix("\n").split("\n"), path)
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


def _sentence(lines: list[str], line: int, path: Path, known: "_TagOf") -> dict:
    """Return the sentence in these lines, the first of which is number `line` of the file."""
    comments = next((at for at, text in enumerate(lines) if not text.startswith(COMMENT)), len(lines))
    if not comments:
        raise ValueError(f"{path}, line {line}: expected `## <id>` above the rows, got {shown(lines[0])}")
    above = f"{path}, line {line + comments - 1}"
    if comments == len(lines):
        raise ValueError(f"{above}: no rows below the comment {shown(lines[-1])}; is the file truncated?")
    guid = id_of({"id": lines[comments - 1].removeprefix(COMMENT).split("\t")[0]}, ("id",), above)
    rows = lines[comments:]
    try:
        tags = list(map(known.__getitem__, rows))
    except KeyError as error:
        at = lines.index(error.args[0], comments)
        raise ValueError(
            f"{path}, line {line + at} ({guid}): expected one character, a tab and a tag, "
            f"got {shown(lines[at])}"
        ) from None
    tokens = list(map(known.characters.__getitem__, rows))
    return {"guid": guid, "tokens": tokens, "ner_tags": tags, "line": line + comments}


class _TagOf(dict):
    """The tags of well-formed rows: of a million rows some thousand differ, and each is checked once."""

    def __init__(self) -> None:
        self.characters: dict[str, str] = {}  # of the rows that have been looked up

    def __missing__(self, row: str) -> str:
        if row[1:2] != "\t" or "\t" in row[2:]:
            raise KeyError(row)
        self[row], self.characters[row] = row[2:], row[0]
        return self[row]


def _relation(row: Mapping, schema: Schema) -> dict:
    """Return a checked row; an error begins with what comes after the number of the row."""
    guid = id_of(row, ("guid", "id"), "")
    where = f" ({guid})"
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
    entity = row.get(field)
    if type(entity) is not dict:
        entity = parsed(entity, f"{where}, {field}", kind=dict)
    try:
        word, kind = entity["word"], entity["type"]
        start, end = entity["start_idx"], entity["end_idx"]
    except KeyError:
        raise ValueError(
            f"{where}, {field}: expected word, start_idx, end_idx and type, got {shown(entity)}"
        ) from None
    if type(start) is not int or type(end) is not int:
        start, end = whole(start, f"{where}, {field}"), whole(end, f"{where}, {field}")
    if not 0 <= start <= end < len(sentence) or sentence[start : end + 1] != word:
        found = shown(sentence[max(start, 0) : end + 1])
        raise ValueError(
            f"{where}, {field}: characters {shown(start)}–{shown(end)} are {found}, "
            f"not {shown(word)}; end_idx is inclusive, so {shown(word)} would be {_offsets(sentence, word)}"
        )
    if kind not in schema.types:
        raise ValueError(f"{where}, {field}: {unknown('type', kind, schema.types)}")
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

    def numbered(self, tags: Sequence[str], where: str) -> list[int]:
        """Return the ids of a sentence's tags; refuse the first tag that is unknown, misplaced or no text."""
        if not self.moves.issuperset(zip(("O", *tags), tags, strict=False)):
            moves = enumerate(zip(("O", *tags), tags, strict=False))
            at, (previous, tag) = next((at, move) for at, move in moves if move not in self.moves)
            if type(tag) is not str:
                raise TypeError(tag)
            raise _TagError(where, at, self._problem(tag, previous))
        return list(map(self.ids.__getitem__, tags))

    def _problem(self, tag: str, previous: str) -> str:
        if tag not in self.ids:
            return unknown("label", tag, self.names)
        return (
            f"{tag} follows {previous}: an entity begins with B-; write B-{tag[2:]}, or mend the tag before"
        )


class _TagError(ValueError):
    """Raised with the end of the row's place, a position in it, and what is wrong there."""


def _entity_sentence(row: Mapping, known: _Tags, guid: str) -> dict:
    """Return a checked row; an error begins with what comes after the number of the row."""
    where = f" ({guid})"
    tokens, tags = row.get("tokens"), row.get("ner_tags")
    if type(tokens) is not list or type(tags) is not list:
        tokens, tags = (parsed(row.get(field), f"{where}, {field}", kind=list) for field in TAGGED)
    if not tokens or len(tokens) != len(tags):
        raise ValueError(f"{where}: {len(tokens)} characters but {len(tags)} tags; expected one tag each")
    try:
        sentence, numbers = "".join(tokens), known.numbered(tags, where)
    except TypeError:
        other = next(value for value in (*tokens, *tags) if type(value) is not str)
        raise ValueError(f"{where}: characters and tags are texts, got {shown(other)}") from None
    if len(sentence) != len(tokens) or "" in tokens or "\0" in sentence:
        long = next(token for token in tokens if len(token) != 1 or token == "\0")
        raise ValueError(
            f"{where}: {shown(long)} is not one character; tags are per character, spaces included"
        )
    return {
        "guid": guid,
        "sentence": sentence,
        "tokens": tokens,
        "ner_tags": numbers,
    }


def _place(row: Mapping, number: int, error: ValueError) -> str:
    """Say where an error is: in a TSV the line of a tag, else the row."""
    if not isinstance(error, _TagError):
        return f"row {number}{error}"
    where, at, problem = error.args
    if "line" in row:
        return f"line {row['line'] + at}{where}: {problem}"
    return f"row {number}{where}, character {at}: {problem}"
