"""Where figures put their marks, worked out by hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color
from matplotlib.text import Text

from bench.report import style, sweep
from bench.report.figures.curves import curves
from bench.report.figures.multiples import grid, height_in, width_in
from bench.report.figures.rows import Plot, Quantity, rows
from bench.report.figures.scale import Scale
from bench.report.results import Results

MEDIAN = Quantity("p50_ns", "p50", 1e-6, "{:.0f} ns".format)
TAIL = Quantity("p99_ns", "p99", 1e-6, "{:.0f} ns".format, hollow=True)


@pytest.fixture(autouse=True)
def look() -> Iterator[style.Look]:
    with style.typography():
        yield style.look("kafka")


def case(acks: str, rounds: int, **columns: float | None) -> dict[str, Any]:
    ends = dict.fromkeys((f"p50_ns_{end}" for end in ("low", "high", "ci_low", "ci_high")), np.nan)
    return {"system": "kafka", "case": f"kafka acks={acks}", "acks": acks, "rounds": rounds} | ends | columns


def trial(acks: str, turn: int, p50_ns: float, p99_ns: float, verdict: str = "valid") -> dict[str, Any]:
    return {
        "case": f"kafka acks={acks}",
        "system": "kafka",
        "round": turn,
        "verdict": verdict,
        "p50_ns": p50_ns,
        "p99_ns": p99_ns,
    }


CASES = pd.DataFrame(
    [
        case("1", 2, p50_ns=3e6, p99_ns=9e6, p50_ns_low=2e6, p50_ns_high=4e6),
        case(
            "all",
            3,
            p50_ns=6e6,
            p99_ns=8e6,
            p50_ns_low=5e6,
            p50_ns_high=7e6,
            p50_ns_ci_low=5.5e6,
            p50_ns_ci_high=6.5e6,
        ),
        case("0", 1, p50_ns=1e6, p99_ns=2e6, p50_ns_low=1e6, p50_ns_high=1e6),
        case("2", 0, p50_ns=None, p99_ns=None),
    ]
)
TRIALS = pd.DataFrame(
    [
        *(trial("1", 0, 2e6, 7e6), trial("1", 1, 9e6, 9e6, "invalid"), trial("1", 2, 4e6, 9e6)),
        *(trial("all", 0, 5e6, 8e6), trial("all", 1, 6e6, 8e6), trial("all", 2, 7e6, 8e6)),
        trial("0", 0, 1e6, 2e6),
    ]
)


def drawn(*quantities: Quantity) -> Any:
    """The panel of four cases: rows from 0 on, each with a dot a trial from the first round to the last."""
    part = sweep.Part("kafka", ("acks",), CASES, TRIALS)
    (figure,) = rows([part], Plot(quantities, "service time (ms)"))
    (axes,) = figure.axes
    return axes


def dots(axes: Any) -> list[list[list[float]]]:
    return [np.round(np.asarray(one.get_offsets()), 6).tolist() for one in axes.collections]


def lines(axes: Any) -> list[tuple[list[float], list[float]]]:
    return [
        (np.round(line.get_xdata(), 6).tolist(), np.round(line.get_ydata(), 6).tolist())
        for line in axes.lines
    ]


def test_each_trial_is_a_dot_in_its_cases_row_and_those_that_do_not_count_are_red_crosses(
    look: style.Look,
) -> None:
    axes = drawn(MEDIAN)

    assert dots(axes) == [
        [[2.0, -0.22], [4.0, 0.22]],
        [[9.0, 0.0]],
        [[5.0, 0.78], [6.0, 1.0], [7.0, 1.22]],
        [],
        [[1.0, 2.0]],
        [],
        [],
        [],
    ]
    valid, invalid, *_ = axes.collections
    assert same_color(valid.get_facecolor()[0][:3], look.base)
    assert same_color(invalid.get_edgecolor()[0], style.BAD)
    assert len(invalid.get_paths()[0].vertices) != len(valid.get_paths()[0].vertices)


def test_a_row_has_its_median_and_its_interval_or_below_five_trials_its_range() -> None:
    assert lines(drawn(MEDIAN)) == [
        ([3.0, 3.0], [-0.36, 0.36]),
        ([2.0, 4.0], [0.0, 0.0]),
        ([6.0, 6.0], [0.64, 1.36]),
        ([5.5, 6.5], [1.0, 1.0]),
        ([1.0, 1.0], [2.0, 2.0]),
    ]


def test_two_quantities_are_told_apart_and_joined_at_their_medians(look: style.Look) -> None:
    axes = drawn(MEDIAN, TAIL)

    full, _, hollow, *_ = axes.collections
    assert dots(axes)[2] == [[7.0, -0.22], [9.0, 0.22]]
    assert same_color(full.get_facecolor()[0][:3], look.base)
    assert same_color(hollow.get_facecolor()[0][:3], "white")
    assert lines(axes)[2] == ([3.0, 9.0], [0.0, 0.0])


def test_the_median_is_written_beside_its_row_and_a_case_without_one_says_so() -> None:
    texts = [(text.get_text(), text.get_position()[1]) for text in drawn(MEDIAN).texts]

    assert [text for text in texts if text[0].endswith(" ns")] == [
        ("3000000 ns", 0),
        ("6000000 ns", 1),
        ("1000000 ns", 2),
    ]
    assert [text for text in texts if "trial" in text[0]] == [("no valid trial", 3)]


@pytest.mark.parametrize("highest", [8878.0, 9700.0, 21000.0])
def test_a_tick_at_the_plots_end_does_not_meet_the_head_of_the_values(highest: float) -> None:
    rates = Quantity("rate", "median", 1.0, "{:,.0f}".format)
    cases = CASES.assign(rate=highest, rate_low=highest, rate_high=highest, rate_ci_low=1.0, rate_ci_high=1.0)
    trials = TRIALS.assign(rate=[240.0, *[highest] * (len(TRIALS) - 1)])
    part = sweep.Part("kafka", ("acks",), cases, trials)
    (figure,) = rows([part, part], Plot((rates,), "acknowledged messages/s"))

    figure.draw_without_rendering()

    for axes in figure.axes:
        (head,) = [text for text in axes.texts if text.get_text() == "median"]
        ticks = [label for label in axes.get_xticklabels() if label.get_text()]
        assert len(ticks) > 1
        assert not any(label.get_window_extent().overlaps(head.get_window_extent()) for label in ticks)


def test_a_quantity_that_no_trial_has_makes_no_figure() -> None:
    part = sweep.Part("kafka", ("acks",), CASES, TRIALS.assign(p50_ns=None))

    assert rows([part], Plot((MEDIAN,), "service time (ms)")) == []


def test_more_rows_than_two_thirds_of_a_page_hold_are_several_drawings_over_one_axis() -> None:
    cases = pd.concat([CASES.assign(case=f"kafka acks={turn}") for turn in range(12)], ignore_index=True)
    part = sweep.Part("kafka", ("acks",), cases, TRIALS)

    drawings = rows([part, part], Plot((MEDIAN,), "service time (ms)"))

    assert len(drawings) > 1
    assert all(figure.get_size_inches()[1] <= style.HEIGHT_IN for figure in drawings)
    medians = [text.get_text() for figure in drawings for axes in figure.axes for text in axes.texts]
    assert sum(text.endswith(" ns") for text in medians) == 2 * 36  # of four cases one has no median
    assert len({axes.get_xlim() for figure in drawings for axes in figure.axes}) == 1


def points(number: int, measure: str, **values_ms: float) -> list[dict[str, Any]]:
    """Percentiles of a trial, by names such as p99."""
    return [
        {"trial": number, "measure": measure, "quantile": float(f"0.{name[1:]}"), "value_ns": value * 1e6}
        for name, value in values_ms.items()
    ]


def results(*percentiles: list[dict[str, Any]]) -> Results:
    """The trials from above, numbered from 0, and an invalid one more of acks=all."""
    nothing = pd.DataFrame()
    invalid = pd.DataFrame([trial("all", 3, 6e6, 8e6, "invalid")])
    trials = pd.concat([TRIALS, invalid], ignore_index=True)
    return Results(
        run=Path(),
        manifest={},
        plan={"swept": {"kafka": ["acks"]}},
        trials=trials.assign(trial=trials.index),
        cases=CASES,
        timeline=nothing,
        telemetry=nothing,
        percentiles=pd.DataFrame([row for rows in percentiles for row in rows]),
        errors=nothing,
        messages=nothing,
        faults=nothing,
        slices=nothing,
        ratios=nothing,
        consumers=nothing,
        holds=nothing,
        capacities=nothing,
        costs=nothing,
        predictions=nothing,
        readings=nothing,
        transfers=nothing,
        expectations=(),
        summary={},
        trial_records={},
    )


def test_a_curve_is_the_median_over_valid_trials_as_far_as_each_resolves_it(look: style.Look) -> None:
    """Trials 3 to 5 are of acks=all, and 7, which is invalid. A nine more is one further to the right."""
    found = results(
        points(7, "service", p5=500, p9=500, p99=500),
        points(3, "service", p5=1, p9=4, p99=8),
        points(4, "service", p5=2, p9=5, p99=9),
        points(5, "service", p5=7, p9=8),
        points(5, "e2e", p5=300, p9=300, p99=300),
    )

    (figure,) = curves(found, sweep.parts(found), "service", "service time (ms)")

    (axes,) = figure.axes
    (shade,) = axes.collections
    outline: Any = shade.get_paths()[0].vertices
    half = round(-np.log10(0.5), 6)
    assert lines(axes)[0] == ([half, 1.0], [2.0, 5.0])
    corners = {tuple(corner) for corner in np.round(outline, 6).tolist()}
    assert corners == {(half, 1.0), (half, 7.0), (1.0, 4.0), (1.0, 8.0)}
    assert axes.get_xlim() == (0.0, 1.0)
    assert [text.get_text() for text in axes.texts] == ["all"]


def test_a_measure_that_was_not_taken_makes_no_figure() -> None:
    found = results(points(3, "service", p5=1))

    assert curves(found, sweep.parts(found), "response", "response time (ms)") == []


def test_each_system_is_a_drawing_of_its_own_with_panels_of_one_size(look: style.Look) -> None:
    nothing = pd.DataFrame()
    blocks = [
        sweep.Panels(
            sweep.Part(system, (), nothing, nothing),
            "acks",
            tuple(sweep.Panel(system, f"replicas={copies}", {"all": "case"}) for copies in range(count)),
            count,
            0,
        )
        for system, count in (("kafka", 9), ("pulsar", 2))
    ]

    figures, cells = grid(blocks, ("s", "ms"), Scale(1, 10, log=True))

    assert [len(figure.axes) for figure in figures] == [9, 2]
    assert all(figure.get_size_inches()[1] <= style.HEIGHT_IN for figure in figures)
    assert len({(round(width_in(cell.axes), 6), round(height_in(cell.axes), 6)) for cell in cells}) == 1
    assert all(figure.axes[-1].get_xlabel() == "s" for figure in figures)


def title_of(axes: Any) -> Text:
    (title,) = [child for child in axes.get_children() if isinstance(child, Text) and child.get_text()]
    return title


def test_titles_of_panels_meet_neither_each_other_nor_the_figures_edge_nor_a_panel(look: style.Look) -> None:
    names = (
        ("cluster=one node", "cluster=three nodes"),
        ("acknowledged=from memory", "acknowledged=from disk"),
    )
    shown = tuple(
        sweep.Panel("kafka", f"{cluster}, {acknowledged}", {"10ms": "case"})
        for cluster in names[0]
        for acknowledged in names[1]
    )
    nothing = pd.DataFrame()
    block = sweep.Panels(sweep.Part("kafka", (), nothing, nothing), "emulated_fsync", shown, 4, 0)

    (figure,), cells = grid([block], ("s", "messages/s"), Scale(1, 10, log=True))

    figure.draw_without_rendering()
    edge = figure.bbox
    titles = [title_of(cell.axes).get_window_extent() for cell in cells]
    heads = [text.get_window_extent() for text in figure.texts]
    boxes = [*titles, *heads, *(cell.axes.get_window_extent() for cell in cells)]
    assert [title_of(cell.axes).get_text().count("\n") for cell in cells] == [1, 1, 1, 1]
    assert all(edge.x0 <= title.x0 and title.x1 <= edge.x1 and title.y1 <= edge.y1 for title in titles)
    assert not [
        (one, other) for place, one in enumerate(boxes) for other in boxes[place + 1 :] if one.overlaps(other)
    ]
