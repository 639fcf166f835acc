"""What each configuration promises for an acknowledged message, in one sentence.

The loss of a node means that machine and disk are gone for good; a killed process leaves the page cache
intact, a power cut does not. Nothing here is measured: it is what the systems' own documentation says, to be
read beside the measured losses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bench.model import Scalar, Settings, text

_Configuration = Mapping[str, Any]

_REFUSED = (
    "nothing is acknowledged: min.insync.replicas={least} is more than replicas={replicas}, "
    "so every write is refused"
)


def guarantee(system: str, settings: Settings, configuration: _Configuration) -> str | None:
    """State what an ack means under this configuration; None where the suite knows of no promise.

    `settings` are the swept ones, `configuration` the whole (trial.json, `case`); the swept ones go first.
    """
    promises: dict[str, Callable[[Mapping[str, str]], str | None]] = {"kafka": _kafka, "pulsar": _pulsar}
    if system not in promises:
        return None
    return promises[system](chosen(settings, configuration))


def chosen(settings: Settings, configuration: _Configuration) -> dict[str, str]:
    """Lay disk, topic, client and swept settings over those of the servers; a swept name may carry its owner.

    By their own names, as text.
    """
    servers: Mapping[str, Mapping[str, Scalar]] = configuration.get("cluster_settings", {})
    others = ("disk", "consumer", "topic", "producer")
    owners = [*servers.values(), *(configuration.get(owner, {}) for owner in others), settings]
    known = (*servers, *others)
    return {_own(name, known): text(value) for owner in owners for name, value in owner.items()}


def _own(name: str, owners: tuple[str, ...]) -> str:
    owner, _, rest = name.partition(".")
    return rest if owner in owners else name


def kafka_acks(chosen: Mapping[str, str]) -> str:
    """Return whose acknowledgement a Kafka producer waits for; with "0" nobody's."""
    return chosen.get("acks", chosen.get("request.required.acks", "all"))


def _kafka(chosen: Mapping[str, str]) -> str:
    acks = kafka_acks(chosen)
    replicas = int(chosen.get("replicas", chosen.get("default.replication.factor", "1")))
    least = int(chosen.get("min.insync.replicas", "1"))
    flush = chosen.get("flush.messages", chosen.get("log.flush.interval.messages"))
    on_disk = flush == "1"
    if acks == "0":
        return "nothing: the client does not wait for the broker, so any failure may lose messages unnoticed"
    if acks == "1":
        return _kafka_leader(replicas, on_disk=on_disk)
    if least > replicas:
        return _REFUSED.format(least=least, replicas=replicas)
    return _kafka_in_sync(replicas, least, on_disk=on_disk)


def _kafka_leader(replicas: int, *, on_disk: bool) -> str:
    """State the promise of a leader that asks nobody; min.insync.replicas does not apply to it."""
    if replicas == 1:
        return _kafka_only_copy(on_disk=on_disk)
    place = "on the leader's disk" if on_disk else "in the leader's page cache"
    power = "a power cut alone does not lose it" if on_disk else "and so is what a power cut finds there"
    return (
        f"one copy, {place}, and the other replicas follow later: what the leader has not handed on "
        f"when it fails is lost, {power}"
    )


def _kafka_only_copy(*, on_disk: bool) -> str:
    if on_disk:
        return "the only copy, on the leader's disk: survives a power cut, not the loss of that node"
    return "the only copy, in the leader's page cache: survives neither the loss of that node nor a power cut"


def _kafka_in_sync(replicas: int, least: int, *, on_disk: bool) -> str:
    """State the promise of acks=all: the whole in-sync set, which may have shrunk to min.insync.replicas."""
    if replicas == 1:
        return _kafka_only_copy(on_disk=on_disk)
    place = "on disk" if on_disk else "in page cache"
    power = "and a power cut of all nodes" if on_disk else "not a power cut of all nodes"
    if least > 1:
        return (
            f"all in-sync replicas, at least {least} of {replicas}, {place}: survives the loss of "
            f"{_count(least - 1, 'node')}, {power}"
        )
    return (
        f"all in-sync replicas, {place}, but these may be the leader alone (min.insync.replicas=1): "
        f"survives the loss of a node only while another replica is in sync, {power}"
    )


def _pulsar(chosen: Mapping[str, str]) -> str | None:
    quorums = chosen.get("quorums")
    if quorums is None:
        return None
    write, ack = (int(part) for part in quorums.split("-")[1:])
    journal = chosen.get("journalWriteData", "true") == "true"
    on_disk = journal and chosen.get("journalSyncData", "true") == "true"
    place = "in the journal, on disk (fdatasync)" if on_disk else "in the journal, in page cache"
    return f"{_bookies(write, ack)} {place if journal else 'in memory only'}: {_survives(write, ack, on_disk=on_disk)}"


def _bookies(write: int, ack: int) -> str:
    if write == 1:
        return "one bookie has the only copy"
    if ack == write:
        return f"all {write} bookies of the write quorum have it"
    return f"{ack} of {write} bookies {'has' if ack == 1 else 'have'} it"


def _survives(write: int, ack: int, *, on_disk: bool) -> str:
    power = "and a power cut of all nodes" if on_disk else "not a power cut of all nodes"
    if ack > 1:
        return f"survives the loss of {_count(ack - 1, 'bookie')}, {power}"
    if write > 1:
        return f"survives the loss of a bookie only once another copy is written, {power}"
    if on_disk:
        return "survives a power cut, not the loss of that bookie"
    return "survives neither the loss of that bookie nor a power cut"


def _count(number: int, noun: str) -> str:
    words = {1: "any one", 2: "any two", 3: "any three"}
    return f"{words.get(number, f'any {number}')} {noun}{'' if number == 1 else 's'}"
