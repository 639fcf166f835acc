"""The long-lived consumer process: `python -m bench.load.consumer_worker`. Protocol: commands.py. No gevent.

It ends when its standard input closes.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from contextlib import suppress
from typing import Any

from bench.errors import LoadError
from bench.load.commands import DrainConsumers, Finish, ReadGroup, Subscribe, Verify, from_line
from bench.load.consuming import Consumers, read_group, verify
from bench.load.wire import Answers
from bench.load.without_pandas import keep_pandas_out
from bench.native_threads import hurry_threads
from bench.systems.registry import client_side


def main() -> None:
    """Serve commands until standard input closes."""
    keep_pandas_out()
    hurry_threads()
    process = ConsumerProcess(Answers())
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    while True:
        process.answer(lines.get())


def _read(lines: queue.SimpleQueue[bytes]) -> None:
    """Pass lines on; end the process with the input, whatever it is doing: whoever asked is gone."""
    for line in sys.stdin.buffer:
        lines.put(line)
    os._exit(0)  # client libraries may hang or abort in an orderly exit


class ConsumerProcess:
    """Answers one command after the other; the live consumers run on between them."""

    def __init__(self, answers: Answers) -> None:
        """Answer there."""
        self._answers = answers
        self._consumers: dict[int, Consumers] = {}

    def answer(self, line: bytes) -> None:
        """Do what one line asks."""
        try:
            self._answers.result(self._do(line))
        except Exception as error:  # noqa: BLE001 - the runner gets it
            self._answers.error(error)

    def _do(self, line: bytes) -> dict[str, Any]:
        command = from_line(line)
        match command:
            case Subscribe():
                return self._subscribe(command)
            case DrainConsumers(trial=trial):
                return self._of_trial(trial).drain(command)
            case Finish(trial=trial):
                consumers = self._of_trial(trial)
                del self._consumers[trial]
                return consumers.finish(command, self._answers.progress)
            case Verify():
                return verify(client_side(command.system, command.endpoint), command, self._answers.progress)
            case ReadGroup():
                return read_group(client_side(command.system, command.endpoint), command)
        raise LoadError(f"The consumer process only consumes; {command.verb} is the load process's.")

    def _subscribe(self, command: Subscribe) -> dict[str, Any]:
        self._abandon(command.trial)
        self._consumers[command.trial] = Consumers(client_side(command.system, command.endpoint), command)
        return {}

    def _abandon(self, trial: int) -> None:
        """Close the live consumers that a trial had before it broke off: nobody waits for what they have."""
        consumers = self._consumers.pop(trial, None)
        if consumers is not None:
            with suppress(LoadError):
                consumers.close()

    def _of_trial(self, trial: int) -> Consumers:
        if trial not in self._consumers:
            raise LoadError(f"The consumer process has no consumers of trial {trial}.")
        return self._consumers[trial]


if __name__ == "__main__":
    main()
