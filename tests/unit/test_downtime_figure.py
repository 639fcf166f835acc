"""Time without acknowledgements, added up: soak's question is the sum, not the longest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bench.model import NANOS
from bench.report import results, style, sweep
from bench.report.figures import downtime
from bench.report.results import Results
from tests.report_data import build
from tests.report_sketch import Sketch


def struck(tmp_path: Path, gaps_s: list[float | None], ended: dict[int, str] | None = None) -> Results:
    """A run whose first trial has a fault every 60 s, each with so long a gap."""
    found = results.read(build(tmp_path / "run", Sketch(systems=("kafka",), rounds=1, messages=500)))
    faults = pd.DataFrame(
        [
            {
                "trial": 0,
                "fault": f"broker killed, {number + 1}",
                "asked_ns": 60 * (number + 1) * NANOS,
                "ack_gap_ns": None if gap is None else gap * NANOS,
                "ack_gap_ended": (ended or {}).get(number),
            }
            for number, gap in enumerate(gaps_s)
        ]
    )
    return replace(found, faults=faults)


def course(found: Results) -> downtime.TrialDowntime:
    (one,) = downtime.courses(found, sweep.parts(found))
    return one


def test_the_sum_and_the_longest_of_all_outages_are_said(tmp_path: Path) -> None:
    one = course(struck(tmp_path, [7.0, 6.5, 0.5, None, 8.0]))

    assert (one.total_s, one.longest_s, one.faults) == (22.0, 8.0, 5)
    assert one.words.endswith(": 22 s after 5 faults, the longest 8.0 s")


@pytest.mark.parametrize("gaps_s", [[], [7.0] * 4])
def test_a_fault_that_is_not_repeated_needs_no_sum(tmp_path: Path, gaps_s: list[float | None]) -> None:
    found = struck(tmp_path, gaps_s) if gaps_s else results.read(build(tmp_path / "run", Sketch(rounds=1)))

    assert downtime.courses(found, sweep.parts(found)) == []
    assert downtime.downtime([]) is None


def test_the_line_rises_while_nothing_was_acknowledged_and_is_dotted_where_the_script_ended_it(
    tmp_path: Path,
) -> None:
    one = course(struck(tmp_path, [6.0, 12.0, 0.0, 0.0, 0.0], {1: "healing"}))
    with style.typography():
        figure = downtime.downtime([one])

    assert figure is not None
    (axes,) = figure.axes
    lines: list[Any] = list(axes.lines)
    ends = [
        (np.round(line.get_xdata(), 3).tolist(), np.round(line.get_ydata(), 3).tolist(), line.get_linestyle())
        for line in lines[:4]
    ]
    assert ends == [
        ([0.0, 1.0], [0.0, 0.0], "-"),
        ([1.0, 1.1], [0.0, 6.0], "-"),
        ([1.1, 2.0], [6.0, 6.0], "-"),
        ([2.0, 2.2], [6.0, 18.0], "--"),
    ]
    (label,) = [text.get_text().replace("\n", " ") for text in axes.texts]
    assert label == one.words
