"""What the acknowledged messages took: CPU, disk, network and flushes, and what limited each case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from bench import numbers
from bench.columns import REQUEST_MESSAGES
from bench.model import BUSY
from bench.report import sweep
from bench.report.figures.timeline import representative
from bench.report.results import Results
from bench.report.sections import method
from bench.report.sections.section import ReportInput, Section
from bench.report.table import Cell, Column, Table, case_table, without_empty
from bench.systems.registry import system_title

_WORDS = {
    "client": "the load process",
    "cpu": "the CPU",
    "disk": "the disk",
    "network": "the network",
    "broker": "the time in the broker, its waiting for other nodes included",
    "none": "nothing: the rate asked for was reached",
    "unknown": "not known",
}
_TONES = {"client": "warn", "cpu": "warn", "unknown": "quiet"}


def limited_by(case: pd.Series[Any], evidence: str = "") -> Cell:
    """What limited a case's trials, in one cell; the evidence shows on pointing."""
    verdict = str(case["bottleneck"] or numbers.NOTHING)
    return Cell(verdict, _TONES.get(verdict.split(" ", maxsplit=1)[0], "plain"), evidence)


def evidence(results: Results, case: str) -> str:
    """What speaks for the verdict on a case: that of its trial of median throughput."""
    trials = results.valid[results.valid["case"] == case]
    if trials.empty:
        return ""
    median_trial = trials[trials["trial"] == representative(trials)].iloc[0]
    return f"{median_trial['bottleneck']}: {median_trial['bottleneck_evidence']}"


def usage_table(results: Results, part: sweep.Part) -> Table | None:
    """A row a case: what its messages took, medians over its valid trials; None without telemetry."""
    if part.cases["cpu_per_message_ns"].isna().all():
        return None
    columns = [
        Column("CPU, µs", "number", "servers, per message"),
        Column("log or journal flushes", "number", "servers, per message"),
        Column("to disks", "number", "bytes per message byte"),
        Column("network", "number", "bytes per message byte"),
        Column("in a batch", "number", "messages"),
        Column("in GC", "number", "time"),
        Column("limited by, in the trial of median throughput", "text"),
    ]
    garbage, batch = _medians(part, "gc_share"), _medians(part, REQUEST_MESSAGES)
    cells = [
        (
            Cell(_microseconds(case["cpu_per_message_ns"])),
            Cell(numbers.rate(case["flushes_per_message"])),
            _to_disks(part, case),
            Cell(numbers.rate(case["network_bytes_per_byte"])),
            Cell(numbers.rate(batch.get(case["case"]))),
            Cell(numbers.share(garbage.get(case["case"]))),
            Cell(evidence(results, case["case"])),
        )
        for _, case in part.cases.iterrows()
    ]
    return without_empty(case_table(part, columns, cells))


def _to_disks(part: sweep.Part, case: pd.Series[Any]) -> Cell:
    """Say the median, and the least and the most beside it where trials differ by more than the half of it."""
    trials = part.trials[(part.trials["case"] == case["case"]) & (part.trials["verdict"] == "valid")]
    values = pd.to_numeric(trials["disk_bytes_per_byte"]).dropna()
    median_words = numbers.rate(case["disk_bytes_per_byte"])
    if values.empty or values.max() - values.min() <= values.median() / 2:
        return Cell(median_words)
    span = f"{numbers.rate(values.min())} to {numbers.rate(values.max())}"
    return Cell(f"{median_words} ({span})", sort=float(values.median()))


def _medians(part: sweep.Part, column: str) -> dict[str, float]:
    """Return the median of a column over each case's valid trials, without cases in which none has it.

    Results of older runs may lack the column.
    """
    if column not in part.trials:
        return {}
    valid = part.trials[part.trials["verdict"] == "valid"]
    medians = pd.to_numeric(valid[column]).groupby(valid["case"]).median().dropna()
    return {str(case): float(value) for case, value in medians.items()}


def limits(results: Results) -> Iterator[str]:
    """The warnings that stand before the figure: what limited the trials, and what that means for their rates."""
    trial_count = int(results.valid["bottleneck"].notna().sum())
    bound = _bound(results)
    if bound:
        apart = ", ".join(f"{system_title(system)} {count} of {of}" for system, count, of in bound)
        system_words = f" ({apart})" if len(bound) > 1 else ""
        yield (
            f"In {sum(count for _, count, _ in bound)} of {numbers.plural(trial_count, 'valid trial')}{system_words} "
            "work on the CPU took most of the time of a send, and servers and load share the "
            f"{method.cores(results)}. Such rates compare configurations with each other on a machine like this one; "
            "they are not what brokers on machines of their own would carry."
        )
    client = results.valid[results.valid["bottleneck"] == "client"]
    if client.empty:
        return
    loads = int((pd.to_numeric(client["cpu_share"]) >= BUSY).sum())
    if loads:
        yield (
            f"In {loads} of {numbers.plural(trial_count, 'valid trial')} the load process may have been the limit, not "
            "the servers: it used nine tenths of a core or more."
        )
    if consumers := len(client) - loads:
        yield (
            f"In {consumers} of {numbers.plural(trial_count, 'valid trial')} the consumers' process used nine tenths "
            "of a core or more: end-to-end times there may be its own, not the servers'."
        )


def _bound(results: Results) -> list[tuple[str, int, int]]:
    """Each system, in how many trials the CPU limited it, and of how many: nothing where it was half of none's."""
    bound = [
        (str(system), int((bottlenecks == "cpu").sum()), int(bottlenecks.notna().sum()))
        for system, bottlenecks in results.valid.groupby("system", sort=False)["bottleneck"]
    ]
    return bound if any(count * 2 > of for _, count, of in bound) else []


def busy(results: Results) -> str | None:
    """Say in how many of the trials that the CPU limited all cores were busy, and in how many as many as had work."""
    if not _bound(results):
        return None
    limited = results.valid[results.valid["bottleneck"] == "cpu"]
    full = pd.to_numeric(limited["machine_cpu_share"]) >= BUSY
    turns = ~full & ~limited["bottleneck_evidence"].str.contains("waited for a core", regex=False)
    ways = {
        f"all of the {method.cores(results)} were busy": int(full.sum()),
        "servers and client were busy for about as long as sends were open: work on these for the most part, one step "
        "after the other, for which further cores would be idle": int(turns.sum()),
        "work beside the open sends had further cores busy": int((~full & ~turns).sum()),
    }
    clauses = [f"in {numbers.plural(count, 'trial')} {way}" for way, count in ways.items() if count]
    return f"Of these trials: {', '.join(clauses)}."


def limit_sentence(results: Results) -> str:
    """What limited the trials, all of them, in one sentence; empty without trials."""
    counts = results.valid["bottleneck"].value_counts()
    clauses = [f"{_WORDS.get(str(verdict), verdict)} in {count}" for verdict, count in counts.items()]
    return f"What limited the trials: {', '.join(clauses)}." if clauses else ""


def _microseconds(value_ns: float | None) -> str:
    return numbers.NOTHING if numbers.absent(value_ns) or value_ns is None else numbers.rate(value_ns / 1000)


def _content(report: ReportInput) -> list[Table]:
    """Return a table a system; none without telemetry."""
    tables = (usage_table(report.results, part) for part in report.parts)
    return [table for table in tables if table]


SECTION = Section("resources", "What it took", _content)
