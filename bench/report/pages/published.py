"""The index over published runs: a static page, which works from a disk and from any host of files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bench import numbers
from bench.model import EMULATED_FSYNC
from bench.report import beside, results, sweep, templates
from bench.report.results import Json
from bench.report.sections import expectations, method
from bench.report.table import Cell, Column, Row, Table, known_lost
from bench.scenario import catalogue
from bench.scenario.values import AS_IS

_OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Run:
    """One published run, from its small files."""

    folder: str
    manifest: Json
    never_run: int
    """How many planned trials left nothing behind."""
    summary: Json
    claims: tuple[tuple[str, str], ...]
    changed: bool
    """Whether the scenario asks for something else today."""
    cases: pd.DataFrame
    trials: pd.DataFrame

    @property
    def scenario(self) -> str:
        """The scenario's name."""
        return str(self.manifest["scenario"])

    @property
    def broken(self) -> bool:
        """Whether something broke in it on purpose, so that what counts is what became of messages."""
        return results.breaks(self.summary)


@dataclass(frozen=True, slots=True)
class Entry:
    """A scenario: its run, and a table of one row with what the run measured."""

    run: Run
    overview: Table


def write(folder: Path, families: Mapping[str, Sequence[str]]) -> Path:
    """Write index.html over all runs in a folder; return its path. Raises ReportError where a template fails."""
    runs = [_read(path.parent) for path in sorted(folder.glob("[!.]*/manifest.json"))]
    chapters = [(name, list(_entries(runs, scenarios))) for name, scenarios in families.items()]
    known = {scenario for scenarios in families.values() for scenario in scenarios}
    chapters.append(
        (
            _OTHERS,
            list(_entries(runs, dict.fromkeys(run.scenario for run in runs if run.scenario not in known))),
        )
    )
    page = templates.page(
        "published.html.j2",
        {
            "chapters": [(name, entries) for name, entries in chapters if entries],
            "families": {name for name in families if (folder / f"family-{name}" / "report.html").is_file()},
            "runs": len(runs),
            "looks": {},
        },
    )
    hidden = folder / ".index.html"
    hidden.write_text(page, encoding="utf-8")
    return hidden.rename(folder / "index.html")


def _read(run: Path) -> Run:
    manifest = results.document(run / "manifest.json")
    return Run(
        folder=run.name,
        manifest=manifest,
        never_run=beside.never_run(run),
        summary=results.summary(run),
        claims=expectations.claims(results.expectations(run)),
        changed=catalogue.has_changed(
            run / "scenario.yaml", str(manifest["scenario"]), str(manifest.get("profile") or "standard")
        ),
        cases=pd.read_parquet(run / "results" / "cases.parquet"),
        trials=pd.read_parquet(run / "results" / "trials.parquet"),
    )


def _entries(runs: Iterable[Run], scenarios: Iterable[str]) -> Iterable[Entry]:
    by_scenario = {run.scenario: run for run in runs}
    for scenario in scenarios:
        if run := by_scenario.get(scenario):
            yield Entry(run, _overview(run))


def _profile(run: Run) -> str:
    """A run's profile, and what the command line changed of it."""
    profile, changes = str(run.manifest.get("profile") or numbers.NOTHING), beside.changes(run.manifest)
    return f"{profile} with {changes}" if changes else profile


def _overview(run: Run) -> Table:
    """Return a table of one row: the report, how the run was made, and what it measured of each system."""
    systems = sweep.in_order(run.cases["system"])
    results_by_head = (
        {"lost": _found} if run.broken else {"messages/s, least to most": _found, "limited by": _limits}
    )
    columns = (
        Column("run", "links"),
        Column("profile", "name"),
        Column("valid trials"),
        *(
            Column(head, "name" if head == "limited by" else "number", system.capitalize())
            for system in systems
            for head in results_by_head
        ),
        *(Column("version", "name", system.capitalize()) for system in systems),
        Column("machine", "name"),
        Column("claims", "name"),
    )
    report = ((_begun(run)[:10], f"{run.folder}/report.html"), ("PDF", f"{run.folder}/report.pdf"))
    valid = (run.trials["verdict"] == "valid").sum()
    machine = run.manifest.get("machine") or {}
    versions = run.manifest.get("versions") or {}
    cells = (
        Cell("", links=report),
        Cell(f"{_profile(run)}{', the scenario has changed since' if run.changed else ''}"),
        Cell(f"{valid} / {_of_trials(run)}", sort=int(valid)),
        *(cell(run, system) for system in systems for cell in results_by_head.values()),
        *(Cell(str(versions.get(system) or numbers.NOTHING)) for system in systems),
        Cell(f"{machine.get('cpus', '?')} cores, {machine.get('virtual') or 'not virtual'}{_shared(run)}"),
        Cell(", ".join(words for words, _ in run.claims) or numbers.NOTHING),
    )
    return Table("", columns, (Row(cells, find=f"{run.scenario} {run.manifest.get('title')}"),))


def _begun(run: Run) -> str:
    return str(run.manifest.get("started_utc") or "")


def _of_trials(run: Run) -> str:
    """How many trials there are, and of how many planned ones where it was cut short."""
    there = len(run.trials)
    return f"{there}, cut short: {there + run.never_run} planned" if run.never_run else str(there)


def _shared(run: Run) -> str:
    """Say whether other work crowded any of its trials."""
    return ", shared with other work" if len(method.crowded(run.trials)) else ""


def _limits(run: Run, system: str) -> Cell:
    """What limited a system's valid trials."""
    if not _limits_known(run):
        return Cell("by an older rule", "quiet")
    own = run.trials[(run.trials["system"] == system) & (run.trials["verdict"] == "valid")]
    return Cell(numbers.tally(own["bottleneck"].dropna()) or numbers.NOTHING)


def _limits_known(run: Run) -> bool:
    """Whether what limited its trials was told by today's rule, which counts copies made at the same time once."""
    return "keepers_cpu" in run.trials.columns


def _found(run: Run, system: str) -> Cell:
    """What a run found of a system: what was lost, or the least and the most of its cases' throughput."""
    own = run.cases[run.cases["system"] == system]
    if run.broken:
        lost = [case["case"] for _, case in own.iterrows() if known_lost(case)]
        unread = own.loc[own["unread"] > 0, "case"]
        hurt = len({*lost, *unread})
        if not hurt:
            untold = int(own["lost"].isna().sum())
            said = f"none; not known in {untold} of {numbers.plural(len(own), 'case')}" if untold else "none"
            return Cell(said, sort=0)
        words = " and ".join(word for word, those in (("lost", lost), ("unread", unread)) if len(those))
        return Cell(f"{words} in {hurt} of {numbers.plural(len(own), 'case')}", "bad", sort=hurt)
    real = own[own[EMULATED_FSYNC] == AS_IS] if EMULATED_FSYNC in own else own
    if real.empty and len(own):
        return Cell("on emulated disks only", "quiet")
    rates = [rate for rate in real["throughput_msgs_per_s"].dropna() if rate > 0]
    if not rates:
        return Cell(numbers.NOTHING)
    left = "" if len(real) == len(own) else "; without those of emulated disks"
    return Cell(
        f"{numbers.rate(min(rates))} to {numbers.rate(max(rates))}",
        note=f"medians of {len(rates)} cases{left}",
        sort=min(rates),
    )
