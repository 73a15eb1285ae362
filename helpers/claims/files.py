"""What follows from the real files of KLUE and UNLP: a function for each claim, which returns its figures.

Nothing is trained but a logistic regression; everything together takes a minute or two.
"""

import os
import warnings
from collections import Counter
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import corpora
from helpers.corpora import splits
from helpers.corpora.labels import NO_RELATION, RELATIONS
from helpers.eda import entities, posts, relations, texts

Figures = tuple[float, ...]
KLUE = "local:klue-roberta"  # the vocabulary of KLUE's own models, of 32,000 entries


class MissingError(ValueError):
    """A file that a claim needs is not in the folder."""


class Files:
    """The folder named by NUNCHI_DATA; each file is read when a claim first asks for it."""

    def __init__(self, folder: str | Path | None = None):
        place = folder or os.environ.get("NUNCHI_DATA")
        if not place:
            raise MissingError("set NUNCHI_DATA to a folder with klue-re/, klue-ner/, unlp/ and vocabs/")
        self.folder = Path(place).expanduser()

    @cached_property
    def relations(self) -> tuple:
        return tuple(self._load(corpora.load_relations, split) for split in ("train", "dev"))

    @cached_property
    def relation_frames(self) -> tuple[pd.DataFrame, ...]:
        return tuple(relations.frame(part) for part in self.relations)

    @cached_property
    def entities(self) -> tuple:
        return tuple(self._load(corpora.load_entities, split) for split in ("train", "dev"))

    @cached_property
    def mentions(self) -> pd.DataFrame:
        return entities.mentions(self.entities[1])

    @cached_property
    def posts(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", corpora.CorpusWarning)  # spans out of bounds are a claim here
            return self._load(corpora.load_techniques, "train")

    @cached_property
    def tokenizer(self):
        from transformers import AutoTokenizer

        folder = self.folder / "vocabs" / KLUE.partition(":")[2]
        if not folder.is_dir():
            raise MissingError(f"there is no {folder}")
        return AutoTokenizer.from_pretrained(folder)

    @cached_property
    def tagged(self):
        """The dev sentences with their gold tags, as scorers take them."""
        from helpers.entities.experiment import Part

        return Part.of(self.entities[1])

    @cached_property
    def encoded(self):
        """The dev sentences in subwords of KLUE's vocabulary."""
        from helpers.entities.experiment import encode_part

        return encode_part(self.tokenizer, self.tagged)

    @cached_property
    def ceilings(self) -> pd.DataFrame:
        from helpers.entities.audit import ceilings

        return ceilings(self.tagged, {"klue": self.tokenizer}).set_index("decoder")

    def _load(self, load, split: str):
        try:
            return load(str(self.folder), split)
        except (OSError, ValueError) as error:
            raise MissingError(str(error)) from error


def relation_rows(files: Files) -> Figures:
    """Rows of train and dev."""
    return tuple(len(part) for part in files.relations)


def lost_entities(files: Files) -> Figures:
    """Entities that the study's loader lost, of all."""
    return relations.lost_entities(files.relations[0])


def type_lookup(files: Files) -> Figures:
    """Micro-F1 of the most frequent label of each pair of types, on train and on dev."""
    train, dev = files.relations
    return tuple(relations.type_lookup(train, part).value for part in (train, dev))


def random_split_leaks(files: Files) -> Figures:
    """Entity pairs and sentences of a random tenth that recur in the rest, in percent; mean of five cuts."""
    train, _ = files.relations
    alone = np.arange(len(train))
    cuts = (splits.split_by_group(train, alone, share=0.1, seed=seed) for seed in range(5))
    found = pd.concat([splits.leak_report(*cut) for cut in cuts]).groupby("kind")["share"].mean()
    return found["entity pair"], found["sentence"]


def dev_leaks(files: Files) -> Figures:
    """Dev rows whose entity pair stands in train, in percent, and those whose sentence does, counted."""
    report = splits.leak_report(*files.relations).set_index("kind")
    return report.loc["entity pair", "share"], report.loc["sentence", "shared"]


def first_match(files: Files) -> Figures:
    """Train rows in which the study's search finds both entities, in percent."""
    return (100 * float(relations.first_match_right(files.relation_frames[0])["both"].mean()),)


def unregistered_types(files: Files) -> Figures:
    """Train objects of the types DAT, POH and NOH, in percent."""
    return (100 * float(files.relation_frames[0]["object_type"].isin(["DAT", "POH", "NOH"]).mean()),)


def no_relation(files: Files) -> Figures:
    """Share of no_relation in train and dev, in percent."""
    return tuple(
        100 * float((frame["label"] == RELATIONS[NO_RELATION]).mean()) for frame in files.relation_frames
    )


def other_objects(files: Files) -> Figures:
    """Dev objects of the type POH, in percent."""
    return (100 * float((files.relation_frames[1]["object_type"] == "POH").mean()),)


def lengths(files: Files) -> Figures:
    """Characters of train sentences: median, 95th and 99th percentile, longest."""
    return tuple(files.relation_frames[0]["sentence"].str.len().quantile([0.5, 0.95, 0.99, 1]).astype(int))


def gaps(files: Files) -> Figures:
    """Characters between the two entities: median and 95th percentile."""
    return tuple(np.percentile(relations.gaps(files.relation_frames[0]), [50, 95]))


def followed_by_hangul(files: Files) -> Figures:
    """Subjects and objects directly followed by Hangul, in percent."""
    return tuple(share.value for share in _places(files)["followed by Hangul, %"])


def words_again(files: Files) -> Figures:
    """Subjects and objects whose word stands more than once, in percent."""
    return tuple(share.value for share in _places(files)["word occurs again, %"])


def _places(files: Files) -> pd.DataFrame:
    return relations.entity_places(files.relation_frames[0])


def copies(files: Files) -> Figures:
    """Rows that repeat another, their groups, and groups whose labels contradict."""
    found = relations.duplicates(files.relation_frames[0])
    return int(found["rows"].sum()), len(found), int(found["conflict"].sum())


def offset_mismatches(files: Files) -> Figures:
    """Rows of train and dev whose offsets do not cut out the entity's word."""
    frames = pd.concat(files.relation_frames)
    wrong = [
        sentence[start:end] != word
        for role in relations.ROLES
        for sentence, start, end, word in frames[
            ["sentence", f"{role}_start", f"{role}_end", role]
        ].to_numpy()
    ]
    return (sum(wrong),)


def prefix_exceptions(files: Files) -> Figures:
    """Train rows whose subject type is not the prefix of their label."""
    frame = files.relation_frames[0].query("label != 'no_relation'")
    return (int((frame["subject_type"].str.lower() != frame["label"].str[:3]).sum()),)


def blocked_by_masks(files: Files) -> Figures:
    """Dev rows whose gold label a type mask forbids: by prefix, and by pairs seen 1, 2, 5, 10, 20 times."""
    from helpers.relations import constraints

    (train, dev), pairs = files.relations, [constraints.type_pairs(part) for part in files.relations]
    masks = [constraints.prefix_constraint(pairs[0])]
    seen = (1, 2, 5, 10, 20)
    masks += [constraints.learned_constraint(pairs[0], train["label"][:], at_least=k) for k in seen]
    gold = dev["label"][:]
    return tuple(
        int(constraints.blocked(gold, mask.without_fallback().bias(pairs[1])).sum()) for mask in masks
    )


def klue_vocabulary(files: Files) -> Figures:
    """Tokens an eojeol, unknown tokens and sentences with one in percent, entities aligned, 99th length."""
    from helpers.text.measures import COUNTS, measure

    rows = files.relations[0]
    counts = measure(files.tokenizer, rows, marked=rows["sentence"][:]).counts
    total = dict(zip(COUNTS, counts.sum(axis=0), strict=True))
    return (
        total["tokens"] / total["eojeols"],
        100 * total["unknown"] / total["tokens"],
        100 * total["with_unknown"] / total["sentences"],
        100 * total["aligned"] / total["entities"],
        float(np.percentile(counts[:, 0] + 2, 99)),
    )


def single_tokens(files: Files) -> Figures:
    """Whether the Korean type words and the punctuation of markers are single tokens, and `∧` is unknown."""
    marks = ("사람", "단체", "장소", "날짜", "수량", "기타", *"@*#^&")
    pieces = [files.tokenizer.tokenize(mark) for mark in marks]
    whole = all(len(piece) == 1 and piece != [files.tokenizer.unk_token] for piece in pieces)
    return (float(whole and files.tokenizer.tokenize("∧") == [files.tokenizer.unk_token]),)


def tfidf(files: Files) -> Figures:
    """Dev micro-F1 of TF-IDF on the sentence alone, and on types, entities and the text around them."""
    from helpers.relations import baselines
    from helpers.relations.scores import micro_f1

    train, dev = files.relations
    gold = dev["label"][:]
    systems = (baselines.sentence_tfidf, baselines.structured_tfidf)
    return tuple(micro_f1(gold, system(train, dev).argmax(axis=1)) for system in systems)


def dev_sentences(files: Files) -> Figures:
    """Sentences of dev."""
    return (len(files.entities[1]),)


def dropped_by_scorer(files: Files) -> Figures:
    """Sentences and entities that the study's scorer never looks at, of all."""
    from helpers.entities.audit import dropped_by_legacy

    found = dropped_by_legacy(files.tagged, files.encoded)
    return found["sentences"], found["of_sentences"], found["entities"], found["of_entities"]


def ceiling(files: Files, decoder: str) -> Figures:
    """Entity and character F1 of perfect subword predictions under a decoder."""
    row = files.ceilings.loc[decoder]
    return row["entity F1"].value, row["char F1, with O"].value


def dev_entities(files: Files) -> Figures:
    """Entities of dev: all, then PS, QT, DT, OG, LC, TI."""
    counts = files.mentions["type"].value_counts()
    return len(files.mentions), *(int(counts[kind]) for kind in ("PS", "QT", "DT", "OG", "LC", "TI"))


def dev_spaces(files: Files) -> Figures:
    """Adjacent pairs, entities with a space, entities that begin with one."""
    surface = files.mentions["surface"]
    spaced = int(surface.str.contains(" ").sum()), int(surface.str.startswith(" ").sum())
    return entities.adjacent_pairs(files.mentions), *spaced


def dev_jamo(files: Files) -> Figures:
    """Conjoining jamo in dev, and the sentences that have one."""
    counts = [
        sum(texts.block(c) == "conjoining jamo" for c in sentence)
        for sentence in files.entities[1]["sentence"]
    ]
    return sum(counts), sum(count > 0 for count in counts)


def dev_unknown(files: Files) -> Figures:
    """Unknown tokens in dev, those of them with conjoining jamo, and entities with a boundary in a token."""
    from helpers.text.alignment import encode_with_offsets
    from helpers.text.measures import entity_counts

    sentences = list(files.entities[1]["sentence"])
    encoded = encode_with_offsets(files.tokenizer, sentences, special_tokens=False)
    unknown = [
        sentence[start:end]
        for sentence, one in zip(sentences, encoded, strict=True)
        for token, (start, end) in zip(one.input_ids, one.offsets, strict=True)
        if token == files.tokenizer.unk_token_id
    ]
    jamo = sum(any(texts.block(c) == "conjoining jamo" for c in piece) for piece in unknown)
    spans = files.mentions.groupby("row")[["start", "end"]].apply(lambda part: part.to_numpy().tolist())
    aligned = sum(entity_counts(encoded[row], own)[3] for row, own in spans.items())
    return len(unknown), jamo, len(files.mentions) - aligned


def literal_markup(files: Files) -> Figures:
    """Dev sentences with a literal `<` or `>`."""
    return (sum("<" in sentence or ">" in sentence for sentence in files.entities[1]["sentence"]),)


def dev_lengths(files: Files) -> Figures:
    """Characters of the shortest and of the longest dev sentence."""
    sizes = [len(sentence) for sentence in files.entities[1]["sentence"]]
    return min(sizes), max(sizes)


def post_counts(files: Files) -> Figures:
    """Posts, those in Ukrainian and in Russian, without a technique, distinct label sets; labels a post."""
    listed = [tuple(sorted(names)) for names in files.posts["techniques"]]
    spoken = Counter(files.posts["lang"])
    cardinality = sum(map(len, listed)) / len(listed)
    none = sum(not names for names in listed)
    return len(listed), spoken["uk"], spoken["ru"], none, len(set(listed)), cardinality


def technique_counts(files: Files) -> Figures:
    """Posts of each technique, in the shared task's order."""
    return tuple(map(int, posts.technique_counts(files.posts)))


def span_counts(files: Files) -> Figures:
    """Posts with overlapping trigger spans, and with spans out of order."""
    untidy = sum(list(map(tuple, s)) != sorted(map(tuple, s)) for s in files.posts["trigger_words"])
    return posts.overlapping(files.posts), untidy


def winners_folds(files: Files) -> Figures:
    """Posts that our folds put where the winners' own file does, in percent."""
    theirs = files.folder / "unlp" / "cv_split.csv"
    if not theirs.is_file():
        raise MissingError(f"there is no {theirs}")
    fold = pd.read_csv(theirs).set_index("id")["fold"]
    ours = posts.assign_folds(files.posts, number=5, seed=42)["legacy: labels"]
    return (100 * float((fold[files.posts["id"][:]].to_numpy() == ours).mean()),)


def copy_baselines(files: Files) -> Figures:
    """Items from dev sentences, then hits at 1 and 5 of: frequent everywhere, random, nearest, first."""
    from helpers.coreference import copying, items

    rows = [{"id": row["guid"], "text": row["sentence"]} for row in files.entities[1]]
    found = items.build_items(rows, pronouns=False, second_only=True)
    scores = copying.score_baselines(found, frequent=copying.global_frequency(rows))
    hits = scores.groupby("run")[["hit1", "hit5"]].mean()
    names = ("frequent everywhere", "random from the context", "nearest to the left", "first to the left")
    return len(found), *(float(hits.loc[name, column]) for name in names for column in ("hit1", "hit5"))
