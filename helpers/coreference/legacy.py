"""The study's own Real@k and LAMBADA, kept as labelled controls.

One mask whatever the word's length; of the 50 likeliest tokens only nouns are kept, and a hit is any overlap:
the guess contains the word or the word the guess. So "top-1" may be the fiftieth token, and one syllable in
common is enough. LAMBADA hides the answer's first mention and leaves the gap as it is.
"""

import functools
from collections.abc import Mapping, Sequence

import pandas as pd

from helpers.coreference.cloze import Cloze, masked_logits, special_frame
from helpers.coreference.lambada import GAP

TOP = 50


def score_items_legacy(model, tokenizer, items, *, max_length: int) -> pd.DataFrame:
    """Return `id`, `document`, `hit1`, `hit5`, `status` ("cut": truncation at the end loses the mask)."""
    spans = list(zip(items["start"], items["end"], strict=True))
    frame = _score(model, tokenizer, items["text"], spans, items["noun"], max_length=max_length)
    return frame.assign(id=list(items["id"]), document=list(items["document"]))


def score_lambada_legacy(model, tokenizer, rows: Sequence[Mapping], *, max_length: int) -> pd.DataFrame:
    """Return `index`, `hit1`, `hit5`, `status`; "absent" where the answer is nowhere but in the gap."""
    texts = [row["text"] for row in rows]
    places = [row["text"].find(row["answer"]) for row in rows]
    spans = [(at, at + len(row["answer"])) for at, row in zip(places, rows, strict=True)]
    words = [row["answer"] for row in rows]
    frame = _score(model, tokenizer, texts, spans, words, max_length=max_length)
    assert all(GAP in text for text in texts), "the gap stays in the text: that is the study's mistake"
    return frame.assign(index=[row["index"] for row in rows])


def _score(model, tokenizer, texts, spans, words, *, max_length: int) -> pd.DataFrame:
    clozes = [
        _single_mask(tokenizer, text, span, max_length=max_length)
        for text, span in zip(texts, spans, strict=True)
    ]
    guesses: list[list[str]] = [[] for _ in words]
    asked = [at for at, cloze in enumerate(clozes) if not cloze.fault]
    for number, logits in masked_logits(model, [clozes[at] for at in asked], pad_id=tokenizer.pad_token_id):
        top = logits[0].topk(min(TOP, logits.shape[-1])).indices.tolist()
        guesses[asked[number]] = [word for token in top if _is_noun(word := _surface(tokenizer, token))]
    hit = {
        f"hit{top}": [
            any(guess in word or word in guess for guess in nouns[:top])
            for nouns, word in zip(guesses, words, strict=True)
        ]
        for top in (1, 5)
    }
    return pd.DataFrame({"status": [cloze.fault or "ok" for cloze in clozes], **hit})


def _single_mask(tokenizer, text: str, span: tuple[int, int], *, max_length: int) -> Cloze:
    start, end = span
    if start < 0:
        return Cloze(fault="absent")
    before, after = special_frame(tokenizer)
    left, right = (
        tokenizer(part, add_special_tokens=False)["input_ids"] for part in (text[:start], text[end:])
    )
    place = len(before) + len(left)
    ids = [*before, *left, tokenizer.mask_token_id, *right][: max_length - len(after)]
    return Cloze(ids=(*ids, *after), positions=(place,)) if place < len(ids) else Cloze(fault="cut")


def _surface(tokenizer, token: int) -> str:
    return tokenizer.convert_ids_to_tokens(token).replace("##", "").replace("▁", "")


@functools.lru_cache(maxsize=65536)
def _is_noun(word: str) -> bool:
    from helpers.coreference.items import NOUN_TAGS
    from helpers.text.morphemes import kiwi

    return bool(word) and all(token.tag in NOUN_TAGS for token in kiwi().tokenize(word))
