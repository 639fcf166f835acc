"""A scenario's expectations held against its cases: what no case can ever decide is refused before anything starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.model import BROKEN, Case, text, texts
from bench.scenario import Loaded
from bench.scenario.expectation import Expectation

_NEEDS_OPEN_LOOP = ("response_", "queue_")
_NEEDS_CONSUMERS = ("e2e_",)


def check(loaded: Loaded, cases: Sequence[Case]) -> None:
    """Raise ScenarioError for the first expectation that speaks of what this scenario does not have.

    What `--set` narrowed may leave an expectation without its cases: then it stays undecided, and the report says so.
    """
    if loaded.overrides:
        return
    for number, expectation in enumerate(loaded.scenario.expectations):
        for message in _wrong(expectation, cases):
            raise loaded.error(("expectations", number), f"{expectation.id!r} {message}")


def _wrong(expectation: Expectation, cases: Sequence[Case]) -> Iterator[str]:
    if expectation.ratio is not None:
        for side in (expectation.ratio.of, expectation.ratio.to):
            yield from _side(side.system, side.where, side.metric or expectation.metric, cases)
        return
    yield from _side(str(expectation.system), expectation.where, expectation.metric, cases)
    along = expectation.decreasing or expectation.increasing or expectation.steady or {}
    for name, values in along.items():
        yield from _along(str(expectation.system), name, values, cases)


def _side(system: str, where: Mapping[str, Any], metric: str, cases: Sequence[Case]) -> Iterator[str]:
    own = [case for case in cases if case.system == system]
    for name, values in where.items():
        known = _values(own, name)
        if not known:
            yield f"speaks of {name!r}, which {system} does not sweep{_swept(own)}"
        elif known.isdisjoint(texts(values)):
            yield f"speaks of {name}={', '.join(texts(values))}, and {system} has {', '.join(sorted(known))}"
    if metric.startswith(_NEEDS_OPEN_LOOP) and all(case.load.pacing.closed for case in own):
        yield f"speaks of {metric}, which a closed loop does not have: give load.rate"
    if metric.startswith(_NEEDS_CONSUMERS) and not any(case.load.consumers for case in own):
        yield f"speaks of {metric}, and there are no consumers"
    if metric in BROKEN and not any(case.faults for case in own):
        yield f"speaks of {metric}, and {system} has no faults"


def _along(system: str, name: str, values: Sequence[Any], cases: Sequence[Case]) -> Iterator[str]:
    own = [case for case in cases if case.system == system]
    known = _values(own, name)
    if not known:
        yield f"goes along {name!r}, which {system} does not sweep{_swept(own)}"
    elif len(known.intersection(texts(values))) < 2:
        yield f"goes along {name}={', '.join(texts(values))}, and {system} has {', '.join(sorted(known))}"


def _values(cases: Sequence[Case], name: str) -> set[str]:
    return {text(case.swept[name]) for case in cases if name in case.swept}


def _swept(cases: Sequence[Case]) -> str:
    names = dict.fromkeys(name for case in cases for name in case.swept)
    return f"; it sweeps {', '.join(names)}" if names else ""
