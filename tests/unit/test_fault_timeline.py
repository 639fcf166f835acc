"""The time line of a fault: cropped to the event, with the lost sends shaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import same_color

from bench.report import style, sweep
from bench.report.figures import fault_timeline
from bench.report.presentation import Labels
from bench.report.results import Results
from tests.fault_sketch import ASKED_S, Case, Trial, results


@pytest.fixture(autouse=True)
def look() -> Iterator[None]:
    with style.typography():
        yield


def courses(*cases: Case, window_s: float = 90.0) -> list[fault_timeline.FaultTimeline]:
    found = results(*cases, window_s=window_s)
    return fault_timeline.courses(found, sweep.parts(found), Labels())


def kafka(*trials: Trial, **settings: str) -> Case:
    return Case("kafka", settings, trials)


def axes_of(*cases: Case) -> list[Any]:
    return list(fault_timeline.timeline(courses(*cases)).axes)


def labels(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_the_axis_is_cropped_to_the_event() -> None:
    """A trial of 90 s, of which 6 s after the fault matter, and 3 s before and after them."""
    assert fault_timeline.span(courses(kafka(Trial()))) == (-3.0, 9.0)
    assert fault_timeline.span(courses(kafka(Trial(writes=(50.0,))))) == (-6.0, 56.0)


def test_the_axis_reaches_to_when_an_added_node_took_its_part() -> None:
    """It came 21 s after the fault in the first trial, 17 s in the second; with 3 s of air, more than 12 % of 21 s."""
    found = results(kafka(Trial(), Trial()), window_s=90.0)
    found = replace(found, faults=found.faults.assign(share_ns=[21e9, 17e9]))

    (course,) = fault_timeline.courses(found, sweep.parts(found), Labels())

    assert fault_timeline.span([course]) == (-3.0, 24.0)
    assert "its part after 17 to 21 s" in course.words


def test_a_loss_before_the_fault_is_within_the_axis_as_far_as_there_were_sends() -> None:
    lost = Trial(lost=16_000, sent=(-7.5, -0.1))

    left, _ = fault_timeline.span(courses(kafka(lost)))

    assert left == -ASKED_S


def test_a_repeated_fault_is_shown_from_the_first_to_the_last() -> None:
    left, right = fault_timeline.span(courses(kafka(Trial(writes=(6.0, 7.0)))))

    assert left == pytest.approx(-4.44)
    assert right == pytest.approx(37 + 4.44)


def test_lost_sends_are_shaded_below_the_line_and_counted() -> None:
    (axes,) = axes_of(kafka(Trial(writes=(0.2,), reads=(14.0,), lost=28_161, sent=(0.0, 14.07))))

    (area,) = [one for one in axes.collections if same_color(one.get_facecolor()[0][:3], style.INK)]
    outline = area.get_paths()[0].vertices
    assert (outline[:, 0].min(), outline[:, 0].max()) == (0.0, 14.07)
    assert outline[:, 1].max() == 2000
    assert "28,161 lost" in labels(axes)


def test_without_a_loss_nothing_is_shaded() -> None:
    (axes,) = axes_of(kafka(Trial()))

    assert not len(axes.collections)
    assert not [label for label in labels(axes) if "lost" in label]


def test_silent_seconds_are_grey_and_the_fault_and_its_repair_are_marked() -> None:
    (axes,) = axes_of(kafka(Trial(writes=(6.0,), ended="healing", script=4.0)))

    spans = sorted(round(patch.get_x()) for patch in axes.patches)
    assert spans == [0, 1, 2, 3, 4, 5]
    marks = [
        (float(line.get_xdata()[0]), line.get_linestyle())
        for line in axes.lines
        if len(line.get_xdata()) == 2
    ]
    assert [x for x, _ in marks] == [0.0, 4.0]
    assert marks[0][1] == "-" != marks[1][1]
    assert labels(axes) == ["leader killed"]


def test_a_panel_is_named_by_its_configuration_and_says_what_happened() -> None:
    first, second = axes_of(
        kafka(*Trial().copies(5.81, 7.79), session="6 s"),
        kafka(*Trial(lost=9, sent=(0, 5)).copies(32, 34), session="30 s"),
    )

    assert [axes.get_title(loc="left") for axes in (first, second)] == [
        "Kafka, session timeout of 6 s",
        "Kafka, session timeout of 30 s",
    ]
    assert [axes.get_title(loc="right") for axes in (first, second)] == [
        "no writes for 5.8 to 7.8 s, nothing lost",
        "no writes for 32 to 34 s, 9 lost in a trial",
    ]
    assert first.get_xlim() == second.get_xlim()
    assert first.get_ylim() == second.get_ylim()


def test_the_strong_line_is_the_trial_of_the_median_loss_else_of_the_median_outage() -> None:
    (outages,) = courses(kafka(*Trial().copies(9, 5, 7)))
    (losses,) = courses(kafka(*(Trial(lost=lost, sent=(0, 5)) for lost in (30, 10, 20))))

    assert (outages.shown, losses.shown) == (2, 2)


def test_the_axis_ends_at_two_and_a_half_times_the_rate_before() -> None:
    found = results(kafka(Trial()), window_s=90)
    found.timeline.loc[found.timeline["second"] == ASKED_S + 7, "acked"] = 90_000.0

    figure = fault_timeline.timeline(fault_timeline.courses(found, sweep.parts(found), Labels()))

    assert figure.axes[0].get_ylim() == (0, 5000)


def test_configurations_with_the_same_outcome_share_a_panel() -> None:
    found = courses(
        *(kafka(*Trial().copies(5.8, 7.9), acks="all", session=session) for session in ("6 s", "9 s")),
        kafka(Trial(writes=(0.2,)), acks="1", session="6 s"),
    )

    assert [course.name for course in found] == ["Kafka, wait for all", "Kafka, wait for the leader"]
    assert len(set(found[0].seconds["trial"])) == 4


def test_titles_meet_neither_each_other_nor_the_panels() -> None:
    cases = [
        kafka(
            Trial(writes=(2.0**number,)), session=f"session of {number} s and a long name of a configuration"
        )
        for number in range(8)
    ]
    figure = fault_timeline.timeline(courses(*cases, window_s=200))

    figure.draw_without_rendering()

    boxes = [axes.get_window_extent() for axes in figure.axes]
    assert len(boxes) == 8
    every: list[Any] = list(figure.axes)
    for axes in every:
        left, right = (title.get_window_extent() for title in (axes._left_title, axes._right_title))
        assert not left.overlaps(right)
        assert not any(left.overlaps(box) for box in boxes)
    assert figure.get_size_inches()[1] <= style.HEIGHT_IN + 0.01


def test_all_text_is_as_large_as_in_other_figures() -> None:
    figure = fault_timeline.timeline(courses(kafka(Trial(lost=9, sent=(0, 5)))))

    sizes = {
        float(text.get_fontsize()) for axes in figure.axes for text in (*axes.texts, *axes.get_xticklabels())
    }
    assert min(sizes) >= 9


def test_the_drawing_says_in_words_what_it_shows() -> None:
    found: Results = results(kafka(*Trial().copies(5.81, 7.79)), window_s=30)

    drawing = fault_timeline.drawing(found, sweep.parts(found), Labels())

    assert drawing is not None
    assert drawing.name == "timeline"
    assert drawing.alt.endswith("around the fault. Kafka: no writes for 5.8 to 7.8 s, nothing lost.")
    assert "lost" not in drawing.caption
    assert "thin lines" in drawing.caption


def test_a_run_without_a_timeline_has_no_figure() -> None:
    found = results(kafka(Trial()), window_s=30)
    empty = found.timeline.iloc[:0]

    assert fault_timeline.drawing(replace(found, timeline=empty), sweep.parts(found), Labels()) is None


def test_steps_reach_to_the_end_of_the_last_second() -> None:
    (course,) = courses(kafka(Trial()), window_s=30)

    at_s, acked = fault_timeline._steps(course.seconds)

    assert at_s[-1] == 30 - ASKED_S
    assert np.isclose(acked[-1], acked[-2])


def test_outages_with_a_gap_between_their_ranges_have_panels_of_their_own() -> None:
    """5.8 to 7.8 s and 8.8 to 11 s, though each end is within half of the other."""
    apart = axes_of(
        kafka(*Trial().copies(5.8, 7.8), session="6 s"), kafka(*Trial().copies(8.8, 11), session="30 s")
    )
    near = axes_of(
        kafka(*Trial().copies(5.8, 7.8), session="6 s"), kafka(*Trial().copies(8.0, 11), session="30 s")
    )

    assert (len(apart), len(near)) == (2, 1)
