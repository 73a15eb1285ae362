"""The engine for one model over all GPUs: a configuration at a time, in a process for each of them.

The processes are started as `accelerate launch` starts them and call the same function; the training loop
shares every batch among them. The first one's files and answer are kept. Without GPUs, they share the cores.
"""

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from helpers.sweeps.jobs import Job, Outcome, Take, call
from helpers.sweeps.store import CHECKPOINTS

LAUNCHER = ("torch.distributed.run", "--standalone", "--nproc-per-node")


def launched(
    take: Take, *, environments: Sequence[Mapping[str, str]], shared: Mapping[str, object]
) -> Iterator[tuple[Job, Outcome]]:
    """Run each job in as many processes as there are environments, all of its GPUs visible to each."""
    while (job := take()) is not None:
        with tempfile.TemporaryDirectory() as folder:
            yield job, _launch(job, shared, environments, Path(folder))


def _launch(job: Job, shared: Mapping, environments: Sequence[Mapping[str, str]], folder: Path) -> Outcome:
    (job.folder / CHECKPOINTS).mkdir(exist_ok=True)
    (folder / "call").write_bytes(pickle.dumps((job, shared)))
    command = [sys.executable, "-m", *LAUNCHER, str(len(environments)), "--module", __name__, str(folder)]
    with job.log.open("a", encoding="utf-8") as log:
        done = subprocess.run(command, env=_environment(environments), stdout=log, stderr=log, check=False)
    written = sorted(folder.glob("outcome-*"), key=lambda path: path.stat().st_mtime_ns)
    said = [pickle.loads(path.read_bytes()) for path in written]  # an error that caused others comes first
    wrong = [outcome for outcome in said if outcome.error]
    if not said or (done.returncode and not wrong):
        text = f"the launched processes ended with exit code {done.returncode}; see {job.log}"
        return Outcome(None, text, 0.0, killed=True)
    return (wrong or said)[0]


def _environment(environments: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """All GPUs for every process, or the same share of the cores for each; this package on their path."""
    package = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    gpus = [own["CUDA_VISIBLE_DEVICES"] for own in environments if "CUDA_VISIBLE_DEVICES" in own]
    given = {"CUDA_VISIBLE_DEVICES": ",".join(gpus)} if gpus else {"ACCELERATE_USE_CPU": "true"}
    return {**os.environ, **environments[0], **given, "PYTHONPATH": path}


def main(folder: Path) -> int:
    """One of the processes: call the function, and leave its outcome if it is the first one's or an error.

    The others read the checkpoints of the first, and everything that they write is thrown away.
    """
    from accelerate import PartialState

    job, shared = pickle.loads((folder / "call").read_bytes())
    state = PartialState(cpu=os.environ.get("ACCELERATE_USE_CPU") == "true")  # meets the others
    assert state.num_processes == int(os.environ["WORLD_SIZE"]), "each would train a model of its own"
    with tempfile.TemporaryDirectory() as aside:
        if not state.is_main_process:
            (Path(aside) / CHECKPOINTS).symlink_to(job.folder / CHECKPOINTS)
            job = replace(job, folder=Path(aside), log=Path(aside, "log"))
        outcome = call(job, shared)
    if state.is_main_process or outcome.error:
        (folder / f"outcome-{state.process_index:05d}").write_bytes(pickle.dumps(outcome))
    if outcome.error:
        return 1  # and the launcher ends the others, which may wait for this one
    state.wait_for_everyone()
    state.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
