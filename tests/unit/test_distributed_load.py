"""A load over several processes of this machine, and what a runner and an agent say to each other first."""

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bench.errors import LoadError, MissingAgentsError, SetupError
from bench.load.agent import Wire, address_of, introduce, read_token
from bench.load.commands import (
    Close,
    DrainConsumers,
    Finish,
    Open,
    Produce,
    RateHold,
    RunSlice,
    Subscribe,
    Verify,
)
from bench.load.distributed_load import DistributedConsumers, DistributedProducers, LoadProcess, split
from bench.load.joined_agents import Invitation, gather_agents
from bench.load.process import CONSUMER_MODULE, PRODUCER_MODULE, WorkerProcess
from bench.model import NANOS, Cluster, Load, Pacing, Topic
from bench.pacing import Schedule
from bench.systems.memory.system import Memory

TOPIC = Topic("topic", 3)
TOKEN = "a token of the tests, long enough"  # noqa: S105 - no secret
Processes = tuple[DistributedProducers, DistributedConsumers]


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    logs = tmp_path_factory.mktemp("logs")
    with ExitStack() as stack:
        producers, consumers = (
            [LoadProcess(stack.enter_context(WorkerProcess(module, logs / "log"))) for _ in range(2)]
            for module in (PRODUCER_MODULE, CONSUMER_MODULE)
        )
        yield DistributedProducers(producers), DistributedConsumers(consumers)


def produce(folder: Path, load: Load, trial: int = 4, **changes: Any) -> Produce:
    command = Produce(
        system="memory",
        endpoint=str(folder / "cluster"),
        topic=TOPIC,
        producer={},
        load=load,
        trial=trial,
        run="run",
        folder=folder / "sends",
        seed=1,
        grace_s=10.0,
    )
    return replace(command, **changes)


def reading(folder: Path, trial: int = 4) -> dict[str, Any]:
    return {
        "system": "memory",
        "endpoint": str(folder / "cluster"),
        "topic": TOPIC,
        "consumer": {},
        "trial": trial,
        "run": "run",
        "folder": folder / "receives",
    }


