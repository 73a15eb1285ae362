"""What all generators have in common: rows depend on their key alone, bad requests are refused."""

import hashlib
import json
import subprocess
import sys

import pytest

from . import generate

GENERATORS = ("entities", "relations", "documents", "lambada", "posts")


@pytest.mark.parametrize("name", GENERATORS)
def test_a_shorter_request_is_the_prefix_of_a_longer_one(name):
    assert generate(name, rows=40) == generate(name, rows=90)[:40]
    assert generate(name, "dev", rows=40, seed=1) != generate(name, "dev", rows=40, seed=2)
    assert generate(name, rows=0) == []


@pytest.mark.parametrize("name", GENERATORS)
def test_bad_requests_are_refused(name):
    with pytest.raises(ValueError, match="split"):
        generate(name, "test")
    with pytest.raises(ValueError, match="rows"):
        generate(name, rows=-1)


def test_rows_do_not_depend_on_the_hash_seed_or_on_earlier_calls():
    code = (
        "import sys, json, zlib; from helpers import sample_world as w\n"
        "names = sys.argv[1].split(',')\n"
        "out = {n: zlib.crc32(json.dumps(list(getattr(w, n)('dev', 60, 5))).encode()) for n in names}\n"
        "print(sorted(out.items()))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code, ",".join(names)],
            env={"PYTHONHASHSEED": salt, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for salt, names in (("1", GENERATORS), ("2", GENERATORS[::-1]))
    }
    assert len(runs) == 1


def test_import_is_cheap_and_pulls_in_nothing_heavy():
    code = "import sys, helpers.sample_world; print({'numpy', 'torch', 'sklearn'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("name", "split", "seed", "want"),
    [
        ("entities", "train", 0, "40c1382a5178636b"),
        ("entities", "dev", 3, "6e026fda5b1d3e14"),
        ("relations", "train", 0, "3d4d362205a55b33"),
        ("relations", "dev", 3, "583bc962e7163206"),
        ("documents", "train", 0, "238d87405f1465ee"),
        ("documents", "dev", 3, "b770a53ebbafa69d"),
        ("lambada", "train", 0, "7a78a4ae1017ffc4"),
        ("lambada", "dev", 3, "43bee3eb8f95e984"),
        ("posts", "train", 0, "1a45145cb8d548f4"),
        ("posts", "dev", 3, "eeb19b4a7e610e8a"),
    ],
)
def test_rows_are_those_on_which_results_were_recorded(name, split, seed, want):
    """Editing a template or a word list moves every figure that was measured on the sample world."""
    rows = json.dumps(generate(name, split, 200, seed), ensure_ascii=False)
    assert hashlib.sha256(rows.encode()).hexdigest()[:16] == want
