"""Audit of NER scores: what a scorer hides, what a choice on test data adds, what the published rows say.

Each function sets the published study's procedure (legacy) beside a corrected one on the same predictions.
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers import statistics
from helpers.corpora.labels import OUTSIDE, TAGS
from helpers.entities import scores
from helpers.entities.decoding import IGNORED, klue_character_tags, map_characters, project_tags, token_labels
from helpers.entities.experiment import Encoded, Encoding, Part
from helpers.entities.results import Results, Study, compare, mean_f1, score_tags, seed_mean
from helpers.entities.scores import Tagged
from helpers.entities.voting import Member
from helpers.statistics import Interval
from helpers.text.alignment import compatibility_jamo, encode_with_offsets

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from transformers import PreTrainedTokenizerFast

PUBLISHED = ("klue/roberta-base", "klue/roberta-large", "ensemble")


def ceilings(part: Part, tokenizers: Mapping[str, "PreTrainedTokenizerFast"]) -> pd.DataFrame:
    """Score perfect predictions of every token: what is left is lost between tokens and characters.

    The jamo map is shown where there are conjoining jamo; KLUE's baseline decoder, which goes word by word
    through WordPiece pieces, where the tokenizer does too.
    """
    rows = []
    for name, tokenizer in tokenizers.items():
        found = [_exact_ceiling(part, tokenizer, jamo=False)]
        if any(compatibility_jamo(sentence) != sentence for sentence in part.sentences):
            found.append(_exact_ceiling(part, tokenizer, jamo=True))
        if _goes_by_words(tokenizer, part.sentences[:100]):
            found.append(_baseline_ceiling(part, tokenizer))
        rows += [{"tokenizer": name, **row} for row in found]
    return pd.DataFrame(rows)


def _goes_by_words(tokenizer: "PreTrainedTokenizerFast", sentences: Sequence[str]) -> bool:
    by_word = ([piece for word in s.split(" ") for piece in tokenizer.tokenize(word)] for s in sentences)
    pieces = [tokenizer.tokenize(sentence) for sentence in sentences]
    return pieces == list(by_word) and any(piece.startswith("##") for row in pieces for piece in row)


def _perfect(part: Part, tokenizer: "PreTrainedTokenizerFast", *, jamo: bool = False):
    encoded = encode_with_offsets(tokenizer, part.sentences, jamo=jamo)
    characters = map_characters([len(s) for s in part.sentences], [row.offsets for row in encoded])
    return characters, token_labels(part.gold, characters)


def _exact_ceiling(part: Part, tokenizer: "PreTrainedTokenizerFast", *, jamo: bool) -> dict:
    characters, labels = _perfect(part, tokenizer, jamo=jamo)
    flat = np.concatenate([np.array(row) for row in labels])
    tags = project_tags(np.where(flat == IGNORED, OUTSIDE, flat), characters)
    gold, pred = (scores.without_spaces(rows, part.sentences) for rows in (part.gold, tags))
    return _ceiling("exact offsets, jamo mapped" if jamo else "exact offsets", gold, pred)


def _baseline_ceiling(part: Part, tokenizer: "PreTrainedTokenizerFast") -> dict:
    gold, pred = [], []
    _, labels = _perfect(part, tokenizer)
    solid = scores.decode(scores.without_spaces(part.gold, part.sentences))
    for sentence, wanted, row in zip(part.sentences, solid, labels, strict=True):
        said = klue_character_tags(tokenizer, sentence, [TAGS[i] for i in row if i != IGNORED])
        gold.append(["O", *wanted[: len(said)], "O"])  # it cuts what it cannot align; [CLS] and [SEP] count
        pred.append(["O", *said[: len(wanted)], "O"])
    return _ceiling("legacy: KLUE's baseline decoder", gold, pred)


def _ceiling(decoder: str, gold: scores.Tags, pred: scores.Tags) -> dict:
    counts = {
        "entity F1": (scores.entity_counts(gold, pred), scores.entity_score),
        "char F1, 13 labels": (scores.char_counts(gold, pred), scores.char_score),
    }
    return {"decoder": decoder} | {name: statistics.bootstrap(*pair) for name, pair in counts.items()}


def scorer_table(
    results: Results, parts: Mapping[str, Part], runs: pd.DataFrame, encodings: Mapping[str, Encoding]
) -> pd.DataFrame:
    """Score the same SWA logits five ways, mean over seeds: one column per architecture."""
    columns = {}
    for (name, tokenizer), group in runs[runs.role == "main"].groupby(
        ["architecture", "tokenizer"], sort=False
    ):
        dev = encodings[tokenizer].parts["dev"]
        logits = [_logits(folder, "dev_swa_logits") for folder in group.folder]
        greedy = [score_tags(Member(z, dev.characters).greedy(), parts["dev"]) for z in logits]
        found = results.of(name, "swa")
        columns[name] = {
            "legacy: subwords, longest sentences dropped": _legacy_mean(logits, dev, drop=True),
            "subwords, every sentence": _legacy_mean(logits, dev, drop=False),
            "official: non-space characters, token by token": mean_f1(greedy),
            "official: non-space characters, valid tags": mean_f1(found),
            "exact: all characters, valid tags": mean_f1(found, counts="exact"),
        }
    return pd.DataFrame(columns).rename_axis("scorer").reset_index()


def legacy_counts(
    logits: np.ndarray, encoded: Encoded, *, batch_rows: int = 32, drop: bool = True
) -> np.ndarray:
    """Count entities over subwords as the published study does: without the longest of each batch.

    With `drop=False` every sentence is counted, still on subwords. Tokens that stand for no character are
    left out: the study counts [CLS] and [SEP], but as O they change no entity.
    """
    bounds = encoded.characters.token_bounds
    kept = scores.legacy_kept(np.diff(bounds), batch_rows) if drop else np.ones(len(bounds) - 1, bool)
    tokens = np.repeat(kept, np.diff(bounds)) & (encoded.labels != IGNORED)
    cut = np.concatenate([[0], np.cumsum(tokens)])[bounds]
    gold, said = (Tagged(ids[tokens].astype(np.int8), cut) for ids in (encoded.labels, logits.argmax(1)))
    return scores.entity_counts(gold, said)


def _legacy_mean(logits: Sequence[np.ndarray], encoded: Encoded, *, drop: bool) -> Interval:
    return statistics.bootstrap(np.hstack([legacy_counts(z, encoded, drop=drop) for z in logits]), seed_mean)


def _logits(folder: str, name: str) -> np.ndarray:
    with np.load(f"{folder}/predictions.npz", allow_pickle=False) as arrays:
        return arrays[name].astype(np.float32)


def dropped_by_legacy(part: Part, encoding: Encoding, *, batch_rows: int = 32) -> dict[str, int]:
    """Count the sentences and entities that the study's scorer never looks at."""
    kept = scores.legacy_kept(np.diff(encoding.parts["dev"].characters.token_bounds), batch_rows)
    wanted = scores.entity_counts(part.gold, part.gold)[:, 2::3].sum(1)
    return {
        "sentences": int((~kept).sum()),
        "of_sentences": len(kept),
        "entities": int(wanted[~kept].sum()),
        "of_entities": int(wanted.sum()),
    }


