"""What notebook 01 counts, on rows small enough to count by hand, and on the real files."""

import numpy as np
import pandas as pd
import pytest

from helpers import corpora, eda
from helpers.corpora.labels import RELATIONS
from helpers.eda import documents, entities, posts, relations, texts
from helpers.statistics import Interval

SENTENCE = "하람과 하람은 나래상사에서 일한다."


def flat(**columns):
    """One flat relation row: subject 하람 (the second one), object 나래상사."""
    row = {"guid": "a", "sentence": SENTENCE, "label": "per:employee_of"}
    row |= {"subject": "하람", "subject_type": "PER", "subject_start": 4, "subject_end": 6}
    row |= {"object": "나래상사", "object_type": "ORG", "object_start": 8, "object_end": 12}
    return row | columns


def rows(*changes):
    return pd.DataFrame([flat(**change) for change in changes or ({},)])


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
        train = rows(*[{"label": "no_relation"}] * 3, *[{}] * 7)
        dev = rows(*[{"label": "no_relation"}] * 8, *[{}] * 2)
        shift = relations.label_shift(train, dev).set_index("label")
        assert len(shift) == 30
        none = shift.loc["no_relation"]
        assert (none["train"].value, none["dev"].value) == (pytest.approx(30), pytest.approx(80))
        assert none["difference"].value == pytest.approx(50)
        assert 0 < none["difference"].low < 50 < none["difference"].high < 100
        assert shift.index[:2].tolist() == ["no_relation", "per:employee_of"]  # the largest moves first
        assert shift.loc["per:title", "difference"].value == 0

    def test_type_pairs_are_percentages_of_a_label(self):
        table = relations.type_pairs(rows({}, {}, {}, {"object_type": "LOC"}, {"label": "no_relation"}))
        assert table.index.tolist() == ["no_relation", "per:employee_of"]  # official order
        assert table.columns.tolist() == ["PER→ORG", "PER→LOC"]
        assert table.loc["per:employee_of"].tolist() == [75, 25]
        assert table.sum(axis=1).tolist() == [100, 100]

    def test_type_lookup_reads_no_text(self):
        from datasets import Dataset

        def pairs(*cells):
            kinds = [
                {"subject_entity": {"type": "PER"}, "object_entity": {"type": kind}} for kind, _ in cells
            ]
            labels = [RELATIONS.index(label) for _, label in cells]
            return Dataset.from_list(
                [row | {"label": label} for row, label in zip(kinds, labels, strict=True)]
            )

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
        shown = relations.legacy_examples(loaded, rows=2)
        assert len(shown) == 2 and shown.iloc[0, 2].startswith("[E1-UNK]<SUBJ>")

    def test_split_leaks(self):
        train, dev = (
            corpora.load_relations("sample", split, rows=n) for split, n in (("train", 900), ("dev", 200))
        )
        table = relations.split_leaks(train, dev, share=0.1, seed=0).set_index(["split", "kind"])
        assert table.loc[("by group 10%", "sentence"), "shared"] == 0
        assert table.loc[("by group 10%", "entity pair"), "shared"] == 0
        assert table.loc[("legacy: random 10%", "sentence"), "shared"] > 0
        assert set(table["dev_rows"]) == {90, 200}
        leak = table.loc[("legacy: random 10%", "sentence"), "leak"]
        assert leak.value == pytest.approx(100 * table.loc[("legacy: random 10%", "sentence"), "shared"] / 90)


class TestEntities:
    def test_mentions_and_types(self):
        from datasets import Dataset

        def sentence(text, tags):
            ids = [corpora.TAGS.index(tag) for tag in tags.split()]
            return {"guid": text, "sentence": text, "tokens": list(text), "ner_tags": ids}

        train = Dataset.from_list([sentence("하람 ", "B-PS I-PS O"), sentence("나래", "B-LC I-LC")])
        dev = Dataset.from_list(
            [sentence("하람나래", "B-PS I-PS B-OG I-OG"), sentence("가 나다", "B-OG I-OG I-OG O")]
        )
        found = entities.mentions(dev)
        assert found["surface"].tolist() == ["하람", "나래", "가 나"]
        assert entities.adjacent_pairs(found) == 1
        assert entities.adjacent_pairs(entities.mentions(train)) == 0
        assert entities.labelled_spans(found, 1) == [(0, 3, "OG")]
        table = entities.type_table(entities.mentions(train), found).set_index("type")
        assert table.index.tolist() == ["OG", "PS", "all"]
        assert table.loc["all", ["train", "dev"]].tolist() == [2, 3]
        assert table.loc["OG", "new surface, %"].value == 50
        assert table.loc["OG", "other type, %"].value == 50  # 나래 is a place in train
        assert table.loc["PS", "other type, %"].value == 0
        assert table.loc["OG", "with a space, %"].value == 50


