"""Masks allow what training showed, never forbid what it did not, and reproduce the blocked-gold table."""

import numpy as np
import pytest
from datasets import ClassLabel, Dataset

from helpers import corpora
from helpers.corpora.labels import RELATIONS
from helpers.relations.constraints import (
    BLOCKED,
    KINDS,
    blocked,
    learn,
    learned_constraint,
    log_prior,
    prefix_constraint,
    type_pairs,
)

TITLE, FOUNDED, SPOUSE = (RELATIONS.index(name) for name in ("per:title", "org:founded", "per:spouse"))
PAIRS = [("PER", "POH")] * 5 + [("ORG", "DAT")] * 3 + [("PER", "PER")]
GOLD = [TITLE, TITLE, TITLE, 0, FOUNDED, FOUNDED, FOUNDED, 0, SPOUSE]


def test_prefix_mask():
    (person, organisation, place) = prefix_constraint(PAIRS).bias(
        [("PER", "POH"), ("ORG", "DAT"), ("LOC", "DAT")]
    )
    assert {name.split(":")[0] for name, bias in zip(RELATIONS, person, strict=True) if bias == 0} == {
        "per",
        "no_relation",
    }
    assert organisation[FOUNDED] == 0
    assert organisation[TITLE] == BLOCKED
    assert (place == 0).all()  # an unseen subject type: nothing is forbidden


def test_learned_mask_counts_by_pair():
    bias = learned_constraint(PAIRS, GOLD, at_least=2).bias([("PER", "POH"), ("PER", "PER"), ("ORG", "ORG")])
    assert np.flatnonzero(bias[0] == 0).tolist() == [0, TITLE]
    assert np.flatnonzero(bias[1] == 0).tolist() == [0]  # spouse was seen only once
    assert (bias[2] == 0).all()
    assert np.flatnonzero(learned_constraint(PAIRS, GOLD).bias([("PER", "POH")])[0] == 0).tolist() == [
        0,
        FOUNDED,
        TITLE,
    ]


def test_without_fallback_blocks_unseen_pairs():
    mask = learned_constraint(PAIRS, GOLD)
    pairs, gold = [("LOC", "DAT"), ("PER", "POH"), ("PER", "POH")], [0, TITLE, SPOUSE]
    assert blocked(gold, mask.bias(pairs)).tolist() == [False, False, True]
    assert blocked(gold, mask.without_fallback().bias(pairs)).tolist() == [True, False, True]


def test_blocked_labels_get_no_probability_and_stay_finite():
    logits = np.zeros((1, 30)) + prefix_constraint(PAIRS).bias([("PER", "POH")])
    probs = np.exp(logits) / np.exp(logits).sum()
    assert probs[0, FOUNDED] == 0
    assert np.isfinite(logits).all()
    assert probs.sum() == pytest.approx(1)


def test_log_prior_is_the_smoothed_share():
    (bias,) = log_prior(PAIRS, GOLD, smoothing=0.5).bias([("PER", "POH")])
    assert np.exp(bias).sum() == pytest.approx(1)
    assert np.exp(bias[TITLE]) == pytest.approx(3.5 / (5 + 15))
    assert np.exp(bias[SPOUSE]) == pytest.approx(0.5 / 20)


def test_other_labels_than_klue_s():
    names = ["no_relation", "소속", "per:가족"]
    pairs = [("PER", "PER"), ("ORG", "PER"), ("인물", "회사")]
    bias = prefix_constraint(pairs, names=names).bias(pairs)
    assert bias.tolist() == [[0, BLOCKED, 0], [0, 0, 0], [0, 0, 0]]  # no label begins with org:
    assert learned_constraint(pairs, [2, 1, 0], names=names).bias(pairs)[1].tolist() == [0, 0, BLOCKED]
    assert np.exp(log_prior(pairs, [2, 1, 0], names=names).bias(pairs)).sum(axis=1) == pytest.approx(1)


def test_pairs_and_labels_must_match():
    with pytest.raises(ValueError, match="1 type pairs for 2 labels"):
        learned_constraint([("PER", "ORG")], [0, 1])


def test_constraints_are_learned_from_rows_by_name():
    entities = [[{"type": kind} for kind in side] for side in zip(*PAIRS, strict=True)]
    columns = {"subject_entity": entities[0], "object_entity": entities[1], "label": GOLD}
    rows = Dataset.from_dict(columns).cast_column("label", ClassLabel(names=list(RELATIONS)))
    wanted = {
        "prefix": prefix_constraint(PAIRS),
        "pair": learned_constraint(PAIRS, GOLD),
        "prior": log_prior(PAIRS, GOLD),
    }
    assert tuple(wanted) == KINDS
    for kind, want in wanted.items():
        assert np.array_equal(learn(kind, rows).bias(PAIRS), want.bias(PAIRS))


@pytest.mark.real
def test_real_blocked_gold_table(real_data):
    train, dev = (corpora.load_relations(str(real_data), split) for split in ("train", "dev"))
    pairs, labels, dev_pairs, gold = type_pairs(train), train["label"][:], type_pairs(dev), dev["label"][:]
    masks = [prefix_constraint(pairs)]
    masks += [learned_constraint(pairs, labels, at_least=k) for k in (1, 2, 5, 10, 20)]
    strict = [blocked(gold, mask.without_fallback().bias(dev_pairs)).sum() for mask in masks]
    assert strict == [14, 15, 29, 41, 48, 97]
    loose = [blocked(gold, mask.bias(dev_pairs)).sum() for mask in masks]
    assert loose == [13, 14, 28, 40, 47, 96]  # one dev row has a LOC subject
    assert {subject for subject, _ in set(type_pairs(dev)) - set(type_pairs(train))} == {"LOC"}
