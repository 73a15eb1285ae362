"""Audit of NER scores: what is lost between tokens and characters, and what the published scorer leaves out.

The procedures of KLUE's baseline code and of the published study (legacy) stand here beside corrected ones
on the same predictions.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers import reference, statistics
from helpers.corpora.labels import tags_of
from helpers.entities import scores
from helpers.entities.decoding import IGNORED, project_tags
from helpers.entities.experiment import EncodedPart, Part, encode_part
from helpers.entities.tags import ID, TagArray, Tags, decode, without_spaces
from helpers.entities.voting import Member
from helpers.text.alignment import compatibility_jamo

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from transformers import PreTrainedTokenizerFast


def ceilings(part: Part, tokenizers: Mapping[str, "PreTrainedTokenizerFast"]) -> pd.DataFrame:
    """Score perfect predictions of every token: what is left is lost between tokens and characters.

    The jamo map is shown where there are conjoining jamo; KLUE's baseline decoder, which goes word by word
    through WordPiece pieces, where the tokenizer does too.
    """
    rows = []
    for name, tokenizer in tokenizers.items():
        plain = encode_part(tokenizer, part)
        found = {"exact offsets": _exact(part, plain)}
        if any(compatibility_jamo(sentence) != sentence for sentence in part.sentences):
            found["exact offsets, jamo mapped"] = _exact(part, encode_part(tokenizer, part, jamo=True))
        if _goes_by_words(tokenizer, part.sentences[:100]):
            found["legacy: KLUE's baseline decoder"] = _baseline(part, plain, tokenizer)
        for decoder, (gold, pred) in found.items():
            entity = statistics.estimate(scores.entity_counts(gold, pred), scores.entity_score)
            char = statistics.estimate(scores.char_counts(gold, pred), scores.char_score)
            row = {"tokenizer": name, "decoder": decoder}
            rows.append(row | {"entity F1": _at_most_100(entity), "char F1, with O": _at_most_100(char)})
    return pd.DataFrame(rows)


def _at_most_100(design: statistics.Design) -> statistics.Interval:
    return design.interval().within(-np.inf, 100.0)


def _goes_by_words(tokenizer: "PreTrainedTokenizerFast", sentences: Sequence[str]) -> bool:
    by_word = ([piece for word in s.split(" ") for piece in tokenizer.tokenize(word)] for s in sentences)
    pieces = [tokenizer.tokenize(sentence) for sentence in sentences]
    return pieces == list(by_word) and any(piece.startswith("##") for row in pieces for piece in row)


def _exact(part: Part, encoded: EncodedPart) -> tuple[Tags, Tags]:
    """Return gold tags and those of a perfect tagger, projected by offsets: non-space characters."""
    said = np.where(encoded.labels == IGNORED, part.gold.outside, encoded.labels)
    tags = project_tags(said, encoded.characters, part.gold.types)
    return without_spaces(part.gold, part.sentences), without_spaces(tags, part.sentences)


def _baseline(part: Part, encoded: EncodedPart, tokenizer: "PreTrainedTokenizerFast") -> tuple[Tags, Tags]:
    """Return gold tags and those of a perfect tagger as KLUE's baseline aligns them."""
    gold, pred = [], []
    solid = decode(without_spaces(part.gold, part.sentences))
    names = tags_of(part.gold.types)
    labels = np.split(encoded.labels, encoded.characters.token_bounds[1:-1])
    for sentence, wanted, row in zip(part.sentences, solid, labels, strict=True):
        said = klue_character_tags(tokenizer, sentence, [names[i] for i in row if i != IGNORED])
        gold.append(["O", *wanted[: len(said)], "O"])  # it cuts what it cannot align; [CLS] and [SEP] count
        pred.append(["O", *said[: len(wanted)], "O"])
    return gold, pred


