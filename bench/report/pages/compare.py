"""The page of a comparison: two runs, case by case."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from bench import numbers
from bench.model import CaseComparison, Change
from bench.report import templates
from bench.report.pages.terminal import rich_table
from bench.report.results import Results
from bench.report.sections import machine_speed, method
from bench.report.table import Cell, Column, Row, Table

_WORK = "machine_probe_ns"
"""All of a send's time grows with it, only some with what else is timed."""
_TONES = {Change.BETTER: "good", Change.WORSE: "bad", Change.INCONCLUSIVE: "warn"}


@dataclass(frozen=True, slots=True)
class Speed:
    """What something took on the machine of each run, in ns; None where it was not timed. `key` is its path.

    `most` is how many times as long it may take where a send takes only a small part of its time for it.
    """

    key: str
    work: str
    took: tuple[float | None, float | None]
    most: float = 1.0

    @property
    def ratio(self) -> float | None:
        """How many times as long it took in the second run; None where that cannot be said."""
        first, second = self.took
        return second / first if first and second else None

    def __str__(self) -> str:
        """Say it in words."""
        took = ", ".join(map(numbers.duration, self.took))
        return f"{self.work} {numbers.ratio(self.ratio)} ({took})"


@dataclass(frozen=True, slots=True)
class RunComparison:
    """What the page shows. `gone` are the cases that only the first run has, `new` those that only the second has."""

    first: Results
    second: Results
    metric: str
    threshold: float
    cases: Sequence[CaseComparison]
    gone: Sequence[str]
    new: Sequence[str]
    speeds: Sequence[Speed]
    accepted: Sequence[tuple[str, str, str]]

    @property
    def counts(self) -> Counter[Change]:
        """How many cases have each verdict."""
        return Counter(case.change for case in self.cases)

    @property
    def summary(self) -> str:
        """Say it in a line: worst first."""
        phrases = [
            f"{self.counts[word]} {word}"
            for word in (Change.WORSE, Change.BETTER, Change.SAME, Change.INCONCLUSIVE)
            if self.counts[word]
        ]
        return f"{numbers.plural(len(self.cases), 'case')} of {self.metric}: {', '.join(phrases)}."

    @property
    def verdict(self) -> Change:
        """What all cases together say: worse where one is proven so, inconclusive where one may be, else the same."""
        if self._proven:
            return Change.WORSE
        return (
            Change.INCONCLUSIVE
            if self.counts[Change.INCONCLUSIVE] or self.counts[Change.WORSE]
            else Change.SAME
        )

    @property
    def together(self) -> str:
        """Say that verdict, and of how many cases."""
        unproven_count = self.counts[Change.WORSE] - len(self._proven)
        phrases = [
            f"{len(self._proven)} worse" if self._proven else "none is worse",
            f"{unproven_count} worse alone, as so many cases bring by chance" if unproven_count else "",
            f"{self.counts[Change.INCONCLUSIVE]} inconclusive" if self.counts[Change.INCONCLUSIVE] else "",
        ]
        return f"All cases together: {'; '.join(filter(None, phrases))}."

    @property
    def missing_cases(self) -> str:
        """Name the cases of the first run that the second never had; empty where there are none."""
        return f"Not in the second run, and not compared: {'; '.join(self.gone)}." if self.gone else ""

    @property
    def doubts(self) -> str:
        """Say of how many of the trials that count something is odd; empty where there are none."""
        runs = (("first", self.first), ("second", self.second))
        phrases = [f"of the {which} run's {_doubts(results)}" for which, results in runs if _doubts(results)]
        return f"These count like others: {'; '.join(phrases)}." if phrases else ""

    @property
    def _proven(self) -> list[CaseComparison]:
        return [case for case in self.cases if case.proven and case.change == Change.WORSE]


