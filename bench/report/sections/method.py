"""How the run was measured: short facts, from the manifest and from every trial's own file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from bench import numbers
from bench.model import OTHER_WORK_CORES
from bench.records.trial import LoadRecord, NodeSizeRecord, TrialRecord
from bench.report import presentation, sweep
from bench.report.results import Json, Results
from bench.report.sections import machine_speed, precision, servers
from bench.report.sections.fact import Fact
from bench.report.sections.section import ReportInput, Section
from bench.scenario.values import AS_IS

_INTERLEAVED = (
    "The slices of all cases on clusters that run side by side alternate, in a new random order in each cycle, so that "
    "slow phases and drift meet all cases to the same extent."
)


ONE_SEND_OPEN = "closed loop of 1 producer with 1 send open"
"""What `pacing` says of the load in which throughput is the reciprocal of the service time."""


_RULES = (
    "how each number is made is in the project's documentation, docs/method: answer.md (the first page), latency.md, "
    "statistics.md (ratios, intervals, looks), trials.md (invalid and disturbed trials), resources.md (limited by), "
    "delivery.md (lost, duplicated), guarantees.md (promises), faults.md, capacity.md, sizing.md (costs)."
)


@dataclass(frozen=True, slots=True)
class Method:
    """`has_slices`: trials were measured in slices, not in one window."""

    facts: Sequence[Fact]
    has_slices: bool


def facts(results: Results, parts: Sequence[sweep.Part]) -> list[Fact]:
    """The whole method, a line a subject."""
    return [
        Fact("Run", _run(results)),
        *([Fact("After", str(results.manifest["source"]))] if results.manifest.get("source") else []),
        Fact("Machine", f"{machine(results)}; {machine_sharing(results)}."),
        Fact("Cost of one fsync", fsync(results)),
        *_node_sizes(results),
        *servers.facts(results, parts),
        Fact("Load", "; ".join(servers.distinct(map(_load_words, _loads(results)))) or numbers.NOTHING),
        *_processor(results),
        *_windows(results),
        Fact(
            "Rounds",
            " ".join(
                filter(
                    None,
                    (
                        precision.interval(results),
                        precision.width(results),
                        precision.undecided_expectations(results),
                        precision.looks(results),
                        _order(results),
                    ),
                )
            ),
        ),
        Fact("Load process", _client(results)),
        *machine_speed.facts(results),
        *_clock(results),
        *_late_declaration(results),
        Fact("Rules", _RULES),
    ]


def _late_declaration(results: Results) -> Iterator[Fact]:
    if presentation.compared_since(results.run):
        yield Fact(
            "First page",
            "which configurations it compares was declared after this run began; scenario.yaml in the run's folder "
            "has what was declared before.",
        )


def machine(results: Results) -> str:
    """What everything ran on."""
    machine = results.manifest.get("machine", {})
    parts = [
        cores(results),
        machine.get("cpu_model"),
        numbers.size(machine["memory_bytes"]) if "memory_bytes" in machine else None,
        machine.get("file_system"),
        machine.get("os"),
        machine.get("kernel"),
        machine.get("virtual") if machine.get("virtual") != "none" else None,
        f"idle cores {machine['idle_cores']}" if "idle_cores" in machine else None,
    ]
    return ", ".join(str(part) for part in parts if part)


def cores(results: Results) -> str:
    """How many cores the machine has."""
    count = results.manifest.get("machine", {}).get("cpus")
    return numbers.plural(int(count), "core") if count else "unknown cores"


def machine_sharing(results: Results) -> str:
    """Whether the load competes with the servers for the machine."""
    external = results.manifest.get("backend") == "external"
    return "clients only, the servers run elsewhere" if external else "shared by servers and clients"


def fsync(results: Results) -> str:
    """What one write and sync costs on the disk with the servers' data, and on those that were emulated."""
    emulated = _emulated_fsync(results)
    return f"{_plain_fsync(results)}{f'; {emulated}' if emulated else ''}"


_SIZE_UNITS = {
    "cpu": (1.0, "cores"),
    "memory": (1 / 2**20, "MiB"),
    "network": (8e-6, "Mbit/s"),
    "disk_write": (1e-6, "MB/s"),
    "fsync": (1e3, "ms more"),
}
"""By what a measured limit is multiplied, and its unit then."""
_DIGITS = 3


