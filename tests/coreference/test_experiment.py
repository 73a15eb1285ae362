"""The config, the base and the runs that go on from it."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers.coreference import experiment
from helpers.coreference.checkpoints import load_checkpoint
from helpers.learning import encoders
from tests.coreference.conftest import SETTINGS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lengths": (48, 24)}, "shortest first"),
        ({"lengths": ()}, "shortest first"),
        ({"lengths": (4, 24)}, "from 8 up"),
        ({"length": 25}, "none of lengths"),
        ({"curriculum": "mlm_v3"}, "mlm_v2, combined, entity"),
        ({"base_epochs": 0}, "from scratch"),
        ({"model": "klue/x"}, "none"),
    ],
)
def test_settings_that_cannot_work_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        experiment.MaskedLMConfig(**SETTINGS | change)


def test_identity_start_is_identity_but_for_seeded_noise(tokenizer):
    size = {"vocab_size": len(tokenizer), "hidden": 64, "layers": 1, "max_length": 64, "dropout": 0.0}
    networks = [
        encoders.masked_lm("deberta-v2", pad_id=0, seed=n, **size, **experiment.SMALL_DEBERTA) for n in (0, 1)
    ]
    for network in networks:
        experiment.start_from_identity(network, seed=5)
    values = [network.base_model.encoder.layer[0].attention.self.value_proj.weight for network in networks]
    assert torch.equal(*values)
    assert (values[0] - torch.eye(64)).std().item() == pytest.approx(0.02, rel=0.1)


def test_runs_leave_half_epoch_checkpoints_and_count_their_parents_tokens(world):
    tried, runs = world["tried"], world["runs"]
    assert (tried["status"] == "ok").all()
    for run in runs.to_dict("records"):
        rows = tried[(tried["run"] == run["run"]) & (tried["seed"] == run["seed"])].sort_values("step")
        assert rows["epoch"].round(1).tolist() == pytest.approx([0.5, 1.0], abs=0.2)
        parent = tried.loc[tried["checkpoint"] == run["parent"], "tokens"].iloc[0]
        spent = rows["tokens"] - parent
        assert np.allclose(spent, rows["step"] * run["tokens_per_step"])
        assert (parent == 0) == (run["curriculum"] != "entity")


def test_every_seed_has_a_base_of_its_own_and_the_same_steps(world):
    assert world["bases"]["seed"].tolist() == [0, 1]
    assert world["bases"]["loss"].nunique() == 2
    assert world["listed"].groupby(["run", "step"])["seed"].apply(list).tolist() == [[0, 1]] * 12
    assert (world["bases"]["guessing_loss"].between(3, np.log(500))).all()


def test_a_random_start_is_another_model_from_the_same_seed(tmp_path):
    documents = [{"id": "a", "text": "서울의 시장은 서울에서 회의를 열었다. " * 20}]
    weights = []
    for identity in (True, False):
        folder = tmp_path / str(identity)
        settings = SETTINGS | {"identity": identity, "vocabulary": 60}
        experiment.build_base(documents=documents, folder=folder, **settings)
        network, _ = load_checkpoint(folder / "checkpoint-0")
        weights.append(network.base_model.encoder.layer[0].attention.self.value_proj.weight)
    near = [(weight - torch.eye(32)).abs().mean().item() for weight in weights]
    assert near[0] < 0.05 and near[1] > 0.05


def test_any_number_of_lengths_is_taken_and_a_run_has_the_first_unless_told():
    for lengths in ([24], [24, 48], [24, 48, 96]):
        config = experiment.MaskedLMConfig(**SETTINGS | {"lengths": lengths})
        assert config.lengths == tuple(lengths) and config.length == 24


def test_every_checkpoint_is_complete_by_itself(world, tmp_path):
    """It can be copied anywhere: model and tokenizer load from the folder alone."""
    found = sorted(set(world["listed"]["checkpoint"]))
    assert len(found) == 2 + 2 * len(world["runs"])
    for folder in found:
        assert {"config.json", "model.safetensors", "tokenizer.json"} <= {
            p.name for p in Path(folder).iterdir()
        }
    moved = shutil.copytree(found[0], tmp_path / "moved")
    network, words = load_checkpoint(moved)
    assert network.config.vocab_size == len(words)
