"""Prose follows numbers: where the tables behind a sentence turn round, its words must change.

A cell tagged `finding` states one, and reads only what earlier cells made. Each notebook is run on its smoke
parameters in this process; then every such cell is run again on tables whose signs and decisions are flipped.
The verdict is a finding, too. Sentences, titles and captions of other cells, and headings, are questions
where they speak of winning or losing.
"""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from helpers.batch import plans
from helpers.statistics import Design, Interval

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(ROOT.glob("notebooks/*.ipynb"))
FLIPPED = {"better": "worse", "worse": "better", "undecided": "better", "equivalent": "worse"}
VERBS = re.compile(r"\b(gains?|loses?|costs?|helps?|hurts?|beats?|better|worse|luck|wins?)\b", re.IGNORECASE)
SPOKEN = ("say", "set_title", "suptitle")  # calls whose text a reader takes for a sentence


def code_cells(path: Path) -> list[dict]:
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def states_a_finding(cell: dict) -> bool:
    return "finding" in cell["metadata"].get("tags", [])


def flipped(value):
    """Turn every sign and decision round, inside frames, series, arrays, intervals, mappings and sequences.

    Counts stay, and so does the spread of a `Design`: its value turns round.
    """
    if isinstance(value, Interval):
        return Interval(-value.value, -value.high, -value.low)
    if isinstance(value, Design):
        return value._replace(value=-value.value)
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return np.array([flipped(one) for one in value.ravel()] + [None], dtype=object)[:-1].reshape(
                value.shape
            )
        return -value if value.dtype.kind == "f" else ~value if value.dtype.kind == "b" else value
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


def names_made(source: str) -> set[str]:
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)]
    return {node.id for node in nodes if isinstance(node.ctx, ast.Store)}


