"""How often `bench compare` calls a difference where there is none, and one of 10 % where there is. Prints JSON.

    bench run tests/perf/equal.yaml                                     # twice or more: equal runs
    PYTHONPATH=$PWD/tests/perf/slowed bench run tests/perf/equal.yaml   # the same, its client slowed by 10 %
    python -m tests.perf.compare_calls RUN RUN ... [--slowed RUN]
    python -m tests.perf.compare_calls RUN ... --halves 20

Each comparison is of a case in two whole runs: of every two of the equal ones, or of each of them with the slowed one.
With --halves it is of two halves of one run instead, its rounds dealt at random so many times. Rounds stay whole, as
each has clusters of its own; what all rounds of a run have in common (the hour, the machine) makes whole runs differ
and halves not: dealt at random they are equal by construction, so halves can only show that the arithmetic is right.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from bench.analysis.statistics.comparison import compare
from bench.model import ENOUGH_TRIALS

Rows = list[dict[str, Any]]


def trials(run: Path) -> Rows:
    """The rows of a run's table `trials`."""
    return [dict(row) for _, row in pd.read_parquet(run / "results" / "trials.parquet").iterrows()]


def halves(rows: Rows, draw: random.Random) -> tuple[Rows, Rows]:
    """Deal a run's rounds to two sides of equally many. Raises ValueError for too few to tell anything of."""
    rounds = sorted({row["round"] for row in rows})
    if len(rounds) < 2 * ENOUGH_TRIALS:
        raise ValueError(f"{len(rounds)} rounds are too few to halve: {2 * ENOUGH_TRIALS} is the least")
    draw.shuffle(rounds)
    half = len(rounds) // 2
    first, second = set(rounds[:half]), set(rounds[half : 2 * half])
    return [row for row in rows if row["round"] in first], [row for row in rows if row["round"] in second]


def main() -> None:
    """Compare; print how often each verdict came, by case and in all, and how many pairs would end with 1."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, nargs="+")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--slowed", type=Path)
    other.add_argument("--halves", type=int, metavar="TIMES")
    parser.add_argument("--metric", default="throughput_msgs_per_s")
    parser.add_argument("--threshold", type=float, default=0.05)
    options = parser.parse_args()
    equal = [trials(run) for run in options.run]
    if options.slowed:
        slowed = trials(options.slowed)
        pairs = [(one, slowed) for one in equal]
    elif options.halves:
        draw = random.Random(1)
        pairs = [halves(one, draw) for one in equal for _ in range(options.halves)]
    else:
        pairs = list(combinations(equal, 2))
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
