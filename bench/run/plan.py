"""What a run will do: which points of the sweep can exist, and in which order the trials are run.

A round is one pass over all cases. Within a round, cases that share a cluster run on one, freshly started, and
clusters of both systems run side by side (shared_clusters.py). Their order is shuffled anew in every round, from the
seed, so the rounds of a longer plan begin with those of a shorter one. The trials of clusters that run side by side are
interleaved. Where something breaks they follow one another: then the cases are shuffled once, and every round begins
at another of them. So a server that goes on getting faster, trial by trial, favours none: over the rounds each case
has had early and late places to the same extent.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, groupby
from typing import Any, TypeAlias

from bench.errors import EventLogError, ScenarioError
from bench.model import DOCKER, PROCESS, Case, Cluster, Settings, Trial, text
from bench.run import (
    claims,
    container_cases,
    estimate,
    external_cases,
    external_clusters,
    fault_check,
    wiring,
)
from bench.run.external_clusters import External
from bench.run.folder import RunFolder
from bench.run.shared_clusters import on_shared_clusters, side_by_side
from bench.scenario import LoadedScenario, cases, load
from bench.scenario.expand import has, omits
from bench.systems.protocols import System

Start: TypeAlias = tuple[Cluster, list[Trial]]
"""A cluster and the trials on one start of it."""


@dataclass(frozen=True, slots=True)
class OmittedPoint:
    """A point of the sweep that cannot exist, or that the scenario leaves out."""

    system: str
    settings: Settings
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The trials of so many rounds in the order they run; `cases` are their cases' names as the scenario has them.

    `external` has the clusters that somebody else runs, on which all of them run; empty for the suite's own.
    `scenario_cases` are the cases as they would run on clusters of the suite, all that the scenario has for these
    systems. `backend` is how servers of the suite's own run.
    """

    loaded: LoadedScenario
    seed: int
    rounds: int
    trials: tuple[Trial, ...]
    left_out: tuple[OmittedPoint, ...]
    swept: Mapping[str, list[str]]
    cases: tuple[str, ...]
    external: External = field(default_factory=dict)
    scenario_cases: tuple[Case, ...] = ()
    backend: str = PROCESS

    def starts(self, trials: list[Trial] | None = None) -> list[list[Start]]:
        """Group consecutive clusters of a round that run side by side, each with its trials."""
        place = {
            cluster_key(cluster): number
            for number, clusters in enumerate(side_by_side(self._ordered_cases()))
            for cluster in clusters
        }
        started = self.clusters(trials)
        start_numbers = iter(range(len(started)))
        grouped = groupby(
            started,
            key=lambda start: (
                start[1][0].round,
                place[cluster_key(start[0])],
                next(start_numbers) if start[1][0].case.load.slices is None else -1,
            ),
        )
        return [list(members) for _, members in grouped]

    def clusters(self, trials: list[Trial] | None = None) -> list[Start]:
        """Group consecutive trials that share a cluster and a round: one cluster start each.

        What broke a cluster may have left something behind: a trial with faults has a cluster of its own.
        """
        cluster_trials = list(self.trials) if trials is None else trials
        grouped = groupby(
            cluster_trials,
            key=lambda trial: (
                trial.round,
                cluster_key(trial.case.cluster),
                trial.number if trial.case.faults else -1,
            ),
        )
        return [(members[0].case.cluster, members) for _, group in grouped if (members := list(group))]

    def seconds(self) -> float:
        """Estimate the wall time of these rounds, analysis and report included."""
        warm_up_s = self.loaded.scenario.warm_up.cluster
        starts_s = sum(estimate.start_s(cluster.system, warm_up_s) for cluster, _ in self.clusters())
        return starts_s + sum(estimate.trial_s(trial.case) for trial in self.trials) + estimate.ANALYSIS_S

    def baselines(self) -> dict[str, str]:
        """Return the name of each system's baseline case: the one that the scenario names, else its first."""
        ordered = self._ordered_cases()
        baseline_settings = self.loaded.scenario.baseline
        named = [
            case
            for case in ordered
            if case.system in baseline_settings and has(case, baseline_settings[case.system])
        ]
        baseline_names: dict[str, str] = {}
        for case in (*named, *ordered):
            baseline_names.setdefault(case.system, case.name)
        return baseline_names

    def _ordered_cases(self) -> list[Case]:
        """Return the cases in the scenario's order."""
        cases = {trial.case.name: trial.case for trial in self.trials}
        return [cases[name] for name in self.cases]

    def document(self) -> dict[str, Any]:
        """Return plan.json (docs/event-log.md)."""
        return {
            "format": 1,
            "scenario": self.loaded.scenario.name,
            "profile": self.loaded.profile,
            "seed": self.seed,
            "rounds": self.rounds,
            "swept": dict(self.swept),
            "cases": list(self.cases),
            "trials": [_row(trial) for trial in self.trials],
            "left_out": [asdict(point) for point in self.left_out],
        }


