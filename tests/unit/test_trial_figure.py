"""What a trial's figure shows of what servers and client told of themselves."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bench.model import NANOS
from bench.report import results, style
from bench.report.figures import servers, trial_figure
from bench.report.figures.servers import SERVER_PANELS, ServerPanel
from tests.report_data import build
from tests.report_sketch import Sketch


def samples(*rows: tuple[float, str, str, float]) -> pd.DataFrame:
    """Make samples of (second, node, metric, value)."""
    return pd.DataFrame(
        [
            {
                "trial": 0,
                "at_ns": round(second * NANOS),
                "node": node,
                "role": {"producers": "client"}.get(node, node.rpartition("-")[0]),
                "metric": metric,
                "value": value,
            }
            for second, node, metric, value in rows
        ],
        columns=["trial", "at_ns", "node", "role", "metric", "value"],
    )


def told(metric: str, role: str | None = None) -> ServerPanel:
    return next(one for one in SERVER_PANELS if one.metric == metric and (role is None or role in one.roles))


def test_a_mean_time_is_that_of_all_nodes_requests_together() -> None:
    """A mean of the nodes' means would be 6 ms; the idle broker has none."""
    found = servers.over_time(
        samples(
            (5.0, "broker-1", "requests", 30.0),
            (5.001, "broker-2", "requests", 10.0),
            (5.002, "broker-3", "requests", 0.0),
            (5.0, "broker-1", "request_s", 0.06),
            (5.001, "broker-2", "request_s", 0.10),
            (5.002, "broker-3", "request_s", 0.0),
            (10.0, "broker-1", "requests", 0.0),
            (10.0, "broker-1", "request_s", 0.0),
        ),
        told("request_s"),
    )

    assert found["broker"].iloc[0] == pytest.approx(4.0)
    assert pd.isna(found["broker"].iloc[1])
    assert list(found.index) == [5.002, 10.0]


def test_of_garbage_and_heap_the_worst_server_is_shown_by_role() -> None:
    seen = samples(
        (5.0, "bookie-1", "gc_s", 0.01),
        (5.0, "bookie-2", "gc_s", 0.05),
        (5.0, "broker-1", "gc_s", 0.02),
        (5.0, "broker-1", "heap_bytes", 2.0**30),
    )

    share, heap = servers.over_time(seen, told("gc_s")), servers.over_time(seen, told("heap_bytes"))

    assert share.iloc[0].to_dict() == pytest.approx({"bookie": 5.0, "broker": 2.0})
    assert heap.iloc[0].to_dict() == {"broker": 1024.0}


def test_partitions_that_lack_a_replica_add_up_and_ledgers_do_not() -> None:
    """A broker tells of what it leads, every bookie of all ledgers."""
    seen = samples(
        *((5.0, f"{role}-{n}", "under_replicated", 3.0) for role in ("broker", "bookie") for n in (1, 2))
    )

    assert servers.over_time(seen, told("under_replicated", "broker")).iloc[0].to_dict() == {"broker": 6.0}
    assert servers.over_time(seen, told("under_replicated", "bookie")).iloc[0].to_dict() == {"bookie": 3.0}


def test_flushes_are_the_machines_and_bytes_of_all_servers_together() -> None:
    seen = samples(
        (5.0, "machine-1", "disk_flushes", 120.0),
        *((5.0, f"broker-{n}", "bytes_in", 2e6) for n in (1, 2)),
    )

    assert servers.over_time(seen, told("disk_flushes")).iloc[0].to_dict() == {"machine": 120.0}
    assert servers.over_time(seen, told("bytes_in")).iloc[0].to_dict() == {"broker": 4.0}


def test_a_mean_of_whole_milliseconds_is_named_a_lower_bound() -> None:
    assert told("flush_s").title("kafka") == "flush of a log or journal, ms, mean"
    assert (
        told("flush_s").title("pulsar")
        == "flush of a log or journal, ms, mean, or more (added up in whole ms)"
    )
    assert told("disk_flush_s").title("pulsar") == "flush of the disk, ms, mean"


def test_panels_without_any_sample_are_left_out() -> None:
    shown = [one.metric for one, _ in servers.panels(samples((1.0, "producers", "loop_lag_s", 0.004)))]

    assert shown == ["loop_lag_s"]
    assert list(servers.panels(samples())) == []


def test_a_step_reaches_back_to_the_look_before_and_nothing_is_drawn_where_nothing_is_known() -> None:
    x, y = servers._steps(pd.Series([2.0, np.nan, 4.0], index=[5.0, 10.0, 15.0]), 6.0)

    assert list(x) == [5.0, 5.0, 5.0, 10.0, 10.0, 15.0]
    assert [value for value in y if not np.isnan(value)] == [2.0, 2.0, 4.0, 4.0]


def test_the_first_value_is_since_the_windows_start() -> None:
    x, y = servers._steps(pd.Series([2.0, 3.0], index=[13.0, 20.0]), 1.0)

    assert (list(x), list(y)) == ([1.0, 13.0, 13.0, 20.0], [2.0, 2.0, 3.0, 3.0])


def test_levels_are_not_joined_over_a_silence() -> None:
    x, y = servers._levels(pd.Series([1.0, 2.0, 3.0, 9.0], index=[5.0, 10.0, 15.0, 35.0]))

    assert list(np.isnan(x)) == list(np.isnan(y)) == [False, False, False, True, False]


def drawn(tmp_path: Path, **changes: Any) -> str:
    run = build(tmp_path / "run", Sketch(systems=("kafka",), rounds=1, messages=500))
    found = results.read(run)
    seen = samples(
        *((second, "broker-1", "heap_bytes", 3e8 + 1e7 * second) for second in (1.0, 6.0)),
        *((second, "producers", "recorder_backlog", second) for second in (1.0, 2.0, 3.0)),
    )
    telemetry = pd.concat([found.telemetry, seen])
    with style.typography():
        drawing = trial_figure.trial(replace(found, telemetry=telemetry, **changes), 0)
    assert drawing is not None
    return drawing.svg


def test_what_servers_told_is_drawn_below_and_said_in_words(tmp_path: Path) -> None:
    svg = drawn(tmp_path)

    alt = re.findall(r"<desc[^>]*>([^<]*)</desc>", svg)[0]
    assert alt.startswith(
        "Acknowledged messages per second, service time, CPU, disk writes and network of kafka"
    )
    assert "Heap in use, MiB, of the server with most: broker 296 to 343." in alt
    assert "Chunks of records that wait for the disk: client 1 to 3." in alt
    assert "fsync" not in alt
    assert svg.count("seconds since the first send") == 1


def test_faults_are_shaded_in_every_panel(tmp_path: Path) -> None:
    struck = {
        "trial": 0,
        "fault": "killed",
        "asked_ns": 3 * NANOS,
        "effect_ns": 3 * NANOS,
        "healed_ns": 5 * NANOS,
    }

    drawing = drawn(tmp_path, faults=pd.DataFrame([struck]))

    (style_class,) = re.findall(r"\.(s\d+)\{[^}]*opacity:0\.08", drawing)
    assert drawing.count(f'class="{style_class}"') == 7
