"""Whether a hold kept its service level, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import scipy

from bench import numbers
from bench.capacity.hold import Hold, Slope
from bench.capacity.service_level import LATE_SHARE, ServiceLevel
from bench.capacity.share_interval import share_interval
from bench.statistics.interval import LEVEL


class HoldVerdict(StrEnum):
    """What a hold says of its rate."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    CLIENT_LIMITED = "limited by client"


_GRAVEST_FIRST = (HoldVerdict.FAILED, HoldVerdict.UNDECIDED, HoldVerdict.PASSED)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a hold. `reason` is a sentence about the limit that decided."""

    verdict: HoldVerdict
    reason: str


def judge(hold: Hold, level: ServiceLevel) -> Judgement:
    """Return whether a hold passed: it does where it keeps every limit of the level.

    It failed where it breaks one limit, and is undecided where the interval of a figure contains its limit. Where it
    did not pass and the client was at its own limit, it says nothing of the servers.
    """
    checks = list(_checks(hold, level))
    worst = min(checks, key=lambda check: _GRAVEST_FIRST.index(check.verdict))
    if worst.verdict is HoldVerdict.PASSED or not hold.limited_by_client:
        return worst
    return Judgement(HoldVerdict.CLIENT_LIMITED, f"The client was at its own limit. {worst.reason}")


def probably_passes(hold: Hold, level: ServiceLevel) -> bool:
    """Whether a hold keeps every limit by its figures themselves, whatever their intervals."""
    late = (sum(counts) <= LATE_SHARE * sum(hold.due) for counts in (hold.late, hold.late_end_to_end))
    counted = (
        _judge_sends(hold, level),
        _judge_failures(hold, level),
        _judge_copies(hold),
        *_judge_late_copies(hold, level),
    )
    limit = level.most_backlog_growth * hold.rate
    return (
        all(late)
        and all(check.verdict is HoldVerdict.PASSED for check in counted)
        and all(slope.messages_per_s <= limit for slope in hold.backlogs.values())
    )


def _checks(hold: Hold, level: ServiceLevel) -> Iterator[Judgement]:
    """Judge one limit after the other; that of the response time comes first, as each hold has it."""
    yield _judge_delays(hold, hold.late, level.response_p99_ns, "had no acknowledgement")
    yield _judge_delays(hold, hold.late_end_to_end, level.end_to_end_p99_ns, "had not reached a consumer")
    yield _judge_sends(hold, level)
    yield _judge_failures(hold, level)
    yield _judge_copies(hold)
    yield from _judge_late_copies(hold, level)
    for name, slope in hold.backlogs.items():
        yield _judge_backlog(hold, level, name, slope)


def _judge_delays(hold: Hold, late: Sequence[int], limit_ns: int, failure: str) -> Judgement:
    interval = share_interval(late, hold.due)
    share = numbers.share(sum(late) / sum(hold.due) if any(hold.due) else None)
    reason = (
        f"{share} of the messages {failure} {numbers.duration(limit_ns)} after they were due (95 % interval "
        f"{numbers.share(interval.low)} to {numbers.share(interval.high)}); the limit is {numbers.share(LATE_SHARE)}."
    )
    return Judgement(_within(interval.low, interval.high, LATE_SHARE), reason)


def _judge_sends(hold: Hold, level: ServiceLevel) -> Judgement:
    due = sum(hold.due)
    least = f"{100 * level.least_sent_share:.4g} %"
    reason = f"{hold.sent:,} of {due:,} due messages were sent; at least {least} must be."
    return Judgement(_verdict(enough=hold.sent >= level.least_sent_share * due), reason)


def _judge_failures(hold: Hold, level: ServiceLevel) -> Judgement:
    reason = f"{numbers.plural(hold.failed, 'message')} failed; the limit is {level.most_failed:,}."
    return Judgement(_verdict(enough=hold.failed <= level.most_failed), reason)


def _judge_copies(hold: Hold) -> Judgement:
    phrase = (
        "were missing: a server did not keep up" if hold.copies_missing else "were not known to be missing"
    )
    return Judgement(_verdict(enough=not hold.copies_missing), f"At its end copies {phrase}.")


def _judge_late_copies(hold: Hold, level: ServiceLevel) -> Iterator[Judgement]:
    """Judge by how much the backlog of the storage node that is furthest behind grew in the hold."""
    share, limit = hold.late_copies_share, level.most_backlog_growth
    if share is None:
        return
    reason = (
        f"A storage node wrote {numbers.share(share)} of its copies more than "
        f"{numbers.duration(level.response_p99_ns)} after the end; the limit is {numbers.share(limit)}."
    )
    yield Judgement(_verdict(enough=share <= limit), reason)


def _judge_backlog(hold: Hold, level: ServiceLevel, name: str, slope: Slope) -> Judgement:
    limit, reach = level.most_backlog_growth * hold.rate, _reach() * slope.standard_error
    low, high = slope.messages_per_s - reach, slope.messages_per_s + reach
    reason = (
        f"The backlog of {name} grew by {slope.messages_per_s:,.3g} messages a second (95 % interval {low:,.3g} to "
        f"{high:,.3g}); the limit is {limit:,.3g}."
    )
    return Judgement(_within(low, high, limit), reason)


def _reach() -> float:
    """Return how many standard errors an interval reaches to either side."""
    return float(scipy.special.ndtri((1 + LEVEL) / 2))


def _verdict(*, enough: bool) -> HoldVerdict:
    return HoldVerdict.PASSED if enough else HoldVerdict.FAILED


def _within(low: float, high: float, limit: float) -> HoldVerdict:
    if high <= limit:
        return HoldVerdict.PASSED
    return HoldVerdict.FAILED if low > limit else HoldVerdict.UNDECIDED
