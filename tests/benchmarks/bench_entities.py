"""Entity scores, their intervals, and ensemble decoding, on the dev file of KLUE-NER where it is there."""

from functools import lru_cache

import numpy as np

from tests.benchmarks.harness import DATA, Limit, Race

SIZES = (500, 1500, 5000)


def cases() -> list[Race | Limit]:
    return [
        Race(
            name="entity F1",
            work="macro F1 of whole entities from lists of string tags",
            data=tags,
            ours=ours_entity_f1,
            others={"seqeval": seqeval_f1},
            sizes=SIZES,
            unit="sentences",
            equal=_close,
            targets={"seqeval": 5.0},
            repeats=3,
        ),
        Race(
            name="char F1",
            work="macro F1 of characters over 13 labels from lists of string tags",
            data=tags,
            ours=ours_char_f1,
            others={"scikit-learn": scikit_learn_f1},
            sizes=SIZES,
            unit="sentences",
            equal=_close,
            targets={"scikit-learn": 5.0},
            repeats=3,
        ),
        Race(
            name="interval of entity F1",
            work="95 % interval by leaving out each sentence in turn, counting included",
            data=tags,
            ours=ours_interval,
            others={"re-scoring with seqeval": rescoring},
            sizes=(50, 100, 200),
            unit="sentences",
            equal=_close,
            targets={"re-scoring with seqeval": 200.0},
            repeats=3,
            explanation="Few sentences, so that the other finishes; more widen the gap.",
        ),
        Race(
            name="ensemble and Viterbi decoding",
            work="project two taggers' logits to characters, average, find the best valid tags",
            data=members,
            ours=ours_ensemble,
            others={"a loop over sentences": legacy_ensemble},
            sizes=(200, 600, 1800),
            unit="sentences",
            equal=np.array_equal,
            targets={"a loop over sentences": 5.0},
            repeats=3,
        ),
    ]


@lru_cache(maxsize=4)
def tags(sentences: int) -> tuple[list[list[str]], list[list[str]]]:
    """Gold tags, and predictions with three in a hundred replaced at random."""
    from helpers.corpora.labels import TAGS

    rng = np.random.default_rng(0)
    gold = [list(row) for row in _corpus()[1][:sentences]]
    pred = [[t if rng.random() < 0.97 else TAGS[rng.integers(len(TAGS))] for t in row] for row in gold]
    return gold, pred


@lru_cache(maxsize=1)
def _corpus() -> tuple[list[str], list[list[str]]]:
    from helpers.corpora import load_entities
    from helpers.corpora.labels import TAGS

    real = (DATA / "klue-ner" / "klue-ner-v1.1_dev.tsv").exists()
    rows = load_entities(str(DATA / "klue-ner") if real else "sample", "dev", rows=SIZES[-1])
    return list(rows["sentence"]), [[TAGS[i] for i in row] for row in rows["ner_tags"]]


@lru_cache(maxsize=4)
def members(sentences: int):
    """Two taggers with random logits: one of single characters, one of pieces of up to three."""
    from helpers.entities.decoding import map_characters
    from helpers.entities.voting import Member

    rng = np.random.default_rng(0)
    lengths = [len(row) for row in _corpus()[1][:sentences]]
    offsets = [
        [np.array([(a, min(a + width, n)) for a in range(0, n, width)]) for n in lengths] for width in (1, 3)
    ]
    maps = [map_characters(lengths, rows) for rows in offsets]
    drawn = [rng.normal(scale=2.0, size=(m.token_bounds[-1], 13)).astype(np.float32) for m in maps]
    return [Member(z, m) for z, m in zip(drawn, maps, strict=True)], offsets


def ours_entity_f1(given) -> float:
    from helpers.entities.scores import entity_f1

    return entity_f1(*given)


def seqeval_f1(given) -> float:
    """The peer: seqeval in strict mode."""
    from seqeval.metrics import f1_score
    from seqeval.scheme import IOB2

    return 100 * f1_score(*given, average="macro", mode="strict", scheme=IOB2)


def ours_char_f1(given) -> float:
    from helpers.entities.scores import char_f1

    return char_f1(*given)


def scikit_learn_f1(given) -> float:
    """The peer, as KLUE's baseline code calls it."""
    from itertools import chain

    from sklearn.metrics import f1_score

    from helpers.corpora.labels import TAGS

    gold, pred = (list(chain.from_iterable(rows)) for rows in given)
    return 100 * f1_score(gold, pred, labels=list(TAGS), average="macro", zero_division=1)


def ours_interval(given) -> np.ndarray:
    from helpers.entities.scores import entity_counts, entity_score
    from helpers.statistics import estimate

    return np.array(estimate(entity_counts(*given), entity_score).interval())


def rescoring(given) -> np.ndarray:
    """What people do without counts: leave a sentence out and score the others again."""
    from scipy.stats import t

    gold, pred = given
    n = len(gold)
    left = [seqeval_f1((gold[:i] + gold[i + 1 :], pred[:i] + pred[i + 1 :])) for i in range(n)]
    half = t.isf(0.025, n - 1) * np.sqrt(np.var(left) * (n - 1))
    value = seqeval_f1(given)
    bias = (n - 1) * (np.mean(left) - value)  # the interval reaches further on its side
    return value + np.array([0.0, -half - max(bias, 0), half - min(bias, 0)])


def ours_ensemble(given) -> np.ndarray:
    from helpers.entities.voting import decode_ensemble

    return decode_ensemble(given[0]).ids


def legacy_ensemble(given) -> np.ndarray:
    """The usual way: sentence by sentence, token by token, and a Viterbi over a 13 × 13 matrix."""
    both, offsets = given
    out = []
    for row in range(len(both[0].characters.bounds) - 1):
        spread = [_spread(member, rows[row], row) for member, rows in zip(both, offsets, strict=True)]
        out += _viterbi(np.log(np.maximum((spread[0] + spread[1]) / 2, 1e-12)))
    return np.array(out, np.int8)


def _spread(member, offsets: np.ndarray, row: int) -> np.ndarray:
    from helpers.corpora.labels import OUTSIDE

    a, b = member.characters.token_bounds[row : row + 2]
    powers = np.exp(member.logits[a:b] - member.logits[a:b].max(1, keepdims=True))
    characters = []
    for p, (start, end) in zip(powers / powers.sum(1, keepdims=True), offsets, strict=True):
        later = np.zeros_like(p)
        later[OUTSIDE] = p[OUTSIDE]
        later[1:OUTSIDE:2] = p[0:OUTSIDE:2] + p[1:OUTSIDE:2]
        characters += [p] + [later] * (end - start - 1)
    return np.array(characters)


def _viterbi(scores: np.ndarray) -> list[int]:
    from helpers.corpora.labels import OUTSIDE

    inner = np.arange(13)[(np.arange(13) % 2 == 1)]
    allowed = np.zeros((13, 13))
    allowed[:, inner] = -np.inf
    allowed[inner, inner] = allowed[inner - 1, inner] = 0.0
    best, back = scores[0] + allowed[OUTSIDE], []
    for row in scores[1:]:
        total = best[:, None] + allowed
        back.append(total.argmax(0))
        best = total.max(0) + row
    path = [int(best.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return path[::-1]


def _close(a, b) -> bool:
    return bool(np.allclose(a, b, rtol=0, atol=1e-9))
