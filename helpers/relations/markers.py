"""Mark the two entities of a sentence by their character offsets, and take the marks away again.

A scheme is a few strings, kept in one table. Everything works on offsets, never by searching for the
entity's word: 9 % of KLUE-RE's entity words occur more than once in their sentence. `window` keeps both
start markers whatever the length limit; batching and models are elsewhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from helpers.text.alignment import Encoded, encode_with_offsets

TYPES = ("PER", "ORG", "LOC", "DAT", "NOH", "POH")  # KLUE's; other types are written as they are called
KOREAN = MappingProxyType(dict(zip(TYPES, ("사람", "단체", "장소", "날짜", "수량", "기타"), strict=True)))
ENGLISH = MappingProxyType(
    dict(zip(TYPES, ("person", "organization", "location", "date", "number", "other"), strict=True))
)
CODES = MappingProxyType({name: name for name in TYPES})


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """What stands around each entity, and before and after the sentence.

    Every part is a template over {subject}, {object} (the entities' words), {with_} (과 or 와, as the
    subject's last sound wants), {subject_type} and {object_type}. `tokens` are the pieces that a tokenizer
    should keep whole; one with {type} stands for one piece per entity type.
    """

    subject: tuple[str, str] = ("", "")
    object: tuple[str, str] = ("", "")
    prefix: tuple[str, str] = ("", "")  # the subject's part, then the object's: the start markers are here
    suffix: str = ""
    words: MappingProxyType | None = None  # KLUE's type → the word written for it; None: types are not used
    replace: bool = False  # the opening marker takes the entity's place
    tokens: tuple[str, ...] = ()

    def pieces(self, types: Iterable[str] = TYPES) -> list[str]:
        """List the tokens for data with these entity types."""
        words = [self.word(kind) for kind in types]
        found = (
            piece.replace("{type}", word)
            for piece in self.tokens
            for word in (words if "{type}" in piece else [""])
        )
        return list(dict.fromkeys(found))

    def word(self, kind: str) -> str:
        """Return what is written for an entity type: KLUE's have their words, others their own name."""
        return self.words.get(kind, kind) if self.words else ""


_TYPED = (
    ("[SUBJ-{subject_type}]", "[/SUBJ-{subject_type}]"),
    ("[OBJ-{object_type}]", "[/OBJ-{object_type}]"),
)
_PUNCT = (("@*{subject_type}*", "@"), ("#^{object_type}^", "#"))
_PIECES = ("@", "*", "#", "^", "{type}")
_SCHEMES = {
    "none": Scheme(),
    "entity-mask": Scheme(
        subject=(_TYPED[0][0], ""),
        object=(_TYPED[1][0], ""),
        words=CODES,
        replace=True,
        tokens=("[SUBJ-{type}]", "[OBJ-{type}]"),
    ),
    "marker": Scheme(
        subject=("[SUBJ]", "[/SUBJ]"),
        object=("[OBJ]", "[/OBJ]"),
        tokens=("[SUBJ]", "[/SUBJ]", "[OBJ]", "[/OBJ]"),
    ),
    "marker-punct": Scheme(subject=("@", "@"), object=("#", "#"), tokens=("@", "#")),
    "typed": Scheme(
        subject=_TYPED[0],
        object=_TYPED[1],
        words=CODES,
        tokens=("[SUBJ-{type}]", "[/SUBJ-{type}]", "[OBJ-{type}]", "[/OBJ-{type}]"),
    ),
    "typed-punct": Scheme(subject=_PUNCT[0], object=_PUNCT[1], words=KOREAN, tokens=_PIECES),
    "typed-punct-en": Scheme(subject=_PUNCT[0], object=_PUNCT[1], words=ENGLISH, tokens=_PIECES),
    "typed-punct-question": Scheme(
        subject=_PUNCT[0],
        object=_PUNCT[1],
        suffix=" {subject}{with_} {object}의 관계는 무엇인가?",
        words=KOREAN,
        tokens=_PIECES,
    ),
    "prefix": Scheme(
        prefix=("@*{subject_type}*{subject}@ ", "#^{object_type}^{object}# "),
        words=KOREAN,
        tokens=_PIECES,
    ),
    # The published input after its parsing bug: both entities lost, their placeholders in plain text.
    "legacy-prefix": Scheme(prefix=("[E1-UNK]<SUBJ>[/E1] ", "[E2-UNK]<OBJ>[/E2] ")),
}
SCHEMES = tuple(_SCHEMES)
FIRST_MATCH = "legacy-first-match"  # typed-punct where the study's search finds the words; see `mark_row`


@dataclass(frozen=True)
class Edit:
    """At character `at` of the marked text, `added` stands where the sentence had `removed`."""

    at: int
    added: str
    removed: str


@dataclass(frozen=True)
class MarkedSentence:
    """A marked text, where its two start markers and entities are, and how to undo it.

    `subject` and `object` are half-open character ranges of `text`, markers included.
    """

    text: str
    subject_start: int
    object_start: int
    subject: tuple[int, int]
    object: tuple[int, int]
    edits: tuple[Edit, ...]

    def unmark(self) -> str:
        """Undo the edits, last first, and return the sentence."""
        text = self.text
        for edit in reversed(self.edits):
            text = text[: edit.at] + edit.removed + text[edit.at + len(edit.added) :]
        return text


def mark(
    sentence: str,
    subject: tuple[int, int],
    object: tuple[int, int],
    *,
    scheme: str,
    subject_type: str | None = None,
    object_type: str | None = None,
) -> MarkedSentence:
    """Mark two half-open character ranges of `sentence`.

    Ranges must be non-empty, inside the sentence and disjoint; they may touch, and may hold anything, spaces
    included. Schemes without type words ignore the types.

    >>> mark("세종은 조선의 왕", (0, 2), (4, 6), scheme="marker-punct").text
    '@세종@은 #조선#의 왕'
    """
    _check(sentence, subject, object)
    parts, words = scheme_parts(scheme), (sentence[slice(*subject)], sentence[slice(*object)])
    fields = {
        "subject": words[0],
        "object": words[1],
        "with_": _with(words[0]),
        "subject_type": _type_word(parts, subject_type, scheme),
        "object_type": _type_word(parts, object_type, scheme),
    }
    edits = [(0, 0, part) for part in parts.prefix]
    for span in sorted((subject, object)):
        opening, closing = parts.subject if span == subject else parts.object
        edits += [(span[0], span[1] if parts.replace else span[0], opening), (span[1], span[1], closing)]
    edits.append((len(sentence), len(sentence), parts.suffix))
    text, placed = _apply(sentence, [(start, end, added.format_map(fields)) for start, end, added in edits])
    first, second = (2, 4) if subject < object else (4, 2)
    starts = (placed[0].at, placed[1].at) if parts.prefix[0] else (placed[first].at, placed[second].at)
    ranges = [(placed[i].at, placed[i + 1].at + len(placed[i + 1].added)) for i in (first, second)]
    return MarkedSentence(
        text,
        subject_start=starts[0],
        object_start=starts[1],
        subject=ranges[0],
        object=ranges[1],
        edits=tuple(edit for edit in placed if edit.added or edit.removed),
    )


def mark_row(row: dict, *, scheme: str) -> MarkedSentence:
    """Mark one row of a relation data set, whose end_idx is inclusive.

    The scheme FIRST_MATCH is the published procedure, a control: a word that its search misses, or finds
    inside the other, stays unmarked, and its start points at the beginning of the sentence.
    """
    subject, object = row["subject_entity"], row["object_entity"]
    places = [(subject["start_idx"], subject["end_idx"] + 1), (object["start_idx"], object["end_idx"] + 1)]
    if scheme == FIRST_MATCH:
        first, second = legacy_first_match(row["sentence"], subject["word"], object["word"])
        if first is None:
            return _mark_one(row, "object", second)
        if second is None or max(first, second)[0] < min(first, second)[1]:
            return _mark_one(row, "subject", first)
        places = [first, second]
    return mark(
        row["sentence"], *places, scheme=scheme, subject_type=subject["type"], object_type=object["type"]
    )


def scheme_parts(scheme: str) -> Scheme:
    """Look a scheme up by name; FIRST_MATCH writes what typed-punct writes."""
    if scheme not in (*SCHEMES, FIRST_MATCH):
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}; got {scheme!r}")
    return _SCHEMES["typed-punct" if scheme == FIRST_MATCH else scheme]


