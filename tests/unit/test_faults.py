"""Steps, targets and the timeline, on a backend that only writes down what it is asked to do."""

import random
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from bench.analysis.faults.availability import BIN_NS, dip
from bench.backends.delayed_node import HeldPackets, Link
from bench.backends.netns import PacketRules, Packets
from bench.errors import ClusterError, FaultError, LoadError
from bench.fault_kinds import FAULT_KINDS
from bench.faults import AsGroup, Site, Timeline, read_steps, stands, targets
from bench.faults.kinds import kinds
from bench.faults.packet_faults import chance_of_so_few
from bench.faults.reading import ReadGroup
from bench.faults.step import StepError
from bench.model import Node, TopicState
from bench.records.steps import StrikeRecord
from bench.systems.draining import DrainResult


def node(name: str, host: int) -> Node:
    return Node(name, name.partition("-")[0], f"10.0.0.{host}", (), Path(name), Path(name), (1,), 0)


NODES = [node("broker-1", 1), node("broker-2", 2), node("broker-3", 3), node("controller-1", 4)]


class Recorder:
    """A backend that keeps what it was asked, and lets the test say what it shows."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.rules: set[str] = set()
        self.packets: dict[str, Packets] = {}
        self.up = False
        self.refuses: set[str] = set()
        self.silent: set[str] = set()
        self.tries: dict[str, Packets] = {}
        self.hinders: set[str] = set()
        self.fsyncs: dict[str, tuple[int, float]] = {}
        self.held: dict[str, dict[str, HeldPackets]] = {}
        self.full: set[str] = set()

    def ask(self, what: str) -> None:
        self.asked.append(what)
        if what in self.refuses:
            raise FaultError(f"It refused to {what}.")

    def end_node(self, node: Node, *, kill: bool) -> int:
        self.ask(f"{'kill' if kill else 'stop'} {node.name}")
        return -9 if kill else 0

    def start_node(self, node: Node) -> None:
        self.ask(f"start {node.name}")

    def listens(self, node: Node) -> bool:
        return self.up

    def pause_node(self, node: Node) -> str:
        self.ask(f"pause {node.name}")
        return "T"

    def resume_node(self, node: Node) -> str:
        self.ask(f"resume {node.name}")
        return "S"

    def cut(self, node: Node, rules: PacketRules) -> None:
        self.rules.add(rules.name)
        verb = "double" if rules.double else "cut"
        said = (node.name, len(rules.sources), len(rules.targets), f"{rules.share:g}")
        self.ask(" ".join([verb, *map(str, said)]))

    def packet_counts(self, node: Node, rules: PacketRules) -> Packets:
        assert rules.name in self.rules
        return self.packets.get(node.name, Packets(met=100, came_in=4, went_out=3))

    def mend(self, node: Node, rules: PacketRules) -> None:
        assert rules.name in self.rules
        self.ask(f"mend {node.name}")

    def answers(self, node: Node, addresses: Sequence[str], patience_s: float) -> Mapping[str, float]:
        if patience_s < 1 and node.name in self.tries:
            self.packets[node.name] = self.tries.pop(node.name)
            return {}
        return dict.fromkeys(set(addresses) - self.silent, 0.0002)

    def is_hindered(self, address: str) -> bool:
        return address in self.hinders

    def slow_network(self, node: Node, sources: Sequence[str], targets: Sequence[str], link: Link) -> Any:
        self.ask(f"slow {node.name} {link.delay_s:g}")
        return Slowed(self, node.name)

    def hold_fsyncs(self, node: Node, seconds: float) -> None:
        self.ask(f"hold {node.name} {seconds:g}")

    def held_fsyncs(self, node: Node, since: int = 0) -> tuple[int, float]:
        count, median = self.fsyncs.get(node.name, (0, 0.0))
        return count - since, median

    def release_fsyncs(self, nodes: Sequence[Node]) -> str:
        self.ask(f"release {', '.join(node.name for node in nodes)}")
        return "None waits."

    def fill_disk(self, node: Node) -> str:
        self.ask(f"fill {node.name}")
        self.full.add(node.name)
        return f"{node.name} is full."

    def stayed_full(self, node: Node) -> str | None:
        return f"{node.name} was still full." if node.name in self.full else None

    def free_disk(self, node: Node) -> str:
        self.ask(f"free {node.name}")
        self.full.discard(node.name)
        return f"{node.name} has room."


class Slowed:
    """A node whose packets are held, until it is told to end."""

    def __init__(self, backend: Recorder, name: str) -> None:
        self.backend = backend
        self.name = name

    def end(self) -> dict[str, HeldPackets]:
        self.backend.ask(f"end {self.name}")
        return self.backend.held.get(self.name, {})


class Reads:
    """A reader that gets what the test gives it."""

    def __init__(self) -> None:
        self.tell: Callable[[Mapping[str, Any]], None] | None = None
        self.over = threading.Event()
        self.progress = {
            "received": 0,
            "at": [],
            "first_ns": None,
            "last_ns": time.monotonic_ns(),
            "stalls": [],
        }

    def __call__(
        self, step: str, tell: Callable[[Mapping[str, Any]], None], given_up: threading.Event
    ) -> Mapping[str, Any]:
        self.tell = tell
        tell(self.progress)
        while not self.over.wait(0.002):
            if given_up.is_set():
                message = "It was given up."
                raise LoadError(message)
        return {**self.progress, "complete": True, "reason": None}

    def get(self, received: int) -> None:
        until(lambda: self.tell is not None)
        assert self.tell is not None
        now_ns = time.monotonic_ns()
        told = {"received": received, "at": [[0, -1, received]], "last_ns": now_ns}
        self.progress = {**self.progress, "first_ns": self.progress["first_ns"] or now_ns, **told}
        self.tell(self.progress)


WHOLE = TopicState(available=True, copies_missing=False, in_sync=3)


def timeline(
    backend: Recorder,
    *steps: dict[str, Any],
    state: Callable[[], TopicState] = lambda: WHOLE,
    reads: Reads | None = None,
    look_up: Callable[[Sequence[str]], str] = lambda avoiding: (
        f"Asked through nobody of {', '.join(avoiding)}."
    ),
    ask: targets.Ask | None = None,
    group: ReadGroup | None = None,
) -> Timeline:
    parts = {"leader": ["broker-2"], "followers": ["broker-1", "broker-3"], "nobody": []}
    site = Site(
        backend=backend,
        nodes=NODES,
        client="10.0.0.254",
        ask=ask or parts.__getitem__,
        state=state,
        look_up=look_up,
        rebalance=lambda bytes_per_s: f"Copied at {bytes_per_s}.",
        drain=lambda node, bytes_per_s: DrainResult(7, f"{node} was copied at {bytes_per_s}."),
        read_all=reads or Reads(),
        read_group=group or (lambda step, action, given_up: {"received": 7}),
        seed=1,
    )
    return Timeline(read_steps(steps), site)


def records(line: Timeline) -> list[Any]:
    """What its steps did; each test knows which kind of step has which place."""
    return list(line.records)


def test_a_consumer_group_begins_and_reads() -> None:
    line = timeline(
        Recorder(),
        {"name": "begins", "when": {"acks": 1}, "subscribe": "away"},
        {"name": "comes back", "when": {"load": "over"}, "consume": "away"},
    )
    line.take_progress(figures(1))
    line.finish()

    begins, back = records(line)
    assert (begins.kind, begins.group) == ("subscribe", "away")
    assert (back.kind, back.group, back.received, back.reason) == ("consume", "away", 7, None)
    assert back.asked_ns <= back.effect_ns


@pytest.mark.parametrize(
    ("drain", "said"),
    [
        ("broker-2", "broker-2 was copied at None."),
        ({"node": "broker-2", "rate": "5MB/s"}, "broker-2 was copied at 5000000.0."),
    ],
)
def test_a_drain_is_over_when_the_node_holds_nothing(drain: object, said: str) -> None:
    line = timeline(Recorder(), {"name": "drained", "when": {"acks": 1}, "drain": drain})
    line.take_progress(figures(1))
    line.finish()

    (record,) = records(line)
    assert (record.kind, record.nodes, record.effect_ns, record.evidence) == (
        *("drain", ["broker-2"], 7),
        said,
    )


@pytest.mark.parametrize(
    ("drain", "said"),
    [
        ({"node": "broker-2", "rate": "5"}, "the rate of a disk is a number with its unit: 500kB/s, 20MB/s"),
        ({"node": "broker-2", "speed": "5MB/s"}, "Extra inputs are not permitted"),
        (2, "Input should be a valid string"),
    ],
)
def test_a_drain_names_a_node_and_a_rate(drain: object, said: str) -> None:
    with pytest.raises(StepError, match=said):
        read_steps([{"when": {"acks": 1}, "drain": drain}])


def test_why_a_group_could_not_read_is_told_and_the_steps_go_on() -> None:
    def refused(step: str, action: AsGroup, given_up: Callable[[], bool]) -> Mapping[str, Any]:
        raise LoadError(f"{step}: there is no such topic for {action.group}.")

    steps: list[dict[str, Any]] = [
        {"name": "reads", "when": {"acks": 1}, "consume": "first"},
        {"name": "later", "when": {"load": "over"}, "mark": True},
    ]
    line = timeline(Recorder(), *steps, group=refused)
    line.take_progress(figures(1))
    line.finish()

    assert records(line)[0].reason == "reads: there is no such topic for first."
    assert records(line)[0].effect_ns is None
    assert records(line)[1].kind == "mark"


def test_a_group_needs_a_name() -> None:
    with pytest.raises(StepError, match="give the name of a consumer group; it is True"):
        read_steps([{"when": {"acks": 1}, "consume": True}])


def figures(acked: int, at_ns: int = 0, end_ns: int | None = None) -> dict[str, int | None]:
    return {"acked": acked, "at_ns": at_ns, "end_ns": end_ns}


def until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_a_step_strikes_at_its_acks_and_heals_with_the_load() -> None:
    backend = Recorder()
    line = timeline(backend, {"name": "dies", "when": {"acks": 100}, "kill": "leader"})
    assert line.acks == (100,)

    line.take_progress(figures(99))
    time.sleep(0.05)
    assert backend.asked == []
    line.take_progress(figures(100))
    until(lambda: backend.asked == ["kill broker-2"])
    line.finish()

    assert backend.asked == ["kill broker-2", "start broker-2"]
    (record,) = records(line)
    assert record.proven
    assert record.evidence == "broker-2 ended with status -9; nothing listens on its port."
    assert record.asked_ns <= record.effect_ns <= record.heal_asked_ns <= record.healed_ns
    assert line.all_healed


def test_steps_come_one_after_the_other_and_undo_by_name() -> None:
    backend = Recorder()
    line = timeline(
        backend,
        {"name": "one", "when": {"acks": 1}, "pause": "broker-1"},
        {"when": {"after": "20ms"}, "stop": ["broker-2", "followers"]},
        {"when": {"load": "over"}, "undo": "one"},
    )
    line.take_progress(figures(1))
    until(lambda: len(backend.asked) == 4)
    line.finish()

    assert backend.asked[0] == "pause broker-1"
    assert sorted(backend.asked[1:4]) == ["stop broker-1", "stop broker-2", "stop broker-3"]
    assert backend.asked[4] == "resume broker-1"
    assert sorted(backend.asked[5:]) == ["start broker-1", "start broker-2", "start broker-3"]
    assert [record.kind for record in records(line)] == ["pause", "stop", "undo"]


def test_a_timed_heal_does_not_wait_for_the_load() -> None:
    backend = Recorder()
    line = timeline(
        backend,
        {
            "when": {"acks": 1},
            "isolate": {"target": "leader", "from": ["all broker", "client"], "direction": "in"},
            "heal": {"after": "50ms"},
        },
    )
    line.take_progress(figures(1))
    until(lambda: "mend broker-2" in backend.asked)
    line.finish()

    assert backend.asked == ["cut broker-2 3 0 1", "mend broker-2"]
    assert "7 packets were dropped: broker-2 7 (4 coming in, 3 going out)." in records(line)[0].evidence
    assert records(line)[0].heal_seen == (
        "The packet filter of broker-2 lists the rules no more. "
        "broker-2 got an answer from broker-1, broker-3, client within 0.2 ms."
    )


def test_an_unstable_network_loses_a_share_or_flaps_and_is_whole_afterwards() -> None:
    backend = Recorder()
    line = timeline(
        backend,
        {"when": {"acks": 1}, "unstable-network": {"target": "leader", "loss": 0.05}},
        {"when": {"acks": 1}, "unstable-network": {"target": "broker-1", "down": "10ms", "up": "10ms"}},
    )
    line.take_progress(figures(1))
    until(lambda: backend.asked.count("cut broker-1 4 4 1") >= 3)
    line.finish()

    assert backend.asked[0] == "cut broker-2 4 4 0.05"
    assert backend.asked.count("cut broker-1 4 4 1") == backend.asked.count("mend broker-1")
    assert backend.asked.count("mend broker-2") == 1
    assert all(record.proven for record in records(line))


def test_one_of_several_nodes_is_undone_and_struck_again() -> None:
    backend = Recorder()
    line = timeline(
        backend,
        {"name": "both", "when": {"acks": 1}, "kill": "followers", "heal": "never"},
        {"name": "one back", "when": {"after": "1ms"}, "undo": "node 1 of both"},
        {"name": "other back", "when": {"after": "1ms"}, "undo": "node 2 of both"},
        {"when": {"after": "1ms"}, "kill": "node 2 of both", "heal": "never"},
    )
    line.take_progress(figures(1))
    line.finish()

    assert sorted(backend.asked[:2]) == ["kill broker-1", "kill broker-3"]
    assert backend.asked[2:] == ["start broker-1", "start broker-3", "kill broker-3"]
    assert [record.kind for record in records(line)] == ["kill", "undo", "undo", "kill"]
    assert records(line)[0].healed_ns is not None
    assert records(line)[0].heal_seen.count("started again") == 2
    assert records(line)[1].nodes == ["broker-1"]


def test_a_fault_that_was_undone_in_part_is_undone_whole_in_the_end() -> None:
    backend = Recorder()
    line = timeline(
        backend,
        {"name": "both", "when": {"acks": 1}, "pause": "followers"},
        {"when": {"after": "1ms"}, "undo": "node 2 of both"},
    )
    line.take_progress(figures(1))
    line.finish()

    assert backend.asked[2:] == ["resume broker-3", "resume broker-1"]
    assert line.all_healed


def test_a_step_waits_for_what_the_system_says() -> None:
    backend = Recorder()
    now = [WHOLE]
    line = timeline(
        backend,
        {"name": "seen", "when": {"copies": "missing"}, "mark": True},
        {"when": {"in_sync": {"at_most": 1}, "topic": "available"}, "pause": "leader"},
        state=lambda: now[0],
    )
    line.take_progress(figures(1))
    time.sleep(0.1)
    assert records(line) == []
    now[0] = TopicState(available=False, copies_missing=True, in_sync=1)
    until(lambda: len(records(line)) == 1)
    assert records(line)[0].kind == "mark"
    time.sleep(0.6)
    assert backend.asked == []  # the topic is not available
    now[0] = TopicState(available=True, copies_missing=True, in_sync=2)
    time.sleep(0.6)
    assert backend.asked == []  # two replicas are in sync
    now[0] = TopicState(available=True, copies_missing=True, in_sync=1)
    until(lambda: backend.asked == ["pause broker-2"])
    line.finish()


def test_steps_follow_a_reader_that_blocks() -> None:
    backend, reads = Recorder(), Reads()
    line = timeline(
        backend,
        {"name": "dead", "when": {"acks": 1}, "kill": "leader", "heal": "never"},
        {"name": "reader", "when": {"load": "over"}, "read": "earliest"},
        {"name": "back", "when": {"reader": {"blocked": "1200ms"}}, "undo": "dead"},
        reads=reads,
    )
    line.take_progress(figures(1))
    finishing = threading.Thread(target=line.finish, daemon=True)
    finishing.start()
    reads.get(10)
    until(lambda: "start broker-2" in backend.asked)
    reads.get(25)
    reads.over.set()
    finishing.join()

    _, record, back = records(line)
    assert (record.received, record.at, record.complete) == (25, [(0, -1, 25)], True)
    assert back.asked_ns - record.effect_ns >= 1.2e9


def test_abandoning_gives_the_reader_up() -> None:
    line = timeline(Recorder(), {"when": {"acks": 1}, "read": "earliest"})
    line.take_progress(figures(1))
    until(lambda: bool(records(line)))
    line.abandon()

    assert records(line)[0].reason == "It was given up."


def test_a_step_of_several_times_comes_as_often_with_jitter() -> None:
    backend = Recorder()
    line = timeline(
        backend,
        {
            "name": "again",
            "when": {"after": "20ms", "jitter": "10ms"},
            "times": 3,
            "pause": "leader",
            "heal": {"after": "1ms"},
        },
    )
    line.take_progress(figures(1))
    until(lambda: len(backend.asked) == 6)
    line.finish()

    assert [record.name for record in records(line)] == ["again, 1", "again, 2", "again, 3"]
    assert sorted(backend.asked) == ["pause broker-2"] * 3 + ["resume broker-2"] * 3
    assert all(record.effect_ns < record.healed_ns for record in records(line))
    chance = random.Random(line.site.seed)
    _, second_ms, third_ms = [20 + chance.uniform(-10, 10) for _ in range(3)]
    one, two, three = [record.asked_ns / 1e6 for record in records(line)]
    assert two - one >= second_ms
    assert three - two >= third_ms


def done(backend: Recorder, step: dict[str, Any]) -> Any:
    """The record of one step, struck at once and healed with the load."""
    line = timeline(backend, {"when": {"acks": 1}, **step})
    line.take_progress(figures(1))
    line.finish()
    (record,) = line.records
    assert isinstance(record, StrikeRecord)
    return record


def test_a_cut_that_drops_nothing_of_one_of_its_nodes_is_not_proven() -> None:
    backend = Recorder()
    backend.packets["broker-3"] = Packets(met=50)
    cut = done(backend, {"isolate": {"target": "followers", "from": "leader"}})

    assert not cut.proven
    assert cut.unproven == "Too few packets were dropped: broker-3 0 of 50."

    backend.packets["broker-3"] = Packets(met=50, went_out=1)
    cut = done(backend, {"isolate": {"target": "followers", "from": "leader"}})

    assert cut.proven
    assert cut.unproven is None
    assert "8 packets were dropped: broker-1 7 (4 coming in, 3 going out), broker-3 1 (0" in cut.evidence


def test_a_node_that_had_nothing_to_send_is_tried_where_others_had() -> None:
    backend = Recorder()
    backend.packets["broker-3"] = Packets(met=0)
    backend.tries["broker-3"] = Packets(met=2, went_out=2)
    cut = done(backend, {"isolate": {"target": "followers", "from": "leader"}})

    assert cut.proven
    assert cut.evidence.endswith(
        "7 packets were dropped: broker-1 7 (4 coming in, 3 going out). broker-3 had sent and got nothing; "
        "2 (0 coming in, 2 going out) sent from it to try were dropped too."
    )


def test_a_cut_through_which_nobody_had_anything_to_send_is_not_tried() -> None:
    backend = Recorder()
    backend.packets = {"broker-1": Packets(), "broker-3": Packets()}
    backend.tries["broker-3"] = Packets(met=2, went_out=2)

    assert not done(backend, {"isolate": {"target": "followers", "from": "leader"}}).proven


@pytest.mark.parametrize(
    ("packets", "proven"),
    [
        (Packets(met=0), False),
        (Packets(met=138), True),  # of so few, none is struck once in a thousand times
        (Packets(met=139), False),
        (Packets(met=200, went_out=1), True),
        (Packets(met=400, went_out=4), False),
        (Packets(met=2000, came_in=20, went_out=30), True),  # half of the share
        (Packets(met=2000, came_in=20, went_out=29), False),
    ],
)
def test_a_loss_far_below_what_was_asked_for_is_not_proven(packets: Packets, proven: bool) -> None:
    backend = Recorder()
    backend.packets["broker-2"] = packets
    lossy = done(backend, {"unstable-network": {"target": ["broker-1", "broker-2"], "loss": 0.05}})

    assert lossy.proven is proven
    if proven:
        assert (
            f"broker-1 7 of 100 (7.0 %), broker-2 {packets.affected_count} of {packets.met:,}"
            in lossy.evidence
        )
    else:
        said = f"Too few packets were dropped: broker-2 {packets.affected_count} of {packets.met:,}."
        assert lossy.unproven == said


def test_packets_that_were_all_spared_prove_nothing_where_nobody_lost_any() -> None:
    backend = Recorder()
    backend.packets = {"broker-1": Packets(met=20), "broker-2": Packets(met=20)}
    lossy = done(backend, {"unstable-network": {"target": ["broker-1", "broker-2"], "loss": 0.05}})

    assert lossy.unproven == "Too few packets were dropped: broker-1 0 of 20, broker-2 0 of 20."


@given(met=st.integers(1, 5000), share=st.floats(0.001, 0.9), part=st.floats(0, 1))
def test_so_few_struck_packets_are_no_likelier_than_said(met: int, share: float, part: float) -> None:
    struck = int(part * share * met)

    assert chance_of_so_few(struck, share * met) >= binom.cdf(struck, met, share) - 1e-9


def held(delayed_ms: float, packets: int = 10, busy: tuple[int, float] = (0, 0.0)) -> HeldPackets:
    delayed_ns = round(delayed_ms * 1e6)
    return HeldPackets(
        packets=packets,
        bytes=100 * packets,
        p50_ns=delayed_ns + 1,
        p99_ns=2 * delayed_ns,
        delayed_p50_ns=delayed_ns,
        busy_bytes=busy[0],
        busy_ns=round(busy[1] * 1e9),
        overruns=0,
    )


NOTHING = held(0, packets=0)
FULL = held(0.2, busy=(5_000_000, 0.4))
"""100 Mbit/s, as a link of that rate lets pass in 0.4 s."""
JITTER = {"delay": "20ms", "jitter": "20ms"}


@pytest.mark.parametrize(
    ("second", "settings", "why"),
    [
        ({"in": NOTHING, "out": held(20.1)}, {"delay": "20ms"}, None),
        ({"in": held(18.1), "out": held(34.9)}, {"delay": "20ms"}, None),
        ({"in": NOTHING, "out": NOTHING}, {"delay": "20ms"}, "no more than 0 packets were held"),
        ({"in": held(21), "out": held(17.9)}, {"delay": "20ms"}, "the median was 17.90 ms, not 18 to 35 ms"),
        ({"in": held(21), "out": held(35.1)}, {"delay": "20ms"}, "the median was 35.10 ms, not 18 to 35 ms"),
        ({"in": held(200), "out": held(200)}, {"delay": "20ms"}, "the median was 200.00 ms"),
        ({"in": held(10, packets=50), "out": held(1)}, JITTER, None),
        ({"in": held(21, packets=49), "out": held(20)}, JITTER, "no more than 49 packets were held"),
        ({"in": held(8, packets=50), "out": held(20)}, JITTER, "the median was 8.00 ms, not 9 to 65 ms"),
        ({"in": held(66, packets=50), "out": held(20)}, JITTER, "the median was 66.00 ms, not 9 to 65 ms"),
        ({"in": held(0.1), "out": FULL}, {"mbit_per_s": 100}, None),
        ({"in": FULL, "out": held(6)}, {"mbit_per_s": 100}, "the median was 6.00 ms, not 0 to 5 ms"),
        (
            {"in": held(20), "out": held(20, packets=900, busy=(624_999, 0.05))},
            {"delay": "20ms", "mbit_per_s": 100},
            "less than 625,000 bytes waited for each other",
        ),
        (
            {"in": FULL, "out": held(0.2, busy=(5_000_000, 0.36))},
            {"mbit_per_s": 100},
            "111 Mbit/s passed while packets waited, not 50 Mbit/s to 110 Mbit/s",
        ),
        ({"in": FULL, "out": held(0, busy=(5_000_000, 0.0))}, {"mbit_per_s": 100}, "passed while"),
        ({"in": held(0.2, busy=(5_000_000, 0.9))}, {"mbit_per_s": 100}, "44.4 Mbit/s passed while"),
        ({"in": held(20, busy=(5_000_000, 0.4))}, {"delay": "20ms", "mbit_per_s": 100}, None),
        ({"in": held(200, busy=(5_000_000, 0.4))}, {"delay": "20ms", "mbit_per_s": 100}, "200.00 ms"),
    ],
)
def test_a_slow_network_is_proven_by_every_node(
    second: dict[str, HeldPackets], settings: dict[str, Any], why: str | None
) -> None:
    backend = Recorder()
    good = held(20 if "delay" in settings else 0.2, 60, busy=(5_000_000, 0.4))
    backend.held = {"broker-1": {"in": good, "out": good}, "broker-3": second}
    slow = done(backend, {"slow-network": {"target": "followers", "from": "leader", **settings}})

    assert slow.proven is (why is None)
    if why is None:
        assert "packets were held (broker-1 120, broker-3 " in slow.evidence
        assert ("While packets waited for each other 100 Mbit/s passed." in slow.evidence) is (
            "mbit_per_s" in settings
        )
    else:
        assert slow.unproven.startswith("broker-3: ")
        assert why in slow.unproven
    assert "lists no rule and no queue any more. broker-1 got an answer from broker-2" in slow.heal_seen


@pytest.mark.parametrize("idle", [NOTHING, held(0.1, packets=900, busy=(624_999, 0.05))])
def test_a_link_that_is_only_narrow_is_shown_by_a_node_that_fills_it(idle: HeldPackets) -> None:
    narrow = {"slow-network": {"target": "followers", "from": "leader", "mbit_per_s": 100}}
    backend = Recorder()

    backend.held = {"broker-1": {"in": idle, "out": FULL}, "broker-3": {"in": idle, "out": idle}}
    seen = done(backend, narrow)
    assert seen.proven
    assert seen.evidence.endswith("100 Mbit/s passed. Never full for long enough to show it: broker-3.")

    backend.held = {name: {"in": idle, "out": idle} for name in backend.held}
    unseen = done(backend, narrow)
    assert not unseen.proven
    assert unseen.unproven.startswith("broker-1: ")
    assert "broker-3: " in unseen.unproven


@pytest.mark.parametrize(("second", "proven"), [((3, 5.2e6), True), ((3, 4.4e6), False), ((0, 0.0), False)])
def test_a_slow_disk_is_proven_by_every_node(second: tuple[int, float], proven: bool) -> None:
    backend = Recorder()
    line = timeline(backend, {"when": {"acks": 1}, "slow-disk": {"target": "followers", "fsync": "5ms"}})
    line.take_progress(figures(1))
    until(lambda: bool(records(line)) and records(line)[0].effect_ns)
    backend.fsyncs = {"broker-1": (2, 5.1e6), "broker-3": second}
    line.finish()

    (record,) = records(line)
    assert record.proven is proven
    assert record.heal_seen == "None waits."
    assert (record.unproven is None) is proven
    if proven:
        assert record.evidence.endswith(
            "5 were held: broker-1 2 (median 5.1 ms), broker-3 3 (median 5.2 ms)."
        )
    else:
        assert f"broker-3 {second[0]} (median {second[1] / 1e6:.1f} ms)." in record.unproven


def test_fsyncs_that_were_held_before_prove_nothing() -> None:
    backend = Recorder()
    backend.fsyncs = {"broker-2": (8, 5e6)}

    assert not done(backend, {"slow-disk": {"target": "leader", "fsync": "5ms"}}).proven


def test_a_disk_that_got_room_meanwhile_was_not_full_to_the_end() -> None:
    backend = Recorder()
    full = done(backend, {"full-disk": "followers"})
    assert full.proven
    assert full.evidence.endswith("broker-1 was still full. broker-3 was still full.")

    line = timeline(backend, {"when": {"acks": 1}, "full-disk": "followers"})
    line.take_progress(figures(1))
    until(lambda: bool(records(line)) and records(line)[0].effect_ns)
    backend.full.discard("broker-3")
    line.finish()
    assert not records(line)[0].proven
    assert records(line)[0].unproven == "There was room again on the disk of broker-3."


def test_a_disk_that_is_never_freed_is_looked_at_in_the_end() -> None:
    full = done(Recorder(), {"full-disk": "leader", "heal": "never"})

    assert full.proven
    assert full.evidence == "broker-2 is full. broker-2 was still full."


def test_a_pair_that_stays_silent_is_not_healed() -> None:
    backend = Recorder()
    backend.silent.add("10.0.0.3")

    with pytest.raises(FaultError, match=r"no packet passes between broker-2 and broker-3\.$"):
        done(backend, {"isolate": {"target": "leader", "from": "all broker"}})


def test_a_pair_that_another_fault_strikes_is_not_asked() -> None:
    backend = Recorder()
    backend.silent.add("10.0.0.3")
    backend.hinders.add("10.0.0.3")
    cut = done(backend, {"isolate": {"target": "leader", "from": "all broker"}})

    assert cut.heal_seen.endswith(
        "broker-2 got an answer from broker-1 within 0.2 ms. "
        "Another fault strikes packets between broker-2 and broker-3: these were not asked."
    )


def test_a_node_that_another_fault_strikes_asks_nobody() -> None:
    backend = Recorder()
    backend.hinders.add("10.0.0.2")
    cut = done(backend, {"isolate": {"target": "leader", "from": "client"}})

    assert cut.heal_seen == (
        "The packet filter of broker-2 lists the rules no more. "
        "Another fault strikes packets between broker-2 and client: these were not asked."
    )


@pytest.mark.parametrize(
    ("step", "refused", "asked"),
    [
        ({"pause": "followers"}, "pause broker-3", ["pause broker-1", "pause broker-3", "resume broker-1"]),
        ({"full-disk": "followers"}, "fill broker-3", ["fill broker-1", "fill broker-3", "free broker-1"]),
        (
            {"slow-disk": {"target": "followers", "fsync": "5ms"}},
            "hold broker-3 0.005",
            ["hold broker-1 0.005", "hold broker-3 0.005", "hold broker-1 0"],
        ),
        (
            {"slow-network": {"target": "followers", "delay": "5ms"}},
            "slow broker-3 0.005",
            ["slow broker-1 0.005", "slow broker-3 0.005", "end broker-1"],
        ),
        (
            {"isolate": {"target": "followers", "from": "leader"}},
            "cut broker-3 1 1 1",
            ["cut broker-1 1 1 1", "cut broker-3 1 1 1", "mend broker-1"],
        ),
        ({"kill": "followers"}, "kill broker-3", ["kill broker-1", "kill broker-3", "start broker-1"]),
    ],
)
def test_a_fault_that_fails_at_its_second_node_leaves_none_struck(
    step: dict[str, Any], refused: str, asked: list[str]
) -> None:
    backend = Recorder()
    backend.refuses.add(refused)

    with pytest.raises(FaultError, match=f"It refused to {refused}"):
        done(backend, step)
    assert sorted(backend.asked) == sorted(asked)
    assert backend.asked[-1] == asked[-1]


@pytest.mark.parametrize(
    ("step", "verb"),
    [
        ({"pause": "all broker"}, "resume"),
        ({"full-disk": "all broker"}, "free"),
        ({"slow-network": {"target": "all broker", "delay": "5ms"}}, "end"),
        ({"isolate": {"target": "all broker", "from": "client"}}, "mend"),
        ({"kill": "all broker"}, "start"),
    ],
)
def test_a_heal_that_fails_at_two_nodes_is_tried_at_all_and_tells_both(
    step: dict[str, Any], verb: str
) -> None:
    backend = Recorder()
    backend.refuses |= {f"{verb} broker-1", f"{verb} broker-2"}

    with pytest.raises(FaultError, match=rf"refused to {verb} broker-1\. It refused to {verb} broker-2\."):
        done(backend, step)
    assert {f"{verb} broker-{number}" for number in (1, 2, 3)} <= set(backend.asked)


def test_what_is_never_healed_stays_and_is_proven_all_the_same() -> None:
    backend = Recorder()
    line = timeline(backend, {"when": {"acks": 1}, "kill": "leader", "heal": "never"})
    line.take_progress(figures(1))
    line.finish()

    assert backend.asked == ["kill broker-2"]
    assert records(line)[0].proven
    assert records(line)[0].healed_ns is None
    assert not line.all_healed


def test_a_load_of_known_length_is_over_before_its_last_send_has_ended() -> None:
    backend = Recorder()
    line = timeline(backend, {"when": {"acks": 1}, "kill": "leader"})
    line.take_progress(figures(1, at_ns=4_999_999_999, end_ns=5_000_000_000))
    until(lambda: backend.asked == ["kill broker-2"])
    line.take_progress(figures(1, at_ns=5_000_000_000, end_ns=5_000_000_000))
    until(lambda: backend.asked == ["kill broker-2", "start broker-2"])
    line.finish()


def test_a_step_that_has_its_time_and_does_not_come_is_told_and_is_no_error() -> None:
    backend = Recorder()
    line = timeline(
        backend,
        {"name": "killed", "when": {"acks": 1}, "kill": "leader"},
        {"name": "late", "when": {"acks": 100, "within": "200ms"}, "mark": True},
        {"name": "later", "when": {"after": "10ms"}, "mark": True},
    )
    line.take_progress(figures(1))
    until(lambda: len(records(line)) == 2)
    line.finish()

    assert [record.name for record in records(line)] == ["killed", "late"]
    assert records(line)[1].kind == "left out"
    assert records(line)[1].effect_ns is None
    assert records(line)[1].evidence == (
        "It did not come after 100 acknowledged sends, within 0.2 s; nothing more was done."
    )
    assert backend.asked == ["kill broker-2", "start broker-2"]


def test_a_step_that_comes_in_its_time_is_done() -> None:
    line = timeline(Recorder(), {"name": "mark", "when": {"acks": 2, "within": "10s"}, "mark": True})
    line.take_progress(figures(1))
    line.take_progress(figures(2))
    until(lambda: len(records(line)) == 1)
    line.finish()

    assert records(line)[0].kind == "mark"


def test_a_time_alone_is_nothing_to_wait_for() -> None:
    with pytest.raises(StepError, match="give at least one of acks, after"):
        read_steps([{"when": {"within": "10s"}, "mark": True}])


def test_a_step_that_never_comes_is_an_error() -> None:
    line = timeline(Recorder(), {"name": "late", "when": {"acks": 100}, "kill": "leader"})
    line.take_progress(figures(99))

    with pytest.raises(FaultError, match="These steps were never due: late"):
        line.finish()


def test_a_fault_without_effect_is_an_error_and_what_came_before_is_undone() -> None:
    backend = Recorder()
    line = timeline(
        backend,
        {"when": {"acks": 1}, "pause": "broker-1", "heal": {"after": "1h"}},
        {"when": {"after": "1ms"}, "kill": "leader"},
    )
    backend.up = True
    line.take_progress(figures(1))
    until(lambda: "resume broker-1" in backend.asked)

    with pytest.raises(FaultError, match="broker-2 still took connections"):
        line.check()
    line.abandon()


def test_abandoning_undoes_what_is_in_force() -> None:
    backend = Recorder()
    line = timeline(
        backend, {"when": {"acks": 1}, "pause": "all broker"}, {"when": {"after": "1h"}, "kill": "leader"}
    )
    line.take_progress(figures(1))
    until(lambda: len(backend.asked) == 3)

    line.abandon()

    assert sorted(backend.asked[3:]) == ["resume broker-1", "resume broker-2", "resume broker-3"]


def test_a_timeline_without_steps_has_no_thread() -> None:
    before = threading.active_count()
    line = timeline(Recorder())
    line.take_progress(figures(1))

    assert threading.active_count() == before
    line.finish()
    assert records(line) == []


def test_parts_that_change_while_they_are_asked_for_are_asked_for_again() -> None:
    """The first bookie of one ledger and the second of the next may be the same node."""
    ledgers = [["broker-3", "broker-1"], ["broker-2", "broker-3"], ["broker-2", "broker-1"]]
    asked: list[str] = []

    def ask(part: str) -> list[str]:
        asked.append(part)
        return [ledgers[min(len(asked) // 2, 2)][int(part.removeprefix("bookie ")) - 1]]

    backend = Recorder()
    line = timeline(backend, {"when": {"after": "1ms"}, "pause": ["bookie 1", "bookie 2"]}, ask=ask)
    line.take_progress(figures(0))
    until(lambda: len(backend.asked) == 2)
    line.abandon()

    assert sorted(backend.asked[:2]) == ["pause broker-1", "pause broker-2"]
    assert asked[:2] == ["bookie 1", "bookie 2"]  # which were one node


def test_nobody_playing_a_part_is_an_error() -> None:
    line = timeline(Recorder(), {"when": {"acks": 1}, "kill": "nobody"})
    line.take_progress(figures(1))

    with pytest.raises(FaultError, match="Nobody is nobody now"):
        line.finish()


@pytest.mark.parametrize(
    ("step", "path", "said"),
    [
        ({"when": {"acks": 1}, "kil": "leader"}, (0, "kil"), "did you mean 'kill'"),
        ({"when": {"acks": 1}}, (0,), "one action, this has 0"),
        ({"when": {"acks": 1}, "kill": "x", "pause": "x"}, (0,), "one action, this has 2"),
        ({"kill": "leader"}, (0, "when"), "Field required"),
        ({"when": {}, "kill": "leader"}, (0, "when"), "at least one of acks, after, load"),
        ({"when": {"acks": 0}, "kill": "leader"}, (0, "when", "acks"), "greater than or equal to 1; it is 0"),
        ({"when": {"acks": 1}, "isolate": "leader"}, (0, "isolate", "from"), "Field required"),
        (
            {"when": {"acks": 1}, "unstable-network": {"target": "leader", "down": "1s"}},
            (0, "unstable-network"),
            "give loss, or duplicate, or down and up",
        ),
        ({"when": {"acks": 1}, "undo": "x"}, (0, "undo"), "no earlier step with a fault is called 'x'"),
        (
            {"when": {"acks": 1}, "kill": "node 1 of x"},
            (0, "kill"),
            "no earlier step with a fault is called 'x'",
        ),
        (
            {"when": {"acks": 1}, "undo": "node 0 of x"},
            (0, "undo"),
            "no earlier step with a fault is called 'node 0 of x'",
        ),
        (
            {"when": {"reader": {"blocked": "1s"}}, "kill": "leader"},
            (0, "when", "reader"),
            "no earlier step starts",
        ),
        (
            {"when": {"acks": 1, "jitter": "1s"}, "kill": "leader"},
            (0, "when"),
            "jitter cannot be more than after",
        ),
        ({"when": {"in_sync": {}}, "kill": "leader"}, (0, "when", "in_sync"), "give at_least or at_most"),
        ({"when": {"acks": 1}, "read": "latest"}, (0, "read"), "give 'earliest'; it is 'latest'"),
        ({"when": {"acks": 1}, "slow-network": "leader"}, (0, "slow-network"), "give delay or mbit_per_s"),
        ({"when": {"acks": 1}, "slow-disk": "leader"}, (0, "slow-disk", "fsync"), "Field required"),
        ({"when": {"acks": 1}, "kill": "leader", "heal": "soon"}, (0, "heal"), "it is 'soon'"),
    ],
)
def test_a_wrong_step_is_refused_with_its_place(
    step: dict[str, Any], path: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(StepError) as refused:
        read_steps([step])

    assert refused.value.path[: len(path)] == path
    assert said in str(refused.value)


def test_what_struck_nodes_send_each_other_is_struck_once_where_it_leaves() -> None:
    backend = Recorder()
    line = timeline(
        backend,
        {"when": {"acks": 1}, "unstable-network": {"target": "all broker", "loss": 0.1}},
        {"when": {"acks": 1}, "isolate": {"target": "all broker", "from": ["all broker", "all controller"]}},
    )
    line.take_progress(figures(1))
    until(lambda: len(backend.asked) == 6)
    line.finish()

    # From the controller and the client; to those and to the two other brokers.
    assert backend.asked[:3] == [f"cut broker-{number} 2 4 0.1" for number in (1, 2, 3)]
    # A group keeps seeing itself.
    assert backend.asked[3:6] == [f"cut broker-{number} 1 1 1" for number in (1, 2, 3)]


def test_a_cut_from_nobody_is_an_error() -> None:
    line = timeline(Recorder(), {"when": {"acks": 1}, "isolate": {"target": "leader", "from": "leader"}})
    line.take_progress(figures(1))

    with pytest.raises(FaultError, match="There is nobody between whom and broker-2"):
        line.finish()


def test_a_step_that_comes_always_comes_until_the_load_is_over() -> None:
    backend = Recorder()
    line = timeline(
        backend,
        {
            "name": "dies",
            "when": {"after": "20ms"},
            "times": "always",
            "kill": "any broker",
            "heal": {"after": "5ms"},
        },
    )
    backend.up = False
    line.take_progress(figures(1))
    until(lambda: sum(one.startswith("kill") for one in backend.asked) >= 3)
    line.finish()

    names = [record.name for record in records(line)]
    assert names[:3] == ["dies, 1", "dies, 2", "dies, 3"]


def test_a_step_that_comes_always_ends_with_the_window_whenever_the_load_tells() -> None:
    backend = Recorder()
    line = timeline(
        backend, {"name": "dies", "when": {"after": "40ms"}, "times": "always", "kill": "any broker"}
    )
    now_ns = time.monotonic_ns()
    line.take_progress(figures(1, at_ns=now_ns, end_ns=now_ns + 10_000_000))
    time.sleep(0.15)  # the load's next figures would come after half a second
    line.abandon()

    assert records(line) == []


def test_after_a_step_that_comes_always_there_is_no_other() -> None:
    always = {"when": {"after": "1s"}, "times": "always", "kill": "leader"}
    with pytest.raises(StepError, match="no step comes after 'kill 1', which comes again and again"):
        read_steps([always, {"when": {"after": "1s"}, "kill": "leader"}])


def test_a_step_that_comes_always_needs_a_time_between() -> None:
    with pytest.raises(StepError, match="needs a time between"):
        read_steps([{"when": {"acks": 1}, "times": "always", "kill": "leader"}])


def test_a_step_that_comes_always_has_no_time_by_which_it_must_come() -> None:
    with pytest.raises(StepError, match="ends with the load: leave this out"):
        read_steps([{"when": {"after": "1s", "within": "9s"}, "times": "always", "kill": "leader"}])


def test_a_look_up_goes_round_who_is_struck_now() -> None:
    line = timeline(
        Recorder(),
        {"name": "frozen", "when": {"acks": 1}, "pause": "leader"},
        {"name": "asks", "when": {"after": "1ms"}, "look-up": "topic"},
    )
    line.take_progress(figures(1))
    until(lambda: len(records(line)) == 2)
    line.finish()

    assert records(line)[1].evidence == "Asked through nobody of broker-2."


def test_one_of_two_roles_may_be_meant() -> None:
    chance = random.Random(1)
    found = {targets.find("any broker or controller", NODES, lambda _: [], chance)[0].role for _ in range(50)}

    assert found == {"broker", "controller"}
    assert "any controller or broker" in targets.allowed_targets(NODES, [])


def test_any_is_one_that_is_not_struck_already() -> None:
    def found(*struck: str) -> set[str]:
        chance = random.Random(1)
        return {targets.find("any broker", NODES, lambda _: [], chance, struck)[0].name for _ in range(50)}

    assert found("broker-1") == {"broker-2", "broker-3"}
    with pytest.raises(FaultError, match="Every broker is struck already"):
        found("broker-1", "broker-2", "broker-3")


def test_what_must_be_ended_cannot_stay_for_ever() -> None:
    step = {"when": {"acks": 1}, "slow-network": {"target": "leader", "delay": "1ms"}, "heal": "never"}
    with pytest.raises(StepError, match="cannot stay for ever"):
        read_steps([step])


def test_a_trial_has_one_reader() -> None:
    read = {"when": {"acks": 1}, "read": "earliest"}
    with pytest.raises(StepError, match="a trial has one reader"):
        read_steps([read, {**read, "name": "again"}])


def test_a_failure_of_a_client_library_is_the_trials_failure() -> None:
    def fails() -> TopicState:
        raise RuntimeError("no broker")

    line = timeline(Recorder(), {"when": {"topic": "available"}, "mark": True}, state=fails)
    line.take_progress(figures(1))

    with pytest.raises(FaultError, match="A step failed: RuntimeError"):
        line.finish()


def test_a_timed_heal_goes_on_for_the_nodes_that_were_not_undone() -> None:
    backend = Recorder()
    line = timeline(
        backend,
        {"name": "both", "when": {"acks": 1}, "pause": "followers", "heal": {"after": "200ms"}},
        {"when": {"after": "1ms"}, "undo": "node 1 of both"},
        {"when": {"after": "1h"}, "kill": "leader"},
    )
    line.take_progress(figures(1))
    until(lambda: "resume broker-3" in backend.asked)
    line.abandon()

    assert backend.asked[2:] == ["resume broker-1", "resume broker-3"]


def test_a_cut_is_undone_for_all_of_its_nodes_only() -> None:
    cut = {"name": "cut", "when": {"acks": 1}, "isolate": {"target": "followers", "from": "leader"}}
    with pytest.raises(StepError, match="can only be undone for all of its nodes"):
        read_steps([cut, {"when": {"acks": 2}, "undo": "node 1 of cut"}])


@pytest.mark.parametrize(
    ("steps", "standing"),
    [
        ([], True),
        ([{"when": {"acks": 1}, "slow-network": {"target": "leader", "delay": "20ms"}}], True),
        (
            [
                {
                    "when": {"acks": 1},
                    "slow-network": {"target": "leader", "delay": "20ms"},
                    "heal": {"after": "8s"},
                }
            ],
            False,
        ),
        ([{"when": {"acks": 1}, "kill": "leader"}], False),
    ],
)
def test_what_was_only_made_slower_until_the_end_stands(steps: list[dict[str, Any]], standing: bool) -> None:
    assert stands(read_steps(steps)) == standing


def test_targets_are_names_roles_and_parts() -> None:
    chance = random.Random(1)
    ask = {"leader": ["broker-3"]}.__getitem__

    def names(target: str) -> list[str]:
        return [one.name for one in targets.find(target, NODES, ask, chance)]

    assert names("broker-1") == ["broker-1"]
    assert names("all broker") == ["broker-1", "broker-2", "broker-3"]
    assert len(names("any broker")) == 1
    assert names("leader") == ["broker-3"]
    assert targets.of_partition("leader of 12") == ("leader", 12)
    assert targets.of_partition("leader") is None
    assert "any controller" in targets.allowed_targets(NODES, ("leader",))


NEVER_NS = 2**63 - 1


def dipped(before: Sequence[int], after: Sequence[int], until: int | None = None) -> dict[str, object]:
    """Hold bins from a fault on against those before it; the load began with the first, and ends with the last."""
    counts = {number: count for number, count in enumerate((*before, *after), -len(before)) if count}
    until_ns = NEVER_NS if until is None else until * BIN_NS
    return dip(counts, (-len(before) * BIN_NS, 0), until_ns, len(after) * BIN_NS)


def test_a_dip_worked_out_by_hand() -> None:
    """5 s at 10 a bin, 2 s of nothing, 1 s at 5 a bin, then 2 s at 10 again."""
    found = dipped([10] * 50, [*[0] * 20, *[5] * 10, *[10] * 20])

    assert found["rate_before"] == 100
    assert found["dip_depth"] == 1.0
    # The first second that reaches 90 of 100 begins when 8 of its bins are back: two at 5 and eight at 10.
    assert found["back_ns"] == 38 * BIN_NS
    assert found["dip_messages"] == 20 * 10 + 10 * 5


def test_what_is_held_up_when_a_load_begins_comes_in_a_burst_and_is_no_higher_rate() -> None:
    """10 a bin are due; nothing comes in the first second, and its hundred with the next bin."""
    found = dipped([*[0] * 10, 110, *[10] * 9], [*[0] * 10, *[10] * 20])

    assert found["rate_before"] == 100
    assert found["dip_messages"] == 100


def test_no_more_than_five_seconds_before_a_fault_are_its_rate_before() -> None:
    assert dipped([*[30] * 20, *[10] * 50], [10] * 20)["rate_before"] == 100


def test_acknowledgements_that_come_in_bursts_have_the_rate_of_their_sum() -> None:
    """40 every fourth bin are 10 a bin; a median of bins would call it nothing."""
    burst = [40, 0, 0, 0]
    found = dipped(burst * 13, [*[0] * 20, *burst * 5])

    assert found["rate_before"] == 96  # of the fifty bins before, twelve had a burst
    assert found["dip_depth"] == 1.0
    assert found["back_ns"] == 29 * BIN_NS  # the second from bin 19 on has three bursts


def test_a_rate_that_never_falls_is_back_at_once() -> None:
    found = dipped([10] * 50, [10] * 50)

    assert (found["back_ns"], found["dip_messages"], found["dip_depth"]) == (0, 0, 0.0)


def test_a_rate_that_never_comes_back_says_so() -> None:
    found = dipped([10] * 50, [*[0] * 49, 1])

    assert found["back_ns"] is None
    assert found["dip_depth"] == 1.0
    assert found["dip_messages"] == 49 * 10 + 9


def test_what_falls_after_the_next_fault_is_not_this_ones() -> None:
    steady, fallen = [10] * 50, [*[0] * 20, *[10] * 50]

    first = dipped(steady, [*[10] * 30, *fallen], until=30)
    second = dipped([*steady, *[10] * 30], fallen)

    assert (first["back_ns"], first["dip_messages"], first["dip_depth"]) == (0, 0, 0.0)
    # The second that is back begins with the last of twenty bins of nothing.
    assert (second["back_ns"], second["dip_messages"], second["dip_depth"]) == (29 * BIN_NS, 200, 1.0)


def test_of_a_fault_that_the_next_one_followed_within_a_second_nothing_is_told() -> None:
    dip_of = dipped([10] * 50, [*[10] * 5, *[0] * 20, *[10] * 30], until=9)

    assert set(dip_of.values()) == {None}
    assert dipped([10] * 50, [*[10] * 10, *[0] * 20, *[10] * 30], until=10)["back_ns"] == 0


def test_a_rate_still_down_when_the_next_fault_strikes_is_looked_at_until_it_is_back() -> None:
    found = dipped([10] * 50, [*[5] * 40, *[0] * 10, *[10] * 20], until=40)

    assert found["back_ns"] == 59 * BIN_NS
    assert found["dip_messages"] == 40 * 5 + 10 * 10
    assert found["dip_depth"] == 1.0


def test_the_way_back_is_that_from_the_worst_second() -> None:
    """A second at 8 a bin at once, and one of nothing four seconds later, when a session is over."""
    found = dipped([10] * 50, [*[8] * 10, *[10] * 30, *[0] * 10, *[10] * 30])

    assert found["dip_depth"] == 1.0
    assert found["back_ns"] == 59 * BIN_NS  # the second that begins with one empty bin
    assert found["dip_messages"] == 10 * 2 + 10 * 10


def test_a_second_that_falls_once_the_rate_was_back_is_no_part_of_the_dip() -> None:
    """Half is lost for a second; back, and two seconds later, after the next fault, all is."""
    found = dipped([10] * 50, [*[5] * 10, *[10] * 20, *[0] * 10], until=30)

    assert (found["dip_depth"], found["dip_messages"]) == (0.5, 50)


def test_a_fall_no_deeper_than_twice_what_came_before_is_none() -> None:
    """Before it, seconds lie between 80 and 120 of 100: 70 is no dip, 50 is; between 50 and 150: 50 is none, 40 is."""
    calm, wild = ([*[10] * 20, *[10 - by] * 10, *[10 + by] * 10, *[10] * 10] for by in (2, 5))
    for before, bin_count, back_ns in (
        (calm, 7, 0),
        (calm, 5, 18 * BIN_NS),
        (wild, 5, 0),
        (wild, 4, 19 * BIN_NS),
    ):
        found = dipped(before, [*[bin_count] * 10, *[10] * 30])
        assert (found["back_ns"], found["dip_depth"]) == (back_ns, pytest.approx(1 - bin_count / 10))


def test_nothing_is_said_where_nothing_came_before_or_after() -> None:
    assert dipped([10] * 9, [10] * 50)["rate_before"] is None  # less than a second tells no rate
    assert dipped([0] * 50, [10] * 50)["rate_before"] is None
    assert dipped([10] * 50, [10] * 5)["back_ns"] is None


def test_a_timed_heal_does_not_wait_for_a_step_that_asks_somebody() -> None:
    backend, healed = Recorder(), threading.Event()

    def look_up(_: Sequence[str]) -> str:
        assert healed.wait(5.0)
        return "Asked."

    line = timeline(
        backend,
        {"when": {"acks": 1}, "pause": "leader", "heal": {"after": "30ms"}},
        {"when": {"after": "1ms"}, "look-up": "topic"},
        look_up=look_up,
    )
    line.take_progress(figures(1))
    until(lambda: "resume broker-2" in backend.asked)
    healed.set()
    line.finish()

    assert records(line)[1].evidence == "Asked."


def test_a_look_up_that_finds_nobody_is_an_answer() -> None:
    def look_up(_: Sequence[str]) -> str:
        raise ClusterError("Looking up t: none answered.")

    line = timeline(Recorder(), {"when": {"acks": 1}, "look-up": "topic"}, look_up=look_up)
    line.take_progress(figures(1))
    line.finish()

    assert records(line)[0].evidence == "It found nobody: Looking up t: none answered."
    assert records(line)[0].effect_ns is None


def test_a_timed_heal_that_fails_is_the_trials_failure() -> None:
    backend = Recorder()

    def refuse(node: Node) -> str:
        raise FaultError(f"{node.name} stays frozen.")

    backend.resume_node = refuse  # type: ignore[method-assign]
    line = timeline(backend, {"when": {"acks": 1}, "pause": "leader", "heal": {"after": "1ms"}})
    line.take_progress(figures(1))
    until(lambda: line._given_up)

    with pytest.raises(FaultError, match="broker-2 stays frozen"):
        line.finish()


def test_the_report_knows_every_kind_and_the_documentation_too() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "steps.md").read_text(encoding="utf-8")

    assert FAULT_KINDS.keys() == kinds().keys()
    assert set(re.findall(r"^\| `([\w-]+)` \|[^|]*\|[^|]*\|[^|]*\|$", page, re.MULTILINE)) == kinds().keys()
