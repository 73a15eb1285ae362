"""Ray: the same rows as here, and nothing of this machine's disk among what is sent."""

import pickle
import sys
import time
from pathlib import Path

import pytest
from datasets import Dataset, load_from_disk

from helpers.sweeps import cluster, sweep
from helpers.sweeps.jobs import Job
from tests.sweeps.test_sweeps import counted, half_way, suicidal, weighed, with_files


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sweeps"


@pytest.fixture(scope="module")
def two_workers(ray):
    ray.init(address="local", num_cpus=2, num_gpus=0, log_to_driver=False, include_dashboard=False)
    yield ray
    ray.shutdown()


def meeting(x, place):
    """Wait for the other worker: only two that run at once see each other."""
    Path(place, f"{x}.here").touch()
    end = time.monotonic() + 60
    while len(list(Path(place).glob("*.here"))) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    return {"present": len(list(Path(place).glob("*.here")))}


def strings(value):
    if isinstance(value, dict):
        return [text for part in value.values() for text in strings(part)]
    if isinstance(value, list | tuple):
        return [text for part in value for text in strings(part)]
    return [value] if isinstance(value, str) else []


def far_away(x, model, tokenizer, rows, forbidden, folder):
    """What a call sees on a machine that has none of the driver's files."""
    found = [*strings([x, model, tokenizer]), str(folder)]
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints" / "large").touch()
    return {
        "of the driver": [text for text in found if text.startswith(forbidden)],
        "weights": Path(model["parents"][0], "weights").read_text(),
        "vocabulary": Path(tokenizer).read_text(),
        "place": model["parents"][0],
        "rows": rows["text"][:],
        "mapped": [file["filename"] for file in rows.cache_files],
    }


def test_what_is_sent_names_no_path_of_the_driver(tmp_path, cache):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_text("w")
    config = {"x": 1, "model": [{"parent": str(tmp_path / "model")}]}
    job = Job("key", "module:function", config, cache / "s" / "key.part" / "files", cache / "s" / "log")
    sent = cluster.packed(job, put=lambda path: path.name)
    assert str(tmp_path).encode() in pickle.dumps(job) and str(tmp_path).encode() not in pickle.dumps(sent)
    assert sent.config["model"][0]["parent"].name == "model"


def test_the_name_of_something_shared_stays_a_name(tmp_path):
    (tmp_path / "tokenizer").touch()
    shared_name = str(tmp_path / "tokenizer")
    job = Job("key", "module:function", {"tokenizer": shared_name}, tmp_path, tmp_path / "log")
    assert cluster.packed(job, put=str, held={shared_name}).config == {"tokenizer": shared_name}
    assert isinstance(cluster.packed(job, put=str).config["tokenizer"], cluster.Parcel)


@pytest.mark.slow
def test_the_same_sweep_on_a_real_ray_cluster_of_two_workers(tmp_path, two_workers, monkeypatch, capsys):
    monkeypatch.setattr(cluster, "RETRIES", 1)
    files = sweep(with_files, [{"x": x} for x in range(5)], name="ray", engine="ray")
    assert files["twice"].tolist() == [0, 2, 4, 6, 8]
    assert [Path(f, "deep", "x.txt").read_text() for f in files["folder"]] == list("01234")
    killed = sweep(suicidal, [{"x": x} for x in range(4)], name="killed", engine="ray", failed="keep")
    assert killed["status"].tolist() == ["ok", "failed", "ok", "ok"]
    assert "started again (1 of 1)" in capsys.readouterr().out
    failed = sweep(half_way, [{"x": 0}], name="half", engine="ray", failed="keep")
    assert failed["error"][0] == "ValueError: gave up half-way"
    product = {"shared": {"weight": 4}, "fingerprint": "four", "name": "shared", "engine": "ray"}
    assert sweep(weighed, [{"x": 2}], **product)["product"][0] == 8
    place = {"shared": {"place": str(tmp_path)}, "fingerprint": "place"}
    met = sweep(meeting, [{"x": x} for x in range(2)], name="met", engine="ray", **place)
    assert met["present"].tolist() == [2, 2], "two workers did not run at the same time"


@pytest.mark.slow
def test_files_travel_to_the_workers_and_paths_do_not(tmp_path, two_workers, monkeypatch):
    monkeypatch.setenv("NUNCHI_DATA", str(tmp_path / "data"))  # after the workers' environment was made
    monkeypatch.setenv("NUNCHI_ENGINE", "ray")
    (tmp_path / "data" / "vocabs").mkdir(parents=True)
    (tmp_path / "data" / "vocabs" / "tiny").write_text("[UNK]")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights").write_text(name)
    Dataset.from_dict({"text": ["a", "b"]}).save_to_disk(tmp_path / "rows")
    rows = load_from_disk(tmp_path / "rows")
    assert rows.cache_files, "memory-mapped from the driver's disk"
    configs = [
        {"x": x, "model": {"parents": [str(tmp_path / name)]}, "tokenizer": "local:tiny"}
        for x, name in enumerate(("one", "two", "one"))
    ]
    shared = {"rows": rows, "forbidden": str(tmp_path)}
    frame = sweep(far_away, configs, name="far", shared=shared, fingerprint="rows")
    assert frame["of the driver"].tolist() == [[], [], []] and frame["mapped"].tolist() == [[], [], []]
    assert frame["weights"].tolist() == ["one", "two", "one"] and set(frame["vocabulary"]) == {"[UNK]"}
    assert frame["place"][0] == frame["place"][2] != frame["place"][1]
    assert frame["rows"].tolist() == [["a", "b"]] * 3
    assert frame["model"].tolist() == [config["model"] for config in configs]
    assert frame["tokenizer"].tolist() == ["local:tiny"] * 3
    assert not any(Path(folder, "checkpoints").exists() for folder in frame["folder"])


def test_ray_missing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"nunchi\[ray\]"):
        sweep(counted, [{"x": 1, "calls": "c"}], name="ray", engine="ray")
