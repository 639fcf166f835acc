"""The notices of a run without faults: what changes its conclusion, the most important first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd

from bench import numbers
from bench.model import BUSY, ENOUGH_TRIALS, OTHER_WORK_CORES
from bench.report import other_runs
from bench.report.answer import guarantees
from bench.report.answer.configurations import Configurations
from bench.report.answer.sentences import sentence
from bench.report.results import Results
from bench.report.sections import machine_speed, method, sends_without_latency
from bench.systems.registry import system_title

_MOST = 3
"""So many notices are shown; how many more there are is the last line."""
_AT_LIMIT = 0.95
"""From this share of a limit on, the load was as fast as it may be."""
_MUCH_TRAFFIC = 0.05
"""From this share of a trial's own rate on, what others write is said."""
_FEW = 0.05
"""Below this share of trials beside other work a median hardly moves."""


def notices(cases: Configurations, note: str) -> tuple[str, ...]:
    """Return what changes the conclusion, at most three, then how many more the report has."""
    return most_important([*([note] if note else []), *_all_notices(cases)])


def most_important(all_notices: Sequence[str]) -> tuple[str, ...]:
    """Return the first notices, as many as a page shows, then how many more there are."""
    more = len(all_notices) - _MOST
    return (*all_notices[:_MOST], sentence("notice-more", {"more": more})) if more > 0 else tuple(all_notices)


def _all_notices(cases: Configurations) -> Iterator[str]:
    results = cases.results
    yield from _unequal(cases)
    if changes := other_runs.changes(results.manifest):
        yield sentence("notice-changed", {"changes": changes})
    yield from _limits(results)
    yield from uncounted_trials(results)
    yield from _other_work(results)
    yield from _other_traffic(results)
    yield from _rate_not_reached(cases)
    if other_runs.is_quick(results.manifest):
        yield sentence("notice-quick", {"has_slices": results.has_slices})
    yield from _few_rounds(results)
    yield from _uneven(results)


def _unequal(cases: Configurations) -> Iterator[str]:
    """Where two systems are measured, and no configuration of the one promises what one of the other does."""
    if len(cases.parts) != 2 or guarantees.points(cases):
        return
    system_promises = [[cases.promise(str(case)) for case in part.cases["case"]] for part in cases.parts]
    if any(promise is None for promises in system_promises for promise in promises):
        return
    surviving = [{promise.survives for promise in promises if promise} for promises in system_promises]
    single_guarantees = all(len(promises) == 1 for promises in surviving)
    first_guarantee, second_guarantee = (
        guarantees.short(min(promises)) if single_guarantees else "" for promises in surviving
    )
    first, second = (part.title for part in cases.parts)
    slots = {
        "first": first,
        "second": second,
        "first_guarantee": first_guarantee,
        "second_guarantee": second_guarantee,
    }
    yield sentence("notice-unequal", slots)


def _limits(results: Results) -> Iterator[str]:
    """Where the rates are not the servers' own: the load process limited most trials, or all cores were busy."""
    for system, trials in results.valid.groupby("system", sort=False):
        by_client = int((trials["bottleneck"] == "client").sum())
        if by_client * 2 > len(trials):
            slots = {"system": system_title(str(system)), "limited": by_client, "trials": len(trials)}
            yield sentence("notice-client", slots)
    yield from _rate_limit(results)
    full = pd.to_numeric(results.valid["machine_cpu_share"]) >= BUSY
    if int(full.sum()) * 2 > len(results.valid):
        slots = {"full": int(full.sum()), "trials": len(results.valid), "cores": method.cores(results)}
        yield sentence("notice-cores", slots)


def _rate_limit(results: Results) -> Iterator[str]:
    """Where closed loops were as fast as the file of an external cluster allows."""
    limits = {
        number: most for number, trial in results.trial_records.items() if (most := trial.load.most_per_s)
    }
    rates = zip(results.valid["trial"], results.valid["throughput_msgs_per_s"], strict=True)
    limited = sum(float(rate) >= _AT_LIMIT * limits.get(int(number), math.inf) for number, rate in rates)
    if limited:
        trials = numbers.plural(len(results.valid), "trial")
        slots = {"limited": limited, "trials": trials, "rate": numbers.rate(max(limits.values()))}
        yield sentence("notice-limited", slots)


def uncounted_trials(results: Results) -> Iterator[str]:
    """Say how many trials do not count, and how many were never run; nothing where all count."""
    if invalid := len(results.trials) - len(results.valid):
        slots = {"uncounted": invalid, "trials": numbers.plural(len(results.trials), "trial")}
        yield sentence("notice-uncounted", slots)
    if results.never_run:
        yield sentence("notice-cut-short", {"trials": numbers.plural(results.never_run, "planned trial")})


def _other_work(results: Results) -> Iterator[str]:
    other_cores = method.other_work_cores(results.valid)
    if len(other_cores) and len(other_cores) >= _FEW * len(results.valid):
        slots = {
            "count": len(other_cores),
            "trials": numbers.plural(len(results.valid), "trial"),
            "least": f"{OTHER_WORK_CORES:g}",
            "cores": method.cores(results),
        }
        yield sentence("notice-other-work", slots)


def _other_traffic(results: Results) -> Iterator[str]:
    """Where others wrote much to the same external cluster meanwhile."""
    if "other_messages_per_s" not in results.valid:
        return
    rates = pd.to_numeric(results.valid["other_messages_per_s"])
    high_rates = rates[rates > _MUCH_TRAFFIC * pd.to_numeric(results.valid["throughput_msgs_per_s"])]
    if len(high_rates):
        slots = {
            "rate": numbers.rate(high_rates.max()),
            "count": len(high_rates),
            "trials": numbers.plural(len(results.valid), "trial"),
        }
        yield sentence("notice-other-traffic", slots)


def _rate_not_reached(cases: Configurations) -> Iterator[str]:
    """Where much of what an open loop was to send was never sent."""
    if (worst := sends_without_latency.worst(cases.results)) is not None:
        slots = {
            "name": cases.name_with_system(worst.case),
            "share": numbers.share(worst.share),
            "cases": worst.cases,
            "all_cases": numbers.plural(worst.all_cases, "configuration"),
        }
        yield sentence("notice-rate", slots)


def _few_rounds(results: Results) -> Iterator[str]:
    least = 2 if results.over_rounds else ENOUGH_TRIALS
    counts = [int(rounds) for rounds in results.cases["rounds"] if rounds > 0]
    few = sum(count < least for count in counts)
    if few:
        slots = {"few": few, "cases": numbers.plural(len(counts), "configuration"), "least": least}
        yield sentence("notice-rounds", slots)


def _uneven(results: Results) -> Iterator[str]:
    """Where the machine's speed differed between trials, and what is compared was not measured in alternating slices.

    Searches for a capacity follow each other.
    """
    probes = machine_speed.probe_times_ns(results.valid, "machine_probe_ns")
    if (results.has_slices and results.capacities.empty) or len(probes) < 2:
        return
    spread = float(probes.max() / probes.min())
    _, _, matters = machine_speed.PROBES[0]
    if spread >= matters:
        yield sentence("notice-uneven", {"factor": numbers.factor(spread)})
