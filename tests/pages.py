"""What must hold for every page, looked at in a real browser: each check says what is wrong.

`python -m tests.pages FOLDER…` looks at all reports and the index below each folder and prints the faults.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests import translatable

# Without the background flags Chromium itself looks up hosts, which would count as requests.
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--window-size=1280,900",
]  # fmt: skip
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND"
DESK, PHONE = (1280, 800), (390, 844)
AXE = resources.files("selenium_axe_python") / "axe-core" / "axe.min.js"


@contextmanager
def chromium(folder, *flags):
    """Open headless Chromium with a fresh profile, the console and all requests being logged."""
    from selenium import webdriver

    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (binary and driver):
        pytest.skip("no browser: install the packages chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, *flags, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield browser
    finally:
        browser.quit()


def emulate(browser, size=DESK, scheme="light", media="") -> None:
    """Give the browser a screen of that size, a theme, and a medium: screen or print."""
    screen = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [feature]})


def show(browser, path, size=DESK, scheme="light", media=""):
    """Open a page on a screen of that size, in that theme."""
    emulate(browser, size, scheme, media)
    result = visit(browser, path)
    browser.execute_script(
        "localStorage.clear(); delete document.documentElement.dataset.theme; "
        "document.documentElement.style.scrollBehavior = 'auto'"
    )
    return result


def visit(browser, path):
    """Open a file and return the addresses it asked for, other than itself, and what the console said."""
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get(path.as_uri())
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    # chrome: is the browser's own first page, which may still be loading.
    outside = [url for url in asked if not url.startswith(("data:", "chrome:")) and url != path.as_uri()]
    return outside, browser.get_log("browser")


# ---- what a page shows on one screen; each function returns a list of faults

LAYOUT = """
const wide = (e) => e.scrollWidth > e.clientWidth + 1;
const words = (e) => e.outerHTML.slice(0, 100);
const all = (selector) => [...document.querySelectorAll(selector)];
const page = document.documentElement;
return [
  ...all('figure svg text').filter((t) => t.textContent.includes('\\\\math')).map((t) => 'TeX: ' + words(t)),
  ...(document.body.innerText.includes('$$') ? ['a formula that was not drawn'] : []),
  ...[...document.images].filter((i) => !i.complete || !i.naturalWidth).map((i) => 'broken: ' + words(i)),
  ...(wide(page) ? [`the page is ${page.scrollWidth - page.clientWidth} px too wide`] : []),
  ...all('body *').filter((e) => e.getBoundingClientRect().right > page.clientWidth + 1
      && !e.closest('.scroll, pre, svg, .hidden')).map((e) => 'wider than the page: ' + words(e)),
  ...all('main *').filter((e) => wide(e) && e.tabIndex < 0
      && /auto|scroll/.test(getComputedStyle(e).overflowX)).map((e) => 'scrolls without focus: ' + words(e)),
]"""

SEEN = """
const seen = (selector) => [...document.querySelectorAll(selector)].filter((e) => {
  const box = e.getBoundingClientRect();
  return box.height && box.top >= 0 && box.bottom <= innerHeight; }).length;
