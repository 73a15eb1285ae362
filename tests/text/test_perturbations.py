"""Errors with known truth: by hand, by their inverses, and ranges that follow the text."""

import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import corpora
from helpers.statistics import ratio
from helpers.text import perturbations
from helpers.text.perturbations import KINDS, perturb, rewritten

TEXTS = st.text(alphabet="가각닭한국은는을를이가 abc12０３.ㅋ\u1112\u1161é", max_size=30)


def all_of(text, kind, rate=1.0, seed=0):
    return perturb(text, kind, rng=np.random.default_rng(seed), rate=rate)


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("spaces dropped", "세종은 왕이다", "세종은왕이다"),
        ("spaces inserted", "세종 왕", "세 종 왕"),
        ("particles", "세종은 물을 마셨고 사과가 남았다", "세종는 물를 마셨고 사과이 남았다"),
        ("jamo", "닭은", "ㄷㅏㄺㅇㅡㄴ"),
        ("NFD", "한a", "\u1112\u1161\u11aba"),
        ("digits", "3월 １일", "３월 1일"),
    ],
)
def test_every_place_by_hand(kind, text, wanted):
    assert all_of(text, kind).text == wanted


def test_a_slip_hits_a_key_that_touches_and_stays_a_syllable():
    assert set(perturbations._slips("가")) == set("다사아라갸개거기그")  # r: e t d f; k: i o j l m
    assert perturbations._slips("꽈") == ()  # Shift, and two keys
    for syllable in ("닭", "힣", "쁩"):
        for other in perturbations._slips(syllable):
            a, b = (unicodedata.normalize("NFD", one) for one in (syllable, other))
            assert sum(x != y for x, y in zip(a, b, strict=True)) == 1


@given(text=TEXTS, kind=st.sampled_from(KINDS), seed=st.integers(0, 5))
@settings(max_examples=80, deadline=None)
def test_known_inverses(text, kind, seed):
    new = all_of(text, kind, rate=0.5, seed=seed).text
    if kind.startswith("spaces"):
        assert new.replace(" ", "") == text.replace(" ", "")
    elif kind == "digits":
        assert all_of(new, kind).text == text
    elif kind == "NFD":
        assert unicodedata.normalize("NFC", new) == unicodedata.normalize("NFC", text)
    elif kind == "jamo":
        assert len(new) >= len(text)
    else:
        assert len(new) == len(text)
        assert all(
            a == b or ("가" <= a <= "힣" and "가" <= b <= "힣") for a, b in zip(new, text, strict=True)
        )


@given(text=TEXTS, kind=st.sampled_from(KINDS), seed=st.integers(0, 5), data=st.data())
@settings(max_examples=80, deadline=None)
def test_ranges_hold_what_their_characters_became(text, kind, seed, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=5)))
    changed = all_of(text, kind, rate=0.5, seed=seed)
    assert len(changed.origin) == len(changed.text)
    moved = [changed.span(a, b) for a, b in pairwise(cuts)]
    for (a, b), (start, end) in zip(pairwise(cuts), moved, strict=True):
        inside = changed.origin[start:end]
        assert all(a <= i < b for i in inside if i >= 0)  # nothing of its surroundings
        own = "".join(c for c, i in zip(changed.text, changed.origin, strict=True) if a <= i < b)
        held = [c for c, i in zip(changed.text[start:end], inside, strict=True) if i >= 0]
        assert "".join(held) == own  # all of its own
        if start < end:
            assert inside[0] >= 0 and inside[-1] >= 0  # what is put in at an edge stays outside
    solid = [span for span in moved if span[0] < span[1]]
    assert all(a[1] <= b[0] for a, b in pairwise(solid))  # disjoint ranges stay so, in order


@given(text=TEXTS, kind=st.sampled_from(KINDS[:5]))
@settings(max_examples=50, deadline=None)
def test_a_rate_of_nothing_is_the_identity(text, kind):
    same = all_of(text, kind, rate=0.0)
    assert same.text == text and same.origin.tolist() == list(range(len(text)))
    assert all(same.span(a, b) == (a, b) for a, b in pairwise(range(len(text))))


def test_a_range_of_dropped_spaces_is_empty_and_one_inside_is_kept():
    assert all_of("가 나", "spaces dropped").span(1, 2) == (0, 0)
    assert rewritten("가나", {}, before={1: " "}).span(0, 2) == (0, 3)
    assert rewritten("가나", {}, before={0: "-", 1: " "}).span(1, 2) == (3, 4)


def test_the_same_seed_gives_the_same_text_and_the_rate_is_kept():
    texts = corpora.load_relations("sample", "dev", rows=200)["sentence"][:]
    for kind, places in (("spaces dropped", " "), ("typos", "가"), ("jamo", "가")):
        changed = [all_of(text, kind, rate=0.2, seed=i) for i, text in enumerate(texts)]
        assert [one.text for one in changed] == [
            all_of(text, kind, rate=0.2, seed=i).text for i, text in enumerate(texts)
        ]
        eligible = sum(sum(c == " " if places == " " else "가" <= c <= "힣" for c in text) for text in texts)
        kept = [
            {int(i) for i, c in zip(one.origin, one.text, strict=True) if c == text[i]}
            for one, text in zip(changed, texts, strict=True)
        ]
        hit = sum(len(text) - len(some) for text, some in zip(texts, kept, strict=True))
        assert hit / eligible == pytest.approx(0.2, abs=0.02)


def test_a_change_is_the_mean_of_the_others_minus_the_first():
    sums = np.array([[8.0, 10, 4, 10, 6, 10], [1, 1, 1, 1, 1, 1]])
    assert perturbations.change(ratio, 2)(sums).tolist() == [pytest.approx(0.5 - 0.8), 0]


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="one of spaces dropped"):
        all_of("가", "noise")
    with pytest.raises(ValueError, match="rate in 0 to 1"):
        all_of("가", "typos", rate=2)
