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
from typing import Any, Protocol, Self, TypeAlias

from bench.errors import LoadError
from bench.load.commands import Command, to_line
from bench.load.wire import STACK_SIGNAL

PRODUCER_MODULE = "bench.load.worker"
CONSUMER_MODULE = "bench.load.consumer_worker"

_TURN_S = 0.1
_CLOSE_S = 5.0
_WHERE_S = 0.5
_LOG_LINES = 60
_READ_BYTES = 1 << 16


Listener: TypeAlias = Callable[[dict[str, Any]], None]
Check: TypeAlias = Callable[[], None]


def no_listener(_: dict[str, Any]) -> None:
    """Ignore progress."""


def no_check() -> None:
    """Check nothing."""


class TakesCommands(Protocol):
    """What carries out commands: one load process, or several as one (distributed_load.py)."""

    def call(
        self,
        command: Command,
        deadline_s: float,
        on_progress: Listener = no_listener,
        alive: Check = no_check,
    ) -> dict[str, Any]:
        """See CommandChannel.call."""


class CommandChannel:
    """Asks a load process over two descriptors, one call at a time, any number of them.

    After a call has raised, the process may still be busy with what it was asked: close it and start another.
    """

    def __init__(self, to_process: int, from_process: int) -> None:
        """Write commands to one descriptor, read answers from the other; whoever opened them closes them."""
        self._to, self._from = to_process, from_process
        self._broken = False
        self._unread = b""

    def describe(self) -> str:
        """Name the process in messages."""
        raise NotImplementedError

    def exit_error(self) -> LoadError:
        """Return the error for a process that closed its end."""
        return LoadError(f"{self.describe()} ended.")

    def timeout_error(self, deadline_s: float) -> LoadError:
        """Return the error for a process that says nothing."""
        return LoadError(f"{self.describe()} said nothing for {deadline_s:g} s.")

    def call(
        self,
        command: Command,
        deadline_s: float,
        on_progress: Listener = no_listener,
        alive: Check = no_check,
    ) -> dict[str, Any]:
        """Ask for one thing and return what came of it; `alive` is called at every turn, and may raise.

        Raises LoadError when the process answers with an error, dies, or says nothing for `deadline_s`.
        """
        if self._broken:
            raise LoadError(
                f"{self.describe()} is still busy with a call that was given up: close it, start another."
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

    def _write(self, line: bytes) -> None:
        try:
            while line:
                line = line[os.write(self._to, line) :]
        except OSError as error:
            raise self.exit_error() from error

    def _next_answer(self, deadline_s: float, alive: Check) -> dict[str, Any]:
        deadline = time.monotonic() + deadline_s
        while (line := self._next_line()) is None:
            alive()
            if time.monotonic() > deadline:
                raise self.timeout_error(deadline_s)
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise LoadError(f"{self.describe()} answered what is no JSON: {line[:200]!r}.") from error
        return answer

    def _next_line(self) -> bytes | None:
        """Return a whole line, or None after a turn without one."""
        if b"\n" not in self._unread and self._is_readable():
            try:
                read = os.read(self._from, _READ_BYTES)
            except OSError as error:
                raise self.exit_error() from error
            if not read:
                raise self.exit_error()
            self._unread += read
        line, newline, unread = self._unread.partition(b"\n")
        if not newline:
            return None
        self._unread = unread
        return line

    def _is_readable(self) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._from, selectors.EVENT_READ)
            return bool(selector.select(_TURN_S))


class WorkerProcess(CommandChannel):
    """A load process on this machine; a context manager, or close it."""

    def __init__(
        self, module: str, log: Path, *, arguments: Sequence[str] = (), inherited: Sequence[int] = ()
    ) -> None:
        """Start `python -m module`; standard error goes to `log`, descriptors in `inherited` stay open."""
        self._log = log
        self._module = module
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
        super().__init__(self._stdin().fileno(), self._stdout().fileno())

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

    def timeout_error(self, deadline_s: float) -> LoadError:
        """See CommandChannel. Have it write where each of its threads is to its log, and tell that log's end."""
        self._process.send_signal(STACK_SIGNAL)
        time.sleep(_WHERE_S)
        return LoadError(f"{self.describe()} said nothing for {deadline_s:g} s. {self._end_of_log()}")

    def exit_error(self) -> LoadError:
        """See CommandChannel."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_S)
        return LoadError(
            f"{self.describe()} ended (exit code {self._process.returncode}). {self._end_of_log()}"
        )

    def _end_of_log(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:]
        return f"The end of {self._log}:\n" + "\n".join(lines) if lines else f"{self._log} is empty."

    def describe(self) -> str:
        """See CommandChannel."""
        return f"The process {self._module} (pid {self._process.pid})"

    def _stdin(self) -> Any:  # noqa: ANN401 - Popen's pipes are optional to its types only
        return self._process.stdin

    def _stdout(self) -> Any:  # noqa: ANN401
        return self._process.stdout
