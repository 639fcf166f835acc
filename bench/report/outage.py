"""For how long nobody could write, or read, after a fault: over a configuration's trials, and what set that time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import pandas as pd

from bench import numbers
from bench.model import HEALING, NANOS, NEXT, NO_END, OTHER_WORK_CORES
from bench.records.steps import StepRecord, UndoRecord, strikes
from bench.report.results import Results

_NUMBERED = r", \d+$"
"""What follows the name of a fault that strikes several times."""
_NEAR_NS = NANOS // 2
"""A repair that begins so soon after an outage's time counts as within it: both are measured from different starts."""
_WORSE = 1.05
"""A trial that was set aside is the longest where it took so many times as long as all counted ones."""
_SAME_OUTAGE = 0.9
"""A fault with so much of the longest outage of its trial is the one that began it."""
DISTURBED, INVALID = "disturbed", "invalid"
"""Why a trial was set aside: other work took OTHER_WORK_CORES cores or more; or it does not count."""


@dataclass(frozen=True, slots=True)
class Outage:
    """Times without an acknowledgement, or without a message at consumers: the longest of each counted trial.

    Where a fault strikes again and again a trial's time is the sum over all strikes, and `strikes_ns` holds the time
    after each. `aside_ns` is the longest of the trials that were set aside, where it is longer than all counted ones,
    and `aside` says why: DISTURBED or INVALID. `endings` counts what may have ended the times, as docs/tables.md names
    it. `script_ns` is for how long the script itself left servers away, None where it repaired nothing within these
    times. Of each trial there are `times_each` times: of writes and of reads.
    """

    times_ns: tuple[float, ...]
    strikes_ns: tuple[float, ...] = ()
    aside_ns: float | None = None
    aside: str = ""
    endings: Mapping[str, int] = field(default_factory=dict)
    script_ns: float | None = None
    times_each: int = 1

    @property
    def trials(self) -> int:
        """How many trials the times are of."""
        return len(self.times_ns) // self.times_each

    def merge(self, other_outage: Outage) -> Outage:
        """Return the times of both, of the same trials and strikes."""
        longest = max((self, other_outage), key=lambda outage: outage.aside_ns or 0.0)
        return replace(
            self,
            times_ns=self.times_ns + other_outage.times_ns,
            aside_ns=longest.aside_ns,
            aside=longest.aside,
            times_each=2,
        )

    @property
    def low_ns(self) -> float:
        """The shortest time."""
        return min(self.times_ns)

    @property
    def high_ns(self) -> float:
        """The longest time."""
        return max(self.times_ns)

    @property
    def median_ns(self) -> float:
        """The median over the trials."""
        return median(self.times_ns)

    @property
    def endless(self) -> bool:
        """Whether a time had no end before the load's: it is a lower bound."""
        return NO_END in self.endings


@dataclass(frozen=True, slots=True)
class _TrialOutage:
    """A trial's time, what may have ended it, and the fault that began it; `strikes_ns` as Outage has it."""

    time_ns: float
    ending: str | None
    fault: str = ""
    strikes_ns: tuple[float, ...] = ()


def writes(results: Results, trials: pd.DataFrame) -> Outage | None:
    """Return the times without an acknowledgement in trials of one configuration; None where none is known."""
    trial_outages = _after_faults(results, trials, "ack_gap")
    for _, trial in trials.dropna(subset="unavailable_ns").iterrows():
        number = int(trial["trial"])
        fault_outage = trial_outages.get(number)
        if fault_outage is None or not fault_outage.strikes_ns:
            fault = fault_outage.fault if fault_outage else ""
            ending = None if numbers.absent(trial["unavailable_ended"]) else str(trial["unavailable_ended"])
            trial_outages[number] = _TrialOutage(float(trial["unavailable_ns"]), ending, fault)
    return _outage(results, trials, trial_outages)


def reads(results: Results, trials: pd.DataFrame) -> Outage | None:
    """Return the times without a message at consumers, or at a reader that a step began; None where none is known."""
    trial_outages = _after_faults(results, trials, "live_gap")
    for _, trial in trials.dropna(subset="reader_stall_ns").iterrows():
        number, stalled_ns = int(trial["trial"]), float(trial["reader_stall_ns"])
        if number not in trial_outages or stalled_ns > trial_outages[number].time_ns:
            ending = trial.get("reader_stall_ended")
            trial_outages[number] = _TrialOutage(stalled_ns, None if numbers.absent(ending) else str(ending))
    return _outage(results, trials, trial_outages)


def undisturbed_trials(valid: pd.DataFrame) -> pd.DataFrame:
    """Return the valid trials that other work on the machine did not disturb; all where it disturbed each."""
    quiet = valid[~(pd.to_numeric(valid["other_cpu"]) >= OTHER_WORK_CORES)]
    return valid if quiet.empty else quiet


