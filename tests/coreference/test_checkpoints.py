"""Checkpoints: the published table's audit, discovery, evaluation, ranking, curricula and trajectories."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch

from helpers.cli import main
from helpers.coreference import audit as audit
from helpers.coreference import checkpoints, cloze, curricula, trajectories
from helpers.coreference import items as coreference_items
from helpers.learning import encoders
from helpers.learning.batching import IGNORED, Features
from helpers.text import tokenizers

# --- the published table ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published():
    return audit.published()


def test_composite_weighs_as_the_study_says():
    assert checkpoints.composite(1, 0, 0) == 0.4
    assert checkpoints.composite(0, 1, 0) == 0.3
    assert checkpoints.composite(0, 0, 1) == 0.3
    assert checkpoints.composite(0.6558, 0.8167, 0.3567) == pytest.approx(0.6143, abs=5e-5)


def test_exactly_the_twenty_mlm_v2_composites_are_wrong(published):
    frame = audit.audit_composites(published)
    assert len(frame) == 33
    assert frame["wrong"].sum() == 20
    assert (frame["wrong"] == (frame["experiment"] == "mlm_v2")).all()
    assert frame.loc[frame["wrong"], "excess"].mean() == pytest.approx(0.0028, abs=5e-5)
    first = frame.iloc[0]
    assert (first["reported_score"], round(first["score"], 4)) == (0.6190, 0.6143)


def test_one_of_two_checkpoints_called_five_epochs_is_not(published):
    frame = audit.audit_epochs(published)
    five = frame.query("experiment == 'mlm_v2' and epoch == 5.0").set_index("step")
    assert five["true_epoch"].round(2).to_dict() == {650: 4.96, 655: 5.0}
    assert frame.loc[frame["epoch_wrong"], "step"].tolist() == [650]


def test_half_widths_of_real1_follow_from_the_sample_sizes(published):
    widths = audit.audit_intervals(published).groupby("seq_len")["half_width"].mean() * 100
    assert widths[1536] == pytest.approx(1.9, abs=0.02)
    assert widths[2048] == pytest.approx(1.65, abs=0.01)


def test_of_the_claims_only_two_stand(published):
    frame = audit.audit_claims(published).set_index("claim")
    want = {
        "1536 overfits after epoch 3": 0.32,
        "1536 beats 2048, best against best": 0.57,
        "more epochs of combined data help": 0.005,
        "entity fine-tuning beats its parent": 0.005,
    }
    for claim, p in want.items():
        assert frame.loc[claim, "p"] == pytest.approx(p, abs=0.005 if p > 0.1 else 0.0005)
    assert set(frame.index[frame["stands"]]) == set(list(want)[2:])
    assert ((frame["low"] > 0) == (frame["difference"] > 0) & (frame["p"] < 0.05)).all()


def test_the_guides_figures_contradict_the_table(published):
    frame = audit.audit_guide(published)
    assert frame["recomputed"].round(4).tolist() == [0.3767, 0.7168, 0.6314]
    assert (frame["guide"] - frame["recomputed"]).abs().min() > 0.03


def test_entity_parents_are_all_compared(published):
    frame = audit.entity_parents(published)
    assert len(frame) == 14
    assert frame["p"].between(0, 1).all() and (frame["difference"] > 0).all()


# --- discovery -------------------------------------------------------------------------------------------


def test_steps_sort_as_numbers(tmp_path):
    for name in ("checkpoint-90", "checkpoint-1000", "checkpoint-200", "checkpoint-best", "logs"):
        (tmp_path / "run" / name).mkdir(parents=True)
    (tmp_path / "run" / "checkpoint-300").touch()  # a file is no checkpoint
    found = checkpoints.find_checkpoints(tmp_path)
    assert [path.name for path in found] == ["checkpoint-90", "checkpoint-200", "checkpoint-1000"]
    later = checkpoints.find_checkpoints(tmp_path, from_step=200)
    assert [path.name for path in later] == ["checkpoint-200", "checkpoint-1000"]


def test_a_missing_or_empty_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no folder"):
        checkpoints.find_checkpoints(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="holds no checkpoint"):
        checkpoints.find_checkpoints(tmp_path)
    with pytest.raises(ValueError, match="checkpoint-<step>"):
        checkpoints.step_of("checkpoint-best")


def test_steps_epochs_and_tokens():
    assert checkpoints.epoch_of(650, 131) == pytest.approx(4.96, abs=0.005)
    assert checkpoints.epoch_of(655, 131) == 5.0
    assert checkpoints.tokens_of(10, rows=32, length=128) == 40960


# --- evaluation ------------------------------------------------------------------------------------------

TEXTS = [
    "서울의 시장은 서울에서 회의를 열었다. 회의에는 시장과 의원이 참석했다. 의원은 서울을 떠났다.",
    "학교 앞 도서관에 학생이 모였다. 학생은 도서관에서 책을 읽고 학교로 돌아갔다.",
    "바다를 본 어부는 배를 띄웠다. 배는 바다로 나갔고 어부는 노래를 불렀다.",
]
DOCUMENTS = [{"id": f"d{number}", "title": "", "text": text} for number, text in enumerate(TEXTS)]
PASSAGES = [
    {"index": 0, "text": "학생은 책을 보았다. 읽은 것은 _이다.", "answer": "학생", "candidate": "의원"}
]


@pytest.fixture(scope="module")
def tokenizer():
    return tokenizers.load_tokenizer("train:wordpiece", texts=TEXTS * 3, size=130)


@pytest.fixture(scope="module")
def items():
    return coreference_items.build_items(DOCUMENTS)


def small(tokenizer, kind="bert", seed=0):
    size = {"vocab_size": len(tokenizer), "hidden": 32, "layers": 2, "max_length": 64}
    return encoders.masked_lm(kind, pad_id=tokenizer.pad_token_id, seed=seed, dropout=0.0, **size)


@pytest.fixture
def run(tmp_path, tokenizer, monkeypatch):
    """A folder of three checkpoints, the second of them broken, with one tokenizer above."""
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "run"
    for step in (0, 5, 10):
        small(tokenizer, seed=step).save_pretrained(folder / f"checkpoint-{step}")
    (folder / "checkpoint-5" / "model.safetensors").write_bytes(b"not a model")
    tokenizer.save_pretrained(folder)
    return folder


def test_a_bad_checkpoint_is_an_error_row_not_the_end(run, items):
    folders = checkpoints.find_checkpoints(run)
    frame = checkpoints.evaluate_checkpoints(folders, items=items, lambada=PASSAGES)
    assert frame["status"].tolist() == ["ok", "failed", "ok"]
    assert frame["evaluated_length"].dropna().tolist() == [64, 64]
    score = checkpoints.composite(frame["real1"], frame["real5"], frame["lambada1"])
    assert np.allclose(frame["score"], score, equal_nan=True)


def test_evaluation_is_kept_until_the_weights_change(run, items, tokenizer):
    folders = checkpoints.find_checkpoints(run)[:1]
    first = checkpoints.evaluate_checkpoints(folders, items=items, lambada=PASSAGES)
    again = checkpoints.evaluate_checkpoints(folders, items=items, lambada=PASSAGES)
    assert first.equals(again), "even the time of evaluation is that of the first"
    small(tokenizer, seed=77).save_pretrained(folders[0])
    changed = checkpoints.evaluate_checkpoints(folders, items=items, lambada=PASSAGES)
    assert changed["folder"][0] != first["folder"][0]


def test_records_keep_the_studys_schema_and_the_items(run, items, tmp_path):
    frame = checkpoints.evaluate_checkpoints([run / "checkpoint-10"], items=items, lambada=PASSAGES)
    path = checkpoints.write_record(frame.to_dict("records")[0], tmp_path / "out")
    assert path.name == "checkpoint-10_eval_results.json"
    record = json.loads(path.read_text())
    study = ["checkpoint", "seq_len", "evaluated_at", "lambada_top1", "real1", "real5", "coref_samples"]
    assert list(record)[:9] == [*study, "eval_time_seconds", "timings"]
    assert record["coref_samples"] == len(items)
    per_item = pd.read_csv(tmp_path / "out" / record["files"]["items"])
    assert per_item["id"].tolist() == list(items["id"])
    assert per_item["hit1"].mean() == record["real1"]
    assert checkpoints.read_records(tmp_path / "out")["score"].tolist() == [record["score"]]
    with pytest.raises(ValueError, match="evaluate some"):
        checkpoints.read_records(tmp_path)


def test_ranking_and_change_against_a_baseline():
    rows = [("checkpoint-1", 0.5, 0.6, 0.9), ("checkpoint-2", 0.6, 0.7, 0.1), ("checkpoint-3", 0.6, 0.6, 0.1)]
    frame = pd.DataFrame(rows, columns=["checkpoint", "real1", "real5", "lambada1"]).assign(status="ok")
    frame["score"] = checkpoints.composite(frame["real1"], frame["real5"], frame["lambada1"])
    ranked = checkpoints.rank(frame, baseline="checkpoint-1")
    assert ranked["name"].tolist() == ["checkpoint-2", "checkpoint-3", "checkpoint-1"]
    assert ranked["rank_real1"].tolist() == [1, 1, 3]
    assert ranked["rank_score"].tolist() == [2, 3, 1]
    assert ranked["change_real1"].round(6).tolist() == [0.1, 0.1, 0.0]
    with pytest.raises(ValueError, match="checkpoint-9"):
        checkpoints.rank(frame, baseline="checkpoint-9")


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


def test_the_command_runs_as_a_module(run, tmp_path, root):
    command = [sys.executable, "-m", "helpers", "checkpoints", str(run / "checkpoint-10"), "--documents", "2"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "out")], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "checkpoint-10" in done.stdout


# --- curricula -------------------------------------------------------------------------------------------


def test_every_item_contributes_a_labelled_target(tokenizer, items):
    rows = curricula.mention_rows(tokenizer, items, length=64)
    assert len(rows) == len(items)
    for row, masked in zip(rows, cloze.encode_items(tokenizer, items, max_length=64), strict=True):
        ids, labels = np.array(row["input_ids"]), np.array(row["labels"])
        assert tuple(labels[list(masked.positions)]) == masked.gold
        assert ((ids == tokenizer.mask_token_id) == (labels != IGNORED)).all(), "masked means labelled"


def test_other_items_in_sight_are_masked_but_not_what_they_repeat(tokenizer, items):
    for row, item in zip(curricula.mention_rows(tokenizer, items, length=64), items, strict=True):
        asked = sum(1 for document in items["document"] if document == item["document"])
        assert sum(label != IGNORED for label in row["labels"]) >= asked
        assert item["noun"] in tokenizer.decode(row["input_ids"]).replace(" ", ""), (
            "one mention stays in sight"
        )


def test_identity_start_is_identity_but_for_seeded_noise(tokenizer):
    from helpers.coreference.experiment import SMALL_DEBERTA, start_from_identity

    size = {"vocab_size": len(tokenizer), "hidden": 64, "layers": 1, "max_length": 64, "dropout": 0.0}
    networks = [encoders.masked_lm("deberta-v2", pad_id=0, seed=n, **size, **SMALL_DEBERTA) for n in (0, 1)]
    for network in networks:
        start_from_identity(network, seed=5)
    values = [network.base_model.encoder.layer[0].attention.self.value_proj.weight for network in networks]
    assert torch.equal(*values)
    assert (values[0] - torch.eye(64)).std().item() == pytest.approx(0.02, rel=0.1)


def test_masking_touches_only_rows_without_labels(tokenizer, items):
    rows = curricula.training_rows("combined", tokenizer, documents=DOCUMENTS, items=items, length=32)
    batch = Features(rows).batch(range(len(rows)), pad_id=tokenizer.pad_token_id)
    masked = curricula.masking(tokenizer)(batch, np.random.default_rng(0))
    own = (batch["labels"] != IGNORED).any(axis=1)
    assert 0 < own.sum() < len(rows)
    assert (masked["input_ids"][own] == batch["input_ids"][own]).all()
    assert (masked["labels"][own] == batch["labels"][own]).all()
    assert (masked["labels"] != IGNORED).any(axis=1).all(), "every row has a target"


def test_windows_cover_documents_once(tokenizer):
    rows = curricula.windows(tokenizer, DOCUMENTS, length=16, shortest=1)
    assert max(len(row["input_ids"]) for row in rows) <= 16
    inner = [token for row in rows for token in row["input_ids"][1:-1]]
    whole = [token for text in TEXTS for token in tokenizer(text, add_special_tokens=False)["input_ids"]]
    assert inner == whole
    assert curricula.windows(tokenizer, [], length=16) == []
    with pytest.raises(ValueError, match="curriculum"):
        curricula.training_rows("mlm_v3", tokenizer, documents=[], items=[], length=16)


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra", "deberta-v2"])
def test_the_head_at_targets_only_gives_the_same_loss_and_gradients(kind, tokenizer, items):
    rows = curricula.mention_rows(tokenizer, items, length=64)
    arrays = Features(rows).batch(range(len(rows)), pad_id=tokenizer.pad_token_id)
    batch = {name: torch.tensor(values) for name, values in arrays.items()}
    full, sparse = small(tokenizer, kind), small(tokenizer, kind)
    losses = [full(**batch).loss]
    with curricula.targets_only(sparse):
        losses.append(sparse(**batch).loss)
    for loss in losses:
        loss.backward()
    assert losses[0].item() == pytest.approx(losses[1].item(), abs=1e-5)
    for (name, a), (_, b) in zip(full.named_parameters(), sparse.named_parameters(), strict=True):
        if a.grad is not None:
            torch.testing.assert_close(a.grad, b.grad, atol=1e-5, rtol=1e-3, msg=name)
    assert sparse(**batch).logits.shape[:2] == batch["input_ids"].shape, "the hooks are gone afterwards"


# --- trajectories ----------------------------------------------------------------------------------------


def answers(step, right, documents=None):
    n = len(right)
    documents = documents if documents is not None else [f"d{at // 2}" for at in range(n)]
    return pd.DataFrame(
        {"run": "r", "step": step, "id": [f"i{at}" for at in range(n)], "document": documents, "hit1": right}
    )


def test_a_curve_has_a_value_and_an_interval_per_step():
    frame = pd.concat([answers(0, [False] * 40), answers(5, [True, False] * 20)])
    curve = trajectories.intervals(frame, ["run", "step"])
    assert curve["value"].tolist() == [0.0, 0.5]
    assert curve["items"].tolist() == [40, 40]
    assert curve["low"][0] == 0.0 and 0.1 < curve["high"][0] < 0.2, "20 documents without a hit prove little"
    assert curve["low"][1] == curve["high"][1] == 0.5, (
        "each document has one hit: nothing varies between them"
    )


def test_pairs_are_aligned_by_item_and_must_be_the_same():
    before, after = answers(0, [True, False] * 30), answers(1, [True, True] * 30)
    result = trajectories.compare(before, after.sample(frac=1, random_state=1))
    assert result["value"] == 0.5 and result["p"] < 0.01 and result["mcnemar"] < 1e-6
    assert trajectories.compare(before, before)["p"] == 1.0
    with pytest.raises(ValueError, match="same items"):
        trajectories.compare(before, after.iloc[:-1])


def test_holm_counts_all_questions():
    same, better = answers(0, [True, False] * 30), answers(1, [True, True] * 30)
    frame = trajectories.compare_all({"better": (same, better), "same": (same, same)})
    assert frame["stands"].tolist() == [True, False]
    assert (frame["holm"] >= frame["p"]).all()


def test_one_standard_error_takes_the_earliest_that_is_as_good():
    rng = np.random.default_rng(0)
    base = rng.random(400) < 0.6
    flipped = base.copy()
    flipped[np.flatnonzero(~base)[:2]] = True  # two items better: less than one standard error
    frame = pd.concat([answers(1, rng.random(400) < 0.2), answers(2, base), answers(3, flipped)])
    assert trajectories.best_step(frame) == 3
    documents_apart = frame.assign(document=frame["id"])
    assert trajectories.one_standard_error(documents_apart) in (2, 3)
    noisy = pd.concat([answers(1, rng.random(400) < 0.59), answers(2, rng.random(400) < 0.61)])
    assert trajectories.one_standard_error(noisy) == 1


def test_clustered_error_matches_its_definition():
    assert trajectories.clustered_error(np.array([1.0, 1.0, 0.0, 0.0]), list("aabb")) == 0.5
    values = np.random.default_rng(0).random(500)
    independent = trajectories.clustered_error(values, range(500))
    assert independent == pytest.approx(values.std(ddof=1) / np.sqrt(500), rel=1e-9)
    assert trajectories.clustered_error(np.array([1.0]), ["a"]) == 0.0


def test_overfitting_compares_the_best_with_the_last():
    frame = pd.concat([answers(1, [True] * 60), answers(2, [True, False] * 30)])
    result = trajectories.overfitting(frame)
    assert (result["best_step"], result["last_step"], result["value"]) == (1, 2, -0.5)
    assert result["p"] < 0.01


def test_answers_are_read_back_with_their_checkpoint(tmp_path):
    answers(7, [True, False]).drop(columns=["run", "step"]).to_csv(tmp_path / "items.csv", index=False)
    rows = [{"run": "a", "step": 7, "folder": str(tmp_path), "status": "ok"}]
    rows += [{"run": "a", "step": 9, "folder": "nowhere", "status": "failed"}]
    frame = trajectories.read_answers(pd.DataFrame(rows))
    assert frame["step"].tolist() == [7, 7] and frame["hit1"].tolist() == [True, False]
    with pytest.raises(ValueError, match="error"):
        trajectories.read_answers(pd.DataFrame(rows[1:]))
