"""Kept models in use: a folder beside the matching transformers pipeline, on the same model and texts.

Both start from the same folder, loaded once, and end with probabilities of every class, or with entities. The
pipeline is called as its documentation does; a row without a target gives it batches of 32.
"""

from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tests.benchmarks.harness import DATA, Limit, Race

KEPT = TemporaryDirectory(prefix="bench-models-")


class Loaded(NamedTuple):
    """A model, what it predicts, and a pipeline around the same weights."""

    member: Any
    rows: list[dict]
    pipeline: Any


def cases() -> list[Race | Limit]:
    return [
        Race(
            name="prediction, classes",
            work="ten classes of a post by a 2-layer RoBERTa (hidden 128): probabilities of all",
            data=posts,
            ours=our_probabilities,
            others={"pipeline": piped, "pipeline, batch_size=32": lambda data: piped(data, batch_size=32)},
            sizes=(1000,),
            unit="posts",
            equal=_close,
            targets={"pipeline": 3.0},
            repeats=3,
            explanation=(
                "Ours sorts by length, pads little, and asks the last layer for the first token alone, which "
                "the head reads: much of two layers, little of twelve. The pipeline reads posts one by one."
            ),
        ),
        Race(
            name="prediction, classes by a BiLSTM",
            work="the same by the encoder that notebook 05 keeps (BiLSTM, hidden 64, mean of the states)",
            data=partial(posts, kind="bilstm", pooling="mean"),
            ours=our_probabilities,
            others={"pipeline": piped},
            sizes=(1000,),
            unit="posts",
            equal=_close,
            targets={"pipeline": 3.0},
            repeats=3,
        ),
        Race(
            name="prediction, entities",
            work="entities of a sentence by a 2-layer RoBERTa (hidden 128), decoded to valid tags",
            data=sentences,
            ours=our_tags,
            others={"pipeline": piped_tags},
            sizes=(1000,),
            unit="sentences",
            targets={"pipeline": 3.0},
            repeats=3,
            explanation="Not the same entities: the pipeline joins tokens as they come, ours are valid tags.",
        ),
        Limit(
            name="logits of a kept model",
            work="largest difference from the logits of the model in training",
            measure=logit_difference,
            limit=1e-5,
            unit="",
            repeats=1,
        ),
    ]


@cache
def posts(rows: int, kind: str = "roberta", pooling: str = "first") -> Loaded:
    """Return a network for UNLP's techniques with random weights, and posts of the sample's lengths."""
    from transformers import pipeline

    from helpers import corpora
    from helpers.corpora.labels import TECHNIQUES
    from helpers.prediction import folders, recipes

    texts = corpora.load_techniques(DATA if (DATA / "unlp").is_dir() else "sample", "train", rows=rows)[
        "content"
    ][:]
    recipe = recipes.Recipe(
        task="multilabel",
        labels=TECHNIQUES,
        max_tokens=256,
        thresholds=(0.5,) * len(TECHNIQUES),
        curves=((1.0, 0.0),) * len(TECHNIQUES),
    )
    head = {"task": "multilabel", "pooling": pooling}
    member = folders.load(_kept(f"posts-{kind}", texts, recipe, TECHNIQUES, kind, **head))
    asked = pipeline(
        "text-classification", model=member.model, tokenizer=member.tokenizer, device="cpu",
        function_to_apply="sigmoid", top_k=None,
    )  # fmt: skip
    return Loaded(member, [{"id": str(i), "content": text} for i, text in enumerate(texts)], asked)


@cache
def sentences(rows: int) -> Loaded:
    """Return a tagger with random weights, and sentences."""
    from transformers import pipeline

    from helpers import corpora
    from helpers.corpora.labels import TAG_TYPES, TAGS
    from helpers.prediction import folders, recipes

    texts = corpora.load_entities(DATA if (DATA / "klue-ner").is_dir() else "sample", "dev", rows=rows)[
        "sentence"
    ][:]
    recipe = recipes.Recipe(task="entities", labels=TAG_TYPES)
    member = folders.load(_kept("sentences", texts, recipe, TAGS, "roberta", task="tokens"))
    asked = pipeline("token-classification", model=member.model, tokenizer=member.tokenizer, device="cpu")
    return Loaded(member, [{"guid": str(i), "sentence": text} for i, text in enumerate(texts)], asked)


def our_probabilities(data: Loaded) -> list[list[float]]:
    from helpers.prediction import predictors

    return predictors.answer([data.member], data.rows).probs.tolist()


def piped(data: Loaded, **how: Any) -> list[list[float]]:
    labels = data.member.recipe.labels
    texts = [row["content"] for row in data.rows]
    found = data.pipeline(texts, truncation=True, max_length=data.member.recipe.max_tokens, **how)
    by_label = ({one["label"]: one["score"] for one in scores} for scores in found)
    return [[scores[label] for label in labels] for scores in by_label]


def our_tags(data: Loaded) -> list[dict]:
    from helpers.prediction import predictors

    return predictors.answer([data.member], data.rows).records()


def piped_tags(data: Loaded) -> list[list[dict]]:
    return data.pipeline([row["sentence"] for row in data.rows], aggregation_strategy="simple")


def logit_difference() -> float:
    """Train a classifier for an epoch, keep it, load it: how far do its logits move?"""
    from dataclasses import asdict

    import numpy as np

    from helpers.prediction import folders, predictors
    from helpers.prediction.relations import recipe
    from helpers.relations.data import load_splits
    from helpers.relations.experiment import RelationConfig, load_logits, train_and_score

    splits = load_splits("sample", train_rows=300, dev_rows=200)
    config = RelationConfig(
        tokenizer="train:wordpiece", vocabulary_size=1000, hidden=64, epochs=1, keep_model=True
    )
    run = Path(KEPT.name) / "relations"
    run.mkdir(exist_ok=True)
    train_and_score(splits=splits, folder=run, **asdict(config))
    recipe(run, config, splits, data="sample").write(run / "model")
    logits = predictors.logits_of_relations(folders.load(run / "model"), list(splits.dev))
    return float(np.abs(logits - load_logits(run)).max())


def _kept(name: str, texts: list[str], recipe: Any, labels: Any, kind: str, **head: str) -> Path:
    """Save a model with random weights as a notebook saves one."""
    from helpers.learning import encoders, heads
    from helpers.text import tokenizers

    tokenizer = tokenizers.train_tokenizer("wordpiece", texts[:500], size=4000)
    size = {"hidden": 64, "layers": 1} if kind == "bilstm" else {}
    body = encoders.encoder(kind, vocab_size=len(tokenizer), pad_id=tokenizer.pad_token_id, **size)
    folder = Path(KEPT.name) / name
    heads.classifier(body, labels, **head).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    recipe.write(folder)
    return folder


def _close(ours: list[list[float]], theirs: list[list[float]]) -> bool:
    import numpy as np

    return bool(np.abs(np.array(ours) - np.array(theirs)).max() < 1e-4)
