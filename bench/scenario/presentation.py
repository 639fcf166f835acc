"""How results are presented: labels, the comparisons of the first page, causes, a note.

None of it changes a plan, a case or a result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from bench.columns import METRICS, OUTAGE
from bench.scenario.expectation import Bound, SystemName, no_metric, one_of
from bench.scenario.values import Scalar, StrictModel, Swept
from bench.systems.registry import NAMES

if TYPE_CHECKING:
    AdviceOutcome: TypeAlias = str
else:
    AdviceOutcome = Literal["more", "less", "same", *NAMES]

KEYS = ("labels", "answer", "causes", "note")
"""The keys of a scenario that only say how its results are presented."""
MOST_ENTRIES = 3
_OUTCOMES = ("more", "less", "same")

Words: TypeAlias = Annotated[str, Field(min_length=1)]
Labels: TypeAlias = dict[str, dict[str, Words]]


class ComparisonSpec(StrictModel):
    """A comparison of the first page: of two cases of one system, or of both systems at one guarantee."""

    change: Words | None = None
    """What `of` does that `to` does not, as a noun phrase: waiting for all replicas instead of only the leader."""
    system: SystemName | None = None
    """Whose cases `of` and `to` are."""
    of: dict[str, Scalar] = Field(default_factory=dict)
    """Swept settings with their values, which pick one case; with `metric: unavailable_ns` also several, each compared
    with the case of `to` that has the same other settings."""
    to: dict[str, Scalar] = Field(default_factory=dict)
    """The same for the case that is the baseline."""
    guarantee: Words | None = None
    """What an acknowledged message survives on both systems, as reports say it."""
    at: dict[str, Scalar] = Field(default_factory=dict)
    """Settings that both systems sweep, with the value at which they are compared."""
    metric: Annotated[str, one_of(METRICS)] | None = None
    """A column of results/trials; without it that of the first expectation."""
    advice: dict[AdviceOutcome, Words] = Field(default_factory=dict)
    """A sentence by outcome. For a change: whether `of` has more of the metric, less, or the same. For a guarantee:
    which system is faster, or the same."""

    @model_validator(mode="after")
    def _one_form(self) -> ComparisonSpec:
        for message in self._mistakes():
            raise ValueError(message)
        return self

    def _mistakes(self) -> Iterator[str]:
        if (self.change is None) == (self.guarantee is None):
            yield "give `change` with system, of and to; or `guarantee`"
        elif self.guarantee is None and not (self.system and self.of and self.to):
            yield "a `change` needs `system`, `of` and `to`"
        elif self.guarantee is None and self.at:
            yield "`at` belongs to a `guarantee`: a `change` names its settings in `of` and `to`"
        elif self.guarantee is not None and (self.system or self.of or self.to):
            yield "a `guarantee` compares both systems: `system`, `of` and `to` belong to a `change`"
        if self.metric is not None and self.metric not in METRICS:
            yield no_metric(self.metric, METRICS)
        if self.metric == OUTAGE and (self.advice or self.guarantee):
            yield f"{OUTAGE} is compared in a `change`, without advice"
        of_a_change = {outcome for outcome in self.advice if outcome in _OUTCOMES}
        misplaced = self.advice.keys() - of_a_change if self.change else of_a_change - {"same"}
        if misplaced:
            allowed = ", ".join(_OUTCOMES) if self.change else "the names of the systems, same"
            yield f"advice {', '.join(sorted(misplaced))!r} fits no outcome here; allowed: {allowed}"


class Agreement(StrictModel):
    """What the data have to agree with: every valid trial has the metric within these bounds."""

    metric: Annotated[str, one_of(METRICS)]
    """A column of results/trials."""
    at_least: Bound = None
    """No trial is below this."""
    at_most: Bound = None
    """No trial is above this."""

    @model_validator(mode="after")
    def _check_metric_bounds(self) -> Agreement:
        if self.metric not in METRICS:
            raise ValueError(no_metric(self.metric, METRICS))
        if self.at_least is None and self.at_most is None:
            message = "give at_least, at_most or both"
            raise ValueError(message)
        return self


class CauseSpec(StrictModel):
    """Why a fault did what it did, and what prevents it. It is shown where the data agree with `when`."""

    system: SystemName
    """Whose cases it explains."""
    where: dict[str, Swept] = Field(default_factory=dict)
    """Swept settings with the value, or the values, of the cases that it explains; without it all of them."""
    when: Agreement
    """What every valid trial of these cases shows."""
    cause: Words
    """Why, in one sentence."""
    prevention: Words | None = None
    """What prevents it, in one sentence."""
    source: Words
    """Where the cause is documented: a page, a KIP, an article."""
