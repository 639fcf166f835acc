"""How a trial's record is begun and finished (records/trial.py), with the checks behind its verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bench import numbers
from bench.backends import cores
from bench.load.results import LoadResult, ReadResult, SendCounts, SliceResult
from bench.model import FEW_FSYNCS, NANOS, Case, Load, Scalar, Settings, Trial, Verdict
from bench.records.steps import GroupRecord, LeftOutRecord, ReadRecord, StepRecord
from bench.records.trial import (
    FORMAT,
    CaseRecord,
    CheckRecord,
    ClientRecord,
    DiskRecord,
    LoadRecord,
    NodeSizeRecord,
    TrialRecord,
    VerifyRecord,
    Window,
)
from bench.run import node_sizes
from bench.run.folder import now_utc
from bench.scenario.values import added_fsync_s

_LATE, _LATE_NS = 0.5, 1_000_000
"""Where half of a server's fsyncs are held for half as long again as asked, and this much longer, that is another disk.
"""


def blank(trial: Trial, logs: str | None = None) -> TrialRecord:
    """Return a trial's record as it stands before the first send; `logs` is the folder of its cluster's logs."""
    return TrialRecord(
        format=FORMAT,
        trial=trial.number,
        round=trial.round,
        case=CaseRecord(
            system=trial.case.system,
            name=trial.case.name,
            settings=dict(trial.case.swept),
            configuration=_configuration(trial.case),
        ),
        load=_load(trial.case.load),
        started_utc=now_utc(),
        state="failed",
        reason="It was not finished.",
        verdict=Verdict.INVALID,
        logs=logs,
        verify=VerifyRecord(complete=False, reason="not begun"),
    )


def _configuration(case: Case) -> dict[str, Any]:
    cluster = case.cluster
    return {
        "version": cluster.version,
        "nodes": dict(cluster.nodes),
        "heap_mib": dict(cluster.heap_mib),
        "jit": str(cluster.jit),
        "partitions": case.partitions,
        "topic": dict(case.topic),
        "producer": dict(case.producer),
        "consumer": dict(case.consumer),
        "processor": dict(case.processor),
        **({"consumer_group": dict(case.consumer_group)} if case.consumer_group else {}),
        **({"spare": dict(cluster.spare)} if cluster.spare else {}),
        **({"cores": asdict(cores.split())} if cluster.pinned else {}),
        "disk": dict(case.disk),
        "telemetry": case.telemetry,
        "faults": [dict(step) for step in case.faults],
        "cluster_settings": _by_role(cluster.settings_of(case.group)),
        "node_size": _by_role(case.node_size),
        "capacity": dict(case.capacity),
        "group": case.group,
        "groups": {name: _by_role(settings) for name, settings in cluster.groups.items()},
    }


def _by_role(settings: Mapping[str, Settings]) -> dict[str, dict[str, Scalar]]:
    return {role: dict(values) for role, values in settings.items()}


def _load(load: Load) -> LoadRecord:
    return LoadRecord(
        producers=load.producers,
        consumers=load.consumers,
        message_bytes=load.message_bytes,
        pacing="closed" if load.pacing.is_closed_loop else list(load.pacing.steps),
        window=load.window,
        warm_up_s=load.warm_up_s,
        duration_s=load.duration_s,
        messages=load.messages,
        keys=load.keys or None,
        most_per_s=load.most_per_s or None,
        processes=load.processes if load.processes > 1 else None,
    )


def fail(record: TrialRecord, reason: str) -> None:
    """Write down that a trial could not be finished."""
    record.state, record.reason = "failed", reason
    record.verdict = Verdict.INVALID
    record.verdicts = [_check("trial", Verdict.INVALID, reason)]


def finish(record: TrialRecord, sent: LoadResult, read: ReadResult, unsettled: str | None = None) -> None:
    """Write down what came of a trial that is over, with the checks that judge it.

    What the trial wrote down itself is in `record` already: its faults, its disks, the size of its nodes, and what was
    read back from the cluster. `unsettled` says what did not come about after the faults, which leaves open what a
    later read would return.
    """
    if unsettled is not None:
        reason = f"The cluster had not settled, so a later read might return more messages. {unsettled}"
        read = read.model_copy(update={"complete": False, "reason": reason})
    checks = [
        _recorder(sent),
        _load_went_on(sent, record.faults),
        *_disk(record.disk),
        *_node_size(record.node_size),
        *_faults(record, sent),
        *_readers(record.faults),
        _account(read, record),
    ]
    bad = [str(check.reason) for check in checks if check.verdict != Verdict.VALID]
    record.state, record.reason = "finished", " ".join(bad) or None
    record.window, record.client = sent.window, sent.client
    record.verdict, record.verdicts = _worst(checks), checks
    record.effective = {**(record.effective or {}), "producer": sent.producer}
    record.verify = VerifyRecord(complete=read.complete, reason=read.reason)


def other_rate(first: tuple[int, int] | None, last: tuple[int, int] | None) -> float | None:
    """Return how many messages a second others wrote between two looks (Testbed.other_messages); None without both."""
    if first is None or last is None or last[0] <= first[0]:
        return None
    return round((last[1] - first[1]) * NANOS / (last[0] - first[0]), 1)


def in_slices(producer: dict[str, Any], slices: Sequence[SliceResult], closed: SendCounts) -> LoadResult:
    """Return what came of a load in slices as one; `producer` has the client's effective settings."""
    clients = [result.client for result in slices]
    shares = [client.cpu_share or 0.0 for client in clients]
    return LoadResult(
        **closed.model_dump(),
        window=Window(start_ns=slices[0].slice.start_ns, end_ns=slices[-1].slice.end_ns),
        client=ClientRecord(
            cpu_share=round(sum(shares) / len(shares), 4),
            loop_lag_max_ns=max(client.loop_lag_max_ns or 0 for client in clients),
            recorder_backlog_max=max(client.recorder_backlog_max or 0 for client in clients),
        ),
        producer=producer,
        due_unsent=sum(result.due_unsent for result in slices),
        stalled=any(result.stalled for result in slices),
    )


