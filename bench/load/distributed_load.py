"""A load over several processes, on one machine or on several, that takes commands as one process does.

Each process runs a part of the producers, or of the consumers, of every trial. A load begins in all of them at one
moment, given to each in its own clock. Their answers are merged, and files of other machines are fetched.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias, TypeVar

from bench.errors import LoadError
from bench.load.clock_correction import LogSource
from bench.load.commands import (
    Close,
    Command,
    DrainConsumers,
    Finish,
    Open,
    Produce,
    ReadGroup,
    RunLoad,
    RunSlice,
    Subscribe,
    Verify,
)
from bench.load.joined_agents import Agent
from bench.load.process import Check, CommandChannel, Listener, no_check, no_listener

_START_MARGIN_NS = 50_000_000
"""A load begins so long after it was asked for: by then all processes have read the command."""
_TRIAL_FOLDER_PARTS = 3
"""The last parts of a log's folder, such as trials/.0007/sends; an agent has them below a folder of its own."""
Answer: TypeAlias = dict[str, Any]
_Folder = TypeVar("_Folder", Produce, Subscribe)
_TIMES = ("at_ns", "start_ns", "end_ns", "begun_ns")
_SUMMED = ("sent", "acked", "failed", "unknown", "rate", "open", "received")
_LARGEST = ("loop_lag_ns", "recorder_backlog")


@dataclass(frozen=True, slots=True)
class LoadProcess:
    """One process of a distributed load; `agent` is the machine that it runs on, None for the runner's own."""

    channel: CommandChannel
    agent: Agent | None = None

    @property
    def clock_shift_ns(self) -> int:
        """The clock of its machine minus the runner's, now."""
        if self.agent is None or self.agent.shares_clock:
            return 0
        now_ns = time.monotonic_ns()
        return self.agent.clock.remote(now_ns) - now_ns

    def with_own_folder(self, command: _Folder) -> _Folder:
        """Return a command with the folder that this process writes to."""
        return command if self.agent is None else replace(command, folder=_remote(command.folder))

    def fetch(self, folder: Path) -> None:
        """Bring what it wrote to a folder to the runner's machine, into a hidden folder of that."""
        if self.agent is not None:
            self.agent.fetch(_remote(folder), folder / f".{self.agent.name}")

    def check(self) -> None:
        """Raise LoadError where its machine has stopped answering."""
        if self.agent is not None:
            self.agent.check()


def _remote(folder: Path) -> Path:
    return Path(*folder.parts[-_TRIAL_FOLDER_PARTS:])


