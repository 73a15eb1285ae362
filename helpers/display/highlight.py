"""Sentences drawn as HTML: labelled spans, token pieces, shaded words. All text is escaped.

Colours are given with their own dark text, so that they read on a light and on a dark page.
"""

import html
import re
from collections.abc import Sequence
from itertools import pairwise

COLOURS = ("#BFDDF2", "#F6CDB3", "#B9E3D3", "#EBCFDF", "#F5DDA8", "#CFE9F7", "#D9D9D9")
FAMILIES = (
    ("subject", "object"),
    ("earlier", "hidden", "right", "answered"),
    ("PS", "LC", "OG", "DT", "TI", "QT"),
)  # labels, by their first word, that have the same colour in every sentence
BLUE, ORANGE = "0,114,178", "213,94,0"
SENTENCE = "line-height:2.1;margin:.3em 0;overflow-wrap:anywhere"
HANGUL = re.compile("[가-힣]")
MARK = "padding:.1em .15em;border-radius:.25em;color:#111;background:{colour}"

Span = tuple[int, int, str]
"""Start, end (half-open, in characters) and label."""


def spans(text: str, labelled: Sequence[Span], *, caption: str = ""):
    """Return `text` with each labelled span on a colour of its label.

    Where spans overlap, the piece carries every label. Spans outside the text are refused.
    """
    for start, end, label in labelled:
        if not 0 <= start < end <= len(text):
            raise ValueError(
                f"span ({start}, {end}, {label!r}) is not inside a text of {len(text)} characters"
            )
    cuts = sorted({0, len(text), *(edge for start, end, _ in labelled for edge in (start, end))})
    colours = _colours(label for *_, label in labelled)
    pieces = []
    for start, end in pairwise(cuts):
        labels = [label for a, b, label in labelled if a <= start and end <= b]
        opens = [label for a, _, label in labelled if a == start]
        pieces.append(
            _mark(text[start:end], colours[labels[0]], "·".join(opens)) if labels else _plain(text[start:end])
        )
    return _html(_sentence("".join(pieces), caption))


def compared(text: str, gold: Sequence[Span], predicted: Sequence[Span]):
    """Return gold and predicted spans of one sentence, one above the other."""
    return _html(spans(text, gold, caption="gold").data + spans(text, predicted, caption="predicted").data)


def tokens(pieces: Sequence[str], *, boundaries: Sequence[bool] = (), caption: str = ""):
    """Return token pieces as boxes, with a red edge before piece i where `boundaries[i]` is true."""
    edges = list(boundaries) or [False] * len(pieces)
    if len(edges) < len(pieces):
        raise ValueError(f"{len(pieces)} pieces but {len(edges)} boundaries; give one per piece")
    boxes = (
        f'<span style="{MARK.format(colour=COLOURS[i % 2])};margin-right:.15em;'
        f'border-left:{"3px solid #D00000" if edge else "3px solid transparent"}">{_plain(piece)}</span>'
        for i, (piece, edge) in enumerate(zip(pieces, edges, strict=False))
    )
    return _html(_sentence("".join(boxes), caption))


def weights(words: Sequence[str], values: Sequence[float], *, caption: str = ""):
    """Return words shaded by a number: blue above zero, orange below, the largest magnitude darkest."""
    top = max((abs(value) for value in values), default=0) or 1
    shaded = (
        f'<span title="{value:+.3f}" style="padding:.1em .15em;border-radius:.25em;background:'
        f'rgba({BLUE if value > 0 else ORANGE},{0.65 * abs(value) / top:.2f})">{_plain(word)}</span>'
        for word, value in zip(words, values, strict=True)
    )
    return _html(_sentence(" ".join(shaded), caption))


def stack(drawn: Sequence):
    """Return several drawn sentences as one output."""
    return _html("".join(item.data for item in drawn))


def _colours(labels) -> dict[str, str]:
    fixed = {word: at for family in FAMILIES for at, word in enumerate(family)}
    places = {label: fixed.get(label.partition(" ")[0], at) for at, label in enumerate(sorted(set(labels)))}
    return {label: COLOURS[at % len(COLOURS)] for label, at in places.items()}


def _plain(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")


def _mark(text: str, colour: str, label: str) -> str:
    tag = f'<sub style="font-size:.7em;color:#333"> {html.escape(label)}</sub>' if label else ""
    return f'<mark style="{MARK.format(colour=colour)}">{_plain(text)}{tag}</mark>'


def _sentence(body: str, caption: str) -> str:
    head = f'<span style="opacity:.8;font-size:.8em">{html.escape(caption)} </span>' if caption else ""
    if HANGUL.search(body):  # so that it is read aloud, and drawn, as Korean
        body = f'<span lang="ko">{body}</span>'
    return f'<div style="{SENTENCE}">{head}{body}</div>'


def _html(markup: str):
    from IPython.display import HTML

    return HTML(markup)
