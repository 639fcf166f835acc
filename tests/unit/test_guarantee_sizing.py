"""`bench size` by a guarantee and a p99: which configurations it takes, how busy nodes may be, what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.analysis import tables
from bench.errors import BenchError
from bench.report.pages import size as page
from bench.run.sizing import sizing
from tests.eventlog import TrialLog, cut, write_run
from tests.spaces import with_plain_spaces
from tests.unit.test_sizing import required, write

_STRONG = "the loss of any two nodes, and a power cut of all nodes"
"""What the run's cases with quorums of 3-3-3 promise: all three bookies sync before they acknowledge."""
_REQUIREMENT = f"""\
messages_per_s: 500
message_bytes: 1000
guarantee: {_STRONG}
groups: 1
retention: 24h
nodes:
  broker: {{cores: 1, network: 1gbit, disk_write: 200MB/s, disk: 500GB}}
  bookie: {{cores: 0.4, network: 1gbit, disk_write: 200MB/s, disk: 500GB}}
"""
_WITH_P99 = f"{_REQUIREMENT}p99: 50ms\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("costs"))


PREDICTED = [
    {"system": "pulsar", "measured": 1_000.0, "predicted": 1_100.0},
    {"system": "pulsar", "measured": 1_000.0, "predicted": 800.0},
    {"system": "pulsar", "measured": 1_000.0, "predicted": 1_000.0},
    {"system": "kafka", "measured": 1_000.0, "predicted": 2_000.0},
]
"""Capacities of Pulsar, predicted 10 % too high, 20 % too low and exactly; Kafka is not sized."""


def searched(
    folder: Path,
    shares: Sequence[float],
    p99_s: float = 0.05,
    verdict: str = "passed",
    trial: str = "valid",
    *,
    bounded: bool = True,
) -> Path:
    """A run that searched on as many cluster starts as there are shares of the brokers' CPU."""
    level = {
        "response_p99_s": p99_s,
        "end_to_end_p99_s": 0.1,
        "search_s": 3.0,
        "confirm_s": 10.0,
        "settle_s": 1.0,
    }
    hold = cut(1, 0, 2.0, 3.0, 13.0) | {"rate": 700.0, "confirms": True, "client_cpu_share": 0.1}
    trials = [
        TrialLog(
            system="pulsar",
            settings={"quorums": "3-3-3"},
            round=number,
            slices=[cut(0, 0, 0.0, 0.5, 1.0)],
            configuration={"capacity": level, "nodes": {"broker": 2, "bookie": 3}},
            others={
                "holds": [hold],
                "load": {"pacing": "closed", "producers": 1, "consumers": 1, "message_bytes": 1_000},
            },
        )
        for number in range(len(shares))
    ]
    run = write_run(folder / "capacity", trials)
    blank: dict[str, Any] = dict.fromkeys(tables.fields("holds"))
    held = {"slice": 1, "rate": 700.0, "seconds": 10.0, "confirms": True, "verdict": verdict}
    holds = [
        blank | held | {"trial": number, "broker_cpu_share": share, "bookie_cpu_share": 0.2}
        for number, share in enumerate(shares)
    ]
    holds += [
        blank | held | {"trial": number, "rate": 800.0, "verdict": "failed"}
        for number in range(len(shares) if bounded else 0)
    ]
    rows: list[dict[str, Any]] = [
        dict.fromkeys(tables.fields("trials")) | {"trial": number, "verdict": trial}
        for number in range(len(shares))
    ]
    (run / "results").mkdir()
    for name, content in (
        ("holds", holds),
        ("trials", rows),
        ("predictions", PREDICTED),
        ("capacities", PREDICTED),
    ):
        blank = dict.fromkeys(tables.fields(name))
        table = pa.Table.from_pylist([blank | row for row in content])
        pq.write_table(table, run / "results" / f"{name}.parquet")
    return run


def test_the_guarantee_decides_the_number_of_copies(run: Path, tmp_path: Path) -> None:
    """Three copies give it, so there are three bookies and a spare one, as where three copies are asked for."""
    found = sizing(run, required(tmp_path, _REQUIREMENT), extrapolate=False)

    (cluster,) = found.clusters
    assert cluster.requirement.mean.copies == 3
    assert {role.role: role.nodes for role in cluster.roles} == {"broker": 2, "bookie": 4}
    (reason,) = found.reasons
    assert reason == (
        "Pulsar gives this with 3 copies, synced to disk before the acknowledgement: all 3 bookies of the write quorum "
        "have it in the journal, on disk (fdatasync)."
    )
    assert f"survives {_STRONG}" in found.summary
    assert reason in page.write(found)[0].read_text(encoding="utf-8")


def test_fsyncs_are_counted_where_they_were_measured(tmp_path: Path) -> None:
    """The run counted as many flushes as write's other resources but the CPU: none."""
    run = write(tmp_path, resources=("cpu_s", "net_in_bytes", "net_out_bytes", "disk_write_bytes", "flushes"))

    (words,) = sizing(run, required(tmp_path, _REQUIREMENT), extrapolate=False).reasons

    assert "synced to disk before the acknowledgement (0 fsyncs a message)" in words


