"""`nunchi checkpoints`: records, ranking, failures."""

import json

import pandas as pd
import pytest

from helpers.cli import main
from helpers.coreference import checkpoints, commands, evaluation
from tests.coreference.conftest import PASSAGES, small


def test_records_keep_the_studys_schema_and_the_items(run, items, tmp_path):
    config = {"checkpoint": str(run / "checkpoint-10"), "seq_len": None}
    frame = evaluation.evaluate_checkpoints([config], items=items, lambada=PASSAGES)
    path = commands.write_record(frame.to_dict("records")[0], tmp_path / "out")
    assert path.name == "checkpoint-10_eval_results.json"
    record = json.loads(path.read_text())
    study = ["checkpoint", "seq_len", "evaluated_at", "lambada_top1", "real1", "real5", "coref_samples"]
    assert list(record)[:9] == [*study, "eval_time_seconds", "timings"]
    assert record["coref_samples"] == len(items)
    per_item = pd.read_csv(tmp_path / "out" / record["files"]["items"])
    assert per_item["id"].tolist() == list(items["id"])
    assert per_item["hit1"].mean() == record["real1"]
    assert record["score"] == frame["score"][0]


def test_ranking_and_change_against_a_baseline():
    rows = [("checkpoint-1", 0.5, 0.6, 0.9), ("checkpoint-2", 0.6, 0.7, 0.1), ("checkpoint-3", 0.6, 0.6, 0.1)]
    frame = pd.DataFrame(rows, columns=["checkpoint", "real1", "real5", "lambada1"]).assign(status="ok")
    frame["score"] = checkpoints.composite(frame["real1"], frame["real5"], frame["lambada1"])
    ranked = commands.rank(frame, baseline="checkpoint-1")
    assert ranked["name"].tolist() == ["checkpoint-2", "checkpoint-3", "checkpoint-1"]
    assert ranked["rank_real1"].tolist() == [1, 1, 3]
    assert ranked["rank_score"].tolist() == [2, 3, 1]
    assert ranked["change_real1"].round(6).tolist() == [0.1, 0.1, 0.0]
    with pytest.raises(ValueError, match="checkpoint-9"):
        commands.rank(frame, baseline="checkpoint-9")


def test_the_command_evaluates_ranks_and_reports_failures(run, tmp_path, capsys):
    out = tmp_path / "evaluations"
    options = ["--out", str(out), "--documents", "4", "--baseline", "checkpoint-0", "--seq-len", "32"]
    assert main(["checkpoints", str(run), *options]) == 1
    shown = capsys.readouterr()
    assert "checkpoint-10" in shown.out and "change_real1" in shown.out
    assert "failed" in shown.err and "checkpoint-5" in shown.err
    record = json.loads((out / "run" / "checkpoint-10_eval_results.json").read_text())
    assert record["seq_len"] == 32
    assert main(["checkpoints", str(run / "checkpoint-0"), "--out", str(out), "--documents", "4"]) == 0
    assert main(["checkpoints", str(tmp_path / "nowhere")]) == 2
    assert "no folder" in capsys.readouterr().err


def test_several_folders_are_told_apart_and_ranked_together(run, tmp_path, capsys, tokenizer):
    other = tmp_path / "other" / "run"
    small("bert", tokenizer, seed=20).save_pretrained(other / "checkpoint-10")
    tokenizer.save_pretrained(other)
    (run / "checkpoint-5" / "model.safetensors").unlink()
    paths, out = [str(run), str(other), str(other)], tmp_path / "out"
    options = ["--documents", "4", "--out", str(out), "--from-step", "10"]
    assert main(["checkpoints", *paths, *options, "--baseline", "other/run/checkpoint-10"]) == 0
    shown = capsys.readouterr().out
    ranking = pd.read_csv(out / "ranking.csv").set_index("name")
    assert len(ranking) == 2 and ranking.loc["other/run/checkpoint-10", "change_real1"] == 0
    assert "best by Real@1: " in shown and "by the composite score: " in shown
    assert len(list(out.rglob("checkpoint-10_eval_results.json"))) == 2
    assert main(["checkpoints", *paths, *options, "--baseline", "checkpoint-10"]) == 2
    assert "2 evaluated checkpoints are called 'checkpoint-10'" in capsys.readouterr().err


def test_nothing_to_rank_is_not_an_error_of_ours(run, tmp_path, capsys):
    assert main(["checkpoints", str(run / "checkpoint-5"), "--documents", "2", "--out", str(tmp_path)]) == 1
    assert "failed" in capsys.readouterr().err
    assert main(["checkpoints", str(run), "--from-step", "11"]) == 2
    assert main(["checkpoints", str(run), "--device", "cuda:7"]) == 2
    assert "--device cuda:7" in capsys.readouterr().err