def plan(
    loaded: LoadedScenario,
    seed: int,
    rounds: int | None = None,
    external: External | None = None,
    backend: str = PROCESS,
) -> Plan:
    """Plan so many rounds of a run; without them all that it has, or the first of those that a budget allows.

    With `external` clusters only cases of their systems are planned, and of these only what can run there. Otherwise
    servers run by `backend`, and only what that can do is planned.

    Raises ScenarioError for unknown settings, for a value or a system with no point that can exist, and for what no
    case can decide.
    """
    clusters = external or {}
    scenario_cases = [
        case for case in cases(loaded.scenario, wiring.version) if not clusters or case.system in clusters
    ]
    possible, left_out = _sorted_out(loaded, scenario_cases, clusters, backend)
    possible = [fault_check.equip_case(loaded, case) for case in possible]
    claims.check(loaded, possible, narrowed=bool(loaded.overrides or clusters or backend != PROCESS))
    possible = on_shared_clusters(possible)
    swept = {case.system: list(case.swept) for case in scenario_cases}
    count = rounds or (loaded.scenario.repeats if loaded.scenario.budget is None else 1)
    trials = tuple(_ordered_trials(possible, count, seed))
    return Plan(
        loaded=loaded,
        seed=seed,
        rounds=count,
        trials=trials,
        left_out=tuple(left_out),
        swept=swept,
        cases=tuple(case.name for case in possible),
        external=clusters,
        scenario_cases=tuple(scenario_cases),
        backend=backend,
    )


def longer(run_plan: Plan, rounds: int) -> Plan:
    """Return a plan of so many rounds that begins with the trials of the one given."""
    return plan(run_plan.loaded, run_plan.seed, rounds, run_plan.external, run_plan.backend)


def replan(folder: RunFolder) -> Plan:
    """Plan again what a run folder was made for. Raises EventLogError where the plan is another now."""
    manifest, plan_document = folder.read("manifest.json"), folder.read("plan.json")
    loaded = load(folder.path / "scenario.yaml", manifest["profile"], manifest["overrides"])
    clusters = external_clusters.read_clusters(folder)
    backend = PROCESS if clusters else manifest.get("backend", PROCESS)
    new_plan = plan(loaded, manifest["seed"], plan_document["rounds"], clusters, backend)
    if json.loads(json.dumps(new_plan.document()))["trials"] != plan_document["trials"]:
        message = (
            f"{folder.path / 'plan.json'}: the suite now plans other trials from the same scenario; "
            "go on with the version that the manifest names, or start a new run"
        )
        raise EventLogError(message)
    return new_plan


def _sorted_out(
    loaded: LoadedScenario, scenario_cases: list[Case], clusters: External, backend: str
) -> tuple[list[Case], list[OmittedPoint]]:
    possible: list[Case] = []
    left_out: list[OmittedPoint] = []
    _refuse_empty(loaded, scenario_cases)
    for case in scenario_cases:
        _refuse_unknown(loaded, wiring.system(case.system), case)
        fault_check.steps_of(loaded, case)
    for case, refusals in _place_cases(clusters, backend, scenario_cases):
        reasons = _omission_reasons(loaded, case) or refusals or wiring.system(case.system).check(case)
        if reasons:
            left_out.append(OmittedPoint(case.system, dict(case.swept), " ".join(reasons)))
        else:
            possible.append(case)
    if clusters:
        _refuse_none(loaded, clusters, possible, left_out)
    elif backend != PROCESS:
        _refuse_nothing(loaded, backend, possible, left_out)
    else:
        _refuse_impossible(loaded, possible, left_out)
    return possible, left_out


def _refuse_impossible(
    loaded: LoadedScenario, possible: Sequence[Case], left_out: Sequence[OmittedPoint]
) -> None:
    """Refuse a system without a case, and a value that none can have: but for one that `without` leaves out."""
    omission_reasons = {
        (system, omission.because)
        for system, spec in loaded.scenario.systems.specs().items()
        for omission in spec.without
    }
    for point in left_out:
        system_cases = [case for case in possible if case.system == point.system]
        if not system_cases:
            path = loaded.path_of(point.system, point.reason)
            raise loaded.error(path, f"this cannot exist: {point.reason}")
        if (point.system, point.reason) in omission_reasons:
            continue
        for name, value in point.settings.items():
            if not any(case.swept[name] == value for case in system_cases):
                path = loaded.path_of(point.system, name)
                message = (
                    f"no case with {name}={text(value)} can exist: {point.reason} Take it out of the sweep"
                )
                raise loaded.error(path, message)


