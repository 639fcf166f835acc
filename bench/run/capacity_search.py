"""The search of one open trial for its capacity: which rate is held next, and what is known of those before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.capacity.hold import Hold
from bench.capacity.hold_log import HeldSlice, read_hold
from bench.capacity.search import HoldRequest, Search, SearchPlan
from bench.capacity.service_level import ServiceLevel, service_level
from bench.load.commands import RateHold
from bench.load.results import SliceResult
from bench.model import NANOS, Trial
from bench.records.trial import HoldRecord


@dataclass(slots=True)
class CapacitySearch:
    """Searches for the capacity of a trial's case. `holds` are those made so far."""

    trial: Trial
    working: Path
    search: Search
    level: ServiceLevel
    holds: list[HoldRecord] = field(default_factory=list)

    @property
    def request(self) -> RateHold | None:
        """The rate to hold next; None once the search is over."""
        hold_request = self.search.request
        return (
            None
            if hold_request is None
            else RateHold(
                rate=hold_request.rate,
                lead_in_s=hold_request.settle_seconds,
                seconds=hold_request.seconds,
                overrun_s=self.level.response_p99_ns / NANOS,
            )
        )

    @property
    def confirms(self) -> bool:
        """Whether the result rests on the hold asked for."""
        return self.search.request is not None and self.search.request.confirms

    def add(
        self,
        done: SliceResult,
        *,
        copies_missing: bool | None = None,
        late_copies_share: float | None = None,
    ) -> None:
        """Take what the load process said of the hold asked for, whose log is on disk. Raises EventLogError.

        `copies_missing`: whether the system knew of missing copies at its end; None where nobody asked, or could tell.
        `late_copies_share` is as of Hold.
        """
        hold_request = self.search.request
        if hold_request is None:
            raise ValueError("the search is over")
        self.search.add(
            self._hold(
                done,
                hold_request,
                copies_missing=bool(copies_missing),
                late_copies_share=late_copies_share,
            )
        )
        self.holds.append(
            HoldRecord(
                **done.slice.model_dump(),
                rate=hold_request.rate,
                confirms=hold_request.confirms,
                client_cpu_share=done.client.cpu_share or 0.0,
                copies_missing=copies_missing,
                late_copies_share=late_copies_share,
                verdict=self.search.judgement.verdict,
                reason=self.search.judgement.reason,
            )
        )

    def _hold(
        self,
        done: SliceResult,
        hold_request: HoldRequest,
        *,
        copies_missing: bool,
        late_copies_share: float | None,
    ) -> Hold:
        span = done.slice
        held = HeldSlice(
            number=span.slice,
            rate=hold_request.rate,
            producers=self.trial.case.load.producers,
            begun_ns=span.begun_ns,
            start_ns=span.start_ns,
            end_ns=span.end_ns,
            client_cpu_share=done.client.cpu_share or 0.0,
            copies_missing=copies_missing,
            late_copies_share=late_copies_share,
        )
        return read_hold(self.working, held, self.level)


def search_of(trial: Trial, working: Path, slices: Sequence[SliceResult]) -> CapacitySearch | None:
    """Return a trial's search, which begins at what its slices acknowledged; None where its case asks for none."""
    capacity_settings = trial.case.capacity
    if not capacity_settings:
        return None
    level = service_level(capacity_settings)
    acked = sum(done.acked for done in slices)
    seconds = sum(done.slice.end_ns - done.slice.begun_ns for done in slices) / NANOS
    plan = SearchPlan(
        search_seconds=float(capacity_settings["search_s"]),
        confirm_seconds=float(capacity_settings["confirm_s"]),
        settle_seconds=float(capacity_settings["settle_s"]),
    )
    return CapacitySearch(trial, working, Search(acked / seconds, level, plan), level)