return arguments[0].map(seen)"""

# Text in a drawing that follows the theme, against the page it stands on: WCAG's contrast.
DRAWN = """
const light = (colour) => { const [r, g, b] = colour.match(/[\\d.]+/g).map((v) => v / 255).map(
  (v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
const ground = light(getComputedStyle(document.body).backgroundColor);
return [...document.querySelectorAll('figure svg text[style*="--"]')].map((text) => {
  const own = light(getComputedStyle(text).fill);
  const contrast = (Math.max(own, ground) + .05) / (Math.min(own, ground) + .05);
  return [contrast, text.textContent];
}).filter(([contrast]) => contrast < 4.5).map(([contrast, text]) => `${contrast.toFixed(1)}:1: ${text}`)"""

# A character without a glyph is drawn as the same box as one that no font can have.
GLYPHS = """
const canvas = document.createElement('canvas'); canvas.width = canvas.height = 24;
const pen = canvas.getContext('2d', { willReadFrequently: true });
pen.font = '18px ' + getComputedStyle(document.body).fontFamily;
const draw = (text) => { pen.clearRect(0, 0, 24, 24); pen.fillText(text, 2, 18);
  return pen.getImageData(0, 0, 24, 24).data.join(); };
const box = draw('\\u{10FFFE}');
const clone = document.body.cloneNode(true);
for (const e of clone.querySelectorAll('script, style')) e.remove();
const visible = (c) => c.trim() && !/[\\p{Cc}\\p{Cf}]/u.test(c);
return [...new Set(clone.textContent)].filter((c) => visible(c) && draw(c) === box)"""


def layout(browser) -> list[str]:
    """Whatever is broken or cut, and whatever the keyboard cannot scroll."""
    return browser.execute_script(LAYOUT)


def on_first_screen(browser, *selectors) -> list[int]:
    """Return how many such elements are wholly in sight before anything is scrolled."""
    return browser.execute_script(SEEN, list(selectors))


def first_screen(browser, metrics) -> list[str]:
    """Question, verdict and three headline figures, effects where there are as many, each with its chip."""
    effects = min(3, sum("decision" in row for row in metrics["headline"]))
    wanted = {
        "h1": 1,
        ".summary .verdict": 1,
        ".summary .headline li:not(.ticks)": min(3, len(metrics["headline"])),
        ".summary .effects li:not(.ticks)": effects,
        ".summary .chip": effects,
    }
    seen = dict(zip(wanted, on_first_screen(browser, *wanted), strict=True))
    return [f"{seen[one]} of {wanted[one]} {one} in sight" for one in wanted if seen[one] < wanted[one]]


def drawn_contrast(browser) -> list[str]:
    """Words of drawings that do not stand out from the page by 4.5:1."""
    return browser.execute_script(DRAWN)


def missing_glyphs(browser) -> list[str]:
    """Characters of the page that no font here can draw."""
    return browser.execute_script(GLYPHS)


def violations(browser, **rules) -> list[list]:
    """Return what axe-core objects to in the open page: rule, how often, the first place.

    Drawings have a role and a label and are emptied: axe would walk through each of their strokes.
    """
    browser.execute_script("for (const s of document.querySelectorAll('figure svg')) s.replaceChildren()")
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    if not browser.execute_script("return 'axe' in window"):
        browser.execute_script(AXE.read_text(encoding="utf-8"))
    browser.set_script_timeout(120)
    found = """const [options, done] = arguments;
      axe.run({ resultTypes: ['violations'], preload: false, ...options }).then(
        (r) => done(r.violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 120)])))"""
    return browser.execute_async_script(found, rules)


# ---- a whole page

# axe takes most of its time for colours. They are looked at where each look of text first occurs: its colour,
# size, weight and all that lies behind it. What has no such place is taken out of the page before.
MARK = """
for (const d of document.querySelectorAll('details')) d.open = true;
const looks = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const own = walk.currentNode.parentElement;
  if (!walk.currentNode.data.trim() || own.closest('figure svg') || !own.checkVisibility()) continue;
  const style = getComputedStyle(own), look = [style.color, style.fontSize, style.fontWeight];
  for (let e = own; e; e = e.parentElement) {
    const { backgroundColor, opacity } = getComputedStyle(e);
    if (backgroundColor !== 'rgba(0, 0, 0, 0)' || opacity !== '1') look.push(backgroundColor, opacity);
  }
  if (!looks.has(look.join())) { looks.add(look.join()); own.dataset.look = ''; }
}"""
FLATTEN = """
for (const pre of document.querySelectorAll('details.code pre'))
  if (!pre.querySelector('[data-look]')) pre.textContent = pre.textContent"""
PRUNE = """
for (const e of document.querySelectorAll('main *'))
  if (!('look' in e.dataset) && !e.querySelector('[data-look]')) e.remove()"""
COLOURS = ("color-contrast", "link-in-text-block")  # the rules of axe that a theme can break
LOOKS = {DESK: ("light", "dark", "paper"), PHONE: ("light", "dark")}


def wear(browser, size, look: str) -> None:
    """Put the open page into a theme; paper is printed from the dark one."""
    emulate(browser, size, "light" if look == "light" else "dark", "print" if look == "paper" else "")
    browser.execute_script(
        "document.documentElement.dataset.theme = arguments[0]", look.replace("paper", "dark")
    )


def faults(browser, path: Path) -> list[str]:
    """Look at a report or an index at both sizes, in both themes and on paper; say what is wrong."""
    return [
        f"{size[0]} px, {name}: {fault}"
        for size in (DESK, PHONE)
        for name, found in _checks(browser, path, size)
        for fault in found
    ]


def _checks(browser, path: Path, size) -> Iterator[tuple[str, list]]:
    outside, console = show(browser, path, size)
    yield "requests and console", [*outside, *(entry["message"] for entry in console)]
    yield "layout", layout(browser)
    if (recorded := path.parent / "metrics.json").is_file():
        yield "first screen", first_screen(browser, json.loads(recorded.read_text(encoding="utf-8")))
        yield "tables", tables(browser, path.parent)
    yield "glyphs", missing_glyphs(browser)
    for look in LOOKS[size]:
        wear(browser, size, look)
        yield f"drawings, {look}", drawn_contrast(browser)
        browser.execute_script(MARK)
    wear(browser, size, "light")
    browser.execute_script(FLATTEN)
    yield "axe", violations(browser, rules={rule: {"enabled": False} for rule in COLOURS})
    browser.execute_script(PRUNE)
    for look in LOOKS[size]:
        wear(browser, size, look)
        yield f"axe, {look}", violations(browser, runOnly=COLOURS)
        if look == "paper" and browser.execute_script(GROUND) != "rgb(255, 255, 255)":
            yield look, ["the ground is not white"]


GROUND = "return getComputedStyle(document.body).backgroundColor"


def tables(browser, folder: Path) -> list[str]:
    """Tables whose CSV is not, to the last digit, the frame that the notebook showed."""
    links = "return [...document.querySelectorAll('.table .menu a[download]')].map((a) => a.href)"
    offered = [unquote(href.partition(",")[2]) for href in browser.execute_script(links)]
    made = list(frames(folder / "notebook.ipynb"))
    if len(offered) != len(made):
        return [f"{len(offered)} CSV of {len(made)} frames"]
    return [f"another frame: {one[:80]}" for one, frame in zip(offered, made, strict=True) if one != frame]


def frames(notebook: Path) -> Iterator[str]:
    """Yield the frames that an executed notebook shows, as CSV."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", ()):
            if "text/csv" in output.get("data", {}):
                yield "".join(output["data"]["text/csv"])


def pages(folder: Path) -> list[Path]:
    """Return the reports of a suite and its index."""
    return [*sorted(folder.glob("*/report.html")), folder / "index.html"]


def main(folders: list[str]) -> int:
    count = 0
    with tempfile.TemporaryDirectory() as profile, chromium(profile, OFFLINE) as browser:
        for page in [page for folder in folders for page in pages(Path(folder).resolve())]:
            start, text = time.perf_counter(), page.read_text(encoding="utf-8")
            found = faults(browser, page)
            if '<html lang="ko">' in text:
                found += [f"English: {left}" for left in translatable.english_in(text)]
            print(
                f"{page.parent.name}: {len(text.encode()):,} bytes, {time.perf_counter() - start:.1f} s",
                *found,
                sep="\n  ",
            )
            count += len(found)
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
