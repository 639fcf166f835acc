"""What telemetry costs: throughput and times with it over without, turn by turn on the same clusters. Prints JSON.

    bench run tests/perf/telemetry.yaml
    python -m tests.perf.telemetry_cost RUN

A turn is a message size in a round: one trial with telemetry and one without, within minutes, in random order.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pandas as pd

from bench.statistics.interval import paired_ratio

METRICS = ("throughput_msgs_per_s", "service_p50_ns", "service_p99_ns", "service_p99_9_ns")
_TURN = ["round", "message_bytes"]


def cost(trials: pd.DataFrame, metric: str) -> dict[str, Any]:
    """Return the median ratio over turns, with over without, and its interval; `trials` are one system's valid ones."""
    with_it, without = (
        trials[trials["telemetry"] == told].set_index(_TURN)[metric].astype(float)
        for told in ("true", "false")
    )
    both = with_it.index.intersection(without.index)
    found = paired_ratio(list(zip(with_it[both], without[both], strict=True)))
    if found is None:
        raise SystemExit("no turn has valid trials with telemetry and without")
    interval = found.interval
    return {
        "turns": len(both),
        "with": round(with_it.median(), 1),
        "without": round(without.median(), 1),
        "ratio": round(found.median, 4),
        "interval": [round(interval.low, 4), round(interval.high, 4)] if interval else None,
    }


def main() -> None:
    """Print the cost by system and metric."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    trials = pd.read_parquet(parser.parse_args().run / "results" / "trials.parquet")
    valid = trials[trials["verdict"] == "valid"]
    found = {
        str(system): {metric: cost(rows, metric) for metric in METRICS}
        for system, rows in valid.groupby("system")
    }
    print(json.dumps(found, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
