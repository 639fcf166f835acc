"""Nodes of others, broken and mended by shell commands."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.backends.external_backend import ExternalBackend
from bench.errors import FaultError
from bench.model import Node


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def node(name: str, port: int) -> Node:
    folder = Path("/nowhere")
    return Node(name, "broker", "127.0.0.1", ("x",), folder, folder / "log", (port,), 0)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as made:
        return int(made.getsockname()[1])


def test_a_node_that_is_left_broken_is_mended(tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    backend = ExternalBackend({"broker-1": {"kill": "true", "start": f"touch {mended}"}})

    assert backend.end_node(node("broker-1", free_port()), kill=True) == 0
    assert not mended.exists()
    assert backend.mend() == []

    assert mended.exists()
    mended.unlink()
    assert backend.mend() == []  # once is enough
    assert not mended.exists()


def test_a_node_that_cannot_be_mended_is_said_and_the_others_are_mended(tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    backend = ExternalBackend(
        {
            "broker-1": {"kill": "true", "start": "echo no such host >&2; exit 255"},
            "broker-2": {"kill": "true", "start": f"touch {mended}"},
        }
    )
    for name in ("broker-1", "broker-2"):
        backend.end_node(node(name, free_port()), kill=True)

    (failure,) = backend.mend()

    assert failure == "broker-1 is left broken: start of broker-1 ended with status 255: no such host"
    assert mended.exists()


def test_a_command_that_fails_or_is_missing_is_an_error_with_its_output() -> None:
    backend = ExternalBackend({"broker-1": {"kill": "echo refused; exit 3"}})

    with pytest.raises(FaultError, match="kill of broker-1 ended with status 3: refused"):
        backend.end_node(node("broker-1", free_port()), kill=True)
    with pytest.raises(FaultError, match="broker-1 has no command 'stop'"):
        backend.end_node(node("broker-1", free_port()), kill=False)


def test_a_node_that_still_listens_has_not_ended(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.backends.external_backend._CLOSES_S", 0.2)
    backend = ExternalBackend({"broker-1": {"kill": "true", "start": "true"}})

    with pytest.raises(FaultError, match="still takes connections"):
        backend.end_node(node("broker-1", listener.getsockname()[1]), kill=True)


def test_the_state_of_a_paused_node_is_what_its_command_prints() -> None:
    commands = {"pause": "true", "resume": "true", "state": "echo Tl+"}
    backend = ExternalBackend({"broker-1": commands})

    assert backend.pause_node(node("broker-1", 1)) == "T"


def test_a_name_that_is_unknown_does_not_listen() -> None:
    gone = Node("broker-1", "broker", "gone.invalid", ("x",), Path("/x"), Path("/x/log"), (9092,), 0)

    assert not ExternalBackend({}).listens(gone)
