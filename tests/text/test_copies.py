"""Copies of sentences are found wherever they stand, as a brute-force count of shared runs finds them."""

import numpy as np

from helpers.text.copies import NEAR, SHINGLE, Copies, find_overlaps, without_copies

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


def brute(texts, sentences):
    def runs(text):
        solid = "".join(text.split())
        size = min(SHINGLE, len(solid))
        return {solid[at : at + size] for at in range(len(solid) - size + 1)} if solid else set()

    return {
        (i, j): len(runs(a) & runs(b)) / len(runs(b))
        for i, a in enumerate(texts)
        for j, b in enumerate(sentences)
        if runs(b) and len(runs(a) & runs(b)) / len(runs(b)) >= NEAR
    }


def test_the_same_pairs_as_by_brute_force():
    rng = np.random.default_rng(0)
    sentences = ["".join(rng.choice(list("가나다라마 "), size=rng.integers(0, 60))) for _ in range(40)]
    texts = []
    for sentence in sentences:  # copies with some characters changed: from none to many
        letters = list(sentence)
        for at in np.flatnonzero(rng.random(len(letters)) < rng.choice([0, 0.02, 0.1])):
            letters[at] = "하"
        texts.append("앞말 " + "".join(letters))
    found = {(one.text, one.sentence): one.share for one in find_overlaps(texts, sentences)}
    assert found == brute(texts, sentences) and len(found) > 20


def test_exact_copies_say_so():
    (one,) = find_overlaps(["다른 말", "가나다라 마바사아"], ["가나다 라마바사아"])
    assert one == (1, 0, 1.0, True)
    (near,) = find_overlaps(["가나다라마바사아자"], ["가나다라마바사아"])
    assert near.share == 1.0 and not near.exact
    assert list(find_overlaps(["가"], [])) == [] and list(find_overlaps([""], ["가나다", ""])) == []