def epoch_choice(results: Results, runs: pd.DataFrame) -> pd.DataFrame:
    """Set dev F1 of the epoch that validation chooses against the best on dev itself: one row per run."""
    rows = []
    for run in runs[runs.role == "main"].itertuples():
        epochs = [
            results.dev[run.architecture, f"epoch {n}", run.seed].figures()["entity F1"]
            for n in range(1, run.epochs + 1)
        ]
        honest, peeking = int(np.argmax(run.epoch_valid)), int(np.argmax(epochs))
        rows.append(
            {
                "architecture": run.architecture,
                "seed": run.seed,
                "epoch by validation": honest + 1,
                "F1": epochs[honest],
                "legacy: epoch by test": peeking + 1,
                "F1 reported": epochs[peeking],
                "optimism": epochs[peeking] - epochs[honest],
            }
        )
    return pd.DataFrame(rows)


def learning_curves(results: Results, runs: pd.DataFrame) -> pd.DataFrame:
    """Return mean entity F1 per epoch with the range over seeds, on validation and on dev."""
    main = runs[runs.role == "main"]
    rows = [
        {"architecture": run.architecture, "epoch": n, "validation": on_valid,
         "dev": results.dev[run.architecture, f"epoch {n}", run.seed].figures()["entity F1"]}
        for run in main.itertuples() for n, on_valid in enumerate(run.epoch_valid, 1)
    ]  # fmt: skip
    tidy = pd.DataFrame(rows).melt(["architecture", "epoch"], var_name="part", value_name="entity F1")
    grouped = tidy.groupby(["architecture", "part", "epoch"], sort=False)["entity F1"]
    return grouped.agg(**{"entity F1": "mean", "low": "min", "high": "max"}).reset_index()


