"""What readers of steps found, and bytes on disk: event logs of a few rows, worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.analysis import analyse
from bench.columns import READING_METRICS
from tests.eventlog import RECEIVES, TrialLog, read_back, receive, sample, seconds, send, write_run

Row = dict[str, Any]

_STEPS: list[Row] = [
    {"name": "begins", "kind": "subscribe", "group": "away", "asked_ns": seconds(1), "effect_ns": seconds(1)},
    {
        "name": "first reads",
        "kind": "consume",
        "group": "first",
        "received": 4,
        "reason": None,
        "asked_ns": seconds(10),
        "effect_ns": seconds(12),
    },
    {
        "name": "comes back",
        "kind": "consume",
        "group": "away",
        "received": 0,
        "reason": "It was refused.",
        "asked_ns": seconds(20),
        "effect_ns": None,
    },
]


def ms(count: float) -> int:
    """Milliseconds in ns."""
    return round(count * 1_000_000)


def _sent() -> list[Row]:
    """Sent at 5, 6, 7 and 8 s; 2 is acknowledged after the first reading began, 3 is refused."""
    rows = [send(number, seconds(5 + number), seconds(5.5 + number)) for number in range(4)]
    rows[2]["done_ns"] = seconds(11)
    rows[3] |= {"outcome": "fail", "error": "REFUSED"}
    return rows


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """At the end only 1 and 2 are there. `first` read 0 twice, 3 and a stranger; `away` nothing."""
    sent = _sent()
    sizes = {6: (100.0, 50.0), 9: (300.0, 50.0), 30: (20.0, 10.0)}
    disk = [
        sample(at_s, node, "stored_bytes", size, counter=False)
        for at_s, of_nodes in sizes.items()
        for node, size in zip(("broker-1", "broker-2"), of_nodes, strict=True)
    ]
    disk += [
        sample(at_s, node, metric, value, role="client" if node == "producers" else "broker", counter=False)
        for at_s, node, metric, value in (
            (6, "broker-1", "rss_bytes", 500.0),
            (6, "controller-1", "rss_bytes", 100.0),
            (6, "producers", "rss_bytes", 9_000.0),
            (9, "broker-1", "rss_bytes", 450.0),
            (9, "controller-1", "rss_bytes", 250.0),
            (6, "broker-1", "open_files", 70.0),
            (9, "broker-1", "open_files", 60.0),
        )
    ]
    trial = TrialLog(
        sent, read_back(sent[1:3]), samples=disk, window=(seconds(5), seconds(9)), others={"faults": _STEPS}
    )
    folder = write_run(tmp_path_factory.mktemp("readings") / "run", [trial])
    read = [
        receive("group", row, seconds(11)) for row in (sent[0], sent[0], sent[3], sent[0] | {"sequence": 99})
    ]
    reads = folder / "trials" / "0000" / "reads" / "first-reads"
    reads.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(read, RECEIVES), reads / "group-0-0000.parquet")
    analyse(folder)
    return folder


def test_readings(run: Path) -> None:
    """Before 10 s, 0 and 1 were acknowledged, and `first` has 0; before 20 s, 2 was too, and `away` has none.

    Times count from the first send, at 5 s: 1 was sent at 1 s, 0 at 0 s and 2 at 2 s of that.
    """
    first, back = pq.read_table(run / "results" / "readings.parquet").to_pylist()

    assert first == {
        "trial": 0,
        "reading": "first reads",
        "group": "first",
        "asked_ns": seconds(5),
        "received": 4,
        "acked": 2,
        "found": 1,
        "missing": 1,
        "missing_first_ns": seconds(1),
        "missing_last_ns": seconds(1),
        "reason": None,
        **dict.fromkeys(READING_METRICS[2:]),
    }
    assert back == {
        "trial": 0,
        "reading": "comes back",
        "group": "away",
        "asked_ns": seconds(15),
        "received": 0,
        "acked": 3,
        "found": 0,
        "missing": 3,
        "missing_first_ns": 0,
        "missing_last_ns": seconds(2),
        "reason": "It was refused.",
        **dict.fromkeys(READING_METRICS[2:]),
    }


def test_a_read_beside_the_load_has_the_times_before_it_and_while_it_read(tmp_path: Path) -> None:
    """400 sends, one every 10 ms; the reader begins at 2 s and has its last message at 3 s.

    Before, 4 of 200 take 9 ms and the others 2 ms: the 99th percentile is the 198th, 9 ms. While it reads, 100 sends,
    2 take 40 ms and the others 6 ms: the 99th percentile is the 99th, 40 ms. A live consumer has each 1 ms later.
    Broker 1 reads 100 bytes from 1.5 to 2.5 s and 200 from 2.5 to 3.5 s, broker 2 reads 1 from 1.9 to 2.9 s and 3 from
    2.9 to 3.1 s: 304 bytes.
    """
    slow = {10: 9, 20: 9, 30: 9, 40: 9, 210: 40, 220: 40}
    sent = [
        send(number, ms(10 * number), ms(10 * number + slow.get(number, 2 if number < 200 else 6)))
        for number in range(400)
    ]
    step = {"name": "cold read", "kind": "read", "asked_ns": seconds(2), "effect_ns": seconds(2.1)}
    step |= {"received": 2, "complete": True, "stalls": [], "reason": None}
    live = [receive("live", row, row["done_ns"] + ms(1)) for row in sent]
    disk = [
        sample(at_s, node, "disk_read_bytes", value, role="client" if node == "producers" else "broker")
        for at_s, node, value in (
            *(
                (0.5, "broker-1", 10.0),
                (1.5, "broker-1", 20.0),
                (2.5, "broker-1", 120.0),
                (3.5, "broker-1", 320.0),
            ),
            *(
                (1.9, "broker-2", 5.0),
                (2.9, "broker-2", 6.0),
                (3.1, "broker-2", 9.0),
                (3.9, "broker-2", 1009.0),
            ),
            *((1.5, "producers", 0.0), (2.5, "producers", 7_000.0)),
        )
    ]
    trial = TrialLog(
        sent, [*live, *read_back(sent)], samples=disk, window=(0, seconds(4)), others={"faults": [step]}
    )
    folder = write_run(tmp_path / "run", [trial])
    reads = folder / "trials" / "0000" / "reads" / "cold-read"
    reads.mkdir(parents=True)
    read = [receive("verify", sent[number], seconds(2 + number)) for number in (0, 1)]
    pq.write_table(pa.Table.from_pylist(read, RECEIVES), reads / "verify-0-0000.parquet")

    analyse(folder)

    (row,) = pq.read_table(folder / "results" / "readings.parquet").to_pylist()
    assert (row["send_p99_before_ns"], row["send_p99_during_ns"]) == (ms(9), ms(40))
    assert (row["e2e_p99_before_ns"], row["e2e_p99_during_ns"]) == (ms(10), ms(41))
    assert row["send_slowdown"] == pytest.approx(40 / 9)
    assert row["e2e_slowdown"] == pytest.approx(4.1)
    assert row["disk_read_bytes"] == 304


def test_bytes_on_disk_are_added_up_over_servers(run: Path) -> None:
    (trial,) = pq.read_table(run / "results" / "trials.parquet").to_pylist()

    assert (trial["stored_most_bytes"], trial["stored_last_bytes"]) == (350, 30)
    assert trial["lost"] == 1


def test_memory_and_open_files_are_the_most_that_all_servers_had_together(run: Path) -> None:
    """500 + 100 bytes of memory at 6 s, 450 + 250 at 9 s; what the load takes is no server's."""
    (trial,) = pq.read_table(run / "results" / "trials.parquet").to_pylist()

    assert (trial["servers_rss_bytes"], trial["servers_open_files"]) == (700, 70)
