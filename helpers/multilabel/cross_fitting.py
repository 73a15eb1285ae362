"""What a threshold rule promises on the rows it was fitted on, and what it delivers on others.

A rule sees labels and out-of-fold scores of one fold, as in the published study, and decides about the other
folds. Scores are macro-F1, the mean over folds; intervals resample posts. Rules for one class come from
`thresholds`; here they are lifted to all classes, compared, and moved to another class balance.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from helpers import statistics
from helpers.multilabel import calibration, folds, thresholds
from helpers.multilabel.scores import f1_counts, macro_f1_of_counts

WEIGHTS = tuple(round(0.1 * step, 1) for step in range(11))

Rule = Callable[..., NDArray]
"""`rule(labels, scores, *, targets, rates)` gives one threshold per class.

`labels, scores: (rows, classes)` to fit on; `targets`: per class the unlabelled scores to decide about;
`rates: (classes,)` the believed share of positives among them.
"""


class CrossFit(NamedTuple):
    """Decisions of one rule, as counts for the bootstrap."""

    inside: NDArray  # (rows, folds × 3 × classes): on the fold it was fitted on
    outside: NDArray  # (rows, folds × 3 × classes): on the other folds
    thresholds: NDArray  # (folds, classes): as applied outside


def per_class(choose: Callable[..., float]) -> Rule:
    """Lift `choose(y, p, *, target, rate)`, a rule for one class, to all classes."""

    def rule(labels: NDArray, scores: NDArray, *, targets: Sequence[NDArray], rates: NDArray) -> NDArray:
        columns = zip(labels.T, scores.T, targets, rates, strict=True)
        return np.array([choose(y, p, target=target, rate=rate) for y, p, target, rate in columns])

    return rule


def half(y: NDArray, p: NDArray, *, target: NDArray, rate: float) -> float:
    return 0.5


def f1_optimum(y: NDArray, p: NDArray, *, target: NDArray, rate: float) -> float:
    return thresholds.best_f1_threshold(y, p)[0]


def rate_match(y: NDArray, p: NDArray, *, target: NDArray, rate: float) -> float:
    return thresholds.match_rate_threshold(p, rate)


def hybrid(y: NDArray, p: NDArray, *, target: NDArray, rate: float, weight: float = 0.5) -> float:
    return thresholds.hybrid_threshold(y, p, rate=rate, weight=weight)


def plug_in(
    y: NDArray, p: NDArray, *, target: NDArray, rate: float, fit: Callable = calibration.platt
) -> float:
    return thresholds.expected_f1_threshold(p, calibration.cross_fitted(y, p, fit=fit))[0]


def legacy_grid(y: NDArray, p: NDArray, *, target: NDArray, rate: float) -> float:
    return thresholds.legacy_grid_threshold(y, p)[0]


def legacy_brent(y: NDArray, p: NDArray, *, target: NDArray, rate: float) -> float:
    return thresholds.legacy_brent_threshold(p, rate)


def legacy_hybrid(y: NDArray, p: NDArray, *, target: NDArray, rate: float) -> float:
    return (legacy_grid(y, p, target=target, rate=rate) + legacy_brent(y, p, target=target, rate=rate)) / 2


def inner_weight(labels: NDArray, scores: NDArray, *, rates: NDArray, parts: int = 5, seed: int = 0) -> float:
    """Choose one hybrid weight for all classes by cross-validation inside the rows given."""
    part = folds.random_assign(len(labels), folds=parts, seed=seed)
    sums = np.zeros((len(WEIGHTS), 3 * labels.shape[1]))
    for k in range(parts):
        fit, test = part != k, part == k
        optimum, match = (
            cuts_for(RULES[name], labels[fit], scores[fit], rates=rates)
            for name in ("F1 exact", "balance by quantile")
        )
        for row, weight in enumerate(WEIGHTS):
            cuts = weight * optimum + (1 - weight) * match
            sums[row] += f1_counts(labels[test], scores[test] >= cuts).sum(axis=0)
    return WEIGHTS[int(np.argmax(macro_f1_of_counts(sums)))]


def tuned_hybrid(labels: NDArray, scores: NDArray, *, targets: Sequence[NDArray], rates: NDArray) -> NDArray:
    """The hybrid whose weight is chosen by cross-validation inside the fitting rows."""
    weight = inner_weight(labels, scores, rates=rates)
    return cuts_for(per_class(partial(hybrid, weight=weight)), labels, scores, rates=rates)


RULES: dict[str, Rule] = {
    "fixed 0.5": per_class(half),
    "F1 grid (legacy)": per_class(legacy_grid),
    "F1 exact": per_class(f1_optimum),
    "balance by Brent (legacy)": per_class(legacy_brent),
    "balance by quantile": per_class(rate_match),
    "hybrid (legacy)": per_class(legacy_hybrid),
    "hybrid exact, ½ + ½": per_class(hybrid),
    "hybrid exact, tuned weight": tuned_hybrid,
    "plug-in, Platt": per_class(plug_in),
    "plug-in, isotonic": per_class(partial(plug_in, fit=calibration.isotonic)),
}


def match_target(y: NDArray, p: NDArray, *, target: NDArray, rate: float) -> float:
    return thresholds.match_rate_threshold(target, rate)


def match_training(y: NDArray, p: NDArray, *, target: NDArray, rate: float) -> float:
    return thresholds.match_rate_threshold(p, y.mean())


def hybrid_target(y: NDArray, p: NDArray, *, target: NDArray, rate: float) -> float:
    return (thresholds.best_f1_threshold(y, p)[0] + thresholds.match_rate_threshold(target, rate)) / 2


def plug_in_target(y: NDArray, p: NDArray, *, target: NDArray, rate: float, prior: str = "training") -> float:
    """Calibrate on the fitting rows, move to the target's balance, cut where the expected F1 is highest."""
    old = (y.sum() + 1) / (y.size + 2)
    q = calibration.platt(y, p)(target)
    new = {"training": old, "probed": rate, "EM": None}[prior]
    new = calibration.estimate_prior(q, old=old) if new is None else new
    return thresholds.expected_f1_threshold(target, calibration.shift_prior(q, old=old, new=new))[0]


