"""Figures inside a page: SVG in the colours of the page's theme, or an image where that cannot be had.

A drawing of `display.figures` becomes part of the page: its colours turn into the style's variables, its
words are the page's text, and shapes that occur in several figures are kept once. Any other picture stays an
<img>, which runs no script, on a light ground. A drawing is written anew from an allow-list, never copied.
"""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

KINDS = ("image/svg+xml", "image/png", "image/jpeg")
GROUND = "#fffffe"  # what tells a drawing of ours
# The colours of display/nunchi.mplstyle and of display/figures.py, as variables of style/report.css.
COLOURS = {
    GROUND: "--ground", "#1c2025": "--ink", "#77808a": "--rule", "#e1e5ea": "--line", "#0072b2": "--c1",
    "#d55e00": "--c2", "#009e73": "--c3", "#2b2b2b": "--c4", "#8c1d66": "--c5", "#6c8ef5": "--c6",
    "#8a8a8a": "--c7",
}  # fmt: skip
TAGS = {
    "svg", "g", "defs", "path", "use", "clipPath", "rect", "circle", "ellipse", "line", "polyline",
    "polygon", "image", "text",
}  # fmt: skip
LEFT_OUT = {"metadata", "style", "title", "desc"}
NUMBERS = {
    "x", "y", "width", "height", "cx", "cy", "r", "rx", "ry", "x1", "y1", "x2", "y2", "points", "d", "viewBox"
}  # fmt: skip
STYLES = {
    "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap",
    "stroke-linejoin", "stroke-miterlimit", "stroke-opacity", "opacity", "fill-opacity", "fill-rule",
    "image-rendering", "font-size", "font-weight", "text-anchor",
}  # fmt: skip
NO_WORDS: dict[str, Any] = {"title": "", "description": "", "alt": "", "crop": 0.0}
TITLE = "figure-title"  # display.captions gives the title this id
# Everything printable but what ends an attribute or an address; percent signs cost three bytes each.
URL_SAFE = " !$'()*+,-./:;=?@[]^_`{|}~<>"


