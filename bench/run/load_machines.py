"""The processes that load a cluster: on this machine, or on load machines that join the run as agents."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.errors import SetupError
from bench.load.agent import address_of, read_token
from bench.load.clock_correction import correct
from bench.load.distributed_load import DistributedConsumers, DistributedProducers, LoadProcess, log_sources
from bench.load.joined_agents import Invitation, gather_agents
from bench.load.process import CONSUMER_MODULE, PRODUCER_MODULE, TakesCommands, WorkerProcess
from bench.run.manifest import suite
from bench.telemetry import CONSUMERS, PRODUCERS

_CONNECTIONS = 3
"""An agent makes so many, and they may all wait until the next cluster is there."""


@dataclass(frozen=True, slots=True)
class LoadProcesses:
    """What outlives trials on one cluster start: producers and consumers, each of one process or of several.

    `pids` has those on this machine, by the name that telemetry gives them. `producer_processes` are those of a load
    over several, whose event log may have to be corrected.
    """

    producing: TakesCommands
    consuming: TakesCommands
    pids: Mapping[str, int]
    producer_processes: Sequence[LoadProcess] = ()

    def correct_log(self, trial: Path, producers: int) -> int:
        """Bring a trial's event log to one clock and one folder; return by how much times may be off, in ns."""
        sources = log_sources(self.producer_processes, producers)
        return correct(trial, sources) if sources else 0


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """What the user gives for load machines: how many, where they join, and the file with their token."""

    agents: int
    address: str
    token_file: Path

    def listen(self) -> socket.socket:
        """Listen for agents; the caller closes the listener.

        Raises SetupError where that is impossible, and for a token that agents could not prove.
        """
        read_token(self.token_file)
        host, port = address_of(self.address, "--listen")
        try:
            return socket.create_server((host, port), backlog=_CONNECTIONS * self.agents)
        except OSError as error:
            message = f"--listen {self.address}: {error}"
            raise SetupError(message) from error


def suite_version() -> str:
    """Return what a runner and its agents must have in common."""
    version = suite()
    return f"{version['version']} ({version['git'] or 'no checkout'})"


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """Which processes load each cluster: so many on this machine, or those of the agents that are invited."""

    invitation: Invitation | None = None
    web_fd: int | None = None

    @contextmanager
    def start_processes(self, logs: Path, processes: int) -> Iterator[LoadProcesses]:
        """Start the load processes; they need no cluster yet, so they start beside it. Raises LoadError."""
        logs.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            if self.invitation is not None:
                yield _on_agents(self.invitation, logs, stack)
            else:
                yield _local_processes(processes, logs, self.web_fd, stack)


def _on_agents(invitation: Invitation, logs: Path, stack: ExitStack) -> LoadProcesses:
    reader = stack.enter_context(WorkerProcess(CONSUMER_MODULE, logs / "consumers.log"))
    agents = stack.enter_context(gather_agents(invitation))
    producers = [LoadProcess(agent.producing, agent) for agent in agents]
    consumers = [LoadProcess(agent.consuming, agent) for agent in agents]
    return LoadProcesses(
        DistributedProducers(producers),
        DistributedConsumers(consumers, reader),
        {CONSUMERS: reader.pid},
        producers,
    )


def _local_processes(processes: int, logs: Path, web_fd: int | None, stack: ExitStack) -> LoadProcesses:
    producers = [
        stack.enter_context(_producer(logs, web_fd if number == 0 else None)) for number in range(processes)
    ]
    consumers = [
        stack.enter_context(WorkerProcess(CONSUMER_MODULE, logs / "consumers.log")) for _ in range(processes)
    ]
    pids = {**_pids(PRODUCERS, producers), **_pids(CONSUMERS, consumers)}
    if processes == 1:
        return LoadProcesses(producers[0], consumers[0], pids)
    return LoadProcesses(
        DistributedProducers([LoadProcess(process) for process in producers]),
        DistributedConsumers([LoadProcess(process) for process in consumers]),
        pids,
    )


def _producer(logs: Path, web_fd: int | None) -> WorkerProcess:
    if web_fd is None:
        return WorkerProcess(PRODUCER_MODULE, logs / "load.log")
    web = ("--web-fd", str(web_fd))
    return WorkerProcess(PRODUCER_MODULE, logs / "load.log", arguments=web, inherited=(web_fd,))


def _pids(name: str, processes: Sequence[WorkerProcess]) -> dict[str, int]:
    """Return the processes' ids by the name that telemetry gives them: the first has that of the role."""
    return {
        name if number == 1 else f"{name}-{number}": process.pid
        for number, process in enumerate(processes, 1)
    }
