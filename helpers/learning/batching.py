"""Turn tokenised rows into padded, length-bucketed batches of numpy arrays, and batches into a run's steps.

Rows are tokenised once, by the caller; batches are then cut from one columnar copy, so an epoch costs
slicing and nothing else. Which rows make up each step is known before a run starts, on every process.
Tokenisation, tensors and devices are left to `text.tokenizers` and `loop`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

import numpy as np

from helpers.learning.config import Moment, TrainConfig, learning_rate

Batch = dict[str, np.ndarray]
Transform = Callable[[Batch, np.random.Generator], Batch]

Draw = Callable[[int], Sequence[int] | np.ndarray]
"""Names the rows of an epoch."""

IGNORED = -100  # the label that no loss looks at
POOL = 64  # batches whose rows are sorted by length together


class Features:
    """A columnar copy of tokenised rows.

    The values decide how a column is batched: lists of ints beside `input_ids` are padded, lists of floats
    are vectors of one size, numbers are scalars. Everything else (text, spans, tags of another length) is
    left out, and so is `attention_mask`, which follows from the lengths.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]]):
        columns = _columns(rows)
        if "input_ids" not in columns:
            raise ValueError(f"rows need input_ids, found {sorted(columns)}: tokenise them first")
        self.lengths = np.array([len(ids) for ids in columns["input_ids"]], dtype=np.int64)
        if not self.lengths.all():
            raise ValueError(f"row {int(self.lengths.argmin())} has no input_ids: drop empty rows first")
        self._starts = np.cumsum(self.lengths) - self.lengths
        self._ragged: dict[str, np.ndarray] = {}
        self._fixed: dict[str, np.ndarray] = {}
        for name, values in columns.items():
            self._add(name, values)

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, rows: Sequence[int] | np.ndarray, *, pad_id: int = 0) -> Batch:
        """Return the rows as arrays: token columns `(n, t)` with t the longest row, the rest `(n, …)`."""
        rows = np.asarray(rows, dtype=np.int64)
        lengths, padding = self.lengths[rows], {"input_ids": pad_id, "labels": IGNORED}
        filled = np.arange(lengths.max()) < lengths[:, None]
        source = _ranges(self._starts[rows], lengths)
        batch = {"attention_mask": filled.astype(np.int64)}
        for name, values in self._ragged.items():
            batch[name] = np.full(filled.shape, padding.get(name, 0), dtype=np.int64)
            batch[name][filled] = values[source]
        return batch | {name: values[rows] for name, values in self._fixed.items()}

    def counts(self, name: str, *, size: int) -> np.ndarray:
        """Count how often each of `size` values occurs in a token column: (size,)."""
        return np.bincount(self._ragged[name], minlength=size)

    def fingerprint(self) -> str:
        """Return a hash of all that a model can see of these rows."""
        digest = blake2b(self.lengths.tobytes(), digest_size=16)
        for name, values in sorted((self._ragged | self._fixed).items()):
            digest.update(name.encode() + values.tobytes())
        return digest.hexdigest()

    def _add(self, name: str, values: Sequence[Any]) -> None:
        first = next((v for v in values if not isinstance(v, list) or v), None)
        element = first[0] if isinstance(first, list) else first
        if isinstance(first, list) and isinstance(element, float):
            self._fixed[name] = _vectors(name, values)
        elif isinstance(first, list) and isinstance(element, int):
            self._add_tokens(name, values)
        elif isinstance(element, int | float | np.integer | np.floating):
            self._fixed[name] = np.array(
                values, np.float32 if np.asarray(values).dtype.kind == "f" else np.int64
            )

    def _add_tokens(self, name: str, values: Sequence[Sequence[int]]) -> None:
        lengths = np.array([len(value) for value in values])
        if (wrong := np.flatnonzero(lengths != self.lengths)).size == 0:
            self._ragged[name] = np.concatenate([np.asarray(value, dtype=np.int64) for value in values])
        elif name in ("labels", "token_type_ids"):
            raise ValueError(
                f"row {wrong[0]}: {name} has {lengths[wrong[0]]} values, input_ids {self.lengths[wrong[0]]}; "
                "align them to the tokens, or pass floats if they are a vector of one size"
            )


def length_buckets(
    lengths: Sequence[int] | np.ndarray,
    *,
    rows: int = 32,
    tokens: int | None = None,
    seed: int | None = None,
    epoch: int = 0,
) -> list[np.ndarray]:
    """Cut rows into batches of similar length, each index exactly once.

    A batch closes at `rows` rows, or where one more would pass `tokens` tokens, padding included; a single
    longer row is a batch of its own. With a seed, rows are shuffled, sorted within pools of 64 batches, and
    the batches shuffled; the same (seed, epoch) gives the same batches. Without a seed: longest first.
    """
    lengths = np.asarray(lengths)
    if rows < 1 or (tokens is not None and tokens < 1):
        raise ValueError(f"rows and tokens must be positive, got rows={rows}, tokens={tokens}")
    if seed is None:
        return _cut(np.argsort(-lengths, kind="stable"), lengths, rows=rows, tokens=tokens)
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths))
    typical = rows if tokens is None else max(1, min(rows, int(tokens / max(1, lengths.mean()))))
    batches = []
    for at in range(0, len(order), POOL * typical):
        pool = order[at : at + POOL * typical]
        batches += _cut(pool[np.argsort(-lengths[pool], kind="stable")], lengths, rows=rows, tokens=tokens)
    return [batches[at] for at in rng.permutation(len(batches))]


