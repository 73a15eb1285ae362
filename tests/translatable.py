"""What a page in another language has to translate: the notebooks' texts, and those of the code behind.

`python -m tests.translatable` prints what the Korean catalogues lack, ready to be filled in; with folders of
rendered runs, also what their pages leave in English.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import yaml

from helpers.batch import parameters
from helpers.display import phrases, translations

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# Modules whose strings reach a page: tables, figures, sentences. Errors, logs and command lines stay English.
HELPERS = [
    ROOT / "helpers" / name
    for name in (
        "declarations.py", "grids.py", "records.py",
        "pretrained/__init__.py", "corpora/checks.py", "display/explorers.py",
        "display/figures.py", "display/highlight.py", "display/wording.py", "relations/data.py",
        "eda/*.py", "relations/*.py", "entities/*.py", "multilabel/*.py", "coreference/*.py",
    )
]  # fmt: skip
NOT_SHOWN = {
    "ValueError",
    "ArgumentParser",
    "add_argument",
    "warn",
    "compile",
    "sub",
    "fullmatch",
    "query",
    "removesuffix",
}
PLACES = {"loc", "textcoords", "where"}  # arguments that are no text
SPOKEN = {"caption", "unit", "title", "description", "xlabel", "ylabel", "question", "verdict", "label"}


def of_notebook(path: Path) -> dict[str, None]:
    """Return the texts of a notebook that its report shows, in order, each once."""
    notebook, found = parameters.load_notebook(path), {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            found |= dict.fromkeys(translations.lines(cell["source"]))
        elif "parameters" in cell["metadata"].get("tags", ()):
            declared = parameters.declared(notebook).values()
            found |= dict.fromkeys(parameter.help for parameter in declared)
        else:
            found |= dict.fromkeys(of_code(cell["source"]))
    return dict.fromkeys(text for text in found if phrases.WORD.search(phrases.FIELD.sub("", text)))


def of_helpers() -> dict[str, None]:
    """Return the texts of the package that reach a report."""
    files = [file for pattern in HELPERS for file in sorted(pattern.parent.glob(pattern.name))]
    files = [file for file in files if file.name != "commands.py"]
    found = [text for file in files for text in of_code(file.read_text(encoding="utf-8"))]
    return dict.fromkeys(text for text in found if phrases.WORD.search(phrases.FIELD.sub("", text)))


def of_code(source: str) -> list[str]:
    """Return the strings with several words, and those that name what is shown, as templates."""
    return [text for text in _walk(ast.parse(source), spoken=False) if text.strip()]


def _walk(node: ast.AST, *, spoken: bool) -> Iterator[str]:
    if isinstance(node, ast.Raise | ast.Assert):
        return
    if isinstance(node, ast.Call) and _name(node.func) in NOT_SHOWN:
        return
    if (isinstance(node, ast.keyword) and node.arg in PLACES) or _is_docstring(node):
        return
    if isinstance(node, ast.Constant | ast.JoinedStr):
        text = template(node)
        if not re.search("<|px |;[a-z-]+:", text) and (spoken or " " in text.strip()):
            yield text
        node = ast.Module([part.value for part in getattr(node, "values", ()) if hasattr(part, "value")], [])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _added(node, spoken)
        return
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, ast.keyword) and child.arg in SPOKEN
        yield from _walk(child, spoken=named or (spoken and not isinstance(child, ast.Call | ast.Subscript)))


def _added(node: ast.BinOp, spoken: bool) -> Iterator[str]:
    """A text that is added to another one and goes on with a space takes the other for a field of its own."""
    for side in (node.left, node.right):
        text = template(side) if isinstance(side, ast.Constant | ast.JoinedStr) else ""
        if side is node.right and re.match(r" \w", text or ""):
            yield "{_}" + text
        else:
            yield from _walk(side, spoken=spoken)


def template(node: ast.expr) -> str:
    """Return a string or an f-string with its fields named: by their variable, or else by their number."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    text, number = "", 0
    for part in node.values if isinstance(node, ast.JoinedStr) else ():
        if isinstance(part, ast.Constant):
            text += part.value
        elif isinstance(part, ast.FormattedValue):
            number += 1
            name = part.value.id if isinstance(part.value, ast.Name) else str(number)
            form = template(part.format_spec) if part.format_spec else ""
            text += f"{{{name}:{form}}}" if form and "{" not in form else f"{{{name}}}"
    return text


