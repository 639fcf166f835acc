"""The load and the consumer process as the runner uses them, on the in-memory system, down to the files."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
import pytest
from gevent import GreenletExit

from bench.errors import LoadError, NodeDiedError
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
    from_line,
    to_line,
)
from bench.load.process import CONSUMER_MODULE, PRODUCER_MODULE, WorkerProcess
from bench.load.progress import ProgressReporter
from bench.load.recorder import SendRecorder
from bench.load.schemas import RECEIVES, SENDS
from bench.load.sender import Span
from bench.load.vitals import Vitals
from bench.model import NANOS, Cluster, Load, Pacing, Settings, Topic
from bench.systems.memory.faults import Faults, MessageFault, fault_of
from bench.systems.memory.system import Memory

TOPIC = Topic("topic", 3)
FAULTS: Settings = {
    "seed": 11,
    "loss": 0.03,
    "duplicates": 0.03,
    "swaps": 0.03,
    "ghost_fails": 0.03,
    "ghost_unknowns": 0.03,
    "unknown_absent": 0.03,
    "fails": 0.03,
}
STORED = {
    MessageFault.NONE,
    MessageFault.DUPLICATE,
    MessageFault.SWAP,
    MessageFault.GHOST_FAIL,
    MessageFault.GHOST_UNKNOWN,
}
ACKED = {MessageFault.NONE, MessageFault.DUPLICATE, MessageFault.SWAP, MessageFault.LOSS}

Row = dict[str, Any]
Rows = list[Row]


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    with WorkerProcess(PRODUCER_MODULE, tmp_path_factory.mktemp("logs") / "worker.log") as process:
        yield process


@pytest.fixture(scope="module")
def consumer_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    with WorkerProcess(CONSUMER_MODULE, tmp_path_factory.mktemp("logs") / "consumers.log") as process:
        yield process


class Trial:
    """One trial's folder, topic and commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.endpoint = str(folder / "cluster")
        Memory(folder / "cluster").admin(Cluster("memory", "1", {}), []).create_topic(TOPIC)

    def produce(self, load: Load, producer: Settings | None = None, **changes: Any) -> Produce:
        command = Produce(
            system="memory",
            endpoint=self.endpoint,
            topic=TOPIC,
            producer=producer or {},
            load=load,
            trial=4,
            run="run",
            folder=self.folder / "sends",
            seed=1,
            grace_s=10.0,
        )
        return replace(command, **changes)

    def subscribe(self, consumers: int = 1) -> Subscribe:
        return Subscribe(
            system="memory",
            endpoint=self.endpoint,
            topic=TOPIC,
            consumer={},
            consumers=consumers,
            trial=4,
            run="run",
            folder=self.folder / "receives",
        )

    def verify(self) -> Verify:
        return Verify(
            system="memory",
            endpoint=self.endpoint,
            topic=TOPIC,
            consumer={},
            trial=4,
            run="run",
            folder=self.folder / "receives",
            deadline_s=10,
            expected=0,
        )

    def sends(self) -> Rows:
        rows: Rows = pq.read_table(self.folder / "sends").to_pylist()
        return rows

    def receives(self, stage: str) -> Rows:
        rows: Rows = pq.read_table(self.folder / "receives").to_pylist()
        return [row for row in rows if row["stage"] == stage]


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


def closed(
    producers: int = 3,
    messages: int | None = None,
    duration_s: float | None = None,
    **changes: Any,
) -> Load:
    load = Load(producers, 100, Pacing(), 1, 1, 0.0, duration_s, messages)
    return replace(load, **changes)


def identities(rows: Rows) -> Counter[tuple[int, int]]:
    return Counter((row["producer"], row["sequence"]) for row in rows)


