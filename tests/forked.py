"""Processes for tests to kill, forked from a server that has imported what trainings need.

A fresh interpreter spends five seconds on these imports; a forked one starts at once, and dies as any other.
"""

import multiprocessing
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "pytest", "helpers.sweeps", "helpers.learning.pretraining", "helpers.relations.experiment",
        "helpers.entities.experiment", "helpers.multilabel.span_experiment", "helpers.coreference.experiment",
    ]
)  # fmt: skip


def start(function: Callable, *arguments: Any) -> BaseProcess:
    """Start a process that calls a function of a test module."""
    process = CONTEXT.Process(target=function, args=arguments)
    process.start()
    return process
