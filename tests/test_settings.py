"""Types and ranges of parameters, whoever sets them, and YAML that would hang or fill the machine."""

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
        ({"fold_count": 2}, "fold_count must lie from 3 to 1,000, got 2"),
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


CELL = 'data: str = "sample"\nseeds: list[int] = [1, 2]\npeak_lr: float = 3e-4\nnames: list[str] = ["a"]\n'


def run_cells(injected=""):
    """Run the parameters cell, then what papermill adds, as a kernel does."""
    namespace = {"In": ["", CELL]}
    exec(CELL, namespace)
    if injected:
        source = f"# Parameters\n{injected}\n"
        namespace["In"].append(source)
        exec(source, namespace)
    return namespace


def test_defaults_and_good_values_of_a_notebook_pass_and_an_int_becomes_a_float():
    settings.check(run_cells())
    namespace = run_cells("peak_lr = 1\nseeds = [7]")
    settings.check(namespace)
    assert namespace["peak_lr"] == 1.0 and isinstance(namespace["peak_lr"], float)
    assert namespace["seeds"] == [7]


@pytest.mark.parametrize(
    ("injected", "words"),
    [
        (
            'seeds = "[1]"',
            r"seeds must be a list, got text '\[1\]'; take the quotes away \(papermill: -y 'seeds: ",
        ),
        ("seeds = [1.5]", r"seeds\[0\] must be int, got float 1.5"),
        ('peak_lr = "fast"', "peak_lr must be float, got text 'fast'"),
        ('names = "한 문장"', r"names must be a list, got text '한 문장'; write \[한 문장\] \(papermill: -y"),
        ("data = 5", "data must be str, got int 5; quote it"),
        ("sedes = [1]", "unknown parameter 'sedes'; did you mean 'seeds'"),
    ],
)
def test_wrong_values_and_names_are_refused_with_the_remedy(injected, words):
    with pytest.raises(ValueError, match=words):
        settings.check(run_cells(injected))


def test_everything_wrong_is_said_at_once():
    with pytest.raises(
        ValueError, match=r"(?s)unknown parameter 'x'.*data must be str.*seeds must be a list"
    ):
        settings.check(run_cells("seeds = 1\ndata = 2\nx = 3"))
