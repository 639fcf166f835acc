"""Verdicts on what the scenario expects, with every comparison that they rest on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

from bench import numbers
from bench.analysis.verdicts.claim_forms import HELD, NO_DIFFERENCE, NOT, UNDECIDED, Bounds, Form, Order
from bench.analysis.verdicts.comparisons import (
    CHANCE,
    SMALLEST_EFFECT,
    Basis,
    Comparator,
    Comparison,
    Side,
    is_refuted,
)
from bench.columns import COUNTERS, FOOTPRINT, KEYED, MEMBERS, READING_METRICS, SEGMENTS, STORED
from bench.model import ENOUGH_TRIALS, ERRORS, has_other_work, text, texts
from bench.statistics.interval import metric_value

Row = Mapping[str, Any]


class PairRule(NamedTuple):
    """Which values of a setting are compared with each other, what is claimed of them, and how that is written."""

    pair: Callable[[Sequence[str]], Iterable[tuple[str, str]]]
    form: Form
    claim: str


_RARE = 0.2
"""What can happen is taken to come in one trial of five at least: the least that five runs of a source can show."""
_TO_DENY = math.ceil(math.log(CHANCE) / math.log(1 - _RARE))
"""In so many trials something so rare would come, but for once in twenty such experiments."""
_DISTURBED = "disturbed"
_COUNTED = (
    "moves",
    "reader_short_entries",
    *READING_METRICS[:2],
    *STORED,
    *FOOTPRINT,
    *MEMBERS[:2],
    KEYED[0],
    SEGMENTS,
)
"""What faults and time did that is no time: other work on the machine takes nothing from it."""


def judge(
    expectation: Row, rows: Sequence[Row], settings: Sequence[str], basis: Basis | None = None
) -> dict[str, Any]:
    """Judge one expectation by the rows of `trials`; `settings` are the names of the swept ones.

    With a `basis` cases are compared by intervals over rounds; without, as something was broken, by how many rounds
    agree. A trial that other work disturbed says nothing of rates and times.
    """
    judged_rows = [{**row, "verdict": _DISTURBED} if _is_disturbed(row, expectation) else row for row in rows]
    effect = expectation.get("smallest_effect") or (basis.smallest_effect if basis else SMALLEST_EFFECT)
    claim = Claim(expectation, judged_rows, settings, effect, basis)
    comparisons = list(claim.comparisons())
    verdict = _overall(comparisons, basis.level if basis else 1 - CHANCE)
    return {
        **{key: expectation.get(key) for key in ("id", "claim", "source", "metric", "error")},
        "system": _system(expectation),
        "verdict": verdict,
        "summary": f"{_summary(verdict, comparisons, claim)}{_without(judged_rows)}",
        "smallest_effect": effect if claim.has_order else None,
        "effect": _effect(comparisons),
        "comparisons": [comparison.record() for comparison in comparisons],
    }


def _effect(comparisons: Sequence[Comparison]) -> float | None:
    """Return the ratio of the comparison that decides least: nearest to the ratio at which the claim turns."""
    measured = [comparison for comparison in comparisons if comparison.distance is not None]
    nearest = min(measured, key=lambda comparison: comparison.distance or 0.0, default=None)
    return nearest.ratio if nearest else None


def _system(expectation: Row) -> str | None:
    """Name the one system that an expectation speaks of; None for a ratio between two."""
    ratio = expectation.get("ratio")
    sides = [ratio["of"], ratio["to"]] if ratio else [expectation]
    return sides[0]["system"] if len({side["system"] for side in sides}) == 1 else None


def _is_disturbed(row: Row, expectation: Row) -> bool:
    """Whether a valid trial that an expectation on rates or times speaks of shared the cores with other work."""
    sides = [side for side in (expectation.get("ratio") or {}).values() if isinstance(side, Mapping)]
    counted = {*COUNTERS, ERRORS, *_COUNTED}
    metrics = {side.get("metric") or expectation["metric"] for side in sides or [expectation]}
    return (
        bool(metrics - counted)
        and _counts(row)
        and any(_matches(row, side) for side in sides or [expectation])
        and has_other_work(row.get("other_cpu"))
    )


def _without(rows: Sequence[Row]) -> str:
    disturbed_count = sum(row["verdict"] == _DISTURBED for row in rows)
    return (
        f"; without {numbers.plural(disturbed_count, 'trial')} disturbed by other work"
        if disturbed_count
        else ""
    )


def _matches(row: Row, side: Row) -> bool:
    """Whether a trial is of the system and the settings (`where`) that an expectation or one of its sides names."""
    conditions: Mapping[str, Any] = side.get("where") or {}
    return row["system"] == side["system"] and all(
        row.get(name) in texts(values) for name, values in conditions.items()
    )


class Claim:
    """An expectation and the rows that decide it."""

    def __init__(
        self,
        expectation: Row,
        rows: Sequence[Row],
        settings: Sequence[str],
        smallest_effect: float,
        basis: Basis | None,
    ) -> None:
        """Take the expectation, all rows, the swept settings, the effect that matters and the basis of intervals."""
        self._expectation, self._rows, self._settings = expectation, rows, settings
        self.smallest_effect, self.basis = smallest_effect, basis
        self._metric = expectation["metric"]

    @property
    def has_order(self) -> bool:
        """Whether it claims an order, of which there may be none."""
        return bool(self._expectation.get("decreasing") or self._expectation.get("increasing"))

    def comparisons(self) -> Iterator[Comparison]:
        """Give every comparison that the claim takes."""
        expectation, metric = self._expectation, self._metric
        rows = [row for row in self._rows if expectation.get("ratio") or _matches(row, expectation)]
        about = _about(expectation)
        if expectation.get("ratio"):
            yield from self._ratios(expectation["ratio"])
        elif along := expectation.get("decreasing"):
            yield from self._along(
                rows, along, PairRule(pairwise, Order(self.smallest_effect, falls=True), "> {}")
            )
        elif along := expectation.get("increasing"):
            yield from self._along(
                rows, along, PairRule(pairwise, Order(self.smallest_effect, falls=False), "< {}")
            )
        elif along := expectation.get("steady"):
            within = expectation["within"]
            bounds = Bounds(1 / (1 + within), 1 + within)
            yield from self._along(
                rows, along, PairRule(_with_first, bounds, f"within {numbers.percent(within)} of {{}}")
            )
        elif expectation.get("at_most") is not None:
            yield from _bound_comparisons(rows, metric, expectation["at_most"], "<=", about)
        elif expectation.get("at_least") is not None:
            yield from _bound_comparisons(rows, metric, expectation["at_least"], ">=", about)
        elif expectation.get("once_at_least") is not None:
            yield from _once(rows, metric, expectation["once_at_least"], about)

    def _comparator(self, *metrics: str) -> Comparator:
        return Comparator([row for row in self._rows if _counts(row)], metrics, self.basis)

    def _ratios(self, ratio: Row) -> Iterator[Comparison]:
        """Compare every case of one side with every case of the other."""
        of, to = (_cases(row for row in self._rows if _matches(row, ratio[end])) for end in ("of", "to"))
        low, high = ratio.get("at_least"), ratio.get("at_most")
        bounds = " and ".join(
            f"{word} {bound:g}" for word, bound in (("at least", low), ("at most", high)) if bound is not None
        )
        upper, lower = (ratio[end].get("metric") or self._metric for end in ("of", "to"))
        comparator = self._comparator(upper, lower)
        for left, right in product(of, to):
            names = f"{left} over {right}" if upper == lower else f"{left} {upper} over {right} {lower}"
            sides = Side(left, upper), Side(right, lower)
            yield comparator.compare(f"{names}: {bounds}", Bounds(low, high), *sides)

    def _along(
        self, rows: Sequence[Row], along: Mapping[str, Sequence[Any]], rule: PairRule
    ) -> Iterator[Comparison]:
        """Compare values of one setting, in each group of trials whose other settings are equal."""
        ((setting, values),) = along.items()
        other_settings = [name for name in self._settings if name != setting]
        comparator = self._comparator(self._metric)
        for group, members in _group_rows(
            rows, lambda row: tuple(row.get(name) for name in other_settings)
        ).items():
            cases = {row[setting]: row["case"] for row in members if row.get(setting) is not None}
            present = [text(value) for value in values if text(value) in cases]
            fixed = " ".join(
                f"{name}={value}"
                for name, value in zip(other_settings, group, strict=True)
                if value is not None
            )
            for left, right in rule.pair(present):
                claim = f"{setting}={left} {rule.claim.format(f'{setting}={right}')}"
                sides = Side(cases[left], self._metric), Side(cases[right], self._metric)
                yield comparator.compare(f"{fixed}: {claim}" if fixed else claim, rule.form, *sides)


def _cases(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["case"] for row in rows))


def _about(expectation: Row) -> str:
    """Name what a metric is the metric of, where it is not the whole trial."""
    if expectation.get("until"):
        return f"from {expectation['since']} to {expectation['until']}, "
    if expectation.get("since"):
        return f"since {expectation['since']}, "
    for key in ("fault", "reading", "transfer"):
        if expectation.get(key):
            return f"{expectation[key]}, "
    return f"{expectation['error']} " if expectation.get("error") else ""


def _with_first(values: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pair every value with the first: steps of which each is small may add up."""
    return ((value, values[0]) for value in values[1:])


