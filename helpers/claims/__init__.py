"""Every claim of the studies and of README.md, recomputed: `nunchi ledger`.

`helpers/reference/ledger.csv` says what was claimed, by whom, and what recomputes it; `published` recomputes
from the studies' own tables, `files` from the real data, `readme` from recorded runs.
"""
