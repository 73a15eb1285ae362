"""Measure tokenizers on relation sentences: length, unknowns, cuts at morphemes and at entities.

Counts are kept per sentence, so that every share has an interval over sentences. Loading and training are in
`tokenizers`, alignment in `alignment`, what a vocabulary holds in `vocabularies`. Whether a figure matters
for a task is for an experiment to say, and `predictors` asks it.
"""

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from datasets import Dataset

from helpers.statistics import Interval, Score, estimate, f1, holm, ratio, regrouped
from helpers.text.alignment import Encoded, encode_with_offsets
from helpers.text.morphemes import morphemes

COUNTS = (
    "tokens",
    "eojeols",
    "continued",  # eojeols of more than one token
    "unknown",
    "with_unknown",  # 1 where the sentence has an unknown token
    "sentences",
    "entities",
    "entity_pieces",
    "single",  # entities of exactly one token
    "aligned",  # entities whose two ends are ends of tokens
    "marker_pieces",  # tokens that the markers add
    "truncated",  # 1 where the marked sentence passes the length limit
    "bytes",  # of the sentence in UTF-8
    "frequent",  # eojeols that stand in FREQUENT sentences or more
    "frequent_kept",  # those of exactly one token
    "morphemes",  # kiwi's, apart from spaces
    "morphemes_kept",
    "cuts_right",  # inside an eojeol, where kiwi cuts too
    "cuts",  # inside an eojeol
    "cuts_wanted",  # kiwi's
)
FREQUENT = 5  # sentences
ALPHA = 2.5  # of the Rényi entropy, as Zouhar et al. (2023) recommend
PERMUTATIONS = 9999  # behind the p-value of a rank correlation
FEWEST = 10  # tokenizers that an interval of a correlation needs


@dataclass(frozen=True)
class Measured:
    """What one tokenizer does to every sentence: `counts` (n, len(COUNTS)), `lengths` (n,) and its tokens."""

    counts: np.ndarray
    lengths: np.ndarray
    tokens: tuple[np.ndarray, np.ndarray]  # the ids of all sentences, and the sentence of each
    vocabulary: int
    used: int
    sentences_per_second: float

    def share(self, part: str, whole: str, *, scale: float = 1.0) -> Interval:
        """Give sum(part) / sum(whole) × scale with an interval over sentences."""
        return self.score(ratio, part, whole).scaled(scale)

    def score(self, score: Score, *names: str) -> Interval:
        """Give a score of the sums of some COUNTS with an interval over sentences."""
        return estimate(self.counts[:, [COUNTS.index(name) for name in names]], score).interval()

    def renyi(self) -> Interval:
        """Give the Rényi efficiency of the tokens with an interval over sentences."""
        ids, owner = self.tokens
        score = regrouped(lambda kept: renyi_efficiency(np.bincount(ids[kept[owner]])), len(self.counts))
        return estimate(score).interval()


def measure(
    tokenizer,
    rows: Dataset,
    *,
    marked: Sequence[str],
    max_length: int = 256,
    wanted: Sequence[Sequence[tuple[int, int]]] | None = None,
) -> Measured:
    """Count what `tokenizer` does to each sentence of relation rows and to its two entities.

    `marked` are the sentences with their entity markers, whose cost in tokens is counted; `max_length` limits
    them, special tokens included. `wanted` are the morphemes of each sentence; without them, what is held
    against morphemes counts 0.
    """
    texts = rows["sentence"][:]
    morphemes.cache_clear()  # time what a new sentence costs
    start = time.perf_counter()
    encoded = encode_with_offsets(tokenizer, texts, special_tokens=False)
    seconds = time.perf_counter() - start
    lengths = np.array([len(ids) for ids in tokenizer(list(marked)).input_ids])
    spans = [entity_spans(row) for row in rows]
    own = tokenizer.num_special_tokens_to_add()
    common, unknown = frequent_words(texts), tokenizer.unk_token_id
    counts = [
        [
            *_sentence_counts(one, text, unknown),
            *entity_counts(one, ends),
            added,
            added_up > max_length,
            len(text.encode()),
            *word_counts(one, text, common, unknown_id=unknown),
            *(morpheme_counts(one, text, cut, unknown_id=unknown) if wanted else [0] * 5),
        ]
        for one, text, ends, added_up, cut in zip(
            encoded, texts, spans, lengths, wanted or [()] * len(texts), strict=True
        )
        for added in [added_up - own - len(one.input_ids)]
    ]
    ids = np.concatenate([np.array(one.input_ids, dtype=np.int64) for one in encoded])
    owner = np.repeat(np.arange(len(encoded)), [len(one.input_ids) for one in encoded])
    return Measured(
        np.array(counts, dtype=float),
        lengths,
        (ids, owner),
        len(tokenizer),
        len(np.unique(ids)),
        len(texts) / seconds,
    )


