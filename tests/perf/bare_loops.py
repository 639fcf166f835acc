"""Bare client loops, as fast as Python lets them be: what load_ratio.py holds the load side against.

A loop does what one message needs and nothing else: no header, no record, no time stamp. Like the suite's clients
it goes round the partitions. For each line on standard input the process lets its users send for as many seconds as
the line says, after a short warm-up. It then prints [acks a second, microseconds of CPU an ack].
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from itertools import cycle
from typing import Any

from bench.model import Topic
from bench.systems.registry import client_side

WARM_UP_S = 0.3
MESSAGE_BYTES = 1000
PAYLOAD = bytes(MESSAGE_BYTES)


class Gate:
    """Lets users send, or keeps them; counts acks by user."""

    def __init__(self, users: int) -> None:
        self.acks = [0] * users
        self._open = threading.Event()

    def passes(self) -> bool:
        return self._open.is_set() or self._open.wait()

    def measure(self, seconds: float) -> tuple[float, float]:
        self._open.set()
        time.sleep(WARM_UP_S)
        start, cpu, before = time.monotonic(), time.process_time(), sum(self.acks)
        time.sleep(seconds)
        took, used, count = time.monotonic() - start, time.process_time() - cpu, sum(self.acks) - before
        self._open.clear()
        return count / took, used / max(count, 1) * 1e6


def kafka_client(endpoint: str) -> Any:
    from confluent_kafka import Producer  # noqa: PLC0415 - only where it is measured

    client = Producer({"bootstrap.servers": endpoint, "linger.ms": 0, "acks": "all"})
    client.list_topics(timeout=30)
    return client


def kafka_threads(options: argparse.Namespace, gate: Gate) -> list[Callable[[], None]]:
    """Give each user a thread and a client; it blocks until its ack is there."""

    def user(number: int, client: Any) -> None:
        partitions = cycle(range(options.partitions))
        waiting = [False]

        def done(error: object, _: object) -> None:
            waiting[0] = False
            gate.acks[number] += error is None

        while gate.passes():
            waiting[0] = True
            client.produce(options.topic, PAYLOAD, partition=next(partitions), on_delivery=done)
            while waiting[0]:
                client.poll(0.1)

    clients = [kafka_client(options.endpoint) for _ in range(options.users)]
    return [lambda n=n, c=c: user(n, c) for n, c in enumerate(clients)]  # type: ignore[misc]


def kafka_shared(options: argparse.Namespace, gate: Gate) -> list[Callable[[], None]]:
    """Give each user a thread; they share a client, which one more thread polls."""
    client = kafka_client(options.endpoint)
    partitions = cycle(range(options.partitions))

    def user(number: int) -> None:
        over = threading.Lock()
        over.acquire()

        def done(error: object, _: object) -> None:
            gate.acks[number] += error is None
            over.release()

        while gate.passes():
            client.produce(options.topic, PAYLOAD, partition=next(partitions), on_delivery=done)
            over.acquire()

    def poll() -> None:
        while True:
            client.poll(0.1)

    return [*(lambda n=n: user(n) for n in range(options.users)), poll]


def kafka_single(options: argparse.Namespace, gate: Gate) -> list[Callable[[], None]]:
    """Keep as many messages open as there are users, from one thread; nobody waits for a message of his own."""
    client = kafka_client(options.endpoint)
    partitions = cycle(range(options.partitions))
    open_sends = [0]

    def done(error: object, _: object) -> None:
        open_sends[0] -= 1
        gate.acks[0] += error is None

    def run() -> None:
        while gate.passes():
            while open_sends[0] < options.users:
                open_sends[0] += 1
                client.produce(options.topic, PAYLOAD, partition=next(partitions), on_delivery=done)
            client.poll(0.1)

    return [run]


def pulsar_threads(options: argparse.Namespace, gate: Gate) -> list[Callable[[], None]]:
    """Give each user a thread and a producer; it blocks until its ack is there."""
    create = pulsar_create(options)
    return pulsar_users([create() for _ in range(options.users)], gate)


def pulsar_shared(options: argparse.Namespace, gate: Gate) -> list[Callable[[], None]]:
    """Give each user a thread; they share a producer, in which each blocks until its ack is there."""
    return pulsar_users([pulsar_create(options)()] * options.users, gate)


def pulsar_create(options: argparse.Namespace) -> Callable[[], Any]:
    import pulsar  # noqa: PLC0415 - only where it is measured

    from bench.systems.pulsar import topics  # noqa: PLC0415

    client = pulsar.Client(options.endpoint, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    topic = topics.full_name(Topic(options.topic, options.partitions))
    return lambda: client.create_producer(topic, batching_enabled=False)


def pulsar_users(producers: list[Any], gate: Gate) -> list[Callable[[], None]]:
    def user(number: int, producer: Any) -> None:
        while gate.passes():
            producer.send(PAYLOAD)
            gate.acks[number] += 1

    return [lambda n=n, p=p: user(n, p) for n, p in enumerate(producers)]  # type: ignore[misc]


def twin_single(options: argparse.Namespace, gate: Gate) -> list[Callable[[], None]]:
    """Do the same as `kafka_single` on this project's own client."""
    topic = Topic(options.topic, options.partitions)
    system = client_side(options.system, options.endpoint)
    (producer,) = system.producers(options.endpoint, topic, {}, 1, max(2, options.users)).clients
    open_sends = [0]

    def done(_: object) -> None:
        open_sends[0] -= 1
        gate.acks[0] += 1

    def run() -> None:
        while gate.passes():
            while open_sends[0] < options.users:
                open_sends[0] += 1
                producer.send(PAYLOAD, done)
            producer.poll(0.1)

    return [run]


Loop = Callable[[argparse.Namespace, Gate], list[Callable[[], None]]]
LOOPS: dict[str, dict[str, Loop]] = {
    "kafka": {"threads": kafka_threads, "shared": kafka_shared, "single": kafka_single},
    "pulsar": {"threads": pulsar_threads, "shared": pulsar_shared, "single": twin_single},
    "memory": {"single": twin_single},
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.perf.bare_loops")
    parser.add_argument("--system", choices=LOOPS, required=True)
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--users", type=int, required=True)
    parser.add_argument("loop")
    options = parser.parse_args()
    gate = Gate(options.users)
    for work in LOOPS[options.system][options.loop](options, gate):
        threading.Thread(target=work, daemon=True).start()
    for line in sys.stdin:
        print(json.dumps(gate.measure(float(line))), flush=True)  # noqa: T201
    os._exit(0)  # the client libraries may abort in an orderly exit


if __name__ == "__main__":
    main()
