"""Files of other tools: every format arrives as the same rows, and what was mended or left out is said."""

import json
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers import cli, corpora
from helpers.corpora import imports
from helpers.entities.tags import find_spans

from .rows import NER, relation, tsv, write_csv, write_json, write_lines

TEXT = "김하람은 위염 때문에 가렌정 2알을 먹었다."
SPANS = [(0, 3, "인물"), (5, 7, "질병"), (12, 15, "약물")]
WORDS = ["김하람은", "위염", "때문에", "가렌정", "2알을", "먹었다."]


def run(*arguments):
    return cli.main(["import", *map(str, arguments)])


def spans(folder, split="train"):
    """Texts and entities of an imported folder, from its file."""
    rows = [json.loads(line) for line in (folder / f"{split}.jsonl").read_text().splitlines()]
    return [("".join(row["tokens"]), [tuple(span) for span in find_spans(row["ner_tags"])]) for row in rows]


def imported(tmp_path, *files, task="entities", fields=()):
    out = tmp_path / "out"
    assert run(*files, "--task", task, "--to", out, *(["--map", *fields] if fields else [])) == 0
    return out


LABEL_STUDIO = {
    "id": 7,
    "data": {"text": TEXT},
    "annotations": [
        {"was_cancelled": True, "result": []},
        {
            "result": [
                {
                    "id": f"m{i}",
                    "type": "labels",
                    "value": {"start": a, "end": b, "text": TEXT[a:b], "labels": [kind]},
                }
                for i, (a, b, kind) in enumerate(SPANS)
            ]
        },
    ],
}
MARKS = [{"start": a, "end": b, "label": kind} for a, b, kind in SPANS]
TAGS = [
    next((f"{'B' if i == a else 'I'}-{kind}" for a, b, kind in SPANS if a <= i < b), "O")
    for i in range(len(TEXT))
]
DOCCANO = [
    {"id": i, "label": kind, "start_offset": a, "end_offset": b} for i, (a, b, kind) in enumerate(SPANS)
]
MIN = [{"start": a, "end": b, "text": TEXT[a:b], "labels": [kind]} for a, b, kind in SPANS]
NIKL = [{"form": TEXT[a:b], "begin": a, "end": b, "label": kind} for a, b, kind in SPANS]
TOOLS = {
    "doccano.jsonl": [{"id": 1, "text": TEXT, "label": [list(span) for span in SPANS]}],
    "doccano-with-relations.jsonl": [{"id": 1, "text": TEXT, "entities": DOCCANO, "relations": []}],
    "label-studio.json": [LABEL_STUDIO],
    "label-studio-min.json": [{"text": TEXT, "label": MIN}],
    "spacy.json": [[TEXT, {"entities": [list(span) for span in SPANS]}]],
    "spacy-doc.json": [{"text": TEXT, "ents": MARKS}],
    "prodigy.jsonl": [{"text": TEXT, "spans": MARKS, "answer": "accept"}],
    "nikl.json": {"id": "corpus", "document": [{"id": "d", "sentence": [{"form": TEXT, "NE": NIKL}]}]},
    "characters.jsonl": [{"tokens": list(TEXT), "ner_tags": TAGS}],
}


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_gives_the_same_entities(tmp_path, name):
    write = write_lines if name.endswith("l") else write_json
    write(tmp_path / name, TOOLS[name])
    assert spans(imported(tmp_path, tmp_path / name), "all") == [(TEXT, SPANS)]


