"""Two steps of small models, for real, and a table that goes on where a row fails."""

import pytest

from helpers.planning import rehearsal
from tests.planning.test_footprints import training


@pytest.mark.parametrize(
    "settings",
    [
        {"task": "relations"},
        {"task": "entities", "averages": 3},
        {"task": "entities", "frozen": True},
        {"task": "spans", "accumulate": 4, "recompute": True},
        {"task": "masked", "model": "deberta-v2"},
        {"task": "labels", "model": "gemma-2", "lora_rank": 2},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_two_steps_then_evaluated_saved_and_loaded(settings):
    done = rehearsal.perform(training(**settings))
    assert done["seconds"] > 0 and done["peak"] >= 0
    assert done["random"] and done["same"]


def test_a_row_that_fails_does_not_end_the_table():
    bytearray(b"x") * 10**9  # what the caller once held is not the row's
    found = {training(model="roberta"): 2, training(model="bert", lora_rank=4, task="labels"): 1}
    rows = [dict(zip(rehearsal.HEADINGS, row, strict=True)) for row in rehearsal.rehearse(found, batch=2)]
    assert rows[0]["batch"] == "2" and rows[0]["time here"] and rows[0]["fits"] == "T4"
    assert rows[0]["peak"] not in ("", "0 MB")
    assert not rows[1]["peak"] and "LoRA here is for decoders" in rows[1][""]


def test_what_cannot_fit_is_not_tried():
    (row,) = rehearsal.rehearse({training(): 1}, memory=1)
    assert row[-1].startswith("not tried: 0 MB")
    (row,) = rehearsal.rehearse({training(task="labels", model="gemma-2", lora_rank=2, four_bit=True): 1})
    assert row[-1] == "4-bit weights need a CUDA card"


def test_runs_of_a_kind_are_one_row_with_all_their_steps():
    found = {training(epochs=2): 3, training(epochs=4, sweep="t"): 1}
    ((kind, (runs, steps)),) = rehearsal._distinct(found, None).items()
    assert (kind.batch, runs, steps) == (4, 4, 3 * 32 + 64)
    ((kind, (runs, steps)),) = rehearsal._distinct(found, 1).items()
    assert (kind.batch, runs, steps) == (1, 4, 4 * (3 * 32 + 64))
