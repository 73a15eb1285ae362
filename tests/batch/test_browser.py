"""Reports and JupyterLab in a real browser: nothing is fetched, nothing complains, everything can be used."""

import base64
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote, urlparse

import pandas as pd
import psutil
import pytest

from helpers.batch.parameters import load_notebook
from helpers.records import write_json
from tests import pages, translatable
from tests.conftest import ROOT
from tests.pages import DESK, OFFLINE, PHONE, chromium, show, visit
from tests.projects import make_project, nunchi, run

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    """A browser for which no host exists."""
    with chromium(tmp_path_factory.mktemp("profile"), OFFLINE) as browser:
        yield browser


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    suite = make_project(folder, {"plain": {}, "hostile": {}, "fails": {}, "effects": {}})
    assert run(suite).returncode == 1  # one of the four is meant to fail
    return folder / "reports" / "tiny"


@pytest.fixture
def effects(offline, tiny):
    """The report with effects, opened in a window of the usual size and in the light theme."""
    show(offline, tiny / "effects" / "report.html")
    return offline


def shown(browser):
    return browser.execute_script("return document.body.innerText")


def colour(browser):
    return browser.execute_script("return getComputedStyle(document.body).backgroundColor")


SMOKE = sorted(path.stem for path in (ROOT / "params" / "smoke").glob("*.yaml"))
PAGES = ["index.html", *(f"{name}/report.html" for name in ("plain", "hostile", "fails", "effects"))]


@pytest.mark.parametrize("page", PAGES)
def test_a_fixture_page_has_no_fault(offline, tiny, page):
    found = pages.faults(offline, tiny / page)
    if "hostile" in page:  # which brings its own colours
        found = [fault for fault in found if "color-contrast" not in fault]
    assert found == []


def test_the_first_screen_of_the_fixture_is_checked_for_effects(effects):
    metrics = {"headline": [{"decision": "better"}] * 3}
    assert pages.first_screen(effects, metrics) == []
    effects.execute_script("document.querySelector('.summary .verdict').style.paddingTop = '700px'")
    assert "0 of 3 .summary .chip in sight" in pages.first_screen(effects, metrics)


def test_every_check_finds_what_it_looks_for(effects):
    """A page is spoilt on purpose: a check that says nothing then would be worth nothing."""
    spoil = """const add = (html) => document.querySelector('article').insertAdjacentHTML('beforeend', html);
      add('<p style="width: 2000px">wide</p>');
      add('<div style="overflow-x: auto"><p style="width: 3000px">unreachable</p></div>');
      add('<p>\\u0378</p>');
      add('<p><img alt=""></p><p><button type="button"></button></p>');
      document.querySelector('.menu a[download]').href = 'data:text/csv;charset=utf-8,a';
      document.documentElement.style.setProperty('--ink', '#bbb')"""
    effects.execute_script(spoil)
    said = " ".join(pages.layout(effects))
    assert "px too wide" in said and "wider than the page: <p style" in said and "broken: <img" in said
    assert "scrolls without focus: <div" in said
    assert pages.missing_glyphs(effects) == ["\u0378"]
    assert pages.drawn_contrast(effects)[0].startswith("1.9:1: ")
    assert pages.tables(effects, effects_folder(effects)) == ["another frame: a"]
    effects.execute_script(pages.MARK)
    assert "button-name" in {rule for rule, *_ in pages.violations(effects)}
    effects.execute_script(pages.PRUNE)
    assert [rule for rule, *_ in pages.violations(effects, runOnly=pages.COLOURS)] == ["color-contrast"]


def effects_folder(browser):
    return Path(unquote(urlparse(browser.current_url).path)).parent


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SMOKE, "index"])
def test_a_smoke_page_has_no_fault(offline, smoke, name):
    """At both sizes, in both themes and on paper: nothing fetched, cut or pale, the answer first."""
    assert pages.faults(offline, page_of(smoke[1], name)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SMOKE, "index"])