SCHEMES = {
    "BIO": ["B-인물", "B-질병", "O", "B-약물", "I-약물", "O"],
    "BIOES": ["S-인물", "S-질병", "O", "B-약물", "E-약물", "O"],
    "BILOU": ["U-인물", "U-질병", "O", "B-약물", "L-약물", "O"],
    "BMEWO": ["W-인물", "W-질병", "O", "B-약물", "E-약물", "O"],
    "IOB1": ["I-인물", "I-질병", "O", "I-약물", "I-약물", "O"],
    "I alone": ["B_인물", "B_질병", "O", "B_약물", "I", "O"],
    "after": ["인물_B", "질병_B", "-", "약물_B", "약물_I", "-"],
    "after, hyphen": ["인물-B", "질병-B", "O", "약물-B", "약물-I", "O"],
}
BY_WORD = [(0, 4, "인물"), (5, 7, "질병"), (12, 19, "약물")]


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("layout", ["{w}\t{t}", "{w} {t}", "{i}\t{w}\t{t}", "{w}\tNN\t{t}\t_", "{w} NN {t}"])
def test_every_scheme_and_layout_of_columns(tmp_path, capsys, name, layout):
    rows = [
        layout.format(i=i, w=w, t=t) for i, (w, t) in enumerate(zip(WORDS, SCHEMES[name], strict=True), 1)
    ]
    other = [layout.format(i=i, w=w, t=t) for i, (w, t) in enumerate([("#", "O"), ("그래.", "O")], 1)]
    (tmp_path / "ner_train.tsv").write_text("\n".join(["-DOCSTART-", "", *rows, "", *other, "", ""]))
    (tmp_path / "ner_dev.conll").write_text("\n".join(rows))
    out = imported(tmp_path, tmp_path / "ner_train.tsv", tmp_path / "ner_dev.conll")
    assert spans(out) == [(TEXT, BY_WORD), ("# 그래.", [])] and spans(out, "dev") == [(TEXT, BY_WORD)]
    assert ("I- that continued nothing" in capsys.readouterr().out) == (name == "IOB1")
    loaded = corpora.load_entities(out, "dev")
    assert loaded.features["ner_tags"].feature.names[:2] == ["B-약물", "I-약물"]


def test_columns_by_number_a_header_and_characters(tmp_path):
    (tmp_path / "a.tsv").write_text("pos\tne\tword\nN\tB-가\t나\nN\tO\t다\n")
    assert spans(imported(tmp_path, tmp_path / "a.tsv", fields=["text=3", "label=2"]), "all") == [
        ("나 다", [(0, 1, "가")])
    ]
    (tmp_path / "klue.tsv").write_text(tsv(NER))
    assert run(tmp_path / "klue.tsv", "--task", "entities", "--to", tmp_path / "b") == 0
    assert spans(tmp_path / "b", "all") == [("하람 #", [(0, 2, "PS")])]


def test_a_file_whose_first_line_alone_is_in_an_entity(tmp_path):
    (tmp_path / "train.tsv").write_text("김하람\tB-인물\n갔다\tO\n")
    (tmp_path / "dev.tsv").write_text("word\ttag\n김하람\tB-인물\n갔다\tO\n")
    out = imported(tmp_path, tmp_path / "train.tsv", tmp_path / "dev.tsv")
    assert [spans(out, split) for split in ("train", "dev")] == [[("김하람 갔다", [(0, 3, "인물")])]] * 2


def test_a_tag_without_a_word_is_left_out_and_said(tmp_path, capsys):
    (tmp_path / "x.txt").write_text("\tNNP\tB-PS\n이\tJKS\tO\n\n하람\tNNP\tB-PS\n이\tJKS\tO\n")
    out = imported(tmp_path, tmp_path / "x.txt")
    assert [found for _, found in spans(out, "all")] == [[], [(0, 2, "PS")]]
    assert "dropped 1 × entity that is empty or outside its text (x.txt, line 1)" in capsys.readouterr().out


def test_a_sentence_of_empty_words_is_left_out_and_said(tmp_path, capsys):
    (tmp_path / "x.txt").write_text("하람\tNNP\tB-PS\n\n\tJKS\tO\n\n하람\tNNP\tB-PS\n이\tJKS\tO\n")
    out = imported(tmp_path, tmp_path / "x.txt")
    assert [found for _, found in spans(out, "all")] == [[(0, 2, "PS")], [(0, 2, "PS")]]
    assert "dropped 1 × sentence without a word (x.txt, line 3)" in capsys.readouterr().out


