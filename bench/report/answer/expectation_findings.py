"""Expectations as findings: the verdict, what is claimed, and how large the effect is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench import numbers
from bench.report.answer.model import ExpectationFinding
from bench.report.answer.sentences import sentence
from bench.report.results import Json, Results
from bench.report.sections import effects, expectations

_HELD = "held"


def expectation_findings(results: Results, claims: Mapping[str, str]) -> tuple[ExpectationFinding, ...]:
    """Return every expectation of a run as a finding, in the scenario's order.

    `claims` has today's words of a claim by its id; they go before those of the run.
    """
    return tuple(
        ExpectationFinding(
            verdict=expectation.verdict,
            tone=expectation.tone,
            mark=expectation.mark,
            system=expectation.system,
            claim=claims.get(str(entry.get("id")), expectation.claim),
            effect=_effect(entry, expectation.verdict, effects.smallest(results)),
            anchor=expectation.anchor,
        )
        for expectation, entry in zip(expectations.expectations(results), results.expectations, strict=True)
    )


def _effect(entry: Json, verdict: str, smallest: float) -> str:
    """State the size of an effect: of one comparison with its interval, of several from the least to the most.

    Of a bound on trials from the least to the most of them.
    """
    comparisons = entry.get("comparisons") or ()
    if comparisons and all(comparison.get("values") is not None for comparison in comparisons):
        return _values(entry, comparisons)
    ratio_comparisons = [comparison for comparison in comparisons if comparison.get("ratio_median")]
    if not ratio_comparisons:
        return ""
    ordered = all(_order(comparison) for comparison in ratio_comparisons)
    ratios = [_claim_ratio(comparison) for comparison in ratio_comparisons]
    apart = not ordered and len(ratio_comparisons) > 1 and min(ratios) < 1 < max(ratios)
    matters = 1 + float(entry.get("smallest_effect") or smallest)
    small = ordered and verdict == _HELD and 1 / matters < min(ratios) < matters
    slots = {
        "most_apart": numbers.factor(max(max(ratio, 1 / ratio) for ratio in ratios)) if apart else "",
        "ends": [_factor(ratio) for ratio in dict.fromkeys((min(ratios), max(ratios)))],
        "interval": _interval(ratio_comparisons[0]) if len(ratio_comparisons) == 1 else "",
        "comparisons": len(ratio_comparisons),
        "opposite": "the other way" if ordered else "less",
        "small": f"{(matters - 1) * 100:.3g} %" if small else "",
    }
    return _uncapitalise(sentence("effect", slots))


def _order(comparison: Json) -> str:
    """Return the sign of the order that a comparison claims of its left side and its right; empty for a bound."""
    claim = str(comparison.get("what") or "")
    return next((sign for sign in (">", "<") if f" {sign} " in claim), "")


def _claim_ratio(comparison: Json) -> float:
    """Return the ratio in the direction of the claim: below 1 where it is the other way round."""
    ratio = float(comparison["ratio_median"])
    return 1 / ratio if _order(comparison) == "<" else ratio


def _factor(ratio: float) -> tuple[str, bool]:
    """Write a ratio as a factor of 1 or more, and whether it was turned."""
    return (numbers.factor(ratio), False) if ratio >= 1 else (numbers.factor(1 / ratio), True)


def _interval(comparison: Json) -> str:
    """Write the interval of a ratio in the direction in which its factor is written; empty where there is none."""
    low, high = comparison.get("ratio_low"), comparison.get("ratio_high")
    if not low or not high:
        return ""
    ratio = float(comparison["ratio_median"])
    ends = (low, high) if ratio >= 1 else (1 / high, 1 / low)
    like = max(ratio, 1 / ratio)
    return " to ".join(numbers.factor(end, like=like) for end in ends)


def _values(entry: Json, comparisons: Sequence[Json]) -> str:
    """State what the trials came to that were held against a bound: from the least to the most."""
    values = [value for comparison in comparisons for value in comparison["values"]]
    numeric_values = [
        float(value) for value in values if not isinstance(value, str) and not numbers.absent(value)
    ]
    endless = sum(isinstance(value, str) for value in values)
    if not values:
        return ""
    metric = str(entry.get("metric") or "")
    ends = (
        [expectations.figure(value, metric) for value in (min(numeric_values), max(numeric_values))]
        if numeric_values
        else []
    )
    slots = {
        "ends": list(dict.fromkeys(ends)),
        "never": endless,
        "missing": len(values) - len(numeric_values) - endless,
        "trials": numbers.plural(len(values), "trial"),
    }
    return _uncapitalise(sentence("effect-values", slots))


def _uncapitalise(text: str) -> str:
    return text[:1].lower() + text[1:]
