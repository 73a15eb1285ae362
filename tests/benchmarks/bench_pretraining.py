"""Pretraining: an epoch of masked tokens, beside transformers' Trainer with its collator for masked LMs.

Both train the same small RoBERTa with a vocabulary of 32,000 entries from the same first weights on the same
texts, about as many tokens a step.
"""

import subprocess
import sys
from functools import cache
from typing import Any, NamedTuple

from tests.benchmarks.bench_training import alike
from tests.benchmarks.harness import Limit, Race

VOCABULARY, BATCH_ROWS, LENGTH = 32000, 64, 128
RATE = 0.15
TEXTS = 500  # of the memory measurement


class Corpus(NamedTuple):
    """Rows of token ids, and the tokenizer that made them."""

    rows: list[dict]
    tokenizer: Any


def cases() -> list[Race | Limit]:
    return [
        Race(
            name="pretraining",
            work=f"an epoch of a masked LM (RoBERTa, 2 layers, hidden 128) with {VOCABULARY:,} entries",
            data=corpus,
            ours=ours,
            others={"transformers.Trainer": peer},
            sizes=(250, 500, 1000),
            unit="texts",
            equal=lambda a, b: alike(exact_loss(*a), exact_loss(*b)),  # masks differ
            targets={"transformers.Trainer": 2.0},
            steepest=1.1,
            repeats=3,
            explanation="The head works at masked places, on sampled candidates; batches have one length.",
        ),
        Limit(
            name="pretraining memory",
            work=f"peak memory of an epoch as a share of Trainer's, {VOCABULARY:,} entries",
            measure=memory_share,
            limit=0.25,
            unit="of Trainer's",
            repeats=1,
        ),
    ]


@cache
def corpus(texts: int) -> Corpus:
    """Return sentences of the sample world; ids beyond the trained vocabulary are never used, but cost."""
    from helpers import sample_world
    from helpers.learning.pretraining import rows
    from helpers.text.tokenizers import train_tokenizer

    read = list(sample_world.unlabelled(texts))
    tokenizer = train_tokenizer("wordpiece", list(sample_world.unlabelled(500)), size=3000)
    tokenizer.add_tokens([f"〈{i}〉" for i in range(VOCABULARY - len(tokenizer))])
    return Corpus(rows(tokenizer, read, length=LENGTH), tokenizer)


def ours(data: Corpus) -> tuple[Any, Corpus]:
    """Train with the head at masked places, on sampled candidates; return the model, and what it has read."""
    from helpers.learning.batching import Features, mask_tokens
    from helpers.learning.config import TrainConfig
    from helpers.learning.loop import fit
    from helpers.learning.masked import Candidates, MaskedLM

    model, rows = _model(data), Features(data.rows)
    candidates = Candidates(rows.counts("input_ids", size=VOCABULARY), 4096)
    tokens = int(BATCH_ROWS * rows.lengths.mean())
    config = TrainConfig(epochs=1, peak_lr=1e-3, batch_rows=512, batch_tokens=tokens)
    fit(MaskedLM(model, candidates), rows, config=config, transform=mask_tokens(data.tokenizer, rate=RATE))
    return model, data


def peer(data: Corpus) -> tuple[Any, Corpus]:
    """Use transformers' Trainer and its collator: logits of every entry at every place."""
    import tempfile

    from datasets import Dataset
    from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments

    model = _model(data)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            num_train_epochs=1,
            learning_rate=1e-3,
            per_device_train_batch_size=BATCH_ROWS,
            weight_decay=0.01,
            warmup_steps=4,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        collator = DataCollatorForLanguageModeling(data.tokenizer, mlm_probability=RATE)
        Trainer(
            model=model, args=arguments, train_dataset=Dataset.from_list(data.rows), data_collator=collator
        ).train()
    return model, data


def memory_share() -> float:
    return _grown("ours") / _grown("peer")


def _grown(way: str) -> float:
    """Return by how much an epoch raises the peak memory of a fresh process, in kB.

    Of Linux, because getrusage has a process begin with the peak of the one that started it.
    """
    code = (
        "from pathlib import Path; from tests.benchmarks import bench_pretraining as b; "
        "data = b.corpus(b.TEXTS); import transformers, datasets, accelerate; transformers.Trainer; "
        "peak = lambda: int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]); "
        f"b._model(data); before = peak(); b.{way}(data); print('grown', peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.split("grown")[-1])


def _model(data: Corpus) -> Any:
    from helpers.learning.encoders import masked_lm

    return masked_lm("roberta", vocab_size=VOCABULARY, pad_id=data.tokenizer.pad_token_id, max_length=LENGTH)


def exact_loss(model: Any, data: Corpus) -> float:
    """Return the loss per token over the whole vocabulary, on the first texts."""
    from helpers.learning.batching import Features
    from helpers.learning.masked import recover

    loss, _, tokens = recover(model, Features(data.rows[:200]), data.tokenizer).sum(axis=0)
    return float(loss / tokens)
