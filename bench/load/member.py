"""A member of a consumer group: `python -m bench.load.member FILE`, in a node of its own.

It joins, and receives until SIGTERM, which lets it leave the group. Its port opens once it has asked to join. What it
received is on disk after a quarter of a second at the latest: of a member that is killed the rest is missing.
"""

from __future__ import annotations

import signal
import socket
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from bench.load.consuming import LiveConsumer
from bench.load.payload import run_hash
from bench.load.recorder import ReceiveRecorder
from bench.load.without_pandas import keep_pandas_out
from bench.model import Settings, Topic
from bench.systems import membership
from bench.systems.registry import client_side

PORT = 7001
FILE = "member.json"
_FLUSH_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Which group it joins, and where its receives go, as those of consumer `number` of a trial."""

    system: str
    endpoint: str
    topic: Topic
    consumer: Settings
    group: Settings
    number: int
    trial: int
    run: str
    folder: Path


def write(command: Membership, file: Path) -> None:
    """Leave word for a member that is about to start."""
    file.write_bytes(TypeAdapter(Membership).dump_json(command))


def main() -> None:
    """Receive until told to leave."""
    keep_pandas_out()
    command = TypeAdapter(Membership).validate_json(Path(sys.argv[1]).read_bytes())
    leaving = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: leaving.set())
    system = client_side(command.system, command.endpoint)
    member = system.member(
        command.endpoint, command.topic, command.consumer, str(command.group[membership.TYPE])
    )
    recorder = ReceiveRecorder(command.folder, "live", command.number, run_hash(command.run), command.trial)
    live = LiveConsumer(member, recorder, command.number, membership.work_s(command.group))
    with socket.create_server(("", PORT)):
        while not leaving.wait(_FLUSH_S):
            live.flush()
    live.close()


if __name__ == "__main__":
    main()
