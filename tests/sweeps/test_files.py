"""Paths in configurations: which strings are paths, what a path is in the cache key."""

import os
from pathlib import Path

import pytest

from helpers.sweeps import files, sweep


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NUNCHI_DATA", str(tmp_path / "data"))
    (tmp_path / "bilstm").mkdir()
    model = tmp_path / "models" / "small"
    (model / "deep").mkdir(parents=True)
    (model / "config.json").write_text("{}")
    (model / "deep" / "weights").write_bytes(b"1234")
    vocabulary = tmp_path / "data" / "vocabs" / "tiny"
    vocabulary.mkdir(parents=True)
    (vocabulary / "vocab.txt").write_text("[UNK]")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reading(model, x, folder):
    (folder / "seen").touch()
    return {"weights": Path(model["folder"], "deep", "weights").read_text()}


def test_only_what_looks_like_a_path_and_exists_is_one(here):
    for value in ("models/small", "./bilstm", str(here / "models" / "small" / "config.json")):
        assert files.located(value) == Path(value)
    for value in ("bilstm", "models/none", "klue/roberta-base", "", 3, None, "a/" * 5000, "\0/x"):
        assert files.located(value) is None
    assert files.located("local:tiny") == here / "data" / "vocabs" / "tiny" / "vocab.txt"
    with pytest.raises(ValueError, match="no vocabulary 'large'"):
        files.located("local:large")


def test_a_digest_is_of_names_and_contents_wherever_they_lie(here):
    model, copy = here / "models" / "small", here / "copy"
    files.unpack(files.pack(model), copy)
    assert files.digest(copy) == files.digest(model)
    (copy / "deep" / "weights").write_bytes(b"1235")
    assert files.digest(copy) != files.digest(model)
    (copy / "deep" / "weights").write_bytes(b"1234")
    (copy / "config.json").rename(copy / "other.json")
    assert files.digest(copy) != files.digest(model)
    text, model_file = here / "a.txt", here / "a.model"
    text.write_text("x")
    model_file.write_text("x")
    assert files.digest(text) != files.digest(model_file)  # the suffix says how to read it
    files.unpack(files.pack(text), here / "b" / "c.txt")
    assert files.digest(here / "b" / "c.txt") == files.digest(text)


def test_rows_are_known_by_what_a_path_holds_and_shown_as_the_caller_wrote_them(here):
    def run(path):
        return sweep(reading, [{"model": {"folder": path}, "x": [path]}], name="read")

    first = run("models/small")
    (here / "models").rename(here / "elsewhere")
    moved = run(str(here / "elsewhere" / "small"))
    assert moved["folder"][0] == first["folder"][0], "moved, not changed: nothing is computed again"
    assert moved["model"][0] == {"folder": str(here / "elsewhere" / "small")}
    weights = here / "elsewhere" / "small" / "deep" / "weights"
    weights.write_bytes(b"5678")
    os.utime(weights, ns=(1, 1))
    changed = run(str(here / "elsewhere" / "small"))
    assert changed["weights"][0] == "5678" and changed["folder"][0] != first["folder"][0]
