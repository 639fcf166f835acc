"""What the memory system can be set to, and which cases it cannot be."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from bench.model import MEMBER, Case, Scalar, Settings
from bench.systems import membership
from bench.systems.memory.client import MAX_MESSAGE_BYTES
from bench.systems.memory.faults import NAMES, SHARES
from bench.systems.memory.members import TYPES


def owner_settings(case: Case) -> Iterator[tuple[str, Settings, Collection[str]]]:
    """Give who has settings in a case, which, and the names that exist."""
    yield from ((role, settings, ()) for role, settings in case.cluster.settings.items())
    yield "topic", case.topic, {"partitions"}
    yield "producer", case.producer, NAMES
    yield "consumer", case.consumer, ()
    yield "processor", case.processor, ()
    yield membership.GROUP, case.consumer_group, membership.NAMES


def check(case: Case) -> list[str]:
    """Say why this case cannot exist, in full sentences."""
    return [*_partitions(case), *_size(case), *_seed(case), *_delay(case), *_shares(case), *_group(case)]


def _group(case: Case) -> Iterator[str]:
    yield from membership.why_wrong(
        case.consumer_group, TYPES, case.load.consumers, case.cluster.spare.get(MEMBER, 0)
    )


def _partitions(case: Case) -> Iterator[str]:
    if case.partitions < 1:
        yield f"A topic has at least one partition, not {case.partitions}."


def _size(case: Case) -> Iterator[str]:
    if case.load.message_bytes > MAX_MESSAGE_BYTES:
        yield f"Messages of {case.load.message_bytes} bytes exceed the memory system's {MAX_MESSAGE_BYTES}."


def _seed(case: Case) -> Iterator[str]:
    seed = case.producer.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool):
        yield f"The memory producer's seed is a whole number, not {seed}."


def _delay(case: Case) -> Iterator[str]:
    delay = case.producer.get("delay_ms", 0.0)
    if not _is_number(delay) or float(delay) < 0:
        yield f"The memory producer's delay_ms is a number from 0 on, not {delay}."


def _shares(case: Case) -> Iterator[str]:
    shares = {fault.value: case.producer.get(fault.value, 0.0) for fault in SHARES}
    wrong = {
        name: share for name, share in shares.items() if not _is_number(share) or not 0 <= float(share) <= 1
    }
    for name, share in wrong.items():
        yield f"The memory producer's {name} is a share from 0 to 1, not {share}."
    if not wrong and sum(map(float, shares.values())) > 1:
        yield "The memory producer's faults hit more than every message: their shares sum up to at most 1."


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
