"""A sentence drawn in a tokenizer's pieces, and the field to type another one."""

import pytest

from helpers.display.explorers import draw_pieces, explore
from helpers.text.tokenizers import SPECIAL, load_tokenizer

PIECES = [*SPECIAL.values(), "세종", "##은", "조선", "##의", "왕", "이다", "."]


@pytest.fixture
def tokenizer(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    return load_tokenizer(str(tmp_path / "vocab.txt"))


def test_drawn_pieces_mark_edges_and_count_hidden_ones(tokenizer):
    html = draw_pieces({"tiny": tokenizer}, "세종은 조선의 <b>", ["세종", "조선", "선의"]).data
    assert "&lt;" in html
    assert "<b>" not in html
    assert "1 of 6 entity edges inside a piece" in html
    with pytest.raises(ValueError, match="does not stand in the sentence"):
        draw_pieces({"tiny": tokenizer}, "세종은", ["영희"])


def test_the_reader_types_a_sentence_when_there_is_a_kernel(tokenizer, monkeypatch):
    monkeypatch.setenv("NUNCHI_OUT", "somewhere")
    drawn = explore({"tiny": tokenizer}, "세종은 왕이다.", ["세종"])
    assert "세종" in drawn.data
    monkeypatch.delenv("NUNCHI_OUT")
    box = explore({"tiny": tokenizer}, "세종은 왕이다.", ["세종"])
    assert [field.value for field in box.children[:2]] == ["세종은 왕이다.", "세종"]
    box.children[0].value = "조선의 왕"  # 세종 is gone: said, not raised
    box.children[1].value = "조선"
