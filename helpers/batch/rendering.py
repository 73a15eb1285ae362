"""Rendering: an executed notebook as one HTML page that needs no network and, to be made, no kernel.

The page is a document, not a picture of JupyterLab: the answer first, then prose and figures, code folded,
what a run was made of in an appendix; of a failed run, the cell and its error first. The look lives in
`batch/style/`; text becomes HTML in `markup`, figures in `drawings`, the answer in `summary`. A content
policy in every page forbids scripts other than its own and every request.
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
from helpers.batch import drawings, glosses, grids, markup, parameters, summary
from helpers.display import messages, notation, phrases, translations

STYLE = Path(__file__).parent / "style"
PREFERRED = (*drawings.KINDS, "text/html", "text/markdown", "text/latex", "text/plain")
WIDGET = "application/vnd.jupyter.widget-view+json"
BAR = re.compile(r"\d%\|")  # tqdm's
KEY = "key-figure"  # the tag of the cell whose figure stands beside the answer
# What a page is made from, apart from the run: a report is rendered again when one of them changes.
CODE = (drawings, glosses, markup, messages, notation, parameters, phrases, summary, translations)


def edition(notebook: Path, language: str) -> dict[str, Any]:
    """Return how a notebook's page is written: the language, and where its prose is translated into it."""
    return {"language": language, "prose": notebook.parent / language if language != "en" else None}


def refresh(folder: Path, *, language: str = "en", prose: Path | None = None, force: bool = False) -> bool:
    """Render the report of an executed notebook anew if it is stale; tell whether that was done.

    `prose` is the folder of the catalogues that translate the notebooks: `notebooks/<language>`.
    """
    with lock(folder.parent):
        due = force or is_stale(folder, language=language, prose=prose)
        if due:
            render(folder, language=language, prose=prose)
        return due


def is_stale(folder: Path, *, language: str = "en", prose: Path | None = None) -> bool:
    """Tell whether a report is missing, or made from another run, style, language or code."""
    try:
        page = (folder / "report.html").read_text(encoding="utf-8")
        made_from = digest(folder, language=language, prose=prose)
        return f'<meta name="made-from" content="{made_from}">' not in page
    except FileNotFoundError:
        return True


def lock(reports: Path):
    """Return the lock of a suite's folder, held while a report is put in place; freed if the holder dies."""
    from filelock import FileLock

    return FileLock(reports / ".lock")


def render(folder: Path, *, language: str = "en", prose: Path | None = None) -> None:
    """Write report.html from what a run left in a folder, in one step."""
    notebook, run, metrics = read(folder, prose)
    page = report(
        notebook, run, metrics, made_from=digest(folder, language=language, prose=prose), language=language
    )
    records.write_text(folder / "report.html", page)


def read(folder: Path, prose: Path | None = None) -> tuple[dict, dict, dict]:
    """Return a run's notebook, run.json and metrics.json (empty if there is none), translated by `prose`."""
    notebook = parameters.load_notebook(folder / "notebook.ipynb")
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    recorded = folder / "metrics.json"
    metrics = json.loads(recorded.read_text(encoding="utf-8")) if recorded.is_file() else {}
    if prose is None:
        return notebook, run, metrics
    catalogue = translations.load(prose, run["notebook"])
    return catalogue.notebook(notebook), run, catalogue.metrics(metrics) if metrics else metrics


def digest(folder: Path, *, language: str = "en", prose: Path | None = None) -> str:
    """Hash what a report is made from: the run's files, the language, the style, the code that renders."""
    files = [folder / name for name in ("notebook.ipynb", "run.json", "metrics.json")]
    files += [*sorted(STYLE.iterdir()), glosses.GLOSSARY, Path(__file__)]
    files += [Path(module.__file__ or "") for module in CODE]
    own = folder.name.partition(grids.MARK)[0]
    files += [prose / f"{own}.yaml", translations.SHARED / f"{language}.yaml"] if prose else []
    hashes = [hashlib.sha256(file.read_bytes()).digest() for file in files if file.is_file()]
    return hashlib.sha256(b"".join([language.encode(), *hashes])).hexdigest()[:16]


