"""What a person sees while a run goes on: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from bench import numbers
from bench.model import NANOS, Cluster, Trial, Verdict
from bench.records.trial import TrialRecord
from bench.run.plan import Plan

if TYPE_CHECKING:  # Spark's modules load with it
    from bench.analysis.verdicts.outlook import Outlook


_MOST_MINUTES = 480
"""A longer time is no estimate that anybody could use."""


class Progress:
    """Shows trial k of n, the live rate and the time left; adds up the time spent measuring."""

    def __init__(self, plan: Plan, done: Collection[int]) -> None:
        """Begin with the trials that are there already counted as done."""
        self._console = Console(stderr=True)
        self._total, self._done = len(plan.trials), len(done)
        self._begun, self._first = time.monotonic(), self._done
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("[cyan]{task.fields[rate]}"),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bars.add_task("starting", total=self._total, completed=self._done, rate="")
        self.measuring_s = 0.0

    def __enter__(self) -> Self:
        """Show the bars."""
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""
        self._bars.stop()

    def extend(self, plan: Plan) -> None:
        """Take a plan that has more rounds."""
        self._total = len(plan.trials)
        self._bars.update(self._task, total=self._total)

    def outlook(self, rounds: int, outlook: Outlook) -> None:
        """Say what is decided after so many rounds, what is not, and how much longer that would take."""
        lines = [f"after {numbers.plural(rounds, 'round')}: {outlook_words(outlook)}"]
        lines += [f"  undecided: {identifier}: {words}" for identifier, words in outlook.undecided]
        for line in lines:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def cluster(self, cluster: Cluster) -> None:
        """Say that a cluster is being started, or connected to where somebody else runs it."""
        step = "connecting to the" if cluster.external else "starting a fresh"
        self._bars.update(self._task, description=f"{step} {cluster.system} cluster", rate="")
        self._plain(f"{step} {cluster.system} cluster")

    def warn(self, message: str) -> None:
        """Say something that the user should know once the run is over."""
        self._console.print(message, style="yellow", markup=False, highlight=False, soft_wrap=True)

    def trial(self, trial: Trial) -> Callable[[Mapping[str, Any]], None]:
        """Say that a trial begins; return what takes the load's live figures."""
        self._bars.update(self._task, description=trial.case.name, rate="")

        def live(figures: Mapping[str, Any]) -> None:
            self._bars.update(self._task, rate=f"{figures['rate']:,.0f} msg/s")

        return live

    def count_trial(self, trial: Trial, record: TrialRecord) -> None:
        """Count a trial; a failed or doubtful one is said with its reason."""
        self._done += 1
        self.measuring_s += sum(span.length_ns for span in [*record.spans, *(record.holds or ())]) / NANOS
        self._bars.update(self._task, completed=self._done)
        self._plain(
            f"trial {self._done} of {self._total} {record.state}: {trial.case.name}; {self._time_left()}"
        )
        if record.verdict != Verdict.VALID:
            self._console.print(
                f"[yellow]trial {trial.number} ({trial.case.name}) is {record.verdict}:[/yellow]"
            )
            self._console.print(f"  {record.reason}", markup=False, highlight=False)

    def _time_left(self) -> str:
        spent, ran = time.monotonic() - self._begun, self._done - self._first
        return f"about {numbers.seconds(spent / max(ran, 1) * (self._total - self._done))} left"

    def _plain(self, line: str) -> None:
        if not self._console.is_terminal:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def outlook_words(outlook: Outlook) -> str:
    """Say in one line how much is decided, how precise ratios are, and how much longer the rest would take."""
    expectations = outlook.decided + len(outlook.undecided)
    words = [f"{outlook.decided} of {numbers.plural(expectations, 'expectation')} decided"]
    if outlook.half_width is not None:
        words.append(f"ratios to within {numbers.percent(outlook.half_width, 1)} (median)")
    if (outlook.minutes_left or 0) > _MOST_MINUTES:
        words.append("more rounds would hardly decide the rest")
    elif outlook.more_rounds:
        minutes = "" if outlook.minutes_left is None else f", {outlook.minutes_left:.0f} min"
        words.append(f"the rest would take about {numbers.plural(outlook.more_rounds, 'round')}{minutes}")
    return "; ".join(words)
