"""Ranges of parameters, and YAML that would hang or fill the machine."""

import pytest

from helpers import settings
from helpers.batch import plans
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"batch_size": 0}, "batch_size must lie from 1 to 1,000,000, got 0"),
        ({"vocabulary_size": 0}, "vocabulary_size must lie from 100 to 1,000,000, got 0"),
        ({"hidden": 0}, "hidden must lie from 1"),
        ({"peak_lr": 0.0}, "peak_lr must lie between 0 and 10, got 0.0"),
        ({"encoder_lr": -1}, "encoder_lr must lie above 0, got -1"),
        ({"held_out": 1.0}, "held_out must lie between 0 and 1, got 1.0"),
        ({"seeds": [1, -1]}, r"seeds\[1\] must lie from 0 to 4,294,967,295, got -1"),
        ({"encoder": {"hidden": 0}}, r"encoder\.hidden must lie from 1"),
        ({"peak_lr": float("nan")}, "peak_lr must be a finite number, got float nan"),
        ({"grid_lrs": [float("inf")]}, r"grid_lrs\[0\] must be a finite number"),
        ({"epochs": 10**6 + 1}, "epochs must lie from 1"),
        ({"peak_lr": "3e-5"}, "peak_lr must be a number, got text '3e-5'"),
        ({"epochs": True}, "epochs must be a number, got bool True"),
    ],
)
def test_numbers_out_of_range_are_named(values, complaint):
    with pytest.raises(ValueError, match=complaint):
        settings.check(values)


def test_ends_of_a_range_belong_to_it_unless_it_is_open():
    settings.check({"batch_size": 1, "train_rows": 0, "dropout": 0.0, "margin": 0, "epochs": 10**6})
    assert not settings.SHARE.holds(0) and not settings.SHARE.holds(1)


def test_all_are_listed_at_once():
    with pytest.raises(ValueError, match=r"hidden must .*; epochs must "):
        settings.check({"hidden": 0, "epochs": 0})


def test_what_is_no_parameter_is_left_alone():
    settings.check(
        {"In": ["x"], "drawn": [object()], "encoder": object(), "lengths": None, "x": float("nan")}
    )


@pytest.mark.parametrize(
    ("notebook", "line"), [("04", "batch_size: 0"), ("03", "hidden: 0"), ("05", "encoder: {epochs: 0}")]
)
def test_the_runner_refuses_before_a_kernel_starts(tmp_path, notebook, line):
    (suite := tmp_path / "params" / "mine").mkdir(parents=True)
    name = next((ROOT / "notebooks").glob(f"{notebook}*")).stem
    (suite / f"{name}.yaml").write_text(line + "\n")
    with pytest.raises(ValueError, match=rf"nothing was done.*\n.*{name}\.yaml: .* must lie from 1"):
        plans.make(suite)
