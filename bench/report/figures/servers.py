"""Metrics of servers and client over a trial's time: requests, fsyncs, garbage collection, heap, copies, backlog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.model import NANOS
from bench.report.figures import resources
from bench.systems.registry import DESCRIPTIONS, describe

_MS, _PERCENT, _MB, _MIB = 1e3, 1e2, 1e-6, 1 / 2**20
_APART_NS = NANOS // 2
"""Samples closer than this are of one look: servers are asked one right after the other."""
_LONG = 1.5
"""Looks that are so many times as far apart as is usual have one between them that brought nothing."""

Line: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ServerPanel:
    """What a panel shows of each role, times `scale`.

    Of its nodes the largest or the sum (`across`); with `per` the mean of what so many took, all nodes together. With
    `since` a value speaks of the time since the sample before, else of its own moment. `roles`: of these only.
    """

    label: str
    metric: str
    scale: float = 1.0
    across: str = "max"
    per: str | None = None
    since: bool = True
    roles: tuple[str, ...] = ()
    cut: bool = False
    """Whether servers may add it up in whole milliseconds, cut off: then their mean is a lower bound."""

    def title(self, system: str) -> str:
        """What the panel of a system shows."""
        cut = self.cut and describe(system).request_timer.too_short_ns
        return f"{self.label}, or more (added up in whole ms)" if cut else self.label


SERVER_PANELS = (
    ServerPanel("messages that servers took in, MB/s", "bytes_in", _MB, "sum"),
    ServerPanel("messages that servers gave out, MB/s", "bytes_out", _MB, "sum"),
    ServerPanel("request to append, ms, mean", "request_s", _MS, "sum", per="requests", cut=True),
    ServerPanel("flush of a log or journal, ms, mean", "flush_s", _MS, "sum", per="flushes", cut=True),
    ServerPanel("flushes of the disk, per second", "disk_flushes", 1.0, "sum"),
    ServerPanel("flush of the disk, ms, mean", "disk_flush_s", _MS, "sum", per="disk_flushes"),
    ServerPanel("time in garbage collection, %, of the server with most", "gc_s", _PERCENT),
    ServerPanel("heap in use, MiB, of the server with most", "heap_bytes", _MIB, since=False),
    *(
        ServerPanel(
            counted.label,
            "under_replicated",
            1.0,
            "sum" if counted.add_up else "max",
            since=False,
            roles=(role.name,),
        )
        for system in DESCRIPTIONS.values()
        for role in system.roles
        if (counted := role.missing_copies)
    ),
    ServerPanel("changes of the replicas in sync, per second", "isr_changes", 1.0, "sum"),
    ServerPanel("time in which something waited for a core, %", "cpu_waiting_s", _PERCENT),
    ServerPanel("sends that are open", "open_sends", since=False),
    ServerPanel("lateness of the client's event loop, ms, most", "loop_lag_s", _MS),
    ServerPanel("chunks of records that wait for the disk", "recorder_backlog", since=False),
)


def panels(samples: pd.DataFrame) -> Iterator[tuple[ServerPanel, pd.DataFrame]]:
    """Give what there are samples of, with its values over seconds, a column a role."""
    for panel in SERVER_PANELS:
        table = over_time(samples, panel)
        if table.notna().to_numpy().any():
            yield panel, table


def over_time(samples: pd.DataFrame, panel: ServerPanel) -> pd.DataFrame:
    """Return the values of each role over the seconds since the first send at which servers were asked."""
    metric_samples = samples[samples["metric"].isin((panel.metric, panel.per))].sort_values("at_ns")
    if panel.roles:
        metric_samples = metric_samples[metric_samples["role"].isin(panel.roles)]
    metric_samples = metric_samples.assign(look=(metric_samples["at_ns"].diff() > _APART_NS).cumsum())
    table = _by_role(metric_samples, panel.metric, panel.across)
    if panel.per:
        times = _by_role(metric_samples, panel.per, panel.across)
        table = table / times.where(times > 0)
    table.index = metric_samples.groupby("look")["at_ns"].max().reindex(table.index) / NANOS
    return table.dropna(axis="columns", how="all") * panel.scale


def _by_role(metric_samples: pd.DataFrame, metric: str, across: str) -> pd.DataFrame:
    """Make one value of a role's nodes at each look."""
    by_node = (
        metric_samples[metric_samples["metric"] == metric]
        .groupby(["look", "role", "node"], as_index=False)["value"]
        .mean()
    )
    table: pd.DataFrame = by_node.pivot_table("value", "look", "role", across)
    return table


def lines(axes: Axes, system: str, panel: ServerPanel, table: pd.DataFrame, start_s: float | None) -> None:
    """Draw a line a role, named at the right in its colour; its first value is since the window's `start_s`.

    Without that the trial was measured in slices, and a value is of one of them, not of the time since the one before.
    """
    for number, (role, colour) in enumerate(resources.colours(system, table).items()):
        steps = panel.since and start_s is not None
        course = _steps(table[role], start_s or 0.0) if steps else _levels(table[role])
        axes.plot(*course, color=colour, linewidth=1.0)
        axes.plot(table.index, table[role], ".", color=colour, markersize=3)
        resources.name(axes, role, colour, 0.04 + 0.26 * number)
    integers_only = bool((table.fillna(0.0) % 1 == 0).to_numpy().all())
    top = float(table.max().max()) * 1.08
    axes.set_ylim(0, max(top, 1.0) if integers_only else top or 1.0)
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=integers_only))


def _steps(values: pd.Series[float], start_s: float) -> tuple[Line, Line]:
    """Carry each value back to the look before, as it speaks of the time since then."""
    ends = values.index.to_numpy(float)
    starts = np.concatenate([np.minimum(ends[:1], start_s), ends[:-1]])
    return np.column_stack([starts, ends]).ravel(), np.repeat(values.to_numpy(float), 2)


def _levels(values: pd.Series[float]) -> tuple[Line, Line]:
    """Join values, but for where nobody answered for longer than usual."""
    at: Line = np.asarray(values.index, dtype=np.float64)
    levels: Line = np.asarray(values, dtype=np.float64)
    if len(at) < 2:
        return at, levels
    silent = np.flatnonzero(np.diff(at) > _LONG * np.median(np.diff(at))) + 1
    return np.insert(at, silent, np.nan), np.insert(levels, silent, np.nan)
