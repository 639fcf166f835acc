"""The truth of the faults themselves, on small echo servers as nodes: real processes, networks and disks."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from bench.backends import ports, supervision
from bench.backends.delayed_node import Link
from bench.backends.disks import Disk, why_no_power_cut
from bench.backends.netns import PacketRules, Packets
from bench.backends.process import ProcessBackend
from bench.backends.supervision import Supervision
from bench.errors import FaultError, NodeDiedError
from bench.model import Node
from tests.integration.echo import DATAGRAMS, echo, namespace_socket, reaches, running

pytestmark = pytest.mark.integration


@pytest.fixture
def nodes(tmp_path: Path) -> list[Node]:
    return [echo(f"echo-{number}", number, tmp_path) for number in (1, 2, 3)]


@pytest.fixture
def backend(nodes: list[Node]) -> Iterator[ProcessBackend]:
    with running(nodes) as made:
        yield made


def rules(
    name: str, *addresses: str, inbound: bool = True, outbound: bool = True, **kind: Any
) -> PacketRules:
    return PacketRules(name, addresses if inbound else (), addresses if outbound else (), **kind)


def answers(node: Node) -> bool:
    """Whether a node answers to a client."""
    try:
        with socket.create_connection((node.address, 7), timeout=0.5) as one:
            one.sendall(b"x")
            return one.recv(1) == b"x"
    except OSError:
        return False


def round_trip_s(node: Node) -> float:
    """The shortest of ten echoes over one connection."""
    taken = []
    with socket.create_connection((node.address, 7), timeout=5) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(10):
            begun = time.monotonic()
            connection.sendall(b"x")
            assert connection.recv(1) == b"x"
            taken.append(time.monotonic() - begun)
    return min(taken)


def test_a_killed_node_is_gone_and_comes_back(backend: ProcessBackend, nodes: list[Node]) -> None:
    assert backend.end_node(nodes[0], kill=True) == -9
    assert not answers(nodes[0])
    backend.alive()  # it was asked for, so nothing is wrong

    backend.start_node(nodes[0])
    assert answers(nodes[0])


def test_a_stopped_node_ended_in_order(backend: ProcessBackend, nodes: list[Node]) -> None:
    assert backend.end_node(nodes[1], kill=False) == -15
    assert answers(nodes[0])
    with pytest.raises(FaultError, match="echo-2 does not run"):
        backend.pause_node(nodes[1])


def test_a_node_that_dies_by_itself_is_still_told(backend: ProcessBackend, nodes: list[Node]) -> None:
    backend.end_node(nodes[0], kill=True)
    os.kill(backend.pids()["echo-2"], 9)
    time.sleep(0.5)
    with pytest.raises(NodeDiedError, match="echo-2 ended"):
        backend.alive()


def test_a_node_that_dies_by_itself_under_faults_is_started_again_and_it_is_told(
    backend: ProcessBackend, nodes: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "RESTART_S", 1.0)
    told: list[tuple[str, int]] = []
    with backend.supervise(lambda name, status: told.append((name, status))):
        backend.end_node(nodes[0], kill=True)  # asked for: it stays away
        os.kill(backend.pids()["echo-2"], 9)
        time.sleep(0.5)
        backend.alive()
        backend.pause_node(nodes[1])  # waits until it runs again
        backend.resume_node(nodes[1])
        ports.await_open([nodes[1]], backend.alive)

        assert answers(nodes[1])
        assert not answers(nodes[0])
        assert told == [("echo-2", -9)]


def test_who_is_started_again_is_told_back_once_its_port_is_open(
    backend: ProcessBackend, nodes: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "RESTART_S", 0.5)
    back: list[tuple[str, bool]] = []
    with backend.supervise(
        lambda _name, _status: None, lambda name: back.append((name, backend.listens(nodes[1])))
    ):
        os.kill(backend.pids()["echo-2"], 9)
        deadline = time.monotonic() + 20
        while not back and time.monotonic() < deadline:
            time.sleep(0.02)

    assert back == [("echo-2", True)]


def test_a_node_that_dies_again_and_again_is_not_started_for_ever() -> None:
    watched = Supervision(lambda _name, _status: None)
    taken = 0
    while watched.takes("echo-1", 1):
        taken += 1
        watched._due.clear()
    assert taken == 20


def test_a_paused_node_answers_nothing_and_others_do(backend: ProcessBackend, nodes: list[Node]) -> None:
    assert backend.pause_node(nodes[0]) == "T"
    assert not answers(nodes[0])
    assert answers(nodes[1])

    assert backend.resume_node(nodes[0]) != "T"
    assert answers(nodes[0])


def test_several_nodes_are_paused_and_resumed_at_once(backend: ProcessBackend, nodes: list[Node]) -> None:
    backend.pause_all(nodes[:2])
    assert [answers(node) for node in nodes] == [False, False, True]

    backend.resume_all(nodes[:2])
    assert all(answers(node) for node in nodes)


def test_a_cut_pair_exchanges_nothing_while_others_do(backend: ProcessBackend, nodes: list[Node]) -> None:
    one, other, third = nodes
    assert reaches(one, other)
    assert reaches(other, one)

    backend.cut(one, rules("rules", other.address))
    assert not reaches(one, other)
    assert not reaches(other, one)
    assert backend.packet_counts(one, rules("rules")).affected_count > 0
    assert reaches(one, third)
    assert reaches(third, other)
    assert answers(one)

    backend.mend(one, rules("rules"))
    assert reaches(one, other)
    assert reaches(other, one)


def test_two_cuts_of_a_node_are_mended_apart(backend: ProcessBackend, nodes: list[Node]) -> None:
    one, other, third = nodes
    backend.cut(one, rules("first", other.address))
    backend.cut(one, rules("second", third.address))
    backend.mend(one, rules("first"))

    assert reaches(one, other)
    assert not reaches(one, third)


def test_a_connection_that_is_open_is_cut_too(backend: ProcessBackend, nodes: list[Node]) -> None:
    one = nodes[0]
    with socket.create_connection((one.address, 7), timeout=0.5) as connection:
        connection.sendall(b"a")
        assert connection.recv(1) == b"a"
        backend.cut(one, rules("rules", backend.client))
        connection.sendall(b"b")
        with pytest.raises(TimeoutError):
            connection.recv(1)
        backend.mend(one, rules("rules"))
        connection.settimeout(10)
        assert connection.recv(1) == b"b"


def test_a_cut_in_one_direction_lets_the_other_pass(backend: ProcessBackend, nodes: list[Node]) -> None:
    one, other, _ = nodes
    backend.cut(one, rules("rules", other.address, inbound=False))

    assert not reaches(one, other)
    assert backend.packet_counts(one, rules("rules")).affected_count > 0
    assert not reaches(other, one)  # the answer does not get out


NO_POWER_CUT = why_no_power_cut()


def test_a_lossy_link_loses_about_its_share(backend: ProcessBackend, nodes: list[Node]) -> None:
    one = nodes[0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        backend.cut(one, rules("rules", backend.client, outbound=False, share=0.2))
        for _ in range(5000):
            datagrams.sendto(b"x", (one.address, 9))
    assert (
        800 < backend.packet_counts(one, rules("rules")).affected_count < 1200
    )  # 1000 expected, and 28 is one standard deviation


def test_a_doubling_node_sends_twice_what_it_sends(backend: ProcessBackend, nodes: list[Node]) -> None:
    one, other, _ = nodes
    command = ["nsenter", f"--net=/run/netns/{one.address}", sys.executable, "-c", DATAGRAMS, other.address]
    with namespace_socket(other) as received:
        backend.cut(one, rules("rules", other.address, double=True))
        subprocess.run(command, check=True)
        time.sleep(0.2)
        came = []
        with suppress(BlockingIOError):
            while True:
                came.append(received.recv(10))
    assert backend.packet_counts(one, rules("rules")) == Packets(met=50, went_out=50)
    assert sorted(came) == sorted([b"%d" % number for number in range(50)] * 2)

    backend.mend(one, rules("rules"))
    assert reaches(one, other)


def test_a_longer_way_takes_as_long_as_asked_in_each_direction(
    backend: ProcessBackend, nodes: list[Node]
) -> None:
    one, other, third = nodes
    others = [backend.client, other.address]
    delayed = backend.slow_network(one, others, others, Link(delay_s=0.03))
    try:
        slow_s = round_trip_s(one)
        assert 0.06 <= slow_s < 0.2
        assert round_trip_s(third) < 0.03  # others are as near as before
        with pytest.raises(FaultError, match=f"Packets of {one.name} are held already"):
            backend.slow_network(one, [third.address], [third.address], Link(delay_s=0.05))
    finally:
        held = delayed.end()
    assert held["in"].packets > 10
    assert held["out"].packets > 10
    assert 30e6 <= held["out"].p50_ns < 60e6
    assert round_trip_s(one) < 0.03


def test_a_narrow_way_lets_as_much_pass_as_asked(backend: ProcessBackend, nodes: list[Node]) -> None:
    one = nodes[0]
    delayed = backend.slow_network(
        one, [backend.client], [backend.client], Link(delay_s=0.0, bytes_per_s=1e6)
    )
    try:
        begun = time.monotonic()
        with socket.create_connection((one.address, 7), timeout=10) as connection:
            connection.sendall(bytes(200_000))
            left = 200_000
            while left:
                left -= len(connection.recv(65_536))
        taken_s = time.monotonic() - begun
    finally:
        held = delayed.end()
    assert 0.18 < taken_s < 1.0  # 0.2 s in and 0.2 s out, at the same time
    assert held["in"].bytes > 200_000
    assert 0 < held["in"].busy_bytes / held["in"].busy_ns * 1e9 <= 1e6


SYNCS = """
import os, sys, time
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
while True:
    os.write(file, b"x")
    begun = time.monotonic()
    os.fdatasync(file)
    print(time.monotonic() - begun, flush=True)
    time.sleep(0.001)