def test_a_label_studio_export_without_annotations_by_its_field(tmp_path):
    marks = [{"start": a, "end": b, "text": TEXT[a:b], "labels": [kind]} for a, b, kind in SPANS]
    path = write_json(tmp_path / "min_train.json", [{"id": 1, "text": TEXT, "ner": marks}])
    assert spans(imported(tmp_path, path, fields=["label=ner"]), "all") == [(TEXT, SPANS)]


def test_morphemes_of_a_word_are_glued(tmp_path):
    rows = [
        "; 김하람은 갔다.",
        "$<김하람:PS>은 갔다.",
        "1\t김하람\tNNP\tB_PS",
        "1\t은\tJX\tO",
        "2\t갔다.\tVV\tO",
        "",
    ]
    (tmp_path / "ner.train").write_text("\n".join(rows * 2))
    assert (
        spans(imported(tmp_path, tmp_path / "ner.train"), "all") == [("김하람은 갔다.", [(0, 3, "PS")])] * 2
    )


def test_a_folder_of_datasets_and_shards(tmp_path):
    from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value

    tags = List(ClassLabel(names=["O", "B-약물", "I-약물"]))
    features = Features(tokens=List(Value("string")), ner_tags=tags)
    rows = Dataset.from_dict(
        {"tokens": [["가렌정", "두", "알"]] * 3, "ner_tags": [[1, 2, 0]] * 3}, features=features
    )
    DatasetDict(train=rows, validation=rows.select([0])).save_to_disk(tmp_path / "saved")
    out = imported(tmp_path, tmp_path / "saved")
    assert spans(out) == [("가렌정 두 알", [(0, 5, "약물")])] * 3 and len(spans(out, "dev")) == 1
    for i in range(3):
        rows.shard(3, i).to_parquet(tmp_path / "shards" / f"train-{i:05d}-of-00003.parquet")
    rows.to_parquet(tmp_path / "shards" / "validation-00000-of-00001.parquet")
    assert run(tmp_path / "shards", "--task", "entities", "--to", tmp_path / "b") == 0
    assert len(spans(tmp_path / "b")) == len(spans(tmp_path / "b", "dev")) == 3


@st.composite
def annotated(draw):
    text = draw(st.text(st.sampled_from("가나다 😀a\n[]<>#\t."), min_size=1, max_size=25))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8, unique=True)))
    found = [
        (a, b, draw(st.sampled_from(["인물", "PER", "a-b"])))
        for a, b in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    return text, [(a, b, k) for a, b, k in found if text[a:b].strip() == text[a:b] and text[a:b]]


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(annotated().filter(lambda row: row[0].strip()), min_size=1, max_size=4),
    tool=st.sampled_from(["doccano", "studio", "utf-16", "inclusive"]),
)
def test_spans_survive_the_round_trip(tmp_path_factory, rows, tool):
    ambiguous = any(  # the offsets hold the word in characters, too
        text[a:b] == text[_units(text, a) : _units(text, b)]
        for text, marks in rows
        for a, b, _ in marks
        if _units(text, a) > a
    )
    assume(tool != "utf-16" or not ambiguous)
    folder = tmp_path_factory.mktemp("spans")
    write_lines(folder / "x_train.jsonl", [_exported(text, marks, tool) for text, marks in rows])
    found = imports.read([str(folder / "x_train.jsonl")], "entities", {})
    imports.write(found, folder / "out")
    assert spans(folder / "out", "all") == [(text, sorted(marks)) for text, marks in rows]
    assert not any(line.startswith("dropped") for line in found.said)


def _units(text, at):
    return len(text[:at].encode("utf-16-le")) // 2


