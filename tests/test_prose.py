"""Prose follows numbers: where the tables behind a sentence turn round, its words must change.

A cell tagged `finding` states one, and reads only what earlier cells made. Each notebook is run on its smoke
parameters in this process; then every such cell is run again on tables whose signs and decisions are flipped.
"""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from helpers.statistics import Interval

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(ROOT.glob("notebooks/0*.ipynb"))
FLIPPED = {"better": "worse", "worse": "better", "undecided": "better", "equivalent": "worse"}
VERBS = re.compile(r"\b(gains?|loses?|costs?|helps?|hurts?|beats?|better|worse|luck|wins?)\b", re.IGNORECASE)


def code_cells(path: Path) -> list[dict]:
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def states_a_finding(cell: dict) -> bool:
    return "finding" in cell["metadata"].get("tags", [])


def flipped(value):
    """Turn every sign and decision round, inside frames, series, intervals, mappings and sequences."""
    if isinstance(value, Interval):
        return Interval(-value.value, -value.high, -value.low)
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, float | np.floating):
        return -value
    if isinstance(value, str):
        return FLIPPED.get(value, value)
    if isinstance(value, pd.DataFrame):
        return pd.DataFrame({name: flipped(value[name]) for name in value.columns}, index=value.index)
    if isinstance(value, pd.Series):
        return pd.Series([flipped(one) for one in value], index=value.index, name=value.name)
    if isinstance(value, dict):
        return {name: flipped(one) for name, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(flipped(one) for one in value)
    if isinstance(value, list | tuple):
        return type(value)(flipped(one) for one in value)
    return value


def names_read(source: str) -> set[str]:
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)]
    return {node.id for node in nodes if isinstance(node.ctx, ast.Load)}


class Notebook:
    """A notebook run cell by cell in this process."""

    def __init__(self, path: Path, folder: Path):
        import matplotlib
        from IPython.core.interactiveshell import InteractiveShell

        matplotlib.use("agg")
        self.shell, self.cells = InteractiveShell(), code_cells(path)
        parameters = yaml.safe_load((ROOT / "params" / "smoke" / f"{path.stem}.yaml").read_text()) or {}
        for cell in self.cells:
            self.run(cell)
            if "parameters" in cell["metadata"].get("tags", []):
                self.shell.user_ns.update(parameters)
            if states_a_finding(cell):
                cell["before"] = dict(self.shell.user_ns)

    def run(self, cell: dict, **changed) -> str:
        """Run a cell; return what it says: sentences and the titles of its figures."""
        import matplotlib.pyplot as plt
        from IPython.utils.capture import capture_output

        self.shell.user_ns.update(changed)
        with capture_output() as said:
            result = self.shell.run_cell("".join(cell["source"]))
        result.raise_error()
        titles = [ax.get_title() for number in plt.get_fignums() for ax in plt.figure(number).axes]
        titles += [plt.figure(number).get_suptitle() for number in plt.get_fignums()]
        plt.close("all")
        sentences = [output.data.get("text/markdown", "") for output in said.outputs]
        return " ".join([*sentences, *titles, said.stdout])

    def told(self, cell: dict) -> tuple[str, str]:
        """What a finding says as it is, and with everything it reads turned round."""
        names = names_read("".join(cell["source"])) & cell["before"].keys()
        as_it_is = {name: cell["before"][name] for name in names}
        before = self.run(cell, **as_it_is)
        after = self.run(cell, **{name: flipped(value) for name, value in as_it_is.items()})
        self.shell.user_ns.update(as_it_is)
        return before, after


def words(text: str) -> str:
    return " ".join(re.findall(r"[^\W\d_]+", text))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_finding_changes_its_words_when_the_numbers_turn_round(path, tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_OUT", str(tmp_path))
    notebook = Notebook(path, tmp_path)
    findings = [cell for cell in notebook.cells if states_a_finding(cell)]
    assert findings, "no cell is tagged as stating a finding"
    for cell in findings:
        before, after = notebook.told(cell)
        assert words(before).strip(), f"cell {cell['id']} says nothing"
        assert words(before) != words(after), f"cell {cell['id']} says the same of opposite numbers: {before}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_only_findings_and_questions_say_who_wins(path):
    for cell in code_cells(path):
        if states_a_finding(cell):
            continue
        calls = [node for node in ast.walk(ast.parse("".join(cell["source"]))) if isinstance(node, ast.Call)]
        for call in calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr in ("say", "set_title", "suptitle"):
                strings = [
                    n.value
                    for n in ast.walk(call)
                    if isinstance(n, ast.Constant) and isinstance(n.value, str)
                ]
                claims = [text for text in strings if VERBS.search(text) and not text.rstrip().endswith("?")]
                assert not claims, f"cell {cell['id']} states a finding without the tag: {claims}"
