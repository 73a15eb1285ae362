"""Plain text to pretrain on, and the dev sentences that must not be in it; `text.copies` takes them out."""

from collections.abc import Callable
from pathlib import Path

from helpers.corpora import documents as _documents
from helpers.corpora import sources
from helpers.corpora.files import read_jsonl, read_text

FOLDER = "unlabelled"  # of .txt files, one text a line
SAMPLE_ROWS = 20000


def load_texts(source: str, *, rows: int = SAMPLE_ROWS, seed: int = 0) -> dict[str, list[str]]:
    """Return texts by where they come from.

    The sample generates `rows` sentences. The hub gives documents. A folder gives its documents (the training
    side of `corpus/`, file by file), the lines of `unlabelled/*.txt`, and the sentences of the labelled
    training files without their labels; one that holds a single data set's files gives its sentences.
    """
    from helpers import corpora, sample_world

    if source == "sample":
        return {"sample world": list(dict.fromkeys(sample_world.unlabelled(rows, seed)))}
    if source == "hub":
        return {"documents": corpora.load_documents(source, "train")["text"][:]}
    root, found = sources.root(source), {}
    for file in sorted(root.glob(f"{sources.DOCUMENTS.folder}/*.jsonl")):
        found[file.stem] = [text for text in read_texts(file) if not _documents.in_dev(text)]
    for file in sorted(root.glob(f"{FOLDER}/*.txt")):
        if file.name != "SOURCE.txt":
            found[file.stem] = read_texts(file)
    for task, load in _labelled(root):
        found[f"{task.folder}, training sentences"] = list(dict.fromkeys(load(source, "train")["sentence"]))
    if not found:
        raise ValueError(
            f"{root} holds no text: expected corpus/*.jsonl, {FOLDER}/*.txt or labelled sentences"
        )
    return found


def read_texts(path: Path) -> list[str]:
    """Read plain text: the lines of a .txt file, the field text of a .jsonl file, or a folder of both."""
    if path.is_dir():
        files = [file for file in sorted(path.iterdir()) if file.suffix in (".txt", ".jsonl")]
        if not files:
            raise ValueError(f"{path}: expected .txt files (one text a line) or .jsonl files, found none")
        return [text for file in files for text in read_texts(file)]
    if path.suffix == ".jsonl":
        return [row["text"] for row in _documents.documents(read_jsonl(path), str(path))]
    if path.suffix != ".txt":
        raise ValueError(f"{path}: cannot read {path.suffix or 'this'}; expected .txt or .jsonl")
    texts = [line for line in read_text(path).splitlines() if line.strip()]
    if not texts:
        raise ValueError(f"{path}: it holds no text")
    return texts


def dev_sentences(source: str, *, rows: int | None = None, seed: int = 0) -> list[str]:
    """Return the sentences of all dev files that a source has: what nothing may be pretrained on."""
    from helpers import corpora

    if source in ("sample", "hub"):
        loaders = [corpora.load_relations, corpora.load_entities]
    else:
        loaders = [load for _, load in _labelled(sources.root(source))]
    return list(
        dict.fromkeys(
            text for load in loaders for text in load(source, "dev", rows=rows, seed=seed)["sentence"]
        )
    )


def _labelled(root: Path) -> list[tuple[sources.Task, Callable]]:
    """Return the labelled data sets of a folder; one that holds a single set's files is what can be read."""
    from helpers import corpora

    loaders = [(sources.RELATIONS, corpora.load_relations), (sources.ENTITIES, corpora.load_entities)]
    found = [(task, load) for task, load in loaders if (root / task.folder).is_dir()]
    if found or any((root / folder).is_dir() for folder in (sources.DOCUMENTS.folder, FOLDER)):
        return found
    return [(task, load) for task, load in loaders if _readable(root, load)]


def _readable(root: Path, load: Callable) -> bool:
    try:
        return len(load(str(root), "train")) > 0
    except ValueError:  # the files of another task
        return False
