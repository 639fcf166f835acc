"""The runner's side of a load process: start it, ask it, end it."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from bench.errors import LoadError
from bench.load.commands import Command, to_line
from bench.load.wire import WHERE

PRODUCER_MODULE = "bench.load.worker"
CONSUMER_MODULE = "bench.load.consumer_worker"

_TURN_S = 0.1
_CLOSE_S = 5.0
_WHERE_S = 0.5
_LOG_LINES = 60
_READ_BYTES = 1 << 16


def _ignore(_: dict[str, Any]) -> None:
    """Take no notice of progress."""


def _no_check() -> None:
    """Take it that all is well."""


class WorkerProcess:
    """A load process. It serves one call at a time, any number of them; a context manager, or close it.

    After a call has raised, the process may still be busy with what it was asked: close it and start another.
    """

    def __init__(
        self, module: str, log: Path, *, arguments: Sequence[str] = (), inherited: Sequence[int] = ()
    ) -> None:
        """Start `python -m module`; standard error goes to `log`, descriptors in `inherited` stay open."""
        self._log = log
        self._module = module
        self._broken = False
        self._unread = b""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                pass_fds=tuple(inherited),
                process_group=0,
            )

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def call(
        self,
        command: Command,
        deadline_s: float,
        on_progress: Callable[[dict[str, Any]], None] = _ignore,
        alive: Callable[[], None] = _no_check,
    ) -> dict[str, Any]:
        """Ask for one thing and return what came of it; `alive` is called at every turn, and may raise.

        Raises LoadError when the process answers with an error, dies, or says nothing for `deadline_s`.
        """
        if self._broken:
            raise LoadError(
                f"{self._name()} is still busy with a call that was given up: close it, start another."
            )
        self._broken = True
        self._write(to_line(command))
        while True:
            answer = self._next_answer(deadline_s, alive)
            if "progress" in answer:
                on_progress(answer["progress"])
                continue
            self._broken = False
            if "error" in answer:
                raise LoadError(answer["error"])
            done: dict[str, Any] = answer["done"]
            return done

    def close(self) -> None:
        """End the process: close its input, then kill it if it does not end by itself. Does not raise."""
        with suppress(OSError):
            self._stdin().close()
        try:
            self._process.wait(_CLOSE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stdout().close()

    def _write(self, line: bytes) -> None:
        try:
            self._stdin().write(line)
            self._stdin().flush()
        except OSError as error:
            raise self._died() from error

    def _next_answer(self, deadline_s: float, alive: Callable[[], None]) -> dict[str, Any]:
        deadline = time.monotonic() + deadline_s
        while (line := self._next_line()) is None:
            alive()
            if time.monotonic() > deadline:
                raise self._silent(deadline_s)
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise LoadError(f"{self._name()} answered what is no JSON: {line[:200]!r}.") from error
        return answer

    def _next_line(self) -> bytes | None:
        """Return a whole line, or None after a turn without one."""
        if b"\n" not in self._unread and self._is_readable():
            read = os.read(self._stdout().fileno(), _READ_BYTES)
            if not read:
                raise self._died()
            self._unread += read
        line, newline, unread = self._unread.partition(b"\n")
        if not newline:
            return None
        self._unread = unread
        return line

    def _is_readable(self) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout(), selectors.EVENT_READ)
            return bool(selector.select(_TURN_S))

    def _silent(self, deadline_s: float) -> LoadError:
        """Have it write where each of its threads is to its log, and tell that log's end."""
        self._process.send_signal(WHERE)
        time.sleep(_WHERE_S)
        return LoadError(f"{self._name()} said nothing for {deadline_s:g} s. {self._end_of_log()}")

    def _died(self) -> LoadError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_S)
        return LoadError(f"{self._name()} ended (exit code {self._process.returncode}). {self._end_of_log()}")

    def _end_of_log(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:]
        return f"The end of {self._log}:\n" + "\n".join(lines) if lines else f"{self._log} is empty."

    def _name(self) -> str:
        return f"The process {self._module} (pid {self._process.pid})"

    def _stdin(self) -> Any:  # noqa: ANN401 - Popen's pipes are optional to its types only
        return self._process.stdin

    def _stdout(self) -> Any:  # noqa: ANN401
        return self._process.stdout
