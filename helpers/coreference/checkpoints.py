"""Checkpoints of a masked LM: find them, evaluate them all on the same items, rank them.

    nunchi checkpoints PATH… [--seq-len N] [--from-step N] [--out DIR] [--baseline NAME]

evaluates one checkpoint or all below a folder, resumes where it was stopped, and treats a broken checkpoint
as an error row. Records follow the study's JSON schema, extended with per-item files, so that any two
checkpoints can be compared item by item. Intervals, tests and stopping rules are in `trajectories`.
"""

import hashlib
import json
import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

WEIGHTS = {"real1": 0.4, "real5": 0.3, "lambada1": 0.3}


def composite(real1: float, real5: float, lambada1: float) -> float:
    """Return the study's score: 0.4 Real@1 + 0.3 Real@5 + 0.3 LAMBADA@1.

    >>> round(composite(0.6558, 0.8167, 0.3567), 4)
    0.6143
    """
    return WEIGHTS["real1"] * real1 + WEIGHTS["real5"] * real5 + WEIGHTS["lambada1"] * lambada1


def step_of(name: str | Path) -> int:
    """Return the step in the name of a checkpoint: `checkpoint-390` → 390."""
    match = re.fullmatch(r"checkpoint-(\d+)", Path(name).name)
    if not match:
        raise ValueError(f"a checkpoint is called checkpoint-<step>, got {Path(name).name!r}")
    return int(match[1])


def find_checkpoints(path: str | Path, *, from_step: int = 0) -> list[Path]:
    """Return the checkpoints at or below a path, in the order of folder, then step (a number, not a string).

    A folder with a `config.json` is itself a checkpoint, whatever its name.
    """
    path = Path(path)
    if not path.is_dir():
        raise ValueError(f"no folder {path}; name a checkpoint, or a folder with checkpoint-<step> folders")
    if (path / "config.json").exists():
        return [path]
    found = [folder for folder in path.rglob("checkpoint-*") if re.fullmatch(r"checkpoint-\d+", folder.name)]
    if not found:
        raise ValueError(f"{path} holds no checkpoint-<step> folder; save some, or name another folder")
    found = [folder for folder in found if folder.is_dir() and step_of(folder) >= from_step]
    return sorted(found, key=lambda folder: (folder.parent, step_of(folder)))


def epoch_of(step: int, steps_per_epoch: float) -> float:
    """Return the completed epochs, a fraction: step 650 at 131 steps an epoch is 4.96, not 5."""
    return step / steps_per_epoch


def tokens_of(step: int, *, rows: int, length: int) -> int:
    """Return how many tokens (padding included) a run has seen by a step."""
    return step * rows * length


def load_checkpoint(folder: str | Path):
    """Return `(model, tokenizer)`; checkpoints may share a tokenizer in a folder above."""
    from helpers.learning.encoders import masked_lm
    from helpers.text.tokenizers import load_tokenizer

    folder = Path(folder)
    places = [
        place for place in (folder, *folder.resolve().parents[:3]) if (place / "tokenizer.json").exists()
    ]
    if not places:
        raise ValueError(f"no tokenizer.json in {folder} or above; save the tokenizer beside the checkpoints")
    return masked_lm(folder), load_tokenizer(str(places[0]))


def evaluate_checkpoint(
    checkpoint: str, seq_len: int | None, weights: str, *, items, lambada: Sequence, folder: Path
) -> dict:
    """Score one checkpoint; `folder` receives `items.csv` and `lambada.csv`, one row per question.

    `weights` identifies the file's content: it is part of the sweep's cache key.
    """
    from helpers.coreference.cloze import score_items, sequence_length
    from helpers.coreference.lambada import score_lambada

    start = time.perf_counter()
    model, tokenizer = load_checkpoint(checkpoint)
    seq_len = seq_len or sequence_length(model.config)
    real = score_items(model, tokenizer, items, max_length=seq_len)
    after_real = time.perf_counter()
    cloze = score_lambada(model, tokenizer, lambada, max_length=seq_len)
    real.to_csv(folder / "items.csv", index=False)
    cloze.to_csv(folder / "lambada.csv", index=False)
    scores = {"real1": real["hit1"].mean(), "real5": real["hit5"].mean(), "lambada1": cloze["hit1"].mean()}
    return {
        "evaluated_length": seq_len,
        **scores,
        "mrr": real["reciprocal_rank"].mean(),
        "lambada_official": cloze["right"].mean(),
        "score": composite(**scores),
        "cut": int((real["status"] == "cut").sum()),
        "unknown": int((real["status"] == "unknown").sum()),
        "evaluated_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "real_seconds": after_real - start,
        "lambada_seconds": time.perf_counter() - after_real,
    }


