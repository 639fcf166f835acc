"""One trial, from an empty topic to trial.json."""

from __future__ import annotations

import shutil
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from bench.backends.line import line_ns
from bench.backends.machine import probe
from bench.backends.supervision import RESTART_S
from bench.errors import BenchError, LoadError
from bench.faults import Site, Timeline, read_steps
from bench.load import processor
from bench.load.commands import Command, Finish, Produce, Subscribe, Verify
from bench.load.process import CONSUMER_MODULE, WorkerProcess
from bench.model import Case, Node, Pacing, Topic, Trial
from bench.run import record
from bench.run.cluster import LiveCluster, LoadProcesses
from bench.run.compilers import Compilers
from bench.run.folder import RunFolder
from bench.run.history import History
from bench.systems.processing import PROCESSOR
from bench.telemetry import CONSUMERS, PRODUCERS, Sampler, Watched

_WARM_UP_PRODUCERS = 16
_ROUNDS = 4
_TURN_LEAST_S, _TURN_MOST_S = 1.0, 5.0
_REST = 0.15
"""Compilers rest when, under load, all of them together take less than this share of a core."""
_SUBSCRIBE_S = 60.0
_CATCH_UP_S = 3.0
_SPARE_S = 5.0
"""How much longer than the systems' own pauses consumers are waited for after faults."""
_TAIL_S = 90.0
_SILENCE_S = 30.0
_READ_S = 900.0
_PROCESSED_S = 120.0
_TURN_S = 0.1
_READER_S = 60.0
"""A reader of a step ends when nothing has come to it for so long."""

Live: TypeAlias = Callable[[Mapping[str, Any]], None]
Document: TypeAlias = dict[str, Any]


def _each(*listeners: Live) -> Live:
    def told(figures: Mapping[str, Any]) -> None:
        for listener in listeners:
            listener(figures)

    return told


def _unheard(_: Mapping[str, Any]) -> None:
    """Where nobody listens."""


def _alike_once(cases: Sequence[Case]) -> list[Case]:
    """Return the cases that differ in more than what they are called and what their disk costs; the first of each."""
    found: list[Case] = []
    known: list[Case] = []
    for case in cases:
        plain = replace(case, name="", swept={}, disk={})
        if plain not in known:
            known.append(plain)
            found.append(case)
    return found


def _topics(trial: Trial) -> list[Topic]:
    """Return the topic of a trial, and behind it the one that the application writes, if there is one."""
    topic = Topic(f"trial-{trial.number:04d}", trial.case.partitions, trial.case.topic)
    return [topic, replace(topic, name=f"{topic.name}-processed")] if trial.case.processor else [topic]


