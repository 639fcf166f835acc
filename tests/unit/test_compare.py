"""Two runs side by side: the rule, its error rates, and what is refused."""

from __future__ import annotations

import json
import math
import re
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from bench.analysis.statistics.comparison import compare, critical, shift
from bench.analysis.statistics.joint_significance import Values, chances
from bench.cli import app
from bench.errors import NotComparableError
from bench.model import CaseComparison, Change
from bench.records.trial import TrialRecord
from bench.report import results
from bench.report.pages.compare import RunComparison, Speed, verdict
from bench.run import run_comparison
from tests.records import trial_record
from tests.report_data import build
from tests.report_sketch import Sketch
from tests.spaces import with_plain_spaces

if TYPE_CHECKING:
    from bench.report.results import Results

RATE = "throughput_msgs_per_s"


def rows(values: list[float], metric: str = RATE, **others: Any) -> list[dict[str, Any]]:
    fixed = {"system": "kafka", "case": "kafka", "verdict": "valid", "acked": 1000, "lost": 0, **others}
    return [{**fixed, "round": number, metric: value} for number, value in enumerate(values)]


def one(
    first: list[float], second: list[float], threshold: float = 0.05, metric: str = RATE
) -> CaseComparison:
    (found,) = compare(rows(first, metric), rows(second, metric), metric, threshold)
    return found


@pytest.mark.parametrize(("sizes", "tabled"), [((5, 5), 2), ((8, 8), 13), ((10, 10), 23), ((5, 10), 8)])
def test_critical_values_are_those_of_the_tables(sizes: tuple[int, int], tabled: int) -> None:
    """Mann and Whitney's U, two-sided, 5 %."""
    assert critical(*sizes) == tabled


def test_the_interval_agrees_with_the_exact_test() -> None:
    draw = np.random.default_rng(5)
    for _ in range(50):
        first, second = (list(np.exp(draw.normal(mean, 0.1, 6))) for mean in (0.0, 0.12))
        _, interval = shift(first, second)
        assert interval is not None
        p = stats.mannwhitneyu(first, second, method="exact").pvalue
        assert (p > 0.05) == (interval.low <= 1 <= interval.high)


def test_the_ratio_is_the_second_over_the_first() -> None:
    found = one([100.0] * 5, [110.0] * 5)
    assert found.ratio == pytest.approx(1.1)
    assert (found.medians, found.trials) == ((100.0, 110.0), (5, 5))


@pytest.mark.parametrize(
    ("metric", "factor", "verdict"),
    [
        (RATE, 1.1, Change.BETTER),
        (RATE, 0.9, Change.WORSE),
        ("service_p99_ns", 1.1, Change.WORSE),
        ("service_p99_ns", 0.9, Change.BETTER),
    ],
)
def test_more_is_better_of_a_rate_and_worse_of_a_time(metric: str, factor: float, verdict: str) -> None:
    first = [100.0, 101.0, 102.0, 99.0, 98.0]
    assert one(first, [value * factor for value in first], metric=metric).change == verdict


def test_a_difference_below_the_threshold_is_none() -> None:
    first = [100.0, 100.1, 100.2, 99.9, 99.8]
    assert one(first, [value * 1.03 for value in first]).change == Change.SAME


def test_what_varies_too_much_cannot_be_told() -> None:
    assert (
        one([50.0, 100.0, 150.0, 200.0, 80.0], [60.0, 90.0, 170.0, 190.0, 70.0]).change == Change.INCONCLUSIVE
    )


def test_four_trials_tell_nothing() -> None:
    found = one([100.0] * 4, [50.0] * 5)
    assert (found.change, found.interval) == (Change.INCONCLUSIVE, None)


def test_only_valid_trials_count() -> None:
    first = rows([100.0] * 5) + rows([1.0] * 5, verdict="invalid")
    (found,) = compare(first, rows([100.0] * 5), RATE, 0.05)
    assert found.trials == (5, 5)


