"""A running notebook's parameters: what `papermill -p` sets is checked as a parameter file is."""

import pytest

from helpers import values

CELL = 'data: str = "sample"\nseeds: list[int] = [1, 2]\npeak_lr: float = 3e-4\nnames: list[str] = ["a"]\n'


def notebook(injected=""):
    """Run the parameters cell, then what papermill adds, as a kernel does."""
    namespace = {"In": ["", CELL]}
    exec(CELL, namespace)
    if injected:
        source = f"# Parameters\n{injected}\n"
        namespace["In"].append(source)
        exec(source, namespace)
    return namespace


def test_defaults_and_good_values_pass_and_an_int_becomes_a_float():
    values.check(notebook())
    namespace = notebook("peak_lr = 1\nseeds = [7]")
    values.check(namespace)
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
        values.check(notebook(injected))


def test_everything_wrong_is_said_at_once():
    with pytest.raises(
        ValueError, match=r"(?s)unknown parameter 'x'.*data must be str.*seeds must be a list"
    ):
        values.check(notebook("seeds = 1\ndata = 2\nx = 3"))
