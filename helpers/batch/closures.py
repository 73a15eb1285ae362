"""Closures: the files of the package that a notebook's cells can reach through their imports.

Found from the text alone, without importing anything. A change in any other module cannot change what the
notebook computes or shows. A module imported by a name that is made at run time is not seen.
"""

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PRESENTATION = "batch"  # the room whose files shape a report and never an output


def reached(cells: Iterable[str], package: Path) -> dict[str, str]:
    """Return the digest of each module of `package` that the cells reach, and of each of its data files."""
    queue = [path for cell in cells for path in _imported(_tree(cell), package, package)]
    files = (path.relative_to(package) for path in package.rglob("*") if path.is_file())
    data = (path for path in files if path.suffix not in (".py", ".pyc") and path.parts[0] != PRESENTATION)
    found = {package / path for path in data}
    while queue:
        if (path := queue.pop()) not in found:
            found.add(path)
            queue += _imports(path.read_bytes(), path, package)
    return {str(path.relative_to(package)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


@cache
def _imports(source: bytes, path: Path, package: Path) -> list[Path]:
    """Return what a module imports; parsed once for all the notebooks of a suite."""
    return _imported(ast.parse(source), path, package)


def _imported(tree: ast.Module, importer: Path, package: Path) -> list[Path]:
    """Return the package's files that a source imports, anywhere in it.

    `from helpers.corpora import labels` is the module `labels`; a name that is no module, a function of the
    package itself, is in the package's `__init__`.
    """
    names: set[tuple[str, ...]] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            home = importer.relative_to(package.parent).parts[: -node.level] if node.level else ()
            base = (*home, *filter(None, (node.module or "").split(".")))
            names |= {(*base, alias.name) for alias in node.names}
    found = (_file(name, package.parent) for name in names if name[0] == package.name)
    return [path for path in found if path]


def _file(name: tuple[str, ...], root: Path) -> Path | None:
    """Return the file of the longest module that a dotted name starts with."""
    for length in range(len(name), 0, -1):
        place = root.joinpath(*name[:length])
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return path
    return None


def _tree(cell: str) -> ast.Module:
    """Parse a cell; IPython is asked only where its own syntax (%, !, ?) stands in the way."""
    try:
        return ast.parse(cell)
    except SyntaxError:
        from IPython.core.inputtransformer2 import TransformerManager
    try:
        return ast.parse(TransformerManager().transform_cell(cell))
    except SyntaxError:  # the run will fail on this cell, and a failed run is always done again
        return ast.Module([], [])
