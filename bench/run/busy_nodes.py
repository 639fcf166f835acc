"""What a run of the scenario capacity says of how busy its nodes were at the highest rate that passed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.analysis.speed.holds import level_of
from bench.capacity.judgement import HoldVerdict
from bench.errors import BenchError
from bench.model import NANOS
from bench.report import results
from bench.sizing.busy_share import HeldStart, highest_passed


def held_starts(run: Path) -> list[HeldStart]:
    """Return what each search of a valid trial found. Raises BenchError where the run searched for no capacity."""
    if starts := list(_starts(run)):
        return starts
    raise BenchError(
        f"{run}: no valid trial of it searched for a capacity; give a run of the scenario capacity with valid trials"
    )


def _starts(run: Path) -> Iterator[HeldStart]:
    valid = {
        row["trial"] for row in results.records(results.table(run, "trials")) if row["verdict"] == "valid"
    }
    holds = results.records(results.table(run, "holds"))
    for trial in results.trial_records(run).values():
        promise = trial.case.guarantee
        if trial.trial in valid and trial.holds and promise is not None:
            trial_holds = [row for row in holds if row["trial"] == trial.trial]
            rate, shares = highest_passed(trial_holds, trial.case.description.work)
            yield HeldStart(
                system=trial.case.system,
                case=trial.case.name,
                guarantee=promise,
                message_bytes=trial.load.message_bytes or 0,
                p99_s=level_of(trial).response_p99_ns / NANOS,
                rate=rate,
                cpu_shares=shares,
                bounded=any(
                    row["verdict"] == HoldVerdict.FAILED and row["rate"] > (rate or 0) for row in trial_holds
                ),
            )