def test_equal_runs_are_called_different_in_one_of_twenty_cases_at_most() -> None:
    """2,000 A/A comparisons of five trials that vary by 5 %: more than 5 % wrong would be 101."""
    draw = np.random.default_rng(11)
    samples = [[list(np.exp(draw.normal(0, 0.05, 5))) for _ in range(2)] for _ in range(2000)]
    assert sum(one(first, second).change in {Change.BETTER, Change.WORSE} for first, second in samples) <= 100


def test_a_tenth_slower_is_seen_in_nine_of_ten_cases() -> None:
    """Five trials that vary by 3 %, the second run's slower by a tenth."""
    draw = np.random.default_rng(12)
    samples = [[np.exp(draw.normal(0, 0.03, 5)) for _ in range(2)] for _ in range(500)]
    assert (
        sum(one(list(first), list(second / 1.1)).change == Change.WORSE for first, second in samples) >= 450
    )


def many(first: Values, second: Values) -> RunComparison:
    """Compare two runs, given by round and case."""
    one, other = (
        [row for case, values in enumerate(run.T) for row in rows(list(values), case=str(case))]
        for run in (first, second)
    )
    return judged(compare(one, other, RATE, 0.05))


def judged(cases: list[CaseComparison]) -> RunComparison:
    nothing = cast("Results", None)
    return RunComparison(
        first=nothing,
        second=nothing,
        metric=RATE,
        threshold=0.05,
        cases=cases,
        gone=(),
        new=(),
        speeds=(),
        accepted=(),
    )


def drawn(seed: int, cases: int, noise: float, times: int) -> list[tuple[Values, Values]]:
    """Draw pairs of equal runs of five rounds."""
    draw = np.random.default_rng(seed)
    return [
        (np.exp(draw.normal(0, noise, (5, cases))), np.exp(draw.normal(0, noise, (5, cases))))
        for _ in range(times)
    ]


def alarms(pairs: list[tuple[Values, Values]]) -> int:
    return sum(many(*pair).verdict == Change.WORSE for pair in pairs)


@pytest.mark.parametrize("cases", [1, 10, 40])
@pytest.mark.parametrize("noise", [0.03, 0.05, 0.08])
def test_equal_runs_are_called_worse_in_one_of_twenty_at_most_however_many_cases_they_have(
    cases: int, noise: float
) -> None:
    assert alarms(drawn(21, cases, noise, 200)) <= 10


@pytest.mark.parametrize("cases", [1, 10, 40])
def test_a_tenth_slower_in_all_cases_is_called_in_nine_of_ten_runs(cases: int) -> None:
    """Five rounds that vary by 3 %."""
    assert alarms([(first, second / 1.1) for first, second in drawn(22, cases, 0.03, 100)]) >= 90


def test_a_tenth_slower_in_one_case_of_forty_is_called_in_nine_of_ten_runs() -> None:
    slowed = np.array([1.1] + [1.0] * 39)
    assert alarms([(first, second / slowed) for first, second in drawn(23, 40, 0.03, 100)]) >= 90


def test_of_all_ways_to_deal_the_same_rounds_one_in_twenty_is_called_worse_at_most() -> None:
    """The rule holds by how it is made, whatever the noise: here heavy-tailed, and shared by the cases of a round."""
    draw = np.random.default_rng(24)
    found = np.exp(0.08 * (draw.standard_t(3, (10, 12)) + draw.standard_t(3, (10, 1))))
    deals = [
        (list(one), [other for other in range(10) if other not in one]) for one in combinations(range(10), 5)
    ]

    assert 0 < sum(chances(-found[one], -found[other], 0.05).min() <= 0.05 for one, other in deals) <= 12


def test_more_deals_than_can_be_looked_at_are_drawn_and_say_the_same_each_time() -> None:
    draw = np.random.default_rng(25)
    first, second = draw.normal(100, 3, (12, 5)), draw.normal(100, 3, (12, 5))
    slower = -second * np.array([0.8, 1, 1, 1, 1])

    found = chances(-first, slower, 0.05)

    assert found[0] < 0.001
    assert found[1:].min() > 0.05
    assert list(chances(-first, slower, 0.05)) == list(found)


