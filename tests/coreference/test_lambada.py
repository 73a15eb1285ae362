"""LAMBADA as designed: the gap is masked, the answer compared with the candidate."""

import pytest

from helpers.coreference import lambada
from tests.coreference.conftest import PASSAGES


def test_lambada_masks_the_gap_and_compares_answer_with_candidate(model, tokenizer):
    frame = lambada.score_lambada(model, tokenizer, PASSAGES, max_length=64)
    assert frame["status"].tolist() == ["ok", "ok"]
    assert (frame["right"] == (frame["answer_log_likelihood"] > frame["candidate_log_likelihood"])).all()
    swapped = [{**row, "answer": row["candidate"], "candidate": row["answer"]} for row in PASSAGES]
    assert (lambada.score_lambada(model, tokenizer, swapped, max_length=64)["right"] != frame["right"]).all()
    filled = PASSAGES[0]["text"].replace("_", "학생")
    ids = tokenizer(filled)["input_ids"]
    (masked, _) = lambada._filled(tokenizer, PASSAGES, "answer", max_length=64)
    shown = [token for at, token in enumerate(ids) if at not in masked.positions]
    assert [token for at, token in enumerate(masked.ids) if at not in masked.positions] == shown


def test_a_passage_without_a_gap_is_refused(model, tokenizer):
    with pytest.raises(ValueError, match="no gap"):
        lambada.score_lambada(model, tokenizer, [{**PASSAGES[0], "text": "빈칸 없음"}], max_length=64)
