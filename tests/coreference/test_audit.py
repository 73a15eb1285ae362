"""The published table of checkpoints, audited."""

import pytest

from helpers.coreference import audit


@pytest.fixture(scope="module")
def published():
    return audit.published()


def test_exactly_the_twenty_mlm_v2_composites_are_wrong(published):
    frame = audit.audit_composites(published)
    assert len(frame) == 33
    assert frame["wrong"].sum() == 20
    assert (frame["wrong"] == (frame["experiment"] == "mlm_v2")).all()
    assert frame.loc[frame["wrong"], "excess"].mean() == pytest.approx(0.0028, abs=5e-5)
    first = frame.iloc[0]
    assert (first["reported_score"], round(first["score"], 4)) == (0.6190, 0.6143)


def test_one_of_two_checkpoints_called_five_epochs_is_not(published):
    frame = audit.audit_epochs(published)
    five = frame.query("experiment == 'mlm_v2' and epoch == 5.0").set_index("step")
    assert five["true_epoch"].round(2).to_dict() == {650: 4.96, 655: 5.0}
    assert frame.loc[frame["epoch_wrong"], "step"].tolist() == [650]


def test_half_widths_of_real1_follow_from_the_sample_sizes(published):
    widths = audit.audit_intervals(published).groupby("seq_len")["half_width"].mean() * 100
    assert widths[1536] == pytest.approx(1.9, abs=0.02)
    assert widths[2048] == pytest.approx(1.65, abs=0.01)


def test_of_the_claims_only_two_stand(published):
    frame = audit.audit_claims(published).set_index("claim")
    want = {
        "1536 overfits after epoch 3": 0.32,
        "1536 beats 2048, best against best": 0.57,
        "more epochs of combined data help": 0.005,
        "entity fine-tuning beats its parent": 0.005,
    }
    for claim, p in want.items():
        assert frame.loc[claim, "p"] == pytest.approx(p, abs=0.005 if p > 0.1 else 0.0005)
    assert set(frame.index[frame["stands"]]) == set(list(want)[2:])
    gains = frame["difference"]
    assert [gain.low > 0 for gain in gains] == [
        gain.value > 0 and p < 0.05 for gain, p in zip(gains, frame["p"], strict=True)
    ]


def test_the_guides_figures_contradict_the_table(published):
    frame = audit.audit_guide(published)
    assert frame["recomputed"].round(4).tolist() == [0.3767, 0.7168, 0.6314]
    assert (frame["guide"] - frame["recomputed"]).abs().min() > 0.03


def test_entity_parents_are_all_compared(published):
    frame = audit.entity_parents(published)
    assert len(frame) == 14
    assert frame["p"].between(0, 1).all() and all(gain.value > 0 for gain in frame["difference"])
