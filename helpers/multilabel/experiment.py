"""Models that score posts for each technique, on folds: n-grams, a small encoder, LoRA on a decoder.

`score_folds` trains a model without some folds and keeps its probabilities for the posts of those folds, one
file per training, so that an interrupted run goes on and every comparison is paired later. Leaving out pairs
of folds gives a fold ensemble that never saw the posts it decides about. Choosing thresholds is left to
`thresholds` and `cross_fitting`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from helpers import sweeps
from helpers.multilabel.scores import indicators

if TYPE_CHECKING:
    import pandas as pd

Predict = Callable[[Sequence[str]], NDArray]
"""Maps texts to probabilities (texts, classes)."""


class Posts(NamedTuple):
    """What models and rules need of a corpus, in columns."""

    ids: list[str]
    texts: list[str]
    languages: list[str]
    spans: list[list[tuple[int, int]]]
    labels: NDArray  # (posts, classes) of 0/1
    classes: tuple[str, ...]


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

    def __post_init__(self):
        if self.analyzer not in ("char", "char_wb", "word"):
            raise ValueError(f'analyzer: expected "char", "char_wb" or "word", got {self.analyzer!r}')
        if not 1 <= self.shortest <= self.longest or self.features < 1:
            raise ValueError(f"n-grams: expected 1 ≤ shortest ≤ longest and features ≥ 1, got {self}")
        if self.c <= 0 or not 0 < self.share <= 1:
            raise ValueError(f"n-grams: expected c > 0 and 0 < share ≤ 1, got c={self.c}, share={self.share}")


@dataclass(frozen=True)
class Network:
    """An encoder or decoder with one sigmoid per class; `lora_rank` trains adapters instead of all weights.

    `encoder` is a kind from `models.KINDS`, built from scratch at the given size, or a hub name or folder.
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
    lora_rank: int = 0
    four_bit: bool = False
    prompt: str = "{text}"

    def __post_init__(self):
        if "{text}" not in self.prompt:
            raise ValueError(f"prompt: expected a template with {{text}} in it, got {self.prompt!r}")
        if self.lora_rank < 0 or (self.four_bit and not self.lora_rank):
            raise ValueError("lora_rank: expected 0 (train all weights) or more; 4-bit weights need adapters")


Model = NGrams | Network


def posts_of(dataset, classes: Sequence[str]) -> Posts:
    """Take the columns of a `corpora.load_techniques` data set."""
    return Posts(
        ids=list(dataset["id"]),
        texts=list(dataset["content"]),
        languages=list(dataset["lang"]),
        spans=[[(start, end) for start, end in spans] for spans in dataset["trigger_words"]],
        labels=indicators(dataset["techniques"], classes),
        classes=tuple(classes),
    )


def describe(posts: Posts) -> "pd.DataFrame":
    """Return one row per class: posts, their share, and the share within each language, in percent."""
    import pandas as pd

    languages = np.array(posts.languages)
    frame = pd.DataFrame({"technique": posts.classes, "posts": posts.labels.sum(axis=0)})
    frame["share, %"] = 100 * posts.labels.mean(axis=0)
    for name in sorted(set(posts.languages)):
        frame[f"in {name}, %"] = 100 * posts.labels[languages == name].mean(axis=0)
    return frame.sort_values("posts", ascending=False, ignore_index=True)


def published() -> "pd.DataFrame":
    """Return the shared task's published scores: references, none of them run here."""
    import pandas as pd

    with (resources.files("helpers") / "reference" / "unlp2025_techniques.csv").open(
        encoding="utf-8"
    ) as stream:
        return pd.read_csv(stream)


def weaker_versions(base: NGrams) -> dict[str, NGrams]:
    """Return ten systems from good to poor, as a team submits them on its way: other n-grams, less data."""
    words = replace(base, analyzer="word", shortest=1, longest=2)
    return {
        "characters": base,
        "characters, strong penalty": replace(base, c=base.c / 20),
        "characters, 2–3-grams": replace(base, longest=3),
        "characters, 1,000 features": replace(base, features=1000),
        "characters, 40 % of posts": replace(base, share=0.4),
        "characters, 10 % of posts": replace(base, share=0.1),
        "words": words,
        "words, strong penalty": replace(words, c=base.c / 20),
        "words, 40 % of posts": replace(words, share=0.4),
        "words, 10 % of posts": replace(words, share=0.1),
    }


