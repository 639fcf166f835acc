"""The hold that the event log of one slice shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.capacity.hold import Hold, Slope, backlog_slope
from bench.capacity.service_level import ServiceLevel
from bench.errors import EventLogError
from bench.model import BUSY, NANOS, NEVER_NS, Outcome, Pacing
from bench.pacing import Schedule

Times = npt.NDArray[np.int64]

_SENDS = ("producer", "sequence", "due_ns", "done_ns", "outcome")
_RECEIVES = ("producer", "sequence", "received_ns")
_MESSAGE = ("producer", "sequence")
SAMPLE_NS = NANOS // 10
"""So often a backlog is counted."""


@dataclass(frozen=True, slots=True)
class HeldSlice:
    """A slice in which a rate was held, in messages a second, over so many producers.

    Times are of the log's clock: the load began at `begun_ns`, and what was due from `start_ns` until before `end_ns`
    counts. `client_cpu_share` is how much of a core the load process used. `copies_missing`: the system knew of missing
    copies at its end. `late_copies_share` is as of Hold.
    """

    number: int
    rate: float
    producers: int
    begun_ns: int
    start_ns: int
    end_ns: int
    client_cpu_share: float
    copies_missing: bool = False
    late_copies_share: float | None = None

    @property
    def seconds(self) -> float:
        """How long what counts took."""
        return (self.end_ns - self.start_ns) / NANOS

    def due_until(self, at_ns: Times) -> Times:
        """Return how many messages were due before each of these times."""
        schedule = Schedule(Pacing(((1.0, self.rate),)), self.producers)
        return np.array([schedule.due_before(int(time_ns) - self.begun_ns) for time_ns in at_ns], np.int64)

    def due_each_second(self) -> Times:
        """Return how many messages were due in each second of what counts; the last one may be a part."""
        edges = np.append(np.arange(self.start_ns, self.end_ns, NANOS), self.end_ns)
        return np.diff(self.due_until(edges))


Counts: TypeAlias = Mapping[str, Mapping[int, int]]
"""What a hold's sends come to: how many of them by kind and place, which is a second or a sample of what counts.

`sent` and `failed` (of those due in it, place 0), `in_time` and `seen_in_time` (by the second in which they were due),
`acked` and `seen` (of all sends, by the first sample of a backlog that comes after it; 0 is the first sample).
"""


def hold_of(held: HeldSlice, counts: Counts) -> Hold:
    """Return the hold that counts tell of.

    A message is in time where it was acknowledged within the level's response time from when it was due; else it is
    late. It is late end to end where no consumer had it in time. So what was due and never sent is late.
    """
    due = held.due_each_second()

    def late_counts(kind: str) -> list[int]:
        in_time = counts.get(kind, {})
        return [int(count) - in_time.get(second, 0) for second, count in enumerate(due)]

    return Hold(
        rate=held.rate,
        seconds=held.seconds,
        due=[int(count) for count in due],
        sent=counts.get("sent", {}).get(0, 0),
        late=late_counts("in_time"),
        late_end_to_end=late_counts("seen_in_time"),
        failed=counts.get("failed", {}).get(0, 0),
        backlogs=_backlogs(held, counts),
        limited_by_client=held.client_cpu_share >= BUSY,
        copies_missing=held.copies_missing,
        late_copies_share=held.late_copies_share,
    )


def read_hold(trial_folder: Path, held: HeldSlice, level: ServiceLevel) -> Hold:
    """Count a hold in the event log of its trial, which has all its records. Raises EventLogError."""
    sends = _read(trial_folder / "sends", _SENDS, [("slice", "=", held.number)])
    live_rows = [("stage", "=", "live"), ("received_ns", ">=", held.begun_ns)]
    receives = _read(trial_folder / "receives", _RECEIVES, live_rows)
    first_receives = receives.group_by(list(_MESSAGE)).aggregate([("received_ns", "min")])
    sends = sends.join(first_receives, list(_MESSAGE), join_type="left outer")
    acked = pc.equal(sends["outcome"], Outcome.OK.label).to_numpy()
    due_ns, seen_ns = _times(sends["due_ns"]), _times(sends["received_ns_min"])
    acked_ns = np.where(acked, _times(sends["done_ns"]), NEVER_NS)
    counted = (due_ns >= held.start_ns) & (due_ns < held.end_ns)
    seconds, only_place = (due_ns - held.start_ns) // NANOS, np.zeros(len(due_ns), np.int64)
    in_time = acked_ns <= due_ns + level.response_p99_ns
    seen_in_time = seen_ns <= due_ns + level.end_to_end_p99_ns
    counts = {
        "sent": _count(only_place[counted]),
        "failed": _count(only_place[counted & ~acked]),
        "in_time": _count(seconds[counted & in_time]),
        "seen_in_time": _count(seconds[counted & seen_in_time]),
        "acked": _count(_samples(held, acked_ns)),
        "seen": _count(_samples(held, seen_ns)),
    }
    return hold_of(held, counts)


def _samples(held: HeldSlice, times_ns: Times) -> Times:
    """Return the first sample of a backlog after each of these times; without those that never came."""
    ended_ns = times_ns[times_ns < NEVER_NS]
    samples: Times = np.maximum(0, (ended_ns - held.start_ns) // SAMPLE_NS + 1)
    return samples


def _count(places: Times) -> dict[int, int]:
    return {
        int(place): int(count) for place, count in zip(*np.unique(places, return_counts=True), strict=True)
    }


def _backlogs(held: HeldSlice, counts: Counts) -> Mapping[str, Slope]:
    """Return how fast what is due and not acknowledged grows, and what is acknowledged and not received."""
    at_ns = np.arange(held.start_ns, held.end_ns + 1, SAMPLE_NS)
    seconds = list((at_ns - held.start_ns) / NANOS)
    acked, received = (
        np.cumsum([counts.get(kind, {}).get(sample, 0) for sample in range(len(at_ns))])
        for kind in ("acked", "seen")
    )
    return {
        "producers": backlog_slope(seconds, list(held.due_until(at_ns) - acked)),
        "consumers": backlog_slope(seconds, list(acked - received)),
    }


def _read(folder: Path, columns: tuple[str, ...], filters: Sequence[tuple[str, str, object]]) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Read the rows that pass the filters; parts of files whose statistics leave them out are not read."""
    files = sorted(folder.glob("[!.]*.parquet"))
    if not files:
        raise EventLogError(f"{folder} has no Parquet file: nothing of this hold is on record.")
    try:
        return pa.concat_tables(
            [pq.read_table(file, columns=list(columns), filters=list(filters)) for file in files]
        )
    except (OSError, KeyError, pa.ArrowException) as error:
        raise EventLogError(f"reading {folder}: {error} (docs/event-log.md)") from error


def _times(column: Any) -> Times:  # noqa: ANN401 - as above
    """Return times, those that are not there as later than any."""
    times: Times = pc.fill_null(column, NEVER_NS).to_numpy().astype(np.int64)
    return times
