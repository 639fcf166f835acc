"""What a report draws of trials measured in slices: against slices worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bench.report import results, style, sweep
from bench.report.figures import course, slices, timeline, trial_figure
from bench.report.pages import html, trials
from bench.report.results import Results
from tests.records import altered
from tests.report_data import build
from tests.report_sketch import Sketch
from tests.spaces import with_plain_spaces

MINUTE_NS = 60 * 10**9


@pytest.fixture(autouse=True)
def look() -> Iterator[style.Look]:
    with style.typography():
        yield style.look("memory")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cases, two cluster starts, four slices of each case on each."""
    sketch = Sketch(systems=("memory",), rounds=2, cycles=4, messages=200)
    return build(tmp_path_factory.mktemp("run") / "sliced", sketch)


@pytest.fixture(scope="module")
def sliced(run: Path) -> Results:
    return results.read(run)


def with_rates(found: Results, rates: dict[int, list[float]], **columns: Any) -> Results:
    """The same run with these throughputs of the slices of each trial, one a minute."""
    rows = [
        {
            "trial": trial,
            "slice": place,
            "cycle": place,
            "start_ns": place * MINUTE_NS,
            "length_ns": 5 * 10**8,
            "acked": 1,
            "throughput_msgs_per_s": rate,
            "service_p50_ns": 10**9 / rate if rate else None,
            "service_p99_ns": None,
            "response_p99_ns": None,
        }
        | columns
        for trial, values in rates.items()
        for place, rate in enumerate(values)
    ]
    return replace(found, slices=pd.DataFrame(rows, columns=found.slices.columns))


def dots(patch: Any) -> list[list[float]]:
    """Where the dots of a case are: each is a stroke from there to there."""
    return [list(place) for place in patch.get_path().vertices[::2]]


def starts(found: Results) -> list[slices.ClusterStart]:
    (part,) = sweep.parts(found)
    return slices.cluster_starts(found, part)


def test_slices_are_relative_to_their_case_on_their_cluster_start(sliced: Results) -> None:
    """Medians of 100, 200 and 4 messages/s: the second trial's second round is its own measure."""
    found = with_rates(sliced, {0: [50, 100, 200], 1: [200, 200, 400], 2: [2, 4, 8]})

    first, second = starts(found)

    assert (first.title, second.title) == ("round 1", "round 2")
    assert first.slices["share"].tolist() == [0.5, 1.0, 2.0, 1.0, 1.0, 2.0]
    assert second.slices["share"].tolist() == [0.5, 1.0, 2.0]
    assert first.slices["minutes"].tolist() == [0.0, 1.0, 2.0] * 2


def test_the_line_is_the_median_over_cases_in_each_cycle(sliced: Results) -> None:
    found = with_rates(sliced, {0: [50, 100, 200], 1: [200, 200, 400]})

    (start,) = starts(found)

    assert start.by_cycle["share"].tolist() == [0.75, 1.0, 2.0]
    figure = slices.slices(found, sweep.parts(found))
    assert figure is not None
    line = figure.axes[0].lines[-1]
    assert np.asarray(line.get_xdata()).tolist() == [0.0, 1.0, 2.0]
    assert np.asarray(line.get_ydata()).tolist() == [0.75, 1.0, 2.0]


def test_where_the_load_is_paced_service_times_are_drawn(sliced: Results) -> None:
    """Throughput says nothing there; a case at twice its median rate has half its median service time."""
    found = with_rates(sliced, {0: [50, 100, 200]}, response_p99_ns=1.0)

    (start,) = starts(found)

    assert start.slices["share"].tolist() == [2.0, 1.0, 0.5]


def test_each_dot_is_a_slice_at_its_time_and_share(sliced: Results) -> None:
    found = with_rates(sliced, {0: [90, 100, 110], 1: [200, 200, 230]})

    figure = slices.slices(found, sweep.parts(found))

    assert figure is not None
    places = [np.round(dots(patch), 6).tolist() for patch in figure.axes[0].patches]
    assert places == [[[0, 0.9], [1, 1.0], [2, 1.1]], [[0, 1.0], [1, 1.0], [2, 1.15]]]


def test_a_slice_without_an_acknowledgement_lies_at_the_axis_edge(sliced: Results) -> None:
    found = with_rates(sliced, {0: [0, 100, 100, 100]})

    figure = slices.slices(found, sweep.parts(found))

    assert figure is not None
    (axes,) = figure.axes
    (patch,) = axes.patches
    assert dots(patch)[0][1] == axes.get_ylim()[0] > 0


