"""What others published on KLUE's dev set, beside our scores."""

import ast
import json
from types import SimpleNamespace

import pytest

from helpers.reference import klue_dev
from helpers.statistics import Interval

LEVEL = Interval(60.0, 59.0, 61.0)
SMALL = "klue/roberta-small"


@pytest.mark.parametrize(("task", "score"), [("relations", 61.26), ("entities", 83.55)])
def test_a_published_score_stands_beside_ours(task, score):
    found = klue_dev(task, {f"{SMALL}@5fe1f0c": LEVEL, "bilstm": LEVEL}, data="hub")
    assert found.to_dict("records") == [
        {"model": SMALL, "here": LEVEL, "published": score, "source": "KF-DeBERTa's README"}
    ]


def test_other_data_do_not_compare():
    assert klue_dev("relations", {SMALL: LEVEL}, data="sample").empty
    assert klue_dev("relations", {SMALL: LEVEL}, data="/my/own/relations").empty


@pytest.mark.parametrize("notebook", ["02_tokenizer_comparison", "03_markers", "04_ner_swa_ensemble"])
def test_notebooks_show_it(notebook, root):
    """Their own statements, with a model of the table as what was trained."""
    cells = json.loads((root / "notebooks" / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    (source,) = ["".join(cell["source"]) for cell in cells if "klue_dev(" in "".join(cell["source"])]
    (call,) = [
        statement.value
        for statement in ast.parse(source).body
        if isinstance(statement, ast.Assign) and "klue_dev" in ast.unparse(statement.value)
    ]
    run = SimpleNamespace(model=SMALL)
    space = {"klue_dev": klue_dev, "data": "local", "cells": {"a": run}, "chosen": "a", "level": LEVEL}
    space |= {"model": SMALL, "levels": {"b": LEVEL}, "best": "b", "alone": {SMALL: LEVEL}}
    found = eval(compile(ast.Expression(call), notebook, "eval"), space)
    assert found["model"].tolist() == [SMALL] and found["here"].tolist() == [LEVEL]
