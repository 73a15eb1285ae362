"""Text to HTML: formulas drawn, prices left alone, and nothing from a data set can run or load anything."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.batch import markup

SCRIPT = "<script>alert(1)</script>"


class Dangers(HTMLParser):
    """Collects what could run or load something when a browser parses the page."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        if tag in {
            "script",
            "iframe",
            "object",
            "embed",
            "link",
            "meta",
            "base",
            "form",
            "svg",
            "img",
            "template",
        }:
            self.found.append(tag)
        for name, value in attributes:
            if name.startswith("on") or "javascript:" in re.sub(r"\s", "", value or "").lower():
                self.found.append(name)
            if name in ("src", "srcset", "background", "xlink:href"):
                self.found.append(name)


def dangers(page):
    parser = Dangers()
    parser.feed(page)
    return parser.found


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("$x$", 1),
        ("a $x_i$이다, $y$.", 2),
        ("$$x$$", 1),
        ("text\n\n$$\na\n- b\n= c\n\\frac{1}{2}\n$$\n\nmore", 1),
        ("inline $$x$$ display", 1),
        ("| a |\n|---|\n| $x$ |", 1),
        ("- $x$\n- $y$", 2),
        ("costs $5 and $10", 0),
        ("US$5–$10", 0),
        ("5$ or 6$", 0),
        (r"\$5 and \$6", 0),
        ("`$x$` and `a$b` $", 0),
        ("$5 `x$` y$", 0),
        ("```\n$x$\n```", 0),
        ("    $x$ indented code", 0),
        ("a single $ sign", 0),
    ],
)
def test_formulas_are_found_and_prices_are_not(text, formulas):
    assert markup.markdown(text).count("<math") == formulas


def test_prices_keep_their_text():
    assert "costs $5 and $10, or $7" in markup.markdown(r"costs $5 and $10, or \$7")


@pytest.mark.parametrize(
    "tex",
    [
        r"\hat{y} = \arg\max_t F_1(t)",
        r"\begin{aligned} a &= b \\ c &= d \end{aligned}",
        r"\tilde\theta_{\text{SWA}} = \tfrac{1}{K}\sum_{k=1}^{K}\theta_k",
        r"\mathbb{E}[x] \le \operatorname{softmax}(x) < 1",
        r"\text{정밀도} \times 100\%",
        r"\sqrt{\frac{p(1-p)}{n}}",
    ],
)
def test_formulas_of_the_kind_notebooks_use_are_drawn(tex):
    drawn = markup.formula(tex, display=True)
    assert drawn.startswith('<math display="block">')
    assert "\\" not in drawn


@pytest.mark.parametrize("tex", [r"x_{", r"\nosuch{x}", r"\text{<script>alert(1)</script>}"])
def test_what_cannot_be_drawn_shows_as_tex(tex):
    shown = markup.formula(tex)
    assert shown.startswith('<code class="tex">')
    assert not dangers(shown)


def test_raw_html_in_outputs_shows_as_text():
    page = markup.markdown(f"says {SCRIPT} <b>x</b>\n\n<div onclick=x>\n{SCRIPT}\n</div>")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<b>" not in page
    assert not dangers(page)


def test_entities_are_not_escaped_twice():
    assert "&lt;b&gt; &amp;" in markup.markdown("&lt;b&gt; &amp;")


def test_a_notebooks_own_prose_may_hold_html():
    assert "<br>" in markup.markdown("a<br>b", trusted=True)


@pytest.mark.parametrize(
    "text", ["[x](javascript:alert(1))", "![x](http://a.b/c.png)", "![x](file:///etc/passwd)"]
)
def test_links_that_run_and_images_that_load_are_dropped(text):
    assert not dangers(markup.markdown(text))


def test_an_embedded_image_stays():
    assert '<img src="data:image/png;base64,AAAA"' in markup.markdown("![x](data:image/png;base64,AAAA)")


