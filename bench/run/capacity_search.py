"""The search of one open trial for its capacity: which rate is held next, and what is known of those before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.capacity.hold import Hold
from bench.capacity.hold_log import HeldSlice, read_hold
from bench.capacity.search import HoldRequest, Search, SearchPlan
from bench.capacity.service_level import ServiceLevel, service_level
from bench.load.commands import Held
from bench.model import NANOS, Trial
from bench.run.rig import Document


@dataclass(slots=True)
class CapacitySearch:
    """Searches for the capacity of a trial's case. `holds` are those made so far, as trial.json has them."""

    trial: Trial
    working: Path
    search: Search
    level: ServiceLevel
    holds: list[Document] = field(default_factory=list)

    @property
    def request(self) -> Held | None:
        """The rate to hold next; None once the search is over."""
        wanted = self.search.request
        return (
            None
            if wanted is None
            else Held(
                rate=wanted.rate,
                lead_in_s=wanted.settle_seconds,
                seconds=wanted.seconds,
                overrun_s=self.level.response_p99_ns / NANOS,
            )
        )

    def add(self, done: Mapping[str, Any]) -> None:
        """Take what the load process said of the hold asked for, whose log is on disk. Raises EventLogError."""
        wanted = self.search.request
        if wanted is None:
            raise ValueError("the search is over")
        self.search.add(self._hold(done, wanted))
        self.holds.append(
            {
                **done["slice"],
                "rate": wanted.rate,
                "confirms": wanted.confirms,
                "client_cpu_share": done["client"]["cpu_share"],
                "verdict": self.search.judgement.verdict,
                "reason": self.search.judgement.reason,
            }
        )

    def _hold(self, done: Mapping[str, Any], wanted: HoldRequest) -> Hold:
        span = done["slice"]
        held = HeldSlice(
            number=span["slice"],
            rate=wanted.rate,
            producers=self.trial.case.load.producers,
            begun_ns=span["begun_ns"],
            start_ns=span["start_ns"],
            end_ns=span["end_ns"],
            client_cpu_share=done["client"]["cpu_share"],
        )
        return read_hold(self.working, held, self.level)


def search_of(trial: Trial, working: Path, slices: Sequence[Document]) -> CapacitySearch | None:
    """Return a trial's search, which begins at what its slices acknowledged; None where its case asks for none."""
    wanted = trial.case.capacity
    if not wanted:
        return None
    level = service_level(wanted)
    acked = sum(done["acked"] for done in slices)
    seconds = sum(done["slice"]["end_ns"] - done["slice"]["begun_ns"] for done in slices) / NANOS
    plan = SearchPlan(
        search_seconds=float(wanted["search_s"]),
        confirm_seconds=float(wanted["confirm_s"]),
        settle_seconds=float(wanted["settle_s"]),
    )
    return CapacitySearch(trial, working, Search(acked / seconds, level, plan), level)