def test_a_korean_smoke_page_fits_and_has_all_its_glyphs(offline, korean, name):
    page = page_of(korean, name)
    show(offline, page, PHONE)
    assert [*pages.layout(offline), *pages.missing_glyphs(offline)] == []
    assert offline.execute_script("return document.documentElement.lang") == "ko"
    if name != "index":
        metrics = json.loads((page.parent / "metrics.json").read_text(encoding="utf-8"))
        assert pages.first_screen(offline, metrics) == []


def page_of(folder, name):
    return folder / "index.html" if name == "index" else folder / name / "report.html"


@pytest.mark.slow
def test_the_index_leads_to_every_report(offline, smoke):
    show(offline, smoke[1] / "index.html")
    linked = offline.execute_script("return [...document.querySelectorAll('.card h2 a')].map(a => a.href)")
    assert sorted(linked) == [(smoke[1] / name / "report.html").as_uri() for name in SMOKE]


def test_formulas_are_drawn_and_hangul_has_glyphs(offline, tiny):
    show(offline, tiny / "plain" / "report.html")
    sizes = offline.execute_script(
        "return [...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().height)"
    )
    assert len(sizes) == 4 and min(sizes) > 5
    assert "받침이 있는 이름을 읽나요?" in shown(offline)
    # A missing glyph is drawn as the same box for every character; real ones differ.
    differ = """
      const draw = (text) => { const c = document.createElement('canvas').getContext('2d');
        c.font = '40px ' + getComputedStyle(document.body).fontFamily; c.fillText(text, 0, 40);
        return c.canvas.toDataURL(); };
      return new Set(['눈', '치', '한', '글'].map(draw)).size"""
    assert offline.execute_script(differ) == 4


def test_one_click_opens_all_code_and_one_closes_it(offline, tiny):
    show(offline, tiny / "plain" / "report.html")
    count = "return document.querySelectorAll('details.code[open]').length"
    button = offline.find_element("css selector", "[data-action=code]")
    assert offline.execute_script(count) == 0
    button.click()
    assert offline.execute_script(count) == 5
    assert "records.write" in shown(offline)
    button.click()
    assert offline.execute_script(count) == 0


def test_the_theme_follows_the_system_and_the_button(offline, tiny):
    for page in ("plain/report.html", "index.html"):
        show(offline, tiny / page, scheme="light")
        light = colour(offline)
        show(offline, tiny / page, scheme="dark")
        dark = colour(offline)
        assert light == "rgb(255, 255, 255)" and dark != light
        offline.find_element("css selector", "[data-action=theme]").click()
        assert colour(offline) == light
        offline.find_element("css selector", "[data-action=theme]").click()
        assert colour(offline) == dark
        offline.execute_script("localStorage.clear()")


def test_drawings_follow_the_theme_and_other_pictures_keep_a_light_ground(offline, tiny):
    first_line = """return getComputedStyle(document.querySelector('#figure-2 svg [style*="--c1"]')).stroke"""
    ground = """return getComputedStyle(document.querySelector('#figure-2 svg [style*="--ground"]')).fill"""
    colours = {}
    for scheme in ("light", "dark"):
        show(offline, tiny / "effects" / "report.html", scheme=scheme)
        colours[scheme] = [offline.execute_script(script) for script in (first_line, ground)]
        assert colours[scheme][1] == colour(offline)
    assert (
        colours["light"] == ["rgb(0, 114, 178)", "rgb(255, 255, 255)"]
        and colours["dark"][0] == "rgb(86, 180, 233)"
    )
    show(offline, tiny / "plain" / "report.html", scheme="dark")
    image = "return getComputedStyle(document.querySelector('figure img')).backgroundColor"
    assert offline.execute_script(image) == "rgb(255, 255, 255)"


def test_a_drawing_covers_no_caption_and_a_longer_label_may_stick_out(effects):
    seen = """const place = document.querySelector('#figure-1 figcaption').getBoundingClientRect();
      scrollTo(0, place.top - 100);
      const box = document.querySelector('#figure-1 figcaption .title').getBoundingClientRect();
      const front = document.elementFromPoint(box.left + 30, box.bottom - 4);
      const look = getComputedStyle(document.querySelector('#figure-1 svg'));
      return [Boolean(front.closest('figcaption')), look.overflow]"""
    assert effects.execute_script(seen) == [True, "visible"]


