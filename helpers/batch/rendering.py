"""Rendering: an executed notebook as one HTML page that needs no network and, to be made, no kernel.

The page is a document, not a picture of JupyterLab: prose and figures first, code folded, parameters as a
table, the error at the top when there is one. The look lives in `batch/style/`; text becomes HTML in
`markup`. A content policy in every page forbids scripts other than its own and every request.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from helpers import records
from helpers.batch import markup, parameters

STYLE = Path(__file__).parent / "style"
FIGURES = ("image/svg+xml", "image/png", "image/jpeg")
PREFERRED = (*FIGURES, "text/html", "text/markdown", "text/latex", "text/plain")
WIDGET = "application/vnd.jupyter.widget-view+json"
BAR = re.compile(r"\d%\|")  # tqdm's
# Everything printable but what ends an attribute or an address; percent signs cost three bytes each.
URL_SAFE = " !$'()*+,-./:;=?@[]^_`{|}~<>"


def refresh(folder: Path, *, force: bool = False) -> bool:
    """Render the report of an executed notebook anew if it is stale; tell whether that was done."""
    with lock(folder.parent):
        due = force or is_stale(folder)
        if due:
            render(folder)
        return due


def is_stale(folder: Path) -> bool:
    """Tell whether a report is missing, or made from another run, style or code: it says from which."""
    try:
        page = (folder / "report.html").read_text(encoding="utf-8")
        return f'<meta name="made-from" content="{digest(folder)}">' not in page
    except FileNotFoundError:
        return True


def lock(reports: Path):
    """Return the lock of a suite's folder, held while a report is put in place; freed if the holder dies."""
    from filelock import FileLock

    return FileLock(reports / ".lock")


def render(folder: Path) -> None:
    """Write report.html from the notebook.ipynb and run.json in a folder, in one step."""
    notebook = parameters.load_notebook(folder / "notebook.ipynb")
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    records.write_text(folder / "report.html", report(notebook, run, made_from=digest(folder)))


def digest(folder: Path) -> str:
    """Hash what a report is made from: the run's files, the style, and the code that renders."""
    code = [Path(module.__file__ or "") for module in (markup, parameters)]
    files = [folder / "notebook.ipynb", folder / "run.json", *sorted(STYLE.iterdir()), Path(__file__), *code]
    hashes = (hashlib.sha256(file.read_bytes()).digest() for file in files)
    return hashlib.sha256(b"".join(hashes)).hexdigest()[:16]


def report(notebook: Mapping[str, Any], run: Mapping[str, Any], *, made_from: str) -> str:
    """Return the report of an executed notebook; `run` is run.json's content."""
    outline = _Outline()
    blocks = [block for cell in notebook["cells"] for block in _blocks(cell, outline)]
    return page(
        "report.html.j2",
        title=outline.title or run["notebook"],
        outline=outline.entries,
        blocks=blocks,
        parameters=_parameter_rows(notebook, run),
        run=run,
        error=error_of(run),
        made_from=made_from,
    )


def title_of(notebook: Mapping[str, Any]) -> str:
    """Return the first heading of a notebook's first cell, as text."""
    outline = _Outline()
    for cell in notebook["cells"][:1]:
        markup.markdown(cell["source"], trusted=True, heading=outline.heading)
    return outline.title


def figures_of(notebook: Mapping[str, Any]) -> Iterable[str]:
    """Yield the addresses of a notebook's figures, in order."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            yield from (data_address(kind, _text(data[kind])) for kind in FIGURES if kind in data)


def error_of(run: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the error that ended a run, in escaped text, or None."""
    error = run.get("error")
    return error and {name: markup.terminal(text) for name, text in error.items()}


class _Outline:
    """Draws headings with addresses and keeps them for the table of contents."""

    def __init__(self) -> None:
        self.title, self.section = "", ""
        self.entries: list[dict[str, Any]] = []
        self.used: set[str] = set()

    def heading(self, inner: str, level: int) -> str:
        text = self.section = html.unescape(re.sub(r"<[^>]+>", "", inner))
        if level == 1 and not self.title:
            self.title = text
            return ""  # the page's own header shows it
        base = re.sub(r"[^\w]+", "-", text.lower()).strip("-") or "section"
        anchor = next(a for a in (base, *(f"{base}-{n}" for n in range(2, 999))) if a not in self.used)
        self.used.add(anchor)
        if level in (2, 3):
            self.entries.append({"level": level, "html": inner, "anchor": anchor})
        link = f'<a class="anchor" href="#{anchor}" aria-hidden="true">#</a>'
        return f'<h{level} id="{anchor}">{inner}{link}</h{level}>\n'