def _worst(checks: Sequence[CheckRecord]) -> Verdict:
    verdicts = {check.verdict for check in checks}
    return next((v for v in (Verdict.INVALID, Verdict.UNKNOWN) if v in verdicts), Verdict.VALID)


def _check(name: str, verdict: Verdict, reason: str) -> CheckRecord:
    return CheckRecord(check=name, verdict=verdict, reason=reason)


def _recorder(sent: LoadResult) -> CheckRecord:
    """Every send ends in the event log, with an outcome, or the trial can't be used."""
    recorded = sent.acked + sent.failed + sent.unknown
    if sent.sent == recorded and sent.acked > 0:
        return _check("recorder", Verdict.VALID, f"all {recorded:,} sends are in the event log")
    reason = f"{sent.sent:,} sends were made, {recorded:,} are in the log, {sent.acked:,} acknowledged."
    return _check("recorder", Verdict.INVALID, reason)


def _faults(record: TrialRecord, sent: LoadResult) -> list[CheckRecord]:
    """Hold each fault against its evidence: it came, it met the load, and something shows that it took effect."""
    struck = record.strikes.values()
    never = [name for step in record.faults if isinstance(step, LeftOutRecord) for name in step.strikes]
    late = [
        fault.name
        for fault in struck
        if not fault.after_load and sent.window and fault.asked_ns >= sent.window.end_ns
    ]
    unproven = {fault.name: fault.unproven for fault in struck if not fault.proven}
    for names, wrong, whys in (
        (never, "These faults never came", ()),
        (late, "These faults came after the load, which they were to meet", ()),
        (unproven, "Nothing shows that these faults took effect", unproven.values()),
    ):
        if names:
            reason = " ".join([f"{wrong}: {', '.join(names)}.", *filter(None, whys)])
            return [_check("faults", Verdict.INVALID, reason)]
    if not struck:
        return []
    evidence = "; ".join(f"{fault.name}: {fault.evidence}" for fault in struck)
    return [_check("faults", Verdict.VALID, evidence)]


def _readers(faults: Iterable[StepRecord]) -> list[CheckRecord]:
    """A reader of a step reaches the end, or stands still until it is given up; one that failed has shown nothing.

    Nor has a consumer group of a step that failed: what it did not read may be there.
    """
    failed = [
        f"The {'reader' if isinstance(step, ReadRecord) else 'consumer group'} of {step.name!r} failed: {step.reason}"
        for step in faults
        if (isinstance(step, ReadRecord) and not step.complete and not step.stalls)
        or (isinstance(step, GroupRecord) and step.reason)
    ]
    return [_check("reader", Verdict.INVALID, " ".join(failed))] if failed else []


