"""metrics.json: what may be recorded, what is refused, and that a reader never sees half a file."""

import json
import os
import subprocess
import sys
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers import records

FIGURE = {"name": "F1", "value": 71.1, "low": 70.0, "high": 72.0}


@pytest.fixture
def out(tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_OUT", str(tmp_path))
    return tmp_path


def record(**changes):
    return records.write("01_eda", **({"question": "Q?", "verdict": "V.", "headline": [FIGURE]} | changes))


def test_written_file_has_the_contract_fields_in_order(out):
    record(rows=3, table=pd.DataFrame({"a": [1, 2]}))
    found = json.loads((out / "metrics.json").read_text())
    assert list(found) == ["question", "verdict", "headline", "rows", "table"]
    assert found["headline"] == [FIGURE]
    assert found["table"] == [{"a": 1}, {"a": 2}]


def test_the_headline_comes_back_as_a_frame(out):
    shown = record(headline=[FIGURE, {"name": "rows", "value": 5, "low": None, "high": None}])
    assert list(shown.index) == ["F1", "rows"]
    assert shown.loc["F1", "high"] == 72.0


def test_a_difference_is_recorded_with_what_it_is_from_and_its_decision(out):
    row = {"system": "a", "than": "b", "difference": (1.0, 0.5, 1.5), "decision": "better"}
    record(headline=[FIGURE, records.effect("a over b", row)])
    found = json.loads((out / "metrics.json").read_text())["headline"][1]
    want = {"name": "a over b", "value": 1.0, "low": 0.5, "high": 1.5, "than": "b", "decision": "better"}
    assert found == want


def test_the_same_values_give_the_same_bytes(out):
    record(more=np.arange(3))
    first = (out / "metrics.json").read_bytes()
    record(more=[0, 1, 2])
    assert (out / "metrics.json").read_bytes() == first


def test_numpy_and_named_tuples_become_plain_numbers(out):
    interval = namedtuple("Interval", "value low high")(np.float32(0.5), np.float64(0.25), 1)
    record(
        a=np.int64(3), b=np.array([[1.5, 2.5]]), c=interval, d={1: np.bool_(True)}, e=pd.Series([1], ["x"])
    )
    found = json.loads((out / "metrics.json").read_text())
    assert found["a"] == 3
    assert found["b"] == [[1.5, 2.5]]
    assert found["c"] == {"value": 0.5, "low": 0.25, "high": 1}
    assert found["d"] == {"1": True}
    assert found["e"] == {"x": 1}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"question": " "}, "question must be a sentence"),
        ({"verdict": None}, "verdict must be a sentence"),
        ({"headline": []}, "headline is empty"),
        ({"headline": [{"name": "F1", "value": 1.0}]}, r"headline\[0\] must have exactly the fields"),
        ({"headline": [FIGURE | {"unit": "%"}]}, "exactly the fields"),
        ({"headline": [FIGURE | {"name": ""}]}, "name must be text"),
        ({"headline": [FIGURE | {"value": float("nan")}]}, r"headline\[0\].value is nan"),
        ({"headline": [FIGURE | {"value": "71"}]}, "must be a number"),
        ({"headline": [FIGURE | {"value": True}]}, "must be a number"),
        ({"headline": [FIGURE | {"value": None}]}, "needs a value"),
        ({"headline": [FIGURE | {"low": None}]}, "both or neither"),
        ({"headline": [FIGURE | {"low": 71.2}]}, "expected low <= value <= high"),
        ({"headline": [FIGURE | {"high": 71.0}]}, "expected low <= value <= high"),
        ({"scores": {"a": [1.0, float("inf")]}}, r"scores.a\[1\] is inf"),
        ({"scores": np.array([np.nan])}, r"scores\[0\] is nan"),
        ({"model": object()}, "model is a object"),
        ({"table": {(1, 2): 3}}, "needs text or numbers as keys"),
    ],
)
def test_bad_records_are_refused_and_leave_the_old_file(out, changes, complaint):
    record(kept=1)
    with pytest.raises(ValueError, match=complaint):
        record(**changes)
    assert json.loads((out / "metrics.json").read_text())["kept"] == 1


def test_an_interval_may_touch_its_value(out):
    record(headline=[FIGURE | {"low": 71.1, "high": 71.1}])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(value=json_values)
def test_plain_leaves_json_alone_and_survives_a_round_trip(value):
    assert records.plain(value) == value
    assert json.loads(json.dumps(records.plain(value), allow_nan=False)) == value


def test_by_hand_the_folder_is_a_scratch_one(monkeypatch, tmp_path):
    monkeypatch.delenv("NUNCHI_OUT", raising=False)
    monkeypatch.setattr(records, "ROOT", tmp_path)
    assert records.folder("01_eda") == tmp_path / "reports" / "scratch" / "01_eda"
    assert records.folder("01_eda").is_dir()


def test_an_earlier_run_by_hand_is_moved_aside_and_not_overwritten(monkeypatch, tmp_path):
    monkeypatch.delenv("NUNCHI_OUT", raising=False)
    monkeypatch.setattr(records, "ROOT", tmp_path)
    for number in range(3):
        monkeypatch.setattr(records, "_OWN", set())  # a new process
        record(number=number)
        record(number=number)  # the last cell again: the same run
    found = {
        folder.name: json.loads((folder / "metrics.json").read_text())["number"]
        for folder in (tmp_path / "reports" / "scratch").iterdir()
    }
    assert found == {"01_eda-1": 0, "01_eda-2": 1, "01_eda": 2}


def test_a_failed_write_leaves_the_old_text_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    records.write_json(path, {"old": True})

    def no_space(_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="disk full"):
        records.write_json(path, {"new": True})
    assert json.loads(path.read_text()) == {"old": True}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_the_environment_names_the_commit_and_the_installed_versions(root):
    frame = records.environment()
    assert frame.loc["this run", "numpy"] == np.__version__
    git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True)
    if git.returncode == 0:
        assert git.stdout.startswith(frame.loc["this run", "commit"].rstrip("+"))


def test_a_package_that_is_not_installed_is_said_so(monkeypatch):
    monkeypatch.setattr(records, "PACKAGES", ("no-such-package",))
    assert records.versions()["no-such-package"] == "not installed"


def test_versions_import_no_torch():
    code = "import sys; from helpers import records; records.environment(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_config_takes_the_parameters_that_it_has_fields_for():
    @dataclass(frozen=True)
    class Config:
        epochs: int
        hidden: int = 64

    assert records.configured(Config, {"epochs": 3, "data": "sample"}) == Config(epochs=3)
    assert records.configured(Config, {"epochs": 3, "hidden": 8}) == Config(3, 8)
    with pytest.raises(TypeError, match="epochs"):
        records.configured(Config, {"hidden": 8})


def test_an_interval_becomes_a_figure():
    assert records.figure("x", (1, 0, 2)) == {"name": "x", "value": 1.0, "low": 0.0, "high": 2.0}
