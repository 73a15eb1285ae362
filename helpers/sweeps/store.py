"""The rows of a sweep on disk: `<key>/row.json` and `<key>/files/`, put in place by renaming `<key>.part`.

A row is sealed with a hash of itself and of its files: one that was cut, lost or edited is computed again.
What a call keeps below `files/checkpoints` serves the call alone: an interrupted attempt leaves it to the
next one, a finished row does not hold it.
"""

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

CHECKPOINTS = "checkpoints"
DAYS_KEPT = 14  # how long the part of an interrupted attempt waits for the next one


def cache_folder() -> Path:
    """The folder of all sweeps: below NUNCHI_CACHE, or `.cache` beside the package."""
    beside = Path(__file__).resolve().parents[2] / ".cache"
    return Path(os.environ.get("NUNCHI_CACHE") or beside) / "sweeps"


def _seal(row: Mapping[str, object]) -> str:
    plain = json.dumps({name: row[name] for name in row if name != "seal"}, sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


def empty(folder: Path, *, but: str = CHECKPOINTS) -> None:
    """Remove what an interrupted attempt left in a folder, but for its checkpoints."""
    for left in folder.iterdir():
        if left.name != but:
            shutil.rmtree(left) if left.is_dir() else left.unlink()


class Store:
    """The files of one sweep."""

    def __init__(self, name: str):
        self.folder = cache_folder() / name

    def read(self, key: str) -> dict | None:
        """A finished row, or None if there is none; one that is damaged is said to be, and removed."""
        try:
            row = json.loads((self.folder / key / "row.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError):
            row = None
        if damage := self._damage(key, row):
            print(f"{self.folder.name}: {damage} in the cache ({key[:8]}); this run is computed again")
            shutil.rmtree(self.folder / key, ignore_errors=True)
            return None
        return {name: value for name, value in row.items() if name not in ("artefacts", "seal")}

    def _damage(self, key: str, row: object) -> str:
        """What is wrong with a stored row, in words; only files newer than their row are read for it."""
        if not isinstance(row, dict) or row.get("seal") != _seal(row):
            return "row.json is not what was written"
        written = (self.folder / key / "row.json").stat().st_mtime_ns
        for name, (size, digest) in row["artefacts"].items():
            file = self.files(key) / name
            if not file.is_file() or file.stat().st_size != size:
                return f"{name} is missing or cut"
            if file.stat().st_mtime_ns > written and _digest(file) != digest:
                return f"{name} is not what was written"
        return ""

    def files(self, key: str) -> Path:
        return self.folder / key / "files"

    def log(self, key: str) -> Path:
        return self.folder / "logs" / f"{key}.txt"

    def lock(self, key: str):
        """Take the lock of a key, which the system frees when a process dies; None if another holds it."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.folder / "locks" / key)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return None
        return lock

    def stage(self, key: str) -> Path:
        """A folder for the artefacts of a call: empty, but for the checkpoints of an interrupted attempt."""
        part, files = self._part(key), self._part(key) / "files"
        with self._writing(key):
            self.log(key).parent.mkdir(parents=True, exist_ok=True)
            files.mkdir(parents=True, exist_ok=True)
            empty(part, but=files.name)
            empty(files)
        return files

    def publish(self, key: str, row: Mapping[str, object]) -> None:
        part = self._part(key)
        with self._writing(key):
            shutil.rmtree(part / "files" / CHECKPOINTS, ignore_errors=True)
            files = part / "files"
            kept = {
                path.relative_to(files).as_posix(): [path.stat().st_size, _digest(path)]
                for path in sorted(files.rglob("*"))
                if path.is_file()
            }
            sealed = {**row, "artefacts": kept}
            with (part / "row.json").open("w", encoding="utf-8") as stream:
                json.dump(sealed | {"seal": _seal(sealed)}, stream, ensure_ascii=False)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(self.folder / key)
        self.log(key).unlink(missing_ok=True)

    def discard(self, key: str) -> None:
        shutil.rmtree(self._part(key), ignore_errors=True)

    def discard_old(self) -> None:
        """Remove what attempts left that nobody took up again."""
        for part in self.folder.glob("*.part"):
            changed = max(path.stat().st_mtime for path in (part, *part.glob(f"files/{CHECKPOINTS}")))
            if time.time() - changed > DAYS_KEPT * 86400 and (lock := self.lock(part.stem)):
                self.discard(part.stem)
                lock.release()

    def _part(self, key: str) -> Path:
        return self.folder / f"{key}.part"

    @contextlib.contextmanager
    def _writing(self, key: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.discard(key)
            raise OSError(
                error.errno,
                f"cannot write to {self.folder} ({error.strerror}). Nothing half-written is left, finished "
                "rows are kept: make room or set NUNCHI_CACHE to another folder, then run the sweep again",
            ) from error
