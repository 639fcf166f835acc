"""Which cases share their cluster, as a round measures them on the same start, and which vary in the same way."""

from __future__ import annotations

from collections.abc import Iterable

from bench.records.trial import TrialRecord
from bench.statistics.groups import group
from bench.statistics.round_ratios import Group


def clusters(trials: Iterable[TrialRecord]) -> dict[str, Group]:
    """Return each case's group."""
    return {
        case.name: group(case.system, case.configuration, waits=case.description.waits(case.all_settings))
        for case in (trial.case for trial in trials)
    }