@dataclass(frozen=True, slots=True)
class Bench:
    """What every trial on one cluster start uses; `seed` is the run's, `logs` the folder of this cluster's logs."""

    cluster: LiveCluster
    load: LoadProcesses
    folder: RunFolder
    seed: int
    logs: str

    def run(self, trial: Trial, live: Live) -> Document:
        """Run one trial and store it, finished or failed; return its trial.json.

        A failure of the cluster or the client is the trial's result, with its reason; only what says nothing
        about this trial (an interrupt, a full disk below the run folder) is raised.
        """
        working = self.folder.open_trial(trial.number)
        document = record.blank(trial) | {"logs": self.logs}
        try:
            document["machine"] = probe()
            document["disk"] = self.cluster.disks.become(trial.case.disk)
            document |= self._measured(trial, working, live, document)
            document["machine"]["line_after_ns"] = line_ns()
        except BenchError as error:
            document |= record.failed(str(error))
        self.folder.close_trial(trial.number, document)
        return document

    def clear(self, trial: Trial) -> None:
        """Delete a trial's topics, for the next one's sake. Raises ClusterError: then the cluster is none for it."""
        for topic in _topics(trial):
            self.cluster.admin.delete_topic(topic)

    def warm_up(self, cases: Sequence[Case], most_s: float, working: Path) -> list[Document]:
        """Send to throw-away topics until the servers' compilers rest under load, or for `most_s`.

        A fresh JVM compiles what it is asked to do often, and each trial would be faster than the one before
        (seen: four times as fast after 18 trials). So the load goes on, in rounds with a turn for each case,
        for what is left out stays slow (seen: with acks=0 alone, acks=all took its servers twice the CPU for a
        message afterwards): with many synchronous producers, since what counts is how many requests the servers
        see, then with the case's own; with its consumers and with telemetry. Cases that differ in their disk
        only have one turn, as no disk is emulated yet. Returns of each round how many turns it had, their
        acknowledgements, the share of a core that compilers took, and whether that is rest; the last round may
        have turns for some only.
        """
        cases = _alike_once(cases)
        turn_s = min(_TURN_MOST_S, max(_TURN_LEAST_S, most_s / (_ROUNDS * len(cases))))
        compilers = Compilers(lambda: self.cluster.backend.pids().values())
        rounds: list[Document] = []
        end_s, longest_s, rested = time.monotonic() + most_s, 0.0, False
        while not rested and time.monotonic() + longest_s <= end_s:
            begun_s, acks = time.monotonic(), []
            for case in cases:
                if (turn_begun_s := time.monotonic()) + longest_s > end_s:
                    break
                acks.append(self._turn(case, turn_s, working))
                longest_s = max(longest_s, time.monotonic() - turn_begun_s)
            share = compilers.took_s() / (time.monotonic() - begun_s)
            rested = len(acks) == len(cases) and share < _REST
            told = {"turns": len(acks), "acks": sum(acks), "compilers": round(share, 3), "rested": rested}
            rounds.append(told)
        return rounds

    def _turn(self, case: Case, seconds: float, working: Path) -> int:
        """Load a topic with many producers, then with as many as the case has; return the acknowledgements."""
        topic = Topic(f"warm-up-{time.monotonic_ns()}", case.partitions, case.topic)
        self.cluster.admin.create_topic(topic)
        (working / "receives").mkdir(parents=True)
        if case.load.consumers:
            reading = self._reading(Trial(0, 0, case), topic, working / "receives")
            self._consume(Subscribe(**reading, consumers=case.load.consumers), _SUBSCRIBE_S)
        acks = []
        for producers in (_WARM_UP_PRODUCERS, case.load.producers):
            load = replace(
                case.load,
                producers=producers,
                window=1,
                pacing=Pacing(),
                warm_up_s=0.0,
                duration_s=seconds / 2,
                messages=None,
            )
            sends = working / f"sends-{producers}"
            sends.mkdir(exist_ok=True)
            with self._telemetry(case, working) as told:  # a server's first scrapes take it ten times the CPU
                acks.append(self._produce(replace(case, load=load), topic, 0, sends, told)["acked"])
        if case.load.consumers:
            # Both loads count their messages from 0: those of the second are mostly the same.
            self._consume(Finish(expected=acks[0], grace_s=_CATCH_UP_S), _TAIL_S)
        self.cluster.admin.delete_topic(topic)
        shutil.rmtree(working)
        return sum(acks)

    def _measured(self, trial: Trial, working: Path, live: Live, document: Document) -> Document:
        topics = _topics(trial)
        topic, processed = topics[0], topics[-1]
        for one in topics:
            self.cluster.admin.create_topic(one)
        if trial.case.processor:
            self._process(trial.case, topic, processed)
        with self._supervised(trial.case, document["faults"]):
            return self._on_topic(trial, topic, processed, working, live, document)

    @contextmanager
    def _supervised(self, case: Case, records: list[Document]) -> Iterator[None]:
        """Under faults nodes that end by themselves are started again, and it is written down."""
        if not case.faults:
            yield
            return

        def note(name: str, kind: str, seen: str) -> None:
            now_ns = time.monotonic_ns()
            what = {"name": f"{name} {kind}", "kind": kind, "nodes": [name], "seen": seen}
            records.append({**what, "asked_ns": now_ns, "effect_ns": now_ns})

        def ended(name: str, status: int) -> None:
            note(
                name,
                "ended",
                f"It ended by itself with status {status}; a start is due in {RESTART_S:.0f} s.",
            )

        def back(name: str) -> None:
            note(name, "started", "It was started again; its port is open.")

        with self.cluster.backend.supervised(ended, back):
            yield

    def _process(self, case: Case, source: Topic, target: Topic) -> None:
        """Start the application between two topics."""
        node = self._processor()
        node.directory.mkdir(parents=True, exist_ok=True)
        processor.write(
            processor.Process(
                system=case.system,
                endpoint=self.cluster.endpoint,
                source=source,
                target=target,
                settings=case.processor,
            ),
            node.directory / processor.FILE,
        )
        self.cluster.backend.start_node(node)

    def _processor(self) -> Node:
        return next(node for node in self.cluster.nodes if node.role == PROCESSOR)

    def _await_processed(self, topic: Topic) -> None:
        """Let the application settle everything, then end it in order: it finishes what it has in hands."""
        deadline = time.monotonic() + _PROCESSED_S
        while backlog := self.cluster.admin.backlog(topic):
            self.cluster.alive()
            if time.monotonic() > deadline:
                raise LoadError(
                    f"The processor had {backlog:,} messages before it after {_PROCESSED_S:.0f} s."
                )
            time.sleep(_TURN_S)
        self.cluster.backend.end_node(self._processor(), kill=False)

    def _on_topic(  # noqa: PLR0913, PLR0917 - a topic more where an application stands between
        self, trial: Trial, topic: Topic, processed: Topic, working: Path, live: Live, document: Document
    ) -> Document:
        effective = {**self.cluster.admin.effective(topic), "jvm": self.cluster.jvms}
        reading = self._reading(trial, processed, working / "receives")
        consumers = trial.case.load.consumers
        if consumers:
            self._consume(Subscribe(**reading, consumers=consumers), _SUBSCRIBE_S)
        timeline = self._timeline(trial, topic, working, document["faults"])
        history = History(lambda: self.cluster.admin.layout(topic))
        if timeline.steps:
            document["history"] = history.changes
            history.start()
        try:
            with self._telemetry(trial.case, working) as told:
                sent = self._produce(
                    trial.case,
                    topic,
                    trial.number,
                    working / "sends",
                    _each(live, told, timeline.told),
                    timeline,
                )
            timeline.finish()
            if timeline.steps and timeline.all_healed:
                self.cluster.admin.await_settled(topic)
            if trial.case.processor:
                self._await_processed(topic)
        except BaseException:
            timeline.abandon()
            raise
        finally:
            history.stop()
        pause_s = self.cluster.system.pause_s(trial.case) + _SPARE_S if trial.case.faults else 0.0
        seen = (
            self._consume(Finish(expected=sent["sent"], grace_s=max(_CATCH_UP_S, pause_s)), _TAIL_S)
            if consumers
            else None
        )
        read = self._consume(Verify(**reading, deadline_s=max(_SILENCE_S, pause_s)), _READ_S)
        disk = document["disk"] and document["disk"] | {"held": self.cluster.disks.held()}
        return record.finished(sent, seen, read, effective, {"faults": document["faults"], "disk": disk})

    @contextmanager
    def _telemetry(self, case: Case, working: Path) -> Iterator[Live]:
        """Look at everybody who takes part while the load runs; what comes out wants to be told the load's progress."""
        if not case.telemetry:
            yield _unheard
            return
        watched = Watched(
            servers=self.cluster.nodes,
            pids=self.cluster.backend.pids,
            scrapes=self.cluster.scrapes,
            clients={PRODUCERS: self.load.producing.pid, CONSUMERS: self.load.consuming.pid},
            folder=self.folder.path,
        )
        with Sampler(watched, working / "telemetry" / "samples.parquet") as sampler:
            yield sampler.told

    def _timeline(self, trial: Trial, topic: Topic, working: Path, faults: list[Document]) -> Timeline:
        def read_all(step: str, tell: Live, given_up: threading.Event) -> Mapping[str, Any]:
            folder = working / "reads" / step.replace(" ", "-")
            folder.mkdir(parents=True)
            command = Verify(**self._reading(trial, topic, folder), deadline_s=_READER_S)

            def wanted() -> None:
                if given_up.is_set():
                    raise LoadError("It was given up.")

            with WorkerProcess(CONSUMER_MODULE, self.folder.logs / "readers.log") as reader:
                return reader.call(command, _READ_S, tell, wanted)

        site = Site(
            backend=self.cluster.backend,
            nodes=self.cluster.nodes,
            client=self.cluster.backend.client,
            ask=lambda part: self.cluster.admin.find(part, topic),
            state=lambda: self.cluster.admin.state(topic),
            look_up=lambda avoiding: self.cluster.admin.look_up(topic, avoiding),
            read_all=read_all,
            seed=self._seed(trial.number),
        )
        return Timeline(read_steps(trial.case.faults), site, faults)

    def _seed(self, number: int) -> int:
        return zlib.crc32(f"{self.seed}/{number}".encode())

    def _produce(  # noqa: PLR0913, PLR0917 - what one trial's load needs
        self,
        case: Case,
        topic: Topic,
        number: int,
        folder: Path,
        live: Live,
        timeline: Timeline | None = None,
    ) -> Document:
        command = Produce(
            system=case.system,
            endpoint=self.cluster.endpoint,
            topic=topic,
            producer=case.producer,
            load=case.load,
            trial=number,
            run=self.folder.path.name,
            folder=folder,
            seed=self._seed(number),
            progress_at_acks=() if timeline is None else timeline.acks,
        )

        def alive() -> None:
            self.cluster.alive()
            if timeline is not None:
                timeline.check()

        return self.load.producing.call(command, _SILENCE_S * 3, live, alive)

    def _reading(self, trial: Trial, topic: Topic, folder: Path) -> dict[str, Any]:
        return {
            "system": trial.case.system,
            "endpoint": self.cluster.endpoint,
            "topic": topic,
            "consumer": trial.case.consumer,
            "trial": trial.number,
            "run": self.folder.path.name,
            "folder": folder,
        }

    def _consume(self, command: Command, deadline_s: float) -> Document:
        return self.load.consuming.call(command, deadline_s, alive=self.cluster.alive)
