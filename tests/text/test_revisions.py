"""What a name on the hub stands for."""

import re

import yaml

from helpers.text.revisions import PINNED, revision_of
from tests.conftest import ROOT


def test_a_name_may_carry_its_commit(tmp_path):
    assert revision_of("a/b") == ("a/b", None)
    assert revision_of("a/b@0123abc") == ("a/b", "0123abc")
    assert revision_of("klue/bert-base") == ("klue/bert-base", PINNED["klue/bert-base"])
    assert revision_of("klue/bert-base@main") == ("klue/bert-base", "main")
    folder = tmp_path / "a@b"
    folder.mkdir()
    assert revision_of(folder) == (str(folder), None)


def test_commits_are_whole():
    assert all(len(commit) == 40 and int(commit, 16) for commit in PINNED.values())


def test_every_model_that_a_suite_for_gpus_names_is_pinned():
    files = [file for suite in ("paper", "small-gpu") for file in (ROOT / "params" / suite).glob("*.yaml")]
    values = [str(yaml.safe_load(file.read_text(encoding="utf-8"))) for file in files]
    names = {name for text in values for name in re.findall(r"'([\w-]+/[\w.-]+)'", text)}
    assert len(names) > 10 and names <= PINNED.keys()
