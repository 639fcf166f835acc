"""How often a run calls a difference between cases that are the same, and one of 5 % where there is one. Prints JSON.

    PYTHONPATH=$PWD/tests/perf/slowed bench run tests/perf/same.yaml
    python -m tests.perf.same_calls RUN

A comparison is of two cases of one system, by one figure: `different` where the 95 % interval of their ratio leaves
1 out. `equal` are all pairs of cases that are the same; `slowed` are the pairs of the slowed case with each of them.
`called_if_5_percent` counts, of all pairs in both orders, those that would be called different had one of the two been
slower by exactly 5 %: their interval leaves out 1.05.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq

from bench.statistics.interval import values_by_case
from bench.statistics.round_ratios import Group, RoundRatio, RoundRatios
from bench.statistics.slice_series import slice_series

METRICS = ("throughput_msgs_per_s", "service_p50_ns")
SLOWED = "copy=slowed"
EFFECT = 1.05


def called(ratios: Iterable[RoundRatio | None]) -> dict[str, Any]:
    """Count the ratios that differ from 1."""
    known = [(ratio, interval) for ratio in ratios if ratio and (interval := ratio.interval())]
    different = sum(not interval.low <= 1 <= interval.high for _, interval in known)
    seen = sum(
        not interval.low <= effect <= interval.high
        for _, interval in known
        for effect in (EFFECT, 1 / EFFECT)
    )
    widths = [ratio.half_width() or 0.0 for ratio, _ in known]
    return {
        "comparisons": len(known),
        "different": different,
        "called_if_5_percent": f"{seen} of {2 * len(known)}",
        "median_ratio": round(median(ratio.ratio for ratio, _ in known), 4),
        "median_half_width": round(median(widths), 4),
    }


def calls(rows: list[dict[str, Any]], slices: list[dict[str, Any]]) -> dict[str, Any]:
    """Count the calls by system and figure, from rows of the tables `trials` and `slices`."""
    found: dict[str, Any] = {}
    series = slice_series(rows, slices)
    for system in dict.fromkeys(row["system"] for row in rows):
        own = [row for row in rows if row["system"] == system and row["verdict"] == "valid"]
        cases = list(dict.fromkeys(row["case"] for row in own))
        same = [case for case in cases if not case.endswith(SLOWED)]
        slowed = [case for case in cases if case.endswith(SLOWED)]
        for metric in METRICS:
            groups = dict.fromkeys(cases, Group(system))
            ratios = RoundRatios(values_by_case(own, metric), groups, series[metric])
            found[f"{system} {metric}"] = {
                "equal": called(ratios.ratio(one, other) for one, other in combinations(same, 2)),
                "slowed": called(ratios.ratio(one, other) for one in slowed for other in same),
            }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    options = parser.parse_args()
    names = ("trials", "slices")
    rows, slices = (pq.read_table(options.run / "results" / f"{name}.parquet").to_pylist() for name in names)
    print(json.dumps(calls(rows, slices), indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