"""


def test_a_slow_disk_holds_each_fsync_and_others_do_not(tmp_path: Path) -> None:
    nodes = []
    for number in (1, 2):
        directory = tmp_path / f"sync-{number}"
        command = (sys.executable, "-c", SYNCS, str(directory / "file"))
        nodes.append(
            Node(
                f"sync-{number}", "sync", f"10.99.9.{number}", command, directory, directory / "log", (7,), 0
            )
        )
    backend = ProcessBackend(nodes, fsync_gates=True)
    try:
        backend.start([nodes])
        time.sleep(0.5)
        backend.hold_fsyncs(nodes[0], 0.02)
        time.sleep(1.0)
        count, typical_ns = backend.held_fsyncs(nodes[0])
        assert count > 10
        assert 20e6 <= typical_ns < 40e6
        assert backend.held_fsyncs(nodes[1])[0] == 0
        assert backend.held_fsyncs(nodes[0], count - 1)[0] >= 1

        assert (
            backend.release_fsyncs([nodes[0]])
            == "No fsync of sync-1 waits at its gate, and none was held there any more."
        )
        later = backend.held_fsyncs(nodes[0])[0]
        time.sleep(0.3)
        assert backend.held_fsyncs(nodes[0])[0] == later
    finally:
        backend.close()
    took = [float(line) for line in nodes[0].log.read_text().split()]
    assert sum(20e-3 <= one < 80e-3 for one in took) > 10
    assert min(took) < 20e-3


MAPPED = """
import mmap, sys, time
file = open(sys.argv[1], "w+b")
file.truncate(1 << 20)
mapped = mmap.mmap(file.fileno(), 1 << 20)
while True:
    for change in ("changed", "same", "same"):
        if change == "changed":
            mapped[4096:4104] = time.monotonic_ns().to_bytes(8, "big")
        begun = time.monotonic()
        mapped.flush()
        print(change, time.monotonic() - begun, flush=True)
