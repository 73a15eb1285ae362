"""Networks for posts are kept with what fold 1 fitted, and score on fold 0 what their folders then score."""

from dataclasses import replace
from functools import partial

import numpy as np
from pytest import approx

from helpers.multilabel import rules
from helpers.multilabel.results import Posts
from helpers.multilabel.scores import macro_f1, points_of_counts
from helpers.multilabel.spans import char_counts, characters
from helpers.prediction import folders, posts, predictors
from tests import own_data
from tests.prediction.conftest import NETWORK, card

ASSIGNED = np.arange(90) % 3


def tiny() -> Posts:
    """Posts with classes in Hangul, whose trigger is a place."""
    rows = own_data.posts(90)
    texts, classes = [row["content"] for row in rows], ("성별", "연령", "지역")
    found = [
        [(text.find(word), text.find(word) + 2) for word in ("서울", "부산") if word in text]
        for text in texts
    ]
    labels = np.array([[int(name in row["techniques"]) for name in classes] for row in rows])
    return Posts([row["id"] for row in rows], texts, ["ko"] * 90, found, labels, classes)


def test_what_is_kept_scores_on_fold_0_what_its_folder_scores(tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_OUT", str(tmp_path))
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    some, network = tiny(), replace(NETWORK, epochs=4)
    rule, about = partial(rules.hybrid, weight=0.5), card("macro-F1", 0.0)
    classes = posts.keep_network("encoder", network, some, ASSIGNED, rule=rule, card=about)
    spans = posts.keep_tagger(
        "spans character",
        replace(network, tokenizer="train:character"),
        some,
        ASSIGNED,
        card=replace(about, metric="character F1"),
    )
    assert (classes["folder"], spans["folder"]) == ("models/encoder", "models/spans-character")
    test = np.flatnonzero(ASSIGNED == 0)
    rows = [{"id": some.ids[i], "content": some.texts[i]} for i in test]
    said = predictors.answer([folders.load(tmp_path / classes["folder"])], rows)
    assert 100 * macro_f1(some.labels[test], said.decided) == approx(classes["score"], abs=1e-9)
    found = predictors.answer([folders.load(tmp_path / spans["folder"])], rows).found
    post, gold = characters(some.texts, some.spans, test)
    _, marked = characters([row["content"] for row in rows], found, np.arange(len(rows)))
    counts = char_counts(gold, marked, post=post)
    assert float(points_of_counts(counts.sum(axis=0))) == approx(spans["score"], abs=1e-9)
