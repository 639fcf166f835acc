"""The bottleneck of a trial: its name and the evidence (docs/method/resources.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench import numbers
from bench.model import BUSY, NANOS
from bench.systems.description import EXACT, FsyncWait, Timer

Row = Mapping[str, Any]

CLIENT, CPU, DISK, NETWORK, BROKER = "client", "cpu", "disk", "network", "broker"
NONE, UNKNOWN = "none", "unknown"

_MOST = 0.5
"""What takes more than this share of a send's time is what the next send waits for."""
_TWO_FSYNCS = 1.5
"""From so many fsyncs a message on, leader and follower sync each of them."""
_IN_TURN = 1.1
"""Work of one thread after the other keeps as many cores busy as sends are open; so much more is something else."""
_HIDDEN = 1.1
"""No send waits for fsyncs that take so many times its own time: others acknowledge it, as of a slow node."""
_OFTEN = 0.25
"""Fsyncs that sends wait for, for `_MOST` of their time, are under way for more than this share of the window."""
_REACHED_RATE = 0.98
"""An open loop that reached this share of its rate kept its pace."""
_FSYNC_WORDS = {1: "one fsync", 2: "each of two fsyncs in a row that it waits for"}
_TAKERS = {
    "servers": "servers_cpu",
    "the client": "client_cpu",
    "the suite": "suite_cpu",
    "others": "other_cpu",
}
"""Who uses the cores, and the columns that tell how many each."""


@dataclass(frozen=True, slots=True)
class TrialSetup:
    """What a trial was set up to do, beside what its row has.

    `rate` is what an open loop asked for over its window; in a closed one `open_sends` are under way at a time. A send
    that `waits` is over when it is acknowledged, so many copies made `in_turn`. Of what the nodes that keep messages
    do for it, the share `beside` is done at the same time, or after the acknowledgement. A node syncs so many of the
    topic's `logs` one by one, at most; None where all go through one journal. Timers say how exactly servers counted
    requests and fsyncs, `fsync_wait` for which fsyncs a send waits. Under faults (`broken`) no one thing limits the
    whole window. Some nodes' links were `narrowed`.
    """

    rate: float | None = None
    open_sends: int | None = None
    waits: bool = True
    in_turn: int = 2
    beside: float = 0.0
    logs: int | None = None
    request_timer: Timer = EXACT
    fsync_timer: Timer = EXACT
    fsync_wait: FsyncWait = FsyncWait.EACH_COPY
    narrowed: bool = False
    broken: bool = False


def bottleneck(row: Row, setup: TrialSetup) -> dict[str, str]:
    """Return `bottleneck` and `bottleneck_evidence` of a trial, from the other columns of its row."""
    verdict, evidence = next(_limits(row, setup))
    return {"bottleneck": verdict, "bottleneck_evidence": evidence}


def _limits(row: Row, setup: TrialSetup) -> Iterator[tuple[str, str]]:
    """Give what may have limited the trial, what is certain before what is likely; the last always comes."""
    if setup.broken:
        yield UNKNOWN, "something was broken while it ran"
    if _at_least(row, "machine_cpu_share", BUSY):
        yield CPU, f"{_cores(row)}, {_who(row)}"
    yield from _client(row)
    if row.get("machine_cpu_share") is None:
        yield UNKNOWN, "there is no telemetry of it"
    if _at_least(row, "node_cpu_share", BUSY):
        yield CPU, f"a node used {numbers.percent(row['node_cpu_share'])} of its CPU quota"
    if _at_least(row, "machine_disk_share", BUSY):
        yield DISK, f"the disk was busy {numbers.percent(row['machine_disk_share'])} of the time"
    if _at_least(row, "network_share", BUSY):
        moved = numbers.percent(row["network_share"])
        yield NETWORK, f"a node moved {moved} of what its link carries{_narrow_link_note(setup)}"
    if setup.rate is not None and (row.get("throughput_msgs_per_s") or 0) >= _REACHED_RATE * setup.rate:
        yield NONE, f"the rate asked for was reached; {_cores(row)}"
    if setup.logs is not None and _at_least(row, "flush_share", BUSY * setup.logs):
        share = row["flush_share"] / setup.logs
        yield DISK, f"a node was syncing each of its logs {numbers.percent(share)} of the time"
    if not setup.waits:
        yield UNKNOWN, f"no send waited for an acknowledgement; {_cores(row)}"
    yield from _waits(row, setup)


def _client(row: Row) -> Iterator[tuple[str, str]]:
    if _at_least(row, "cpu_share", BUSY):
        share = row["cpu_share"]
        yield (
            CLIENT,
            f"the load process used {numbers.percent(share)} of a core, its client library's threads included",
        )
    if _at_least(row, "consumers_cpu", BUSY):
        share = row["consumers_cpu"]
        yield (
            CLIENT,
            f"the consumers' process used {numbers.percent(share)} of a core: end-to-end times may be its own",
        )