def test_copies_that_no_case_with_the_guarantee_has_are_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(
        BenchError,
        match="copies: Pulsar gives the guarantee with 3 copies in run, not with 4",
    ):
        sizing(run, required(tmp_path, f"{_REQUIREMENT}copies: 4\n"), extrapolate=False)

    (cluster,) = sizing(run, required(tmp_path, f"{_REQUIREMENT}copies: 3\n"), extrapolate=False).clusters
    assert {role.role: role.nodes for role in cluster.roles} == {"broker": 2, "bookie": 4}


def test_a_guarantee_that_was_not_measured_is_refused(run: Path, tmp_path: Path) -> None:
    text = _REQUIREMENT.replace(_STRONG, "survives one node")

    with pytest.raises(
        BenchError,
        match=r"requirement\.yaml: guarantee: run measured no configuration of Pulsar that survives the loss of any "
        r"one node, not a power cut of all nodes\. It measured what survives: a power cut, not the loss of its node; "
        r"the loss of any two nodes, and a power cut of all nodes\. Ask for one of these, .*`bench run cost`",
    ):
        sizing(run, required(tmp_path, text), extrapolate=False)


def test_a_search_that_the_load_process_ended_says_nothing_of_nodes(run: Path, tmp_path: Path) -> None:
    capacity = searched(tmp_path, (0.2, 0.2, 0.2), bounded=False)

    with pytest.raises(BenchError, match="no higher rate failed"):
        sizing(run, required(tmp_path, f"{_REQUIREMENT}p99: 50ms\n"), extrapolate=False, capacity=capacity)


def test_a_p99_sets_how_busy_nodes_may_be(run: Path, tmp_path: Path) -> None:
    """Shares of 0.45, 0.5 and 0.55 are 0.498 (0.388 to 0.639), see test_busy_share.

    Brokers: 0.5 cores of work, 0.05 idle. n (0.388 - 0.05) >= 0.5 takes two, n (0.639 - 0.05) one; one may be gone.
    """
    capacity = searched(tmp_path, (0.45, 0.5, 0.55))

    found = sizing(run, required(tmp_path, _WITH_P99), extrapolate=False, capacity=capacity)

    broker, bookie = found.clusters[0].roles
    assert (broker.nodes, broker.likely, broker.least, bookie.nodes) == (3, 3, 2, 4)
    assert found.reasons[1] == (
        "Pulsar: a p99 of 50 ms held up to where brokers used 50 % of their CPU (95 % interval over 3 cluster starts: "
        "39 % to 64 %), with messages of 1,000 bytes in the run capacity. So the peak may use 39 % of the CPU."
    )
    assert found.accuracy[0] == (
        "Pulsar: capacities that were predicted in this way from other configurations of the run capacity were off by "
        "10 % in the median and 20 % in the worst tenth (3 of 3 capacities)."
    )
    html = with_plain_spaces(page.write(found)[0].read_text(encoding="utf-8"))
    assert found.accuracy[0] in html
    assert found.reasons[1] in html
    assert "uses at most as much CPU as the p99 allows and 60 % of network and disk writes" in html
    limits = [[cell.text for cell in row.cells][1::3] for row in page.use_table(found.clusters[0]).rows]
    assert limits[:2] == [["CPU", "39 %"], ["network in", "60 %"]]


@pytest.mark.parametrize(
    ("p99_s", "verdict", "said"),
    [
        (0.1, "passed", "its rates were held to a p99 of 100 ms, more than the 50 ms"),
        (0.05, "failed", "no rate passed on 3 of 3 cluster starts"),
    ],
)
def test_searches_that_do_not_show_the_p99_are_refused(
    run: Path, tmp_path: Path, p99_s: float, verdict: str, said: str
) -> None:
    capacity = searched(tmp_path, (0.5, 0.5, 0.5), p99_s, verdict)

    with pytest.raises(
        BenchError,
        match=rf"requirement\.yaml: p99: capacity does not say how busy nodes of Pulsar may be: {said}.*"
        r"`bench run capacity --set capacity\.response_p99=50ms`",
    ):
        sizing(run, required(tmp_path, _WITH_P99), extrapolate=False, capacity=capacity)


def test_a_p99_takes_a_run_that_searched(run: Path, tmp_path: Path) -> None:
    file = required(tmp_path, _WITH_P99)

    with pytest.raises(
        BenchError, match=r"p99: .*`bench run capacity --set capacity\.response_p99=50ms`, then"
    ):
        sizing(run, file, extrapolate=False)
    with pytest.raises(BenchError, match="no valid trial of it searched for a capacity"):
        sizing(run, file, extrapolate=False, capacity=searched(tmp_path, (0.5,), trial="invalid"))


def test_a_run_that_searched_takes_a_p99(run: Path, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"p99 is missing: --capacity is for it"):
        sizing(run, required(tmp_path, _REQUIREMENT), extrapolate=False, capacity=searched(tmp_path, (0.5,)))