def _exported(text, marks, tool):
    if tool == "doccano":
        return {"text": text, "label": [list(mark) for mark in marks]}

    def units(at):
        return _units(text, at) if tool == "utf-16" else at

    values = [
        {"start": units(a), "end": units(b) - (tool == "inclusive"), "text": text[a:b], "labels": [k]}
        for a, b, k in marks
    ]
    result = [{"id": str(i), "type": "labels", "value": value} for i, value in enumerate(values)]
    return {"data": {"text": text}, "annotations": [{"result": result}]}


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(
        st.tuples(st.text("가나다a#.", min_size=1, max_size=4), st.sampled_from([None, "인물", "약물"])),
        min_size=1,
        max_size=9,
    ),
    scheme=st.sampled_from(["BIO", "BIOES", "BILOU", "after"]),
)
def test_tags_of_words_survive_the_round_trip(tmp_path_factory, words, scheme):
    folder = tmp_path_factory.mktemp("tags")
    tags, wanted, at = [], [], 0
    for word, kind in words:
        single = {"BIO": "B-{}", "BIOES": "S-{}", "BILOU": "U-{}", "after": "{}_B"}[scheme]
        tags.append(single.format(kind) if kind else "O")
        wanted += [(at, at + len(word), kind)] if kind else []
        at += len(word) + 1
    rows = "\n".join(
        f"{word}\t{tag}" for (word, _), tag in zip([*words, ("끝난다", None)], [*tags, "O"], strict=True)
    )
    (folder / "x.tsv").write_text(f"{rows}\n\n끝났다\tB-인물\n")
    found = imports.read([str(folder / "x.tsv")], "entities", {})
    imports.write(found, folder / "out")
    assert spans(folder / "out", "all")[0] == (" ".join([word for word, _ in words] + ["끝난다"]), wanted)


def test_what_is_mended_and_left_out_is_said(tmp_path, capsys):
    rows = [
        {"text": "가나다라 마", "label": [[0, 2, "A"], [1, 2, "B"], [3, 5, "A"], [2, 9, "A"], [2, 2, "B"]]},
        {"text": "가나가하하하", "entities": [{"text": word, "label": "B"} for word in "가나하호"]},
        {"text": "  "},
        {"text": "다", "spans": [], "answer": "reject"},
        {"text": "라마", "label": [{"start": 5, "end": 6, "text": "마", "labels": ["A"]}]},
    ]
    out = imported(tmp_path, write_lines(tmp_path / "x.jsonl", rows))
    assert spans(out, "all") == [
        ("가나다라 마", [(0, 2, "A"), (3, 4, "A")]), ("가나가하하하", [(1, 2, "B")]), ("라마", [(1, 2, "A")]),
    ]  # fmt: skip
    said = capsys.readouterr().out
    for line in (
        "repaired 1 × entity with spaces at its ends (x.jsonl, record 1)",
        "dropped 1 × entity inside or across a longer one (x.jsonl, record 1)",
        "dropped 2 × entity that is empty or outside its text",
        "dropped 2 × entity without offsets whose word occurs more than once (x.jsonl, record 2;",
        "dropped 1 × entity without offsets whose word does not occur (x.jsonl, record 2)",
        "dropped 1 × record without text (x.jsonl, record 3)",
        "dropped 1 × record with the answer 'reject'",
        "repaired 1 × offset beside its word (x.jsonl, record 5)",
        "No file is named after dev: the loaders hold out a fifth",
        "[A 가나]다[A 라] 마",
        "rows: 3 all",
        "  A  3",
    ):
        assert line in said


