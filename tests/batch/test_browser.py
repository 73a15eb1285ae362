"""Reports and JupyterLab in a real browser: nothing is fetched, nothing complains, everything can be used."""

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

import psutil
import pytest

from helpers.batch.parameters import load_notebook
from helpers.records import write_json
from tests.conftest import ROOT
from tests.projects import make_project, run

pytestmark = pytest.mark.browser

# Without the background flags Chromium itself looks up hosts, which would count as requests.
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--window-size=1280,900",
]  # fmt: skip


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


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    """A browser for which no host exists."""
    with chromium(tmp_path_factory.mktemp("profile"), "--host-resolver-rules=MAP * ~NOTFOUND") as browser:
        yield browser


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    suite = make_project(folder, {"plain": {}, "hostile": {}, "fails": {}})
    assert run(suite).returncode == 1  # one of the three is meant to fail
    return folder / "reports" / "tiny"


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


def shown(browser):
    return browser.execute_script("return document.body.innerText")


def colour(browser):
    return browser.execute_script("return getComputedStyle(document.body).backgroundColor")


def sideways(browser):
    """Return how many pixels the page is wider than the window."""
    return browser.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


def look_over(browser, path):
    """Check what must hold for every page, wide and narrow."""
    outside, console = visit(browser, path)
    assert outside == []
    assert console == []
    assert "$$" not in shown(browser)
    broken = "return [...document.images].filter(i => !i.complete || !i.naturalWidth).length"
    assert browser.execute_script(broken) == 0
    assert sideways(browser) <= 0
    browser.set_window_size(500, 900)
    assert sideways(browser) <= 0
    browser.set_window_size(1280, 900)


@pytest.mark.parametrize(
    "page", ["index.html", "plain/report.html", "hostile/report.html", "fails/report.html"]
)
def test_fixture_pages_fetch_nothing_and_complain_of_nothing(offline, tiny, page):
    look_over(offline, tiny / page)


@pytest.mark.slow
def test_every_smoke_page_fetches_nothing_and_complains_of_nothing(offline, smoke):
    folder = smoke[1]
    look_over(offline, folder / "index.html")
    linked = offline.execute_script("return [...document.querySelectorAll('.card h2 a')].map(a => a.href)")
    assert len(linked) == len(list((ROOT / "params" / "smoke").glob("*.yaml")))
    for report in sorted(folder.glob("*/report.html")):
        look_over(offline, report)


def test_formulas_are_drawn_and_hangul_has_glyphs(offline, tiny):
    visit(offline, tiny / "plain" / "report.html")
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
    visit(offline, tiny / "plain" / "report.html")
    count = "return document.querySelectorAll('details.code[open]').length"
    button = offline.find_element("css selector", "[data-action=code]")
    assert offline.execute_script(count) == 0
    button.click()
    assert offline.execute_script(count) == 5
    assert "records.write" in shown(offline)
    button.click()
    assert offline.execute_script(count) == 0


def test_the_theme_follows_the_system_and_the_button(offline, tiny):
    def prefer(scheme):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        offline.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    for page in ("plain/report.html", "index.html"):
        visit(offline, tiny / page)
        offline.execute_script("localStorage.clear(); delete document.documentElement.dataset.theme")
        prefer("light")
        light = colour(offline)
        prefer("dark")
        dark = colour(offline)
        assert light == "rgb(255, 255, 255)" and dark != light
        offline.find_element("css selector", "[data-action=theme]").click()
        assert colour(offline) == light
        prefer("light")
        offline.find_element("css selector", "[data-action=theme]").click()
        assert colour(offline) == dark
        offline.execute_script("localStorage.clear()")


def test_figures_keep_a_light_ground_in_the_dark(offline, tiny):
    visit(offline, tiny / "plain" / "report.html")
    offline.execute_script("document.documentElement.dataset.theme = 'dark'")
    ground = "return getComputedStyle(document.querySelector('figure')).backgroundColor"
    assert offline.execute_script(ground) == "rgb(255, 255, 255)"


def test_the_contents_lead_to_their_sections(offline, tiny):
    visit(offline, tiny / "plain" / "report.html")
    links = offline.find_elements("css selector", ".contents a")
    assert [link.text for link in links][:3] == ["Parameters", "Setup", "Evidence"]
    links[4].click()
    assert offline.execute_script("return document.querySelector(':target').innerText").startswith(
        "그림과 표"
    )


def test_on_paper_the_tools_and_the_folded_code_are_gone(offline, tiny):
    visit(offline, tiny / "plain" / "report.html")
    offline.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    hidden = """return ['.tools', '.contents', 'details.code'].map(
      (s) => getComputedStyle(document.querySelector(s)).display)"""
    assert offline.execute_script(hidden) == ["none"] * 3
    offline.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


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
    visit(offline, tiny / "fails" / "report.html")
    text = shown(offline)
    assert text.index("no such column: 단어 <b>bold</b>") < text.index("The second code cell raises.")
    box = offline.find_element("css selector", ".failure")
    assert box.location["y"] < 600
    box.find_element("css selector", "summary").click()
    assert "ValueError" in box.find_element("css selector", "pre").text


# ---- JupyterLab


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def lab(folder, root):
    """Start JupyterLab on `root` with a configuration of its own and yield its address."""
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
    path = tmp_path / "work" / "template.ipynb"
    path.parent.mkdir()
    write_json(path, template_with_smoke_parameters())
    with lab(tmp_path, path.parent) as (address, token), chromium(tmp_path / "profile") as browser:
        browser.get(f"{address}/lab/tree/{path.name}?token={token}&reset")
        wait_until(lambda: idle(browser), seconds=90)
        recorded = (tmp_path / "out" / "metrics.json").is_file
        for _ in range(4):  # a click is lost now and then while the page is still busy
            if not recorded():
                menu(browser, "Run", "Run All Cells")
                with suppress(AssertionError):
                    wait_until(recorded, seconds=45)
        wait_until(lambda: recorded() and idle(browser), seconds=30)
        menu(browser, "File", "Save Notebook")
        wait_until(lambda: executed(path), seconds=30)
    outputs = [output for cell in executed(path) for output in cell["outputs"]]
    assert [output for output in outputs if output["output_type"] == "error"] == []
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs)


def template_with_smoke_parameters():
    notebook = load_notebook(ROOT / "notebooks" / "template.ipynb")
    cell = next(cell for cell in notebook["cells"] if cell["id"] == "parameters")
    smoke = (ROOT / "params" / "smoke" / "template.yaml").read_text()
    cell["source"] += "\n" + re.sub(r"(?m)^(\w+): ", r"\1 = ", smoke)
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