def compare(
    tokenizers: Mapping[str, object], rows: Dataset, *, marked: Sequence[str], max_length: int = 256
) -> pd.DataFrame:
    """Measure several tokenizers on the same rows: one line each, shares in percent with 95 % intervals."""
    wanted, lines = [morphemes(text) for text in rows["sentence"]], []
    for name, tokenizer in tokenizers.items():
        measured = measure(tokenizer, rows, marked=marked, max_length=max_length, wanted=wanted)
        lines.append({"tokenizer": name, **summary(measured)})
    return pd.DataFrame(lines)


def summary(measured: Measured) -> dict:
    """Condense one tokenizer's counts to a line of the comparison."""
    percent = {"scale": 100.0}
    p50, p95, p99 = np.percentile(measured.lengths, [50, 95, 99], method="higher").tolist()
    return {
        "vocabulary": measured.vocabulary,
        "used": 100 * measured.used / measured.vocabulary,
        "fertility": measured.share("tokens", "eojeols"),
        "continued": measured.share("continued", "eojeols", **percent),
        "bytes_per_token": measured.share("bytes", "tokens"),
        "renyi": measured.renyi().scaled(100),
        "cut_precision": measured.share("cuts_right", "cuts", **percent),
        "cut_recall": measured.share("cuts_right", "cuts_wanted", **percent),
        "cut_f1": measured.score(f1, "cuts_right", "cuts", "cuts_wanted").scaled(100),
        "words_kept": measured.share("frequent_kept", "frequent", **percent),
        "morphemes_kept": measured.share("morphemes_kept", "morphemes", **percent),
        "unknown_tokens": measured.share("unknown", "tokens", **percent),
        "unknown_sentences": measured.share("with_unknown", "sentences", **percent),
        "entity_pieces": measured.share("entity_pieces", "entities"),
        "single_token_entities": measured.share("single", "entities", **percent),
        "aligned_entities": measured.share("aligned", "entities", **percent),
        "marker_pieces": measured.share("marker_pieces", "sentences"),
        "p50": p50,
        "p95": p95,
        "p99": p99,
        "truncated": measured.share("truncated", "sentences", **percent),
        "sentences_per_second": round(measured.sentences_per_second),
    }


def renyi_efficiency(counts: Sequence[int] | np.ndarray) -> float:
    """Return the Rényi entropy of token counts as a share of what as many equally frequent tokens have.

    Tokens that do not occur are left out, as in the authors' own scorer; one token alone has 0.
    """
    seen = np.asarray(counts, dtype=float)
    seen = seen[seen > 0]
    if len(seen) < 2:
        return 0.0
    entropy = np.log(((seen / seen.sum()) ** ALPHA).sum()) / (1 - ALPHA)
    return float(entropy / np.log(len(seen)))


def predictors(measured: pd.DataFrame, score: Sequence[float]) -> pd.DataFrame:
    """Ask which measure goes with a score over tokenizers: one row per column of `measured`.

    `spearman` has Bonett and Wright's interval on Fisher's scale, from FEWEST tokenizers on: fewer give none.
    `error` is the root mean square error of a straight line that predicts each tokenizer from the others,
    `error of the mean` that of their mean: a measure that predicts is below it; three tokenizers or fewer
    have neither. A measure that is the same for all tokenizers predicts nothing and is left out. `p` comes
    from permuted scores, `p_holm` is corrected over the measures.
    """
    y = np.asarray(score, dtype=float)
    if len(measured) != len(y) or len(y) < 2:
        raise ValueError(
            f"expected two or more tokenizers and a score of each, got {len(measured)} and {len(y)}"
        )
    usual = _left_out_error(np.zeros(len(y)), y)
    rows = []
    for name in measured.columns:
        x = measured[name].to_numpy(dtype=float)
        if np.ptp(x) == 0:
            continue
        rho, p = _spearman(x, y)
        row = {"measure": name, "tokenizers": len(y), "spearman": _ranked(rho, len(y)), "p": p}
        rows.append(row | {"error": _left_out_error(x, y), "error of the mean": usual})
    frame = pd.DataFrame(rows)
    frame.insert(4, "p_holm", holm(frame["p"]))
    return frame.sort_values("error", ignore_index=True)


