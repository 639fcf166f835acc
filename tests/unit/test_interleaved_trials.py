"""The slices of all trials of one cluster start: their order, whose figures are whose, and what a failure leaves."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from bench.errors import LoadError
from bench.load.commands import RateHold
from bench.load.results import ReadResult, SendCounts, SliceResult
from bench.model import Case, Cluster, Load, Pacing, Topic, Trial
from bench.records.trial import ClientRecord, DiskRecord, HoldRecord, SpanRecord, TrialRecord
from bench.run import interleaved_trials
from bench.run.folder import RunFolder, create
from bench.run.interleaved_trials import InterleavedTrials, growth
from bench.run.late_copies import LateCopies

CYCLES = 10


def case(name: str, disk: str, group: str) -> Case:
    load = Load(1, 100, Pacing(), 1, 0, 0.1, 0.5, None, slices=CYCLES)
    cluster = Cluster("memory", "1", {})
    settings = {"emulated_fsync": disk}
    return Case("memory", name, {}, cluster, 1, {}, {}, {}, load, disk=settings, group=group)


GROUPS = ("", "on", "off")
TRIALS = [Trial(number, 0, case(f"case {number}", f"{number}ms", GROUPS[number])) for number in range(3)]


class Looks:
    """Stands for the sampler: which looks it was asked for."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, int, bool]] = []
        self.written: list[int] = []
        self.others: list[set[str]] = []
        self.rehearsals = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End."""

    def look_before(self, trial: int, number: int, *, scraped: bool) -> None:
        self.seen.append(("before", trial, number, scraped))

    def look_after(self, trial: int, number: int, *, scraped: bool) -> None:
        self.seen.append(("after", trial, number, scraped))

    def rehearse(self) -> None:
        self.rehearsals += 1

    def write(self, trial: int, _file: Path, others: Collection[str]) -> None:
        self.written.append(trial)
        self.others.append(set(others))


class Servers:
    """Stands for a cluster and its load; `fails` and `stalls` are (trial, slice).

    `settling_acks` has what a trial acknowledges in each settling cycle.
    """

    def __init__(
        self,
        folder: RunFolder,
        fails: object = None,
        stalls: object = None,
        settling_acks: Sequence[int] = (),
        system: str = "memory",
    ) -> None:
        self.folder = folder
        self.events: list[Any] = []
        self.settling: list[Any] = []
        self.looks = Looks()
        self.fsync = ""
        self.stopped: set[str] = set()
        self.seen: list[set[str]] = []
        self.beside: list[Servers] = []
        self._fails, self._stalls, self._settling_acks = fails, stalls, settling_acks
        self.load = SimpleNamespace(correct_log=lambda *_: 0)
        self.cluster = SimpleNamespace(
            admin=SimpleNamespace(effective=lambda topic: {}),
            jvms={},
            spec=Cluster(system, "1", {}),
            backend=SimpleNamespace(
                pids=dict,
                pause_all=lambda nodes: self.stopped.update(node.name for node in nodes),
                resume_all=lambda nodes: self.stopped.difference_update(node.name for node in nodes),
            ),
            nodes=[
                SimpleNamespace(name=name, group=group)
                for name, group in (("broker", ""), ("bookie-1", "on"), ("bookie-2", "off"))
            ],
            sizes=SimpleNamespace(set_and_measure=lambda size: None, set_limits=lambda size: None),
            disks=SimpleNamespace(
                set_and_measure=lambda disk: DiskRecord(emulated_fsync=disk["emulated_fsync"]),
                set_delay=self._set_delay,
                count=lambda disk: {"node": 0},
                held_since=lambda counts: {"node": [len(self.fsync)]},
            ),
        )

    def _set_delay(self, disk: Mapping[str, str]) -> None:
        self.fsync = disk["emulated_fsync"]

    def slice_sampler(self, _beside: object) -> Looks:
        return self.looks

    def topics_of(self, trial: Trial) -> list[Topic]:
        return [Topic(f"trial-{trial.number}", 1)]

    def create_topics(self, *_: object) -> None:
        """There are no topics."""

    def subscribe(self, *_: object) -> None:
        """Nobody consumes."""

    def open(self, trial: Trial, *_: object) -> dict[str, Any]:
        return {"of": trial.number}

    def run_slice(self, trial: Trial, number: int, _live: object) -> SliceResult:
        self.seen.append(
            self.stopped | {f"beside: {name}" for other in self.beside for name in other.stopped}
        )
        if (trial.number, number) == self._fails:
            raise LoadError("The load broke off.")
        (self.settling if number < 0 else self.events).append((trial.number, number, self.fsync))
        start_ns = 1_000 * len(self.events)
        return SliceResult(
            slice=SpanRecord(slice=number, begun_ns=start_ns - 1, start_ns=start_ns, end_ns=start_ns + 500),
            acked=self._acked(number),
            acked_before=0,
            client=ClientRecord(cpu_share=0.1 * trial.number, loop_lag_max_ns=number, recorder_backlog_max=0),
            due_unsent=0,
            stalled=(trial.number, number) == self._stalls,
        )

    def _acked(self, number: int) -> int:
        cycle = (len(self.settling) - 1) // len(TRIALS)
        return self._settling_acks[cycle] if number < 0 and self._settling_acks else 5

    def close(self, trial: Trial) -> SendCounts:
        sent = 5 * sum(number == trial.number for number, *_ in self.events)
        return SendCounts(sent=sent, acked=sent, failed=0, unknown=0, never_told=0)

    def reader_arguments(self, trial: Trial, topic: object, folder: Path) -> dict[str, Any]:
        names = ("system", "endpoint", "run")
        return dict.fromkeys(names, "x") | {"topic": topic, "consumer": {}, "trial": 0, "folder": folder}

    def consume(self, *_: object) -> dict[str, Any]:
        return {"received": 0, "complete": True, "reason": None}

    def late_copies(self, _trial: Trial) -> Any:
        return LateCopies({})

    def hold(self, trial: Trial, number: int, _held: object, live: object) -> SliceResult:
        return self.run_slice(trial, number, live)

    def copies_missing(self, _trial: Trial) -> bool:
        self.events.append("asked for missing copies")
        return False

    def other_messages(self) -> None:
        """The cluster is the suite's own."""

    def read_all(self, *_: object) -> ReadResult:
        return ReadResult(received=0, complete=True, reason=None)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setattr(interleaved_trials, "probe", dict)
    monkeypatch.setattr(interleaved_trials, "line_ns", lambda: 3)
    return create(tmp_path, "test", "quick")


