"""Trainings that are killed in the middle of a sweep go on from their checkpoint, to the same bytes."""

import os
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from helpers.learning import checkpointing
from helpers.sweeps import sweep
from tests import forked

TEXTS = [
    f"{name}는 {place}에서 {number}년에 {verb}"
    for name in ("민수", "영희", "철수") for place in ("서울", "부산", "대구")
    for number in (1998, 2004) for verb in ("태어났다", "일했다")
]  # fmt: skip
NETWORK = {"vocabulary": 200, "hidden": 16, "epochs": 30, "batch_rows": 4}


def relations(parent):
    from helpers.relations.data import load_splits
    from helpers.relations.experiment import train_and_score

    config = {"tokenizer": "train:wordpiece", "vocabulary_size": 300, "hidden": 16, "epochs": 6}
    return (
        train_and_score,
        config | {"batch_size": 4},
        {"splits": load_splits("sample", train_rows=120, dev_rows=20)},
    )


def entities(parent):
    from helpers.corpora import load_entities
    from helpers.entities.experiment import Part, TaggerConfig, encode_parts, train_tagger

    rows = load_entities("sample", "train", rows=80)
    parts = {"train": Part.of(rows.select(range(50))), "valid": Part.of(rows.select(range(50, 60)))}
    parts["dev"] = Part.of(rows.select(range(60, 80)))
    config = TaggerConfig(
        encoder="bilstm", tokenizer="train:character", hidden=16, layers=1, bigrams=64, dropout=0.1,
        peak_lr=0.01, epochs=5, batch_size=4, swa_start=2, ema_decay=0.5, lawa_last=2, seed=1,
    )  # fmt: skip
    encodings = encode_parts(parts, [config.tokenizer], size=300)
    return train_tagger, asdict(config), {"parts": parts, "encodings": encodings}


def multilabel(parent):
    import numpy as np

    from helpers.multilabel.experiment import score_left_out

    labels = np.array([["서울" in text, "1998" in text] for text in TEXTS], dtype=int)
    config = NETWORK | {"kind": "Network", "without": [0], "seed": 0}
    return score_left_out, config, {"texts": TEXTS, "labels": labels, "assigned": np.arange(len(TEXTS)) % 4}


def spans(parent):
    import numpy as np

    from helpers.multilabel.span_experiment import tag_left_out

    marked = [[(0, 2)] if "서울" in text else [] for text in TEXTS]
    config = NETWORK | {"without": [0], "seed": 0}
    return tag_left_out, config, {"texts": TEXTS, "spans": marked, "assigned": np.arange(len(TEXTS)) % 4}


def masked_lm(parent):
    from helpers.coreference.experiment import build_base

    return build_base, MASKED, {"documents": DOCUMENTS}


def continued_masked_lm(parent):
    """The run that keeps the weights of every half epoch."""
    from helpers.coreference.experiment import continue_run
    from helpers.learning import encoders
    from helpers.text.tokenizers import train_tokenizer

    tokenizer = train_tokenizer("wordpiece", TEXTS, size=200)
    size = {"vocab_size": len(tokenizer), "hidden": 32, "layers": 1, "max_length": 32}
    encoders.masked_lm("deberta-v2", pad_id=tokenizer.pad_token_id, **size).save_pretrained(parent)
    tokenizer.save_pretrained(parent)
    config = MASKED | {"curriculum": "mlm_v2", "parent": str(parent)}
    return continue_run, config, {"documents": DOCUMENTS, "items": None}


def pretraining(parent):
    from helpers.learning.pretraining import pretrain

    config = {"vocabulary_size": 200, "hidden": 16, "epochs": 40, "batch_tokens": 64, "snapshots": 2}
    return pretrain, config, {"texts": TEXTS, "unseen": []}


MASKED = {
    "model": "deberta-v2", "tokenizer": "train:wordpiece", "vocabulary": 200, "hidden": 32, "layers": 1,
    "lengths": [32], "base_epochs": 20, "base_lr": 1e-3, "epochs": 20, "peak_lr": 1e-3, "batch_rows": 2,
    "mask_rate": 0.15, "seed": 0,
}  # fmt: skip
DOCUMENTS = [{"id": str(at), "text": ". ".join(TEXTS[at::6]) + "."} for at in range(6)]
CASES = {
    case.__name__: case
    for case in (relations, entities, multilabel, spans, pretraining, masked_lm, continued_masked_lm)
}
TIMES = ["seconds", "folder", "resumed_from", "examples_per_second"]


def run(case: str, parent: Path):
    """Sweep over one configuration; save at almost every step, for a test cannot wait."""
    function, config, shared = CASES[case](parent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpointing, "SHORTEST", 0.0)
        patch.setattr(checkpointing, "SHARE", 0.5)
        return sweep(function, [config], name=case, shared=shared, fingerprint=case, workers=1)


def run_apart(case: str, parent: Path, cache: Path) -> None:
    os.environ["NUNCHI_CACHE"] = str(cache)
    run(case, parent)


def kill_in_the_middle(case: str, parent: Path, cache: Path) -> None:
    process = forked.start(run_apart, case, parent, cache)
    while not list(cache.glob(f"sweeps/{case}/*.part/files/checkpoints/step-*")):
        assert process.is_alive(), "it ended before it had saved anything"
        time.sleep(0.005)
    process.kill()
    process.join()


def contents(folder: str) -> dict[str, bytes]:
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    files = [path for path in files if path.name != "README.md"]  # a model card tells the seconds
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_killed_training_goes_on_to_the_same_bytes(case, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path / "undisturbed"))
    wanted = run(case, tmp_path / "parent")
    kill_in_the_middle(case, tmp_path / "parent", tmp_path / "cache")
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path / "cache"))
    again = run(case, tmp_path / "parent")
    assert wanted["resumed_from"][0] == 0 and again["resumed_from"][0] > 0
    assert f"{case}: went on from step {again['resumed_from'][0]} of" in capsys.readouterr().out
    assert again.drop(columns=TIMES, errors="ignore").equals(wanted.drop(columns=TIMES, errors="ignore"))
    assert contents(again["folder"][0]) == contents(wanted["folder"][0])
    assert not any(name.startswith("checkpoints/") for name in contents(again["folder"][0]))
    assert not list(tmp_path.glob("*/sweeps/*/*.part"))
