"""Nodes that answer on port 7 with what they are sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.backends.process import ProcessBackend
from bench.model import Node

_SERVE = """
import socketserver
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(100):
            self.request.sendall(data)
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
Server(("0.0.0.0", 7), Echo).serve_forever()
"""


def echo(name: str, host: int, folder: Path, first: str = "") -> Node:
    """A node at 10.99.9.<host>; `first` is Python that it runs before, with its data folder as sys.argv[1]."""
    directory = folder / name
    command = (sys.executable, "-c", first + _SERVE, str(directory / "data"))
    return Node(name, "echo", f"10.99.9.{host}", command, directory, directory / "log", (7,), 0)


@contextmanager
def running(nodes: Sequence[Node], disks: Sequence[Path] = ()) -> Iterator[ProcessBackend]:
    """The backend of nodes that all answer."""
    made = ProcessBackend(nodes, disks)
    try:
        made.start([nodes])
        made._await_ports(nodes)
        yield made
    finally:
        made.close()