def mask_tokens(tokenizer: Any, *, rate: float = 0.15, span: int = 1) -> Transform:
    """Return a transform that chooses tokens afresh in each batch: 80 % masked, 10 % random, 10 % kept.

    Special tokens are never chosen, and every row with an ordinary token has at least one target. With
    `span`, tokens are chosen in runs of 1 to 2 × span − 1: a lone character is told by its neighbours.
    """
    if tokenizer.mask_token_id is None:
        raise ValueError(f"{type(tokenizer).__name__} has no mask token: pick a tokenizer that has one")
    if not 0 < rate < 1 or span < 1:
        raise ValueError(f"rate must lie between 0 and 1 and span be at least 1, got {rate} and {span}")
    special = np.array(sorted(tokenizer.all_special_ids))

    def transform(batch: Batch, rng: np.random.Generator) -> Batch:
        ids = batch["input_ids"]
        ordinary = (batch["attention_mask"] == 1) & ~np.isin(ids, special)
        draws = np.where(ordinary, rng.random(ids.shape), 2.0)
        chosen = _runs(draws < rate / span, span, rng) if span > 1 else draws < rate
        chosen = ordinary & (chosen | (draws == draws.min(axis=1, keepdims=True)))
        kind, random = rng.random(ids.shape), rng.integers(len(tokenizer), size=ids.shape)
        replaced = np.select(
            [kind < 0.8, kind < 0.9], [np.full_like(ids, tokenizer.mask_token_id), random], ids
        )
        labels = np.where(chosen, ids, IGNORED)
        return batch | {"input_ids": np.where(chosen, replaced, ids), "labels": labels}

    return transform


def _runs(starts: np.ndarray, span: int, rng: np.random.Generator) -> np.ndarray:
    """Extend each start (n, t) to a run of 1 to 2 × span − 1 places to its right."""
    rows, at = np.nonzero(starts)
    ends = np.minimum(at + rng.integers(1, 2 * span, size=len(at)), starts.shape[1])
    edges = np.zeros((starts.shape[0], starts.shape[1] + 1), dtype=np.int64)
    np.add.at(edges, (rows, at), 1)
    np.add.at(edges, (rows, ends), -1)
    return edges.cumsum(axis=1)[:, :-1] > 0


def _cut(order: np.ndarray, lengths: np.ndarray, *, rows: int, tokens: int | None) -> list[np.ndarray]:
    """Split indices sorted from long to short: the first row of a batch decides its width."""
    batches, at = [], 0
    while at < len(order):
        width = max(1, int(lengths[order[at]]))
        count = rows if tokens is None else max(1, min(rows, tokens // width))
        batches.append(order[at : at + count])
        at += count
    return batches


def _columns(rows: Any) -> dict[str, list[Any]]:
    if hasattr(rows, "column_names"):  # a datasets.Dataset: columns are cheaper than rows
        columns = {name: list(rows[name]) for name in rows.column_names}
    else:
        listed = list(rows)
        columns = {name: [row[name] for row in listed] for name in (listed[0] if listed else ())}
    columns.pop("attention_mask", None)
    return {
        name: [v.tolist() for v in values] if values and isinstance(values[0], np.ndarray) else values
        for name, values in columns.items()
    }


def _vectors(name: str, values: Sequence[Sequence[float]]) -> np.ndarray:
    if len(sizes := {len(value) for value in values}) > 1:
        raise ValueError(f"{name}: vectors of floats must have one size, found {sorted(sizes)}")
    return np.array(values, dtype=np.float32)


def _ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the concatenation of range(start, start + length): `_ranges([5, 9], [2, 1])` is `[5, 6, 9]`."""
    return np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())


class StepPlan:
    """All steps of a run, each a list of batches; `draw(epoch)` names the rows of an epoch (None: all)."""

    def __init__(self, features: Features, config: TrainConfig, draw: Draw | None):
        self.features, self.config, self.draw = features, config, draw
        epochs = [self._epoch(epoch) for epoch in range(config.epochs)]
        self.epoch_steps = [len(steps) for steps in epochs]
        self.steps = [step for steps in epochs for step in steps]
        self.ends = np.cumsum(self.epoch_steps)
        if not self.steps:
            raise ValueError("draw named no row in any epoch: there is nothing to train on")

    def moment(self, step: int) -> Moment:
        return Moment(step, self._position(step), self._position(step - 1), len(self.steps))

    def learning_rate(self, step: int) -> float:
        return learning_rate(self.config, step, total=len(self.steps), first_epoch=self.epoch_steps[0])

    def fingerprint(self) -> dict[str, Any]:
        order = blake2b(
            np.concatenate([rows for step in self.steps for rows in step]).tobytes(), digest_size=16
        )
        return asdict(self.config) | {"data": self.features.fingerprint(), "order": order.hexdigest()}

    def _position(self, step: int) -> float:
        """Return completed epochs after `step` steps; a whole number exactly at the end of an epoch."""
        epoch = int(np.searchsorted(self.ends, step, side="right"))
        if epoch == len(self.ends):
            return float(epoch)
        return epoch + 1 - int(self.ends[epoch] - step) / self.epoch_steps[epoch]

    def _epoch(self, epoch: int) -> list[list[np.ndarray]]:
        rows = np.arange(len(self.features)) if self.draw is None else np.asarray(self.draw(epoch))
        batches = [
            rows[batch]
            for batch in length_buckets(
                self.features.lengths[rows],
                rows=self.config.batch_rows,
                tokens=self.config.batch_tokens,
                seed=self.config.seed,
                epoch=epoch,
            )
        ]
        size = self.config.accumulate
        return [batches[at : at + size] for at in range(0, len(batches), size)]
