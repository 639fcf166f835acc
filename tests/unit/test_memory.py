import os
import time
from collections import Counter
from collections.abc import Sequence
from itertools import chain, product
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.errors import ClusterError
from bench.load.payload import encoder
from bench.model import Case, Cluster, Load, Outcome, Pacing, Scalar, Topic
from bench.systems.memory.faults import Faults, MessageFault, delay_ns_of, fault_of, identity
from bench.systems.memory.system import Memory
from bench.systems.protocols import NOT_GIVEN, ReceivedMessage, SendResult

CLUSTER = Cluster("memory", "1", {})
TOPIC = Topic("topic", 2)
ENCODE = encoder("run", 0, 40, seed=1)


def case(**producer: Scalar) -> Case:
    load = Load(1, 1000, Pacing(), 1, 1, 0, 1, None)
    return Case("memory", "memory", {}, CLUSTER, 2, {}, producer, {}, load)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    made = Memory(tmp_path)
    made.admin(CLUSTER, []).create_topic(TOPIC)
    return made


def send(memory: Memory, count: int, producer_number: int = 0, **producer: Scalar) -> list[SendResult]:
    producers = memory.producers(memory.endpoint([]), TOPIC, producer, 1, 1)
    over: list[SendResult] = []
    for sequence in range(count):
        producers.clients[0].send(ENCODE(producer_number, sequence, 0), over.append)
    producers.close(10)
    return over


def read(memory: Memory) -> list[ReceivedMessage]:
    return list(chain.from_iterable(memory.read_all(memory.endpoint([]), TOPIC, {}, 1, 0)))


def sequences(received: Sequence[ReceivedMessage]) -> list[int]:
    return [(identity(message.payload) or (0, -1))[1] for message in received]


def hit_by(fault: MessageFault, count: int, **producer: Scalar) -> list[int]:
    faults = Faults.of(producer)
    return [sequence for sequence in range(count) if fault_of(faults, 0, sequence) is fault]


def test_identity_is_where_the_payload_puts_it() -> None:
    assert identity(ENCODE(7, 12, 99)) == (7, 12)
    assert identity(b"short") is None