def draw_curves(curves: pd.DataFrame) -> "Figure":
    """Draw validation and dev F1 over the epochs, one panel per architecture, with the range over seeds."""
    from helpers.display import figures

    groups = list(curves.groupby("architecture", sort=False))
    figure, axes = figures.figure(1, len(groups), height=3.4, sharey=True, squeeze=False)
    for ax, (name, rows) in zip(axes[0], groups, strict=True):
        figures.lines(rows, ax, x="epoch", y="entity F1", group="part")
        ax.set(title=name, xticks=rows.epoch.unique(), xlim=(0.8, rows.epoch.max() * 1.3))
    return figure


def ablation_table(results: Results, study: Study) -> pd.DataFrame:
    """Compare class weights and a frozen encoder with the plain run of the same seed after as many epochs."""
    architecture, seed = study.names[0], study.seeds[0]
    plain = [results.dev[architecture, f"epoch {study.ablation_epochs}", seed]]
    rows = [{"variant": "plain", "entity F1": mean_f1(plain), "difference": None, "p": np.nan}]
    for name in [*(f"O weight {w:g}" for w in study.outside_weights), "head only"]:
        found = [results.dev[architecture, name, seed]]
        against = compare(plain, found)
        rows.append(
            {"variant": name, "entity F1": mean_f1(found), "difference": against.difference, "p": against.p}
        )
    return pd.DataFrame(rows)


def published() -> pd.DataFrame:
    """Return the study's 24 rows: seed, system, entity_f1, char_f1."""
    with (files("helpers") / "reference" / "ner_swa_ensemble.csv").open(encoding="utf-8") as stream:
        return pd.read_csv(stream)


def published_table() -> pd.DataFrame:
    """Return the study's means over eight seeds, then its two claims tested on its own rows, by seed."""
    wide = published().pivot(index="seed", columns="system", values=["entity_f1", "char_f1"])
    rows = [
        {"figure": name, "entity F1": statistics.mean_interval(wide["entity_f1"][name]),
         "sd": wide["entity_f1"][name].std(), "char F1": statistics.mean_interval(wide["char_f1"][name])}
        for name in PUBLISHED
    ]  # fmt: skip
    for a, b in pairwise(PUBLISHED):
        difference, char = (wide[metric][b] - wide[metric][a] for metric in ("entity_f1", "char_f1"))
        rows.append(
            {"figure": f"{b} − {a}", "entity F1": statistics.mean_interval(difference),
             "sd": difference.std(), "char F1": statistics.mean_interval(char), **_paired_t(difference)}
        )  # fmt: skip
    return pd.DataFrame(rows)


def _paired_t(differences: pd.Series) -> dict[str, float]:
    from scipy.stats import ttest_1samp

    test = ttest_1samp(differences, 0.0)
    return {"t": float(test.statistic), "p": float(test.pvalue)}