def test_a_case_that_is_worse_by_itself_only_is_no_pass() -> None:
    compared = (many(*pair) for pair in drawn(21, 40, 0.08, 10))
    found = next(one for one in compared if one.counts[Change.WORSE])

    assert not any(case.proven for case in found.cases)
    assert found.verdict == Change.INCONCLUSIVE
    assert "worse alone" in found.together


def test_a_case_that_cannot_be_told_is_no_pass_beside_one_that_can() -> None:
    same = [100.0, 100.1, 100.2, 99.9, 99.8]
    first = rows(same) + rows([100.0, 101.0, 102.0, 99.0, 98.0], case="short")
    cases = compare(first, rows(same) + rows([50.0] * 4, case="short"), RATE, 0.05)

    assert [case.change for case in cases] == [Change.SAME, Change.INCONCLUSIVE]
    assert judged(cases).verdict == Change.INCONCLUSIVE
    assert judged(cases).together == "All cases together: none is worse; 1 inconclusive."
    assert judged(cases[:1]).verdict == Change.SAME


def test_a_trial_in_which_nothing_was_acknowledged_is_worse_than_any() -> None:
    first = [100.0, 101.0, 102.0, 99.0, 98.0]
    found = one(first, [0.0, 0.0, 0.0, 0.0, 101.0] * 5)

    assert (found.change, found.trials, found.ratio) == (Change.WORSE, (5, 25), 0.0)
    assert found.reason == "nothing acknowledged in 20 of 25 trials"
    assert judged([found]).verdict == Change.WORSE
    assert one(first, [0.0] * 5).change == Change.WORSE
    assert one([0.0] * 5, [0.0] * 5).change == Change.SAME
    assert one([0.0] * 5, first).change == Change.BETTER


def endless(trials: int) -> list[dict[str, Any]]:
    """Five trials of which some have no p99, as so many of their messages never came."""
    metric = "response_p99_ns"
    some = rows([5.0, 5.1, 5.2, 4.9, 4.8], metric, response_min_ns=1)
    return [row | {metric: None} if row["round"] < trials else row for row in some]


def test_a_time_that_is_endless_in_the_second_run_only_is_worse_where_chance_does_not_do_that() -> None:
    """Of 210 ways to deal out four such trials among ten, five put all on one side: 2.4 %."""
    (found,) = compare(endless(0), endless(4), "response_p99_ns", 0.05)
    (other_way,) = compare(endless(4), endless(0), "response_p99_ns", 0.05)

    assert (found.change, found.proven) == (Change.WORSE, True)
    assert found.reason == "no response_p99 in 4 of 5 trials: so many messages never came"
    assert (other_way.change, other_way.reason) == (Change.INCONCLUSIVE, "")


def test_a_time_that_was_not_measured_did_not_come_late() -> None:
    """A run that was read in has some percentiles only."""
    first = rows([5.0, 5.1, 5.2, 4.9, 4.8], "service_p90_ns", service_min_ns=1)
    (found,) = compare(first, rows([None] * 5, "service_p90_ns"), "service_p90_ns", 0.05)  # type: ignore[list-item]

    assert (found.change, found.reason) == (Change.INCONCLUSIVE, "")


@pytest.mark.parametrize("trials", [1, 2, 3])
def test_a_few_endless_trials_may_be_chance(trials: int) -> None:
    """Of 120 ways to deal out three among ten, ten put all on one side: 8.3 %."""
    (found,) = compare(endless(0), endless(trials), "response_p99_ns", 0.05)

    assert (found.change, found.reason) == (Change.INCONCLUSIVE, "")


def test_a_few_trials_in_which_nothing_was_acknowledged_may_be_chance() -> None:
    found = one([100.0, 101.0, 102.0, 99.0, 98.0], [0.0, 101.0, 100.0, 99.0, 98.0])

    assert (found.change, found.reason) == (Change.INCONCLUSIVE, "")


