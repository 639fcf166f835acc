"""All trials of clusters that run side by side, in slices that follow one another in a new random order in each cycle.

What the machine and the servers do from one second to the next, and what compilers have not done yet, then falls on
all cases to the same extent.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from bench import numbers
from bench.backends.cache_line_probe import line_ns
from bench.backends.machine import probe
from bench.errors import BenchError, LoadError
from bench.load.commands import Verify
from bench.load.results import SliceResult
from bench.model import NANOS, SETTLING_SLICE, Node, Topic, Trial, of_group
from bench.records.trial import MachineRecord, SliceRecord, TrialRecord
from bench.run import trial_record
from bench.run.capacity_search import CapacitySearch, search_of
from bench.run.cluster_warm_up import GROWTH, round_summary
from bench.run.compilers import Compilers
from bench.run.emulated_disks import held_figures
from bench.run.late_copies import LateCopies
from bench.run.paused_servers import PausedServers
from bench.run.testbed import Live, Testbed
from bench.run.trial import READ_S, SILENCE_S
from bench.telemetry import SCRAPED_CYCLES, SliceSampler

_FEWEST_CYCLES = 2

FinishListener = Callable[[Trial, TrialRecord], None]


@dataclass(slots=True)
class _OpenTrial:
    """A trial whose topic, consumers and producers are there."""

    testbed: Testbed
    sampler: SliceSampler
    trial: Trial
    working: Path
    topic: Topic
    record: TrialRecord
    producer: dict[str, Any]
    first_look: tuple[int, int] | None
    late_copies: LateCopies
    slices: list[SliceResult] = field(default_factory=list)
    cycles: list[int] = field(default_factory=list)
    search: CapacitySearch | None = None
    held_ns: dict[str, list[int]] = field(default_factory=dict)

    @property
    def unused_nodes(self) -> list[Node]:
        """The nodes of its cluster that belong to other groups."""
        used = of_group(self.testbed.cluster.nodes, self.trial.case.group)
        return [node for node in self.testbed.cluster.nodes if node not in used]

    @property
    def goes_on(self) -> bool:
        """Whether it takes a further slice."""
        return not (self.slices and self.slices[-1].stalled)


def growth(earlier_acks: Mapping[int, int], later_acks: Mapping[int, int]) -> float:
    """Return how many times as many acknowledgements trials had after as before: the geometric mean over trials.

    Infinite where a trial had none before, or nobody looked, so that no growth can be told.
    """
    if not earlier_acks or not all(earlier_acks.values()):
        return math.inf
    return statistics.geometric_mean(
        max(1, later_acks[trial]) / count for trial, count in earlier_acks.items()
    )


class InterleavedTrials:
    """Measures trials on clusters that run side by side, one loaded at a time."""

    def __init__(self, testbeds: Mapping[str, Testbed], seed: int, settling_s: float) -> None:
        """Measure on these clusters, each by the name of its folder of logs.

        Random orders come from the run's seed. Trials settle for two cycles at least, and for `settling_s` at most.
        `settled` has what each of these cycles came to, as `warm_up` gives it, and `settled_s` how long they took.
        """
        self.settled: list[dict[str, Any]] = []
        self.settled_s = 0.0
        self._testbeds = testbeds
        self._seed = f"{seed}/{'/'.join(testbeds)}"
        self._settling_s = settling_s
        self._machine = MachineRecord()
        self._paused_servers = PausedServers()

    def run(self, left: list[Trial], live: Callable[[Trial], Live], finished: FinishListener) -> str | None:
        """Measure all trials of `left` and take each out once it is stored; return why that broke off, if it did.

        Then the trial at which it broke off is stored as failed; what the others had measured so far is not kept, and
        they stay in `left`.
        """
        self._machine, self._current = MachineRecord(**probe()), left[0]
        try:
            for testbed in self._testbeds.values():
                trials = [trial for trial in left if self._testbed(trial) is testbed]
                testbed.create_topics([testbed.topics_of(trial)[0] for trial in trials])
            with ExitStack() as stack:
                samplers = {
                    logs: stack.enter_context(
                        testbed.slice_sampler(
                            [neighbour for neighbour in self._testbeds.values() if neighbour is not testbed]
                        )
                    )
                    for logs, testbed in self._testbeds.items()
                }
                opened = [self._open(trial, samplers[self._logs(trial)]) for trial in left]
                self._settle(opened, live)
                self._measure(opened, live)
                self._search(opened, live)
            self._machine.line_after_ns = line_ns()
            for open_trial in opened:
                record = self._close(open_trial)
                left.remove(open_trial.trial)
                finished(open_trial.trial, record)
        except BenchError as error:
            failed = self._current
            left.remove(failed)
            finished(failed, self._fail(failed, str(error)))
            return str(error)
        return None

    def _logs(self, trial: Trial) -> str:
        """Return the name of the folder of logs of a trial's cluster."""
        return next(
            logs for logs, testbed in self._testbeds.items() if testbed.cluster.spec == trial.case.cluster
        )

    def _testbed(self, trial: Trial) -> Testbed:
        return self._testbeds[self._logs(trial)]

    def _open(self, trial: Trial, sampler: SliceSampler) -> _OpenTrial:
        """Connect the consumers and the producers of a trial, whose topic is there."""
        self._current = trial
        testbed = self._testbed(trial)
        cluster = testbed.cluster
        working = testbed.folder.open_trial(trial.number)
        record = trial_record.blank(trial, self._logs(trial))
        record.disk = cluster.disks.set_and_measure(trial.case.disk)
        record.node_size = cluster.sizes.set_and_measure(trial.case.node_size)
        (topic,) = testbed.topics_of(trial)
        record.effective = {**cluster.admin.effective(topic), "jvm": cluster.jvms}
        testbed.subscribe(trial, topic, working / "receives")
        producer = testbed.open(trial, topic, working / "sends")
        return _OpenTrial(
            *(testbed, sampler, trial, working, topic, record, producer),
            first_look=testbed.other_messages(),
            late_copies=testbed.late_copies(trial),
        )

    def _settle(self, opened: Sequence[_OpenTrial], live: Callable[[Trial], Live]) -> None:
        """Load every trial in cycles of which nothing counts, until compilers rest and it gets no faster.

        Logs, connections and caches are new to the servers, and so is their code. In the first cycle servers are asked
        for their figures before each slice, as around slices that count. Nodes have no limits yet, which would slow
        their compilers down. Ends where the time is over, too. Raises LoadError where a load breaks off.
        """
        begun_s, last_acks = time.monotonic(), dict[int, int]()
        compilers = Compilers(self._server_pids)
        for cycle in count(1):
            cycle_begun_s, acks = time.monotonic(), dict[int, int]()
            for open_trial in self._cycle_order(opened, f"settling {cycle}"):
                self._current = open_trial.trial
                open_trial.testbed.cluster.disks.set_delay(open_trial.trial.case.disk)
                open_trial.testbed.cluster.sizes.set_limits({})
                if open_trial.trial.case.telemetry and cycle == 1:
                    open_trial.sampler.rehearse()
                with self._stop_unused(open_trial):
                    trial = open_trial.trial
                    done = open_trial.testbed.run_slice(trial, SETTLING_SLICE, live(trial))
                if done.stalled:
                    raise LoadError("The load stopped while it settled: the brokers no longer answered.")
                acks[open_trial.trial.number] = done.acked
            now_s = time.monotonic()
            share = compilers.took_s() / (now_s - cycle_begun_s)
            self.settled.append(
                round_summary([*acks.values()], share, steady=growth(last_acks, acks) < GROWTH)
            )
            self.settled_s = now_s - begun_s
            late = self.settled_s + now_s - cycle_begun_s > self._settling_s
            if cycle >= _FEWEST_CYCLES and (late or self.settled[-1]["rested"]):
                return
            last_acks = acks

    def _cycle_order(self, trials: Sequence[_OpenTrial], cycle: str) -> list[_OpenTrial]:
        """Return the trials in the order of a cycle, by the run's seed."""
        shuffled = list(trials)
        random.Random(f"{self._seed}/{cycle}").shuffle(shuffled)
        return shuffled

    def _stop_unused(self, open_trial: _OpenTrial) -> AbstractContextManager[None]:
        """Stop the servers that a trial does not use while it is loaded: idle ones would take a part of the CPU."""
        unused_nodes = [
            (
                testbed.cluster.backend,
                open_trial.unused_nodes if testbed is open_trial.testbed else testbed.cluster.nodes,
            )
            for testbed in self._testbeds.values()
        ]

        def pause() -> None:
            for backend, nodes in unused_nodes:
                backend.pause_all(nodes)

        def resume() -> None:
            with ExitStack() as stack:  # whatever becomes of the others
                for backend, nodes in unused_nodes:
                    stack.callback(backend.resume_all, nodes)

        return self._paused_servers.keep_paused(pause, resume)

    def _measure(self, opened: Sequence[_OpenTrial], live: Callable[[Trial], Live]) -> None:
        """Run all cycles: in each every trial that has a slice left gets one.

        Compilers are not done by then, and must not take the cores from whoever is measured.
        """
        compilers = Compilers(self._server_pids)
        slices = {open_trial.trial.number: open_trial.trial.case.load.slices or 0 for open_trial in opened}
        for cycle in range(max(slices.values())):
            going = [
                open_trial
                for open_trial in opened
                if open_trial.goes_on and cycle < slices[open_trial.trial.number]
            ]
            compilers.use_idle_cores()
            for open_trial in self._cycle_order(going, str(cycle)):
                self._slice(open_trial, cycle, live(open_trial.trial))

    def _search(self, opened: Sequence[_OpenTrial], live: Callable[[Trial], Live]) -> None:
        """Hold rates for the trials that search for their capacity, one a cycle each, until all have found it."""
        for open_trial in opened:
            open_trial.search = search_of(open_trial.trial, open_trial.working, open_trial.slices)
        for cycle in count():
            asking = [open_trial for open_trial in opened if open_trial.search and open_trial.search.request]
            if not asking:
                return
            for open_trial in self._cycle_order(asking, f"hold {cycle}"):
                self._hold(open_trial, live(open_trial.trial))

    def _hold(self, open_trial: _OpenTrial, live: Live) -> None:
        """Hold the rate that a trial's search asks for. Raises LoadError where the load broke off."""
        self._current = trial = open_trial.trial
        if open_trial.search is None or (request := open_trial.search.request) is None:
            return
        number = len(open_trial.slices) + len(open_trial.search.holds)
        open_trial.testbed.cluster.disks.set_delay(trial.case.disk)
        open_trial.testbed.cluster.sizes.set_limits(trial.case.node_size)
        confirms = open_trial.search.confirms
        if confirms:
            open_trial.late_copies.begin()
        if trial.case.telemetry:
            open_trial.sampler.look_before(trial.number, number, scraped=False)
        with self._stop_unused(open_trial):
            done = open_trial.testbed.hold(trial, number, request, live)
        if trial.case.telemetry:
            open_trial.sampler.look_after(trial.number, number, scraped=False)
        if done.stalled:
            rate = numbers.rate(request.rate)
            raise LoadError(f"The load stopped at {rate} messages/s: the brokers no longer answered.")
        if not confirms:
            open_trial.search.add(done)
            return
        open_trial.late_copies.end(done.slice.end_ns + round(request.overrun_s * NANOS))
        copies_missing = open_trial.testbed.copies_missing(trial)
        late_copies_share = open_trial.late_copies.share()
        open_trial.search.add(done, copies_missing=copies_missing, late_copies_share=late_copies_share)

    def _server_pids(self) -> Iterator[int]:
        for testbed in self._testbeds.values():
            yield from testbed.cluster.backend.pids().values()

    def _slice(self, open_trial: _OpenTrial, cycle: int, live: Live) -> None:
        """Load a trial for one slice, with its own disk, and look at everybody just before and just after."""
        self._current = trial = open_trial.trial
        disks, case, number = open_trial.testbed.cluster.disks, trial.case, len(open_trial.slices)
        sampler = open_trial.sampler
        scraped = cycle % SCRAPED_CYCLES == 0
        disks.set_delay(case.disk)
        open_trial.testbed.cluster.sizes.set_limits(case.node_size)
        fsyncs = disks.count(case.disk)

        def take(figures: Mapping[str, Any]) -> None:
            live(figures)
            if case.telemetry:
                sampler.take_progress(trial.number, number, figures)

        if case.telemetry:
            sampler.look_before(trial.number, number, scraped=scraped)
        with self._stop_unused(open_trial):
            done = open_trial.testbed.run_slice(trial, number, take)
        if case.telemetry:
            sampler.look_after(trial.number, number, scraped=scraped)
        for name, held_ns in disks.held_since(fsyncs).items():
            open_trial.held_ns.setdefault(name, []).extend(held_ns)
        open_trial.slices.append(done)
        open_trial.cycles.append(cycle)

    def _close(self, open_trial: _OpenTrial) -> TrialRecord:
        """Disconnect a trial, read its topic whole, store it; return its record."""
        self._current = trial = open_trial.trial
        testbed, record = open_trial.testbed, open_trial.record
        unused_nodes = {node.name for node in open_trial.unused_nodes}
        open_trial.sampler.write(
            trial.number, open_trial.working / "telemetry" / "samples.parquet", unused_nodes
        )
        sent = trial_record.in_slices(open_trial.producer, open_trial.slices, testbed.close(trial))
        last_look = testbed.other_messages()
        if trial.case.load.consumers:
            testbed.catch_up(trial.number, sent.sent)
        reading = testbed.reader_arguments(trial, open_trial.topic, open_trial.working / "receives")
        verify = Verify(**reading, deadline_s=SILENCE_S, expected=sent.acked)
        read = testbed.read_all(verify, open_trial.topic, READ_S)
        if record.disk is not None:
            record.disk.held = held_figures(open_trial.held_ns)
        record.machine = self._machine
        trial_record.finish(record, sent, read)
        record.slices = [
            SliceRecord(**done.slice.model_dump(), cycle=cycle)
            for done, cycle in zip(open_trial.slices, open_trial.cycles, strict=True)
        ]
        record.holds = open_trial.search.holds if open_trial.search else None
        record.other_messages_per_s = trial_record.other_rate(open_trial.first_look, last_look)
        record.clock_error_ns = testbed.load.correct_log(open_trial.working, trial.case.load.producers)
        testbed.folder.close_trial(record)
        return record

    def _fail(self, trial: Trial, reason: str) -> TrialRecord:
        """Store a trial as failed; what of its event log is there stays."""
        record = trial_record.blank(trial, self._logs(trial))
        trial_record.fail(record, reason)
        self._testbed(trial).folder.close_trial(record)
        return record
