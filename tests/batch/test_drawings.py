"""Figures inside a page: in its colours, without what could run, and as an image where in doubt."""

import re

import pytest

from helpers.batch import drawings, rendering
from helpers.batch.drawings import Drawings
from helpers.display import captions
from tests.batch.test_markup import dangers

INSIDE = (
    '<g id="patch_1"><path d="M 0 80.123456 L 9.999999 0 z" style="fill: #fffffe"/></g>'
    '<g id="figure-title"><path d="M 1 1"/></g>'
    '<defs><path id="A" d="M 1 2" transform="scale(0.015625)"/>'
    '<clipPath id="c"><rect x="0" width="5"/></clipPath></defs>'
    '<g clip-path="url(#c)"><use xlink:href="#A" style="fill: #0072b2; behavior: url(x)"/></g>'
    '<image xlink:href="data:image/png;base64,AA=="/>'
)
WORDS = {"title": "A title", "description": "", "alt": "It rises <b>.", "crop": 10.0}


def svg(inside):
    space = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f'<?xml version="1.0"?><!DOCTYPE svg><svg {space} viewBox="0 0 300 80">{inside}</svg>'


def add(inside=INSIDE, words=WORDS, page=None):
    return (page or Drawings()).add("image/svg+xml", svg(inside), words)


def test_a_report_and_jupyterlab_have_one_dark_palette():
    css = (rendering.STYLE / "report.css").read_text(encoding="utf-8")
    dark = dict(re.findall(r"(--\w+): light-dark\(#\w+, (#\w+)\)", css))
    of_reports = {light: dark[name] for light, name in drawings.COLOURS.items() if light != drawings.GROUND}
    assert of_reports == captions.DARK


def test_a_drawing_of_ours_takes_the_colours_of_the_page():
    shown = add()["html"]
    assert 'style="fill:var(--ground)"' in shown and 'style="fill:var(--c1)"' in shown
    assert "url(x)" not in shown and "behavior" not in shown
    assert 'd="M 0 80.12 L 10 0 z"' in shown and "scale(0.015625)" in shown


def test_the_title_leaves_the_drawing_and_its_room_with_it():
    figure = add()
    assert 'viewBox="0 10 300 70"' in figure["html"] and "figure-title" not in figure["html"]
    assert figure["title"] == "A title" and 'aria-label="It rises &lt;b&gt;."' in figure["html"]
    kept = add(words={"title": "", "crop": 10.0})["html"]
    assert 'viewBox="0 0 300 80"' in kept and "M 1 1" in kept


def test_glyphs_are_kept_once_a_page_and_other_ids_stay_apart():
    page = Drawings()
    first, second = add(page=page)["html"], add(page=page)["html"]
    assert '<path id="g0"' in first and '<path id="g0"' not in second and 'href="#g0"' in second
    assert 'clipPath id="f1-c"' in first and "url(#f2-c)" in second
    every = re.findall(r' id="([^"]+)"', first + second)
    assert len(every) == len(set(every))


def test_words_are_text_that_cannot_be_markup():
    said = (
        '<text style="font-size: 11px; font-family: \'X\'; text-anchor: end; fill: #1c2025" x="1.23456" '
        'y="2" transform="rotate(-0 1.2 2)">가 &lt;b&gt; &amp; F1</text>'
        '<text transform="rotate(-90 1.23456 2)">up</text><path style="fill: #fffffe"/>'
    )
    shown = add(said)["html"]
    look = "font-size:11px;text-anchor:end;fill:var(--ink)"
    assert f'<text style="{look}" x="1.23" y="2">가 &lt;b&gt; &amp; F1</text>' in shown
    assert '<text transform="rotate(-90 1.23 2)">up</text>' in shown


def test_the_same_drawing_again_is_a_reference():
    figure = add()
    again = drawings.again(figure)
    assert '<use href="#figure-1-drawing" width="300" height="70"/>' in again and len(again) < 200
    picture = Drawings().add("image/png", "AA\nAA", {"alt": "x"})
    assert drawings.again(picture) == picture["html"] == '<img src="data:image/png;base64,AAAA" alt="x">'


@pytest.mark.parametrize(
    "inside",
    [
        '<rect style="fill: #ffffff"/>',  # not drawn by us
        "<script>alert(1)</script><path style='fill: #fffffe'/>",
        "<foreignObject><p>x</p></foreignObject><path style='fill: #fffffe'/>",
        "<path style='fill: #fffffe'>",  # not well-formed
        "&unknown;<path style='fill: #fffffe'/>",
    ],
)
def test_any_other_picture_is_an_image(inside):
    shown = add(inside)["html"]
    assert shown.startswith('<img src="data:image/svg+xml,') and dangers(shown) == ["img", "src"]


def test_nothing_that_runs_or_loads_gets_into_the_page():
    shown = add(
        '<path onload="alert(1)" d="M 0 0" style="fill: #fffffe; stroke: url(http://a.b)"/>'
        '<use xlink:href="http://a.b/c.svg#x"/><image xlink:href="http://a.b/c.png"/>'
        '<image xlink:href="data:image/svg+xml,x"/><path id="x" class="y" clip-path="url(http://a.b)"/>'
    )["html"]
    assert "a.b" not in shown and "onload" not in shown and "svg+xml" not in shown
    assert [found for found in dangers(shown) if found != "svg"] == []