def test_a_time_of_a_trial_in_which_nothing_was_acknowledged_is_longer_than_any() -> None:
    """Of ten such times eight are as before: the two others are not left out."""
    first = rows([5.0, 5.1, 5.2, 4.9, 4.8], "service_p99_ns", **{RATE: 100.0, "service_min_ns": 1})
    second = rows(
        [5.0, 5.1, 5.2, 4.9, 4.8, 5.0, 5.1, 4.9], "service_p99_ns", **{RATE: 100.0, "service_min_ns": 1}
    )
    idle = rows([None, None], "service_p99_ns", **{RATE: 0.0})  # type: ignore[list-item]
    second += [row | {"round": 8 + row["round"]} for row in idle]
    (found,) = compare(first, second, "service_p99_ns", 0.05)

    assert (found.trials, found.change) == ((5, 10), Change.INCONCLUSIVE)
    assert found.interval is not None
    assert found.interval.high == math.inf


def test_a_better_case_among_many_is_better_by_itself_only() -> None:
    """A case that is a tenth faster stands out alone, not among 40 that vary by 8 %."""
    draw = np.random.default_rng(11)
    steady = [100.0, 101.0, 102.0, 99.0, 98.0]
    noisy, others = (
        [
            row
            for case in range(40)
            for row in rows(list(100 * np.exp(draw.normal(0, 0.08, 5))), case=f"kafka {case}")
        ]
        for _ in range(2)
    )
    cases = compare(rows(steady) + noisy, rows([100.5, 108.0, 110.0, 112.0, 125.0]) + others, RATE, 0.05)
    (alone,) = compare(rows(steady), rows([103.0, 108.0, 110.0, 112.0, 125.0]), RATE, 0.05)

    assert cases[0].change == alone.change == Change.BETTER
    assert (cases[0].proven, verdict(cases[0]).text) == (False, "better, alone")
    assert (alone.proven, verdict(alone).text) == (True, "better")


def test_a_case_that_is_much_better_is_proven_so() -> None:
    found = one([100.0, 101.0, 102.0, 99.0, 98.0], [200.0, 201.0, 202.0, 199.0, 198.0])

    assert (found.change, found.proven) == (Change.BETTER, True)
    assert found.chance == pytest.approx(1 / 252)
    assert judged([found]).verdict == Change.SAME


def test_times_that_are_endless_in_both_runs_are_longer_than_any_that_was_measured() -> None:
    """Of ten trials one was endless, then five: those that are left are faster, and tell nothing by themselves."""
    metric = "response_p99_ns"
    first, second = (
        rows([of_it] * (10 - endless) + [None] * endless, metric, response_min_ns=1)  # type: ignore[list-item]
        for of_it, endless in ((5e6, 1), (3e6, 5))
    )

    (found,) = compare(first, second, metric, 0.05)

    assert found.change == Change.INCONCLUSIVE
    assert found.interval is not None
    assert found.interval.low == pytest.approx(0.6)
    assert found.interval.high == math.inf


def test_a_run_whose_times_are_endless_in_every_trial_is_proven_worse_than_one_with_a_single_such() -> None:
    metric = "response_p99_ns"
    first = rows([5e6] * 6 + [None], metric, response_min_ns=1)  # type: ignore[list-item]
    second = rows([None] * 7, metric, response_min_ns=1)  # type: ignore[list-item]

    (found,) = compare(first, second, metric, 0.05)

    assert (found.change, found.ratio, found.proven) == (Change.WORSE, math.inf, True)


def test_a_case_without_a_valid_trial_in_the_second_run_is_worse() -> None:
    first = rows([100.0] * 5)
    (invalid,) = compare(first, rows([100.0] * 5, verdict="invalid"), RATE, 0.05)
    (missing,) = compare(first, rows([100.0] * 5, case="another"), RATE, 0.05)
    (neither,) = compare(rows([1.0], verdict="invalid"), rows([1.0], verdict="invalid"), RATE, 0.05)
    (nothing_before,) = compare(rows([1.0] * 5, verdict="invalid"), rows([1.0] * 5, lost=3), RATE, 0.05)

    assert (
        (invalid.change, invalid.reason)
        == (missing.change, missing.reason)
        == (Change.WORSE, "no valid trial")
    )
    assert neither.change == nothing_before.change == Change.INCONCLUSIVE