def _waits(row: Row, setup: TrialSetup) -> Iterator[tuple[str, str]]:
    """Where nothing is at its limit: what most of a send's time passes in, which the next one waits for."""
    mean_ns, request_ns = row.get("service_mean_ns"), row.get("request_ns")
    if not mean_ns:
        yield from _few_open(row, setup)
        yield UNKNOWN, f"no time of a send is known; {_cores(row)}"
        return
    or_more = " or more" if setup.request_timer.too_short_ns else ""
    in_broker = "an unknown time" if request_ns is None else f"{numbers.duration(request_ns)}{or_more}"
    passed = f"of {numbers.duration(mean_ns)} that a send took on average, {in_broker} passed in the broker"
    least_ns, most_ns = _fsync_ns(row, setup.fsync_timer)
    if _is_fsync_bound(row, setup, least_ns) and least_ns <= _HIDDEN * mean_ns:
        more = "" if least_ns == most_ns else " or more"
        yield (
            DISK,
            f"{passed}; {_FSYNC_WORDS[_in_a_row(row, setup, least_ns)]} took {numbers.duration(least_ns)}{more}",
        )
    yield from _few_open(row, setup)
    reach_ns = min(most_ns, _HIDDEN * mean_ns)
    if reach_ns >= least_ns and _is_fsync_bound(row, setup, reach_ns):
        spread = f"{numbers.duration(least_ns)} to {numbers.duration(most_ns)}"
        yield UNKNOWN, f"{passed}; one fsync took {spread}, which may be most of it"
    mostly = request_ns is not None and request_ns >= _MOST * mean_ns + setup.request_timer.too_long_ns
    yield BROKER if mostly else UNKNOWN, f"{passed}; {_cores(row)}"


def _few_open(row: Row, setup: TrialSetup) -> Iterator[tuple[str, str]]:
    """Where few sends are open: work on them, one thread after the other, keeps as many cores busy, and no more.

    More is work beside them, which is in their way where there are too few cores for both.
    """
    sends = setup.open_sends
    if not sends:
        return
    busy = (row.get("servers_cpu") or 0.0) + (row.get("cpu_share") or 0.0)
    in_turn = busy - setup.beside * (row.get("keepers_cpu") or 0.0)
    work = (
        f"{numbers.plural(sends, 'send')} open at a time, and servers and load process used {busy:.2f} cores"
    )
    if BUSY * sends <= in_turn <= _IN_TURN * sends:
        but = f", copies made at once counted once {in_turn:.2f}" if setup.beside else ""
        yield CPU, f"{work}{but}: {_who(row)}"
    elif busy >= BUSY * sends and _at_least(row, "cpu_waiting_share", _MOST):
        share = numbers.percent(row["cpu_waiting_share"])
        waited = f"for {share} of the time something that could run waited for a core"
        yield CPU, f"{work}, and {waited}: {_who(row)}"


def _fsync_ns(row: Row, timer: Timer) -> tuple[float, float]:
    """How long one fsync took on average, at least and at most; 0 where nobody counted any."""
    counted_ns = row.get("flush_ns")
    if counted_ns is None:
        return 0.0, 0.0
    if not timer.too_short_ns:
        return counted_ns, counted_ns
    if row.get("fsync_ns") is not None:  # behind a gate, where each is timed
        known_ns = max(counted_ns, row["fsync_ns"])
        return known_ns, known_ns
    bounds_ns = (counted_ns + timer.too_short_ns, row.get("flush_most_ns") or math.inf)
    return counted_ns, max(counted_ns, min(bounds_ns))


def _is_fsync_bound(row: Row, setup: TrialSetup, fsync_ns: float) -> bool:
    """Whether fsyncs that take so long are most of a send's time."""
    rate = (row.get("flushes_per_message") or 0.0) * (row.get("throughput_msgs_per_s") or 0.0)
    waited_ns = _in_a_row(row, setup, fsync_ns) * fsync_ns
    return waited_ns >= _MOST * row["service_mean_ns"] and rate * fsync_ns >= _OFTEN * NANOS


def _in_a_row(row: Row, setup: TrialSetup, fsync_ns: float) -> int:
    """How many fsyncs a send waits for, one after the other.

    Where copies are made one after the other, each node syncs what the one before has synced. A journal whose fsyncs
    follow one another syncs what came meanwhile by the next one: a send waits for the one under way, and for its own.
    """
    if setup.fsync_wait is FsyncWait.EACH_COPY:
        return 2 if setup.in_turn > 1 and _at_least(row, "flushes_per_message", _TWO_FSYNCS) else 1
    share, counted_ns = row.get("flush_share") or 0.0, row.get("flush_ns")
    return 2 if counted_ns and share * fsync_ns / counted_ns >= BUSY else 1


def _at_least(row: Row, name: str, level: float) -> bool:
    value = row.get(name)
    return value is not None and value >= level


def _narrow_link_note(setup: TrialSetup) -> str:
    return ", which was made narrow" if setup.narrowed else ""


def _cores(row: Row) -> str:
    return f"the cores were {numbers.percent(row['machine_cpu_share'])} busy"


def _who(row: Row) -> str:
    users = [f"{row[column]:.2f} by {who}" for who, column in _TAKERS.items() if row.get(column) is not None]
    return ", ".join(users) or "by whom is not known"
