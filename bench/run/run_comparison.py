"""Two runs side by side: whether they may be compared, and by how much their cases differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from bench import numbers
from bench.columns import RATES, TIMES
from bench.errors import NotComparableError
from bench.records.trial import TrialRecord

if TYPE_CHECKING:
    import pandas as pd

    from bench.report.pages.compare import RunComparison, Speed
    from bench.report.results import Results

Document = Mapping[str, Any]

_OF_THE_RUN = frozenset(
    {
        "run",
        "seed",
        "title",
        "question",
        "source",
        "expectations",
        "looks",
        "started_utc",
        "ended_utc",
        "timings_s",
        "imported_utc",
    }
)
_MEASURED = frozenset({"fsync_ns"})
_ROOMS = ("jvm", "roles", "topic", "producer", "consumer")
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same; `key` is its path, as `--accept` takes it."""

    key: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class ComparisonRule:
    """By what two runs are compared: a column of `trials`, from which share on it differs, what may be unlike.

    `match` names cases of the first run with those of the second that are taken for the same.
    """

    metric: str
    threshold: float
    accept: Sequence[str] = ()
    match: Mapping[str, str] = field(default_factory=dict)


def compare(first: Path, second: Path, rule: ComparisonRule) -> RunComparison:
    """Compare two run folders.

    Raises NotComparableError where they differ in something that the rule does not accept, have no case in common, or
    one has the figure in no trial, ReportError without results.
    """
    from bench.analysis.statistics import comparison  # noqa: PLC0415 - SciPy and pandas load only when needed
    from bench.report import results  # noqa: PLC0415 - as above
    from bench.report.pages import compare as page  # noqa: PLC0415 - as above

    if rule.metric not in (*RATES, *TIMES):
        metric_names = ", ".join((*RATES, *TIMES))
        raise NotComparableError(f"--metric {rule.metric}: there is no such figure; one of {metric_names}")
    first_results = results.read(first)
    second_results = _match_cases(first_results, results.read(second), rule.match)
    _require(rule.metric, first_results, second_results)
    speeds = page.speeds(first_results, second_results)
    unlike = differences(
        first_results.manifest,
        second_results.manifest,
        (first_results.trial_records, second_results.trial_records),
    )
    unlike += apart(speeds, rule.threshold)
    _refuse([difference for difference in unlike if not is_accepted(difference, rule.accept)])
    had, has = {*first_results.trials["case"]}, {*second_results.trials["case"]}
    if not had & has:
        raise NotComparableError(
            f"no case is in both runs: the first has {_some(had)}, the second {_some(has)}; where two are the same: "
            '--match "CASE OF THE FIRST = CASE OF THE SECOND"'
        )
    gone = had - has - {trial["name"] for trial in second_results.plan.get("trials", ())}
    rows = [row for row in first_results.trial_rows if row["case"] not in gone]
    cases = comparison.compare(rows, second_results.trial_rows, rule.metric, rule.threshold)
    return page.RunComparison(
        first=first_results,
        second=second_results,
        metric=rule.metric,
        threshold=rule.threshold,
        cases=cases,
        gone=sorted(gone),
        new=sorted(has - had),
        speeds=speeds,
        accepted=[(difference.key, difference.first, difference.second) for difference in unlike],
    )


def _require(metric: str, first: Results, second: Results) -> None:
    """Refuse a figure that one of the runs has in no trial; of one in which nothing was acknowledged none is asked."""
    for which, run_results in (("first", first), ("second", second)):
        trials = [row for row in run_results.trial_rows if row["verdict"] == "valid" and row[RATES[0]] != 0]
        if trials and not _has(metric, trials):
            metric_names = ", ".join(name for name in (*RATES, *TIMES) if _has(name, trials))
            raise NotComparableError(
                f"--metric {metric}: no trial of the {which} run, {run_results.run.name}, has it; "
                f"they have {metric_names}"
            )


def _has(metric: str, trials: Iterable[Mapping[str, Any]]) -> bool:
    return any(not numbers.absent(row.get(metric)) or numbers.endless(row, metric) for row in trials)


def _match_cases(first: Results, second: Results, match: Mapping[str, str]) -> Results:
    """Give cases of the second run the names, and the systems, of those of the first that they are taken for."""
    systems = dict(zip(first.cases["case"], first.cases["system"], strict=True))
    has = {*second.cases["case"]}
    for second_name, times in Counter(match.values()).items():
        if times > 1:
            raise NotComparableError(
                f"--match: case {second_name!r} of the second run can be one of the first only"
            )
    for first_name, second_name in match.items():
        for run, cases, name in (("first", systems.keys(), first_name), ("second", has, second_name)):
            if name not in cases:
                raise NotComparableError(
                    f"--match: the {run} run has no case {name!r}; it has {_some(cases)}"
                )
        if first_name in has:
            raise NotComparableError(f"--match: the second run has a case {first_name!r} of its own")
    names = {second_name: first_name for first_name, second_name in match.items()}

    def rename_cases(table: pd.DataFrame) -> pd.DataFrame:
        case = table["case"].replace(names)
        return table.assign(case=case, system=case.map(systems).where(case.isin(match), table["system"]))

    trial_records = {
        number: trial.model_copy(
            update={"case": trial.case.model_copy(update={"name": names.get(name, name)})}
        )
        for number, trial in second.trial_records.items()
        for name in [trial.case.name]
    }
    return replace(
        second,
        trials=rename_cases(second.trials),
        cases=rename_cases(second.cases),
        trial_records=trial_records,
    )