def script_ns(steps: Sequence[StepRecord], name: str, within_ns: float = math.inf) -> float | None:
    """Return how long after a fault the script began its last repair within this time; None where it began none.

    Until then what the fault took away was away by the script's will.
    """
    fault = next((step for step in strikes(steps) if step.name == name), None)
    if fault is None:
        return None
    delays_ns = [time_ns - fault.asked_ns for time_ns in _repairs_ns(steps)]
    times = [min(time_ns, within_ns) for time_ns in delays_ns if 0 < time_ns <= within_ns + _NEAR_NS]
    return float(max(times)) if times else None


def _repairs_ns(steps: Sequence[StepRecord]) -> list[int]:
    """Return when the script began each repair: by a step that undid a fault, or as a fault's own healing."""
    undone = [step.asked_ns for step in steps if isinstance(step, UndoRecord)]
    healed = [fault.heal_asked_ns for fault in strikes(steps) if fault.heal != "never"]
    return [time_ns for time_ns in (*undone, *healed) if time_ns is not None]


def repeats(faults: pd.DataFrame) -> bool:
    """Whether one fault struck a trial several times."""
    names = faults["fault"].astype(str)
    numbered = names[names.str.contains(_NUMBERED)].str.replace(_NUMBERED, "", regex=True)
    return bool(numbered.duplicated().any())


def _after_faults(results: Results, trials: pd.DataFrame, name: str) -> dict[int, _TrialOutage]:
    """Return each trial's longest time after a fault, or the sum of all where one fault repeats, by trial."""
    trial_faults = results.faults[results.faults["trial"].isin(trials["trial"])].dropna(subset=f"{name}_ns")
    return {int(str(trial)): _of_trial(faults, name) for trial, faults in trial_faults.groupby("trial")}


def _of_trial(faults: pd.DataFrame, name: str) -> _TrialOutage:
    times_ns, endings = faults[f"{name}_ns"].astype(float), faults[f"{name}_ended"]
    longest = times_ns.idxmax()
    ending = None if numbers.absent(endings[longest]) else str(endings[longest])
    if repeats(faults):
        strikes_ns = times_ns[endings != NEXT]  # one that goes on past the next strike counts whole there
        unended = NO_END if (endings == NO_END).any() else None
        return _TrialOutage(float(strikes_ns.sum()), unended, strikes_ns=tuple(strikes_ns))
    began = times_ns[times_ns >= _SAME_OUTAGE * times_ns[longest]].index[0]
    return _TrialOutage(float(times_ns[longest]), ending, str(faults.loc[began, "fault"]))


def _outage(
    results: Results, trials: pd.DataFrame, trial_outages: Mapping[int, _TrialOutage]
) -> Outage | None:
    valid = trials[trials["verdict"] == "valid"]
    counted = [number for number in map(int, undisturbed_trials(valid)["trial"]) if number in trial_outages]
    if not counted:
        return None
    shown = [trial_outages[number] for number in counted]
    times_ns = tuple(trial_outage.time_ns for trial_outage in shown)
    aside_ns, aside = _set_aside(trials, trial_outages, counted, max(times_ns))
    return Outage(
        times_ns=times_ns,
        strikes_ns=tuple(time_ns for trial_outage in shown for time_ns in trial_outage.strikes_ns),
        aside_ns=aside_ns,
        aside=aside,
        endings=Counter(trial_outage.ending for trial_outage in shown if trial_outage.ending),
        script_ns=_script(results, {number: trial_outages[number] for number in counted}),
    )


def _set_aside(
    trials: pd.DataFrame, trial_outages: Mapping[int, _TrialOutage], counted: Sequence[int], longest_ns: float
) -> tuple[float | None, str]:
    """Return the longest time of the trials that are not counted, and why not; none where it is no longer."""
    aside_trials = trials[~trials["trial"].isin(counted) & trials["trial"].isin(list(trial_outages))]
    times = {int(trial): trial_outages[int(trial)].time_ns for trial in aside_trials["trial"]}
    worst = max(times, key=lambda trial: times[trial], default=None)
    if worst is None or times[worst] < _WORSE * longest_ns:
        return None, ""
    valid = aside_trials.set_index("trial").loc[worst, "verdict"] == "valid"
    return times[worst], DISTURBED if valid else INVALID


def _script(results: Results, counted: Mapping[int, _TrialOutage]) -> float | None:
    """Return for how long the script left nodes away, the median, where a repair lies within the time of each trial."""
    held: list[float] = []
    for trial, outage in counted.items():
        steps = results.trial_records[trial].faults
        left_ns = script_ns(steps, outage.fault, outage.time_ns)
        if outage.ending != HEALING or left_ns is None:
            return None
        held.append(left_ns)
    return median(held)


def first_faults(results: Results) -> pd.DataFrame:
    """Return the first fault of each trial, by trial."""
    table: pd.DataFrame = results.faults.sort_values("asked_ns").groupby("trial").first()
    return table


def kinds(results: Results, trials: pd.DataFrame) -> list[str]:
    """Return the kinds of faults that struck these trials, in the order in which they came."""
    trial_faults: Any = results.faults[results.faults["trial"].isin(trials["trial"])].sort_values(
        ["trial", "asked_ns"]
    )
    return list(dict.fromkeys(map(str, trial_faults["kind"])))
