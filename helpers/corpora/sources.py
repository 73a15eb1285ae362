"""Where a data set comes from: the sample world, the hub, the folder in NUNCHI_DATA, or a path.

Finds the one file of a split and hands over its plain rows; fields are checked elsewhere.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from helpers.corpora.files import READERS, is_saved, read_saved, rows_of

SPLITS = {"train": "train", "dev": "dev", "validation": "dev"}
SAMPLE_ROWS = {"train": 4000, "dev": 1000}
SHARD = re.compile(r"-\d+-of-\d+$")  # the hub's names: train-00000-of-00001.parquet
# What files and the hub call a split; the hub's own name comes last.
TRAIN_AND_DEV = {"train": ("train",), "dev": ("dev", "validation")}
EVALUATION_ONLY = {"dev": ("dev", "validation", "test")}


class Task(NamedTuple):
    """One kind of data set: its folder, its place on the hub, its generator in the sample world."""

    folder: str
    hub: tuple[str, ...]
    generator: str
    splits: Mapping[str, tuple[str, ...]] = TRAIN_AND_DEV
    no_split: str = ""  # what to do when a split is not there


RELATIONS = Task("klue-re", ("klue/klue", "re"), "relations")
ENTITIES = Task("klue-ner", ("klue/klue", "ner"), "entities")
TECHNIQUES = Task(
    "unlp",
    ("robinhad/manipulation-detection",),
    "posts",
    no_split="The shared task published labels for its training file only: cross-validate that one",
)
DOCUMENTS = Task("corpus", ("wikimedia/wikipedia", "20231101.ko"), "documents")
LAMBADA = Task(
    "lambada",
    ("thunder-research-group/SNU_Ko-LAMBADA",),
    "lambada",
    splits=EVALUATION_ONLY,
    no_split="Ko-LAMBADA is an evaluation set: ask for 'dev'",
)
TASKS = (RELATIONS, ENTITIES, TECHNIQUES, DOCUMENTS, LAMBADA)


class Rows(NamedTuple):
    """Plain rows and the name their errors carry."""

    name: str
    rows: list[dict]


def split_name(split: str) -> str:
    """Return "train" or "dev"; "validation" is another name for dev."""
    if split not in SPLITS:
        raise ValueError(f"split must be 'train' or 'dev' ('validation' is dev), got {split!r}")
    return SPLITS[split]


def root(source: str | os.PathLike) -> Path:
    """Return the folder behind "local", or the file or folder at a path."""
    path = _local_root() if source == "local" else Path(source).expanduser()
    if not path.exists():
        raise ValueError(
            f"no such source: {str(source)!r}. Give 'sample', 'hub', 'local', or the path of a file or folder"
        )
    return path


def place(task: Task, source: str | os.PathLike) -> Path:
    """Return the file or folder behind "local" or a path.

    A folder may be laid out like NUNCHI_DATA or hold one data set's files directly.
    """
    path = root(source)
    if path.is_file():
        return path
    inner = path / task.folder
    if source == "local" and not inner.is_dir():
        raise ValueError(
            f"NUNCHI_DATA ({path}) has no folder {task.folder}/. Fill it: {_fill_command(path, task)}"
        )
    return inner if inner.is_dir() else path


def from_sample(task: Task, split: str, *, rows: int | None, seed: int) -> Rows:
    """Return generated rows."""
    from helpers import sample_world

    count = SAMPLE_ROWS[split] if rows is None else rows
    generate = getattr(sample_world, task.generator)
    return Rows(f"sample {task.generator} {split}", list(generate(split, count, seed)))


def from_hub(task: Task, split: str) -> Rows:
    """Return a split from the hub."""
    from datasets import load_dataset

    names = _names(task, split)
    label = " ".join(task.hub)
    try:
        dataset = load_dataset(*task.hub, split=names[-1])
    except ValueError as error:
        raise ValueError(f"hub {label}: {error}. {task.no_split}") from error
    except OSError as error:
        raise ConnectionError(
            f"could not fetch {label} from the hub ({type(error).__name__}: {error}). Offline? Set "
            "NUNCHI_DATA to a folder with the files and use data='local'. Access refused? `hf auth login`"
        ) from error
    return Rows(f"hub {label} {names[-1]}", rows_of(dataset))


def from_files(task: Task, split: str, path: Path, *, readers: Mapping = READERS) -> Rows:
    """Return the rows of the one file in `path` that holds the split."""
    names = _names(task, split)
    if path.is_dir() and is_saved(path):
        return Rows(str(path), read_saved(path, names))
    file = _file_of(path, names, task, readers)
    if file.suffix not in readers:
        raise ValueError(f"{file}: cannot read {file.suffix or 'this'}; expected one of {', '.join(readers)}")
    return Rows(str(file), readers[file.suffix](file))


def _file_of(path: Path, names: tuple[str, ...], task: Task, readers: Mapping) -> Path:
    if path.is_file():
        known = {name for accepted in task.splits.values() for name in accepted} | {"test"}
        ending = _ending(path)
        if ending in known and ending not in names:
            raise ValueError(
                f"{path} is named after the split {ending!r}, but {names[0]!r} was asked for. {task.no_split}"
            )
        return path
    files = [p for p in sorted(path.iterdir()) if p.suffix in readers and _ending(p) in names]
    if len(files) == 1:
        return files[0]
    found = ", ".join(p.name for p in files or sorted(path.iterdir())) or "nothing"
    wanted = " or ".join(f"*{name}{{{','.join(readers)}}}" for name in names)
    raise ValueError(
        f"{path}: expected exactly one file {wanted}, found {found}. "
        + ("Pass the path of the one you mean" if files else task.no_split or "Name the file after its split")
    )


def _names(task: Task, split: str) -> tuple[str, ...]:
    if split not in task.splits:
        raise ValueError(f"{task.folder} has no split {split!r}. {task.no_split}")
    return task.splits[split]


def _ending(path: Path) -> str:
    """Return the last word of a file's name: `klue-re-v1.1_dev.json` ends with dev."""
    return re.split(r"[^a-z]+", SHARD.sub("", path.stem.lower()))[-1]


def _local_root() -> Path:
    root = os.environ.get("NUNCHI_DATA")
    if not root:
        raise ValueError(
            "data='local' reads the folder named by the environment variable NUNCHI_DATA, which is not set. "
            f"Fill a folder from the hub with `{_fill_command(Path('data'))}`, then `export NUNCHI_DATA=data`"
        )
    path = Path(root).expanduser()
    if not path.is_dir():
        raise ValueError(f"NUNCHI_DATA names {path}, which is not a folder")
    return path


def _fill_command(root: Path, task: Task | None = None) -> str:
    return f"nunchi fetch {root}" + (f" --only {task.folder}" if task else "")
