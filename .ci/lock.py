"""Write requirements.txt: the newest versions that pip resolves for pyproject.toml and its extra `dev`.

Run it by `make lock`. Nothing is installed. The file names packages and versions only, no index and no build:
`torch==2.13.0` is met by the CPU build and by every CUDA build.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

HEADER = """\
# Every package at the version the figures in this repository were produced with. Written by `make lock`, on
# Linux with Python 3.11; the ranges are in pyproject.toml. The CUDA packages that some builds of torch bring
# are left out: pip adds those that the chosen build needs (README.md, "GPUs, and which build of torch").
# What only developers need is marked `# dev`: it cannot change a figure.
"""
CUDA = re.compile(r"nvidia-|cuda-|triton$")


def resolved(project: str) -> dict[str, str]:
    """Ask pip what it would install: {normalised name: version without the build}."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
    found = subprocess.run(
        [*command, "--report", "-", *sys.argv[1:], project],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    packages = [package["metadata"] for package in json.loads(found.stdout)["install"]]
    names = {re.sub(r"[-_.]+", "-", one["name"]).lower(): one["version"] for one in packages}
    return {name: version.partition("+")[0] for name, version in names.items()}


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    pins, needed = resolved(f"{root}[dev]"), resolved(str(root))
    pins = {name: version for name, version in pins.items() if not CUDA.match(name) and name != "nunchi"}
    lines = [
        f"{name}=={version}{'' if name in needed else '  # dev'}\n" for name, version in sorted(pins.items())
    ]
    (root / "requirements.txt").write_text(HEADER + "".join(lines))
    print(f"requirements.txt: {len(pins)} packages")
