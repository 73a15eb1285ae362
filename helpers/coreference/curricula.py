"""What a masked LM is trained on: random tokens (`mlm_v2`), mentions (`entity`), or both (`combined`).

The study's names are kept. Its entity fine-tuning never labelled the masked entity; here the masked mention
is the label, and nothing else is. Training itself is in `experiment`, evaluation in `scoring`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from helpers.coreference.cloze import covering, special_frame, window_around
from helpers.learning.batching import IGNORED, Batch, Transform, mask_tokens
from helpers.text.alignment import encode_with_offsets

COLUMNS = ("document", "text", "start", "end")
CURRICULA = ("mlm_v2", "combined", "entity")


def windows(tokenizer, documents: Sequence[Mapping], *, length: int, shortest: int = 8) -> list[dict]:
    """Cut documents into rows of at most `length` tokens, special ones included; tiny tails are left out.

    Labels are all "ignore": tokens to predict are drawn afresh in every batch, by `masking`.
    """
    before, after = special_frame(tokenizer)
    room, rows = length - len(before) - len(after), []
    texts = [document["text"] for document in documents]
    for ids in tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []:
        pieces = [ids[at : at + room] for at in range(0, len(ids), room)]
        rows += [[*before, *piece, *after] for piece in pieces if len(piece) >= shortest]
    return [{"input_ids": row, "labels": [IGNORED] * len(row)} for row in rows]


def mention_rows(tokenizer, items, *, length: int) -> list[dict]:
    """Return a row per item: its mention masked and labelled, and so are the document's other items in sight.

    A noun is asked once per document, so what a masked mention repeats stays visible. Items that cannot be
    asked at this length (see `cloze.score_items`) give no row.
    """
    frame, rows = special_frame(tokenizer), []
    by_document: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for document, text, start, end in zip(*(items[name][:] for name in COLUMNS), strict=True):
        by_document.setdefault((document, text), []).append((start, end))
    encoded = encode_with_offsets(tokenizer, [text for _, text in by_document], special_tokens=False)
    for (pieces, offsets), spans in zip(encoded, by_document.values(), strict=True):
        ids = np.array(pieces)
        asked = [inside for span in spans if (inside := covering(offsets, *span)).any()]
        asked = [inside for inside in asked if tokenizer.unk_token_id not in ids[inside]]
        targets = np.any(asked, axis=0) if asked else np.zeros(len(ids), dtype=bool)
        masked, labels = np.where(targets, tokenizer.mask_token_id, ids), np.where(targets, ids, IGNORED)
        for inside in asked:
            window = slice(*window_around(inside, room=length - len(frame[0]) - len(frame[1])))
            if inside[window].sum() == inside.sum():
                rows.append(_row(masked[window], labels[window], frame))
    return rows


def _row(ids: np.ndarray, labels: np.ndarray, frame: tuple) -> dict:
    before, after = frame
    ignored = [[IGNORED] * len(side) for side in frame]
    return {
        "input_ids": [*before, *ids.tolist(), *after],
        "labels": [*ignored[0], *labels.tolist(), *ignored[1]],
    }


def training_rows(curriculum: str, tokenizer, *, documents, items, length: int) -> list[dict]:
    """Return the rows of one curriculum; "combined" is the two others together."""
    if curriculum not in CURRICULA:
        raise ValueError(f"curriculum is one of {', '.join(CURRICULA)}, got {curriculum!r}")
    text = windows(tokenizer, documents, length=length) if curriculum != "entity" else []
    mentions = mention_rows(tokenizer, items, length=length) if curriculum != "mlm_v2" else []
    return text + mentions


def masking(tokenizer, *, rate: float) -> Transform:
    """Mask rows without labels at random; rows that bring their own labels stay as they are."""
    mask = mask_tokens(tokenizer, rate=rate)

    def transform(batch: Batch, rng: np.random.Generator) -> Batch:
        own = (batch["labels"] != IGNORED).any(axis=1, keepdims=True)
        masked = mask(batch, rng)
        return masked | {name: np.where(own, batch[name], masked[name]) for name in ("input_ids", "labels")}

    return transform


def guessing_loss(tokenizer, rows: Sequence[Mapping], *, rate: float) -> float:
    """Return the loss of guessing every token to predict by its frequency among them, whatever the context.

    A run whose loss is not below this has learned nothing from what surrounds a mask.
    """
    special, counts = sorted(tokenizer.all_special_ids), np.zeros(len(tokenizer))
    for row in rows:
        labels = np.array(row["labels"])
        if (own := labels[labels != IGNORED]).size:
            np.add.at(counts, own, 1.0)
        else:  # targets are drawn from all its tokens
            np.add.at(counts, np.array(row["input_ids"]), rate)
    counts[special] = 0
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


@contextmanager
def targets_only(model) -> Iterator[None]:
    """Within, the vocabulary head runs at labelled positions only: the same loss, a fraction of the work."""
    places = []

    def before(module, arguments, named):
        if named.get("labels") is None:
            return None
        places.append(named["labels"] != IGNORED)
        return arguments, named | {"labels": named["labels"][places[-1]][None]}

    def after(module, arguments, output):
        if places:
            output.last_hidden_state = output.last_hidden_state[places.pop()][None]
        return output

    handles = [
        model.register_forward_pre_hook(before, with_kwargs=True),
        model.base_model.register_forward_hook(after),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