def test_every_fault_shows_in_the_event_log_exactly(
    trial: Trial, worker: WorkerProcess, consumer_worker: WorkerProcess
) -> None:
    consumer_worker.call(trial.subscribe(consumers=2), deadline_s=30)
    done = worker.call(trial.produce(closed(messages=20_000), FAULTS), deadline_s=60)
    stored = sum(fault in STORED for fault in faults_of(trial.sends()).values())
    finished = consumer_worker.call(Finish(trial=4, expected=stored, grace_s=20), deadline_s=60)
    verified = consumer_worker.call(trial.verify(), deadline_s=60)

    faults = faults_of(trial.sends())
    assert done["sent"] == len(faults) == 20_000
    by_fault = Counter(faults.values())
    assert min(by_fault[fault] for fault in MessageFault) > 400
    assert done["acked"] == sum(by_fault[fault] for fault in ACKED)
    assert done["failed"] == by_fault[MessageFault.FAIL] + by_fault[MessageFault.GHOST_FAIL]
    assert done["unknown"] == by_fault[MessageFault.GHOST_UNKNOWN] + by_fault[MessageFault.UNKNOWN_ABSENT]

    expected = {
        who: 2 if fault is MessageFault.DUPLICATE else 1 for who, fault in faults.items() if fault in STORED
    }
    assert identities(trial.receives("verify")) == expected
    read = {name: verified.pop(name) for name in ("at", "first_ns", "last_ns", "stalls")}
    assert read["stalls"] == []
    assert 0 < read["first_ns"] <= read["last_ns"]
    assert verified == {
        "received": sum(expected.values()),
        "distinct": stored,
        "complete": True,
        "reason": None,
    }
    for consumer in (0, 1):
        live = [row for row in trial.receives("live") if row["consumer"] == consumer]
        assert identities(live) == expected
    assert finished["distinct"] == stored


def test_both_processes_write_their_logs_without_pandas(
    trial: Trial, worker: WorkerProcess, consumer_worker: WorkerProcess
) -> None:
    worker.call(trial.produce(closed(messages=100)), deadline_s=60)
    consumer_worker.call(trial.verify(), deadline_s=60)

    for process in (worker, consumer_worker):
        assert "/pyarrow/" in loaded_files(process)
        assert "/pandas/" not in loaded_files(process)


def loaded_files(process: WorkerProcess) -> str:
    return Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8")


def faults_of(sends: Rows) -> dict[tuple[int, int], MessageFault]:
    faults = Faults.of(FAULTS)
    return {
        (row["producer"], row["sequence"]): fault_of(faults, row["producer"], row["sequence"])
        for row in sends
    }


def test_sends_and_receives_agree_and_have_the_schemas_of_the_event_log(
    trial: Trial, worker: WorkerProcess, consumer_worker: WorkerProcess
) -> None:
    worker.call(trial.produce(closed(messages=500)), deadline_s=60)
    consumer_worker.call(trial.verify(), deadline_s=60)

    for folder, schema in (("sends", SENDS), ("receives", RECEIVES)):
        files = list((trial.folder / folder).iterdir())
        assert files
        assert all(pq.read_schema(file).equals(schema) for file in files)
    sends = {(row["producer"], row["sequence"]): row for row in trial.sends()}
    for row in trial.receives("verify"):
        send = sends[row["producer"], row["sequence"]]
        assert (row["partition"], row["entry"], row["sent_ns"]) == (
            send["partition"],
            send["entry"],
            send["sent_ns"],
        )


def test_sequences_have_no_gap_and_times_follow_each_other(trial: Trial, worker: WorkerProcess) -> None:
    worker.call(trial.produce(closed(producers=5, messages=2000)), deadline_s=60)

    rows = trial.sends()
    for producer in range(5):
        sequences = sorted(row["sequence"] for row in rows if row["producer"] == producer)
        assert sequences == list(range(len(sequences)))
    assert all(row["due_ns"] == row["sent_ns"] <= row["done_ns"] for row in rows)
    assert {row["bytes"] for row in rows} == {100}


