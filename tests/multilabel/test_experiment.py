"""Post models on folds: no model scores a post it learned from, files are kept, all families learn."""

import numpy as np
import pytest

from helpers import corpora
from helpers.multilabel import experiment, folds
from helpers.multilabel.experiment import Network, NGrams, Posts


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


def separation(scores, y):
    return scores[y == 1].mean() - scores[y == 0].mean()


def test_out_of_fold_scores_find_the_planted_words(posts, assigned):
    scores = experiment.score_all_folds(NGrams(), posts, assigned).single
    assert separation(scores[:, 0], posts.labels[:, 0]) > 0.4
    assert separation(scores[:, 1], posts.labels[:, 1]) > 0.4
    assert (scores[:, 2] == 0.0).all(), "a class without positives gets its base rate"


def test_a_post_is_never_scored_by_a_model_that_learned_from_it(posts, assigned):
    scores = experiment.score_folds(NGrams(), posts, assigned, left_out=[(0,), (0, 2)])
    assert np.isnan(scores[0,][assigned != 0]).all() and not np.isnan(scores[0,][assigned == 0]).any()
    assert np.isnan(scores[0, 2][assigned == 1]).all() and not np.isnan(scores[0, 2][assigned != 1]).any()


def test_labels_of_a_fold_do_not_change_its_own_scores(posts, assigned):
    flipped = posts._replace(labels=np.where((assigned == 1)[:, None], 1 - posts.labels, posts.labels))
    before, after = (
        experiment.score_folds(NGrams(), p, assigned, left_out=[(1,)])[1,] for p in (posts, flipped)
    )
    assert (before[assigned == 1] == after[assigned == 1]).all()


def test_pairs_of_folds_make_a_nested_ensemble(posts, assigned):
    nested = experiment.score_all_folds(NGrams(), posts, assigned)
    pairs = experiment.score_folds(NGrams(), posts, assigned, left_out=[(0, 1), (0, 2), (1, 2)])
    hidden = assigned == 1
    assert (nested.members[0][hidden] == pairs[0, 1][hidden]).all()
    assert (nested.members[2][hidden] == pairs[1, 2][hidden]).all()
    assert np.isnan(nested.members[1][hidden]).all()
    assert nested.averaged[hidden] == pytest.approx((pairs[0, 1][hidden] + pairs[1, 2][hidden]) / 2)


def test_scores_are_kept_on_disk(posts, assigned, monkeypatch):
    first = experiment.score_all_folds(NGrams(), posts, assigned).single
    monkeypatch.setattr(experiment, "fit_ngrams", None)  # a second training would fail
    assert (experiment.score_all_folds(NGrams(), posts, assigned).single == first).all()


def test_a_smaller_share_of_the_posts_gives_another_model(posts, assigned):
    full, part = (
        experiment.score_all_folds(NGrams(share=share), posts, assigned).single for share in (1.0, 0.2)
    )
    assert separation(full[:, 0], posts.labels[:, 0]) > separation(part[:, 0], posts.labels[:, 0])


@pytest.mark.parametrize(
    "config",
    [
        Network(encoder="bilstm", vocabulary=150, hidden=32, layers=1, epochs=15, peak_lr=2e-2, batch_rows=8),
        Network(
            encoder="gemma-2", vocabulary=150, hidden=32, layers=1, pooling="last", epochs=20, peak_lr=1e-2,
            batch_rows=4, lora_rank=8, prompt="Read: {text}",
        ),
    ],
    ids=["encoder", "LoRA on a decoder"],
)  # fmt: skip
def test_networks_learn_the_planted_words(posts, assigned, config):
    scores = experiment.score_folds(config, posts, assigned, left_out=[(0,)])[0,]
    inside = assigned == 0
    learned = [separation(scores[inside, c], posts.labels[inside, c]) for c in (0, 1)]
    assert max(learned) > 0.3, "a hundred posts teach at least one of the two words"
    assert ((scores[inside] >= 0) & (scores[inside] <= 1)).all()


def test_a_failed_training_says_why(posts, assigned):
    broken = Network(encoder="no/such-model", tokenizer="train:wordpiece")
    with pytest.raises(RuntimeError, match=r"1 of 1 runs of .* failed"):
        experiment.score_folds(broken, posts, assigned, left_out=[(0,)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NGrams(analyzer="bytes"), "analyzer"),
        (lambda: NGrams(shortest=4, longest=2), "shortest ≤ longest"),
        (lambda: NGrams(share=0.0), "share"),
        (lambda: Network(prompt="no place for it"), "template"),
        (lambda: Network(four_bit=True), "adapters"),
    ],
)
def test_configs_check_themselves(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_posts_come_from_the_corpus_in_its_own_order():
    dataset = corpora.load_techniques("sample", "train", rows=20)
    posts = experiment.posts_of(dataset, corpora.TECHNIQUES)
    assert posts.ids == list(dataset["id"]) and posts.labels.shape == (20, 10)
    for row, names in zip(posts.labels, dataset["techniques"], strict=True):
        assert [c for c, on in zip(corpora.TECHNIQUES, row, strict=True) if on] == names


def test_the_class_table_counts_by_language(posts):
    half = posts._replace(languages=["uk"] * 75 + ["ru"] * 75)
    frame = experiment.describe(half).set_index("technique")
    assert frame.loc["fear", "posts"] == posts.labels[:, 0].sum()
    assert frame.loc["fear", "in ru, %"] == pytest.approx(100 * posts.labels[75:, 0].mean())
    assert frame["posts"].is_monotonic_decreasing


def test_scores_are_written_without_the_texts(posts, assigned, tmp_path):
    experiment.save_scores(tmp_path / "scores.csv", posts, assigned, posts.labels / 2)
    written = (tmp_path / "scores.csv").read_text()
    assert written.splitlines()[0] == "id,fold,fear,joy,none"
    assert len(written.splitlines()) == 151 and "river" not in written


def test_weaker_versions_differ_and_the_published_rows_are_there():
    versions = experiment.weaker_versions(NGrams())
    assert len(set(versions.values())) == len(versions) == 10
    assert experiment.published()["macro_f1"].max() == 0.49


def test_several_models_share_a_sweep_and_keep_their_names(posts, assigned):
    both = {"full": NGrams(), "part": NGrams(share=0.2)}
    scores = experiment.score_models(both, posts, assigned, left_out=[(0,)])
    for name, model in both.items():
        alone = experiment.score_folds(model, posts, assigned, left_out=[(0,)])
        assert np.array_equal(scores[name][0,], alone[0,], equal_nan=True)
