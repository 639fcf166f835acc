"""An application between two topics: it reads messages, works on each, writes it on, and settles what it has read.

When it settles decides what becomes of a message that was in its hands when it was killed. Each system says "settle" in
its own way (Kafka commits offsets, Pulsar acknowledges messages); what they share is here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bench import durations
from bench.model import Settings

PROCESSOR = "processor"
"""Its node's role and name; its consumer group or subscription is called so, too."""

SETTLE_BEFORE = "before"
SETTLE_AFTER = "after"
"""It settles a batch before or after it has worked on it."""

_BATCH = 500
_WORK = "2ms"
_BATCH_S = 10.0
"""It is given some seconds to end in order, and ends after a batch."""
_SHARED = ("batch", "work")


@dataclass(frozen=True, slots=True)
class Processing:
    """How it goes about it: when it settles, of how many messages at a time, how long it works on each (seconds)."""

    settle: str
    batch: int
    work_s: float


def names(settle_name: str) -> frozenset[str]:
    """Return the names that a scenario's `processor` may have settings under.

    `settle_name` is the system's for `settle`.
    """
    return frozenset({settle_name, *_SHARED})


def read(settings: Settings, settle_name: str) -> Processing:
    """Read a scenario's `processor`, once `why_wrong` found nothing."""
    work_s = durations.seconds(settings.get("work", _WORK))
    return Processing(str(settings[settle_name]), int(settings.get("batch", _BATCH)), work_s)


def why_wrong(settings: Settings, settle_name: str, ways: Collection[str]) -> Iterator[str]:
    """Say in full sentences what is wrong with a scenario's `processor`; nothing where there is none."""
    if not settings:
        return
    if settings.get(settle_name) not in ways:
        yield f"A processor needs {settle_name}, one of {', '.join(ways)}, not {settings.get(settle_name)}."
    batch = settings.get("batch", _BATCH)
    if not isinstance(batch, int) or isinstance(batch, bool) or batch < 1:
        yield f"The processor's batch is a whole number from 1 on, not {batch}."
    work = settings.get("work", _WORK)
    try:
        work_s = durations.seconds(work)
    except ValueError as error:
        yield f"The processor's work is {work}; {error}."
        return
    if isinstance(batch, int) and batch * work_s > _BATCH_S:
        yield f"A processor's batch takes at most {_BATCH_S:.0f} s: {batch} messages of {work} take longer."
