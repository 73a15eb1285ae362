"""The index: a card per notebook, run or not, the failed ones first."""

import json
import shutil

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
