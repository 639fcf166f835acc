"""A family of scenarios on one page: what each fault cost each configuration, from the latest run of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from bench import numbers
from bench.errors import OutdatedError, ReportError
from bench.report import beside, pdf, results, style, sweep, templates
from bench.report.results import Results
from bench.report.sections import expectations, method, servers, worth
from bench.report.table import Cell
from bench.scenario import catalogue


@dataclass(frozen=True, slots=True)
class Entry:
    """One scenario's latest run; `link` leads to its report.

    `versions` are the servers', by system. `lines` holds a line a configuration, by system: cells under worth.HEADS.
    """

    name: str
    title: str
    link: str
    run: str
    about: str
    versions: Mapping[str, str]
    claims: tuple[tuple[str, str], ...]
    lines: Mapping[str, Sequence[tuple[Cell, ...]]]

    def other_than(self, usual: Mapping[str, str]) -> list[str]:
        """Name the servers whose version is not the usual one."""
        return [
            _named(system, version) for system, version in self.versions.items() if usual[system] != version
        ]

    def rows(self, systems: Sequence[str]) -> list[tuple[tuple[Cell, ...] | None, ...]]:
        """Lines side by side, by system; None where a system has fewer."""
        return list(zip_longest(*(self.lines.get(system, ()) for system in systems)))


def write(family: str, scenarios: Sequence[str], out: Path) -> tuple[Path, Path]:
    """Write the family's page below `out`/family-<name>/, as HTML and as a PDF of one sheet; return their paths.

    Of each scenario the latest run with results below `out` counts; one by other rules is named. Raises ReportError
    when there is none.
    """
    folder = out / f"family-{family}"
    runs = beside.latest(out)
    entries, others = [], []
    for name in scenarios:
        if name not in runs:
            continue
        try:
            entries.append(_entry(results.read(runs[name].path), folder))
        except OutdatedError:
            others.append(name)
    if not entries:
        raise ReportError(
            f"{out}: there is no run with results of family {family!r}; run one of its scenarios first."
        )
    systems = sweep.in_order(system for entry in entries for system in entry.lines)
    missing = [name for name in scenarios if name not in runs]
    usual = _usual(entries)
    context = {
        "family": family,
        "entries": entries,
        "systems": systems,
        "heads": worth.HEADS,
        "usual": usual,
        "versions": [_named(system, version) for system, version in usual.items()],
        "looks": {system: style.look(system) for system in systems},
        "others": others,
        "missing": missing,
    }
    folder.mkdir(parents=True, exist_ok=True)
    on_screen, on_paper = folder / "report.html", folder / "report.pdf"
    page = pdf.write_poster(
        lambda paper: templates.page("family.html.j2", {**context, "paper": paper}), on_paper
    )
    on_screen.write_text(page, encoding="utf-8")
    return on_screen, on_paper


def _entry(found: Results, folder: Path) -> Entry:
    manifest = found.manifest
    begun = str(manifest.get("started_utc", ""))[:10]
    beside_it = _strikes(found), servers.patience(found), _crowded(found)
    profile = str(manifest.get("profile") or "standard")
    changed = catalogue.has_changed(found.run / "scenario.yaml", str(manifest["scenario"]), profile)
    said = (
        profile,
        begun,
        *beside_it,
        f"with {changes}" if (changes := beside.changes(manifest)) else "",
        f"cut short, {missing} trials never run" if (missing := found.never_run) else "",
        "the scenario has changed since" if changed else "",
    )
    return Entry(
        name=str(manifest["scenario"]),
        title=str(manifest.get("title") or manifest["scenario"]),
        link=str(Path("..") / found.run.name / "report.html") if folder.parent == found.run.parent else "",
        run=found.run.name,
        about=", ".join(filter(None, said)),
        versions=_versions(found),
        claims=expectations.claims(found.expectations),
        lines={part.system: worth.lines(found, part) for part in sweep.parts(found)},
    )


def _strikes(found: Results) -> str:
    """Name what strikes whom on each system, as the scenario says it."""
    said: dict[str, dict[str, None]] = {}
    for trial in found.trial_files.values():
        kinds = {step["kind"] for step in trial.get("faults") or () if "proven" in step}
        for step in (trial["case"].get("configuration") or {}).get("faults") or ():
            for kind in sorted(kinds & step.keys()):
                said.setdefault(trial["case"]["system"], {})[f"{kind} {_whom(step[kind])}"] = None
    return "; ".join(f"{system.capitalize()}: {', '.join(strikes)}" for system, strikes in said.items())


def _whom(struck: Any) -> str:  # noqa: ANN401 - a scenario's YAML
    """Name a target, or several, as a step gives them, and what lies between it and whom."""
    if isinstance(struck, Mapping):
        return " from ".join(_whom(struck[name]) for name in ("target", "from") if name in struck)
    return " and ".join(map(str, struck)) if isinstance(struck, list) else str(struck)


def _crowded(found: Results) -> str:
    those = len(method.crowded(found.trials))
    return f"other work in {those} of {numbers.plural(len(found.trials), 'trial')}" if those else ""


def _versions(found: Results) -> dict[str, str]:
    versions = found.manifest.get("versions") or {}
    ran = sweep.in_order(found.trials["system"])
    return {system: str(versions[system]) for system in ran if versions.get(system)}


def _usual(entries: Sequence[Entry]) -> dict[str, str]:
    """Return the version of each system that most of the scenarios ran on."""
    counted: dict[str, Counter[str]] = {}
    for entry in entries:
        for system, version in entry.versions.items():
            counted.setdefault(system, Counter())[version] += 1
    return {system: counted[system].most_common(1)[0][0] for system in sweep.in_order(counted)}


def _named(system: str, version: str) -> str:
    return f"{system.capitalize()} {version}"