def load(producers: int, **changes: Any) -> Load:
    return replace(Load(producers, 100, Pacing(), 1, 1, 0.0, None, None), **changes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Memory(tmp_path / "cluster").admin(Cluster("memory", "1", {}), []).create_topic(TOPIC)
    return tmp_path


def test_producers_and_consumers_are_divided_and_nothing_is_missing(
    folder: Path, processes: Processes
) -> None:
    producing, consuming = processes
    consuming.call(Subscribe(**reading(folder), consumers=3), 30)
    progress: list[dict[str, Any]] = []

    done = producing.call(produce(folder, load(5, messages=3000)), 60, progress.append)
    finished = consuming.call(Finish(trial=4, expected=3000, grace_s=20), 60)
    verified = consuming.call(Verify(**reading(folder), deadline_s=10, expected=3000), 60)

    assert (done["sent"], done["acked"], done["due_unsent"], done["stalled"]) == (3000, 3000, 0, False)
    assert progress[-1]["acked"] == 3000
    assert finished == {"received": 9000, "distinct": 3000}
    assert (verified["distinct"], verified["complete"]) == (3000, True)
    sends = pq.read_table(folder / "sends").to_pylist()
    assert {row["producer"] for row in sends} == set(range(5))
    # Of 3,000 messages producers 0 and 1 have the first 1,200, producers 2 to 4 the rest.
    assert sum(row["producer"] < 2 for row in sends) == 1200
    receives = pq.read_table(folder / "receives").to_pylist()
    by_consumer = Counter(row["consumer"] for row in receives if row["stage"] == "live")
    assert by_consumer == {0: 3000, 1: 3000, 2: 3000}


def test_an_open_loop_keeps_one_schedule_over_all_processes(folder: Path, processes: Processes) -> None:
    producing, _ = processes
    paced = load(4, duration_s=1.0, pacing=Pacing(((1.0, 200.0),)), window=20)

    done = producing.call(produce(folder, paced), 60)

    due_ns = sorted(row["due_ns"] for row in pq.read_table(folder / "sends").to_pylist())
    assert done["sent"] + done["due_unsent"] == 200
    assert len(due_ns) >= 190
    assert [time_ns - due_ns[0] for time_ns in due_ns] == [
        number * NANOS // 200 for number in range(len(due_ns))
    ]


def test_slices_of_open_trials_are_merged(folder: Path, processes: Processes) -> None:
    producing, consuming = processes
    consuming.call(Subscribe(**reading(folder, trial=6), consumers=2), 30)
    producing.call(Open(produce=produce(folder, load(2, duration_s=0.2, warm_up_s=0.05), trial=6)), 30)

    first = producing.call(RunSlice(trial=6, number=0), 30)
    held = RateHold(rate=100.0, lead_in_s=0.1, seconds=0.5, overrun_s=0.1)
    second = producing.call(RunSlice(trial=6, number=1, held=held), 30)
    expected = second["acked_before"] + second["acked"]
    drained = consuming.call(DrainConsumers(trial=6, expected=expected, grace_s=5.0, to_disk=True), 30)
    closed = producing.call(Close(trial=6), 30)
    consuming.call(Finish(trial=6, expected=expected, grace_s=5.0), 30)

    assert first["slice"]["end_ns"] - first["slice"]["start_ns"] == 200_000_000
    assert second["acked_before"] == first["acked"]
    assert second["acked"] + second["due_unsent"] == 60
    assert (closed["sent"], drained["received"]) == (expected, expected)


def test_a_process_that_fails_ends_the_call_of_all(folder: Path, processes: Processes) -> None:
    producing, _ = processes
    missing = produce(folder, load(2, duration_s=30.0), trial=9, endpoint=str(folder / "nowhere"))

    with pytest.raises(LoadError, match="topic"):
        producing.call(missing, 60)


@pytest.mark.parametrize(("count", "parts"), [(10, 3), (2, 5), (7, 1), (0, 2)])
def test_a_split_is_even_and_complete(count: int, parts: int) -> None:
    shares = split(count, parts)

    assert [number for first, size in shares for number in range(first, first + size)] == list(range(count))
    sizes = [size for _, size in shares]
    assert len(sizes) == parts
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("elapsed_ns", [0, 1, NANOS, 1_234_567_890, 10 * NANOS])
def test_what_is_due_of_each_part_adds_up(elapsed_ns: int) -> None:
    schedule = Schedule(Pacing(((2.0, 30.0), (3.0, 7.0))), 7, 0.5)

    parts = [schedule.due_before(elapsed_ns, range(first, first + size)) for first, size in split(7, 3)]

    assert sum(parts) == schedule.due_before(elapsed_ns)
    assert schedule.due_before(elapsed_ns, range(3, 4)) == sum(
        schedule.due_ns(3, hit) < elapsed_ns for hit in range(100)
    )


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def attempt(listener: socket.socket, speak: Callable[[Wire], None], deadline_s: float = 1.0) -> str:
    """Have somebody connect who speaks so; return why the runner does without."""

    def connect() -> None:
        with socket.create_connection(listener.getsockname()) as connection, suppress(OSError):
            speak(Wire(connection))  # the runner may hang up meanwhile

    speaker = threading.Thread(target=connect)
    speaker.start()
    with (
        pytest.raises(MissingAgentsError) as refused,
        gather_agents(Invitation(listener, 1, TOKEN, "1.0", deadline_s)),
    ):
        pass
    speaker.join()
    return str(refused.value)


@pytest.mark.parametrize(
    ("token", "suite", "reason"),
    [("another token, long enough, too", "1.0", "does not know the token"), (TOKEN, "0.9", "version 0.9")],
)
def test_an_agent_of_another_run_or_version_is_refused_and_told_why(
    listener: socket.socket, token: str, suite: str, reason: str
) -> None:
    refusals: list[str] = []

    def speak(wire: Wire) -> None:
        with pytest.raises(SetupError) as refusal:
            introduce(wire, token, {"role": "control", "agent": "a", "suite": suite})
        refusals.append(str(refusal.value))

    told = attempt(listener, speak)

    assert reason in told
    assert told.startswith("0 of 1 agents joined within 1 s")
    assert reason in refusals[0]


def test_a_stranger_who_says_nothing_holds_nobody_up(listener: socket.socket) -> None:
    def speak(wire: Wire) -> None:
        with pytest.raises(SetupError):
            introduce(
                wire, "another token, long enough, too", {"role": "control", "agent": "a", "suite": "1.0"}
            )

    with socket.create_connection(listener.getsockname()):
        reason = attempt(listener, speak, deadline_s=2.0)

    assert "does not know the token" in reason


def test_an_agent_refuses_a_runner_that_does_not_know_the_token(listener: socket.socket) -> None:
    def pretend() -> None:
        connection, _ = listener.accept()
        with connection:
            wire = Wire(connection)
            wire.write({"challenge": "c"})
            wire.read()
            wire.write({"proof": "none"})

    runner = threading.Thread(target=pretend)
    runner.start()
    with (
        socket.create_connection(listener.getsockname()) as connection,
        pytest.raises(SetupError, match="does not know the token"),
    ):
        introduce(Wire(connection), TOKEN, {"role": "control", "agent": "a", "suite": "1.0"})
    runner.join()


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"[1]\n",
        b'{"role": "x"}\n',
        b'{"proof": "\xc3\xa9"}\n',
        b"[" * 100_000 + b"\n",
        b"x" * 1_000_000,
        b"",
    ],
)
def test_whoever_else_connects_is_ignored(listener: socket.socket, said: bytes) -> None:
    def speak(wire: Wire) -> None:
        wire.connection.sendall(said)

    assert attempt(listener, speak).startswith("0 of 1 agents joined")


@pytest.mark.parametrize("address", ["somewhere", "host:", ":7070", "host:0", "host:70700", "host:x"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(SetupError, match=r"--join .*: give HOST:PORT"):
        address_of(address, "--join")


def test_a_token_is_long_enough_and_readable(tmp_path: Path) -> None:
    short, long = tmp_path / "short", tmp_path / "long"
    short.write_text("secret\n")
    long.write_text(f"{TOKEN}\n")

    assert read_token(long) == TOKEN
    for file, reason in ((short, "16 characters at least"), (tmp_path / "none", "No such file")):
        with pytest.raises(SetupError, match=reason):
            read_token(file)
