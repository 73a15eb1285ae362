"""What a name on the hub stands for."""

from helpers.batch import plans
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


def test_the_models_that_the_paper_suite_trains_are_pinned():
    found = [plans.trainings(plan) for plan in plans.make(ROOT / "params" / "paper", only=["03", "04", "06"])]
    names = {training.model for some in found for training in some}
    assert names and names <= PINNED.keys()
