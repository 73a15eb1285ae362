"""Tags of words in columns (CoNLL, TSV) or lists, in any of the usual schemes, as spans of characters.

Schemes: BIO, IOB1, BIOES, BILOU and BMEWO, with the mark before the type (`B-PER`) or after it (`PER_B`).
Writing spans as character tags is left to `imports`.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from helpers.corpora.files import read_text, shown

OUTSIDE, ALONE = {"O", "o", "-", "_", ""}, {"I", "E"}  # marks that may stand without a type
BEFORE, AFTER = re.compile(r"([BIEMSULW])[-_](.+)"), re.compile(r"(.+)[-_]([BIEMSULW])")
OPENING, CLOSING = set("BSUW"), set("ELSUW")  # marks that begin an entity, that end one
COMMENT = re.compile(r"## |-DOCSTART-")

Span = tuple[int, int, str]


class Sentence(NamedTuple):
    """Words and their tags; `where` is the place of the first one."""

    words: list[str]
    tags: list[str]
    where: str
    glued: tuple[bool, ...] = ()  # which words follow the one before without a space


class TaggedText(NamedTuple):
    """A text and its entities, half-open; `repaired` counts entities whose mark only continued nothing."""

    text: str
    spans: list[Span]
    repaired: int


def read_columns(path: Path, fields: Mapping[str, str]) -> list[Sentence]:
    """Read a file with one word a line, its tag in some column, and an empty line after each sentence.

    `fields` may name the columns of the words ("text") and of the tags ("label") by number, from 1 on. By
    default the tags are in the last column that holds nothing else, the words in the first that does not
    merely count. Pieces with the same count are one word: morphemes.
    """
    numbered = [line.rstrip("\n") for line in read_text(path).split("\n")]
    tabs = any("\t" in line for line in numbered)
    blocks: list[list[tuple[int, list[str]]]] = [[]]
    for number, line in enumerate(numbered, 1):
        if not line.strip(" \r") or COMMENT.match(line):
            blocks.append([])
        else:
            blocks[-1].append((number, line.split("\t") if tabs else line.split()))
    blocks = [block for block in blocks if block]
    width = _width(blocks)
    blocks = [
        [row for row in block if len(row[1]) == width or row[1][0][:1] not in ("#", ";", "$")]
        for block in blocks
    ]
    blocks = [block for block in blocks if block]
    columns = _columns(blocks, width, path)
    tag = _chosen(fields, "label", width, path) or _tag_column(columns, path)
    word = _chosen(fields, "text", width, path) or _word_column(columns)
    if not is_tag(columns[tag - 1][0]):  # a header
        del blocks[0][0]
    sentences = []
    for block in filter(None, blocks):
        rows = [cells for _, cells in block]
        counts = [cells[0] if word == 2 and cells[0].isdigit() else str(i) for i, cells in enumerate(rows)]
        glued = tuple(counts[i] == counts[i - 1] for i in range(1, len(rows)))
        found = [cells[word - 1] for cells in rows], [cells[tag - 1] for cells in rows]
        sentences.append(Sentence(*found, f"{path.name}, line {block[0][0]}", (False, *glued)))
    return sentences


def tagged(sentence: Sentence, *, joined_by: str) -> TaggedText:
    """Join words to a text and find its entities.

    >>> tagged(Sentence(["김 하람", "씨"], ["PER-B", "O"], ""), joined_by=" ")
    TaggedText(text='김 하람 씨', spans=[(0, 4, 'PER')], repaired=0)
    """
    words, tags, text, starts = sentence.words, sentence.tags, "", []
    for i, word in enumerate(words):
        text += joined_by if i and not (sentence.glued and sentence.glued[i]) else ""
        starts.append(len(text))
        text += word
    spans: list[Span] = []
    repaired, first, kind = 0, -1, ""
    for i, (mark, own) in enumerate([*map(_parts, tags), ("", "")]):
        if mark and not own:  # an I alone continues what there is
            mark, own = (mark, kind) if first >= 0 else ("", "")
        begins = mark in OPENING or (mark != "" and (first < 0 or own != kind))
        if first >= 0 and (begins or not mark):
            spans.append((starts[first], starts[i - 1] + len(words[i - 1]), kind))
            first = -1
        if begins:
            first, kind = i, own
            repaired += mark not in OPENING
        if mark in CLOSING:
            spans.append((starts[first], starts[i] + len(words[i]), kind))
            first = -1
    return TaggedText(text, spans, repaired)


def separator(words: Sequence[str]) -> str:
    """Return what stood between the words: nothing where spaces are words themselves, else a space.

    Four single characters or more are taken for a text that was cut into characters.
    """
    cut = len(words) > 3 and all(len(word) == 1 for word in words)
    return "" if cut or any(word.isspace() for word in words) else " "


def is_tag(value: str) -> bool:
    """Tell whether a cell can be a tag."""
    return value in OUTSIDE | ALONE or bool(BEFORE.fullmatch(value) or AFTER.fullmatch(value))


def _parts(tag: str) -> tuple[str, str]:
    """Split a tag into mark and type, which may be missing; both are empty outside of entities."""
    if tag in OUTSIDE | ALONE:
        return (tag, "") if tag in ALONE else ("", "")
    if found := BEFORE.fullmatch(tag):
        return found[1], found[2]
    found = AFTER.fullmatch(tag)
    if not found:
        raise ValueError(
            f"{shown(tag)} is no tag: expected O, or a type with B-, I-, E-, S-, L- or U- beside it"
        )
    return found[2], found[1]


def _width(blocks: list[list[tuple[int, list[str]]]]) -> int:
    widths = [len(cells) for block in blocks for _, cells in block]
    return max(set(widths), key=widths.count, default=0)


def _columns(blocks: list[list[tuple[int, list[str]]]], width: int, path: Path) -> list[list[str]]:
    """Return the cells of each column; a line with another number of them is an error."""
    for block in blocks:
        for number, cells in block:
            if len(cells) != width:
                raise ValueError(
                    f"{path}, line {number}: {len(cells)} columns where the others have {width}: "
                    f"{shown(cells)}"
                )
    if width < 2:
        raise ValueError(f"{path}: expected a word and a tag in every line, found {width} columns")
    return [[row[i] for block in blocks for _, row in block] for i in range(width)]


def _tag_column(columns: list[list[str]], path: Path) -> int:
    for i in range(len(columns), 0, -1):
        column = columns[i - 1]
        cells = column if is_tag(column[0]) else column[1:]  # the first line may be a header
        if all(map(is_tag, cells)) and not set(cells) <= OUTSIDE:
            return i
    other = next((cell for cell in columns[-1][1:] if not is_tag(cell)), "only O")
    raise ValueError(
        f"{path}: no column holds tags alone (the last has {shown(other)}); name it: --map label=<number>"
    )


def _word_column(columns: list[list[str]]) -> int:
    return 2 if len(columns) > 2 and all(cell.isdigit() for cell in columns[0][1:]) else 1


def _chosen(fields: Mapping[str, str], name: str, width: int, path: Path) -> int:
    """Return the column that `--map` names, 0 for none."""
    if name not in fields:
        return 0
    if not fields[name].isdigit() or not 1 <= int(fields[name]) <= width:
        raise ValueError(
            f"{path}: --map {name}=… must be the number of a column, 1 to {width}; got {fields[name]!r}"
        )
    return int(fields[name])