def evaluate_checkpoints(
    folders: Sequence[Path], *, items, lambada, seq_len: int | None = None, name: str = "checkpoints"
) -> pd.DataFrame:
    """Evaluate checkpoints on the same items; one row each, failed ones with their error.

    What was evaluated before, with the same weights, items and code, is not evaluated again.
    """
    from helpers.sweeps import fingerprint, sweep

    configs = [
        {"checkpoint": str(folder), "seq_len": seq_len, "weights": weights_digest(folder)}
        for folder in folders
    ]
    shared = {"items": items, "lambada": list(lambada)}
    mark = fingerprint(items, lambada)
    frame = sweep(evaluate_checkpoint, configs, name=name, shared=shared, fingerprint=mark, failed="keep")
    return frame.drop(columns="weights")


def weights_digest(folder: Path) -> str:
    """Hash the files of a checkpoint that decide what it computes."""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).glob("*")):
        if path.suffix in (".safetensors", ".json", ".bin"):
            digest.update(path.name.encode())
            with path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:16]


def write_record(row: dict, out: Path) -> Path:
    """Write one evaluation in the study's schema to `<checkpoint>_eval_results.json`, with its item files."""
    checkpoint, out = Path(row["checkpoint"]), Path(out)
    out.mkdir(parents=True, exist_ok=True)
    files = {}
    for kind in ("items", "lambada"):
        files[kind] = f"{checkpoint.name}_{kind}.csv"
        _write(out / files[kind], Path(row["folder"], f"{kind}.csv").read_text(encoding="utf-8"))
    record = {
        "checkpoint": checkpoint.name,
        "seq_len": int(row["evaluated_length"]),
        "evaluated_at": row["evaluated_at"],
        "lambada_top1": row["lambada1"],
        "real1": row["real1"],
        "real5": row["real5"],
        "coref_samples": len(pd.read_csv(out / files["items"])),
        "eval_time_seconds": row["seconds"],
        "timings": {"real": row["real_seconds"], "lambada": row["lambada_seconds"]},
        "score": row["score"],
        "mrr": row["mrr"],
        "lambada_official": row["lambada_official"],
        "not_asked": {"cut": int(row["cut"]), "unknown": int(row["unknown"])},
        "files": files,
    }
    path = out / f"{checkpoint.name}_eval_results.json"
    _write(path, json.dumps(record, ensure_ascii=False, indent=1))
    return path


def read_records(out: str | Path) -> pd.DataFrame:
    """Return the records of a folder, in the order of their steps, with the composite recomputed."""
    records = [json.loads(path.read_text(encoding="utf-8")) for path in Path(out).glob("*_eval_results.json")]
    if not records:
        raise ValueError(f"no *_eval_results.json in {out}; evaluate some checkpoints first")
    frame = pd.DataFrame(records)
    score = composite(frame["real1"], frame["real5"], frame["lambada_top1"])
    order = frame["checkpoint"].map(lambda name: [int(n) for n in re.findall(r"\d+", name)] or [-1])
    return frame.assign(score=score).loc[order.sort_values().index].reset_index(drop=True)


def rank(frame: pd.DataFrame, *, baseline: str | None = None) -> pd.DataFrame:
    """Return evaluated checkpoints, best Real@1 first, with both ranks and the change against a baseline."""
    done = frame[frame["status"] == "ok"].copy()
    done.insert(0, "name", [Path(path).name for path in done["checkpoint"]])
    for column in ("real1", "score"):
        done[f"rank_{column}"] = done[column].rank(ascending=False, method="min").astype(int)
    if baseline is not None:
        if baseline not in set(done["name"]):
            raise ValueError(
                f"no evaluated checkpoint is called {baseline!r}; there are {list(done['name'])}"
            )
        reference = done.loc[done["name"] == baseline, ["real1", "real5", "lambada1", "score"]].iloc[0]
        for column, value in reference.items():
            done[f"change_{column}"] = done[column] - value
    return done.sort_values(["rank_real1", "rank_score"], kind="stable").reset_index(drop=True)


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
