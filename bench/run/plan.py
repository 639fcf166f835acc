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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, groupby
from typing import Any, TypeAlias

from bench.errors import EventLogError, ScenarioError
from bench.model import Case, Cluster, Settings, Trial, text
from bench.run import claims, estimate, external_cases, fault_check, wiring
from bench.run import external as external_clusters
from bench.run.external import External
from bench.run.folder import RunFolder
from bench.run.shared_clusters import on_shared_clusters, side_by_side
from bench.scenario import Loaded, cases, load
from bench.scenario.expand import has, omits
from bench.systems.protocols import System

Start: TypeAlias = tuple[Cluster, list[Trial]]
"""A cluster and the trials on one start of it."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A point of the sweep that cannot exist, or that the scenario leaves out."""

    system: str
    settings: Settings
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The trials of so many rounds in the order they run; `cases` are their cases' names as the scenario has them.

    `external` has the clusters that somebody else runs, on which all of them run; empty for the suite's own. `asked`
    are the cases as they would run on clusters of the suite, all that the scenario has for these systems.
    """

    loaded: Loaded
    seed: int
    rounds: int
    trials: tuple[Trial, ...]
    left_out: tuple[LeftOut, ...]
    swept: Mapping[str, list[str]]
    cases: tuple[str, ...]
    external: External = field(default_factory=dict)
    asked: tuple[Case, ...] = ()

    def starts(self, trials: list[Trial] | None = None) -> list[list[Start]]:
        """Group consecutive clusters of a round that run side by side, each with its trials."""
        place = {
            cluster_key(cluster): number
            for number, clusters in enumerate(side_by_side(self._ordered_cases()))
            for cluster in clusters
        }
        started = self.clusters(trials)
        alone = iter(range(len(started)))
        grouped = groupby(
            started,
            key=lambda start: (
                start[1][0].round,
                place[cluster_key(start[0])],
                next(alone) if start[1][0].case.load.slices is None else -1,
            ),
        )
        return [list(members) for _, members in grouped]

    def clusters(self, trials: list[Trial] | None = None) -> list[Start]:
        """Group consecutive trials that share a cluster and a round: one cluster start each.

        What broke a cluster may have left something behind: a trial with faults has a cluster of its own.
        """
        chosen = list(self.trials) if trials is None else trials
        grouped = groupby(
            chosen,
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
        wanted = self.loaded.scenario.baseline
        named = [case for case in ordered if case.system in wanted and has(case, wanted[case.system])]
        found: dict[str, str] = {}
        for case in (*named, *ordered):
            found.setdefault(case.system, case.name)
        return found

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


def plan(loaded: Loaded, seed: int, rounds: int | None = None, external: External | None = None) -> Plan:
    """Plan so many rounds of a run; without them all that it has, or the first of those that a budget allows.

    With `external` clusters only cases of their systems are planned, and of these only what can run there.

    Raises ScenarioError for unknown settings, for a value or a system with no point that can exist, and for what no
    case can decide.
    """
    clusters = external or {}
    every = [
        case for case in cases(loaded.scenario, wiring.version) if not clusters or case.system in clusters
    ]
    possible, left_out = _sorted_out(loaded, every, wiring.system, clusters)
    possible = [fault_check.checked(loaded, case) for case in possible]
    claims.check(loaded, possible, narrowed=bool(loaded.overrides or clusters))
    possible = on_shared_clusters(possible)
    swept = {case.system: list(case.swept) for case in every}
    count = rounds or (loaded.scenario.repeats if loaded.scenario.budget is None else 1)
    trials = tuple(_ordered(possible, count, seed))
    return Plan(
        loaded=loaded,
        seed=seed,
        rounds=count,
        trials=trials,
        left_out=tuple(left_out),
        swept=swept,
        cases=tuple(case.name for case in possible),
        external=clusters,
        asked=tuple(every),
    )


def longer(chosen: Plan, rounds: int) -> Plan:
    """Return a plan of so many rounds that begins with the trials of the one given."""
    return plan(chosen.loaded, chosen.seed, rounds, chosen.external)


def planned(folder: RunFolder) -> Plan:
    """Plan again what a run folder was made for. Raises EventLogError where the plan is another now."""
    manifest, kept = folder.read("manifest.json"), folder.read("plan.json")
    loaded = load(folder.path / "scenario.yaml", manifest["profile"], manifest["overrides"])
    again = plan(loaded, manifest["seed"], kept["rounds"], external_clusters.kept(folder))
    if json.loads(json.dumps(again.document()))["trials"] != kept["trials"]:
        message = (
            f"{folder.path / 'plan.json'}: the suite now plans other trials from the same scenario; "
            "go on with the version that the manifest names, or start a new run"
        )
        raise EventLogError(message)
    return again


def _sorted_out(
    loaded: Loaded, every: list[Case], system: Callable[[str], System], clusters: External
) -> tuple[list[Case], list[LeftOut]]:
    possible: list[Case] = []
    left_out: list[LeftOut] = []
    _refuse_empty(loaded, every)
    for case in every:
        _refuse_unknown(loaded, system(case.system), case)
    for case, refusals in _placed(clusters, every):
        reasons = _omitted(loaded, case) or refusals or system(case.system).check(case)
        if reasons:
            left_out.append(LeftOut(case.system, dict(case.swept), " ".join(reasons)))
        else:
            possible.append(case)
    if clusters:
        _refuse_none(loaded, clusters, possible, left_out)
    else:
        _refuse_impossible(loaded, possible, left_out)
    return possible, left_out


def _refuse_impossible(loaded: Loaded, possible: Sequence[Case], left_out: Sequence[LeftOut]) -> None:
    """Refuse a system without a case, and a value that none can have: but for one that `without` leaves out."""
    meant = {
        (system, omission.because)
        for system, spec in loaded.scenario.systems.chosen().items()
        for omission in spec.without
    }
    for point in left_out:
        rest = [case for case in possible if case.system == point.system]
        if not rest:
            path = loaded.path_of(point.system, point.reason)
            raise loaded.error(path, f"this cannot exist: {point.reason}")
        if (point.system, point.reason) in meant:
            continue
        for name, value in point.settings.items():
            if not any(case.swept[name] == value for case in rest):
                path = loaded.path_of(point.system, name)
                message = (
                    f"no case with {name}={text(value)} can exist: {point.reason} Take it out of the sweep"
                )
                raise loaded.error(path, message)


def _placed(clusters: External, every: list[Case]) -> list[tuple[Case, list[str]]]:
    """Return each case where it runs, with the reasons why an external cluster cannot run it."""
    if not clusters:
        return [(case, []) for case in every]
    return [
        placed
        for system, cluster in clusters.items()
        for placed in external_cases.placed(cluster, [case for case in every if case.system == system])
    ]


def _refuse_none(
    loaded: Loaded, clusters: External, possible: Sequence[Case], left_out: Sequence[LeftOut]
) -> None:
    """Raise ScenarioError for an external cluster that can run no case of the scenario."""
    for system, cluster in clusters.items():
        if any(case.system == system for case in possible):
            continue
        reasons = dict.fromkeys(point.reason for point in left_out if point.system == system)
        why = " ".join(reasons) or f"the scenario has no system {system}."
        message = f"{loaded.scenario.name}: nothing of it can run on the cluster of {cluster.file}: {why}"
        raise ScenarioError(message)


def _omitted(loaded: Loaded, case: Case) -> list[str]:
    """Return why the scenario leaves a case out; empty where it does not."""
    spec = loaded.scenario.systems.chosen()[case.system]
    return [omission.because for omission in spec.without if omits(omission, case)]


def _refuse_empty(loaded: Loaded, every: list[Case]) -> None:
    """Refuse an entry of `without` that leaves nothing out."""
    planned_systems = {case.system for case in every}
    for system, spec in loaded.scenario.systems.chosen().items():
        for number, omission in enumerate(spec.without if system in planned_systems else ()):
            if not any(case.system == system and omits(omission, case) for case in every):
                message = "no point of the sweep has these values: name swept settings and values of theirs"
                raise loaded.error(("systems", system, "without", number, "where"), message)


def _refuse_unknown(loaded: Loaded, system: System, case: Case) -> None:
    for owner, name, near in system.unknown_settings(case):
        hint = f"; nearest: {', '.join(near)}" if near else ""
        message = f"{case.system} {case.cluster.version} has no {owner} setting {name!r}{hint}"
        raise loaded.error(loaded.place_of(case.system, owner, name), message)


def _ordered(possible: list[Case], rounds: int, seed: int) -> list[Trial]:
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
            for case in _turned(groups[key], number, rounds):
                ordered.append(Trial(len(ordered), number, case))
    return ordered


def _turned(members: list[Case], number: int, rounds: int) -> list[Case]:
    """Give a round its row of a square of Williams (1949), as far down as it is into the rounds.

    So each case has early and late places alike, and another case before it from round to round: what a case leaves
    behind does not always fall on the same one.
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