def test_without_faults_all_is_stored_in_order_and_told_truly(memory: Memory) -> None:
    over = send(memory, 10)

    assert over == [SendResult(Outcome.OK, None, n % 2, NOT_GIVEN, n // 2, NOT_GIVEN) for n in range(10)]
    assert sequences(read(memory)) == [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]


def test_lost_messages_are_acked_and_absent(memory: Memory) -> None:
    over = send(memory, 1000, seed=3, loss=0.1)
    lost = hit_by(MessageFault.LOSS, 1000, seed=3, loss=0.1)

    assert {done.outcome for done in over} == {Outcome.OK}
    assert 50 < len(lost) < 150
    assert set(sequences(read(memory))) == set(range(1000)) - set(lost)


def test_duplicates_are_stored_twice(memory: Memory) -> None:
    send(memory, 1000, seed=3, duplicates=0.1)

    twice = [sequence for sequence, count in Counter(sequences(read(memory))).items() if count == 2]

    assert sorted(twice) == hit_by(MessageFault.DUPLICATE, 1000, seed=3, duplicates=0.1)


@pytest.mark.parametrize(
    ("fault", "outcome", "stored"),
    [
        (MessageFault.GHOST_FAIL, Outcome.FAIL, True),
        (MessageFault.GHOST_UNKNOWN, Outcome.UNKNOWN, True),
        (MessageFault.UNKNOWN_ABSENT, Outcome.UNKNOWN, False),
        (MessageFault.FAIL, Outcome.FAIL, False),
    ],
)
def test_outcomes_that_are_not_ok(
    memory: Memory, fault: MessageFault, outcome: Outcome, stored: bool
) -> None:
    over = send(memory, 500, 0, **{fault.value: 0.2, "seed": 1})
    hit = hit_by(fault, 500, **{fault.value: 0.2, "seed": 1})

    assert hit
    assert [n for n, done in enumerate(over) if done.outcome is not Outcome.OK] == hit
    assert {(over[n].outcome, over[n].error) for n in hit} == {(outcome, fault.value)}
    assert (set(hit) <= set(sequences(read(memory)))) is stored


def test_a_swapped_message_is_stored_after_the_next_one_of_its_partition(memory: Memory) -> None:
    over = send(memory, 8, seed=5, swaps=0.2)

    assert hit_by(MessageFault.SWAP, 8, seed=5, swaps=0.2) == [2]
    assert over[2] == SendResult(Outcome.OK, None, 0, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN)
    assert sequences(read(memory)) == [0, 4, 2, 6, 1, 3, 5, 7]


def test_a_swapped_message_that_nothing_follows_is_not_lost(memory: Memory) -> None:
    send(memory, 10, swaps=1.0)

    assert sorted(sequences(read(memory))) == list(range(10))


@given(st.integers(0, 2**63 - 1), st.integers(0, 1000))
@settings(max_examples=20)
def test_shares_are_kept(seed: int, producer: int) -> None:
    faults = Faults(seed=seed, loss=0.1, fails=0.3)

    found = Counter(fault_of(faults, producer, sequence) for sequence in range(3000))

    assert found[MessageFault.LOSS] == pytest.approx(300, abs=120)
    assert found[MessageFault.FAIL] == pytest.approx(900, abs=180)


def test_service_times_are_exponential_with_the_mean_asked_for() -> None:
    delays = [delay_ns_of(Faults(seed=1, delay_ms=2.0), 0, sequence) for sequence in range(20_000)]

    assert sum(delays) / len(delays) == pytest.approx(2e6, rel=0.05)
    assert sum(delay > 2e6 for delay in delays) / len(delays) == pytest.approx(0.368, abs=0.02)


def test_an_ack_shows_only_after_its_service_time(memory: Memory) -> None:
    producers = memory.producers(memory.endpoint([]), TOPIC, {"delay_ms": 20.0, "seed": 1}, 1, 1)
    (client,) = producers.clients
    over: list[SendResult] = []
    start = time.monotonic_ns()
    client.send(ENCODE(0, 0, 0), over.append)

    client.poll(0)
    assert over == []
    client.poll(10)

    assert time.monotonic_ns() - start >= delay_ns_of(Faults(seed=1, delay_ms=20.0), 0, 0)
    assert len(over) == 1
    producers.close(0)


def test_closing_ends_open_sends_as_unknown(memory: Memory) -> None:
    producers = memory.producers(memory.endpoint([]), TOPIC, {"delay_ms": 1e6}, 1, 1)
    over: list[SendResult] = []
    producers.clients[0].send(ENCODE(0, 0, 0), over.append)

    producers.close(0.01)

    assert [done.outcome for done in over] == [Outcome.UNKNOWN]


def _send_from_another_process(folder: str, producer: int) -> None:
    send(Memory(Path(folder)), 500, producer)


def test_processes_share_a_topic(memory: Memory) -> None:
    context = get_context("spawn")
    processes = [
        context.Process(target=_send_from_another_process, args=(memory.endpoint([]), n)) for n in (1, 2)
    ]
    for process in processes:
        process.start()
    send(memory, 500)
    for process in processes:
        process.join(60)

    received = read(memory)

    assert sorted(identity(r.payload) or (0, 0) for r in received) == list(product(range(3), range(500)))
    assert [r.entry for r in received] == [*range(750), *range(750)]


def test_a_reader_waits_for_the_rest_of_a_record(memory: Memory, tmp_path: Path) -> None:
    consumer = memory.consumer(memory.endpoint([]), TOPIC, {})
    record = len(ENCODE(0, 0, 0)).to_bytes(4, "little") + ENCODE(0, 0, 0)
    log = os.open(tmp_path / "topic" / "0000.log", os.O_WRONLY | os.O_APPEND)

    os.write(log, record[:10])
    assert not consumer.receive(0)
    os.write(log, record[10:])

    assert sequences(consumer.receive(1)) == [0]
    os.close(log)
    consumer.close()


def test_a_topic_is_created_once(memory: Memory) -> None:
    with pytest.raises(ClusterError, match="exists already"):
        memory.admin(CLUSTER, []).create_topic(TOPIC)


def test_a_topic_that_is_not_there_is_named(memory: Memory) -> None:
    with pytest.raises(ClusterError, match="no partition 0"):
        memory.producers(memory.endpoint([]), Topic("missing", 1), {}, 1, 1)


def test_unknown_settings_are_listed_with_their_nearest_names(memory: Memory) -> None:
    assert memory.unknown_settings(case(los=0.1, seed=1)) == [("producer", "los", ["loss"])]


def test_a_possible_case_is_let_through(memory: Memory) -> None:
    assert memory.check(case(seed=1, loss=0.5, fails=0.5, delay_ms=0.1)) == []


@pytest.mark.parametrize(
    ("producer", "said"),
    [
        ({"loss": 1.5}, "loss is a share"),
        ({"loss": True}, "loss is a share"),
        ({"loss": 0.6, "fails": 0.6}, "sum up to at most 1"),
        ({"seed": 0.5}, "seed is a whole number"),
        ({"delay_ms": -1}, "delay_ms is a number"),
    ],
)
def test_an_impossible_case_says_why(memory: Memory, producer: dict[str, Scalar], said: str) -> None:
    sentences = memory.check(case(**producer))

    assert len(sentences) == 1
    assert said in sentences[0]
