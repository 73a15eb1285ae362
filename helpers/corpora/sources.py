"""Where a data set comes from: the sample world, the hub, the folder in NUNCHI_DATA, or a path.

Finds the one file of a split and hands over its plain rows, and says when a source has no split of its own;
fields are checked, and such sources divided, elsewhere.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from helpers.corpora.documents import read_folder
from helpers.corpora.files import READERS, is_saved, read_saved, rows_of

ALL = "all"  # every row of one file, whatever its name
SPLITS = {"train": "train", "dev": "dev", "validation": "dev", ALL: ALL}
SAMPLE_ROWS = {"train": 4000, "dev": 1000}
SHARD = re.compile(r"-\d+-of-(\d+)$")  # the hub's names: train-00000-of-00001.parquet
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
    undivided: str = ""  # the split that a source without splits is; "": it is divided by group
    revision: str | None = None  # the commit on the hub; None: the newest


KLUE = "349481ec73fff722f88e0453ca05c77a447d967c"
RELATIONS = Task("klue-re", ("klue/klue", "re"), "relations", revision=KLUE)
ENTITIES = Task("klue-ner", ("klue/klue", "ner"), "entities", revision=KLUE)
TECHNIQUES = Task(
    "unlp",
    ("robinhad/manipulation-detection",),
    "posts",
    no_split="The shared task published labels for its training file only: cross-validate that one",
    undivided="train",
)
DOCUMENTS = Task(
    "corpus",
    ("wikimedia/wikipedia", "20231101.ko"),
    "documents",
    revision="b04c8d1ceb2f5cd4588862100d08de323dccfbaa",
)
LAMBADA = Task(
    "lambada",
    ("thunder-research-group/SNU_Ko-LAMBADA",),
    "lambada",
    splits=EVALUATION_ONLY,
    no_split="Ko-LAMBADA is an evaluation set: ask for 'dev'",
    undivided="dev",
)
TASKS = (RELATIONS, ENTITIES, TECHNIQUES, DOCUMENTS, LAMBADA)
KNOWN = {"test"} | {name for names in TRAIN_AND_DEV.values() for name in names}  # what may end a file's name


class Rows(NamedTuple):
    """Plain rows and the name their errors carry."""

    name: str
    rows: list[dict]
    divided: bool = True  # False: these are all rows of the source, whichever split was asked for
    folder: Path | None = None  # where a labels.yaml would be
    others: tuple[dict, ...] = ()  # rows of the other splits, unchecked, for the labels in them


def split_name(split: str, source: str | os.PathLike = "") -> str:
    """Return "train" or "dev" ("validation" is another name for it), or "all" for a file."""
    if split not in SPLITS or (split == ALL and source in ("sample", "hub", "local")):
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
        dataset = load_dataset(*task.hub, split=names[-1], revision=task.revision)
    except ValueError as error:
        raise ValueError(f"hub {label}: {error}. {task.no_split}") from error
    except OSError as error:
        raise ConnectionError(
            f"could not fetch {label} from the hub ({type(error).__name__}: {error}). Offline? Set "
            "NUNCHI_DATA to a folder with the files and use data='local'. Access refused? `hf auth login`"
        ) from error
    return Rows(f"hub {label} {names[-1]}", rows_of(dataset))


def from_files(task: Task, split: str, path: Path, *, readers: Mapping = READERS) -> Rows:
    """Return the rows of the split in `path`: one file, the shards of one, or what `save_to_disk` wrote."""
    names = _names(task, split)
    files = [path] if path.is_file() or is_saved(path) else _files_of(path, names, task, readers)
    name, named = str(files[0] if len(files) == 1 else path), ending(files[0])
    if named in KNOWN and named not in names:
        raise ValueError(
            f"{name} is named after the split {named!r}, but {names[0]!r} was asked for. {task.no_split}"
        )
    parts = [_rows_in(file, names, readers) for file in files]
    divided = named in names or all(part.divided for part in parts) or split in (task.undivided, ALL)
    if not divided and task.undivided:
        raise ValueError(f"{name} has no split of its own and no {names[0]!r}. {task.no_split}")
    rows = [row for part in parts for row in part.rows]
    folder = path if path.is_dir() else path.parent
    return Rows(name, rows, divided, folder, _others(task, split, path, readers) if divided else ())


def documents(path: Path, split: str) -> Rows:
    """Return the documents of a path: of the files named after the split if some are named after dev.

    Files named after a test split are left out either way.
    """
    names = TRAIN_AND_DEV["dev"]
    named = path.is_dir() and any(ending(file) in names for file in path.iterdir())
    wanted = set(TRAIN_AND_DEV[split]) if named else None

    def kept(file: Path) -> bool:
        return ending(file) in wanted if wanted else ending(file) != "test"

    return Rows(str(path), read_folder(path, kept), divided=named)


def _others(task: Task, split: str, path: Path, readers: Mapping) -> tuple[dict, ...]:
    """Return the rows of a folder's other splits, unchecked."""
    rows: list[dict] = []
    for names in (names for other, names in task.splits.items() if other != split and path.is_dir()):
        if is_saved(path):
            files = [path] if any((path / name).is_dir() for name in names) else []
        else:
            files = [p for p in _readable(path, readers) if ending(p) in names]
        rows += [row for file in files for row in _rows_in(file, names, readers).rows]
    return tuple(rows)


def _readable(path: Path, readers: Mapping) -> list[Path]:
    return [p for p in sorted(path.iterdir()) if (is_saved(p) if p.is_dir() else p.suffix in readers)]


def _rows_in(file: Path, names: tuple[str, ...], readers: Mapping) -> Rows:
    """Return the rows of a file, or of a saved folder and there, if it has splits, of one of `names`."""
    if file.is_dir():
        rows, divided = read_saved(file, names)
        return Rows(str(file), rows, divided)
    if file.suffix not in readers:
        raise ValueError(f"{file}: cannot read {file.suffix or 'this'}; expected one of {', '.join(readers)}")
    return Rows(str(file), readers[file.suffix](file), divided=False)


def _files_of(path: Path, names: tuple[str, ...], task: Task, readers: Mapping) -> list[Path]:
    """Return the one file of a folder that holds the split, or all of its shards.

    A folder with nothing but one file (and one for test), not named after a split, is a source without one.
    """
    readable = _readable(path, readers)
    files = [p for p in readable if ending(p) in names]
    others = [p for p in readable if ending(p) != "test"]
    alone = not files and not any(ending(p) in KNOWN for p in others)
    if alone:
        files = others
    if len({(SHARD.sub("", p.stem), p.suffix) for p in files}) == 1:
        return _whole(files, path)
    found = ", ".join(p.name for p in files or sorted(path.iterdir())) or "nothing"
    wanted = " or ".join(f"*{name}{{{','.join(readers)}}}" for name in names)
    several = "Pass the path of the one you mean" if not alone else "Name the files after their splits"
    raise ValueError(
        f"{path}: expected exactly one file {wanted}, found {found}. "
        + (several if files else task.no_split or "Name the file after its split")
    )


def _whole(shards: list[Path], path: Path) -> list[Path]:
    number = SHARD.search(shards[0].stem)
    if number and len(shards) != int(number[1]):
        raise ValueError(f"{path}: {len(shards)} of {int(number[1])} shards of {shards[0].name} are there")
    return shards


def _names(task: Task, split: str) -> tuple[str, ...]:
    if split == ALL:
        return tuple(KNOWN)
    if split not in task.splits:
        raise ValueError(f"{task.folder} has no split {split!r}. {task.no_split}")
    return task.splits[split]


def ending(path: Path) -> str:
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
