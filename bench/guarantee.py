"""What each configuration promises for an acknowledged message, and whether writes go on without a node.

The loss of a node means that machine and disk are gone for good; a killed process leaves the page cache
intact, a power cut does not. Nothing here is measured: it is what the systems' own documentation says, to be
read beside the measured losses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bench.model import Scalar, Settings, text

_Configuration = Mapping[str, Any]

_LATER = "once another copy is written"
_IN_SYNC = "while another replica is in sync"
_WHILE_IN_SYNC = "writes go on while a replica in sync is left"
_KEEPERS = {"broker": "node", "bookie": "bookie"}
"""Roles that keep messages, by what a promise calls them."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What an acknowledgement promises.

    `keeper` is the role that keeps messages: of its nodes `nodes` may be lost, whichever they are; None where nothing
    is promised at all. With a `condition` the loss of one is survived too, where that holds, with `power` a power cut
    of all nodes. Writes go on with `spare` of them gone, whichever; None where that is not known, or depends.
    `reads_wait`: while one of them is gone, what was acknowledged last may be unreadable without being lost.
    `how` says who has a message when it is acknowledged, and where; `sentence` says all of it.
    """

    keeper: str
    nodes: int | None = None
    condition: str = ""
    power: bool = False
    spare: int | None = None
    reads_wait: bool = False
    how: str = ""
    sentence: str = ""

    @property
    def survives(self) -> str:
        """What an acknowledged message survives, without how."""
        return "nothing" if self.nodes is None else _survives(self)

    def same(self, other: Guarantee) -> bool:
        """Whether the other promises the same of an acknowledged message; whether writes go on is another matter."""
        ours, theirs = ((one.nodes, one.condition, one.power) for one in (self, other))
        return self.nodes is not None and ours == theirs

    @property
    def in_nodes(self) -> str:
        """What an acknowledged message survives, a bookie called a node as well: the same words on both systems."""
        return self.survives.replace("bookie", "node")

    @property
    def fewest_copies(self) -> int:
        """How many copies it takes at least."""
        return (self.nodes or 0) + (2 if self.condition else 1)

    @property
    def one_copy(self) -> bool:
        """Whether the loss of one node is not survived at all: with a second copy more would be promised."""
        return self.nodes == 0 and not self.condition


_MOST_LOST = 3
LEVELS: Mapping[str, Guarantee] = {
    "no copy": Guarantee("broker", nodes=0),
    "survives one node": Guarantee("broker", nodes=1),
    "survives one node and power loss": Guarantee("broker", nodes=1, power=True),
}
"""Guarantees by the names that scenarios give them."""


def named(words: str) -> Guarantee | None:
    """Return the guarantee that a level's name, or `Guarantee.in_nodes`, stands for; None for other words."""
    lost = [(number, "") for number in range(_MOST_LOST + 1)] + [(0, _LATER), (0, _IN_SYNC)]
    promises = [
        Guarantee("broker", nodes=number, condition=condition, power=power)
        for number, condition in lost
        for power in (False, True)
    ]
    by_words = {one.in_nodes: one for one in promises}
    return LEVELS.get(words) or by_words.get(words)


def guarantee(system: str, settings: Settings, configuration: _Configuration) -> Guarantee | None:
    """State what an ack means under this configuration; None where the suite knows of no promise.

    `settings` are the swept ones, `configuration` the whole (trial.json, `case`); the swept ones go first. Whether
    Pulsar's writes go on is known only where the configuration has the number of bookies (`nodes`); how many copies
    Kafka makes only where it has replicas or the number of brokers.
    """
    if system == "kafka":
        brokers = configuration.get("nodes", {}).get("broker")
        unsaid = None if brokers is None else kafka_replicas(brokers)
        return _kafka(chosen(settings, configuration), unsaid)
    if system == "pulsar":
        return _pulsar(chosen(settings, configuration), configuration.get("nodes", {}).get("bookie"))
    return None


def chosen(settings: Settings, configuration: _Configuration) -> dict[str, str]:
    """Lay disk, topic, client and swept settings over those of the servers; a swept name may carry its owner.

    By their own names, as text.
    """
    servers: Mapping[str, Mapping[str, Scalar]] = configuration.get("cluster_settings", {})
    others = ("disk", "consumer", "topic", "producer")
    owners = [*servers.values(), *(configuration.get(owner, {}) for owner in others), settings]
    known = (*servers, *others)
    return {own_name(name, known): text(value) for owner in owners for name, value in owner.items()}


def own_name(name: str, owners: tuple[str, ...]) -> str:
    """Return a setting's name without its owner, which it carries where two owners share the name."""
    owner, _, rest = name.partition(".")
    return rest if owner in owners else name


def kafka_acks(chosen: Mapping[str, str]) -> str:
    """Return whose acknowledgement a Kafka producer waits for; with "0" nobody's."""
    return chosen.get("acks", chosen.get("request.required.acks", "all"))


def kafka_replicas(brokers: int) -> int:
    """Return how many replicas a Kafka topic gets that does not say: one a broker, at most 3."""
    return min(3, brokers)


def copies(system: str, told: Mapping[str, str], brokers: int) -> int:
    """Return how many copies of a message are written, by what `chosen` tells; 1 where it does not."""
    if system == "kafka":
        return int(told.get("replicas", kafka_replicas(brokers)))
    _, write, _ = told.get("quorums", "1-1-1").split("-")
    return int(write)


def copies_of(system: str, settings: Settings, configuration: _Configuration) -> int:
    """Return how many copies of a message a case makes, by its part of a trial.json."""
    brokers = configuration.get("nodes", {}).get("broker", 0)
    return copies(system, chosen(settings, configuration), brokers)


