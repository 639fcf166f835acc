import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import ClusterError
from bench.model import Node
from bench.systems.kafka.admin import spread
from bench.systems.kafka.describe import node_settings


@given(brokers=st.integers(1, 9), partitions=st.integers(1, 70), copies=st.integers(1, 9))
def test_leaders_and_copies_are_spread_evenly(brokers: int, partitions: int, copies: int) -> None:
    replicas = min(brokers, copies)
    assigned = spread(range(1, brokers + 1), partitions, replicas)

    leaders = Counter(one[0] for one in assigned)
    assert max(leaders.values()) - min(leaders.get(broker, 0) for broker in range(1, brokers + 1)) <= 1
    assert all(len(set(one)) == len(one) == replicas for one in assigned)


def test_followers_of_one_leader_take_turns() -> None:
    assert spread([1, 2, 3, 4], 12, 2)[::4] == [[1, 2], [1, 3], [1, 4]]


def test_more_replicas_than_live_brokers_are_refused() -> None:
    with pytest.raises(ClusterError, match="3 replicas need as many live brokers, and there are 2"):
        spread([1, 2], 1, 3)


def text(value: str | None) -> bytes:
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()


def answer(error: int, reason: str | None, settings: dict[str, str | None]) -> bytes:
    """Write a DescribeConfigs response, version 1."""
    body = struct.pack(">iiih", 1, 0, 1, error) + text(reason) + b"\x04" + text("1001")
    body += struct.pack(">i", len(settings))
    for name, value in settings.items():
        body += text(name) + text(value) + b"\0\x05\0" + struct.pack(">i", 0)
    return struct.pack(">i", len(body)) + body


@pytest.fixture
def controller(request: pytest.FixtureRequest) -> Iterator[Node]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server, request.param))
        thread.start()
        port = server.getsockname()[1]
        yield Node("controller-1", "controller", "127.0.0.1", (), Path(), Path(), (port,), 0)
        thread.join()


def serve(server: socket.socket, reply: bytes) -> None:
    """Answer in two pieces, so that the reader has to wait for the second."""
    connection, _ = server.accept()
    with connection:
        size = struct.unpack(">i", connection.recv(4))[0]
        assert connection.recv(size).endswith(text("1001") + struct.pack(">i", -1) + b"\0")
        for start, end in pairwise((0, 3, len(reply))):
            connection.sendall(reply[start:end])


@pytest.mark.parametrize(
    "controller", [answer(0, None, {"a.b": "1", "nothing": None})], indirect=True, ids=["two settings"]
)
def test_a_controllers_settings_are_read_from_it(controller: Node) -> None:
    assert node_settings(controller) == {"a.b": "1", "nothing": None}


@pytest.mark.parametrize("controller", [answer(42, "no such node", {})], indirect=True, ids=["refused"])
def test_a_refusal_carries_the_reason(controller: Node) -> None:
    with pytest.raises(ClusterError, match="controller-1's settings back: Kafka error 42, no such node"):
        node_settings(controller)


@pytest.mark.parametrize("controller", [b"\0\0"], indirect=True, ids=["closed"])
def test_a_connection_that_ends_early_is_an_error(controller: Node) -> None:
    with pytest.raises(ClusterError, match="it closed the connection"):
        node_settings(controller)