def measure(
    servers: Any, settling_s: float = 60
) -> tuple[str | None, list[Trial], dict[int, dict[str, Any]]]:
    left, documents = list(TRIALS), {}

    def finished(trial: Trial, record: TrialRecord) -> None:
        documents[trial.number] = record.model_dump()

    reason = InterleavedTrials({"00-memory": servers}, 7, settling_s).run(
        left, lambda trial: lambda figures: None, finished
    )
    return reason, left, documents


def test_every_cycle_has_a_slice_of_every_trial_in_an_order_of_its_own(folder: RunFolder) -> None:
    servers = Servers(folder)

    reason, left, documents = measure(servers)

    assert (reason, left, sorted(documents)) == (None, [], [0, 1, 2])
    assert servers.looks.others == [{"bookie-1", "bookie-2"}, {"bookie-2"}, {"bookie-1"}]
    cycles = [servers.events[at : at + 3] for at in range(0, 3 * CYCLES, 3)]
    for number, cycle in enumerate(cycles):
        assert sorted(cycle) == [
            (trial, number, f"{trial}ms") for trial in range(3)
        ]  # each with its own disk
    orders = Counter(tuple(trial for trial, *_ in cycle) for cycle in cycles)
    assert len(orders) > 3
    again = Servers(create(folder.path, "again", "quick"))
    measure(again)
    assert again.events == servers.events  # by the seed


