"""What an operator's step that moved stored messages took, and what it did to the load: table `transfers`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from bench.analysis.account.slowdown import slowdowns
from bench.analysis.log import EventLog
from bench.records.steps import MoveRecord
from bench.records.trial import TrialRecord
from bench.systems.registry import STORAGE_ROLES

Row = dict[str, object]

_RECEIVED = "net_in_bytes"


def transfer_rows(
    log: EventLog,
    messages: DataFrame,
    stepped: DataFrame,
    trials: Sequence[TrialRecord],
    first_ns: Mapping[int, int],
) -> list[Row]:
    """Return a row a step that drained a node or spread a topic; times count from the trial's first send.

    `done_ns` is from when it was asked for until it was done; null where it was not. `messages` are those of
    delivery.py, `stepped` the steps of telemetry.py.
    """
    moved = [trial for trial in trials if trial.moving_steps]
    if not moved:
        return []
    times = _times(log, messages, moved)
    received = _network_looks(stepped, [trial.trial for trial in moved])
    return [
        {
            "trial": trial.trial,
            "transfer": step.name,
            "kind": step.kind,
            "nodes": " ".join(step.nodes) or None,
            "asked_ns": step.asked_ns - first_ns.get(trial.trial, 0),
            "done_ns": _done_ns(step),
            "copied_bytes": _copied_bytes(
                received.get(trial.trial, []), trial, step, first_ns.get(trial.trial, 0)
            ),
            **times.get((trial.trial, place), {}),
        }
        for trial in moved
        for place, step in trial.moving_steps.items()
    ]


def _done_ns(step: MoveRecord) -> int | None:
    return step.effect_ns - step.asked_ns if step.effect_ns is not None else None


def _undisturbed_until_ns(trial: TrialRecord) -> int:
    """When the first of a trial's steps was asked for: what was before is undisturbed."""
    return min(step.asked_ns for step in trial.faults)


def _times(log: EventLog, messages: DataFrame, trials: Iterable[TrialRecord]) -> dict[tuple[int, int], Row]:
    """Return by trial and step how long messages took before the trial's first step and during this one."""
    spans = [
        (
            *(trial.trial, place, _undisturbed_until_ns(trial)),
            *(step.asked_ns, step.effect_ns, trial.window.start_ns, trial.window.end_ns),
        )
        for trial in trials
        if trial.window is not None
        for place, step in trial.moving_steps.items()
        if step.effect_ns is not None and step.asked_ns < trial.window.end_ns
    ]
    names = ("asked_ns", "begun_ns", "last_ns", "start_ns", "end_ns")
    schema = f"trial int, step int, {', '.join(f'{name} long' for name in names)}"
    spark = messages.sparkSession
    return slowdowns(log, messages, spark.createDataFrame(spans, schema)) if spans else {}


def _network_looks(stepped: DataFrame, trials: Sequence[int]) -> dict[int, list[Any]]:
    """Return by trial what came over the network to the nodes that keep messages, look by look."""
    looks_by_trial: dict[int, list[Any]] = {}
    of_keepers = F.col("role").isin(*STORAGE_ROLES) & (F.col("metric") == _RECEIVED)
    for row in (
        stepped.where(F.col("trial").isin(*trials) & of_keepers & F.col("grown").isNotNull())
        .select("trial", "at_ns", "role", "grown", "took_ns")
        .collect()
    ):
        looks_by_trial.setdefault(row["trial"], []).append(row)
    return looks_by_trial


def _copied_bytes(looks: Sequence[Any], trial: TrialRecord, step: MoveRecord, first_ns: int) -> int | None:
    """Return how much more came to all nodes of the keeping role together meanwhile than in as much undisturbed time.

    Not less than 0. Whatever looks overlap the step count whole, in both. None where either was not seen.
    """
    role = trial.case.description.storage_role
    if trial.window is None or step.effect_ns is None:
        return None
    asked_ns, done_ns = step.asked_ns - first_ns, step.effect_ns - first_ns
    since_ns, until_ns = trial.window.start_ns - first_ns, _undisturbed_until_ns(trial) - first_ns
    role_looks = [look for look in looks if look["role"] == role and look["took_ns"]]
    undisturbed = [
        look
        for look in role_looks
        if look["at_ns"] - look["took_ns"] >= since_ns and look["at_ns"] <= until_ns
    ]
    during = [
        look for look in role_looks if look["at_ns"] > asked_ns and look["at_ns"] - look["took_ns"] < done_ns
    ]
    if not undisturbed or not during:
        return None
    usual = sum(look["grown"] for look in undisturbed) / sum(look["took_ns"] for look in undisturbed)
    beyond: float = sum(look["grown"] - usual * look["took_ns"] for look in during)
    return round(max(0.0, beyond))
