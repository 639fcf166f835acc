"""What a made-up run looks like: its systems, cases and typical rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]

SWEPT = {
    "kafka": ("replicas", "min.insync.replicas", "acks"),
    "pulsar": ("quorums", "journalSyncData"),
    "memory": ("loss",),
}
WARM_UP_S, WINDOW_S = 2, 6
LEAD_IN_S, SLICE_S = 0.1, 0.5
FSYNC_NS = {"as is": 60_000, "1ms": 1_150_000, "10ms": 10_200_000}
"""What an emulated disk was measured to cost."""


@dataclass(frozen=True)
class Sketch:
    """What the made-up run looks like; `failed`, `lost` (messages by trial), `incomplete`, `slowed`, `drifting`
    and `crowded` name trials. With `cycles` each trial is measured in so many slices, without it in one window."""

    systems: tuple[str, ...] = ("kafka", "pulsar")
    rounds: int = 5
    failed: tuple[int, ...] = ()
    lost: Mapping[int, int] = field(default_factory=dict)
    incomplete: tuple[int, ...] = ()
    slowed: tuple[int, ...] = ()
    drifting: tuple[int, ...] = ()
    crowded: tuple[int, ...] = ()
    e2e: bool = True
    open_loop: bool = False
    cycles: int = 0
    disks: tuple[str, ...] = ()
    messages: int = 4000
    seed: int = 1

    def swept(self, system: str) -> tuple[str, ...]:
        """The names of a system's settings."""
        return (*SWEPT[system], *(["emulated_fsync"] if self.disks else []))

    def baseline(self, system: str) -> str:
        """The full name of a system's baseline case: its first."""
        return case_name(system, self.cases(system)[0])

    def cases(self, system: str) -> list[dict[str, str]]:
        """The settings of each case, in the scenario's order."""
        if not self.disks:
            return _cases(system)
        return [settings | {"emulated_fsync": disk} for settings, disk in product(_cases(system), self.disks)]


def _cases(system: str) -> list[dict[str, str]]:
    points: list[tuple[str, ...]]
    if system == "kafka":
        grid = product((1, 2, 4), (1, 2, 4), ("all", "1", "0"))
        points = [(str(r), str(m), a) for r, m, a in grid if m <= r]
    elif system == "pulsar":
        quorums = ("1-1-1", "2-2-1", "2-2-2", "3-2-2", "3-3-2", "3-3-3")
        points = [(q, sync) for q in quorums for sync in ("true", "false")]
    else:
        points = [("0",), ("0.001",)]
    return [dict(zip(SWEPT[system], point, strict=True)) for point in points]


def typical_rate(system: str, settings: Mapping[str, str]) -> float:
    """Messages per second around which a case's trials lie."""
    rate = _rate(system, settings)
    waits = settings.get("journalSyncData") == "true"
    return 1 / (1 / rate + FSYNC_NS.get(settings.get("emulated_fsync", ""), 0) / 1e9) if waits else rate


def _rate(system: str, settings: Mapping[str, str]) -> float:
    if system == "kafka":
        copies, needed = int(settings["replicas"]), int(settings["min.insync.replicas"])
        base = {"0": 34_000.0, "1": 11_000.0, "all": 9_500.0 / needed**0.3}[settings["acks"]]
        return float(base / copies**0.45)
    if system == "pulsar":
        ensemble, _, acks = (int(part) for part in settings["quorums"].split("-"))
        base = 1450.0 if settings["journalSyncData"] == "false" else 620.0
        return float(base / (ensemble * acks) ** 0.25)
    return 52_000.0


def case_name(system: str, settings: Mapping[str, str]) -> str:
    return " ".join([system, *(f"{key}={value}" for key, value in settings.items())])
