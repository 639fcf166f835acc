"""The expectations of a scenario, and the verdicts on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench import numbers
from bench.columns import BROKEN, COUNTERS
from bench.model import ERRORS
from bench.report.results import Json, Results
from bench.report.sections import effects
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Row, Table, without_empty
from bench.systems.registry import system_title

TONES = {"held": "good", "did not hold": "bad", "no difference": "neutral"}
MARKS = {"held": "✓", "did not hold": "✗", "no difference": "="}


@dataclass(frozen=True, slots=True)
class JudgedExpectation:
    """One expectation with its evidence; `bounds` where each trial was held against one.

    `smallest_effect` is the share below which a difference in order does not matter; None where none is claimed, or
    intervals do not decide.
    """

    anchor: str
    claim: str
    source: str
    system: str
    verdict: str
    summary: str
    counted: str
    comparisons: Table
    bounds: bool
    smallest_effect: float | None

    @property
    def tone(self) -> str:
        """How the verdict looks."""
        return TONES.get(self.verdict, "warn")

    @property
    def mark(self) -> str:
        """The verdict as a sign, for those who do not see its colour."""
        return MARKS.get(self.verdict, "?")


@dataclass(frozen=True, slots=True)
class Verdicts:
    """All expectations; `tally` counts the verdicts.

    `over_rounds`: intervals over rounds decide them; `looks`: how often they may be judged while the run goes on, by
    intervals that are wider for it, 0 where they are judged once.
    """

    expectations: Sequence[JudgedExpectation]
    tally: str
    over_rounds: bool
    looks: int


def expectations(results: Results) -> list[JudgedExpectation]:
    """All expectations, in the scenario's order."""
    heads = _heads(results)
    over_rounds = results.over_rounds
    return [
        _expectation(number, entry if over_rounds else {**entry, "smallest_effect": None}, heads)
        for number, entry in enumerate(results.expectations, start=1)
    ]


def _heads(results: Results) -> tuple[str, str]:
    """The heads of a comparison's ratio and its interval, which is wider than 95 % where the run was looked at."""
    ratio = "ratio" if results.over_rounds else "median ratio"
    looks = results.manifest.get("looks")
    return ratio, f"interval for {looks} looks" if looks else "95 % interval"


def _expectation(number: int, entry: Json, heads: tuple[str, str]) -> JudgedExpectation:
    comparisons, common_outcome = entry.get("comparisons") or (), _common_outcome(entry)
    shown = {**entry, "comparisons": ()} if common_outcome else entry
    return JudgedExpectation(
        anchor=f"expectation-{number}",
        claim=str(entry.get("claim") or entry.get("id", "")),
        source=str(entry.get("source") or ""),
        system=system_title(str(entry.get("system") or "")),
        verdict=_word(entry.get("verdict")),
        summary=f"{entry.get('summary') or ''}{common_outcome}",
        counted=_evidence_words(entry),
        comparisons=without_empty(_comparisons(shown, heads)),
        bounds=_bounds(comparisons),
        smallest_effect=entry.get("smallest_effect"),
    )


def claims(judged: Iterable[Json]) -> tuple[tuple[str, str], ...]:
    """How many of results/expectations.json have each verdict, in words, with how they look."""
    counts = Counter(str(expectation["verdict"]) for expectation in judged)
    words = (*TONES, "undecided")
    return tuple((f"{counts[word]} {word}", TONES.get(word, "warn")) for word in words if counts[word])


def tally(judged_expectations: list[JudgedExpectation]) -> str:
    """How many held, did not hold, showed no difference and stayed undecided."""
    return ", ".join(
        words for words, _ in claims({"verdict": expectation.verdict} for expectation in judged_expectations)
    )


def _evidence_words(entry: Json) -> str:
    """Say in how many trials a bound was kept, where it was not in all, or how large the effect is.

    Where the claim is undecided, also how many of its comparisons are not.
    """
    comparisons, verdict = entry.get("comparisons") or (), _word(entry.get("verdict"))
    if _bounds(comparisons):
        held, trial_count = (
            sum(int(comparison[name]) for comparison in comparisons) for name in ("rounds_for", "rounds")
        )
        return f"held in {held} of {numbers.plural(trial_count, 'trial')}" if held < trial_count else ""
    ratios = _effect(entry) or _ratios(comparisons)
    if verdict in TONES or not ratios:
        return ratios
    decided = sum(_word(comparison.get("verdict")) in TONES for comparison in comparisons)
    return f"{ratios}, {decided} of {numbers.plural(len(comparisons), 'comparison')} decided"


