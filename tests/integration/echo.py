"""Nodes that answer on port 7 with what they are sent, and who reaches whom."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.backends import ports
from bench.backends.process import ProcessBackend
from bench.model import Node

ASK = """
import socket, sys
with socket.create_connection((sys.argv[1], 7), timeout=0.5) as one:
    one.sendall(b"x")
    sys.exit(one.recv(1) != b"x")
"""

DATAGRAMS = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    for number in range(50):
        one.sendto(b"%d" % number, (sys.argv[1], 9))
"""

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


def reaches(one: Node, other: Node) -> bool:
    """Whether a node gets an answer from another."""
    command = ["nsenter", f"--net=/run/netns/{one.address}", sys.executable, "-c", ASK, other.address]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@contextmanager
def namespace_socket(node: Node) -> Iterator[socket.socket]:
    """A datagram socket at a node's port 9, made in the node's own namespace and handed out."""
    here, there = socket.socketpair()
    code = (
        "import socket, sys; u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('', 9)); "
        "socket.send_fds(socket.socket(fileno=int(sys.argv[1])), [b'.'], [u.fileno()])"
    )
    command = ["nsenter", f"--net=/run/netns/{node.address}", sys.executable, "-c", code, str(there.fileno())]
    with here, there:
        subprocess.run(command, check=True, pass_fds=(there.fileno(),))
        _, descriptors, _, _ = socket.recv_fds(here, 1, 1)
    with socket.socket(fileno=descriptors[0]) as made:
        made.setblocking(False)
        yield made


@contextmanager
def running(
    nodes: Sequence[Node],
    disks: Sequence[Path] = (),
    *,
    fsync_gates: bool = False,
    memory_groups: bool = False,
    cores: Mapping[str, Sequence[int]] | None = None,
) -> Iterator[ProcessBackend]:
    """The backend of nodes that all answer."""
    made = ProcessBackend(
        nodes, disks, fsync_gates=fsync_gates, memory_groups=memory_groups, cores=cores or {}
    )
    try:
        made.start([nodes])
        ports.await_open(nodes, made.alive)
        yield made
    finally:
        made.close()