def test_examples_of_long_texts_are_short_and_quick(tmp_path):
    long = "가" * 300_000
    rows = [{"text": long, "entities": [{"start": 0, "end": 100_000, "label": "A"}]}]
    start = time.process_time()
    said = imports.shown(imports.read([str(write_lines(tmp_path / "x.jsonl", rows))], "entities", {}))
    assert f"  [A {'가' * 90}]…\n" in said and len(said) < 600 and time.process_time() - start < 3
    pair = {
        "subject": {"text": "가나", "start": 0, "label": "A"},
        "object": {"text": "다", "start": 3, "label": "A"},
    }
    rows = [{"text": "가나 다" + long, **pair, "relation": "x"}]
    said = imports.shown(imports.read([str(write_lines(tmp_path / "y.jsonl", rows))], "relations", {}))
    assert f"  가나 다{'가' * 86}…  가나 (A) → 다 (A): x\n" in said


class TestRelations:
    def load(self, folder, split="train"):
        rows = [json.loads(line) for line in (folder / f"{split}.jsonl").read_text().splitlines()]
        return [
            (
                row["subject_entity"]["word"],
                row["subject_entity"]["start_idx"],
                row["object_entity"]["word"],
                row.get("label"),
            )
            for row in rows
        ]

    def test_doccano_and_label_studio(self, tmp_path):
        a, b, c = (
            {"id": i, "label": k, "start_offset": s, "end_offset": e} for i, (s, e, k) in enumerate(SPANS)
        )
        links = [{"from_id": 0, "to_id": 2, "type": "복용"}, {"from_id": 2, "to_id": 1, "type": "치료"}]
        write_lines(tmp_path / "re_train.jsonl", [{"text": TEXT, "entities": [a, b, c], "relations": links}])
        studio = json.loads(json.dumps(LABEL_STUDIO))
        studio["annotations"][1]["result"] += [
            {"type": "relation", "from_id": "m0", "to_id": "m2", "direction": "right", "labels": ["복용"]},
            {"type": "relation", "from_id": "m1", "to_id": "m2", "direction": "left", "labels": ["치료"]},
        ]
        write_json(tmp_path / "re_dev.json", [studio])
        out = imported(tmp_path, tmp_path / "re_train.jsonl", tmp_path / "re_dev.json", task="relations")
        wanted = [("김하람", 0, "가렌정", "복용"), ("가렌정", 12, "위염", "치료")]
        assert self.load(out) == self.load(out, "dev") == wanted
        loaded = corpora.load_relations(out, "dev")
        assert loaded.features["label"].names == ["no_relation", "복용", "치료"]
        assert loaded[0]["subject_entity"]["type"] == "인물"

    def test_tables_tacred_and_our_own(self, tmp_path, capsys):
        flat = {
            "문장": TEXT,
            "subject": "김하람",
            "object": "가렌정",
            "object_start": 12,
            "object_end": 15,
            "관계": "복용",
        }
        write_csv(
            tmp_path / "flat_train.csv",
            [flat, flat | {"subject": "먹"}, flat | {"관계": ""}, flat | {"subject": "렌"}],
        )
        tacred = {
            "token": WORDS,
            "subj_start": 0,
            "subj_end": 0,
            "obj_start": 3,
            "obj_end": 4,
            "subj_type": "인물",
            "obj_type": "약물",
            "relation": "복용",
        }
        write_json(tmp_path / "tacred_dev.json", [tacred])
        out = imported(tmp_path, tmp_path / "flat_train.csv", task="relations", fields=["label=관계"])
        assert self.load(out, "all") == [("김하람", 0, "가렌정", "복용"), ("먹", 20, "가렌정", "복용")]
        said = capsys.readouterr().out
        assert "dropped 1 × relation without a label" in said and "between overlapping entities" in said
        assert "no_relation is added as one without rows" in said
        assert run(tmp_path / "tacred_dev.json", "--task", "relations", "--to", tmp_path / "b") == 0
        assert self.load(tmp_path / "b", "dev") == [("김하람은", 0, "가렌정 2알을", "복용")]
        write_csv(tmp_path / "boost_train.csv", [relation(i) for i in range(3)])
        write_json(tmp_path / "boost_dev.json", [relation(3)])
        assert (
            run(
                tmp_path / "boost_train.csv",
                tmp_path / "boost_dev.json",
                "--task",
                "relations",
                "--to",
                tmp_path / "c",
            )
            == 0
        )
        assert len(corpora.load_relations(tmp_path / "c", "train").features["label"].names) == 30
        assert corpora.load_relations(tmp_path / "c", "dev")["guid"][:] == ["re-3"]

    def test_the_label_that_means_none_can_be_named(self, tmp_path):
        rows = [relation(0, label="아님"), relation(1, label="소속")]
        out = imported(
            tmp_path,
            write_json(tmp_path / "a_train.json", rows),
            write_json(tmp_path / "a_dev.json", rows),
            task="relations",
            fields=["none=아님"],
        )
        assert corpora.load_relations(out, "dev")["label"][:] == [0, 1]
        assert "none: 아님" in (out / "labels.yaml").read_text()

    def test_test_files_need_no_labels(self, tmp_path):
        bare = relation(0)
        del bare["label"]
        files = [
            write_json(tmp_path / f"x_{split}.json", rows)
            for split, rows in (("train", [relation(0)]), ("dev", [relation(1)]), ("test", [bare]))
        ]
        assert self.load(imported(tmp_path, *files, task="relations"), "test") == [
            ("나래상사", 4, "하람", None)
        ]


