"""`python -m tests.soak --rounds 30`: run smoke notebooks while processes are killed and disks fill up.

Each round starts with an empty cache, disturbs the run at random (seeded) moments, runs the same command
again until it ends well, and compares every metrics.json, byte for byte, with that of an undisturbed run.
Rounds with a full disk need the right to mount; without it they are left out, and the last line says so.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import psutil

from tests import proof
from tests.conftest import ROOT

FEW, ROOM = "3m", "2g"  # of a disk that fills up, and of the same disk after somebody made room
ATTEMPTS = 6  # to end a disturbed run well
AT_ONCE = max(1, len(os.sched_getaffinity(0)))  # rounds beside one another: a suite leaves cores idle


class Place:
    """The folders of a round: reports and cache."""

    def __init__(self, folder: Path, only: str) -> None:
        self.folder, self.only = folder, only
        self.folder.mkdir(parents=True, exist_ok=True)

    def start(self, out: str = "out") -> psutil.Popen:
        command = [sys.executable, "-m", "helpers", "run", str(ROOT / "params" / "smoke"), "--jobs", "1"]
        command += ["--only", self.only] if self.only else []
        own = {"NUNCHI_CACHE": str(self.folder / "cache"), "PYTHONPATH": str(ROOT)}
        environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"} | own  # for workers
        with (self.folder / "said.txt").open("a") as said:
            return psutil.Popen(
                [*command, "--out", str(self.folder / out)],
                cwd=ROOT,
                env=environment,
                stdout=said,
                stderr=said,
            )

    def finish(self, out: str = "out") -> int:
        """Run the command again until it ends well; return how often it had to be."""
        for attempt in range(1, ATTEMPTS + 1):
            if self.start(out).wait() == 0:
                return attempt
        raise RuntimeError(f"not finished after {ATTEMPTS} attempts: {self.folder / 'said.txt'}")

    def metrics(self, out: str = "out") -> dict[str, bytes]:
        return {
            path.parent.name: path.read_bytes()
            for path in sorted((self.folder / out).glob("smoke/*/metrics.json"))
        }


def tree(process: psutil.Process, word: str = "") -> list[psutil.Process]:
    """Return what a runner has started, directly or not, and whose command holds a word."""
    found: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):  # the runner has ended
        found = process.children(recursive=True)
    return [child for child in found if word in _command(child)]


def _command(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def kill(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.Error):
        process.kill()


def later(process: psutil.Popen, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
    """Wait; tell whether the process still runs then."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None and not until():
        time.sleep(0.01)
    return process.poll() is None


def settle(process: psutil.Popen) -> None:
    """Wait until a runner and all it started are gone."""
    psutil.wait_procs([process, *tree(process)], timeout=120)


# Disturbances return whether there still was something to disturb.


def runner(place: Place, chance: random.Random, seconds: float) -> bool:
    process = place.start()
    if runs := later(process, chance.uniform(0, seconds)):
        kill(process)
    settle(process)
    return runs


def interrupt(place: Place, chance: random.Random, seconds: float) -> bool:
    process = place.start()
    if runs := later(process, chance.uniform(1, seconds)):
        process.send_signal(chance.choice((signal.SIGINT, signal.SIGTERM)))
    settle(process)
    return runs


def child(find: Callable[[psutil.Process], list[psutil.Process]]) -> Callable[..., bool]:
    def disturb(place: Place, chance: random.Random, seconds: float) -> bool:
        process = place.start()
        later(process, chance.uniform(0, seconds))
        later(process, seconds, until=lambda: bool(find(process)))
        victims = find(process)[:1]
        for victim in victims:
            kill(victim)
        process.wait()
        return bool(victims)

    return disturb


def generation(process: psutil.Process, number: int) -> list[psutil.Process]:
    """Return a runner's children (1: the server of forks), theirs (2: executions), or theirs (3: kernels)."""
    found = [process]
    for _ in range(number):
        with contextlib.suppress(psutil.Error):
            found = [child for one in found for child in one.children()]
    return found


def write(place: Place, chance: random.Random, seconds: float) -> bool:
    """Kill the runner and its kernels while a row or a report is being written."""
    process = place.start()
    later(process, chance.uniform(0, seconds))
    patterns = (
        "cache/sweeps/*/*.part/row.json",
        "out/smoke/.*.run-*/metrics.json",
        "out/smoke/.*.run-*/.*.json.*",
    )
    runs = later(process, seconds, until=lambda: any(next(place.folder.glob(one), None) for one in patterns))
    for victim in [process, *tree(process)]:
        kill(victim)
    settle(process)
    return runs


