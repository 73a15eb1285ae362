"""Text to safe HTML for the reports: Markdown with formulas, code, terminal output, and HTML from outputs.

Data-set text reaches a report through outputs, so nothing here lets an output run a script or load a file:
raw HTML in Markdown outputs shows as text and HTML outputs go through an allow-list. Formulas become MathML,
which browsers draw without a library. Page layout is left to `rendering`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from functools import partial
from typing import Any
from xml.etree import ElementTree

import mistune
import nh3

INLINE_MATH = r"\$(?![\s$])(?P<inline_tex>(?:[^$\\`]|\\.)+?)(?<![\s\\])\$(?!\d)"
DISPLAY_MATH = r"\$\$(?P<display_tex>(?:[^$\\]|\\[\s\S])+?)\$\$"
# CommonMark closes no emphasis between a bracket and a letter, where Korean has its particles: `**[1]**은`.
BOLD = r"\*\*(?P<bold_text>[^\s*](?:[^*\n]*[^\s*])?)\*\*(?=[가-힣])"
BLOCK_MATH = r"^ {0,3}\$\$(?P<block_tex>(?:[^$\\]|\\[\s\S])+?)\$\$[ \t]*$"
# What latex2mathml does not know, in terms of what it does.
TEX_SPELLINGS = (
    (re.compile(r"\\arg\b"), r"\\operatorname{arg}"),
    (re.compile(r"\{aligned\}"), r"{align*}"),
)
MATHML = frozenset({
    "math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle",
    "mpadded", "mphantom", "menclose", "msub", "msup", "msubsup", "munder", "mover", "munderover",
    "mmultiscripts", "mtable", "mtr", "mtd",
})  # fmt: skip

TAGS = {
    "a", "abbr", "b", "blockquote", "br", "caption", "code", "col", "colgroup", "dd", "details", "div",
    "dl", "dt", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "hr", "i", "kbd", "li",
    "mark", "ol", "p", "pre", "rt", "ruby", "s", "small", "span", "strong", "style", "sub", "summary",
    "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul",
}  # fmt: skip
ATTRIBUTES = {"aria-hidden", "class", "colspan", "id", "lang", "rowspan", "scope", "style", "title"}
CSS = {
    "background", "background-color", "border", "border-bottom", "border-bottom-color", "border-collapse",
    "border-color", "border-left", "border-radius", "border-right", "border-spacing", "border-style",
    "border-top", "border-width", "color", "display", "flex", "flex-wrap", "float", "font", "font-family",
    "font-size", "font-style", "font-variant-numeric", "font-weight", "gap", "height", "letter-spacing",
    "line-height", "list-style", "margin", "margin-bottom", "margin-left", "margin-right", "margin-top",
    "max-width", "min-width", "opacity", "overflow", "overflow-wrap", "overflow-x", "padding",
    "padding-bottom", "padding-left", "padding-right", "padding-top", "text-align", "text-decoration",
    "text-indent", "vertical-align", "white-space", "width", "word-break",
}  # fmt: skip
CLEANER = nh3.Cleaner(
    tags=TAGS,
    clean_content_tags={"iframe", "noscript", "object", "script", "template"},  # never text to show
    attributes={"*": ATTRIBUTES, "a": {"href"}},
    url_schemes={"http", "https", "mailto"},
    filter_style_properties=CSS,
)
LAB_LOOK = re.compile(r"(?is)<style scoped>.*?</style>")  # for JupyterLab; gives way to the report's
_UNSCOPED = re.compile(r"<th(?=[\s>])(?![^>]*\bscope=)")
ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def markdown(text: str, *, trusted: bool = False, heading: Callable[[str, int], str] | None = None) -> str:
    """Return Markdown as HTML, formulas as MathML.

    Raw HTML shows as text unless `trusted`, which is for a notebook's own prose alone.
    `heading(inner_html, level)` draws a heading in the caller's way.
    """
    renderer = _Renderer(trusted=trusted, heading=heading)
    plugins: list[Any] = ["table", "strikethrough", "task_lists", _formulas, _particles]
    return str(mistune.create_markdown(renderer=renderer, plugins=plugins)(text))


def inline(text: str) -> str:
    """Return one line of Markdown without the paragraph around it."""
    return re.sub(r"^<p>|</p>\s*$", "", markdown(text).strip())


def formula(tex: str, *, display: bool = False) -> str:
    """Return TeX as MathML, or the TeX itself in a `tex` box where it cannot be converted."""
    from latex2mathml.converter import convert

    spelled = tex.strip()
    for pattern, spelling in TEX_SPELLINGS:
        spelled = pattern.sub(spelling, spelled)
    try:
        drawn = convert(spelled, display="block" if display else "inline")
        return _checked(drawn)
    except Exception:  # latex2mathml raises a class of its own per mistake, and plain IndexErrors
        return f'<code class="tex">{html.escape(tex.strip())}</code>'


def safe_html(markup: str) -> str:
    """Return HTML with only the tags, attributes and styles a table or a drawn sentence needs."""
    return CLEANER.clean(LAB_LOOK.sub("", markup))


def accessible(markup: str) -> str:
    """Return tables with a scope for each heading, no empty ones, no NaN, and captions that stay in sight.

    The tables of `display.tables` are so already, but for the caption; pandas' own are not.
    """
    marked = re.sub(r"<th(?![^>]*\bscope=)([^>]*)>\s*</th>", r"<td\1></td>", markup)
    head = re.compile(r"(?is)<thead.*?</thead>")
    marked = head.sub(lambda match: _UNSCOPED.sub(r'<th scope="col"', match[0]), marked)
    marked = _UNSCOPED.sub(r'<th scope="row"', marked)
    marked = re.sub(r"(<td[^>]*>)\s*(?:NaN|None|nan|&lt;NA&gt;)\s*(</td>)", r"\1–\2", marked)
    return re.sub(r"(?s)<caption>(.*?)</caption>", r"<caption><span>\1</span></caption>", marked)


def code(source: str) -> str:
    """Return Python source as highlighted HTML, to stand inside <pre>."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return highlight(source, PythonLexer(), HtmlFormatter(nowrap=True)).rstrip("\n")