"""


def test_a_slow_disk_holds_an_msync_of_what_has_changed_and_of_nothing_else(tmp_path: Path) -> None:
    directory = tmp_path / "map-1"
    command = (sys.executable, "-c", MAPPED, str(directory / "file"))
    node = Node("map-1", "map", "10.99.9.1", command, directory, directory / "log", (7,), 0)
    backend = ProcessBackend([node], fsync_gates=True)
    try:
        backend.start([[node]])
        time.sleep(0.5)
        backend.hold_fsyncs(node, 0.02)
        time.sleep(0.1)
        begun, before = node.log.stat().st_size, backend.held_fsyncs(node)[0]
        time.sleep(1.0)
        held = backend.held_fsyncs(node)[0] - before
    finally:
        backend.close()
    lines = node.log.read_text()[begun:].splitlines()[1:-1]
    took: dict[str, list[float]] = {"changed": [], "same": []}
    for change, seconds in (line.split() for line in lines):
        took[change].append(float(seconds))
    assert held > 10
    assert min(took["changed"]) >= 20e-3
    assert median(took["same"]) < 5e-3
    assert abs(len(took["changed"]) - held) <= 3


@pytest.mark.skipif(NO_POWER_CUT is not None, reason=str(NO_POWER_CUT))
def test_a_power_cut_loses_what_was_not_synced_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    disk = Disk(folder)
    try:
        disk.sync()
        with (folder / "synced").open("wb") as file:
            file.write(b"kept")
            file.flush()
            os.fsync(file.fileno())
        (folder / "unsynced").write_bytes(b"gone")

        disk.shut_down()
        disk.must_be_off("data")
        with pytest.raises(OSError, match="Input/output error"):
            (folder / "later").write_bytes(b"never")
        disk.remount()

        assert (folder / "synced").read_bytes() == b"kept"
        unsynced = folder / "unsynced"
        assert not unsynced.exists() or unsynced.read_bytes() == b""
        assert not (folder / "later").exists()
    finally:
        disk.close()


@pytest.mark.skipif(NO_POWER_CUT is not None, reason=str(NO_POWER_CUT))
def test_a_full_disk_takes_nothing_until_it_is_freed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    disk = Disk(folder)
    try:
        (folder / "before").write_bytes(b"kept")
        assert disk.fill() > 1 << 30
        with pytest.raises(OSError, match="No space left"):
            (folder / "more").write_bytes(bytes(8192))

        disk.free()
        (folder / "more").write_bytes(bytes(8192))
        assert (folder / "before").read_bytes() == b"kept"
    finally:
        disk.close()


@pytest.mark.skipif(NO_POWER_CUT is not None, reason=str(NO_POWER_CUT))
def test_a_disk_that_is_on_is_not_taken_for_off(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "data")
    try:
        with pytest.raises(FaultError, match="still took a write"):
            disk.must_be_off("data")
    finally:
        disk.close()