def test_users_send_from_the_warm_up_to_the_end_of_the_window(trial: Trial, worker: WorkerProcess) -> None:
    load = closed(producers=4, duration_s=1.5, warm_up_s=1.0)

    done = worker.call(trial.produce(load, {"delay_ms": 1.0}), deadline_s=60)

    start_ns, end_ns = done["window"]["start_ns"], done["window"]["end_ns"]
    rows = trial.sends()
    assert end_ns - start_ns == 1_500_000_000
    assert max(row["sent_ns"] for row in rows) < end_ns
    for producer in range(4):
        sent = [row["sent_ns"] for row in rows if row["producer"] == producer]
        assert min(sent) < start_ns
        assert max(sent) > end_ns - 500_000_000
    assert not done["stalled"]


def test_the_client_tells_about_itself(trial: Trial, worker: WorkerProcess) -> None:
    done = worker.call(trial.produce(closed(duration_s=0.5)), deadline_s=60)

    client = done["client"]
    assert client["cpu_share"] > 0
    assert client["loop_lag_max_ns"] > 0
    assert client["recorder_backlog_max"] >= 1
    assert done["producer"]["kind"].startswith("files in a folder")
    assert (done["due_unsent"], done["never_told"]) == (0, 0)


def test_a_paced_load_keeps_its_rate(trial: Trial, worker: WorkerProcess) -> None:
    load = closed(producers=3, duration_s=1.0, pacing=Pacing(((1.0, 500.0),)), window=10)

    done = worker.call(trial.produce(load), deadline_s=60)

    rows = trial.sends()
    assert done["sent"] + done["due_unsent"] == 500
    assert done["due_unsent"] < 250
    assert all(row["sent_ns"] >= row["due_ns"] for row in rows)
    assert len({row["due_ns"] for row in rows}) == len(rows)


def test_a_load_that_nobody_answers_ends_after_its_grace(trial: Trial, worker: WorkerProcess) -> None:
    load = closed(producers=2, duration_s=2.0, window=3)

    done = worker.call(trial.produce(load, {"delay_ms": 1e7}, grace_s=0.3), deadline_s=60)

    assert done["stalled"]
    assert (done["sent"], done["unknown"]) == (6, 6)


def test_a_counted_load_that_nobody_answers_ends_too(trial: Trial, worker: WorkerProcess) -> None:
    done = worker.call(trial.produce(closed(messages=10), {"delay_ms": 1e7}, grace_s=2.0), deadline_s=60)

    assert done["stalled"]
    assert (done["sent"], done["acked"], done["unknown"]) == (3, 0, 3)
    window = done["window"]
    assert window["end_ns"] - window["start_ns"] >= 2_000_000_000  # a fault that struck meanwhile met it


