"""What an acknowledgement of Kafka's promises, by its documentation."""

from __future__ import annotations

from collections.abc import Mapping

from bench.guarantee import IN_SYNC, LATER, Guarantee, any_of, nothing, state_promise
from bench.systems.kafka.nodes import BROKER

_WHILE_IN_SYNC = "writes go on while a replica in sync is left"


def acks(case_settings: Mapping[str, str]) -> str:
    """Return whose acknowledgement a producer waits for; with "0" nobody's."""
    return case_settings.get("acks", case_settings.get("request.required.acks", "all"))


def replicas(brokers: int) -> int:
    """Return how many replicas a topic gets that does not say: one a broker, at most 3."""
    return min(3, brokers)


def promise(case_settings: Mapping[str, str], replicas_by_default: int | None) -> Guarantee | None:
    """State what an acknowledgement promises; None where nobody knows how many replicas there are."""
    if acks(case_settings) == "0":
        return nothing(
            BROKER, "the client does not wait for the broker, so any failure may lose messages unnoticed"
        )
    number = case_settings.get("replicas", replicas_by_default)
    if number is None:
        return None
    copies = int(number)
    least = int(case_settings.get("min.insync.replicas", "1"))
    flush = case_settings.get("flush.messages", case_settings.get("log.flush.interval.messages"))
    on_disk = flush == "1"
    if acks(case_settings) != "1" and least > copies:
        refused = f"min.insync.replicas={least} is more than replicas={copies}, so every write is refused"
        return nothing(BROKER, refused, "nothing is acknowledged")
    if copies == 1:
        place = "on the leader's disk" if on_disk else "in the leader's page cache"
        only = Guarantee(BROKER, nodes=0, power=on_disk, spare=0)
        return state_promise(f"the only copy, {place}", only, "writes stop with that node")
    if acks(case_settings) == "1":
        return _of_leader(on_disk=on_disk)
    return _of_replicas_in_sync(copies, least, on_disk=on_disk)


def _of_leader(*, on_disk: bool) -> Guarantee:
    """State the promise of a leader that asks nobody; min.insync.replicas does not apply to it."""
    place = "on the leader's disk" if on_disk else "in the leader's page cache"
    power = "a power cut alone does not lose it" if on_disk else "and so is what a power cut finds there"
    holders = f"one copy, {place}, and the other replicas follow later"
    sentence = (
        f"{holders}: what the leader has not handed on when it fails is lost, {power}; {_WHILE_IN_SYNC}"
    )
    return Guarantee(BROKER, nodes=0, condition=LATER, power=on_disk, holders=holders, sentence=sentence)


def _of_replicas_in_sync(copies: int, least: int, *, on_disk: bool) -> Guarantee:
    """State the promise of acks=all: the whole in-sync set, which may have shrunk to min.insync.replicas.

    With fewer replicas in sync than that, a leader serves nothing above the high watermark that it knew of.
    """
    place = "on disk" if on_disk else "in page cache"
    if least == 1:
        holders = f"all in-sync replicas, {place}, but these may be the leader alone (min.insync.replicas=1)"
        shrunk = Guarantee(BROKER, nodes=0, condition=IN_SYNC, power=on_disk)
        return state_promise(holders, shrunk, _WHILE_IN_SYNC)
    spare = copies - least
    stops = "" if spare else ", and what was acknowledged last may be unreadable until it is back"
    return state_promise(
        f"all in-sync replicas, at least {least} of {copies}, {place}",
        Guarantee(BROKER, nodes=least - 1, power=on_disk, spare=spare, reads_wait=not spare),
        f"writes {'go on' if spare else 'stop'} with {any_of(spare or 1)} of its nodes gone{stops}",
    )
