"""One trial, from an empty topic to trial.json."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.backends.cache_line_probe import line_ns
from bench.backends.machine import probe
from bench.backends.supervision import RESTART_S
from bench.errors import BenchError, ClusterError, LoadError
from bench.faults import AsGroup, Site, Timeline, read_steps
from bench.load.commands import Command, ReadGroup, Verify
from bench.load.process import CONSUMER_MODULE, WorkerProcess
from bench.model import Case, Topic, Trial
from bench.records.steps import AnyStep, RestartRecord, reads_folder
from bench.records.trial import MachineRecord, TrialRecord
from bench.run import application, members, trial_record
from bench.run.emulated_disks import held_figures
from bench.run.history import History
from bench.run.testbed import Live, Testbed, ignore_progress
from bench.systems import membership

_SPARE_S = 5.0
"""How much longer than the systems' own pauses consumers are waited for after faults."""
SILENCE_S = 30.0
"""A full read ends when nothing has come for so long."""
READ_S = 900.0
"""For so long at most a full read is waited for."""
_GROUP_SILENCE_S = 5.0
"""A consumer group of a step has read all there is when nothing has come for so long."""
_READER_S = 60.0
"""A reader of a step ends when nothing has come to it for so long."""


def _broadcast(*listeners: Live) -> Live:
    def tell_all(figures: Mapping[str, Any]) -> None:
        for listener in listeners:
            listener(figures)

    return tell_all


