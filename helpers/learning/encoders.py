"""Encoders: small ones from scratch, any from the hub or a folder.

Loading never runs code from a repository and refuses a model that lacks weights of what was asked for. Many
published models have nothing but a pickle: it is read by torch's restricted loader (tensors, no code), once,
and kept as safetensors. Tokenizers are left to `text.tokenizers`, heads to `heads`, adapters to `lora`.
"""

import hashlib
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, PreTrainedConfig, PreTrainedModel
from transformers.utils import logging as transformers_logging

from helpers.learning.heads import Classifier, seeded
from helpers.learning.inference import precision
from helpers.text.revisions import revision_of

KINDS = ("roberta", "bert", "electra", "deberta-v2", "gemma-2", "bilstm")
MASKED = tuple(kind for kind in KINDS if kind != "gemma-2")
SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
UNUSED = ("pooler.",)  # weights that no head here reads
DISENTANGLED = {  # attention as DeBERTa-v3 has it
    "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False,
    "position_buckets": 256, "share_att_key": True, "norm_rel_ebd": "layer_norm",
}  # fmt: skip


def encoder(kind: str, *, seed: int = 0, **size: Any) -> PreTrainedModel:
    """Return a small encoder from scratch; for the sizes see `encoder_config`.

    >>> encoder("roberta", vocab_size=8000, hidden=128, layers=2, pad_id=1)  # doctest: +SKIP
    """
    return _build(AutoModel, encoder_config(kind, **size), seed)


def build_encoder(
    kind_or_name: str,
    tokenizer: Any,
    *,
    seed: int = 0,
    four_bit: bool = False,
    frozen: bool = False,
    **size: Any,
) -> PreTrainedModel:
    """Return an encoder for a tokenizer: from scratch if it is one of KINDS, else loaded.

    `size` (hidden, layers, max_length, …) is for encoders from scratch; a loaded one keeps its own and gets
    embeddings, drawn from the seed, for what was added to the tokenizer. `dropout` is for both.
    """
    if kind_or_name in KINDS:
        return encoder(
            kind_or_name, vocab_size=len(tokenizer), pad_id=tokenizer.pad_token_id, seed=seed, **size
        )
    loaded = load_encoder(kind_or_name, four_bit=four_bit, frozen=frozen)
    if "dropout" in size:
        _set_dropout(loaded, size["dropout"])
    if len(tokenizer) > loaded.config.vocab_size:
        with seeded(seed), quiet():
            loaded.resize_token_embeddings(len(tokenizer))
    return loaded


def masked_lm(kind_or_name: str | Path, *, seed: int = 0, **size: Any) -> PreTrainedModel:
    """Return a masked language model: from scratch, sized as in `encoder`, or from the hub or a folder."""
    if kind_or_name in KINDS and kind_or_name not in MASKED:
        raise ValueError(f"{kind_or_name} has no masked-language-model head: use one of {', '.join(MASKED)}")
    if kind_or_name in MASKED:
        return _build(AutoModelForMaskedLM, encoder_config(kind_or_name, **size), seed)
    return _load(AutoModelForMaskedLM, kind_or_name)


def load_encoder(
    name_or_folder: str | Path, *, four_bit: bool = False, frozen: bool = False
) -> PreTrainedModel:
    """Load an encoder, or the body of a decoder, from the hub or a folder.

    `four_bit` quantises the weights on loading; it needs bitsandbytes and a GPU. `frozen` weights, below
    adapters, take half the memory where a GPU computes in half precision anyway.
    """
    half = {"dtype": torch.bfloat16} if frozen and precision() != "no" else {}
    return _load(AutoModel, name_or_folder, **(_four_bit() if four_bit else half))


