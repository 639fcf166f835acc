"""The load processes' side of the line protocol (see commands.py)."""

from __future__ import annotations

import faulthandler
import json
import os
import select
import signal
import sys
import traceback
from typing import Any

from bench.errors import BenchError

STACK_SIGNAL = signal.SIGUSR1
"""Asks a load process for the stack of each of its threads, on standard error, whatever it is doing."""

_STDOUT = 1
_STDERR = 2


class Answers:
    """Writes JSON lines to what was standard output; whatever else is printed goes to standard error."""

    def __init__(self) -> None:
        """Take standard output over, for this process and every library in it."""
        sys.stdout.flush()
        self._descriptor = os.dup(_STDOUT)
        os.dup2(_STDERR, _STDOUT)
        faulthandler.register(STACK_SIGNAL)

    def progress(self, progress: dict[str, Any]) -> None:
        """Tell how far a command is."""
        self._write({"progress": progress})

    def result(self, summary: dict[str, Any]) -> None:
        """Tell that a command is done, and what came of it."""
        self._write({"done": summary})

    def error(self, error: Exception) -> None:
        """Tell that a command failed; the trace of what is no BenchError goes to standard error."""
        if not isinstance(error, BenchError):
            traceback.print_exception(error)
        sentence = str(error) if isinstance(error, BenchError) else f"A load process hit a bug: {error!r}."
        self._write({"error": sentence, "kind": type(error).__name__})

    def _write(self, answer: dict[str, Any]) -> None:
        line = json.dumps(answer).encode() + b"\n"
        while line:
            try:
                line = line[os.write(self._descriptor, line) :]
            except (
                BlockingIOError
            ):  # on a load machine one socket is input and output, and gevent made it non-blocking
                select.select([], [self._descriptor], [])
