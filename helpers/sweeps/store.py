"""The rows of a sweep on disk: `<key>/row.json` and `<key>/files/`, put in place by renaming `<key>.part`.

What a call keeps below `files/checkpoints` serves the call alone: an interrupted attempt leaves it to the
next one, a finished row does not hold it.
"""

import contextlib
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


class Store:
    """The files of one sweep."""

    def __init__(self, name: str):
        self.folder = cache_folder() / name

    def read(self, key: str) -> dict | None:
        """A finished row, or None if there is none that can be read."""
        try:
            return json.loads((self.folder / key / "row.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:
            shutil.rmtree(self.folder / key, ignore_errors=True)
            return None

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
            for left in {*part.iterdir(), *files.iterdir()} - {files, files / CHECKPOINTS}:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        return files

    def publish(self, key: str, row: Mapping[str, object]) -> None:
        part = self._part(key)
        with self._writing(key):
            shutil.rmtree(part / "files" / CHECKPOINTS, ignore_errors=True)
            with (part / "row.json").open("w", encoding="utf-8") as stream:
                json.dump(row, stream, ensure_ascii=False)
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
