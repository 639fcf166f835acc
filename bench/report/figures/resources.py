"""CPU, disk and network second by second: each system's fastest and slowest case."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bench.model import NANOS
from bench.report import style, sweep
from bench.report.figures.timeline import representative
from bench.report.results import Results

_MB = 1e6
_CLIENT, _SUITE, _MACHINE, _OTHER_WORK = "client", "suite", "machine", "others"
_GREYS = {_CLIENT: "#8b95a3", _MACHINE: "#8b95a3", _SUITE: "#b3bac4", _OTHER_WORK: "#d3d8de"}
_LEFT_IN, _GAP_IN, _TOP_IN, _ROW_IN, _BETWEEN_IN, _FOOT_IN = 0.62, 0.16, 1.02, 1.0, 0.14, 0.44
IN_SLICES = " Each value is the mean over a slice; between slices other cases were measured."
_TITLE_LINES = 3


@dataclass(frozen=True, slots=True)
class ResourceQuantity:
    """What a panel shows: counters of nodes, added up by role."""

    label: str
    metrics: tuple[str, ...]
    scale: float


QUANTITIES = (
    ResourceQuantity("CPU, cores", ("cpu_s",), 1.0),
    ResourceQuantity("disk writes, MB/s", ("disk_write_bytes",), _MB),
    ResourceQuantity("network, MB/s", ("net_in_bytes", "net_out_bytes"), _MB),
)


_BUSY = ("cpu_busy_s", "cpu_steal_s")
METRICS = frozenset({*_BUSY, *(metric for quantity in QUANTITIES for metric in quantity.metrics)})
"""What the figure reads of the table `telemetry`."""


@dataclass(frozen=True, slots=True)
class TrialSamples:
    """A trial that is drawn, with its samples since its first send and the `second` of each."""

    part: sweep.Part
    title: str
    samples: pd.DataFrame


def seconds_of(results: Results, trial: int) -> pd.DataFrame:
    """What was seen of a trial since its first send, with the `second` of each sample."""
    samples = results.telemetry[results.telemetry["trial"] == trial]
    samples = samples[samples["at_ns"] >= 0]
    return samples.assign(second=samples["at_ns"] // NANOS)


def by_role(samples: pd.DataFrame, quantity: ResourceQuantity) -> pd.DataFrame:
    """Seconds by role, the servers' roles first; what is left of the machine's CPU belongs to others."""
    quantity_samples = samples[samples["metric"].isin(quantity.metrics) & (samples["role"] != _MACHINE)]
    by_node = quantity_samples.groupby(["second", "role", "node", "metric"], as_index=False)["value"].mean()
    table: pd.DataFrame = by_node.pivot_table("value", "second", "role", "sum").fillna(0.0) / quantity.scale
    servers = [role for role in table.columns if role not in _GREYS]
    if quantity.metrics != ("cpu_s",):
        return table.loc[:, servers]
    table = table.loc[:, [*servers, *(role for role in (_CLIENT, _SUITE) if role in table.columns)]]
    machine = samples[samples["metric"].isin(_BUSY)]
    busy = machine.groupby(["second", "metric"])["value"].mean().groupby("second").sum()
    table[_OTHER_WORK] = (busy - table.sum(axis=1)).reindex(table.index).clip(lower=0.0)
    filled: pd.DataFrame = table.fillna(0.0)
    return filled


def resources(results: Results, parts: Sequence[sweep.Part]) -> Figure | None:
    """Draw the figure; None without telemetry of a valid trial."""
    columns = [column for part in parts for column in shown_trials(results, part)]
    if not columns:
        return None
    height = _TOP_IN + len(QUANTITIES) * (_ROW_IN + _BETWEEN_IN) + _FOOT_IN
    figure = Figure(figsize=(style.WIDTH_IN, height))
    width = (style.WIDTH_IN - _LEFT_IN - (len(columns) - 1) * _GAP_IN) / len(columns)
    for row, quantity in enumerate(QUANTITIES):
        tables = [by_role(column.samples, quantity) for column in columns]
        top = (
            max((float(table.sum(axis=1).max()) for table in tables if len(table)), default=0.0) * 1.08 or 1.0
        )
        for place, (column, table) in enumerate(zip(columns, tables, strict=True)):
            x = _LEFT_IN + place * (width + _GAP_IN)
            y = height - _TOP_IN - (row + 1) * (_ROW_IN + _BETWEEN_IN) + _BETWEEN_IN
            axes = figure.add_axes((x / style.WIDTH_IN, y / height, width / style.WIDTH_IN, _ROW_IN / height))
            stack(axes, column.part.system, table)
            axes.set_ylim(0, top)
            axes.tick_params(labelleft=place == 0, labelbottom=row == len(QUANTITIES) - 1)
            if place == 0:
                axes.set_ylabel(quantity.label, labelpad=3)
            if row == 0:
                _title(axes, column, round(width / style.CHARACTER_IN))
                if place == 0 or columns[place - 1].part is not column.part:
                    _heads(axes, column, table)
            if row == len(QUANTITIES) - 1:
                axes.set_xlabel("seconds of the trial", labelpad=2)
    return figure


def shown_trials(results: Results, part: sweep.Part) -> Iterator[TrialSamples]:
    """Give the trials that are drawn of a system: of its cases of highest and of lowest throughput."""
    measured = part.cases[part.cases["throughput_msgs_per_s"].notna()].sort_values("throughput_msgs_per_s")
    for place in dict.fromkeys((-1, 0) if len(measured) > 1 else (0,) if len(measured) else ()):
        case = measured.iloc[place]
        trial = representative(results.valid[results.valid["case"] == case["case"]])
        if len(samples := seconds_of(results, trial)):
            yield TrialSamples(part, part.label(case), samples)


def stack(axes: Axes, system: str, table: pd.DataFrame, *, names: bool = False) -> None:
    """Draw roles one upon the other; with `names` each is named at the right, in its colour."""
    floor = pd.Series(0.0, index=table.index)
    for number, (role, colour) in enumerate(colours(system, table).items()):
        level = floor + table[role]
        axes.fill_between(table.index, floor, level, color=colour, linewidth=0)
        floor = level
        if names:
            name(axes, role, colour, 0.02 + 0.16 * number)
    axes.grid(visible=True, axis="y")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, max(1, int(table.index.max())) if len(table) else 1)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(4))


def name(axes: Axes, role: str, colour: str, height: float) -> None:
    """Write a role at the right of a panel, at a share of its height."""
    axes.annotate(
        role,
        (1, height),
        (4, 0),
        xycoords="axes fraction",
        textcoords="offset points",
        color=style.readable(colour),
        fontweight="semibold",
    )


def colours(system: str, table: pd.DataFrame) -> dict[str, str]:
    """Return the colour of each role in a table's columns: shades of the system for servers, greys for the others."""
    roles = [role for role in table.columns if role not in _GREYS]
    shades = dict(zip(roles, style.look(system).shades(len(roles)), strict=False))  # one shade for none
    return {role: shades.get(role) or _GREYS[role] for role in table.columns}


