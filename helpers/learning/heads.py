"""One classifier for all tasks: any encoder, a pooling, a linear head, a loss per target.

Sequence and multi-label heads pool the states first; token heads do not. Saved with `save_pretrained`:
safetensors and a config with `id2label`, nothing else. Importing this module lets transformers' Auto classes
load such a folder. The encoders come from `encoders`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.configuration_utils import SubConfigSpec
from transformers.modeling_outputs import SequenceClassifierOutput

from helpers.learning.bilstm import BiLSTMModel

TASKS = ("sequence", "multilabel", "tokens")
HEADS = ("tanh", "linear")  # a hidden layer, or one matrix without a bias, as decoders are mostly fine-tuned
POOLINGS = {  # states per row
    "first": 1, "last": 1, "mean": 1, "starts": 2, "starts+max": 3, "starts+pieces": 5,
}  # fmt: skip


class ClassifierConfig(PreTrainedConfig):
    """The encoder's config, and what the head does with its states."""

    model_type = "nunchi-classifier"
    sub_configs_defaults: ClassVar = {"encoder": SubConfigSpec(config_class=AutoConfig, model_type="roberta")}

    encoder: PreTrainedConfig | dict | None = None
    task: str = "sequence"
    pooling: str = "first"
    head: str = "tanh"
    class_weights: list[float] | None = None
    head_dropout: float = 0.1
    pad_token_id: int | None = 0


