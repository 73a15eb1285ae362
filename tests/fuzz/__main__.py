"""`python -m tests.fuzz --minutes 10`: mutate valid files until the time is up, save what breaks a reader.

Every input must give a valid data set or a short ValueError that names the file, within ten seconds of the
processor and one gigabyte. A child process does the reading: one that dies or hangs is a finding too, and
another goes on.
"""

import argparse
import collections
import contextlib
import io
import multiprocessing
import os
import random
import resource
import shutil
import signal
import tempfile
import time
import traceback
from pathlib import Path

from tests import proof
from tests.conftest import ROOT
from tests.fuzz import mutations, targets

SECONDS, GIGABYTE = 10, 2**30
FINDINGS = ROOT / "reports" / "fuzz"


def main() -> int:
    parser = argparse.ArgumentParser("tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="of the mutations (default: the clock)"
    )
    parser.add_argument("--only", default="", help="only targets whose name contains this")
    parser.add_argument("--record", action="store_true", help="for README, with `make readme`")
    options = parser.parse_args()
    end, counts, findings = time.time() + 60 * options.minutes, collections.Counter(), {}
    context, child = multiprocessing.get_context("fork"), 0
    while time.time() < end:
        mine, theirs = context.Pipe()
        arguments = (options.seed + 1000 * child, options.only, end, theirs)
        process = context.Process(target=_work, args=arguments)
        process.start()
        theirs.close()
        last = _listen(mine, counts, findings)
        process.join()
        if process.exitcode:
            _found(
                findings, *last, f"the process ended with code {process.exitcode}: a crash, or {SECONDS} s"
            )
        child += 1
    for (target, kind), count in sorted(counts.items()):
        print(f"{target:28} {kind:8} {count:8,}")
    tried = f"{sum(counts.values()):,} inputs in {options.minutes:g} minutes"
    print(f"seed {options.seed}: {tried}, {len(findings)} findings")
    for path, message in findings.items():
        print(f"{path}\n    {message}")
    if options.record:
        readers = len({target for target, _ in counts})
        found = {"minutes": options.minutes, "seed": options.seed, "readers": readers}
        proof.record("fuzz", found | {"inputs": sum(counts.values()), "findings": len(findings)})
    return 1 if findings else 0


def _work(seed: int, only: str, end: float, pipe) -> None:
    """Read mutated files until the time is up or memory has grown too far."""
    chance = random.Random(seed)
    resource.setrlimit(resource.RLIMIT_AS, (12 * GIGABYTE, 12 * GIGABYTE))
    with (
        tempfile.TemporaryDirectory() as name,
        Path(os.devnull).open("w") as noise,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        folder = Path(name)
        with contextlib.redirect_stderr(noise):
            chosen = [one for one in targets.all_targets(folder) if only in one.name]
            for one in chosen:
                assert _result(one, one.seed, folder / "seed") == "valid", one.name
        before = _peak()
        while time.time() < end:
            target = chance.choice(chosen)
            data = mutations.mutated(target.seed, chance)
            pipe.send(("try", target.name, data))
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of the processor: others may be busy on it
            signal.alarm(10 * SECONDS)
            result = _result(target, data, folder / "files")
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
            pipe.send(("done", target.name, result))
            if _peak() - before > GIGABYTE:
                pipe.send(("done", target.name, f"memory grew by {(_peak() - before) / GIGABYTE:.1f} GB"))
                return


def _result(target: targets.Target, data: bytes, folder: Path) -> str:
    try:
        value = targets.outcome(target, data, folder)
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{error!r:.300} at {Path(last.filename).name}:{last.lineno}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return "refused" if isinstance(value, targets.Refused) else "valid"


def _listen(pipe, counts: collections.Counter, findings: dict[Path, str]) -> tuple[str, bytes]:
    """Count what a child reports; return what it tried last."""
    name, data = "", b""
    while True:
        try:
            kind, name, said = pipe.recv()
        except EOFError:
            return name, data
        if kind == "try":
            data = said
        else:
            counts[name, said if said in ("valid", "refused") else "finding"] += 1
            if said not in ("valid", "refused"):
                _found(findings, name, data, said)


def _found(findings: dict[Path, str], name: str, data: bytes, said: str) -> None:
    if said in findings.values():
        return
    FINDINGS.mkdir(parents=True, exist_ok=True)
    path = FINDINGS / f"{name.replace(' ', '-')}-{len(findings)}.bin"
    path.write_bytes(data)
    findings[path] = said


def _peak() -> int:
    """Return the most bytes that this process has held; ru_maxrss would begin with its parent's."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024


if __name__ == "__main__":
    raise SystemExit(main())
