"""What notebook 01 counts in entity sentences."""

import pytest

from helpers import corpora
from helpers.corpora.labels import TAGS
from helpers.eda import entities, texts


class TestEntities:
    def test_mentions_and_types(self):
        from datasets import ClassLabel, Dataset, List

        def sentence(text, tags):
            ids = [TAGS.index(tag) for tag in tags.split()]
            return {"guid": text, "sentence": text, "tokens": list(text), "ner_tags": ids}

        train = Dataset.from_list([sentence("하람 ", "B-PS I-PS O"), sentence("나래", "B-LC I-LC")])
        dev = Dataset.from_list(
            [sentence("하람나래", "B-PS I-PS B-OG I-OG"), sentence("가 나다", "B-OG I-OG I-OG O")]
        )
        tags = List(ClassLabel(names=list(TAGS)))
        train, dev = (rows.cast_column("ner_tags", tags) for rows in (train, dev))
        found = entities.mentions(dev)
        assert found["surface"].tolist() == ["하람", "나래", "가 나"]
        assert entities.adjacent_pairs(found) == 1
        assert entities.adjacent_pairs(entities.mentions(train)) == 0
        table = entities.type_table(entities.mentions(train), found).set_index("type")
        assert table.index.tolist() == ["OG", "PS", "all"]
        assert table.loc["all", ["train", "dev"]].tolist() == [2, 3]
        assert table.loc["OG", "new surface, %"].value == 50
        assert table.loc["OG", "other type, %"].value == 50  # 나래 is a place in train
        assert table.loc["PS", "other type, %"].value == 0
        assert table.loc["OG", "with a space, %"].value == 50


@pytest.mark.real
class TestRealFiles:
    def test_entities(self, real_data):
        dev = corpora.load_entities(real_data, "dev")
        found = entities.mentions(dev)
        assert len(found) == 14_257
        assert entities.adjacent_pairs(found) == 58
        assert found["surface"].str.contains(" ").sum() == 2_409
        assert found["surface"].str.startswith(" ").sum() == 2
        jamo = [sum(texts.block(c) == "conjoining jamo" for c in sentence) for sentence in dev["sentence"]]
        assert (sum(jamo), sum(count > 0 for count in jamo)) == (900, 316)
