"""Settings of one live node, asked of that node itself.

librdkafka finds its way by Metadata, which controllers do not answer, so their settings can't be had through
it. Brokers and controllers alike answer DescribeConfigs, whose version 1 is simple enough to be spoken here.
Without TLS: what listens with TLS is not one of the suite's own nodes.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from bench.errors import ClusterError
from bench.model import Node, of_role
from bench.systems.kafka.nodes import CONTROLLER, ZOOKEEPER, data_folder, node_id, properties_file

_DESCRIBE_CONFIGS = 32
_VERSION = 1
_NODE = 4
_ALL = -1
_TIMEOUT_S = 10.0


def node_settings(node: Node) -> dict[str, str | None]:
    """Return every property of the live node, defaults included; secrets are None. Raises ClusterError.

    ZooKeeper does not tell: what it was started with speaks for it.
    """
    if node.role == ZOOKEEPER:
        lines = properties_file(node.directory).read_text(encoding="utf-8").splitlines()
        pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
        return {name: value for name, _, value in pairs}
    try:
        with socket.create_connection((node.address, node.ports[0]), timeout=_TIMEOUT_S) as connection:
            connection.sendall(_frame_message(_request(node_id(node))))
            size = struct.unpack(">i", _exactly(connection, 4))[0]
            answer = _exactly(connection, size)
    except OSError as error:
        raise ClusterError(f"Reading {node.name}'s settings back: {error}.") from error
    return _settings(node.name, answer)


def active_controller(nodes: Sequence[Node]) -> list[str]:
    """Return the name of the controller that leads the metadata quorum, [] where none does.

    By the election of the highest epoch that any controller has on disk, as one who knows its end has it: clients are
    not told who it is.
    """
    states = [state for node in of_role(nodes, CONTROLLER) if (state := _quorum_state(node))]
    newest = max(states, key=lambda state: (int(state["leaderEpoch"]), int(state["leaderId"])), default=None)
    if newest is None:
        return []
    return [node.name for node in of_role(nodes, CONTROLLER) if node_id(node) == newest["leaderId"]]


def _quorum_state(node: Node) -> dict[str, Any] | None:
    file = data_folder(node.directory) / "__cluster_metadata-0" / "quorum-state"
    try:
        state: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return state


def _frame_message(message: bytes) -> bytes:
    return struct.pack(">i", len(message)) + message


def _request(number: int) -> bytes:
    header = struct.pack(">hhi", _DESCRIBE_CONFIGS, _VERSION, 1) + _string("bench")
    resource = struct.pack(">ib", 1, _NODE) + _string(str(number)) + struct.pack(">i", _ALL)
    return header + resource + b"\0"  # no synonyms


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _exactly(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        if not (part := connection.recv(size - len(received))):
            raise ConnectionError("it closed the connection")
        received += part
    return received


def _settings(name: str, answer: bytes) -> dict[str, str | None]:
    fields = _Fields(answer)
    fields.skip(12)  # correlation id, throttle time, one result
    error, reason = fields.number("h"), fields.text()
    if error:
        raise ClusterError(f"Reading {name}'s settings back: Kafka error {error}, {reason}.")
    fields.skip(1)
    fields.text()
    return dict(_entries(fields))


def _entries(fields: _Fields) -> Iterator[tuple[str, str | None]]:
    for _ in range(fields.number("i")):
        name, value = fields.text(), fields.text()
        fields.skip(3)  # read-only, source, sensitive
        fields.skip(4)  # synonyms, none asked for
        yield str(name), value


class _Fields:
    """Kafka's primitive types, read one after the other."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def skip(self, size: int) -> bytes:
        self._at += size
        return self._content[self._at - size : self._at]

    def number(self, form: str) -> int:
        return int(struct.unpack(f">{form}", self.skip(struct.calcsize(f">{form}")))[0])

    def text(self) -> str | None:
        size = self.number("h")
        return None if size < 0 else self.skip(size).decode()
