"""Gold chains: the sample's are true to its text, KoCoNovel's are read by line, kinds follow the words."""

import json
import re

import pytest

from helpers.chains import passages
from helpers.chains.passages import Passage
from helpers.sample_world import documents
from helpers.sample_world.documents import chained


def test_planted_chains_are_those_of_the_same_documents():
    rows = list(chained("dev", 200))
    assert [row["text"] for row in rows] == [row["text"] for row in documents("dev", 200)]
    for row in rows:
        for chain in row["chains"]:
            assert chain == sorted(chain)
            assert len({row["text"][a:b] for a, b in chain} - passages.PRONOUNS) <= 1
    named = {row["text"][a:b] for row in rows for chain in row["chains"] for a, b in chain}
    assert passages.PRONOUNS & named >= {"그", "그녀"}


def test_a_planted_pronoun_means_whoever_was_named_last_outside_its_sentence():
    checked = 0
    for row in chained("dev", 300):
        text = row["text"]
        owner = {span: person for person, chain in enumerate(row["chains"]) for span in chain}
        for (start, end), person in owner.items():
            if text[start:end] not in passages.PRONOUNS:
                continue
            first = max(text.rfind(". ", 0, start) + 2, text.rfind("\n", 0, start) + 1)
            last = next(at for at in [*re.compile(r"[.]").finditer(text, end)]).start()
            inside = {
                p for (a, b), p in owner.items() if first <= a < last and text[a:b] not in passages.PRONOUNS
            }
            earlier = [
                (a, p) for (a, b), p in owner.items() if b <= first and text[a:b] not in passages.PRONOUNS
            ]
            assert max((a, p) for a, p in earlier if p not in inside)[1] == person
            checked += 1
    assert checked > 50


def novel(folder, name, texts, chains):
    folder = folder / "koconovel" / name
    folder.mkdir(parents=True)
    rows = [{"doc_id": "1_0", "text": text} for text in texts]  # ids repeat, as in the real files
    gold = [
        {
            "doc_id": "1_0",
            passages.VERSION: [[[str(a), str(b), w, "A"] for a, b, w in chain] for chain in own],
        }
        for own in chains
    ]
    for file, lines in (("text", rows), ("coref", gold)):
        path = folder / f"{file}.jsonl"
        path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))


def test_novels_are_read_line_by_line_and_wrong_offsets_leave_a_passage_out(tmp_path):
    texts = ["문호는 웃었다. 그는 갔다.", "문호가 왔다."]
    good = [[(0, 2, "문호"), (9, 10, "그")]]
    novel(tmp_path, "1_A", texts, [good, [[(1, 3, "문호")]]])
    (only,), distrusted = passages.load(str(tmp_path))
    assert distrusted == 1
    assert (only.work, only.chains) == ("1_A", [[(0, 2), (9, 10)]])


def test_names_are_words_of_one_or_two_works(tmp_path):
    text = "문호 " * 6 + "소년 " * 6
    chains = [
        [(3 * i, 3 * i + 2, "문호") for i in range(6)],
        [(18 + 3 * i, 20 + 3 * i, "소년") for i in range(6)],
    ]
    novel(tmp_path, "1_A", [text], [chains])
    for name in ("2_B", "3_C"):
        novel(tmp_path, name, ["소년"], [[[(0, 2, "소년")]]])
    assert passages.load(str(tmp_path))[0][0].names == {"문호"}


def test_rows_are_taken_evenly_over_works(tmp_path):
    novel(tmp_path, "1_A", ["가"] * 5, [[]] * 5)
    novel(tmp_path, "2_B", ["나"] * 2, [[]] * 2)
    taken, _ = passages.load(str(tmp_path), rows=4)
    assert [one.work for one in taken] == ["1_A"] * 2 + ["2_B"] * 2


def test_no_chains_say_what_was_expected(tmp_path):
    with pytest.raises(ValueError, match=r"expected koconovel/<novel>/coref.jsonl"):
        passages.load(str(tmp_path))


@pytest.mark.parametrize(
    ("mention", "wanted"),
    [
        ("그", "pronoun"),
        ("자기", "pronoun"),
        ("나", ""),
        ("아이들", ""),
        ("K 씨", ""),
        ("장인님", "kinship term"),
        ("그의 어머니", "kinship term"),
        ("문호", "name"),
        ("어떤 사람", "description"),
    ],
)
def test_kinds(mention, wanted):
    passage = Passage("p", "w", mention, [], frozenset({"문호"}))
    assert passage.kind((0, len(mention))) == wanted


def test_passages_that_were_learned_are_not_asked():
    text = "황윤범은 길덕군에서 건너온 버섯 전문가이다. 전주은과 황윤범이 내기를 했다."
    ones = [
        Passage(str(i), "w", t, [], frozenset())
        for i, t in enumerate([text, "전혀 다른 이야기가 여기에 있다."])
    ]
    learned = ["앞말이 있고 " + text.replace("버섯", "찻잔") + " 뒤에 더."]
    assert [one.id for one in passages.unseen(ones, learned)] == ["1"]


@pytest.mark.real
def test_every_mention_of_the_real_novels_is_where_its_offsets_say(real_data):
    found, distrusted = passages.load(str(real_data))
    assert (len(found), distrusted) == (873, 0)
    assert sum(len(chain) for one in found for chain in one.chains) > 18_000
