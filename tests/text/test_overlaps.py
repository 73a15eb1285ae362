"""Overlaps are the pairs that a brute-force count of shared runs finds."""

import numpy as np

from helpers.text.copies import NEAR, SHINGLE
from helpers.text.overlaps import find_overlaps


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
