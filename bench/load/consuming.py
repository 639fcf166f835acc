"""Live consumers of a running trial, and the full read after it. Native threads, no gevent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from operator import attrgetter
from typing import Any, Self

from bench.errors import LoadError
from bench.load.commands import DrainConsumers, Finish, ReadGroup, Subscribe, Verify
from bench.load.payload import run_hash
from bench.load.recorder import ReceiveRecorder
from bench.model import NANOS
from bench.native_threads import spare_collector
from bench.systems import membership
from bench.systems.protocols import Consumer, ReceivedMessage, System

_RECEIVE_S = 0.1
_HAND_OVER_NS = NANOS // 10
_LOOK_S = 0.05
_DRAIN_LOOK_S = 0.002
"""The next slice waits for that."""
_TELL_NS = NANOS // 2
_STILL_NS = NANOS
"""When nothing has come to a reader for longer, it stood still."""


class LiveConsumer:
    """One consumer in a thread of its own, from the start until `close`."""

    def __init__(
        self, consumer: Consumer, recorder: ReceiveRecorder, number: int, work_s: float = 0.0
    ) -> None:
        """Start receiving; each message takes `work_s`."""
        self._work_s = work_s
        self.recorder = recorder
        self._consumer = consumer
        self._number = number
        self._ending = threading.Event()
        self._flushing = threading.Event()
        self._flushed = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=f"consumer-{number}", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise LoadError if receiving broke off."""
        if self._error is not None:
            raise LoadError(f"Live consumer {self._number} broke off: {self._error}.") from self._error

    def flush(self) -> None:
        """Have all records so far on disk. Raises LoadError when receiving broke off, or one could not be written."""
        self._flushed.clear()
        self._flushing.set()
        while not self._flushed.wait(_RECEIVE_S):
            self.check()

    def end(self) -> None:
        """Receive no more; `close` waits until that is so."""
        self._ending.set()

    def close(self) -> None:
        """Leave, and write what is left. Raises LoadError when a record could not be written."""
        self.end()
        self._thread.join()
        self._consumer.close()
        self.recorder.close()

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                self._receive_for_a_while()
                self.recorder.hand_over()
                if self._flushing.is_set():
                    self._flushing.clear()
                    self.recorder.flush()
                    self._flushed.set()
        except Exception as error:  # noqa: BLE001 - `check` tells it in the main thread
            self._error = error

    def _receive_for_a_while(self) -> None:
        """Receive until nothing came or a tenth of a second is over."""
        until_ns = time.monotonic_ns() + _HAND_OVER_NS
        while time.monotonic_ns() < until_ns and not self._ending.is_set():
            batch = self._consumer.receive(_RECEIVE_S)
            if not batch:
                return
            if self._work_s:
                self._work_on(batch)
            else:
                self.recorder.add(batch)

    def _work_on(self, batch: Sequence[ReceivedMessage]) -> None:
        """Take messages one after the other, each as received when its turn comes; what is not taken comes again."""
        for message in batch:
            if self._ending.is_set():
                return
            self.recorder.add([message._replace(received_ns=time.monotonic_ns())])
            time.sleep(self._work_s)


