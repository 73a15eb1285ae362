"""Hostile bytes: valid files cut, repeated, in another encoding, or with bytes and JSON values exchanged."""

import json
import random
from collections.abc import Callable
from typing import Any

LONG = "가" * 100_000
LARGEST = 20_000_000  # bytes: what a larger file needs says nothing about its reader
HUGE = 10**25
TOKENS = (
    b"NaN", b"Infinity", b"-Infinity", b"1e999", b"9" * 5000, b"-1", b"0.5", b"1_000", "१२".encode(),
    b"null", b"true", b"[]", b"{}", b'""', b"[" * 5000, b'{"a":' * 3000, b"0" * 400 + b"1", LONG.encode(),
    b"\\u0000", b"\\ud800", b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\n\n", b"\t", b'"', b"'", b"$$",
    b"## ", b"&a *a", b": ", b"- ", b"!!python/object/apply:os.system [true]", b"__class__",
    "\U0001f600".encode(), "\u202e\u200b\u0301".encode(),
)  # fmt: skip
LEAVES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 2**31, 2**63, HUGE, float("nan"), float("inf"), [HUGE, "x"],
    [0, float("inf")], [], {}, [[]], [None], [[1, [2]]], {"a": {"b": []}}, "", " ", "\0", "\ud800", LONG,
    "[]", "{}", "[" * 300, "{'word': 1}", "NaN", "-5", "1e5", "1_0", "²", "no_relation", "B-PS", "I-PS", "O",
)  # fmt: skip


def mutated(seed: bytes, chance: random.Random) -> bytes:
    """Return a seed with one to four mutations."""
    data = seed
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = chance.choice(MUTATIONS)(data, chance)[:LARGEST]
    return data


def _flip(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _cut_at_line(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(lines[: chance.randrange(len(lines) + 1)])


def _delete(data: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in "ab")
    return data[:start] + data[min(end, start + chance.choice((1, 10, 1000))) :]


def _repeat(data: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in "ab")
    return data[:end] + data[start:end] * chance.choice((1, 2, 50)) + data[end:]


def _insert(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(TOKENS) + data[at + chance.choice((0, 0, 1, 5)) :]


def _line(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    lines[at] = chance.choice((b"", chance.choice(lines), chance.choice(TOKENS)))
    return b"\n".join(lines)


def _encoded(data: bytes, chance: random.Random) -> bytes:
    codec = chance.choice(("utf-16", "utf-16-le", "utf-32", "cp949", "latin-1", "utf-7"))
    return data.decode("utf-8", "ignore").encode(codec, "replace")


def _leaf(data: bytes, chance: random.Random) -> bytes:
    """Exchange a random value of a JSON text, or of one of its lines."""
    lines = data.split(b"\n")
    try:
        return _dumped(_exchanged(json.loads(data), chance))
    except (ValueError, RecursionError):
        at = chance.randrange(len(lines))
    try:
        lines[at] = _dumped(_exchanged(json.loads(lines[at]), chance))
    except (ValueError, RecursionError):
        return _insert(data, chance)
    return b"\n".join(lines)


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()


def _exchanged(value: Any, chance: random.Random) -> Any:
    keys: list = (
        list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    )
    if not keys or chance.random() < 0.15:
        return chance.choice(LEAVES)
    key = chance.choice(keys)
    copy = value.copy()
    if isinstance(copy, dict) and chance.random() < 0.1:
        copy[chance.choice(("가" * 100_000, "", "id", "text", "label"))] = copy.pop(key)
    else:
        copy[key] = _exchanged(value[key], chance)
    return copy


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip, _flip, _cut, _cut_at_line, _delete, _repeat, _insert, _insert, _line, _encoded, *[_leaf] * 4,
)  # fmt: skip
