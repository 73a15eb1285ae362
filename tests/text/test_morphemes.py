from helpers.text.morphemes import kiwi, morphemes


def test_morphemes_cover_the_text_and_keep_shared_syllables_whole():
    text = "그는 학교에 갔다 😀 끝."
    spans = morphemes(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert tuple(text[slice(*span)] for span in spans[:2]) == ("그", "는")
    assert "갔" in [text[slice(*span)] for span in spans]  # 가 + 았 share the syllable
    assert morphemes("") == ()


def test_there_is_one_tagger_in_a_process():
    assert kiwi() is kiwi()