def _load_went_on(sent: LoadResult, faults: Sequence[StepRecord]) -> CheckRecord:
    if sent.stalled and faults:
        reason = (
            f"the load stopped during the faults: {sent.never_told:,} sends were open, {sent.due_unsent:,} were never "
            "made"
        )
        return _check("load", Verdict.VALID, reason)
    if sent.stalled:
        return _check("load", Verdict.INVALID, "The load stopped: the brokers no longer answered.")
    if sent.due_unsent:
        reason = f"{sent.due_unsent:,} sends were due and never made: the rate asked for was not reached"
        return _check("load", Verdict.VALID, reason)
    return _check("load", Verdict.VALID, f"{sent.never_told:,} sends were still open at the end")


def _disk(disk: DiskRecord | None) -> list[CheckRecord]:
    """Hold what fsyncs of the servers took against what they were made to take.

    Before the load with what the disk itself takes; in it how long they were held, which a machine without a core to
    spare may draw out.
    """
    added_ns = round(added_fsync_s(disk.emulated_fsync) * NANOS) if disk else 0
    if disk is None or not added_ns:
        return []
    deviations = [
        f"{figures['p50'] / 1e6:.2f} ms on {node} {phase}"
        for measured, phase, most_ns in (
            (disk.fsync_ns, "before the load", math.inf),
            (disk.held, "in it", added_ns + max(_LATE * added_ns, _LATE_NS)),
        )
        for node, figures in measured.items()
        if figures["calls"] >= FEW_FSYNCS and not added_ns <= figures["p50"] < most_ns
    ]
    delay_words = f"fsyncs were to take {disk.emulated_fsync} longer"
    if deviations:
        return [
            _check(
                "disk", Verdict.INVALID, f"{numbers.sentence(delay_words)} and took {', '.join(deviations)}."
            )
        ]
    return [_check("disk", Verdict.VALID, f"{delay_words}, and did on {len(disk.fsync_ns)} disks")]


def _node_size(size: NodeSizeRecord | None) -> list[CheckRecord]:
    """Hold what each node got against what was asked for its role."""
    if size is None:
        return []
    deviations = [
        f"{node} got {_words(name, got)} instead of {size.limits[node.rpartition('-')[0]][name]}"
        for node, measured in size.measured.items()
        for name, got in measured.items()
        if not node_sizes.near(name, got, size.limits[node.rpartition("-")[0]][name])
    ]
    size_words = "; ".join(
        f"{role} {', '.join(f'{name} {value}' for name, value in values.items())}"
        for role, values in size.limits.items()
    )
    if deviations:
        reason = f"The size of nodes was not as asked ({size_words}): {'; '.join(deviations)}."
        return [_check("node_size", Verdict.INVALID, reason)]
    return [_check("node_size", Verdict.VALID, f"asked: {size_words}; {len(size.measured)} nodes got that")]


def _words(name: str, got: float | Sequence[float]) -> str:
    if isinstance(got, float):
        factor, unit = {
            node_sizes.CPU: (1.0, "cores"),
            node_sizes.MEMORY: (1 / 2**20, "MiB of memory"),
            node_sizes.DISK_WRITE: (1e-6, "MB/s to its disk"),
            node_sizes.FSYNC: (1e3, "ms more an fsync"),
        }[name]
        return f"{got * factor:.3g} {unit}"
    return " and ".join(
        f"{bytes_per_s * 8 / 1e6:.3g} Mbit/s {way}"
        for bytes_per_s, way in zip(got, ("in", "out"), strict=True)
    )


def _account(read: ReadResult, record: TrialRecord) -> CheckRecord:
    """A read that stops short leaves the question open, unless what it would need was never mended: then it answers."""
    if read.complete:
        return _check("account", Verdict.VALID, f"the full read returned {read.received:,} messages")
    reason = f"The full read did not reach the end: {read.reason}"
    broken = [
        fault.name for fault in record.strikes.values() if fault.heal == "never" and fault.healed_ns is None
    ]
    if broken:
        return _check("account", Verdict.VALID, f"{reason} Never mended: {', '.join(broken)}.")
    return _check("account", Verdict.UNKNOWN, reason)
