"""The engine on a Ray cluster: the one in RAY_ADDRESS, or one started here.

The nodes need no common disk. Files and folders that a configuration names travel to them, artefacts travel
back with the answer, and no path of this machine is among what is sent.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from helpers.sweeps import files
from helpers.sweeps.jobs import Job, Outcome, Take, call
from helpers.sweeps.store import CHECKPOINTS


def ray_tasks(take: Take, *, shared: Mapping[str, object]) -> Iterator[tuple[Job, Outcome]]:
    """Run jobs as Ray tasks, each on a core, and on a GPU where the cluster has any."""
    ray = _connected()
    common, put = ray.put(dict(shared)), _put_once(ray)
    busy: dict[Any, Job] = {}
    held = {name for value in shared.values() if isinstance(value, Mapping) for name in value}
    try:
        while True:
            resources = ray.cluster_resources()  # read again: an autoscaling cluster grows
            gpus = int(resources.get("GPU", 0))
            task = ray.remote(num_cpus=1, num_gpus=1 if gpus else 0, max_retries=0)(_run)
            while len(busy) < (gpus or int(resources.get("CPU", 1))) and (job := take()) is not None:
                busy[task.remote(packed(job, put, held), common)] = job
            if not busy:
                return
            for reference in ray.wait(list(busy))[0]:
                yield (job := busy.pop(reference)), _received(ray, reference, job)
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
    """

    def change(leaf: Any) -> Any:
        path = None if leaf in held else files.located(leaf)
        return Parcel(path.name, files.digest(path), put(path)) if path else leaf

    config = files.replaced(job.config, change)
    return replace(job, config=config, folder=Path("files"), log=Path("log"))


def _put_once(ray) -> Callable[[Path], Any]:
    references: dict[str, Any] = {}

    def put(path: Path) -> Any:
        if (content := files.digest(path)) not in references:
            references[content] = ray.put(files.pack(path))
        return references[content]

    return put


def _run(job: Job, shared: Mapping[str, object]) -> tuple[Outcome, dict[str, bytes], str]:
    """Run a job on a node, in a folder of that node; return its files and its log as bytes and text."""
    with tempfile.TemporaryDirectory() as folder:
        config = files.replaced(job.config, _unpacked)
        here = replace(job, config=config, folder=Path(folder, job.folder), log=Path(folder, job.log))
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
        return Outcome(None, f"{type(error).__name__}: {str(error).splitlines()[0]}", 0.0, killed=True)
    files.unpack(contents, job.folder)
    with job.log.open("a", encoding="utf-8") as stream:
        stream.write(log)
    return outcome