def entity_types(*parts: Iterable[Mapping[str, Any]]) -> set[str]:
    """Collect the entity types of the rows of relation data sets."""
    return {row[f"{role}_entity"]["type"] for rows in parts for row in rows for role in ("subject", "object")}


def register_markers(tokenizer, scheme: str, *, types: Iterable[str] = TYPES) -> int:
    """Add to `tokenizer` the pieces of `scheme` that it would lose or split; return how many were added.

    Bracketed markers become special tokens. Punctuation and type words are added only where the vocabulary
    does not already hold them as one token, words only as whole words: 사람 is added, 사람들 stays as it was.
    """
    from tokenizers import AddedToken

    added = 0
    for piece in scheme_parts(scheme).pieces(types):
        if not is_one_token(tokenizer, piece):
            special = piece.startswith("[")
            token = AddedToken(piece, single_word=piece.isalpha(), normalized=False, special=special)
            added += tokenizer.add_tokens([token], special_tokens=special)
    return added


def is_one_token(tokenizer, piece: str) -> bool:
    """Tell whether `piece` is one known token where a marked sentence has it: words between punctuation."""
    left, right = ("*", "*") if piece.isalpha() else ("가", "나")
    (encoded,) = encode_with_offsets(tokenizer, [left + piece + right], special_tokens=False)
    wanted = np.array([len(left), len(left) + len(piece)])
    hits = np.flatnonzero((encoded.offsets == wanted).all(axis=1))
    return len(hits) == 1 and encoded.input_ids[hits[0]] != tokenizer.unk_token_id


