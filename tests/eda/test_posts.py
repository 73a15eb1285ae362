"""What notebook 01 counts in posts: techniques, lift, folds, spans."""

import numpy as np
import pandas as pd
import pytest

from helpers import corpora
from helpers.eda import posts


@pytest.fixture(scope="module")
def small():
    from datasets import ClassLabel, Dataset, List

    names = [["fud", "cliche"], ["fud"], ["cliche"], []] * 5
    spans = [[[0, 3], [2, 4]], [[5, 6], [0, 1]], [[0, 1], [1, 2]], []] * 5
    langs = ["uk", "ru", "uk", "uk"] * 5
    labels = [[corpora.TECHNIQUES.index(name) for name in post] for post in names]
    columns = {"techniques": names, "labels": labels, "trigger_words": spans, "lang": langs}
    rows = Dataset.from_dict(columns | {"content": ["글" * 9] * 20})
    return rows.cast_column("labels", List(ClassLabel(names=list(corpora.TECHNIQUES))))


class TestPosts:
    def test_counts(self, small):
        counts = posts.technique_counts(small)
        assert len(counts) == 10 and (counts["fud"], counts["straw_man"], counts.sum()) == (10, 0, 20)

    def test_lift(self, small):
        table = posts.lift(small)
        assert table.loc["fud", "cliche"] == table.loc["cliche", "fud"] == pytest.approx(1.0)  # independent
        assert np.isnan(table.loc["fud", "fud"]) and np.isnan(table.loc["straw_man", "fud"])

    def test_the_strongest_pair_is_chosen_in_one_half_and_measured_in_the_other(self, small):
        from datasets import concatenate_datasets

        many = concatenate_datasets([small] * 20)
        first, second, ratio = posts.strongest_pair(many, at_least=20)
        assert {first, second} == {"fud", "cliche"}
        assert ratio.low < 1 < ratio.high  # the two are independent
        with pytest.raises(ValueError, match="no two techniques meet in 90 posts"):
            posts.strongest_pair(many, at_least=90)

    def test_folds(self, small):
        assigned = posts.assign_folds(small, number=5, seed=42)
        assert list(assigned) == ["random", "legacy: labels", "labels + language"]
        balance = posts.fold_balance(small, assigned).set_index("split")
        assert balance.loc["labels + language", "language"] <= balance.loc["random", "language"]
        by_fold = posts.fold_languages(small, assigned, "uk")
        assert len(by_fold) == 15
        means = by_fold.groupby("split")["share"].agg(
            lambda shares: np.mean([share.value for share in shares])
        )
        assert means.tolist() == pytest.approx([75, 75, 75])
        drifts = posts.random_drifts(small, number=5, cuts=20)
        assert drifts.shape == (20,) and 0 < drifts.max() <= 75

    def test_overlapping_spans_touch_in_a_character(self, small):
        assert posts.overlapping(small) == 5  # [0, 3) and [2, 4); [0, 1) and [1, 2) only meet


@pytest.mark.real
class TestRealFiles:
    @pytest.mark.filterwarnings("ignore::helpers.corpora.CorpusWarning")
    def test_posts(self, real_data):
        loaded = corpora.load_techniques(real_data, "train")
        assert posts.technique_counts(loaded).sum() / len(loaded) == pytest.approx(1.316, abs=5e-4)
        assert posts.overlapping(loaded) == 51
        winners = pd.read_csv(real_data / "unlp" / "cv_split.csv").set_index("id")["fold"]
        legacy = posts.assign_folds(loaded, number=5, seed=42)["legacy: labels"]
        assert (winners[loaded["id"][:]].to_numpy() == legacy).mean() > 0.99
