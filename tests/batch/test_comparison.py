"""Two runs on one page: what changed, with a paired interval where the items are there."""

import json

import numpy as np
import pytest

from helpers import predictions, statistics
from helpers.batch import comparison
from helpers.display.messages import Words
from tests.batch.test_rendering import RUN

EN = Words("en")
NAME = "SWA, points"


def hits(seed, shift=0.0, seeds=3, items=200):
    """Hits of a system on items that are easy or hard for everyone."""
    hard = np.random.default_rng(0).random(items)
    lucky = np.random.default_rng(seed).random((seeds, items))
    right = (0.8 * hard + 0.2 * lucky < 0.5 + shift).astype(float)
    return np.stack([right, np.ones_like(right)], axis=-1)


def put(folder, system, than, monkeypatch, *, keep=True, decision="undecided", answer=42):
    folder.mkdir(parents=True)
    monkeypatch.setenv("NUNCHI_OUT", str(folder))
    effect = statistics.contrast(system, than).interval().scaled(100)
    level = statistics.estimate(system).interval().scaled(100)
    rows = [
        dict(zip(("value", "low", "high"), effect, strict=True), name=NAME, than="last", decision=decision)
    ]
    rows += [dict(zip(("value", "low", "high"), level, strict=True), name="accuracy, %")]
    metrics = {"question": "Does it help?", "verdict": f"By {effect.value:.1f}.", "headline": rows}
    (folder / "metrics.json").write_text(json.dumps(metrics))
    run = RUN | {
        "notebook": "04",
        "parameters": RUN["parameters"] | {"answer": answer},
        "fingerprint": {"data": "1"},
    }
    (folder / "run.json").write_text(json.dumps(run))
    said = [[f"{hit:.0f}" for hit in seed] for seed in system[..., 0]]
    if keep:
        items = [f"item-{at}" for at in range(system.shape[1])]
        kept = {NAME: (system, than), "accuracy, %": (system,)}
        predictions.write("04", kept, items=items, predictions={NAME: said})
    return folder


def loaded(folder):
    (run,) = comparison.runs(folder).values()
    return run


def rows(first, second):
    return {row["name"]: row for row in comparison.pair(loaded(first), loaded(second), EN)["rows"]}


def test_a_run_compared_with_itself_has_not_changed(tmp_path, monkeypatch):
    folder = put(tmp_path / "a", hits(1), hits(2), monkeypatch)
    shown = comparison.pair(loaded(folder), loaded(folder), EN)
    assert [(*row["change"], row["word"]) for row in shown["rows"]] == [
        ("0.0", "0.0 to 0.0", "no change shown")
    ] * 2
    assert not (
        shown["parameters"] or shown["versions"] or shown["decisions"] or shown["flipped"] or shown["alone"]
    )


def test_pairing_finds_what_two_intervals_hide(tmp_path, monkeypatch):
    last = hits(2)
    paired = [
        put(tmp_path / name, system, last, monkeypatch)
        for name, system in (("a", hits(1)), ("b", hits(1, 0.03)))
    ]
    apart = [
        put(tmp_path / f"{name}-bare", system, last, monkeypatch, keep=False)
        for name, system in (("a", hits(1)), ("b", hits(1, 0.03)))
    ]
    with_items, without = rows(*paired)[NAME], rows(*apart)[NAME]
    assert (
        with_items["change"][0] == without["change"][0] and with_items["how"] == "paired: 200 items, 3 seeds"
    )
    assert with_items["word"] == "higher" and without["word"] == "no change shown"
    assert without["how"] == "unpaired: from the two intervals"
    direct = statistics.contrast(hits(1, 0.03), hits(1)).interval().scaled(100)
    level = rows(*paired)["accuracy, %"]
    assert level["change"][1] == f"+{direct.low:.1f} to +{direct.high:.1f}"


def test_items_that_do_not_make_the_figure_are_not_used(tmp_path, monkeypatch):
    first = put(tmp_path / "a", hits(1), hits(2), monkeypatch)
    second = put(tmp_path / "b", hits(3), hits(2), monkeypatch)
    record = json.loads((second / "metrics.json").read_text())
    record["headline"][0] |= {"value": 9.0, "low": 8.0, "high": 10.0}
    (second / "metrics.json").write_text(json.dumps(record))
    assert rows(first, second)[NAME]["how"].startswith("unpaired")
    assert rows(first, second)["accuracy, %"]["how"].startswith("paired")


