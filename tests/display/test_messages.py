"""The words of the pages: complete in both languages, with the same places to fill."""

import re
import string

import pytest

from helpers.batch import rendering
from helpers.display import messages
from helpers.display.wording import OUTCOMES
from helpers.statistics import ROLES


def fields(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("key", messages.MESSAGES)
def test_each_message_is_there_in_both_languages(key):
    english, korean = messages.MESSAGES[key]
    assert fields(english) == fields(korean)
    assert re.search("[가-힣]", korean) or not re.sub(r"\{\w+\}|\W", "", korean), (
        "no Hangul in the Korean words"
    )
    assert not re.search("[가-힣]", english)


def test_every_message_that_a_template_or_module_asks_for_is_there():
    files = [*rendering.STYLE.glob("*.j2"), *rendering.STYLE.parent.glob("*.py")]
    asked = {
        key for file in files for key in re.findall(r'words\("([^"]+)"', file.read_text(encoding="utf-8"))
    }
    assert asked <= set(messages.MESSAGES) and len(asked) > 40


def test_every_decision_and_role_has_its_words():
    assert {*OUTCOMES, *ROLES} <= set(messages.MESSAGES)


def test_an_unknown_language_is_refused_and_an_unknown_word_stays():
    with pytest.raises(ValueError, match="one of en, ko; got 'fr'"):
        messages.Words("fr")
    assert messages.Words("ko").known("better") == "우세" and messages.Words("ko").known("typed") == "typed"


@pytest.mark.parametrize(
    ("seconds", "english", "korean"),
    [(8.21, "8.2 s", "8.2초"), (59.94, "59.9 s", "59.9초"), (185, "3 min 05 s", "3분 05초"),
     (3599.7, "1 h 00 min", "1시간 00분"), (7800, "2 h 10 min", "2시간 10분")],
)  # fmt: skip
def test_durations_read_as_people_say_them(seconds, english, korean):
    assert messages.Words("en").duration(seconds) == english
    assert messages.Words("ko").duration(seconds) == korean
