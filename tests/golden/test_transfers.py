"""What a drain and a rebalance under load took, worked out by hand: one drain of 3 s, one rebalance of 2 s."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest

from bench.analysis import analyse
from tests.eventlog import TrialLog, read_back, sample, seconds, send, write_run

Row = dict[str, Any]


def ms(count: float) -> int:
    """Milliseconds in ns."""
    return round(count * 1_000_000)


STEPS: list[Row] = [
    {
        "name": "drained",
        "kind": "drain",
        "nodes": ["broker-3"],
        "asked_ns": ms(10_500),
        "effect_ns": ms(13_500),
    },
    {"name": "spread again", "kind": "rebalance", "asked_ns": ms(15_000), "effect_ns": ms(17_000)},
]


def service_ms(number: int) -> int:
    """11 of the 1,050 sends before 10.5 s take 9 ms, 4 of the 300 until 13.5 s take 40 ms; others 2 and 6 ms."""
    if number < 1050:
        return 9 if number < 11 else 2
    return 40 if 1100 <= number < 1104 else 6


def received() -> list[Row]:
    """Each of two brokers gets 1,000 bytes a second, broker-1 3,000 from 10 s to 14 s; a controller does not count."""
    looks = []
    for at_s in range(21):
        more = 2_000 * max(0, min(at_s, 14) - 10)
        looks += [
            sample(at_s, "broker-1", "net_in_bytes", 1_000 * at_s + more),
            sample(at_s, "broker-2", "net_in_bytes", 1_000 * at_s),
            sample(at_s, "controller-1", "net_in_bytes", 9_000 * max(0, at_s - 10), role="controller"),
        ]
    return looks


@pytest.fixture(scope="module")
def transfers(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    sent = [send(number, ms(10 * number), ms(10 * number + service_ms(number))) for number in range(2000)]
    trial = TrialLog(
        sent,
        read_back(sent),
        system="kafka",
        samples=received(),
        window=(0, seconds(20)),
        others={"faults": STEPS},
    )
    run = write_run(tmp_path_factory.mktemp("transfers") / "run", [trial])
    analyse(run)
    found: list[Row] = pq.read_table(run / "results" / "transfers.parquet").to_pylist()
    return found


def test_a_transfer_is_done_when_its_step_is(transfers: list[Row]) -> None:
    drained, spread = transfers

    assert (drained["transfer"], drained["kind"], drained["nodes"]) == ("drained", "drain", "broker-3")
    assert (drained["asked_ns"], drained["done_ns"]) == (ms(10_500), seconds(3))
    assert (spread["transfer"], spread["kind"], spread["nodes"]) == ("spread again", "rebalance", None)
    assert (spread["asked_ns"], spread["done_ns"]) == (seconds(15), seconds(2))


def test_copied_is_what_came_beyond_the_undisturbed_rate(transfers: list[Row]) -> None:
    """Looks from 10 s to 14 s overlap the drain: 12,000 + 4,000 bytes came, and 2 x 4 x 1,000 undisturbed."""
    assert [one["copied_bytes"] for one in transfers] == [8_000, 0]


def test_sends_meanwhile_are_compared_with_those_before_the_first_step(transfers: list[Row]) -> None:
    """Of 1,050 sends the 1,040th takes 9 ms; of 300 the 297th 40 ms; of the 200 while it spreads the 198th 6 ms."""
    drained, spread = transfers

    assert [one["send_p99_before_ns"] for one in transfers] == [ms(9), ms(9)]
    assert (drained["send_p99_during_ns"], spread["send_p99_during_ns"]) == (ms(40), ms(6))
    assert drained["send_slowdown"] == pytest.approx(40 / 9)
    assert spread["send_slowdown"] == pytest.approx(6 / 9)
    assert drained["e2e_slowdown"] is None