SHIFT_RULES: dict[str, Rule] = {
    "F1 exact, fixed": per_class(f1_optimum),
    "balance of training": per_class(match_training),
    "balance as probed": per_class(match_target),
    "hybrid, probed": per_class(hybrid_target),
    "plug-in, uncorrected": per_class(plug_in_target),
    "plug-in, EM balance": per_class(partial(plug_in_target, prior="EM")),
    "plug-in, probed": per_class(partial(plug_in_target, prior="probed")),
}


def cross_fit(
    rule: Rule, labels: NDArray, scores: NDArray, assigned: NDArray, *, keep: NDArray | None = None
) -> CrossFit:
    """Fit a rule on each fold in turn, decide about that fold and about the others.

    `keep: (rows, classes)` limits each class to some of the outside rows: a planted shift of its balance. A
    rule believes the balance of all rows given, as in the study; under a shift, that of the rows kept, which
    is what a probe reveals.
    """
    keep = np.ones(labels.shape, dtype=bool) if keep is None else keep
    inside, outside, cuts = [], [], []
    for fold in np.unique(assigned):
        fit, test = assigned == fold, (assigned != fold)[:, None] & keep
        believed = labels.mean(axis=0) if keep.all() else _rates(labels, test)
        targets = [scores[rows, c] for c, rows in enumerate(test.T)]
        here = cuts_for(rule, labels[fit], scores[fit], rates=labels.mean(axis=0))
        there = rule(labels[fit], scores[fit], targets=targets, rates=believed)
        inside.append(_counts(labels, scores >= here, fit[:, None] & np.ones_like(keep)))
        outside.append(_counts(labels, scores >= there, test))
        cuts.append(there)
    return CrossFit(np.hstack(inside), np.hstack(outside), np.stack(cuts))


def compare_rules(
    labels: NDArray,
    scores: NDArray,
    assigned: NDArray,
    *,
    reference: str,
    rules: Mapping[str, Rule] = RULES,
    samples: int = 2000,
) -> pd.DataFrame:
    """Return one row per rule: macro-F1 in-sample and held-out, their gap, and the gap to `reference`.

    All intervals resample the same posts; `optimism` and `gain` are paired. `silenced` counts classes and
    folds where the rule predicts nothing at all.
    """
    fitted = {name: cross_fit(rule, labels, scores, assigned) for name, rule in rules.items()}
    score = partial(fold_macro_f1, folds=len(np.unique(assigned)))
    rows = []
    for name, fit in fitted.items():
        gap = statistics.paired_bootstrap(fit.outside, fit.inside, score, samples=samples)
        gain = statistics.paired_bootstrap(fitted[reference].outside, fit.outside, score, samples=samples)
        rows.append(
            {
                "rule": name,
                "in_sample": statistics.bootstrap(fit.inside, score, samples=samples),
                "held_out": statistics.bootstrap(fit.outside, score, samples=samples),
                "optimism": gap.difference,
                "gain": gain.difference,
                "p": gain.p,
                "silenced": silenced(fit.outside, classes=labels.shape[1]),
            }
        )
    return pd.DataFrame(rows)


