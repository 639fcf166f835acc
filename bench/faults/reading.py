"""A reader that a step starts: what it received, and where it stalled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.faults.step import AsGroup
from bench.model import NANOS
from bench.records.steps import ReadRecord, StallRecord

Tell = Callable[[Mapping[str, Any]], None]
ReadAll = Callable[[str, Tell, threading.Event], Mapping[str, Any]]
"""Reads a topic from its earliest message to its end, for a step of that name, until the event is set.

It tells progress, and returns what came of it, as commands.Verify says; raises BenchError. It ends by itself when
nothing has come for long.
"""
ReadGroup = Callable[[str, AsGroup, Callable[[], bool]], Mapping[str, Any]]
"""Has a consumer group come for a topic, for a step of that name, until it is told to give up; see commands.ReadGroup.

Raises LoadError.
"""


@dataclass(slots=True)
class Reading:
    """One reader, in a thread of its own, and its record."""

    record: ReadRecord
    read_all: ReadAll
    _last_ns: int | None = None
    _over: threading.Event = field(default_factory=threading.Event)
    _given_up: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @classmethod
    def begin(cls, name: str, condition: str, read_all: ReadAll) -> Reading:
        """Start reading."""
        reading = cls(ReadRecord(name=name, when=condition, asked_ns=time.monotonic_ns()), read_all)
        reading._thread = threading.Thread(target=reading._run, name=f"reader {name}", daemon=True)
        reading._thread.start()
        return reading

    def is_blocked(self, seconds: float) -> bool:
        """Tell whether nothing has come for so long since it was connected, or the reader has ended."""
        if self._over.is_set():
            return True
        return self._last_ns is not None and time.monotonic_ns() - self._last_ns >= seconds * NANOS

    @property
    def over(self) -> bool:
        """Whether it has ended: it does so at the topic's end, and when nothing has come for long."""
        return self._over.is_set()

    def give_up(self) -> None:
        """End it, wherever it is."""
        self._given_up.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            done = self.read_all(self.record.name, self._take_progress, self._given_up)
            self._take_progress(done)
            self.record.complete, self.record.reason = done["complete"], done["reason"]
        except Exception as error:  # noqa: BLE001 - the record tells, whatever it was
            self.record.reason = str(error) or repr(error)
        finally:
            self._over.set()

    def _take_progress(self, progress: Mapping[str, Any]) -> None:
        """Take the reader's progress (commands.Verify); it reports also while nothing comes."""
        self._last_ns = progress["last_ns"]
        self.record.received = progress["received"]
        self.record.at = [(partition, ledger, entry) for partition, ledger, entry in progress["at"]]
        self.record.stalls = [StallRecord.model_validate(stall) for stall in progress["stalls"]]
        self.record.effect_ns = progress["first_ns"]
