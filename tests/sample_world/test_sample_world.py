"""The sample world: correct Korean, valid schemas, and the truth that each generator says it planted."""

import re
import subprocess
import sys
import time
import unicodedata
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import sample_world
from helpers.sample_world import PLANTED, document_templates, entity_templates, relation_templates, wordlists
from helpers.sample_world.particles import FORMS, final_sound, particle
from helpers.sample_world.scenes import wordings
from helpers.sample_world.templates import parse, slots

ALL_TEMPLATES = [
    template
    for module in (document_templates, entity_templates, relation_templates)
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, tuple)
    for template in value
    if isinstance(template, str) and template
]
GENERATORS = ("entities", "relations", "documents", "lambada", "posts")
HANGUL = st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3)


def generate(name: str, split: str = "train", rows: int = 300, seed: int = 0) -> list[dict]:
    return list(getattr(sample_world, name)(split, rows, seed))


# Particles


@given(st.text(HANGUL, min_size=1), st.sampled_from(sorted(FORMS)))
def test_particles_follow_the_final_consonant(word, form):
    """Oracle: Unicode's canonical decomposition has a third jamo exactly when there is a final consonant."""
    jamo = unicodedata.normalize("NFD", word[-1])
    consonant, vowel = FORMS[form]
    soft = len(jamo) == 2 or (form.startswith("으로") and jamo[2] == "\u11af")
    assert particle(word, form) == (vowel if soft else consonant)


@given(st.text(HANGUL, min_size=1), st.text(HANGUL), st.sampled_from(("({})", "({})’", " ({})")))
def test_a_bracketed_gloss_is_transparent(word, gloss, bracket):
    assert final_sound(word + bracket.format(gloss)) == final_sound(word)


@pytest.mark.parametrize(
    ("text", "form", "want"),
    [
        ("3", "은", "은"),
        ("2", "은", "는"),
        ("1", "으로", "로"),
        ("10", "으로", "으로"),
        ("20,000", "을", "을"),
        ("0.5", "이", "가"),
        ("3km", "을", "를"),
        ("12%", "은", "는"),
        ("KBL", "으로", "로"),
        ("DKN", "이", "이"),
        ("SG", "과", "와"),
        ("서울", "으로", "로"),
        ("‘하늘’", "이라", "이라"),
        ("나래(1990년 ~ )", "은", "는"),
    ],
)
def test_numbers_letters_and_quotes_are_read_aloud(text, form, want):
    assert particle(text, form) == want


def test_an_unknown_particle_is_refused():
    with pytest.raises(ValueError, match="form after a consonant"):
        particle("말", "는")


# Every generator


@pytest.mark.parametrize("name", GENERATORS)
def test_a_shorter_request_is_the_prefix_of_a_longer_one(name):
    assert generate(name, rows=40) == generate(name, rows=90)[:40]
    assert generate(name, "dev", rows=40, seed=1) != generate(name, "dev", rows=40, seed=2)
    assert generate(name, rows=0) == []


@pytest.mark.parametrize("name", GENERATORS)
def test_bad_requests_are_refused(name):
    with pytest.raises(ValueError, match="split"):
        generate(name, "test")
    with pytest.raises(ValueError, match="rows"):
        generate(name, rows=-1)


