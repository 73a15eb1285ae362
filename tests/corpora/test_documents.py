"""Documents and Ko-LAMBADA items: wrong rows refused, a split by content."""

import numpy as np
import pytest

from helpers import corpora
from helpers.corpora.documents import in_dev

from .rows import item, refused, write_lines


class TestBadDocuments:
    def test_empty_and_duplicate(self, tmp_path):
        path = write_lines(tmp_path / "a.jsonl", [{"text": "글"}, {"text": " "}])
        refused("document 2 .*expected text in 'text'", corpora.load_documents, path, "train")
        path = write_lines(tmp_path / "b.jsonl", [{"id": 7, "text": "글"}, {"id": "7", "text": "말"}])
        refused("rows 1 and 2 both have the id '7'", corpora.load_documents, path, "train")
        path.write_text('{"text": "글"}\n{"text": "마')
        refused("line 2: not JSON .*truncated", corpora.load_documents, path, "train")
        (tmp_path / "none").mkdir()
        refused("expected documents as .jsonl", corpora.load_documents, tmp_path / "none", "train")

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"text": "빈칸 없음"}, "has no '_'"),
            ({"answer": ""}, "text in 'answer'"),
            ({"index": 0}, "both have"),
        ],
    )
    def test_lambada(self, tmp_path, changes, match):
        path = write_lines(tmp_path / "test.jsonl", [item(0), item(1, **changes)])
        refused(match, corpora.load_lambada, path, "dev")
        refused("evaluation set", corpora.load_lambada, path, "train")


class TestDocumentSplit:
    def test_documents_split_by_content(self, folder):
        train, dev = (set(corpora.load_documents(folder, split)["text"]) for split in ("train", "dev"))
        assert len(train | dev) == 200 and not train & dev
        assert 8 <= len(dev) <= 35  # 20 expected, 3.6 standard deviations either way
        copies = [{"id": str(i), "text": "같은 글"} for i in range(6)]
        path = write_lines(folder / "copies.jsonl", copies)
        assert {len(corpora.load_documents(path, split)) for split in ("train", "dev")} == {0, 6}

    def test_share_of_dev(self):
        assert np.mean([in_dev(str(i)) for i in range(20_000)]) == pytest.approx(0.1, abs=0.01)
