"""How much throughput the load side costs: pump, recorder and Locust against bare client loops. Prints JSON.

    python -m bench.backends.sandbox tests.perf.load_ratio --system kafka --users 1 10 100   # starts a cluster
    python -m tests.perf.load_ratio --system kafka --mock              # on librdkafka's own mock brokers
    python -m tests.perf.load_ratio --system memory --endpoint /dev/shm/x

The bare loops do what one message needs and nothing else: no header, no record, no time stamp; they go round
the partitions as the suite's clients do. `threads`: a thread a user, blocking until its ack is there (Kafka: each
with a client of its own). `shared` (Kafka): the same with one client for all, polled by one more thread. `single`:
one thread keeps as many messages in flight as there are users, on one client, and nobody waits for any message
of his own. Ratios are of medians over interleaved rounds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.backends import sandbox
from bench.load.commands import Produce
from bench.load.process import PRODUCER_MODULE, WorkerProcess
from bench.model import NANOS, Cluster, Jit, Load, Pacing, Settings, Topic
from bench.run import wiring
from bench.run.cluster import running
from bench.systems.registry import client_side

CLUSTERS = {
    "kafka": {"controller": 1, "broker": 3},
    "pulsar": {"zookeeper": 1, "bookie": 3, "broker": 2},
    "memory": {},
}
COPIES: dict[str, Settings] = {"kafka": {"replicas": 3}, "pulsar": {"quorums": "3-3-2"}, "memory": {}}
WARM_UP_S = 1.0
MESSAGE_BYTES = 1000
PAYLOAD = bytes(MESSAGE_BYTES)

Count = list[int]
Loop = Callable[[argparse.Namespace, Count, threading.Event], list[threading.Thread]]


def kafka_client(endpoint: str) -> Any:
    from confluent_kafka import Producer  # noqa: PLC0415 - only where it is measured

    client = Producer({"bootstrap.servers": endpoint, "linger.ms": 0, "acks": "all"})
    client.list_topics(timeout=10)
    return client


def kafka_threads(options: argparse.Namespace, acks: Count, stop: threading.Event) -> list[threading.Thread]:
    def user(number: int) -> None:
        client = kafka_client(options.endpoint)
        partitions = cycle(range(options.partitions))
        waiting = [False]

        def done(error: object, _: object) -> None:
            waiting[0] = False
            acks[number] += error is None

        while not stop.is_set():
            waiting[0] = True
            client.produce(options.topic, PAYLOAD, partition=next(partitions), on_delivery=done)
            while waiting[0]:
                client.poll(0.1)

    return [threading.Thread(target=user, args=(number,)) for number in range(options.user_count)]


def kafka_shared(options: argparse.Namespace, acks: Count, stop: threading.Event) -> list[threading.Thread]:
    client = kafka_client(options.endpoint)
    partitions = cycle(range(options.partitions))

    def user(number: int) -> None:
        over = threading.Lock()
        over.acquire()

        def done(error: object, _: object) -> None:
            acks[number] += error is None
            over.release()

        while not stop.is_set():
            client.produce(options.topic, PAYLOAD, partition=next(partitions), on_delivery=done)
            over.acquire()

    def poll() -> None:
        while any(thread.is_alive() for thread in users):
            for _ in range(1000):
                client.poll(0.05)

    users = [threading.Thread(target=user, args=(number,)) for number in range(options.user_count)]
    return [*users, threading.Thread(target=poll)]


def kafka_single(options: argparse.Namespace, acks: Count, stop: threading.Event) -> list[threading.Thread]:
    client = kafka_client(options.endpoint)
    partitions = cycle(range(options.partitions))
    open_sends = [0]

    def done(error: object, _: object) -> None:
        open_sends[0] -= 1
        acks[0] += error is None

    def run() -> None:
        while not stop.is_set():
            while open_sends[0] < options.user_count:
                open_sends[0] += 1
                client.produce(options.topic, PAYLOAD, partition=next(partitions), on_delivery=done)
            client.poll(0.1)
        client.flush(5)

    return [threading.Thread(target=run)]


def pulsar_threads(options: argparse.Namespace, acks: Count, stop: threading.Event) -> list[threading.Thread]:
    import pulsar  # noqa: PLC0415 - only where it is measured

    from bench.systems.pulsar import topics  # noqa: PLC0415

    client = pulsar.Client(options.endpoint, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    topic = topics.full_name(Topic(options.topic, options.partitions))
    producer = client.create_producer(topic, batching_enabled=False)

    def user(number: int) -> None:
        while not stop.is_set():
            producer.send(PAYLOAD)
            acks[number] += 1

    return [threading.Thread(target=user, args=(number,)) for number in range(options.user_count)]


def twin_single(options: argparse.Namespace, acks: Count, stop: threading.Event) -> list[threading.Thread]:
    """One thread on this project's own client, for a system without a loop of its own above."""
    topic = Topic(options.topic, options.partitions)
    producer = client_side(options.system, options.endpoint).producer(
        options.endpoint, topic, {}, options.user_count
    )
    open_sends = [0]

    def done(_: object) -> None:
        open_sends[0] -= 1
        acks[0] += 1

    def run() -> None:
        while not stop.is_set():
            while open_sends[0] < options.user_count:
                open_sends[0] += 1
                producer.send(PAYLOAD, done)
            producer.poll(0.1)
        producer.close(5)

    return [threading.Thread(target=run)]


