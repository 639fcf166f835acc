"""The page of a comparison: two runs, case by case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from bench import numbers
from bench.model import Change, Compared
from bench.report import templates
from bench.report.pages.terminal import STYLES
from bench.report.results import Results
from bench.report.table import Cell, Column, Row, Table

_TONES = {Change.BETTER: "good", Change.WORSE: "bad", Change.UNTOLD: "warn"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the page shows. `new` are the cases that only the second run has."""

    first: Results
    second: Results
    metric: str
    threshold: float
    cases: Sequence[Compared]
    new: Sequence[str]
    accepted: Sequence[tuple[str, str, str]]

    @property
    def counts(self) -> Counter[Change]:
        """How many cases have each verdict."""
        return Counter(case.change for case in self.cases)

    @property
    def summary(self) -> str:
        """Say it in a line: worst first."""
        said = [
            f"{self.counts[word]} {word}"
            for word in (Change.WORSE, Change.BETTER, Change.SAME, Change.UNTOLD)
            if self.counts[word]
        ]
        return f"{numbers.plural(len(self.cases), 'case')} of {self.metric}: {', '.join(said)}."


def table(comparison: Comparison) -> Table:
    """A row a case, in the first run's order."""
    columns = (
        Column("case", "name"),
        Column("first", "number", "median"),
        Column("second", "number", "median"),
        Column("trials"),
        Column("ratio"),
        Column("95 % interval"),
        Column("limited by", "name"),
        Column("verdict", "name"),
    )
    return Table("Cases", columns, tuple(_row(case, comparison) for case in comparison.cases))


def _row(case: Compared, comparison: Comparison) -> Row:
    shown = numbers.duration if comparison.metric.endswith("_ns") else numbers.rate
    medians = [numbers.NOTHING] * 2 if case.medians is None else [shown(value) for value in case.medians]
    interval = (
        numbers.NOTHING
        if case.interval is None
        else f"{case.interval.low:.3f} {numbers.NOTHING} {case.interval.high:.3f}"
    )
    return Row(
        (
            Cell(case.case),
            *map(Cell, medians),
            Cell(" / ".join(map(str, case.trials))),
            Cell(numbers.NOTHING if case.ratio is None else f"{case.ratio:.3f}", "strong"),
            Cell(interval),
            Cell(_limits(case, comparison)),
            Cell(f"{case.change}{case.reason and f': {case.reason}'}", _TONES.get(case.change, "plain")),
        )
    )


def _limits(case: Compared, comparison: Comparison) -> str:
    """What limited the case in the first run and in the second; one word where they agree."""
    words = [
        str(word or numbers.NOTHING)
        for run in (comparison.first, comparison.second)
        for word in run.cases.loc[run.cases["case"] == case.case, "bottleneck"]
    ]
    return " / ".join(dict.fromkeys(words))


def printed(comparison: Comparison) -> RenderableType:
    """The same for a terminal."""
    drawn = RichTable(box=None, padding=(0, 1, 0, 0))
    made = table(comparison)
    for column in made.columns:
        drawn.add_column(column.head, justify="right" if column.kind == "number" else "left")
    for row in made.rows:
        drawn.add_row(*(Text(cell.text, STYLES.get(cell.tone, "")) for cell in row.cells))
    return Group(drawn, Text(), Text(comparison.summary))


def write(comparison: Comparison, folder: Path) -> Path:
    """Write compare.html into a folder, which is made; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    page = templates.page(
        "compare.html.j2", {"comparison": comparison, "table": table(comparison), "looks": {}}
    )
    path = folder / "compare.html"
    path.write_text(page, encoding="utf-8")
    return path
