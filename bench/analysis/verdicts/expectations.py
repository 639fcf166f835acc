"""Verdicts on what the scenario expects: held, did not hold, or undecided, with every comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple, TypeAlias

from scipy import stats

from bench import numbers
from bench.analysis.statistics.interval import by_round, paired, paired_ratio, ratios, timed
from bench.model import COUNTERS, ENOUGH_TRIALS, ERRORS, crowded, text, texts

Row = Mapping[str, Any]
Comparison = dict[str, Any]
Pairs: TypeAlias = Sequence[tuple[float, float]]
"""The metric on both sides of a comparison, round by round."""
Decide: TypeAlias = Callable[[str, str, Pairs], Comparison]


class Rule(NamedTuple):
    """Which values of a setting are compared with each other, and how that is decided."""

    pair: Callable[[Sequence[str]], Iterable[tuple[str, str]]]
    decide: Decide


HELD, NOT, UNDECIDED = "held", "did not hold", "undecided"

_CHANCE = 0.05
_RARE = 0.2
"""What can happen is taken to come in one trial of five at least: the least that five runs of a source can show."""
_TO_DENY = math.ceil(math.log(_CHANCE) / math.log(1 - _RARE))
"""In so many trials something so rare would come, but for once in twenty such experiments."""
_CROWDED = "crowded"
_COUNTED = ("moves", "reader_short_entries")
"""What faults did that is no time: other work on the machine takes nothing from it."""


def judge(expectation: Row, rows: Sequence[Row], settings: Sequence[str]) -> dict[str, Any]:
    """Judge one expectation by the rows of `trials`; `settings` are the names of the swept ones.

    A trial that other work crowded says nothing of rates and times.
    """
    kept = [{**row, "verdict": _CROWDED} if _crowded(row, expectation) else row for row in rows]
    comparisons = list(_comparisons(expectation, kept, settings))
    verdict = _overall(comparisons)
    return {
        **{key: expectation.get(key) for key in ("id", "claim", "source", "metric", "error")},
        "system": _system(expectation),
        "verdict": verdict,
        "summary": f"{_summary(verdict, comparisons)}{_without(kept)}",
        "comparisons": comparisons,
    }


def _system(expectation: Row) -> str | None:
    """Name the one system that an expectation speaks of; None for a ratio between two."""
    ratio = expectation.get("ratio")
    sides = [ratio["of"], ratio["to"]] if ratio else [expectation]
    return sides[0]["system"] if len({side["system"] for side in sides}) == 1 else None


def _crowded(row: Row, expectation: Row) -> bool:
    """Whether a valid trial that an expectation on rates or times speaks of shared the cores with other work."""
    sides = [side for side in (expectation.get("ratio") or {}).values() if isinstance(side, Mapping)]
    counted = {*COUNTERS, ERRORS, *_COUNTED}
    metrics = {side.get("metric") or expectation["metric"] for side in sides or [expectation]}
    return (
        bool(metrics - counted)
        and _counts(row)
        and any(_meant(row, side) for side in sides or [expectation])
        and crowded(row.get("other_cpu"))
    )


def _without(rows: Sequence[Row]) -> str:
    those = sum(row["verdict"] == _CROWDED for row in rows)
    return f"; without {numbers.plural(those, 'trial')} that other work crowded" if those else ""


def _meant(row: Row, side: Row) -> bool:
    """Whether a trial is of the system and the settings (`where`) that an expectation or one of its sides names."""
    where: Mapping[str, Any] = side.get("where") or {}
    return row["system"] == side["system"] and all(
        row.get(name) in texts(values) for name, values in where.items()
    )


def _comparisons(expectation: Row, rows: Sequence[Row], settings: Sequence[str]) -> Iterator[Comparison]:
    metric = expectation["metric"]
    if expectation.get("ratio"):
        yield from _ratios(rows, metric, expectation["ratio"])
        return
    chosen = [row for row in rows if _meant(row, expectation)]
    if expectation.get("decreasing"):
        yield from _ordered(chosen, settings, metric, expectation["decreasing"], Rule(pairwise, _falls))
    elif expectation.get("increasing"):
        yield from _ordered(chosen, settings, metric, expectation["increasing"], Rule(pairwise, _rises))
    elif expectation.get("steady"):
        rule = Rule(_with_first, _stays(expectation["within"]))
        yield from _ordered(chosen, settings, metric, expectation["steady"], rule)
    elif expectation.get("at_most") is not None:
        yield from _bounded(chosen, metric, expectation["at_most"], "<=", _about(expectation))
    elif expectation.get("at_least") is not None:
        yield from _bounded(chosen, metric, expectation["at_least"], ">=", _about(expectation))
    elif expectation.get("once_at_least") is not None:
        yield from _once(chosen, metric, expectation["once_at_least"], _about(expectation))


def _about(expectation: Row) -> str:
    """Name what a metric is the metric of, where it is not the whole trial."""
    if expectation.get("until"):
        return f"from {expectation['since']} to {expectation['until']}, "
    if expectation.get("since"):
        return f"since {expectation['since']}, "
    if expectation.get("fault"):
        return f"{expectation['fault']}, "
    return f"{expectation['error']} " if expectation.get("error") else ""


def _ratios(rows: Sequence[Row], metric: str, ratio: Row) -> Iterator[Comparison]:
    """Compare every case of one side with every case of the other."""
    of, to = (
        _grouped([row for row in rows if _meant(row, side)], lambda row: row["case"])
        for side in (ratio["of"], ratio["to"])
    )
    low, high = ratio.get("at_least"), ratio.get("at_most")
    said = " and ".join(
        f"{word} {bound:g}" for word, bound in (("at least", low), ("at most", high)) if bound is not None
    )
    upper, lower = (side.get("metric") or metric for side in (ratio["of"], ratio["to"]))
    for left, right in product(of, to):
        what = f"{left} over {right}" if upper == lower else f"{left} {upper} over {right} {lower}"
        pairs = paired(_by_round(of[left], upper), _by_round(to[right], lower))
        yield _by_bounds(f"{what}: {said}", pairs, low, high)


def _ordered(
    rows: Sequence[Row],
    settings: Sequence[str],
    metric: str,
    along: Mapping[str, Sequence[Any]],
    rule: Rule,
) -> Iterator[Comparison]:
    """Compare values of one setting, in each group of trials whose other settings are equal."""
    ((setting, values),) = along.items()
    others = [name for name in settings if name != setting]
    for group, members in _grouped(rows, lambda row: tuple(row.get(name) for name in others)).items():
        by_value = _grouped(members, lambda row: row.get(setting))
        present = [text(value) for value in values if text(value) in by_value]
        fixed = " ".join(
            f"{name}={value}" for name, value in zip(others, group, strict=True) if value is not None
        )
        for left, right in rule.pair(present):
            pairs = paired(_by_round(by_value[left], metric), _by_round(by_value[right], metric))
            comparison = rule.decide(f"{setting}={left}", f"{setting}={right}", pairs)
            yield comparison | {"what": f"{fixed}: {comparison['what']}" if fixed else comparison["what"]}


def _with_first(values: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pair every value with the first: steps of which each is small may add up."""
    return ((value, values[0]) for value in values[1:])