def split(count: int, parts: int) -> list[tuple[int, int]]:
    """Divide `count` things evenly: the first, and how many, of each part."""
    bounds = [count * part // parts for part in range(parts + 1)]
    return [(low, high - low) for low, high in pairwise(bounds)]


def log_sources(processes: Sequence[LoadProcess], producers: int) -> list[LogSource]:
    """Return where the parts of a trial's event log are, with what is known of each clock by now.

    Empty where all processes run on the runner's machine: there is nothing to correct.
    """
    if all(process.agent is None for process in processes):
        return []
    sources = [LogSource("", None, (0, 0))]
    for process, share in zip(processes, split(producers, len(processes)), strict=True):
        if (agent := process.agent) is not None:
            sources.append(
                LogSource(f".{agent.name}", None if agent.shares_clock else agent.clock.copy(), share)
            )
    return sources


@dataclass(frozen=True, slots=True)
class _Share:
    """What a process does of a trial: producers or consumers from `first` on, so many."""

    process: LoadProcess
    first: int
    count: int


@dataclass(slots=True)
class _Shares:
    """Which process does what of each trial, and the folder that the trial's log is to be in."""

    processes: Sequence[LoadProcess]
    by_trial: dict[int, list[_Share]] = field(default_factory=dict)
    folders: dict[int, Path] = field(default_factory=dict)

    def add(self, trial: int, count: int, folder: Path) -> list[_Share]:
        """Divide so many producers or consumers over the processes; one without any does nothing."""
        parts = zip(self.processes, split(count, len(self.processes)), strict=True)
        self.by_trial[trial] = [_Share(process, first, count) for process, (first, count) in parts if count]
        self.folders[trial] = folder
        return self.by_trial[trial]

    def fetch(self, trial: int) -> None:
        """Bring what was written of a trial that is over."""
        folder = self.folders.pop(trial)
        for share in self.by_trial.pop(trial):
            share.process.fetch(folder)


class _ProcessGroup(ABC):
    """The processes of one kind: they take commands as one process would."""

    def call(
        self,
        command: Command,
        deadline_s: float,
        on_progress: Listener = no_listener,
        alive: Check = no_check,
    ) -> Answer:
        """Have the processes carry out a command; return their merged answer. Raises LoadError."""
        return self._carry_out(_Call(deadline_s, on_progress, alive), command)

    @abstractmethod
    def _carry_out(self, call: _Call, command: Command) -> Answer:
        """Carry a command out. Raises LoadError for one of another kind, too."""


class DistributedProducers(_ProcessGroup):
    """The producers of each trial, over several processes. It takes commands as their one process would."""

    def __init__(self, processes: Sequence[LoadProcess]) -> None:
        """Distribute over these."""
        self._shares = _Shares(processes)

    def _carry_out(self, call: _Call, command: Command) -> Answer:
        match command:
            case Produce():
                return self._produce(call, command)
            case Open(produce=load):
                return self._open(call, load)
            case RunSlice():
                return _merged_slices(self._run(call, command))
            case Close(trial=trial):
                return self._close(call, trial)
        raise LoadError(f"Processes that produce cannot carry out {command.verb!r}.")

    def _produce(self, call: _Call, load: Produce) -> Answer:
        opened = self._open(call, load)
        answers = self._run(call, RunLoad(trial=load.trial))
        closed = self._close(call, load.trial)
        return {**closed, **_merged_runs(answers), "producer": opened["producer"]}

    def _open(self, call: _Call, load: Produce) -> Answer:
        """Connect the producers of a trial, each process its part."""
        shares = self._shares.add(load.trial, load.load.producers, load.folder)
        commands = [Open(produce=share.process.with_own_folder(_part(load, share))) for share in shares]
        return call.send_commands(shares, commands)[0]

    def _run(self, call: _Call, command: RunLoad | RunSlice) -> list[Answer]:
        """Have all processes begin at one moment; times of their answers are converted to the runner's clock."""
        shares = self._shares.by_trial[command.trial]
        shifts_ns = [share.process.clock_shift_ns for share in shares]
        begin_ns = time.monotonic_ns() + _START_MARGIN_NS
        commands = [replace(command, begin_ns=begin_ns + shift_ns) for shift_ns in shifts_ns]
        answers = call.send_commands(shares, commands, shifts_ns)
        for answer, shift_ns in zip(answers, shifts_ns, strict=True):
            for name in {"window", "slice"} & answer.keys():
                answer[name] = _shift_times(answer[name], shift_ns)
        return answers

    def _close(self, call: _Call, trial: int) -> Answer:
        shares = self._shares.by_trial[trial]
        answers = call.send_commands(shares, [Close(trial=trial)] * len(shares))
        self._shares.fetch(trial)
        return {name: sum(answer[name] for answer in answers) for name in answers[0]}


class DistributedConsumers(_ProcessGroup):
    """The live consumers of each trial, over several processes. It takes commands as their one process would."""

    def __init__(self, processes: Sequence[LoadProcess], reader: CommandChannel | None = None) -> None:
        """Distribute over these; whole topics are read by `reader`, or by the first of them."""
        self._shares = _Shares(processes)
        self._reader = reader or processes[0].channel

    def _carry_out(self, call: _Call, command: Command) -> Answer:
        match command:
            case Subscribe():
                return self._subscribe(call, command)
            case DrainConsumers() | Finish():
                return self._receive(call, command)
            case Verify() | ReadGroup():
                return self._reader.call(command, call.deadline_s, call.on_progress, call.alive)
        raise LoadError(f"Processes that consume cannot carry out {command.verb!r}.")

    def _subscribe(self, call: _Call, command: Subscribe) -> Answer:
        shares = self._shares.add(command.trial, command.consumers, command.folder)
        commands = [
            share.process.with_own_folder(replace(command, first=share.first, consumers=share.count))
            for share in shares
        ]
        call.send_commands(shares, commands)
        return {}

    def _receive(self, call: _Call, command: DrainConsumers | Finish) -> Answer:
        shares = self._shares.by_trial[command.trial]
        answers = call.send_commands(shares, [command] * len(shares))
        fewest = {name: min(answer[name] for answer in answers) for name in answers[0]}
        if isinstance(command, DrainConsumers):
            return fewest
        self._shares.fetch(command.trial)
        return {**fewest, "received": sum(answer["received"] for answer in answers)}


def _part(load: Produce, share: _Share) -> Produce:
    """Return the part of a trial's load that one process runs."""
    producers = load.load.producers
    messages = load.load.messages
    if messages is not None:
        end = share.first + share.count
        messages = messages * end // producers - messages * share.first // producers
    return replace(
        load,
        first=share.first,
        count=share.count,
        load=replace(load.load, messages=messages),
        progress_at_acks=tuple(acks * share.count // producers for acks in load.progress_at_acks),
    )


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of a distributed load: how long answers may take, what listens to progress, what checks the cluster."""

    deadline_s: float
    on_progress: Listener
    alive: Check

    def send_commands(
        self, shares: Sequence[_Share], commands: Sequence[Command], shifts_ns: Sequence[int] = ()
    ) -> list[Answer]:
        """Send each process its command; return their answers. Raises LoadError as soon as one of them fails."""
        progress: dict[int, Answer] = {}
        failures: list[Exception] = []
        lock = Lock()

        def call(number: int) -> Answer:
            process = shares[number].process

            def listen(answer: Answer) -> None:
                with lock:
                    progress[number] = _shift_times(answer, shifts_ns[number] if shifts_ns else 0)
                    self.on_progress(_merged_progress([*progress.values()]))

            def check() -> None:
                if failures:
                    raise LoadError("Another load process failed.")
                process.check()
                self.alive()

            try:
                return process.channel.call(commands[number], self.deadline_s, listen, check)
            except Exception as error:
                failures.append(error)
                raise

        with ThreadPoolExecutor(len(shares)) as pool:
            calls = [pool.submit(call, number) for number in range(len(shares))]
        if failures:
            raise failures[0]
        return [future.result() for future in calls]


def _shift_times(times: Mapping[str, Any], shift_ns: int) -> Answer:
    """Return an answer with its times converted to the runner's clock."""
    return {
        name: value - shift_ns if name in _TIMES and value is not None else value
        for name, value in times.items()
    }


def _merged_progress(answers: Sequence[Mapping[str, Any]]) -> Answer:
    return {
        **answers[0],
        **{name: sum(answer.get(name, 0) for answer in answers) for name in _SUMMED if name in answers[0]},
        **{name: max(answer.get(name, 0) for answer in answers) for name in _LARGEST if name in answers[0]},
    }


def _merged_runs(answers: Sequence[Answer]) -> Answer:
    """Merge the answers to RunLoad."""
    return {
        "window": {
            "start_ns": min(answer["window"]["start_ns"] for answer in answers),
            "end_ns": max(answer["window"]["end_ns"] for answer in answers),
        },
        "client": _busiest(answers),
        "due_unsent": sum(answer["due_unsent"] for answer in answers),
        "stalled": any(answer["stalled"] for answer in answers),
    }


def _merged_slices(answers: Sequence[Answer]) -> Answer:
    """Merge the answers to RunSlice, whose times are the same."""
    return {
        "slice": answers[0]["slice"],
        "client": _busiest(answers),
        "stalled": any(answer["stalled"] for answer in answers),
        **{name: sum(answer[name] for answer in answers) for name in ("acked", "acked_before", "due_unsent")},
    }


def _busiest(answers: Sequence[Answer]) -> Answer:
    """Return each figure of the process that has the highest: one that is at its limit limits the load."""
    clients = [answer["client"] for answer in answers]
    return {name: max(client[name] for client in clients) for name in clients[0]}