@dataclass(frozen=True, slots=True)
class Bench:
    """Runs trials on one cluster start; `logs` is the folder of this cluster's logs."""

    testbed: Testbed
    logs: str

    def run(self, trial: Trial, live: Live) -> TrialRecord:
        """Run one trial and store it, finished or failed; return its record.

        A failure of the cluster or the client is the trial's result, with its reason. Only what says nothing about
        this trial (an interrupt, a full disk below the run folder) is raised.
        """
        working = self.testbed.folder.open_trial(trial.number)
        record = trial_record.blank(trial, self.logs)
        try:
            record.machine = machine = MachineRecord(**probe())
            record.disk = self.testbed.cluster.disks.set_and_measure(trial.case.disk)
            record.node_size = self.testbed.cluster.sizes.set_and_measure(trial.case.node_size)
            self._measure(trial, working, live, record)
            machine.line_after_ns = line_ns()
            record.clock_error_ns = self.testbed.load.correct_log(working, trial.case.load.producers)
        except BenchError as error:
            trial_record.fail(record, str(error))
        self.testbed.folder.close_trial(record)
        return record

    def clear(self, trial: Trial) -> None:
        """Delete a trial's topics, for the next one's sake. Raises ClusterError: then the cluster is none for it."""
        for topic in self.testbed.topics_of(trial):
            self.testbed.cluster.admin.delete_topic(topic)

    def _measure(self, trial: Trial, working: Path, live: Live, record: TrialRecord) -> None:
        topics = self.testbed.topics_of(trial)
        topic, processed = topics[0], topics[-1]
        begun_ns = time.monotonic_ns()
        self.testbed.create_topics(topics)
        record.created_ns = time.monotonic_ns() - begun_ns
        if trial.case.processor:
            application.start(self.testbed.cluster, trial.case, topic, processed)
        with self._supervise(trial.case, record.faults):
            self._on_topic(trial, topic, processed, working, live, record)

    @contextmanager
    def _supervise(self, case: Case, steps: list[AnyStep]) -> Iterator[None]:
        """Have nodes that end by themselves under faults started again, and write it down."""
        if not case.faults:
            yield
            return

        def note(name: str, kind: Literal["ended", "started"], evidence: str) -> None:
            now_ns = time.monotonic_ns()
            steps.append(
                RestartRecord(
                    name=f"{name} {kind}",
                    kind=kind,
                    nodes=[name],
                    seen=evidence,
                    asked_ns=now_ns,
                    effect_ns=now_ns,
                )
            )

        def note_end(name: str, status: int) -> None:
            note(
                name,
                "ended",
                f"It ended by itself with status {status}; a start is due in {RESTART_S:.0f} s.",
            )

        def back(name: str) -> None:
            note(name, "started", "It was started again; its port is open.")

        with self.testbed.cluster.backend.supervise(note_end, back):
            yield

    def _on_topic(  # noqa: PLR0913, PLR0917 - a topic more where an application stands between
        self, trial: Trial, topic: Topic, processed: Topic, working: Path, live: Live, record: TrialRecord
    ) -> None:
        testbed, cluster = self.testbed, self.testbed.cluster
        record.effective = {**cluster.admin.effective(topic), "jvm": cluster.jvms}
        fsyncs = cluster.disks.count(trial.case.disk)
        receives = working / "receives"
        in_processes = membership.in_processes(trial.case.consumer_group)
        if in_processes:
            members.start(cluster, trial, processed, testbed.folder.path.name, receives)
        else:
            testbed.subscribe(trial, processed, receives)
        timeline = self._timeline(trial, topic, working, record.faults)
        history = History(lambda: cluster.admin.layout(topic))
        if timeline.steps:
            record.history = history.changes
            history.start()
        try:
            first_look = testbed.other_messages()
            with testbed.telemetry(trial.case, working) as telemetry_listener:
                sent = testbed.produce(
                    trial.case,
                    topic,
                    trial.number,
                    working / "sends",
                    _broadcast(live, telemetry_listener, timeline.take_progress),
                    timeline,
                )
                timeline.finish()
            record.other_messages_per_s = trial_record.other_rate(first_look, testbed.other_messages())
            unsettled = self._await_settled(trial.case, topic, timeline)
        except BaseException:
            timeline.abandon()
            raise
        finally:
            history.stop()
        pause_s = cluster.system.pause_s(trial.case) + _SPARE_S if trial.case.faults else 0.0
        if in_processes:
            members.end(cluster)
        elif trial.case.load.consumers:
            # A group may be too slow for the load: it is not waited for, and what it has not had is its backlog.
            expected = 0 if trial.case.consumer_group else sent.sent
            testbed.catch_up(trial.number, expected, pause_s)
        verify = Verify(
            **testbed.reader_arguments(trial, processed, receives),
            deadline_s=max(SILENCE_S, pause_s),
            expected=sent.acked,
        )
        read = testbed.read_all(verify, topic, READ_S)
        if record.disk is not None:
            record.disk.held = held_figures(cluster.disks.held_since(fsyncs))
        trial_record.finish(record, sent, read, unsettled)

    def _await_settled(self, case: Case, topic: Topic, timeline: Timeline) -> str | None:
        """Wait for all copies and for the application after healed faults; say what did not come about, if anything.

        What was measured before stands all the same. Where nothing broke there is nothing to wait for, and the topic
        may be gone.
        """
        try:
            if timeline.steps and timeline.all_healed and not case.only_waits:
                self.testbed.cluster.admin.await_settled(topic)
            if case.processor:
                application.settle(self.testbed.cluster, topic)
        except (ClusterError, LoadError) as error:
            if not case.faults:
                raise
            return str(error)
        return None

    def _timeline(self, trial: Trial, topic: Topic, working: Path, faults: list[AnyStep]) -> Timeline:
        testbed, cluster = self.testbed, self.testbed.cluster

        def run_reader(
            command: Command, given_up: Callable[[], bool], tell: Live = ignore_progress
        ) -> Mapping[str, Any]:
            """Have a process of its own read; it is ended once it is given up."""

            def check_given_up() -> None:
                if given_up():
                    raise LoadError("It was given up.")

            with WorkerProcess(CONSUMER_MODULE, testbed.folder.logs / "readers.log") as reader:
                return reader.call(command, READ_S, tell, check_given_up)

        def read_all(step: str, tell: Live, given_up: threading.Event) -> Mapping[str, Any]:
            folder = working / reads_folder(step)
            folder.mkdir(parents=True)
            # While a load runs there is no last message to wait for.
            command = Verify(
                **testbed.reader_arguments(trial, topic, folder), deadline_s=_READER_S, expected=0
            )
            return run_reader(command, given_up.is_set, tell)

        def read_group(step: str, action: AsGroup, given_up: Callable[[], bool]) -> Mapping[str, Any]:
            reading = testbed.reader_arguments(trial, topic, working / reads_folder(step))
            silence_s = _GROUP_SILENCE_S if action.reads else 0.0
            return run_reader(ReadGroup(**reading, group=action.group, silence_s=silence_s), given_up)

        site = Site(
            backend=cluster.backend,
            nodes=cluster.nodes,
            client=cluster.backend.client,
            ask=lambda part: cluster.admin.find(part, topic),
            state=lambda: cluster.admin.state(topic),
            look_up=lambda avoiding: cluster.admin.look_up(topic, avoiding),
            rebalance=lambda bytes_per_s: cluster.admin.rebalance(topic, bytes_per_s),
            drain=lambda node, bytes_per_s: cluster.admin.drain(node, topic, bytes_per_s),
            read_all=read_all,
            read_group=read_group,
            seed=testbed.seed_of(trial.number),
        )
        return Timeline(read_steps(trial.case.faults), site, faults)