def test_a_figure_says_what_it_shows_and_the_key_figure_leads_to_its_place(effects):
    labels = effects.execute_script(
        "return [...document.querySelectorAll('article figure svg')].map((s) => s.getAttribute('aria-label'))"
    )
    assert labels == [
        "Which systems differ from the lookup? points of micro-F1: gold types 6.0 [5.0, 7.0]; "
        "typed-punct 2.2 [1.0, 3.5]; marker 0.1 [−0.3, 0.5]; none −4.0 [−5.5, −2.5].",
        "What does another epoch change? 가 reaches 30 after three epochs, 라 stays at 9.",
    ]
    effects.find_element("css selector", ".key a").click()
    assert effects.execute_script("return location.hash") == "#figure-2"
    drawn = "return document.querySelector('.key svg use').getBoundingClientRect().width"
    assert effects.execute_script(drawn) > 300


def test_on_a_phone_a_tap_shows_a_figure_as_large_as_it_was_drawn(offline, tiny):
    show(offline, tiny / "effects" / "report.html", PHONE)
    width = "return document.querySelector('.zoom svg')?.getBoundingClientRect().width"
    offline.execute_script(
        "document.querySelector('#figure-1 svg').scrollIntoView({block: 'center', behavior: 'instant'})"
    )
    for how in (".drawing", "#figure-2 .enlarge"):
        offline.find_element("css selector", how).click()
        assert offline.execute_script(width) >= 800
        offline.find_element("css selector", ".zoom button").click()
        assert not offline.execute_script("return document.querySelector('.zoom').open")


def test_a_term_is_explained_by_keyboard_touch_and_pointer(effects):
    from selenium.webdriver import ActionChains, Keys

    term = effects.find_element("css selector", "button.term")
    box = f"document.getElementById({json.dumps(term.get_attribute('popovertarget'))})"
    is_open = f"return {box}.matches(':popover-open')"
    effects.execute_script("arguments[0].focus()", term)
    term.send_keys(Keys.ENTER)
    assert effects.execute_script(is_open)
    place = effects.execute_script(f"return {box}.getBoundingClientRect().toJSON()")
    assert place["left"] >= 0 and place["right"] <= 1280 and abs(place["top"] - term.rect["y"]) < 250
    ActionChains(effects).send_keys(Keys.ESCAPE).perform()
    assert not effects.execute_script(is_open)
    term.click()
    assert effects.execute_script(is_open)
    ActionChains(effects).move_to_element(effects.find_element("css selector", "h1")).click().perform()
    assert not effects.execute_script(is_open)
    ActionChains(effects).move_to_element(term).perform()
    assert effects.execute_script(is_open)


def test_the_keyboard_skips_to_the_text_and_stops_at_what_scrolls(offline, tiny):
    from selenium.webdriver import ActionChains, Keys

    show(offline, tiny / "effects" / "report.html", PHONE)
    ActionChains(offline).send_keys(Keys.TAB).perform()
    assert offline.execute_script("return document.activeElement.className") == "skip"
    ActionChains(offline).send_keys(Keys.ENTER).perform()
    assert offline.execute_script("return document.activeElement.id") == "text"
    reached = """return [...document.querySelectorAll('main .scroll')].filter((r) => r.offsetParent).map(
      (r) => [r.scrollWidth > r.clientWidth + 1, r.tabIndex === 0])"""
    pairs = offline.execute_script(reached)
    assert any(scrolls for scrolls, _ in pairs) and all(scrolls == focus for scrolls, focus in pairs)


