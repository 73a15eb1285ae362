"""Posts: planted rates, labels that hang together, untidy spans."""

from itertools import pairwise

import pytest

from helpers.sample_world import PLANTED

from . import generate


@pytest.fixture(scope="module")
def unlp() -> list[dict]:
    return generate("posts", rows=3822)


def test_posts_have_the_planted_rates(unlp):
    planted, size = PLANTED["posts"], len(unlp)
    for name, rate in planted["rates"].items():
        share = sum(name in row["techniques"] for row in unlp) / size
        assert share == pytest.approx(rate, abs=4 * (rate * (1 - rate) / size) ** 0.5), name
    assert sum(not row["techniques"] for row in unlp) / size == pytest.approx(planted["none"], abs=0.03)
    assert sum(len(row["techniques"]) for row in unlp) / size == pytest.approx(
        planted["cardinality"], abs=0.06
    )
    assert sum(row["lang"] == "ko" for row in unlp) / size == pytest.approx(
        planted["languages"]["ko"], abs=0.03
    )


def test_labels_hang_together_as_planted(unlp):
    """Dark techniques attract each other, dark and bright ones repel, and English posts are darker."""

    def share(name: str, rows: list[dict]) -> float:
        return sum(name in row["techniques"] for row in rows) / len(rows)

    manipulative = [row for row in unlp if row["techniques"]]
    fud = [row for row in manipulative if "fud" in row["techniques"]]
    assert share("cherry_picking", fud) > 1.15 * share("cherry_picking", manipulative)
    assert share("glittering_generalities", fud) < 0.85 * share("glittering_generalities", manipulative)
    english, korean = ([row for row in unlp if row["lang"] == lang] for lang in ("en", "ko"))
    assert share("fud", english) > 1.2 * share("fud", korean)


def test_post_rows_are_consistent(unlp):
    order = list(PLANTED["posts"]["rates"])
    for row in unlp:
        assert row["manipulative"] == bool(row["techniques"]) == bool(row["trigger_words"])
        assert row["techniques"] == sorted(row["techniques"], key=order.index)
        assert all(0 <= start < end <= len(row["content"]) for start, end in row["trigger_words"])


def test_a_few_posts_have_untidy_spans(unlp):
    unsorted = sum(row["trigger_words"] != sorted(row["trigger_words"]) for row in unlp)
    overlapping = sum(any(a[1] > b[0] for a, b in pairwise(sorted(row["trigger_words"]))) for row in unlp)
    assert 10 < unsorted < 150 and 10 < overlapping < 100


def test_techniques_are_learnable_but_not_given_away(unlp):
    """Character TF-IDF + logistic regression when built: macro-F1 .38 at 0.5, .54 at the best thresholds."""
    import numpy as np
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    names, dev = list(PLANTED["posts"]["rates"]), generate("posts", "dev", rows=1500)
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=3, sublinear_tf=True)
    X = vectorizer.fit_transform(row["content"] for row in unlp)
    Y, gold = (
        np.array([[n in row["techniques"] for n in names] for row in rows], int) for rows in (unlp, dev)
    )
    model = OneVsRestClassifier(LogisticRegression(C=3, solver="liblinear")).fit(X, Y)
    scores = model.predict_proba(vectorizer.transform(row["content"] for row in dev))

    def macro_f1(pred) -> float:
        return float(np.mean(2 * (gold & pred).sum(0) / (gold.sum(0) + pred.sum(0))))

    rates = np.array(list(PLANTED["posts"]["rates"].values()))
    cuts = np.array([np.quantile(column, 1 - rate) for column, rate in zip(scores.T, rates, strict=True)])
    assert macro_f1((scores >= 0.5).astype(int)) < 0.48
    assert 0.35 < macro_f1((scores >= cuts).astype(int)) < 0.62