def klue_character_tags(tokenizer, sentence: str, token_tags: Sequence[str]) -> list[str]:
    """Decode as KLUE's baseline does (control): tags of the non-space characters, sometimes too few.

    In a word with an unknown piece every known piece yields one tag however long it is, and the token after
    the unknown one is read twice, so that the rest of the sentence slips.
    """
    out, at = [], 0
    for word in sentence.split(" "):
        pieces = tokenizer.tokenize(word)
        if tokenizer.unk_token not in pieces:
            for piece in pieces:
                tag = token_tags[at]
                out += [tag] + [_inside(tag)] * (len(piece.removeprefix("##")) - 1)
                at += 1
            continue
        after_unknown = False
        for piece in _expand_unknown(word, pieces, tokenizer.unk_token):
            if piece is None:
                out.append(_inside(token_tags[at]))
            elif piece == tokenizer.unk_token:
                after_unknown = True
                out.append(token_tags[at])
            else:
                at += after_unknown
                out.append(token_tags[min(at, len(token_tags) - 1)])
                at += not after_unknown
                after_unknown = False
    return out


def _inside(tag: str) -> str:
    return tag if tag == "O" else f"I-{tag[2:]}"


def _expand_unknown(word: str, pieces: list[str], unknown: str) -> list[str | None]:
    """Repeat an unknown piece as None until the word reaches the next known piece."""
    out, position, at, repeated, last = [], 0, 0, False, len(pieces) - 1
    while position < len(word) or at < last:
        piece = pieces[at]
        out.append(None if repeated else piece)
        position += 1 if piece == unknown else len(piece.removeprefix("##"))
        waiting = piece == unknown and at < last and pieces[at + 1] != unknown
        repeated = waiting and word[position : position + 1] != pieces[at + 1][0]
        at += not repeated
        if at > last:
            at, repeated = last, True
    return out


def legacy_kept(subwords: "ArrayLike", batch_size: int = 32) -> np.ndarray:
    """Mark the sentences that the published study scored: (sentences,) bool.

    Its scorer looks for the padding at the end of each row of a batch and skips rows without any, which are
    the longest ones. `subwords: (sentences,)` counts them, in the order of evaluation.
    """
    lengths = np.asarray(subwords)
    firsts = np.arange(0, len(lengths), batch_size)
    longest = np.maximum.reduceat(lengths, firsts) if len(lengths) else lengths
    return lengths < np.repeat(longest, batch_size)[: len(lengths)]


def legacy_counts(member: Member, labels: np.ndarray, *, drop: bool = True) -> np.ndarray:
    """Count entities over subwords as the published study does: without the longest of each batch.

    `labels: (tokens,)`. With `drop=False` every sentence is counted, still on subwords. Tokens that stand for
    no character are left out: the study counts [CLS] and [SEP], but as O they change no entity.
    """
    bounds = member.characters.token_bounds
    kept = legacy_kept(np.diff(bounds)) if drop else np.ones(len(bounds) - 1, bool)
    tokens = np.repeat(kept, np.diff(bounds)) & (labels != IGNORED)
    cut = np.concatenate([[0], np.cumsum(tokens)])[bounds]
    both = (labels, member.logits.argmax(1))
    gold, said = (TagArray(ids[tokens].astype(ID), cut, member.types) for ids in both)
    return scores.entity_counts(gold, said)


def dropped_by_legacy(part: Part, encoded: EncodedPart) -> dict[str, int]:
    """Count the sentences and entities that the study's scorer never looks at."""
    kept = legacy_kept(np.diff(encoded.characters.token_bounds))
    wanted = scores.entity_counts(part.gold, part.gold)[:, 2::3].sum(1)
    return {
        "sentences": int((~kept).sum()),
        "of_sentences": len(kept),
        "entities": int(wanted[~kept].sum()),
        "of_entities": int(wanted.sum()),
    }


def published(score: str = "entity_f1") -> dict[str, statistics.Jackknife]:
    """Return the study's score of every system and seed, the last system first; its rows are not known."""
    rows = reference.published("ner_swa_ensemble").pivot(index="seed", columns="system", values=score)
    values = {name: rows[name].to_numpy() for name in ("ensemble", "klue/roberta-large", "klue/roberta-base")}
    return {name: statistics.Jackknife(some, np.stack([some, some], axis=1)) for name, some in values.items()}
