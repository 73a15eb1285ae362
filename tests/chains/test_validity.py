"""What Real@k measures, recovered from answers in which copying and reference were planted."""

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset

from helpers.chains import validity
from helpers.chains.questions import DELETED
from helpers.coreference import trajectories

SEEDS, WORKS, EACH = (0, 1, 2), 24, 30


def offered(share, rng):
    """Choices between two people; `share` of a model's picks follow the gold chain, others the last name."""
    rows = []
    for seed in SEEDS:
        for question in range(WORKS * EACH):
            fixed = np.random.default_rng(question)
            gold, recent = fixed.integers(2, size=2)  # the last name is the right one half of the time
            pick = gold if rng.random() < share else recent
            for person in range(2):
                rows.append(
                    {
                        "seed": seed,
                        "id": f"q{question}",
                        "document": f"work {question % WORKS}",
                        "kind": "name" if question % 2 else "pronoun",
                        "distance": 10,
                        "name": f"{person}",
                        "gold": person == gold,
                        "count": int(fixed.integers(1, 4)),
                        "last": -1 if person == recent else -9,
                        "log_likelihood": -1.0 if person == pick else -2.0,
                    }
                )
    return pd.DataFrame(rows)


def answered(rng, *, base, copied, referred, reward=0.0, share=0.0):
    """Items whose rates of hits are planted: `base`, what the word and what the person adds."""
    count = WORKS * EACH
    coreferent = np.arange(count) // WORKS % 2 == 0
    repeats = Dataset.from_dict(
        {
            "id": [f"i{n}" for n in range(count)],
            "work": [f"work {n % WORKS}" for n in range(count)],
            "coreferent": coreferent,
            "kind": ["name"] * count,
            "antecedents": [[[0, 1]]] * count,
            "person": [[[0, 1]]] * count,
        }
    )
    full = base + copied + referred
    rates = dict.fromkeys(DELETED, full) | {"word": full - copied, "person": full - referred}
    files = {"choices": offered(share, rng)}
    for name, rate in rates.items():
        rows = [
            {"seed": seed, "id": f"i{n}", "document": "passage", "distance": 10, "pieces": 1}
            | {"hit1": float(rng.random() < rate + reward * coreferent[n])}
            for seed in SEEDS
            for n in range(count)
        ]
        files[name] = pd.DataFrame(rows)
    return files, repeats


def decided(files, repeats):
    declared = trajectories.declare(validity.PAIRS, margin=2.0, choosing=[], reporting=["all"])
    frame = validity.decide(declared, files, repeats)
    assert list(zip(frame["system"], frame["than"], strict=True)) == list(validity.PAIRS)
    return frame


def test_planted_copying_is_called_copying_and_nothing_else():
    files, repeats = answered(np.random.default_rng(1), base=0.1, copied=0.3, referred=0.0)
    frame = decided(files, repeats)
    word, person, recent = frame.loc[1], frame.loc[2], frame.loc[4]
    assert word["decision"] == "better" and word["difference"].low < 30 < word["difference"].high
    assert person["decision"] != "better" and person["difference"].low < 0 < person["difference"].high
    # The model takes the last name: what the copier does, exactly.
    assert recent["decision"] == "equivalent" and recent["difference"].value == 0


def test_planted_reference_is_found_by_both_tests():
    files, repeats = answered(
        np.random.default_rng(2), base=0.1, copied=0.0, referred=0.2, reward=0.15, share=0.5
    )
    frame = decided(files, repeats)
    truths = {
        0: 15,
        2: 20,
        4: 25,
    }  # half of the picks follow gold, and the last name is right half of the time
    for row, truth in truths.items():
        assert frame.loc[row, "decision"] == "better", frame.loc[row]
        assert frame.loc[row, "difference"].low < truth < frame.loc[row, "difference"].high
    assert frame.loc[1, "decision"] != "better"


def test_others_are_weighted_to_look_like_the_coreferent_ones():
    frame = pd.DataFrame(
        {
            "coreferent": [True, True, True, False, False, False],
            "distance": [1, 1, 200, 1, 200, 200],
            "before": [1, 1, 1, 1, 1, 1],
            "pieces": [1] * 6,
            "hit1": [0.0] * 6,
        }
    )
    weights = validity.matched(frame)
    assert weights.tolist() == [1, 1, 1, 2, 0.5, 0.5]
    lonely = frame.assign(pieces=[2, 1, 1, 1, 1, 1])  # no counterpart: both sides leave it out
    assert validity.matched(lonely).tolist() == [0, 1, 1, 1, 0.5, 0.5]


def test_picks_by_hand():
    rows = [
        ("a", "문호", True, 2, -30, -5.0),
        ("a", "병일", False, 1, -4, -6.0),
        ("b", "문호", False, 1, -30, np.nan),
        ("b", "병일", True, 1, -4, -9.0),
        ("b", "순이", False, 3, -9, -8.0),
    ]
    frame = pd.DataFrame(rows, columns=["id", "name", "gold", "count", "last", "log_likelihood"])
    frame = frame.assign(seed=0, document="w", kind="name", distance=3)
    hits = {name: one["hit1"].tolist() for name, one in validity.picks(frame).items()}
    assert hits == {
        "model": [1.0, 0.0],
        "most frequent name": [1.0, 0.0],
        "most recent name": [0.0, 1.0],
        "chance": [0.5, pytest.approx(1 / 3)],
    }


def test_rates_by_kind_and_distance():
    files, repeats = answered(np.random.default_rng(3), base=0.1, copied=0.3, referred=0.0)
    chose = validity.chosen(files).set_index("group")
    assert list(chose.index) == ["all", "name", "pronoun", "0–24 characters"]
    assert chose.loc["all", "choices"] == WORKS * EACH
    assert chose.loc["name", "choices"] + chose.loc["pronoun", "choices"] == WORKS * EACH
    real = validity.repeated(files, repeats).set_index("group")
    assert real.index[-1] == "not coreferent" and real.loc["all", "items"] == WORKS * EACH // 2
    assert real.loc["all", "word"].low < 10 < real.loc["all", "word"].high
