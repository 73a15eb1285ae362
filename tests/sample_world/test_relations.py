"""Relation rows: offsets, types, planted rates and leaks, and what a model needs to see."""

from collections import Counter

import pytest

from helpers.sample_world import PLANTED
from helpers.sample_world.scenes import wordings

from . import generate


@pytest.fixture(scope="module")
def re_rows() -> dict[str, list[dict]]:
    return {"train": generate("relations", "train", 3000), "dev": generate("relations", "dev", 2000)}


def pair(row: dict) -> tuple[str, str]:
    return row["subject_entity"]["word"], row["object_entity"]["word"]


def kinds(row: dict) -> str:
    return f"{row['subject_entity']['type']}-{row['object_entity']['type']}"


def test_relation_offsets_name_their_words(re_rows):
    for row in re_rows["train"] + re_rows["dev"]:
        subject, thing = row["subject_entity"], row["object_entity"]
        for entity in (subject, thing):
            assert row["sentence"][entity["start_idx"] : entity["end_idx"] + 1] == entity["word"]
        apart = subject["end_idx"] < thing["start_idx"] or thing["end_idx"] < subject["start_idx"]
        assert apart and subject["type"] in ("PER", "ORG")


def test_relations_respect_their_types_and_all_thirty_occur(re_rows):
    for rows in re_rows.values():
        for row in rows:
            label, thing = row["label"], row["object_entity"]["type"]
            assert thing in ("PER", "ORG", "LOC", "DAT", "POH", "NOH")
            if label != "no_relation":
                assert label[:3].upper() == row["subject_entity"]["type"]
                assert thing in PLANTED["relations"]["object_types"][label]
        assert {row["label"] for row in rows} == {"no_relation", *PLANTED["relations"]["object_types"]}


def test_the_labels_are_the_official_ones():
    relations = pytest.importorskip("helpers.corpora.labels")
    assert set(PLANTED["relations"]["rates"]["train"]) == set(relations.RELATIONS)


@pytest.mark.parametrize("split", ["train", "dev"])
def test_relation_classes_have_the_planted_rates(re_rows, split):
    rows = re_rows[split]
    for label, rate in PLANTED["relations"]["rates"][split].items():
        share = sum(row["label"] == label for row in rows) / len(rows)
        assert share == pytest.approx(rate, abs=4 * (rate / len(rows)) ** 0.5 + 0.01), label


def test_a_random_split_leaks_pairs_and_dev_hardly_does(re_rows):
    train = re_rows["train"]
    held, rest = train[::10], [row for place, row in enumerate(train) if place % 10]
    share = {}
    for name, rows, known in (("random", held, rest), ("dev", re_rows["dev"], train)):
        seen = {pair(row) for row in known}
        share[name] = sum(pair(row) in seen for row in rows) / len(rows)
    assert share["random"] > 0.3 and 0 < share["dev"] < 0.05


def test_the_same_sentence_carries_several_labels(re_rows):
    labels, pairs = {}, {}
    for row in re_rows["train"]:
        labels.setdefault(row["sentence"], set()).add(row["label"])
        pairs.setdefault((row["sentence"], pair(row)), []).append(row["label"])
    assert sum(len(found) > 1 for found in labels.values()) > 100
    repeats = [found for found in pairs.values() if len(found) > 1]
    assert repeats and any(len(set(found)) > 1 for found in repeats)


def test_the_first_match_of_a_word_is_often_not_the_entity(re_rows):
    rows = re_rows["train"]
    wrong = sum(
        any(
            row["sentence"].index(e["word"]) != e["start_idx"]
            for e in (row["subject_entity"], row["object_entity"])
        )
        for row in rows
    )
    assert 0.07 < wrong / len(rows) < 0.2


def test_every_fact_is_worded_in_train_and_some_only_in_dev():
    for relation in PLANTED["relations"]["object_types"]:
        assert wordings(relation, "train"), relation
        assert set(wordings(relation, "train")) <= set(wordings(relation, "dev"))
    assert any(wordings(r, "train") != wordings(r, "dev") for r in PLANTED["relations"]["object_types"])


def surroundings(row: dict) -> list[str]:
    """Type pair, order, and character n-grams of the text between and around the two entities."""
    subject, thing = row["subject_entity"], row["object_entity"]
    first, second = sorted((subject, thing), key=lambda e: e["start_idx"])
    order = "SO" if first is subject else "OS"
    text = row["sentence"]
    parts = {
        "left": text[max(0, first["start_idx"] - 8) : first["start_idx"]],
        "between": text[first["end_idx"] + 1 : second["start_idx"]],
        "right": text[second["end_idx"] + 1 :][:14],
    }
    grams = [
        f"{order}{n}{p[i : i + k]}" for n, p in parts.items() for k in (2, 3) for i in range(len(p) - k + 1)
    ]
    return [kinds(row) + order, *grams]


def micro_f1(gold: list[str], pred: list[str]) -> float:
    hits = sum(g == p != "no_relation" for g, p in zip(gold, pred, strict=True))
    return 200 * hits / sum(label != "no_relation" for label in [*gold, *pred])


def test_the_pair_decides_and_a_bag_of_words_does_not(re_rows):
    """Dev micro-F1 when built: sentence 14, type pair 37, surroundings of the pair 70."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    train, dev = re_rows["train"][:2000], re_rows["dev"][:1000]
    gold = [row["label"] for row in dev]

    def score(vectorizer, features) -> float:
        model = make_pipeline(vectorizer, LogisticRegression(C=10, tol=0.01, max_iter=300))
        model.fit([features(row) for row in train], [row["label"] for row in train])
        return micro_f1(gold, list(model.predict([features(row) for row in dev])))

    votes: dict[str, Counter] = {}
    for row in train:
        votes.setdefault(kinds(row), Counter())[row["label"]] += 1
    lookup = {types: counts.most_common(1)[0][0] for types, counts in votes.items()}
    types = micro_f1(gold, [lookup.get(kinds(row), "no_relation") for row in dev])
    bag = score(TfidfVectorizer(analyzer="word", min_df=2), lambda row: row["sentence"])
    near = score(TfidfVectorizer(analyzer=list, min_df=2, sublinear_tf=True), surroundings)
    assert bag < 25 and 25 < types < 45 and near > types + 15 and near < 85
