"""`bench size`: from a run's results and a requirement to nodes, a page and a PDF."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from bench.errors import BenchError
from bench.model import Scalar
from bench.report import results
from bench.report.pages import size as page
from bench.run.sizing import sizing
from bench.sizing.workload import Workload
from tests.eventlog import TrialLog, write_run
from tests.unit.test_demand import true_use

_REQUIREMENT = """\
messages_per_s: 500
message_bytes: 1000
copies: 3
groups: 1
retention: 24h
nodes:
  broker: {cores: 1, network: 1gbit, disk_write: 200MB/s, disk: 500GB, price: 100}
  bookie: {cores: 0.4, network: 1gbit, disk_write: 200MB/s, disk: 500GB, price: 50}
"""
_CASES = list(itertools.product((500.0, 2_000.0), (100, 1_000, 10_000), (1, 3), (0, 1)))
_STARTS = 3
_NODES = {"broker": 2, "bookie": 3}


def _trial(start: int, rate: float, size: int, copies: int, groups: int) -> TrialLog:
    load = {"producers": 1, "consumers": groups, "message_bytes": size, "pacing": [[0.0, rate]], "window": 1}
    settings: dict[str, Scalar] = {
        "rate": rate,
        "message_bytes": size,
        "quorums": f"{copies}-{copies}-{copies}",
        "consumers": groups,
    }
    return TrialLog(
        system="pulsar",
        settings=settings,
        round=start,
        configuration={"nodes": _NODES},
        others={"load": load | {"warm_up_s": 0.0, "duration_s": 1.0, "messages": None}},
    )


def _use(role: str, rate: float, size: int, copies: int, groups: int) -> float:
    """A bookie costs what true_use says; a broker half a core a thousand messages, and as much a group."""
    if role == "bookie":
        return true_use(Workload(rate, size, copies, groups), 3)
    return 2 * 0.05 + rate * (1 + groups) * 5e-4


def write(folder: Path, roles: tuple[str, ...] = ("broker", "bookie"), cases: int = len(_CASES)) -> Path:
    chosen = list(itertools.product(range(_STARTS), _CASES[:cases]))
    run = write_run(folder / "run", [_trial(start, *case) for start, case in chosen])
    trials: list[dict[str, Any]] = [
        dict.fromkeys(results.columns("trials"))
        | {"trial": number, "verdict": "valid", "throughput_msgs_per_s": case[0]}
        for number, (_, case) in enumerate(chosen)
    ]
    use = [
        {"trial": number, "role": role, "nodes": _NODES[role], "metric": "cpu_s", "value": _use(role, *case)}
        for number, (_, case) in enumerate(chosen)
        for role in roles
    ]
    (run / "results").mkdir()
    for name, rows in (("trials", trials), ("use", use)):
        pq.write_table(pa.Table.from_pylist(rows), run / "results" / f"{name}.parquet")
    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("size"))


def required(folder: Path, text: str = _REQUIREMENT) -> Path:
    file = folder / "requirement.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_nodes_by_role(run: Path, tmp_path: Path) -> None:
    """Brokers: 500 x 2 x 0.5 ms = 0.5 cores of work; n (0.6 - 0.05) >= 0.5, so one, and one that may be gone.

    Bookies: 1,500 x (40 + 3) us = 0.0645 cores; n (0.24 - 0.02) takes one, but three copies take three and a spare one.
    """
    (cluster,) = sizing(run, required(tmp_path), extrapolate=False).clusters

    assert cluster.title == "Pulsar"
    assert {role.role: (role.nodes, role.likely, role.binding) for role in cluster.roles} == {
        "broker": (2, 2, "cpu_s"),
        "bookie": (4, 4, "cpu_s"),
    }
    assert cluster.variations["one more copy"] == {"broker": 2, "bookie": 5}
    assert cluster.variations["one more group"] == {"broker": 3, "bookie": 4}
    assert cluster.variations["one more failure"] == {"broker": 3, "bookie": 5}


def test_the_answer_is_printed_and_written(run: Path, tmp_path: Path) -> None:
    found = sizing(run, required(tmp_path), extrapolate=False)
    screen = io.StringIO()
    Console(file=screen, width=160).print(page.printed(found))
    html, paper = page.write(found)

    answer = (
        "Pulsar needs 2 brokers (95 % interval of the model: 2; CPU decides) and 4 bookies (95 % interval of the "
        "model: 4; CPU decides), at a price of 400."
    )
    assert answer in screen.getvalue().replace("\n", " ").replace("  ", " ")
    assert answer in html.read_text(encoding="utf-8")
    assert paper.read_bytes().startswith(b"%PDF")


def test_a_requirement_far_from_what_was_measured_is_refused_unless_asked_for(
    run: Path, tmp_path: Path
) -> None:
    file = required(tmp_path, _REQUIREMENT.replace("messages_per_s: 500", "messages_per_s: 50000"))

    with pytest.raises(
        BenchError, match=r"(?s)twice the range.*Pulsar, broker: \d+ nodes; measured were 2 to 2"
    ):
        sizing(run, file, extrapolate=False)
    assert any(
        "nodes; measured were 2 to 2." in line for line in sizing(run, file, extrapolate=True).warnings
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("  bookie:", "  keeper:"), "nodes.bookie is missing: run measured pulsar"),
        (("cores: 0.4", "cores: 0.03"), "pulsar: 1,000 nodes of the role bookie would still use 6"),
    ],
)
def test_a_requirement_that_can_not_be_met_is_refused(
    run: Path, tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    with pytest.raises(BenchError, match=said):
        sizing(run, required(tmp_path, _REQUIREMENT.replace(*change)), extrapolate=True)


def test_a_run_that_tells_nothing_of_a_role_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="do not tell what a bookie of pulsar takes"):
        sizing(write(tmp_path, roles=("broker",)), required(tmp_path), extrapolate=False)


def test_a_run_with_too_few_cases_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"what a broker of pulsar takes of CPU \(.*more than \d cases\)"):
        sizing(write(tmp_path, cases=2), required(tmp_path), extrapolate=False)
