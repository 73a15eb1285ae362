"""Processes that start at once: forked from a server that has imported what they need.

A fresh interpreter spends seven seconds on torch, transformers and what else a notebook imports; a fork has
them. Only on Linux and without GPUs: elsewhere a process that has loaded such libraries must not be forked.
"""

import contextlib
import gc
import importlib
import json
import os
import selectors
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterable, Mapping
from typing import IO, Any, NoReturn

from helpers.sweeps.workers import has_gpu_driver

LONGEST = 2**16  # bytes of a request


def possible() -> bool:
    return sys.platform == "linux" and not has_gpu_driver()


class Server:
    """A process that imports `modules` and then forks on request; it ends with this one.

    A module that cannot be imported is left out: whoever needs it will be told.
    """

    def __init__(self, modules: Iterable[str], *, environment: Mapping[str, str]) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, *modules],
                stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=dict(environment), start_new_session=True,
            )  # fmt: skip

    def start(self, function: str, *, variables: Mapping[str, str], stderr: IO) -> "Fork":
        """Call `function`, "module:name", in a fork, with further environment variables."""
        return Fork(self.socket, {"function": function, "variables": dict(variables)}, stderr)

    def close(self) -> None:
        """Let the server end; its forks go on."""
        self.socket.close()
        self.process.wait()


class Fork:
    """A forked process, as `subprocess.Popen` has it: `pid`, `stdin`, `stdout` and `wait`."""

    def __init__(self, server: socket.socket, request: Mapping[str, Any], stderr: IO) -> None:
        (stdin, ours), (mine, stdout), (result, ended) = os.pipe(), os.pipe(), os.pipe()
        self.stdin = os.fdopen(ours, "w", encoding="utf-8")
        self.stdout = os.fdopen(mine, encoding="utf-8")
        self.result = os.fdopen(result, encoding="utf-8")
        try:
            message = json.dumps(request).encode()
            socket.send_fds(server, [message], [stdin, stdout, stderr.fileno(), ended])
        finally:
            for end in (stdin, stdout, ended):
                os.close(end)
        if not (pid := self.result.readline()):
            raise ChildProcessError("the server of forks has ended")
        self.pid = int(pid)

    def wait(self) -> int:
        """Return the exit code; of a process that outlived its server nobody knows it: -1."""
        return int(self.result.readline() or -1)


def serve(modules: Iterable[str]) -> None:
    """Import, then fork for each request on the socket that is the standard input, until it is closed."""
    asked = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for name in modules:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.freeze()  # a collection would write to, and so copy, what the forks share
    events = selectors.DefaultSelector()
    events.register(asked, selectors.EVENT_READ)
    running: dict[int, tuple[int, int]] = {}  # by the descriptor that tells its end: process, where to say so
    while True:
        for key, _ in events.select():
            if key.fd in running:
                events.unregister(key.fd)
                os.close(key.fd)
                pid, ended = running.pop(key.fd)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with contextlib.suppress(BrokenPipeError):
                    os.write(ended, f"{code}\n".encode())
                os.close(ended)
                continue
            message, streams, _, _ = socket.recv_fds(asked, LONGEST, 4)
            if not message:
                return
            *streams, ended = streams
            if not (pid := os.fork()):
                for inherited in (asked.detach(), ended, *running, *(pipe for _, pipe in running.values())):
                    os.close(inherited)
                events.close()
                _become(streams, **json.loads(message))
            for stream in streams:
                os.close(stream)
            os.write(ended, f"{pid}\n".encode())
            running[done := os.pidfd_open(pid)] = pid, ended
            events.register(done, selectors.EVENT_READ)


def _become(streams: Iterable[int], *, function: str, variables: Mapping[str, str]) -> NoReturn:
    """Call the function of a request in this process, and end it."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.update(variables)
    module, _, name = function.partition(":")
    try:
        getattr(importlib.import_module(module), name)()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1:])
