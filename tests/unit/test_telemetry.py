import hashlib
import os
import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from types import SimpleNamespace
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

from bench.model import NANOS, Node
from bench.systems.server_metrics import Scrape, Series
from bench.telemetry import CONSUMERS, PRODUCERS, Sampler, SliceSampler, WatchedProcesses, host
from bench.telemetry.rhythm import AroundWindow, Rhythm
from bench.telemetry.schema import FAILED, MACHINE, SUITE
from bench.telemetry.scraping import MetricsScraper

TEXT = """\
# HELP jvm_memory_bytes_used Used bytes of a given JVM memory area.
# TYPE jvm_memory_bytes_used gauge
jvm_memory_bytes_used{area="heap",} 5.7E7
jvm_memory_bytes_used{area="nonheap",} 8979304.0
journal_sync_count{success="true", journalIndex="0"} 200
journal_sync_count{success="true", journalIndex="1"} 100
journal_sync_count{success="false", journalIndex="0"} 7
journal_sync_count_other{success="true"} 1000000
produce_ms_mean 2.5
produce_ms_count 400.0
idle_ms_mean NaN
idle_ms_count 0
"""


def read(**series: tuple[Series, ...]) -> dict[str, float]:
    return dict(MetricsScraper(Scrape("http://nobody", series)).read(TEXT))


def test_series_of_the_labels_asked_for_are_added_up() -> None:
    assert read(flushes=(Series("journal_sync_count", {"success": "true"}),)) == {"flushes": 300.0}
    assert read(heap=(Series("jvm_memory_bytes_used", {"area": "heap"}),)) == {"heap": 5.7e7}


def test_several_series_make_one_figure() -> None:
    both = (Series("produce_ms_count"), Series("journal_sync_count", {"success": "false"}))

    assert read(changes=both) == {"changes": 407.0}


def test_a_mean_times_its_count_is_a_sum() -> None:
    series = (Series("produce_ms_mean", times="produce_ms_count", scale=0.001),)

    assert read(request_s=series) == {"request_s": pytest.approx(1.0)}
    assert read(request_s=(Series("idle_ms_mean", times="idle_ms_count"),)) == {"request_s": 0.0}


def test_what_a_server_does_not_show_is_left_out() -> None:
    assert read(nothing=(Series("not_there"),), half=(Series("produce_ms_mean", times="not_there"),)) == {}


def web(answers: dict[str, httpx.Response]) -> httpx.Client:
    return httpx.Client(transport=httpx.MockTransport(lambda request: answers[request.url.path]))


def test_a_list_counts_by_its_length_and_is_empty_where_it_is_not_found() -> None:
    scrape = Scrape(
        "http://a/metrics",
        {"requests": (Series("produce_ms_count"),)},
        {"under_replicated": "http://a/ledgers", "none": "http://a/gone"},
    )
    answers = {
        "/metrics": httpx.Response(200, text=TEXT),
        "/ledgers": httpx.Response(200, json=[3, 7]),
        "/gone": httpx.Response(404, text="No under replicated ledgers found"),
    }

    with web(answers) as http:
        assert MetricsScraper(scrape).ask(http) == [
            ("requests", 400.0),
            ("under_replicated", 2),
            ("none", 0.0),
        ]


def test_a_server_that_refuses_has_no_figures() -> None:
    with web({"/metrics": httpx.Response(503)}) as http, pytest.raises(httpx.HTTPStatusError):
        MetricsScraper(Scrape("http://a/metrics", {}, {"under_replicated": "http://a/ledgers"})).ask(http)


@pytest.mark.parametrize("refusal", [httpx.Response(503), httpx.Response(200, text="no list")])
def test_a_list_that_a_server_cannot_give_leaves_its_own_figures(refusal: httpx.Response) -> None:
    """As a bookie's, whose list of ledgers is in a ZooKeeper that is gone."""
    answers = {"/metrics": httpx.Response(200, text=TEXT), "/ledgers": refusal}
    scrape = Scrape(
        "http://a/metrics",
        {"flushes": (Series("journal_sync_count", {"success": "true"}),)},
        {"under_replicated": "http://a/ledgers"},
    )

    with web(answers) as http:
        assert [common for common, _ in MetricsScraper(scrape).ask(http)] == ["flushes"]


