"""Copies of sentences are found wherever they stand, and other texts are left alone."""

from helpers.text.copies import Copies, without_copies

DEV = [
    "가온시의 한빛은 2019년에 새 도서관을 세웠다고 밝혔다.",
    "나래는 어제 바닷가에서 오래된 등대를 다시 보았다.",
]


def test_exact_copies_go_whatever_their_spaces():
    kept, copies = without_copies([DEV[0].replace(" ", "  "), "다른 문장이다."], DEV)
    assert kept == ["다른 문장이다."] and copies == Copies(exact=1, near=0)


def test_near_copies_go_whole_or_inside_a_document():
    changed = DEV[0].replace("2019년", "2020년")
    document = f"앞에 선 말이 있고, {DEV[1]} 뒤에도 긴 말이 더 이어진다. 그리고 또 다른 이야기."
    kept, copies = without_copies([changed, document], DEV)
    assert kept == [] and copies == Copies(exact=0, near=2)


def test_a_shared_phrase_is_no_copy():
    text = "한빛은 2019년에 새 옷을 샀고, 나래는 어제 산에서 길을 잃었다가 밤늦게 돌아왔다."
    assert without_copies([text, ""], DEV) == ([text, ""], Copies(0, 0))
    assert without_copies([text], []) == ([text], Copies(0, 0))


def test_short_sentences_count_as_one_run():
    kept, copies = without_copies(["네, 그래요. 이어지는 말.", "네,그래요"], ["네, 그래요"])
    assert copies.exact == 1 and len(kept) == 1
