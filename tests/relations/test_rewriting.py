"""Rewritten rows by hand, entities that follow the text, and models whose reading is known."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import corpora
from helpers.corpora.labels import RELATIONS
from helpers.relations import rewriting
from helpers.sample_world.scenes import inverses
from helpers.text.perturbations import KINDS
from tests.relations.test_slices import logits


def entity(sentence, word, kind):
    start = sentence.index(word)
    return {"word": word, "start_idx": start, "end_idx": start + len(word) - 1, "type": kind}


def row(sentence, subject, object, label, kinds=("PER", "PER")):
    return {
        "sentence": sentence,
        "subject_entity": entity(sentence, subject, kinds[0]),
        "object_entity": entity(sentence, object, kinds[1]),
        "label": RELATIONS.index(label),
    }


ROWS = [
    row("한솔은 나래의 아들이다.", "한솔", "나래", "per:parents"),
    row("김비가 박산을 만났다.", "김비", "박산", "no_relation"),
    row("바다사의 대표는 이강이다.", "바다사", "이강", "org:top_members/employees", ("ORG", "PER")),
]


def words(row):
    return [row["sentence"][row[role]["start_idx"] : row[role]["end_idx"] + 1] for role in rewriting.ENTITIES]


def test_exchanged_roles_have_the_inverse_label():
    new = rewriting.rewrite(ROWS, "roles exchanged")
    assert list(new) == [0, 2]
    assert [RELATIONS[one["label"]] for one in new.values()] == ["per:children", "per:employee_of"]
    assert words(new[0]) == ["나래", "한솔"] and new[0]["sentence"] == ROWS[0]["sentence"]


def test_inverses_undo_themselves_and_are_labels():
    known = inverses()
    assert set(known) <= set(RELATIONS)
    assert all(known[known[name]] == name for name in known)
    assert {"per:spouse", "per:siblings", "per:colleagues"} <= {a for a, b in known.items() if a == b}
    assert "no_relation" not in known


def test_labels_of_other_data_have_no_known_inverse():
    assert not rewriting.rewrite(ROWS, "roles exchanged", names=[f"r{i}" for i in range(30)])
    rows = list(corpora.load_relations("sample", "dev", rows=60))
    found = rewriting.study(
        {"one": [lambda some: logits([0] * len(some))]}, rows, names=[f"r{i}" for i in range(30)]
    )
    assert list(found) == ["other names", "no names"]


def test_without_names_only_their_length_is_left():
    first, _, last = rewriting.rewrite(ROWS, "no names").values()
    assert first["sentence"] == "○○은 ○○의 아들이다." and words(first) == ["○○", "○○"]
    assert last["sentence"] == "○○○의 대표는 ○○이다." and last["label"] == ROWS[2]["label"]


def test_another_name_of_the_type_comes_with_its_particle():
    new = rewriting.rewrite([ROWS[0], ROWS[1]], "other names", seed=1)
    for old, one in zip(ROWS, new.values(), strict=False):
        assert all(a != b for a, b in zip(words(old), words(one), strict=True))
        assert one["label"] == old["label"] and [one[r]["word"] for r in rewriting.ENTITIES] == words(one)
    changed = rewriting._renamed(ROWS[1], ["한솔", "나래"])
    assert changed["sentence"] == "한솔이 나래를 만났다."
    assert rewriting._renamed(ROWS[2], ["산", "비"])["sentence"] == "산의 대표는 비다."
    assert rewriting._renamed(ROWS[1], ["한솔", "?!"])["sentence"] == "한솔이 ?!을 만났다."
    assert rewriting.rewrite([ROWS[2]], "other names") == {}  # the only organisation


def test_overlapping_entities_are_left_alone():
    nested = row("나래은행은 나래의 것이다", "나래은행", "나래", "no_relation", ("ORG", "PER"))
    assert rewriting._renamed(nested, ["가", "나"]) is None


@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 30), rate=st.sampled_from([0.0, 0.3, 1.0]))
@settings(max_examples=12, deadline=None)
def test_perturbed_rows_hold_their_entities(kind, seed, rate):
    rows = list(corpora.load_relations("sample", "dev", rows=12, seed=seed % 3))
    for old, new in zip(rows, rewriting.perturbed(rows, kind, seed=seed, rate=rate), strict=True):
        assert [new[role]["word"] for role in rewriting.ENTITIES] == words(new)
        solid = [["".join(w.split()) for w in words(one)] for one in (old, new)]
        if kind.startswith("spaces") or (rate == 0 and kind not in ("NFD", "digits")):
            assert solid[0] == solid[1]
        if rate == 0 and kind not in ("NFD", "digits"):
            assert new == old


def test_planted_reliance_shows_in_sign_and_size():
    """One model knows names, one reads the context, one cannot tell the roles apart."""
    rows = list(corpora.load_relations("sample", "dev", rows=300))
    by_pair = {(*words(one),): one["label"] for one in rows}
    either = {frozenset(pair): label for pair, label in by_pair.items()}

    def by_names(some):
        return logits([by_pair.get((*words(one),), 0) for one in some])

    def by_label(some):
        return logits([one["label"] for one in some])

    def blind(some):
        return logits([either.get(frozenset(words(one)), 0) for one in some])

    systems = {"context": [by_label] * 2, "names": [by_names] * 2, "blind": [blind] * 2}
    found = rewriting.study(systems, rows)
    table = rewriting.effects(found, clusters=[one["sentence"] for one in rows], margin=1.0)
    table = table.set_index(["change", "system"])
    for change in ("other names", "no names"):
        agree, gap = table.loc[change]["consistent, %"], table.loc[change]["difference"]
        assert agree["context"].value == 100 and agree["names"].value == 0
        assert gap["context"].value == 0 and gap["names"].value == -100
        assert gap["context − names"].value == 100  # the lead grows by what the other loses
        assert table["decision"][change, "names"] == "worse"
        assert table["decision"][change, "context"] == "equivalent"
        assert (table.loc[change]["after"]["names"].value, table.loc[change]["before"]["names"].value) == (
            0,
            100,
        )
    exchanged = found["roles exchanged"]["blind"]
    said = [RELATIONS[either[frozenset(words(rows[i]))]] for i in exchanged.rows]
    symmetric = [inverses().get(name) == name for name in said]
    assert np.array_equal(exchanged.consistent[0, :, 0], symmetric)  # direction does not matter there
    assert table["consistent, %"]["roles exchanged", "context"].value == 100


def test_at_most_so_many_rows_are_asked():
    rows = list(corpora.load_relations("sample", "dev", rows=80))
    asked = []
    rewriting.study({"one": [lambda some: asked.append(len(some)) or logits([0] * len(some))]}, rows, most=40)
    assert set(asked) == {40}


def test_where_no_row_can_be_changed_nothing_is_told():
    found = rewriting.effects({}, clusters=[])
    assert found.empty and {"change", "system", "after", "difference", "decision"} <= set(found)
