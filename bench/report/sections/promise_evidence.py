"""Evidence for the guarantees of a run without faults, from other runs with faults."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas as pd

from bench import numbers
from bench.guarantee import Guarantee
from bench.report import other_runs, sweep
from bench.report.other_runs import OtherRun
from bench.report.results import Results
from bench.report.sections import fault_summary, method, promise_coverage
from bench.report.sections.promise_coverage import Coverage, promises
from bench.report.table import Cell, Column, Row, Table, fate_cell, heading, known_lost
from bench.systems.registry import system_title

_COLUMNS = (
    Column("scenario", "text"),
    Column("configuration", "name"),
    Column("valid / all", "number", "trials"),
    Column("acknowledged", "number", "messages"),
    Column("lost", "number", "messages"),
    Column("no ack, s", "text"),
    Column("what broke was", "name"),
)
_UNTRIED = "No scenario with a fault has tried this here."


class _TestedCase(NamedTuple):
    """A case of another run in which something broke."""

    other_run: OtherRun
    case: pd.Series[Any]
    promise: Guarantee
    tried: promise_coverage.PromiseTrials


@dataclass(frozen=True)
class PromiseEvidence:
    """What other runs in the same folder say to the promises of this one's cases, by system.

    `broke` tells whether anything broke in any of them.
    """

    promised: Mapping[str, Sequence[Guarantee]]
    tried: Sequence[_TestedCase]
    broke: bool

    def evidence(self, system: str, promises: Collection[str]) -> str:
        """Return in few words what a system lost within these promises, where nodes that store messages broke.

        Empty where none did within any of these.
        """
        tried_cases = [
            tried_case
            for tried_case in self.tried
            if tried_case.case["system"] == system
            and tried_case.promise.survives in promises
            and tried_case.tried.coverage is Coverage.WITHIN
            and tried_case.tried.put_to_test
        ]
        if not tried_cases:
            return ""
        read = [tried_case for tried_case in tried_cases if not _unknown(tried_case)]
        waiting = [
            tried_case for tried_case in tried_cases if _unknown(tried_case) and tried_case.tried.reads_wait
        ]
        unread = [
            tried_case
            for tried_case in tried_cases
            if _unknown(tried_case) and not tried_case.tried.reads_wait
        ]
        lost = [_outcome(read) if read else "lost", _upper_bound(unread) if unread else ""]
        words = [(", and " if read else " ").join(filter(None, lost))] if read or unread else []
        return f"{system_title(system)} {'; it '.join([*words, *([_waits(waiting)] if waiting else [])])}"

    def summary(self) -> str:
        """Return it for all promises."""
        systems = [
            self.evidence(system, {promise.survives for promise in promises})
            for system, promises in self.promised.items()
        ]
        words = "; ".join(filter(None, systems))
        return (
            f"In other runs nodes that store messages broke within what is promised here: {words}."
            if words
            else ""
        )


def _unknown(tried_case: _TestedCase) -> bool:
    """Whether nobody knows of any message that is lost, nor that none is."""
    return numbers.absent(tried_case.case["lost"]) and not known_lost(tried_case.case)


def _outcome(tried: Sequence[_TestedCase]) -> str:
    """State what trials lost that were all read, and how many of them destroyed a copy."""
    lost = sum(known_lost(tried_case.case) > 0 for tried_case in tried)
    runs = numbers.plural(len({tried_case.other_run.path for tried_case in tried}), "scenario")
    of = f"lost messages in {lost} of {numbers.plural(len(tried), 'configuration')}"
    trials = numbers.plural(_trials(tried), "trial")
    return f"{of if lost else 'lost nothing'} in {trials} of {runs}, {_trial_details(tried)}"


def _trial_details(tried: Sequence[_TestedCase]) -> str:
    """State in how many trials a node never came back, and all were without power: in the others nodes came back."""
    gone, cut = (
        sum(getattr(tried_case.tried, name) for tried_case in tried) for name in ("lost_nodes", "cut_power")
    )
    words = (f"{gone} destroyed a copy" if gone else "", f"{cut} cut the power of all nodes" if cut else "")
    details = " and ".join(filter(None, words))
    return f"of which {details}" if details else "in all of which nodes came back"


def _waits(tried: Sequence[_TestedCase]) -> str:
    """State how many messages no server gives until another replica is in sync, and in which scenarios."""
    return f"has {_unread(tried)}, unread until another replica is in sync"


def _upper_bound(tried: Sequence[_TestedCase]) -> str:
    """State how many messages are lost at most where full reads did not reach their end, and in which scenarios."""
    return f"at most {_unread(tried)}, where reading stopped early"


def _unread(tried: Sequence[_TestedCase]) -> str:
    counts = ([tried_case.case.get(name) for tried_case in tried] for name in ("unread", "acked"))
    unread, acked = (int(pd.to_numeric(pd.Series(count, dtype=object)).sum()) for count in counts)
    scenarios = ", ".join(
        dict.fromkeys(f"`{tried_case.other_run.manifest.get('scenario')}`" for tried_case in tried)
    )
    return f"{unread:,} of {acked:,} messages in {numbers.plural(_trials(tried), 'trial')} of {scenarios}"


def _trials(tried: Sequence[_TestedCase]) -> int:
    return sum(int(tried_case.case["rounds"]) for tried_case in tried)


def elsewhere(results: Results, parts: Sequence[sweep.Part]) -> PromiseEvidence | None:
    """Look at the latest run of each scenario in the same folder.

    None for a run in which something broke itself, and where nothing is promised.
    """
    promised = promises(results, parts)
    if results.is_fault_run or not any(promised.values()):
        return None
    runs = list(other_runs.fault_runs(results.run.resolve().parent))
    tried = [
        tried_case
        for other_run in runs
        for tried_case in _tested_cases(other_run)
        if _same_version(results, tried_case)
    ]
    return PromiseEvidence(promised, tried, bool(runs))


def _same_version(results: Results, tried_case: _TestedCase) -> bool:
    """Whether a case of another run is of the same version of its system, as far as both runs tell it."""
    system = tried_case.case["system"]
    version, other_version = (
        (manifest.get("versions") or {}).get(system)
        for manifest in (results.manifest, tried_case.other_run.manifest)
    )
    return version is None or other_version is None or version == other_version


def tables(evidence: PromiseEvidence, parts: Sequence[sweep.Part]) -> list[Table]:
    """Return a table a system: under each promise of this run's cases, what became of it where something broke.

    No table where nothing broke in any other run.
    """
    return [
        _table(part, evidence.promised[part.system], evidence.tried)
        for part in parts
        if evidence.broke and evidence.promised[part.system]
    ]


def _tested_cases(other_run: OtherRun) -> Iterator[_TestedCase]:
    """Give the cases of a run that show something of their promise.

    Not those in which nothing broke, nor those with an application in between: what that loses it loses by settling.
    """
    for _, case in other_run.cases.iterrows():
        tried = promise_coverage.of_case(other_run.trials.values(), case["case"])
        settles = any(promise_coverage.settles(trial) for trial in tried.trials)
        if tried.promise and not settles and any(promise_coverage.faults(trial) for trial in tried.trials):
            yield _TestedCase(other_run, case, tried.promise, tried)


def _table(part: sweep.Part, promises: Sequence[Guarantee], tried: Sequence[_TestedCase]) -> Table:
    rows: list[Row] = []
    for promise in promises:
        words = f"survives {promise.survives}" if promise.nodes is not None else "nothing is promised"
        rows.append(heading(numbers.sentence(words), opens=bool(rows)))
        rows += [
            _row(tried_case)
            for tried_case in tried
            if tried_case.case["system"] == part.system and tried_case.promise.survives == promise.survives
        ] or [Row((Cell(_UNTRIED, "quiet"), *(Cell("") for _ in _COLUMNS[1:])))]
    return Table(part.title, _COLUMNS, tuple(rows), part.system)


def _row(tried_case: _TestedCase) -> Row:
    case, other_run, lost = tried_case.case, tried_case.other_run, fate_cell(tried_case.case)
    name = str(case["case"]).removeprefix(str(case["system"])).strip()
    link = (("report", f"../{other_run.path.name}/report.html"),)
    return Row(
        (
            Cell(f"{other_run.manifest.get('title')} ({other_run.manifest.get('profile')}) ", links=link),
            Cell(name or numbers.NOTHING),
            Cell(f"{case['rounds']} / {case['trials']}"),
            Cell(numbers.count(case["acked"])),
            lost
            if tried_case.tried.coverage is Coverage.WITHIN or lost.tone == "quiet"
            else replace(lost, tone="plain"),
            _ack_gap_cell(tried_case),
            Cell(tried_case.tried.coverage),
        )
    )


def _ack_gap_cell(tried_case: _TestedCase) -> Cell:
    """The longest time without an acknowledgement, the least and the most of the trials; whether writes were to go on.

    They are where no more nodes that keep messages were gone at one time than writes go on without; of other nodes a
    promise does not speak.
    """
    if tried_case.other_run.measured is None:
        return Cell(numbers.NOTHING, "quiet")
    case_trials = tried_case.other_run.measured[
        tried_case.other_run.measured["case"] == tried_case.case["case"]
    ]
    valid = case_trials[case_trials["verdict"] == "valid"].dropna(subset="unavailable_ns").set_index("trial")
    undisturbed_trials, of = method.undisturbed_trials(valid)
    gaps = pd.DataFrame(
        {
            "ns": undisturbed_trials["unavailable_ns"].astype(float),
            "ended": undisturbed_trials["unavailable_ended"],
        }
    )
    gap_cell = fault_summary.gap(gaps, of)
    if tried_case.promise.spare is None or not tried_case.tried.put_to_test or valid.empty:
        return gap_cell
    goes_on = tried_case.tried.most_away <= tried_case.promise.spare
    return replace(gap_cell, text=f"{gap_cell.text}; {'is to go on' if goes_on else 'may stop'}")