def show(comparison: RunComparison, out: Path) -> None:
    """Print a comparison, write its page below `out` and print its path."""
    from bench.report.pages import compare as page  # noqa: PLC0415 - as above

    console = Console()
    console.print(page.terminal_output(comparison))
    folder = out / f"compare-{comparison.first.run.name}-{comparison.second.run.name}"
    console.print(str(page.write(comparison, folder)), soft_wrap=True, highlight=False)


def write_files(comparison: RunComparison, junit: Path | None, markdown: Path | None) -> None:
    """Write a comparison as JUnit XML and as Markdown, where a file is given."""
    from bench.report.pages import compare_files  # noqa: PLC0415 - as above

    if junit is not None:
        compare_files.write_junit(comparison, junit)
    if markdown is not None:
        compare_files.write_markdown(comparison, markdown)


def _some(cases: Iterable[str]) -> str:
    named = sorted(cases)
    return ", ".join(named[:_MOST_NAMED]) + (
        f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    )


def _refuse(unlike: Sequence[Difference]) -> None:
    if unlike:
        difference_lines = "".join(
            f"\n  {difference.key}: {difference.first} and {difference.second}" for difference in unlike
        )
        keys = " ".join(f"--accept {key}" for key in _together(difference.key for difference in unlike))
        raise NotComparableError(
            f"the runs are not comparable; they differ in:{difference_lines}\nTo compare them all the same: {keys}"
        )


def _together(keys: Iterable[str]) -> list[str]:
    """Name what many keys lie under instead of each of them."""
    unique_keys = list(dict.fromkeys(keys))
    heads = Counter(key.partition(".")[0] for key in unique_keys)
    return list(
        dict.fromkeys(
            head if heads[head := key.partition(".")[0]] > _MOST_NAMED else key for key in unique_keys
        )
    )


def differences(
    first: Document, second: Document, trials: tuple[Mapping[int, TrialRecord], Mapping[int, TrialRecord]]
) -> list[Difference]:
    """Return what two manifests, and the trials of equal cases, differ in: what was asked for and read back, the load.

    `trials` holds their records by number, of either run; where a run has none, only the manifests count.
    """
    run_differences = list(_unlike(_plain(first), _plain(second), ""))
    first_cases, second_cases = (_cases(records) for records in trials)
    of_manifests = {difference.key for difference in run_differences}
    for case in (name for name in first_cases if name in second_cases):
        run_differences += [
            difference
            for difference in _of_case(first_cases[case], second_cases[case])
            if difference.key not in of_manifests and difference not in run_differences
        ]
    return run_differences


def apart(speeds: Iterable[Speed], threshold: float) -> list[Difference]:
    """Return in what machines lie further apart than the threshold, or than it may, and what one run only timed."""
    return [
        Difference(speed.key, *(numbers.duration(took) if took else "not measured" for took in speed.took))
        for speed in speeds
        if speed.ratio is None or not 1 / (most := max(1 + threshold, speed.most)) <= speed.ratio <= most
    ]


def is_accepted(difference: Difference, accept: Sequence[str]) -> bool:
    """Tell whether a difference is among those named, itself or by what it lies under."""
    return any(difference.key == key or difference.key.startswith(f"{key}.") for key in accept)


def _plain(manifest: Document) -> Document:
    return {name: value for name, value in manifest.items() if name not in _OF_THE_RUN | _MEASURED}


def _of_case(first_case: Document, second_case: Document) -> Iterator[Difference]:
    for name in ("configuration", "load", "effective"):
        if name != "effective" or (
            first_case[name] and second_case[name]
        ):  # a run that was read in knows of no live settings
            yield from _unlike(first_case[name], second_case[name], f"case.{name}.")


def _cases(records: Mapping[int, TrialRecord]) -> dict[str, Document]:
    """Give what each case was: of its trials the last of which settings were read back, else the last."""
    return {
        trial.case.name: {
            "configuration": trial.case.configuration,
            "load": trial.load.model_dump(),
            "effective": _read_back(trial.effective or {}),
        }
        for trial in sorted(records.values(), key=lambda trial: bool(trial.effective))
    }


def _read_back(effective: Document) -> Document:
    """Return the settings among what was read back; the rest is who and where."""
    return {
        room: {name: value for name, value in (effective.get(room) or {}).items() if name != "partitions"}
        for room in _ROOMS
        if effective
    }


def _unlike(first: object, second: object, path: str) -> Iterator[Difference]:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for name in dict.fromkeys((*first, *second)):
            yield from _unlike(first.get(name), second.get(name), f"{path}{name}.")
    elif first != second:
        yield Difference(path.removesuffix("."), _text(first), _text(second))


def _text(value: object) -> str:
    return "nothing" if value is None else str(value)
