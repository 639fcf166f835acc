"""Runs the steps beside the load and keeps what they did, with the evidence."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from bench.backends.abilities import AllAbilities
from bench.errors import BenchError, ClusterError, FaultError, LoadError
from bench.faults import targets
from bench.faults.active_fault import ActiveFault
from bench.faults.condition import Condition
from bench.faults.drain import Drain
from bench.faults.fault import Fault, Place
from bench.faults.reading import ReadAll, ReadGroup, Reading
from bench.faults.step import AsGroup, LookUp, Mark, Read, Rebalance, Step, Strike, Undo
from bench.model import NANOS, Node, TopicState
from bench.records.steps import (
    AnyStep,
    GroupRecord,
    LeftOutRecord,
    LookUpRecord,
    MarkRecord,
    MoveRecord,
    UndoRecord,
)
from bench.systems.draining import DrainResult

_TURN_S = 0.005
_ASK_NS = NANOS // 2
_LOOKS = 50
_LAST_STEPS_S = 600.0
"""How long steps may still take once the load is over, beside what they themselves wait for by the clock."""


@dataclass(frozen=True, slots=True)
class Site:
    """What a timeline works on.

    `ask` finds a system's own parts, `state` how the topic is now; `look_up` asks for it as a new client does, through
    nobody of those named.
    """

    backend: object
    nodes: Sequence[Node]
    client: str
    ask: Callable[[str], list[str]]
    state: Callable[[], TopicState]
    look_up: Callable[[Sequence[str]], str]
    rebalance: Callable[[float | None], str]
    drain: Callable[[str, float | None], DrainResult]
    read_all: ReadAll
    read_group: ReadGroup
    seed: int


@dataclass(slots=True)
class Timeline:
    """The steps of one trial. `take_progress` takes the load's figures while it runs, `finish` after it.

    Without steps it does nothing and has no thread: one that looks every 5 ms has no place beside a measurement.
    `records` is what trial.json keeps (docs/event-log.md); whatever happens, `finish` undoes what can be undone.
    """

    steps: Sequence[Step]
    site: Site
    records: list[AnyStep] = field(default_factory=list)
    _acked: int = 0
    _over: bool = False
    _end_ns: int | None = None
    _given_up: bool = False
    _left_out: bool = False
    _after_load: bool = False
    _error: BaseException | None = None
    _active_faults: list[ActiveFault] = field(default_factory=list)
    _reading: Reading | None = None
    _state: TopicState | None = None
    _asked_ns: int = 0
    _thread: threading.Thread | None = None
    _chance: random.Random = field(default_factory=random.Random)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    """Whoever strikes or heals has it: heals that are due by time do not wait for a step that asks somebody."""

    @property
    def acks(self) -> tuple[int, ...]:
        """Numbers of acknowledged sends at which the load should tell at once."""
        return tuple(sorted(step.when.acks for step in self.steps if step.when.acks is not None))

    @property
    def all_healed(self) -> bool:
        """Whether nothing that was struck is left as it is."""
        return all(fault.is_healed for fault in self._active_faults)

    def take_progress(self, figures: Mapping[str, Any]) -> None:
        """Take the load's figures; the first ones start the clock, and with its window the load is over."""
        if not self.steps:
            return
        self._acked = int(figures["acked"])
        self._end_ns = figures["end_ns"]
        if self._end_ns is not None and figures["at_ns"] >= self._end_ns:
            self._over = True
        if self._thread is None:
            self._start()

    def check(self) -> None:
        """Raise what broke the timeline off, if anything did."""
        if self._error is not None:
            raise self._error

    def finish(self) -> None:
        """Let the steps that wait for the load's end come, then undo what is to be undone.

        Raises FaultError for a step that never came, and what a fault raised.
        """
        if not self.steps:
            return
        self._over = True
        if self._thread is None:
            self._start()
        most_s = _LAST_STEPS_S + sum(step.clock_s for step in self.steps)
        self._thread.join(most_s)  # type: ignore[union-attr]
        self._given_up = True
        self._thread.join()  # type: ignore[union-attr]
        self.check()
        done = {record.name for record in self.records}
        first = {step.name: f"{step.name}, 1" if step.always else step.name for step in self.steps}
        missed = [f"{step.name} ({step.when})" for step in self.steps if first[step.name] not in done]
        if missed and not self._left_out:
            raise FaultError(f"These steps were never due: {', '.join(missed)}.")

    def abandon(self) -> None:
        """Stop after a failure: no further step comes, what is in force is undone as well as it can be."""
        self._given_up = self._over = True
        if self._thread is not None:
            self._thread.join()

    def _start(self) -> None:
        self._chance = random.Random(self.site.seed)
        self._thread = threading.Thread(target=self._run, name="timeline", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        over = threading.Event()
        healer = threading.Thread(target=self._heal_in_time, args=(over,), name="healer", daemon=True)
        healer.start()
        try:
            for step in self.steps:
                if step.always:
                    self._repeat(step)
                elif self._await(step.when):
                    self._do(step)
                else:
                    self._leave_out(step)
                    break
            self._await_heals()
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise it to; `check` does
            self._error = self._error or _as_error(error)
        finally:
            over.set()
            healer.join()
            self._heal_all()

    def _heal_in_time(self, over: threading.Event) -> None:
        """Undo each fault when its time has come, whatever a step waits for meanwhile."""
        try:
            while not over.wait(_TURN_S):
                self._heal_due()
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise it to; `check` does
            self._error = self._error or _as_error(error)
            self._given_up = True

    def _leave_out(self, step: Step) -> None:
        """Tell that a step did not come in its time, where it has one."""
        if step.when.within is None or self._given_up:
            return
        sentence = f"It did not come {step.when}; nothing more was done."
        remaining = self.steps[self.steps.index(step) :]
        strikes = [later_step.name for later_step in remaining if later_step.fault is not None]
        self.records.append(
            LeftOutRecord(
                name=step.name,
                when=str(step.when),
                asked_ns=time.monotonic_ns(),
                seen=sentence,
                strikes=strikes,
            )
        )
        self._left_out = True

    def _repeat(self, step: Step) -> None:
        """Do a step again and again, until the load is over."""
        number = 0
        while self._await(step.when, until_over=True) and not self._is_window_over():
            number += 1
            self._do(replace(step, name=f"{step.name}, {number}"))

    def _await(self, condition: Condition, *, until_over: bool = False) -> bool:
        """Wait for a step's condition; False when the timeline was given up first, or it can't come any more."""
        begun_ns = time.monotonic_ns()
        if condition.after is not None and condition.jitter is not None:
            shift_s = self._chance.uniform(-condition.jitter, condition.jitter)
            condition = condition.model_copy(update={"after": condition.after + shift_s})
        while True:
            if (
                self._given_up
                or (self._over and self._lacks_acks(condition))
                or (until_over and self._is_window_over())
            ):
                return False
            if self._due(condition, begun_ns):
                return True
            if condition.within is not None and time.monotonic_ns() - begun_ns > condition.within * NANOS:
                return False
            time.sleep(_TURN_S)

    def _is_window_over(self) -> bool:
        """Whether the load's window is over, by the clock: its figures may tell so half a second later."""
        return self._over or (self._end_ns is not None and time.monotonic_ns() >= self._end_ns)

    def _due(self, condition: Condition, begun_ns: int) -> bool:
        if self._lacks_acks(condition) or (condition.load is not None and not self._over):
            return False
        if condition.after is not None and time.monotonic_ns() - begun_ns < condition.after * NANOS:
            return False
        # a reader is only blocked if nothing came to it since the last step either
        since_s = (time.monotonic_ns() - begun_ns) / NANOS
        if condition.reader is not None and not (
            since_s >= condition.reader.blocked
            and self._reading
            and self._reading.is_blocked(condition.reader.blocked)
        ):
            return False
        return not condition.states or self._is_so(condition)

    def _lacks_acks(self, condition: Condition) -> bool:
        return condition.acks is not None and self._acked < condition.acks

    def _is_so(self, condition: Condition) -> bool:
        """Ask the system, twice a second at most; who does not answer is not available."""
        if time.monotonic_ns() - self._asked_ns >= _ASK_NS:
            self._state = self.site.state()
            self._asked_ns = time.monotonic_ns()
        state = self._state
        if state is None:
            return False
        if condition.topic is not None and not state.available:
            return False
        if condition.copies is not None and state.copies_missing is not (condition.copies == "missing"):
            return False
        return condition.in_sync is None or (
            state.in_sync is not None and condition.in_sync.holds(state.in_sync)
        )

    def _do(self, step: Step) -> None:
        self._state = None
        self._asked_ns = 0
        self._after_load = self._after_load or step.when.load is not None
        match step.action:
            case Strike() as strike:
                self._strike(step, strike)
            case Undo() as undo:
                self._undo(step, undo)
            case Read():
                self._reading = Reading.begin(step.name, str(step.when), self.site.read_all)
                self.records.append(self._reading.record)
            case AsGroup() as group:
                self._come_as_group(step, group)
            case LookUp():
                self._look_up(step)
            case Rebalance(bytes_per_s=bytes_per_s):
                self._rebalance(step, bytes_per_s)
            case Drain(node=node, rate=rate):
                self._drain(step, node, rate)
            case Mark():
                now_ns = time.monotonic_ns()
                self.records.append(
                    MarkRecord(name=step.name, when=str(step.when), asked_ns=now_ns, effect_ns=now_ns)
                )

    def _come_as_group(self, step: Step, action: AsGroup) -> None:
        """Have a consumer group begin, and read all there is; the record tells why where it could not."""
        record = GroupRecord(
            name=step.name,
            kind="consume" if action.reads else "subscribe",
            group=action.group,
            when=str(step.when),
            asked_ns=time.monotonic_ns(),
        )
        self.records.append(record)
        try:
            record.received = self.site.read_group(step.name, action, lambda: self._given_up)["received"]
        except LoadError as error:
            record.reason = str(error)
        else:
            record.effect_ns = time.monotonic_ns()

    def _rebalance(self, step: Step, bytes_per_s: float | None) -> None:
        record = self._add_move_record(step, "rebalance")
        record.evidence = self.site.rebalance(bytes_per_s)
        record.effect_ns = time.monotonic_ns()

    def _drain(self, step: Step, node: str, bytes_per_s: float | None) -> None:
        record = self._add_move_record(step, "drain", node)
        record.effect_ns, record.evidence = self.site.drain(node, bytes_per_s)

    def _add_move_record(self, step: Step, kind: Literal["drain", "rebalance"], *nodes: str) -> MoveRecord:
        record = MoveRecord(
            name=step.name,
            kind=kind,
            nodes=list(nodes),
            when=str(step.when),
            asked_ns=time.monotonic_ns(),
        )
        self.records.append(record)
        return record

    def _look_up(self, step: Step) -> None:
        affected_nodes = self._affected_nodes()
        record = LookUpRecord(name=step.name, when=str(step.when), asked_ns=time.monotonic_ns())
        self.records.append(record)
        try:
            record.evidence = self.site.look_up(affected_nodes)
        except ClusterError as error:
            record.evidence = f"It found nobody: {error}"
        else:
            record.effect_ns = time.monotonic_ns()

    def _strike(self, step: Step, strike: Strike) -> None:
        by_target = self._find_targets(strike.fault)
        nodes = list({node.name: node for name in strike.fault.targets for node in by_target[name]}.values())
        place = Place(
            cast("AllAbilities", self.site.backend),  # what a fault needs of it was asked for before the run
            self.site.nodes,
            self.site.client,
            lambda name: by_target.get(name) or self._find(name),
        )
        with self._turn:
            fault = ActiveFault.begin(step, strike, nodes, after_load=self._after_load)
            self.records.append(fault.record)
            self._active_faults.append(fault)
            fault.take_effect(place)

    def _find_targets(self, fault: Fault) -> dict[str, list[Node]]:
        """Return the nodes of each target of a fault at one moment: all are asked until nothing changed meanwhile.

        Else `bookie 1` may be one of an old ledger and `bookie 2` the same node in the next. Raises FaultError.
        """
        chance = self._chance.getstate()
        for _ in range(_LOOKS):
            self._chance.setstate(chance)
            answers: dict[str, list[str]] = {}
            by_target = {name: self._find(name, answers) for name in dict.fromkeys(fault.names())}
            if len(answers) == 1 or all(self.site.ask(part) == names for part, names in answers.items()):
                return by_target
        raise FaultError(f"Who is {' and '.join(fault.names())} changed faster than it could be asked.")

    def _find(self, target: str, answers: dict[str, list[str]] | None = None) -> list[Node]:
        """Return who is meant now; `node 2 of STEP` is whom that step struck, whatever it does now.

        What the system said goes into `answers`, by part.
        """

        def ask(part: str) -> list[str]:
            names = self.site.ask(part)
            if answers is not None:
                answers[part] = names
            return names

        single = targets.earlier(target)
        if single is None:
            return targets.find(target, self.site.nodes, ask, self._chance, self._affected_nodes())
        number, step = single
        return [self._earlier(step).node(number)]

    def _affected_nodes(self) -> list[str]:
        """Name the nodes on which a fault is in force."""
        return [node.name for fault in self._active_faults for node in fault.unhealed_nodes]

    def _earlier(self, name: str) -> ActiveFault:
        return next(fault for fault in self._active_faults if fault.step.name == name)

    def _undo(self, step: Step, undo: Undo) -> None:
        fault = self._earlier(undo.step)
        nodes = fault.nodes if undo.node is None else [fault.node(undo.node)]
        record = UndoRecord(
            name=step.name,
            of=fault.step.name,
            when=str(step.when),
            nodes=[node.name for node in nodes],
            asked_ns=time.monotonic_ns(),
        )
        self.records.append(record)
        with self._turn:
            record.evidence = fault.heal(nodes)
        record.effect_ns = time.monotonic_ns()

    def _heal_due(self) -> None:
        with self._turn:
            now_ns = time.monotonic_ns()
            for fault in self._active_faults:
                if fault.due_ns is not None and fault.due_ns <= now_ns:
                    fault.heal()

    def _await_heals(self) -> None:
        """Wait for timed heals, for the load's end, at which the others are undone, and for the reader."""
        while not self._given_up and (
            not self._over or any(fault.due_ns is not None for fault in self._active_faults)
        ):
            time.sleep(_TURN_S)
        with self._turn:
            for fault in self._active_faults:
                if fault.strike.heal == "never":
                    fault.prove()
                else:
                    fault.heal()
        while self._reading is not None and not self._given_up and not self._reading.over:
            time.sleep(_TURN_S)

    def _heal_all(self) -> None:
        """Undo what is still in force after a failure; the network and the disks go with the cluster anyway."""
        for fault in self._active_faults:
            if fault.strike.heal != "never":
                with suppress(Exception):  # the first failure is told, and the rest must be undone too
                    fault.heal()
        if self._reading is not None:
            self._reading.give_up()


def _as_error(error: Exception) -> BenchError:
    """Give what a client library raises as this trial's failure."""
    return error if isinstance(error, BenchError) else FaultError(f"A step failed: {error!r}.")
