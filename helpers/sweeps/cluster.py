"""The engine on a Ray cluster: the one in RAY_ADDRESS, or one started here.

The nodes need no common disk. Files and folders that a configuration names travel to them through Ray's
object store, artefacts travel back, and no path of this machine is among what is sent. What lies below the
folder in NUNCHI_SHARED, which every node must have at the same place, is named instead of sent: with
NUNCHI_CACHE in there, a call works on its files in place, and goes on from its last checkpoint when its node
is lost.
"""

import contextlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from helpers.sweeps import files
from helpers.sweeps.jobs import Job, Outcome, Take, call
from helpers.sweeps.store import CHECKPOINTS, empty

RETRIES = 3  # of a call whose worker was lost
LOOK = 10.0  # seconds between looks at how many nodes there are


def ray_tasks(take: Take, *, shared: Mapping[str, object]) -> Iterator[tuple[Job, Outcome]]:
    """Run jobs as Ray tasks, each on a core, and on a GPU where the cluster has any.

    A call whose worker is lost, alone or with its node, is started again on another.
    """
    ray = _connected()
    put, common = _put_once(ray), None
    busy: dict[Any, Job] = {}
    again: list[Job] = []
    lost: Counter[str] = Counter()
    held = {name for value in shared.values() if isinstance(value, Mapping) for name in value}
    gpus = 0
    try:
        while True:
            resources = ray.cluster_resources()  # read again: nodes come and go
            gpus = max(int(resources.get("GPU", 0)), min(gpus, 1))  # runs of one sweep use GPUs or none does
            task = ray.remote(num_cpus=1, num_gpus=1 if gpus else 0, max_retries=0)(_run)
            slots = gpus or int(resources.get("CPU", 1))
            while len(busy) < slots and (job := again.pop() if again else take()) is not None:
                common = common or ray.put(dict(shared))
                busy[task.remote(packed(job, put, held), common)] = job
            if not busy:
                return
            for reference in ray.wait(list(busy), timeout=LOOK)[0]:
                job = busy.pop(reference)
                outcome = _received(ray, reference, job)
                if outcome.killed and lost[job.key] < RETRIES:
                    lost[job.key] += 1
                    again.append(job)
                    print(f"{job.function}: {outcome.error}: started again ({lost[job.key]} of {RETRIES})")
                else:
                    yield job, outcome
    finally:
        for reference in busy:
            ray.cancel(reference, force=True)


def _connected():
    """Connect to the cluster once in a process; Ray itself shuts a local one down at exit."""
    try:
        import ray
    except ImportError as error:
        raise ValueError('engine="ray" needs Ray: pip install "nunchi[ray]"') from error
    if not ray.is_initialized():
        remote = {"runtime_env": {"py_modules": [str(Path(__file__).parents[1])]}}
        here = {"include_dashboard": False}  # and this code is on the workers' path
        ray.init(log_to_driver=False, **remote if os.environ.get("RAY_ADDRESS") else here)
    from datasets import Dataset

    ray.util.register_serializer(  # by value: a memory-mapped data set would travel as a path
        Dataset, serializer=lambda rows: (rows.to_dict(), rows.features), deserializer=_in_memory
    )
    return ray


def _in_memory(state: tuple) -> Any:
    from datasets import Dataset

    return Dataset.from_dict(state[0], features=state[1])


@dataclass(frozen=True)
class Parcel:
    """A file or folder on its way to a node: its name, the hash and a reference of its bytes."""

    name: str
    digest: str
    content: Any


def packed(job: Job, put: Callable[[Path], Any], held: Collection = ()) -> Job:
    """Return the job as it is sent: parcels for paths, and its folder and log relative to a node's own.

    A value in `held` is the name of something that all calls share, such as a tokenizer: it stays a name.
    Paths that every node sees stay paths.
    """

    def change(leaf: Any) -> Any:
        path = None if leaf in held else files.located(leaf)
        if path is None:
            return leaf
        return str(path.resolve()) if _on_all(path) else Parcel(path.name, files.digest(path), put(path))

    job = replace(job, config=files.replaced(job.config, change))
    return job if _on_all(job.folder) else replace(job, folder=Path("files"), log=Path("log"))


def _on_all(path: Path) -> bool:
    """Say whether a path lies on the storage that all nodes share."""
    common = os.environ.get("NUNCHI_SHARED", "")
    return common != "" and path.resolve().is_relative_to(Path(common).resolve())


def _put_once(ray) -> Callable[[Path], Any]:
    references: dict[str, Any] = {}

    def put(path: Path) -> Any:
        if (content := files.digest(path)) not in references:
            references[content] = ray.put(files.pack(path))
        return references[content]

    return put


def _run(job: Job, shared: Mapping[str, object]) -> tuple[Outcome, dict[str, Any], str]:
    """Run a job on a node, in place or in a folder of that node; return files and log that have to travel."""
    job = replace(job, config=files.replaced(job.config, _unpacked))
    if job.folder.is_absolute():
        empty(job.folder)
        return call(job, shared), {}, ""
    with tempfile.TemporaryDirectory() as folder:
        here = replace(job, folder=Path(folder, job.folder), log=Path(folder, job.log))
        here.folder.mkdir()
        outcome = call(here, shared)
        shutil.rmtree(here.folder / CHECKPOINTS, ignore_errors=True)
        return outcome, files.pack(here.folder), here.log.read_text(encoding="utf-8")


def _unpacked(leaf: Any) -> Any:
    """Return where a parcel lies on this node: unpacked once, and then shared by the node's workers."""
    if not isinstance(leaf, Parcel):
        return leaf
    import ray

    place = Path(tempfile.gettempdir(), f"nunchi-{os.getuid()}", leaf.digest, leaf.name)
    if not place.exists() or files.digest(place) != leaf.digest:
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as folder:
            files.unpack(ray.get(leaf.content), Path(folder, leaf.name))
            with contextlib.suppress(OSError):  # another worker of the node was first
                Path(folder, leaf.name).rename(place)
    return str(place)


def _received(ray, reference, job: Job) -> Outcome:
    try:
        outcome, contents, log = ray.get(reference)
    except ray.exceptions.RayError as error:
        lost = not isinstance(error, ray.exceptions.RayTaskError)
        return Outcome(None, f"{type(error).__name__}: {str(error).splitlines()[0]}", 0.0, killed=lost)
    files.unpack(contents, job.folder)
    with job.log.open("a", encoding="utf-8") as stream:
        stream.write(log)
    return outcome
