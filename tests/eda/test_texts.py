"""Characters that a vocabulary, or KS X 1001, cannot hold."""

import pytest

from helpers.eda import texts


class TestTexts:
    @pytest.mark.parametrize(
        ("character", "name", "held"),
        [
            ("가", "syllable", True),
            ("봣", "syllable", False),  # outside the 2,350
            ("ᄏ", "conjoining jamo", False),
            ("ㅋ", "compatibility jamo", True),
            ("漢", "hanja", True),
            ("の", "kana", True),
            ("😀", "emoji", False),
            ("é", "other letter", False),
            ("a", "other letter", True),
            ("7", "number", True),
            ("!", "symbol", True),
        ],
    )
    def test_blocks_and_ks_x_1001(self, character, name, held):
        assert texts.block(character) == name
        assert texts.in_ks_x_1001(character) == held

    def test_ks_x_1001_has_2350_syllables(self):
        assert sum(texts.in_ks_x_1001(chr(code)) for code in range(0xAC00, 0xD7A4)) == 2350

    def test_missing_characters(self):
        from helpers.text.tokenizers import load_tokenizer

        held = {"train:character": load_tokenizer("train:character", texts=["가나 다", "나다"], size=100)}
        table = texts.missing_characters(["가나", "봣봣 가", "ᄏ"], held).set_index("vocabulary")
        trained, inventory = table.loc["train:character"], table.loc["KS X 1001"]
        assert (trained["distinct"], trained["occurrences"]) == (2, 3)
        assert (inventory["distinct"], inventory["occurrences"]) == (2, 3)
        assert trained["texts, %"].value == pytest.approx(200 / 3)
        assert trained["examples"] == "봣 ᄏ" and trained["kinds"] == "syllable 2, conjoining jamo 1"
        assert isinstance(trained["size"], int) and trained["size"] == len(held["train:character"])
        assert inventory["size"] is None
        whole = texts.missing_characters(["가나"], held)
        assert whole["occurrences"].tolist() == [0, 0] and set(whole["examples"]) == {"–"}


def test_copies_between_train_and_dev_by_hand():
    same = "가온시의 한빛은 2019년에 새 도서관을 세웠다고 밝혔다."
    near = "나래는 어제 바닷가에서 오래된 등대를 다시 보았다."
    train = ["다른 이야기가 여기에 하나 있다.", near.replace("어제", "그제"), same, same]
    found = texts.copied(train, [same, near, "아무 데도 없는 문장이 이것이다.", same.replace(" ", "")])
    assert (found.exact.value, found.near.value) == (50.0, 25.0)
    one = found.closest
    assert (one.text, one.sentence) == (1, 1) and 0.5 <= one.share < 1
