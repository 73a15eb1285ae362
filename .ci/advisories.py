"""Refuse pins with a known advisory: `python .ci/advisories.py`, offline and without a package of its own.

The list holds what has concerned the packages of this project; `pip-audit`, weekly, finds what is new. Add a
line when it does, raise the lower bound in pyproject.toml, and `make lock`.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The first version without it, and the advisory.
FIXED = {
    "filelock": ("3.20.1", "CVE-2025-68146"),
    "fonttools": ("4.60.2", "CVE-2025-66034"),
    "h11": ("0.16.0", "CVE-2025-43859"),
    "jinja2": ("3.1.6", "CVE-2025-27516"),
    "jupyter-core": ("5.8.0", "CVE-2025-30167"),
    "jupyter-server": ("2.20.0", "CVE-2026-44727"),
    "jupyterlab": ("4.4.8", "CVE-2025-59842"),
    "pillow": ("11.3.0", "CVE-2025-48379"),
    "protobuf": ("6.31.1", "CVE-2025-4565"),
    "pyarrow": ("14.0.1", "CVE-2023-47248"),
    "pyyaml": ("5.4", "CVE-2020-14343"),
    "requests": ("2.32.4", "CVE-2024-47081"),
    "setuptools": ("78.1.1", "CVE-2025-47273"),
    "torch": ("2.6.0", "CVE-2025-32434"),
    "tornado": ("6.5", "CVE-2025-47287"),
    "urllib3": ("2.5.0", "CVE-2025-50181"),
}


def pins(text: str) -> dict[str, str]:
    """Return {package: version} of a requirements file."""
    return dict(re.findall(r"(?m)^([a-z0-9.-]+)==(\S+)", text))


def known(pinned: dict[str, str]) -> list[str]:
    """Return a sentence for every pin that an advisory concerns."""
    return [
        f"{name} {pinned[name]} has {advisory}; {fixed} is the first without it"
        for name, (fixed, advisory) in FIXED.items()
        if name in pinned and _order(pinned[name]) < _order(fixed)
    ]


def _order(version: str) -> tuple[int, ...]:
    """Return the numbers of a release; what comes after them (rc1, +cpu) does not count."""
    return tuple(int(part) for part in re.match(r"\d+(\.\d+)*", version)[0].split("."))


if __name__ == "__main__":
    sys.exit("\n".join(known(pins((ROOT / "requirements.txt").read_text(encoding="utf-8")))) or 0)