LOOPS: dict[str, dict[str, Loop]] = {
    "kafka": {"threads": kafka_threads, "shared": kafka_shared, "single": kafka_single},
    "pulsar": {"threads": pulsar_threads, "single": twin_single},
    "memory": {"single": twin_single},
}


class Measured(NamedTuple):
    """Acks a second, and microseconds of the client's CPU for each; the latter does not mind busy neighbours."""

    rate: float
    cpu_us: float


def run_bare(options: argparse.Namespace) -> Measured:
    """Run one bare loop in this process."""
    acks, stop = [0] * max(options.user_count, 1), threading.Event()
    threads = LOOPS[options.system][options.bare](options, acks, stop)
    for thread in threads:
        thread.start()
    time.sleep(WARM_UP_S)
    start, cpu, before = time.monotonic(), time.process_time(), sum(acks)
    time.sleep(options.seconds)
    took, used, count = time.monotonic() - start, time.process_time() - cpu, sum(acks) - before
    stop.set()
    for thread in threads:
        thread.join(10)
    return Measured(count / took, used / max(count, 1) * 1e6)


def measure_bare(options: argparse.Namespace, users: int, loop: str) -> Measured:
    command = [
        *(
            sys.executable,
            "-m",
            "tests.perf.load_ratio",
            "--system",
            options.system,
            "--endpoint",
            options.endpoint,
        ),
        *(
            "--topic",
            options.topic,
            "--partitions",
            str(options.partitions),
            "--seconds",
            str(options.seconds),
        ),
        *("--bare", loop, "--user-count", str(users)),
    ]
    output = subprocess.run(command, check=True, capture_output=True, timeout=120).stdout
    return Measured(*json.loads(output.splitlines()[-1]))


def measure_load(options: argparse.Namespace, users: int) -> tuple[Measured, dict[str, Any]]:
    """Measure pump, recorder and Locust; the second value is what the load process says of itself."""
    with (
        tempfile.TemporaryDirectory() as folder,
        WorkerProcess(PRODUCER_MODULE, Path(folder, "log")) as worker,
    ):
        command = Produce(
            system=options.system,
            endpoint=options.endpoint,
            topic=Topic(options.topic, options.partitions),
            producer={},
            load=Load(users, MESSAGE_BYTES, Pacing(), 1, 0, WARM_UP_S, options.seconds, None),
            trial=0,
            run="ratio",
            folder=Path(folder, "sends"),
            seed=1,
        )
        summary = worker.call(command, deadline_s=60)
        window = summary["window"]
        sends = pq.read_table(Path(folder, "sends"), columns=["done_ns", "outcome"])
    inside = pc.and_(
        pc.and_(
            pc.greater_equal(sends["done_ns"], window["start_ns"]),
            pc.less(sends["done_ns"], window["end_ns"]),
        ),
        pc.equal(sends["outcome"], "ok"),
    )
    seconds, acks = (window["end_ns"] - window["start_ns"]) / NANOS, pc.sum(inside).as_py()
    return Measured(acks / seconds, summary["client"]["cpu_share"] * seconds / acks * 1e6), summary["client"]


