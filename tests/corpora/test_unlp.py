"""Posts: spans are clipped and counted, wrong rows refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import corpora
from helpers.corpora import unlp

from .rows import post, refused, write_json


class TestBadPosts:
    def test_spans_out_of_range_are_clipped_and_counted(self, tmp_path):
        rows = [post(0, trigger_words=[[0, 3], [10, 99], [15, 20], [-2, 1]]), post(1)]
        note = "3 of 5 trigger spans reach outside their post; 2 clipped, 1 dropped as empty"
        with pytest.warns(corpora.CorpusWarning, match=note) as caught:
            loaded = corpora.load_techniques(write_json(tmp_path / "train.json", rows), "train")
        assert caught[0].filename == __file__  # the caller's line, not the loader's
        assert loaded[0]["trigger_words"] == [[0, 3], [10, 15], [0, 1]]
        assert note in loaded.info.description
        assert note in loaded.select([1]).info.description

    @settings(deadline=None)
    @given(st.lists(st.tuples(st.integers(-5, 30), st.integers(-5, 30))), st.integers(1, 20))
    def test_clip_keeps_exactly_the_characters_inside(self, spans, length):
        for (start, end), (low, high) in zip(spans, unlp.clip(spans, length), strict=True):
            assert set(range(low, high)) == set(range(start, end)) & set(range(length))

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"techniques": ["strawman"]}, "row 2 .*unknown technique 'strawman'"),
            ({"techniques": "['fud' 'cliche']"}, "unknown technique 'fudcliche'.*separated by commas"),
            ({"trigger_words": "[array([1, 2])]"}, "trigger_words: expected a list, got the text"),
            ({"trigger_words": [[1, 2, 3]]}, r"a trigger span is \[start, end\]"),
            ({"manipulative": "maybe"}, "must be true or false"),
            ({"lang": None}, "expected text in 'lang'"),
            ({"id": "post-0"}, "rows 1 and 2 both have the id"),
        ],
    )
    def test_wrong_row(self, tmp_path, changes, match):
        path = write_json(tmp_path / "train.json", [post(0), post(1, **changes)])
        refused(match, corpora.load_techniques, path, "train")

    def test_no_dev_file_is_not_replaced_by_another_split(self, folder):
        refused("found train.json. .*cross-validate", corpora.load_techniques, folder, "dev")
