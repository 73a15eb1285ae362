"""Training: two epochs of named-entity recognition, from text to weights, and the price of averaging them.

All three ways train the same small RoBERTa from the same first weights on the same sentences, 32 to a batch.
"""

import time
from functools import cache
from typing import Any, NamedTuple

from tests.benchmarks.harness import DATA, Limit, Race

EPOCHS, BATCH, PEAK_LR = 2, 32, 1e-3


class Sentences(NamedTuple):
    """What a run starts from: texts, a tag id per character, and a tokenizer."""

    texts: list[str]
    tags: list[list[int]]
    tokenizer: Any


def cases() -> list[Race | Limit]:
    return [
        Race(
            name="training loop",
            work=f"{EPOCHS} epochs of a 2-layer RoBERTa (hidden 128) on KLUE-NER, tokenisation included",
            data=sentences,
            ours=ours,
            others={"the study's loop": legacy, "transformers.Trainer": peer},
            sizes=(1024,),
            unit="sentences",
            equal=lambda a, b: alike(mean_loss(*a), mean_loss(*b)),  # batches differ
            targets={"the study's loop": 1.6, "transformers.Trainer": 1.3},
            repeats=3,
            explanation=(
                "The study pads random batches and tokenises each epoch; Trainer groups by length. A sixth "
                "of its step are random numbers for dropout, most of which the loop draws four times as "
                "fast. The loop's own work is a twenty-fifth of a step, the rest arithmetic that all share."
            ),
        ),
        Limit(
            name="weight averaging",
            work="time of SWA (each epoch), EMA (each step) and LAWA (each half epoch) in training time",
            measure=averaging_overhead,
            limit=3.0,
            unit="%",
        ),
        Limit(
            name="checkpoints",
            work="time of saving checkpoints, optimizer and averages included, in training time",
            measure=saving_overhead,
            limit=3.0,
            unit="%",
        ),
    ]


@cache
def sentences(rows: int) -> Sentences:
    """Return KLUE-NER sentences, or the sample's where the real file is missing."""
    from helpers import corpora
    from helpers.text import tokenizers

    source = DATA if (DATA / "klue-ner").is_dir() else "sample"
    loaded = corpora.load_entities(source, "train", rows=rows)
    texts = list(loaded["sentence"])
    return Sentences(
        texts, list(loaded["ner_tags"]), tokenizers.train_tokenizer("wordpiece", texts, size=6000)
    )


def ours(data: Sentences) -> tuple[Any, Sentences]:
    """Tokenise once, bucket by length; return the trained model, and what it was trained on."""
    from helpers.learning.config import TrainConfig
    from helpers.learning.loop import fit

    model, rows = _model(data), _rows(data, range(len(data.texts)))
    fit(model, rows, config=TrainConfig(epochs=EPOCHS, peak_lr=PEAK_LR, batch_rows=BATCH))
    return model, data


def legacy(data: Sentences) -> tuple[Any, Sentences]:
    """Do as the study did: random batches, padded to their longest, tokenised anew in every epoch."""
    import torch

    model = _model(data).train()
    loader = torch.utils.data.DataLoader(
        range(len(data.texts)),
        batch_size=BATCH,
        shuffle=True,
        collate_fn=lambda chosen: _padded(data, chosen),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=PEAK_LR)
    schedule = torch.optim.lr_scheduler.LinearLR(
        optimizer, start_factor=1.0, end_factor=0.0, total_iters=EPOCHS * len(loader)
    )
    for _ in range(EPOCHS):
        for batch in loader:
            model(**batch).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    return model, data