class TestPosts:
    def load(self, folder, split="train"):
        posts = corpora.load_techniques(folder, split)
        return posts["content"][:], posts["techniques"][:], posts.features["labels"].feature.names

    def test_a_column_a_class(self, tmp_path):
        header = "문장\t여성/가족\t지역\tclean"
        lines = [header, '"따옴표로 시작\t1\t0\t0', '"쉼표, ""안"""\t0\t0\t1', "셋\t1\t1\t0"]
        (tmp_path / "unsmile_train.tsv").write_text("\n".join(lines) + "\n")
        out = imported(tmp_path, tmp_path / "unsmile_train.tsv", task="multilabel")
        texts, names, classes = self.load(out)
        assert texts == ['"따옴표로 시작', '쉼표, "안"', "셋"]
        assert names == [["여성/가족"], ["clean"], ["여성/가족", "지역"]] and classes == [
            "여성/가족",
            "지역",
            "clean",
        ]
        assert (
            run(
                tmp_path / "unsmile_train.tsv",
                "--task",
                "multilabel",
                "--to",
                tmp_path / "b",
                "--map",
                "label=지역,여성/가족",
            )
            == 0
        )
        assert self.load(tmp_path / "b")[2] == ["지역", "여성/가족"]

    @pytest.mark.parametrize(
        "cells",
        [
            ["연령;지역", "지역", ""],
            ["연령|지역", "지역", ""],
            ["연령, 지역", "지역", ""],
            [["연령", "지역"], ["지역"], []],
            ["['연령', '지역']", "['지역']", "[]"],
        ],
    )
    def test_labels_in_one_column(self, tmp_path, cells):
        rows = [{"no": i, "body": f"글 {i}", "topic": cell} for i, cell in enumerate(cells)]
        path = write_lines(tmp_path / "x_train.jsonl", rows)
        out = imported(tmp_path, path, task="multilabel", fields=["text=body", "label=topic", "id=no"])
        texts, names, classes = self.load(out)
        assert texts == ["글 0", "글 1", "글 2"] and names == [["연령", "지역"], ["지역"], []]
        assert classes == ["연령", "지역"]

    def test_a_table_without_a_header_has_numbers_for_names(self, tmp_path):
        (tmp_path / "train.tsv").write_text('7\t값이 싸다\t0,2\n9\t"""맛"" 좋다"\t1\n')
        (tmp_path / "dev.csv").write_text('8,"싸고, 좋다","1,2"\n')
        files, fields = (tmp_path / "train.tsv", tmp_path / "dev.csv"), ["id=1", "text=2", "label=3"]
        imported(tmp_path, *files, task="multilabel", fields=fields)
        train, dev = (corpora.load_techniques(tmp_path / "out", split) for split in ("train", "dev"))
        assert train["id"][:] == ["7", "9"] and train["content"][1] == '"맛" 좋다'
        assert train["techniques"][:] == [["0", "2"], ["1"]]
        assert dev["content"][:] == ["싸고, 좋다"] and dev["techniques"][:] == [["1", "2"]]

    def test_numbers_are_ordered_by_size(self, tmp_path):
        rows = [{"text": "글", "label": ["10", "2"]}, {"text": "말", "label": ["0"]}]
        out = imported(tmp_path, write_lines(tmp_path / "x_train.jsonl", rows), task="multilabel")
        assert self.load(out)[2] == ["0", "2", "10"]

    @pytest.mark.parametrize("fields", [["text=2", "id=0"], ["text=2", "label=4"], ["text=2", "lang=언어"]])
    def test_a_field_that_is_not_there_is_refused(self, tmp_path, capsys, fields):
        (tmp_path / "train.tsv").write_text("7\t값이 싸다\t0,2\n")
        out = tmp_path / "out"
        assert run(tmp_path / "train.tsv", "--task", "multilabel", "--to", out, "--map", *fields) == 2
        said = capsys.readouterr().err
        assert f"train.tsv: --map {fields[1]}, but no record has that field; fields: 1, 2, 3" in said

    def test_doccano_label_studio_and_spacy(self, tmp_path):
        choices = {"type": "choices", "value": {"choices": ["지역", "연령"]}}
        records = {
            "a_train.jsonl": [{"text": "글", "label": ["지역", "연령"]}],
            "b_train.json": [{"data": {"text": "글"}, "annotations": [{"result": [choices]}]}],
            "c_train.jsonl": [{"text": "글", "cats": {"지역": 1, "연령": 1.0, "성별": 0}}],
        }
        for name, rows in records.items():
            (write_lines if name.endswith("l") else write_json)(tmp_path / name, rows)
            assert run(tmp_path / name, "--task", "multilabel", "--to", tmp_path / name[0]) == 0
            assert self.load(tmp_path / name[0])[1] == [["연령", "지역"]]

    def test_languages_and_spans_come_along(self, tmp_path):
        row = {"text": "글 하나", "label": ["a"], "lang": "ko", "trigger_words": [[0, 1]]}
        out = imported(tmp_path, write_lines(tmp_path / "x.jsonl", [row]), task="multilabel")
        loaded = corpora.load_techniques(out, "train")
        assert (loaded["lang"][:], loaded["trigger_words"][:]) == (["ko"], [[[0, 1]]])


