"""The command line: help that a newcomer can use, and one message for every kind of bad input."""

import os
import signal
import subprocess

import pytest

from helpers import cli
from tests.conftest import ROOT
from tests.projects import command, make_project, nunchi

EXIT = {
    "run": "0 all fine, 1",
    "render": "1 a notebook has never",
    "compare": "0 all",
    "pretrain": "0 all fine, 2",
    "checkpoints": "0 all",
    "fetch": "0 all",
    "import": "0 the folder",
    "score": "0 scored",
    "ledger": "0 every verdict",
    "readme": "0 written",
    "rehearse": "0 every row ran",
    "preflight": "0 nothing found",
    "predict": "0 all rows answered",
    "export": "0 written",
}


@pytest.fixture
def suite(tmp_path):
    """A project with one notebook; relative paths below are seen from its folder."""
    return make_project(tmp_path, {"plain": {"answer": 1}})


def call(capsys, *arguments):
    """Call the command in this process; return its exit code and what it said on each stream."""
    try:
        code = cli.main(arguments)
    except SystemExit as left:
        code = left.code
    return code, *capsys.readouterr()


def test_help_lists_the_commands_without_loading_their_rooms(capsys, monkeypatch):
    monkeypatch.setattr(cli.importlib, "import_module", None)
    code, page, _ = call(capsys, "--help")
    assert code == 0 and "nunchi run params/sample" in page
    assert all(f"\n    {name}" in page for name in cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_help_of_a_command_is_a_page(capsys, name):
    code, page, _ = call(capsys, name, "--help")
    assert code == 0
    assert page.count(f"nunchi {name} ") >= 2, "examples"
    assert f"exit codes: {EXIT[name]}" in page.replace("exit codes: 0 all rendered, ", "exit codes: ")
    assert max(map(len, page.splitlines())) <= 110
    options = [line.split()[0].rstrip(",") for line in page.splitlines() if line.startswith("  --")]
    assert all(len(page.split(option, 2)[-1].strip()) for option in options)


BAD = [
    ((), "the following arguments are required: COMMAND"),
    (("walk",), "invalid choice: 'walk' (choose from"),
    (("run",), "the following arguments are required: suite"),
    (("run", "nowhere"), "no parameter files in"),
    (("run", "notebooks"), "expected a folder of <notebook>.yaml files"),
    (("run", "params/tiny/plain.yaml"), "expected a folder of <notebook>.yaml files"),
    (("run", "params/tiny", "--only", "9"), "--only 09 matches nothing; there are plain"),
    (("run", "params/tiny", "--jobs", "0"), "expected a whole number from 1 on, got '0'"),
    (("run", "params/tiny", "--jobs", "two"), "expected a whole number from 1 on, got 'two'"),
    (("run", "params/tiny", "--engine", "spark"), "invalid choice: 'spark'"),
    (("run", "params/tiny", "--fast"), "unrecognized arguments: --fast"),
    (("run", "params/tiny", "--out", "notebooks/plain.ipynb"), "plain.ipynb"),
    (("render", "nowhere"), "no parameter files in"),
    (("render", "params/tiny", "--only", "x"), "--only x matches nothing"),
    (("render", "params/tiny", "--force"), "unrecognized arguments: --force"),
    (("render", "params/tiny", "--language", "fr"), "invalid choice: 'fr'"),
    (("compare", "params"), "the following arguments are required: B"),
    (("compare", "nowhere", "params"), "nowhere holds no metrics.json"),
    (
        ("compare", "notebooks/plain.ipynb", "params"),
        "is not a record: expected question, verdict and headline",
    ),
    (("checkpoints",), "the following arguments are required: PATH"),
    (("checkpoints", "nowhere"), "no folder nowhere; name a checkpoint"),
    (("checkpoints", "params"), "params holds no checkpoint-<step> folder"),
    (("checkpoints", "params", "--seq-len", "long"), "invalid int value: 'long'"),
    (("fetch",), "the following arguments are required: folder"),
    (("fetch", "data", "--only", "klue-mrc"), "invalid choice: 'klue-mrc'"),
    (("fetch", "notebooks/plain.ipynb"), "is a file; name a folder"),
    (("score", "a.csv"), "the following arguments are required: gold"),
    (("score", "a.csv", "notebooks/plain.ipynb"), "no such file: a.csv"),
    (("import", "a.tsv", "--task", "entities"), "the following arguments are required: --to"),
    (("import", "a.tsv", "--task", "parsing", "--to", "b"), "invalid choice: 'parsing'"),
    (("import", "a.tsv", "--task", "entities", "--to", "b"), "no such file: a.tsv"),
    (("import", "a.tsv", "--task", "entities", "--to", "b", "--map", "body"), "--map takes NAME=FIELD"),
    (("import", "notebooks/plain.ipynb", "--task", "relations", "--to", "b"), "cannot read .ipynb"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), BAD, ids=lambda value: " ".join(value) if value else "nothing"
)
def test_bad_input_is_one_message(suite, tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    code, said, complaint = call(capsys, *arguments)
    assert code == 2 and said == ""
    assert words in complaint and "Traceback" not in complaint
    assert complaint.splitlines()[-1].startswith("nunchi"), "the last line names the command"
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("answer: [1", "not readable as YAML"),
        ("\tanswer: 1", "not readable as YAML"),
        ("- answer", "expected lines of `name: value`, got list"),
        ("anwser: 1", "did you mean 'answer'?"),
        ("answer: many", "answer must be int, got text 'many'"),
        ("answer: 1\nanswer: 2", "answer is set twice"),
    ],
)
@pytest.mark.parametrize("name", ["run", "render"])
def test_a_bad_parameter_file_is_one_message(suite, capsys, name, text, words):
    (suite / "plain.yaml").write_text(text)
    code, said, complaint = call(capsys, name, str(suite))
    assert (code, said) == (2, "")
    first, line = complaint.splitlines()
    assert first == f"nunchi {name}: nothing was done, please correct:"
    assert line.startswith("  tiny/plain.yaml: ") and words in line


