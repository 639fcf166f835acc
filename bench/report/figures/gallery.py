"""Every figure that a run's results can fill, with the words that stand beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from bench import numbers
from bench.columns import CAPACITY
from bench.report import style, sweep
from bench.report.figures import (
    batch_cost_rows,
    capacities,
    comparison_rows,
    course,
    curves,
    disk_usage,
    downtime,
    expectation_values,
    fault_timeline,
    load_curves,
    order,
    predictions,
    price,
    resources,
    rows,
    slices,
    timeline,
)
from bench.report.figures.comparison_rows import ComparedCases
from bench.report.figures.drawing import Drawing, draw
from bench.report.presentation import Labels
from bench.report.results import Results

MEASURES = {
    "service": "service time",
    "response": "response time",
    "e2e": "end-to-end latency",
}
"""What is timed: a send until it is acknowledged; the same from when it was due; until a consumer has it."""

_INTERVAL = "its 95 % interval"
_MS = 1e-6
_WITHOUT_OWN_WORDS = Labels()
_SCRIPTED = " Dotted: something was repaired within that time, so the scenario set how long it was."


def gallery(
    results: Results,
    parts: Sequence[sweep.Part],
    labels: Labels = _WITHOUT_OWN_WORDS,
    compared: Sequence[ComparedCases] = (),
) -> dict[str, Drawing]:
    """Draw all figures, by name; those without data are not among them.

    `compared` are the cases that the answer compares: the figure `answer` shows exactly these.
    """
    with style.typography():
        drawn = [_throughput(results, parts), *_latencies(results, parts)]
        drawn += [] if results.is_fault_run else [_timeline(results, parts)]
        drawn += [_course(results, parts), _resources(results, parts), _order(results, parts)]
        drawn += [_slices(results, parts), _capacities(results, parts), load_curves.drawing(results, parts)]
    return first_page_drawings(results, parts, labels, compared) | _drawings_by_name(drawn)


def first_page_drawings(
    results: Results,
    parts: Sequence[sweep.Part],
    labels: Labels = _WITHOUT_OWN_WORDS,
    compared: Sequence[ComparedCases] = (),
) -> dict[str, Drawing]:
    """Draw the figures that a first page has room for, by name."""
    with style.typography():
        drawn = [_answer(results, compared), *_prices(results, parts, labels), _downtime(results, parts)]
        drawn += [predictions.drawing(results), expectation_values.drawing(results, parts, labels)]
        drawn.append(batch_cost_rows.drawing(results))
        if results.retention:
            drawn.append(disk_usage.drawing(results, parts, labels))
        elif results.is_fault_run:
            drawn.append(fault_timeline.drawing(results, parts, labels))
    return _drawings_by_name(drawn)


def _drawings_by_name(drawn: Sequence[Drawing | None]) -> dict[str, Drawing]:
    return {drawing.name: drawing for drawing in drawn if drawing}


def _answer(results: Results, compared: Sequence[ComparedCases]) -> Drawing | None:
    one_open = price.one_send_open(results)
    figure = comparison_rows.comparison_rows(results, compared, one_send_open=one_open)
    alt = comparison_rows.in_words(results, compared, one_send_open=one_open)
    line = " or ".join(
        sorted(
            {
                _line_words(results, comparison.metric, row.case)
                for comparison in compared
                for row in comparison.rows
            }
        )
    )
    caption = (
        f"Each mark is one trial. The bar is the {results.middle} over trials, written at the right; the line "
        f"is {line}."
    )
    if line == _INTERVAL:
        caption += " The interval of a ratio is narrower: what all cases of a start share cancels in it."
    drawing = _drawing(figure, "answer", "The configurations compared", alt, caption)
    legend = f"Dots: trials. Bar: their {results.middle}. Line: {line}."
    if any(comparison.metric == CAPACITY for comparison in compared):
        legend += " Pale: from the rate that passed to the one that failed in a trial."
    return replace(drawing, legend=legend) if drawing else None


def _line_words(results: Results, metric: str, case: str) -> str:
    interval_lows = results.cases.loc[results.cases["case"] == case].get(f"{metric}_ci_low")
    has_interval = interval_lows is not None and interval_lows.notna().all()
    return _INTERVAL if has_interval else "the range of trials, where there is no interval"


def _throughput(results: Results, parts: Sequence[sweep.Part]) -> Drawing | None:
    quantity = rows.Quantity("throughput_msgs_per_s", results.middle, 1.0, numbers.rate)
    figure = rows.rows(parts, rows.Plot((quantity,), "acknowledged messages/s"))
    alt = "Throughput by case. " + _ranges(
        parts, quantity.column, lambda value: f"{numbers.rate(value)} messages/s"
    )
    caption = f"{_marks(results)}{_one_axis(parts)}{_crosses(results, quantity.column)}{_drawn_counts(parts)}"
    return _drawing(figure, "throughput", "Throughput of every case", alt, caption)


def _latencies(results: Results, parts: Sequence[sweep.Part]) -> list[Drawing | None]:
    drawn: list[Drawing | None] = []
    for measure, words in MEASURES.items():
        if results.trials[_columns(results, measure)].notna().to_numpy().any():
            drawn.append(_latency(results, parts, measure, words))
            if measure != "e2e":
                drawn.append(_curves(results, parts, measure, words))
    return drawn


def _columns(results: Results, measure: str) -> list[str]:
    columns = [f"{measure}_p50_ns", f"{measure}_p99_ns"]
    return columns if set(columns) <= set(results.trials.columns) else []


def _latency(results: Results, parts: Sequence[sweep.Part], measure: str, words: str) -> Drawing | None:
    quantities = (
        rows.Quantity(f"{measure}_p50_ns", "p50", _MS, numbers.ms),
        rows.Quantity(f"{measure}_p99_ns", "p99", _MS, numbers.ms, hollow=True),
    )
    figure = rows.rows(parts, rows.Plot(quantities, f"{words} (ms)"))
    range_words = [
        f"{quantity.name}: {_ranges(parts, quantity.column, numbers.duration)}" for quantity in quantities
    ]
    alt = f"{words.capitalize()} by case. {' '.join(range_words)}"
    middles = f"{results.middle}s"
    bars = f"; bars are their {middles} over trials, written at the right." if results.rounds > 1 else "."
    crosses = _crosses(results, quantities[0].column)
    caption = f"Filled marks are a trial's p50, hollow marks its p99{bars}{crosses}{_drawn_counts(parts)}"
    if measure == "e2e" and results.clock_error_ns:
        caption += f" The machines' clocks may make them wrong by {numbers.duration(results.clock_error_ns)}."
    return _drawing(figure, measure, f"{words.capitalize()} of every case", alt, caption)


def _curves(results: Results, parts: Sequence[sweep.Part], measure: str, words: str) -> Drawing | None:
    figure = curves.curves(results, parts, measure, f"{words} (ms)")
    alt = f"{words.capitalize()} by percentile. " + _ranges(
        parts, f"{measure}_p99_9_ns", lambda value: f"{numbers.duration(value)} at p99.9"
    )
    caption = (
        "Lines are medians over trials, shading the range over trials. Each further nine of the percentile "
        "takes the same width; lines end where a trial has too few messages to go on, or "
        "where what it would tell never came." + _panels_chosen(parts)
    )
    return _drawing(figure, f"{measure}-curves", f"{words.capitalize()} by percentile", alt, caption)


def _timeline(results: Results, parts: Sequence[sweep.Part]) -> Drawing | None:
    figure = timeline.timeline(results, parts)
    alt = "Acknowledged messages per second over the time of a trial, one line a case. " + _ranges(
        parts,
        "throughput_msgs_per_s",
        lambda value: f"{numbers.rate(value)} messages/s in the measured window",
    )
    caption = (
        "Strong line: the trial whose throughput is its case's median. Thin line and shading: median and range "
        "over all valid trials. Grey: warm-up."
    )
    inside = results.timeline[results.timeline["in_window"].astype(bool)]
    bad = " Crosses: seconds in which a send failed or stayed unknown, or nothing was acknowledged."
    struck = f" Red: a fault, until healed; what peaks after it had been held up. {timeline.MARKS}"
    caption += struck if len(results.faults) else ""
    caption += bad if timeline.unhappy(inside).any() else ""
    caption += _panels_chosen(parts)
    return _drawing(figure, "timeline", "Throughput over time", alt, caption)


def _downtime(results: Results, parts: Sequence[sweep.Part]) -> Drawing | None:
    courses = downtime.courses(results, parts)
    alt = f"Seconds without acknowledgements, added up. {'. '.join(course.words for course in courses)}."
    scripted = any(outage.scripted for course in courses for outage in course.outages)
    caption = (
        "Each mark is a fault; from there a line rises for as long as a partition had no acknowledgement, and is flat "
        f"while all had.{_SCRIPTED if scripted else ''}"
    )
    return _drawing(
        downtime.downtime(courses), "downtime", "Total time without acknowledgements", alt, caption
    )


def _course(results: Results, parts: Sequence[sweep.Part]) -> Drawing | None:
    figure = course.course(results, parts)
    alt = "Acknowledged messages per second over the time of a cluster start, slice by slice. " + _ranges(
        parts, "throughput_msgs_per_s", lambda value: f"{numbers.rate(value)} messages/s over all slices"
    )
    caption = (
        "Each dot is a slice of the trial whose throughput is its case's median; the line is the running median of "
        f"{course.RUNNING} slices. Between two slices of a case those of the other cases were measured."
        + _panels_chosen(parts)
    )
    return _drawing(figure, "course", "Throughput slice by slice", alt, caption)


def _slices(results: Results, parts: Sequence[sweep.Part]) -> Drawing | None:
    figure = slices.slices(results, parts)
    count = numbers.plural(len(results.slices), "slice")
    swings = " ".join(filter(None, (slices.swing(results, part) for part in parts)))
    alt = f"{count}, each relative to the median of its case on that cluster start. Median over all cases: {swings}"
    caption = (
        "Each dot is a slice, in a shade for each case; the line is the median over all cases in each cycle. "
        "Where the line slopes or dips, the machine or the servers changed for all cases at once, which leaves their "
        "ratios as they are; dots of one shade that leave the line are a change in that case alone."
        + _start_counts(results, parts)
    )
    return _drawing(figure, "slices", "Every slice over time", alt, caption)


def _capacities(results: Results, parts: Sequence[sweep.Part]) -> Drawing | None:
    figure = capacities.capacities(results, parts)
    alt = f"Every rate that was held. Sustained: {capacities.in_words(results, parts)}"
    caption = (
        "Each mark is a rate that was held on one cluster start: filled where it passed the service level, hollow "
        "where it failed. Small marks are the short holds that find where to look; the result, written at the right, "
        "rests on the large ones."
    )
    return _drawing(figure, "capacities", "Every rate that was held", alt, caption)


def _resources(results: Results, parts: Sequence[sweep.Part]) -> Drawing | None:
    figure = resources.resources(results, parts)
    alt = "CPU, disk writes and network traffic over the time of a trial, by role. " + _ranges(
        parts, "cpu_per_message_ns", lambda value: f"{numbers.duration(value)} of the servers' CPU a message"
    )
    caption = (
        "Each system's cases of highest and of lowest throughput, in the trial whose throughput is their median, one "
        "upon the other by role. Client: the load process and the consumers. Suite: what the suite itself "
        "did beside the load. Others: what else ran on the machine. Network counts what nodes received and what they "
        f"sent.{resources.IN_SLICES if results.has_slices else ''}"
    )
    return _drawing(figure, "resources", "What it took over time", alt, caption)


def _prices(results: Results, parts: Sequence[sweep.Part], labels: Labels) -> list[Drawing | None]:
    """What a send costs by what an fsync takes, where that was swept."""
    caption = (
        "Each dot is one trial, at the fsync latency measured on its servers; lines join the medians of a "
        "configuration. Fsync latencies above the disk's own are emulated: each fsync is held before the kernel "
        "carries it out. `bench doctor DIR` measures the fsync latency of your own disk; grey: typical disks "
        "(sources in docs/method/load.md). "
    )
    crossed = (
        "The dark line marks where the lines of both systems cross, with its 95 % interval. "
        "Left of it the one system is ahead, right of it the other. "
    )
    tail = price.PriceMetric("service_p99_ns", "service time at p99 (ms)", _MS)
    drawn: list[Drawing | None] = []
    for name, shown, title in (
        ("price", price.metric(results), "What a send takes, by what an fsync takes"),
        ("price-service", tail, "Service time at p99, by what an fsync takes"),
    ):
        panels = price.panels(results, parts, labels, shown)
        cross = any(panel.crossings for panel in panels)
        words = f"{caption}{crossed if cross else ''}{_fsync_remarks(results)}".strip()
        alt = f"{title}. {price.in_words(panels, shown)}"
        legend = "Faint: single trials. Grey: typical disks." + (
            " Ring: the lines cross; dark band: its 95 % interval." if cross else ""
        )
        drawing = _drawing(price.price(panels, shown), name, title, alt, words)
        drawn.append(replace(drawing, legend=legend) if drawing else None)
    return drawn


def _fsync_remarks(results: Results) -> str:
    """Say what else systems sync with each message, in configurations of this run."""
    cases = (trial.case for trial in results.trial_records.values())
    remarks = (case.description.fsync_remark(case.configuration) for case in cases)
    return " ".join(dict.fromkeys(filter(None, remarks)))


def _order(results: Results, parts: Sequence[sweep.Part]) -> Drawing | None:
    figure = order.order(results, parts)
    count = numbers.plural(len(results.trials), "trial")
    alt = f"{count} by their number, the throughput of each relative to its case's {results.middle}."
    crosses = _crosses(results, "trial")
    if results.has_slices:
        caption = (
            "The trials of a cluster start alternate slice by slice. A round that lies apart would mean that the "
            f"machine, or that start of the cluster, differed.{crosses}"
        )
        return _drawing(figure, "order", "Every trial, round by round", alt, caption)
    caption = (
        "A slope over the run, or a round that lies apart, would mean that the machine changed meanwhile"
        f"{', or that the faults did not do the same' if len(results.faults) else ''}.{crosses}"
    )
    return _drawing(figure, "order", "Every trial in the order it ran", alt, caption)


def _drawing(
    figure: Figure | Sequence[Figure] | None, name: str, title: str, alt: str, caption: str
) -> Drawing | None:
    return draw(figure, name=name, title=title, alt=alt, caption=caption) if figure else None


def _ranges(parts: Sequence[sweep.Part], column: str, text: Callable[[float], str]) -> str:
    """Say in words what a figure shows: each system's lowest and highest case; nothing where none has a value.

    A published run lacks the columns that none of its cases has.
    """
    sentences = []
    for part in parts:
        values = pd.to_numeric(part.cases.get(column, pd.Series(dtype=float)))
        if values.notna().any():
            low, high = part.cases.iloc[values.argmin()], part.cases.iloc[values.argmax()]
            sentences.append(
                f"{part.title}: from {text(float(values.min()))} ({part.label(low)}) "
                f"to {text(float(values.max()))} ({part.label(high)})."
            )
    return " ".join(sentences)


def _marks(results: Results) -> str:
    if results.rounds < 2:
        return "Each mark is a case's only trial."
    return (
        "Each mark is one trial, from the first round (top of its row) to the last; the bar is the case's "
        f"{results.middle}, written at the right, the line its 95 % interval (where there is none, the range of its "
        "trials)."
    )


def _one_axis(parts: Sequence[sweep.Part]) -> str:
    return " All panels share one axis." if len(parts) > 1 else ""


def _crosses(results: Results, column: str) -> str:
    invalid_values = results.trials.loc[results.trials["verdict"] != "valid", column]
    return " Red crosses are trials that do not count." if invalid_values.notna().any() else ""


def _drawn_counts(parts: Sequence[sweep.Part]) -> str:
    counts = [(part.title, *rows.case_counts(part)) for part in parts]
    return "".join(
        f" {title}: {shown} of {total} cases drawn." for title, shown, total in counts if shown < total
    )


def _start_counts(results: Results, parts: Sequence[sweep.Part]) -> str:
    counts = [(part.title, *slices.cluster_start_counts(results, part)) for part in parts]
    return "".join(
        f" {title}: {shown} of {total} cluster starts drawn."
        for title, shown, total in counts
        if shown < total
    )


def _panels_chosen(parts: Sequence[sweep.Part]) -> str:
    sentences = []
    for block in map(sweep.panels, parts):
        if len(block.shown) < block.total:
            sentences.append(f" {block.part.title}: {len(block.shown)} of {block.total} panels drawn.")
        if block.lines_left_out:
            sentences.append(
                f" {block.part.title}: not every {block.line_setting} has a line; the tables have all."
            )
    return "".join(sentences)