def test_a_trials_document_has_its_own_slices_and_its_own_client(folder: RunFolder) -> None:
    _, _, documents = measure(Servers(folder))

    document = documents[1]
    assert [(one["slice"], one["cycle"]) for one in document["slices"]] == [(n, n) for n in range(CYCLES)]
    spans = [(one["start_ns"], one["end_ns"]) for one in document["slices"]]
    assert document["window"] == {"start_ns": spans[0][0], "end_ns": spans[-1][1]}
    assert document["client"] == {
        "cpu_share": 0.1,
        "loop_lag_max_ns": CYCLES - 1,
        "recorder_backlog_max": 0,
    }
    assert document["effective"]["producer"] == {"of": 1}
    assert document["disk"]["held"] == {"node": {"calls": CYCLES, "p50": 3, "p99": 3}}
    assert (document["format"], document["verdict"]) == (2, "valid")
    assert document["load"]["duration_s"] == 0.5


def test_everybody_is_looked_at_around_each_slice_and_servers_are_asked_in_some_cycles(
    folder: RunFolder,
) -> None:
    servers = Servers(folder)

    measure(servers)

    looks = servers.looks.seen
    assert [(when, trial, number) for when, trial, number, _ in looks] == [
        (when, trial, number) for trial, number, _ in servers.events for when in ("before", "after")
    ]
    assert {number for _, _, number, scraped in looks if scraped} == {0, 8}
    assert servers.looks.written == [0, 1, 2]


def test_every_trial_settles_before_any_slice_counts(folder: RunFolder) -> None:
    servers = Servers(folder)

    measure(servers)

    assert sorted(set(servers.settling)) == [(trial, -1, f"{trial}ms") for trial in range(3)]
    assert len(servers.settling) == 2 * 3  # the second cycle is no faster
    assert servers.looks.rehearsals == 3  # before each slice of the first


@pytest.mark.parametrize("fails", [None, (1, 3)])
def test_servers_that_a_trial_does_not_use_are_stopped_in_its_slices_and_go_on_after_them(
    folder: RunFolder, fails: object
) -> None:
    servers = Servers(folder, fails=fails)

    measure(servers)

    assert not servers.stopped
    bookies = {"bookie-1", "bookie-2"}
    assert {frozenset(seen) for seen in servers.seen} == {
        frozenset(bookies),
        frozenset({"bookie-1"}),
        frozenset({"bookie-2"}),
    }


def test_clusters_side_by_side_are_loaded_one_at_a_time_in_one_order(folder: RunFolder) -> None:
    kafka, pulsar = (Servers(folder, system=name) for name in ("kafka", "pulsar"))
    kafka.beside, pulsar.beside = [pulsar], [kafka]
    trials = [
        replace(trial, case=replace(trial.case, cluster=servers.cluster.spec))
        for trial, servers in zip(TRIALS, (kafka, pulsar, kafka), strict=True)
    ]
    order: list[int] = []
    for servers in (kafka, pulsar):
        servers.events = servers.settling = Order(order)
    documents: dict[int, dict[str, Any]] = {}
    testbeds: Any = {"00-kafka": kafka, "01-pulsar": pulsar}

    reason = InterleavedTrials(testbeds, 7, 0).run(
        list(trials),
        lambda trial: lambda figures: None,
        lambda trial, record: documents.update({trial.number: record.model_dump()}),
    )

    assert reason is None
    assert {number: told["logs"] for number, told in documents.items()} == {
        0: "00-kafka",
        1: "01-pulsar",
        2: "00-kafka",
    }
    cycles = [order[at : at + 3] for at in range(0, len(order), 3)]
    assert all(sorted(cycle) == [0, 1, 2] for cycle in cycles)
    assert len({tuple(cycle) for cycle in cycles}) > 2
    everybody = {"beside: broker", "beside: bookie-1", "beside: bookie-2"}
    assert all(everybody <= seen for servers in (kafka, pulsar) for seen in servers.seen)
    assert not kafka.stopped | pulsar.stopped


class Order(list[Any]):
    """Keeps the trials of all clusters in the order in which they were loaded."""

    def __init__(self, order: list[int]) -> None:
        super().__init__()
        self._order = order

    def append(self, event: Any) -> None:
        super().append(event)
        self._order.append(event[0])