class TestTexts:
    def test_lengths(self):
        table = texts.lengths({"a": ["가", "나다", "다라마"], "b": ["가" * 9]})
        assert table.to_dict("records")[0] == {
            "texts": "a",
            "rows": 3,
            "p50": 2,
            "p95": 2,
            "p99": 2,
            "max": 3,
        }

    @pytest.mark.parametrize(
        ("character", "name", "held"),
        [
            ("가", "syllable", True),
            ("봣", "syllable", False),  # outside the 2,350
            ("ᄏ", "conjoining jamo", False),
            ("ㅋ", "compatibility jamo", True),
            ("漢", "hanja", True),
            ("の", "kana", True),
            ("😀", "emoji", False),
            ("é", "other letter", False),
            ("a", "other letter", True),
            ("7", "number", True),
            ("!", "symbol", True),
        ],
    )
    def test_blocks_and_ks_x_1001(self, character, name, held):
        assert texts.block(character) == name
        assert texts.in_ks_x_1001(character) == held

    def test_ks_x_1001_has_2350_syllables(self):
        assert sum(texts.in_ks_x_1001(chr(code)) for code in range(0xAC00, 0xD7A4)) == 2350

    def test_missing_characters(self):
        held = texts.load_vocabularies(["train:character"], train=["가나 다", "나다"], size=100)
        table = texts.missing_characters(["가나", "봣봣 가", "ᄏ"], held).set_index("vocabulary")
        trained, inventory = table.loc["train:character"], table.loc["KS X 1001"]
        assert (trained["distinct"], trained["occurrences"]) == (2, 3)
        assert (inventory["distinct"], inventory["occurrences"]) == (2, 3)
        assert trained["texts, %"].value == pytest.approx(200 / 3)
        assert trained["examples"] == "봣 ᄏ" and trained["kinds"] == "syllable 2, conjoining jamo 1"
        assert isinstance(trained["size"], int) and trained["size"] == len(held["train:character"])
        assert inventory["size"] is None
        whole = texts.missing_characters(["가나"], held)
        assert whole["occurrences"].tolist() == [0, 0] and set(whole["examples"]) == {"–"}


@pytest.fixture(scope="module")
def small():
    from datasets import Dataset

    names = [["fud", "cliche"], ["fud"], ["cliche"], []] * 5
    spans = [[[0, 3], [2, 4]], [[5, 6], [0, 1]], [[0, 1], [1, 2]], []] * 5
    langs = ["uk", "ru", "uk", "uk"] * 5
    return Dataset.from_dict(
        {"techniques": names, "trigger_words": spans, "lang": langs, "content": ["글" * 9] * 20}
    )


class TestPosts:
    def test_rates(self, small):
        table = posts.technique_table(small).set_index("technique")
        assert table.index[:2].tolist() == ["fud", "cliche"] and len(table) == 10
        assert (table.loc["fud", "posts"], table.loc["fud", "all, %"].value) == (10, 50)
        assert table.loc["fud", "ru, %"].value == 100
        assert table.loc["straw_man", "posts"] == 0
        assert posts.label_sets(small) == {"distinct sets": 4, "posts without": 5, "labels per post": 1.0}

    def test_lift(self, small):
        table = posts.lift(small)
        assert table.loc["fud", "cliche"] == table.loc["cliche", "fud"] == pytest.approx(1.0)  # independent
        assert np.isnan(table.loc["fud", "fud"]) and np.isnan(table.loc["straw_man", "fud"])

    def test_strongest_pair(self, small):
        first, second, ratio = posts.strongest_pair(small, at_least=5)
        assert {first, second} == {"fud", "cliche"}
        assert ratio.value == pytest.approx(1.0) and ratio.low < 1 < ratio.high
        with pytest.raises(ValueError, match="no two techniques meet in 6 posts"):
            posts.strongest_pair(small, at_least=6)

    def test_example(self, small):
        text, spans, names = posts.example(small.select([3, 0]))
        assert (text, spans, names) == ("글" * 9, [(0, 3, "trigger"), (2, 4, "trigger")], "fud, cliche")

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

    def test_spans(self, small):
        assert posts.span_facts(small) == {
            "spans": 30,
            "posts with overlapping spans": 5,
            "posts with unsorted spans": 5,
        }


