"""Any text: characters that a vocabulary cannot hold, and sentences that stand in two places.

A character that a tokenizer maps to [UNK] on its own is one that no model behind it can read. KS X 1001, with
the 2,350 syllables at which older fonts and corpora stop, serves as a yardstick.
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from helpers.statistics import Interval, wilson
from helpers.text.copies import Overlap, find_overlaps

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

KS_X_1001 = "KS X 1001"
BLOCKS = (  # first and last code point, name
    (0x1100, 0x11FF, "conjoining jamo"),
    (0x3130, 0x318F, "compatibility jamo"),
    (0xAC00, 0xD7A3, "syllable"),
    (0x3400, 0x9FFF, "hanja"),
    (0x3040, 0x30FF, "kana"),
    (0x1F000, 0x1FAFF, "emoji"),
)


class Copied(NamedTuple):
    """Dev sentences that also stand in train, in percent of dev rows, and the nearest of the near ones."""

    exact: Interval
    near: Interval  # half of the sentence's runs of six characters or more, but not all of it
    closest: Overlap | None  # the nearest of the near copies; `text` is a row of train, `sentence` of dev


def copied(train: Sequence[str], dev: Sequence[str]) -> Copied:
    """Count the dev sentences whose copy, exact or near, is in train."""
    found = list(find_overlaps(train, dev))
    exact = {one.sentence for one in found if one.exact}
    near = [one for one in found if one.sentence not in exact]
    counts = (len(exact), len({one.sentence for one in near}))
    same, alike = (wilson(count, len(dev)).scaled(100) for count in counts)
    return Copied(same, alike, max(near, key=lambda one: one.share, default=None))


def block(character: str) -> str:
    """Name the kind of a character: `block("ᄏ") == "conjoining jamo"`."""
    for first, last, name in BLOCKS:
        if first <= ord(character) <= last:
            return name
    return {"L": "other letter", "M": "mark", "N": "number"}.get(unicodedata.category(character)[0], "symbol")


def in_ks_x_1001(character: str) -> bool:
    """Tell whether KS X 1001 (or ASCII) has the character; a composed eight-byte form does not count."""
    try:
        return len(character.encode("euc_kr")) <= 2
    except UnicodeEncodeError:
        return False


def unreadable(characters: Sequence[str], tokenizer: "PreTrainedTokenizerFast") -> set[str]:
    """Return the characters that become [UNK] when they stand alone.

    WordPiece loses the rest of the word with them: `가쀍` is one [UNK] when only `쀍` is missing.
    """
    unknown = tokenizer.unk_token_id
    encoded = tokenizer(list(characters), add_special_tokens=False)["input_ids"]
    return {character for character, ids in zip(characters, encoded, strict=True) if unknown in ids}


def missing_characters(
    texts: Sequence[str], tokenizers: Mapping[str, "PreTrainedTokenizerFast"]
) -> pd.DataFrame:
    """Return what each vocabulary, and KS X 1001, cannot hold of the texts; the most complete one first.

    Columns: `vocabulary`, `size`, `distinct` (missing characters), `occurrences`, `texts, %` (that have one),
    `kinds` and `examples` (most frequent first).
    """
    counts = Counter(character for text in texts for character in text if not character.isspace())
    gone = {name: unreadable(sorted(counts), tokenizer) for name, tokenizer in tokenizers.items()}
    gone[KS_X_1001] = {character for character in counts if not in_ks_x_1001(character)}
    sizes = {name: len(tokenizer) for name, tokenizer in tokenizers.items()}
    rows = [
        {"vocabulary": name, "size": sizes.get(name)} | _damage(texts, lost, counts)
        for name, lost in gone.items()
    ]
    whole = pd.Series([row["size"] for row in rows], dtype=object)  # KS X 1001 has no tokens: None, not NaN
    table = pd.DataFrame(rows).assign(size=whole)
    return table.sort_values("occurrences", kind="stable", ignore_index=True)


def _damage(texts: Sequence[str], lost: set[str], counts: Counter) -> dict:
    ranked = sorted(lost, key=lambda character: (-counts[character], character))
    kinds: Counter[str] = Counter()
    for character in ranked:
        kinds[block(character)] += counts[character]
    hit = sum(not lost.isdisjoint(text) for text in texts)
    return {
        "distinct": len(lost),
        "occurrences": sum(counts[character] for character in lost),
        "texts, %": wilson(hit, len(texts)).scaled(100),
        "kinds": ", ".join(f"{name} {count:,}" for name, count in kinds.most_common(3)) or "–",
        "examples": " ".join(ranked[:8]) or "–",
    }