def test_clusters_of_one_round_are_told_apart_by_the_settings_that_only_their_cases_share(
    tmp_path: Path,
) -> None:
    found = results.read(
        build(tmp_path / "run", Sketch(systems=("pulsar",), rounds=1, cycles=2, messages=100))
    )
    sync = found.trials.set_index("trial")["journalSyncData"]
    records = {
        number: altered(trial, logs=f"1-{sync[number]}") for number, trial in found.trial_records.items()
    }

    titles = [start.title for start in starts(replace(found, trial_records=records))]

    assert titles == ["round 1, journalSyncData=false", "round 1, journalSyncData=true"]


def test_the_course_shows_the_trial_of_median_throughput_with_a_running_median(sliced: Results) -> None:
    rates: dict[int, list[float]] = {0: [10, 10, 70, 10, 10, 10], 2: [5] * 6}
    trials_table = sliced.trials.assign(throughput_msgs_per_s=[20.0, 1.0, 30.0, 1.0])
    case = trials_table["case"].where(trials_table["trial"].isin(rates), "memory loss=0.001")
    case = case.where(~trials_table["trial"].isin(rates), "memory loss=0")
    found = with_rates(replace(sliced, trials=trials_table.assign(case=case)), rates)

    (figure,) = course.course(found, sweep.parts(found))

    (axes,) = figure.axes
    line = axes.lines[0]  # the lower one of two
    assert np.asarray(line.get_ydata()).tolist() == [10.0] * 6
    (patch,) = axes.patches
    assert [y for _, y in dots(patch)] == rates[0]


def test_a_run_in_one_window_has_neither_figure(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), rounds=1, messages=100)))

    assert slices.slices(found, sweep.parts(found)) is None
    assert course.course(found, sweep.parts(found)) == []


def test_the_report_has_every_slice_and_the_course_instead_of_a_timeline(run: Path) -> None:
    page = with_plain_spaces(html.render(run))

    assert 'id="figure-slices"' in page
    assert 'id="figure-course"' in page
    assert 'id="figure-timeline"' not in page
    assert "No valid trial has a timeline" not in page
    assert fact(page, "Slices") == (
        "500 ms counted after a lead-in of 100 ms; 4 slices a trial. The slices of all cases on clusters that run side "
        "by side alternate, in a new random order in each cycle, so that slow phases and drift meet all cases to the "
        "same extent."
    )
    assert "Measured window" not in page


def fact(page: str, term: str) -> str:
    """The text of one fact of the method."""
    head = f"<dt>{term}</dt><dd>"
    start = page.index(head) + len(head)
    return page[start : page.index("</dd>", start)]


def test_a_trials_page_goes_by_its_slices(run: Path, sliced: Results) -> None:
    trials.write(run)

    page = (run / "pages" / "0000.html").read_text()

    assert "Nothing was sent" not in page
    assert "acknowledged messages per second, slice by slice" in page
    assert "between slices other cases were measured" in page
    drawing = trial_figure.trial(sliced, 0)
    assert drawing is not None
    assert "messages/s in the measured slices" in drawing.alt


def test_times_of_a_trials_slices_count_from_its_own_first_send(sliced: Results) -> None:
    """The first slice counts from the end of its lead-in of 100 ms; the cluster's other trials may come before."""
    late = with_rates(sliced, {0: [10, 20]})
    late = replace(late, slices=late.slices.assign(start_ns=[7 * MINUTE_NS, 8 * MINUTE_NS]))

    went = trial_figure._in_slices(late, 0)

    assert went is not None
    assert went.table.index.tolist() == pytest.approx([0.1, 60.1])
    assert went.table["acked"].tolist() == [10.0, 20.0]
    assert went.right_s == pytest.approx(60.6)


def test_a_run_of_which_only_some_trials_are_sliced_has_each_case_in_one_of_the_figures(
    tmp_path: Path,
) -> None:
    run = build(tmp_path / "run", Sketch(systems=("memory",), rounds=1, messages=100))
    found = results.read(run)
    trial = int(found.trials.loc[found.trials["case"] == "memory loss=0", "trial"].iloc[0])
    mixed = with_rates(
        replace(found, timeline=found.timeline[found.timeline["trial"] != trial]), {trial: [10, 20, 10]}
    )
    parts = sweep.parts(mixed)

    (of_seconds,), (of_slices,) = timeline.timeline(mixed, parts), course.course(mixed, parts)

    assert [text.get_text() for axes in of_seconds.axes for text in axes.texts] == ["0.001"]
    assert [text.get_text() for axes in of_slices.axes for text in axes.texts] == ["0"]
