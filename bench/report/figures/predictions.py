"""Capacities as predicted, over the measured ones: on the diagonal a prediction is right."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bench import numbers
from bench.report import style
from bench.report.figures.drawing import Drawing, draw
from bench.report.results import Results
from bench.systems.registry import in_order, system_title

NAME = "predictions"
_BAND = 0.25
_MARGIN = 1.3
_HEIGHT_IN = 3.6
_TITLE = "Predicted over measured capacity"


def drawing(results: Results) -> Drawing | None:
    """Draw the figure with its words; None where a run predicts no capacity."""
    if results.predictions.empty:
        return None
    caption = (
        "Each mark is the capacity of one configuration, in messages/s: predicted from all other configurations of its "
        f"system, over measured. On the line a prediction is right; grey: within {numbers.percent(_BAND)} of it."
    )
    return draw(
        _figure(results), name=NAME, title=_TITLE, alt=f"{_TITLE}. {in_words(results)}", caption=caption
    )


def _figure(results: Results) -> Figure:
    table = results.predictions
    figure = Figure(figsize=(style.WIDTH_IN, _HEIGHT_IN), layout="constrained")
    axes = figure.subplots()
    values = table[["measured", "predicted"]].to_numpy(dtype=float)
    low, high = float(values.min()) / _MARGIN, float(values.max()) * _MARGIN
    ends = np.array([low, high])
    axes.fill_between(ends, ends * (1 - _BAND), ends * (1 + _BAND), color=style.SHADE, linewidth=0)
    axes.plot(ends, ends, color=style.SOFT, linewidth=0.8)
    for system in in_order(set(table["system"])):
        rows, look = table[table["system"] == system], style.look(system)
        axes.scatter(
            rows["measured"],
            rows["predicted"],
            s=26,
            color=look.base,
            marker=look.marker,
            linewidth=0,
            label=system_title(system),
            zorder=3,
        )
    for axis, set_scale, set_limits in (
        (axes.xaxis, axes.set_xscale, axes.set_xlim),
        (axes.yaxis, axes.set_yscale, axes.set_ylim),
    ):
        set_scale("log")
        set_limits(low, high)
        axis.set_major_locator(LogLocator(10, (1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("measured, messages/s")
    axes.set_ylabel("predicted, messages/s")
    axes.legend(loc="upper left", frameon=False)
    return figure


def errors(predictions: pd.DataFrame) -> pd.Series[float]:
    """Return by which share each prediction is off."""
    return predictions["predicted"].astype(float) / predictions["measured"].astype(float) - 1


def in_words(results: Results) -> str:
    """Say what the figure shows: of each system how many predictions are near, and how far the others are off."""
    sentences = []
    for system in in_order(set(results.predictions["system"])):
        rows = results.predictions[results.predictions["system"] == system]
        sizes = errors(rows)
        near = int((sizes.abs() <= _BAND).sum())
        sentences.append(
            f"{system_title(system)}: {near} of {len(rows)} predictions within {numbers.percent(_BAND)}, all from "
            f"{100 * sizes.min():+.0f} % to {100 * sizes.max():+.0f} %."
        )
    return " ".join(sentences)
