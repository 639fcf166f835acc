"""The thread that looks: at processes and the machine once a second, at the servers' own figures less often."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

from bench.model import NANOS, Node
from bench.systems.scraped import Scrape
from bench.telemetry import host
from bench.telemetry.rhythm import Around, Rhythm
from bench.telemetry.schema import CLIENT, COUNTERS, FAILED, MACHINE, PRODUCERS, SAMPLES, SCRAPED, SUITE
from bench.telemetry.scraping import Reader

_LOOK_S = 1.0
_SCRAPE_S, _SCRAPE_SELDOM_S = 5.0, 30.0
"""A scrape takes some 10 ms of CPU on each server, and sends that come meanwhile wait: seven in a row are the longest
hundredth of a window of 15 s."""
_LOOK_TAKES_S = 0.2
_SCRAPE_TAKES_S = 0.6
_TURN_S = 0.1
"""Servers are asked one after the other: seven at once fill two cores for a moment, and sends wait for tens of ms. One
that does not answer holds the others up for so long at most."""
_PATIENCE_S = 2.0
_CLIENT_FIGURES = {"loop_lag_s": "loop_lag_ns", "recorder_backlog": "recorder_backlog", "open_sends": "open"}
"""What the load process tells in its progress; times are in nanoseconds there."""


@dataclass(frozen=True, slots=True)
class Watched:
    """Who is looked at: servers with their process ids as they are now, load processes, the disk below `folder`."""

    servers: Sequence[Node]
    pids: Callable[[], Mapping[str, int]]
    scrapes: Mapping[str, Scrape]
    clients: Mapping[str, int]
    folder: Path


class Sampler:
    """Looks from `with` to its end, then writes what it saw to a file, in the columns of SAMPLES.

    It looks at the window's start and shortly before its end, once `told` of them, and in its rhythm between; so every
    window has two samples, however short. Servers are asked for their figures likewise with `often`, for what changes
    within the window; else shortly before it and once it is over, where that disturbs nothing that is measured.
    """

    def __init__(self, watched: Watched, file: Path, *, often: bool) -> None:
        """Nothing is looked at before `with`."""
        self._watched = watched
        self._file = file
        self._rows: list[tuple[int, str, str, str, float, bool]] = []
        self._roles = {node.name: node.role for node in watched.servers}
        self._readers = {name: Reader(scrape) for name, scrape in watched.scrapes.items()}
        self._asked: dict[str, Future[None]] = {}
        self._turn = threading.Semaphore()
        self._looks = Rhythm(_LOOK_S, _LOOK_TAKES_S)
        self._scrapes: Rhythm | Around
        self._scrapes = (
            Rhythm(_SCRAPE_S, _SCRAPE_TAKES_S) if often else Around(_SCRAPE_SELDOM_S, _SCRAPE_TAKES_S)
        )
        self._changed = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._disk = host.DiskOf(self._watched.folder)
        self._http = httpx.Client(
            timeout=_PATIENCE_S, trust_env=False
        )  # no proxy knows the sandbox's addresses
        self._pool = ThreadPoolExecutor(max(1, len(self._readers)), "scrape")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End and write; what a server has been asked by then is waited for, as long as for any answer."""
        self._over = True
        self._changed.set()
        self._thread.join()
        self._look()
        if self._scrapes.open:
            self._scrape()
        self._pool.shutdown(wait=True)
        self._http.close()
        self._write()

    def told(self, figures: Mapping[str, Any]) -> None:
        """Take what the load process tells of itself, and when its window is."""
        start_ns, end_ns = figures["start_ns"], figures["end_ns"]
        if not self._looks.knows(start_ns):
            self._looks.window(start_ns, end_ns)
            self._scrapes.window(start_ns, end_ns)
            self._changed.set()
        values = {
            name: figures[told] / (NANOS if told.endswith("_ns") else 1)
            for name, told in _CLIENT_FIGURES.items()
        }
        self._keep(figures["at_ns"], PRODUCERS, CLIENT, values.items())

    def _run(self) -> None:
        while not self._over:
            self._changed.clear()
            now_ns = time.monotonic_ns()
            if self._looks.is_due(now_ns):
                self._look()
            if self._scrapes.is_due(now_ns):
                self._scrape()
            due_ns = min(self._looks.due_ns, self._scrapes.due_ns)
            self._changed.wait(max(0, due_ns - time.monotonic_ns()) / NANOS)

    def _look(self) -> None:
        """Look at everybody: at one time, as a window's start or end that fell between two would tear them apart."""
        at_ns = time.monotonic_ns()
        for name, pid in self._watched.pids().items():
            if name in self._roles:
                self._keep(at_ns, name, self._roles[name], host.process(pid, network=True))
        for name, reader in self._readers.items():
            self._keep(at_ns, name, self._roles[name], [(SCRAPED, reader.received_bytes)])
        for name, pid in self._watched.clients.items():
            self._keep(at_ns, name, CLIENT, host.process(pid, network=False))
        for pid in host.own_processes({*self._watched.pids().values(), *self._watched.clients.values()}):
            self._keep(at_ns, f"{SUITE} {pid}", SUITE, host.process(pid, network=False))
        self._keep(at_ns, MACHINE, MACHINE, [*host.machine(), *self._disk.read()])

    def _scrape(self) -> None:
        """Ask every server that is not still being asked."""
        for name in self._readers:
            if name not in self._asked or self._asked[name].done():
                self._asked[name] = self._pool.submit(self._ask, name)

    def _ask(self, name: str) -> None:
        alone = self._turn.acquire(timeout=_TURN_S)
        asked_ns = time.monotonic_ns()
        try:
            values = self._readers[name].ask(self._http)
        except (httpx.HTTPError, ValueError):
            values = []
        finally:
            if alone:
                self._turn.release()
        self._keep(asked_ns, name, self._roles[name], values or [(FAILED, 1.0)])

    def _keep(self, at_ns: int, node: str, role: str, values: Iterable[tuple[str, float]]) -> None:
        self._rows.extend(
            (at_ns, node, role, metric, float(value), metric in COUNTERS) for metric, value in values
        )

    def _write(self) -> None:
        columns = zip(*sorted(self._rows), strict=True)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, SAMPLES.types, strict=True)]
        self._file.parent.mkdir(parents=True, exist_ok=True)
        hidden = self._file.with_name(f".{self._file.name}")
        pq.write_table(pa.table(arrays, schema=SAMPLES), hidden)
        hidden.rename(self._file)