def save_scores(path: Path, posts: Posts, assigned: NDArray, scores: NDArray) -> None:
    """Write one row per post: id, fold, and the probability of each class; texts stay where they are."""
    import pandas as pd

    frame = pd.DataFrame(scores, columns=list(posts.classes))
    frame.insert(0, "fold", assigned)
    frame.insert(0, "id", posts.ids)
    frame.to_csv(path, index=False, float_format="%.6g")


def score_folds(
    model: Model, posts: Posts, assigned: NDArray, *, left_out: Sequence[Sequence[int]], seed: int = 0
) -> dict[tuple[int, ...], NDArray]:
    """Train once per entry of `left_out`, without those folds; return probabilities of their posts.

    Each value is (posts, classes), NaN for posts the model was trained on.
    """
    return score_models({"": model}, posts, assigned, left_out=left_out, seed=seed)[""]


def score_models(
    models: Mapping[str, Model],
    posts: Posts,
    assigned: NDArray,
    *,
    left_out: Sequence[Sequence[int]],
    seed: int = 0,
) -> dict[str, dict[tuple[int, ...], NDArray]]:
    """Do what `score_folds` does for several models in one sweep: all cores or GPUs, each training once."""
    jobs = [(name, tuple(folds)) for name in models for folds in left_out]
    frame = sweeps.sweep(
        score_left_out,
        [{"model": described(models[name]), "without": list(folds), "seed": seed} for name, folds in jobs],
        name="techniques",
        fingerprint=sweeps.fingerprint(posts.texts, posts.labels.tolist(), assigned.tolist()),
        shared={"texts": posts.texts, "labels": posts.labels, "assigned": assigned},
    )
    scores: dict[str, dict[tuple[int, ...], NDArray]] = {name: {} for name in models}
    for (name, folds), folder in zip(jobs, frame["folder"], strict=True):
        scores[name][folds] = np.full(posts.labels.shape, np.nan)
        scores[name][folds][np.isin(assigned, folds)] = np.load(
            Path(folder) / "scores.npy", allow_pickle=False
        )
    return scores


def score_left_out(
    model: dict,
    without: list[int],
    seed: int,
    folder: Path,
    *,
    texts: Sequence[str],
    labels: NDArray,
    assigned: NDArray,
) -> dict[str, int]:
    """Train without some folds and save the probabilities of their posts: the unit of work of a sweep."""
    outside = np.isin(assigned, without)
    train, test = np.flatnonzero(~outside), np.flatnonzero(outside)
    known, resumed_from = [texts[i] for i in train], 0
    if model["family"] == "NGrams":
        predict = fit_ngrams(known, labels[train], NGrams(**model["settings"]), seed=seed)
    else:
        config = Network(**model["settings"])
        predict, resumed_from = fit_network(known, labels[train], config, seed=seed, folder=folder)
    scores = predict([texts[i] for i in test])
    np.save(folder / "scores.npy", scores.astype(np.float64), allow_pickle=False)
    return {"trained_on": len(train), "scored": len(test), "resumed_from": resumed_from}


class FoldScores(NamedTuple):
    """Scores of every post by models that never saw it."""

    single: NDArray  # (posts, classes): by the model trained on all other folds
    averaged: NDArray  # (posts, classes): mean of the members for the post's fold
    members: NDArray  # (folds, posts, classes): members[j] is trained without fold j and the post's own


def score_all_folds(model: Model, posts: Posts, assigned: NDArray, *, seed: int = 0) -> FoldScores:
    """Score every post by one model, and by a fold ensemble, that were trained without its fold.

    The ensemble has one member per fold that is left. A model without folds j and k serves twice, as member j
    when k is hidden and the other way round: five folds cost ten trainings for it, not twenty. `members[j]`
    is NaN on fold j itself.
    """
    folds = np.unique(assigned).tolist()
    alone, pairs = [(fold,) for fold in folds], list(combinations(folds, 2))
    scores = score_folds(model, posts, assigned, left_out=alone + pairs, seed=seed)
    single = np.empty(posts.labels.shape)
    for fold in folds:
        single[assigned == fold] = scores[fold,][assigned == fold]
    members = np.full((len(folds), *posts.labels.shape), np.nan)
    for a, b in pairs:
        members[folds.index(a), assigned == b] = scores[a, b][assigned == b]
        members[folds.index(b), assigned == a] = scores[a, b][assigned == a]
    return FoldScores(single, np.nanmean(members, axis=0), members)