def _node_sizes(results: Results) -> Iterator[Fact]:
    """What nodes of each role were to get of the machine, and what they were measured to get."""
    got: dict[tuple[str, str, str], list[float]] = {}
    for trial in results.trial_records.values():
        size = trial.node_size or NodeSizeRecord()
        for node, measured in size.measured.items():
            role = node.rpartition("-")[0]
            for name, value in measured.items():
                asked_size = str(size.limits[role][name])
                got.setdefault((role, name, asked_size), []).extend(
                    value if isinstance(value, tuple) else [value]
                )
    words = [
        f"{role} {name} {asked_size}: {_size_span(name, values)}"
        for (role, name, asked_size), values in got.items()
    ]
    if words:
        yield Fact("Node size (emulated)", f"as measured on each node before the load: {'; '.join(words)}")


def _size_span(name: str, values: Sequence[float]) -> str:
    factor, unit = _SIZE_UNITS[name]
    least, most = (f"{value * factor:.{_DIGITS}g}" for value in (min(values), max(values)))
    return f"{least} to {most} {unit}" if least != most else f"{least} {unit}"


def _emulated_fsync(results: Results) -> str:
    """What an fsync was measured to cost on the servers, by what was asked for; empty where nothing was emulated."""
    cost_words = [
        f"{emulated_fsync}: {_span(costs)}{_in_trials(held)}"
        for emulated_fsync, (costs, held) in _on_disks(results).items()
    ]
    return f"emulated on every server, as measured there: {', '.join(cost_words)}" if cost_words else ""


def _on_disks(results: Results) -> dict[str, tuple[list[int], list[Mapping[str, int]]]]:
    """Return by what was asked for what an fsync cost in each trial, and for how long servers' own were held."""
    costs_by_fsync: dict[str, tuple[list[int], list[Mapping[str, int]]]] = {}
    measured = results.trials[results.trials["fsync_ns"].notna()]
    for trial, cost in zip(measured["trial"], measured["fsync_ns"], strict=True):
        disk = results.trial_records[trial].disk
        if disk is not None:
            costs, held = costs_by_fsync.setdefault(str(disk.emulated_fsync), ([], []))
            costs.append(int(cost))
            held.extend(disk.held.values())
    return costs_by_fsync


def _in_trials(held: Sequence[Mapping[str, int]]) -> str:
    """Say for how long servers' own fsyncs were held while the load ran; empty where none was."""
    if not held:
        return ""
    late = [hold["p99"] for hold in held if "p99" in hold]
    most = f", 99 of 100 for at most {numbers.duration(max(late))}" if late else ""
    return f" (in trials their own were held for {_span([hold['p50'] for hold in held])} in the middle{most})"


def gated_fsync(results: Results) -> str:
    """What an fsync costs as it is behind the gate that servers have where others are emulated; empty where none is."""
    costs, _ = _on_disks(results).get(AS_IS, ([], []))
    return _span(costs) if costs else ""


def _span(times_ns: Sequence[int]) -> str:
    low, high = numbers.duration(min(times_ns)), numbers.duration(max(times_ns))
    return low if low == high else f"{low} to {high}"


def _plain_fsync(results: Results) -> str:
    if results.manifest.get("backend") == "external":
        return "not measured: the servers run elsewhere"
    cost = results.manifest.get("fsync_ns") or {}
    if not cost.get("p50"):
        return "not measured"
    return (
        f"{numbers.duration(cost['p50'])} (median of {numbers.count(cost.get('calls'))} writes of "
        f"{numbers.size(cost.get('bytes'))} with fdatasync; p99 {numbers.duration(cost.get('p99'))})"
    )


def pacing(results: Results) -> str:
    """Closed or open loop, in few words for the first page."""
    return " and ".join(sorted(servers.distinct(map(_loop, _loads(results))))) or "load unknown"


def _loop(load: LoadRecord) -> str:
    if load.pacing is None:
        return "pacing unknown"
    if load.pacing == "closed":
        producers, window = numbers.plural(load.producers or 0, "producer"), load.window or 1
        return f"closed loop of {producers} with {window:,} {'send' if window == 1 else 'sends'} open"
    asked_rates = rates(load)
    return f"open loop of {asked_rates[0]:,.0f}/s" if len(asked_rates) == 1 else "open loop"