def test_the_first_column_stays_and_the_decision_is_in_sight_on_a_phone(offline, tiny):
    show(offline, tiny / "effects" / "report.html", PHONE)
    decision = "return document.querySelector('article td.decision').getBoundingClientRect().right"
    assert offline.execute_script(decision) <= PHONE[0]
    moved = """const region = document.querySelector('.scroll[aria-label="A wide table"]');
      region.scrollLeft = 300;
      if (!("tight" in region.dataset)) return [-1, -1];
      const cells = region.querySelectorAll('tbody tr:first-child > *');
      return [cells[0], cells[1]].map((cell) => cell.getBoundingClientRect().left)"""
    first, second = offline.execute_script(moved)
    assert 0 <= first < 30 and second < 0


def test_a_table_can_be_downloaded_offline_as_the_frame_that_it_was(effects, tmp_path):
    behavior = {"behavior": "allow", "downloadPath": str(tmp_path)}
    effects.execute_cdp_cmd("Browser.setDownloadBehavior", behavior)
    effects.execute_script("""const link = document.querySelectorAll('.menu a[download]')[0];
      link.closest('details').open = true; link.click()""")
    file = wait_until(lambda: [f for f in tmp_path.iterdir() if f.suffix == ".csv"], seconds=20)[0]
    assert file.name == "effects-each-system-against-the-lookup-points-of-micro-f1.csv"
    frame = pd.read_csv(file)
    assert frame["difference"].tolist() == [2.25, 0.1, -4.0, 6.0] and frame["difference low"].tolist() == [
        1.0,
        -0.3,
        -5.5,
        5.0,
    ]
    assert frame["decision"].tolist() == ["better", "equivalent", "worse", "oracle"]
    wide = effects.execute_script(
        """const address = document.querySelectorAll('.menu a[download]')[1].href;
        return decodeURIComponent(address.slice(address.indexOf(',') + 1))"""
    )
    assert pd.read_csv(io.StringIO(wide))["score 0"].iloc[0] == 61.234


def test_a_table_can_be_copied_as_markdown_and_latex(effects):
    allowed = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    effects.execute_cdp_cmd("Browser.grantPermissions", allowed)
    copied = {}
    for action in ("markdown", "latex"):
        effects.execute_script("document.querySelectorAll('.menu')[1].open = true")
        effects.find_elements("css selector", f"[data-action={action}]")[1].click()
        read = """const done = arguments[0];
          setTimeout(() => navigator.clipboard.readText().then(done, (e) => done(String(e))), 200)"""
        copied[action] = effects.execute_async_script(read)
    head, rule, first, _ = copied["markdown"].splitlines()
    assert head.startswith("| system | score 0 | score 1 |") and rule.startswith("| --- |")
    assert first.startswith("| a \\| b | 61.2 | 60.2 |") and first.endswith("| 313,054 |")
    assert "c \\& d\\_e & – &" in copied["latex"] and copied["latex"].startswith("\\begin{tabular}{llll")


def test_the_contents_lead_to_their_sections(offline, tiny):
    show(offline, tiny / "plain" / "report.html")
    links = offline.find_elements("css selector", ".contents a")
    assert [link.text for link in links][:3] == ["Parameters", "Setup", "Evidence"]
    links[4].click()
    assert offline.execute_script("return document.querySelector(':target').innerText").startswith(
        "그림과 표"
    )


def test_on_paper_the_tools_and_the_folded_code_are_gone(offline, tiny):
    show(offline, tiny / "plain" / "report.html", media="print")
    hidden = """return ['.tools', '.contents', 'details.code'].map(
      (s) => getComputedStyle(document.querySelector(s)).display)"""
    assert offline.execute_script(hidden) == ["none"] * 3


@pytest.mark.parametrize("page", ["index.html", "effects/report.html"])
def test_paper_is_light_and_keeps_its_shades_from_the_dark_theme(offline, tiny, page):
    show(offline, tiny / page)
    pages.wear(offline, DESK, "paper")
    assert colour(offline) == "rgb(255, 255, 255)"
    chip = """const look = getComputedStyle(document.querySelector('.chip.better'));
      return [look.backgroundColor, look.printColorAdjust]"""
    assert offline.execute_script(chip) == ["rgb(226, 244, 234)", "exact"]


