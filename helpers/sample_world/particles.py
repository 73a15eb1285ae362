"""Korean particles agree with the sound that precedes them; this module picks the right form.

Reads Hangul by its final consonant, digits as Sino-Korean numerals, Latin letters by their Korean names
and a few units by theirs. Leaves out English words read as words: "Apple" is judged by its last letter.
"""

import re

# consonant form -> (after a consonant, after a vowel); 으로-forms also take the vowel form after ㄹ.
FORMS = {
    form: (form, vowel)
    for form, vowel in {
        "은": "는",
        "이": "가",
        "을": "를",
        "과": "와",
        "으로": "로",
        "으로서": "로서",
        "으로써": "로써",
        "이라": "라",
        "이라는": "라는",
        "이라고": "라고",
        "이란": "란",
        "이나": "나",
        "이며": "며",
        "이고": "고",
        "이자": "자",
        "이다": "다",
        "이었": "였",
        "이었다": "였다",
        "이랑": "랑",
        "이여": "여",
        "아": "야",
    }.items()
}
_RIEUL_AS_VOWEL = {"으로", "으로서", "으로써"}
_CLOSERS = "\"'”’」』》〉…. "
_BRACKETS = "()[]{}<>"
_BRACKETED = re.compile(r"(?<=\S)\s?(?:\([^()]*\)|\[[^\[\]]*\])$")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?$")
_UNITS = {
    "km": "터",
    "cm": "터",
    "mm": "터",
    "m": "터",
    "kg": "램",
    "g": "램",
    "%": "트",
    "℃": "도",
    "㎡": "터",
}
_UNIT = re.compile(r"(?<=\d)\s?(km|cm|mm|m|kg|g|%|℃|㎡)$")
_DIGITS = "영일이삼사오육칠팔구"
_LETTERS = dict(
    zip("abcdefghijklmnopqrstuvwxyz", "이비씨디이프지치이이이엘엠엔오피큐알스티유이유스이트", strict=True)
)
_POWERS = ("", "십", "백", "천", "만", "만", "만", "만", "억", "억", "억", "억", "조", "조", "조", "조")


def particle(before: str, form: str) -> str:
    """Give the form of a particle that fits the end of `before`; `form` is the one after a consonant.

    A bracketed gloss is transparent, as in the orthography: 나래(Narae)를 agrees with 나래.
    >>> particle("서울", "으로"), particle("3", "은"), particle("KBL", "이")
    ('로', '은', '이')
    """
    if form not in FORMS:
        raise ValueError(f"expected one of {', '.join(FORMS)}; got {form!r}: name the form after a consonant")
    consonant, vowel = FORMS[form]
    final = final_sound(before)
    if final == "" or (final == "ㄹ" and form in _RIEUL_AS_VOWEL):
        return vowel
    return consonant


def final_sound(text: str) -> str:
    """Say how the last word ends when read aloud: "" for a vowel, "ㄹ", or "ㅇ" for any other consonant."""
    syllable = text[-1:] if "가" <= text[-1:] <= "힣" else _last_syllable(text)
    jong = (ord(syllable) - 0xAC00) % 28
    return "" if jong == 0 else "ㄹ" if jong == 8 else "ㅇ"


def _last_syllable(text: str) -> str:
    bare = text
    while True:
        shorter = _BRACKETED.sub("", bare.rstrip(_CLOSERS)) or bare
        if shorter == bare:
            break
        bare = shorter
    bare = bare.rstrip(_BRACKETS) or bare
    unit = _UNIT.search(bare)
    if unit:
        return _UNITS[unit.group(1)]
    last = bare[-1:].lower()
    if "가" <= last <= "힣":
        return last
    if last.isascii() and last.isdigit():
        return _numeral(_NUMBER.findall(bare)[0])
    if last in _LETTERS and last:
        return _LETTERS[last]
    raise ValueError(f"expected text that ends in Hangul, a digit or a Latin letter; got {text!r}")


def _numeral(number: str) -> str:
    """Last syllable of a number read in Sino-Korean: 10 십, 300 백, 20,000 만, 0.5 오."""
    digits = number.replace(",", "")
    if "." in digits or digits.strip("0") == "":
        return _DIGITS[int(digits[-1])]
    zeros = len(digits) - len(digits.rstrip("0"))
    return _POWERS[min(zeros, 15)] or _DIGITS[int(digits[-1])]
