"""A bidirectional LSTM encoder that saves, loads and takes a head like any transformers model.

From scratch it beats small transformers, and one CPU core is enough: on KLUE-NER, 1.4 M parameters over
characters (hidden_size 256, embedding_size 64, bigrams 2**15 of size 32, dropout 0.3, peak_lr 3e-3) reach
entity F1 77 on dev after five epochs, three CPU minutes. With `bigrams`, pairs of neighbouring ids have
embeddings of their own, hashed into that many buckets. With `word_classes`, the class of each token's word is
an input of its own; its embeddings begin at zero, so a pretrained encoder starts as it was.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput, MaskedLMOutput


class BiLSTMConfig(PreTrainedConfig):
    """`hidden_size` is the size of the output, half of it per direction."""

    model_type = "nunchi-bilstm"

    vocab_size: int = 8000
    embedding_size: int = 128
    bigrams: int = 0  # hash buckets; 0: no bigram embeddings
    bigram_size: int = 64
    word_classes: int = 0  # how many there are; 0: no such input
    hidden_size: int = 256
    num_hidden_layers: int = 1
    dropout: float = 0.3
    pad_token_id: int | None = 0
    tie_word_embeddings: bool = True  # of the masked LM


class BiLSTMModel(PreTrainedModel):
    """Embeddings, optional bigram embeddings, and a stack of bidirectional LSTM layers, each with dropout."""

    config_class = BiLSTMConfig
    base_model_prefix = "bilstm"

    def __init__(self, config: BiLSTMConfig):
        super().__init__(config)
        self.embeddings = nn.Embedding(config.vocab_size, config.embedding_size)
        size = config.embedding_size
        if config.bigrams:
            self.bigrams = nn.Embedding(config.bigrams, config.bigram_size)
            size += 2 * config.bigram_size
        if config.word_classes:
            self.classes = nn.Embedding(config.word_classes, size)
        self.dropout = ChannelDropout(config.dropout)
        half = config.hidden_size // 2
        self.layers = nn.ModuleList(
            nn.ModuleList([nn.LSTM(width, half, batch_first=True) for _ in range(2)])
            for width in [size] + [2 * half] * (config.num_hidden_layers - 1)
        )
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embeddings

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        self.embeddings = value

    def read_word_classes(self, number: int) -> None:
        """Take word classes as an input from now on."""
        self.config.word_classes = number
        self.classes = nn.Embedding(number, self.layers[0][0].input_size)
        self._init_weights(self.classes)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        word_classes: Tensor | None = None,
        **_: object,
    ) -> BaseModelOutput:
        """Return `last_hidden_state: (n, t, hidden)`, zero on padding, which never changes a result.

        Rows are turned around within their length for the way back, so that padding comes last both ways:
        three times as fast on a CPU as packed sequences of unequal lengths.
        """
        if (word_classes is None) == bool(self.config.word_classes):
            raise ValueError(
                "a column word_classes is read by encoders that were trained with it, and by no other"
            )
        turned = _turned(attention_mask)
        states = self._embed(input_ids, attention_mask)
        if word_classes is not None:
            states = states + self.classes(word_classes)
        states = self.dropout(states)
        for ahead, back in self.layers:
            behind = _rearranged(back(_rearranged(states, turned))[0], turned)
            states = self.dropout(torch.cat([ahead(states)[0], behind], dim=2))
        return BaseModelOutput(last_hidden_state=states * attention_mask[:, :, None])

    def _embed(self, ids: Tensor, mask: Tensor) -> Tensor:
        if not self.config.bigrams:
            return self.embeddings(ids)
        inside = (ids + 1) * mask  # 0 marks what lies outside the sentence
        left = nn.functional.pad(inside, (1, 0))[:, :-1]
        right = nn.functional.pad(inside, (0, 1))[:, 1:]
        pairs = torch.stack([self._bucket(left, inside), self._bucket(inside, right)], dim=2)
        return torch.cat([self.embeddings(ids), self.bigrams(pairs).flatten(2)], dim=2)

    def _bucket(self, first: Tensor, second: Tensor) -> Tensor:
        mixed = first * 0x9E3779B1 + second * 0x85EBCA77  # odd constants of common integer hashes
        return ((mixed ^ (mixed >> 15)) & 0x7FFFFFFF) % self.config.bigrams

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Embedding):
            if self.config.word_classes and module is self.classes:
                nn.init.zeros_(module.weight)  # draws nothing: the head is drawn as without classes
            else:
                nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        elif isinstance(module, nn.LSTM):
            module.reset_parameters()


class BiLSTMForMaskedLM(PreTrainedModel):
    """The encoder with a head that names the token behind a mask; the vocabulary's weights are shared."""

    config_class = BiLSTMConfig
    base_model_prefix = "bilstm"
    _tied_weights_keys: ClassVar = {"decoder.weight": "bilstm.embeddings.weight"}

    def __init__(self, config: BiLSTMConfig):
        super().__init__(config)
        self.bilstm = BiLSTMModel(config)
        size = config.embedding_size
        self.transform = nn.Sequential(nn.Linear(config.hidden_size, size), nn.GELU(), nn.LayerNorm(size))
        self.decoder = nn.Linear(size, config.vocab_size)
        self.post_init()

    def get_output_embeddings(self) -> nn.Module:
        return self.decoder

    def set_output_embeddings(self, value: nn.Module) -> None:
        self.decoder = value

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: object) -> MaskedLMOutput:
        """Return `logits: (n, t, vocabulary)`; the loss is left to `pretraining`."""
        states = self.bilstm(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return MaskedLMOutput(logits=self.decoder(self.transform(states)))

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        self.bilstm._init_weights(module)
        if isinstance(module, nn.Linear | nn.LayerNorm):
            module.reset_parameters()


class ChannelDropout(nn.Dropout):
    """Drop the same channels at every position of a row, as suits recurrent nets; `states: (n, t, channels)`.

    Drawing one number per row and channel, it also costs next to nothing on a CPU.
    """

    def forward(self, states: Tensor) -> Tensor:
        return (
            states * super().forward(states.new_ones(len(states), 1, states.shape[2]))
            if self.training
            else states
        )


def _turned(mask: Tensor) -> Tensor:
    """Return the places (n, t), counted over all rows, that reverse each row within its length.

    Padding stays where it is. Whole states are copied by place: a tenth of the time of a `gather`.
    """
    at, lengths = torch.arange(mask.shape[1], device=mask.device), mask.sum(dim=1, keepdim=True)
    starts = torch.arange(len(mask), device=mask.device)[:, None] * mask.shape[1]
    return starts + torch.where(at < lengths, lengths - 1 - at, at)


def _rearranged(states: Tensor, places: Tensor) -> Tensor:
    return states.flatten(0, 1).index_select(0, places.flatten()).view_as(states)


AutoConfig.register(BiLSTMConfig.model_type, BiLSTMConfig, exist_ok=True)
AutoModel.register(BiLSTMConfig, BiLSTMModel, exist_ok=True)
AutoModelForMaskedLM.register(BiLSTMConfig, BiLSTMForMaskedLM, exist_ok=True)