class TestDocuments:
    def test_repetition(self):
        found = documents.repetition(
            ["강아지가 학교에 갔다. 강아지는 학교를 좋아한다. 강아지!", "그는 나무를 심었다."]
        )
        returns = found.returns
        assert returns["noun"].tolist() == ["강아지", "학교", "강아지"]
        assert returns["mention"].tolist() == [2, 2, 3]
        assert returns["distance"].tolist() == [10, 11, 12]  # from the end of one mention to the next
        assert found.documents["returning"].tolist() == [3, 0]
        assert found.documents["has_pronoun"].tolist() == [False, True]
        assert documents.returning_share(found).value == pytest.approx(100 * 3 / 6)
        assert documents.pronoun_share(found).value == 50
        assert documents.beyond(found, 11).value == pytest.approx(100 / 3)
        assert documents.quantiles(found)["count"].tolist() == [2, 1]


class TestScope:
    def test_loads_what_was_asked_for(self):
        scope = eda.Scope(
            data="sample",
            relation_rows=12,
            relation_dev_rows=11,
            entity_rows=10,
            entity_dev_rows=9,
            post_rows=8,
            document_rows=7,
        )
        assert [len(rows) for rows in scope.load()] == [12, 11, 10, 9, 8, 7]

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"post_rows": -1}, "post_rows must be 0"),
            ({"held_out": 1.0}, "held_out"),
            ({"folds": 1}, "folds"),
        ],
    )
    def test_refuses(self, changes, match):
        with pytest.raises(ValueError, match=match):
            eda.Scope(data="sample", **changes)


@pytest.fixture(scope="module")
def train(real_data):
    return relations.frame(corpora.load_relations(real_data, "train"))


@pytest.mark.real
class TestRealFiles:
    """The published facts about KLUE-RE, KLUE-NER and the UNLP posts."""

    def test_relations(self, train):
        assert np.percentile(relations.gaps(train), [50, 95]).tolist() == [8, 66]
        places = relations.entity_places(train).set_index("entity")
        found = [
            places.loc[role, column].value for column in places.columns for role in ("subject", "object")
        ]
        assert found == pytest.approx([44.8, 39.1, 9.4, 8.3], abs=0.06)
        copies = relations.duplicates(train)
        assert (copies["rows"].sum(), len(copies), copies["conflict"].sum()) == (93, 46, 5)
        lengths = texts.lengths({"train": train["sentence"]}).iloc[0]
        assert lengths[["p50", "p95", "p99", "max"]].tolist() == [87, 188, 264, 455]

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

    def test_entities(self, real_data):
        dev = corpora.load_entities(real_data, "dev")
        found = entities.mentions(dev)
        assert len(found) == 14_257
        assert entities.adjacent_pairs(found) == 58
        assert found["surface"].str.contains(" ").sum() == 2_409
        assert found["surface"].str.startswith(" ").sum() == 2
        jamo = [sum(texts.block(c) == "conjoining jamo" for c in sentence) for sentence in dev["sentence"]]
        assert (sum(jamo), sum(count > 0 for count in jamo)) == (900, 316)

    @pytest.mark.filterwarnings("ignore::helpers.corpora.CorpusWarning")
    def test_posts(self, real_data):
        loaded = corpora.load_techniques(real_data, "train")
        assert posts.label_sets(loaded) == {
            "distinct sets": 204,
            "posts without": 1233,
            "labels per post": pytest.approx(1.316, abs=5e-4),
        }
        facts = posts.span_facts(loaded)
        assert (facts["posts with overlapping spans"], facts["posts with unsorted spans"]) == (51, 42)
        winners = pd.read_csv(real_data / "unlp" / "cv_split.csv").set_index("id")["fold"]
        legacy = posts.assign_folds(loaded, number=5, seed=42)["legacy: labels"]
        assert (winners[loaded["id"][:]].to_numpy() == legacy).mean() > 0.99
