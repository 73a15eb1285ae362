"""What a later mention of a noun can be guessed from without a model: copy a noun of the context.

A masked LM that does not beat these has learned no more than "some noun from above". Each baseline names up
to five nouns per item; scoring is exact match, as in `cloze`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

TOP = 5  # guesses kept per item
BASELINES = (
    "frequent everywhere",
    "random from the context",
    "nearest to the left",
    "first to the left",
    "most frequent in the context",
)


def global_frequency(documents: Iterable[Mapping]) -> list[str]:
    """Return the most frequent nouns of (training) documents, the same guess for every item."""
    from helpers.coreference.items import find_nouns

    tagged = find_nouns([document["text"] for document in documents])
    counts = Counter(noun.surface for nouns, _ in tagged for noun in nouns)
    return [word for word, _ in counts.most_common(TOP)]


def context_guesses(item: Mapping) -> dict[str, list[str]]:
    """Return each baseline's guesses, best first, from the other nouns of the item's text.

    >>> context_guesses({"id": "0", "text": "가나 다라 가나", "start": 6, "context": [[0, 2], [3, 5]], …})
    {"nearest to the left": ["다라", "가나"], "first to the left": ["가나", "다라"], …}
    """
    words = [item["text"][start:end] for start, end in item["context"]]
    left = [item["text"][start:end] for start, end in item["context"] if end <= item["start"]]
    distinct = list(dict.fromkeys(words))
    rng = np.random.default_rng([0, int(item["id"], 16)])
    guesses = (
        [distinct[at] for at in rng.permutation(len(distinct))],
        list(dict.fromkeys(reversed(left))),
        list(dict.fromkeys(left)),
        [word for word, _ in Counter(words).most_common()],
    )
    return {name: words[:TOP] for name, words in zip(BASELINES[1:], guesses, strict=True)}


def score_baselines(items, *, frequent: Sequence[str]) -> pd.DataFrame:
    """Return one row per item and baseline: `id`, `document`, `run` (the baseline's name), `hit1`, `hit5`.

    `frequent`: the guesses of `global_frequency`.
    """
    rows = []
    for item in items:
        guesses = {BASELINES[0]: list(frequent), **context_guesses(item)}
        for name, words in guesses.items():
            hit = {f"hit{top}": item["noun"] in words[:top] for top in (1, 5)}
            rows.append({"id": item["id"], "document": item["document"], "run": name, **hit})
    return pd.DataFrame(rows)
