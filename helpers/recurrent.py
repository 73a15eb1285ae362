"""A bidirectional LSTM encoder that saves, loads and takes a head like any transformers model.

From scratch on a few thousand sentences it beats small transformers, and it runs on one CPU core. With
`bigrams`, pairs of neighbouring ids have embeddings of their own, hashed into that many buckets: over
characters this is the character + bigram tagger of Korean NER.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput


class BiLSTMConfig(PreTrainedConfig):
    """`hidden_size` is the size of the output, half of it per direction."""

    model_type = "nunchi-bilstm"

    vocab_size: int = 8000
    embedding_size: int = 128
    bigrams: int = 0  # hash buckets; 0: no bigram embeddings
    bigram_size: int = 64
    hidden_size: int = 256
    num_hidden_layers: int = 1
    dropout: float = 0.3
    pad_token_id: int | None = 0


class BiLSTMModel(PreTrainedModel):
    """Embeddings, optional bigram embeddings, and a stack of bidirectional LSTM layers."""

    config_class = BiLSTMConfig

    def __init__(self, config: BiLSTMConfig):
        super().__init__(config)
        self.embeddings = nn.Embedding(config.vocab_size, config.embedding_size)
        size = config.embedding_size
        if config.bigrams:
            self.bigrams = nn.Embedding(config.bigrams, config.bigram_size)
            size += 2 * config.bigram_size
        self.dropout = nn.Dropout(config.dropout)
        self.lstm = nn.LSTM(
            size,
            config.hidden_size // 2,
            num_layers=config.num_hidden_layers,
            dropout=config.dropout if config.num_hidden_layers > 1 else 0.0,
            batch_first=True,
            bidirectional=True,
        )
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: object) -> BaseModelOutput:
        """Return `last_hidden_state: (n, t, hidden)`; padding is packed away and never changes a result."""
        states = self.dropout(self._embed(input_ids, attention_mask))
        packed = pack_padded_sequence(
            states, attention_mask.sum(dim=1).cpu(), batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, total_length=input_ids.shape[1]
        )
        return BaseModelOutput(last_hidden_state=states)

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
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        elif isinstance(module, nn.LSTM):
            module.reset_parameters()


AutoConfig.register(BiLSTMConfig.model_type, BiLSTMConfig, exist_ok=True)
AutoModel.register(BiLSTMConfig, BiLSTMModel, exist_ok=True)
