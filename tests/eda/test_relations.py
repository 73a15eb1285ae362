"""What notebook 01 counts in relation rows, small enough to count by hand, and in the real files."""

import numpy as np
import pandas as pd
import pytest

from helpers import corpora
from helpers.corpora import splits
from helpers.corpora.labels import RELATIONS
from helpers.eda import relations
from helpers.statistics import Interval
from tests import own_data

SENTENCE = "하람과 하람은 나래상사에서 일한다."


def flat(**columns):
    """One flat relation row: subject 하람 (the second one), object 나래상사."""
    row = {"guid": "a", "sentence": SENTENCE, "label": "per:employee_of"}
    row |= {"subject": "하람", "subject_type": "PER", "subject_start": 4, "subject_end": 6}
    row |= {"object": "나래상사", "object_type": "ORG", "object_start": 8, "object_end": 12}
    return row | columns


def rows(*changes):
    return pd.DataFrame([flat(**change) for change in changes or ({},)])


def labelled(labels):
    """A row per label, each with a sentence of its own."""
    return rows(*({"label": label, "sentence": f"sentence {i}"} for i, label in enumerate(labels)))


class TestRelations:
    def test_frame_has_half_open_offsets(self):
        loaded = corpora.load_relations("sample", "train", rows=30)
        table = relations.frame(loaded)
        assert len(table) == 30
        for row in table.itertuples():
            assert row.sentence[row.subject_start : row.subject_end] == row.subject
            assert row.sentence[row.object_start : row.object_end] == row.object
        assert table["label"].tolist() == [loaded.features["label"].int2str(i) for i in loaded["label"]]

    def test_label_shift(self):
        train = labelled(["no_relation"] * 12 + ["per:employee_of"] * 28)
        dev = labelled(["no_relation"] * 32 + ["per:employee_of"] * 8)
        shift = relations.label_shift(train, dev).set_index("label")
        assert len(shift) == 30
        none = shift.loc["no_relation"]
        assert (none["train"].value, none["dev"].value) == (pytest.approx(30), pytest.approx(80))
        assert none["difference"].value == pytest.approx(50)
        assert 0 < none["difference"].low < 50 < none["difference"].high < 100
        assert shift.index[:2].tolist() == ["no_relation", "per:employee_of"]  # the largest moves first
        assert shift.loc["per:title", "difference"].value == 0

    def test_halves_of_one_file_raise_an_alarm_in_one_case_of_twenty(self):
        rng = np.random.default_rng(0)
        names = rng.choice(["no_relation", "per:title", "org:members"], 600, p=[0.3, 0.6, 0.1])
        rows = labelled(list(names)).assign(sentence=[f"sentence {i // 2}" for i in range(600)])
        halves = relations.halved(rows, cuts=60)
        assert len(halves) == 60 * 3
        assert 1 <= halves["alarm"].sum() <= 22  # 9 expected of 180; the cuts share their rows

    def test_type_pairs_are_percentages_of_a_label(self):
        table = relations.type_pairs(rows({}, {}, {}, {"object_type": "LOC"}, {"label": "no_relation"}))
        assert table.index.tolist() == ["no_relation", "per:employee_of"]  # official order
        assert table.columns.tolist() == ["PER→ORG", "PER→LOC"]
        assert table.loc["per:employee_of"].tolist() == [75, 25]
        assert table.sum(axis=1).tolist() == [100, 100]

    def test_other_labels_than_klue_s(self, tmp_path):
        own_data.write(tmp_path, own_data.relations(40), "mine_train")
        table = relations.frame(corpora.load_relations(tmp_path, "train"))
        assert set(table["label"]) == {"no_relation", "복용", "처방"}
        assert relations.label_shift(table, table)["label"].tolist() == ["no_relation", "복용", "처방"]
        assert relations.type_pairs(table).index.tolist() == ["no_relation", "복용", "처방"]

    def test_type_lookup_reads_no_text(self):
        from datasets import ClassLabel, Dataset

        def pairs(*cells):
            kinds = [
                {"subject_entity": {"type": "PER"}, "object_entity": {"type": kind}} for kind, _ in cells
            ]
            labels = [RELATIONS.index(label) for _, label in cells]
            rows = [
                row | {"label": label, "sentence": f"sentence {i}"}
                for i, (row, label) in enumerate(zip(kinds, labels, strict=True))
            ]
            return Dataset.from_list(rows).cast_column("label", ClassLabel(names=list(RELATIONS)))

        train = pairs(
            ("ORG", "per:employee_of"),
            ("ORG", "per:employee_of"),
            ("ORG", "per:title"),
            ("LOC", "per:origin"),
        )
        test = pairs(
            ("ORG", "per:employee_of"), ("ORG", "no_relation"), ("LOC", "per:origin"), ("LOC", "per:title")
        )
        # 2 right of 4 predicted and 3 gold
        assert relations.type_lookup(train, test).value == pytest.approx(100 * 2 * 2 / 7)

    def test_gap_is_the_same_whichever_comes_first(self):
        swapped = {"subject_start": 8, "subject_end": 12, "object_start": 4, "object_end": 6}
        touching = {"subject_start": 6, "subject_end": 8}
        assert relations.gaps(rows({}, swapped, touching)).tolist() == [2, 2, 0]

    def test_entity_places(self):
        table = relations.entity_places(rows({}, {"sentence": "하람, 나래상사", "subject_end": 2})).set_index(
            "entity"
        )
        assert table.loc["subject", "followed by Hangul, %"].value == 50
        assert table.loc["subject", "word occurs again, %"].value == 50
        assert table.loc["object", "word occurs again, %"].value == 0

    def test_duplicates_and_conflicts(self):
        other_span = {"subject_start": 0, "subject_end": 2}
        found = relations.duplicates(
            rows({}, {}, {"label": "no_relation"}, other_span, {"sentence": "다른 글"})
        )
        assert len(found) == 1
        assert found.loc[0, ["rows", "conflict"]].tolist() == [3, True]
        assert found.loc[0, "labels"] == "no_relation, per:employee_of"
        assert relations.duplicates(rows({}, other_span)).empty

    def test_first_match_is_fooled_by_particles_and_repeats(self):
        spaced = {
            "sentence": "하람 , 하람 나래상사 다",
            "subject_start": 0,
            "subject_end": 2,
            "object_start": 8,
            "object_end": 12,
        }
        second = spaced | {"subject_start": 5, "subject_end": 7}
        right = relations.first_match_right(rows({}, spaced, second))
        assert right["subject"].tolist() == [False, True, False]
        assert right["object"].tolist() == [False, True, True]
        assert right["both"].tolist() == [False, True, False]
        shares = relations.location_shares(rows({}, spaced, second)).set_index("procedure")
        assert shares.loc["legacy: first whole-word match", "both"].value == pytest.approx(100 / 3)
        assert shares.loc["offsets of the file", "both"].value == 100

    def test_offsets_are_checked_too(self):
        assert relations.location_shares(rows({"subject_start": 3})).iloc[1]["both"].value == 0

    def test_spans_to_draw(self):
        assert relations.labelled_spans(flat()) == [(4, 6, "subject PER"), (8, 12, "object ORG")]
        assert relations.legacy_spans(flat()) == []
        assert relations.legacy_spans(flat(sentence="나래상사 : 하람")) == [
            (0, 4, "object"),
            (7, 9, "subject"),
        ]

    def test_the_parsing_bug_loses_every_entity(self):
        loaded = corpora.load_relations("sample", "train", rows=20)
        assert relations.lost_entities(loaded) == (40, 40)
        row = loaded[0]
        assert relations.legacy_input(relations.csv_row(row)) == (
            f"[E1-UNK]<SUBJ>[/E1] [E2-UNK]<OBJ>[/E2] {row['sentence']}"
        )
        parsed = relations.legacy_input(row)  # had the cells been parsed, nothing would have been lost
        assert f"[E1-{row['subject_entity']['type']}]{row['subject_entity']['word']}[/E1]" in parsed

    def test_split_leaks(self):
        train, dev = (
            corpora.load_relations("sample", split, rows=n) for split, n in (("train", 900), ("dev", 200))
        )
        cuts = {
            "legacy: random 10%": splits.split_by_group(train, np.arange(900), share=0.1),
            "by group 10%": splits.split_by_group(train, splits.relation_groups(train), share=0.1),
            "published dev": (train, dev),
        }
        table = relations.split_leaks(cuts).set_index(["split", "kind"])
        assert table.loc[("by group 10%", "sentence"), "shared"] == 0
        assert table.loc[("by group 10%", "entity pair"), "shared"] == 0
        assert table.loc[("legacy: random 10%", "sentence"), "shared"] > 0
        assert set(table["dev_rows"]) == {90, 200}
        leak = table.loc[("legacy: random 10%", "sentence"), "leak"]
        assert leak.value == pytest.approx(100 * table.loc[("legacy: random 10%", "sentence"), "shared"] / 90)