def texts_in(node: ast.AST) -> list[str]:
    """The strings inside an expression, each f-string as a whole, its figures as `…`."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        whole = "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        inside = [
            text
            for part in node.values
            if isinstance(part, ast.FormattedValue)
            for text in texts_in(part.value)
        ]
        return [whole, *inside]
    return [text for child in ast.iter_child_nodes(node) for text in texts_in(child)]


def claims_in(texts: list[str]) -> list[str]:
    return [text for text in texts if VERBS.search(text) and not text.rstrip().endswith("?")]


class Notebook:
    """A notebook run cell by cell in this process."""

    def __init__(self, path: Path, folder: Path):
        import matplotlib
        from IPython.core.interactiveshell import InteractiveShell

        matplotlib.use("agg")
        InteractiveShell.clear_instance()
        self.shell, self.cells = InteractiveShell.instance(), code_cells(path)  # what `display` writes to
        parameters = yaml.safe_load((ROOT / "params" / "smoke" / f"{path.stem}.yaml").read_text()) or {}
        self.fixed: set[str] = set()  # parameters: choices, which do not turn round
        for cell in self.cells:
            if states_a_finding(cell):
                cell["before"] = dict(self.shell.user_ns)
            self.run(cell)
            if "parameters" in cell["metadata"].get("tags", []):
                self.fixed = names_made("".join(cell["source"]))
                self.shell.user_ns.update(parameters)

    def run(self, cell: dict, **changed) -> str:
        """Run a cell; return what it says: sentences and the titles of its figures."""
        import matplotlib.pyplot as plt
        from IPython.utils.capture import capture_output

        self.shell.user_ns.update(changed)
        with capture_output() as said:
            result = self.shell.run_cell("".join(cell["source"]))
        result.raise_error()
        axes = [ax for number in plt.get_fignums() for ax in plt.figure(number).axes]
        titles = [ax.get_title(place) for ax in axes for place in ("left", "center", "right")]
        titles += [plt.figure(number).get_suptitle() for number in plt.get_fignums()]
        plt.close("all")
        shown = [output.data.get("text/markdown", "") for output in said.outputs]
        sentence = getattr(result.result, "data", "")  # of `tables.say`, where it ends the cell
        return " ".join([*shown, sentence if isinstance(sentence, str) else "", *titles])

    def told(self, cell: dict) -> tuple[str, str]:
        """What a finding says as it is, and with everything it reads turned round."""
        names = names_read("".join(cell["source"])) & cell["before"].keys()
        as_it_is = {name: cell["before"][name] for name in names}
        before = self.run(cell, **as_it_is)
        turned = {name: flipped(value) for name, value in as_it_is.items() if name not in self.fixed}
        after = self.run(cell, **turned)
        self.shell.user_ns.update(as_it_is)
        return before, after


def words(text: str) -> str:
    return " ".join(re.findall(r"[^\W\d_]+", text))


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request, tmp_path_factory):
    """Each notebook, run once; `swept` holds the runs of its sweeps, n-grams aside, by the sweep's name."""
    from IPython.core.interactiveshell import InteractiveShell

    from helpers import sweeps

    swept, original = {}, sweeps._Grid.__init__

    def watch(grid, *given, **named):
        original(grid, *given, **named)
        trained = zip(grid.keys, grid.configs, strict=True)
        swept.setdefault(grid.name, set()).update(k for k, one in trained if one.get("kind") != "NGrams")

    folder = tmp_path_factory.mktemp(request.param.stem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUNCHI_OUT", str(folder))
        patch.setattr(sweeps._Grid, "__init__", watch)
        run = Notebook(request.param, folder)
        run.path, run.swept = request.param, {name: len(keys) for name, keys in swept.items()}
        run.recorded = (folder / "metrics.json").read_bytes()
        yield run
    InteractiveShell.clear_instance()


@pytest.mark.slow
def test_the_same_parameters_give_the_same_bytes(notebook, smoke):
    """Run here and by the runner: two processes, one record."""
    assert notebook.recorded == (smoke[1] / notebook.path.stem / "metrics.json").read_bytes()


def test_the_plan_counts_what_is_trained(notebook):
    (plan,) = plans.make(ROOT / "params" / "smoke", only=[notebook.path.stem])
    planned: dict[str, int] = {}
    for training, runs in plans.trainings(plan).items():
        planned[training.sweep] = planned.get(training.sweep, 0) + runs
    if parents := notebook.shell.user_ns.get(
        "parents"
    ):  # 06: where the best is the earliest, they are one run
        again = {*parents["best"]["checkpoint"]} & {*parents["earliest"]["checkpoint"]}
        planned["06-runs"] -= len(again)
    assert {name: notebook.swept.get(name) for name in planned} == planned
    asked = {"checkpoints", "06-ablate", "06-answer", "06-examine", "sample-texts"}  # what is not trained
    assert notebook.swept.keys() - planned.keys() <= asked


def test_a_finding_changes_its_words_when_the_numbers_turn_round(notebook):
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
            captions = [keyword.value for keyword in call.keywords if keyword.arg in ("caption", "title")]
            spoken = isinstance(call.func, ast.Attribute) and call.func.attr in SPOKEN
            claims = claims_in([text for node in ([call] if spoken else captions) for text in texts_in(node)])
            assert not claims, f"cell {cell['id']} states a finding without the tag: {claims}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_headings_that_speak_of_winning_are_questions(path):
    cells = json.loads(path.read_text())["cells"]
    prose = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert not claims_in(re.findall(r"(?m)^#+ (.+)$", prose))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_verdict_is_a_finding(path):
    *_, last = cells = code_cells(path)
    calls = [node for node in ast.walk(ast.parse("".join(last["source"]))) if isinstance(node, ast.Call)]
    verdicts = [key.value for call in calls for key in call.keywords if key.arg == "verdict"]
    assert verdicts, "the last cell records the verdict"
    for verdict in [] if states_a_finding(last) else verdicts:
        assert isinstance(verdict, ast.Name), "build the verdict in a cell tagged as a finding, show it there"
        makers = [cell for cell in cells if verdict.id in names_made("".join(cell["source"]))]
        assert makers and all(states_a_finding(cell) for cell in makers)


def test_what_is_turned_round():
    frame = pd.DataFrame({"n": [3], "decision": ["better"], "difference": [Interval(2.0, 1.0, 3.0)]})
    turned = flipped(frame)
    assert turned.loc[0, "n"] == 3 and turned.loc[0, "decision"] == "worse"
    assert turned.loc[0, "difference"] == Interval(-2.0, -3.0, -1.0)
    assert flipped(np.array([1.5, -2.0])).tolist() == [-1.5, 2.0]
    assert flipped(np.array([True])).tolist() == [False] and flipped(np.array([3])).tolist() == [3]
    assert flipped({"a": (1.0, "equivalent")}) == {"a": (-1.0, "worse")}
    assert flipped(Design(1.0, 0.4, 0.3, 0.1, 9, 3)) == Design(-1.0, 0.4, 0.3, 0.1, 9, 3)
    nested = flipped(np.array([Interval(2.0, 1.0, 3.0), "worse"], dtype=object))
    assert nested.tolist() == [Interval(-2.0, -3.0, -1.0), "better"]


def test_texts_are_read_whole():
    node = ast.parse('f"Which {x} costs more than {y}?"').body[0]
    assert texts_in(node) == ["Which … costs more than …?"] and not claims_in(texts_in(node))
    assert claims_in(texts_in(ast.parse('f"{x} costs more"').body[0]))