def test_a_rhythm_without_a_window_is_even() -> None:
    rhythm = Rhythm(1.0, 0.1)
    begun = rhythm.due_ns

    assert rhythm.is_due(begun)
    assert not rhythm.is_due(begun + NANOS - 1)
    assert rhythm.is_due(begun + NANOS)


@pytest.mark.parametrize(("length_s", "expected"), [(3.0, 2), (8.0, 3), (10.4, 3), (0.2, 2)])
def test_a_window_is_looked_at_at_its_start_and_before_its_end(length_s: float, expected: int) -> None:
    rhythm = Rhythm(5.0, 0.4)
    start = time.monotonic_ns() + 10 * NANOS
    end = start + round(length_s * NANOS)
    rhythm.window(start, end)
    looks = []
    now = start - 3 * NANOS
    while now < end:
        if rhythm.is_due(now):
            looks.append(now)
        now = max(now + 1, rhythm.due_ns)

    inside = [look for look in looks if look >= start]
    assert inside[0] == start
    assert expected <= len(inside) <= expected + 1
    assert 0 < end - inside[-1] <= 0.41 * NANOS


@pytest.mark.parametrize(
    ("length_s", "expected"), [(0.2, [-0.6, 0.2]), (20.0, [-0.6, 20.0]), (60.0, [-0.6, 30.0, 60.0])]
)
def test_a_look_around_a_window_is_not_in_it(length_s: float, expected: list[float]) -> None:
    around = AroundWindow(30.0, 0.6)
    assert not around.is_due(time.monotonic_ns() + 3600 * NANOS)  # there is no window yet
    start = time.monotonic_ns() + 10 * NANOS
    around.window(start, start + round(length_s * NANOS))
    looks, now = [], start - 3 * NANOS
    while around.open:
        now = max(now, around.due_ns)
        assert around.is_due(now)
        looks.append((now - start) / NANOS)

    assert looks == pytest.approx(expected)


def test_a_look_around_a_window_whose_end_is_not_known_stays_to_be_made() -> None:
    around = AroundWindow(30.0, 0.6)
    start = time.monotonic_ns() - NANOS
    around.window(start, None)

    assert around.is_due(around.due_ns)
    assert around.due_ns == start + 30 * NANOS
    assert around.open


def test_a_window_that_comes_late_is_looked_at_at_once() -> None:
    rhythm = Rhythm(5.0, 0.4)
    now = time.monotonic_ns()
    assert rhythm.is_due(now)

    rhythm.window(now + NANOS, None)

    assert rhythm.due_ns == now + NANOS


def test_the_loopback_is_no_traffic_of_a_node() -> None:
    table = (
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls\n"
        "    lo: 1000 1 0 0 0 0 0 0 1000 1 0 0 0 0 0 0\n"
        "  eth0: 5000 9 0 0 0 0 0 0 7000 8 0 0 0 0 0 0\n"
    )

    assert host._network(table) == (5000, 7000)


def test_a_process_that_has_gone_shows_nothing() -> None:
    assert list(host.process(2**22 + 1, network=False)) == []