def silenced(counts: NDArray, *, classes: int) -> int:
    """Count the classes, over all folds, of which not one row is predicted: `counts` as in `CrossFit`."""
    predicted = counts.sum(axis=0).reshape(-1, classes, 3)[..., 1]
    return int((predicted == 0).sum())


def weight_curve(
    labels: NDArray,
    scores: NDArray,
    assigned: NDArray,
    *,
    weights: Sequence[float] = WEIGHTS,
    samples: int = 2000,
) -> pd.DataFrame:
    """Return macro-F1 over the hybrid's weight, in-sample and held-out, ready to draw: value, low, high."""
    score = partial(fold_macro_f1, folds=len(np.unique(assigned)))
    rows = []
    for weight in weights:
        fit = cross_fit(per_class(partial(hybrid, weight=weight)), labels, scores, assigned)
        for name, counts in (("in-sample", fit.inside), ("held-out", fit.outside)):
            interval = statistics.bootstrap(counts, score, samples=samples)
            rows.append({"weight": weight, "rows": name, **interval._asdict()})
    return pd.DataFrame(rows)


def shifted_rows(labels: NDArray, factor: float, *, seed: int = 0) -> NDArray:
    """Return (rows, classes): which rows stay so that the odds of each class are multiplied by `factor`.

    Above 1 negatives go, below 1 positives go, at random: what a positive looks like does not change.
    """
    if factor <= 0:
        raise ValueError(f"factor: expected a positive number to multiply the odds by, got {factor!r}")
    rng = np.random.default_rng(seed)
    keep = np.ones(labels.shape, dtype=bool)
    for c, y in enumerate(labels.T):
        thinned = np.flatnonzero(y == (factor < 1))
        share = min(factor, 1 / factor)
        keep[rng.permutation(thinned)[round(share * thinned.size) :], c] = False
    return keep


def prior_shift(
    labels: NDArray,
    scores: NDArray,
    assigned: NDArray,
    *,
    factors: Sequence[float],
    rules: Mapping[str, Rule] = SHIFT_RULES,
    samples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return held-out macro-F1 of each rule at each planted shift, with its gain over the first rule."""
    score = partial(fold_macro_f1, folds=len(np.unique(assigned)))
    rows = []
    for factor in factors:
        keep = shifted_rows(labels, factor, seed=seed)
        fitted = {name: cross_fit(rule, labels, scores, assigned, keep=keep) for name, rule in rules.items()}
        first = next(iter(fitted.values())).outside
        for name, fit in fitted.items():
            gain = statistics.paired_bootstrap(first, fit.outside, score, samples=samples).difference
            held_out = statistics.bootstrap(fit.outside, score, samples=samples)
            rows.append({"factor": factor, "rule": name, "held_out": held_out, "gain": gain})
    return pd.DataFrame(rows)


def verdict(gain: statistics.Interval) -> str:
    """Say what a gain with its interval decides: keep, drop, or no evidence either way."""
    return "keep" if gain.low > 0 else "drop" if gain.high < 0 else "no evidence"


def fold_macro_f1(sums: NDArray, *, folds: int) -> NDArray:
    """Map summed counts (…, folds × 3 × classes) to the mean over folds of macro-F1."""
    return macro_f1_of_counts(sums.reshape(*sums.shape[:-1], folds, -1)).mean(axis=-1)


def cuts_for(rule: Rule, labels: NDArray, scores: NDArray, *, rates: NDArray | None = None) -> NDArray:
    """Return a rule's thresholds where the fitting rows, and their balance, stand for the target's."""
    return rule(labels, scores, targets=list(scores.T), rates=labels.mean(axis=0) if rates is None else rates)


def _rates(labels: NDArray, kept: NDArray) -> NDArray:
    return (labels * kept).sum(axis=0) / np.maximum(kept.sum(axis=0), 1)


def _counts(labels: NDArray, predicted: NDArray, kept: NDArray) -> NDArray:
    return f1_counts(labels, predicted) * np.repeat(kept, 3, axis=1)