def twice(place: Place, chance: random.Random, seconds: float) -> bool:
    """Run two suites at once over one cache; one of them is killed."""
    first, second = place.start("out"), place.start("other")
    if runs := later(first, chance.uniform(0, seconds)):
        kill(first)
    settle(first)
    second.wait()
    place.finish("other")
    return runs


def full(place: Place, chance: random.Random, seconds: float) -> bool:
    """Run on a disk that fills up, then make room."""
    filled = place.start().wait() != 0
    assert "Traceback" not in (place.folder / "said.txt").read_text(), "a full disk needs a plain message"
    subprocess.run(["mount", "-o", f"remount,size={ROOM}", str(place.folder)], check=True)
    return filled


DISTURBANCES = {
    "runner": runner,
    "interrupt": interrupt,
    "server": child(lambda runner: generation(runner, 1)),
    "execution": child(lambda runner: generation(runner, 2)),
    "kernel": child(lambda runner: generation(runner, 3)),
    "worker": child(lambda runner: tree(runner, "multiprocessing.spawn")),
    "write": write,
    "twice": twice,
    "full": full,
}


@contextlib.contextmanager
def disk(folder: Path, small: bool) -> Iterator[None]:
    folder.mkdir(parents=True)
    if small:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={FEW}", "nunchi-soak", str(folder)], check=True)
    try:
        yield
    finally:
        if small:
            subprocess.run(["umount", "--lazy", str(folder)], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def can_mount() -> bool:
    with tempfile.TemporaryDirectory() as name:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "nunchi-soak", name], capture_output=True
        )
        return done.returncode == 0 and subprocess.run(["umount", name]).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser("tests.soak", description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", default="", help="notebooks, as for `nunchi run`; all unless said")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="for README, with `make readme`")
    options = parser.parse_args()
    kinds = [name for name in DISTURBANCES if name != "full" or can_mount()]
    rounds: list[dict] = []
    with tempfile.TemporaryDirectory(prefix="soak-") as name, ThreadPoolExecutor(AT_ONCE) as pool:
        calm = Place(Path(name) / "calm", options.only)
        start = time.monotonic()
        calm.finish()
        seconds, wanted = time.monotonic() - start, calm.metrics()
        print(f"undisturbed: {len(wanted)} notebooks, {seconds:.0f} s", flush=True)

        def one(number: int) -> dict | None:
            return disturbed_round(number, kinds, Path(name), calm, seconds, options.seed)

        for done in as_completed([pool.submit(one, number) for number in range(options.rounds)]):
            if found := done.result():
                rounds.append(found)
                keep(rounds, kinds, sorted(wanted), options)  # what is done is not lost with what follows
    equal = sum(one["equal"] for one in rounds)
    left = "" if "full" in kinds else "; no full disks, which need the right to mount"
    print(f"{equal} of {len(rounds)} rounds equal the undisturbed run{left}")
    return 0 if equal == len(rounds) else 1


def disturbed_round(
    number: int, kinds: list[str], base: Path, calm: Place, seconds: float, seed: int
) -> dict | None:
    """Disturb a run, end it well and compare; None if the disturbance came after its end."""
    chance, kind, wanted = random.Random(f"{seed} {number}"), kinds[number % len(kinds)], calm.metrics()
    folder = base / str(number)
    with disk(folder, kind == "full"):
        place = Place(folder, calm.only)
        disturbed = DISTURBANCES[kind](place, chance, seconds)
        attempts = place.finish()
        same = place.metrics() == wanted and (kind != "twice" or place.metrics("other") == wanted)
    if not disturbed and same:
        print(f"{number:3} {kind:10} came too late, and does not count", flush=True)
        return None
    told = "equal" if same else "DIFFERENT"
    print(f"{number:3} {kind:10} ended after {attempts} more: {told}", flush=True)
    return {"round": number, "disturbance": kind, "attempts": attempts, "equal": same}


def keep(rounds: list[dict], kinds: list[str], notebooks: list[str], options: argparse.Namespace) -> None:
    ordered = sorted(rounds, key=lambda one: one["round"])
    (ROOT / "reports" / "soak.json").write_text(json.dumps(ordered, indent=1) + "\n")
    if options.record:
        tried = {kind: sum(one["disturbance"] == kind for one in rounds) for kind in kinds}
        equal = sum(one["equal"] for one in rounds)
        told = {"rounds": len(rounds), "equal": equal, "seed": options.seed, "disturbances": tried}
        proof.record("soak", {"notebooks": notebooks, **told})


if __name__ == "__main__":
    raise SystemExit(main())