def terminal(text: str) -> str:
    """Return terminal output as escaped text: no colours, and only the last state of each progress line."""
    lines = ANSI.sub("", text).split("\n")
    kept = (next((part for part in reversed(line.split("\r")) if part.strip()), "") for line in lines)
    return html.escape("\n".join(kept).strip("\n"), quote=False)


class _Renderer(mistune.HTMLRenderer):
    def __init__(self, *, trusted: bool, heading: Callable[[str, int], str] | None) -> None:
        super().__init__(escape=False)  # entities in text stay entities; raw HTML is handled below
        self.raw = str if trusted else partial(html.escape, quote=False)
        self.draw_heading = heading

    def inline_html(self, html: str) -> str:
        return self.raw(html)

    def block_html(self, html: str) -> str:
        return self.raw(html)

    def heading(self, text: str, level: int, **attrs) -> str:
        return self.draw_heading(text, level) if self.draw_heading else super().heading(text, level, **attrs)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        if re.match(r"data:image/(png|jpeg|gif|svg\+xml)[;,]", url):
            return f'<img src="{html.escape(url)}" alt="{html.escape(text)}">'
        return f"[image: {html.escape(text or url)}]"

    def block_code(self, text: str, info: str | None = None) -> str:
        drawn = code(text) if (info or "").split()[:1] == ["python"] else html.escape(text, quote=False)
        return f'<pre class="block" tabindex="0">{drawn}</pre>\n'

    def table(self, text: str) -> str:
        return f'<div class="scroll" tabindex="0"><table>{accessible(text)}</table></div>\n'

    def inline_formula(self, text: str) -> str:
        return formula(text)

    def display_formula(self, text: str) -> str:
        return formula(text, display=True)

    def block_formula(self, text: str) -> str:
        return f'<div class="scroll" tabindex="0">{formula(text, display=True)}</div>\n'


def _formulas(md: mistune.Markdown) -> None:
    """Teach mistune `$…$` and `$$…$$`; prices stay: no space inside the marks, no digit after the last."""

    def in_text(kind: str, group: str, _, match, state):
        state.append_token({"type": kind, "raw": match.group(group)})
        return match.end()

    def in_block(_, match, state):
        state.append_token({"type": "block_formula", "raw": match.group("block_tex")})
        return match.end() + 1

    display = partial(in_text, "display_formula", "display_tex")
    md.block.register("block_math", BLOCK_MATH, in_block, before="fenced_code")
    md.inline.register("display_math", DISPLAY_MATH, display, before="link")
    md.inline.register(
        "inline_math", INLINE_MATH, partial(in_text, "inline_formula", "inline_tex"), before="link"
    )


def _particles(md: mistune.Markdown) -> None:
    """Teach mistune to end bold text before a Korean particle."""

    def bold(inline, match, state):
        inner = state.copy()
        inner.src = match.group("bold_text")
        state.append_token({"type": "strong", "children": inline.render(inner)})
        return match.end()

    md.inline.register("bold", BOLD, bold, before="emphasis")


def _checked(drawn: str) -> str:
    """Return the MathML written anew; raise for anything else (`\\text{<script>}` gets through)."""
    tree = ElementTree.fromstring(re.sub(r"&(?![#\w]+;)", "&amp;", drawn))
    for node in tree.iter():
        node.tag = node.tag.rpartition("}")[2]
        if node.tag not in MATHML or (node.text or "").startswith("\\") or (node.text or "") == "&":
            raise ValueError(f"cannot draw <{node.tag}>{node.text}")
    return ElementTree.tostring(tree, encoding="unicode")
