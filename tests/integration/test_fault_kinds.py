"""Kinds of fault from the strike to the last proof, on real nodes with disks of their own."""

import re
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.backends import process
from bench.backends.disks import Disk, why_no_power_cut
from bench.backends.gates import fsync_cost
from bench.backends.process import ProcessBackend
from bench.errors import FaultError
from bench.faults.fault import FaultEffect, Place, Unproven
from bench.faults.kinds import kinds
from bench.model import Node
from tests.integration.echo import echo, running

pytestmark = pytest.mark.integration

NO_POWER_CUT = why_no_power_cut()
KEEP = """
import os, sys
folder = sys.argv[1]
if not os.path.exists(folder + "/synced"):
    with open(folder + "/synced", "wb") as file:
        file.write(b"kept")
        file.flush()
        os.fsync(file.fileno())
    directory = os.open(folder, os.O_RDONLY)
    os.fsync(directory)
    with open(folder + "/unsynced", "wb") as file:
        file.write(b"gone")
"""

WRITE = """
import os, sys, threading, time
def write():
    while True:
        try:
            with open(sys.argv[1] + "/log", "ab") as file:
                file.write(b"x")
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            os._exit(3)
        time.sleep(0.01)
threading.Thread(target=write, daemon=True).start()
"""

TELL = """
import os, sys, threading
def write():
    folder = sys.argv[1]
    number = int(open(folder + "/log").read().split()[-1]) if os.path.exists(folder + "/log") else 0
    with open(folder + "/log", "a") as log, open(folder + "/../told", "a") as told:
        while True:
            number += 1
            log.write(f"{number}\\n")
            log.flush()
            os.fsync(log.fileno())
            told.write(f"{number}\\n")
            told.flush()
threading.Thread(target=write, daemon=True).start()
"""


@pytest.fixture
def nodes(tmp_path: Path) -> list[Node]:
    return [echo(f"keeper-{number}", number, tmp_path, KEEP) for number in (1, 2)]


@pytest.fixture
def backend(nodes: list[Node]) -> Iterator[ProcessBackend]:
    with running(nodes, [node.directory / "data" for node in nodes]) as made:
        yield made


