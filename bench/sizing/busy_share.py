"""How busy nodes may be so that a response time is kept: what a search for capacity shows of the CPU."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import numbers
from bench.guarantee import Guarantee
from bench.model import Interval
from bench.sizing.requirement import CpuLimit
from bench.statistics.interval import level, level_interval

_REACH = 2.0
"""So many times above the largest measured message, or below the smallest, a message may lie."""


@dataclass(frozen=True, slots=True)
class HeldStart:
    """What a search on one cluster start found at the highest rate that passed its long holds.

    `p99_s` is the response time that the search allowed. `bounded`: some higher rate failed, so the servers ended the
    search, and not the load process. `cpu_shares` are those of the roles, of what their nodes have;
    empty where nobody looked, or nodes had no quota. `rate` is None where no rate passed.
    """

    system: str
    case: str
    guarantee: Guarantee
    message_bytes: int
    p99_s: float
    rate: float | None
    cpu_shares: Mapping[str, float]
    bounded: bool = True


@dataclass(frozen=True, slots=True)
class BusyShare:
    """The share of its CPU that the busiest role used while the response time was kept, over `starts` cluster starts.

    Of fewer than three starts the limit is the lowest, and `interval_known` is False. `outside` says where the
    messages lie far from those measured.
    """

    role: str
    case: str
    message_bytes: int
    p99_s: float
    starts: int
    limit: CpuLimit
    interval_known: bool
    outside: str = ""


class BusyShareError(ValueError):
    """The searches do not say how busy nodes may be; the message says why."""


def highest_passed(
    rows: Iterable[Mapping[str, Any]], roles: Iterable[str]
) -> tuple[float | None, dict[str, float]]:
    """Return the highest rate that passed long holds, and each role's share of the CPU in them, weighted by seconds.

    `rows` are those of the table `holds` of one trial, in their order: the last verdict on a rate counts.
    """
    by_rate: dict[float, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["confirms"]:
            by_rate.setdefault(row["rate"], []).append(row)
    passed = [rate for rate, held in by_rate.items() if held[-1]["verdict"] == "passed"]
    if not passed:
        return None, {}
    return max(passed), weighted_shares(by_rate[max(passed)], roles)


def weighted_shares(holds: Sequence[Mapping[str, Any]], roles: Iterable[str]) -> dict[str, float]:
    """Return the share of its CPU that each role used in holds at one rate, weighted by their seconds.

    `holds` are rows of the table `holds`. A role of which one of them lacks it is left out.
    """
    shares = {role: _weighted_mean(holds, f"{role}_cpu_share") for role in roles}
    return {role: share for role, share in shares.items() if share is not None}


def _weighted_mean(rows: Sequence[Mapping[str, Any]], column: str) -> float | None:
    if any(numbers.absent(row.get(column)) for row in rows):
        return None
    seconds = [float(row["seconds"]) for row in rows]
    return sum(float(row[column]) * length for row, length in zip(rows, seconds, strict=True)) / sum(seconds)


def busy_share(
    starts: Iterable[HeldStart], system: str, guarantee: Guarantee, p99_s: float, message_bytes: int
) -> BusyShare:
    """Return how busy the nodes of a system may be under a guarantee and a response time.

    Of the measured messages the next smaller and the next larger size count, and of all their cases the one whose nodes
    were the least busy. Raises BusyShareError.
    """
    matching_starts = _matching_starts(
        [start for start in starts if start.system == system], guarantee, p99_s
    )
    sizes = _neighbours({start.message_bytes for start in matching_starts}, message_bytes)
    by_case: dict[str, list[HeldStart]] = {}
    for start in matching_starts:
        if start.message_bytes in sizes:
            by_case.setdefault(start.case, []).append(start)
    outside = _outside({start.message_bytes for start in matching_starts}, message_bytes)
    return min(
        (_share(case, outside) for case in by_case.values()), key=lambda share: share.limit.interval.low
    )


def _matching_starts(starts: Sequence[HeldStart], guarantee: Guarantee, p99_s: float) -> list[HeldStart]:
    """Return the starts with the guarantee and a response time that is short enough. Raises BusyShareError."""
    promised = [start for start in starts if start.guarantee.same(guarantee)]
    if not promised:
        measured = "; ".join(dict.fromkeys(start.guarantee.in_nodes for start in starts)) or "nothing"
        raise BusyShareError(f"no case survives {guarantee.in_nodes}. Measured: {measured}")
    matching_starts = [start for start in promised if start.p99_s <= p99_s]
    if not matching_starts:
        shortest_ms = min(start.p99_s for start in promised) * 1_000
        raise BusyShareError(
            f"its rates were held to a p99 of {shortest_ms:g} ms, more than the {p99_s * 1_000:g} ms"
        )
    return matching_starts


def _share(starts: Sequence[HeldStart], outside: str) -> BusyShare:
    """Return what the starts of a case say. Raises BusyShareError."""
    case = starts[0].case
    if failed := sum(start.rate is None for start in starts):
        raise BusyShareError(f"no rate passed on {failed} of {len(starts)} cluster starts of {case}")
    if not all(start.bounded for start in starts):
        raise BusyShareError(
            f"no higher rate failed on some cluster start of {case}, so the load process may have been the limit"
        )
    roles = [role for role in starts[0].cpu_shares if all(role in start.cpu_shares for start in starts)]
    if not roles:
        raise BusyShareError(f"its holds do not say how busy the nodes of {case} were")
    role = max(roles, key=lambda name: statistics.fmean(start.cpu_shares[name] for start in starts))
    shares = [min(1.0, start.cpu_shares[role]) for start in starts]
    interval = level_interval(shares)
    return BusyShare(
        role=role,
        case=case,
        message_bytes=starts[0].message_bytes,
        p99_s=starts[0].p99_s,
        starts=len(starts),
        limit=_limit(shares, interval),
        interval_known=interval is not None,
        outside=outside,
    )


def _limit(shares: Sequence[float], interval: Interval | None) -> CpuLimit:
    if interval is None:
        return CpuLimit(min(shares), Interval(min(shares), min(shares)))
    return CpuLimit(level(shares), Interval(interval.low, min(1.0, interval.high)))


def _neighbours(sizes: set[int], message_bytes: int) -> set[int]:
    smaller = [size for size in sizes if size <= message_bytes]
    larger = [size for size in sizes if size >= message_bytes]
    return {*([max(smaller)] if smaller else []), *([min(larger)] if larger else [])}


def _outside(sizes: set[int], message_bytes: int) -> str:
    """Say that messages lie beyond twice the range of those measured; nothing where they do not."""
    low, high = min(sizes), max(sizes)
    if low / _REACH <= message_bytes <= high * _REACH:
        return ""
    measured = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"bytes a message, of the response time: {message_bytes:,} (measured: {measured})"
