"""The shape of a model by name: from scratch as a training asks for it, of the studies from `shapes.yaml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from helpers.text.revisions import revision_of

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

FILE = Path(__file__).with_name("shapes.yaml")
PRETRAINED_HERE = "pretrained"  # a notebook's own BiLSTM, pretrained on unlabelled text


def shape(
    name: str, *, hidden: int = 128, layers: int = 1, vocabulary: int = 8000, length: int = 512
) -> PreTrainedConfig:
    """Return the config of a kind from scratch, a model of the studies, or one in a folder or the cache.

    The sizes are those of a kind from scratch.
    """
    from transformers import AutoConfig

    from helpers.learning import encoders

    kind = "bilstm" if name.startswith(PRETRAINED_HERE) else name
    if kind in encoders.KINDS:
        size: dict[str, Any] = {"hidden": hidden, "layers": layers, "vocab_size": vocabulary}
        return encoders.encoder_config(kind, max_length=length, **size)
    base, commit = revision_of(name)
    if base in known():
        return AutoConfig.for_model(**known()[base])
    try:
        return AutoConfig.from_pretrained(base, revision=commit or "main", trust_remote_code=False)
    except OSError as error:
        raise ValueError(
            f"the shape of {name!r} is not known: expected a folder, a model in the hub's cache, or one of "
            f"{', '.join(known())}; add it to {FILE.name}"
        ) from error


@cache
def known() -> dict[str, dict[str, Any]]:
    """Return the fields of the studies' models by name."""
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))
