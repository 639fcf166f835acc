"""How often `bench compare` calls a difference where there is none, and one of 10 % where there is. Prints JSON.

    bench run acks-sweep                                                    # twice or more: equal runs
    PYTHONPATH=$PWD/tests/perf/slowed bench run acks-sweep                  # the same, its client slowed by 10 %
    python -m tests.perf.compare_calls RUN RUN ... [--slowed RUN]

Each comparison is of a case in two whole runs: of every two of the equal ones, or of each of them with the slowed one.
Nothing is drawn from one run: what its trials have in common is part of what makes equal runs differ.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from bench.analysis.statistics.comparison import compare

Rows = list[dict[str, Any]]


def trials(run: Path) -> Rows:
    """The rows of a run's table `trials`."""
    return [dict(row) for _, row in pd.read_parquet(run / "results" / "trials.parquet").iterrows()]


def main() -> None:
    """Compare; print how often each verdict came, by case and in all, and how many pairs would end with 1."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, nargs="+")
    parser.add_argument("--slowed", type=Path)
    parser.add_argument("--metric", default="throughput_msgs_per_s")
    parser.add_argument("--threshold", type=float, default=0.05)
    options = parser.parse_args()
    equal = [trials(run) for run in options.run]
    slowed = trials(options.slowed) if options.slowed else None
    pairs = [(one, slowed) for one in equal] if slowed else list(combinations(equal, 2))
    found: dict[str, Counter[str]] = {}
    ended_with_1 = 0
    for first, second in pairs:
        cases = compare(first, second, options.metric, options.threshold)
        ended_with_1 += any(one.proven for one in cases)
        for one in cases:
            found.setdefault(one.case, Counter())[one.change.value] += 1
    every = sum(found.values(), Counter[str]())
    total = sum(every.values())
    share = {verdict: round(count / total, 4) for verdict, count in every.items()}
    pairs_told = {"pairs": len(pairs), "exit status 1": ended_with_1}
    print(json.dumps({"comparisons": total, "share": share, **pairs_told, "by_case": found}, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
