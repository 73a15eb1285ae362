"""Marking is undone exactly, starts point at the markers, and no length limit loses them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers.relations.markers import (
    CODES,
    ENGLISH,
    FIRST_MATCH,
    KOREAN,
    SCHEMES,
    TYPES,
    entity_types,
    is_one_token,
    legacy_first_match,
    mark,
    mark_row,
    register_markers,
    scheme_parts,
    start_tokens,
    window,
)
from helpers.text.alignment import encode_with_offsets
from helpers.text.tokenizers import KINDS, train_tokenizer

SENTENCE = "세종은 조선의 왕이다."
OPENERS = {
    "none": ("세종", "조선"),
    "entity-mask": ("[SUBJ-PER]", "[OBJ-LOC]"),
    "marker": ("[SUBJ]", "[OBJ]"),
    "marker-punct": ("@", "#"),
    "typed": ("[SUBJ-PER]", "[OBJ-LOC]"),
    "typed-punct": ("@*사람*", "#^장소^"),
    "typed-punct-en": ("@*person*", "#^location^"),
    "typed-punct-question": ("@*사람*", "#^장소^"),
    "prefix": ("@*사람*세종@", "#^장소^조선#"),
    "legacy-prefix": ("[E1-UNK]", "[E2-UNK]"),
}


def marked(scheme, sentence=SENTENCE, subject=(0, 2), object=(4, 6)):
    return mark(sentence, subject, object, scheme=scheme, subject_type="PER", object_type="LOC")


def labelled(sentence, subject, object):
    """A row of a relation data set, whose end_idx is inclusive."""
    places = [(sentence.index(word), sentence.index(word) + len(word) - 1) for word in (subject, object)]
    entities = [
        {"word": word, "start_idx": start, "end_idx": end, "type": kind}
        for word, (start, end), kind in zip((subject, object), places, ("PER", "LOC"), strict=True)
    ]
    return {"sentence": sentence, "subject_entity": entities[0], "object_entity": entities[1]}


@st.composite
def sentences(draw):
    """Any text with two disjoint ranges: adjacent, of spaces, at the ends, in either order."""
    text = draw(
        st.text(
            st.characters(exclude_categories=["Cs"]) | st.sampled_from("가 @#*^[]{}"), min_size=2, max_size=30
        )
    )
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), min_size=4, max_size=4)))
    assume(cuts[0] < cuts[1] and cuts[2] < cuts[3])
    first, second = tuple(cuts[:2]), tuple(cuts[2:])
    return (text, second, first) if draw(st.booleans()) else (text, first, second)


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=150, deadline=None)
@given(row=sentences(), types=st.tuples(st.sampled_from(TYPES), st.sampled_from(TYPES)))
def test_unmark_inverts_every_scheme(scheme, row, types):
    sentence, subject, object = row
    got = mark(sentence, subject, object, scheme=scheme, subject_type=types[0], object_type=types[1])
    assert got.unmark() == sentence
    assert min(got.subject_start, got.object_start) >= 0
    assert max(got.subject_start, got.object_start) < len(got.text)
    if not scheme_parts(scheme).replace:
        for span, inside in ((subject, got.subject), (object, got.object)):
            assert sentence[slice(*span)] in got.text[slice(*inside)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_starts_point_at_the_start_markers(scheme):
    got = marked(scheme)
    subject, object = OPENERS[scheme]
    assert got.text[got.subject_start :].startswith(subject)
    assert got.text[got.object_start :].startswith(object)


@pytest.mark.parametrize(
    ("scheme", "want"),
    [
        ("none", "세종은 조선의 왕이다."),
        ("entity-mask", "[SUBJ-PER]은 [OBJ-LOC]의 왕이다."),
        ("marker", "[SUBJ]세종[/SUBJ]은 [OBJ]조선[/OBJ]의 왕이다."),
        ("marker-punct", "@세종@은 #조선#의 왕이다."),
        ("typed", "[SUBJ-PER]세종[/SUBJ-PER]은 [OBJ-LOC]조선[/OBJ-LOC]의 왕이다."),
        ("typed-punct", "@*사람*세종@은 #^장소^조선#의 왕이다."),
        ("typed-punct-en", "@*person*세종@은 #^location^조선#의 왕이다."),
        ("typed-punct-question", "@*사람*세종@은 #^장소^조선#의 왕이다. 세종과 조선의 관계는 무엇인가?"),
        ("prefix", "@*사람*세종@ #^장소^조선# 세종은 조선의 왕이다."),
        ("legacy-prefix", "[E1-UNK]<SUBJ>[/E1] [E2-UNK]<OBJ>[/E2] 세종은 조선의 왕이다."),
    ],
)
def test_each_scheme_by_eye(scheme, want):
    assert marked(scheme).text == want


def test_touching_entities_close_before_they_open():
    assert marked("marker-punct", "가나다라", (0, 2), (2, 4)).text == "@가나@#다라#"
    assert marked("marker-punct", "가나다라", (2, 4), (0, 2)).text == "#가나#@다라@"
    assert marked("marker-punct", " 가", (0, 1), (1, 2)).text == "@ @#가#"


def test_the_question_takes_the_right_particle():
    assert "영희와 조선" in marked("typed-punct-question", "영희는 조선", (0, 2), (4, 6)).text
    assert "세종과 조선" in marked("typed-punct-question").text
    assert "BTS와 조선" in marked("typed-punct-question", "BTS는 조선", (0, 3), (5, 7)).text


def test_the_offsets_decide_not_the_word():
    got = marked("marker-punct", "왕과 왕과 왕", (3, 4), (6, 7))
    assert got.text == "왕과 @왕@과 #왕#"


@pytest.mark.parametrize(
    ("subject", "object", "message"),
    [
        ((0, 3), (2, 5), "overlap"),
        ((0, 5), (1, 2), "overlap"),
        ((0, 2), (0, 2), "overlap"),
        ((2, 2), (4, 6), "subject must be a non-empty"),
        ((0, 2), (6, 4), "object must be a non-empty"),
        ((0, 2), (10, 99), "end_idx is inclusive"),
        ((-2, 1), (4, 6), "subject must be"),
    ],
)
def test_bad_ranges_are_refused(subject, object, message):
    with pytest.raises(ValueError, match=message):
        marked("typed-punct", subject=subject, object=object)


def test_bad_schemes_and_types_are_refused():
    with pytest.raises(ValueError, match="scheme must be one of none, entity-mask"):
        marked("markers")
    with pytest.raises(ValueError, match="writes the entities' types, such as PER, ORG"):
        mark(SENTENCE, (0, 2), (4, 6), scheme="typed", subject_type=None, object_type="LOC")
    assert mark(SENTENCE, (0, 2), (4, 6), scheme="marker").text == marked("marker").text


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return train_tokenizer(request.param, [SENTENCE, "여러 사람들은 모인 단체를 말한다."] * 4, size=90)


@pytest.mark.parametrize("scheme", [name for name in SCHEMES if not name.startswith("legacy")])
def test_no_registered_marker_shatters_or_becomes_unk(tokenizer, scheme):
    import copy

    tok = copy.deepcopy(tokenizer)
    register_markers(tok, scheme)
    assert all(is_one_token(tok, piece) for piece in scheme_parts(scheme).pieces())
    assert register_markers(tok, scheme) == 0
    for types in zip(TYPES, reversed(TYPES), strict=True):
        got = mark(SENTENCE, (0, 2), (4, 6), scheme=scheme, subject_type=types[0], object_type=types[1])
        ((ids, offsets),) = encode_with_offsets(tok, [got.text])
        subject, object = start_tokens(got, offsets)
        assert offsets[subject, 0] == got.subject_start
        assert offsets[object, 0] == got.object_start
        assert tok.unk_token_id not in (ids[subject], ids[object])


def test_a_registered_type_word_leaves_longer_words_alone():
    import copy

    tok = train_tokenizer("wordpiece", ["사람들은 사람들을"] * 9, size=40)
    before = copy.deepcopy(tok).tokenize("사람들은")
    register_markers(tok, "typed-punct")
    assert tok.tokenize("사람들은") == before
    assert tok.tokenize("@*사람*가") [:4] == ["@", "*", "사람", "*"]  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(row=sentences(), scheme=st.sampled_from(SCHEMES), length=st.integers(2, 12))
def test_a_window_keeps_both_start_markers_at_any_length(row, scheme, length):
    sentence, subject, object = row
    got = marked(scheme, sentence, subject, object)
    (encoded,) = encode_with_offsets(CHARACTERS, [got.text])
    kept = window(got, encoded, length=length)
    assert len(kept) == min(length, len(encoded.input_ids))
    assert (np.diff(kept) > 0).all()
    assert set(start_tokens(got, encoded.offsets)) <= set(kept.tolist())


CHARACTERS = train_tokenizer("character", [SENTENCE, "@*#^[]<>/ UNKESUBJOB12-"], size=0)


def test_a_window_takes_what_is_nearest_to_the_entities():
    text = "가" * 40 + "세종" + "나" * 40 + "조선" + "다" * 40
    got = marked("marker-punct", text, (40, 42), (82, 84))
    (encoded,) = encode_with_offsets(CHARACTERS, [got.text], special_tokens=False)
    kept = "".join(got.text[slice(*encoded.offsets[i])] for i in window(got, encoded, length=16))
    assert kept == "가가@세종@나나나나#조선#다다"


def test_a_window_needs_two_places():
    got = marked("none")
    (encoded,) = encode_with_offsets(CHARACTERS, [got.text])
    with pytest.raises(ValueError, match="room for two start markers"):
        window(got, encoded, length=1)


def test_starts_without_any_token():
    assert start_tokens(marked("none"), np.zeros((2, 2), int)) == (0, 0)


def test_the_legacy_search_misses_particles_and_takes_the_first():
    assert legacy_first_match("세종 조선", "세종", "조선") == [(0, 2), (3, 5)]
    assert legacy_first_match("세종은 조선", "세종", "조선") == [None, (4, 6)]
    assert legacy_first_match("왕 왕비 (왕) 왕", "왕", "왕비")[0] == (0, 1)


def test_a_row_is_marked_up_to_its_inclusive_end():
    assert mark_row(labelled("세종은 조선의 왕", "세종", "조선"), scheme="marker").text == (
        "[SUBJ]세종[/SUBJ]은 [OBJ]조선[/OBJ]의 왕"
    )


def test_the_legacy_search_leaves_glued_names_unmarked():
    hidden = labelled("세종은 조선의 왕", "세종", "조선")
    unmarked = mark_row(hidden, scheme=FIRST_MATCH)
    assert unmarked.text == unmarked.unmark() == hidden["sentence"] and unmarked.subject_start == 0
    found = labelled("세종 그리고 조선 이야기", "세종", "조선")
    assert mark_row(found, scheme=FIRST_MATCH) == mark_row(found, scheme="typed-punct")


@pytest.mark.parametrize(
    ("sentence", "text", "starts"),
    [
        ("그 왕 세종 그는 조선의", "그 왕 @*사람*세종@ 그는 조선의", (4, 0)),
        ("세종은 큰 조선 사람", "세종은 큰 #^장소^조선# 사람", (0, 6)),
    ],
)
def test_the_legacy_search_marks_the_one_entity_it_finds(sentence, text, starts):
    got = mark_row(labelled(sentence, "세종", "조선"), scheme=FIRST_MATCH)
    assert (got.text, got.unmark()) == (text, sentence)
    assert (got.subject_start, got.object_start) == starts


def test_the_legacy_search_marks_the_subject_where_both_words_overlap():
    row = labelled("한국 은행 본점", "한국 은행", "은행")
    got = mark_row(row, scheme=FIRST_MATCH)
    assert got.text == "@*사람*한국 은행@ 본점" and got.unmark() == row["sentence"]


def test_other_types_are_written_as_they_are_called(tokenizer):
    import copy

    types, words = ("약물", "GENE", "PER"), {}
    for scheme in ("typed", "typed-punct", "prefix", "entity-mask"):
        tok = copy.deepcopy(tokenizer)
        register_markers(tok, scheme, types=types)
        assert all(is_one_token(tok, piece) for piece in scheme_parts(scheme).pieces(types))
        got = mark(SENTENCE, (0, 2), (4, 6), scheme=scheme, subject_type="약물", object_type="PER")
        assert got.unmark() == SENTENCE
        words[scheme] = got.text.split()[0]
    assert words["typed"] == "[SUBJ-약물]세종[/SUBJ-약물]은" and words["typed-punct"] == "@*약물*세종@은"
    assert scheme_parts("typed-punct").pieces(types)[4:] == ["약물", "GENE", "사람"]


def test_every_type_has_its_word():
    assert dict(KOREAN) == {
        "PER": "사람", "ORG": "단체", "LOC": "장소", "DAT": "날짜", "NOH": "수량", "POH": "기타",
    }  # fmt: skip
    english = ("person", "organization", "location", "date", "number", "other")
    assert dict(ENGLISH) == dict(zip(TYPES, english, strict=True)) and dict(CODES) == {t: t for t in TYPES}
    rows = [labelled(SENTENCE, "세종", "조선")]
    assert entity_types(rows, rows) == {"PER", "LOC"}


@pytest.mark.parametrize(
    ("scheme", "want"),
    [
        ("none", []),
        ("entity-mask", ["[SUBJ-LOC]", "[SUBJ-PER]", "[OBJ-LOC]", "[OBJ-PER]"]),
        ("marker", ["[SUBJ]", "[/SUBJ]", "[OBJ]", "[/OBJ]"]),
        ("marker-punct", ["@", "#"]),
        (
            "typed",
            [f"[{part}-{kind}]" for part in ("SUBJ", "/SUBJ", "OBJ", "/OBJ") for kind in ("LOC", "PER")],
        ),
        ("typed-punct", ["@", "*", "#", "^", "장소", "사람"]),
        ("typed-punct-en", ["@", "*", "#", "^", "location", "person"]),
        ("typed-punct-question", ["@", "*", "#", "^", "장소", "사람"]),
        ("prefix", ["@", "*", "#", "^", "장소", "사람"]),
        ("legacy-prefix", []),
        (FIRST_MATCH, ["@", "*", "#", "^", "장소", "사람"]),
    ],
)
def test_the_pieces_of_each_scheme(scheme, want):
    assert scheme_parts(scheme).pieces(["LOC", "PER", "PER"]) == want


@pytest.mark.parametrize(
    ("scheme", "subject", "object", "edits"),
    [
        ("none", "세종", "조선", 0),
        ("entity-mask", "[SUBJ-PER]", "[OBJ-LOC]", 2),
        ("marker-punct", "@세종@", "#조선#", 4),
        ("typed-punct-question", "@*사람*세종@", "#^장소^조선#", 5),
        ("prefix", "세종", "조선", 2),
    ],
)
def test_ranges_hold_the_entities_with_their_marks_in_either_order(scheme, subject, object, edits):
    got = marked(scheme)
    assert (got.text[slice(*got.subject)], got.text[slice(*got.object)]) == (subject, object)
    assert len(got.edits) == edits
    turned = marked(scheme, "조선의 왕 세종", (6, 8), (0, 2))
    assert (turned.text[slice(*turned.subject)], turned.text[slice(*turned.object)]) == (subject, object)
    if not scheme_parts(scheme).prefix[0]:
        assert (turned.subject_start, turned.object_start) == (turned.subject[0], turned.object[0])
    else:
        assert turned.text[turned.object_start :].startswith("#^장소^조선# 조선의")


@pytest.mark.parametrize(
    ("word", "particle"),
    [
        ("가", "와"),
        ("각", "과"),
        ("개", "와"),
        ("힣", "과"),
        ("히", "와"),
        ("\ud7a4", "와"),
        ("\uabff", "와"),
        ("A", "와"),
    ],
)
def test_the_particle_follows_the_last_sound(word, particle):
    text = marked("typed-punct-question", f"{word} 조선", (0, 1), (2, 4)).text
    assert text.endswith(f" {word}{particle} 조선의 관계는 무엇인가?")


def test_a_start_is_the_first_token_that_ends_after_it():
    offsets = np.array([[0, 0], [0, 2], [2, 4], [4, 4], [5, 6], [6, 6]])

    def tokens(subject, object):
        return start_tokens(replace(marked("none"), subject_start=subject, object_start=object), offsets)

    assert tokens(0, 1) == (1, 1) and tokens(2, 4) == (2, 4) and tokens(5, 9) == (4, 4)


def test_markers_of_brackets_are_special_and_words_are_whole():
    tok = train_tokenizer("wordpiece", [SENTENCE] * 4, size=60)
    assert register_markers(tok, "marker") == 4
    assert register_markers(tok, "typed-punct", types=["PER"]) == 5
    added = {str(one): one for one in tok.added_tokens_decoder.values()}
    assert all(added[piece].special for piece in ("[SUBJ]", "[/SUBJ]", "[OBJ]", "[/OBJ]"))
    assert not added["사람"].special and not added["@"].special
    assert added["사람"].single_word and not added["@"].single_word
    assert not any(added[piece].normalized for piece in ("[SUBJ]", "사람", "@"))
    assert not is_one_token(tok, "∧") and is_one_token(tok, "사람")


@pytest.mark.parametrize(
    ("length", "want"),
    [
        (2, "@#"),
        (5, "@세종@#"),
        (8, "@세종@#조선#"),
        (9, "가@세종@#조선#"),
        (15, "가가@세종@나나나나#조선#다"),
    ],
)
def test_what_a_window_gives_up_first(length, want):
    """The starts stay, then marks and entities, then what is nearest; of equals the earlier."""
    text = "가" * 40 + "세종" + "나" * 40 + "조선" + "다" * 40
    got = marked("marker-punct", text, (40, 42), (82, 84))
    (encoded,) = encode_with_offsets(CHARACTERS, [got.text], special_tokens=False)
    kept = window(got, encoded, length=length)
    assert "".join(got.text[slice(*encoded.offsets[i])] for i in kept) == want
    everything = len(encoded.input_ids)
    assert window(got, encoded, length=everything).tolist() == list(range(everything))


def test_a_question_stays_in_the_window_with_the_marks():
    text = "세종은 " + "가" * 60 + " 조선"
    got = marked("typed-punct-question", text, (0, 2), (65, 67))
    (encoded,) = encode_with_offsets(CHARACTERS, [got.text], special_tokens=False)
    kept = window(got, encoded, length=40)
    assert "".join(got.text[slice(*encoded.offsets[i])] for i in kept).endswith("조선의관계는무엇인가?")


def test_the_legacy_search_marks_words_that_touch():
    row = labelled("세종-조선", "세종", "-")
    assert mark_row(row, scheme=FIRST_MATCH).text == "@*사람*세종@#^장소^-#조선"


def test_what_the_legacy_search_leaves_out_has_the_range_of_the_first_character():
    neither = mark_row(labelled("세종은 조선의 왕", "세종", "조선"), scheme=FIRST_MATCH)
    assert (neither.subject, neither.object, neither.edits) == ((0, 1), (0, 1), ())
    object_only = mark_row(labelled("세종은 큰 조선 사람", "세종", "조선"), scheme=FIRST_MATCH)
    assert object_only.subject == (0, 1) and object_only.text[slice(*object_only.object)] == "#^장소^조선#"
    subject_only = mark_row(labelled("그 왕 세종 그는 조선의", "세종", "조선"), scheme=FIRST_MATCH)
    assert subject_only.object == (0, 1) and subject_only.text[slice(*subject_only.subject)] == "@*사람*세종@"


@pytest.mark.real
def test_real_klue_vocabulary_needs_no_new_token_for_korean_type_words(real_data, monkeypatch):
    from helpers.text.tokenizers import load_tokenizer

    monkeypatch.setenv("NUNCHI_DATA", str(real_data))
    assert register_markers(load_tokenizer("local:klue-roberta"), "typed-punct") == 0
    assert not is_one_token(load_tokenizer("local:klue-roberta"), "∧")
