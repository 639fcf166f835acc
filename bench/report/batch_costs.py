"""What a batch takes of the CPU of each role, as fitted to the trials of a run that asks what messages cost."""

from __future__ import annotations

from dataclasses import dataclass

from bench.report.results import Results

_QUESTION = "cpu_per_message_ns"
_MICROS = 1e6


@dataclass(frozen=True, slots=True)
class WorkCost:
    """What one batch takes of the CPU of the servers of a role, in µs, with its 95 % interval.

    `work` says what they do with it, such as store it. `error_median` and `error_worst` say by which share the use of a
    configuration is missed that the costs were not fitted to.
    """

    system: str
    role: str
    work: str
    value_us: float
    low_us: float
    high_us: float
    error_median: float
    error_worst: float


def lead(results: Results) -> bool:
    """Whether a run's question is what messages cost: its first expectation is about the CPU of a message."""
    first, *_ = results.manifest.get("expectations") or [{}]
    return not results.costs.empty and first.get("metric") == _QUESTION


def work_costs(results: Results) -> list[WorkCost]:
    """Return the CPU of a batch, system by system, role by role."""
    costs = results.costs
    of_batches = costs[(costs["resource"] == "cpu_s") & (costs["unit"] == "batch")]
    return [
        WorkCost(
            system=str(cost["system"]),
            role=str(cost["role"]),
            work=str(cost["work"]),
            value_us=float(cost["value"]) * _MICROS,
            low_us=float(cost["low"]) * _MICROS,
            high_us=float(cost["high"]) * _MICROS,
            error_median=float(cost["error_median"]),
            error_worst=float(cost["error_p90"]),
        )
        for _, cost in of_batches.iterrows()
    ]