def test_a_file_that_is_not_text_and_a_notebook_that_is_none_are_named(suite, tmp_path, capsys):
    (suite / "plain.yaml").write_bytes(b"\xff\xfe\x00")
    assert "tiny/plain.yaml: not readable as YAML" in call(capsys, "run", str(suite))[2]
    (suite / "plain.yaml").write_text("")
    (tmp_path / "notebooks" / "plain.ipynb").write_text("{")
    assert "plain.ipynb is not a notebook" in call(capsys, "run", str(suite))[2]
    (tmp_path / "notebooks" / "plain.ipynb").unlink()
    assert "there is no notebook plain.ipynb" in call(capsys, "run", str(suite))[2]


def test_an_unknown_engine_in_the_environment_is_refused(suite, monkeypatch, capsys):
    monkeypatch.setenv("NUNCHI_ENGINE", "spark")
    code, _, complaint = call(capsys, "run", str(suite))
    assert (code, complaint) == (
        2,
        "nunchi run: NUNCHI_ENGINE is 'spark'; expected one of local, ray, launch\n",
    )


def test_a_download_that_fails_is_told_by_the_exit_code(tmp_path, monkeypatch, capsys):
    from helpers.corpora import commands

    monkeypatch.setattr(commands, "_download", lambda task, folder: task.folder == "klue-re")
    assert call(capsys, "fetch", str(tmp_path), "--only", "klue-re")[0] == 0
    assert call(capsys, "fetch", str(tmp_path))[0] == 1


def test_an_error_of_ours_keeps_its_traceback(suite, monkeypatch):
    from helpers.batch import runner

    monkeypatch.setattr(runner, "run_suite", lambda *_, **__: {}["a mistake"])
    with pytest.raises(KeyError):
        cli.main(["run", str(suite)])


def test_python_m_helpers_is_the_same_command(suite):
    done = nunchi("run", suite, "--dry-run")
    assert done.returncode == 0 and "plain: run, never run" in done.stdout


def test_control_c_is_one_sentence(tmp_path):
    suite = make_project(tmp_path, {"slow": {"seconds": 60}})
    going = subprocess.Popen(
        command("run", suite), stderr=subprocess.PIPE, text=True, cwd=ROOT, env=dict(os.environ)
    )
    assert "started" in going.stderr.readline()
    going.send_signal(signal.SIGINT)
    _, said = going.communicate(timeout=60)
    assert going.returncode == 130
    assert said.endswith("Stopped. Finished reports are kept; the same command goes on with the rest.\n")
    assert "Traceback" not in said
