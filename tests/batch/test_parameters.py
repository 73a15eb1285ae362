"""Parameter cells and parameter files: what is read, what is refused, and how the refusal helps."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from helpers import settings
from helpers.batch import parameters

CELL = """
data: str = "sample"  # where rows come from
rows: int = 100  # how many
peak_lr: float = 3e-5  # after warm-up
dev: bool = False
models: list[str] = ["a", "b"]  # by name
lrs: list[float] = [1e-5, 2]
grid: dict[str, int] = {"a": 1}
limit: int = None  # no limit
"""


def notebook(source, *, cells=1):
    cell = {"cell_type": "code", "source": source, "metadata": {"tags": ["parameters"]}}
    return {"cells": [cell] * cells}


KNOWN = parameters.declared(notebook(CELL))


def complaints(**overrides):
    return parameters.resolve(KNOWN, overrides)[1]


def test_a_parameter_has_name_type_default_and_help():
    assert KNOWN["peak_lr"] == parameters.Parameter("peak_lr", "float", 3e-5, "after warm-up")
    assert KNOWN["dev"].help == ""
    assert list(KNOWN) == ["data", "rows", "peak_lr", "dev", "models", "lrs", "grid", "limit"]


def test_a_hash_inside_text_is_not_a_comment():
    known = parameters.declared(notebook('mark: str = "a # b"  # the mark'))
    assert (known["mark"].default, known["mark"].help) == ("a # b", "the mark")


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("rows = 3", "not a typed literal"),
        ("import os", "not a typed literal"),
        ("rows: int = 3 * 4", "is computed"),
        ("rows: int = len('a')", "is computed"),
        ("rows: int", "is not a typed literal"),
        ("rows: int = '3'", "must be int, got text '3'"),
        ("rows: int | None = 3", "has the type int | None"),
        (f"rows: int{'가' * 999} = 3", "use str, int, float"),
        ("rows: int = = 3", "not Python"),
    ],
)
def test_malformed_cells_are_refused(source, complaint):
    with pytest.raises(ValueError) as caught:
        parameters.declared(notebook(source))
    assert complaint in str(caught.value) and len(str(caught.value)) < 500


@pytest.mark.parametrize("cells", [0, 2])
def test_exactly_one_cell_is_tagged(cells):
    with pytest.raises(ValueError, match=f"found {cells}"):
        parameters.declared(notebook(CELL, cells=cells))


def test_what_fits_is_taken_and_the_rest_keeps_its_default():
    values, wrong = parameters.resolve(KNOWN, {"rows": 5, "peak_lr": 1, "lrs": [1, 2.5], "limit": None})
    assert wrong == []
    assert values["rows"] == 5
    assert values["peak_lr"] == 1.0 and type(values["peak_lr"]) is float
    assert values["lrs"] == [1.0, 2.5]
    assert values["limit"] is None
    assert values["data"] == "sample"


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ({"peak_rl": 1e-5}, "unknown parameter 'peak_rl'; did you mean 'peak_lr'?"),
        ({"zzz": 1}, "unknown parameter 'zzz'; known: data, rows"),
        ({"peak_lr": "3e-5"}, "YAML reads this as text, write 3.0e-5"),
        ({"peak_lr": True}, "peak_lr must be float, got bool True"),
        ({"peak_lr": None}, "peak_lr must be float, got nothing None"),
        ({"rows": True}, "rows must be int, got bool True"),
        ({"rows": 3.5}, "rows must be int, got float 3.5"),
        ({"rows": 100.0}, "rows must be int, got float 100.0; write 100"),
        ({"rows": "1e3"}, "write 1000"),
        ({"dev": 1}, "dev must be bool, got int 1"),
        ({"dev": "yes"}, "dev must be bool, got text 'yes'"),
        ({"data": 2024}, 'data must be str, got int 2024; quote it: "2024"'),
        ({"data": False}, 'quote it: "false"'),
        ({"models": "a"}, "models must be a list, got text 'a'; write [a]"),
        ({"models": ["a", 3]}, "models[1] must be str, got int 3"),
        ({"lrs": [1.0e-5, "2e-5"]}, "lrs[1] must be float, got text '2e-5'"),
        ({"grid": [1]}, "grid must be a mapping"),
        ({"grid": {"a": "x"}}, "grid.a must be int"),
        ({"peak_lr": float("nan")}, "peak_lr must be a finite number of ordinary size, got float nan"),
        ({"lrs": [float("inf")]}, "lrs[0] must be a finite number"),
        ({"rows": 10**400}, "rows must be a finite number"),
    ],
)
def test_what_does_not_fit_is_refused_with_advice(override, complaint):
    assert complaint in " ".join(complaints(**override))


def test_a_wrong_value_is_shown_in_a_line():
    (said,) = complaints(models="a" * 10_000)
    assert len(said) < 300 and said.count("…") == 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: &x [1, 1]\nb: &y [*x, *x]\nc: [*y, *y]\n", r"\*x: aliases are not supported"),
        ("a: " + "[" * 5000 + "]" * 5000, "more than 8 levels"),
        ("a: " + "{b: " * 5000 + "1" + "}" * 5000, "more than 8 levels"),
    ],
)
def test_bombs_are_refused_at_once(tmp_path, text, complaint):
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(ValueError, match=complaint):
        parameters.read(tmp_path / "p.yaml")


def test_all_mistakes_are_listed_at_once():
    assert len(complaints(peak_rl=1, rows="many", models=[1, 2])) == 4


@given(
    st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.from_regex(r"[-+]?[0-9]{1,6}[eE][-+]?[0-9]{1,2}", fullmatch=True)
)
def test_the_advised_spelling_is_the_same_number_to_yaml(text):
    advised = yaml.safe_load(settings.as_yaml_float(text))
    assert isinstance(advised, float)
    assert advised == float(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- a\n- b\n", "expected lines of `name: value`, got list"),
        ("just text", "got str"),
        ("1: a", "expected lines"),
        ("a: [1", "not readable as YAML"),
        ("a: 1\nb: 2\na: 3\n", "a is set twice"),
        ("a: !!python/object/apply:os.getcwd []", "not readable as YAML"),
    ],
)
def test_files_that_are_no_mapping_are_refused(tmp_path, text, complaint):
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(ValueError) as caught:
        parameters.read(tmp_path / "p.yaml")
    assert complaint in str(caught.value)


def test_an_empty_file_overrides_nothing(tmp_path):
    (tmp_path / "p.yaml").write_text("# all defaults\n")
    assert parameters.read(tmp_path / "p.yaml") == {}


def test_a_file_that_is_no_notebook_is_named(tmp_path):
    (tmp_path / "x.ipynb").write_text("{")
    with pytest.raises(ValueError, match=r"x\.ipynb is not a notebook"):
        parameters.load_notebook(tmp_path / "x.ipynb")


def test_sources_stored_as_lines_are_joined(tmp_path):
    cell = {
        "cell_type": "code",
        "source": ["a: int = 1\n", "b: int = 2"],
        "metadata": {"tags": ["parameters"]},
    }
    (tmp_path / "x.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert list(parameters.declared(parameters.load_notebook(tmp_path / "x.ipynb"))) == ["a", "b"]