def report(
    notebook: Mapping[str, Any],
    run: Mapping[str, Any],
    metrics: Mapping[str, Any] | None = None,
    *,
    made_from: str,
    language: str = "en",
) -> str:
    """Return the report of an executed notebook; `run` and `metrics` as in run.json and metrics.json."""
    writer = _Report(run["notebook"], language)
    writer.annotate.section()
    answer = summary.summary(metrics or {}, writer.words, writer.annotate)
    blocks = [block for cell in notebook["cells"] for block in writer.blocks(cell)]
    figures = {block["number"]: block["figure"] for block in blocks if block["kind"] == "figure"}
    return page(
        "report.html.j2",
        language=language,
        title=writer.title or run["notebook"],
        summary=answer,
        key=None if run.get("error") else figures.get(key_figure(notebook) or 0),  # an error comes first
        outline=writer.entries,
        blocks=blocks,
        parameters=_parameter_rows(notebook, run, writer.annotate),
        run=run,
        failure=_failure(notebook, run, writer),
        terms=sorted(writer.annotate.used.values(), key=lambda term: term.name.lower()),
        made_from=made_from,
    )


def title_of(notebook: Mapping[str, Any]) -> str:
    """Return the first heading of a notebook's first cell, as text."""
    writer = _Report("", "en")
    for cell in notebook["cells"][:1]:
        markup.markdown(cell["source"], trusted=True, heading=writer.heading)
    return writer.title


def key_figure(notebook: Mapping[str, Any]) -> int | None:
    """Return the number of the figure that answers: tagged, or the first of the evidence, or the first."""
    places: dict[str, int] = {}
    number, evidence = 0, False
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and (
            sections := re.findall(r"(?m)^## +(.+?)\s*$", cell["source"])
        ):
            evidence = sections[-1] in messages.MESSAGES["Evidence"]
        for _ in pictures(cell):
            number += 1
            for name, here in (("tag", KEY in _tags(cell)), ("evidence", evidence), ("any", True)):
                if here:
                    places.setdefault(name, number)
    return next((places[name] for name in ("tag", "evidence", "any") if name in places), None)


def pictures(cell: Mapping[str, Any]) -> Iterable[tuple[str, str, dict[str, Any]]]:
    """Yield kind, content and words of the figures of a cell, as the page shows them."""
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        kind = next((kind for kind in PREFERRED if kind in data), "")
        if kind in drawings.KINDS and WIDGET not in data:
            yield kind, _text(data[kind]), output.get("metadata", {}).get(kind, {})


