"""Trainings on folds: no model scores a post it learned from, files are kept, all kinds of model learn."""

import numpy as np
import pytest

from helpers import corpora
from helpers.multilabel import experiment, folds, results
from helpers.multilabel.experiment import Network, NGrams
from helpers.multilabel.results import Posts
from helpers.multilabel.scores import macro_f1
from tests import own_data


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="module")
def posts() -> Posts:
    """Two words decide two labels; a third label is never positive."""
    rng = np.random.default_rng(0)
    words = ["river", "budget", "meeting", "school", "report"]
    labels = np.column_stack([rng.random((150, 2)) < 0.4, np.zeros(150, bool)]).astype(np.int8)
    texts = []
    for row in labels:
        chosen = [words[i] for i in rng.integers(0, 5, 4)]
        chosen += ["panic"] * row[0] + ["glory"] * row[1]
        texts.append(" ".join(rng.permutation(chosen)))
    return Posts(
        [str(i) for i in range(150)], texts, ["en"] * 150, [[]] * 150, labels, ("fear", "joy", "none")
    )


@pytest.fixture(scope="module")
def assigned(posts) -> np.ndarray:
    return folds.assign(posts.labels, folds=3)


def score(model, posts, assigned, left_out):
    """Scores of one model, for each set of folds left out."""
    return results.score_posts({"": model}, posts, assigned, left_out=left_out)[""]


def out_of_fold(model, posts, assigned):
    scores = score(model, posts, assigned, [(0,), (1,), (2,)])
    return np.stack([scores[fold,][row] for row, fold in enumerate(assigned.tolist())])


def separation(scores, y):
    return scores[y == 1].mean() - scores[y == 0].mean()


def test_out_of_fold_scores_find_the_planted_words(posts, assigned):
    scores = out_of_fold(NGrams(), posts, assigned)
    assert separation(scores[:, 0], posts.labels[:, 0]) > 0.4
    assert separation(scores[:, 1], posts.labels[:, 1]) > 0.4
    assert (scores[:, 2] == 0.0).all(), "a class without positives gets its base rate"


def test_a_post_is_never_scored_by_a_model_that_learned_from_it(posts, assigned):
    scores = score(NGrams(), posts, assigned, [(0,), (0, 2)])
    assert np.isnan(scores[0,][assigned != 0]).all() and not np.isnan(scores[0,][assigned == 0]).any()
    assert np.isnan(scores[0, 2][assigned == 1]).all() and not np.isnan(scores[0, 2][assigned != 1]).any()


def test_labels_of_a_fold_do_not_change_its_own_scores(posts, assigned):
    flipped = posts._replace(labels=np.where((assigned == 1)[:, None], 1 - posts.labels, posts.labels))
    before, after = (score(NGrams(), p, assigned, [(1,)])[1,] for p in (posts, flipped))
    assert (before[assigned == 1] == after[assigned == 1]).all()


def test_scores_are_kept_on_disk(posts, assigned, monkeypatch):
    first = out_of_fold(NGrams(), posts, assigned)
    monkeypatch.setattr(experiment, "score_by_ngrams", None)  # a second training would fail
    assert (out_of_fold(NGrams(), posts, assigned) == first).all()


def test_a_smaller_share_of_the_posts_gives_another_model(posts, assigned):
    full, part = (out_of_fold(NGrams(share=share), posts, assigned) for share in (1.0, 0.2))
    assert separation(full[:, 0], posts.labels[:, 0]) > separation(part[:, 0], posts.labels[:, 0])


@pytest.mark.parametrize(
    "config",
    [
        Network(encoder="bilstm", vocabulary=150, hidden=32, layers=1, epochs=15, peak_lr=2e-2, batch_rows=8),
        Network(
            encoder="gemma-2", vocabulary=150, hidden=64, layers=1, pooling="last", epochs=20, peak_lr=3e-3,
            batch_rows=4, lora_rank=8, prompt="Read: {text}",
        ),
    ],
    ids=["encoder", "LoRA on a decoder"],
)  # fmt: skip
def test_networks_learn_the_planted_words(posts, assigned, config):
    scores = score(config, posts, assigned, [(0,)])[0,]
    inside = assigned == 0
    learned = [separation(scores[inside, c], posts.labels[inside, c]) for c in (0, 1)]
    assert max(learned) > 0.3, "a hundred posts teach at least one of the two words"
    assert ((scores[inside] >= 0) & (scores[inside] <= 1)).all()


def test_a_failed_training_says_why(posts, assigned):
    broken = Network(encoder="no/such-model", tokenizer="train:wordpiece")
    with pytest.raises(RuntimeError, match=r"1 of 1 runs of .* failed"):
        score(broken, posts, assigned, [(0,)])


def test_posts_come_from_the_corpus_in_its_own_order():
    dataset = corpora.load_techniques("sample", "train", rows=20)
    posts = results.posts_of(dataset, corpora.TECHNIQUES)
    assert posts.ids == list(dataset["id"]) and posts.labels.shape == (20, 10)
    for row, names in zip(posts.labels, dataset["techniques"], strict=True):
        assert [c for c, on in zip(corpora.TECHNIQUES, row, strict=True) if on] == names


def test_classes_of_the_data_without_language_or_spans(tmp_path):
    folder = own_data.write(tmp_path, own_data.posts(120), "mine_train")
    posts = results.posts_of(corpora.load_techniques(folder, "train"))
    assert posts.classes == ("성별", "연령", "지역") and posts.labels.shape == (120, 3)
    assert set(posts.languages) == {""} and not any(posts.spans)
    assigned = folds.assign(posts.labels, folds=3)
    worst = folds.diagnose({"x": assigned}, labels=posts.labels, languages=posts.languages, lengths=[1] * 120)
    assert worst["language"].tolist() == [0]
    found = score(NGrams(shortest=1, longest=2), posts, assigned, [(0,)])[0,]
    held_out = assigned == 0
    assert macro_f1(posts.labels[held_out], found[held_out] >= 0.5) > 0.9


def test_several_models_share_a_sweep_and_keep_their_names(posts, assigned):
    both = {"full": NGrams(), "part": NGrams(share=0.2)}
    scores = results.score_posts(both, posts, assigned, left_out=[(0,)])
    for name, model in both.items():
        alone = score(model, posts, assigned, [(0,)])
        assert np.array_equal(scores[name][0,], alone[0,], equal_nan=True)
