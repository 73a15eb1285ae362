"""What follows from the studies' published tables alone. Each function returns the figures of one claim."""

import numpy as np

from helpers import reference
from helpers.coreference import audit
from helpers.multilabel import probing
from helpers.relations import published as grid

Figures = tuple[float, ...]
POSTS, CLASSES = 3822, 10  # the UNLP training file
PUBLIC = POSTS // 2  # rows behind a simulated board


def grid_rows() -> Figures:
    """Rows of the grid, and cells that a full factorial over its values would have beside them."""
    frame = grid.load_grid()
    return len(frame), grid.missing_cells(frame)


def grid_best() -> Figures:
    """The winner's micro-F1."""
    return (grid.margins(grid.load_grid())["winner"],)


def grid_margin() -> Figures:
    """The winner's lead over the second row, and the half-width of its own interval."""
    found = grid.margins(grid.load_grid())
    return found["margin"], found["half_width"]


def grid_winner_stands() -> Figures:
    """Whether the lead over the best other model is larger than the winner's own interval."""
    found = grid.margins(grid.load_grid())
    return (float(found["margin_over_other_model"] > found["half_width"]),)


def ner_means(system: str) -> Figures:
    """Means over the eight published seeds: entity and character F1."""
    frame = reference.published("ner_swa_ensemble").query("system == @system")
    return tuple(frame[["entity_f1", "char_f1"]].mean())


def ner_spread(system: str) -> Figures:
    """Standard deviations of the eight published seeds, divided by 8 as the study does."""
    frame = reference.published("ner_swa_ensemble").query("system == @system")
    return tuple(frame[["entity_f1", "char_f1"]].std(ddof=0))


def ner_difference(systems: str) -> Figures:
    """Mean difference in entity F1 over seeds, and its paired t: `large > base`."""
    gaps = _ner_gaps(systems)
    return gaps.mean(), gaps.mean() / (gaps.std(ddof=1) / np.sqrt(gaps.size))


def ner_stands(systems: str) -> Figures:
    """Whether the paired t-test over seeds finds the first system better at .05."""
    from scipy.stats import ttest_1samp

    gaps = _ner_gaps(systems)
    return (float(gaps.mean() > 0 and ttest_1samp(gaps, 0).pvalue < 0.05),)


def _ner_gaps(systems: str) -> np.ndarray:
    table = reference.published("ner_swa_ensemble").pivot(index="seed", columns="system", values="entity_f1")
    first, second = systems.split(" > ")
    return (table[first] - table[second]).to_numpy()


def composites() -> Figures:
    """Published composites that do not follow from their own row, those that do, and the mean excess."""
    frame = audit.audit_composites(audit.published())
    wrong = frame["wrong"]
    return int(wrong.sum()), int((~wrong).sum()), float(frame.loc[wrong, "excess"].mean())


def composites_follow() -> Figures:
    """Whether every published composite follows from its own row."""
    return (float(composites()[0] == 0),)


def composite_of_step_65() -> Figures:
    """The composite of mlm_v2 1536, step 65, from its three scores."""
    frame = audit.audit_composites(audit.published())
    return (float(frame.loc[frame["key"] == ("mlm_v2", 1536, 65), "score"].iloc[0]),)


def best_real1(experiment: str) -> Figures:
    """The highest Real@1 of an experiment, in percent, and its step."""
    frame = audit.published().query("experiment == @experiment")
    best = frame.loc[frame["real1"].idxmax()]
    return 100 * best["real1"], best["step"]


def claim_p(claim: str) -> Figures:
    """The p-value of one of `audit.CLAIMS`."""
    tested = audit.audit_claims(audit.published()).set_index("claim")
    return (float(tested.loc[claim, "p"]),)


def claim_stands(claim: str) -> Figures:
    """Whether one of `audit.CLAIMS` survives Holm's correction over all of them."""
    tested = audit.audit_claims(audit.published()).set_index("claim")
    return (float(tested.loc[claim, "stands"]),)


def half_widths() -> Figures:
    """Mean half-width of Real@1 in points, at 2,400 and at 3,200 items."""
    frame = audit.audit_intervals(audit.published())
    return tuple(100 * frame.groupby("items")["half_width"].mean())


def wrong_epochs() -> Figures:
    """Checkpoints whose epoch label is that of another one, and what theirs should be."""
    frame = audit.audit_epochs(audit.published())
    wrong = frame[frame["epoch_wrong"]]
    return len(wrong), *wrong["true_epoch"].round(2)


def guide_score() -> Figures:
    """The guide's score of checkpoint-1600, from its own three figures and from the table's."""
    frame = audit.audit_guide(audit.published())
    return tuple(frame.loc[frame["figure"].str.startswith("score"), "recomputed"])


def guide_lambada() -> Figures:
    """LAMBADA@1 of checkpoint-1600 in the study's own table, in percent."""
    frame = audit.audit_guide(audit.published())
    return (100 * float(frame["recomputed"].iloc[0]),)


def targets_met() -> Figures:
    """Whether a checkpoint reaches Real@1 above 68 % and Real@5 above 83 %."""
    frame = audit.published()
    return (float(((frame["real1"] > 0.68) & (frame["real5"] > 0.83)).any()),)


def probe_identity() -> Figures:
    """Largest error of b = F1 / (2 − F1), the share of positives behind a constant-1 probe."""
    positives = np.arange(1, POSTS + 1)
    f1 = 2 * positives / (positives + POSTS)
    return (float(np.abs(f1 / (2 - f1) - positives / POSTS).max()),)


def probe_candidates(decimals: str) -> Figures:
    """Fewest and most counts that explain the probe of a UNLP class, printed with these decimals."""
    from helpers.sample_world import PLANTED

    places = int(decimals)
    counts = [round(rate * PUBLIC) for rate in PLANTED["posts"]["rates"].values()]
    scores = [round(float(probing.probe_score(count, PUBLIC, CLASSES)), places) for count in counts]
    sizes = [len(probing.positives_from_score(score, PUBLIC, CLASSES, places)) for score in scores]
    return min(sizes), max(sizes)
