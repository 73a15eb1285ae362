"""Character ↔ token alignment that is exact for every Unicode string.

Offsets are half-open character ranges of the text as it was passed in, whatever the tokenizer normalises,
replaces by [UNK] or drops. Labels and probabilities are moved between characters and tokens here; which label
wins is the caller's business. Loading and training tokenizers is in `tokenizers`.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Encoded(NamedTuple):
    """One text as tokens: `offsets` (t, 2), an empty range for tokens that stand for no character."""

    input_ids: list[int]
    offsets: np.ndarray


def encode_with_offsets(
    tokenizer,
    texts: Sequence[str],
    *,
    special_tokens: bool = True,
    max_length: int | None = None,
    jamo: bool = False,
) -> list[Encoded]:
    """Encode texts; each token comes with the characters it covers, spaces at its edges left out.

    `jamo` replaces conjoining jamo by compatibility jamo first, one for one: most vocabularies hold only the
    latter, and offsets stay valid.

    >>> encode_with_offsets(tokenizer, ["세종은"], special_tokens=False)[0].offsets  # 세종 + ##은
    array([[0, 2], [2, 3]])
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            f"{type(tokenizer).__name__} gives no offsets; load it through tokenizers.load_tokenizer, "
            "which converts vocab.txt and SentencePiece files"
        )
    if isinstance(texts, str):
        raise ValueError("texts must be a list of strings, got one string; wrap it in a list")
    if not len(texts):
        return []
    inputs = [compatibility_jamo(text) for text in texts] if jamo else list(texts)
    encodings = tokenizer(
        inputs,
        add_special_tokens=special_tokens,
        truncation=max_length is not None,
        max_length=max_length,
        return_attention_mask=False,
        return_token_type_ids=False,
    )
    return [
        Encoded(encoding.ids, _trimmed(_without_spaces(encoding, text), text))
        for encoding, text in zip(encodings.encodings, texts, strict=True)
    ]


def compatibility_jamo(text: str) -> str:
    """Replace conjoining jamo (U+1100–11FF) by compatibility jamo, one for one: `ᄏ큐ᅲ` becomes `ㅋㅋㅠㅠ`."""
    return text.translate(_JAMO)


def token_of_char(offsets: np.ndarray, length: int) -> np.ndarray:
    """Find the first token that covers each of `length` characters, -1 where none does: (length,).

    >>> token_of_char(np.array([[0, 0], [0, 2], [3, 4]]), 5)
    array([ 1,  1, -1,  2, -1])
    """
    owner = np.full(length, -1)
    for token in range(len(offsets) - 1, -1, -1):
        owner[offsets[token, 0] : offsets[token, 1]] = token
    return owner


def spread(values: np.ndarray, offsets: np.ndarray, *, length: int, fill: float = 0.0) -> np.ndarray:
    """Copy per-token values (t, …) to the characters the tokens cover: (length, …), `fill` elsewhere."""
    values = np.asarray(values)
    if len(values) != len(offsets):
        raise ValueError(
            f"values has {len(values)} tokens but offsets has {len(offsets)}; encode the same text"
        )
    owner = token_of_char(offsets, length)
    out = np.full((length, *values.shape[1:]), fill, dtype=values.dtype)
    out[owner >= 0] = values[owner[owner >= 0]]
    return out


def _conjoining_to_compatibility() -> dict[int, str]:
    table = {}
    for code in range(0x1100, 0x1200):
        name = re.sub("CHOSEONG|JUNGSEONG|JONGSEONG", "LETTER", unicodedata.name(chr(code)))
        try:
            table[code] = unicodedata.lookup(name)
        except KeyError:
            continue  # a historical letter without a compatibility twin
    return table


_JAMO = _conjoining_to_compatibility()


def _without_spaces(encoding, text: str) -> np.ndarray:
    """Empty the range of every bare `▁`: a space, or one put before the text, is no letter."""
    offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
    for token in (index for index, piece in enumerate(encoding.tokens) if piece == "▁"):
        if text[slice(*offsets[token])] != "▁":
            offsets[token, 1] = offsets[token, 0]
    return offsets


def _trimmed(offsets: np.ndarray, text: str) -> np.ndarray:
    """Cut white space off both ends of each range; a range of spaces alone becomes empty."""
    if not any(text[a:b][:1].isspace() or text[a:b][-1:].isspace() for a, b in offsets.tolist()):
        return offsets  # most tokenizers never cover a space
    spaces = np.fromiter(map(str.isspace, text), dtype=bool, count=len(text))
    following = np.append(_next(~spaces), len(text))
    preceding = np.append(0, len(text) - _next(~spaces[::-1])[::-1])
    starts = np.minimum(following[offsets[:, 0]], offsets[:, 1])
    return np.stack([starts, np.maximum(preceding[offsets[:, 1]], starts)], axis=1)


def _next(wanted: np.ndarray) -> np.ndarray:
    """Give each position the first wanted position at or after it, the length where none follows."""
    at = np.where(wanted, np.arange(len(wanted)), len(wanted))
    return np.minimum.accumulate(at[::-1])[::-1]