@pytest.fixture(scope="module")
def train(real_data):
    return relations.frame(corpora.load_relations(real_data, "train"))


@pytest.mark.real
class TestRealFiles:
    def test_relations(self, train):
        assert np.percentile(relations.gaps(train), [50, 95]).tolist() == [8, 66]
        places = relations.entity_places(train).set_index("entity")
        found = [
            places.loc[role, column].value for column in places.columns for role in ("subject", "object")
        ]
        assert found == pytest.approx([44.8, 39.1, 9.4, 8.3], abs=0.06)
        copies = relations.duplicates(train)
        assert (copies["rows"].sum(), len(copies), copies["conflict"].sum()) == (93, 46, 5)
        lengths = train["sentence"].str.len().quantile([0.5, 0.95, 0.99, 1])
        assert lengths.astype(int).tolist() == [87, 188, 264, 455]

    def test_a_lookup_of_types_scores_57_on_train_and_37_on_dev(self, real_data):
        train, dev = (corpora.load_relations(real_data, split) for split in ("train", "dev"))
        scores = [relations.type_lookup(train, part).value for part in (train, dev)]
        assert scores == pytest.approx([57.1, 37.1], abs=0.05)

    def test_first_match_is_right_in_38_percent(self, train):
        both = relations.location_shares(train)["both"]
        assert both[0].value == pytest.approx(38.0, abs=0.05)
        assert both[1] == Interval(100, pytest.approx(100, abs=0.02), pytest.approx(100, abs=0.02))

    def test_the_bug_lost_64940_entities(self, real_data):
        assert relations.lost_entities(corpora.load_relations(real_data, "train")) == (64_940, 64_940)