def _doubts(results: Results) -> str:
    valid = results.valid
    flags = valid["flags"].fillna("")
    odd = {
        "with a trend": int(flags.str.contains("trend").sum()),
        "with an outlier's speed": int(flags.str.contains("outlier").sum()),
        "beside other work on the machine": len(method.other_work_cores(valid)),
        "in a round that was off as a whole": sum(
            round_apart["cases"] for round_apart in results.summary.get("rounds_apart") or ()
        ),
    }
    phrases = [f"{count} {oddity}" for oddity, count in odd.items() if count]
    return f"{numbers.plural(len(valid), 'valid trial')} {', '.join(phrases)}" if phrases else ""


def speeds(first: Results, second: Results) -> list[Speed]:
    """Return what was timed on the machines in either run: one fsync, and medians over trials of what came before."""
    run_speeds = [Speed("fsync_ns", "one fsync", (_fsync(first), _fsync(second)))]
    for column, work, often in machine_speed.PROBES:
        took = machine_speed.median(first.valid, column), machine_speed.median(second.valid, column)
        run_speeds.append(Speed(column.replace("_", ".", 1), work, took, 1.0 if column == _WORK else often))
    return [speed for speed in run_speeds if any(speed.took)]


def _fsync(results: Results) -> float | None:
    return (results.manifest.get("fsync_ns") or {}).get("p50")


def table(comparison: RunComparison) -> Table:
    """A row a case, in the first run's order."""
    columns = (
        Column("case", "name"),
        Column("first", "number", "median"),
        Column("second", "number", "median"),
        Column("trials"),
        Column("ratio"),
        Column("95 % interval"),
        Column("by chance"),
        Column("limited by", "name"),
        Column("verdict", "name"),
    )
    return Table("Cases", columns, tuple(_row(case, comparison) for case in comparison.cases))


def _row(case: CaseComparison, comparison: RunComparison) -> Row:
    shown = numbers.duration if comparison.metric.endswith("_ns") else numbers.rate
    medians = [numbers.NOTHING] * 2 if case.medians is None else [shown(value) for value in case.medians]
    interval = (
        numbers.NOTHING
        if case.interval is None
        else f"{_factor(case.interval.low)} {numbers.NOTHING} {_factor(case.interval.high)}"
    )
    return Row(
        (
            Cell(case.case),
            *map(Cell, medians),
            Cell(" / ".join(map(str, case.trials))),
            Cell(numbers.NOTHING if case.ratio is None else _factor(case.ratio), "strong"),
            Cell(interval),
            Cell(numbers.share(case.chance)),
            Cell(_limits(case, comparison)),
            verdict(case),
        )
    )


def _factor(value: float) -> str:
    """Write a ratio; one is infinite where the first has nothing of what the second has, or the second never came."""
    return "\N{INFINITY}" if math.isinf(value) else f"{value:.3f}"


def verdict(case: CaseComparison) -> Cell:
    """The word on a case; one that is worse or better only alone is no more than suspect."""
    if case.change in {Change.WORSE, Change.BETTER} and not case.proven:
        return Cell(f"{case.change}, alone", "warn")
    return Cell(f"{case.change}{case.reason and f': {case.reason}'}", _TONES.get(case.change, "plain"))


def _limits(case: CaseComparison, comparison: RunComparison) -> str:
    """What limited the case in the first run and in the second."""
    runs = (comparison.first.cases, comparison.second.cases)
    return numbers.side_by_side(
        word for cases in runs for word in cases.loc[cases["case"] == case.case, "bottleneck"]
    )


def terminal_output(comparison: RunComparison) -> RenderableType:
    """The same for a terminal."""
    return Group(rich_table(table(comparison)), Text(), *map(Text, _lines(comparison)))


def _lines(comparison: RunComparison) -> list[str]:
    return [
        line
        for line in (comparison.summary, comparison.together, comparison.missing_cases, comparison.doubts)
        if line
    ]


def write(comparison: RunComparison, folder: Path) -> Path:
    """Write compare.html into a folder, which is made; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    page = templates.page(
        "compare.html.j2",
        {
            "comparison": comparison,
            "table": table(comparison),
            "looks": {},
            "threshold": numbers.percent(comparison.threshold),
        },
    )
    path = folder / "compare.html"
    path.write_text(page, encoding="utf-8")
    return path