def test_a_sampler_writes_what_processes_machine_and_client_did(tmp_path: Path) -> None:
    watched = WatchedProcesses([], dict, {}, {PRODUCERS: os.getpid(), CONSUMERS: 2**22 + 1}, tmp_path)
    file = tmp_path / "telemetry" / "samples.parquet"
    now_ns = time.monotonic_ns()
    told = {
        "at_ns": now_ns,
        "start_ns": now_ns + NANOS // 10,
        "end_ns": now_ns + NANOS,
        "open": 3,
        "loop_lag_ns": 5_000_000,
        "recorder_backlog": 0,
    }
    block = bytes(1_000_000)

    begun_s = time.process_time()
    with Sampler(watched, file, often=False) as sampler:
        sampler.take_progress(told)
        until = time.monotonic() + 1.2
        while time.monotonic() < until or time.process_time() < begun_s + 0.3:
            hashlib.sha256(block)  # works without the interpreter's lock: the sampler is not held up
    burnt_s = time.process_time() - begun_s

    rows = pq.read_table(file).to_pylist()
    assert [row["at_ns"] for row in rows] == sorted(row["at_ns"] for row in rows)
    spent = [row["value"] for row in rows if (row["node"], row["metric"]) == (PRODUCERS, "cpu_s")]
    assert len(spent) >= 3
    assert 0 < spent[-1] - spent[0] <= burnt_s + 0.02  # the kernel counts in hundredths
    looks, of_process = (
        {row["at_ns"] for row in rows if row["node"] == node and row["at_ns"] != now_ns}
        for node in (MACHINE, f"{SUITE} {os.getpid()}")
    )
    assert looks == of_process
    figures = {row["metric"]: row for row in rows if row["at_ns"] == now_ns}
    assert figures["loop_lag_s"]["value"] == pytest.approx(0.005)
    assert not figures["open_sends"]["counter"]
    assert {"cpu_busy_s", "cores"} <= {row["metric"] for row in rows if row["node"] == MACHINE}
    assert {row["node"] for row in rows if row["role"] != SUITE} == {PRODUCERS, MACHINE}
    assert f"{SUITE} {os.getpid()}" in {row["node"] for row in rows}


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now_ns = 0

    def monotonic_ns(self) -> int:
        return self.now_ns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("bench.telemetry.sampler.time", made)
    monkeypatch.setattr("bench.telemetry.observer.time", made)
    monkeypatch.setattr("bench.telemetry.rhythm.time", made)
    return made