def load_classifier(folder: str | Path) -> Classifier:
    """Load a classifier that was saved with `save_pretrained`."""
    return _load(Classifier, folder)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the loading tables and bars of transformers out of reports."""
    level, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity(logging.ERROR)
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()


def encoder_config(
    kind: str,
    *,
    vocab_size: int,
    hidden: int = 128,
    layers: int = 2,
    max_length: int = 512,
    pad_id: int = 0,
    dropout: float = 0.1,
    **more: Any,
) -> PreTrainedConfig:
    """Return the config of a small encoder; `more` goes straight into it (`bigrams` of the BiLSTM)."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    size: dict[str, Any] = {"vocab_size": vocab_size, "hidden_size": hidden, "num_hidden_layers": layers}
    size["pad_token_id"] = pad_id
    if kind == "bilstm":
        return AutoConfig.for_model("nunchi-bilstm", **size | {"dropout": dropout} | more)
    heads = max(1, hidden // 32)
    size |= {"num_attention_heads": heads, "intermediate_size": 4 * hidden}
    size["max_position_embeddings"] = max_length
    if kind == "gemma-2":
        size |= {"head_dim": hidden // heads, "query_pre_attn_scalar": hidden // heads, "use_cache": False}
        size |= {"num_key_value_heads": max(1, heads // 2), "attention_dropout": dropout}
        return AutoConfig.for_model("gemma2", **size | more)
    size |= {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    own: dict[str, dict[str, Any]] = {
        # RoBERTa numbers positions from pad_id + 1
        "roberta": {"max_position_embeddings": max_length + pad_id + 1, "type_vocab_size": 1},
        "bert": {},
        "electra": {"embedding_size": min(128, hidden)},
        "deberta-v2": DISENTANGLED,
    }
    return AutoConfig.for_model(kind, **size | own[kind] | more)


def drop_quickly(model: torch.nn.Module) -> None:
    """Let the model's dropout draw its numbers quickly, for training on a CPU."""
    for module in model.modules():
        if type(module) is torch.nn.Dropout:
            module.__class__ = QuickDropout


class QuickDropout(torch.nn.Dropout):
    """Dropout that draws 16 random bits a number, in a quarter of the time that torch's takes on a CPU.

    What is dropped is p to within 1/65,536; what is kept is scaled by the share that is kept.
    """

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        dropped = round(self.p * 2**16)
        if not self.training or not dropped:
            return states
        drawn = torch.empty(states.numel() // 4 + 1, dtype=torch.int64, device=states.device)
        bits = drawn.random_(-(2**63), None).view(torch.int16)[: states.numel()]  # -32,768 to 32,767
        scale = 2**16 / max(2**16 - dropped, 1)
        # 0 below the first value that is kept, 1 from there on, without the cost of comparing and choosing
        mask = bits.view(states.shape).float().add_(2**15 + 1 - dropped).clamp_(0, 1).mul_(scale)
        return states * mask.to(states.dtype)


def _set_dropout(model: PreTrainedModel, share: float) -> None:
    """Let fine-tuning choose the dropout: what pretraining used is saved with the model, and rarely fits."""
    own = set(model.config.to_dict()) & {"dropout", "hidden_dropout_prob", "attention_probs_dropout_prob"}
    model.config.update(dict.fromkeys(own, share))
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = share


def _build(factory: Any, config: PreTrainedConfig, seed: int) -> PreTrainedModel:
    with seeded(seed):
        return factory.from_config(config)


def _load(factory: Any, name_or_folder: str | Path, **more: Any) -> PreTrainedModel:
    base, commit = revision_of(name_or_folder)
    settings = {"dtype": torch.float32, "use_safetensors": True, "trust_remote_code": False} | more
    settings |= {"revision": commit} if commit else {}
    try:
        with quiet():
            place = _safe_folder(name_or_folder)
            model, found = factory.from_pretrained(place, output_loading_info=True, **settings)
    except OSError as error:
        raise OSError(
            f"cannot load {str(name_or_folder)!r}: expected a folder with config.json and weights "
            "(model.safetensors or pytorch_model.bin), or a hub id, cached or reachable; download it where "
            f"there is a network (hf download {base}{f' --revision {commit}' if commit else ''}) and pass "
            f"the folder ({error})"
        ) from error
    if missing := sorted(name for name in found["missing_keys"] if not name.startswith(UNUSED)):
        raise ValueError(
            f"{str(name_or_folder)!r} has no weights for {', '.join(missing[:3])}, …, which "
            f"{factory.__name__} needs: random ones would take their place. Name a model saved with them"
        )
    return model


def _four_bit() -> dict[str, Any]:
    if find_spec("bitsandbytes") is None or not torch.cuda.is_available():
        raise ValueError(
            "four_bit needs a CUDA GPU and bitsandbytes (pip install '.[gpu]'): pass four_bit=False"
        )
    from transformers import BitsAndBytesConfig

    config = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    return {"quantization_config": config}


def _safe_folder(name_or_folder: str | Path) -> str:
    """Return what to load: the name or folder itself, or a converted copy if it has a pickle only."""
    if (pickled := _only_pickled(name_or_folder)) is None:
        return revision_of(name_or_folder)[0]
    place = _converted(pickled)
    if not (place / SAFE).is_file():
        _convert(pickled, place)
    return str(place)


def _only_pickled(name_or_folder: str | Path) -> Path | None:
    """Return the file to convert, if there is one and nothing safe beside it; sharded pickles are refused."""
    from transformers.utils import cached_file

    base, commit = revision_of(name_or_folder)
    known = {
        name: cached_file(
            base,
            name,
            revision=commit,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
            _raise_exceptions_for_gated_repo=False,
        )
        for name in (SAFE, f"{SAFE}.index.json", PICKLED, f"{PICKLED}.index.json")
    }
    if known[SAFE] or known[f"{SAFE}.index.json"]:
        return None
    if known[f"{PICKLED}.index.json"]:
        raise ValueError(
            f"{name_or_folder} has its weights in several pickles: convert it where it came from "
            "(model.save_pretrained) and pass the folder"
        )
    return Path(known[PICKLED]) if known[PICKLED] else None


def _converted(pickled: Path) -> Path:
    stat = pickled.resolve().stat()
    key = hashlib.sha256(f"{pickled.resolve()} {stat.st_size} {stat.st_mtime_ns}".encode()).hexdigest()[:16]
    beside = Path(__file__).resolve().parents[2] / ".cache"
    return Path(os.environ.get("NUNCHI_CACHE") or beside) / "converted" / key


def _convert(pickled: Path, place: Path) -> None:
    state = torch.load(pickled, map_location="cpu", weights_only=True)
    partial = place.with_name(f".{place.name}.{os.getpid()}")
    partial.mkdir(parents=True, exist_ok=True)
    for file in pickled.parent.iterdir():
        if file.suffix in (".json", ".txt", ".model"):
            shutil.copy(file, partial)
    # Tied weights share memory, which safetensors does not allow: each gets its own.
    save_file(
        {name: value.contiguous().clone() for name, value in state.items()}, partial / SAFE, {"format": "pt"}
    )
    print(f"{pickled}: converted once to {place / SAFE}")
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        partial.rename(place)
    except OSError:  # another process was first
        shutil.rmtree(partial, ignore_errors=True)