def _kafka(chosen: Mapping[str, str], unsaid: int | None) -> Guarantee | None:
    acks = kafka_acks(chosen)
    if acks == "0":
        return _nothing("the client does not wait for the broker, so any failure may lose messages unnoticed")
    if (stated := chosen.get("replicas", unsaid)) is None:
        return None
    replicas = int(stated)
    least = int(chosen.get("min.insync.replicas", "1"))
    flush = chosen.get("flush.messages", chosen.get("log.flush.interval.messages"))
    on_disk = flush == "1"
    if acks != "1" and least > replicas:
        refused = f"min.insync.replicas={least} is more than replicas={replicas}, so every write is refused"
        return _nothing(refused, "nothing is acknowledged")
    if replicas == 1:
        place = "on the leader's disk" if on_disk else "in the leader's page cache"
        alone = Guarantee("broker", nodes=0, power=on_disk, spare=0)
        return _stated(f"the only copy, {place}", alone, "writes stop with that node")
    if acks == "1":
        return _kafka_leader(on_disk=on_disk)
    return _kafka_in_sync(replicas, least, on_disk=on_disk)


def _nothing(why: str, what: str = "nothing") -> Guarantee:
    return Guarantee("broker", sentence=f"{what}: {why}")


def _kafka_leader(*, on_disk: bool) -> Guarantee:
    """State the promise of a leader that asks nobody; min.insync.replicas does not apply to it."""
    place = "on the leader's disk" if on_disk else "in the leader's page cache"
    power = "a power cut alone does not lose it" if on_disk else "and so is what a power cut finds there"
    how = f"one copy, {place}, and the other replicas follow later"
    sentence = f"{how}: what the leader has not handed on when it fails is lost, {power}; {_WHILE_IN_SYNC}"
    return Guarantee("broker", nodes=0, condition=_LATER, power=on_disk, how=how, sentence=sentence)


def _kafka_in_sync(replicas: int, least: int, *, on_disk: bool) -> Guarantee:
    """State the promise of acks=all: the whole in-sync set, which may have shrunk to min.insync.replicas.

    With fewer replicas in sync than that, a leader serves nothing above the high watermark that it knew of.
    """
    place = "on disk" if on_disk else "in page cache"
    if least == 1:
        how = f"all in-sync replicas, {place}, but these may be the leader alone (min.insync.replicas=1)"
        shrunk = Guarantee("broker", nodes=0, condition=_IN_SYNC, power=on_disk)
        return _stated(how, shrunk, _WHILE_IN_SYNC)
    spare = replicas - least
    stops = "" if spare else ", and what was acknowledged last may be unreadable until it is back"
    return _stated(
        f"all in-sync replicas, at least {least} of {replicas}, {place}",
        Guarantee("broker", nodes=least - 1, power=on_disk, spare=spare, reads_wait=not spare),
        f"writes {'go on' if spare else 'stop'} with {_any(spare or 1)} of its nodes gone{stops}",
    )


def _pulsar(chosen: Mapping[str, str], bookies: int | None) -> Guarantee | None:
    """State the promise of Qa bookies; for one that fails another must take its place, or no ledger has E of them."""
    quorums = chosen.get("quorums")
    if quorums is None:
        return None
    ensemble, write, ack = (int(part) for part in quorums.split("-"))
    journal = chosen.get("journalWriteData", "true") == "true"
    on_disk = journal and chosen.get("journalSyncData", "true") == "true"
    place = "in the journal, on disk (fdatasync)" if on_disk else "in the journal, in page cache"
    forgetting = "a bookie that comes back from a power cut has forgotten its last entries"
    forgets = forgetting if ack > 1 and not on_disk else ""
    spare = None if bookies is None else max(0, bookies - ensemble)
    writes = "" if spare is None else f"writes {_go_on(spare)}"
    return _stated(
        f"{_bookies(write, ack)} {place if journal else 'in memory only'}",
        Guarantee(
            "bookie",
            nodes=ack - 1,
            condition=_LATER if write > ack == 1 else "",
            power=on_disk,
            spare=spare,
        ),
        "; ".join(filter(None, (forgets, writes))),
    )


def _go_on(spare: int) -> str:
    if spare:
        return f"go on with {_count(spare, 'bookie')} gone"
    return "stop with any one bookie gone, as no other can take its place"


def _bookies(write: int, ack: int) -> str:
    if write == 1:
        return "one bookie has the only copy"
    if ack == write:
        return f"all {write} bookies of the write quorum have it"
    return f"{ack} of {write} bookies {'has' if ack == 1 else 'have'} it"


def _stated(how: str, promise: Guarantee, writes: str) -> Guarantee:
    """Put a promise into words."""
    sentence = f"{how}: survives {promise.survives}"
    return replace(promise, how=how, sentence=f"{sentence}; {writes}" if writes else sentence)


def _survives(promise: Guarantee) -> str:
    noun = _KEEPERS[promise.keeper]
    if promise.nodes == 0 and not promise.condition:
        only = f"the loss of its {noun}"
        return f"a power cut, not {only}" if promise.power else f"neither {only} nor a power cut"
    which = f"a {noun} only {promise.condition}" if promise.condition else _count(promise.nodes or 0, noun)
    power = "and a power cut of all nodes" if promise.power else "not a power cut of all nodes"
    return f"the loss of {which}, {power}"


def _count(number: int, noun: str) -> str:
    return f"{_any(number)} {noun}{'' if number == 1 else 's'}"


def _any(number: int) -> str:
    words = {1: "one", 2: "two", 3: "three"}
    return f"any {words.get(number, number)}"