def rates(load: LoadRecord) -> list[float]:
    """Return the rates that an open loop asks for, each once; none of a closed one, and where nobody knows."""
    steps = load.pacing
    return [] if steps is None or steps == "closed" else list(dict.fromkeys(rate for _, rate in steps))


def _run(results: Results) -> str:
    manifest, suite = results.manifest, results.manifest.get("bench", {})
    timings_s = manifest.get("timings_s") or {}
    measuring, total = timings_s.get("measuring"), timings_s.get("total")
    share = (
        f" of {numbers.seconds(total)} ({numbers.percent(measuring / total)})" if measuring and total else ""
    )
    changes = ", ".join(map(str, manifest.get("overrides") or ()))
    seed = manifest.get("seed", "?")
    words = [
        f"scenario {manifest.get('scenario')}, profile {manifest.get('profile')}, seed {seed}",
        f"changed on the command line: {changes}" if changes else "",
        f"measured for {numbers.seconds(measuring)}{share}" if measuring else "",
        f"bench {suite.get('version', '?')}, git {str(suite.get('git') or '?')[:12]}",
        "the checkout had uncommitted changes" if suite.get("dirty") else "",
    ]
    return "; ".join(word for word in words if word) + "."


def _loads(results: Results) -> list[LoadRecord]:
    return [trial.load for trial in results.trial_records.values()]


def _load_words(load: LoadRecord) -> str:
    window = load.window or 1
    open_sends = (
        "one unacknowledged send at a time"
        if window == 1
        else f"at most {window:,} unacknowledged sends each"
    )
    return (
        f"{numbers.plural(load.producers or 0, 'producer')}, {open_sends}; "
        f"{numbers.plural(load.consumers or 0, 'live consumer')}; "
        f"messages of {load.message_bytes or 0:,} bytes; {_pace(load.pacing)}"
    )


def _pace(pacing: str | Sequence[tuple[float, float]] | None) -> str:
    if pacing is None:
        return "pacing unknown"
    if isinstance(pacing, str):
        return (
            "closed loop: a send waits for the one before it, so a slow server slows the load down, and the "
            "waiting that a fixed rate would bring is not in the times"
        )
    *earlier, (_, last) = pacing
    steps = [f"{rate:,.0f}/s for {seconds:g} s" for seconds, rate in earlier]
    steps += [f"then {last:,.0f}/s" if earlier else f"{last:,.0f}/s throughout"]
    return f"open loop: {', '.join(steps)}; response time counts from when a send was due"


def _processor(results: Results) -> Iterator[Fact]:
    processor_words = servers.distinct(
        _processor_words(processor)
        for trial in results.trial_records.values()
        if (processor := trial.case.configuration.get("processor"))
    )
    if processor_words:
        yield Fact(
            "Application",
            f"{'; '.join(processor_words)}. It reads the topic and writes another, in a process of its own. Live "
            "consumers and the full read read what it has written: lost, doubled and out of order are counted behind "
            "it.",
        )


def _processor_words(settings: Json) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def _windows(results: Results) -> Iterator[Fact]:
    """What of a trial's load counts: a window, or the counted parts of its slices."""
    trials = results.trial_records.values()
    contiguous = servers.distinct(_window_words(trial.load) for trial in trials if not trial.slices)
    in_slices = servers.distinct(_slice_words(trial.load) for trial in trials if trial.slices)
    if in_slices:
        counts = [len(trial.slices) for trial in trials if trial.slices]
        slice_words = f"{'; '.join(in_slices)}; {_from_to(counts)} slices a trial. {_INTERLEAVED}"
        yield Fact("Slices", " ".join([slice_words, *_shared_clusters(trials)]))
    if contiguous or not in_slices:
        yield Fact("Measured window", "; ".join(contiguous) or numbers.NOTHING)


def _shared_clusters(trials: Iterable[TrialRecord]) -> Iterator[str]:
    """Say which storage nodes with other settings stood in the same cluster."""
    for names in servers.distinct(
        " and ".join(groups) for trial in trials if (groups := trial.case.configuration.get("groups"))
    ):
        yield (
            f"Storage nodes with {names} stood in one cluster, a group of them each; those of the other group were "
            "stopped while a case was loaded."
        )


