"""README's tables are those of the recorded runs."""

import json
import re

import pytest

from helpers import cli, records
from helpers.claims import recorded
from tests.conftest import ROOT


def a_run(folder, *, status="ok", commit="abc", seconds=60.0, **metrics):
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "question": "Does it?",
        "verdict": "It does, by 2.0 [1.0, 3.0].",
        "headline": [],
        "big": [1] * 99,
    }
    (folder / "metrics.json").write_text(json.dumps(found | metrics))
    run = {"status": status, "commit": commit, "started": "2031-05-06T07:08:09+00:00", "seconds": seconds}
    (folder / "run.json").write_text(json.dumps(run))


@pytest.mark.parametrize(("name", "language"), recorded.PAGES.items())
def test_readme_and_record_agree(name, language):
    page = (ROOT / name).read_text(encoding="utf-8")
    made = recorded.filled(page, reports=ROOT / "reports", language=language)
    assert made == page, "run `make readme` and commit both"
    assert [suite for _, suite, _ in recorded.MARKED.findall(page)] == list(recorded.SUITES)
    assert not re.search(r"(?<![\w.)\]-])-\d", re.sub(r"(?s)```.*?```|`[^`]*`|https?:\S+", "", page)), (
        "a hyphen as minus"
    )


@pytest.mark.parametrize("name", recorded.PAGES)
def test_github_shows_a_sentence_as_one(name):
    """A line that begins with a comment would end the paragraph there: CommonMark takes it for HTML."""
    page = (ROOT / name).read_text(encoding="utf-8")
    assert not [line for line in page.splitlines() if line.lstrip().startswith("<!--") and "<!-- -->" in line]


def shape(name):
    """What two READMEs in step have in common: sections, code, tables, pictures, values, commands."""
    page = (ROOT / name).read_text(encoding="utf-8")
    page = re.sub(r"(?s)(<!-- (?:results|figure): .*?-->).*?(?=<!-- end)", r"\1", page)
    code = re.findall(r"(?s)```(\w*)\n(.*?)```", page)
    prose = re.sub(r"(?s)```.*?```", "", page)
    return {
        "sections": len(re.findall(r"(?m)^## ", prose)),
        "code": [
            (kind, [line.split("  #")[0].rstrip() for line in text.splitlines()])
            for kind, text in code
            if kind
        ],
        "lines of code": [len(text.splitlines()) for _, text in code],
        "rows": [len(line.split("|")) for line in prose.splitlines() if line.startswith("|")],
        "pictures": sorted(re.findall(r"!\[[^\]]*\]\(([^)]+)\)", prose)),
        "values": re.findall(r"<!-- .*?-->", prose),
        "links": sorted(set(re.findall(r"\]\(([^)#]+)\)", prose)) - {"README.md", "README.ko.md"}),
    }


def test_the_korean_readme_keeps_step_with_the_english():
    english, korean = shape("README.md"), shape("README.ko.md")
    for what, wanted in english.items():
        if what == "code":  # but for words in angle brackets
            wanted, korean[what] = (
                [re.sub("<[^>]*>", "", str(one)) for one in several] for several in (wanted, korean[what])
            )
        assert korean[what] == wanted, what


def test_a_value_in_a_sentence_follows_its_record_and_its_decision(tmp_path):
    effect = {"name": "a − b", "value": -2.25, "low": -3.0, "high": -1.0, "than": "b", "decision": "worse"}
    a_run(tmp_path / "sample" / "03_x", headline=[effect])
    recorded.record("sample", reports=tmp_path)
    page = "It falls by <!-- sample/03_x: a − b = {} -->old<!-- --> points."
    made = recorded.filled(page.format("worse"), reports=tmp_path)
    assert made == page.format("worse").replace("old", "−2.2 [−3.0, −1.0]")
    with pytest.raises(ValueError, match="'a − b', as better; it is worse: rewrite it"):
        recorded.filled(page.format("better"), reports=tmp_path)


def test_the_key_figure_of_a_good_run_is_drawn_in_both_languages(tmp_path):
    for name, status in (("03_markers", "ok"), ("04_x", "failed")):
        a_run(tmp_path / "sample" / name, status=status)
        run = json.loads((tmp_path / "sample" / name / "run.json").read_text()) | {"notebook": name}
        (tmp_path / "sample" / name / "run.json").write_text(json.dumps(run))
        output = {"output_type": "display_data", "data": {"image/svg+xml": "<svg><text>label</text></svg>"}}
        cell = {"cell_type": "code", "source": "x", "metadata": {}, "outputs": [output]}
        (tmp_path / "sample" / name / "notebook.ipynb").write_text(json.dumps({"cells": [cell]}))
    drawn = recorded.draw("sample", reports=tmp_path)
    assert drawn == ["sample-03_markers.svg", "sample-03_markers.ko.svg"]
    assert "레이블" in (tmp_path / "figures" / drawn[1]).read_text()


