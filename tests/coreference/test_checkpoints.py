"""Checkpoints on disk and the composite score."""

import pytest

from helpers.coreference import checkpoints


def test_composite_weighs_as_the_study_says():
    assert checkpoints.composite(1, 0, 0) == 0.4
    assert checkpoints.composite(0, 1, 0) == 0.3
    assert checkpoints.composite(0, 0, 1) == 0.3
    assert checkpoints.composite(0.6558, 0.8167, 0.3567) == pytest.approx(0.6143, abs=5e-5)


def test_steps_sort_as_numbers(tmp_path):
    for name in ("checkpoint-90", "checkpoint-1000", "checkpoint-200", "checkpoint-best", "logs"):
        (tmp_path / "run" / name).mkdir(parents=True)
    (tmp_path / "run" / "checkpoint-300").touch()  # a file is no checkpoint
    found = checkpoints.find_checkpoints(tmp_path)
    assert [path.name for path in found] == ["checkpoint-90", "checkpoint-200", "checkpoint-1000"]
    later = checkpoints.find_checkpoints(tmp_path, from_step=200)
    assert [path.name for path in later] == ["checkpoint-200", "checkpoint-1000"]


def test_a_missing_or_empty_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no folder"):
        checkpoints.find_checkpoints(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="holds no checkpoint"):
        checkpoints.find_checkpoints(tmp_path)
    with pytest.raises(ValueError, match="checkpoint-<step>"):
        checkpoints.step_of("checkpoint-best")
