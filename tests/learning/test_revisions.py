"""A model on the hub at a commit of its own."""

import os
import subprocess
import sys

from helpers.learning import encoders

CODE = """
from helpers.learning.encoders import load_encoder
print([load_encoder(name).config.hidden_size for name in ("a/b", "a/b@" + "1" * 40)])
"""


def test_the_named_commit_is_read_and_not_the_newest(tmp_path):
    """A cache as the hub's library lays it out, with two commits of one model."""
    home = tmp_path / "models--a--b"
    for commit, hidden in (("1" * 40, 32), ("2" * 40, 64)):
        small = encoders.encoder("bert", vocab_size=20, hidden=hidden, layers=1)
        small.save_pretrained(home / "snapshots" / commit)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text("2" * 40)
    offline = {"HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=os.environ | offline, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[64, 32]"
