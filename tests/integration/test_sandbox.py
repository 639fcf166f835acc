"""The promise that nothing is left behind, kept by the kernel: tried with real processes and interfaces."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from bench.backends import sandbox
from bench.backends.disks import why_no_power_cut
from bench.faults.kinds import kinds

pytestmark = pytest.mark.integration

INNER = """\
import sys, time
from pathlib import Path
from bench.backends import process, sandbox
from bench.backends.delayed_node import Link
from bench.backends.disks import why_no_power_cut
from bench.backends.netns import PacketRules
from bench.faults.fault import Place
from bench.faults.kinds import kinds
from bench.model import Node

sandbox.enter()
folder = Path(sys.argv[1])
command = ("sleep", sys.argv[2])
nodes = [Node(f"n{i}", "x", f"10.99.9.{i}", command, folder / f"n{i}", folder / f"n{i}" / "log", (), 1)
         for i in (1, 2, 3)]
disks = [] if why_no_power_cut() else [node.directory / "data" for node in nodes]
backend = process.ProcessBackend(nodes, disks, fsync_gates=True)
backend.start([nodes])
flapping = kinds()["unstable-network"].model_validate({"target": "n3", "from": "n1", "down": "1s", "up": "1s"})
by_name = {node.name: node for node in nodes}
place = Place(backend, nodes, backend.client, lambda name: [by_name[name]])


def make_network_unstable():
    backend.cut(nodes[1], PacketRules("twice", (), (nodes[0].address,), share=0.5, double=True))
    flapping.strike(place, [nodes[2]])


strikes = {
    "isolate": lambda: backend.cut(nodes[0], PacketRules("cut", (nodes[1].address,), (nodes[1].address,))),
    "unstable-network": make_network_unstable,
    "slow-network": lambda: backend.slow_network(
        nodes[0], [backend.client], [backend.client], Link(delay_s=float(sys.argv[2]))
    ),
    "slow-disk": lambda: backend.hold_fsyncs(nodes[0], 1.0),
    "pause": lambda: backend.pause_node(nodes[1]),
}
if disks:
    strikes |= {
        "full-disk": lambda: backend.fill_disk(nodes[1]), "power-loss": lambda: backend.cut_power([nodes[2]])
    }
for strike in strikes.values():
    strike()
(folder / "in-force").write_text(" ".join(strikes))
(folder / "up").touch()
try:
    while not (folder / "break").exists():
        time.sleep(0.05)
    raise RuntimeError("something broke")
except KeyboardInterrupt:
    (folder / "interrupted").touch()
    sys.exit(130)
"""
LEAVE_PROCESSES_AT_MOST = {"kill", "stop", "start"}
OF_DISKS = {"full-disk", "power-loss"}
OUTER = "import sys; from bench.backends import sandbox; sys.exit(sandbox.run('inner', sys.argv[1:]))"


def until(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def running(mark: str) -> list[psutil.Process]:
    """Find processes that carry `mark` as an argument."""
    return [process for process in psutil.process_iter() if mark in _arguments(process)]


def _arguments(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


Started = tuple[subprocess.Popen[bytes], str, frozenset[str]]
"""The outer process, what its nodes' arguments hold, and the namespaces that they live in."""


@pytest.fixture(params=["foreground", "background"])
def started(tmp_path: Path, request: pytest.FixtureRequest) -> Started:
    """A sandbox with broken nodes that sleep for a number of seconds nobody else sleeps.

    What a shell starts in the background ignores SIGINT, and so does all that it starts itself.
    """
    (tmp_path / "inner.py").write_text(INNER, encoding="utf-8")
    mark = f"{100_000 + os.getpid()}.{time.monotonic_ns()}"
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    inherited = signal.SIG_IGN if request.param == "background" else signal.default_int_handler
    # These tests, too, may have been started in the background.
    before = signal.signal(signal.SIGINT, inherited)
    try:
        outer = subprocess.Popen(
            [sys.executable, "-c", OUTER, str(tmp_path), mark], env={**os.environ, "PYTHONPATH": path}
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert until((tmp_path / "up").exists)
    in_force = set((tmp_path / "in-force").read_text().split())
    assert in_force | (OF_DISKS if why_no_power_cut() else set()) == kinds().keys() - LEAVE_PROCESSES_AT_MOST
    assert until(lambda: bool(running(mark)))
    assert until(lambda: bool(running(str(round(float(mark) * 1e9)))))
    assert str(tmp_path) in loop_devices() or why_no_power_cut()
    theirs = namespaces(running(mark)) - namespaces([psutil.Process()])
    assert len(theirs) >= 1 + 3  # where they see mounts; and each node's own network
    return outer, mark, theirs


def namespaces(processes: Iterable[psutil.Process]) -> frozenset[str]:
    """The network and mount namespaces of processes, by the kernel's names."""
    found = set()
    for process in processes:
        for kind in ("net", "mnt"):
            with suppress(OSError):
                found.add(str(Path(f"/proc/{process.pid}/ns/{kind}").readlink()))
    return frozenset(found)


def loop_devices() -> str:
    """The files behind the machine's loop devices."""
    return "\n".join(file.read_text() for file in Path("/sys/block").glob("loop*/loop/backing_file"))


def nothing_is_left(mark: str, theirs: frozenset[str], folder: Path) -> None:
    """No process, nobody who holds packets, nobody in the namespaces of interfaces and mounts, no loop device."""
    assert until(lambda: not running(mark))
    assert until(lambda: not running(str(round(float(mark) * 1e9))))  # who held packets
    assert until(
        lambda: not theirs & namespaces(psutil.process_iter())
    )  # with the last one the kernel ends them
    named = (
        Path("/proc/net/dev").read_text(encoding="utf-8"),
        Path("/proc/mounts").read_text(encoding="utf-8"),
    )
    assert "br9" not in named[0]
    assert str(folder) not in named[1]
    assert until(lambda: str(folder) not in loop_devices())


def test_kill_9_during_faults_leaves_nothing(started: Started, tmp_path: Path) -> None:
    outer, mark, theirs = started

    outer.kill()
    outer.wait()

    nothing_is_left(mark, theirs, tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_run_in_order_and_leaves_nothing(
    started: Started, number: signal.Signals, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    outer, mark, theirs = started
    if number == signal.SIGINT and "background" in request.node.name:
        outer.kill()
        pytest.skip("what runs in the background ignores it")

    outer.send_signal(number)

    assert outer.wait(timeout=30) == 130
    assert (tmp_path / "interrupted").exists()
    nothing_is_left(mark, theirs, tmp_path)


def test_an_exception_during_faults_leaves_nothing(started: Started, tmp_path: Path) -> None:
    outer, mark, theirs = started

    (tmp_path / "break").touch()

    assert outer.wait(timeout=30) == 1
    nothing_is_left(mark, theirs, tmp_path)


def test_what_is_tried_leaves_nothing_and_tells_why_it_fails() -> None:
    before = (
        Path("/proc/mounts").read_text(encoding="utf-8"),
        Path("/proc/net/dev").read_text(encoding="utf-8"),
    )
    links = before[1].count(":")

    assert sandbox.why_fails("ip link add eth9 type veth; touch /run/there") is None
    assert sandbox.why_fails("echo one >&2; echo no such rule >&2; exit 1") == "no such rule"
    assert sandbox.why_fails("exit 3") == "trying it ended with status 3"

    assert Path("/proc/mounts").read_text(encoding="utf-8") == before[0]
    assert Path("/proc/net/dev").read_text(encoding="utf-8").count(":") == links
    assert not Path("/run/there").exists()
