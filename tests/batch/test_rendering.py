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


def page(*cells, **changes):
    return rendering.report({"cells": list(cells)}, RUN | changes, made_from="")


def body(text):
    return text[text.index("<main>") : text.index("</main>")]


@pytest.fixture(scope="module")
def plain():
    return rendering.report(load_notebook(FIXTURES / "plain.ipynb"), RUN, made_from="")


def test_the_header_says_what_ran(plain):
    head = plain[: plain.index("<main>")]
    for part in (
        "<h1>받침이 있는 이름을 읽나요?</h1>",
        "suite tiny",
        "abc123",
        "2026-01-02 03:04",
        "1 min 15 s",
        "321 MB",
    ):
        assert part in head
    assert '<span class="status ok">ok</span>' in head
    assert plain.count("<h1>") == 1


def test_the_contents_lead_to_the_headings(plain):
    links = re.findall(r'<a href="#([^"]+)">', plain[: plain.index("<main>")])
    assert links == ["parameters", "setup", "evidence", "a-formula", "그림과-표", "record"]
    for link in links:
        assert f'id="{link}"' in plain


def test_equal_headings_get_addresses_of_their_own():
    text = page(*({"cell_type": "markdown", "source": "## Same", "metadata": {}},) * 2)
    assert 'id="same"' in text and 'id="same-2"' in text


def test_parameters_are_a_table_with_what_was_changed_marked(plain):
    rows = re.findall(r"<tr( class=\"changed\")?><td><code>(\w+)</code>", plain)
    assert rows == [("", "data"), (' class="changed"', "answer"), ("", "rate"), ("", "names"), ("", "flag")]
    assert "<code>43</code></td><td><code>42</code></td><td>what is recorded" in plain


def test_code_is_folded_and_the_injected_cell_left_out(plain):
    assert plain.count('<details class="code">') == 5
    assert not re.search(r'<details class="code" open', plain)
    assert "answer = 43" not in page(cell(source="answer = 43", tags=["injected-parameters"]))


def test_a_page_asks_for_nothing_and_allows_only_its_own_script(plain):
    assert not re.search(r'(?:src|href)="(?!#|data:|\.\./index\.html)', plain)
    assert "$$" not in plain.replace("&#36;", "")
    script = re.search(r"<script>(.*?)</script>", plain, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', plain).group(1).replace("&#39;", "'")
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert plain.count("<script") == 1


def test_svg_and_png_figures_are_embedded():
    text = page(cell(data(image_svg_xml=SVG) | {"data": {"image/svg+xml": SVG, "text/plain": "<Figure>"}}))
    source = re.search(r'<figure><img src="([^"]+)"', text).group(1)
    assert source.startswith("data:image/svg+xml,")
    assert "#" not in source and "now" not in source and "<Figure" not in body(text)
    assert 'src="data:image/png;base64,AAAA"' in page(cell(data(image_png="AA\nAA\n")))


def test_streams_are_joined_and_a_bar_shows_its_end():
    bar = [stream(f"\r{n}%|█|", "stderr") for n in (0, 50, 100)]
    shown = body(page(cell(stream("a"), stream("b\n"), *bar, stream("\ncareful", "stderr"))))
    assert '<pre class="stdout">ab</pre>' in shown
    assert '<pre class="volatile">100%|█|</pre>' in shown
    assert '<pre class="stderr">careful</pre>' in shown and "50%" not in shown


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


def test_a_failure_stands_at_the_top_with_its_traceback_folded():
    error = {"name": "ValueError", "message": "no <b>", "traceback": "\x1b[31mTraceback\x1b[0m ..."}
    raised = {
        "output_type": "error",
        "ename": "ValueError",
        "evalue": "no",
        "traceback": ["\x1b[31mhere\x1b[0m"],
    }
    text = body(page(cell(raised), status="failed", error=error))
    assert text.index("This run failed") < text.index('<details class="code" open>')
    assert "<strong>ValueError</strong>: no &lt;b&gt;" in text
    assert "<pre>Traceback ...</pre>" in text and "<pre>here</pre>" in text
    assert "\x1b" not in text


def test_pages_of_two_runs_differ_only_where_marked_volatile():
    one, two = page(), page(started="2027-01-01T00:00:00+00:00", seconds=1.0, peak_memory_mb=5)
    assert one != two
    assert without_volatile(one) == without_volatile(two)
    assert without_volatile(one) != without_volatile(page(commit="other"))


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(8.21, "8.2 s"), (59.94, "59.9 s"), (185, "3 min 05 s"), (3599.7, "1 h 00 min"), (7800, "2 h 10 min")],
)
def test_durations_read_as_people_say_them(seconds, shown):
    assert rendering.duration(seconds) == shown
