"""Dates, times and quantities as Korean writes them. The same digits mean different things by their unit."""

from random import Random

from .tables import words


def year(rng: Random, low: int = 1950, high: int = 2031) -> str:
    return f"{rng.randrange(low, high)}년"


def date(rng: Random, low: int = 1950, high: int = 2031) -> str:
    """A calendar date with its year, as in a biography."""
    draw = rng.random()
    if draw < 0.4:
        return year(rng, low, high)
    month = f"{year(rng, low, high)} {rng.randrange(1, 13)}월"
    return month if draw < 0.6 else f"{month} {rng.randrange(1, 29)}일"


def day(rng: Random) -> str:
    """A date as the news gives it: `12일`, `3월 1일`, `지난해`, `추석`, `1987년`."""
    draw = rng.random()
    if draw < 0.3:
        return f"{rng.randrange(1, 31)}일"
    if draw < 0.5:
        return f"{rng.randrange(1, 13)}월 {rng.randrange(1, 29)}일"
    if draw < 0.7:
        return rng.choice(words("relative_days"))
    return rng.choice(words("holidays")) if draw < 0.76 else date(rng)


def span_of_days(rng: Random) -> str:
    """A stretch of days or years; KLUE files it under dates."""
    draw = rng.random()
    if draw < 0.4:
        return rng.choice(words("spans_of_days"))
    return f"{rng.randrange(2, 30)}{rng.choice(('일', '년', '개월', '주'))}"


def clock(rng: Random) -> str:
    """A time of day: `오후 3시`, `7시 30분`, `새벽`."""
    draw = rng.random()
    if draw < 0.2:
        return rng.choice(words("relative_times"))
    hour = f"{rng.randrange(1, 13)}시"
    if draw < 0.6:
        hour = f"{rng.choice(('오전', '오후', '밤'))} {hour}"
    return hour if draw < 0.75 else f"{hour} {rng.choice((10, 20, 30, 40, 50, 5, 15))}분"


def span_of_hours(rng: Random) -> str:
    return f"{rng.randrange(2, 90)}분" if rng.random() < 0.5 else f"{rng.randrange(1, 13)}시간"


def people(rng: Random) -> str:
    if rng.random() < 0.25:
        return f"{rng.choice(words('native_numerals')[:6])} {rng.choice(('명', '분', '사람'))}"
    if rng.random() < 0.5:
        return f"{rng.randrange(2, 99)}{rng.choice(('명', '명', '분'))}"
    return headcount(rng)


def headcount(rng: Random) -> str:
    """Size of an organisation."""
    if rng.random() < 0.5:
        return f"{rng.randrange(12, 9800):,}명"
    return f"{rng.randrange(2, 980) * 10:,}여 명"


def money(rng: Random) -> str:
    if rng.random() < 0.5:
        return f"{rng.randrange(2, 900)}{rng.choice(('억', '만', '조'))} 원"
    return f"{rng.randrange(1, 900) * 100:,}원"


def times(rng: Random) -> str:
    return (
        f"{rng.choice(words('native_numerals'))} 번"
        if rng.random() < 0.5
        else f"{rng.randrange(2, 40)}{rng.choice(('번', '회'))}"
    )


def things(rng: Random) -> str:
    unit = rng.choice(("개", "대", "편", "권", "곳", "건", "가지"))
    return (
        f"{rng.choice(words('native_numerals'))} {unit}"
        if rng.random() < 0.35
        else f"{rng.randrange(2, 300)}{unit}"
    )


def rank(rng: Random) -> str:
    before, after = rng.choice((("", "위"), ("", "등"), ("", "번째"), ("제", "회"), ("제", "차")))
    return f"{before}{rng.randrange(1, 30)}{after}"


def score(rng: Random) -> str:
    if rng.random() < 0.4:
        return f"{rng.randrange(0, 8)}-{rng.randrange(0, 8)}"
    return f"{rng.randrange(1, 100)}점"
