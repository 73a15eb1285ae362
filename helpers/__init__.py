"""Nunchi's helpers: one noun per module, imported where used.

No room is imported here, so `import helpers` costs nothing and pulls in no torch. It only sees to it that
transformers' Auto classes know the models of `helpers.learning` as soon as they are imported themselves:
`AutoModel.from_pretrained` then reads the folders that notebooks keep.
"""

import sys
from importlib import import_module, util

_AUTO, _OURS = "transformers.models.auto.modeling_auto", "helpers.learning.heads"


class _Registration:
    """An import hook for one module: once the Auto classes are there, ours are registered, and it is gone."""

    def find_spec(self, name, path=None, target=None):
        if name != _AUTO:
            return None
        sys.meta_path.remove(self)
        spec = util.find_spec(name)
        assert spec is not None and spec.loader is not None  # transformers is installed
        run = spec.loader.exec_module

        def run_and_register(module) -> None:
            run(module)
            if "helpers.learning.bilstm" not in sys.modules:  # else it is what imports them, and registers
                import_module(_OURS)

        spec.loader.exec_module = run_and_register  # type: ignore[method-assign]
        return spec


if _AUTO in sys.modules:
    import_module(_OURS)
else:
    sys.meta_path.insert(0, _Registration())
