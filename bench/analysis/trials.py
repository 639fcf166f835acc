"""The table `trials`: everything known of a trial in one row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench import numbers
from bench.analysis.log_validation import LogCheck
from bench.analysis.resources.bottleneck import TrialSetup, bottleneck
from bench.analysis.resources.telemetry import NodeFigure
from bench.analysis.resources.usage import NodeShares, usage
from bench.analysis.speed.latency import MEASURES, Distribution
from bench.analysis.speed.throughput import SendTally, throughput
from bench.capacity.capacity import Capacity
from bench.columns import CAPACITY, CONSUMER_COUNTERS, COUNTERS, CREATE_NS, SEGMENTS
from bench.model import BUSY, NANOS
from bench.records.trial import MachineRecord, NodeSizeRecord, TrialRecord

Row = dict[str, object]

_CLOCK_ERRORS = 10
"""A time between two machines is at least so many times as long as their clocks may be off, or it is left out."""


@dataclass(frozen=True, slots=True)
class TrialCounts:
    """All that Spark counted, by trial. `logged` are the trials that have an event log, be it empty."""

    logged: Collection[int]
    recorded: Mapping[int, LogCheck]
    tallies: Mapping[int, Sequence[SendTally]]
    unsent: Mapping[int, int]
    distributions: Mapping[tuple[int, str], Distribution]
    accounts: Mapping[int, Mapping[str, int | None]]
    out_of_order: Mapping[int, int]
    consumers: Mapping[int, Mapping[str, int]]
    capacities: Mapping[int, Capacity]
    used: Mapping[int, Sequence[NodeFigure]]
    levels: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    members: Mapping[int, Row] = field(default_factory=dict)
    held_machine: Mapping[int, float] = field(default_factory=dict)


def trial_row(trial: TrialRecord, settings: Iterable[str], counted: TrialCounts) -> Row:
    """Bring one trial's record and counts together; what cannot be said is left out and becomes null."""
    account = _account(trial, counted)
    rates = _rates(trial, counted)
    resources = _resources(trial, counted, rates)
    row: Row = {
        "trial": trial.trial,
        "round": trial.round,
        "system": trial.case.system,
        "case": trial.case.name,
        "state": trial.state,
        **_verdict(trial, [*_problems(trial, counted, account), *_load_limits(trial, counted, resources)]),
        **{name: trial.settings.get(name) for name in settings},
        **rates,
        CAPACITY: capacity.middle_rate if (capacity := counted.capacities.get(trial.trial)) else None,
        "slices": len(trial.spans) if trial.has_slices else None,
        **_latency(trial, counted),
        **account,
        "due_unsent": counted.unsent.get(trial.trial),
        "clock_error_ns": trial.clock_error_ns if trial.window else None,
        "other_messages_per_s": trial.other_messages_per_s,
        "account_complete": trial.is_verified,
        **(trial.client.model_dump() if trial.client else {}),
        "fsync_ns": trial.disk.typical_ns if trial.disk else None,
        **_machine(trial.machine),
        **resources,
        **counted.levels.get(trial.trial, {}),
        **counted.members.get(trial.trial, {}),
        SEGMENTS: trial.most_segments,
        CREATE_NS: trial.created_ns,
    }
    if trial.window is not None:
        row |= bottleneck(row, trial_setup(trial))
    return row


def _resources(trial: TrialRecord, counted: TrialCounts, rates: Mapping[str, float | None]) -> Row:
    size = trial.node_size or NodeSizeRecord()
    return usage(
        counted.used.get(trial.trial, ()),
        rates["throughput_msgs_per_s"],
        rates["throughput_bytes_per_s"],
        NodeShares(size.links | trial.links, size.cores),
        trial.case.description,
    )


def _load_limits(trial: TrialRecord, counted: TrialCounts, resources: Row) -> Iterator[str]:
    """Say why a trial with nodes of a given size shows the load's limit, or the machine's, and not the nodes'.

    Of a search for capacity the holds decide on which its result rests, not the slices before them.
    """
    if trial.node_size is None or not trial.node_size.slows:
        return
    share = trial.client.cpu_share if trial.client else None
    if share is not None and share >= BUSY:
        used = numbers.percent(share)
        yield f"The load process used {used} of a core, so the nodes' size need not have been the limit."
    machine = counted.held_machine.get(trial.trial, resources.get("machine_cpu_share"))
    if isinstance(machine, float) and machine >= BUSY:
        busy = numbers.percent(min(1.0, machine))
        yield f"The machine was {busy} busy, so the nodes did not get what their size gives them."


def _machine(machine: MachineRecord | None) -> Row:
    return {f"machine_{name}": took for name, took in (machine or MachineRecord()).model_dump().items()}


