"""The backend of a cluster that somebody else runs: it starts nothing, and breaks nodes only by given commands."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from bench.backends import ports
from bench.backends.supervision import EndListener, RestartListener
from bench.errors import FaultError
from bench.model import Node, Settings

_COMMAND_S = 120.0
_CLOSES_S = 60.0
_TURN_S = 0.05
_SHOWN_CHARACTERS = 300


class ExternalBackend:
    """See backend.Backend. It breaks and mends only nodes for which their operator gave shell commands."""

    client = ""

    def __init__(self, commands: Mapping[str, Settings]) -> None:
        """Use these commands, by node (docs/how-to/external-clusters.md)."""
        self._commands = commands
        self._broken: dict[str, tuple[Node, str]] = {}

    def alive(self) -> None:
        """See backend.Backend: nobody knows of its nodes."""

    def pids(self) -> Mapping[str, int]:
        """See backend.Backend: there is no process of it here."""
        return {}

    def pause_all(self, nodes: Iterable[Node]) -> None:
        """See backend.Backend: there are no nodes."""

    def resume_all(self, nodes: Iterable[Node]) -> None:
        """See backend.Backend: there are no nodes."""

    @contextmanager
    def supervise(self, noted: EndListener, back: RestartListener | None = None) -> Iterator[None]:  # noqa: ARG002
        """See backend.Backend: nobody starts its nodes again."""
        yield

    def end_node(self, node: Node, *, kill: bool) -> int:
        """See abilities.Killable; the status is that of the command. Raises FaultError where its port stays open."""
        self._broken[node.name] = (node, "start")
        status = self._run(node, "kill" if kill else "stop")
        deadline = time.monotonic() + _CLOSES_S
        while self.listens(node):
            if time.monotonic() > deadline:
                raise FaultError(
                    f"{node.name} still takes connections at {node.address}:{node.ports[0]} "
                    f"{_CLOSES_S:.0f} s after its command has ended."
                )
            time.sleep(_TURN_S)
        return status

    def start_node(self, node: Node) -> None:
        """See abilities.Killable. Raises ClusterError where no port opens."""
        self._run(node, "start")
        ports.await_open([node], self.alive)
        self._broken.pop(node.name, None)

    def listens(self, node: Node) -> bool:
        """See abilities.Killable."""
        return ports.is_open(node, node.ports[0])

    def pause_node(self, node: Node) -> str:
        """See abilities.Pausable."""
        self._broken[node.name] = (node, "resume")
        self._run(node, "pause")
        return self._state(node)

    def resume_node(self, node: Node) -> str:
        """See abilities.Pausable."""
        self._run(node, "resume")
        self._broken.pop(node.name, None)
        return self._state(node)

    def mend(self) -> list[str]:
        """Mend what is still broken, all at once; return why a node stays broken, a sentence each.

        A run that ends in between leaves no node of others away.
        """
        with ThreadPoolExecutor(max(1, len(self._broken))) as pool:
            failures = pool.map(self._why_not_repaired, list(self._broken.values()))
            return [failure for failure in failures if failure]

    def _why_not_repaired(self, broken: tuple[Node, str]) -> str:
        node, command = broken
        try:
            self._run(node, command)
        except FaultError as error:
            return f"{node.name} is left broken: {error}"
        self._broken.pop(node.name, None)
        return ""

    def _state(self, node: Node) -> str:
        done = self._run_command(node, "state")
        return done.stdout.strip()[:1]

    def _run(self, node: Node, name: str) -> int:
        return self._run_command(node, name).returncode

    def _run_command(self, node: Node, name: str) -> subprocess.CompletedProcess[str]:
        command = str(self._commands[node.name].get(name) or "")
        if not command:
            raise FaultError(f"{node.name} has no command {name!r} in the cluster's file.")
        try:
            done = subprocess.run(
                ["sh", "-c", command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_COMMAND_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise FaultError(f"{name} of {node.name} had not ended after {_COMMAND_S:.0f} s.") from None
        if done.returncode:
            end = (done.stderr.strip() or done.stdout.strip())[-_SHOWN_CHARACTERS:]
            raise FaultError(f"{name} of {node.name} ended with status {done.returncode}: {end}")
        return done


def missing_commands(commands: Mapping[str, Settings], names: Sequence[str], node: str) -> list[str]:
    """Return which of some commands a node does not have."""
    return [name for name in names if not commands.get(node, {}).get(name)]
