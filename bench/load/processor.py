"""The application of a scenario with a `processor`: `python -m bench.load.processor FILE`, in a node of its own.

It works as bench/systems/processing.py says, until SIGTERM, which lets it finish its batch. Its port opens once it
reads.
"""

from __future__ import annotations

import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from bench.model import Settings, Topic
from bench.systems.registry import client_side

PORT = 7000
FILE = "process.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What it is to do."""

    system: str
    endpoint: str
    source: Topic
    target: Topic
    settings: Settings


def write(command: Process, file: Path) -> None:
    """Leave word for a processor that is about to start."""
    file.write_bytes(TypeAdapter(Process).dump_json(command))


def main() -> None:
    """Process until told to stop."""
    command = TypeAdapter(Process).validate_json(Path(sys.argv[1]).read_bytes())
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    system = client_side(command.system, command.endpoint)
    steps = system.process(command.endpoint, command.source, command.target, command.settings)
    next(steps)
    with socket.create_server(("", PORT)):
        for _ in steps:
            if stopping:
                break
    steps.close()  # type: ignore[attr-defined]  # both systems' are generators


if __name__ == "__main__":
    main()
