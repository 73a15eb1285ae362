"""Model folders: complete, safe, read by plain transformers, and exported where the head allows."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForTokenClassification, AutoTokenizer

from helpers import records
from helpers.prediction import folders, predictors, recipes
from helpers.prediction.recipes import Recipe

PLAIN = """
import sys
{imports}
folder = sys.argv[1]
from transformers import AutoModelForSequenceClassification, AutoTokenizer
model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
again = AutoModelForSequenceClassification.from_pretrained(folder)
batch = tokenizer(["서울 사는 노인"], return_tensors="pt")
assert (model.eval()(**batch).logits == again.eval()(**batch).logits).all()
print(list(model.config.id2label.values()))
"""
FIRST = """import helpers; assert not {'torch', 'transformers'} & set(sys.modules)
from transformers import AutoModel"""
LATER = "from transformers import AutoModel\nimport helpers"


def test_a_folder_is_complete(relations, taggers, posts, triggers):
    for kept in (relations, *taggers, posts, triggers):
        have = {file.name for file in kept.folder.iterdir()}
        assert have >= {"model.safetensors", "config.json", "tokenizer.json", "nunchi.json", "README.md"}
        assert not [name for name in have if name.endswith((".bin", ".pt", ".pkl", ".py"))]
        text = (kept.folder / "README.md").read_text()
        recipe = recipes.read(kept.folder)
        assert text.startswith("---\nlanguage: ko") and f"{kept.score:.2f} (this model)" in text
        assert records.commit() in text and "Undecided." in text and ", ".join(recipe.labels) in text
        assert "95 % interval over rows and 2 seeds" in text


def test_names_of_labels_and_markers_are_in_the_folder(relations, posts):
    config = json.loads((posts.folder / "config.json").read_text())
    assert list(config["id2label"].values()) == ["성별", "연령", "지역"]
    recipe = recipes.read(relations.folder)
    assert recipe.scheme == "typed-punct" and recipe.none == "관계없음" and recipe.types == ("약물", "인물")
    tokenizer = folders.load(relations.folder).tokenizer
    assert tokenizer.convert_tokens_to_ids("약물") != tokenizer.unk_token_id


@pytest.mark.slow
@pytest.mark.parametrize("imports", [FIRST, LATER], ids=["helpers first", "transformers first"])
def test_plain_transformers_loads_it_after_import_helpers(posts, imports):
    command = [sys.executable, "-c", PLAIN.format(imports=imports), str(posts.folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['성별', '연령', '지역']"


def test_a_tagger_on_a_transformers_encoder_is_exported_with_the_same_logits(taggers, tmp_path):
    lstm, roberta = taggers
    assert folders.export(roberta.folder, tmp_path / "plain") == "AutoModelForTokenClassification"
    plain = AutoModelForTokenClassification.from_pretrained(tmp_path / "plain").eval()
    own, tokenizer = folders.load(roberta.folder), AutoTokenizer.from_pretrained(tmp_path / "plain")
    batch = tokenizer(roberta.texts[:2], return_tensors="pt", padding=True)
    batch.pop("token_type_ids", None)
    with torch.no_grad():
        assert torch.allclose(plain(**batch).logits, own.model(**batch).logits, atol=1e-6)
    assert plain.config.model_type == "roberta" and plain.config.id2label[0] == "B-약물"
    with pytest.raises(ValueError, match="transformers has no nunchi-bilstm"):
        folders.export(lstm.folder, tmp_path / "lstm")
    with pytest.raises(ValueError, match="already there"):
        folders.export(roberta.folder, tmp_path / "plain")


def test_of_another_head_the_encoder_is_exported(taggers, posts, tmp_path, monkeypatch):
    member = folders.load(taggers[1].folder)
    other = member._replace(recipe=folders.load(posts.folder).recipe)
    monkeypatch.setattr(folders, "load", lambda _: other)
    assert folders.export("x", tmp_path / "encoder") == "AutoModel"
    assert AutoModel.from_pretrained(tmp_path / "encoder").config.model_type == "roberta"


def test_weights_in_another_form_are_refused(posts, tmp_path):
    folder = shutil.copytree(posts.folder, tmp_path / "pickled")
    weights = folders.load(folder).model.state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"has no model\.safetensors"):
        folders.load(folder)


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, r"no nunchi\.json: expected the folder"), ("{}", "cannot be read"), ("[", "cannot be read")],
)
def test_a_folder_without_a_recipe_is_one_message(posts, tmp_path, text, words):
    folder = shutil.copytree(posts.folder, tmp_path / "odd")
    (folder / "nunchi.json").unlink()
    if text is not None:
        (folder / "nunchi.json").write_text(text)
    with pytest.raises(ValueError, match=words):
        folders.load(folder)
    with pytest.raises(ValueError, match="no such folder"):
        folders.load(tmp_path / "missing")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"task": "translation"}, "task must be one of"),
        ({"task": "multilabel"}, "2 labels need as many thresholds"),
        ({"temperature": 0.0}, "temperature must be positive"),
    ],
)
def test_a_recipe_checks_itself(wrong, words):
    with pytest.raises(ValueError, match=words):
        Recipe(**{"task": "relations", "labels": ("a", "b")} | wrong)


def test_a_recipe_comes_back_as_it_was(tmp_path):
    recipe = Recipe(
        task="multilabel", labels=("연령", "지역"), thresholds=(0.25, 0.5), curves=((1.0, 0.0), (0.5, -1.0))
    )
    recipe.write(tmp_path)
    assert recipes.read(tmp_path) == recipe


def test_temperatures_are_fitted_on_held_out_rows(relations):
    recipe = folders.load(relations.folder).recipe
    assert recipe.temperature != 1.0 and np.isfinite(recipe.temperature)
    assert predictors.together([folders.load(relations.folder)]) == recipe
