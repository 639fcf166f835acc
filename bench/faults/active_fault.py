"""A fault in force, and its record in trial.json (docs/event-log.md)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.errors import FaultError
from bench.faults.fault import FaultEffect, Place, Unproven
from bench.faults.step import Step, Strike
from bench.model import NANOS, Node
from bench.records.steps import StrikeRecord


@dataclass(slots=True)
class ActiveFault:
    """One fault of one trial, from the moment it was asked for. `left` are the nodes not yet healed."""

    step: Step
    strike: Strike
    nodes: Sequence[Node]
    record: StrikeRecord
    due_ns: int | None = None
    _left: list[Node] = field(default_factory=list)
    _effect: FaultEffect | None = None

    @classmethod
    def begin(cls, step: Step, strike: Strike, nodes: Sequence[Node], *, after_load: bool) -> ActiveFault:
        """Begin the record, now; `after_load` where an earlier step, or this one, waits for the load's end."""
        record = StrikeRecord(
            name=step.name,
            kind=strike.fault.key,
            when=str(step.when),
            target=list(strike.fault.targets),
            nodes=[node.name for node in nodes],
            away=strike.fault.takes_away,
            asked_ns=time.monotonic_ns(),
            after_load=after_load,
            heal=strike.heal,
            proven=False,
        )
        return cls(step, strike, nodes, record)

    def take_effect(self, place: Place) -> None:
        """Strike, and see it. Raises FaultError."""
        self._effect = self.strike.fault.strike(place, self.nodes)
        self._left = list(self.nodes)
        self.record.effect_ns = time.monotonic_ns()
        self.record.evidence = self._effect.evidence
        if self.strike.heal_after_s is not None:
            self.due_ns = self.record.effect_ns + round(self.strike.heal_after_s * NANOS)

    def node(self, number: int) -> Node:
        """Return the nth of its nodes, from 1. Raises FaultError when there are fewer."""
        if number > len(self.nodes):
            raise FaultError(f"{self.step.name!r} struck {len(self.nodes)} nodes; there is no node {number}.")
        return self.nodes[number - 1]

    @property
    def unhealed_nodes(self) -> Sequence[Node]:
        """Its nodes that are not healed yet."""
        return tuple(self._left)

    @property
    def is_healed(self) -> bool:
        """Whether nothing of it is left."""
        return self.record.healed_ns is not None

    def heal(self, nodes: Sequence[Node] | None = None) -> str:
        """Undo it for these nodes, by default for all that are left; return how that was seen, "" for nothing."""
        if self._effect is None or not self._left:
            return ""
        healing = [node for node in self._left if nodes is None or node in nodes]
        if not healing:
            return ""
        self.record.heal_asked_ns = self.record.heal_asked_ns or time.monotonic_ns()
        left = [node for node in self._left if node not in healing]
        self._left = []  # whatever happens in there, it is not undone twice
        try:
            evidence = self._effect.heal(healing)
        except FaultError as error:
            self.record.heal_seen = " ".join(filter(None, [self.record.heal_seen, str(error)]))
            raise
        self._left = left
        self.record.heal_seen = " ".join(filter(None, [self.record.heal_seen, evidence]))
        if not left:
            self.due_ns = None
            self.record.healed_ns = time.monotonic_ns()
            self.prove()
        return evidence

    def prove(self) -> None:
        """Ask for the evidence that gathered, or why there is none."""
        if self.record.proven or self._effect is None:
            return
        evidence = self._effect.proof()
        if isinstance(evidence, Unproven):
            self.record.unproven = evidence.why
            return
        self.record.proven = True
        self.record.evidence = f"{self.record.evidence} {evidence}".strip()
