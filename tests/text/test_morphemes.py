from helpers.text.morphemes import CLASSES, KINDS, kiwi, morphemes, word_classes


def test_morphemes_cover_the_text_and_keep_shared_syllables_whole():
    text = "그는 학교에 갔다 😀 끝."
    spans = morphemes(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert tuple(text[slice(*span)] for span in spans[:2]) == ("그", "는")
    assert "갔" in [text[slice(*span)] for span in spans]  # 가 + 았 share the syllable
    assert morphemes("") == ()


def test_there_is_one_tagger_in_a_process():
    assert kiwi() is kiwi()


def test_word_classes_say_kind_and_beginning_of_every_character():
    (classes,) = word_classes(["세종은 갔다."])
    proper, particle, verb = (1 + 2 * KINDS.index(kind) for kind in ("NNP", "J", "V"))
    assert classes[:5] == [proper, proper + 1, particle, 0, verb]  # 갔 is 가 + 았: the first counts
    assert max(classes) < CLASSES
    assert word_classes([""]) == [[]]