def fit_ngrams(texts: Sequence[str], labels: NDArray, config: NGrams, *, seed: int = 0) -> Predict:
    """Fit TF-IDF and one logistic regression per class; a class without both labels gets its base rate."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    chosen = np.random.default_rng(seed).permutation(len(texts))[: max(2, round(config.share * len(texts)))]
    chosen.sort()
    vectors = TfidfVectorizer(
        analyzer=config.analyzer,
        ngram_range=(config.shortest, config.longest),
        max_features=config.features,
        min_df=min(2, len(chosen)),
        sublinear_tf=True,
    )
    x = vectors.fit_transform([texts[i] for i in chosen])
    classifiers = []
    for y in labels[chosen].T:
        # The dual problem has one unknown per post, fewer than n-grams: about twice as fast.
        solver = LogisticRegression(
            C=config.c, solver="liblinear", dual=True, max_iter=2000, random_state=seed
        )
        classifiers.append(solver.fit(x, y) if 0 < y.sum() < y.size else y.mean())

    def predict(unseen: Sequence[str]) -> NDArray:
        rows = vectors.transform(unseen)
        columns = [
            np.full(rows.shape[0], fitted) if np.isscalar(fitted) else fitted.predict_proba(rows)[:, 1]
            for fitted in classifiers
        ]
        return np.stack(columns, axis=1)

    return predict


def fit_network(
    texts: Sequence[str], labels: NDArray, config: Network, *, seed: int, folder: Path
) -> tuple[Predict, int]:
    """Train an encoder with one sigmoid per class, or LoRA adapters on a decoder.

    Return what predicts, and the step of the checkpoint in `folder` that training went on from.
    """
    from scipy.special import expit

    from helpers.learning import encoders, loop
    from helpers.text.tokenizers import load_tokenizer

    tokenizer = load_tokenizer(config.tokenizer, texts=texts, size=config.vocabulary)
    encode = _encoder_of(tokenizer, config)
    body = text_encoder(config, tokenizer, seed=seed)
    names = [str(i) for i in range(labels.shape[1])]
    net = encoders.classifier(body, names, task="multilabel", pooling=config.pooling, seed=seed)
    start_at_base_rates(net, labels)
    if config.lora_rank:
        from helpers.learning.lora import add_lora

        net = add_lora(net, r=config.lora_rank, alpha=2 * config.lora_rank)
    rows = [
        {"input_ids": ids, "labels": y.astype(float).tolist()}
        for ids, y in zip(encode(texts), labels, strict=True)
    ]
    recipe = train_config(config, seed)
    fitted = loop.fit(net, rows, config=recipe, folder=folder / "checkpoints", progress=None)

    def predict(unseen: Sequence[str]) -> NDArray:
        logits = loop.predict(net, [{"input_ids": ids} for ids in encode(unseen)])
        return expit(np.stack(logits).astype(np.float64))

    return predict, fitted.resumed_from


def start_at_base_rates(net, labels: NDArray) -> None:
    """Set the head's biases to the classes' log-odds, so that training begins with what is rare."""
    import torch
    from scipy.special import logit

    rates = (labels.sum(axis=0) + 0.5) / (len(labels) + 1)
    with torch.no_grad():
        net.head[-1].bias.copy_(torch.as_tensor(logit(rates)))


def text_encoder(config: Network, tokenizer, *, seed: int = 0):
    """Build the encoder from scratch at the config's size, or load the one it names."""
    from helpers.learning import encoders

    size = {"hidden": config.hidden, "layers": config.layers, "max_length": config.max_tokens}
    return encoders.build_encoder(config.encoder, tokenizer, seed=seed, four_bit=config.four_bit, **size)


def train_config(config: Network, seed: int):
    """Return the training recipe: cosine after a short warm-up, last weights kept, no peeking at a fold."""
    from helpers.learning.loop import TrainConfig

    return TrainConfig(
        epochs=config.epochs,
        peak_lr=config.peak_lr,
        batch_rows=config.batch_rows,
        accumulate=config.accumulate,
        schedule="cosine",
        seed=seed,
    )


def _encoder_of(tokenizer, config: Network) -> Callable[[Sequence[str]], list[list[int]]]:
    def encode(texts: Sequence[str]) -> list[list[int]]:
        prompts = [config.prompt.replace("{text}", text) for text in texts]
        return tokenizer(prompts, truncation=True, max_length=config.max_tokens)["input_ids"]

    return encode


def described(model: Model) -> dict:
    """Return a model as plain JSON, for the cache of a sweep."""
    return {"family": type(model).__name__, "settings": asdict(model)}
