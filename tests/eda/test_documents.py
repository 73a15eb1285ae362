"""Nouns that come back in a document, and pronouns."""

import pytest

from helpers.eda import documents


class TestDocuments:
    def test_repetition(self):
        found = documents.repetition(
            ["강아지가 학교에 갔다. 강아지는 학교를 좋아한다. 강아지!", "그는 나무를 심었다."]
        )
        returns = found.returns
        assert returns["noun"].tolist() == ["강아지", "학교", "강아지"]
        assert returns["mention"].tolist() == [2, 2, 3]
        assert returns["distance"].tolist() == [10, 11, 12]  # from the end of one mention to the next
        assert found.documents["returning"].tolist() == [3, 0]
        assert found.documents["has_pronoun"].tolist() == [False, True]
        assert documents.returning_share(found).value == pytest.approx(100 * 3 / 6)
        assert documents.without_pronouns(found).value == 50
        assert documents.beyond(found, 11).value == pytest.approx(100 / 3)
