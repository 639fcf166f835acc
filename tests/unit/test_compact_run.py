from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench.columns import ENDS
from bench.errors import ReportError
from bench.model import NANOS
from bench.report import compact_run, packed_page, results, sweep
from bench.report.figures import curves, resources
from tests.report_data import build
from tests.report_sketch import Sketch

UNSEEN = re.compile(r"_(min|p90|p95|p99_99)_ns")
"""Percentiles that no page shows."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = build(tmp_path / "run", Sketch(rounds=2))
    (path / "scenario.yaml").touch()
    return path


@pytest.fixture
def compact(run: Path, tmp_path: Path) -> Path:
    """The run in the compact layout."""
    compact_run.copy(run, tmp_path / "compact")
    compact_run.compact(tmp_path / "compact")
    return tmp_path / "compact"


def test_tables_that_numbers_are_read_from_stay_as_they_are(run: Path, compact: Path) -> None:
    before, after = results.read(run), results.read(compact)

    for name in ("errors", "messages", "faults"):
        pd.testing.assert_frame_equal(getattr(after, name), getattr(before, name))
    for name in ("trials", "cases"):
        full, short = getattr(before, name), getattr(after, name)
        pd.testing.assert_frame_equal(short, full[short.columns])
        left_out = [column for column in full if column not in short]
        assert [
            column for column in left_out if full[column].notna().any() and not UNSEEN.search(column)
        ] == []
        assert left_out


def test_a_figure_without_intervals_still_has_their_columns(run: Path, compact: Path) -> None:
    before, after = results.read(run), results.read(compact)

    assert before.cases["service_mean_ns_ci_low"].isna().all()
    assert {f"service_mean_ns_{end}" for end in ENDS} <= set(after.cases)


def test_curves_keep_their_points_with_three_digits(run: Path, compact: Path) -> None:
    before, after = results.read(run), results.read(compact)

    valid = before.percentiles[before.percentiles["trial"].isin(before.valid["trial"])]
    drawn = valid[curves.is_drawn(valid["quantile"])].reset_index(drop=True)
    assert len(drawn) < len(before.percentiles)
    pd.testing.assert_frame_equal(after.percentiles.drop(columns="value_ns"), drawn.drop(columns="value_ns"))
    assert (after.percentiles["value_ns"] / drawn["value_ns"] - 1).abs().max() <= 0.005


def test_samples_are_of_the_trials_and_metrics_that_are_drawn(run: Path, compact: Path) -> None:
    before, after = results.read(run), results.read(compact)
    drawn = [
        column.samples for part in sweep.parts(before) for column in resources.shown_trials(before, part)
    ]

    assert set(after.telemetry["trial"]) == {int(samples["trial"].iloc[0]) for samples in drawn}
    assert set(after.telemetry["metric"]) == set(before.telemetry["metric"]) & resources.METRICS
    for samples in drawn:
        own = after.telemetry[after.telemetry["trial"] == samples["trial"].iloc[0]]
        for quantity in resources.QUANTITIES:
            thin = resources.by_role(own.assign(second=own["at_ns"] // NANOS), quantity)
            np.testing.assert_allclose(thin, resources.by_role(samples, quantity), rtol=0.001, atol=0.001)


def test_a_long_trial_is_drawn_in_steps_of_several_seconds() -> None:
    """500 seconds in 240 steps at most: steps of 3 s. The samples 0, 1, 2 of the first step have the mean 1."""
    samples = pd.DataFrame(
        {
            "trial": 7,
            "at_ns": np.arange(500) * NANOS + 5,
            "node": "broker-1",
            "role": "broker",
            "metric": "cpu_s",
            "value": np.arange(500.0),
        }
    )

    stepped = compact_run._step_means(samples)

    assert len(stepped) == 167
    assert list(stepped["at_ns"][:3]) == [0, 3 * NANOS, 6 * NANOS]
    assert list(stepped["value"][:3]) == [1.0, 4.0, 7.0]
    assert stepped["value"].dtype == "float32"


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(123_456, 123_500), (0, 0), (-98_764, -98_760), (7, 7), (1_000_499, 1_000_000)],
)
def test_numbers_have_four_digits(value: int, rounded: int) -> None:
    assert list(compact_run._round_values(pd.Series([value], dtype="int64"))) == [rounded]


def test_infinite_and_missing_numbers_stay() -> None:
    values = compact_run._round_values(pd.Series([np.inf, np.nan, 0.0123456]))

    assert values[0] == np.inf
    assert np.isnan(values[1])
    assert values[2] == pytest.approx(0.01235)


def test_a_folder_copied_from_a_compact_one_has_the_layout_of_a_run_again(
    run: Path, compact: Path, tmp_path: Path
) -> None:
    compact_run.copy(compact, tmp_path / "again")

    assert results.read(tmp_path / "again").trial_records == results.read(run).trial_records
    assert (tmp_path / "again" / "trials" / "0000" / "trial.json").is_file()
    assert results.document(tmp_path / "again" / "plan.json") == results.document(run / "plan.json")


def test_a_compact_document_that_is_garbled_is_named(compact: Path) -> None:
    (compact / results.TRIALS).write_bytes(b"\xfd7zXZ no")

    with pytest.raises(ReportError, match=r"trials\.json.* cannot be read"):
        results.trial_documents(compact)


def test_a_packed_page_keeps_its_title_and_unpacks_to_the_same_page() -> None:
    page = (
        "<!DOCTYPE html>\n<html><head><title>Häuser &amp; more</title></head><body>"
        + "word " * 500
        + "</body></html>"
    )

    packed = packed_page.pack(page)

    assert "<title>Häuser &amp; more</title>" in packed
    assert len(packed) < len(page)
    assert packed_page.unpack(packed) == page
    assert packed_page.unpack(page) == page
