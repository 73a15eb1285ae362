"""What a page adds to text: the language of Hangul, minus signs, terms explained once a section."""

import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.batch import glosses
from helpers.batch.glosses import Annotator


def plain(fragment):
    return Annotator()(fragment, terms=False)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<p>no Hangul</p>", None),
        ("<p>세종은 왕이다.</p>", '<p><span lang="ko">세종은 왕이다</span>.</p>'),
        ("the word 눈치, and 한글", 'the word <span lang="ko">눈치</span>, and <span lang="ko">한글</span>'),
        ("<td>서울 2024년 3월</td>", '<td><span lang="ko">서울 2024년 3월</span></td>'),
        ("<code>이름 = -1</code>", '<code><span lang="ko">이름</span> = -1</code>'),
        (
            '<div lang="ko">서울 <div>-5</div> 도</div> 강',
            '<div lang="ko">서울 <div>-5</div> 도</div> <span lang="ko">강</span>',
        ),
        ("<math><mtext>정밀도</mtext></math>", None),
        ('<a title="a>b -1 가">x</a>', None),
    ],
)
def test_hangul_is_marked_as_korean_once(text, shown):
    assert plain(text) == (shown or text)


def test_a_korean_page_needs_no_mark_for_hangul():
    assert Annotator("ko")("<p>세종은</p>", terms=False) == "<p>세종은</p>"


def test_numbers_get_minus_signs_but_code_does_not():
    assert plain("<p>-0.5 [-1.0, 0.2] <code>-1</code></p><pre>-1</pre>") == (
        "<p>−0.5 [−1.0, 0.2] <code>-1</code></p><pre>-1</pre>"
    )


def terms(fragment):
    return re.findall(r'<button[^>]*class="term"[^>]*>([^<]*)</button>', fragment)


def test_a_term_is_explained_where_it_first_occurs_in_a_section():
    annotate = Annotator()
    assert terms(annotate("<p>SWA, then SWA and Fertility</p>")) == ["SWA", "Fertility"]
    assert terms(annotate("<p>SWA again</p>")) == []
    annotate.section()
    assert terms(annotate("<td>SWA</td><td>p, Holm</td>")) == ["SWA", "Holm"]
    assert {term.name for term in annotate.used.values()} == {"SWA", "fertility", "Holm"}


@pytest.mark.parametrize(
    "text",
    [
        "<code>SWA</code>",
        '<a href="#x">SWA</a>',
        "<h2>SWA</h2>",
        "SWAG",
        "typed-punct-en",
        "swa",
        "cross/A/A",
    ],
)
def test_no_term_inside_code_links_headings_and_other_words(text):
    assert terms(Annotator()(text)) == []


def test_no_line_ends_between_a_bracket_and_its_term():
    assert '<p>Weights <span class="whole">(<button' in Annotator()("<p>Weights (SWA) count.</p>")
    assert "whole" not in Annotator()("<p>Weights ( SWA, (x) SWAG.</p>")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_glossary_has_a_name_and_a_sentence_for_each_term(language):
    for entry in yaml.safe_load(glosses.GLOSSARY.read_text(encoding="utf-8")):
        name, meaning = entry[language]
        assert name and meaning.rstrip().endswith(".") and len(meaning) < 220
        assert bool(re.search("[가-힣]", meaning)) is (language == "ko") or "세종" in meaning
        for word in entry["words"]:
            assert terms(Annotator(language)(f"<p>the {word} here</p>")) == [word]


pieces = st.sampled_from(["<p>", "</p>", "<code>", "</code>", "<b>", "</b>", "한글 ", "SWA ", "-1 ",
                          "&lt;b&gt;", "x > y", "<br>",
                          '<a href="x>y">', "</a>", "<!-- -1 -->", "\n"])  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(pieces, max_size=12).map("".join))
def test_nothing_is_lost_and_no_tag_is_touched(fragment):
    shown = Annotator()(fragment)
    without = re.sub(
        r'<button type="button" class="term"[^>]*>|</button>|<span lang="ko">|</span>', "", shown
    )
    assert without.replace("−", "-") == fragment