def test_tables_and_drawn_sentences_keep_their_look():
    kept = markup.safe_html(
        '<style type="text/css">#T_1 td {text-align: right}</style>'
        '<table id="T_1" class="dataframe"><caption>표</caption>'
        '<tr><td style="background-color: #fff; border-left: 3px solid #d00; padding: .1em">한글</td></tr>'
        "</table>"
        '<mark style="background: rgba(0, 114, 178, .4); border-radius: .25em">단어<sub>PS</sub></mark>'
    )
    for part in (
        "#T_1 td {text-align: right}",
        'id="T_1"',
        "<caption>표",
        "background-color:#fff",
        "border-left:3px solid #d00",
        "padding:0.1em",
        "rgba(0, 114, 178, 0.4)",
        "border-radius:0.25em",
    ):
        assert part in kept


def test_styles_that_could_cover_the_page_are_dropped():
    kept = markup.safe_html('<p style="position: fixed; inset: 0; z-index: 9; color: red">x</p>')
    assert kept == '<p style="color:red">x</p>'


def test_the_insides_of_what_cannot_be_shown_go_and_unknown_tags_leave_their_text():
    assert markup.safe_html("a<noscript>b</noscript><iframe>c</iframe><blink>d</blink>") == "ad"
    assert "tbody" not in markup.safe_html("<style scoped>.dataframe tbody {color: red}</style>x")


@pytest.mark.parametrize(
    ("address", "kept"),
    [("https://a.b/c", True), ("mailto:a@b.c", True), ("#here", True), ("data:text/html,x", False)],
)
def test_links_keep_the_addresses_that_a_reader_can_follow(address, kept):
    assert ("href" in markup.safe_html(f'<a href="{address}">x</a>')) is kept


@pytest.mark.parametrize(
    "markup_in",
    [
        f"<p>x{SCRIPT}",
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)><script>alert(1)</script></svg>",
        "<a href=' javascript:alert(1)'>x</a>",
        "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
        "<scr<script></script>ipt>alert(1)</script>",
        "<style></style><script>alert(1)</script>",
        "<style>&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;</style>",
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
        "<form action=http://a.b><input></form><base href=http://a.b><meta http-equiv=refresh content=0>",
        "<td style='background: url(http://a.b/c.png)'>x</td>",
        "<object data=x></object><embed src=x><link rel=stylesheet href=x>",
    ],
)
def test_html_outputs_can_neither_run_nor_load(markup_in):
    assert not dangers(markup.safe_html(markup_in))


pieces = st.sampled_from(
    ["<script>", "</script>", "<img src=x onerror=a>", "<svg/onload=a>", "<a href=javascript:a>", "'", '"',
     "<style>", "</style>", "<!--", "-->", "<![CDATA[", "]]>", "$", "\\text{", "}", "`", "|", "\n", "\n\n",
     "한글", "&lt;", "<", ">", "<math>", "<mtext>", "<table>", "<td>", "\x00", "](", "![", "* ", "# ", "    "]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(pieces, max_size=14).map("".join))
def test_no_mixture_gets_through(text):
    assert not dangers(markup.markdown(text))
    assert not dangers(markup.safe_html(text))
    assert not dangers(f"<pre>{markup.terminal(text)}</pre>")
    assert not dangers(f"<pre>{markup.code(text)}</pre>")


def test_a_progress_bar_is_one_line_without_colours():
    text = "  0%|   |\r 50%|██ |\r100%|███|\n\x1b[31mred\x1b[0m <b>\n"
    assert markup.terminal(text) == "100%|███|\nred &lt;b&gt;"


def test_a_bar_that_ends_with_a_carriage_return_keeps_its_last_state():
    assert markup.terminal("10%\r20%\r\r") == "20%"


def test_one_line_has_no_paragraph():
    assert markup.inline("a **b** $x$").startswith("a <strong>b</strong> <math")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("점수 **+15.5 [+10.4, +20.6]**점.", "점수 <strong>+15.5 [+10.4, +20.6]</strong>점."),
        ("**60 %**이고 **나 `x`**를", "<strong>60 %</strong>이고 <strong>나 <code>x</code></strong>를"),
        ("2 ** 3 **가", "2 ** 3 **가"),
    ],
)
def test_bold_text_ends_before_a_korean_particle(text, shown):
    assert markup.inline(text) == shown
