"""Estimates: what a plan's parameters say about the size of a run, without running it."""

import math
from pathlib import Path

import yaml

from helpers.batch.plans import Plan, hub_names

BACKBONES = Path(__file__).with_name("backbones.yaml")  # millions of parameters by model
# Rows of the public training files, by the number of the notebook that trains on them.
TRAIN_ROWS = {"02": 32_470, "03": 32_470, "04": 21_008, "05": 3_822}


def estimate(plan: Plan) -> list[str]:
    """Return what the parameters say about a run's size: lists, models, steps, memory; empty when nothing.

    The lists are what a notebook may vary; which it crosses, only the notebook knows. Memory is weights,
    gradients and Adam's two moments in 32 bits (16 bytes a parameter), or with LoRA the frozen weights alone,
    in 16 or 4 bits; activations come on top.
    """
    lists = {name: value for name, value in plan.values.items() if isinstance(value, list) and len(value) > 1}
    sizes = ", ".join(f"{name} {len(value)}" for name, value in lists.items())
    crossed = f" ({math.prod(map(len, lists.values())):,} runs if all are crossed)" if len(lists) > 1 else ""
    lines = [f"varies: {sizes}{crossed}"] if lists else []
    for name, value in plan.values.items():
        own = value if isinstance(value, dict) else plan.values  # a model's settings may travel together
        frozen = (4 if own.get("four_bit") else 16) if own.get("lora") or own.get("lora_rank") else 0
        only_text = "token" in name or "vocab" in name
        lines += [
            f"{name}: {model}{'' if only_text else ', ' + _memory(model, frozen_bits=frozen)}"
            for model in hub_names(value)
        ]
    return lines + _steps(plan)


def _steps(plan: Plan) -> list[str]:
    epochs, batch = (plan.values.get(name) for name in ("epochs", "batch_size"))
    rows = plan.values.get("train_rows") or TRAIN_ROWS.get(plan.name[:2])  # 0 rows: all there are
    if not (
        isinstance(rows, int) and isinstance(epochs, int | float) and isinstance(batch, int) and batch > 0
    ):
        return []
    steps = math.ceil(math.ceil(rows / batch) * epochs)
    return [f"steps: {rows:,} rows × {epochs} epochs / batch {batch} = {steps:,} a run"]


def _memory(name: str, *, frozen_bits: int) -> str:
    millions = yaml.safe_load(BACKBONES.read_text(encoding="utf-8")).get(name)
    if millions is None:
        return "size unknown"
    size = f"{millions / 1000:.1f} G" if millions >= 1000 else f"{millions} M"
    need = millions * (frozen_bits / 8 or 16) / 1000
    purpose = f"for frozen {frozen_bits}-bit weights" if frozen_bits else "to fine-tune"
    return f"{size} parameters, at least {need:.1f} GB {purpose}"