def test_dev_without_train_is_said(tmp_path, capsys):
    (tmp_path / "my_val.tsv").write_text("text\tlabel\n글\ta\n")
    imported(tmp_path, tmp_path / "my_val.tsv", task="multilabel")
    assert "No file is named after train, which notebooks need; write train=FILE." in capsys.readouterr().out


def test_documents(tmp_path):
    (tmp_path / "하나.txt").write_text("글 하나\n둘째 줄")
    write_lines(tmp_path / "more.jsonl", [{"body": "글 둘", "제목": "제목"}])
    out = imported(tmp_path, tmp_path / "하나.txt", task="documents")
    assert json.loads((out / "all.jsonl").read_text()) == {
        "id": "하나",
        "text": "글 하나\n둘째 줄",
        "title": "",
    }
    files = [f"train={tmp_path / 'more.jsonl'}", f"dev={tmp_path / '하나.txt'}"]
    assert run(*files, "--task", "documents", "--to", tmp_path / "b") == 0
    sides = [corpora.load_documents(tmp_path / "b", split)["text"][:] for split in ("train", "dev")]
    assert sides == [["글 둘"], ["글 하나\n둘째 줄"]]


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("ner_train", "train"),
        ("train-00000-of-00001", "train"),
        ("mydevset", ""),
        ("devset", "dev"),
        ("x.valid", "dev"),
        ("latest", ""),
        ("contest_test", "test"),
        ("mytraining", "train"),
        ("data", ""),
        ("a_train_dev", "dev"),
    ],
)
def test_the_split_is_in_the_name(name, split):
    assert imports._split(name) == split