def test_the_index_prints_on_two_pages_at_most(offline, tiny):
    show(offline, tiny / "index.html")
    offline.execute_script("""const card = document.querySelector('.card:has(.effects)');
      for (const _ of '1234') card.after(card.cloneNode(true))""")  # as many full cards as a suite has
    made = offline.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(made["data"]))) <= 2


def test_hostile_text_is_shown_and_does_nothing(offline, tiny):
    for page in ("hostile/report.html", "index.html"):
        visit(offline, tiny / page)
        offline.execute_script("document.querySelector('table')?.click()")
        assert not re.fullmatch(r"\d", offline.title)
        assert "<script>document.title = 1</script>" in shown(offline)


def test_the_content_policy_stops_what_would_slip_through(offline, tiny, tmp_path):
    page = (tiny / "plain" / "report.html").read_text()
    script = "<script>document.title = 'owned'</script>"
    image = "<img src=http://a.invalid/x onerror=\"document.title = 'owned'\">"
    (tmp_path / "page.html").write_text(page.replace("<main>", f"<main>{script}{image}"))
    _, console = visit(offline, tmp_path / "page.html")
    assert offline.title != "owned"
    assert any("Content Security Policy" in entry["message"] for entry in console)
    assert not any("net::ERR_NAME_NOT_RESOLVED" in entry["message"] for entry in console)


def test_the_error_is_the_first_thing_in_a_failed_report(offline, tiny):
    show(offline, tiny / "fails" / "report.html")
    text = shown(offline)
    assert text.index("no such column: 단어 <b>bold</b>") < text.index("The second code cell raises.")
    box = offline.find_element("css selector", ".failure")
    assert box.location["y"] < 200 and "raise ValueError" in box.text
    box.find_element("css selector", "summary").click()
    assert "ValueError" in box.find_element("css selector", "pre").text


def test_a_comparison_is_a_page_like_the_others(offline, tiny, tmp_path):
    page = tmp_path / "comparison.html"
    runs = [
        tmp_path / f"{which}-run-of-a-study-with-a-long-name" / "effects" for which in ("first", "second")
    ]
    for folder in runs:
        shutil.copytree(tiny / "effects", folder)
    for language in ("en", "ko"):
        done = nunchi("compare", *runs, "--out", page, "--language", language)
        assert done.returncode == 0, done.stderr
        show(offline, page, PHONE)
        assert [*pages.layout(offline), *pages.missing_glyphs(offline)] == []
    assert pages.faults(offline, page) == []


def test_korean_pages_have_no_english_furniture_and_no_missing_glyph(offline, tiny, tmp_path):
    reports = tmp_path / "tiny"
    shutil.copytree(tiny, reports)
    suite = tiny.parents[1] / "params" / "tiny"
    prose = tiny.parents[1] / "notebooks" / "ko"
    prose.mkdir(exist_ok=True)
    (prose / "effects.yaml").write_text(CATALOGUE, encoding="utf-8")
    done = nunchi("render", suite, "--only", "effects", "--out", tmp_path, "--language", "ko")
    assert done.returncode == 0, done.stderr
    assert pages.faults(offline, reports / "effects" / "report.html") == []
    show(offline, reports / "effects" / "report.html")
    text = shown(offline)
    for korean in (
        "매개변수",
        "우세",
        "열세",
        "동등",
        "상한(정답 참조)",
        "목차",
        "근거",
        "핵심 그림",
        "유형 표지는 조회표보다 2.2 [1.0, 3.5]점 높고",
        "첫째 시스템은 micro-F1을 +2.2 [+1.0, +3.5]점 바꾼다.",
        "조회표와 다른 시스템은?",
    ):
        assert korean in text
    for english in (
        "Parameters",
        "Contents",
        "Appendix",
        "better",
        "worse",
        "equivalent",
        "against",
        "Show all",
        "Key figure",
    ):
        assert english not in text
    assert translatable.english_in((reports / "effects" / "report.html").read_text(encoding="utf-8")) == []
    drawn = offline.execute_script("return document.querySelector('#figure-1 svg').textContent")
    assert "micro-F1 점수" in drawn and "정답 유형" in drawn, "the words inside a drawing are translated too"
    assert offline.execute_script("return document.documentElement.lang") == "ko"
    show(offline, reports / "index.html")
    assert [*pages.layout(offline), *pages.missing_glyphs(offline)] == []
    assert "노트북 4개" in shown(offline)