def _group_rows(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _counts(row: Row) -> bool:
    return bool(row["verdict"] == "valid")


def _bound_comparisons(
    rows: Sequence[Row], metric: str, bound: float, sign: str, about: str
) -> Iterator[Comparison]:
    """Hold every valid trial of each case against a bound."""
    for case, members in _group_rows(rows, lambda row: row["case"]).items():
        values = [metric_value(row, metric) for row in members if _counts(row)]
        known_values = [value for value in values if value is not None]
        within = sum((value <= bound) if sign == "<=" else (value >= bound) for value in known_values)
        beyond = len(known_values) - within
        verdict = NOT if beyond else HELD if values and within == len(values) else UNDECIDED
        claim = f"{case}: {about}{metric} {sign} {_bound(metric, bound)}"
        yield Comparison(claim, within, beyond, len(values), verdict, values=tuple(values))


def _once(rows: Sequence[Row], metric: str, bound: float, about: str) -> Iterator[Comparison]:
    """Look for one valid trial, of whichever case, that reaches a bound; that it does not come takes many to say."""
    if not rows:
        return
    values = [metric_value(row, metric) for row in rows if _counts(row)]
    known_values = [value for value in values if value is not None]
    reached = sum(value >= bound for value in known_values)
    never = len(known_values) == len(values) >= _TO_DENY
    cases = _cases(rows)
    cases_text = cases[0] if len(cases) == 1 else f"{len(cases)} cases"
    claim = f"{cases_text}: {about}{metric} >= {_bound(metric, bound)} in one trial or more"
    verdict = HELD if reached else NOT if never else UNDECIDED
    yield Comparison(claim, reached, len(known_values) - reached, len(values), verdict, values=tuple(values))


def _bound(metric: str, bound: float) -> str:
    return numbers.duration(bound) if metric.endswith("_ns") else f"{bound:g}"


def _overall(comparisons: Sequence[Comparison], level: float) -> str:
    verdicts = {comparison.verdict for comparison in comparisons}
    if NOT in verdicts:
        return NOT if is_refuted(comparisons, level) else UNDECIDED
    if not verdicts or UNDECIDED in verdicts:
        return UNDECIDED
    return NO_DIFFERENCE if NO_DIFFERENCE in verdicts else HELD


def _summary(verdict: str, comparisons: Sequence[Comparison], claim: Claim) -> str:
    if not comparisons:
        return "undecided: no two trials of this run can be compared for it"
    total = numbers.plural(len(comparisons), "comparison")
    over = _span(comparisons)
    counts = {
        word: sum(comparison.verdict == word for comparison in comparisons)
        for word in (HELD, NOT, NO_DIFFERENCE, UNDECIDED)
    }
    if verdict == HELD:
        return f"held in {counts[HELD]} of {total} over {over}"
    other_counts = ", ".join(
        f"{word} in {counts[word]}"
        for word in (HELD, NO_DIFFERENCE, UNDECIDED)
        if word != verdict and (counts[word] or word != NO_DIFFERENCE)
    )
    if verdict == NOT:
        return f"did not hold in {counts[NOT]} of {total} over {over} ({other_counts})"
    if verdict == NO_DIFFERENCE:
        effect = f"{100 * claim.smallest_effect:g} %"
        beside = f" (held in {counts[HELD]})" if counts[HELD] else ""
        return f"no difference larger than {effect} in {counts[NO_DIFFERENCE]} of {total} over {over}{beside}"
    decided = counts[HELD] + counts[NO_DIFFERENCE]
    return f"{_agreement_phrase(comparisons)} over {over}, decided in {decided}{_reason(comparisons)}"


def _agreement_phrase(comparisons: Sequence[Comparison]) -> str:
    agree = sum(comparison.rounds_for == comparison.rounds > 0 for comparison in comparisons)
    return f"undecided: as claimed in {agree} of {numbers.plural(len(comparisons), 'comparison')}"


def _reason(comparisons: Sequence[Comparison]) -> str:
    """Say why comparisons leave an expectation undecided."""
    against = sum(comparison.verdict == NOT for comparison in comparisons)
    if against:
        return f"; against it in {against}, which chance alone may bring among {len(comparisons)}"
    if any(comparison.rounds == 0 for comparison in comparisons):
        return "; some have no valid round"
    values = [value for comparison in comparisons for value in comparison.values or ()]
    if values and None not in values:
        return f"; no trial shows it, and to decide that none would takes {_TO_DENY} trials"
    if values:
        return "; some trials have no value"
    return _doubt([comparison for comparison in comparisons if comparison.verdict == UNDECIDED])


def _doubt(comparisons: Sequence[Comparison]) -> str:
    """Name the undecided ratio that is known least, or say how many rounds would have to agree."""
    intervals = [comparison for comparison in comparisons if comparison.chance is not None]
    if intervals:
        widest = max(intervals, key=_width)
        return f"; open: {widest.subject}, {_interval(widest)}"
    if not any(comparison.ratio is not None for comparison in comparisons):
        return "; some trials have no value"
    if min(comparison.rounds for comparison in comparisons) < ENOUGH_TRIALS:
        return f"; a verdict takes {ENOUGH_TRIALS} rounds that agree"
    return "; the rounds do not agree"


def _width(comparison: Comparison) -> float:
    interval = comparison.interval
    return interval.high / interval.low if interval else math.inf


def _interval(comparison: Comparison) -> str:
    interval = comparison.interval
    ends = f" ({interval.low:.2f} to {interval.high:.2f})" if interval else ""
    return f"ratio {comparison.ratio:.2f}{ends}"


def _span(comparisons: Sequence[Comparison]) -> str:
    """Say over how many rounds, or trials, the comparisons went."""
    unit = "round" if comparisons[0].values is None else "trial"
    low, high = (end(comparison.rounds for comparison in comparisons) for end in (min, max))
    span = str(low) if low == high else f"{low} to {high}"
    return f"{span} {unit}{'' if span == '1' else 's'}"
