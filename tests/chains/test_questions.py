"""Questions about chains: what is asked, what is offered, what is deleted; a model that knows is right."""

import numpy as np
import pandas as pd
import pytest

from helpers.chains import questions
from helpers.chains.passages import Passage
from helpers.coreference import cloze
from helpers.text import tokenizers
from tests.coreference.conftest import small

TEXT = "문호는 웃었다. 병일은 울었다. 그는 집에 갔다. 병일이 왔다. 문호는 집을 보았다."


def spans(word, text=TEXT):
    return [(at, at + len(word)) for at in range(len(text)) if text.startswith(word, at)]


MUNHO = sorted([*spans("문호"), (TEXT.index("그는"), TEXT.index("그는") + 1)])
PASSAGE = Passage("p", "w", TEXT, [MUNHO, spans("병일")], frozenset({"문호", "병일"}))


@pytest.fixture(scope="module")
def tokenizer():
    return tokenizers.load_tokenizer("train:wordpiece", texts=[TEXT, "문호가 병일은 간다."] * 5, size=120)


def test_a_choice_is_a_mention_of_somebody_named_before_beside_somebody_else():
    asked = questions.build_choices([PASSAGE], per_passage=9)
    assert [(TEXT[one["start"] : one["end"]], one["kind"], one["gold"]) for one in asked] == [
        ("그", "pronoun", 0),
        ("문호", "name", 0),
        ("병일", "name", 1),
    ]
    pronoun = asked[0]
    assert pronoun["named"] == [[[0, 2]], [[*spans("병일")[0]]]]
    assert pronoun["distance"] == pronoun["start"] - 2
    assert len(questions.build_choices([PASSAGE], per_passage=2)) == 2
    alone = PASSAGE._replace(chains=[MUNHO])
    assert questions.build_choices([alone], per_passage=9) == []


def test_everybody_in_sight_is_offered_with_a_particle_that_fits(tokenizer):
    asked = questions.build_choices([PASSAGE], per_passage=9)
    offered = questions.offer(tokenizer, asked, length=64)
    first = offered[offered["id"] == asked[0]["id"]]
    assert first["name"].tolist() == ["문호", "병일"] and first["gold"].tolist() == [True, False]
    assert first["text"].str.contains("문호는 집에|병일은 집에").all()
    assert first["count"].tolist() == [1, 1] and first["last"].is_monotonic_increasing
    for text, (start, end), name in zip(offered["text"], offered["span"], offered["name"], strict=True):
        assert text[start:end] == name
    out_of_sight = questions.offer(tokenizer, asked, length=8)
    assert out_of_sight.empty and list(out_of_sight.columns) == list(offered.columns)


@pytest.mark.parametrize(
    ("after", "old", "new", "wanted"),
    [
        ("는 웃었다", "문호", "병일", "은 웃었다"),
        ("이 왔다", "병일", "문호", "가 왔다"),
        ("로 갔다", "문호", "김", "으로 갔다"),
        ("의 집", "문호", "병일", "의 집"),
        (" 이 집", "문호", "병일", " 이 집"),
    ],
)
def test_particles_follow_the_name(after, old, new, wanted):
    assert questions.refit(after, old, new) == wanted
    assert questions.refit(wanted, new, old) == after


def test_a_repeat_knows_whom_it_means_and_what_else_gives_them_away():
    items = questions.build_repeats([PASSAGE], per_passage=9)
    found = {item["noun"]: item for item in items}
    munho = found["문호"]
    assert munho["coreferent"] and munho["work"] == "w" and munho["kind"] == "name"
    assert munho["person"] == [[*spans("그", TEXT)[0]]]
    assert len(munho["rival"]) == 1 and tuple(munho["rival"][0]) in spans("병일")
    assert not found["집"]["coreferent"] if "집" in found else True


def test_the_same_word_for_somebody_else_is_not_coreferent():
    text = "아버지는 갔다. 그리고 저기서 다른 아버지는 왔다."
    first, second = spans("아버지", text)
    two = Passage("p", "w", text, [[first], [second]], frozenset())
    one = two._replace(chains=[[first, second]])
    for passage, wanted in ((two, False), (one, True)):
        items = {item["noun"]: item for item in questions.build_repeats([passage], per_passage=5)}
        assert items["아버지"]["coreferent"] is wanted


def test_a_checkpoint_answers_into_one_file_per_question(tmp_path, tokenizer, monkeypatch):
    model = small("bert", tokenizer)
    monkeypatch.setattr(questions, "load_checkpoint", lambda path: (model, tokenizer))
    choices = questions.build_choices([PASSAGE], per_passage=9)
    repeats = questions.build_repeats([PASSAGE], per_passage=9)
    assert questions.answer("anything", 48, choices=choices, repeats=repeats, folder=tmp_path) == {
        "offered": 6
    }
    frames = {name: pd.read_csv(tmp_path / f"{name}.csv") for name in questions.FILES}
    offered = questions.offer(tokenizer, choices, length=48)
    clozes = cloze.encode_spans(tokenizer, offered["text"], offered["span"], max_length=48)
    wanted = cloze.word_log_likelihoods(model, tokenizer, clozes)
    assert not np.isnan(wanted).any()
    assert frames["choices"]["log_likelihood"].to_numpy() == pytest.approx(wanted, abs=1e-4)
    assert all(frames[name]["id"].tolist() == repeats["id"][:] for name in questions.DELETED)
