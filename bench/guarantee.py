"""What an acknowledgement promises: which losses of nodes and of power an acknowledged message survives.

The loss of a node means that machine and disk are gone for good; a killed process leaves the page cache
intact, a power cut does not. Nothing here is measured: it is what the systems' own documentation says, to be
read beside the measured losses. What each system promises is in its folder of bench/systems.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from bench.model import Scalar, Settings, text

Configuration: TypeAlias = Mapping[str, Any]
"""The whole configuration of a case (trial.json, `case.configuration`)."""

LATER = "once another copy is written"
IN_SYNC = "while another replica is in sync"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What an acknowledgement promises.

    `keeper` is the role that keeps messages: of its nodes `nodes` may be lost, whichever they are; None where nothing
    is promised at all. Sentences call them `noun`. With a `condition` the loss of one is survived too, where that
    holds, with `power` a power cut of all nodes. Writes go on with `spare` of them gone, whichever; None where that is
    not known, or depends. `reads_wait`: while one of them is gone, what was acknowledged last may be unreadable without
    being lost. `holders` says who has a message when it is acknowledged, and where; `sentence` says all of it.
    """

    keeper: str
    nodes: int | None = None
    condition: str = ""
    power: bool = False
    spare: int | None = None
    reads_wait: bool = False
    holders: str = ""
    sentence: str = ""
    noun: str = "node"

    @property
    def survives(self) -> str:
        """What an acknowledged message survives, without its `holders`."""
        return "nothing" if self.nodes is None else _survives(self)

    def same(self, other_guarantee: Guarantee) -> bool:
        """Whether the other promises the same of an acknowledged message; whether writes go on is another matter."""
        own_promise, other_promise = (
            (promise.nodes, promise.condition, promise.power) for promise in (self, other_guarantee)
        )
        return self.nodes is not None and own_promise == other_promise

    @property
    def in_nodes(self) -> str:
        """What an acknowledged message survives, every role's nodes called nodes: the same words on all systems."""
        return replace(self, noun="node").survives

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
    "no copy": Guarantee("", nodes=0),
    "survives one node": Guarantee("", nodes=1),
    "survives one node and power loss": Guarantee("", nodes=1, power=True),
}
"""Guarantees by the names that scenarios give them."""


def find_guarantee(words: str) -> Guarantee | None:
    """Return the guarantee that a level's name, or `Guarantee.in_nodes`, stands for; None for other words."""
    lost = [(number, "") for number in range(_MOST_LOST + 1)] + [(0, LATER), (0, IN_SYNC)]
    promises = [
        Guarantee("", nodes=number, condition=condition, power=power)
        for number, condition in lost
        for power in (False, True)
    ]
    by_words = {promise.in_nodes: promise for promise in promises}
    return LEVELS.get(words) or by_words.get(words)


def all_settings(settings: Settings, configuration: Configuration) -> dict[str, str]:
    """Lay disk, topic, client and swept settings over those of the servers; a swept name may carry its owner.

    By their own names, as text.
    """
    servers: Mapping[str, Mapping[str, Scalar]] = configuration.get("cluster_settings", {})
    other_owners = ("disk", "consumer", "topic", "producer")
    owners = [*servers.values(), *(configuration.get(owner, {}) for owner in other_owners), settings]
    owner_names = (*servers, *other_owners)
    return {own_name(name, owner_names): text(value) for owner in owners for name, value in owner.items()}


def own_name(name: str, owners: tuple[str, ...]) -> str:
    """Return a setting's name without its owner, which it carries where two owners share the name."""
    owner, _, name_alone = name.partition(".")
    return name_alone if owner in owners else name


def nothing(keeper: str, why: str, outcome: str = "nothing") -> Guarantee:
    """Return the promise of a configuration that promises nothing."""
    return Guarantee(keeper, sentence=f"{outcome}: {why}")


def state_promise(holders: str, promise: Guarantee, writes: str) -> Guarantee:
    """Put a promise into words."""
    sentence = f"{holders}: survives {promise.survives}"
    return replace(promise, holders=holders, sentence=f"{sentence}; {writes}" if writes else sentence)


def any_nodes(number: int, noun: str) -> str:
    """Name so many nodes, whichever: any two bookies."""
    return f"{any_of(number)} {noun}{'' if number == 1 else 's'}"


def any_of(number: int) -> str:
    """Say that it may be any of them: any two."""
    words = {1: "one", 2: "two", 3: "three"}
    return f"any {words.get(number, number)}"


def _survives(promise: Guarantee) -> str:
    noun = promise.noun
    if promise.nodes == 0 and not promise.condition:
        only = f"the loss of its {noun}"
        return f"a power cut, not {only}" if promise.power else f"neither {only} nor a power cut"
    which = f"a {noun} only {promise.condition}" if promise.condition else any_nodes(promise.nodes or 0, noun)
    power = "and a power cut of all nodes" if promise.power else "not a power cut of all nodes"
    return f"the loss of {which}, {power}"
