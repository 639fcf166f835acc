"""How much throughput telemetry costs: with it over without, turn by turn on the same clusters. Prints JSON.

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

from bench.analysis.statistics.interval import paired_ratio

METRIC = "throughput_msgs_per_s"
_TURN = ["round", "message_bytes"]


def cost(trials: pd.DataFrame) -> dict[str, Any]:
    """Return the median ratio over turns, with over without, and its interval; `trials` are one system's valid ones."""
    with_it, without = (
        trials[trials["telemetry"] == told].set_index(_TURN)[METRIC] for told in ("true", "false")
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
    """Print the cost by system."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    trials = pd.read_parquet(parser.parse_args().run / "results" / "trials.parquet")
    valid = trials[trials["verdict"] == "valid"]
    print(json.dumps({str(system): cost(rows) for system, rows in valid.groupby("system")}, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
