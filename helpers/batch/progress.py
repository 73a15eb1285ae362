"""Progress of a suite on the terminal: lines that refresh; in a log, a line per start, end and slow cell."""

import shutil
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

ANNOUNCE_AFTER = 2.0  # seconds a cell runs before it gets a line of its own in a log


class Progress:
    """What runs now, written to the standard error; called from several threads."""

    def __init__(self, names: Sequence[str]) -> None:
        self.width = max(map(len, names))
        self.live = sys.stderr.isatty()
        self.lock = threading.Lock()
        self.running: dict[str, dict[str, Any]] = {}
        self.drawn = 0

    def begin(self, name: str) -> None:
        with self.lock:
            now = time.monotonic()
            self.running[name] = {"start": now, "since": now, "cells": 0, "section": "", "told": True}
            self._say(f"{name:<{self.width}}  started")

    def cell(self, name: str, event: dict[str, Any]) -> None:
        with self.lock:
            self.running[name] |= event | {"since": time.monotonic(), "told": False}

    def end(self, name: str, run: dict[str, Any]) -> None:
        with self.lock:
            self.running.pop(name, None)
            error = run.get("error")
            detail = f"  {error['name']}: {error['message']:.100}".split("\n")[0] if error else ""
            self._say(f"{name:<{self.width}}  {run['status']:<7} {run['seconds']:7.1f} s{detail}")

    def refresh(self) -> None:
        with self.lock:
            if self.live:
                self._draw()
                return
            for name, state in self.running.items():
                if not state["told"] and time.monotonic() - state["since"] > ANNOUNCE_AFTER:
                    state["told"] = True
                    self._say(self._line(name, state))

    def _say(self, line: str) -> None:
        """Print a line that stays, above the live ones."""
        self._wipe()
        sys.stderr.write(f"{line}\n")
        self._draw()

    def _draw(self) -> None:
        if self.live:
            self._wipe()
            width = shutil.get_terminal_size().columns - 1
            lines = [self._line(name, state)[:width] for name, state in self.running.items()]
            sys.stderr.write("".join(f"{line}\n" for line in lines))
            self.drawn = len(lines)
            sys.stderr.flush()

    def _wipe(self) -> None:
        if self.drawn:
            sys.stderr.write(f"\x1b[{self.drawn}F\x1b[J")
            self.drawn = 0

    def _line(self, name: str, state: dict[str, Any]) -> str:
        elapsed = time.monotonic() - state["start"]
        where = f"cell {state['cell']:>2}/{state['cells']}" if state["cells"] else "starting the kernel"
        return f"{name:<{self.width}}  {elapsed:7.1f} s  {where}  {state['section']}"