class Counting(BaseHTTPRequestHandler):
    """Shows how often it was asked."""

    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"asked_total {self.asked}\n".encode())

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[WatchedProcesses]:
    """This process as a server that shows a counter, and another server that has no open port."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Fresh", (Counting,), {}))
    thread = Thread(target=server.serve_forever)
    thread.start()
    series = {"requests": (Series("asked_total"),)}
    yield WatchedProcesses(
        servers=[Node(name, "broker", "", (), Path(), Path(), (), 0) for name in ("broker-1", "broker-2")],
        pids=lambda: {"broker-1": os.getpid()},
        scrapes={
            "broker-1": Scrape(f"http://127.0.0.1:{server.server_port}/metrics", series),
            "broker-2": Scrape(f"http://127.0.0.1:{port}/metrics", series),
        },
        clients={},
        folder=tmp_path,
    )
    server.shutdown()
    server.server_close()
    thread.join()


def await_scrapes(sampler: Sampler, times: int) -> None:
    """Wait until both servers have been asked so often."""
    deadline = time.monotonic() + 60
    while not all(asked.done() for asked in list(sampler._observer._answers.values())) or times > sum(
        row[3] in {"requests", FAILED} for row in list(sampler._rows)
    ) // len(sampler._observer._scrapers):
        assert time.monotonic() < deadline, sampler._rows
        time.sleep(0.005)


def test_servers_are_scraped_at_the_windows_start_and_before_its_end(
    watched: WatchedProcesses, clock: Clock, tmp_path: Path
) -> None:
    told: dict[str, Any] = dict.fromkeys(("at_ns", "open", "loop_lag_ns", "recorder_backlog"), 0)
    window = {"start_ns": 10 * NANOS, "end_ns": 12 * NANOS}
    begun = time.monotonic()

    with Sampler(watched, tmp_path / "samples.parquet", often=True) as sampler:
        await_scrapes(sampler, 1)
        sampler.take_progress(told | window)
        for times, at_s in ((2, 10.0), (3, 11.6)):
            clock.now_ns = round(at_s * NANOS)
            sampler._changed.set()
            await_scrapes(sampler, times)

    took_s = time.monotonic() - begun
    rows = pq.read_table(tmp_path / "samples.parquet").to_pylist()
    found = [(row["at_ns"] / NANOS, row["node"], row["metric"], row["value"]) for row in rows]
    assert [row for row in found if row[2] in {"requests", FAILED}] == [
        (0.0, "broker-1", "requests", 1.0),
        (0.0, "broker-2", FAILED, 1.0),
        (10.0, "broker-1", "requests", 2.0),
        (10.0, "broker-2", FAILED, 1.0),
        (11.6, "broker-1", "requests", 3.0),
        (11.6, "broker-2", FAILED, 1.0),
    ]
    assert {row["metric"]: row["counter"] for row in rows if row["role"] == "broker"}.items() >= {
        ("requests", True),
        (FAILED, False),
        ("cpu_s", True),
        ("net_in_bytes", True),
    }
    assert {row["node"] for row in rows if row["metric"] == "cpu_s" and row["role"] == "broker"} == {
        "broker-1"
    }
    busy = [row["value"] for row in rows if (row["node"], row["metric"]) == (MACHINE, "cpu_busy_s")]
    (cores,) = {row["value"] for row in rows if row["metric"] == "cores"}
    assert 0 <= busy[-1] - busy[0] <= cores * took_s + 0.1


class Slow(BaseHTTPRequestHandler):
    """Takes a moment, or on /hangs until it is let go; tells how many were asking at once at most."""

    asking = most = 0
    let_go: Event
    counting = Lock()

    def do_GET(self) -> None:
        with self.counting:
            type(self).asking += 1
            type(self).most = max(self.most, self.asking)
        if self.path == "/hangs":
            self.let_go.wait(60)
        else:
            time.sleep(0.02)
        with self.counting:
            type(self).asking -= 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"asked_total 1\n")

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture
def slow() -> Iterator[tuple[type[Slow], str]]:
    class Own(Slow):
        """One of its own for each test."""

        let_go = Event()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield Own, f"http://127.0.0.1:{server.server_port}"
    Own.let_go.set()
    server.shutdown()
    server.server_close()
    thread.join()


def several(paths: list[str], home: str, folder: Path) -> WatchedProcesses:
    names = [f"broker-{number}" for number in range(len(paths))]
    return WatchedProcesses(
        servers=[Node(name, "broker", "", (), Path(), Path(), (), 0) for name in names],
        pids=dict,
        scrapes={
            name: Scrape(f"{home}{path}", {"requests": (Series("asked_total"),)})
            for name, path in zip(names, paths, strict=True)
        },
        clients={},
        folder=folder,
    )


def test_servers_that_do_not_change_are_asked_around_the_window_only(
    watched: WatchedProcesses, clock: Clock, tmp_path: Path
) -> None:
    """Shortly before it, and behind it: once the end has come, or where the load ended sooner than the next look."""
    told: dict[str, Any] = dict.fromkeys(("at_ns", "open", "loop_lag_ns", "recorder_backlog"), 0)

    for end_s, looks in ((12.0, [9.4, 12.0]), (None, [9.4])):
        clock.now_ns = 0
        with Sampler(watched, tmp_path / "samples.parquet", often=False) as sampler:
            sampler.take_progress(told | {"start_ns": 10 * NANOS, "end_ns": end_s and round(end_s * NANOS)})
            for times, at_s in enumerate(looks, 1):
                clock.now_ns = round(at_s * NANOS)
                sampler._changed.set()
                await_scrapes(sampler, times)
            clock.now_ns = 13 * NANOS

        rows = pq.read_table(tmp_path / "samples.parquet").to_pylist()
        asked = [row["at_ns"] / NANOS for row in rows if row["metric"] == "requests"]
        assert asked == (looks if end_s else [*looks, 13.0])


def test_servers_are_asked_one_after_the_other(slow: tuple[type[Slow], str], tmp_path: Path) -> None:
    made, home = slow

    with Sampler(
        several(["/metrics"] * 4, home, tmp_path), tmp_path / "samples.parquet", often=True
    ) as sampler:
        await_scrapes(sampler, 1)

    assert made.most == 1


def test_a_server_that_does_not_answer_holds_the_others_up_for_a_moment_only(
    slow: tuple[type[Slow], str], tmp_path: Path
) -> None:
    made, home = slow
    watched = several(["/hangs", "/metrics", "/metrics"], home, tmp_path)

    with Sampler(watched, tmp_path / "samples.parquet", often=True) as sampler:
        deadline = time.monotonic() + 60
        while sum(row[3] == "requests" for row in list(sampler._rows)) < 2:
            assert time.monotonic() < deadline, sampler._rows
            time.sleep(0.005)
        assert made.asking == 1
        made.let_go.set()


def test_the_machine_is_busy_with_all_but_idling_and_what_the_host_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = SimpleNamespace(user=1, nice=2, system=4, irq=8, softirq=16, idle=32, iowait=64, steal=128)
    monkeypatch.setattr("psutil.cpu_times", lambda: times)

    told = dict(host.machine())

    assert (told["cpu_busy_s"], told["cpu_steal_s"]) == (31, 128)


def test_who_waited_for_a_core_is_told_where_the_kernel_counts_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pressure = tmp_path / "cpu"
    pressure.write_text(
        "some avg10=66.80 avg60=68.66 avg300=60.66 total=9350056650\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
    )
    monkeypatch.setattr(host, "_PRESSURE", pressure)
    assert dict(host.machine())["cpu_waiting_s"] == pytest.approx(9350.05665)

    pressure.unlink()
    assert "cpu_waiting_s" not in dict(host.machine())


def disk_of(folder: Path) -> host.DiskOf:
    disk = host.DiskOf(folder)
    disk._stat = folder / "stat"
    return disk


def test_a_disk_counts_its_flushes_where_the_kernel_does(tmp_path: Path) -> None:
    disk = disk_of(tmp_path)
    columns = "10 0 16 5 20 0 32 7 0 1500 0 0 0 0 0"  # before Linux 5.5
    disk._stat.write_text(columns)
    assert dict(disk.read()) == {"disk_read_bytes": 16 * 512, "disk_write_bytes": 32 * 512, "disk_busy_s": 0}

    disk._stat.write_text(f"{columns} 33 250")
    told = dict(disk.read())
    assert (told["disk_flushes"], told["disk_flush_s"]) == (33, 0.25)


@pytest.mark.parametrize(("busy_ms", "expected_s"), [(2100, 0.6), (3400, 0.9)])
def test_a_disk_is_busy_for_no_longer_than_its_requests_took(
    tmp_path: Path, busy_ms: int, expected_s: float
) -> None:
    """Reads took 0.1 s, writes 0.3, discards and flushes 0.25 each: 0.9 in all."""
    disk = disk_of(tmp_path)
    disk._stat.write_text("10 0 16 5 20 0 32 7 0 1500 0 0 0 0 50 33 250")
    list(disk.read())

    disk._stat.write_text(f"10 0 16 105 20 0 32 307 0 {busy_ms} 0 0 0 0 300 33 500")
    assert dict(disk.read())["disk_busy_s"] == pytest.approx(expected_s)


def test_what_scrapes_bring_is_counted(watched: WatchedProcesses) -> None:
    reader = MetricsScraper(watched.scrapes["broker-1"])

    with httpx.Client(trust_env=False) as http:
        reader.ask(http)
        reader.ask(http)

    assert reader.received_bytes == len("asked_total 1\n" + "asked_total 2\n")


def test_a_slice_sampler_keeps_the_looks_of_each_trial_and_slice_apart(
    watched: WatchedProcesses, clock: Clock, tmp_path: Path
) -> None:
    """Servers are asked where a slice is scraped; what was seen around a neighbour's slice is the neighbour's."""
    slices = ((0, 0, True), (1, 0, True), (0, 1, False))
    progress = dict.fromkeys(("open", "loop_lag_ns", "recorder_backlog"), 1)

    with SliceSampler(watched) as sampler:
        sampler.rehearse()
        for place, (trial, number, scraped) in enumerate(slices):
            clock.now_ns = 10 * place
            sampler.look_before(trial, number, scraped=scraped)
            sampler.take_progress(trial, number, progress | {"at_ns": 10 * place + 1})
            clock.now_ns = 10 * place + 2
            sampler.look_after(trial, number, scraped=scraped)
        for trial in (0, 1, 2):
            sampler.write(trial, tmp_path / str(trial) / "samples.parquet", ())

    assert not (tmp_path / "2").exists()
    found = {trial: pq.read_table(tmp_path / str(trial) / "samples.parquet").to_pylist() for trial in (0, 1)}
    looks = {
        trial: [(row["at_ns"], row["slice"]) for row in rows if row["metric"] == "cpu_busy_s"]
        for trial, rows in found.items()
    }
    assert looks == {0: [(0, 0), (2, 0), (20, 1), (22, 1)], 1: [(10, 0), (12, 0)]}
    asked = {
        trial: [row["value"] for row in rows if row["metric"] == "requests"] for trial, rows in found.items()
    }
    assert asked == {0: [2.0, 3.0], 1: [4.0, 5.0]}
    told = [(row["at_ns"], row["slice"]) for row in found[0] if row["metric"] == "open_sends"]
    assert told == [(1, 0), (21, 1)]
