"""Documents: how often nouns return, how far away, and how many texts the study's pronoun filter drops."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from helpers.coreference.items import find_nouns
from helpers.eda import shares
from helpers.statistics import Interval, share


class Repetition(NamedTuple):
    """What tagging the documents showed; `returns` has one row per mention of a noun seen before."""

    documents: pd.DataFrame  # characters, nouns, returning, has_pronoun
    returns: pd.DataFrame  # document, noun, distance (characters since the mention before), mention (2, 3, …)


def repetition(texts: Sequence[str]) -> Repetition:
    """Tag the texts with kiwi and follow each noun of two characters or more through its document."""
    documents: list[tuple[int, int, int, bool]] = []
    returns: list[tuple[int, str, int, int]] = []
    for number, (text, tagged) in enumerate(zip(texts, find_nouns(texts, min_chars=2), strict=True)):
        last: dict[str, int] = {}  # where the noun's last mention ends
        seen: Counter[str] = Counter()
        before = len(returns)
        for noun in tagged.nouns:
            seen[noun.surface] += 1
            if noun.surface in last:
                returns.append((number, noun.surface, noun.start - last[noun.surface], seen[noun.surface]))
            last[noun.surface] = noun.end
        documents.append((len(text), len(tagged.nouns), len(returns) - before, tagged.has_pronoun))
    return Repetition(
        pd.DataFrame(documents, columns=["characters", "nouns", "returning", "has_pronoun"]),
        pd.DataFrame(returns, columns=["document", "noun", "distance", "mention"]),
    )


def returning_share(found: Repetition) -> Interval:
    """Return the percentage of noun mentions whose noun came before; a document is one unit."""
    return share(found.documents[["returning", "nouns"]].to_numpy(dtype=float)).scaled(100)


def without_pronouns(found: Repetition) -> Interval:
    """Return the percentage of documents without any pronoun: those the study keeps."""
    return shares.percentage(~found.documents["has_pronoun"])


def beyond(found: Repetition, window: int) -> Interval:
    """Return the percentage of returning mentions more than `window` characters from the mention before."""
    return shares.percentage(found.returns["distance"] > window, found.returns["document"])
