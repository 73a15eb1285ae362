"""Ask a masked LM for hidden words: exact match with one mask per sub-token, and within-word likelihoods.

The encoder runs once per masked text and the vocabulary head only at the masks: the same logits as the full
model at a fraction of its time and memory. Texts come tokenised as they are, then masked by offsets, so a
word keeps the pieces it has in running text. Where items come from is in `items` and `lambada`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from helpers.learning.batching import length_buckets
from helpers.text.alignment import Encoded, encode_with_offsets

BATCH_TOKENS = 8192  # padded tokens of one forward pass
NEAR = 60  # characters on each side of a gap that Kiwi reads
Span = tuple[int, int]
"""A half-open range of characters."""


@dataclass(frozen=True)
class Cloze:
    """A masked text: `ids` with masks at `positions` where `gold` stood. `fault` says why there is none."""

    ids: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    gold: tuple[int, ...] = ()
    aligned: bool = False  # the word begins and ends at token boundaries
    first: int = 0  # characters of the text that the window shows: [first, last)
    last: int = 0
    fault: str = ""


def score_items(
    model,
    tokenizer,
    items,
    k: Sequence[int] = (1, 5),
    *,
    max_length: int | None = None,
    delete: Callable[[Mapping], list[Span]] | None = None,
    batch_tokens: int = BATCH_TOKENS,
) -> pd.DataFrame:
    """Return one row per item: rank of the gold word, `hit<k>`, reciprocal rank, top prediction.

    A word of several pieces is masked whole and predicted in one pass; its rank is that of its worst piece,
    so `hit1` is exact match and `hit<k>` asks for every piece within the top k of its place. Items that
    cannot be asked are misses and say so in `status`: "cut" (the word does not fit into the window) or
    "unknown" (the vocabulary lacks a piece). `antecedent`: an earlier mention lies within the window.
    `delete` names places in an item's text that are deleted before it is asked, see `copying`.
    """
    max_length = max_length or sequence_length(model.config)
    clozes = encode_items(tokenizer, items, max_length=max_length, delete=delete)
    answers = answer(model, tokenizer, clozes, batch_tokens=batch_tokens)
    frame = pd.DataFrame(
        {
            **{name: items[name][:] for name in ("id", "document", "noun", "tag", "distance")},
            "pieces": [len(cloze.gold) for cloze in clozes],
            "aligned": [cloze.aligned for cloze in clozes],
            "antecedent": [
                any(cloze.first <= start and end <= cloze.last for start, end in spans)
                for cloze, spans in zip(clozes, items["antecedents"][:], strict=True)
            ],
            "status": [cloze.fault or "ok" for cloze in clozes],
        }
    )
    return frame.join(hits(answers, k))


def hits(answers: pd.DataFrame, k: Sequence[int]) -> pd.DataFrame:
    """Add `hit<k>` and `reciprocal_rank` to answers; a rank of 0 means that there was none."""
    rank = answers["rank"].to_numpy()
    reciprocal = np.divide(1.0, rank, out=np.zeros(len(rank)), where=rank > 0)
    hit = {f"hit{top}": (rank > 0) & (rank <= top) for top in k}
    return answers.assign(reciprocal_rank=reciprocal, **hit)


def answer(model, tokenizer, clozes: Sequence[Cloze], *, batch_tokens: int = BATCH_TOKENS) -> pd.DataFrame:
    """Return `rank` (worst piece's, 1 is best, 0 without an answer) and `prediction` for each cloze."""
    ranks, predictions = np.zeros(len(clozes), dtype=int), [""] * len(clozes)
    asked = [at for at, cloze in enumerate(clozes) if not cloze.fault]
    how = {"pad_id": tokenizer.pad_token_id, "batch_tokens": batch_tokens}
    for number, logits in masked_logits(model, [clozes[at] for at in asked], **how):
        at = asked[number]
        gold = logits.gather(1, logits.new_tensor(clozes[at].gold, dtype=int)[:, None])
        ranks[at] = int((logits > gold).sum(1).max()) + 1
        predictions[at] = tokenizer.decode(logits.argmax(1).tolist())
    return pd.DataFrame({"rank": ranks, "prediction": predictions})


def encode_items(
    tokenizer, items, *, max_length: int, delete: Callable[[Mapping], list[Span]] | None = None
) -> list[Cloze]:
    """Mask each item's mention, the tokens of what is to be deleted left out."""
    spans = list(zip(items["start"][:], items["end"][:], strict=True))
    deleted = [delete(item) for item in items] if delete else None
    return encode_spans(tokenizer, items["text"][:], spans, max_length=max_length, deleted=deleted)


def encode_spans(
    tokenizer,
    texts: Sequence[str],
    spans: Sequence[Span],
    *,
    max_length: int,
    deleted: Sequence[Sequence[Span]] | None = None,
) -> list[Cloze]:
    """Mask the characters `[start, end)` of each text within a window of `max_length` tokens.

    The window keeps at most a quarter of its free room for what follows the word: mentions to copy from are
    mostly before it. A shorter window lies within the longer one.

    >>> encode_spans(tokenizer, ["세종은 세종대로"], [(4, 6)], max_length=16)[0].positions
    (3,)
    """
    if tokenizer.mask_token_id is None:
        raise ValueError(f"{type(tokenizer).__name__} has no mask token; a masked LM's tokenizer is needed")
    frame = special_frame(tokenizer)
    encoded = encode_with_offsets(tokenizer, list(texts), special_tokens=False)
    return [
        _mask(tokenizer, text, span, gone, frame=frame, max_length=max_length)
        for text, span, gone in zip(encoded, spans, deleted or [()] * len(spans), strict=True)
    ]


def _mask(tokenizer, text: Encoded, span: Span, gone, *, frame: tuple, max_length: int) -> Cloze:
    ids, offsets, (before, after) = np.array(text.input_ids), text.offsets, frame
    inside = covering(offsets, *span)
    gold = ids[inside]
    if not gold.size or tokenizer.unk_token_id in gold:
        return Cloze(fault="unknown")
    start, stop = window_around(inside, room=max_length - len(before) - len(after))
    if inside[start:stop].sum() < gold.size:
        return Cloze(fault="cut")
    kept = np.ones(len(ids), dtype=bool)
    for other in gone:
        kept &= ~covering(offsets, *other) | inside
    shown = np.flatnonzero(kept[start:stop]) + start
    masked = np.where(inside, tokenizer.mask_token_id, ids)[shown]
    return Cloze(
        ids=(*before, *masked.tolist(), *after),
        positions=tuple((np.flatnonzero(inside[shown]) + len(before)).tolist()),
        gold=tuple(gold.tolist()),
        aligned=(offsets[inside].min(), offsets[inside].max()) == tuple(span),
        first=int(offsets[start, 0]),
        last=int(offsets[stop - 1, 1]),
    )


def covering(offsets: np.ndarray, start: int, end: int) -> np.ndarray:
    """Say of each token whether it covers any of the characters [start, end)."""
    return (offsets[:, 0] < end) & (offsets[:, 1] > start)


def window_around(inside: np.ndarray, *, room: int) -> tuple[int, int]:
    """Token range of `room` tokens around the word's tokens (`inside`), which show if they fit."""
    first, last = np.flatnonzero(inside)[[0, -1]]
    right = min(len(inside) - last - 1, max(0, room - (last + 1 - first)) // 4)
    start = max(0, last + 1 + right - room)
    return int(start), int(min(len(inside), start + room))


def special_frame(tokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the special ids that the tokenizer puts before and after a text."""
    inner = tokenizer("가", add_special_tokens=False)["input_ids"]
    full = tokenizer("가")["input_ids"]
    at = next(at for at in range(len(full)) if full[at : at + len(inner)] == inner)
    return tuple(full[:at]), tuple(full[at + len(inner) :])


def sequence_length(config) -> int:
    """Return how many tokens a model's positions allow (RoBERTa's first two position ids are reserved)."""
    if (positions := getattr(config, "max_position_embeddings", None)) is None:
        raise ValueError(f"a {config.model_type} reads texts of any length: say how many tokens (--seq-len)")
    reserved = config.pad_token_id + 1 if config.model_type in ("roberta", "xlm-roberta", "camembert") else 0
    return positions - reserved


def masked_logits(
    model, clozes: Sequence[Cloze], *, pad_id: int, batch_tokens: int = BATCH_TOKENS
) -> Iterator[tuple[int, Any]]:
    """Yield `(number of the cloze, logits (masks, vocabulary))`, in batches of similar length.

    Where a batch does not fit into a GPU's memory, this one and the rest are asked in half as large ones.
    """
    was_training, lengths = model.training, np.array([len(cloze.ids) for cloze in clozes], dtype=int)
    model.eval()
    batches = length_buckets(lengths, rows=256, tokens=batch_tokens)
    while batches:
        asked = [clozes[at] for at in batches[0]]
        if (logits := _asked(model, asked, pad_id=pad_id)) is None:
            tried = len(asked) * len(asked[0].ids)
            if len(asked) == 1:
                raise ValueError(f"a window of {tried} tokens does not fit into memory: ask for shorter ones")
            rest = np.concatenate(batches)
            batches = [rest[part] for part in length_buckets(lengths[rest], rows=256, tokens=tried // 2)]
            print(f"out of memory with {tried} tokens a batch: going on with {tried // 2}")
            continue
        yield from zip(batches.pop(0).tolist(), logits, strict=True)
    model.train(was_training)


def _asked(model, clozes: Sequence[Cloze], *, pad_id: int) -> Sequence[Any] | None:
    """Return the logits of each cloze, the longest first, on the CPU; None if the GPU's memory runs out."""
    import torch

    device, width = next(model.parameters()).device, len(clozes[0].ids)
    ids = torch.tensor([[*cloze.ids, *[pad_id] * (width - len(cloze.ids))] for cloze in clozes])
    filled = torch.arange(width) < torch.tensor([[len(cloze.ids)] for cloze in clozes])
    places = [(row, place) for row, cloze in enumerate(clozes) for place in cloze.positions]
    rows, columns = torch.tensor(places).T
    try:
        with torch.inference_mode():
            logits = logits_at(
                model, ids.to(device), filled.long().to(device), (rows.to(device), columns.to(device))
            )
            return logits.float().cpu().split([len(cloze.positions) for cloze in clozes])
    except RuntimeError as error:  # torch.OutOfMemoryError, or Apple's plain one
        if "out of memory" not in str(error):
            raise
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return None


def logits_at(model, input_ids, attention_mask, places: tuple):
    """Return the model's logits at `places` (rows, columns), as (len(places), vocabulary).

    The head sees those hidden states only. A model without a separate encoder is run in full.
    """
    with _only(model, places) as gathered:
        logits = model(input_ids=input_ids, attention_mask=attention_mask).logits
    return logits[0] if gathered else logits[places]


@contextmanager
def _only(model, places: tuple) -> Iterator[list]:
    """Within, the model's encoder hands on the hidden states at `places` as one short sequence."""
    gathered = []

    def gather(module, arguments, output):
        output.last_hidden_state = output.last_hidden_state[places][None]
        gathered.append(True)
        return output

    encoder = model.base_model
    handle = encoder.register_forward_hook(gather) if encoder is not model else None
    try:
        yield gathered
    finally:
        if handle:
            handle.remove()


def word_log_likelihoods(
    model, tokenizer, clozes: Sequence[Cloze], *, batch_tokens: int = BATCH_TOKENS
) -> np.ndarray:
    """Return log p(word | rest) for each cloze, pieces from left to right, later pieces hidden.

    Within-word left-to-right pseudo-log-likelihood (Kauf & Ivanova, 2023): piece i is predicted with the
    pieces before it shown and those after it masked, so that a long word is not given away by its own tail.
    NaN for a cloze with a fault.
    """
    steps, owners = [], []
    for at, cloze in enumerate(clozes):
        for number in range(0 if cloze.fault else len(cloze.gold)):
            ids = list(cloze.ids)
            for place, piece in zip(cloze.positions[:number], cloze.gold[:number], strict=True):
                ids[place] = piece
            steps.append(
                replace(
                    cloze, ids=tuple(ids), positions=(cloze.positions[number],), gold=(cloze.gold[number],)
                )
            )
            owners.append(at)
    # Candidates of one length in one place share their first step: ask once.
    questions = list(dict.fromkeys((step.ids, step.positions) for step in steps))
    wanted: dict[tuple, list[tuple[int, int]]] = {question: [] for question in questions}
    for step, owner in zip(steps, owners, strict=True):
        wanted[step.ids, step.positions].append((owner, step.gold[0]))
    totals = np.array([np.nan if cloze.fault else 0.0 for cloze in clozes])
    unique = [Cloze(ids=ids, positions=positions) for ids, positions in questions]
    how = {"pad_id": tokenizer.pad_token_id, "batch_tokens": batch_tokens}
    for number, logits in masked_logits(model, unique, **how):
        scores = logits[0].log_softmax(-1)
        for owner, piece in wanted[questions[number]]:
            totals[owner] += float(scores[piece])
    return totals


def rank_context_nouns(model, tokenizer, items, *, choices: int, max_length: int) -> pd.DataFrame:
    """Rank the item's noun among nouns of its context by `word_log_likelihoods`: see `rank_nouns`."""

    def likelihoods(texts: Sequence[str], spans: Sequence[Span]) -> np.ndarray:
        clozes = encode_spans(tokenizer, texts, spans, max_length=max_length)
        return word_log_likelihoods(model, tokenizer, clozes)

    return rank_nouns(items, likelihoods, choices=choices)


def rank_nouns(
    items, score: Callable[[Sequence[str], Sequence[Span]], np.ndarray], *, choices: int
) -> pd.DataFrame:
    """Rank the item's noun among nouns of its context, each put in its place, by the score of the text.

    `score(texts, spans)` gets filled texts and where the filling stands; NaN: it has none. Others have, where
    possible, the same kind of last syllable (with or without a final consonant) as the noun: else a particle
    after the gap would give the answer away. Row: `rank`, `choices` (how many were ranked, the noun
    included), `chance` (1 / choices), `right` (ranked first).
    """
    words = [_choices(item, choices) for item in items]
    texts, spans = [], []
    for item, options in zip(items, words, strict=True):
        texts += [item["text"][: item["start"]] + word + item["text"][item["end"] :] for word in options]
        spans += [(item["start"], item["start"] + len(word)) for word in options]
    scores, ends = score(texts, spans), np.cumsum([len(w) for w in words])
    rows = []
    for item, options, own in zip(items, words, np.split(scores, ends[:-1]), strict=True):
        others = own[1:][~np.isnan(own[1:])]
        rank = 0 if np.isnan(own[0]) else 1 + int((others >= own[0]).sum())
        best = options[int(np.nanargmax(own))] if not np.isnan(own).all() else ""
        rows.append(
            {
                "id": item["id"],
                "document": item["document"],
                "rank": rank,
                "choices": 1 + len(others),
                "chance": 1 / (1 + len(others)),
                "right": rank == 1,
                "best": best,
            }
        )
    return pd.DataFrame(rows)


def kiwi_likelihoods(texts: Sequence[str], spans: Sequence[Span]) -> np.ndarray:
    """Return the log probability of Kiwi's best analysis of each text, around the span.

    A tagger's language model looks a few words back and ahead, so the words that NEAR characters reach are
    enough; what lies further is the same for all fillings of a gap.
    """
    from helpers.text.morphemes import kiwi

    around = [
        text[max(0, start - NEAR) : end + NEAR] for text, (start, end) in zip(texts, spans, strict=True)
    ]
    return np.array([found[0][1] for found in kiwi().analyze(around)])


def _choices(item: Mapping, count: int) -> list[str]:
    """The item's noun, then up to count - 1 other nouns of its text, those that fit its particle first."""
    rng = np.random.default_rng([0, int(item["id"], 16)])
    others = sorted({item["text"][start:end] for start, end in item["context"]} - {item["noun"]})
    others = [others[at] for at in rng.permutation(len(others))]
    others.sort(key=lambda word: has_final_consonant(word) != has_final_consonant(item["noun"]))
    return [item["noun"], *others[: count - 1]]


def has_final_consonant(word: str) -> bool:
    """Whether the last syllable is closed, which decides between 은/는, 이/가, 을/를: 학교 no, 서울 yes."""
    code = ord(word[-1]) - ord("가")
    return 0 <= code < 11172 and code % 28 != 0
