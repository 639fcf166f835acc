"""What every kind of fault has: a key in the scenario, what it needs, how it strikes and how it heals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from bench.backends.abilities import AllAbilities
from bench.backends.disks import why_no_disk
from bench.errors import BenchError, FaultError
from bench.model import Node
from bench.scenario.values import StrictModel

_Evidence = TypeVar("_Evidence")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fault strikes: a backend's abilities, the cluster's nodes, and who plays which part now.

    `find` turns a target's name into nodes, asking the live cluster. `client` is the clients' address.
    """

    backend: AllAbilities
    nodes: Sequence[Node]
    client: str
    find: Callable[[str], list[Node]]


@dataclass(frozen=True, slots=True)
class Unproven:
    """Nothing shows that a fault was there; `why` says of which node and what was seen instead, in full sentences."""

    why: str


@dataclass(slots=True)
class FaultEffect:
    """A fault that has taken effect. `evidence` is a full sentence.

    `proof` is asked once the fault is over, for evidence that only gathers meanwhile. `heal` undoes it for the nodes
    given (all of them, unless the kind's `heals_singly`) and returns how that was seen.
    """

    evidence: str
    heal: Callable[[Sequence[Node]], str]
    proof: Callable[[], str | Unproven] = field(default=lambda: "")


def strike_each(
    nodes: Sequence[Node], strike: Callable[[Node], _Evidence], undo: Callable[[Node], object]
) -> dict[str, _Evidence]:
    """Strike nodes one after the other; return what each gave, by name. When one raises, those before it are undone."""
    evidence: dict[str, _Evidence] = {}
    for number, node in enumerate(nodes):
        try:
            evidence[node.name] = strike(node)
        except Exception:
            for node_struck in nodes[:number]:
                with suppress(BenchError):  # the first failure is told
                    undo(node_struck)
            raise
    return evidence


def heal_each(nodes: Sequence[Node], heal: Callable[[Node], _Evidence]) -> dict[str, _Evidence]:
    """Heal nodes one after the other, those behind one that raises too; return what each gave, by name.

    Raises the failure, or FaultError with all of them.
    """
    evidence: dict[str, _Evidence] = {}
    failed: list[BenchError] = []
    for node in nodes:
        try:
            evidence[node.name] = heal(node)
        except BenchError as error:
            failed.append(error)
    raise_any(failed)
    return evidence


def raise_any(failed: Sequence[BenchError]) -> None:
    """Raise what failed, as it is or, where there is more than one, together as FaultError."""
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise FaultError(" ".join(map(str, failed))) from failed[0]


def name_list(names: str | list[str]) -> list[str]:
    """Return one name or several as a list: a scenario may give either."""
    return [names] if isinstance(names, str) else names


class Fault(StrictModel, ABC):
    """One fault as a scenario asks for it. `target` names whom it strikes; see targets.py."""

    key: ClassVar[str]
    needs: ClassVar[tuple[type, ...]]
    needs_disks: ClassVar[bool] = False
    needs_fsync_gates: ClassVar[bool] = False
    must_heal: ClassVar[bool] = False
    """Whether it lives in something that must be ended: `heal: never` is refused."""
    heals_singly: ClassVar[bool] = False
    """Whether it can be undone for one of its nodes and go on for the others."""
    takes_away: ClassVar[bool] = False
    """Whether what a node keeps cannot be had until it is healed."""

    target: str | list[str]
    """Whom it strikes: nodes, roles or who plays a part then, one or several (docs/steps.md)."""

    @property
    def targets(self) -> list[str]:
        """Return the names of whom it strikes."""
        return name_list(self.target)

    def names(self) -> list[str]:
        """Return every name of a target that stands anywhere in this fault."""
        return self.targets

    @classmethod
    def why_not(cls) -> str | None:
        """Return why this machine cannot do it, None where it can. It is tried, not only looked up."""
        return why_no_disk() if cls.needs_disks else None

    @abstractmethod
    def strike(self, place: Place, nodes: Sequence[Node]) -> FaultEffect:
        """Strike these nodes; return once the effect has been seen. What raises leaves none of them struck."""
