"""The runner's side of load machines: agents join, their processes take commands, their files are fetched."""

from __future__ import annotations

import queue
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.errors import LoadError, MissingAgentsError
from bench.load.agent import CONSUMING, CONTROL, PRODUCING, Wire, clock_name, keep_alive, matches, proof
from bench.load.clocks import Exchange, RemoteClock
from bench.load.process import CommandChannel

_HANDSHAKE_S = 10.0
_ANSWER_S = 30.0
_CLOCK_EVERY_S = 0.25
_FIRST_EXCHANGES = 20
_LONGEST_ACCEPT_S = 0.1
_ROLES = {PRODUCING, CONSUMING, CONTROL}
_NAME = re.compile(r"[0-9a-f]{16}")
"""Names of agents, which are those of folders of a trial."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """Where agents join: a listening socket, how many are needed, the token and the suite's version that they prove.

    They may take `deadline_s`.
    """

    listener: socket.socket
    agents: int
    token: str
    suite: str
    deadline_s: float = 120.0


class RemoteProcess(CommandChannel):
    """A load process on an agent's machine."""

    def __init__(self, connection: socket.socket, host: str) -> None:
        """Send commands over a connection. The process ends when the caller closes it."""
        super().__init__(connection.fileno(), connection.fileno())
        self._host = host

    def describe(self) -> str:
        """See CommandChannel."""
        return f"The load process on {self._host}"


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@dataclass(slots=True)
class Agent:
    """A load machine that has joined: its two load processes, its clock, its files."""

    name: str
    host: str
    producing: RemoteProcess
    consuming: RemoteProcess
    control: Wire
    shares_clock: bool
    clock: RemoteClock = field(default_factory=RemoteClock)
    failure: LoadError | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self) -> None:
        """Raise LoadError once the agent has stopped answering."""
        if self.failure is not None:
            raise self.failure

    def measure_clock(self) -> None:
        """Exchange times with it once. Raises LoadError where it does not answer."""
        with self._lock:
            asked_ns = time.monotonic_ns()
            answer = self._ask({"ask": "clock"})
            self.clock.add(Exchange(asked_ns, int(answer["clock"]), time.monotonic_ns()))

    def watch_clock(self, over: threading.Event) -> None:
        """Exchange times until `over`, or until the agent stops answering, which `check` raises."""
        while not over.wait(_CLOCK_EVERY_S):
            try:
                self.measure_clock()
            except LoadError as error:
                self.failure = error
                return

    def fetch(self, remote: Path, to: Path) -> None:
        """Move the event log's files from a folder of the agent to one here; their times are those of its clock."""
        to.mkdir(parents=True, exist_ok=True)
        with self._lock:
            files = self._ask({"ask": "list", "folder": str(remote)})["files"]
        for name in map(Path, files):
            with self._lock:
                content = self._content(self._ask({"ask": "fetch", "folder": str(remote), "file": name.name}))
            (to / name.name).write_bytes(content)

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        try:
            self.control.write(question)
            return self.control.read()
        except (OSError, LoadError) as error:
            raise self._no_answer_error(error) from error

    def _content(self, answer: dict[str, Any]) -> bytes:
        try:
            return self.control.content(answer)
        except (OSError, LoadError) as error:
            raise self._no_answer_error(error) from error

    def _no_answer_error(self, error: Exception) -> LoadError:
        return LoadError(f"The agent on {self.host} does not answer: {error}")


@contextmanager
def gather_agents(invitation: Invitation) -> Iterator[list[Agent]]:
    """Wait until all agents have joined, and measure their clocks until the block ends. Raises MissingAgentsError."""
    over = threading.Event()
    with ExitStack() as stack:
        agents = _await_agents(invitation, stack)
        watchers = [
            threading.Thread(target=agent.watch_clock, args=(over,), name=f"clock {agent.host}", daemon=True)
            for agent in agents
        ]
        for watcher in watchers:
            watcher.start()
        try:
            yield agents
        finally:
            over.set()
            for watcher in watchers:
                watcher.join()


@dataclass(frozen=True, slots=True)
class _Knock:
    """A connection whose other side has proven that it belongs to an agent of the run."""

    connection: socket.socket
    wire: Wire
    about: dict[str, Any]