def _place_cases(
    clusters: External, backend: str, scenario_cases: list[Case]
) -> list[tuple[Case, list[str]]]:
    """Return each case where it runs, with the reasons why it cannot run there."""
    if backend == DOCKER:
        return container_cases.place_cases(scenario_cases)
    if not clusters:
        return [(case, []) for case in scenario_cases]
    return [
        placed
        for system, cluster in clusters.items()
        for placed in external_cases.place_cases(
            cluster, [case for case in scenario_cases if case.system == system]
        )
    ]


def _refuse_none(
    loaded: LoadedScenario, clusters: External, possible: Sequence[Case], left_out: Sequence[OmittedPoint]
) -> None:
    """Raise ScenarioError for an external cluster that can run no case of the scenario."""
    for system, cluster in clusters.items():
        if any(case.system == system for case in possible):
            continue
        reasons = dict.fromkeys(point.reason for point in left_out if point.system == system)
        why = " ".join(reasons) or f"the scenario has no system {system}."
        message = f"{loaded.scenario.name}: nothing of it can run on the cluster of {cluster.file}: {why}"
        raise ScenarioError(message)


def _refuse_nothing(
    loaded: LoadedScenario, backend: str, possible: Sequence[Case], left_out: Sequence[OmittedPoint]
) -> None:
    """Raise ScenarioError where a backend can run no case of the scenario."""
    if possible:
        return
    why = " ".join(dict.fromkeys(point.reason for point in left_out))
    message = f"{loaded.scenario.name}: nothing of it can run with --backend {backend}: {why}"
    raise ScenarioError(message)


def _omission_reasons(loaded: LoadedScenario, case: Case) -> list[str]:
    """Return why the scenario leaves a case out; empty where it does not."""
    spec = loaded.scenario.systems.specs()[case.system]
    return [omission.because for omission in spec.without if omits(omission, case)]


def _refuse_empty(loaded: LoadedScenario, scenario_cases: list[Case]) -> None:
    """Refuse an entry of `without` that leaves nothing out."""
    planned_systems = {case.system for case in scenario_cases}
    for system, spec in loaded.scenario.systems.specs().items():
        for number, omission in enumerate(spec.without if system in planned_systems else ()):
            if not any(case.system == system and omits(omission, case) for case in scenario_cases):
                message = "no point of the sweep has these values: name swept settings and values of theirs"
                raise loaded.error(("systems", system, "without", number, "where"), message)


def _refuse_unknown(loaded: LoadedScenario, system: System, case: Case) -> None:
    for owner, name, near in system.unknown_settings(case):
        hint = f"; nearest: {', '.join(near)}" if near else ""
        message = f"{case.system} {case.cluster.version} has no {owner} setting {name!r}{hint}"
        raise loaded.error(loaded.place_of(case.system, owner, name), message)


def _ordered_trials(possible: list[Case], rounds: int, seed: int) -> list[Trial]:
    ordered: list[Trial] = []
    groups: dict[str, list[Case]] = {}
    for case in possible:
        groups.setdefault(cluster_key(case.cluster), []).append(case)
    chance = random.Random(str(seed))
    for members in groups.values():
        chance.shuffle(members)
    beside = [[cluster_key(cluster) for cluster in clusters] for clusters in side_by_side(possible)]
    for number in range(rounds):
        together = list(beside)
        random.Random(f"{seed}/{number}").shuffle(together)
        for key in chain.from_iterable(together):
            for case in _williams_row(groups[key], number, rounds):
                ordered.append(Trial(len(ordered), number, case))
    return ordered


def _williams_row(members: list[Case], number: int, rounds: int) -> list[Case]:
    """Give a round its row of a square of Williams (1949), as far down as it is into the rounds.

    So each case has early and late places as often as the others, and another case before it from round to round.
    What a case leaves behind does not always fall on the same one.
    """
    count = len(members)
    first = number * count // rounds
    zigzag = ((place + 1) // 2 if place % 2 else -(place // 2) for place in range(count))
    return [members[(first + step) % count] for step in zigzag]


def cluster_key(cluster: Cluster) -> str:
    """Return a text that is equal for equal clusters."""
    return json.dumps(asdict(cluster), sort_keys=True)


def _row(trial: Trial) -> dict[str, Any]:
    return {
        "trial": trial.number,
        "round": trial.round,
        "system": trial.case.system,
        "name": trial.case.name,
        "settings": dict(trial.case.swept),
    }
