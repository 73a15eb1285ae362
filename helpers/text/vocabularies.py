"""What a vocabulary holds: whole Hangul, parts of it, junk, and entries that a text never uses.

Entries are looked at one by one, without a text; which of them a text uses is counted. What a tokenizer does
to sentences is measured in `measures`.
"""

import re
from collections.abc import Mapping, Sequence

import pandas as pd

OVERLONG = 10  # characters of Hangul; a longer entry is a phrase that somebody repeated
JAMO = re.compile(r"[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\ud7b0-\ud7ff]")
HANGUL = re.compile(r"[가-힣]+")
LINK = re.compile(r"https?|www|\.(?:com|net|org|co|kr)\b|[\w.]+@\w", re.IGNORECASE)
REPEATED = re.compile(r"(.)\1{3}")  # ㅋㅋㅋㅋ, ====
BYTE = re.compile(r"<0x[0-9A-F]{2}>")
RESERVED = re.compile(r"\[[A-Za-z]+\d*\]|<\w+>")  # [unused7], <s>
KINDS = ("special", "bytes", "spam", "jamo", "hangul", "other")


def kinds(tokenizer) -> dict[int, str]:
    """Sort every entry of a vocabulary, by id, into one of KINDS.

    "special" holds reserved places, too. "bytes": no whole character, so that a Hangul syllable takes
    several; "spam": OVERLONG, like an address, or one character four times in a row; "jamo": letters of
    syllables; "hangul": whole syllables alone.
    """
    special, as_bytes = set(tokenizer.all_special_ids), _byte_level(tokenizer)
    return {
        index: "special" if index in special else _kind(piece, as_bytes)
        for piece, index in tokenizer.get_vocab().items()
    }


def audit(tokenizers: Mapping[str, object], texts: Sequence[str]) -> pd.DataFrame:
    """Count the entries of each kind, in percent of the vocabulary, and those that `texts` never use."""
    rows = []
    for name, tokenizer in tokenizers.items():
        found = kinds(tokenizer)
        used = {token for ids in tokenizer(list(texts)).input_ids for token in ids}  # type: ignore[operator]
        share = pd.Series(found.values()).value_counts(normalize=True).mul(100)
        idle = 100 * sum(index not in used for index in found) / len(found)
        row = {"tokenizer": name, "entries": len(found)} | {kind: share.get(kind, 0.0) for kind in KINDS}
        rows.append(row | {"unused": idle})
    return pd.DataFrame(rows)


def _kind(piece: str, as_bytes: Mapping[str, int] | None) -> str:
    text = piece.removeprefix("##").removeprefix("▁")  # marks of its place in a word
    if as_bytes is not None:
        try:
            text = bytes(as_bytes[letter] for letter in piece).decode().strip()
        except (KeyError, UnicodeDecodeError):
            return "bytes"
    if BYTE.fullmatch(text):
        return "bytes"
    if RESERVED.fullmatch(text):
        return "special"
    if len("".join(HANGUL.findall(text))) > OVERLONG or LINK.search(text) or REPEATED.search(text):
        return "spam"
    if JAMO.search(text):
        return "jamo"
    return "hangul" if HANGUL.fullmatch(text) else "other"


def _byte_level(tokenizer) -> Mapping[str, int] | None:
    """Return the byte that each letter of a byte-level vocabulary stands for; None for other vocabularies."""
    if "ByteLevel" not in str(tokenizer.backend_tokenizer.decoder):  # kiwi's splitter cannot be printed
        return None
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    return {letter: byte for byte, letter in bytes_to_unicode().items()}
