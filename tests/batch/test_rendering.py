"""Pages from notebooks: what is shown, what is folded, what is left out, and that the page stands alone."""

import base64
import hashlib
import re

import pytest

from helpers.batch import rendering
from helpers.batch.parameters import load_notebook
from tests.projects import FIXTURES, without_volatile

RUN = {
    "notebook": "plain", "suite": "tiny", "status": "ok",
    "started": "2026-01-02T03:04:05+00:00", "seconds": 75.2, "peak_memory_mb": 321,
    "commit": "abc123", "error": None, "packages": {"python": "3.11.7"},
    "parameters": {"data": "sample", "answer": 43, "rate": 3e-5, "names": ["한국", "서울"], "flag": False},
}  # fmt: skip
SVG = '<?xml version="1.0"?><svg width="5"><metadata><date>now</date></metadata><a id="#1 %"/></svg>'


def cell(*outputs, source="x", tags=()):
    return {"cell_type": "code", "source": source, "metadata": {"tags": list(tags)}, "outputs": list(outputs)}


def data(**content):
    return {
        "output_type": "display_data",
        "data": {key.replace("_", "/", 1): v for key, v in content.items()},
    }


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def markdown(source, name=""):
    return {"cell_type": "markdown", "id": name, "source": source, "metadata": {}}


def page(*cells, metrics=None, language="en", **changes):
    return rendering.report({"cells": list(cells)}, RUN | changes, metrics, made_from="", language=language)


def body(text):
    return text[text.index('<article id="text"') : text.index('<section class="appendix"')]


METRICS = {
    "question": "Does it run?",
    "verdict": "It does, by **2.0** points.",
    "headline": [
        {"name": "typed", "value": 2.0, "low": 1.0, "high": 3.0, "than": "none", "decision": "better"},
        {"name": "F1", "value": 61.0, "low": 60.0, "high": 62.0},
    ],
}


@pytest.fixture(scope="module")
def plain():
    return rendering.report(load_notebook(FIXTURES / "plain.ipynb"), RUN, METRICS, made_from="")


def test_the_answer_stands_before_the_text(plain):
    first = plain[plain.index("<main>") : plain.index('<article id="text"')]
    order = ['<h1 id="title">받침이 있는 이름을 읽나요?</h1>', "It does, by <strong>2.0</strong> points.",
             '<span class="chip better">', "against none", "+2.0", "+1.0 to +3.0", "61.0"]  # fmt: skip
    places = [first.index(part) for part in order]
    assert places == sorted(places)
    assert plain.count("<h1") == 1 and plain.count("It does, by") == 1


def test_the_appendix_says_what_ran(plain):
    appendix = plain[plain.index('<section class="appendix"') :]
    for part in (
        "abc123",
        "2026-01-02 03:04",
        "1 min 15 s",
        "321 MB",
        "python 3.11.7",
        'href="notebook.ipynb"',
    ):
        assert part in appendix and part not in body(plain)


def test_the_contents_lead_to_the_headings(plain):
    contents = plain[plain.index('<nav class="contents"') : plain.index("</nav>")]
    links = re.findall(r'<a href="#([^"]+)">', contents)
    assert links == ["parameters", "setup", "evidence", "a-formula", "그림과-표", "record", "appendix"]
    for link in links:
        assert f'id="{link}"' in plain


def test_equal_headings_get_addresses_of_their_own():
    text = page(*(markdown("## Same"),) * 2)
    assert 'id="same"' in text and 'id="same-2"' in text


def test_the_parameters_that_were_changed_are_shown_and_all_are_in_the_appendix(plain):
    rows = r"<tr( class=\"changed\")?><td><code>(\w+)</code>"
    assert re.findall(rows, body(plain)) == [(' class="changed"', "answer")]
    assert "1 of 5 parameters differ" in body(plain)
    every = re.findall(rows, plain[plain.index('<section class="appendix"') :])
    assert every == [("", "data"), (' class="changed"', "answer"), ("", "rate"), ("", "names"), ("", "flag")]
    assert "<code>43</code></td><td><code>42</code></td><td>what is recorded" in body(plain)
    same = {**RUN["parameters"], "answer": 42}
    untouched = rendering.report(
        load_notebook(FIXTURES / "plain.ipynb"), RUN | {"parameters": same}, made_from=""
    )
    assert "All 5 parameters have the notebook&#39;s own values" in body(untouched)


def test_code_is_folded_and_the_injected_cell_left_out(plain):
    assert plain.count('<details class="code">') == 5
    assert not re.search(r'<details class="code" open', plain)
    assert "answer = 43" not in page(cell(source="answer = 43", tags=["injected-parameters"]))


