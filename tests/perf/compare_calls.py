"""How often `bench compare` calls a difference where there is none, and one of 10 % where there is. Prints JSON.

    PYTHONPATH=$PWD/tests/perf/slowed bench run tests/perf/equal.yaml   # every second round slowed by a tenth
    python -m tests.perf.compare_calls RUN                              # those rounds of it
    python -m tests.perf.compare_calls RUN RUN ...                      # every two of runs that should be equal

Within one run, with clusters of its own in each round, both kinds of rounds have the machine's hours in common.
Runs of different hours do not, and differ by what the machine did meanwhile. A comparison is of one case. `equal`
are the rounds that were not slowed, dealt to two sides in as many ways as asked for: equal by construction, so they
show that the arithmetic is right. `in turn` are the same, first, third and so on to one side, the others to the
other. `slowed` is all of them with those that were slowed, `slowed, halves` a half of these with a half of those.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from bench.analysis.statistics.comparison import compare
from bench.model import ENOUGH_TRIALS

Rows = list[dict[str, Any]]
Pair = tuple[Rows, Rows]


def trials(run: Path) -> Rows:
    """The rows of a run's table `trials`."""
    return [dict(row) for _, row in pd.read_parquet(run / "results" / "trials.parquet").iterrows()]


def slowed_rounds(run: Path, rows: Rows) -> set[int]:
    """The rounds whose trials were slowed, by the files beside them. Raises ValueError where a round was in part."""
    of_round: dict[int, set[bool]] = {}
    for row in rows:
        slowed = (run / "trials" / f"{row['trial']:04d}" / "slowed").exists()
        of_round.setdefault(row["round"], set()).add(slowed)
    if mixed := [number for number, kinds in of_round.items() if len(kinds) > 1]:
        raise ValueError(f"{run}: rounds {mixed} were slowed in part")
    return {number for number, kinds in of_round.items() if kinds == {True}}


def dealt(rows: Rows, times: int) -> Iterator[Pair]:
    """Deal rounds to two sides of equally many, at random. Raises ValueError for too few to tell anything of."""
    rounds = _rounds(rows)
    if len(rounds) < 2 * ENOUGH_TRIALS:
        raise ValueError(f"{len(rounds)} rounds are too few to halve: {2 * ENOUGH_TRIALS} is the least")
    draw, half = random.Random(1), len(rounds) // 2
    for _ in range(times):
        draw.shuffle(rounds)
        yield _of(rows, rounds[:half]), _of(rows, rounds[half : 2 * half])


def in_turn(rows: Rows) -> Pair:
    """Deal rounds to two sides in turn."""
    rounds = _rounds(rows)
    return _of(rows, rounds[::2]), _of(rows, rounds[1::2])


def _rounds(rows: Rows) -> list[int]:
    return sorted({row["round"] for row in rows})


def _of(rows: Rows, rounds: Iterable[int]) -> Rows:
    wanted = set(rounds)
    return [row for row in rows if row["round"] in wanted]


def called(pairs: Iterable[Pair], metric: str, threshold: float) -> dict[str, Any]:
    """Count the verdicts of pairs of sides, in all and by case, and the pairs that would end with exit status 1."""
    found: dict[str, Counter[str]] = {}
    count = ended_with_1 = 0
    for first, second in pairs:
        cases = compare(first, second, metric, threshold)
        count += 1
        ended_with_1 += any(one.proven for one in cases)
        for one in cases:
            found.setdefault(one.case, Counter())[one.change.value] += 1
    every = sum(found.values(), Counter[str]())
    share = {verdict: round(times / every.total(), 4) for verdict, times in every.items()}
    comparisons = {"comparisons": every.total(), "share": share}
    return {**comparisons, "pairs": count, "exit status 1": ended_with_1, "by_case": found}


def main() -> None:
    """Compare, and print what was called."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, nargs="+")
    parser.add_argument("--deals", type=int, default=100)
    parser.add_argument("--metric", default="throughput_msgs_per_s")
    parser.add_argument("--threshold", type=float, default=0.05)
    options = parser.parse_args()
    runs = [trials(run) for run in options.run]
    pairs: dict[str, Iterable[Pair]]
    if len(runs) > 1:
        pairs = {"runs": combinations(runs, 2)}
    else:
        [rows] = runs
        slowed = slowed_rounds(options.run[0], rows)
        plain = _of(rows, set(_rounds(rows)) - slowed)
        pairs = {"equal": dealt(plain, options.deals), "in turn": [in_turn(plain)]}
        slow = _of(rows, slowed)
        both = zip(dealt(plain, options.deals), dealt(slow, options.deals), strict=True)
        pairs["slowed"] = [(plain, slow)]
        pairs["slowed, halves"] = ((one, other) for (one, _), (other, _) in both)
    told = {name: called(found, options.metric, options.threshold) for name, found in pairs.items()}
    print(json.dumps(told, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