class Drawings:
    """The figures of one page, numbered in their order; equal glyphs are drawn once for all of them."""

    def __init__(self) -> None:
        self.count = 0
        self.shared: dict[str, str] = {}

    def add(self, kind: str, content: str, words: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return a figure's number, markup, size and words; `words` are those of `display.captions`."""
        self.count += 1
        words = {**NO_WORDS, **(words or {})}
        figure = {"number": self.count, "title": words["title"], "description": words["description"]}
        alt = str(words["alt"] or words["title"])
        if kind == "image/svg+xml" and GROUND in content:
            try:
                root = ElementTree.fromstring(content[max(content.find("<svg"), 0) :])
                size = _box(root, float(words["crop"]) if words["title"] else 0.0)
                body = _Drawing(self, f"f{self.count}-", titled=bool(words["title"])).children(root)
                label = f'role="img" aria-label="{html.escape(alt)}"'
                drawn = f'<svg id="figure-{self.count}-drawing" viewBox="{size}" {label}>{body}</svg>'
                return figure | {"html": drawn, "box": size, "alt": alt}
            except (ElementTree.ParseError, ValueError):
                pass  # not as we know it: an image is safe whatever it holds
        source = address(kind, content)
        return figure | {"html": f'<img src="{source}" alt="{html.escape(alt)}">', "box": "", "alt": alt}


def again(figure: dict[str, Any]) -> str:
    """Return a figure once more, smaller, as a reference to the drawing that stands in the page already."""
    if not figure["box"]:
        return figure["html"]
    width, height = figure["box"].split()[2:]
    use = f'<use href="#figure-{figure["number"]}-drawing" width="{width}" height="{height}"/>'
    label = html.escape(figure["alt"])
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{use}</svg>'


def address(kind: str, content: str) -> str:
    """Return a picture as a data: address. An <img> runs no script and keeps one SVG's ids from another's."""
    if kind != "image/svg+xml":
        return f"data:{kind};base64,{''.join(content.split())}"
    drawing = content[max(content.find("<svg"), 0) :]
    drawing = re.sub(r"(?s)<metadata>.*?</metadata>|<!--.*?-->", "", drawing)
    return f"data:{kind}," + quote(re.sub(r"\s+", " ", drawing), safe=URL_SAFE)


class _Drawing:
    """Writes one drawing anew; ids get a prefix, or are those of a glyph that the page has already."""

    def __init__(self, page: Drawings, prefix: str, *, titled: bool) -> None:
        self.page, self.prefix, self.titled = page, prefix, titled
        self.glyphs: dict[str, str] = {}

    def children(self, parent: ElementTree.Element) -> str:
        # matplotlib defines a glyph before it is used, so one pass is enough.
        return "".join(self.element(child) for child in parent)

    def element(self, node: ElementTree.Element) -> str:
        tag = _local(node.tag)
        if tag in LEFT_OUT or (self.titled and node.get("id") == TITLE):
            return ""
        if tag not in TAGS:
            raise ValueError(f"<{tag}> is not drawn inside a page")
        if tag == "defs":
            inner = "".join(self.definition(child) for child in node)
            return f"<defs>{inner}</defs>" if inner else ""
        attributes, inner = self.attributes(node, tag), self.children(node)
        if tag == "text":
            inner = html.escape(node.text or "", quote=False)
        if tag == "g" and not (attributes and inner):
            return inner
        return f"<{tag}{attributes}>{inner}</{tag}>" if inner else f"<{tag}{attributes}/>"

    def definition(self, node: ElementTree.Element) -> str:
        name = node.get("id")
        if _local(node.tag) != "path" or name is None:
            return self.element(node)
        glyph = self.attributes(node, "path")
        known = self.page.shared.get(glyph)
        self.glyphs[name] = known or f"g{len(self.page.shared)}"
        if known:
            return ""
        self.page.shared[glyph] = self.glyphs[name]
        return f'<path id="{self.glyphs[name]}"{glyph}/>'

    def attributes(self, node: ElementTree.Element, tag: str) -> str:
        kept = []
        for name, value in node.attrib.items():
            written = self.attribute(tag, _local(name), value)
            if written:
                kept.append(f' {_local(name)}="{html.escape(written)}"')
        return "".join(kept)

    def attribute(self, tag: str, name: str, value: str) -> str:
        if name in NUMBERS:
            return _rounded(value)
        if name == "transform":
            moved = re.sub(r"((?:translate|rotate)\([^)]*\))", lambda match: _rounded(match[1]), value)
            return "" if moved.startswith("rotate(-0 ") else moved
        if name == "style":
            return self.style(value)
        if name == "href" and value.startswith("#"):
            return f"#{self.name(value[1:])}"
        if name == "href" and tag == "image" and value.startswith("data:image/png;base64,"):
            return "".join(value.split())
        if name == "clip-path" and (match := re.fullmatch(r"url\(#([\w.-]+)\)", value)):
            return f"url(#{self.name(match[1])})"
        if name == "id" and tag == "clipPath":
            return f"{self.prefix}{value}"
        return ""

    def name(self, local: str) -> str:
        return self.glyphs.get(local) or f"{self.prefix}{local}"

    def style(self, text: str) -> str:
        kept = []
        for declaration in text.split(";"):
            name, _, value = (part.strip() for part in declaration.partition(":"))
            if name in STYLES and re.fullmatch(r"[#\w\s.,%-]+", value):
                colour = COLOURS.get(value.lower())
                kept.append(f"{name}:{f'var({colour})' if colour else value}")
        return ";".join(kept)


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _rounded(text: str) -> str:
    """Shorten coordinates to a hundredth of a point, which no screen shows."""
    short = re.sub(r"-?\d+\.\d{3,}", lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), text)
    return " ".join(short.split())


def _box(root: ElementTree.Element, crop: float) -> str:
    left, top, width, height = map(float, (root.get("viewBox") or "").split())
    return " ".join(f"{number:g}" for number in (left, top + crop, width, round(height - crop, 2)))