def error_of(run: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the error that ended a run, in escaped text, or None."""
    error = run.get("error")
    return error and {name: markup.terminal(text) for name, text in error.items()}


class _Report:
    """Turns the cells of one notebook into blocks of a page, and keeps their headings for the contents."""

    def __init__(self, name: str, language: str) -> None:
        self.name, self.words = name, messages.Words(language)
        self.annotate = glosses.Annotator(language)
        self.drawings = drawings.Drawings()
        self.title, self.section = "", ""
        self.entries: list[dict[str, Any]] = []
        self.used: set[str] = set()
        self.tables = 0

    def heading(self, inner: str, level: int) -> str:
        """Return a heading with an address; the first of level 1 is the page's own title."""
        inner = self.words.known(inner)
        text = self.section = html.unescape(re.sub(r"<[^>]+>", "", inner))
        if level == 1 and not self.title:
            self.title = text
            return ""  # the page's own header shows it
        base = re.sub(r"[^\w]+", "-", text.lower()).strip("-") or "section"
        anchor = next(a for a in (base, *(f"{base}-{n}" for n in range(2, 999))) if a not in self.used)
        self.used.add(anchor)
        if level in (2, 3):
            self.entries.append({"level": level, "html": inner, "anchor": anchor})
        link = f'<a class="anchor" href="#{anchor}" tabindex="-1" aria-hidden="true">#</a>'
        return f'<h{level} id="{anchor}">{inner}{link}</h{level}>\n'

    def blocks(self, cell: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
        tags = _tags(cell)
        english = self.words.language != "en" and not cell.get("metadata", {}).get("translated")
        if cell["cell_type"] == "markdown":
            text = markup.markdown(cell["source"], trusted=True, heading=self.heading)
            if re.search("<h2", text):
                self.annotate.section()
            yield {"kind": "prose", "html": self.annotate(text), "english": english}
        if cell["cell_type"] != "code" or "injected-parameters" in tags:
            return
        if "parameters" in tags:
            yield {"kind": "parameters", "english": False}
        if cell["source"].strip():
            failed = any(output["output_type"] == "error" for output in cell.get("outputs", ()))
            code = self.annotate(f'<pre tabindex="0">{markup.code(cell["source"])}</pre>')
            yield {"kind": "code", "html": code, "open": failed, "english": False}
        for output in _merged(cell.get("outputs", ())):
            yield from (block | {"english": english} for block in self.output(output))

    def output(self, output: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
        if output["output_type"] == "stream":
            yield from _stream(output["name"], markup.terminal(output["text"]).split("\n"))
        elif output["output_type"] == "error":
            yield {"kind": "error", "html": markup.terminal("\n".join(output["traceback"]))}
        elif WIDGET in output.get("data", {}):
            if not BAR.search(_text(output["data"].get("text/plain", ""))):
                yield {"kind": "note", "html": self.words("interactive")}
        else:
            data = output.get("data", {})
            kind = next((mime for mime in PREFERRED if mime in data), None)
            if kind is not None:
                words = output.get("metadata", {}).get(kind, {})
                yield self.drawn(kind, _text(data[kind]), words, _text(data.get("text/csv", "")))

    def drawn(self, kind: str, content: str, words: dict[str, Any], csv: str) -> dict[str, Any]:
        if kind in drawings.KINDS:
            words = {"alt": f"{self.words('figure', number=self.drawings.count + 1)}: {self.section}"} | words
            figure = self.drawings.add(kind, content, words)
            figure |= {
                name: self.annotate(html.escape(figure[name], quote=False))
                for name in ("title", "description")
            }
            return {"kind": "figure", "figure": figure, "number": figure["number"]}
        if kind == "text/html" and "<table" in content:
            return self.table(markup.safe_html(content), csv)
        if kind == "text/html":
            return {"kind": "html", "html": self.annotate(markup.safe_html(content))}
        if kind == "text/markdown":
            return {"kind": "prose", "html": self.annotate(markup.markdown(content))}
        if kind == "text/latex":
            return {"kind": "prose", "html": markup.formula(content.strip("$ \n"), display=True)}
        return {"kind": "stdout", "html": markup.terminal(content)}

    def table(self, content: str, csv: str) -> dict[str, Any]:
        """Return a table with its headings marked, and its CSV."""
        self.tables += 1
        content = markup.accessible(content)
        caption = re.search(r"(?s)<caption>(.*?)</caption>", content)
        label = (
            html.unescape(re.sub(r"<[^>]+>", "", caption[1]))
            if caption
            else f"{self.words('table')} {self.tables}"
        )
        address = f"data:text/csv;charset=utf-8,{quote(csv, safe=drawings.URL_SAFE)}" if csv else ""
        file = re.sub(r"\W+", "-", label.lower()).strip("-")[:60]
        return {"kind": "table", "html": self.annotate(content), "label": label, "csv": address,
                "file": f"{self.name}-{file}.csv"}  # fmt: skip


def _failure(notebook: Mapping[str, Any], run: Mapping[str, Any], writer: _Report) -> dict[str, Any] | None:
    """Return the error that ended a run and, if a cell raised it, that cell and its section."""
    error = error_of(run)
    if error is None:
        return None
    section = ""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and (
            sections := re.findall(r"(?m)^## +(.+?)\s*$", cell["source"])
        ):
            section = writer.words.known(sections[-1])
        if any(output["output_type"] == "error" for output in cell.get("outputs", ())):
            return error | {"code": markup.code(cell["source"]), "section": section}
    return error | {"code": "", "section": ""}


def _tags(cell: Mapping[str, Any]) -> list[str]:
    return cell.get("metadata", {}).get("tags", [])


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


def _stream(name: str, lines: list[str]) -> Iterable[dict[str, Any]]:
    """Tell progress bars, which hold times, from what was said."""
    bars = [line for line in lines if BAR.search(line)]
    said = "\n".join(line for line in lines if not BAR.search(line)).strip("\n")
    if said:
        yield {"kind": name, "html": said}
    if bars:
        yield {"kind": "volatile", "html": "\n".join(bars)}


def _parameter_rows(notebook: Mapping[str, Any], run: Mapping[str, Any], annotate) -> list[dict[str, Any]]:
    if not parameters.tagged(notebook, "parameters"):
        return []
    return [
        {
            "name": name,
            "value": repr(run["parameters"].get(name)),
            "default": repr(parameter.default),
            "help": annotate(markup.inline(parameter.help), terms=False),
            "changed": run["parameters"].get(name) != parameter.default,
        }
        for name, parameter in parameters.declared(notebook).items()
    ]


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)


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
    environment.globals.update(again=drawings.again)
    return environment


def page(template: str, *, language: str = "en", **content: Any) -> str:
    """Fill a template of `batch/style/`, with the words, the look, the script and the policy of all pages."""
    script = (STYLE / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    css = (STYLE / "report.css").read_text(encoding="utf-8")
    words = messages.Words(language)
    return (
        _environment()
        .get_template(template)
        .render(script=script, css=css, policy=policy, language=language, words=words, **content)
    )
