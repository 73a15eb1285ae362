"""Progress of a suite: lines that refresh on a terminal, few lines in a log."""

import re

from helpers.batch import progress


def test_a_terminal_sees_lines_that_refresh(capsys):
    board = progress.Progress(["one", "three"])
    board.live = True
    board.begin("one")
    assert capsys.readouterr().err.endswith("starting the kernel  \n")
    board.cell("one", {"cell": 3, "cells": 12, "section": "Evidence"})
    board.refresh()
    assert re.search(r"\x1b\[1F\x1b\[Jone +0\.0 s  cell  3/12  Evidence\n$", capsys.readouterr().err)
    board.end("one", {"status": "ok", "seconds": 3.0, "error": None})
    assert capsys.readouterr().err.startswith("\x1b[1F\x1b[Jone    ok          3.0 s\n")


def test_a_log_announces_a_cell_only_when_it_is_slow(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    board = progress.Progress(["one"])
    board.begin("one")
    for cell, seconds in ((1, 0.5), (2, 10.0), (3, 0.1)):
        board.cell("one", {"cell": cell, "cells": 3, "section": "Data"})
        for _ in range(4):
            now[0] += seconds / 4
            board.refresh()
    assert capsys.readouterr().err.splitlines() == ["one  started", "one      3.0 s  cell  2/3  Data"]


def test_a_failure_says_why_in_one_line(capsys):
    board = progress.Progress(["one"])
    error = {"name": "KeyError", "message": "no such column\nand more"}
    board.end("one", {"status": "failed", "seconds": 1.0, "error": error})
    assert capsys.readouterr().err == "one  failed      1.0 s  KeyError: no such column\n"
