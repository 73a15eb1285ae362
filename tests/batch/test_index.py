"""The index: a card per notebook, run or not, the failed ones first."""

import html
import json
import re
import shutil
from urllib.parse import unquote

from helpers.batch import index
from tests.batch.test_rendering import RUN
from tests.projects import FIXTURES


def test_the_index_has_a_card_per_notebook_run_or_not(tmp_path):
    text = index.page("tiny", ["one", "two"], tmp_path)
    assert text.count('<article class="card">') == 2
    assert text.count("not run yet") == 3  # once in the header


def put(folder, name, **run):
    (folder / name).mkdir()
    shutil.copy(FIXTURES / "plain.ipynb", folder / name / "notebook.ipynb")
    (folder / name / "run.json").write_text(json.dumps(RUN | {"notebook": name} | run))


def test_failed_cards_come_first_and_say_why(tmp_path):
    put(tmp_path, "a")
    put(tmp_path, "b", status="failed", error={"name": "KeyError", "message": "<b>", "traceback": ""})
    text = index.page("tiny", ["a", "b", "c"], tmp_path)
    assert (
        text.index('href="b/report.html"')
        < text.index('href="a/report.html"')
        < text.index('<p class="crumbs">c</p>')
    )
    assert "<strong>KeyError</strong>: &lt;b&gt;" in text and '<article class="card failed">' in text


def test_a_card_leads_to_report_notebook_and_metrics(tmp_path):
    put(tmp_path, "a")
    row = {"name": "typed", "value": 2.0, "low": 1.0, "high": 3.0, "than": "none", "decision": "better"}
    metrics = {"question": "Q?", "verdict": "It does.", "headline": [row]}
    (tmp_path / "a" / "metrics.json").write_text(json.dumps(metrics))
    text = index.page("tiny", ["a"], tmp_path)
    for file in ("report.html", "notebook.ipynb", "metrics.json"):
        assert f'href="a/{file}"' in text
    assert 'class="chip better"' in text and "It does." in text
    korean = index.page("tiny", ["a"], tmp_path, language="ko")
    assert '<html lang="ko">' in korean and "우세" in korean and "better<" not in korean


def test_a_card_has_its_figures_as_csv_and_says_how_the_run_before_it_ended(tmp_path):
    put(tmp_path, "a", status="ok", error=None)
    row = {"name": "a, b", "value": -1.25, "low": -2, "high": None}
    metrics = {"question": "Does it?", "verdict": "Yes.", "headline": [row | {"high": -0.5}]}
    (tmp_path / "a" / "metrics.json").write_text(json.dumps(metrics))
    text = index.page("tiny", ["a"], tmp_path)
    (address,) = re.findall(r'download="a.csv" href="data:text/csv;charset=utf-8,([^"]*)"', text)
    assert unquote(html.unescape(address)) == 'name,value,low,high,than,decision\n"a, b",-1.25,-2,-0.5,,\n'
    assert "previous run" not in text
    for verdict, told in (("Yes.", "same verdict"), ("No.", "another verdict")):
        before = metrics | {"verdict": verdict, "started": "2031-05-06T07:08:09+00:00", "commit": "abc"}
        (tmp_path / "a" / "previous.json").write_text(json.dumps(before))
        assert f"2031-05-06, {told}" in index.page("tiny", ["a"], tmp_path)