CATALOGUE = """
- en: "A small notebook whose record has effects, for tests of what a reader sees first."
  ko: "효과가 기록된 작은 노트북."
- en: "SWA and Holm are explained;"
  ko: "SWA와 Holm을 설명한다"
- en: "so is fertility;"
  ko: "fertility도 설명한다"
- en: "it takes seconds."
  ko: "몇 초 걸린다."
- en: where the rows come from
  ko: 행의 출처
- en: columns of the widest table
  ko: 가장 넓은 표의 열 수
- en: "The sentence 세종은 조선의 왕이다 has two entities."
  ko: "세종은 조선의 왕이다라는 문장에는 개체가 둘 있다."
- en: as marked
  ko: 표지된 대로
- en: "Differences are corrected by Holm over the family; typed-punct is the reference."
  ko: "차이는 묶음 안에서 Holm으로 보정한다. 기준은 typed-punct다."
- en: "Each system against the lookup, points of micro-F1"
  ko: "조회표와 견준 시스템(micro-F1 점수)"
- en: "Which systems differ from the lookup?"
  ko: "조회표와 다른 시스템은?"
- en: "{1} reaches 30 after three epochs, {2} stays at 9"
  ko: "{1}[은/는] 세 에폭 뒤 30에 이르고, {2}[은/는] 9에 머문다"
- en: "What does another epoch change?"
  ko: "에폭을 늘리면 무엇이 바뀌는가?"
- en: points of micro-F1
  ko: micro-F1 점수
- en: lookup
  ko: 조회표
- en: gold types
  ko: 정답 유형
- en: marker
  ko: 표지
- en: A wide table
  ko: 넓은 표
- en: "micro-F1 of the lookup, %"
  ko: "조회표의 micro-F1, %"
- en: "The first system changes micro-F1 by {gain:+.1f} points."
  ko: "첫째 시스템은 micro-F1을 {gain}점 바꾼다."
- en: "Typed markers gain {1:.1f} points over the lookup; none at all costs {2:.1f}."
  ko: "유형 표지는 조회표보다 {1}점 높고, 표지가 없으면 {2}점 낮다."
"""


# ---- JupyterLab


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def lab(folder, root):
    """Start JupyterLab on `root`, dark, with a configuration of its own, and yield its address."""
    port, token = free_port(), "nunchi-test"
    private = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    private |= {"JUPYTERLAB_SETTINGS_DIR": str(folder / "s"), "JUPYTERLAB_WORKSPACES_DIR": str(folder / "w")}
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--ServerApp.allow_root=True"]
    command += [
        f"--ServerApp.port={port}",
        f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={root}",
    ]
    command += [
        "--ServerApp.port_retries=0",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    theme = folder / "s" / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings"
    theme.parent.mkdir(parents=True)
    theme.write_text('{"theme": "JupyterLab Dark"}')
    env = os.environ | private | {"NUNCHI_OUT": str(folder / "out")}
    with (folder / "lab.log").open("w") as log:
        server = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until(lambda: answers(f"{address}/api/status?token={token}"), seconds=60)
        yield address, token
    finally:
        family = psutil.Process(server.pid).children(recursive=True)
        server.terminate()
        server.wait(timeout=30)
        for process in psutil.wait_procs(family, timeout=10)[1]:
            process.kill()


def answers(url):
    try:
        return urllib.request.urlopen(url, timeout=5).status == 200
    except (urllib.error.URLError, ConnectionError):
        return False


def wait_until(condition, *, seconds):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.3)
    return value