def test_trials_settle_until_a_cycle_is_hardly_faster(folder: RunFolder) -> None:
    """Twice as fast, then 1.5 times, then 1.05 times: the fifth cycle would be one too many."""
    servers = Servers(folder, settling_acks=[10, 20, 30, 31, 1])

    measure(servers)

    assert len(servers.settling) == 4 * 3


def test_trials_settle_for_two_cycles_where_there_is_no_time(folder: RunFolder) -> None:
    servers = Servers(folder, settling_acks=[10, 20, 40, 80])

    measure(servers, settling_s=0)

    assert len(servers.settling) == 2 * 3


def test_growth_is_the_mean_over_trials_of_the_ratio() -> None:
    assert growth({0: 10, 1: 1000}, {0: 20, 1: 500}) == pytest.approx(1.0)
    assert growth({0: 10, 1: 0}, {0: 20, 1: 500}) == math.inf


def test_a_trial_that_stalls_while_it_settles_has_failed(folder: RunFolder) -> None:
    reason, left, documents = measure(Servers(folder, stalls=(1, -1)))

    assert "stopped while it settled" in str(reason)
    assert [trial.number for trial in left] == [0, 2]
    assert documents[1]["state"] == "failed"


def test_a_failure_in_a_slice_is_its_trials_and_the_others_stay(folder: RunFolder) -> None:
    reason, left, documents = measure(Servers(folder, fails=(1, 4)))

    assert reason == "The load broke off."
    assert [trial.number for trial in left] == [0, 2]
    assert {number: one["state"] for number, one in documents.items()} == {1: "failed"}
    assert folder.done_trials() == {1}


def test_a_trial_that_stalls_takes_no_more_slices_and_is_invalid(folder: RunFolder) -> None:
    servers = Servers(folder, stalls=(2, 3))

    _, left, documents = measure(servers)

    assert left == []
    assert {number: one["verdict"] for number, one in documents.items()} == {
        0: "valid",
        1: "valid",
        2: "invalid",
    }
    assert Counter(trial for trial, *_ in servers.events) == {0: CYCLES, 1: CYCLES, 2: 4}


class SearchOfTwoHolds:
    """Asks for a short hold, then for a long one; `figures` has what it got beside them."""

    def __init__(self) -> None:
        self.holds: list[HoldRecord] = []
        self.figures: list[dict[str, object]] = []

    @property
    def confirms(self) -> bool:
        return len(self.figures) == 1

    @property
    def request(self) -> RateHold | None:
        hold = RateHold(rate=100, lead_in_s=0.1, seconds=0.5, overrun_s=0.05)
        return hold if len(self.figures) < 2 else None

    def add(self, _done: SliceResult, **figures: object) -> None:
        self.figures.append(figures)


class CopiesOfOneHold:
    """Notes among the events of a cluster when copies are counted, with the limit."""

    def __init__(self, events: list[Any]) -> None:
        self._events = events

    def begin(self) -> None:
        self._events.append("copies before")

    def end(self, limit_ns: int) -> None:
        self._events.append(f"copies at {limit_ns}")

    def share(self) -> float:
        self._events.append("late copies")
        return 0.02


def test_late_copies_are_counted_from_before_a_long_hold_to_after_its_limit(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers, search = Servers(folder), SearchOfTwoHolds()
    monkeypatch.setattr(servers, "late_copies", lambda _trial: CopiesOfOneHold(servers.events))
    monkeypatch.setattr(
        interleaved_trials, "search_of", lambda trial, *_: search if trial.number == 1 else None
    )

    assert measure(servers)[0] is None

    short, begin, long, *after = servers.events[3 * CYCLES :]
    assert (short, begin, long) == ((1, CYCLES, "1ms"), "copies before", (1, CYCLES, "1ms"))
    end_ns = 1_000 * (3 * CYCLES + 3) + 500
    assert after == [f"copies at {end_ns + 50_000_000}", "asked for missing copies", "late copies"]
    assert search.figures == [{}, {"copies_missing": False, "late_copies_share": 0.02}]