class Classifier(PreTrainedModel):
    """An encoder with a head; `logits` are `(n, labels)`, or `(n, t, labels)` for the task "tokens"."""

    config_class = ClassifierConfig
    base_model_prefix = "encoder"
    supports_gradient_checkpointing = True
    _supports_sdpa = True

    def __init__(self, config: ClassifierConfig, encoder: PreTrainedModel | None = None):
        super().__init__(config)
        self.encoder = AutoModel.from_config(config.encoder) if encoder is None else encoder
        if hasattr(self.encoder, "pooler"):
            self.encoder.pooler = None  # never used here: its parameters would get no gradient
        if getattr(self.encoder.config, "use_cache", False):
            self.encoder.config.use_cache = False  # a decoder that generates nothing needs no memory of keys
        config.encoder = self.encoder.config
        size = self.encoder.config.hidden_size
        dropout = nn.Dropout(config.head_dropout)
        out = nn.Linear(size, config.num_labels)
        if config.task == "tokens":
            self.head = nn.Sequential(dropout, out)
        elif config.head == "linear":
            states = size * POOLINGS[config.pooling]
            self.head = nn.Sequential(nn.Linear(states, config.num_labels, bias=False))
        else:
            dense = nn.Linear(size * POOLINGS[config.pooling], size)
            self.head = nn.Sequential(dropout, dense, nn.Tanh(), nn.Dropout(config.head_dropout), out)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
        word_classes: Tensor | None = None,
        subject_start: Tensor | None = None,
        object_start: Tensor | None = None,
        label_bias: Tensor | None = None,
        labels: Tensor | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput:
        """Return logits, with `label_bias: (n, labels)` added if given, and the loss per target."""
        extra = {}
        if token_type_ids is not None and getattr(self.config.encoder, "type_vocab_size", 0) > 1:
            extra["token_type_ids"] = token_type_ids
        if getattr(self.config.encoder, "word_classes", 0):
            extra["word_classes"] = word_classes
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **extra).last_hidden_state
        if self.config.task != "tokens":
            states = self._pool(states, attention_mask, subject_start, object_start)
        logits = self.head(states)
        if label_bias is not None:
            logits = logits + (label_bias[:, None] if self.config.task == "tokens" else label_bias)
        loss = None if labels is None else self._loss(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)

    def _pool(self, states: Tensor, mask: Tensor, subject: Tensor | None, object: Tensor | None) -> Tensor:
        rows = torch.arange(len(states), device=states.device)
        match self.config.pooling:
            case "first":
                return states[:, 0]
            case "last":
                return states[rows, mask.sum(dim=1) - 1]
            case "mean":
                return (states * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
        if subject is None or object is None:
            raise ValueError(
                f"pooling {self.config.pooling!r} needs the columns subject_start and object_start"
            )
        pooled = [states[rows, subject], states[rows, object]]
        if self.config.pooling == "starts+max":
            pooled.append(_largest(states, mask == 1))
        elif self.config.pooling == "starts+pieces":
            pooled += [_largest(states, piece) for piece in _pieces(mask, subject, object)]
        return torch.cat(pooled, dim=1)

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the weighted sum of losses per target, so that batches can be added up exactly."""
        weights = self.config.class_weights and torch.tensor(self.config.class_weights, device=logits.device)
        if self.config.task == "multilabel":
            return nn.functional.binary_cross_entropy_with_logits(logits, labels.float(), pos_weight=weights)
        loss = nn.functional.cross_entropy(
            logits.flatten(0, -2), labels.flatten(), weight=weights, ignore_index=-100, reduction="sum"
        )
        return loss / (labels != -100).sum().clamp(min=1)


def classifier(
    encoder: PreTrainedModel,
    labels: Sequence[str],
    *,
    task: str,
    pooling: str = "first",
    head: str = "tanh",
    class_weights: Mapping[str, float] | Sequence[float] | None = None,
    dropout: float | None = None,
    seed: int = 0,
) -> Classifier:
    """Put a head on an encoder.

    `class_weights` are `{label: weight}` (1 elsewhere) or one weight per label; for "multilabel" they weigh
    the positives. Poolings that begin with "starts" read the columns subject_start and object_start, token
    positions. They join the states there and the largest value of each dimension: over the row ("+max"), or
    in each of the pieces left of, between and right of the two ("+pieces"). `dropout` before the head is 0.1,
    or none after a BiLSTM, which drops its own output.
    """
    given = {"task": (task, TASKS), "pooling": (pooling, POOLINGS), "head": (head, HEADS)}
    for name, (value, known) in given.items():
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    config = ClassifierConfig(
        encoder=encoder.config.to_dict(),  # a copy: composing resets the attention kernel of what it is given
        task=task,
        pooling=pooling,
        head=head,
        class_weights=_weights(class_weights, labels),
        head_dropout=dropout if dropout is not None else 0.0 if isinstance(encoder, BiLSTMModel) else 0.1,
        pad_token_id=encoder.config.pad_token_id,
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
    )
    with seeded(seed):
        return Classifier(config, encoder)


def _pieces(mask: Tensor, subject: Tensor, object: Tensor) -> Iterator[Tensor]:
    """Yield which positions (n, t) are left of, between and right of two: both ends belong to two pieces."""
    at = torch.arange(mask.shape[1], device=mask.device)
    first, second = torch.minimum(subject, object)[:, None], torch.maximum(subject, object)[:, None]
    yield at <= first
    yield (first <= at) & (at <= second)
    yield (second <= at) & (mask == 1)


def _largest(states: Tensor, wanted: Tensor) -> Tensor:
    """Return the largest value of each dimension over the wanted positions (n, t); each row needs one."""
    return states.masked_fill(~wanted[..., None], float("-inf")).amax(dim=1)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Initialise weights from this seed, and leave the caller's random numbers alone."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def freeze_encoder(model: Classifier) -> Classifier:
    """Train the head alone from now on."""
    model.encoder.requires_grad_(False)
    return model


def _weights(
    weights: Mapping[str, float] | Sequence[float] | None, labels: Sequence[str]
) -> list[float] | None:
    if weights is None:
        return None
    if isinstance(weights, Mapping):
        if unknown := sorted(set(weights) - set(labels)):
            raise ValueError(f"class_weights names {unknown}, which are not among the labels {list(labels)}")
        return [float(weights.get(label, 1.0)) for label in labels]
    if len(weights) != len(labels):
        raise ValueError(f"class_weights has {len(weights)} values for {len(labels)} labels")
    return [float(weight) for weight in weights]


AutoConfig.register(ClassifierConfig.model_type, ClassifierConfig, exist_ok=True)
for _auto in (AutoModel, AutoModelForSequenceClassification, AutoModelForTokenClassification):
    _auto.register(ClassifierConfig, Classifier, exist_ok=True)