def _await_agents(invitation: Invitation, stack: ExitStack) -> list[Agent]:
    """Accept connections until so many agents answer on all of theirs. Raises MissingAgentsError once the time is over.

    Each connection has a thread and a time of its own, so that a stranger holds nobody up.
    """
    deadline = time.monotonic() + invitation.deadline_s
    knocks: queue.SimpleQueue[_Knock | str] = queue.SimpleQueue()
    connections: dict[str, dict[str, _Knock]] = {}
    agents: list[Agent] = []
    refusals: list[str] = []
    while len(agents) < invitation.agents:
        if time.monotonic() > deadline:
            raise MissingAgentsError(_too_few(len(agents), invitation, refusals))
        if (connection := _accept(invitation.listener)) is not None:
            stack.callback(_close, connection)
            threading.Thread(
                target=_answer_knock, args=(connection, invitation, knocks), name="handshake", daemon=True
            ).start()
        while not knocks.empty():
            knock = knocks.get()
            if isinstance(knock, str):
                refusals.append(knock)
                continue
            agent_connections = connections.setdefault(str(knock.about["agent"]), {})
            agent_connections[str(knock.about["role"])] = knock
            if agent_connections.keys() == {PRODUCING, CONSUMING, CONTROL}:
                agents.append(_agent(agent_connections))
        if len(agents) >= invitation.agents:
            agents = [
                agent for agent in agents if _answers(agent)
            ]  # one may have gone while others were awaited
    return agents


def _answers(agent: Agent) -> bool:
    """Measure an agent's clock for the first time; return whether it answered."""
    try:
        for _ in range(_FIRST_EXCHANGES):
            agent.measure_clock()
    except LoadError:
        return False
    return True


def _answer_knock(
    connection: socket.socket, invitation: Invitation, knocks: queue.SimpleQueue[_Knock | str]
) -> None:
    """Shake hands within a limited time, whatever the other side sends; pass on who it is, or why it is refused."""
    timer = threading.Timer(_HANDSHAKE_S, _close, [connection])
    timer.start()
    try:
        wire = Wire(connection)
        about = _receive(wire, invitation)
        timer.cancel()
        keep_alive(connection)
        knocks.put(_Knock(connection, wire, about))
    except (LoadError, OSError, ValueError) as error:
        _close(connection)
        knocks.put(str(error))
    finally:
        timer.cancel()


def _too_few(joined_agents: int, invitation: Invitation, refusals: list[str]) -> str:
    message = (
        f"{joined_agents} of {invitation.agents} agents joined within {invitation.deadline_s:g} s: "
        "start `bench agent --join` on each load machine."
    )
    return f"{message} Refused last: {refusals[-1]}" if refusals else message


def _accept(listener: socket.socket) -> socket.socket | None:
    listener.settimeout(_LONGEST_ACCEPT_S)
    try:
        return listener.accept()[0]
    except TimeoutError:
        return None


def _receive(wire: Wire, invitation: Invitation) -> dict[str, Any]:
    """Check that an agent knows the token and is of this version, and prove the same; return its introduction.

    Raises LoadError for one that is refused, OSError.
    """
    challenge = secrets.token_hex(16)
    wire.write({"challenge": challenge})
    about = wire.read()
    refused = ""
    if not matches(about.get("proof"), proof(invitation.token, "agent", challenge)):
        refused = "it does not know the token"
    elif about.get("suite") != invitation.suite:
        refused = f"it is version {about.get('suite')} of the suite, and the runner is {invitation.suite}"
    elif about.get("role") not in _ROLES or not _NAME.fullmatch(str(about.get("agent"))):
        refused = "its introduction is incomplete"
    if refused:
        wire.write({"refused": f"{refused}."})
        raise LoadError(f"an agent, because {refused}.")
    wire.write({"proof": proof(invitation.token, "runner", str(about.get("challenge")))})
    return about


def _agent(connections: dict[str, _Knock]) -> Agent:
    control = connections[CONTROL]
    control.connection.settimeout(_ANSWER_S)
    host, about = str(control.about.get("host")), control.about
    return Agent(
        name=str(about["agent"]),
        host=host,
        producing=RemoteProcess(connections[PRODUCING].connection, host),
        consuming=RemoteProcess(connections[CONSUMING].connection, host),
        control=control.wire,
        shares_clock=about.get("clock") == clock_name(),
    )