def test_what_only_the_second_run_lost_makes_it_worse() -> None:
    first, losing = rows([100.0] * 5), rows([100.0] * 5, lost=3)
    (found,) = compare(first, losing, RATE, 0.05)
    (alike,) = compare(losing, losing, RATE, 0.05)

    assert (found.change, found.reason) == (Change.WORSE, "lost 15")
    assert alike.change == Change.SAME


@pytest.mark.parametrize("unread", [5, 1])
def test_a_loss_is_new_only_where_the_first_run_looked_for_it(unread: int) -> None:
    first = [row | {"lost": None} if row["round"] < unread else row for row in rows([100.0] * 5)]
    (found,) = compare(first, rows([100.0] * 5, lost=3), RATE, 0.05)

    assert (found.change, found.reason) == (Change.SAME, "")


@pytest.mark.parametrize(
    ("first", "second", "change"),
    [
        ([1, 1, 2, 1, 1], [3, 9000, 3, 4, 5], Change.WORSE),
        ([1, 1, 3, 1, 1], [3, 9000, 3, 4, 5], Change.SAME),  # one of the first lost as much
        ([5] * 5, [1] * 5, Change.SAME),
        ([1] * 3, [9] * 3, Change.WORSE),  # of 20 ways to deal out six trials one is so
    ],
)
def test_a_run_that_lost_more_in_each_trial_is_worse(
    first: list[int], second: list[int], change: Change
) -> None:
    def run(lost: list[int]) -> list[dict[str, Any]]:
        return [{**row, "lost": lost} for row, lost in zip(rows([100.0] * len(lost)), lost, strict=True)]

    (found,) = compare(run(first), run(second), RATE, 0.05)

    if change == Change.WORSE:
        assert (found.change, found.proven) == (Change.WORSE, True)
        assert found.reason.endswith("in each trial a larger share than in any there")
    else:
        assert found.reason == ""


def test_of_two_trials_a_larger_loss_may_be_chance() -> None:
    first, second = rows([100.0] * 2, lost=1), rows([100.0] * 2, lost=9)
    (found,) = compare(first, second, RATE, 0.05)

    assert found.reason == ""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    sketch = Sketch(systems=("memory",), rounds=5, messages=500)
    return build(folder / "one", sketch), build(folder / "other", Sketch(**{**vars(sketch), "seed": 2}))


def test_two_runs_are_compared_on_a_page(runs: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = map(str, runs)
    done = CliRunner().invoke(app, ["compare", first, second, "--out", str(tmp_path)])

    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert done.exit_code == 3
    page = (tmp_path / "compare-one-other" / "compare.html").read_text()
    assert "2 cases of throughput_msgs_per_s" in page
    assert "memory loss=0.001" in page
    assert "All cases together: " in page
    assert "All cases together: " in done.output
    assert re.search(
        r'limited by</th>.*<td class="name">client[^<]*</td><td class="name', page, flags=re.DOTALL
    )


def test_a_terminal_of_80_columns_shows_every_case_whole_and_its_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run = build(tmp_path / "run", Sketch(systems=("kafka",), rounds=5, messages=500))
    cases = set(results.read(run).cases["case"])

    done = CliRunner().invoke(app, ["compare", str(run), str(run), "--out", str(tmp_path)])

    lines = done.output.split("\n\n")[0].splitlines()
    width = lines[1].index("first") - 2  # a number of six characters begins one earlier, behind a blank
    shown = "".join("".join(line[:width].split()) for line in lines[2:])
    assert all(case.replace(" ", "") in shown for case in cases)
    assert max(map(len, lines)) <= 80
    assert lines[1].rstrip().endswith("verdict")


def test_a_slower_run_has_a_status_of_its_own(runs: tuple[Path, Path], tmp_path: Path) -> None:
    import pandas as pd  # noqa: PLC0415

    slow = build(tmp_path / "slow", Sketch(systems=("memory",), rounds=5, messages=500))
    table = slow / "results" / "trials.parquet"
    trials = pd.read_parquet(table)
    trials[RATE] *= 0.5
    trials.loc[[0, 1, 2], "flags"] = ["trend", "trend, outlier", "outlier"]
    trials["other_cpu"] = [0.7, *[0.0] * (len(trials) - 1)]
    trials.to_parquet(table)

    done = CliRunner().invoke(app, ["compare", str(runs[0]), str(slow), "--out", str(tmp_path)])

    assert done.exit_code == 1
    assert "All cases together: 2 worse." in done.output
    assert (
        "of the second run's 10 valid trials 2 with a trend, 2 with an outlier's speed, 1 beside other work on the "
        "machine." in " ".join(done.output.split())
    )


def test_a_ci_server_gets_a_test_for_each_case(runs: tuple[Path, Path], tmp_path: Path) -> None:
    import pandas as pd  # noqa: PLC0415

    slow = build(tmp_path / "slow", Sketch(systems=("memory",), rounds=5, messages=500))
    table = slow / "results" / "trials.parquet"
    trials = pd.read_parquet(table)
    trials[RATE] *= 0.5
    trials.to_parquet(table)
    junit, markdown = tmp_path / "compare.xml", tmp_path / "compare.md"

    done = CliRunner().invoke(
        app,
        [
            *("compare", str(runs[0]), str(slow), "--out", str(tmp_path)),
            *("--junit", str(junit), "--markdown", str(markdown)),
        ],
    )

    assert done.exit_code == 1
    suite = ET.parse(junit).getroot()  # noqa: S314 - it was written a moment ago
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "2",
        "failures": "2",
        "skipped": "0",
    }
    failures = [str(failure.get("message")) for failure in suite.iter("failure")]
    assert all("second over first 0.5" in message for message in failures)
    lines = markdown.read_text().splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4
    assert {line.count("|") for line in rows} == {10}
    assert "All cases together: 2 worse." in lines


