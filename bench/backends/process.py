"""The `process` backend: each node a process in a network namespace of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import MappingProxyType

from bench.backends import power
from bench.backends.cores import confirm, pin_command
from bench.backends.gates import Gates
from bench.backends.netns import Network
from bench.backends.node_backend import NodeBackend, NodeProcess, signal_all
from bench.backends.node_limits import NodeLimits
from bench.backends.own_disks import OwnDisks
from bench.errors import BenchError, ClusterError, FaultError, SetupError
from bench.model import Node

_STOP_S = 20.0
_ENDS_S = 5.0


class ProcessBackend(NodeBackend):
    """Starts and stops the nodes of one cluster. Close it whatever happens."""

    def __init__(
        self,
        nodes: Sequence[Node],
        disks: Sequence[Path] = (),
        *,
        fsync_gates: bool = False,
        memory_groups: bool = False,
        cores: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ) -> None:
        """Lay the network, and a file system of its own at each of `disks`; nothing is started yet.

        With `fsync_gates` every node's fsyncs pass a gate, which can hold them. With `memory_groups` each node's memory
        can be limited. `cores` are those on which nodes run, by name; others run where this process does.
        """
        self._cores = cores
        self._gates = Gates() if fsync_gates else None
        self._disks = OwnDisks()
        self._own_network = Network(nodes) if nodes else None
        super().__init__(nodes, self._own_network)
        self.limits = NodeLimits(self._own_network, lambda node: self._running_process(node).pid)
        try:
            if memory_groups:
                self.limits.make_memory_groups()
            self._disks.make(disks)
        except BaseException:
            self.close()
            raise

    def _start(self, node: Node) -> None:
        if self._network is None:
            message = f"{node.name}: this cluster has no network, so no process can be started in it"
            raise ClusterError(message)
        entering = self._network.enter(node)

        def spawn(command: Sequence[str], *inherited: int) -> None:
            on_cores = pin_command([*entering, *command], self._cores.get(node.name, ()))
            process = self._processes[node.name] = _spawn_process(node, on_cores, inherited)
            self.limits.limit_process(node, process.pid)

        node.directory.mkdir(parents=True, exist_ok=True)
        if self._gates is None:
            spawn(node.command)
        else:
            self._gates.put_before(node, spawn)

    def hold_fsyncs(self, node: Node, seconds: float) -> None:
        """See abilities.FsyncHolder."""
        self.gates.hold(node, seconds)

    def held_fsyncs(self, node: Node, since: int = 0) -> tuple[int, float]:
        """See abilities.FsyncHolder."""
        return self.gates.held_fsyncs(node, since)

    def release_fsyncs(self, nodes: Sequence[Node]) -> str:
        """See abilities.FsyncHolder."""
        return self.gates.release(nodes)

    @property
    def gates(self) -> Gates:
        """The gates before the nodes' disks. Raises FaultError where the nodes were started without."""
        if self._gates is None:
            raise FaultError("This cluster's nodes were started without gates before their disks.")
        return self._gates

    def confirm_cores(self) -> None:
        """Read back on which cores the nodes run. Raises SetupError for one that runs on others."""
        for name, node_cores in self._cores.items():
            if (process := self._processes.get(name)) is not None and process.poll() is None:
                confirm(name, process.pid, node_cores)

    def sync_disks(self) -> None:
        """Bring what the nodes wrote while they started to their own disks: no power cut is meant to hit that."""
        self._disks.sync()

    def cut_power(self, nodes: Sequence[Node]) -> str:
        """See abilities.PowerCut."""
        disks = {node.name: self._disks.of(node) for node in nodes}
        processes = {node.name: self._running_process(node) for node in nodes}
        self._away.update(processes)
        try:
            frozen_ns, off_ns = power.freeze(processes), power.shut_down(disks)
            power.kill(processes)
            for name, disk in disks.items():
                disk.must_be_off(name)
        except FaultError:
            power.kill(processes)
            with suppress(BenchError):  # the first failure is told
                self.restore_power(nodes)
            raise
        return (
            f"All threads of {', '.join(disks)} stood still within {frozen_ns / 1e6:.1f} ms; then their file systems "
            f"were shut down without a flush, within {off_ns / 1e6:.1f} ms, and refuse every write; then the processes "
            "were killed."
        )

    def restore_power(self, nodes: Sequence[Node]) -> str:
        """See abilities.PowerCut."""
        dark: dict[str, SetupError] = {}
        for node in nodes:
            try:
                self._disks.of(node).remount()
            except SetupError as error:  # the others are to get theirs back
                dark[node.name] = error
        self._start_again([node for node in nodes if node.name not in dark])
        if dark:
            raise FaultError(f"The power of {', '.join(dark)} did not come back: {next(iter(dark.values()))}")
        return f"{', '.join(node.name for node in nodes)}: mounted as the disk had it, started, the ports are open."

    def fill_disk(self, node: Node) -> str:
        """See abilities.Fillable."""
        known_away = node.name in self._away
        self._away.add(node.name)  # it may end of this, and that is no surprise
        try:
            return self._disks.fill(node)
        except FaultError:
            if not known_away:
                self._away.discard(node.name)
            raise

    def stayed_full(self, node: Node) -> str | None:
        """See abilities.Fillable."""
        return self._disks.stayed_full(node)

    def free_disk(self, node: Node) -> str:
        """See abilities.Fillable."""
        room = self._disks.make_room(node)
        try:
            status = self._processes[node.name].wait(_ENDS_S)  # it may be about to end in order
        except subprocess.TimeoutExpired:
            self._away.discard(node.name)
            return f"{room}; the node had gone on."
        self.start_node(node)
        return f"{room}; the node had ended with status {status}, was started, and its port is open."

    def stop(self, groups: Sequence[Sequence[Node]], grace_s: float = _STOP_S) -> None:
        """Stop in order with SIGTERM, group by group; what doesn't end in `grace_s` is killed."""
        for group in groups:
            running = [self._processes[node.name] for node in group if node.name in self._processes]
            signal_all(running, signal.SIGTERM)
            deadline = time.monotonic() + grace_s
            for process in running:
                _wait(process, deadline - time.monotonic())
        self.kill()

    def kill(self) -> None:
        """Kill every node at once, and close the gates."""
        super().kill()
        if self._gates is not None:
            self._gates.close()

    def close(self) -> None:
        """Kill what still runs and take the network and the disks away, each of them whatever becomes of the others."""
        with ExitStack() as last:
            if self._own_network is not None:
                last.callback(self._own_network.close)
            last.callback(self._disks.close)
            last.callback(self.limits.close)
            last.callback(self.kill)


def _spawn_process(node: Node, command: Sequence[str], inherited: Sequence[int]) -> subprocess.Popen[bytes]:
    with node.log.open("ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=node.directory,
            env={**os.environ, **node.environment},
            pass_fds=inherited,
            process_group=0,
        )


def _wait(process: NodeProcess, seconds: float) -> None:
    try:
        process.wait(timeout=max(seconds, 0.0))
    except subprocess.TimeoutExpired:
        process.kill()
