"""One sample of every process of a trial, and one request to every server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

from bench import durable_files
from bench.model import NANOS, Node
from bench.systems.server_metrics import Scrape
from bench.telemetry import host
from bench.telemetry.schema import CLIENT, COUNTERS, FAILED, MACHINE, PRODUCERS, SAMPLES, SCRAPED, SUITE
from bench.telemetry.scraping import MetricsScraper

_TURN_S = 0.1
"""Servers are asked one after the other: seven at once fill two cores for a moment, and sends wait for tens of ms. One
that does not answer holds the others up for so long at most."""
_PATIENCE_S = 2.0
_CLIENT_FIGURES = {"loop_lag_s": "loop_lag_ns", "recorder_backlog": "recorder_backlog", "open_sends": "open"}
"""What the load process tells in its progress; times are in nanoseconds there."""


@dataclass(frozen=True, slots=True)
class WatchedProcesses:
    """Who is looked at: servers with their process ids as they are now, load processes, the disk below `folder`.

    `neighbours` are processes of clusters beside this one: what they take is other work. `data` are the folders of
    servers whose size is looked at.
    """

    servers: Sequence[Node]
    pids: Callable[[], Mapping[str, int]]
    scrapes: Mapping[str, Scrape]
    clients: Mapping[str, int]
    folder: Path
    neighbours: Callable[[], Collection[int]] = tuple
    data: Mapping[str, Path] = field(default_factory=dict)


class Sample(NamedTuple):
    """One figure of one node at one time, in the order of SAMPLES but for the slice."""

    at_ns: int
    node: str
    role: str
    metric: str
    value: float
    counter: bool


class Observer:
    """Looks at processes and the machine, and asks servers for their figures; a context manager."""

    def __init__(self, watched: WatchedProcesses, keep: Callable[[list[Sample]], None]) -> None:
        """Hand samples to `keep`; answers of servers come from threads of its own."""
        self._watched = watched
        self._keep = keep
        self._roles = {node.name: node.role for node in watched.servers}
        self._scrapers = {name: MetricsScraper(scrape) for name, scrape in watched.scrapes.items()}
        self._answers: dict[str, Future[None]] = {}
        self._turn = threading.Semaphore()

    def __enter__(self) -> Self:
        """Begin."""
        self._disk = host.DiskOf(self._watched.folder)
        self._http = httpx.Client(
            timeout=_PATIENCE_S, trust_env=False
        )  # no proxy knows the sandbox's addresses
        self._pool = ThreadPoolExecutor(max(1, len(self._scrapers)), "scrape")
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for what servers were asked, as long as for any answer."""
        self._pool.shutdown(wait=True)
        self._http.close()

    def look(self) -> None:
        """Look at everybody at one time: a start or end that fell between two looks would tear them apart."""
        at_ns = time.monotonic_ns()
        samples: list[Sample] = []
        for name, pid in self._watched.pids().items():
            if name in self._roles:
                samples += _samples(at_ns, name, self._roles[name], host.process(pid, network=True))
        for name, scraper in self._scrapers.items():
            samples += _samples(at_ns, name, self._roles[name], [(SCRAPED, scraper.received_bytes)])
        for name, pid in self._watched.clients.items():
            samples += _samples(at_ns, name, CLIENT, host.process(pid, network=False))
        watched_pids = {*self._watched.pids().values(), *self._watched.clients.values()}
        for pid in host.own_processes({*watched_pids, *self._watched.neighbours()}):
            samples += _samples(at_ns, f"{SUITE} {pid}", SUITE, host.process(pid, network=False))
        samples += _samples(at_ns, MACHINE, MACHINE, [*host.machine(), *self._disk.read()])
        for name, folder in self._watched.data.items():
            samples += _samples(at_ns, name, self._roles[name], [("stored_bytes", host.stored_bytes(folder))])
        self._keep(samples)

    def ask(self) -> None:
        """Ask every server that is not still being asked; do not wait for the answers."""
        for name in self._scrapers:
            if name not in self._answers or self._answers[name].done():
                self._answers[name] = self._pool.submit(self._answer, name)

    def ask_and_wait(self) -> None:
        """Ask every server, and wait for the answers."""
        self.ask()
        wait(self._answers.values())

    def _answer(self, name: str) -> None:
        has_turn = self._turn.acquire(timeout=_TURN_S)
        asked_ns = time.monotonic_ns()
        try:
            values = self._scrapers[name].ask(self._http)
        except (httpx.HTTPError, ValueError):
            values = []
        finally:
            if has_turn:
                self._turn.release()
        self._keep(_samples(asked_ns, name, self._roles[name], values or [(FAILED, 1.0)]))


def client_samples(figures: Mapping[str, Any]) -> list[Sample]:
    """Return what the load process tells of itself in its progress."""
    values = {
        name: figures[key] / (NANOS if key.endswith("_ns") else 1) for name, key in _CLIENT_FIGURES.items()
    }
    return _samples(figures["at_ns"], PRODUCERS, CLIENT, values.items())


def write_samples(file: Path, samples: Iterable[tuple[Sample, int]]) -> None:
    """Write samples, each with its slice, in the columns of SAMPLES; the file appears whole or not at all."""
    columns = zip(*((*sample, number) for sample, number in sorted(samples)), strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, SAMPLES.types, strict=True)]
    file.parent.mkdir(parents=True, exist_ok=True)
    with durable_files.replace_file(file) as hidden:
        pq.write_table(pa.table(arrays, schema=SAMPLES), hidden)


def _samples(at_ns: int, node: str, role: str, values: Iterable[tuple[str, float]]) -> list[Sample]:
    return [Sample(at_ns, node, role, metric, float(value), metric in COUNTERS) for metric, value in values]
