"""Relation extraction: AUPRC, marking with alignment, tokenizer figures — against what people use instead."""

from functools import lru_cache, partial

import numpy as np

from tests.benchmarks.harness import Race


def cases() -> list[Race]:
    return [
        Race(
            name="AUPRC",
            work="official AUPRC of 30 classes",
            data=_probabilities,
            ours=_auprc,
            others={"scikit-learn, 30 curves": _sklearn_auprc},
            sizes=(1_000, 4_000, 16_000),
            equal=partial(np.isclose, rtol=0, atol=1e-9),
            targets={"scikit-learn, 30 curves": 5.0},
            repeats=25,  # of a few hundredths of a second each
            unit="rows",
        ),
        Race(
            name="marking and alignment",
            work="mark both entities, tokenise, find the two start tokens",
            data=_marking,
            ours=_mark_and_align,
            others={"legacy search, then token by token": _legacy_mark_and_align},
            sizes=(250, 1_000, 4_000),
            equal=_nearly_all_equal,
            targets={"legacy search, then token by token": 1.0},
            unit="sentences",
            explanation="The legacy procedure marks the first match of each word, then looks markers up by "
            "decoding every token; it is given sentences where both words are found.",
        ),
        Race(
            name="tokenizer figures",
            work="fertility and aligned entities",
            data=_marking,
            ours=_figures,
            others={"one call per word": _figures_by_word},
            sizes=(250, 1_000, 4_000),
            equal=partial(np.allclose, rtol=0, atol=1e-9),
            targets={"one call per word": 2.0},
            unit="sentences",
        ),
    ]


@lru_cache
def _probabilities(size: int):
    rng = np.random.default_rng(0)
    return rng.integers(0, 30, size), rng.dirichlet(np.full(30, 0.2), size=size)


def _auprc(data) -> float:
    from helpers.relations.scores import auprc

    return auprc(*data)


def _sklearn_auprc(data) -> float:
    from sklearn.metrics import auc, precision_recall_curve

    gold, probs = data
    curves = (precision_recall_curve(gold == c, probs[:, c]) for c in range(30))
    return 100 * float(np.mean([auc(recall, precision) for precision, recall, _ in curves]))


@lru_cache
def _marking(size: int):
    """Rows whose two words the legacy search finds in the right place, and a tokenizer with the markers."""
    from helpers import corpora
    from helpers.relations import markers
    from helpers.text import tokenizers

    rows = corpora.load_relations("sample", "train", rows=2 * size)
    tokenizer = tokenizers.train_tokenizer("wordpiece", rows["sentence"][:2000], size=4000)
    markers.register_markers(tokenizer, "marker")
    return [row for row in rows if _found(row)][:size], tokenizer


def _found(row: dict) -> bool:
    words = (row["subject_entity"], row["object_entity"])
    return all(row["sentence"].find(entity["word"]) == entity["start_idx"] for entity in words)


def _mark_and_align(data) -> np.ndarray:
    from helpers.relations.markers import mark_row, start_tokens
    from helpers.text.alignment import encode_with_offsets

    rows, tokenizer = data
    marked = [mark_row(row, scheme="marker") for row in rows]
    encoded = encode_with_offsets(tokenizer, [sentence.text for sentence in marked])
    return np.array([start_tokens(s, e.offsets) for s, e in zip(marked, encoded, strict=True)])


def _legacy_mark_and_align(data) -> np.ndarray:
    rows, tokenizer = data
    return np.array([_legacy_row(row, tokenizer) for row in rows])


def _legacy_row(row: dict, tokenizer) -> tuple[int, int]:
    text = row["sentence"]
    for entity, name in (("subject_entity", "SUBJ"), ("object_entity", "OBJ")):
        text = text.replace(row[entity]["word"], f"[{name}]{row[entity]['word']}[/{name}]", 1)
    tokens = [tokenizer.decode([token]) for token in tokenizer(text).input_ids]
    return tuple(tokens.index(name) if name in tokens else 0 for name in ("[SUBJ]", "[OBJ]"))


def _nearly_all_equal(ours: np.ndarray, legacy: np.ndarray) -> bool:
    """The second replacement may hit the first entity's copy: the legacy procedure is wrong there."""
    return bool((ours == legacy).mean() > 0.95)


def _figures(data) -> tuple[float, float]:
    from helpers.text.alignment import encode_with_offsets
    from helpers.text.measures import entity_counts, entity_spans

    rows, tokenizer = data
    encoded = encode_with_offsets(tokenizer, [row["sentence"] for row in rows], special_tokens=False)
    words = sum(len(row["sentence"].split()) for row in rows)
    aligned = sum(entity_counts(one, entity_spans(row))[3] for one, row in zip(encoded, rows, strict=True))
    return sum(len(one.input_ids) for one in encoded) / words, aligned / (2 * len(rows))


def _figures_by_word(data) -> tuple[float, float]:
    """Tokenise every eojeol alone, as notebooks on fertility do, and rebuild offsets from the pieces."""
    rows, tokenizer = data
    tokens = words = aligned = 0
    for row in rows:
        ends, position = {0}, 0
        for word in row["sentence"].split():
            position = row["sentence"].index(word, position)
            ends.add(position)
            for piece in tokenizer(word, add_special_tokens=False, return_offsets_mapping=True)[
                "offset_mapping"
            ]:
                tokens += 1
                ends.update((position + piece[0], position + piece[1]))
            words, position = words + 1, position + len(word)
        for side in ("subject_entity", "object_entity"):
            aligned += row[side]["start_idx"] in ends and row[side]["end_idx"] + 1 in ends
    return tokens / words, aligned / (2 * len(rows))