def _blocks(cell: Mapping[str, Any], outline: _Outline) -> Iterable[dict[str, Any]]:
    tags = cell.get("metadata", {}).get("tags", ())
    if cell["cell_type"] == "markdown":
        yield {
            "kind": "prose",
            "html": markup.markdown(cell["source"], trusted=True, heading=outline.heading),
        }
    if cell["cell_type"] != "code" or "injected-parameters" in tags:
        return
    if "parameters" in tags:
        yield {"kind": "parameters"}
    if cell["source"].strip():
        failed = any(output["output_type"] == "error" for output in cell.get("outputs", ()))
        yield {"kind": "code", "html": markup.code(cell["source"]), "open": failed}
    for output in _merged(cell.get("outputs", ())):
        yield from (block | {"section": outline.section} for block in _output(output))


def _merged(outputs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Join neighbouring streams of one name, so that a progress bar written in pieces is one bar."""
    merged: list[dict[str, Any]] = []
    for output in outputs:
        last = merged[-1] if merged else {}
        if output["output_type"] == "stream" == last.get("output_type") and output["name"] == last["name"]:
            last["text"] += _text(output["text"])
        elif output["output_type"] == "stream":
            merged.append({**output, "text": _text(output["text"])})
        else:
            merged.append(dict(output))
    return merged


def _output(output: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    if output["output_type"] == "stream":
        yield from _stream(output["name"], markup.terminal(output["text"]).split("\n"))
    elif output["output_type"] == "error":
        yield {"kind": "error", "html": markup.terminal("\n".join(output["traceback"]))}
    elif WIDGET in output.get("data", {}):
        if not BAR.search(_text(output["data"].get("text/plain", ""))):
            yield {
                "kind": "note",
                "html": "Interactive: open the notebook in JupyterLab to use this control.",
            }
    else:
        data = output.get("data", {})
        kind = next((mime for mime in PREFERRED if mime in data), None)
        if kind is not None:
            yield _drawn(kind, _text(data[kind]))


def _stream(name: str, lines: list[str]) -> Iterable[dict[str, Any]]:
    """Tell progress bars, which hold times, from what was said."""
    bars = [line for line in lines if BAR.search(line)]
    said = "\n".join(line for line in lines if not BAR.search(line)).strip("\n")
    if said:
        yield {"kind": name, "html": said}
    if bars:
        yield {"kind": "volatile", "html": "\n".join(bars)}


def _drawn(kind: str, content: str) -> dict[str, Any]:
    if kind in FIGURES:
        return {"kind": "figure", "src": data_address(kind, content)}
    if kind == "text/html":
        return {"kind": "html", "html": markup.safe_html(content)}
    if kind == "text/markdown":
        return {"kind": "prose", "html": markup.markdown(content)}
    if kind == "text/latex":
        return {"kind": "prose", "html": markup.formula(content.strip("$ \n"), display=True)}
    return {"kind": "stdout", "html": markup.terminal(content)}


def data_address(kind: str, content: str) -> str:
    """Return a figure as a data: address. An <img> runs no script and keeps one SVG's ids from another's."""
    if kind != "image/svg+xml":
        return f"data:{kind};base64,{''.join(content.split())}"
    drawing = content[max(content.find("<svg"), 0) :]
    drawing = re.sub(r"(?s)<metadata>.*?</metadata>|<!--.*?-->", "", drawing)
    return f"data:{kind}," + quote(re.sub(r"\s+", " ", drawing), safe=URL_SAFE)


def _parameter_rows(notebook: Mapping[str, Any], run: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not parameters.tagged(notebook, "parameters"):
        return []
    return [
        {
            "name": name,
            "value": repr(run["parameters"].get(name)),
            "default": repr(parameter.default),
            "help": markup.inline(parameter.help),
            "changed": run["parameters"].get(name) != parameter.default,
        }
        for name, parameter in parameters.declared(notebook).items()
    ]


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)


def duration(seconds: float) -> str:
    """Return seconds as `8.2 s`, `3 min 05 s` or `2 h 10 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


@cache
def _environment():
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(STYLE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(duration=duration)
    return environment


def page(template: str, **content: Any) -> str:
    """Fill a template of `batch/style/`, with the look, the script and the policy that every page has."""
    script = (STYLE / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    css = (STYLE / "report.css").read_text(encoding="utf-8")
    return _environment().get_template(template).render(script=script, css=css, policy=policy, **content)
