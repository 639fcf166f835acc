"""What a scenario expects: claims that the data can decide (docs/method.md, "Verdicts on expectations")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from bench.model import ERRORS, FAULT_METRICS, METRICS, STEP_NS
from bench.scenario.values import Scalar, Strict, Swept

SystemName = Literal["kafka", "pulsar", "memory"]
_FORMS = ("decreasing", "increasing", "steady", "at_most", "at_least", "once_at_least", "ratio")
Bound = Annotated[float | None, Field(strict=False)]


def _no_metric(name: str, known: Sequence[str], table: str = "trials") -> str:
    return f"metric {name!r} is no column of results/{table}: one of {', '.join(known)}"


class Side(Strict):
    """The cases of one system that have these settings; `metric`, where it is not the expectation's own."""

    system: SystemName
    where: dict[str, Swept] = Field(default_factory=dict)
    metric: str | None = None

    @model_validator(mode="after")
    def _known(self) -> Side:
        if self.metric is not None and self.metric not in METRICS:
            raise ValueError(_no_metric(self.metric, METRICS))
        return self


class Ratio(Strict):
    """The metric of some cases (`of`) over that of others (`to`), of the same round; from, to, or between bounds."""

    of: Side
    to: Side
    at_least: Bound = None
    at_most: Bound = None

    @model_validator(mode="after")
    def _bounded(self) -> Ratio:
        if self.at_least is None and self.at_most is None:
            message = "give at_least, at_most or both"
            raise ValueError(message)
        return self


class Expectation(Strict):
    """A claim that the data can decide, in exactly one form.

    Forms: decreasing, increasing, steady, at_most, at_least, once_at_least, ratio. `steady`: along a setting the metric
    differs from that at its first value by `within` at most (0.1: 10 %). `once_at_least`: in one trial or more. A
    `ratio` names its systems itself. The metric is a column of results/trials; with `fault`, the name of a step, one of
    that fault in results/faults; `errors` counts the sends that ended with `error`, the client's own name for it;
    `step_ns` is the time from the step `since` to the step `until`.
    """

    id: str
    claim: str
    source: str | None = None
    system: SystemName | None = None
    metric: str
    error: str | None = None
    fault: str | None = None
    since: str | None = None
    until: str | None = None
    decreasing: dict[str, list[Scalar]] | None = None
    increasing: dict[str, list[Scalar]] | None = None
    steady: dict[str, list[Scalar]] | None = None
    within: Annotated[float, Field(gt=0)] | None = None
    at_most: Bound = None
    at_least: Bound = None
    once_at_least: Bound = None
    ratio: Ratio | None = None
    where: dict[str, Swept] = Field(default_factory=dict)

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

    def _wrong_metric(self) -> Iterator[str]:
        known = (*METRICS, ERRORS, STEP_NS) if self.fault is None else FAULT_METRICS
        if self.metric not in known:
            yield _no_metric(self.metric, known, "trials" if self.fault is None else "faults")
        if (self.metric == ERRORS) != (self.error is not None):
            yield f"the metric {ERRORS!r} and the name of an error go together"
        if not (self.metric == STEP_NS) == (self.since is not None) == (self.until is not None):
            yield f"the metric {STEP_NS!r} and the names of two steps, `since` and `until`, go together"
        if self.ratio is not None and (self.fault is not None or self.metric in {ERRORS, STEP_NS}):
            yield "a ratio speaks of columns of results/trials"

    @property
    def steps(self) -> list[str]:
        """Return the names of the steps of faults that it speaks of."""
        return [name for name in (self.fault, self.since, self.until) if name is not None]
