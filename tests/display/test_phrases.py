"""Computed sentences in another language: taken apart, translated, put together."""

import pytest

from helpers.display.phrases import Phrasebook, agreed, filled

BOOK = Phrasebook(
    [
        ("Yes: markers beat none", "그렇다: 표지가 무표지보다 낫다"),
        (", {1:+.1f} points of micro-F1. ", ", micro-F1 {1}점. "),
        ("This encoder reaches {1:.1f}; {2}, and {3}.", "이 인코더는 {1}이며, {2}, {3}."),
        ("{words} stays below it by {gap:+.1f}", "{words}[은/는] 그보다 {gap} 낮다"),
        ("a lookup of the two types", "두 유형의 조회표"),
        ("TF-IDF around the entities", "개체 주변 TF-IDF"),
        ("{system} beats {than} by {size}", "{system}[이/가] {than}보다 {size} 높다"),
        ("{system} loses to {than} by {size}", "{system}[이/가] {than}보다 {size} 낮다"),
        ("last weights", "마지막 가중치"),
        ("best epoch", "최고 에폭"),
        ("{_} the best guess ({guess}): {2:+.1f} points", "최선의 추측({guess})보다 {_}: {2}점"),
        ("more than", "많다"),
        ("{n:d} better", "우세 {n}"),
        ("{n:d} undecided", "판단 보류 {n}"),
        ("Every run trained.", "모든 실행이 학습되었다."),
    ]
)


@pytest.mark.parametrize(
    ("english", "korean"),
    [
        ("Every run trained.", "모든 실행이 학습되었다."),
        ("every run trained", "모든 실행이 학습되었다"),
        ("2 better, 9 undecided", "우세 2, 판단 보류 9"),
        ("SWA (last weights), soup (best epoch)", "SWA(마지막 가중치), soup(최고 에폭)"),
        ("SWA beats last weights by 2.3 [1.0, 3.0].", "SWA가 마지막 가중치보다 2.3 [1.0, 3.0] 높다."),
        ("SWA loses to last weights by 3.9 [2.5, 5.3]; SWA loses to soup by 3.0 [1.6, 4.3]; SWA loses to "
         "LAWA by 1.9 [0.9, 2.8] (2 better)",
         "SWA가 마지막 가중치보다 3.9 [2.5, 5.3] 낮다; SWA가 soup보다 3.0 [1.6, 4.3] 낮다; SWA가 LAWA보다 "
         "1.9 [0.9, 2.8] 낮다(우세 2)"),
        ("last weights, best epoch; typed-punct 3", "마지막 가중치, 최고 에폭; typed-punct 3"),
        ("more than the best guess (best epoch): -2.4 [-9.5, +4.8] points",
         "최선의 추측(최고 에폭)보다 많다: -2.4 [-9.5, +4.8]점"),
        ("Yes: markers beat none, +1.5 [-0.2, +3.1] points of micro-F1. This encoder reaches "
         "64.6 [56.9, 72.4]; a lookup of the two types stays below it by -27.3, and TF-IDF around the "
         "entities stays below it by -1.0.",
         "그렇다: 표지가 무표지보다 낫다, micro-F1 +1.5 [-0.2, +3.1]점. 이 인코더는 64.6 [56.9, 72.4]이며, "
         "두 유형의 조회표는 그보다 -27.3 낮다, 개체 주변 TF-IDF는 그보다 -1.0 낮다."),
    ],
)  # fmt: skip
def test_a_text_is_put_together_from_the_translations_of_its_templates(english, korean):
    assert BOOK(english) == korean


@pytest.mark.parametrize(
    "text", ["61.2 [59.8, 62.5]", "no_relation", "KLUE-RE", "가나다", "`code here`x", ""]
)
def test_numbers_names_and_code_stay(text):
    assert BOOK(text) == text


def test_what_is_unknown_stays_and_is_counted():
    assert BOOK("last weights, some other words") == "마지막 가중치, some other words"
    assert BOOK.left("last weights, some other words") == len("someotherwords")
    assert BOOK.left("last weights") == 0


def test_a_name_in_a_field_may_be_unknown():
    assert BOOK("my-soup beats best epoch by 1.0") == "my-soup가 최고 에폭보다 1.0 높다"


@pytest.mark.parametrize(
    ("text", "said"),
    [("서울[으로/로]", "서울로"), ("SWA[은/는]", "SWA는"), ("표[을/를] 3[이/가]", "표를 3이"),
     ("**값**[은/는]", "**값**은"), ("2.3 [1.0, 3.0][이/가]", "2.3 [1.0, 3.0]이"), ("…[은/는]", "…은")],
)  # fmt: skip
def test_particles_agree_with_what_stands_before_them(text, said):
    assert agreed(text) == said


def test_a_template_keeps_a_field_that_is_not_given():
    assert filled("{a}[과/와] {b}", {"a": "나"}) == "나와 {b}"
