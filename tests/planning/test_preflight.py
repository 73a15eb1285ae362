"""What would stop a suite, found offline and on."""

import http.server
import threading

import pytest

from helpers.planning import preflight
from tests.planning.test_footprints import training


@pytest.fixture
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path))


def test_offline_it_says_so_plainly(offline, tmp_path):
    found = {training(task="labels", model="gemma-2", lora_rank=2, four_bit=True): 1}
    said = [str(one) for one in preflight.preflight(found, ["a/b"], hub_data=True, folder=tmp_path)]
    assert said[0].startswith("NO  hub: not reachable from here; the data sets come from it")
    assert said[1] == "NO  a/b: not in the cache; where there is a network: hf download a/b"
    assert said[2].startswith("NO  bitsandbytes: not installed: pip install")
    assert said[3].startswith("NO  GPU: none here; the largest run (gemma-2) takes about")
    assert said[4].startswith("ok  disk for runs: ")


def test_nothing_is_asked_where_nothing_is_needed(tmp_path):
    assert list(preflight.preflight({}, [], hub_data=False, folder=tmp_path)) == []


def test_a_hub_that_answers_is_reachable(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)  # says 501
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    assert preflight.reachable(address)
    server.shutdown()
    server.server_close()
    assert not preflight.reachable(address)


@pytest.mark.parametrize(
    ("files", "fine"),
    [
        ({"model-00001-of-00002.safetensors"}, True),
        ({"pytorch_model.bin"}, True),
        ({"pytorch_model-00001-of-00002.bin"}, False),
        ({"tokenizer.json"}, None),
    ],
)
def test_the_format_of_the_weights(files, fine):
    assert preflight._format("a/b", files).fine is fine


def test_a_disk_that_is_too_small(tmp_path, monkeypatch):
    monkeypatch.setattr(preflight.shutil, "disk_usage", lambda place: type("Usage", (), {"free": 1})())
    costs = [preflight.estimates.cost(training(checkpoints=2))]
    runs, _ = preflight._disk(costs, tmp_path / "not" / "there")
    assert not runs.fine and "1 free" not in runs.said and str(tmp_path) in runs.said
