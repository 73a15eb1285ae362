"""Batch runs: parameter files in, HTML reports out."""

import sys

# jsonschema, which checks notebooks, would compile a grammar of IRIs that no notebook's schema asks for: a
# second of every process. Without the module it leaves that check out.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
