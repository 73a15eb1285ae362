"""What a sweep runs for the labels of posts: train without some folds, save the probabilities of their posts.

The models are n-grams, a small encoder, or LoRA on a decoder. Data come in as arguments; building the grid
and reading the files back is left to `results`, choosing thresholds to `rules`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Predict = Callable[[Sequence[str]], NDArray]
"""Maps texts to probabilities (texts, classes)."""


@dataclass(frozen=True)
class NGrams:
    """TF-IDF of character or word n-grams and one logistic regression per class.

    The defaults give the held-out figures of the real training file.
    """

    analyzer: str = "char_wb"
    shortest: int = 2
    longest: int = 5
    features: int = 50_000
    c: float = 4.0
    share: float = 1.0  # of the training posts: a deliberately weaker model

    def __post_init__(self) -> None:
        if self.analyzer not in ("char", "char_wb", "word"):
            raise ValueError(f'analyzer: expected "char", "char_wb" or "word", got {self.analyzer!r}')
        if not 1 <= self.shortest <= self.longest or self.features < 1:
            raise ValueError(f"n-grams: expected 1 ≤ shortest ≤ longest and features ≥ 1, got {self}")
        if self.c <= 0 or not 0 < self.share <= 1:
            raise ValueError(f"n-grams: expected c > 0 and 0 < share ≤ 1, got c={self.c}, share={self.share}")


@dataclass(frozen=True)
class Network:
    """An encoder or decoder with one sigmoid per class; `lora_rank` trains adapters instead of all weights.

    `encoder` is a kind from `encoders.KINDS`, built from scratch at the given size, or a hub name or folder.
    `head`: "tanh" has a hidden layer, "linear" is one matrix, as the winners had it.
    """

    encoder: str = "bilstm"
    tokenizer: str = "train:wordpiece"
    vocabulary: int = 4000
    hidden: int = 64
    layers: int = 1
    max_tokens: int = 256
    pooling: str = "mean"
    epochs: int = 6
    peak_lr: float = 5e-3
    batch_rows: int = 16
    accumulate: int = 1
    recompute: bool = False
    head: str = "tanh"
    lora_rank: int = 0
    four_bit: bool = False
    prompt: str = "{text}"
    keep_model: bool = False  # save weights and tokenizer beside the scores

    def __post_init__(self) -> None:
        if "{text}" not in self.prompt:
            raise ValueError(f"prompt: expected a template with {{text}} in it, got {self.prompt!r}")
        if self.lora_rank < 0 or (self.four_bit and not self.lora_rank):
            raise ValueError("lora_rank: expected 0 (train all weights) or more; 4-bit weights need adapters")
        if self.keep_model and self.lora_rank:
            raise ValueError("keep_model: adapters are not kept; name a model that is trained in full")


Model = NGrams | Network


def score_left_out(
    kind: str,
    without: list[int],
    seed: int,
    folder: Path,
    *,
    texts: Sequence[str],
    labels: NDArray,
    assigned: NDArray,
    **settings: Any,
) -> dict[str, int]:
    """Train without some folds and save the probabilities of their posts: (posts left out, classes)."""
    outside = np.isin(assigned, without)
    train, test, resumed_from = np.flatnonzero(~outside), np.flatnonzero(outside), 0
    if kind == "NGrams":
        scores = score_by_ngrams(texts, labels, train, test, NGrams(**settings), seed=seed)
    else:
        known, config = [texts[i] for i in train.tolist()], Network(**settings)
        predict, resumed_from = fit_network(known, labels[train], config, seed=seed, folder=folder)
        scores = predict([texts[i] for i in test.tolist()])
    np.save(folder / "scores.npy", scores.astype(np.float64), allow_pickle=False)
    return {"trained_on": len(train), "scored": len(test), "resumed_from": resumed_from}


def score_by_ngrams(
    texts: Sequence[str], labels: NDArray, train: NDArray, test: NDArray, config: NGrams, *, seed: int = 0
) -> NDArray:
    """Fit TF-IDF and one logistic regression per class on the posts `train`; return probabilities of `test`.

    A class without both labels gets its base rate.
    """
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression

    counts = _counts(tuple(texts), config.analyzer, config.shortest, config.longest)
    chosen = np.random.default_rng(seed).permutation(len(train))[: max(2, round(config.share * len(train)))]
    known = train[np.sort(chosen)]
    kept = _kept(counts[known], posts=min(2, len(known)), features=config.features)
    weigh = TfidfTransformer(sublinear_tf=True)
    x, rows = weigh.fit_transform(counts[known][:, kept]), weigh.transform(counts[test][:, kept])
    columns = []
    for y in labels[known].T:
        # The dual problem has one unknown per post, fewer than n-grams: about twice as fast.
        solver = LogisticRegression(
            C=config.c, solver="liblinear", dual=True, max_iter=2000, random_state=seed
        )
        both = 0 < y.sum() < y.size
        columns.append(solver.fit(x, y).predict_proba(rows)[:, 1] if both else np.full(len(test), y.mean()))
    return np.stack(columns, axis=1)


@lru_cache(maxsize=1)
def _counts(texts: tuple[str, ...], analyzer: str, shortest: int, longest: int) -> Any:
    """Count the n-grams of all posts, once for the models without each fold: sparse (posts, n-grams)."""
    from sklearn.feature_extraction.text import CountVectorizer

    count = CountVectorizer(analyzer=analyzer, ngram_range=(shortest, longest), dtype=np.float64)
    counts = count.fit_transform(texts)
    counts.sort_indices()
    return counts


def _kept(counts: Any, *, posts: int, features: int) -> NDArray:
    """Return the n-grams that are in so many posts; of more than `features`, the most frequent."""
    frequent = np.flatnonzero(counts.getnnz(axis=0) >= posts)
    if len(frequent) <= features:
        return frequent
    times = np.asarray(counts.sum(axis=0)).ravel()[frequent]
    return np.sort(frequent[np.argsort(-times)[:features]])  # ties fall as in scikit-learn's vectorizers


def fit_network(
    texts: Sequence[str], labels: NDArray, config: Network, *, seed: int, folder: Path
) -> tuple[Predict, int]:
    """Train an encoder with one sigmoid per class, or LoRA adapters on a decoder.

    Return what predicts, and the step of the checkpoint in `folder` that training went on from.
    """
    from helpers.learning import heads, loop

    tokenizer, body, recipe = prepare(texts, config, seed=seed)
    reading: dict[str, Any] = {"prompt": config.prompt, "max_tokens": config.max_tokens}
    names = [str(i) for i in range(labels.shape[1])]
    net: Any = heads.classifier(
        body, names, task="multilabel", pooling=config.pooling, head=config.head, seed=seed
    )
    if config.head != "linear":
        start_at_base_rates(net, labels)
    if config.lora_rank:
        from helpers.learning.lora import add_lora

        net = add_lora(net, r=config.lora_rank, alpha=2 * config.lora_rank, seed=seed)
    rows = [
        row | {"labels": y.astype(float).tolist()}
        for row, y in zip(encode_posts(tokenizer, texts, **reading), labels, strict=True)
    ]
    fitted = loop.fit(net, rows, config=recipe, folder=folder / "checkpoints")
    if config.keep_model:
        save(net, tokenizer, folder)
    return partial(score_texts, net, tokenizer, **reading), fitted.resumed_from


def encode_posts(tokenizer: Any, texts: Sequence[str], *, prompt: str, max_tokens: int) -> list[dict]:
    """Tokenise posts, each within the prompt, cut at `max_tokens`.

    The backend of a fast tokenizer gives the same ids in two thirds of the time without offsets.
    """
    prompts = [prompt.replace("{text}", text) for text in texts]
    if not tokenizer.is_fast:
        return [
            {"input_ids": ids} for ids in tokenizer(prompts, truncation=True, max_length=max_tokens).input_ids
        ]
    backend = tokenizer.backend_tokenizer
    backend.enable_truncation(max_tokens, direction=tokenizer.truncation_side)
    backend.no_padding()
    return [{"input_ids": one.ids} for one in backend.encode_batch_fast(prompts)]


def score_texts(net: Any, tokenizer: Any, texts: Sequence[str], *, prompt: str, max_tokens: int) -> NDArray:
    """Return a trained network's probabilities (texts, classes)."""
    from scipy.special import expit

    from helpers.learning import inference

    rows = encode_posts(tokenizer, texts, prompt=prompt, max_tokens=max_tokens)
    return expit(np.stack(inference.predict(net, rows)).astype(np.float64))