def _name(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def missing(language: str) -> dict[str, list[str]]:
    """Return the untranslated texts by catalogue: that of each notebook, and the package's own."""
    shared = translations.shared(language)
    lacking = {"": [text for text in of_helpers() if text not in shared]}
    for path in NOTEBOOKS:
        known = shared | dict(translations.pairs(path.parent / language / f"{path.stem}.yaml"))
        lacking[path.stem] = [text for text in of_notebook(path) if text not in known]
    return {name: texts for name, texts in lacking.items() if texts}


def stale(language: str) -> dict[str, list[str]]:
    """Return the translations of texts that a notebook no longer has."""
    found = {}
    for path in NOTEBOOKS:
        known = translations.pairs(path.parent / language / f"{path.stem}.yaml")
        texts, code = of_notebook(path), path.read_text(encoding="utf-8")
        found[path.stem] = [
            english for english, _ in known if english not in texts and f'\\"{english}\\"' not in code
        ]
    return {name: texts for name, texts in found.items() if texts}


def catalogues(language: str) -> list[Path]:
    """Return the files that translate into a language."""
    return [translations.SHARED / f"{language}.yaml", *sorted((ROOT / "notebooks" / language).glob("*.yaml"))]


class _Shown(HTMLParser):
    """The texts of a page that a reader sees, without code, data and names that are addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.within, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        hidden = (
            tag in ("code", "pre", "script", "style", "math", "head") or attributes.get("class") == "output"
        )
        if tag not in ("br", "meta", "link", "hr", "img", "input", "path", "use", "line", "rect"):
            self.within.append((tag, hidden))
        self.texts += [attributes[name] for name in ("aria-label", "title", "alt") if attributes.get(name)]

    def handle_endtag(self, tag):
        while self.within and self.within.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if data.strip() and not any(hidden for _, hidden in self.within):
            self.texts.append(" ".join(data.split()))


def english_in(page: str) -> list[str]:
    """Return the texts of a page in which three ordinary English words follow one another."""
    shown = _Shown()
    shown.feed(page)
    three = re.compile(rf"(?:{phrases.WORD.pattern} +){{2}}{phrases.WORD.pattern}")
    return list(dict.fromkeys(text for text in shown.texts if three.search(text)))


def words_in(page: str) -> list[str]:
    """Return the texts of a page that hold an ordinary English word: names, and what may be missing."""
    shown = _Shown()
    shown.feed(page)
    return list(dict.fromkeys(text for text in shown.texts if phrases.WORD.search(text)))


def to_fill_in(texts: Iterable[str]) -> str:
    """Return texts as lines of a catalogue whose translations are to be written."""
    pairs = [{"en": text, "ko": ""} for text in texts]
    return yaml.safe_dump(pairs, allow_unicode=True, sort_keys=False, width=10_000)


if __name__ == "__main__":
    for name, texts in missing("ko").items():
        place = f"notebooks/ko/{name}.yaml" if name else "helpers/display/ko.yaml"
        print(f"# {place}: {len(texts)} missing\n{to_fill_in(texts)}")
    for name, texts in stale("ko").items():
        print(f"# notebooks/ko/{name}.yaml: no longer used\n{to_fill_in(texts)}", file=sys.stderr)
    for page in [page for folder in sys.argv[1:] for page in sorted(Path(folder).rglob("report.html"))]:
        left = words_in(page.read_text(encoding="utf-8"))
        print(f"# left in English by {page}\n{to_fill_in(left)}" if left else "")
