"""A trial's event log from several machines, rewritten as that of one: one clock, one folder.

It is done once the trial is over, with all that is then known of each clock. A message's `sent_ns` is part of its
identity in the log. So it must be the same in the sends of its producer and in the receives of every consumer.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bench import durable_files
from bench.load.clocks import RemoteClock
from bench.load.writer import open_file

_SEND_TIMES = ("due_ns", "sent_ns", "done_ns")


@dataclass(frozen=True, slots=True)
class LogSource:
    """Where a part of a trial's event log comes from.

    `folder` is where its files are, below those of the log; empty for the runner's own. `clock` is None where it shares
    the runner's. `producers` are those that sent there: the first, and how many.
    """

    folder: str
    clock: RemoteClock | None
    producers: tuple[int, int]


def correct(trial: Path, sources: Sequence[LogSource]) -> int:
    """Correct a trial's log; return the most by which a time between two machines may be off, in ns.

    It is 0 where all share one clock.
    """
    for stage in ("sends", "receives"):
        for file, source in _files(trial / stage, sources):
            table = pq.read_table(file)
            if stage == "sends":
                for name in _SEND_TIMES:
                    table = _convert_times(table, name, source.clock)
            else:
                table = _by_producer(_convert_times(table, "received_ns", source.clock), sources)
            _replace(file, table, trial / stage)
        for source in sources:
            if source.folder:
                shutil.rmtree(trial / stage / source.folder, ignore_errors=True)
    for file in sorted(trial.glob("reads/*/*.parquet")):  # what steps read, on the runner's machine
        _replace(file, _by_producer(pq.read_table(file), sources), file.parent)
    errors = sorted(source.clock.error_ns for source in sources if source.clock is not None)
    return sum(errors[-2:])


def _files(stage: Path, sources: Sequence[LogSource]) -> list[tuple[Path, LogSource]]:
    return [
        (file, source) for source in sources for file in sorted((stage / source.folder).glob("*.parquet"))
    ]


def _replace(file: Path, table: pa.Table, folder: Path) -> None:
    """Write a corrected table where readers look for it; the name of another machine's file has that of its folder."""
    name = file.name if file.parent == folder else f"{file.parent.name.strip('.')}-{file.name}"
    with durable_files.replace_file(folder / name) as hidden:
        with open_file(hidden, table.schema) as writer:
            writer.write_table(table)
        if file.parent != folder:
            file.unlink()


def _convert_times(table: pa.Table, name: str, clock: RemoteClock | None) -> pa.Table:
    if clock is None:
        return table
    column = table[name]
    times_ns = clock.local(column.fill_null(0).to_numpy())
    return _with(table, name, times_ns, np.asarray(column.is_null()))


def _by_producer(table: pa.Table, sources: Sequence[LogSource]) -> pa.Table:
    """Convert `sent_ns` of received messages, which is by the clock of their producer."""
    producers, times_ns = table["producer"].to_numpy(), table["sent_ns"].to_numpy().copy()
    for source in sources:
        first, count = source.producers
        is_own = (producers >= first) & (producers < first + count)
        if source.clock is not None and is_own.any():
            times_ns[is_own] = source.clock.local(times_ns[is_own])
    return _with(table, "sent_ns", times_ns, np.zeros(len(times_ns), bool))


def _with(table: pa.Table, name: str, times_ns: NDArray[np.int64], null: NDArray[np.bool_]) -> pa.Table:
    position = table.column_names.index(name)
    return table.set_column(position, table.schema.field(position), pa.array(times_ns, pa.int64(), mask=null))
