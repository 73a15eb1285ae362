"""What the tests of this room share: texts, a tokenizer of them, small models, a whole tiny experiment."""

from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
import pytest

from helpers.coreference import evaluation, experiment, trajectories
from helpers.coreference.items import build_items
from helpers.learning import encoders
from helpers.sweeps import fingerprint, sweep
from helpers.text import tokenizers

TEXTS = [
    "서울의 시장은 서울에서 회의를 열었다. 회의에는 시장과 의원이 참석했다. 의원은 서울을 떠났다.",
    "학교 앞 도서관에 학생이 모였다. 학생은 도서관에서 책을 읽고 학교로 돌아갔다.",
    "바다를 본 어부는 배를 띄웠다. 배는 바다로 나갔고 어부는 노래를 불렀다.",
    "하늘이 맑다.",
    "그는 공장에 갔다. 공장은 그의 것이다.",
]
DOCUMENTS = [{"id": f"d{number}", "title": "", "text": text} for number, text in enumerate(TEXTS)]
PASSAGES = [
    {
        "index": 0,
        "text": "어부는 배를 보았다. 학생은 책을 보았다. 책을 읽은 것은 _이다.",
        "answer": "학생",
        "candidate": "의원",
    },
    {"index": 1, "text": "서울에 바다는 없다. 어부가 간 곳은 _이다.", "answer": "바다", "candidate": "학교"},
]


@pytest.fixture(scope="package")
def tokenizer():
    return tokenizers.load_tokenizer("train:wordpiece", texts=TEXTS * 3, size=130)


@pytest.fixture(scope="package")
def items():
    return build_items(DOCUMENTS)


def small(kind, tokenizer, seed=3, **more):
    size = {"vocab_size": len(tokenizer), "hidden": 32, "layers": 2, "max_length": 64}
    return encoders.masked_lm(kind, pad_id=tokenizer.pad_token_id, seed=seed, **size, **more).eval()


@pytest.fixture(scope="package")
def model(tokenizer):
    return small("bert", tokenizer)


@pytest.fixture
def run(tmp_path, tokenizer, monkeypatch):
    """A folder of three checkpoints, the second of them broken, with one tokenizer above."""
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "run"
    for step in (0, 5, 10):
        small("bert", tokenizer, seed=step, dropout=0.0).save_pretrained(folder / f"checkpoint-{step}")
    (folder / "checkpoint-5" / "model.safetensors").write_bytes(b"not a model")
    tokenizer.save_pretrained(folder)
    return folder


SETTINGS = {
    "model": "deberta-v2",
    "tokenizer": "train:wordpiece",
    "vocabulary": 500,
    "hidden": 32,
    "layers": 1,
    "lengths": (24, 48),
    "base_epochs": 1,
    "base_lr": 1e-3,
    "epochs": 1,
    "peak_lr": 1e-3,
    "batch_rows": 8,
    "mask_rate": 0.15,
}


@pytest.fixture(scope="package")
def world(tmp_path_factory):
    """A tiny experiment: two seeds of a base, four runs and an entity run each, all on the choosing half."""
    patch = pytest.MonkeyPatch()
    patch.setenv("NUNCHI_CACHE", str(tmp_path_factory.mktemp("cache")))
    config = experiment.MaskedLMConfig(**SETTINGS)
    train = evaluation.load_genres("sample", "train", rows=12)
    dev = evaluation.load_genres("sample", "dev", rows=12)
    mentions, asked = build_items(train), build_items(dev)
    shared = {"documents": list(train)}
    seeds = [asdict(replace(config, seed=seed)) for seed in (0, 1)]
    bases = sweep(
        experiment.build_base, seeds, name="base", shared=shared, fingerprint=fingerprint(train)
    ).assign(run="base")
    more = {"shared": shared | {"items": mentions}, "fingerprint": fingerprint(train, mentions)}

    def go_on(name, parents, **changed):
        plan = [asdict(replace(config, seed=seed, parent=str(parent), **changed)) for seed, parent in parents]
        return sweep(experiment.continue_run, plan, name="runs", **more).assign(run=name)

    starts = [
        (seed, Path(folder, "checkpoint-0")) for seed, folder in zip((0, 1), bases["folder"], strict=True)
    ]
    parts = [
        go_on(f"{name} {length}", starts, curriculum=name, length=length)
        for name in ("mlm_v2", "combined")
        for length in config.lengths
    ]
    parents = [
        (seed, sorted(Path(folder).glob("checkpoint-*"))[0])
        for seed, folder in zip((0, 1), parts[1]["folder"], strict=True)
    ]
    runs = pd.concat([*parts, go_on("entity", parents, curriculum="entity", length=48)], ignore_index=True)
    listed = evaluation.list_checkpoints(bases, runs)
    choosing, reporting = evaluation.halves(asked)
    tried, hints = evaluation.evaluate(listed, items=choosing)
    documents = {"choosing": choosing["document"], "reporting": reporting["document"]}
    declared = trajectories.declare([("mlm_v2 24", "base 24")], margin=2, **documents)
    yield {
        "bases": bases, "runs": runs, "listed": listed, "tried": tried, "hints": hints, "items": asked,
        "choosing": choosing, "reporting": reporting, "declared": declared,
    }  # fmt: skip
    patch.undo()