def measure(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    loops = list(LOOPS[options.system])
    for _ in range(options.warm_up_rounds):
        measure_load(options, max(options.users))
    for users in options.users:
        found: dict[str, list[Measured]] = {name: [] for name in ("load", *loops)}
        client: dict[str, Any] = {}
        for _ in range(options.rounds):
            measured, client = measure_load(options, users)
            found["load"].append(measured)
            for loop in loops:
                found[loop].append(measure_bare(options, users, loop))
        yield {"users": users, **compare(found), "client": client}


def compare(found: dict[str, list[Measured]]) -> dict[str, Any]:
    rates = {name: median(one.rate for one in every) for name, every in found.items()}
    load = rates["load"]
    return {
        "acks_per_s": {name: round(rate) for name, rate in rates.items()},
        "ratio": {name: round(load / rate, 3) for name, rate in rates.items() if name != "load"},
        "cpu_us": {name: round(median(one.cpu_us for one in every), 1) for name, every in found.items()},
        "rounds": {name: [round(one.rate) for one in every] for name, every in found.items()},
    }


@contextmanager
def endpoint(options: argparse.Namespace) -> Iterator[str]:
    """Give the endpoint asked for, or start what is behind one."""
    if options.endpoint:
        yield options.endpoint
    elif options.mock:
        with mock_brokers() as address:
            yield address
    else:
        with cluster(options) as address:
            yield address


@contextmanager
def cluster(options: argparse.Namespace) -> Iterator[str]:
    sandbox.enter()
    name = options.system
    spec = Cluster(name, wiring.version(name), CLUSTERS[name], jit=options.jit)
    with (
        tempfile.TemporaryDirectory() as folder,
        running(spec, Path(folder, "nodes"), Path(folder, "logs")) as live,
    ):
        live.admin.create_topic(Topic(options.topic, options.partitions, COPIES[name]))
        yield live.endpoint


@contextmanager
def mock_brokers() -> Iterator[str]:
    """Run librdkafka's mock cluster in a process of its own and give its address."""
    program = (
        "import sys; from confluent_kafka import Producer\n"
        "p = Producer({'bootstrap.servers': 'x', 'test.mock.num.brokers': 3, 'log_level': 0})\n"
        "b = p.list_topics(timeout=10).brokers.values()\n"
        "print(','.join(f'{x.host}:{x.port}' for x in b), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=-1, stdout=-1, stderr=-3, text=True
    ) as process:
        try:
            yield process.stdout.readline().strip()  # type: ignore[union-attr]
        finally:
            process.stdin.close()  # type: ignore[union-attr]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.perf.load_ratio")
    parser.add_argument("--system", choices=LOOPS, required=True)
    parser.add_argument("--endpoint", default="")
    parser.add_argument("--mock", action="store_true")
    parser.add_argument("--jit", type=Jit, default=Jit.DEFAULT)
    parser.add_argument("--topic", default="load-ratio")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--users", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm-up-rounds", type=int, default=3, help="for a cold JVM")
    parser.add_argument("--bare", help=argparse.SUPPRESS)
    parser.add_argument("--user-count", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if options.bare:
        print(json.dumps(run_bare(options)))  # noqa: T201
        return
    with endpoint(options) as options.endpoint:
        for result in measure(options):
            print(json.dumps(result), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