def test_runs_without_a_case_in_common_are_refused(runs: tuple[Path, Path], tmp_path: Path) -> None:
    import pandas as pd  # noqa: PLC0415

    table = changed(runs[1], tmp_path) / "results" / "trials.parquet"
    pd.read_parquet(table).assign(case="kafka acks=9").to_parquet(table)

    with pytest.raises(
        NotComparableError, match=r"no case is in both runs: the first has memory .*, the second kafka acks=9"
    ):
        run_comparison.compare(runs[0], table.parents[1], run_comparison.ComparisonRule(RATE, 0.05))


def test_a_comparison_that_tells_nothing_has_a_status_of_its_own(tmp_path: Path) -> None:
    short = Sketch(systems=("memory",), rounds=2, messages=500)
    folders = [str(build(tmp_path / name, short)) for name in ("one", "other")]

    done = CliRunner().invoke(app, ["compare", *folders, "--out", str(tmp_path)])

    assert done.exit_code == 3
    assert "none is worse; 2 inconclusive" in done.output


def changed(run: Path, folder: Path, **values: Any) -> Path:
    import shutil  # noqa: PLC0415

    copy = shutil.copytree(run, folder / "changed")
    file = copy / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))
    return copy


def test_unlike_manifests_are_refused_with_what_differs(runs: tuple[Path, Path], tmp_path: Path) -> None:
    other = changed(runs[0], tmp_path, profile="quick", versions={"kafka": "9.9.9"})

    with pytest.raises(NotComparableError) as refused:
        run_comparison.compare(runs[0], other, run_comparison.ComparisonRule(RATE, 0.05))

    assert "profile: standard and quick" in str(refused.value)
    assert "--accept profile" in str(refused.value)
    done = CliRunner().invoke(app, ["compare", str(runs[0]), str(other), "--out", str(tmp_path)])
    assert done.exit_code == 2


def test_what_is_accepted_is_said_on_the_page(runs: tuple[Path, Path], tmp_path: Path) -> None:
    other = changed(runs[0], tmp_path, profile="quick")

    found = run_comparison.compare(runs[0], other, run_comparison.ComparisonRule(RATE, 0.05, ("profile",)))

    assert found.accepted == [("profile", "standard", "quick")]