def test_rows_do_not_depend_on_the_hash_seed_or_on_earlier_calls():
    code = (
        "import sys, json, zlib; from helpers import sample_world as w\n"
        "names = sys.argv[1].split(',')\n"
        "out = {n: zlib.crc32(json.dumps(list(getattr(w, n)('dev', 60, 5))).encode()) for n in names}\n"
        "print(sorted(out.items()))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code, ",".join(names)],
            env={"PYTHONHASHSEED": salt, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for salt, names in (("1", GENERATORS), ("2", GENERATORS[::-1]))
    }
    assert len(runs) == 1


def test_import_is_cheap_and_pulls_in_nothing_heavy():
    code = "import sys, helpers.sample_world; print({'numpy', 'torch', 'sklearn'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


@given(st.sampled_from(ALL_TEMPLATES))
def test_every_template_parses_and_names_its_particles_correctly(template):
    """A bracketed Hangul group that is no particle would raise; a slot must not be empty."""
    assert all(slots(template)) and parse(template)


# Entities


def spans(row: dict) -> list[tuple[str, str]]:
    """(surface, type) of each entity, read back from the tags; fails where IOB2 is broken."""
    found, open_label = [], ""
    for char, tag in zip(row["tokens"], row["ner_tags"], strict=True):
        prefix, _, label = tag.partition("-")
        if prefix == "B":
            found.append([char, label])
        elif prefix == "I":
            assert label == open_label, row["guid"]
            found[-1][0] += char
        open_label = label
    return [tuple(span) for span in found]


@pytest.fixture(scope="module")
def ner() -> dict[str, list[dict]]:
    return {split: generate("entities", split, 2000) for split in ("train", "dev")}


def test_entity_rows_are_characters_with_valid_iob2(ner):
    for row in ner["train"] + ner["dev"]:
        assert "".join(row["tokens"]) == row["sentence"] and set(map(len, row["tokens"])) == {1}
        for surface, label in spans(row):
            assert label in PLANTED["entities"]["types"] and surface == surface.strip()


def test_most_names_in_dev_never_occur_in_train(ner):
    known = {span for row in ner["train"] for span in spans(row)}
    names = [span for row in ner["dev"] for span in spans(row) if span[1] in ("PS", "LC", "OG")]
    low, high = PLANTED["entities"]["unseen_name_share"]
    assert low < sum(span not in known for span in names) / len(names) < high


def test_some_surfaces_have_several_types_and_are_also_plain_words(ner):
    labels, everyday = {}, set(wordlists.EVERYDAY)
    for row in ner["train"]:
        for surface, label in spans(row):
            labels.setdefault(surface, set()).add(label)
    assert sum(len(found) > 1 for found in labels.values()) > 50
    outside = (
        "".join(c if t == "O" else "\n" for c, t in zip(r["tokens"], r["ner_tags"], strict=True))
        for r in ner["train"]
    )
    unlabelled = {word for text in outside for word in everyday if word in text}
    assert len(unlabelled & labels.keys()) > 15


def test_entities_have_the_shapes_that_trip_decoders(ner):
    rows = ner["train"]
    tags = [list(pairwise(row["ner_tags"])) for row in rows]
    adjacent = sum(a != "O" and b[0] == "B" for pairs in tags for a, b in pairs)
    spaced = sum(" " in surface for row in rows for surface, _ in spans(row))
    jamo = sum(any("\u1100" <= c <= "\u11ff" for c in row["tokens"]) for row in rows)
    assert adjacent > 10 and spaced > 500 and jamo > 50


def test_entity_sentences_come_at_speed():
    """13,000 a second when built. CPU time, best of three: a busy machine does not matter."""

    def seconds() -> float:
        start = time.process_time()
        generate("entities", rows=2000, seed=9)
        return time.process_time() - start

    assert 2000 / min(seconds() for _ in range(3)) > 5000


# Relations


@pytest.fixture(scope="module")
def re_rows() -> dict[str, list[dict]]:
    return {"train": generate("relations", "train", 3000), "dev": generate("relations", "dev", 2000)}


def pair(row: dict) -> tuple[str, str]:
    return row["subject_entity"]["word"], row["object_entity"]["word"]


def kinds(row: dict) -> str:
    return f"{row['subject_entity']['type']}-{row['object_entity']['type']}"


def test_relation_offsets_name_their_words(re_rows):
    for row in re_rows["train"] + re_rows["dev"]:
        subject, thing = row["subject_entity"], row["object_entity"]
        for entity in (subject, thing):
            assert row["sentence"][entity["start_idx"] : entity["end_idx"] + 1] == entity["word"]
        apart = subject["end_idx"] < thing["start_idx"] or thing["end_idx"] < subject["start_idx"]
        assert apart and subject["type"] in ("PER", "ORG")


def test_relations_respect_their_types_and_all_thirty_occur(re_rows):
    for rows in re_rows.values():
        for row in rows:
            label, thing = row["label"], row["object_entity"]["type"]
            assert thing in ("PER", "ORG", "LOC", "DAT", "POH", "NOH")
            if label != "no_relation":
                assert label[:3].upper() == row["subject_entity"]["type"]
                assert thing in PLANTED["relations"]["object_types"][label]
        assert {row["label"] for row in rows} == {"no_relation", *PLANTED["relations"]["object_types"]}


def test_the_labels_are_the_official_ones():
    relations = pytest.importorskip("helpers.corpora.labels")
    assert set(PLANTED["relations"]["rates"]["train"]) == set(relations.RELATIONS)


@pytest.mark.parametrize("split", ["train", "dev"])
def test_relation_classes_have_the_planted_rates(re_rows, split):
    rows = re_rows[split]
    for label, rate in PLANTED["relations"]["rates"][split].items():
        share = sum(row["label"] == label for row in rows) / len(rows)
        assert share == pytest.approx(rate, abs=4 * (rate / len(rows)) ** 0.5 + 0.01), label


def test_a_random_split_leaks_pairs_and_dev_hardly_does(re_rows):
    train = re_rows["train"]
    held, rest = train[::10], [row for place, row in enumerate(train) if place % 10]
    share = {}
    for name, rows, known in (("random", held, rest), ("dev", re_rows["dev"], train)):
        seen = {pair(row) for row in known}
        share[name] = sum(pair(row) in seen for row in rows) / len(rows)
    assert share["random"] > 0.3 and 0 < share["dev"] < 0.05


def test_the_same_sentence_carries_several_labels(re_rows):
    labels, pairs = {}, {}
    for row in re_rows["train"]:
        labels.setdefault(row["sentence"], set()).add(row["label"])
        pairs.setdefault((row["sentence"], pair(row)), []).append(row["label"])
    assert sum(len(found) > 1 for found in labels.values()) > 100
    repeats = [found for found in pairs.values() if len(found) > 1]
    assert repeats and any(len(set(found)) > 1 for found in repeats)


def test_the_first_match_of_a_word_is_often_not_the_entity(re_rows):
    rows = re_rows["train"]
    wrong = sum(
        any(
            row["sentence"].index(e["word"]) != e["start_idx"]
            for e in (row["subject_entity"], row["object_entity"])
        )
        for row in rows
    )
    assert 0.07 < wrong / len(rows) < 0.2


def test_every_fact_is_worded_in_train_and_some_only_in_dev():
    for relation in PLANTED["relations"]["object_types"]:
        assert wordings(relation, "train"), relation
        assert set(wordings(relation, "train")) <= set(wordings(relation, "dev"))
    assert any(wordings(r, "train") != wordings(r, "dev") for r in PLANTED["relations"]["object_types"])


def surroundings(row: dict) -> list[str]:
    """Type pair, order, and character n-grams of the text between and around the two entities."""
    subject, thing = row["subject_entity"], row["object_entity"]
    first, second = sorted((subject, thing), key=lambda e: e["start_idx"])
    order = "SO" if first is subject else "OS"
    text = row["sentence"]
    parts = {
        "left": text[max(0, first["start_idx"] - 8) : first["start_idx"]],
        "between": text[first["end_idx"] + 1 : second["start_idx"]],
        "right": text[second["end_idx"] + 1 :][:14],
    }
    grams = [
        f"{order}{n}{p[i : i + k]}" for n, p in parts.items() for k in (2, 3) for i in range(len(p) - k + 1)
    ]
    return [kinds(row) + order, *grams]


def micro_f1(gold: list[str], pred: list[str]) -> float:
    hits = sum(g == p != "no_relation" for g, p in zip(gold, pred, strict=True))
    return 200 * hits / sum(label != "no_relation" for label in [*gold, *pred])


def test_the_pair_decides_and_a_bag_of_words_does_not(re_rows):
    """Dev micro-F1 when built: sentence 14, type pair 37, surroundings of the pair 70."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    train, dev = re_rows["train"][:2000], re_rows["dev"][:1000]
    gold = [row["label"] for row in dev]

    def score(vectorizer, features) -> float:
        model = make_pipeline(vectorizer, LogisticRegression(C=10, tol=0.01, max_iter=300))
        model.fit([features(row) for row in train], [row["label"] for row in train])
        return micro_f1(gold, list(model.predict([features(row) for row in dev])))

    votes: dict[str, Counter] = {}
    for row in train:
        votes.setdefault(kinds(row), Counter())[row["label"]] += 1
    lookup = {types: counts.most_common(1)[0][0] for types, counts in votes.items()}
    types = micro_f1(gold, [lookup.get(kinds(row), "no_relation") for row in dev])
    bag = score(TfidfVectorizer(analyzer="word", min_df=2), lambda row: row["sentence"])
    near = score(TfidfVectorizer(analyzer=list, min_df=2, sublinear_tf=True), surroundings)
    assert bag < 25 and 25 < types < 45 and near > types + 15 and near < 85


# Documents and LAMBADA


def test_documents_keep_to_their_length_and_come_back_to_their_cast():
    rows = generate("documents", rows=300)
    sizes = [len(row["text"].replace("\n", " ").split(". ")) for row in rows]
    assert (min(sizes), max(sizes)) == PLANTED["documents"]["sentences"]
    repeated = sum(any(row["text"].count(word) > 1 for word in wordlists.THINGS) for row in rows)
    assert repeated > 0.9 * len(rows)


def test_pronouns_occur_in_the_planted_share_of_documents():
    pronoun = re.compile(r"(?:^|\s)(?:그|그녀|이것|그곳|그들|나|우리|이곳|그것)(?:는|은|에게|을|에서)\s")
    rows = generate("documents", rows=1000)
    share = sum(bool(pronoun.search(row["text"])) for row in rows) / len(rows)
    assert share == pytest.approx(PLANTED["documents"]["pronoun_share"], abs=0.06)


def test_names_of_dev_documents_are_new():
    """Titles are names of the cast; none of train's is used in dev."""
    known = {row["title"] for row in generate("documents", rows=1500)}
    assert not known & {row["title"] for row in generate("documents", "dev", rows=500)}


def test_lambada_is_decided_by_the_story_alone():
    rows = generate("lambada", "dev", rows=800)
    first = 0
    for row in rows:
        *context, last = row["text"].split(". ")
        answer, candidate, story = row["answer"], row["candidate"], ". ".join(context)
        assert row["text"].count("_") == last.count("_") == 1
        assert answer in story and candidate in story and answer != candidate
        assert final_sound(answer) == final_sound(candidate)
        first += story.index(answer) < story.index(candidate)
    assert first / len(rows) == pytest.approx(PLANTED["lambada"]["chance"], abs=0.07)


def test_a_filled_gap_agrees_with_its_particle():
    for row in generate("lambada", rows=300):
        after = row["text"].partition("_")[2]
        form = next(f for f in ("이었", "였", "은", "는", "을", "를") if after.startswith(f))
        consonant = {"였": "이었", "는": "은", "를": "을"}.get(form, form)
        assert particle(row["answer"], consonant) == form


# Posts


@pytest.fixture(scope="module")
def unlp() -> list[dict]:
    return generate("posts", rows=3822)


def test_posts_have_the_planted_rates(unlp):
    planted, size = PLANTED["posts"], len(unlp)
    for name, rate in planted["rates"].items():
        share = sum(name in row["techniques"] for row in unlp) / size
        assert share == pytest.approx(rate, abs=4 * (rate * (1 - rate) / size) ** 0.5), name
    assert sum(not row["techniques"] for row in unlp) / size == pytest.approx(planted["none"], abs=0.03)
    assert sum(len(row["techniques"]) for row in unlp) / size == pytest.approx(
        planted["cardinality"], abs=0.06
    )
    assert sum(row["lang"] == "ko" for row in unlp) / size == pytest.approx(
        planted["languages"]["ko"], abs=0.03
    )


def test_labels_hang_together_as_planted(unlp):
    """Dark techniques attract each other, dark and bright ones repel, and English posts are darker."""

    def share(name: str, rows: list[dict]) -> float:
        return sum(name in row["techniques"] for row in rows) / len(rows)

    manipulative = [row for row in unlp if row["techniques"]]
    fud = [row for row in manipulative if "fud" in row["techniques"]]
    assert share("cherry_picking", fud) > 1.15 * share("cherry_picking", manipulative)
    assert share("glittering_generalities", fud) < 0.85 * share("glittering_generalities", manipulative)
    english, korean = ([row for row in unlp if row["lang"] == lang] for lang in ("en", "ko"))
    assert share("fud", english) > 1.2 * share("fud", korean)


def test_post_rows_are_consistent(unlp):
    order = list(PLANTED["posts"]["rates"])
    for row in unlp:
        assert row["manipulative"] == bool(row["techniques"]) == bool(row["trigger_words"])
        assert row["techniques"] == sorted(row["techniques"], key=order.index)
        assert all(0 <= start < end <= len(row["content"]) for start, end in row["trigger_words"])


def test_a_few_posts_have_untidy_spans(unlp):
    unsorted = sum(row["trigger_words"] != sorted(row["trigger_words"]) for row in unlp)
    overlapping = sum(any(a[1] > b[0] for a, b in pairwise(sorted(row["trigger_words"]))) for row in unlp)
    assert 10 < unsorted < 150 and 10 < overlapping < 100


def test_techniques_are_learnable_but_not_given_away(unlp):
    """Character TF-IDF + logistic regression when built: macro-F1 .38 at 0.5, .54 at the best thresholds."""
    import numpy as np
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    names, dev = list(PLANTED["posts"]["rates"]), generate("posts", "dev", rows=1500)
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=3, sublinear_tf=True)
    X = vectorizer.fit_transform(row["content"] for row in unlp)
    Y, gold = (
        np.array([[n in row["techniques"] for n in names] for row in rows], int) for rows in (unlp, dev)
    )
    model = OneVsRestClassifier(LogisticRegression(C=3, solver="liblinear")).fit(X, Y)
    scores = model.predict_proba(vectorizer.transform(row["content"] for row in dev))

    def macro_f1(pred) -> float:
        return float(np.mean(2 * (gold & pred).sum(0) / (gold.sum(0) + pred.sum(0))))

    rates = np.array(list(PLANTED["posts"]["rates"].values()))
    cuts = np.array([np.quantile(column, 1 - rate) for column, rate in zip(scores.T, rates, strict=True)])
    assert macro_f1((scores >= 0.5).astype(int)) < 0.48
    assert 0.35 < macro_f1((scores >= cuts).astype(int)) < 0.62
