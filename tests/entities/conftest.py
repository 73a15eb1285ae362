"""What the tests of entities share: a study small enough to train in seconds, and the real files."""

from dataclasses import replace

import pytest

from helpers.corpora import load_entities, splits
from helpers.entities import experiment, results
from helpers.entities.experiment import Part, TaggerConfig

CONFIG = TaggerConfig(
    hidden=32, layers=1, bigrams=64, dropout=0.0, peak_lr=0.02, epochs=3, batch_size=8, seed=1, swa_start=2,
    ema_decay=0.5, lawa_last=2,
)  # fmt: skip
TAGGERS = [CONFIG.of("bilstm + train:character"), CONFIG.of("roberta + train:wordpiece")]


@pytest.fixture(scope="session")
def names():
    return [tagger.architecture for tagger in TAGGERS]


@pytest.fixture(scope="session")
def sample():
    """Parts of the sample world: 48 sentences to train on, 12 to select on, 30 to score."""
    train, dev = (load_entities("sample", split, rows=rows) for split, rows in (("train", 60), ("dev", 30)))
    train, valid = splits.split_by_group(train, splits.document_groups(train), share=0.2)
    return {"train": Part.of(train), "valid": Part.of(valid), "dev": Part.of(dev)}


@pytest.fixture(scope="session")
def sample_encodings(sample):
    return experiment.encode_parts(sample, [tagger.tokenizer for tagger in TAGGERS], size=500)


@pytest.fixture(scope="session")
def runs(sample, sample_encodings, tmp_path_factory):
    """Two architectures by two seeds, decay, an ablation and one more seed, as notebook 04 has them."""
    main = [replace(tagger, seed=seed) for tagger in TAGGERS for seed in (1, 2)]
    decay = [replace(run, schedule="linear", averages=False) for run in main[:2]]
    ablation = replace(main[0], epochs=2, frozen=True, averages=False)
    planned = [*main, *decay, ablation, replace(main[0], seed=3, averages=False)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUNCHI_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("OMP_NUM_THREADS", "1")
        frame = results.train(sample, sample_encodings, planned, name="taggers")
    roles = ["main"] * 4 + ["decay"] * 2 + ["head only", "control"]
    return frame.assign(architecture=[run.architecture for run in planned], role=roles)


@pytest.fixture(scope="session")
def predictions(runs, sample):
    return results.collect(runs, sample)


@pytest.fixture(scope="session")
def members(runs, sample_encodings):
    return results.load_members(runs, sample_encodings)


@pytest.fixture(scope="session")
def klue_dev(real_data):
    """Sentences and tags of KLUE-NER dev, read by rows."""
    text = (real_data / "klue-ner" / "klue-ner-v1.1_dev.tsv").read_text(encoding="utf-8")
    rows = [
        [line.split("\t") for line in block.split("\n") if not line.startswith("## ")]
        for block in text.strip("\n").split("\n\n")
    ]
    return ["".join(c for c, _ in row) for row in rows], [[t for _, t in row] for row in rows]


@pytest.fixture(scope="session")
def klue_tokenizer(real_data):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(real_data / "vocabs" / "klue-roberta")
