"""What a scenario expects: claims that the data can decide (docs/method/verdicts.md, "Verdicts on expectations")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field, WithJsonSchema, model_validator

from bench.columns import FAULT_METRICS, METRICS, READER_STALL_NS, READING_METRICS, TRANSFER_METRICS
from bench.model import ERRORS, STEP_NS
from bench.scenario.values import Scalar, StrictModel, Swept
from bench.systems.registry import NAMES

if TYPE_CHECKING:
    SystemName: TypeAlias = str
else:
    SystemName = Literal[NAMES]
_FORMS = ("decreasing", "increasing", "steady", "at_most", "at_least", "once_at_least", "ratio")
Bound = Annotated[float | None, Field(strict=False)]


def one_of(names: Iterable[str]) -> WithJsonSchema:
    """Let editors offer these; what is wrong is told more kindly by the models themselves."""
    return WithJsonSchema({"type": "string", "enum": list(names)})


def no_metric(name: str, metrics: Sequence[str], table: str = "trials") -> str:
    """Say that a metric is not among those of a table."""
    return f"metric {name!r} is no column of results/{table}: one of {', '.join(metrics)}"


class CaseSelector(StrictModel):
    """The cases of one system that have these settings."""

    system: SystemName
    """Whose cases."""
    where: dict[str, Swept] = Field(default_factory=dict)
    """Swept settings with the value, or the values, that they have there."""
    metric: Annotated[str, one_of(METRICS)] | None = None
    """The column of results/trials, where it is not the expectation's own."""

    @model_validator(mode="after")
    def _check_metric(self) -> CaseSelector:
        if self.metric is not None and self.metric not in METRICS:
            raise ValueError(no_metric(self.metric, METRICS))
        return self


class RatioSpec(StrictModel):
    """The metric of some cases (`of`) over that of others (`to`), of the same round; from, to, or between bounds."""

    of: CaseSelector
    """What stands above the line."""
    to: CaseSelector
    """What stands below it."""
    at_least: Bound = None
    """From which ratio on the claim holds."""
    at_most: Bound = None
    """Up to which."""

    @model_validator(mode="after")
    def _check_bounds(self) -> RatioSpec:
        if self.at_least is None and self.at_most is None:
            message = "give at_least, at_most or both"
            raise ValueError(message)
        return self


class Expectation(StrictModel):
    """A claim that the data can decide, in exactly one form.

    Forms: decreasing, increasing, steady, at_most, at_least, once_at_least, ratio.
    """

    id: str
    """A name of its own."""
    claim: str
    """What is claimed, as a report says it."""
    source: str | None = None
    """Who claims it, and where."""
    system: SystemName | None = None
    """Whose trials decide; a `ratio` names its systems itself."""
    metric: Annotated[
        str,
        one_of(
            dict.fromkeys((*METRICS, ERRORS, STEP_NS, *READING_METRICS, *FAULT_METRICS, *TRANSFER_METRICS))
        ),
    ]
    """A column of results/trials; with `fault` one of results/faults, with `reading` of results/readings,
    with `transfer` of results/transfers; `errors`: how many sends ended with `error`; `step_ns`: the time from the step
    `since` to the step `until`."""
    error: str | None = None
    """What the client calls the error that is counted."""
    fault: str | None = None
    """The name of a step that strikes: the metric is one of what that did."""
    reading: str | None = None
    """The name of a step that reads: the metric is one of what that found."""
    transfer: str | None = None
    """The name of a step that drains a node or rebalances the topic: the metric is one of what that took and did."""
    since: str | None = None
    """The name of the step from whose end on time counts; with `reader_stall_ns` that of one before which no stall
    counts."""
    until: str | None = None
    """The name of the step until which it counts: when that was due."""
    decreasing: dict[str, list[Scalar]] | None = None
    """A setting with values, along which the metric falls."""
    increasing: dict[str, list[Scalar]] | None = None
    """A setting with values, along which the metric rises."""
    steady: dict[str, list[Scalar]] | None = None
    """A setting with values, at which the metric differs from that at the first by `within` at most."""
    within: Annotated[float, Field(gt=0)] | None = None
    """By which share `steady` may differ: 0.1 is 10 %."""
    at_most: Bound = None
    """No trial is above this."""
    at_least: Bound = None
    """No trial is below this."""
    once_at_least: Bound = None
    """One trial or more reaches this."""
    ratio: RatioSpec | None = None
    """The metric of some cases over that of others."""
    where: dict[str, Swept] = Field(default_factory=dict)
    """Swept settings with the value, or the values, that the trials have which decide."""
    smallest_effect: Annotated[float | None, Field(gt=0)] = None
    """The smallest effect that matters, as a share: at 0.05 a ratio between 1 / 1.05 and 1.05 is no difference; the
    scenario's where it is not given."""

    @property
    def systems(self) -> set[str]:
        """Return the systems that it speaks of."""
        sides: tuple[SystemName | None, ...] = (
            (self.ratio.of.system, self.ratio.to.system) if self.ratio else (self.system,)
        )
        return {name for name in sides if name is not None}

    @model_validator(mode="after")
    def _fits(self) -> Expectation:
        for message in self._faults():
            raise ValueError(message)
        return self

    def _faults(self) -> Iterator[str]:
        if sum(getattr(self, form) is not None for form in _FORMS) != 1:
            yield f"give exactly one of {', '.join(_FORMS)}"
        if (self.system is None) != (self.ratio is not None):
            yield "give `system`; a ratio names the systems of its two sides instead"
        if self.ratio is not None and self.where:
            yield "a ratio has a `where` on each of its sides"
        yield from self._wrong_metric()
        if (self.steady is None) != (self.within is None):
            yield "`steady` and `within` go together"
        along: Mapping[str, list[Scalar]] = self.decreasing or self.increasing or self.steady or {}
        for values in along.values():
            if len(along) != 1 or len(values) < 2:
                yield "decreasing, increasing and steady take one setting with two values or more"
        if self.smallest_effect is not None and self.decreasing is None and self.increasing is None:
            yield "`smallest_effect` belongs to decreasing or increasing; the other forms name their own bounds"

    def _wrong_metric(self) -> Iterator[str]:
        tables = (
            (self.fault, FAULT_METRICS, "faults"),
            (self.reading, READING_METRICS, "readings"),
            (self.transfer, TRANSFER_METRICS, "transfers"),
        )
        about = [(metrics, name) for step, metrics, name in tables if step is not None]
        if len(about) > 1:
            yield "give one of `fault`, `reading` and `transfer`"
        allowed_metrics, table = (*about, ((*METRICS, ERRORS, STEP_NS), "trials"))[0]
        if self.metric not in allowed_metrics:
            yield no_metric(self.metric, allowed_metrics, table)
        if (self.metric == ERRORS) != (self.error is not None):
            yield f"the metric {ERRORS!r} and the name of an error go together"
        if (self.metric == STEP_NS) != (self.until is not None) or (self.until and self.since is None):
            yield f"the metric {STEP_NS!r} and the names of two steps, `since` and `until`, go together"
        if self.since is not None and self.metric not in {STEP_NS, READER_STALL_NS}:
            yield f"only the metrics {STEP_NS!r} and {READER_STALL_NS!r} count `since` a step"
        beside = bool(about) or self.metric in {ERRORS, STEP_NS}
        if self.ratio is not None and beside:
            yield "a ratio speaks of columns of results/trials"

    @property
    def steps(self) -> list[str]:
        """Return the names of the steps of faults that it speaks of."""
        names = (self.fault, self.reading, self.transfer, self.since, self.until)
        return [name for name in names if name is not None]
