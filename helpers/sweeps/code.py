"""What code a result depends on: the files that imports reach, and a hash of what they can compute.

Imports are found in the text, so nothing is imported to follow them. A module that is imported by a name made
at run time is not seen.
"""

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
LIBRARIES = ("numpy", "tokenizers", "torch", "transformers")  # another version may give another result


@functools.cache
def code_version(module: str) -> str:
    """Hash the code of a module and of the helpers modules it imports, directly or not.

    Comments, docstrings and layout are left out, and so is what only type checkers import: none of them can
    change a result.
    """
    versions = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return hashlib.sha256(json.dumps([_closure(module), versions], sort_keys=True).encode()).hexdigest()[:32]


def trains(module: str) -> bool:
    """Say whether a module, or one that it imports, uses the training loop."""
    return "learning/loop.py" in _closure(module)


def _closure(module: str) -> dict[str, str]:
    """Return the code of a module and of the helpers modules it imports, by name."""
    spec = importlib.util.find_spec(module)
    assert spec and spec.origin, f"{module} has no source file"
    code: dict[str, str] = {}
    queue = [Path(spec.origin).resolve()]
    while queue:
        path = queue.pop()
        name = path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else module
        if name not in code:
            code[name], reached = _parsed(path.read_text(encoding="utf-8"), path)
            queue += reached
    return code


def imported(tree: ast.AST, importer: Path, package: Path = PACKAGE) -> list[Path]:
    """Return the package's files that a source imports, anywhere in it.

    `from helpers.corpora import labels` is the module `labels`; only a name that is no module, a function of
    the package itself, is in the package's `__init__`.
    """
    names: set[tuple[str, ...]] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            home = importer.relative_to(package.parent).parts[: -node.level] if node.level else ()
            base = (*home, *filter(None, (node.module or "").split(".")))
            names |= {(*base, alias.name) for alias in node.names}
    found = (_file(name, package.parent) for name in sorted(names) if name[0] == package.name)
    return [path for path in found if path]


@functools.cache
def _parsed(source: str, path: Path) -> tuple[str, list[Path]]:
    """Return the code of a source, and the files of the package that it imports."""
    tree = _Computing().visit(ast.parse(source))
    return ast.dump(tree), imported(tree, path)


class _Computing(ast.NodeTransformer):
    """Drop docstrings, other bare strings, and the branch that only type checkers take."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        bare = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if bare else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        typing = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if typing else self.generic_visit(node)


def _file(name: tuple[str, ...], root: Path) -> Path | None:
    """Return the file of the longest module that a dotted name starts with."""
    for length in range(len(name), 0, -1):
        place = root.joinpath(*name[:length])
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return path
    return None
