"""How often `bench compare` calls a difference where there is none, and one of 10 % where there is. Prints JSON.

    bench run acks-sweep --set repeats=10                                   # a run with ten rounds or more
    PYTHONPATH=$PWD/tests/perf/slowed bench run acks-sweep                  # the same, its client slowed by 10 %
    python -m tests.perf.compare_calls RUN [--slowed RUN]

Every comparison is of `--rounds` trials with as many others, drawn from a case's trials without putting back: both from
the one run (no difference), or one from each.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from bench.analysis.statistics.comparison import compare
from bench.model import Change

Rows = list[dict[str, Any]]


def trials(run: Path) -> dict[str, Rows]:
    """The valid trials of a run, by case."""
    table = pd.read_parquet(run / "results" / "trials.parquet")
    valid = table[table["verdict"] == "valid"]
    return {str(case): [dict(row) for _, row in rows.iterrows()] for case, rows in valid.groupby("case")}


def called(first: Rows, second: Rows, options: argparse.Namespace) -> Change:
    """What one comparison says."""
    (found,) = compare(first, second, options.metric, options.threshold)
    return found.change


def main() -> None:
    """Compare over and over; print how often each verdict came, by case and in all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--slowed", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--draws", type=int, default=100, help="comparisons a case")
    parser.add_argument("--metric", default="throughput_msgs_per_s")
    parser.add_argument("--threshold", type=float, default=0.05)
    options = parser.parse_args()
    own, other = trials(options.run), trials(options.slowed) if options.slowed else None
    chance = random.Random(1)
    found: dict[str, Counter[str]] = {}
    for case, rows in own.items():
        for _ in range(options.draws):
            if other is None:
                drawn = chance.sample(rows, 2 * options.rounds)
                first, second = drawn[: options.rounds], drawn[options.rounds :]
            else:
                first, second = (
                    chance.sample(rows, options.rounds),
                    chance.sample(other[case], options.rounds),
                )
            found.setdefault(case, Counter())[called(first, second, options).value] += 1
    every = sum(found.values(), Counter[str]())
    total = sum(every.values())
    share = {verdict: round(count / total, 4) for verdict, count in every.items()}
    print(json.dumps({"comparisons": total, "share": share, "by_case": found}, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
