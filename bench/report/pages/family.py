"""A family of scenarios as one matrix: what each fault did to each system, from the latest run of each scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from pathlib import Path

from bench import numbers
from bench.errors import OutdatedError, ReportError
from bench.fault_kinds import FAULT_KINDS
from bench.report import case_groups, other_runs, pdf, results, style, sweep, templates
from bench.report.presentation import Labels, presentation
from bench.report.results import Results
from bench.report.sections import fault_cells, fault_outcome, setting_losses
from bench.report.sections.fault_outcome import FaultOutcome
from bench.report.sections.setting_losses import TrialLoss, trial_losses
from bench.report.table import Cell
from bench.scenario import catalogue
from bench.systems.registry import in_order, system_title

_NOTHING_BROKE = "Nothing breaks"
_ANCHORS = ("faults", "delivery", "delivery")
"""The section of a report with the evidence of each of fault_cells.HEADS."""


@dataclass(frozen=True, slots=True)
class ConfigurationRow:
    """A configuration's label, empty for all of a system's, and its cells, each with the link to its evidence."""

    label: str
    cells: tuple[tuple[Cell, str], ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One scenario's latest run; `link` leads to its report.

    `kind` is what breaks in it. `versions` are the servers', by system. `configurations` holds a row for each of a
    system's outcomes, `losses` what each trial lost.
    """

    name: str
    title: str
    kind: str
    link: str
    about: str
    versions: Mapping[str, str]
    configurations: Mapping[str, Sequence[ConfigurationRow]]
    losses: Sequence[TrialLoss] = ()

    def remarks(self, usual: Mapping[str, str]) -> str:
        """Name what sets the run apart: servers of another version than the usual one, a quick or changed run."""
        other_versions = [
            f"{system_title(system)} {version}"
            for system, version in self.versions.items()
            if usual[system] != version
        ]
        return ", ".join(filter(None, (*other_versions, self.about)))

    def rows(self, systems: Sequence[str]) -> list[tuple[ConfigurationRow | None, ...]]:
        """Rows side by side, by system: those of one label beside each other where all systems have the same."""
        system_rows = [list(self.configurations.get(system, ())) for system in systems]
        labels = [sorted(row.label for row in rows) for rows in system_rows]
        if all(label == labels[0] for label in labels):
            order = [row.label for row in system_rows[0]]
            system_rows = [sorted(rows, key=lambda row: order.index(row.label)) for rows in system_rows]
        return list(zip_longest(*system_rows))


def write(family: str, scenarios: Sequence[str], out: Path) -> tuple[Path, Path]:
    """Write the family's page below `out`/family-<name>/, as HTML and as a PDF; return their paths.

    Of each scenario the latest run with results below `out` counts; one by other rules is named. Raises ReportError
    when there is none.
    """
    folder = out / f"family-{family}"
    runs = other_runs.latest(out)
    entries, outdated_names = [], []
    for name in scenarios:
        if name not in runs:
            continue
        try:
            entries.append(_entry(results.read(runs[name].path), folder))
        except OutdatedError:
            outdated_names.append(name)
    if not entries:
        raise ReportError(
            f"{out}: there is no run with results of family {family!r}; run one of its scenarios first."
        )
    missing = [name for name in scenarios if name not in runs]
    page = render(family, entries, outdated_names=outdated_names, missing=missing)
    folder.mkdir(parents=True, exist_ok=True)
    on_screen, on_paper = folder / "report.html", folder / "report.pdf"
    pdf.write(page, on_paper)
    on_screen.write_text(page, encoding="utf-8")
    return on_screen, on_paper


def render(
    family: str, entries: Sequence[Entry], *, outdated_names: Sequence[str], missing: Sequence[str]
) -> str:
    """Return the page over these entries; `outdated_names` were computed by other rules, `missing` have no run."""
    systems = in_order(system for entry in entries for system in entry.configurations)
    usual = _usual(entries)
    return templates.page(
        "family.html.j2",
        {
            "family": family,
            "groups": _by_kind(entries),
            "systems": systems,
            "heads": fault_cells.HEADS,
            "setting_losses": setting_losses.tables(loss for entry in entries for loss in entry.losses),
            "usual": usual,
            "versions": [f"{system_title(system)} {version}" for system, version in usual.items()],
            "looks": {system: style.look(system) for system in systems},
            "outdated_names": outdated_names,
            "missing": missing,
        },
    )