def _spearman(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the rank correlation, 0 where y is constant, and its p-value by PERMUTATIONS of y."""
    from scipy.stats import rankdata

    a, b = (rankdata(some) - (len(some) + 1) / 2 for some in (x, y))
    size = np.sqrt((a @ a) * (b @ b))
    if not size:
        return 0.0, 1.0
    shuffled = np.random.default_rng(0).permuted(np.tile(b, (PERMUTATIONS, 1)), axis=1) @ a
    extreme = np.sum(np.abs(shuffled) >= abs(a @ b) - 1e-9)
    return float(a @ b / size), float((1 + extreme) / (1 + PERMUTATIONS))


def _ranked(rho: float, n: int) -> Interval:
    """Give a rank correlation its interval; without enough points it reaches from -1 to 1."""
    from scipy.stats import norm

    if n < FEWEST:
        return Interval(rho, -1.0, 1.0)
    half = norm.ppf(0.975) * np.sqrt((1 + rho**2 / 2) / (n - 3))
    middle = np.arctanh(np.clip(rho, -0.999999, 0.999999))
    return Interval(rho, float(np.tanh(middle - half)), float(np.tanh(middle + half)))


def _left_out_error(x: np.ndarray, y: np.ndarray) -> float:
    """Return the error of predicting each y from a least-squares line through the other points."""
    if len(y) < 4:
        return float("nan")
    centred = x - x.mean()
    design = np.column_stack([np.ones(len(x)), centred]) if np.ptp(x) else np.ones((len(x), 1))
    hat = design @ np.linalg.pinv(design)
    residual = (y - hat @ y) / np.maximum(1 - np.diag(hat), 1e-9)  # leaving a point out, without refitting
    return float(np.sqrt(np.mean(residual**2)))


def entity_spans(row: dict) -> list[tuple[int, int]]:
    """Give the half-open ranges of a row's subject and object."""
    return [
        (row[side]["start_idx"], row[side]["end_idx"] + 1) for side in ("subject_entity", "object_entity")
    ]


def entity_counts(encoded: Encoded, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Count entities, their pieces, those of one token, and those that begin and end where tokens do."""
    starts, ends = encoded.offsets.T
    pieces = [int(((starts < end) & (ends > start)).sum()) for start, end in spans]
    aligned = [bool((starts == start).any() and (ends == end).any()) for start, end in spans]
    single = sum(n == 1 and fits for n, fits in zip(pieces, aligned, strict=True))
    return [len(spans), sum(pieces), single, sum(aligned)]


def frequent_words(texts: Sequence[str]) -> set[str]:
    """Return the eojeols that stand in FREQUENT texts or more."""
    found = Counter(word for text in texts for word in set(text.split()))
    return {word for word, count in found.items() if count >= FREQUENT}


def word_counts(encoded: Encoded, text: str, words: set[str], *, unknown_id: int) -> list[int]:
    """Count the eojeols of a text that are among `words`, and those of exactly one known token."""
    found = [match.span() for match in re.finditer(r"\S+", text) if match[0] in words]
    return [len(found), _kept(encoded, found, unknown_id)]


def morpheme_counts(
    encoded: Encoded, text: str, wanted: Sequence[tuple[int, int]], *, unknown_id: int
) -> list[int]:
    """Count morphemes and those of exactly one known token; then cuts inside eojeols: right, made, wanted."""
    wanted = [span for span in wanted if text[slice(*span)].strip()]
    pieces = [span for span in encoded.offsets.tolist() if span[0] < span[1]]
    inside = {cut for cut in range(1, len(text)) if not any(map(str.isspace, text[cut - 1 : cut + 1]))}
    made, right = ({cut for span in some for cut in span} & inside for some in (pieces, wanted))
    return [len(wanted), _kept(encoded, wanted, unknown_id), len(made & right), len(made), len(right)]


def _kept(encoded: Encoded, spans: Sequence[tuple[int, int]], unknown_id: int) -> int:
    """Count the ranges that one known token covers exactly; bytes of one character share its range."""
    tokens = zip(encoded.offsets.tolist(), encoded.input_ids, strict=True)
    found = Counter((start, end) for (start, end), token in tokens if token != unknown_id)
    return sum(found[span] == 1 for span in spans)


def _sentence_counts(encoded: Encoded, text: str, unknown_id: int) -> list[int]:
    spaces = np.fromiter(map(str.isspace, text), bool, len(text))
    word_of_char = np.cumsum(np.diff(spaces.astype(int), prepend=1) < 0) - 1
    visible = encoded.offsets[encoded.offsets[:, 1] > encoded.offsets[:, 0], 0]
    per_word = np.bincount(word_of_char[visible], minlength=1)
    unknown = encoded.input_ids.count(unknown_id)
    return [len(encoded.input_ids), len(text.split()), int((per_word > 1).sum()), unknown, unknown > 0, 1]