class Clock:
    """Stands in for `time` and `gevent`; once it shows `last_ns`, whoever sleeps by it is killed."""

    def __init__(self, last_ns: int) -> None:
        self.now_ns = 0
        self._last_ns = last_ns

    def monotonic_ns(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        if self.now_ns >= self._last_ns:
            raise GreenletExit
        self.now_ns += round(seconds * NANOS)


class Acks:
    """A recorder of an acknowledgement every 10 ms."""

    backlog = 0

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @property
    def counts(self) -> list[int]:
        return [self._clock.now_ns * 100 // NANOS, 0, 0]


def test_progress_comes_twice_a_second_and_at_once_for_awaited_acks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(last_ns=1_600_000_000)
    monkeypatch.setattr("bench.load.progress.time", clock)
    monkeypatch.setattr("bench.load.progress.gevent", clock)
    heard: Rows = []
    recorder = cast("SendRecorder", Acks(clock))

    with suppress(GreenletExit):
        ProgressReporter(recorder, [], Span(), Vitals(Span()), (100, 10, 13, 14), heard.append).run()

    assert [(one["at_ns"] // 1_000_000, one["acked"]) for one in heard] == [
        (0, 0),
        (100, 10),
        (140, 14),  # looks every 20 ms
        (640, 64),
        (1000, 100),
        (1500, 150),
    ]
    assert [one["rate"] for one in heard] == [0.0, *[100.0] * 5]


def test_progress_tells_of_a_load_from_its_start_to_its_end(trial: Trial, worker: WorkerProcess) -> None:
    heard: Rows = []

    done = worker.call(trial.produce(closed(duration_s=1.2)), 60, on_progress=heard.append)

    begun, *_, last = heard
    assert set(begun) == {
        *("sent", "acked", "failed", "unknown", "rate"),
        *("at_ns", "start_ns", "end_ns", "open", "loop_lag_ns", "recorder_backlog"),
    }
    assert begun["start_ns"] <= begun["at_ns"]
    assert begun["end_ns"] <= last["at_ns"]
    assert all((one["start_ns"], one["end_ns"]) == tuple(done["window"].values()) for one in heard)
    assert all(one["acked"] <= other["acked"] for one, other in pairwise(heard))
    assert all(one["at_ns"] < other["at_ns"] for one, other in pairwise(heard))
    assert (last["sent"], last["acked"], last["open"]) == (done["sent"], done["acked"], 0)


def test_progress_comes_sooner_for_awaited_acks(trial: Trial, worker: WorkerProcess) -> None:
    heard: Rows = []
    awaited = trial.produce(
        closed(producers=1, messages=100), {"delay_ms": 10.0}, progress_at_acks=tuple(range(1, 101))
    )

    worker.call(awaited, 60, on_progress=heard.append)

    *on_the_way, _ = heard  # the last one comes whenever the load is over
    assert min(other["at_ns"] - one["at_ns"] for one, other in pairwise(on_the_way)) < 500_000_000


def test_a_worker_serves_many_trials(tmp_path: Path, worker: WorkerProcess) -> None:
    for number in range(3):
        trial = Trial(tmp_path / str(number))
        done = worker.call(trial.produce(closed(producers=number + 1, messages=100)), deadline_s=60)
        assert done["acked"] == len(trial.sends()) == 100


def test_a_refusal_is_told_and_the_worker_goes_on(trial: Trial, worker: WorkerProcess) -> None:
    with pytest.raises(LoadError, match="31 bytes cannot be counted"):
        worker.call(trial.produce(closed(messages=1, message_bytes=31)), deadline_s=60)
    with pytest.raises(LoadError, match="no partition 0"):
        worker.call(trial.produce(closed(messages=1), topic=Topic("missing", 1)), deadline_s=60)
    with pytest.raises(LoadError, match="only produces"):
        worker.call(trial.verify(), deadline_s=60)

    assert worker.call(trial.produce(closed(messages=10)), deadline_s=60)["acked"] == 10


def test_a_consumer_without_hope_ends_after_its_grace(trial: Trial, consumer_worker: WorkerProcess) -> None:
    consumer_worker.call(trial.subscribe(), deadline_s=30)

    done = consumer_worker.call(Finish(trial=4, expected=10, grace_s=0.3), deadline_s=30)

    assert (done["received"], done["distinct"]) == (0, 0)


def test_consumers_of_a_trial_that_broke_off_make_way(
    tmp_path: Path, worker: WorkerProcess, consumer_worker: WorkerProcess
) -> None:
    consumer_worker.call(Trial(tmp_path / "broken").subscribe(), deadline_s=30)
    trial = Trial(tmp_path / "next")

    consumer_worker.call(trial.subscribe(), deadline_s=30)
    worker.call(trial.produce(closed(messages=100)), deadline_s=60)
    done = consumer_worker.call(Finish(trial=4, expected=100, grace_s=10), deadline_s=30)

    assert done["distinct"] == len(trial.receives("live")) == 100


def test_finishing_without_subscribing_is_refused(consumer_worker: WorkerProcess) -> None:
    with pytest.raises(LoadError, match="has no consumers of trial 4"):
        consumer_worker.call(Finish(trial=4, expected=1, grace_s=1), deadline_s=30)


def test_a_read_that_does_not_reach_the_end_is_incomplete(
    trial: Trial, consumer_worker: WorkerProcess
) -> None:
    partition = trial.folder / "cluster" / "topic" / "0000"
    partition.with_suffix(".count").write_bytes((1).to_bytes(8, "little"))
    partition.with_suffix(".log").write_bytes((100).to_bytes(4, "little"))

    done = consumer_worker.call(trial.verify(), deadline_s=30)

    assert not done["complete"]
    assert "Partition 0 ends within entry 0 of 1" in done["reason"]


def test_a_process_that_dies_is_reported_with_the_end_of_its_log(tmp_path: Path, trial: Trial) -> None:
    log = tmp_path / "worker.log"
    said = r"ended \(exit code 1\)(.|\n)*No module named bench.load.no_such_module"

    with WorkerProcess("bench.load.no_such_module", log) as process, pytest.raises(LoadError, match=said):
        process.call(trial.verify(), deadline_s=30)


def test_a_process_that_falls_silent_is_reported(trial: Trial, tmp_path: Path) -> None:
    with WorkerProcess(CONSUMER_MODULE, tmp_path / "log") as process:
        process.call(trial.subscribe(), deadline_s=30)
        stop(process)
        with pytest.raises(LoadError, match=r"said nothing for 0\.3 s"):
            process.call(Finish(trial=4, expected=1, grace_s=60), deadline_s=0.3)
        with pytest.raises(LoadError, match="still busy"):
            process.call(trial.verify(), deadline_s=1)


def test_a_process_that_hangs_tells_where(trial: Trial, tmp_path: Path) -> None:
    log = (trial.folder / "cluster" / "topic" / "0000").with_suffix(".log")
    said = r"said nothing for 1 s(.|\n)*memory/store\.py.* in "

    with WorkerProcess(CONSUMER_MODULE, tmp_path / "log") as process:
        process.call(replace(trial.verify(), deadline_s=0.1), deadline_s=60)  # it has started
        log.unlink()
        os.mkfifo(log)
        with pytest.raises(LoadError, match=said):
            process.call(replace(trial.verify(), deadline_s=0.1), deadline_s=1)


def stop(process: WorkerProcess) -> None:
    subprocess.run(["kill", "-STOP", str(process.pid)], check=True)


def test_a_dead_node_ends_a_call(trial: Trial, tmp_path: Path) -> None:
    def alive() -> None:
        raise NodeDiedError("broker-1 died")

    with WorkerProcess(PRODUCER_MODULE, tmp_path / "log") as process, pytest.raises(NodeDiedError):
        process.call(trial.produce(closed(duration_s=60)), deadline_s=60, alive=alive)


@pytest.mark.parametrize("module", [PRODUCER_MODULE, CONSUMER_MODULE])
def test_a_process_ends_when_its_input_closes(module: str) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    assert started.stdin is not None

    started.stdin.close()

    assert started.wait(30) == 0


def test_the_web_page_shows_a_trial_and_leaves_it_alone(trial: Trial, tmp_path: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    arguments = ["--web-fd", str(listener.fileno())]
    seen: Rows = []

    def look(_: dict[str, Any]) -> None:
        seen.append(json.loads(fetch(f"{url}/stats/requests")))
        assert not json.loads(fetch(f"{url}/stop", b""))["success"]

    with WorkerProcess(
        PRODUCER_MODULE, tmp_path / "log", arguments=arguments, inherited=[listener.fileno()]
    ) as process:
        load = closed(duration_s=2.5)
        done = process.call(trial.produce(load, {"delay_ms": 1.0, "fails": 0.2}), 60, on_progress=look)
        last = shown_at_last(url, done["sent"])
        assert "Locust" in fetch(url).decode()

    assert seen[-1]["user_count"] in {0, 3}
    assert done["sent"] > 300
    total = aggregated(last)
    assert (total["num_requests"], total["num_failures"]) == (done["sent"], done["failed"])
    assert last["errors"][0]["error"] == "fails"


def shown_at_last(url: str, requests: int) -> dict[str, Any]:
    """Ask until the page shows so many requests: Locust answers from a cache of two seconds."""
    deadline = time.monotonic() + 20
    while aggregated(shown := json.loads(fetch(f"{url}/stats/requests")))["num_requests"] != requests:
        assert time.monotonic() < deadline, shown
        time.sleep(0.2)
    return cast("dict[str, Any]", shown)


def aggregated(shown: dict[str, Any]) -> Row:
    by_name: dict[str, Row] = {entry["name"]: entry for entry in shown["stats"]}
    return by_name["Aggregated"]


def fetch(url: str, body: bytes | None = None) -> bytes:
    deadline = time.monotonic() + 20
    while True:
        try:
            with urllib.request.urlopen(url, body, timeout=10) as answer:  # noqa: S310 - http only
                content: bytes = answer.read()
                return content
        except urllib.error.URLError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_commands_survive_the_line(trial: Trial) -> None:
    settings: Settings = {"acks": "all", "linger.ms": 0, "share": 0.5, "enable.idempotence": True}
    pacing = Pacing(((1.0, 10.0), (2.5, 20.0)))
    command = trial.produce(closed(messages=1, pacing=pacing), settings, progress_at_acks=(1, 2))

    again = from_line(to_line(command))

    assert again == command
    assert isinstance(again, Produce)
    assert [type(value) for value in again.producer.values()] == [str, int, float, bool]


@pytest.mark.parametrize("line", [b"{}", b"no json", b"[]", b'{"verb": "fly"}', b'{"verb": "finish"}'])
def test_an_unreadable_command_is_refused(line: bytes) -> None:
    with pytest.raises(LoadError, match="cannot read"):
        from_line(line)


def test_slices_of_two_open_trials_alternate(tmp_path: Path, worker: WorkerProcess) -> None:
    trials = {number: Trial(tmp_path / str(number)) for number in (4, 5)}
    load = closed(producers=2, duration_s=0.2, warm_up_s=0.05)
    for number, trial in trials.items():
        produce = trial.produce(load, {"delay_ms": 1.0}, trial=number)
        assert worker.call(Open(produce=produce), 30)["producer"]["kind"].startswith("files in a folder")

    done: dict[int, Rows] = {number: [] for number in trials}
    for turn in range(6):
        number = 4 + turn % 2
        done[number].append(worker.call(RunSlice(trial=number, number=turn // 2), 30))
    totals = {number: worker.call(Close(trial=number), 30) for number in trials}

    every = sorted(
        (one["slice"]["begun_ns"], one["slice"]["end_ns"]) for told in done.values() for one in told
    )
    assert all(end < begun for (_, end), (begun, _) in pairwise(every))
    for number, trial in trials.items():
        rows = trial.sends()
        assert len(rows) == totals[number]["sent"] == totals[number]["acked"]
        for producer in range(2):
            own = sorted(row["sequence"] for row in rows if row["producer"] == producer)
            assert own == list(range(len(own)))
        for told in done[number]:
            span = told["slice"]
            sent = [row["sent_ns"] for row in rows if row["slice"] == span["slice"]]
            assert len(sent) == told["acked"] > 0
            assert span["begun_ns"] <= min(sent) <= max(sent) < span["end_ns"]
            assert span["start_ns"] - span["begun_ns"] == 50_000_000
            assert span["end_ns"] - span["start_ns"] == 200_000_000
            assert not told["stalled"]


def test_the_schedule_of_an_open_loop_begins_anew_in_each_slice(trial: Trial, worker: WorkerProcess) -> None:
    load = closed(producers=2, duration_s=0.4, warm_up_s=0.1, pacing=Pacing(((1.0, 100.0),)), window=4)
    worker.call(Open(produce=trial.produce(load)), 30)
    done = [worker.call(RunSlice(trial=4, number=number), 30) for number in range(2)]
    worker.call(Close(trial=4), 30)

    for number, told in enumerate(done):
        rows = [row for row in trial.sends() if row["slice"] == number]
        begun_ns = told["slice"]["begun_ns"]
        assert len(rows) + told["due_unsent"] == 50
        assert told["due_unsent"] <= 1
        due = sorted(row["due_ns"] - begun_ns for row in rows)
        assert due == [10_000_000 * place for place in range(len(due))]


def test_a_slice_can_hold_a_rate_of_its_own_and_is_on_disk_then(
    trial: Trial, worker: WorkerProcess, consumer_worker: WorkerProcess
) -> None:
    consumer_worker.call(trial.subscribe(consumers=1), 30)
    load = closed(producers=2, duration_s=0.1, window=4)
    worker.call(Open(produce=trial.produce(load)), 30)
    free = worker.call(RunSlice(trial=4, number=0), 30)
    held = worker.call(
        RunSlice(trial=4, number=1, held=RateHold(rate=100.0, lead_in_s=0.1, seconds=0.4, overrun_s=0.0)), 30
    )
    expected = held["acked_before"] + held["acked"]
    consumer_worker.call(DrainConsumers(trial=4, expected=expected, grace_s=10, to_disk=True), 30)

    rows = [row for row in trial.sends() if row["slice"] == 1]
    assert len(trial.sends()) == expected == len(trial.receives("live"))
    assert free["acked"] > 50
    assert len(rows) + held["due_unsent"] == 50
    due = sorted(row["due_ns"] - held["slice"]["begun_ns"] for row in rows)
    assert due == [10_000_000 * place for place in range(len(due))]

    again = worker.call(RunSlice(trial=4, number=2), 30)
    worker.call(Close(trial=4), 30)
    consumer_worker.call(Finish(trial=4, expected=expected + again["acked"], grace_s=10), 30)
    assert again["acked"] > 50, "the own load follows"
    assert len(trial.sends()) == expected + again["acked"] == len(trial.receives("live"))


def test_a_trial_that_broke_off_takes_no_more_slices(trial: Trial, worker: WorkerProcess) -> None:
    load = closed(producers=1, duration_s=0.1)
    worker.call(Open(produce=trial.produce(load, {"delay_ms": 1e7}, grace_s=0.2)), 30)

    assert worker.call(RunSlice(trial=4, number=0), 30)["stalled"]
    with pytest.raises(LoadError, match="broke off in an earlier slice"):
        worker.call(RunSlice(trial=4, number=1), 30)
    totals = worker.call(Close(trial=4), 30)

    assert (totals["sent"], totals["unknown"]) == (1, 1)


def test_a_trial_is_opened_once_and_closed_once(trial: Trial, worker: WorkerProcess) -> None:
    load = Open(produce=trial.produce(closed(duration_s=0.1)))
    worker.call(load, 30)
    with pytest.raises(LoadError, match="open already"):
        worker.call(load, 30)
    worker.call(Close(trial=4), 30)
    with pytest.raises(LoadError, match="No load of trial 4 is open"):
        worker.call(Close(trial=4), 30)


def test_consumers_are_waited_for_until_they_have_what_was_sent(
    trial: Trial, worker: WorkerProcess, consumer_worker: WorkerProcess
) -> None:
    consumer_worker.call(trial.subscribe(consumers=2), 30)
    worker.call(trial.produce(closed(messages=300)), 60)

    assert consumer_worker.call(DrainConsumers(trial=4, expected=300, grace_s=10), 30) == {"received": 300}
    begun = time.monotonic()
    assert consumer_worker.call(DrainConsumers(trial=4, expected=301, grace_s=0.3), 30) == {"received": 300}
    assert time.monotonic() - begun >= 0.3
    assert consumer_worker.call(Finish(trial=4, expected=300, grace_s=10), 30)["distinct"] == 300
