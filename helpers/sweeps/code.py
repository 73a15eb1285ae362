"""The version of the code that a sweep runs: a hash of what a module and its imports can compute."""

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
from pathlib import Path

LIBRARIES = ("numpy", "tokenizers", "torch", "transformers")  # another version may give another result


@functools.cache
def code_version(module: str) -> str:
    """Hash the code of a module and of the helpers modules it imports, directly or not.

    Comments, docstrings and layout are left out, and so is what only type checkers import: none of them can
    change a result.
    """
    code: dict[str, str] = {}
    queue = [module]
    while queue:
        if (current := queue.pop()) not in code:
            source = Path(importlib.util.find_spec(current).origin).read_text(encoding="utf-8")
            code[current], imported = _parsed(current, source)
            queue += imported
    versions = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return hashlib.sha256(json.dumps([code, versions], sort_keys=True).encode()).hexdigest()[:32]


@functools.cache
def _parsed(module: str, source: str) -> tuple[str, list[str]]:
    """Return the code of a source, and the helpers modules it imports."""
    tree = _Computing().visit(ast.parse(source))
    return ast.dump(tree), _imported_helpers(module, tree)


class _Computing(ast.NodeTransformer):
    """Drop docstrings, other bare strings, and the branch that only type checkers take."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        bare = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if bare else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        typing = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if typing else self.generic_visit(node)


def _imported_helpers(module: str, tree: ast.AST) -> list[str]:
    """Name the helpers modules that a module imports, anywhere in it.

    `from helpers.corpora import labels` is the module `labels`; only a name that is no module, a function of
    the package itself, makes the package's `__init__` part of the code.
    """
    names, spec = set(), importlib.util.find_spec(module)
    package = module if spec.submodule_search_locations else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names.update(
                found if _is_module(found := f"{base}.{alias.name}") else base for alias in node.names
            )
    return sorted(name for name in names if name.startswith("helpers."))


def _is_module(name: str) -> bool:
    path = Path(__file__).parents[2].joinpath(*name.split("."))
    return path.with_name(f"{path.name}.py").is_file() or path.joinpath("__init__.py").is_file()
