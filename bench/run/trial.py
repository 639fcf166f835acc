"""One trial, from an empty topic to trial.json."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from bench.errors import BenchError
from bench.model import Case, Topic, Trial
from bench.run import record
from bench.run.cluster import LiveCluster, LoadProcesses
from bench.run.folder import RunFolder

_SUBSCRIBE_S = 60.0
_CATCH_UP_S = 5.0
_SILENCE_S = 30.0
_GRACE_S = 90.0
_READ_S = 900.0
_COUNTED_S = 3600.0
"""When a load that ends by a count of messages must be over."""

Live: TypeAlias = Callable[[Mapping[str, Any]], None]
Document: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bench:
    """What every trial on one cluster start uses."""

    cluster: LiveCluster
    load: LoadProcesses
    folder: RunFolder

    def run(self, trial: Trial, live: Live) -> Document:
        """Run one trial and store it, finished or failed; return its trial.json.

        A failure of the cluster or the client is the trial's result, with its reason; only what says nothing
        about this trial (an interrupt, a full disk below the run folder) is raised.
        """
        working = self.folder.open_trial(trial.number)
        document = record.blank(trial)
        try:
            document |= self._measured(trial, working, live)
        except BenchError as error:
            document |= record.failed(str(error))
        self.folder.close_trial(trial.number, document)
        return document

    def warm_up(self, case: Case, seconds: float, working: Path) -> None:
        """Send to a throw-away topic: the first requests of a fresh cluster measure its class loading."""
        topic = Topic("warm-up", case.partitions, case.topic)
        short = replace(case, load=replace(case.load, warm_up_s=0.0, duration_s=seconds, messages=None))
        working.mkdir(parents=True)
        self.cluster.admin.create_topic(topic)
        command = self._producing(short, topic, working) | {"run": "warm-up", "trial": 0, "seed": 0}
        self._call_producers(command, short, lambda _figures: None)
        self.cluster.admin.delete_topic(topic)
        shutil.rmtree(working)

    def _measured(self, trial: Trial, working: Path, live: Live) -> Document:
        topic = Topic(f"trial-{trial.number:04d}", trial.case.partitions, trial.case.topic)
        self.cluster.admin.create_topic(topic)
        try:
            return self._on_topic(trial, topic, working, live)
        finally:
            self.cluster.admin.delete_topic(topic)

    def _on_topic(self, trial: Trial, topic: Topic, working: Path, live: Live) -> Document:
        case, run = trial.case, self.folder.path.name
        effective = self.cluster.admin.effective(topic)
        reading = self._reading(case, topic, working / "receives")
        self._call_consumers("subscribe", reading, _SUBSCRIBE_S)
        command = self._producing(case, topic, working / "sends")
        command |= {"run": run, "trial": trial.number, "seed": zlib.crc32(f"{run}/{trial.number}".encode())}
        sent = self._call_producers(command, case, live)
        tail = {"expected": sent["acked"], "grace_s": _CATCH_UP_S}
        seen = self._call_consumers("finish", tail, _GRACE_S)
        read = self._call_consumers("verify", reading | {"deadline_s": _SILENCE_S}, _READ_S)
        return record.finished(sent, seen, read, effective)

    def _call_producers(self, command: Document, case: Case, live: Live) -> Document:
        longest = case.load.warm_up_s + (case.load.duration_s or _COUNTED_S) + _GRACE_S
        calling = self.load.producing
        return calling.call(
            "produce", command, on_progress=live, deadline_s=longest, alive=self.cluster.alive
        )

    def _call_consumers(self, verb: str, command: Document, deadline_s: float) -> Document:
        return self.load.consuming.call(verb, command, deadline_s=deadline_s, alive=self.cluster.alive)

    def _producing(self, case: Case, topic: Topic, folder: Path) -> Document:
        return self._where(case, topic, folder) | {
            "producer": dict(case.producer),
            "load": asdict(case.load),
        }

    def _reading(self, case: Case, topic: Topic, folder: Path) -> Document:
        return self._where(case, topic, folder) | {
            "settings": dict(case.consumer),
            "consumers": case.load.consumers,
        }

    def _where(self, case: Case, topic: Topic, folder: Path) -> Document:
        return {
            "system": case.system,
            "endpoint": self.cluster.endpoint,
            "topic": asdict(topic),
            "folder": str(folder),
        }