def start_tokens(marked: MarkedSentence, offsets: np.ndarray) -> tuple[int, int]:
    """Find the tokens of the two start markers: the first to end after the marker's first character."""
    real = np.flatnonzero(offsets[:, 1] > offsets[:, 0])
    if not len(real):
        return 0, 0
    found = np.searchsorted(offsets[real, 1], [marked.subject_start, marked.object_start], side="right")
    subject, object = real[np.minimum(found, len(real) - 1)]
    return int(subject), int(object)


def window(marked: MarkedSentence, encoded: Encoded, *, length: int) -> np.ndarray:
    """Choose `length` tokens, in order, that keep both start markers; all of them when they fit.

    The start markers come first, then everything that the scheme added and the entities themselves, then
    the tokens nearest to an entity. Two entities far apart keep one window each.
    """
    if length < 2:
        raise ValueError(f"a window needs room for two start markers, got length {length}; raise max_length")
    offsets = encoded.offsets
    if len(offsets) <= length:
        return np.arange(len(offsets))
    added = [(edit.at, edit.at + len(edit.added)) for edit in marked.edits]
    entities = _touching(offsets, [marked.subject, marked.object])
    index = np.arange(len(offsets))
    distance = np.abs(index[:, None] - np.flatnonzero(entities)).min(axis=1, initial=len(offsets))
    distance[_touching(offsets, added)] = 0
    distance[list(start_tokens(marked, offsets))] = -1
    return np.sort(np.argsort(distance, kind="stable")[:length])


def legacy_first_match(sentence: str, subject_word: str, object_word: str) -> list[tuple[int, int] | None]:
    """Locate both words as the published study did: the first whole-word match, None where there is none.

    A particle glued to the word hides it, and a repeated word is found in the wrong place: both entities come
    out right in 38 % of KLUE-RE's training rows.
    """
    import re

    matches = (re.search(rf"\b{re.escape(word)}\b", sentence) for word in (subject_word, object_word))
    return [match and match.span() for match in matches]


def _mark_one(row: dict, role: str, span: tuple[int, int] | None) -> MarkedSentence:
    """Mark one entity as typed-punct does, or none; what is not marked has the first character's range."""
    if span is None:
        return MarkedSentence(row["sentence"], 0, 0, (0, 1), (0, 1), ())
    parts = scheme_parts(FIRST_MATCH)
    words = {f"{role}_type": _type_word(parts, row[f"{role}_entity"]["type"], FIRST_MATCH)}
    opening, closing = (part.format_map(words) for part in getattr(parts, role))
    text, placed = _apply(row["sentence"], [(span[0], span[0], opening), (span[1], span[1], closing)])
    ranges = {"subject": (0, 1), "object": (0, 1)} | {role: (placed[0].at, placed[1].at + len(closing))}
    subject, object = ranges["subject"], ranges["object"]
    return MarkedSentence(text, subject[0], object[0], subject, object, tuple(placed))


def _check(sentence: str, subject: tuple[int, int], object: tuple[int, int]) -> None:
    for name, (start, end) in (("subject", subject), ("object", object)):
        if not 0 <= start < end <= len(sentence):
            raise ValueError(
                f"{name} must be a non-empty half-open range within 0 to {len(sentence)}, got "
                f"({start}, {end}); KLUE's end_idx is inclusive: pass end_idx + 1"
            )
    if subject[0] < object[1] and object[0] < subject[1]:
        raise ValueError(f"subject {subject} and object {object} overlap; mark disjoint entities")


def _type_word(parts: Scheme, name: str | None, scheme: str) -> str:
    if parts.words is not None and not name:
        raise ValueError(
            f"scheme {scheme!r} writes the entities' types, such as {', '.join(TYPES)}; got {name!r}"
        )
    return parts.word(name or "")


def _with(word: str) -> str:
    """Choose the particle "with" by the word's last sound: 과 after a final consonant, else 와."""
    syllable = ord(word[-1]) - ord("가")
    return "과" if 0 <= syllable < 11_172 and syllable % 28 else "와"


def _apply(sentence: str, edits: list[tuple[int, int, str]]) -> tuple[str, list[Edit]]:
    """Replace each (start, end) of `sentence` by its text; edits come in order and do not overlap."""
    text, position, placed = "", 0, []
    for start, end, added in edits:
        text += sentence[position:start]
        placed.append(Edit(len(text), added, sentence[start:end]))
        text, position = text + added, end
    return text + sentence[position:], placed


def _touching(offsets: np.ndarray, ranges: list[tuple[int, int]]) -> np.ndarray:
    """Tell for each token whether it shares a character with one of the ranges."""
    starts, ends = np.array(ranges, dtype=int).reshape(-1, 2).T
    return np.any((offsets[:, :1] < ends) & (offsets[:, 1:] > starts), axis=1)
