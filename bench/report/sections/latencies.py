"""How long messages took: the sections of service time, response time, end-to-end latency, and their percentiles."""

from __future__ import annotations

from dataclasses import dataclass

from bench.report.sections import sends_without_latency, servers
from bench.report.sections.section import ReportInput, Section

_EXCLUDED = "; sends that were refused or never answered have no such time, and are not in it"


@dataclass(frozen=True, slots=True)
class SendTimes:
    """Service or response time. `excluded` says which sends have none, empty where all have; `drawn`: with a figure."""

    drawn: bool
    excluded: str


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """End-to-end latency. `open_loop`: sends may wait before they are made; `remark`: what servers' settings add."""

    drawn: bool
    has_slices: bool
    open_loop: bool
    remark: str


def _service_time(report: ReportInput) -> SendTimes:
    return _send_times(report, "service")


def _response_time(report: ReportInput) -> SendTimes | None:
    return _send_times(report, "response") if "response" in report.drawings else None


def _send_times(report: ReportInput, measure: str) -> SendTimes:
    excluded = _EXCLUDED if sends_without_latency.some(report.results) else ""
    return SendTimes(measure in report.drawings, excluded)


def _end_to_end(report: ReportInput) -> EndToEnd:
    return EndToEnd(
        drawn="e2e" in report.drawings,
        has_slices=report.results.has_slices,
        open_loop="response" in report.drawings,
        remark=servers.delivery_remark(report.results),
    )


def _percentiles(report: ReportInput) -> tuple[str, ...]:
    """Return the names of the figures."""
    return report.available_drawings("service-curves", "response-curves")


SERVICE_TIME = Section("service", "Service time", _service_time)
RESPONSE_TIME = Section("response", "Response time", _response_time)
END_TO_END = Section("end-to-end", "End-to-end latency", _end_to_end)
PERCENTILES = Section("percentiles", "Latency by percentile", _percentiles)
