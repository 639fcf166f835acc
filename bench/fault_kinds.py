"""What records, analysis and reports have to know of each kind of fault; how it strikes is in bench/faults/kinds/."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One kind. `title` says on the page of a family what happens; `event` names it in an answer's sentences.

    `only_slows`: it makes something slower and takes nothing away, so where it stands over the whole window nothing is
    broken in it, and its end ends no other fault's gap. `cuts_power` and `cuts_off` are what a guarantee speaks of
    beside nodes whose processes ended.
    """

    title: str
    event: str = "fault"
    only_slows: bool = False
    cuts_power: bool = False
    cuts_off: bool = False


FAULT_KINDS = {
    "kill": FaultKind("A process is killed", "kill"),
    "stop": FaultKind("A process is stopped", "stop"),
    "start": FaultKind("A node joins", "start of a node"),
    "pause": FaultKind("A process stands still", "freeze"),
    "power-loss": FaultKind("The power fails", "power cut", cuts_power=True),
    "isolate": FaultKind("The network cuts nodes off", "isolation", cuts_off=True),
    "unstable-network": FaultKind("The network loses packets"),
    "full-disk": FaultKind("A disk is full", "disk failure"),
    "slow-disk": FaultKind("A disk is slow", only_slows=True),
    "slow-network": FaultKind("The network is slow", only_slows=True),
}
"""By the word of a scenario's step, in the order of a family's page."""


def fault_kind(word: str) -> FaultKind:
    """Return what is known of a kind; of one that only another version of the suite has, nothing."""
    return FAULT_KINDS.get(word, FaultKind(word))