def _by_kind(entries: Sequence[Entry]) -> list[tuple[str, list[Entry]]]:
    """Group entries by what breaks, in the order of FAULT_KINDS."""
    order = [*(kind.title for kind in FAULT_KINDS.values()), _NOTHING_BROKE]
    placed = sorted(entries, key=lambda entry: order.index(entry.kind))
    return [(kind, list(group)) for kind, group in groupby(placed, key=lambda entry: entry.kind)]


def _entry(run_results: Results, folder: Path) -> Entry:
    manifest = run_results.manifest
    beside_it = folder.parent == run_results.run.parent
    link = str(Path("..") / run_results.run.name / "report.html") if beside_it else ""
    words = presentation(run_results.run)
    outcomes = {part.system: _outcomes(run_results, part, words.labels) for part in sweep.parts(run_results)}
    return Entry(
        name=str(manifest["scenario"]),
        title=words.title or str(manifest.get("title") or manifest["scenario"]),
        kind=_kind(run_results, outcomes),
        link=link,
        about=", ".join(_apart(run_results)),
        versions=_versions(run_results),
        configurations={
            system: [_row(run_results, outcome, link) for outcome in system_outcomes]
            for system, system_outcomes in outcomes.items()
        },
        losses=list(trial_losses(run_results)),
    )


def _outcomes(run_results: Results, part: sweep.Part, labels: Labels) -> list[FaultOutcome]:
    """Return the outcomes of a system: configurations with the same one together."""
    case_outcomes = fault_outcome.outcomes(run_results, part, labels)
    return fault_outcome.merge_outcomes(
        run_results, part, labels, case_groups.group_items(case_outcomes, _same)
    )


def _same(first: FaultOutcome, second: FaultOutcome) -> bool:
    has_duplicates = [max(outcome.duplicates, default=0) > 0 for outcome in (first, second)]
    return (
        fault_outcome.same_fate(first, second)
        and case_groups.same_outage(first.writes, second.writes)
        and has_duplicates[0] == has_duplicates[1]
    )


def _row(run_results: Results, outcome: FaultOutcome, link: str) -> ConfigurationRow:
    anchored = [f"{link}#{anchor}" if link and run_results.is_fault_run else link for anchor in _ANCHORS]
    cells = (replace(cell, text=_brief(cell.text)) for cell in fault_cells.cells(outcome))
    return ConfigurationRow(outcome.label, tuple(zip(cells, anchored, strict=True)))


def _brief(text: str) -> str:
    """Shorten a cell's text as the page's head explains it."""
    return text.replace(" of writes", "")


def _kind(run_results: Results, outcomes: Mapping[str, Sequence[FaultOutcome]]) -> str:
    kinds = [
        kind for system_outcomes in outcomes.values() for outcome in system_outcomes for kind in outcome.kinds
    ]
    return (
        FAULT_KINDS[kinds[0]].title
        if run_results.is_fault_run and kinds and kinds[0] in FAULT_KINDS
        else _NOTHING_BROKE
    )


def _apart(run_results: Results) -> Iterator[str]:
    """Name what sets a run apart from one of the scenario of today in its standard profile."""
    manifest = run_results.manifest
    profile = str(manifest.get("profile") or "standard")
    if profile != "standard":
        yield profile
    if changes := other_runs.changes(manifest):
        yield f"with {changes}"
    if run_results.never_run:
        yield f"cut short, {numbers.plural(run_results.never_run, 'trial')} never ran"
    if catalogue.has_changed(run_results.run / "scenario.yaml", str(manifest["scenario"]), profile):
        yield "the scenario has changed since"


def _versions(run_results: Results) -> dict[str, str]:
    versions = run_results.manifest.get("versions") or {}
    ran = in_order(run_results.trials["system"])
    return {system: str(versions[system]) for system in ran if versions.get(system)}


def _usual(entries: Sequence[Entry]) -> dict[str, str]:
    """Return the version of each system that most of the scenarios ran on."""
    counted: dict[str, Counter[str]] = {}
    for entry in entries:
        for system, version in entry.versions.items():
            counted.setdefault(system, Counter())[version] += 1
    return {system: counted[system].most_common(1)[0][0] for system in in_order(counted)}
