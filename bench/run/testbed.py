"""A cluster with what loads it: every load of a topic and every read of it goes through here."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from bench.errors import ClusterError, TopicExistsError
from bench.faults import Timeline, read_steps, stands
from bench.load.commands import (
    Close,
    Command,
    DrainConsumers,
    Finish,
    Open,
    Produce,
    RateHold,
    RunSlice,
    Subscribe,
    Verify,
)
from bench.load.results import LoadResult, ReadResult, SendCounts, SliceResult
from bench.model import Case, Topic, Trial, of_group
from bench.run.cluster import LiveCluster
from bench.run.external_clusters import own_topics
from bench.run.folder import RunFolder
from bench.run.late_copies import LateCopies
from bench.run.load_machines import LoadProcesses
from bench.systems import endpoint as endpoints
from bench.systems.external_access import ExternalAdmin
from bench.systems.registry import describe
from bench.telemetry import Sampler, SliceSampler, WatchedProcesses

_SILENCE_S = 90.0
_SUBSCRIBE_S = 60.0
_CATCH_UP_S = 3.0
_TAIL_S = 90.0
_DRAIN_S = 0.5
"""After a slice consumers are waited for until nothing has come for so long."""

_AT_A_TIME = 8
"""So many topics are made or deleted at a time: most of what one takes is waiting."""

Live: TypeAlias = Callable[[Mapping[str, Any]], None]


def ignore_progress(_: Mapping[str, Any]) -> None:
    """Where nobody listens."""


@dataclass(frozen=True, slots=True)
class Testbed:
    """What every trial on one cluster start uses; `seed` is the run's.

    `created` gets the names of the topics that it asks the cluster for: no others are the run's to delete.
    """

    __test__: ClassVar[bool] = False
    """Tests import it, and pytest takes what begins with Test for tests."""

    cluster: LiveCluster
    load: LoadProcesses
    folder: RunFolder
    seed: int
    created: set[str] = field(default_factory=set)

    @contextmanager
    def telemetry(self, case: Case, working: Path) -> Iterator[Live]:
        """Look at everybody who takes part while the load runs; what comes out wants to be told the load's progress."""
        if not case.telemetry:
            yield ignore_progress
            return
        file = working / "telemetry" / "samples.parquet"
        system = self.cluster.system
        role = describe(case.system).storage_role
        storage_nodes = [node for node in self.cluster.nodes if node.role == role and case.only_waits]
        data = {node.name: system.data_folder(node) for node in storage_nodes}
        watched = replace(self._watched_processes(), data=data)
        with Sampler(watched, file, often=not stands(read_steps(case.faults))) as sampler:
            yield sampler.take_progress

    def slice_sampler(self, beside: Sequence[Testbed] = ()) -> SliceSampler:
        """Return what looks at everybody around the slices of this cluster's trials, with other clusters beside it."""
        return SliceSampler(self._watched_processes(beside))

    def pids(self) -> list[int]:
        """Return the process ids of servers and load processes."""
        return [*self.cluster.backend.pids().values(), *self.load.pids.values()]

    def _watched_processes(self, beside: Sequence[Testbed] = ()) -> WatchedProcesses:
        return WatchedProcesses(
            servers=self.cluster.nodes,
            pids=self.cluster.backend.pids,
            scrapes=self.cluster.scrapes,
            clients=self.load.pids,
            folder=self.folder.path,
            neighbours=lambda: [pid for testbed in beside for pid in testbed.pids()],
        )

    def other_messages(self) -> tuple[int, int] | None:
        """Return the time and how many messages topics of others on an external cluster have had by then.

        None for a cluster of the suite's own, and where that cannot be read.
        """
        admin = self.cluster.admin
        count = admin.other_messages() if isinstance(admin, ExternalAdmin) else None
        return None if count is None else (time.monotonic_ns(), count)

    def seed_of(self, number: int) -> int:
        """Return the seed of a trial."""
        return zlib.crc32(f"{self.seed}/{number}".encode())

    def produce(  # noqa: PLR0913, PLR0917 - what one trial's load needs
        self,
        case: Case,
        topic: Topic,
        number: int,
        folder: Path,
        live: Live,
        timeline: Timeline | None = None,
    ) -> LoadResult:
        """Load a topic as trial `number` of a case; return what the load process says of it.

        Raises LoadError, NodeDiedError, and what a step of the timeline failed of.
        """
        acks = () if timeline is None else timeline.acks
        command = replace(self._load(case, topic, number, folder), progress_at_acks=acks)

        def alive() -> None:
            self.cluster.alive()
            if timeline is not None:
                timeline.check()

        return LoadResult.model_validate(self.load.producing.call(command, _SILENCE_S, live, alive))

    def open(self, trial: Trial, topic: Topic, folder: Path) -> dict[str, Any]:
        """Connect the producers of a trial that is loaded in slices; return the client's effective settings.

        Raises LoadError, NodeDiedError.
        """
        done = self._call_producers(Open(produce=self._load(trial.case, topic, trial.number, folder)))
        return dict(done["producer"])

    def run_slice(self, trial: Trial, number: int, live: Live) -> SliceResult:
        """Load an open trial for one slice, and let its consumers have what it sent. Raises LoadError, NodeDiedError.

        What servers still have to do for it then (followers that nobody waited for, and what stands in connections
        with acks=0) would fall on the next slice.
        """
        done = self.load_slice(trial, number, live)
        if trial.case.load.consumers:
            drain = DrainConsumers(
                trial=trial.number, expected=done.acked_before + done.acked, grace_s=_DRAIN_S
            )
            self.consume(drain, _TAIL_S)
        return done

    def load_slice(self, trial: Trial, number: int, live: Live) -> SliceResult:
        """Load an open trial for one slice; its consumers may be behind. Raises LoadError, NodeDiedError."""
        return self._slice(RunSlice(trial=trial.number, number=number), live)

    def hold(self, trial: Trial, number: int, held: RateHold, live: Live) -> SliceResult:
        """Load an open trial at a constant rate as slice `number`; its log is on disk then.

        Raises LoadError, NodeDiedError.
        """
        done = self._slice(RunSlice(trial=trial.number, number=number, held=held), live)
        expected = done.acked_before + done.acked
        self.consume(
            DrainConsumers(trial=trial.number, expected=expected, grace_s=_DRAIN_S, to_disk=True), _TAIL_S
        )
        return done

    def late_copies(self, trial: Trial) -> LateCopies:
        """Return what counts the copies that the servers of a trial write."""
        counters = {
            node.name: self.cluster.system.copy_counter(node)
            for node in of_group(self.cluster.nodes, trial.case.group)
        }
        return LateCopies({name: counter for name, counter in counters.items() if counter})

    def copies_missing(self, trial: Trial) -> bool | None:
        """Ask whether the system knows of missing copies of a trial's topic; None where nobody can tell."""
        return self.cluster.admin.state(self.topics_of(trial)[0]).copies_missing

    def close(self, trial: Trial) -> SendCounts:
        """Disconnect the producers of an open trial. Raises LoadError, NodeDiedError."""
        return SendCounts.model_validate(self._call_producers(Close(trial=trial.number)))

    def _slice(self, command: RunSlice, live: Live) -> SliceResult:
        return SliceResult.model_validate(self._call_producers(command, live))

    def _call_producers(self, command: Command, live: Live = ignore_progress) -> dict[str, Any]:
        return self.load.producing.call(command, _SILENCE_S, live, self.cluster.alive)

    def _load(self, case: Case, topic: Topic, number: int, folder: Path) -> Produce:
        return Produce(
            system=case.system,
            endpoint=self.cluster.endpoint,
            topic=topic,
            producer=case.producer,
            load=case.load,
            trial=number,
            run=self.folder.path.name,
            folder=folder,
            seed=self.seed_of(number),
        )

    def topic(self, case: Case, name: str) -> Topic:
        """Return a topic of this run for a case; on an external cluster its name tells whose it is."""
        spec = case.cluster
        topic = Topic(name, case.partitions, case.topic, case.group, case.load.keys)
        if not spec.external:
            return topic
        tenant = endpoints.parse(spec.external).tenant
        return replace(topic, name=f"{own_topics(spec, self.folder.path.name)}{name}", tenant=tenant)

    def topics_of(self, trial: Trial) -> list[Topic]:
        """Return the topic of a trial, and behind it the one that the application writes, if there is one."""
        topic = self.topic(trial.case, f"trial-{trial.number:04d}")
        return [topic, replace(topic, name=f"{topic.name}-processed")] if trial.case.processor else [topic]

    def create_topics(self, topics: Sequence[Topic]) -> None:
        """Create topics, several at a time. Raises ClusterError."""
        self._of_each(self._create, topics)

    def _create(self, topic: Topic) -> None:
        self.created.add(topic.name)  # before: where the answer is lost the topic may be there all the same
        try:
            self.cluster.admin.create_topic(topic)
        except TopicExistsError:
            self.created.discard(topic.name)
            raise

    def delete_topics(self, topics: Sequence[Topic]) -> None:
        """Delete topics, several at a time. Raises ClusterError."""
        self._of_each(self.cluster.admin.delete_topic, topics)

    @staticmethod
    def _of_each(act: Callable[[Topic], None], topics: Sequence[Topic]) -> None:
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            list(pool.map(act, topics))

    def subscribe(self, trial: Trial, topic: Topic, folder: Path) -> None:
        """Begin to consume a topic, if the trial has consumers; what they receive goes to `folder`."""
        if consumers := trial.case.load.consumers:
            reading = self.reader_arguments(trial, topic, folder)
            group = dict(trial.case.consumer_group)
            self.consume(Subscribe(**reading, consumers=consumers, group=group), _SUBSCRIBE_S)

    def catch_up(self, number: int, expected: int, pause_s: float = 0.0) -> None:
        """End the consumers of trial `number` once they have what is expected, or nothing has come for a while.

        The while is `pause_s`, or longer.
        """
        self.consume(Finish(trial=number, expected=expected, grace_s=max(_CATCH_UP_S, pause_s)), _TAIL_S)

    def reader_arguments(self, trial: Trial, topic: Topic, folder: Path) -> dict[str, Any]:
        """Return what any command that reads a topic needs."""
        return {
            "system": trial.case.system,
            "endpoint": self.cluster.endpoint,
            "topic": topic,
            "consumer": trial.case.consumer,
            "trial": trial.number,
            "run": self.folder.path.name,
            "folder": folder,
        }

    def read_all(self, command: Verify, topic: Topic, deadline_s: float) -> ReadResult:
        """Read a topic whole, with what expires lifted. Raises LoadError, NodeDiedError.

        Where nobody answers who could lift it the read tells what it finds all the same.
        """
        with suppress(ClusterError):
            self.cluster.admin.lift_expiry(topic)
        return ReadResult.model_validate(self.consume(command, deadline_s))

    def consume(self, command: Command, deadline_s: float) -> dict[str, Any]:
        """Have the consumers' process carry a command out. Raises LoadError, NodeDiedError."""
        return self.load.consuming.call(command, deadline_s, alive=self.cluster.alive)