def _effect(entry: Json) -> str:
    """Tell the ratio of the comparison that decides least, with its interval; empty where the run has no such ratio."""
    effect = entry.get("effect")
    comparisons = [
        comparison
        for comparison in entry.get("comparisons") or ()
        if comparison.get("ratio_median") is not None
    ]
    if effect is None or not comparisons:
        return ""
    least = min(comparisons, key=lambda comparison: abs(comparison["ratio_median"] - effect))
    interval = effects.interval(least["ratio_median"], least.get("ratio_low"), least.get("ratio_high"))
    ratio = f"{effects.factor(least['ratio_median'])}{f', interval {interval}' if interval else ''}"
    return f"{ratio}; the closest of {len(comparisons)} comparisons" if len(comparisons) > 1 else ratio


def _ratios(comparisons: Sequence[Json]) -> str:
    """Tell the median ratio with its interval, of several comparisons the least and the most; empty without any."""
    ratios = [
        comparison["ratio_median"] for comparison in comparisons if comparison.get("ratio_median") is not None
    ]
    if not ratios:
        return ""
    if len(ratios) > 1:
        return f"median ratios {numbers.ratio(min(ratios))} to {numbers.ratio(max(ratios))}"
    low, high = (comparisons[0].get(end) for end in ("ratio_low", "ratio_high"))
    sure = len(comparisons) == 1 and low is not None and high is not None
    interval = f", {numbers.ratio(low)} to {numbers.ratio(high)}" if sure else ""
    return f"median ratio {numbers.ratio(ratios[0])}{interval}"


def _common_outcome(entry: Json) -> str:
    """Say in few words what each trial came to where a bound held and all of them are alike; empty elsewhere."""
    comparisons = entry.get("comparisons") or ()
    if not _bounds(comparisons) or _word(entry.get("verdict")) != "held":
        return ""
    metric = str(entry.get("metric") or "")
    trial_texts = {_trial_values(comparison, metric) for comparison in comparisons if comparison["values"]}
    distinct_values = {value for text in trial_texts for value in text.split(", ")}
    if len(distinct_values) != 1:
        return ""
    (case, _, bound), *other_cases = (str(comparison["what"]).partition(": ") for comparison in comparisons)
    scope = f"{len(comparisons)} cases" if other_cases else case
    return f" ({bound}): {distinct_values.pop()} in every trial of {scope}"


def _bounds(comparisons: Sequence[Json]) -> bool:
    """Whether each trial was held against a bound, not one case against another."""
    return bool(comparisons) and all(comparison.get("values") is not None for comparison in comparisons)


def _comparisons(entry: Json, heads: tuple[str, str]) -> Table:
    unit = "trials" if _bounds(entry.get("comparisons") or ()) else "rounds"
    columns = (
        Column("comparison", "name"),
        Column(f"{unit} for", "number"),
        Column("against", "number"),
        Column("of", "number"),
        *(Column(head, "number") for head in heads),
        Column("seen, trial by trial", "text"),
        Column("verdict", "name"),
    )
    rows = []
    for comparison in entry.get("comparisons", []):
        verdict = _word(comparison.get("verdict"))
        counts = (comparison.get(name) for name in ("rounds_for", "rounds_against", "rounds"))
        sign = f"{MARKS.get(verdict, '?')} {verdict}"
        rows.append(
            Row(
                (
                    Cell(str(comparison.get("what", ""))),
                    *(Cell(numbers.count(count)) for count in counts),
                    Cell(numbers.ratio(comparison.get("ratio_median"))),
                    Cell(numbers.between(comparison.get("ratio_low"), comparison.get("ratio_high"))),
                    Cell(_trial_values(comparison, str(entry.get("metric") or ""))),
                    Cell(sign, TONES.get(verdict, "warn")),
                )
            )
        )
    return Table("Comparisons", columns, tuple(rows))


def _trial_values(comparison: Json, metric: str) -> str:
    """Say what each trial came to, where it was held against a bound; a time that had no end is a word."""
    values = comparison.get("values") or ()
    texts = [value if isinstance(value, str) else figure(value, metric) for value in values]
    return ", ".join(texts) or numbers.NOTHING


def figure(value: float | None, metric: str) -> str:
    """Write what a trial came to, with the unit of its metric."""
    if metric.endswith("_ns"):
        return numbers.duration(value)
    return numbers.count(value) if metric in {*COUNTERS, *BROKEN, ERRORS} else numbers.rate(value)


def _word(verdict: object) -> str:
    return str(verdict or "undecided").replace("_", " ")


def _content(report: ReportInput) -> Verdicts:
    judged_expectations = expectations(report.results)
    looks = int(report.results.manifest.get("looks") or 0)
    return Verdicts(judged_expectations, tally(judged_expectations), report.results.over_rounds, looks)


SECTION = Section("expectations", "Expectations", _content)