def _grouped(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _by_round(rows: Iterable[Row], metric: str) -> dict[int, float]:
    return by_round(filter(_counts, rows), metric)


def _counts(row: Row) -> bool:
    return bool(row["verdict"] == "valid")


def _falls(left: str, right: str, pairs: Pairs) -> Comparison:
    """Decide by a sign test over rounds; a tie agrees with neither side."""
    above, below = sum(one > other for one, other in pairs), sum(one < other for one, other in pairs)
    return _decided(f"{left} > {right}", pairs, above, below)


def _rises(left: str, right: str, pairs: Pairs) -> Comparison:
    above, below = sum(one > other for one, other in pairs), sum(one < other for one, other in pairs)
    return _decided(f"{left} < {right}", pairs, below, above)


def _stays(within: float) -> Decide:
    def decide(left: str, right: str, pairs: Pairs) -> Comparison:
        return _by_bounds(f"{left} within {within:.0%} of {right}", pairs, 1 / (1 + within), 1 + within)

    return decide


def _by_bounds(what: str, pairs: Pairs, low: float | None, high: float | None) -> Comparison:
    """Decide by a sign test over the rounds whose ratio lies within the bounds, and those whose does not."""
    each = ratios(pairs)
    inside = sum((low is None or ratio >= low) and (high is None or ratio <= high) for ratio in each)
    return _decided(what, pairs, inside, len(each) - inside)


def _decided(what: str, pairs: Pairs, for_it: int, against: int) -> Comparison:
    ratio = paired_ratio(pairs)
    interval = ratio.interval if ratio else None
    return {
        "what": what,
        "rounds_for": for_it,
        "rounds_against": against,
        "rounds": len(pairs),
        "ratio_median": ratio.median if ratio else None,
        "ratio_low": interval.low if interval else None,
        "ratio_high": interval.high if interval else None,
        "values": None,
        "verdict": _signs(for_it, against, len(pairs)),
    }


def _signs(for_it: int, against: int, rounds: int) -> str:
    """Decide where so many rounds would agree by chance once in twenty at most."""
    for verdict, agree in ((HELD, for_it), (NOT, against)):
        if rounds and stats.binomtest(agree, rounds, alternative="greater").pvalue <= _CHANCE:
            return verdict
    return UNDECIDED


def _bounded(rows: Sequence[Row], metric: str, bound: float, sign: str, about: str) -> Iterator[Comparison]:
    """Hold every valid trial of each case against a bound."""
    for case, members in _grouped(rows, lambda row: row["case"]).items():
        values = [timed(row, metric) for row in members if _counts(row)]
        known = [value for value in values if value is not None]
        for_it = sum((value <= bound) if sign == "<=" else (value >= bound) for value in known)
        against = len(known) - for_it
        verdict = NOT if against else HELD if values and for_it == len(values) else UNDECIDED
        what = f"{case}: {about}{metric} {sign} {_bound(metric, bound)}"
        yield _counted(what, for_it, against, values, verdict)


def _once(rows: Sequence[Row], metric: str, bound: float, about: str) -> Iterator[Comparison]:
    """Look for one valid trial, of whichever case, that reaches a bound; that it does not come takes many to say."""
    if not rows:
        return
    values = [timed(row, metric) for row in rows if _counts(row)]
    known = [value for value in values if value is not None]
    for_it = sum(value >= bound for value in known)
    none = len(known) == len(values) >= _TO_DENY
    cases = dict.fromkeys(row["case"] for row in rows)
    where = next(iter(cases)) if len(cases) == 1 else f"{len(cases)} cases"
    what = f"{where}: {about}{metric} >= {_bound(metric, bound)} in one trial or more"
    verdict = HELD if for_it else NOT if none else UNDECIDED
    yield _counted(what, for_it, len(known) - for_it, values, verdict)


def _bound(metric: str, bound: float) -> str:
    return numbers.duration(bound) if metric.endswith("_ns") else f"{bound:g}"


def _counted(
    what: str, for_it: int, against: int, values: Sequence[float | None], verdict: str
) -> Comparison:
    """Return a comparison with a bound: it has no ratio, but the value of each valid trial, `never` for infinity."""
    return {
        "what": what,
        "rounds_for": for_it,
        "rounds_against": against,
        "rounds": len(values),
        **dict.fromkeys(("ratio_median", "ratio_low", "ratio_high")),
        "values": [numbers.NEVER if value == math.inf else value for value in values],
        "verdict": verdict,
    }


def _overall(comparisons: Sequence[Comparison]) -> str:
    verdicts = {comparison["verdict"] for comparison in comparisons}
    if NOT in verdicts:
        return UNDECIDED if _by_chance(comparisons) else NOT
    return HELD if verdicts == {HELD} else UNDECIDED


def _by_chance(comparisons: Sequence[Comparison]) -> bool:
    """Whether as many comparisons would go against a claim more than once in twenty were there no difference in any.

    Each of them goes against it at most as often as its sign test errs, and never where it has too few rounds to
    decide anything. A trial beyond a bound is no chance.
    """
    if any(comparison["values"] is not None for comparison in comparisons):
        return False
    errs = [chance for comparison in comparisons if (chance := _errs(comparison["rounds"]))]
    against = sum(comparison["verdict"] == NOT for comparison in comparisons)
    return bool(stats.binom.sf(against - 1, len(errs), max(errs)) > _CHANCE)


def _errs(rounds: int) -> float:
    """Return how often a sign test over so many rounds decides, by chance, for one side."""
    chances = (float(stats.binom.sf(agree - 1, rounds, 0.5)) for agree in range(rounds + 1))
    return next((chance for chance in chances if chance <= _CHANCE), 0.0)


def _summary(verdict: str, comparisons: Sequence[Comparison]) -> str:
    if not comparisons:
        return "undecided: no two trials of this run can be compared for it"
    total = len(comparisons)
    count = {
        word: sum(comparison["verdict"] == word for comparison in comparisons)
        for word in (HELD, NOT, UNDECIDED)
    }
    unit = "round" if comparisons[0]["values"] is None else "trial"
    over = _span([comparison["rounds"] for comparison in comparisons], unit)
    if verdict == HELD:
        return f"held in {total} of {numbers.plural(total, 'comparison')} over {over}"
    if verdict == NOT:
        return (
            f"did not hold in {count[NOT]} of {numbers.plural(total, 'comparison')} over {over} "
            f"(held in {count[HELD]}, undecided in {count[UNDECIDED]})"
        )
    return f"{_leaning(comparisons)} over {over}, decided in {count[HELD]}{_why_undecided(comparisons)}"


def _leaning(comparisons: Sequence[Comparison]) -> str:
    agree = sum(comparison["rounds_for"] == comparison["rounds"] > 0 for comparison in comparisons)
    return f"undecided: as claimed in {agree} of {numbers.plural(len(comparisons), 'comparison')}"


def _why_undecided(comparisons: Sequence[Comparison]) -> str:
    against = sum(comparison["verdict"] == NOT for comparison in comparisons)
    if against:
        return f" and against it in {against}, as chance alone may have it among {len(comparisons)}"
    if any(comparison["rounds"] == 0 for comparison in comparisons):
        return "; some have no valid round"
    seen = [value for comparison in comparisons for value in comparison["values"] or ()]
    if seen and None not in seen:
        return f"; it came in none, and to say that it does not come takes {_TO_DENY} trials"
    ordered = any(comparison["ratio_median"] is not None for comparison in comparisons)
    if ordered and min(comparison["rounds"] for comparison in comparisons) < ENOUGH_TRIALS:
        return f"; a verdict takes {ENOUGH_TRIALS} rounds that agree"
    return "; the rounds do not agree" if ordered else "; some trials have no value"


def _span(values: Sequence[int], unit: str) -> str:
    low, high = min(values), max(values)
    span = str(low) if low == high else f"{low} to {high}"
    return f"{span} {unit}{'' if span == '1' else 's'}"