@pytest.mark.parametrize(
    ("name", "text", "task", "words"),
    [
        (
            "x.jsonl",
            '{"글월": "글"}\n',
            "entities",
            "x.jsonl, record 1: no text in it; fields: 글월. Name it: --map text=<field>",
        ),
        ("x.json", '{"a": [1', "entities", "line 1: not JSON"),
        ("x.tsv", "가 B-A\n나 O O\n다 O\n", "entities", "line 2: 3 columns where the others have 2"),
        ("x.tsv", "가\tN\n나\tN\n", "entities", "no column holds tags alone (the last has 'N')"),
        (
            "x.jsonl",
            '{"tokens": ["가", "나"], "ner_tags": ["O"]}\n',
            "entities",
            "record 1: 2 words but 1 tags",
        ),
        ("x.jsonl", '{"tokens": ["가"], "ner_tags": [3]}\n', "entities", "record 1: '3' is no tag"),
        ("x.csv", "text,label\n글\n", "multilabel", "line 2: expected 2 cells"),
        ("x.csv", "", "multilabel", "no rows for multilabel"),
        (
            "x.csv",
            '"\n',
            "multilabel",
            "x.csv, line 1: not CSV (unexpected end of data); is the file truncated",
        ),
        ("x.csv", 'text,"label"s\n글,a\n', "multilabel", "x.csv, line 1: not CSV (',' expected after '\"'"),
        ("x.tsv", "text\tlabel\n글\n", "multilabel", "line 2: expected 2 cells (text, label), got 1"),
        ("x.csv", "text,label\n글,[a\n", "multilabel", "record 1: expected a list, got the text"),
        (
            "x.jsonl",
            '{"text": "글", "갑": "가"}\n',
            "relations",
            "no record has a subject and an object, or relations; fields: text, 갑. Name them: --map sub",
        ),
        (
            "x.csv",
            "text,topic\n글,a\n",
            "multilabel",
            "x.csv: no record has labels under a known name; fields: text, topic. Name them: --map label=",
        ),
        (
            "x.json",
            '[{"text": "글", "ner": []}]',
            "entities",
            "x.json: no record has labels under a known name; fields: text, ner. Name them: --map label=",
        ),
        ("x.csv", "text,subject,object\n글,{a,b\n", "relations", "record 1, subject: expected a dict"),
        (
            "x.csv",
            f"text,{'가' * 140_000}\n글,1\n",
            "multilabel",
            "x.csv, line 1: not CSV (field larger than",
        ),
    ],
)
def test_bad_files_are_one_message_and_write_nothing(tmp_path, capsys, name, text, task, words):
    (tmp_path / name).write_text(text)
    assert run(tmp_path / name, "--task", task, "--to", tmp_path / "out") == 2
    said = capsys.readouterr()
    assert words in said.err and len(said.err) < 600 and said.out == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == [name]


def test_a_folder_that_is_there_is_not_written_over(tmp_path, capsys):
    write_lines(tmp_path / "x.jsonl", TOOLS["doccano.jsonl"])
    (tmp_path / "out").mkdir()
    assert run(tmp_path / "x.jsonl", "--task", "entities", "--to", tmp_path / "out") == 0
    assert run(tmp_path / "x.jsonl", "--task", "entities", "--to", tmp_path / "out") == 2
    assert "already there and not empty" in capsys.readouterr().err
