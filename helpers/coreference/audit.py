"""The published table of 33 masked-LM checkpoints, checked with nothing but its own figures.

Recomputes every composite and epoch, gives each Real@1 the interval its sample size allows, and tests the
study's claims. Our own checkpoints are compared in `trajectories`.
"""

import numpy as np
import pandas as pd

from helpers import reference, statistics
from helpers.coreference.checkpoints import composite, step_of

ITEMS = {1536: 2400, 2048: 3200}  # evaluation items of the study, by sequence length
ROUNDING = 1e-4  # four-decimal inputs and output: a right composite is off by less than this

# Claims of the study as (what is said, checkpoint before, checkpoint after); a checkpoint is (experiment,
# sequence length, step). The table does not name the parent of entity fine-tuning: we take the 2048 model
# of three epochs, and `entity_parents` shows the others.
CLAIMS = (
    ("1536 overfits after epoch 3", ("mlm_v2", 1536, 390), ("mlm_v2", 1536, 655)),
    ("1536 beats 2048, best against best", ("mlm_v2", 2048, 55), ("mlm_v2", 1536, 390)),
    ("more epochs of combined data help", ("combined", 1536, 396), ("combined", 1536, 1980)),
    ("combined beats mlm_v2, best against best", ("mlm_v2", 1536, 390), ("combined", 1536, 1980)),
    ("entity fine-tuning beats its parent", ("mlm_v2", 2048, 330), ("entity_ft", 2048, 1600)),
    ("entity fine-tuning beats combined", ("combined", 2048, 2050), ("entity_ft", 2048, 1600)),
)

# The study's evaluation guide prints figures of its own for this row.
GUIDE_ROW = ("entity_ft", 2048, 1600)
GUIDE_LAMBADA, GUIDE_SCORE = 0.6613, 0.6785


def published() -> pd.DataFrame:
    """Return the published rows with `step`, `items` and a unique `key`."""
    frame = reference.published("mlm_checkpoints")
    step = frame["checkpoint"].map(step_of)
    keys = list(zip(frame["experiment"], frame["seq_len"], step, strict=True))
    return frame.assign(step=step, items=frame["seq_len"].map(ITEMS), key=keys)


def audit_composites(frame: pd.DataFrame) -> pd.DataFrame:
    """Add `score` (recomputed), `excess` (reported - score) and `wrong`."""
    score = composite(frame["real1"], frame["real5"], frame["lambada1"])
    excess = frame["reported_score"] - score
    return frame.assign(score=score, excess=excess, wrong=excess.abs() > ROUNDING)


def audit_epochs(frame: pd.DataFrame) -> pd.DataFrame:
    """Add `true_epoch` = step over the steps of one epoch, taken from the last checkpoint of the run.

    `epoch_wrong` marks a label that two steps of a run share, where it is not the true one.
    """
    runs = frame.sort_values("step").groupby(["experiment", "seq_len"])
    last = runs[["step", "epoch"]].transform("last")
    true = frame["step"] / (last["step"] / last["epoch"])
    shared = frame.duplicated(["experiment", "seq_len", "epoch"], keep=False)
    return frame.assign(true_epoch=true, epoch_wrong=shared & ((true - frame["epoch"]).abs() > 0.01))


def audit_intervals(frame: pd.DataFrame) -> pd.DataFrame:
    """Add Wilson's 95 % interval of Real@1 from the number of items."""
    hits = (frame["real1"] * frame["items"]).round().astype(int)
    found = [statistics.wilson(hit, n) for hit, n in zip(hits, frame["items"], strict=True)]
    bounds = pd.DataFrame(found, index=frame.index)[["low", "high"]]
    return frame.assign(hits=hits, **bounds, half_width=(bounds["high"] - bounds["low"]) / 2)


def audit_claims(frame: pd.DataFrame) -> pd.DataFrame:
    """Test each claim as a difference of two independent shares, in points; Holm over all claims.

    The study's items are not published, so nothing can be paired: this is the best its table allows.
    """
    rows = [{"claim": claim, **_difference(frame, before, after)} for claim, before, after in CLAIMS]
    tested = pd.DataFrame(rows)
    holm = statistics.holm(tested["p"])
    return tested.assign(holm=holm, stands=holm < 0.05)


def entity_parents(frame: pd.DataFrame) -> pd.DataFrame:
    """Compare entity fine-tuning's best with every 2048 checkpoint that could be its parent."""
    parents = frame.query("experiment != 'entity_ft' and seq_len == 2048")["key"]
    return pd.DataFrame([{"parent": key, **_difference(frame, key, GUIDE_ROW)} for key in parents])


def audit_guide(frame: pd.DataFrame) -> pd.DataFrame:
    """Set the evaluation guide's figures for checkpoint-1600 beside the study's own table."""
    row = _row(frame, GUIDE_ROW)
    own = composite(row["real1"], row["real5"], GUIDE_LAMBADA)
    true = composite(row["real1"], row["real5"], row["lambada1"])
    rows = [
        ("LAMBADA@1 of checkpoint-1600", GUIDE_LAMBADA, row["lambada1"], "the study's own table"),
        ("score of checkpoint-1600", GUIDE_SCORE, own, "the guide's own three figures"),
        ("score of checkpoint-1600", GUIDE_SCORE, true, "the table's three figures"),
    ]
    return pd.DataFrame(rows, columns=["figure", "guide", "recomputed", "from"])


def _row(frame: pd.DataFrame, key: tuple[str, int, int]) -> pd.Series:
    return frame.loc[[candidate == key for candidate in frame["key"]]].squeeze()


def _difference(frame: pd.DataFrame, before: tuple, after: tuple) -> dict:
    a, b = _row(frame, before), _row(frame, after)
    hits = [round(row["real1"] * row["items"]) for row in (a, b)]
    error = np.sqrt(sum(row["real1"] * (1 - row["real1"]) / row["items"] for row in (a, b)))
    value = b["real1"] - a["real1"]
    interval = statistics.Interval(value, value - 1.96 * error, value + 1.96 * error)
    p = statistics.proportions_p(hits[0], a["items"], hits[1], b["items"])
    return {"difference": interval.scaled(100), "p": p}