def test_a_key_figure_stands_in_the_table_once_it_is_drawn(tmp_path):
    a_run(tmp_path / "sample" / "03_markers")
    recorded.record("sample", reports=tmp_path)
    assert "<img" not in recorded.table("sample", reports=tmp_path)
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "sample-03_markers.svg").write_text("<svg/>")
    drawn = recorded.table("sample", reports=tmp_path).splitlines()[2]
    assert 'src="reports/figures/sample-03_markers.svg"' in drawn
    assert len(drawn.split(" | ")) == 3, "under the verdict: a column of its own would be squeezed"
    large = "<!-- figure: sample/03_markers -->\n<!-- end of figure -->"
    assert "(reports/figures/sample-03_markers.svg)" in recorded.filled(large, reports=tmp_path)
    assert "(reports/screenshots/03_markers.png)" in recorded.filled(large, reports=tmp_path, language="ko")


def test_records_are_small():
    for file in (ROOT / "reports" / "recorded").rglob("*"):
        assert file.is_dir() or (file.suffix == ".json" and file.stat().st_size < 8_000), file


def test_what_is_recorded(tmp_path):
    a_run(tmp_path / "sample" / "01_eda", against_itself={"alarms": 1, "cuts": 20})
    a_run(tmp_path / "sample" / "02_x", status="failed")
    a_run(tmp_path / "sample" / "template")
    assert recorded.record("sample", reports=tmp_path) == ["01_eda"]
    (kept,) = recorded.read("sample", reports=tmp_path).values()
    assert set(kept) == {"question", "verdict", "headline", "against_itself", "commit", "date", "seconds"}
    assert (kept["commit"], kept["date"]) == ("abc", "2031-05-06")
    a_run(tmp_path / "sample" / "01_eda", seconds=2.0)  # this time from the cache
    recorded.record("sample", reports=tmp_path)
    assert recorded.read("sample", reports=tmp_path)["01_eda"]["seconds"] == 60.0
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


def test_the_proof_tells_what_was_recorded_and_nothing_else(tmp_path):
    page = "<!-- proof -->\nold\n<!-- end of proof -->\n"
    assert "old" not in (nothing := recorded.filled(page, reports=tmp_path)) and "Not recorded" in nothing
    folder = tmp_path / "recorded" / "proof"
    folder.mkdir(parents=True)
    by = {"commit": "abc", "date": "2031-05-06"}
    fuzz = {"minutes": 10, "inputs": 8118, "readers": 31, "findings": 2}
    (folder / "fuzz.json").write_text(json.dumps(fuzz | by))
    told = recorded.filled(page, reports=tmp_path)
    assert "- Fuzz: 8,118 hostile files for 31 readers in 10 minutes, 2 findings" in told
    assert "Coverage" not in told and "Soak" not in told and "|" not in told
    assert "Made: fuzz by commit `abc` on 2031-05-06." in told
    all_tried = {"mutants": 12, "explained": 2, "tried": 10, "killed": 9}
    sampled = {"mutants": 600, "explained": 0, "tried": 100, "killed": 90}
    (folder / "mutants.json").write_text(json.dumps({"modules": {"a": all_tried, "b": sampled}} | by))
    counts = {"branches": {"taken": 931, "all": 1000}, "lines": {"taken": 1, "all": 1}}
    (folder / "coverage.json").write_text(json.dumps(counts | by))
    (folder / "soak.json").write_text(json.dumps({"rounds": 30, "equal": 29} | by))
    told = recorded.filled(page, reports=tmp_path)
    assert "2 changes that compute the same" in told and "| `a` | 10 of 10 | 90.0 % |" in told
    assert "| `b` | 100 of 600 | 90.0 [82.6, 94.5] % |" in told, "Wilson's interval of a sample"
    assert "93.1 % of the branches" in told and "run 100.0 %" in told and "Soak: 29 of 30 runs" in told
    assert "분기 93.1 %" in recorded.filled(page, reports=tmp_path, language="ko")
    assert recorded.filled(told, reports=tmp_path) == told


def test_two_commits_are_told_apart(tmp_path):
    for name, commit in (("01_a", "abc"), ("02_b", "def"), ("03_c", "abc")):
        a_run(tmp_path / "sample" / name, commit=commit)
    recorded.record("sample", reports=tmp_path)
    told = recorded.table("sample", reports=tmp_path)
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