def test_how_often_a_run_was_evaluated_is_no_difference() -> None:
    """Of two runs with a budget one may be decided a round earlier."""
    assert run_comparison.differences({"seed": 1, "looks": 1}, {"seed": 1, "looks": 2}, ({}, {})) == []


def test_a_part_of_the_manifest_may_be_accepted_as_a_whole() -> None:
    difference = run_comparison.Difference("versions.kafka", "4.3.1", "4.4.0")
    assert run_comparison.is_accepted(difference, ["versions"])
    assert not run_comparison.is_accepted(difference, ["version"])


def test_another_load_of_the_same_case_is_unlike() -> None:
    def trials(window: int) -> dict[int, TrialRecord]:
        return {0: trial_record(load={"pacing": "closed", "window": window})}

    (found,) = run_comparison.differences({}, {}, (trials(1), trials(2)))
    assert (found.key, found.first, found.second) == ("case.load.window", "1", "2")


def test_a_live_setting_that_differs_is_unlike_and_who_played_a_part_is_not() -> None:
    def trials(linger: str, leader: int) -> dict[int, TrialRecord]:
        effective = {
            "producer": {"linger.ms": linger},
            "topic": {"retention.ms": "-1", "partitions": [leader]},
        }
        return {0: trial_record(effective=effective), 1: trial_record()}

    assert run_comparison.differences({}, {}, (trials("5", 1), trials("5", 2))) == []
    assert run_comparison.differences({}, {}, (trials("5", 1), trials("0", 1))) == [
        run_comparison.Difference("case.effective.producer.linger.ms", "5", "0")
    ]
    assert run_comparison.differences({}, {}, (trials("5", 1), {0: trial_record()})) == []


def test_every_pair_of_values_that_differs_is_told_in_the_first_runs_order() -> None:
    def trials(*least: str) -> dict[int, TrialRecord]:
        return {
            number: trial_record(
                case={"system": "kafka", "name": name, "settings": {}},
                effective={"topic": {"min.insync.replicas": value}},
            )
            for number, (name, value) in enumerate(zip("ba", least, strict=True))
        }

    key = "case.effective.topic.min.insync.replicas"
    assert run_comparison.differences({}, {}, (trials("1", "2"), trials("2", "4"))) == [
        run_comparison.Difference(key, "1", "2"),
        run_comparison.Difference(key, "2", "4"),
    ]
    assert run_comparison.differences({}, {}, (trials("1", "1"), trials("2", "2"))) == [
        run_comparison.Difference(key, "1", "2")
    ]


@pytest.mark.parametrize(
    ("took", "unlike"),
    [
        ((100.0, 104.0), False),
        ((100.0, 106.0), True),
        ((106.0, 100.0), True),
        ((None, 100.0), True),
    ],
)
def test_the_machine_may_vary_by_the_threshold(took: tuple[float | None, float], *, unlike: bool) -> None:
    """An fsync that costs 1.4 times as much slows whoever waits for it by more than any threshold."""
    assert bool(run_comparison.apart([Speed("fsync_ns", "one fsync", took)], 0.05)) == unlike


def test_waking_may_vary_by_more_as_a_send_takes_little_of_its_time_for_it() -> None:
    speeds = [Speed("machine.wake_ns", "waking", took, 2.0) for took in ((10.0, 19.0), (21.0, 10.0))]
    assert run_comparison.apart(speeds, 0.05) == [
        run_comparison.Difference("machine.wake_ns", "21 ns", "10 ns")
    ]