def test_other_items_are_not_paired_and_fewer_are(tmp_path, monkeypatch):
    first = put(tmp_path / "a", hits(1), hits(2), monkeypatch)
    second = put(tmp_path / "b", hits(1, seeds=2), hits(2, seeds=2), monkeypatch)
    frames = [predictions.read(folder) for folder in (first, second)]
    shared = comparison._paired(*(loaded(f).metrics["headline"][1] for f in (first, second)), *frames)
    assert shared is None, "two of three seeds do not make the first run's figure"
    frames[1]["item"] = frames[1]["item"] + "!"
    assert comparison._paired(*(loaded(f).metrics["headline"][1] for f in (first, second)), *frames) is None


def test_changed_parameters_decisions_and_predictions_are_listed(tmp_path, monkeypatch):
    first = put(tmp_path / "a", hits(1), hits(2), monkeypatch)
    second = put(tmp_path / "b", hits(1, 0.03), hits(2), monkeypatch, decision="better", answer=43)
    shown = comparison.pair(loaded(first), loaded(second), EN)
    assert shown["parameters"] == [("answer", "42", "43")]
    assert [(entry["before"], entry["after"]) for entry in shown["decisions"]] == [("undecided", "better")]
    flips = int((hits(1)[..., 0] != hits(1, 0.03)[..., 0]).sum())
    assert shown["flipped_count"] == flips > 3 and len(shown["flipped"]) == min(flips, 20)
    assert shown["flipped"][0][2:] == ("0", "1")


def test_a_suite_is_compared_notebook_by_notebook_and_a_record_with_a_run(tmp_path, monkeypatch):
    for suite in ("one", "two"):
        for name in ("03", "04"):
            put(tmp_path / suite / name, hits(1), hits(2), monkeypatch, keep=False)
            run = json.loads((tmp_path / suite / name / "run.json").read_text())
            (tmp_path / suite / name / "run.json").write_text(json.dumps(run | {"notebook": name}))
    page = comparison.write(tmp_path / "one", tmp_path / "two")
    assert (
        page == tmp_path / "two" / "comparison.html"
        and page.read_text().count("<section aria-labelledby") == 2
    )
    recorded = tmp_path / "recorded.json"
    recorded.write_bytes((tmp_path / "one" / "03" / "metrics.json").read_bytes())
    page = comparison.write(recorded, tmp_path / "two" / "04", out=tmp_path / "page.html", language="ko")
    text = page.read_text()
    assert "변화 확인 안 됨" in text and "짝짓지 않음" in text and '<html lang="ko">' in text


def test_a_page_in_korean_says_verdicts_and_names_in_korean_with_minus_signs(tmp_path, monkeypatch):
    verdict = "Averaging: SWA against last weights is undecided: -0.4 [-1.1, +0.2]. Ensemble of 2: a beats b."
    for name in ("a", "b"):
        folder = put(tmp_path / name / "04_ner_swa_ensemble", hits(1), hits(2), monkeypatch, keep=False)
        record = json.loads((folder / "metrics.json").read_text())
        record["headline"][0]["name"] = "SWA − last weights"
        (folder / "metrics.json").write_text(json.dumps(record | {"verdict": verdict}))
        run = json.loads((folder / "run.json").read_text())
        (folder / "run.json").write_text(json.dumps(run | {"notebook": "04_ner_swa_ensemble"}))
    text = comparison.write(tmp_path / "a", tmp_path / "b", language="ko").read_text()
    assert "SWA − 마지막 가중치" in text and "−0.4 [−1.1, +0.2]" in text and "undecided: " not in text


def test_there_must_be_something_to_compare(tmp_path, monkeypatch):
    put(tmp_path / "one" / "03", hits(1), hits(2), monkeypatch, keep=False)
    put(tmp_path / "one" / "04", hits(1), hits(2), monkeypatch, keep=False)
    (tmp_path / "one" / "03" / "run.json").unlink()
    put(tmp_path / "two" / "x", hits(1), hits(2), monkeypatch, keep=False)
    (tmp_path / "two" / "x" / "run.json").unlink()
    with pytest.raises(ValueError, match="no notebook in common"):
        comparison.write(tmp_path / "one", tmp_path / "two")
    with pytest.raises(ValueError, match=r"holds no metrics\.json"):
        comparison.write(tmp_path, tmp_path / "one")
    (tmp_path / "bad.json").write_text("[")
    with pytest.raises(ValueError, match="is not JSON"):
        comparison.runs(tmp_path / "bad.json")
