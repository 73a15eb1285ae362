"""Gold tags follow sentences with errors; a planted weakness shows in sign and size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import statistics
from helpers.corpora import load_entities
from helpers.entities import errors, robustness
from helpers.entities.experiment import Part
from helpers.entities.scores import entity_counts, entity_score
from helpers.entities.tags import encode
from helpers.text.perturbations import KINDS, change


@pytest.fixture(scope="module")
def part():
    return Part.of(load_entities("sample", "dev", rows=120))


def texts(part):
    pairs = zip(part.sentences, errors.spans_of(part.gold), strict=True)
    return [[(sentence[s.start : s.end], s.kind) for s in spans] for sentence, spans in pairs]


@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 50), rate=st.sampled_from([0.0, 0.3, 1.0]))
@settings(max_examples=12, deadline=None)
def test_tags_follow_the_text(part, kind, seed, rate):
    part = robustness.head(part, 6)
    new = robustness.perturbed(part, kind, seed=seed, rate=rate)
    assert [len(s) for s in new.sentences] == np.diff(new.gold.bounds).tolist()
    before, after = texts(part), texts(new)
    assert [[kind for _, kind in row] for row in before] == [[kind for _, kind in row] for row in after]
    if rate == 0 and kind not in ("NFD", "digits"):
        assert new.sentences == part.sentences and np.array_equal(new.gold.ids, part.gold.ids)
    if kind.startswith("spaces"):
        solid = [[["".join(text.split()) for text, _ in row] for row in some] for some in (before, after)]
        assert solid[0] == solid[1]


def test_the_head_of_a_part(part):
    few = robustness.head(part, 3)
    assert few.sentences == part.sentences[:3] and few.gold.bounds.tolist() == part.gold.bounds[:4].tolist()
    assert len(few.gold.ids) == few.gold.bounds[-1]
    assert robustness.head(part, 10**6).sentences == part.sentences


def lookup(known):
    """A tagger that knows the texts of entities and finds them where they stand unchanged."""

    def tags(sentence):
        row = ["O"] * len(sentence)
        for text, kind in sorted(known, key=lambda pair: -len(pair[0])):
            at = sentence.find(text)
            if at >= 0 and row[at : at + len(text)] == ["O"] * len(text):
                row[at : at + len(text)] = [f"B-{kind}"] + [f"I-{kind}"] * (len(text) - 1)
        return row

    return tags


def test_a_tagger_that_knows_spellings_loses_what_is_respelled_and_nothing_else(part):
    """Planted: particles stand outside entities and cost it nothing; NFD respells all; typos hit some."""
    tagger = lookup({pair for row in texts(part) for pair in row})
    parts = {kind: robustness.perturbed(part, kind, seed=1, rate=0.1) for kind in KINDS}
    counts = {
        kind: entity_counts(some.gold, encode([tagger(s) for s in some.sentences]))[None]
        for kind, some in ({"plain": part} | parts).items()
    }
    drop = {
        kind: statistics.contrast(counts["plain"], some, entity_score).interval()
        for kind, some in counts.items()
    }
    assert drop["plain"].value == 0 and abs(drop["particles"].value) < 2
    assert drop["typos"].low > 5
    # a name of two to four syllables escapes typos at a rate of .1 in .9² to .9⁴ of cases
    names = [len(text) for row in texts(part) for text, kind in row if kind == "PS"]
    person = 3 * part.gold.types.index("PS")
    found = counts["typos"][0, :, person].sum() / counts["plain"][0, :, person].sum()
    assert found == pytest.approx(np.mean(0.9 ** np.array(names)), abs=0.08)
    hangul = counts["NFD"][0, :, person]
    assert hangul.sum() == 0
    both = np.concatenate([counts["plain"], counts["typos"], counts["NFD"]], axis=-1)
    mean = statistics.estimate(both, change(entity_score, 18)).value
    assert -mean == pytest.approx((drop["typos"].value + drop["NFD"].value) / 2)


def test_kept_models_tag_again_what_they_tagged(runs, sample, sample_encodings, predictions):
    run = runs[runs.role == "main"].iloc[0]
    tokenizer = sample_encodings[run.tokenizer].tokenizer
    found = robustness.official_counts([run.folder], tokenizer, [sample["dev"], sample["dev"]])
    swa = predictions.query("system == 'swa' and architecture == @run.architecture and seed == @run.seed")
    assert found.shape == (1, 30, 36)
    assert np.array_equal(found[0, :, :18], swa["scored"].iloc[0].official)
    assert np.array_equal(found[0, :, 18:], found[0, :, :18])
