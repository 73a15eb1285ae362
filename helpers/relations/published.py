"""The published grid of 29 backbone runs: what its winner's margin is worth against the noise of its rows.

The study scored one seed per cell on 3,247 rows split at random off the training file, and took the best of
many evaluations on those rows. Its predictions are not public, so the noise is rebuilt from its own figures.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers.reference import published
from helpers.relations.scores import f1_of_counts
from helpers.statistics import Interval

ROWS = 3247  # a tenth of the training file; every published accuracy is a whole number of these
NO_RELATION_SHARE = 0.294  # of the training file


def load_grid() -> pd.DataFrame:
    """Read the 29 rows, best first, with short model names, and micro_f1 as an Interval of 95 %."""
    frame = published("re_backbone_grid").sort_values("micro_f1", ascending=False, ignore_index=True)
    frame["model"] = frame["model"].str.replace("monologg/", "").str.replace("-discriminator", "")
    frame["micro_f1"] = [
        noise_band(f1, accuracy=accuracy)
        for f1, accuracy in zip(frame["micro_f1"], frame["accuracy"], strict=True)
    ]
    return frame


def cells(backbones: Sequence[str]) -> list[tuple[str, float, int, int]]:
    """Return model, learning rate, batch and epochs of the published rows; all, in the names of `backbones`.

    The study names some models without their owner.
    """
    names = {name.rpartition("/")[2]: name for name in backbones}
    rows = [
        (names.get(row.model.rpartition("/")[2], ""), row.learning_rate, row.train_batch_size, row.epochs)
        for row in published("re_backbone_grid").itertuples()
    ]
    if missing := sorted({row[0] for row in rows} ^ set(backbones)):
        raise ValueError(
            f"backbones must be the five of the study for its own grid; look at {', '.join(missing)}"
        )
    return rows


def noise_band(micro_f1: float, *, accuracy: float) -> Interval:
    """Give a published micro-F1 the interval that resampling its rows would give.

    F1, accuracy and the share of no_relation fix how many rows are right and wrong of each kind, if as many
    relations are predicted as there are: the study's predictions are balanced that closely or the band is
    wider still.
    """
    positive = 1 - NO_RELATION_SHARE
    hit = micro_f1 / 100 * positive
    quiet = min(max(accuracy - hit, 0.0), NO_RELATION_SHARE)  # no_relation, predicted as such
    false_alarm = NO_RELATION_SHARE - quiet
    missed = min(false_alarm, positive - hit)  # so that predicted positives balance gold ones
    kinds = np.array([hit, positive - hit - missed, missed, false_alarm, quiet])
    counts = np.array([[1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 1, 0], [0, 0, 0]])
    drawn = np.random.default_rng(0).multinomial(ROWS, kinds / kinds.sum(), size=4000) @ counts
    return Interval(micro_f1, *map(float, np.percentile(f1_of_counts(drawn), [2.5, 97.5])))


def margins(frame: pd.DataFrame) -> dict[str, float]:
    """Compare the winner's lead with the noise: margin over the second and over the best other model.

    `inside` counts the rows whose score lies in the winner's interval.
    """
    best = frame.iloc[0]
    others = frame[frame["model"] != best["model"]]["micro_f1"]
    values = [interval.value for interval in frame["micro_f1"]]
    return {
        "winner": best["micro_f1"].value,
        "half_width": best["micro_f1"].half_width,
        "margin": values[0] - values[1],
        "margin_over_other_model": values[0] - max(interval.value for interval in others),
        "inside": int(sum(value >= best["micro_f1"].low for value in values)),
        "rows": len(frame),
    }


def missing_cells(frame: pd.DataFrame) -> int:
    """Count the cells that a full factorial over the published values would have and the grid lacks."""
    axes = ["model", "learning_rate", "epochs", "train_batch_size"]
    cells = np.prod([frame[axis].nunique() for axis in axes])
    return int(cells - len(frame.drop_duplicates(axes)))
