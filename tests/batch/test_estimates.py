"""Estimates of a run's size, from its parameters alone."""

from pathlib import Path

from helpers.batch import plans
from helpers.batch.estimates import estimate


def plan(values, name="04_ner"):
    return plans.Plan(Path(f"{name}.ipynb"), suite="s", folder=Path("s"), values=values, overrides={})


def test_the_estimate_counts_what_the_parameters_say():
    values = {"models": ["klue/roberta-large", "a/b"], "seeds": [1, 2, 3], "folds": [1], "tokenizer": "a/c"}
    assert estimate(plan(values | {"epochs": 2.0, "train_rows": 100, "batch_size": 32})) == [
        "varies: models 2, seeds 3 (6 runs if all are crossed)",
        "models: klue/roberta-large, 337 M parameters, at least 5.4 GB to fine-tune",
        "models: a/b, size unknown",
        "tokenizer: a/c",
        "steps: 100 rows × 2.0 epochs / batch 32 = 8 a run",
    ]
    assert estimate(plan({"data": "sample"})) == []


def test_all_rows_are_counted_where_the_file_is_known():
    (line,) = estimate(plan({"train_rows": 0, "epochs": 10, "batch_size": 32}))
    assert line == "steps: 21,008 rows × 10 epochs / batch 32 = 6,570 a run"
    assert estimate(plan({"train_rows": 0, "epochs": 10, "batch_size": 32}, name="template")) == []


def test_lora_needs_the_frozen_weights_only():
    (line,) = estimate(plan({"model": "google/gemma-2-27b-it", "lora": True}))
    assert "27.2 G parameters, at least 54.5 GB for frozen 16-bit weights" in line
