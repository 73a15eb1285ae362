"""Groups that stay together, and a report on what a split lets through."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import corpora
from helpers.corpora import splits

from .rows import relation, write_json


class TestSplits:
    @settings(deadline=None)  # the first example imports scipy
    @given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25))
    def test_groups_are_the_transitive_closure(self, keys):
        groups = splits.connected_groups(*zip(*keys, strict=True))
        merged = [{i} for i in range(len(keys))]  # naive union: join sets until nothing changes
        for i, a in enumerate(keys):
            for j, b in enumerate(keys):
                if (a[0] == b[0] or a[1] == b[1]) and merged[i] is not merged[j]:
                    union = merged[i] | merged[j]
                    for k in union:
                        merged[k] = union
        for i in range(len(keys)):
            assert {j for j in range(len(keys)) if groups[j] == groups[i]} == merged[i]

    def test_split_never_divides_a_group(self):
        rows = corpora.load_relations("sample", "train", rows=600)
        groups = splits.relation_groups(rows)
        train, dev = splits.split_by_group(rows, groups, share=0.2, seed=1)
        assert len(train) + len(dev) == 600
        assert 0.15 * 600 <= len(dev) <= 0.2 * 600
        assert splits.leak_report(train, dev)["shared"].tolist() == [0, 0]
        assert splits.split_by_group(rows, groups, share=0.2, seed=1)[1]["guid"][:] == dev["guid"][:]

    def test_a_group_larger_than_dev_stays_in_train(self):
        rows = corpora.load_documents("sample", "train", rows=20)
        with pytest.raises(ValueError, match="10% of 3 rows in 3 groups leaves none to hold out"):
            splits.split_by_group(rows.select(range(3)), np.arange(3), share=0.1)
        _, dev = splits.split_by_group(rows, np.array([0] * 12 + list(range(1, 9))), share=0.3)
        assert len(dev) == 6
        with pytest.raises(ValueError, match="19 group ids for 20 rows"):
            splits.split_by_group(rows, np.zeros(19), share=0.3)
        with pytest.raises(ValueError, match="between 0 and 1"):
            splits.split_by_group(rows, np.zeros(20), share=1.0)

    def test_leak_report_by_hand(self, tmp_path):
        other = "나래상사는 하람이 세웠다."
        load = corpora.load_relations
        train = load(write_json(tmp_path / "train.json", [relation(0), relation(1)]), "train")
        dev_rows = [relation(0), relation(1, sentence=other), relation(2, other, "하람", "나래상사")]
        dev = load(write_json(tmp_path / "dev.json", dev_rows), "dev")
        report = splits.leak_report(train, dev).set_index("kind")
        assert report.loc["sentence", ["dev_rows", "shared"]].tolist() == [3, 1]
        assert report.loc["entity pair", "shared"] == 2  # a pair is ordered: (하람, 나래상사) is another
        assert report.loc["entity pair", "share"] == pytest.approx(200 / 3)

    def test_documents_have_sentences_only(self):
        rows = corpora.load_documents("sample", "train", rows=5)
        report = splits.leak_report(rows, rows)
        assert report["kind"].tolist() == ["sentence"] and report["share"].tolist() == [100.0]
        assert len(set(splits.document_groups(rows))) == len(set(rows["text"]))


def test_random_parts_hold_every_row_once_and_differ_by_one_at_most():
    parts = list(splits.random_parts(11, 3, seed=4))
    assert sorted(row for _, inside in parts for row in inside) == list(range(11))
    assert sorted(len(inside) for _, inside in parts) == [3, 4, 4]
    assert all(sorted([*outside, *inside]) == list(range(11)) for outside, inside in parts)
    assert len(list(splits.random_parts(2, 5))) == 2