@pytest.fixture
def nobody_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait shortly only for a node to end of its full disk: these live on."""
    monkeypatch.setattr(process, "_ENDS_S", 0.2)


def strike(
    kind: str, backend: ProcessBackend, nodes: Sequence[Node], struck: Node, **settings: Any
) -> FaultEffect:
    place = Place(backend, nodes, "10.99.9.254", lambda name: [node for node in nodes if node.name == name])
    return kinds()[kind].model_validate({"target": struck.name, **settings}).strike(place, [struck])


@pytest.mark.skipif(NO_POWER_CUT is not None, reason=str(NO_POWER_CUT))
def test_a_node_without_power_comes_back_with_what_it_had_synced(
    backend: ProcessBackend, nodes: list[Node]
) -> None:
    cut, other = nodes
    effect = strike("power-loss", backend, nodes, cut)

    assert "refuse every write" in effect.evidence
    assert not backend.listens(cut)
    assert backend.listens(other)
    backend.alive()  # it was asked for, so nothing is wrong

    assert "mounted as the disk had it" in effect.heal([cut])
    assert backend.listens(cut)
    data = cut.directory / "data"
    assert (data / "synced").read_bytes() == b"kept"
    unsynced = data / "unsynced"
    assert not unsynced.exists() or unsynced.read_bytes() == b""
    assert (other.directory / "data" / "unsynced").read_bytes() == b"gone"
    assert not isinstance(effect.proof(), Unproven)


@pytest.mark.skipif(NO_POWER_CUT is not None, reason=str(NO_POWER_CUT))
def test_what_a_server_told_after_an_fsync_is_there_after_a_power_cut(tmp_path: Path) -> None:
    """Three that sync all the time: when the power goes some fsync is under way, and nobody may tell of it any more."""
    nodes = [echo(f"writer-{number}", number, tmp_path, TELL) for number in (1, 2, 3)]
    with running(nodes, [node.directory / "data" for node in nodes]) as backend:
        for _ in range(5):
            time.sleep(0.5)
            seen = backend.cut_power(nodes)
            assert re.search(r"stood still within [\d.]+ ms; .* refuse every write; .* killed\.", seen)
            told = [int((node.directory / "told").read_text().split()[-1]) for node in nodes]
            backend.restore_power(nodes)
            for node, number in zip(nodes, told, strict=True):
                assert number > 0
                synced = (node.directory / "data" / "log").read_text().splitlines()
                assert str(number) in synced


@pytest.mark.skipif(NO_POWER_CUT is not None, reason=str(NO_POWER_CUT))
def test_a_copy_of_the_mount_does_not_keep_a_disk_without_power(
    backend: ProcessBackend, nodes: list[Node]
) -> None:
    """A process that just got a mount namespace of its own, as each new container does, holds every file system."""
    copy = ["unshare", "--mount", "--propagation", "private", "sh", "-c", "echo copied; exec sleep 1"]
    with subprocess.Popen(copy, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        backend.cut_power(nodes[:1])
        backend.restore_power(nodes[:1])

    data = nodes[0].directory / "data"
    assert (data / "synced").read_bytes() == b"kept"
    (data / "more").write_bytes(b"x")


@pytest.mark.skipif(NO_POWER_CUT is not None, reason=str(NO_POWER_CUT))
def test_a_power_cut_that_fails_at_one_disk_gives_all_their_power_back(
    backend: ProcessBackend, nodes: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    second = nodes[1].directory / "data"
    shut_down = Disk.shut_down

    def refused(disk: Disk) -> None:
        if disk._folder == second:
            raise FaultError("The kernel refused.")
        shut_down(disk)

    monkeypatch.setattr(Disk, "shut_down", refused)
    with pytest.raises(FaultError, match="The kernel refused"):
        backend.cut_power(nodes)

    assert all(backend.listens(node) for node in nodes)
    backend.alive()
    (nodes[0].directory / "data" / "more").write_bytes(b"x")


@pytest.mark.usefixtures("nobody_ends")
@pytest.mark.skipif(NO_POWER_CUT is not None, reason=str(NO_POWER_CUT))
def test_a_full_disk_refuses_its_node_and_no_other(backend: ProcessBackend, nodes: list[Node]) -> None:
    full, other = nodes
    effect = strike("full-disk", backend, nodes, full)

    assert "no space left" in effect.evidence
    with pytest.raises(OSError, match="No space left"):
        (full.directory / "data" / "more").write_bytes(bytes(1 << 16))
    (other.directory / "data" / "more").write_bytes(bytes(1 << 16))

    assert "A write to the disk of keeper-1 succeeded" in effect.heal([full])
    (full.directory / "data" / "more").write_bytes(bytes(1 << 16))
    assert backend.listens(full)
    proof = effect.proof()
    assert isinstance(proof, str)
    assert "Until then the disk of keeper-1 had no room" in proof


@pytest.mark.usefixtures("nobody_ends")
@pytest.mark.skipif(NO_POWER_CUT is not None, reason=str(NO_POWER_CUT))
def test_what_comes_free_on_a_full_disk_is_taken(backend: ProcessBackend, nodes: list[Node]) -> None:
    old = nodes[0].directory / "data" / "old-segment"
    old.write_bytes(bytes(1 << 20))
    effect = strike("full-disk", backend, nodes, nodes[0])
    old.unlink()
    effect.heal([nodes[0]])

    proof = effect.proof()
    assert isinstance(proof, str)
    came = re.search(r"([0-9,]+) bytes that came free", proof)
    assert came is not None
    assert 1 << 20 <= int(came[1].replace(",", "")) < 2 << 20


@pytest.mark.usefixtures("nobody_ends")
@pytest.mark.skipif(NO_POWER_CUT is not None, reason=str(NO_POWER_CUT))
def test_a_disk_on_which_somebody_made_room_was_not_full_to_the_end(
    backend: ProcessBackend, nodes: list[Node]
) -> None:
    effect = strike("full-disk", backend, nodes, nodes[0])
    backend.free_disk(nodes[0])
    effect.heal([nodes[0]])

    assert isinstance(effect.proof(), Unproven)


def round_trip_s(node: Node) -> float:
    with socket.create_connection((node.address, 7), timeout=5) as connection:
        begun = time.monotonic()
        connection.sendall(b"x")
        assert connection.recv(1) == b"x"
        return time.monotonic() - begun


@pytest.mark.skipif(NO_POWER_CUT is not None, reason=str(NO_POWER_CUT))
def test_a_slow_network_tells_what_it_held_and_ends(backend: ProcessBackend, nodes: list[Node]) -> None:
    effect = strike("slow-network", backend, nodes, nodes[0], delay="50ms", **{"from": "client"})

    held_s = round_trip_s(nodes[0])
    assert held_s >= 0.1
    assert min(round_trip_s(nodes[1]) for _ in range(10)) < held_s / 2
    effect.heal([nodes[0]])

    assert min(round_trip_s(nodes[0]) for _ in range(10)) < held_s / 2
    proof = effect.proof()
    assert isinstance(proof, str)
    assert "packets were held" in proof


def test_what_an_fsync_costs_is_measured_behind_a_gate_like_the_nodes(
    nodes: list[Node], tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()

    plain, held = (fsync_cost(nodes[0], folder, seconds) for seconds in (0.0, 0.1))

    assert plain["p50"] < 100e6 <= held["p50"]
    assert plain["gate_p50"] < plain["p50"]
    assert 100e6 <= held["gate_p50"] < held["p50"]
    assert held["calls"] == 25
    assert list(folder.glob(".fsync*")) == []


def test_a_slow_disk_to_which_nothing_was_synced_is_not_proven(tmp_path: Path) -> None:
    node = echo("keeper-1", 1, tmp_path)
    with running([node], fsync_gates=True) as backend:
        effect = strike("slow-disk", backend, [node], node, fsync="5ms")

        assert (
            effect.heal([node]) == "No fsync of keeper-1 waits at its gate, and none was held there any more."
        )
        assert isinstance(effect.proof(), Unproven)


def test_a_slow_disk_tells_what_it_held(tmp_path: Path) -> None:
    node = echo("writer-1", 1, tmp_path, "import os, sys; os.makedirs(sys.argv[1])" + WRITE)
    with running([node], fsync_gates=True) as backend:
        effect = strike("slow-disk", backend, [node], node, fsync="5ms")
        deadline = time.monotonic() + 20
        while isinstance(effect.proof(), Unproven) and time.monotonic() < deadline:
            time.sleep(0.01)
        effect.heal([node])

        proof = effect.proof()
        assert isinstance(proof, str)
        assert "were held: writer-1" in proof


@pytest.mark.parametrize("key", list(kinds()))
def test_every_kind_can_be_had_here_or_says_why_not(key: str) -> None:
    reason = kinds()[key].why_not()

    assert reason is None or len(reason) > 10
    assert NO_POWER_CUT is not None or reason is None
