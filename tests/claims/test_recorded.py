"""README's tables are those of the recorded runs."""

import json

import pytest

from helpers import cli, records
from helpers.claims import recorded
from tests.conftest import ROOT


def a_run(folder, *, status="ok", commit="abc", **metrics):
    folder.mkdir(parents=True)
    found = {
        "question": "Does it?",
        "verdict": "It does, by 2.0 [1.0, 3.0].",
        "headline": [],
        "big": [1] * 99,
    }
    (folder / "metrics.json").write_text(json.dumps(found | metrics))
    run = {"status": status, "commit": commit, "started": "2031-05-06T07:08:09+00:00"}
    (folder / "run.json").write_text(json.dumps(run))


def test_readme_and_record_agree():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert recorded.filled(page, reports=ROOT / "reports") == page, "run `make readme` and commit both"
    assert [suite for _, suite, _ in recorded.MARKED.findall(page)] == list(recorded.SUITES)


def test_records_are_small():
    for file in (ROOT / "reports" / "recorded").rglob("*"):
        assert file.is_dir() or (file.suffix == ".json" and file.stat().st_size < 8_000), file


def test_what_is_recorded(tmp_path):
    a_run(tmp_path / "sample" / "01_eda", against_itself={"alarms": 1, "cuts": 20})
    a_run(tmp_path / "sample" / "02_x", status="failed")
    a_run(tmp_path / "sample" / "template")
    assert recorded.record("sample", reports=tmp_path) == ["01_eda"]
    (kept,) = recorded.read("sample", reports=tmp_path).values()
    assert set(kept) == {"question", "verdict", "headline", "against_itself", "commit", "date"}
    assert (kept["commit"], kept["date"]) == ("abc", "2031-05-06")
    assert recorded.record("klue", reports=tmp_path) == [] and recorded.read("klue", reports=tmp_path) == {}


def test_a_run_that_is_not_there_keeps_its_record(tmp_path):
    a_run(tmp_path / "sample" / "01_eda")
    recorded.record("sample", reports=tmp_path)
    (tmp_path / "sample" / "01_eda" / "run.json").unlink()
    assert recorded.record("sample", reports=tmp_path) == []
    assert list(recorded.read("sample", reports=tmp_path)) == ["01_eda"]


def test_the_tables_follow_the_records(tmp_path):
    a_run(tmp_path / "sample" / "01_eda", verdict="a | b\nis < 1", against_itself={"alarms": 1, "cuts": 20})
    a_run(tmp_path / "sample" / "02_x", against_itself={"alarms": 2, "cuts": 1000})
    recorded.record("sample", reports=tmp_path)
    page = "before\n<!-- results: sample -->\nold\n<!-- end of results -->\nafter\n"
    page += "<!-- results: klue -->\n<!-- end of results -->\n"
    made = recorded.filled(page, reports=tmp_path)
    assert "| [01](notebooks/01_eda.ipynb) | Does it? | a \\| b is &lt; 1 |" in made
    assert "Made by commit `abc` on 2031-05-06. Where nothing differs, 3 of 1,020" in made
    assert "old" not in made and made.startswith("before\n") and "Not recorded yet." in made
    assert recorded.filled(made, reports=tmp_path) == made


def test_two_commits_are_told_apart(tmp_path):
    for name, commit in (("01_a", "abc"), ("02_b", "def"), ("03_c", "abc")):
        a_run(tmp_path / "sample" / name, commit=commit)
    recorded.record("sample", reports=tmp_path)
    told = recorded.table(recorded.read("sample", reports=tmp_path))
    assert "Made: 01, 03 by commit `abc` on 2031-05-06; 02 by commit `def` on 2031-05-06." in told


@pytest.mark.parametrize("has_reports", [True, False])
def test_the_command_records_and_fills(tmp_path, monkeypatch, capsys, has_reports):
    monkeypatch.setattr(records, "ROOT", tmp_path)
    (tmp_path / "README.md").write_text("<!-- results: sample -->\n<!-- end of results -->\n")
    if has_reports:
        a_run(tmp_path / "reports" / "sample" / "01_eda")
    assert cli.main(["readme"]) == 0
    assert ("by 2.0 [1.0, 3.0]" in (tmp_path / "README.md").read_text()) == has_reports
    assert ("sample: 01_eda" if has_reports else "sample: no reports here") in capsys.readouterr().out
