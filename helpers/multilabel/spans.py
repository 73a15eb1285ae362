"""The words that manipulate: a token head, probabilities per character, runs of characters as spans.

Tokens hand their probability to their characters, so models with different tokenizers are averaged there, and
the corpus-level character F1 of the shared task has an exact threshold like any other score. Folds and models
are those of `helpers.techniques`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from helpers import statistics, sweeps
from helpers.multilabel.experiment import Network, Posts, described, text_encoder, train_config
from helpers.multilabel.thresholds import best_f1_threshold, legacy_grid_threshold
from helpers.text.alignment import Encoded, encode_with_offsets, spread

if TYPE_CHECKING:
    import pandas as pd

Span = tuple[int, int]
"""Half-open range of characters."""


def mask_of(spans: Sequence[Span], length: int) -> NDArray[np.bool_]:
    """Return which of `length` characters lie in a span; overlaps count once, ends beyond the text are cut.

    >>> mask_of([(1, 3), (2, 9)], 5).tolist()
    [False, True, True, True, True]
    """
    mask = np.zeros(length, dtype=bool)
    for start, end in spans:
        mask[max(start, 0) : max(end, 0)] = True
    return mask


def spans_of(mask: NDArray[np.bool_]) -> list[Span]:
    """Return the runs of true characters, in order: the inverse of `mask_of`.

    >>> spans_of(np.array([False, True, True, False, True]))
    [(1, 3), (4, 5)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(mask, dtype=np.int8), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def char_counts(gold: Sequence[NDArray], predicted: Sequence[NDArray]) -> NDArray[np.float64]:
    """Return (posts, 3): characters right, predicted, gold; `statistics.f1` of the sum is the task score."""
    rows = []
    for number, (g, p) in enumerate(zip(gold, predicted, strict=True)):
        if g.shape != p.shape:
            raise ValueError(
                f"post {number}: {len(g)} gold characters but {len(p)} predicted; score the same text"
            )
        rows.append(((g & p).sum(), p.sum(), g.sum()))
    return np.array(rows, dtype=float)


def token_labels(encoded: Encoded, mask: NDArray[np.bool_]) -> list[int]:
    """Return 1 for tokens with at least half of their characters in a span, -100 for those without any."""
    starts, ends = encoded.offsets.T
    inside = np.concatenate([[0], np.cumsum(mask)])
    share = 2 * (inside[ends] - inside[starts]) >= ends - starts
    return np.where(ends > starts, share.astype(int), -100).tolist()


def characters_of(values: NDArray, offsets: NDArray, length: int) -> NDArray:
    """Spread token probabilities over `length` characters; a gap between tokens takes the lower neighbour.

    The space between two trigger words is part of the trigger, the one before it is not.
    """
    chars = spread(np.asarray(values, dtype=float), offsets, length=length, fill=np.nan)
    known = np.flatnonzero(~np.isnan(chars))
    if not known.size:
        return np.zeros(length)
    positions = np.arange(length)
    after = np.minimum(np.searchsorted(known, positions), known.size - 1)
    before = np.maximum(np.searchsorted(known, positions, side="right") - 1, 0)
    outer = (positions < known[0]) | (positions > known[-1])
    return np.where(outer, 0.0, np.minimum(chars[known[before]], chars[known[after]]))


def windows(encoded: Encoded, size: int) -> list[Encoded]:
    """Cut a long post into pieces of at most `size` tokens, so that nothing of it goes unread."""
    return [
        Encoded(encoded.input_ids[at : at + size], encoded.offsets[at : at + size])
        for at in range(0, max(len(encoded.input_ids), 1), size)
    ]


def fit_tagger(
    texts: Sequence[str], spans: Sequence[Sequence[Span]], config: Network, *, seed: int, folder: Path
) -> tuple[Callable[[Sequence[str]], list[NDArray]], int]:
    """Train a token head; return a function from texts to one probability per character.

    Also return the step of the checkpoint in `folder` that training went on from.
    """
    from helpers.learning import encoders, loop
    from helpers.text.tokenizers import load_tokenizer

    tokenizer = load_tokenizer(config.tokenizer, texts=texts, size=config.vocabulary)
    net = encoders.classifier(
        text_encoder(config, tokenizer, seed=seed), ["outside", "trigger"], task="tokens", seed=seed
    )
    rows = []
    for text, marked, encoded in zip(texts, spans, encode_with_offsets(tokenizer, texts), strict=True):
        mask = mask_of(marked, len(text))
        pieces = windows(encoded, config.max_tokens)
        rows += [{"input_ids": piece.input_ids, "labels": token_labels(piece, mask)} for piece in pieces]
    recipe = train_config(config, seed)
    fitted = loop.fit(net, rows, config=recipe, folder=folder / "checkpoints", progress=None)

    def predict(unseen: Sequence[str]) -> list[NDArray]:
        encoded = encode_with_offsets(tokenizer, unseen)
        pieces = [windows(whole, config.max_tokens) for whole in encoded]
        logits = iter(loop.predict(net, [{"input_ids": p.input_ids} for ps in pieces for p in ps]))
        scored = []
        for text, whole, parts in zip(unseen, encoded, pieces, strict=True):
            margin = np.concatenate([_margin(next(logits)) for _ in parts])
            scored.append(characters_of(1 / (1 + np.exp(-margin)), whole.offsets, len(text)))
        return scored

    return predict, fitted.resumed_from


def score_spans(
    members: Sequence[Network], posts: Posts, assigned: NDArray, *, without: Sequence[int], seed: int = 0
) -> list[dict[int, NDArray]]:
    """Train each member without some folds; return its character probabilities, per post of those folds."""
    frame = sweeps.sweep(
        tag_left_out,
        [{"model": described(member), "without": list(without), "seed": seed} for member in members],
        name="trigger-spans",
        fingerprint=sweeps.fingerprint(posts.texts, posts.spans, assigned.tolist()),
        shared={"texts": posts.texts, "spans": posts.spans, "assigned": assigned},
    )
    left_out = np.flatnonzero(np.isin(assigned, without))
    ends = np.cumsum([len(posts.texts[i]) for i in left_out])
    flat = [np.load(Path(folder) / "characters.npy", allow_pickle=False) for folder in frame["folder"]]
    return [dict(zip(left_out.tolist(), np.split(scores, ends[:-1]), strict=True)) for scores in flat]


def tag_left_out(
    model: dict,
    without: list[int],
    seed: int,
    folder: Path,
    *,
    texts: Sequence[str],
    spans: Sequence[Sequence[Span]],
    assigned: NDArray,
) -> dict[str, int]:
    """Train without some folds and save the character probabilities of their posts, one after the other."""
    outside = np.isin(assigned, without)
    train, test = np.flatnonzero(~outside), np.flatnonzero(outside)
    config = Network(**model["settings"])
    known, marked = [texts[i] for i in train], [spans[i] for i in train]
    predict, resumed_from = fit_tagger(known, marked, config, seed=seed, folder=folder)
    scores = np.concatenate(predict([texts[i] for i in test]))
    np.save(folder / "characters.npy", scores.astype(np.float32), allow_pickle=False)
    return {"trained_on": len(train), "characters": len(scores), "resumed_from": resumed_from}


def average(members: Sequence[dict[int, NDArray]]) -> dict[int, NDArray]:
    """Average members per character: their tokenizers may differ, their posts may not."""
    if len({frozenset(member) for member in members}) != 1:
        raise ValueError("members scored different posts; leave the same folds out for all")
    return {post: np.mean([member[post] for member in members], axis=0) for post in members[0]}


def decide(
    members: Mapping[str, dict[int, NDArray]], posts: Posts, assigned: NDArray, *, tune: int
) -> dict[str, dict[int, NDArray]]:
    """Return the predicted characters of each member, of their average, and of the controls.

    Thresholds are fitted on the posts of fold `tune`; decisions are made about the other posts scored.
    """
    blend = average(list(members.values()))
    fitted, tested = ([post for post in blend if (assigned[post] == tune) == own] for own in (True, False))
    truth = np.concatenate([mask_of(posts.spans[post], len(posts.texts[post])) for post in fitted])

    def cut_by(rule: Callable, scores: dict[int, NDArray]) -> dict[int, NDArray]:
        threshold, _ = rule(truth, np.concatenate([scores[post] for post in fitted]))
        return {post: scores[post] >= threshold for post in tested}

    return {
        "every character (control)": {post: np.ones(len(posts.texts[post]), dtype=bool) for post in tested},
        **{name: cut_by(best_f1_threshold, scores) for name, scores in members.items()},
        "average, grid (legacy)": cut_by(legacy_grid_threshold, blend),
        "average, exact": cut_by(best_f1_threshold, blend),
    }


def compare(
    decisions: Mapping[str, dict[int, NDArray]], posts: Posts, *, samples: int = 2000
) -> "pd.DataFrame":
    """Return one row per system: character F1 over all posts, and its paired gain over the first system."""
    import pandas as pd

    rows, first = [], None
    for name, predicted in decisions.items():
        gold = [mask_of(posts.spans[post], len(posts.texts[post])) for post in predicted]
        counts = char_counts(gold, list(predicted.values()))
        first = counts if first is None else first
        value = statistics.bootstrap(counts, statistics.f1, samples=samples)
        gain = statistics.paired_bootstrap(first, counts, statistics.f1, samples=samples).difference
        rows.append({"system": name, "character_f1": value, "gain": gain})
    return pd.DataFrame(rows)


def _margin(logits: NDArray) -> NDArray:
    """Return the log-odds of `trigger` per token from (t, 2) logits."""
    return (logits[:, 1] - logits[:, 0]).astype(float)
