"""A masked language model as the training loop sees it: the head works at masked positions only.

Where the vocabulary is large, the loss of training compares the true token with sampled candidates instead of
all tokens; evaluation is always exact. Which tokens are masked is decided in `batching`, what is read and how
long in `pretraining`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import MaskedLMOutput

from helpers.learning.batching import IGNORED, Features, length_buckets
from helpers.learning.inference import pad_id_of

FLATTENED = 0.75  # power of the frequencies that candidates are drawn by
POSITIONS = 2048  # masked positions whose logits over the whole vocabulary are held at once


class Candidates:
    """Draw the tokens that a batch's targets are compared with: frequent ones more often, and all targets."""

    def __init__(self, counts: np.ndarray, draws: int):
        """Take how often each token occurs, `counts: (vocabulary,)`, and how many to draw for a batch."""
        share = torch.as_tensor(counts, dtype=torch.float64) + 1.0
        self.draws = draws
        self.rates = share**FLATTENED / (share**FLATTENED).sum()
        self.shares = share / share.sum()

    def draw(self, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return candidate ids, sorted, and the log of the probability that each is among them: (c,) both.

        A token is a candidate if it is drawn or is one of the targets (n,), which occur by their frequency.
        Subtracting the log from its logit makes up for the tokens that were not drawn.
        """
        drawn = torch.multinomial(self.rates.float(), self.draws, replacement=True).to(targets.device)
        ids = torch.unique(torch.cat([drawn, targets]))
        at = ids.cpu()
        missed = self.draws * torch.log1p(-self.rates[at]) + len(targets) * torch.log1p(-self.shares[at])
        return ids, torch.log1p(-torch.exp(missed)).float().to(targets.device)


class MaskedLM(nn.Module):
    """Wrap any transformers masked LM: `labels` in, the loss per masked token out, no other logits computed.

    `candidates` makes the training loss a sampled one; without them, and in evaluation, it is exact.
    """

    def __init__(self, model: PreTrainedModel, candidates: Candidates | None = None):
        super().__init__()
        self.model, self.candidates = model, candidates

    @property
    def config(self) -> Any:
        return self.model.config

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> MaskedLMOutput:
        """Return the mean loss over the tokens that `labels: (n, t)` names; the others are IGNORED."""
        places = labels != IGNORED
        states, targets = self.read(input_ids, attention_mask, places), labels[places]
        decoder: Any = self.model.get_output_embeddings()
        if self.training and self.candidates is not None:
            ids, chance = self.candidates.draw(targets)
            logits = nn.functional.linear(states, decoder.weight[ids], decoder.bias[ids]) - chance
            targets = torch.searchsorted(ids, targets)
        else:
            logits = decoder(states)
        return MaskedLMOutput(loss=nn.functional.cross_entropy(logits, targets), logits=logits)

    def read(self, input_ids: Tensor, attention_mask: Tensor, places: Tensor) -> Tensor:
        """Return what the decoder would see at `places: (n, t)`: (places, size)."""
        with _only_at(self.model, places):
            return self.model(input_ids=input_ids, attention_mask=attention_mask).logits[0]

    def save_pretrained(self, folder: str | Path) -> None:
        self.model.save_pretrained(folder)


@torch.inference_mode()
def recover(
    model: PreTrainedModel, rows: Features, tokenizer: Any, *, rounds: int = 8, seed: int = 0
) -> np.ndarray:
    """Mask every ordinary token once, in `rounds` passes, and ask for it: (rows, 3) of loss, hits, tokens.

    exp(loss / tokens) is the pseudo-perplexity, here with one token in `rounds` hidden at a time; hits /
    tokens the masked accuracy. Both are exact: they look at the whole vocabulary.
    """
    network, device = MaskedLM(model.eval()), next(model.parameters()).device
    decoder: Any = model.get_output_embeddings()
    special, found = np.array(sorted(tokenizer.all_special_ids)), np.zeros((len(rows), 3))
    for chosen in length_buckets(rows.lengths, rows=256, tokens=8192):
        batch = rows.batch(chosen, pad_id=pad_id_of(model))
        ids, ordinary = batch["input_ids"], batch["attention_mask"] == 1
        ordinary &= ~np.isin(ids, special)
        turns = np.random.default_rng([seed, int(chosen[0])]).integers(rounds, size=ids.shape)
        for turn in range(rounds):
            hidden = ordinary & (turns == turn)
            if not hidden.any():
                continue
            asked = np.where(hidden, tokenizer.mask_token_id, ids)
            tensors = (torch.from_numpy(part).to(device) for part in (asked, batch["attention_mask"], hidden))
            states, gold = network.read(*tensors), torch.from_numpy(ids[hidden]).to(device)
            losses, hits = _answers(states, gold, decoder)
            row = chosen[np.nonzero(hidden)[0]]
            for column, values in enumerate((losses, hits, np.ones(len(row)))):
                np.add.at(found[:, column], row, values)
    return found


def _answers(states: Tensor, gold: Tensor, decoder: nn.Module) -> tuple[np.ndarray, np.ndarray]:
    losses, hits = [], []
    for part, right in zip(states.split(POSITIONS), gold.split(POSITIONS), strict=True):
        logits = decoder(part).float()
        losses.append(nn.functional.cross_entropy(logits, right, reduction="none").cpu().numpy())
        hits.append((logits.argmax(dim=1) == right).cpu().numpy())
    return np.concatenate(losses), np.concatenate(hits)


@contextmanager
def _only_at(model: PreTrainedModel, places: Tensor) -> Iterator[None]:
    """Within, the head reads the states at `places` alone, and leaves out the vocabulary's layer."""

    def select(module: nn.Module, arguments: Sequence[Any], output: Any) -> Any:
        output.last_hidden_state = output.last_hidden_state[places][None]
        return output

    decoder: Any = model.get_output_embeddings()
    handle = model.base_model.register_forward_hook(select)
    decoder.forward = _as_it_is
    try:
        yield
    finally:
        handle.remove()
        del decoder.forward


def _as_it_is(states: Tensor) -> Tensor:
    return states