def save(net: Any, tokenizer: Any, folder: Path) -> None:
    """Save a network and its tokenizer as `model` in a run's folder."""
    net.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")


def prepare(texts: Sequence[str], config: Network, *, seed: int):
    """Return the tokenizer, the encoder without a head, and the training recipe that a network asks for.

    The recipe is a cosine after a short warm-up that keeps the last weights: no fold is used to select.
    """
    from helpers.learning import encoders
    from helpers.learning.config import TrainConfig
    from helpers.text.tokenizers import load_tokenizer

    tokenizer = load_tokenizer(config.tokenizer, texts=texts, size=config.vocabulary)
    size: dict[str, Any] = {"hidden": config.hidden, "layers": config.layers, "max_length": config.max_tokens}
    size |= {"four_bit": config.four_bit, "frozen": config.lora_rank > 0}
    body = encoders.build_encoder(config.encoder, tokenizer, seed=seed, **size)
    recipe = TrainConfig(
        epochs=config.epochs,
        peak_lr=config.peak_lr,
        batch_rows=config.batch_rows,
        accumulate=config.accumulate,
        recompute=config.recompute,
        schedule="cosine",
        seed=seed,
    )
    return tokenizer, body, recipe


def start_at_base_rates(net, labels: NDArray) -> None:
    """Set the head's biases to the classes' log-odds, so that training begins with what is rare."""
    import torch
    from scipy.special import logit

    rates = (labels.sum(axis=0) + 0.5) / (len(labels) + 1)
    with torch.no_grad():
        net.head[-1].bias.copy_(torch.as_tensor(logit(rates)))
