"""Nodes of a given size: what the kernel really gives a process and a link that are limited."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.backends import cores, disk_rate
from bench.backends.control_groups import hierarchy
from bench.backends.process import ProcessBackend
from bench.errors import SetupError
from bench.model import Node, Settings
from bench.run.node_sizes import BackendLimits, NodeSizes, why_not
from tests.integration.echo import echo, running

pytestmark = pytest.mark.integration

SIZES: dict[str, Settings] = {"echo": {"cpu": 0.2, "network": "40mbit"}}


@pytest.fixture
def nodes(tmp_path: Path) -> list[Node]:
    return [echo(f"echo-{number}", number, tmp_path) for number in (1, 2)]


@pytest.fixture
def backend(nodes: list[Node]) -> Iterator[ProcessBackend]:
    if (reason := why_not(SIZES)) is not None:
        pytest.skip(reason)
    with running(nodes) as made:
        yield made


def limits(backend: ProcessBackend, folders: Mapping[str, Path] | None = None) -> BackendLimits:
    return BackendLimits(backend, folders or {})


def test_each_node_gets_what_its_size_gives_it(backend: ProcessBackend, nodes: list[Node]) -> None:
    told = NodeSizes(limits(backend), nodes).set_and_measure(SIZES)

    assert told is not None
    assert told.limits == SIZES
    for node in nodes:
        got: dict[str, Any] = dict(told.measured[node.name])
        assert 0.1 < got["cpu"] < 0.23  # tests beside it may leave less than the quota of 0.2
        assert all(0.85 < rate * 8 / 40e6 < 1.1 for rate in got["network"])


@pytest.mark.skipif(cores.why_not() is not None, reason=f"pin is not possible here: {cores.why_not()}")
def test_pinned_nodes_run_on_their_cores_also_after_a_restart(nodes: list[Node]) -> None:
    pinned, _ = nodes
    first = min(os.sched_getaffinity(0))

    with running(nodes, cores={pinned.name: [first]}) as backend:
        backend.confirm_cores()
        backend.end_node(pinned, kill=True)
        backend.start_node(pinned)
        backend.confirm_cores()

        allowed = [os.sched_getaffinity(backend.pids()[node.name]) for node in nodes]
        os.sched_setaffinity(backend.pids()[pinned.name], os.sched_getaffinity(0))
        with pytest.raises(SetupError, match=f"{pinned.name} is to run on the cores {first}, and a thread"):
            backend.confirm_cores()

    assert allowed == [{first}, os.sched_getaffinity(0)]


def test_limits_hold_after_a_restart_and_end_with_their_case(
    backend: ProcessBackend, nodes: list[Node]
) -> None:
    sizes = NodeSizes(limits(backend), nodes)
    sizes.set_limits(SIZES)
    backend.end_node(nodes[0], kill=True)
    backend.start_node(nodes[0])

    groups = Path(f"/proc/{backend.pids()['echo-1']}/cgroup").read_text()
    assert "/echo-1\n" in groups
    assert backend.limits.measured_cpu(nodes[0]) < 0.25  # type: ignore[operator]  # it has a limit

    sizes.set_limits({})
    assert backend.limits.measured_cpu(nodes[0]) is None
    assert backend.limits.measured_link(nodes[0]) is None
    command = ["nsenter", f"--net=/run/netns/{nodes[0].address}", "tc", "qdisc", "show", "dev", "eth0"]
    assert "tbf" not in subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_node_has_no_more_memory_than_its_limit_with_the_page_cache_of_what_it_writes(
    nodes: list[Node], tmp_path: Path
) -> None:
    sizes: dict[str, Settings] = {"echo": {"memory": "64MiB"}}
    if (reason := why_not(sizes)) is not None:
        pytest.skip(reason)
    with running(nodes, memory_groups=True) as backend:
        told = NodeSizes(limits(backend), nodes).set_and_measure(sizes)
        group = _memory_group(backend.pids()["echo-1"])
        into = f"echo $$ > {group}/cgroup.procs; exec dd if=/dev/zero of={tmp_path}/large bs=1M count=200"
        subprocess.run(["sh", "-c", into], check=True, capture_output=True)
        used = [
            file.read_text() for file in (*group.glob("memory.usage_in_bytes"), *group.glob("memory.current"))
        ]

    assert told is not None
    assert {got["memory"] for got in told.measured.values()} == {64 * 2**20}
    assert all(50 * 2**20 < int(size) <= 64 * 2**20 for size in used)
    assert len(used) == 1


def _memory_group(pid: int) -> Path:
    place = hierarchy("memory")
    assert place is not None
    lines = [line.split(":") for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()]
    wanted = "memory" if place.version == 1 else ""
    return place.root / next(path for _, name, path in lines if name == wanted).lstrip("/")


def test_a_disk_takes_what_its_limit_says_and_an_fsync_as_long(nodes: list[Node]) -> None:
    sizes: dict[str, Settings] = {"echo": {"disk_write": "4MB/s", "fsync": "2ms"}}
    if (reason := why_not(sizes)) is not None:
        pytest.skip(reason)
    folders = {node.name: node.directory / "data" for node in nodes}
    with running(nodes, [*folders.values()], fsync_gates=True) as backend:
        held = NodeSizes(limits(backend, folders), nodes)
        told = held.set_and_measure(sizes)
        assert told is not None
        for node in nodes:
            got: dict[str, Any] = dict(told.measured[node.name])
            assert 0.7 < got["disk_write"] / 4e6 < 1.2
            assert 0.002 <= got["fsync"] < 0.01

        held.set_limits({})
        assert all(disk_rate.measure(folder) > 8e6 for folder in folders.values())


HOLD = """
import sys, time
from pathlib import Path
from bench.backends import sandbox
from bench.backends.control_groups import Groups
sandbox.enter()
Groups("cpu").add("held", 1)
Path(sys.argv[1]).touch()
time.sleep(600)
"""
RUN = "import sys; from bench.backends import sandbox; sys.exit(sandbox.run('hold', sys.argv[1:]))"


def left() -> list[Path]:
    found = hierarchy("cpu")
    return [] if found is None else sorted(found.root.glob("ackbench-*"))


def until_gone(before: list[Path]) -> bool:
    deadline = time.monotonic() + 10
    while left() != before and time.monotonic() < deadline:
        time.sleep(0.05)
    return left() == before


def test_a_run_that_is_killed_leaves_no_control_group(tmp_path: Path) -> None:
    if (reason := why_not(SIZES)) is not None:
        pytest.skip(reason)
    (tmp_path / "hold.py").write_text(HOLD, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    before = left()
    outer = subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path / "up")], env={**os.environ, "PYTHONPATH": path}
    )
    deadline = time.monotonic() + 20
    while not (tmp_path / "up").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(left()) == len(before) + 1

    outer.send_signal(signal.SIGKILL)
    outer.wait()

    assert until_gone(before)