def test_a_page_asks_for_nothing_and_allows_only_its_own_script(plain):
    own = r"\.\./index\.html|notebook\.ipynb|metrics\.json|run\.json"  # links, followed by hand
    assert not re.search(rf'(?:src|href)="(?!#|data:|{own})', plain)
    assert "$$" not in plain.replace("&#36;", "")
    script = re.search(r"<script>(.*?)</script>", plain, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', plain).group(1).replace("&#39;", "'")
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert plain.count("<script") == 1


def test_svg_and_png_figures_are_embedded():
    text = page(cell(data(image_svg_xml=SVG) | {"data": {"image/svg+xml": SVG, "text/plain": "<Figure>"}}))
    source = re.search(r'<figure id="figure-1">.*?<img src="([^"]+)"', text, re.DOTALL).group(1)
    assert source.startswith("data:image/svg+xml,")
    assert "#" not in source and "now" not in source and "<Figure" not in body(text)
    assert 'src="data:image/png;base64,AAAA"' in page(cell(data(image_png="AA\nAA\n")))


def test_a_figure_has_a_caption_and_says_what_it_shows():
    words = {"title": "It rises", "description": "By 2 points.", "alt": "It rises. By 2 points.", "crop": 0}
    drawn = data(image_png="AA==") | {"metadata": {"image/png": words}}
    text = body(page(markdown("## Evidence"), cell(drawn)))
    assert '<span class="number">Figure 1</span> It rises</p><p class="description">By 2 points.</p>' in text
    assert 'alt="It rises. By 2 points."' in text
    assert 'alt="Figure 1: Evidence"' in body(page(markdown("## Evidence"), cell(data(image_png="AA=="))))


@pytest.mark.parametrize(
    ("tags", "evidence", "number"),
    [((), True, 2), ((), False, 1), (("key-figure",), True, 3), (("key-figure",), False, 3)],
)
def test_the_key_figure_is_tagged_or_the_first_of_the_evidence(tags, evidence, number):
    drawn = data(image_png="AA==")
    heading = markdown("## Evidence\n\ntext" if evidence else "## Data")
    cells = [markdown("# Q?\n\n## Setup"), cell(drawn), heading, cell(drawn), cell(drawn, tags=tags)]
    assert rendering.key_figure({"cells": cells}) == number
    text = page(*cells)
    assert f'<a href="#figure-{number}"><img' in text[: text.index('<article id="text"')]
    assert rendering.key_figure({"cells": cells[:1]}) is None and 'class="key"' not in page(cells[0])


def test_a_table_can_be_saved_and_is_named_by_its_caption():
    caption = "<caption>F1 of <b>all</b></caption>"
    table = f"<table>{caption}<tr><th scope='col'>n</th></tr><tr><td>NaN</td></tr></table>"
    text = body(
        page(cell(data(text_html=table) | {"data": {"text/html": table, "text/csv": "이름,n\na,1\n"}}))
    )
    assert 'aria-label="F1 of all"' in text and "<caption><span>F1 of <b>all</b></span></caption>" in text
    assert 'download="plain-f1-of-all.csv" href="data:text/csv;charset=utf-8,' in text
    assert "NaN" not in text and "Copy as LaTeX" in text
    unsaved = body(page(cell(data(text_html="<table><tr><td>1</td></tr></table>"))))
    assert "download" not in unsaved and 'aria-label="Table 1"' in unsaved


def test_a_page_in_korean_has_korean_furniture_and_names_what_is_english():
    text = page(markdown("# 질문?\n\n## Evidence\n\nText."), metrics=METRICS, language="ko")
    assert '<html lang="ko">' in text and '<h2 id="근거">근거' in text and "본문으로 건너뛰기" in text
    assert '<span class="chip better"><span aria-hidden="true">▲ </span>우세</span>' in text
    assert '<div lang="en">' in text and "아직 번역되지 않은" in text
    translated = markdown("# 질문?\n\n## 근거") | {"metadata": {"translated": True}}
    assert "아직 번역되지 않은" not in page(translated, language="ko")


def test_streams_are_joined_and_a_bar_shows_its_end():
    bar = [stream(f"\r{n}%|█|", "stderr") for n in (0, 50, 100)]
    shown = body(page(cell(stream("a"), stream("b\n"), *bar, stream("\ncareful", "stderr"))))
    assert '<pre class="stdout" tabindex="0">ab</pre>' in shown
    assert '<pre class="volatile" tabindex="0">100%|█|</pre>' in shown
    assert '<pre class="stderr" tabindex="0">careful</pre>' in shown and "50%" not in shown


def test_a_richer_form_is_preferred():
    shown = body(
        page(
            cell({"output_type": "execute_result", "data": {"text/plain": "PLAIN", "text/html": "<b>R</b>"}})
        )
    )
    assert "<b>R</b>" in shown and "PLAIN" not in shown


def test_scripts_in_outputs_are_dropped_and_widgets_explained():
    shown = body(page(cell(data(application_javascript="alert(1)"))))
    assert "alert" not in shown
    for fallback, explained in (("IntSlider(value=3)", True), ("Writing shards:   0%|   | 0/1", False)):
        widget = {"output_type": "display_data", "data": {rendering.WIDGET: {}, "text/plain": fallback}}
        assert ("Interactive" in page(cell(widget))) is explained


def test_a_failure_stands_at_the_top_with_its_cell_and_its_traceback_folded():
    error = {"name": "ValueError", "message": "no <b>", "traceback": "\x1b[31mTraceback\x1b[0m ..."}
    raised = {
        "output_type": "error",
        "ename": "ValueError",
        "evalue": "no",
        "traceback": ["\x1b[31mhere\x1b[0m"],
    }
    text = page(markdown("## Data"), cell(raised, source="load(1)"), status="failed", error=error)
    box = text[text.index('<section class="failure"') : text.index('<article id="text"')]
    assert "<strong>ValueError</strong>: no &lt;b&gt;" in box and "Traceback ...</pre>" in box
    assert "The cell that failed, in the section Data:" in box and '<span class="n">load</span>' in box
    assert '<details class="code" open>' in body(text) and ">here</pre>" in body(text)
    assert "\x1b" not in text


def test_pages_of_two_runs_differ_only_where_marked_volatile():
    one, two = page(), page(started="2027-01-01T00:00:00+00:00", seconds=1.0, peak_memory_mb=5)
    assert one != two
    assert without_volatile(one) == without_volatile(two)
    assert without_volatile(one) != without_volatile(page(commit="other"))
