"""Lost messages of a run without faults: the finding, and the alarms where a promise covers them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from bench import numbers
from bench.report.answer.configurations import Configurations
from bench.report.answer.model import Finding
from bench.report.answer.sentences import sentence
from bench.report.results import column_total
from bench.systems.registry import describe

_DELIVERY = "delivery"


def loss(cases: Configurations) -> Finding:
    """State what was lost of the messages that a configuration promises to keep, and of the others."""
    valid = cases.results.valid
    read = valid[pd.to_numeric(valid["lost"]).notna()]
    if read.empty:
        return Finding(sentence("loss-unknown"), decided=False, anchor=_DELIVERY)
    hollow = read["case"].map(cases.hollow).astype(bool)
    promised, unpromised = (read, read[:0]) if hollow.all() else (read[~hollow], read[hollow])
    lost, unpromised_lost = (column_total(trials, "lost") for trials in (promised, unpromised))
    unpromised_acked = column_total(unpromised, "acked")
    slots = {
        "acknowledged": numbers.about(column_total(promised, "acked")),
        "trials": numbers.plural(len(promised), "trial"),
        "unpromised": numbers.about(unpromised_acked) if unpromised_acked else "",
        "lost": numbers.count(unpromised_lost),
        "unread": numbers.plural(len(valid) - len(read), "trial") if len(read) < len(valid) else "",
    }
    if lost:
        return Finding(sentence("loss", _loss_slots(cases, promised)), anchor=_DELIVERY)
    kind = "loss-unpromised" if unpromised_lost else "loss-none"
    return Finding(sentence(kind, slots), anchor=_DELIVERY)


def _loss_slots(cases: Configurations, promised: pd.DataFrame) -> dict[str, Any]:
    """Return the slots of the sentence on a loss: how much, in how many configurations, and where most."""
    cases_lost = {
        str(case): (column_total(trials, "lost"), column_total(trials, "acked"))
        for case, trials in promised.groupby("case", sort=False)
    }
    losing = {case: counts for case, counts in cases_lost.items() if counts[0]}
    worst = max(losing, key=lambda case: losing[case][0] / max(losing[case][1], 1))
    most, of = losing[worst]
    return {
        "lost": numbers.count(column_total(promised, "lost")),
        "acknowledged": numbers.count(column_total(promised, "acked")),
        "losing": len(losing),
        "configurations": numbers.plural(len(cases_lost), "configuration"),
        "worst": cases.name_with_system(worst),
        "most": numbers.count(most),
        "of": numbers.count(of),
    }


def alarms(cases: Configurations) -> Iterator[str]:
    """Give each loss that a promise covers: all where nothing failed, but for configurations that promise nothing.

    A trial that does not count may still have lost messages.
    """
    for case in cases.names:
        trials = cases.results.trials[cases.results.trials["case"] == case]
        promise = cases.promise(case)
        if promise is None or promise.nodes is None:
            continue
        for fate in ("lost", "unread"):
            if count := column_total(trials, fate):
                yield _alarm(cases, case, fate, count)
        system = describe(str(cases.row(case)["system"]))
        if system.deduplicates(cases.all_settings(case), {}) and (
            count := column_total(trials, "duplicates")
        ):
            yield _alarm(cases, case, "duplicated", count)


def _alarm(cases: Configurations, case: str, fate: str, count: int) -> str:
    trials = cases.results.trials[cases.results.trials["case"] == case]
    slots = {
        "name": cases.name_with_system(case),
        "kind": fate,
        "count": numbers.count(count),
        "acknowledged": numbers.count(column_total(trials, "acked")),
    }
    return sentence("alarm", slots)