def _slice_words(load: LoadRecord) -> str:
    counted, lead_in = (f"{(seconds or 0.0) * 1000:,.0f} ms" for seconds in (load.duration_s, load.warm_up_s))
    return f"{counted} counted after a lead-in of {lead_in}"


def _from_to(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _window_words(load: LoadRecord) -> str:
    length = f"{numbers.count(load.messages)} messages" if load.messages else numbers.seconds(load.duration_s)
    return f"{length} after {numbers.seconds(load.warm_up_s)} of warm-up"


def _order(results: Results) -> str:
    seed = results.plan.get("seed", "?")
    if results.has_slices:
        return f"Each round starts every cluster anew and measures all cases; random orders come from seed {seed}."
    return f"Each round is one pass over all cases, on freshly started clusters, ordered by seed {seed}."


def _client(results: Results) -> str:
    if results.valid.empty:
        return numbers.NOTHING
    shares = pd.to_numeric(results.valid["cpu_share"])
    middle, most = numbers.percent(shares.median()), numbers.percent(shares.max())
    late = numbers.duration(pd.to_numeric(results.valid["loop_lag_max_ns"]).max())
    return f"load process: median {middle}, at most {most} of a core; event loop late by at most {late}."


def other_work_cores(trials: pd.DataFrame) -> pd.Series[float]:
    """Return the cores that other work took in the trials in which it took enough of them to matter."""
    other_cores = pd.to_numeric(trials["other_cpu"])
    return other_cores[other_cores >= OTHER_WORK_CORES]


def undisturbed_trials(valid: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the trials that other work did not disturb, all where it disturbed each; in words how many."""
    quiet = valid.drop(other_work_cores(valid).index)
    if quiet.empty:
        return valid, "" if valid.empty else " (beside other work)"
    return quiet, f" ({numbers.plural(len(quiet), 'trial')})" if len(quiet) < len(valid) else ""


def other_work_warning(results: Results) -> str | None:
    """Return the warning that something else took part of the machine while trials ran, None where nothing did."""
    other_cores = other_work_cores(results.trials)
    if other_cores.empty:
        return None
    trials = ", ".join(str(trial) for trial in sorted(results.trials.loc[other_cores.index, "trial"]))
    return (
        f"Other work took more than {OTHER_WORK_CORES:g} of the {cores(results)}, "
        f"up to {numbers.rate(other_cores.max())}, in "
        f"{len(other_cores)} of {numbers.plural(len(results.trials), 'trial')} ({trials}): use only the "
        "counts of these, not rates, latencies and gaps."
    )


def cold(results: Results) -> str | None:
    """Return the warning that servers were not warm when trials began; None where they were."""
    clusters = (results.manifest.get("timings_s") or {}).get("clusters") or ()
    ends = [cluster["warm_up"][-1] for cluster in clusters if cluster.get("warm_up")]
    compiler_cores = [end["compilers"] for end in ends if not end.get("rested", True)]
    if not compiler_cores:
        return None
    if results.is_fault_run:
        then = "rates before a fault, and what is held against them, are those of servers that have just started."
    elif results.has_slices:
        then = "the first slices were slower than later ones, those of all cases to the same extent."
    else:
        then = "the first trials there may be slower than the later ones."
    return (
        f"On {len(compiler_cores)} of {numbers.plural(len(ends), 'cluster start')} the warm-up's time was over while "
        f"servers still got faster (compilers took up to {max(compiler_cores):.2f} of a core): {then}"
    )


def _clock(results: Results) -> Iterator[Fact]:
    if not results.clock_error_ns:
        yield Fact("Clock", "one monotonic clock for producers and consumers.")
        return
    error = numbers.duration(results.clock_error_ns)
    yield Fact(
        "Clock",
        f"one on each load machine, compared with the runner's four times a second. Times between two machines may be "
        f"off by up to {error}; where that is more than a tenth of an end-to-end time, it is not shown.",
    )


def _content(report: ReportInput) -> Method:
    return Method(facts(report.results, report.parts), report.results.has_slices)


SECTION = Section("method", "How it was measured", _content)
