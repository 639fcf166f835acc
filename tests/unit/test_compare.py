"""Two runs side by side: the rule, its error rates, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from bench.analysis.statistics.comparison import compare, critical, shift
from bench.cli import app
from bench.errors import UnlikeError
from bench.model import Change, Compared
from bench.run import comparing
from tests.report_data import build
from tests.report_sketch import Sketch

RATE = "throughput_msgs_per_s"


def rows(values: list[float], metric: str = RATE, **others: Any) -> list[dict[str, Any]]:
    fixed = {"system": "kafka", "case": "kafka", "verdict": "valid", "lost": 0, **others}
    return [{**fixed, metric: value} for value in values]


def one(first: list[float], second: list[float], threshold: float = 0.05, metric: str = RATE) -> Compared:
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
    assert one([50.0, 100.0, 150.0, 200.0, 80.0], [60.0, 90.0, 170.0, 190.0, 70.0]).change == Change.UNTOLD


def test_four_trials_tell_nothing() -> None:
    found = one([100.0] * 4, [50.0] * 5)
    assert (found.change, found.interval) == (Change.UNTOLD, None)


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


def test_a_case_without_a_valid_trial_in_the_second_run_is_worse() -> None:
    first = rows([100.0] * 5)
    (invalid,) = compare(first, rows([100.0] * 5, verdict="invalid"), RATE, 0.05)
    (missing,) = compare(first, rows([100.0] * 5, case="another"), RATE, 0.05)
    (neither,) = compare(rows([1.0], verdict="invalid"), rows([1.0], verdict="invalid"), RATE, 0.05)

    assert (
        (invalid.change, invalid.reason)
        == (missing.change, missing.reason)
        == (Change.WORSE, "no valid trial")
    )
    assert neither.change == Change.UNTOLD


def test_what_only_the_second_run_lost_makes_it_worse() -> None:
    first, losing = rows([100.0] * 5), rows([100.0] * 5, lost=3)
    (found,) = compare(first, losing, RATE, 0.05)
    (alike,) = compare(losing, losing, RATE, 0.05)

    assert (found.change, found.reason) == (Change.WORSE, "lost 15")
    assert alike.change == Change.SAME


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    sketch = Sketch(systems=("memory",), rounds=5, messages=500)
    return build(folder / "one", sketch), build(folder / "other", Sketch(**{**vars(sketch), "seed": 2}))


def test_two_runs_are_compared_on_a_page(runs: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = map(str, runs)
    done = CliRunner().invoke(app, ["compare", first, second, "--out", str(tmp_path)])

    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert done.exit_code in {0, 1, 3}
    page = (tmp_path / "compare-one-other" / "compare.html").read_text()
    assert "2 cases of throughput_msgs_per_s" in page
    assert "memory loss=0.001" in page
    assert re.search(
        r'limited by</th>.*<td class="name">client[^<]*</td><td class="name', page, flags=re.DOTALL
    )


def test_a_slower_run_has_a_status_of_its_own(runs: tuple[Path, Path], tmp_path: Path) -> None:
    import pandas as pd  # noqa: PLC0415

    slow = build(tmp_path / "slow", Sketch(systems=("memory",), rounds=5, messages=500))
    table = slow / "results" / "trials.parquet"
    trials = pd.read_parquet(table)
    trials[RATE] *= 0.5
    trials.to_parquet(table)

    done = CliRunner().invoke(app, ["compare", str(runs[0]), str(slow), "--out", str(tmp_path)])

    assert done.exit_code == 1
    assert "2 worse" in done.output


def test_runs_without_a_case_in_common_are_refused(runs: tuple[Path, Path], tmp_path: Path) -> None:
    import pandas as pd  # noqa: PLC0415

    table = changed(runs[1], tmp_path) / "results" / "trials.parquet"
    pd.read_parquet(table).assign(case="kafka acks=9").to_parquet(table)

    with pytest.raises(
        UnlikeError, match=r"no case is in both runs: the first has memory .*, the second kafka acks=9"
    ):
        comparing.compare(runs[0], table.parents[1], comparing.Rule(RATE, 0.05))


def test_a_comparison_that_tells_nothing_has_a_status_of_its_own(tmp_path: Path) -> None:
    short = Sketch(systems=("memory",), rounds=2, messages=500)
    folders = [str(build(tmp_path / name, short)) for name in ("one", "other")]

    done = CliRunner().invoke(app, ["compare", *folders, "--out", str(tmp_path)])

    assert done.exit_code == 3


def changed(run: Path, folder: Path, **values: Any) -> Path:
    import shutil  # noqa: PLC0415

    copy = shutil.copytree(run, folder / "changed")
    file = copy / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))
    return copy


def test_unlike_manifests_are_refused_with_what_differs(runs: tuple[Path, Path], tmp_path: Path) -> None:
    other = changed(runs[0], tmp_path, profile="quick", versions={"kafka": "9.9.9"})

    with pytest.raises(UnlikeError) as refused:
        comparing.compare(runs[0], other, comparing.Rule(RATE, 0.05))

    assert "profile: standard and quick" in str(refused.value)
    assert "--accept profile" in str(refused.value)
    done = CliRunner().invoke(app, ["compare", str(runs[0]), str(other), "--out", str(tmp_path)])
    assert done.exit_code == 2


def test_what_is_accepted_is_said_on_the_page(runs: tuple[Path, Path], tmp_path: Path) -> None:
    other = changed(runs[0], tmp_path, profile="quick")

    found = comparing.compare(runs[0], other, comparing.Rule(RATE, 0.05, ("profile",)))

    assert found.accepted == [("profile", "standard", "quick")]


def test_a_part_of_the_manifest_may_be_accepted_as_a_whole() -> None:
    difference = comparing.Difference("versions.kafka", "4.3.1", "4.4.0")
    assert comparing.accepted(difference, ["versions"])
    assert not comparing.accepted(difference, ["version"])


def test_another_load_of_the_same_case_is_unlike() -> None:
    def trials(window: int) -> dict[int, dict[str, Any]]:
        return {0: {"case": {"name": "kafka", "configuration": {}}, "load": {"window": window}}}

    (found,) = comparing.differences({}, {}, (trials(1), trials(2)))
    assert (found.key, found.first, found.second) == ("case.load.window", "1", "2")


def test_a_live_setting_that_differs_is_unlike_and_who_played_a_part_is_not() -> None:
    def trials(linger: str, leader: int) -> dict[int, Any]:
        effective = {
            "producer": {"linger.ms": linger},
            "topic": {"retention.ms": "-1", "partitions": [leader]},
        }
        case = {"name": "kafka", "configuration": {}}
        return {0: {"case": case, "effective": effective}, 1: {"case": case, "effective": None}}

    assert comparing.differences({}, {}, (trials("5", 1), trials("5", 2))) == []
    assert comparing.differences({}, {}, (trials("5", 1), trials("0", 1))) == [
        comparing.Difference("case.effective.producer.linger.ms", "5", "0")
    ]
    assert (
        comparing.differences({}, {}, (trials("5", 1), {0: {"case": {"name": "kafka", "configuration": {}}}}))
        == []
    )


def test_the_cost_of_an_fsync_may_vary_a_little() -> None:
    def manifest(p50: int) -> dict[str, Any]:
        return {"fsync_ns": {"p50": p50}}

    assert not comparing.differences(manifest(100), manifest(140), ({}, {}))
    (found,) = comparing.differences(manifest(100), manifest(160), ({}, {}))
    assert found.key == "fsync_ns"


def test_a_run_that_is_not_there_is_no_worse_run(runs: tuple[Path, Path], tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["compare", str(runs[0]), "never-made", "--out", str(tmp_path)])

    assert done.exit_code == 2
    assert "never-made: no run folder" in done.output