class Consumers:
    """The live consumers of one trial."""

    def __init__(self, system: System, command: Subscribe) -> None:
        """Connect all of them; messages sent after the return are seen."""
        spare_collector()
        self._consumers: list[LiveConsumer] = []
        for number in range(command.first, command.first + command.consumers):
            recorder = ReceiveRecorder(command.folder, "live", number, run_hash(command.run), command.trial)
            work_s = membership.work_s(command.group)
            self._consumers.append(LiveConsumer(_connect_consumer(system, command), recorder, number, work_s))

    def finish(self, command: Finish, report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """See commands.Finish."""
        waited = _WaitLimit(self._consumers, command, attrgetter("distinct"))
        told_ns = 0
        while waited.goes_on():
            time.sleep(_LOOK_S)
            if time.monotonic_ns() - told_ns > _TELL_NS:
                told_ns = time.monotonic_ns()
                report(self._counts())
        self.close()
        return self._counts()

    def drain(self, command: DrainConsumers) -> dict[str, Any]:
        """See commands.DrainConsumers. Raises LoadError when a consumer broke off."""
        waiting = _WaitLimit(self._consumers, command, attrgetter("received"))
        while waiting.goes_on():
            time.sleep(_DRAIN_LOOK_S)
        if command.to_disk:
            for consumer in self._consumers:
                consumer.flush()
        return {"received": min((consumer.recorder.received for consumer in self._consumers), default=0)}

    def close(self) -> None:
        """Leave. Raises LoadError when a consumer broke off or a record could not be written."""
        for consumer in self._consumers:
            consumer.end()
        for consumer in self._consumers:
            consumer.close()
        for consumer in self._consumers:
            consumer.check()

    def _counts(self) -> dict[str, int]:
        recorders = [consumer.recorder for consumer in self._consumers]
        least = min((recorder.distinct for recorder in recorders), default=0)
        return {"received": sum(recorder.received for recorder in recorders), "distinct": least}


def _connect_consumer(system: System, command: Subscribe) -> Consumer:
    arguments = command.endpoint, command.topic, command.consumer
    if command.group:
        return system.member(*arguments, str(command.group[membership.TYPE]))
    return system.consumer(*arguments)


class _WaitLimit:
    """Whether it is worth waiting on: `count` of a recorder is short of all, and something came within the grace."""

    def __init__(
        self,
        consumers: list[LiveConsumer],
        command: Finish | DrainConsumers,
        count: Callable[[ReceiveRecorder], int],
    ) -> None:
        self._consumers = consumers
        self._count = count
        self._expected = command.expected
        self._grace_ns = round(command.grace_s * NANOS)
        self._start_ns = time.monotonic_ns()

    def goes_on(self) -> bool:
        for consumer in self._consumers:
            consumer.check()
        return any(self._is_behind(consumer.recorder) for consumer in self._consumers)

    def _is_behind(self, recorder: ReceiveRecorder) -> bool:
        quiet_ns = time.monotonic_ns() - max(self._start_ns, recorder.last_ns)
        return self._count(recorder) < self._expected and quiet_ns < self._grace_ns


def verify(system: System, command: Verify, report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """See commands.Verify. Raises LoadError only when a record could not be written."""
    recorder = ReceiveRecorder(command.folder, "verify", 0, run_hash(command.run), command.trial)
    reason = None
    progress = _ReadProgress(command.deadline_s, report)
    try:
        with progress:
            for batch in system.read_all(
                command.endpoint, command.topic, command.consumer, command.deadline_s, command.expected
            ):
                recorder.add(batch)
                progress.add(batch)
    except LoadError as error:
        reason = str(error)
    finally:
        recorder.close()
    return {
        **progress.progress(complete=reason is None),
        "distinct": recorder.distinct,
        "complete": reason is None,
        "reason": reason,
    }


def read_group(system: System, command: ReadGroup) -> dict[str, Any]:
    """See commands.ReadGroup. Raises LoadError, ClusterError."""
    recorder = ReceiveRecorder(command.folder, "group", 0, run_hash(command.run), command.trial)
    consumer = system.consumer(command.endpoint, command.topic, command.consumer, command.group)
    try:
        with closing(consumer):
            came_s = time.monotonic()
            while time.monotonic() - came_s < command.silence_s:
                if batch := consumer.receive(_RECEIVE_S):
                    recorder.add(batch)
                    came_s = time.monotonic()
    finally:
        recorder.close()
    return {"received": recorder.received, "distinct": recorder.distinct}


class _ReadProgress:
    """Reports a read twice a second, also while nothing comes, and keeps its stalls."""

    def __init__(self, deadline_s: float, report: Callable[[dict[str, Any]], None]) -> None:
        self._deadline_s = deadline_s
        self._report = report
        self._received = 0
        self._first_ns: int | None = None
        self._last_ns = time.monotonic_ns()
        self._at: dict[int, ReceivedMessage] = {}
        self._stalls: list[dict[str, Any]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="read-progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def add(self, batch: Sequence[ReceivedMessage]) -> None:
        """Take what was read, in its order."""
        if batch and self._first_ns is None:
            self._first_ns = batch[0].received_ns
        for message in batch:
            if message.received_ns - self._last_ns > _STILL_NS:
                self._stalls.append(self._stall(message.received_ns))
            self._last_ns = message.received_ns
            self._at[message.partition] = message
            self._received += 1

    def progress(self, *, complete: bool = False) -> dict[str, Any]:
        """Return what commands.Verify says of a read; one that is not `complete` may stand still now."""
        now_ns, stalls = time.monotonic_ns(), list(self._stalls)
        if not complete and now_ns - self._last_ns > _STILL_NS:
            stalls.append(self._stall(now_ns))
        return {**self._come(), "first_ns": self._first_ns, "last_ns": self._last_ns, "stalls": stalls}

    def _stall(self, until_ns: int) -> dict[str, Any]:
        return {"from_ns": self._last_ns, "to_ns": until_ns, **self._come()}

    def _come(self) -> dict[str, Any]:
        """Return how much has come, and each partition's last message (partition, ledger, entry)."""
        at = [
            [message.partition, message.ledger, message.entry]
            for _, message in sorted(dict(self._at).items())
        ]
        return {"received": self._received, "at": at}

    def _run(self) -> None:
        """Tell, until nothing has come for twice as long as the read allows: then it hangs, and silence says so."""
        while not self._over.wait(_TELL_NS / NANOS):
            if time.monotonic_ns() - self._last_ns <= self._deadline_s * 2 * NANOS:
                self._report(self.progress())
