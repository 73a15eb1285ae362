"""Where data come from: NUNCHI_DATA, paths, the hub, and `nunchi fetch`."""

import pytest

from helpers import cli, corpora
from helpers.corpora.labels import RELATIONS

from .rows import LOADERS, item, refused, relation, write_csv


class TestSources:
    def test_local_is_the_folder_of_the_environment(self, folder, monkeypatch):
        monkeypatch.setenv("NUNCHI_DATA", str(folder))
        assert corpora.load_relations("local", "dev")["guid"][:] == ["re-0", "re-1", "re-2"]
        (folder / "klue-ner" / "mine_dev.tsv").unlink()
        refused("expected exactly one file .*found mine_train.tsv", corpora.load_entities, "local", "dev")

    def test_local_without_a_folder_says_how_to_fill_it(self, tmp_path, monkeypatch):
        monkeypatch.delenv("NUNCHI_DATA", raising=False)
        message = refused("NUNCHI_DATA, which is not set", corpora.load_relations, "local", "train")
        assert "nunchi fetch data" in message
        monkeypatch.setenv("NUNCHI_DATA", str(tmp_path / "absent"))
        refused("not a folder", corpora.load_relations, "local", "train")
        monkeypatch.setenv("NUNCHI_DATA", str(tmp_path))
        refused("has no folder unlp/.*--only unlp", corpora.load_techniques, "local", "train")

    def test_one_task_s_folder_or_file_is_a_source_too(self, folder):
        whole = corpora.load_relations(folder, "train").to_list()
        assert corpora.load_relations(folder / "klue-re", "train").to_list() == whole
        assert corpora.load_relations(folder / "klue-re" / "mine_train.json", "train").to_list() == whole

    def test_a_file_named_after_another_split_is_refused(self, folder):
        file = folder / "klue-re" / "mine_train.json"
        refused("named after the split 'train', but 'dev'", corpora.load_relations, file, "dev")

    def test_two_files_of_one_split_are_ambiguous(self, folder):
        write_csv(folder / "klue-re" / "train.csv", [relation()])
        message = refused("exactly one file", corpora.load_relations, folder, "train")
        assert "mine_train.json, train.csv" in message and "Pass the path" in message

    def test_neighbours_that_only_begin_like_a_split_are_ignored(self, folder):
        (folder / "klue-ner" / "train_provenance.tsv").write_text("not an entity file")
        assert len(corpora.load_entities(folder, "train")) == 2

    def test_bad_names(self, folder, tmp_path):
        refused("split must be 'train' or 'dev'", corpora.load_relations, "sample", "test")
        refused("no such source: 'smaple'", corpora.load_relations, "smaple", "train")
        (path := tmp_path / "train.xlsx").write_text("")
        refused("cannot read .xlsx; expected one of .tsv", corpora.load_entities, path, "train")


class TestHub:
    @pytest.mark.parametrize("name", LOADERS)
    def test_same_schema_as_a_folder(self, hub, folder, name):
        split = "dev" if name == "lambada" else "train"
        assert LOADERS[name]("hub", split).features == LOADERS[name](folder, split).features

    def test_rows(self, hub, folder):
        assert (
            corpora.load_relations("hub", "train").to_list()
            == corpora.load_relations(folder, "train").to_list()
        )
        assert corpora.load_relations("hub", "dev")["guid"][:] == ["re-2"]
        assert hub.calls[-1] == ("klue/klue", "re", "validation")
        row = corpora.load_entities("hub", "dev")[0]
        assert (row["guid"], row["sentence"]) == ("dev-00000", "하람 #")  # the hub's sentence is markup
        assert corpora.load_lambada("hub")[0] == item(0)
        both = [row["id"] for split in ("train", "dev") for row in corpora.load_documents("hub", split)]
        assert sorted(both, key=int) == [str(i) for i in range(50)]

    def test_labels_go_by_name_not_by_the_hub_s_numbers(self, hub, folder):
        from datasets import ClassLabel, DatasetDict

        reversed_ = corpora.load_relations(folder, "train").cast_column(
            "label", ClassLabel(names=RELATIONS[::-1])
        )
        DatasetDict(train=reversed_).save_to_disk(hub.root / "klue/klue re2")
        (hub.root / "klue/klue re").rename(hub.root / "klue/old")
        (hub.root / "klue/klue re2").rename(hub.root / "klue/klue re")
        assert corpora.load_relations("hub", "train")["label"][:] == [29 - i for i in reversed_["label"]]

    def test_reading_and_fetching_take_the_same_commit(self, hub, tmp_path):
        for name, load in LOADERS.items():
            load("hub", "dev" if name == "lambada" else "train")
        assert cli.main(["fetch", str(tmp_path / "data")]) == 0
        pinned = {name: found for name, found in hub.revisions.items() if found != {None}}
        assert pinned.keys() == {"klue/klue", "wikimedia/wikipedia"}
        assert all(len(found) == 1 and len(*found) == 40 for found in pinned.values())

    def test_missing_split(self, hub):
        refused("Unknown split .*cross-validate", corpora.load_techniques, "hub", "dev")

    def test_offline(self, monkeypatch):
        def unreachable(*_, **__):
            raise ConnectionError("Couldn't reach the Hub")

        monkeypatch.setattr("datasets.load_dataset", unreachable)
        with pytest.raises(ConnectionError, match=r"could not fetch klue/klue re .*NUNCHI_DATA"):
            corpora.load_relations("hub", "train")

    def test_fill_a_folder_then_read_it_as_local(self, hub, tmp_path, monkeypatch, capsys):
        target = tmp_path / "data"
        assert cli.main(["fetch", str(target)]) == 0
        monkeypatch.setenv("NUNCHI_DATA", str(target))
        for name, load in LOADERS.items():
            split = "dev" if name == "lambada" else "train"
            assert load("local", split).to_list() == load("hub", split).to_list()
        assert corpora.load_relations("local", "dev")["guid"][:] == ["re-2"]
        capsys.readouterr()
        assert cli.main(["fetch", str(target), "--only", "unlp"]) == 0
        assert "already there" in capsys.readouterr().out

    def test_fill_says_what_could_not_be_had(self, tmp_path, monkeypatch, capsys):
        def gated(*_, **__):
            raise FileNotFoundError("gated")

        monkeypatch.setattr("datasets.load_dataset", gated)
        assert cli.main(["fetch", str(tmp_path / "data"), "--only", "lambada", "unlp"]) == 1
        assert capsys.readouterr().err.count("hf auth login") == 2

    def test_parquet_shard_of_the_hub_keeps_its_label_names(self, folder, tmp_path):
        relations = corpora.load_relations(folder, "train")
        relations.to_parquet(path := tmp_path / "train-00000-of-00001.parquet")
        assert corpora.load_relations(path, "train").to_list() == relations.to_list()