def peer(data: Sentences) -> tuple[Any, Sentences]:
    """Use transformers' Trainer with its length grouping, on rows tokenised once."""
    import tempfile

    from datasets import Dataset
    from transformers import DataCollatorForTokenClassification, Trainer, TrainingArguments

    model, rows = _model(data), _rows(data, range(len(data.texts)))
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            num_train_epochs=EPOCHS,
            learning_rate=PEAK_LR,
            per_device_train_batch_size=BATCH,
            train_sampling_strategy="group_by_length",
            weight_decay=0.01,
            warmup_steps=4,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        collator = DataCollatorForTokenClassification(data.tokenizer)
        trainer = Trainer(
            model=model, args=arguments, train_dataset=Dataset.from_list(rows), data_collator=collator
        )
        trainer.train()
    return model, data


def averaging_overhead() -> float:
    """Return the time spent in the three averages, in per cent of the time spent in training steps."""
    from helpers.learning.averaging import EMA, LAWA, SWA
    from helpers.learning.config import TrainConfig
    from helpers.learning.loop import fit

    data, spent = sentences(1024), 0.0
    averages = [SWA(start=0), EMA(), LAWA()]

    def timed(model, moment) -> None:
        nonlocal spent
        start = time.perf_counter()
        for average in averages:
            average(model, moment)
        spent += time.perf_counter() - start

    rows = _rows(data, range(len(data.texts)))
    config = TrainConfig(epochs=EPOCHS, peak_lr=PEAK_LR, batch_rows=BATCH)
    result = fit(_model(data), rows, config=config, observers=[timed])
    return 100 * spent / (result.seconds - spent)


def saving_overhead() -> float:
    """Return the time spent in saving a run with three averages, in per cent of its other time."""
    import tempfile

    from helpers.learning.averaging import EMA, LAWA, SWA
    from helpers.learning.config import TrainConfig
    from helpers.learning.loop import fit

    data = sentences(1024)
    config = TrainConfig(epochs=4 * EPOCHS, peak_lr=PEAK_LR, batch_rows=BATCH)
    with tempfile.TemporaryDirectory() as folder:
        rows = _rows(data, range(len(data.texts)))
        averages = [SWA(start=0), EMA(), LAWA()]
        result = fit(_model(data), rows, config=config, observers=averages, folder=folder)
    return 100 * result.saving_seconds / result.seconds


def alike(loss: float, other: float) -> bool:
    """Say whether two trainings came equally far."""
    return abs(loss - other) < 0.15 * max(loss, other)


def mean_loss(model: Any, data: Sentences) -> float:
    """Return the loss per labelled token of the first sentences."""
    import numpy as np
    import torch

    from helpers.learning.inference import predict

    rows = _rows(data, range(256))
    logits, labels = np.concatenate(predict(model, rows)), np.concatenate([row["labels"] for row in rows])
    return float(torch.nn.functional.cross_entropy(torch.tensor(logits), torch.tensor(labels)))


def _model(data: Sentences) -> Any:
    from helpers.corpora.labels import TAGS
    from helpers.learning import encoders, heads

    body = encoders.encoder("roberta", vocab_size=len(data.tokenizer), pad_id=data.tokenizer.pad_token_id)
    return heads.classifier(body, TAGS, task="tokens")


def _rows(data: Sentences, chosen: Any) -> list[dict[str, list[int]]]:
    """Tokenise these sentences; a token has the tag of its first character, special tokens none."""
    encoded = data.tokenizer([data.texts[at] for at in chosen], return_offsets_mapping=True)
    return [
        {
            "input_ids": ids,
            "labels": [data.tags[at][start] if end > start else -100 for start, end in offsets],
        }
        for at, ids, offsets in zip(chosen, encoded["input_ids"], encoded["offset_mapping"], strict=True)
    ]


def _padded(data: Sentences, chosen: list[int]) -> dict[str, Any]:
    import torch

    rows = _rows(data, chosen)
    padded = data.tokenizer.pad([{"input_ids": row["input_ids"]} for row in rows], return_tensors="pt")
    labels = torch.full(padded["input_ids"].shape, -100)
    for at, row in enumerate(rows):
        labels[at, : len(row["labels"])] = torch.tensor(row["labels"])
    return {"input_ids": padded["input_ids"], "attention_mask": padded["attention_mask"], "labels": labels}
