"""One tiny model of each task, trained on labels in Hangul and kept as a notebook keeps it."""

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from helpers import corpora
from helpers.corpora.splits import document_groups, split_by_group
from helpers.entities import results as entity_results
from helpers.entities.experiment import Part, TaggerConfig, encode_parts, train_tagger
from helpers.multilabel import experiment, rules, span_experiment, spans
from helpers.multilabel.scores import indicators, macro_f1
from helpers.prediction import cards, folders
from helpers.prediction import posts as posts_recipes
from helpers.prediction.entities import recipe as entities_recipe
from helpers.prediction.relations import recipe as relations_recipe
from helpers.relations.data import load_splits
from helpers.relations.experiment import RelationConfig, load_logits, train_and_score
from helpers.statistics import Interval, f1
from tests import own_data


class Kept(NamedTuple):
    """A model's folder, the labelled file that it was scored on, its score there, and what it said."""

    folder: Path
    gold: Path
    score: float
    said: Any
    texts: list[str]


def card(metric: str, own: float) -> cards.Card:
    return cards.Card(
        data="mine", trained_on=10, scored_on="dev", metric=metric, own=own, level=Interval(own, own, own),
        seeds=[1, 2], notebook="03_markers", verdict="Undecided.",
    )  # fmt: skip


@pytest.fixture(scope="session")
def keep(tmp_path_factory):
    """A function that keeps a run as a notebook would, and returns the folder."""
    out = tmp_path_factory.mktemp("kept")

    def keep(name, run, recipe, metric, own):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NUNCHI_OUT", str(out))
            row = folders.keep(name, run, recipe, card(metric, own))
        assert row == {"folder": f"models/{name}", "task": recipe.task, "metric": metric, "score": own}
        return out / row["folder"]

    return keep


@pytest.fixture(scope="session")
def relations(tmp_path_factory, keep):
    run, data = tmp_path_factory.mktemp("run"), tmp_path_factory.mktemp("relations")
    for name, count, seed in (("train", 120, 0), ("dev", 40, 1)):
        own_data.write(data, own_data.relations(count, seed=seed), name)
    splits = load_splits(str(data), train_rows=0, dev_rows=0)
    config = RelationConfig(
        tokenizer="train:wordpiece", vocabulary_size=300, hidden=32, epochs=4, peak_lr=1e-2, keep_model=True
    )
    result = train_and_score(splits=splits, folder=run, **asdict(config))
    recipe = relations_recipe(run, config, splits, data=str(data))
    folder = keep("relations", run, recipe, "micro-F1", result["micro_f1"])
    return Kept(folder, data / "dev.jsonl", result["micro_f1"], load_logits(run), splits.dev["sentence"][:])


@pytest.fixture(scope="session")
def taggers(tmp_path_factory, keep) -> list[Kept]:
    """Two taggers with different tokenizers and encoders."""
    data = tmp_path_factory.mktemp("entities")
    for name, count, seed in (("train", 80, 0), ("dev", 30, 1)):
        own_data.write(data, own_data.entities(count, seed=seed), name)
    train, dev = (corpora.load_entities(data, split) for split in ("train", "dev"))
    train, valid = split_by_group(train, document_groups(train), share=0.2)
    parts = {"train": Part.of(train), "valid": Part.of(valid), "dev": Part.of(dev)}
    config = TaggerConfig(
        hidden=32, layers=1, bigrams=64, dropout=0.0, peak_lr=0.02, epochs=2, batch_size=8, seed=1,
        swa_start=1, ema_decay=0.5, lawa_last=2,
    )  # fmt: skip
    found = []
    for name in ("bilstm + train:character", "roberta + train:wordpiece"):
        run, tagger = tmp_path_factory.mktemp("run"), config.of(name)
        encodings = encode_parts(parts, [tagger.tokenizer], size=300)
        train_tagger(parts=parts, encodings=encodings, folder=run, **asdict(tagger))
        with np.load(run / "predictions.npz") as arrays:
            tags = parts["dev"].gold._replace(ids=arrays["dev_swa"])
        own = entity_results.score_tags(tags, parts["dev"]).figures()["entity F1"]
        folder = keep(
            tagger.encoder, run, entities_recipe(run, encodings[tagger.tokenizer]), "entity F1", own
        )
        found.append(Kept(folder, data / "dev.jsonl", own, tags, parts["dev"].sentences))
    return found


NETWORK = experiment.Network(
    vocabulary=200, hidden=16, epochs=8, peak_lr=2e-2, max_tokens=24, keep_model=True
)


@pytest.fixture(scope="session")
def posts(tmp_path_factory, keep):
    run, data = tmp_path_factory.mktemp("run"), tmp_path_factory.mktemp("posts")
    own_data.write(data, own_data.posts(150), "train")
    own_data.write(data, own_data.posts(40, seed=1), "dev")
    loaded = [corpora.load_techniques(data, split) for split in ("train", "dev")]
    names = loaded[0].features["labels"].feature.names
    texts, labels = zip(
        *((d["content"][:], indicators(d["techniques"][:], names)) for d in loaded), strict=False
    )
    predict, _ = experiment.fit_network(texts[0][:110], labels[0][:110], NETWORK, seed=0, folder=run)
    rule = partial(rules.hybrid, weight=0.5)
    recipe = posts_recipes.recipe(NETWORK, names, labels[0][110:], predict(texts[0][110:]), rule=rule)
    said = predict(texts[1])
    own = 100 * macro_f1(labels[1], said >= np.array(recipe.thresholds))
    folder = keep("posts", run, recipe, "macro-F1", own)
    return Kept(folder, data / "dev.jsonl", own, said, texts[1])


@pytest.fixture(scope="session")
def triggers(tmp_path_factory, keep):
    run, data = tmp_path_factory.mktemp("run"), tmp_path_factory.mktemp("triggers")
    for name, seed in (("train", 0), ("dev", 1)):
        rows = own_data.posts(100 if name == "train" else 30, seed=seed)
        for row in rows:  # a trigger is a place
            places = [row["content"].find(place) for place in ("서울", "부산")]
            row["trigger_words"] = [[at, at + 2] for at in places if at >= 0]
        own_data.write(data, rows, name)
    loaded = [corpora.load_techniques(data, split) for split in ("train", "dev")]
    texts, marked = zip(*((d["content"][:], d["trigger_words"][:]) for d in loaded), strict=False)
    network = replace(NETWORK, max_tokens=8, epochs=3)
    predict, _ = span_experiment.fit_tagger(texts[0][:70], marked[0][:70], network, seed=0, folder=run)
    _, trigger = spans.characters(texts[0], marked[0], np.arange(70, 100))
    tuned = np.concatenate(predict(texts[0][70:])).astype(np.float32)
    recipe = posts_recipes.span_recipe(network, trigger, tuned)
    post, gold = spans.characters(texts[1], marked[1], np.arange(30))
    said = np.concatenate(predict(texts[1])).astype(np.float32)
    own = 100 * float(f1(spans.char_counts(gold, said >= recipe.thresholds[0], post=post).sum(axis=0)))
    folder = keep("triggers", run, recipe, "character F1", own)
    return Kept(folder, data / "dev.jsonl", own, said, texts[1])