def _title(axes: Axes, column: TrialSamples, most: int) -> None:
    """The case above a column, in up to three lines."""
    lines = textwrap.wrap(column.title, most, break_long_words=False, break_on_hyphens=False)
    if len(lines) > _TITLE_LINES:
        lines = [*lines[: _TITLE_LINES - 1], style.shorten(" ".join(lines[_TITLE_LINES - 1 :]), most)]
    axes.annotate(
        "\n".join(style.shorten(line, most) for line in lines),
        (0, 1),
        (0, 19),
        xycoords="axes fraction",
        textcoords="offset points",
        va="bottom",
    )


def _heads(axes: Axes, column: TrialSamples, table: pd.DataFrame) -> None:
    """The system above the first of its columns, and the roles in their colours."""
    base = style.look(column.part.system).ink
    axes.annotate(
        column.part.title,
        (0, 1),
        (0, 56),
        xycoords="axes fraction",
        textcoords="offset points",
        color=base,
        fontsize=style.HEAD_PT,
        fontweight="semibold",
    )
    at = 0.0
    for role, colour in colours(column.part.system, table).items():
        axes.annotate(
            role,
            (0, 1),
            (at, 6),
            xycoords="axes fraction",
            textcoords="offset points",
            color=style.readable(colour),
            fontweight="semibold",
        )
        at += 4.9 * len(role) + 6
