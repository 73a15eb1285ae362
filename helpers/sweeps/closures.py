"""Closures: the files of the package that a notebook's cells can reach through their imports.

A change in any other module cannot change what the notebook computes or shows.
"""

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from helpers.sweeps.code import imported

PRESENTATION = "batch"  # the room whose files shape a report and never an output


def reached(cells: Iterable[str], package: Path) -> dict[str, str]:
    """Return the digest of each module of `package` that the cells reach, and of each of its data files."""
    files = (path.relative_to(package) for path in package.rglob("*") if path.is_file())
    data = (path for path in files if path.suffix not in (".py", ".pyc") and path.parts[0] != PRESENTATION)
    found = {package / path for path in data} | _sources(cells, package)
    return {str(path.relative_to(package)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def modules(cells: Iterable[str], package: Path) -> list[str]:
    """Return the names of the modules of `package` that the cells reach."""
    names = (path.relative_to(package.parent).with_suffix("").parts for path in _sources(cells, package))
    return sorted(".".join(name[:-1] if name[-1] == "__init__" else name) for name in names)


def _sources(cells: Iterable[str], package: Path) -> set[Path]:
    queue = [path for cell in cells for path in imported(_tree(cell), package, package)]
    found: set[Path] = set()
    while queue:
        if (path := queue.pop()) not in found:
            found.add(path)
            queue += _imports(path.read_bytes(), path, package)
    return found


@cache
def _imports(source: bytes, path: Path, package: Path) -> list[Path]:
    """Return what a module imports; parsed once for all the notebooks of a suite."""
    return imported(ast.parse(source), path, package)


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