@pytest.mark.slow
def test_a_notebook_runs_in_jupyterlab(tmp_path):
    from selenium.common.exceptions import WebDriverException

    path = tmp_path / "work" / "template.ipynb"
    path.parent.mkdir()
    write_json(path, template_with_smoke_parameters())
    with lab(tmp_path, path.parent) as (address, token), chromium(tmp_path / "profile") as browser:
        browser.get(f"{address}/lab/tree/{path.name}?token={token}&reset")
        wait_until(lambda: idle(browser), seconds=90)
        recorded = (tmp_path / "out" / "metrics.json").is_file
        for _ in range(4):  # a click is lost, or meets a dialog, now and then while the page is still busy
            if not recorded():
                with suppress(AssertionError, WebDriverException):
                    menu(browser, "Run", "Run All Cells")
                    wait_until(recorded, seconds=45)
        wait_until(lambda: recorded() and idle(browser), seconds=30)
        wait_until(lambda: browser.find_elements("css selector", ".widget-slider"), seconds=60)
        look = browser.execute_script(IN_LAB)
        menu(browser, "File", "Save Notebook")
        wait_until(lambda: executed(path), seconds=30)
    outputs = [output for cell in executed(path) for output in cell["outputs"]]
    assert [output for output in outputs if output["output_type"] == "error"] == []
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs)
    assert look == {
        "page": "rgb(17, 17, 17)",
        "figure": "rgb(17, 17, 17)",
        "words": "rgb(227, 230, 234)",
        "line": "rgb(86, 180, 233)",
        "slider": True,
        "text": "left",
    }


# What a reader by hand sees, without NUNCHI_OUT: a figure, a slider, a table.
BY_HAND = """
import os
del os.environ["NUNCHI_OUT"]
import numpy as np, pandas as pd
from IPython.display import display
from helpers.display import figures, tables
from helpers.multilabel import explorer
figures.use_style()
figure, ax = figures.figure()
figures.lines(pd.DataFrame({"x": [1, 2], "y": [1, 2], "name": "a"}), ax, x="x", y="y", group="name")
scores = np.linspace(0, 1, 40).reshape(20, 2)
display(figure, tables.table(pd.DataFrame({"name": ["a"], "size": [1]}), caption="A table"))
explorer.explore((scores > 0.6).astype(int), scores, ["a", "b"], marks={"F1 exact": np.array([0.6, 0.6])})
"""
IN_LAB = """
const last = [...document.querySelectorAll('.jp-CodeCell')].at(-1);
const look = (selector) => getComputedStyle(last.querySelector(selector));
return {
  page: getComputedStyle(document.querySelector('.jp-Notebook')).backgroundColor,
  figure: look('.nunchi-figure svg [id$="patch_1"] path').fill,
  words: look('.nunchi-figure svg text').fill,
  line: look('.nunchi-figure svg path[style*="#0072b2"]').stroke,
  slider: last.querySelector('.widget-slider .noUi-target').clientWidth > 500,
  text: look('table.nunchi tbody th').textAlign,
}"""


def template_with_smoke_parameters():
    notebook = load_notebook(ROOT / "notebooks" / "template.ipynb")
    cell = next(cell for cell in notebook["cells"] if cell["id"] == "parameters")
    smoke = (ROOT / "params" / "smoke" / "template.yaml").read_text()
    cell["source"] += "\n" + re.sub(r"(?m)^(\w+): ", r"\1 = ", smoke)
    by_hand = {"cell_type": "code", "id": "by-hand", "metadata": {}, "source": BY_HAND.strip()}
    notebook["cells"].append(by_hand | {"outputs": [], "execution_count": None})
    return notebook


def executed(path):
    """Return the saved code cells once every one of them has run, else nothing."""
    cells = [cell for cell in load_notebook(path)["cells"] if cell["cell_type"] == "code"]
    return cells if all(cell["execution_count"] for cell in cells) else []


def idle(browser):
    return browser.find_elements("css selector", ".jp-Notebook-ExecutionIndicator[data-status=idle]")


def menu(browser, title, entry):
    for selector, text in ((".lm-MenuBar-itemLabel", title), (".lm-Menu-itemLabel", entry)):
        items = wait_until(
            lambda s=selector, t=text: [i for i in browser.find_elements("css selector", s) if i.text == t],
            seconds=20,
        )
        items[0].click()