def trial_setup(trial: TrialRecord) -> TrialSetup:
    """Return what a trial's record has that decides what limited it."""
    case = trial.case
    system, settings, configuration = case.description, case.all_settings, case.configuration
    in_turn = system.copies_in_turn(settings)
    return TrialSetup(
        rate=_rate(trial),
        open_sends=_open_sends(trial),
        waits=system.waits(settings),
        in_turn=in_turn,
        beside=max(0.0, 1 - in_turn / case.copies),
        logs=system.synced_logs(settings, configuration.get("partitions", 1), case.nodes),
        request_timer=system.request_timer,
        fsync_timer=system.fsync_timer,
        fsync_wait=system.fsync_wait,
        narrowed=bool(trial.links),
        broken=trial.is_fault_trial,
    )


def _rate(trial: TrialRecord) -> float | None:
    """Return the rate that an open loop asked for, over its window or over all its slices."""
    schedule = trial.load.schedule
    if schedule is None or not trial.spans:
        return None
    due = sum(
        schedule.due_before(span.end_ns - span.begun_ns) - schedule.due_before(span.start_ns - span.begun_ns)
        for span in trial.spans
    )
    return due * NANOS / sum(span.length_ns for span in trial.spans)


def _open_sends(trial: TrialRecord) -> int | None:
    """Return how many sends a closed loop has under way at a time: one takes the place of each that is over."""
    producers, window = trial.load.producers, trial.load.window
    return None if trial.open_loop or producers is None or window is None else producers * window


def _rates(trial: TrialRecord, counted: TrialCounts) -> dict[str, float | None]:
    rates = throughput(counted.tallies.get(trial.trial, ()), trial.spans)
    if trial.trial not in counted.logged:
        rates |= {"throughput_msgs_per_s": None, "throughput_bytes_per_s": None}
    return rates


def _latency(trial: TrialRecord, counted: TrialCounts) -> Row:
    row: Row = {}
    for measure in MEASURES:
        distribution = counted.distributions.get((trial.trial, measure))
        if distribution:
            figures = distribution.figures(measure)
            row |= _certain(figures, trial.clock_error_ns) if measure == "e2e" else figures
    if trial.trial in counted.logged and trial.load.consumers != 0:
        end_to_end = counted.distributions.get((trial.trial, "e2e"))
        row["e2e_messages"] = end_to_end.timed_count if end_to_end else 0
    return row


def _certain(figures: Mapping[str, int | None], clock_error_ns: int) -> Row:
    return {
        name: value if value is None or clocks_suffice(value, clock_error_ns) else None
        for name, value in figures.items()
    }


def clocks_suffice(time_ns: int, clock_error_ns: int) -> bool:
    """Whether the clocks of two machines are known to within a tenth of a time between them."""
    return time_ns >= _CLOCK_ERRORS * clock_error_ns


def _account(trial: TrialRecord, counted: TrialCounts) -> Row:
    """Return the counters; nothing is called lost or gone where the full read did not reach the end, but unread."""
    if trial.trial not in counted.logged:
        return {}
    account = {
        **counted.accounts.get(trial.trial, {}),
        "out_of_order": counted.out_of_order.get(trial.trial, 0),
        **counted.consumers.get(trial.trial, {}),
    }
    row: Row = {name: account.get(name, 0) for name in COUNTERS}
    if not trial.load.consumers or trial.has_consumer_group:
        row |= dict.fromkeys(CONSUMER_COUNTERS)
    if not trial.is_verified:
        row |= {"unread": row["lost"], "lost": None, "unknown_absent": None, "read_then_gone": None}
    return row


def _problems(trial: TrialRecord, counted: TrialCounts, account: Row) -> list[str]:
    """Say, in sentences, what the event log itself has against the trial, whatever trial.json says."""
    problems = ["The trial failed."] if trial.state == "failed" and trial.verdict != "invalid" else []
    if trial.trial in counted.recorded:
        problems += counted.recorded[trial.trial].problems
    if account.get("foreign"):
        problems.append(f"{account['foreign']} rows of the full read are explained by no send.")
    repeated = counted.accounts.get(trial.trial, {}).get("repeated", 0)
    if repeated:
        problems.append(f"{repeated} messages stand in the sends more than once.")
    return problems


def _verdict(trial: TrialRecord, problems: Sequence[str]) -> Row:
    if trial.verdict == "valid" and not problems:
        return {"verdict": "valid", "reason": None}
    checks = [check.reason or check.check for check in trial.verdicts if check.verdict != "valid"]
    reasons = [trial.reason] if trial.reason else checks
    return {
        "verdict": "invalid" if problems else trial.verdict,
        "reason": " ".join([*reasons, *problems]) or None,
    }