def test_a_slower_machine_is_refused_unless_accepted_and_stands_on_the_page(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    import pandas as pd  # noqa: PLC0415

    slow = changed(runs[0], tmp_path)
    table = slow / "results" / "trials.parquet"
    pd.read_parquet(table).assign(machine_probe_ns=3_000_000).to_parquet(table)

    with pytest.raises(NotComparableError, match=r"machine.probe_ns: 2.5 ms and 3 ms"):
        run_comparison.compare(runs[0], slow, run_comparison.ComparisonRule(RATE, 0.05))
    found = run_comparison.compare(
        runs[0], slow, run_comparison.ComparisonRule(RATE, 0.05, ("machine.probe_ns",))
    )

    run_comparison.show(found, tmp_path)
    page = with_plain_spaces((tmp_path / "compare-one-changed" / "compare.html").read_text())
    assert "a fixed piece of work 1.2\N{MULTIPLICATION SIGN} (2.5 ms, 3 ms)" in page
    assert "machine.probe_ns: 2.5 ms in the first, 3 ms in the second" in page


def without_a_case(run: Path, folder: Path, *, planned: bool) -> Path:
    """Take a case's trials out of a run, and out of its plan where it never had it."""
    import pandas as pd  # noqa: PLC0415

    run = changed(run, folder)
    for name in ("trials", "cases"):
        table = run / "results" / f"{name}.parquet"
        left = pd.read_parquet(table)
        left[left["case"] != "memory loss=0"].to_parquet(table)
    plan = json.loads((run / "plan.json").read_text())
    trials = [trial for trial in plan["trials"] if planned or trial["name"] != "memory loss=0"]
    (run / "plan.json").write_text(json.dumps(plan | {"trials": trials}))
    return run


def test_a_case_that_the_second_run_never_had_is_named_and_decides_nothing(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    shorter = without_a_case(runs[0], tmp_path, planned=False)

    arguments = [str(runs[0]), str(shorter), "--threshold", "50%", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, ["compare", *arguments])

    assert done.exit_code == 0
    assert "1 case of throughput_msgs_per_s" in done.output
    assert "Not in the second run, and not compared: memory loss=0." in " ".join(done.output.split())
    page = with_plain_spaces((tmp_path / "compare-one-changed" / "compare.html").read_text())
    assert "<dt>Only in the first</dt><dd>memory loss=0; they decide nothing.</dd>" in page


def test_a_case_that_the_second_run_planned_and_has_no_trial_of_is_worse(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    cut_short = without_a_case(runs[0], tmp_path, planned=True)

    found = run_comparison.compare(runs[0], cut_short, run_comparison.ComparisonRule(RATE, 0.05))

    assert {case.case: case.reason for case in found.cases} == {
        "memory loss=0": "no valid trial",
        "memory loss=0.001": "",
    }
    assert (found.verdict, found.gone) == (Change.WORSE, [])


@pytest.mark.parametrize("at", [0, 1])
def test_a_figure_that_one_run_has_nowhere_is_refused(
    runs: tuple[Path, Path], tmp_path: Path, at: int
) -> None:
    import pandas as pd  # noqa: PLC0415

    other = changed(runs[0], tmp_path)
    table = other / "results" / "trials.parquet"
    trials = pd.read_parquet(table).assign(service_p90_ns=None, service_min_ns=None)
    trials.to_parquet(table)
    pair = (other, runs[0]) if at == 0 else (runs[0], other)

    with pytest.raises(
        NotComparableError,
        match=rf"--metric service_p90_ns: no trial of the {('first', 'second')[at]} run, changed, has it; they have "
        rf"{RATE}, throughput_bytes_per_s, service_mean_ns, service_p50_ns",
    ):
        run_comparison.compare(*pair, run_comparison.ComparisonRule("service_p90_ns", 0.05))

    trials.assign(**{RATE: 0.0}).to_parquet(table)
    run_comparison.compare(*pair, run_comparison.ComparisonRule("service_p90_ns", 0.05))


@pytest.mark.parametrize("again", ["memory loss=0 = memory loss=0.001", "memory loss=0.001 = memory loss=0"])
def test_a_case_is_matched_once_on_either_side(runs: tuple[Path, Path], tmp_path: Path, again: str) -> None:
    matches = ["--match", "memory loss=0 = memory loss=0", "--match", again]
    done = CliRunner().invoke(app, ["compare", *map(str, runs), *matches, "--out", str(tmp_path)])

    assert done.exit_code == 2
    assert re.search("given twice|can be one of the first only", re.sub(r"[\s│]+", " ", done.output))


def test_a_run_that_is_not_there_is_no_worse_run(runs: tuple[Path, Path], tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["compare", str(runs[0]), "never-made", "--out", str(tmp_path)])

    assert done.exit_code == 2
    assert "never-made: no run folder" in done.output
