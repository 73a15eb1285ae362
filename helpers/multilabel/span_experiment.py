"""What a sweep runs for trigger spans: train without some folds, save a probability per character of theirs.

Tokens hand their probability to their characters, so that models with different tokenizers can be averaged.
Masks and scores are left to `spans`, the grid to `results`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.multilabel.experiment import Network, prepare, save
from helpers.multilabel.spans import Span, mask_of
from helpers.text.alignment import Encoded, encode_with_offsets, spread


def tag_left_out(
    without: list[int],
    seed: int,
    folder: Path,
    *,
    texts: Sequence[str],
    spans: Sequence[Sequence[Span]],
    assigned: NDArray,
    **settings: Any,
) -> dict[str, int]:
    """Train without some folds and save the character probabilities of their posts, one after the other."""
    outside = np.isin(assigned, without)
    train, test = np.flatnonzero(~outside).tolist(), np.flatnonzero(outside).tolist()
    known, marked = [texts[i] for i in train], [spans[i] for i in train]
    predict, resumed_from = fit_tagger(known, marked, Network(**settings), seed=seed, folder=folder)
    scores = np.concatenate(predict([texts[i] for i in test]))
    np.save(folder / "characters.npy", scores.astype(np.float32), allow_pickle=False)
    return {"trained_on": len(train), "characters": len(scores), "resumed_from": resumed_from}


def fit_tagger(
    texts: Sequence[str], spans: Sequence[Sequence[Span]], config: Network, *, seed: int, folder: Path
) -> tuple[Callable[[Sequence[str]], list[NDArray]], int]:
    """Train a token head; return a function from texts to one probability per character.

    Also return the step of the checkpoint in `folder` that training went on from.
    """
    from helpers.learning import heads, loop

    tokenizer, body, recipe = prepare(texts, config, seed=seed)
    net = heads.classifier(body, ["outside", "trigger"], task="tokens", seed=seed)
    rows = []
    for text, marked, encoded in zip(texts, spans, encode_with_offsets(tokenizer, texts), strict=True):
        mask = mask_of(marked, len(text))
        pieces = windows(encoded, config.max_tokens)
        rows += [{"input_ids": piece.input_ids, "labels": token_labels(piece, mask)} for piece in pieces]
    fitted = loop.fit(net, rows, config=recipe, folder=folder / "checkpoints")
    if config.keep_model:
        save(net, tokenizer, folder)
    return partial(score_texts, net, tokenizer, max_tokens=config.max_tokens), fitted.resumed_from


def score_texts(net: Any, tokenizer: Any, texts: Sequence[str], *, max_tokens: int) -> list[NDArray]:
    """Return a trained tagger's probability of each character, text by text."""
    from helpers.learning import inference

    encoded = encode_with_offsets(tokenizer, texts)
    pieces = [windows(whole, max_tokens) for whole in encoded]
    logits = iter(inference.predict(net, [{"input_ids": p.input_ids} for ps in pieces for p in ps]))
    scored = []
    for text, whole, parts in zip(texts, encoded, pieces, strict=True):
        margin = np.concatenate([_margin(next(logits)) for _ in parts])
        scored.append(characters_of(1 / (1 + np.exp(-margin)), whole.offsets, len(text)))
    return scored


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


def _margin(logits: NDArray) -> NDArray:
    """Return the log-odds of `trigger` per token from (t, 2) logits."""
    return (logits[:, 1] - logits[:, 0]).astype(float)
