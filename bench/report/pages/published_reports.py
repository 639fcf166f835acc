"""The front page of the published reports: questions with their answers, on one static page.

It works from a disk and from any host of files: all links are relative, and nothing is loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bench import durable_files, numbers
from bench.errors import OutdatedError
from bench.report import other_runs, results, templates
from bench.report.answer.model import Answer, Finding
from bench.report.corrections import RunCorrections, corrections
from bench.report.questions import FrontPage, front_page
from bench.report.results import Json
from bench.report.run_answer import run_answer
from bench.report.sections import expectations
from bench.scenario import catalogue
from bench.systems.registry import in_order, system_title

_NO_FAMILY = "others"


@dataclass(frozen=True, slots=True)
class Report:
    """A published report. `answer` is None where this version of the suite cannot read its results.

    `verdicts` counts its expectations in words, each with its tone. `trials` says how many there are and count.
    `changed` tells whether the scenario asks for something else today, `versions` the server version of each system.
    """

    folder: str
    manifest: Json
    answer: Answer | None
    verdicts: tuple[tuple[str, str], ...]
    trials: str
    changed: bool
    versions: Mapping[str, str]
    corrections: RunCorrections

    @property
    def scenario(self) -> str:
        """The scenario's name."""
        return str(self.manifest["scenario"])

    @property
    def title(self) -> str:
        """The report's title."""
        return self.answer.title if self.answer else str(self.manifest.get("title") or self.scenario)

    @property
    def page(self) -> str:
        """Where the front page finds the report."""
        return f"{self.folder}/report.html"

    @property
    def paper(self) -> str:
        """Where the front page finds the report as PDF."""
        return f"{self.folder}/report.pdf"

    @property
    def line(self) -> str:
        """The answer in one line."""
        return self.answer.line if self.answer else ""

    @property
    def about(self) -> str:
        """The run in one line: date, profile, server versions, trials, and whether the scenario has changed."""
        profile, changes = str(self.manifest.get("profile") or ""), other_runs.changes(self.manifest)
        parts = (
            str(self.manifest.get("started_utc") or "")[:10],
            f"{profile} with {changes}" if changes else profile,
            *(f"{system_title(system)} {version}" for system, version in self.versions.items()),
            self.trials,
            "the scenario has changed since" if self.changed else "",
        )
        return ", ".join(filter(None, parts))

    def finding(self, number: int) -> Finding | None:
        """A finding of the answer by its number, from 1; None where it has no such one."""
        findings = self.answer.findings if self.answer else ()
        return findings[number - 1] if number <= len(findings) else None

    def advice(self, number: int) -> str:
        """What to do about such a finding; where something broke what prevents it: the first cause of each system."""
        finding = self.finding(number)
        causes = self.answer.causes if self.answer and number == 1 else ()
        by_system: dict[str, str] = {}
        for cause in causes:
            if cause.prevention:
                by_system.setdefault(cause.system, cause.advice)
        return " ".join((finding.advice if finding else ()) or by_system.values())


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question with its answer, the report that gives it, and other reports on the same question.

    `detail` has the answer's numbers where they are not in it; `advice`: what to do about it. Both may be empty.
    `settings`: the table of what each setting lost says more.
    """

    question: str
    line: str
    detail: str
    advice: str
    report: Report
    other_reports: tuple[Report, ...]
    key: bool
    settings: bool


@dataclass(frozen=True, slots=True)
class Chapter:
    """A family of scenarios. `older` reports are of another server version, or of a scenario that has changed since."""

    family: str
    current: tuple[Report, ...]
    older: tuple[Report, ...]
    matrix: bool

    @property
    def size(self) -> int:
        """How many reports it has."""
        return len(self.current) + len(self.older)


def write(folder: Path, families: Mapping[str, Sequence[str]]) -> Path:
    """Write index.html over all runs in a folder; return its path.

    Raises ReportError where a run's results, the questions or the corrections cannot be read.
    """
    index = folder / "index.html"
    with durable_files.replace_file(index) as hidden:
        hidden.write_text(render(folder, families), encoding="utf-8")
    return index


def render(folder: Path, families: Mapping[str, Sequence[str]]) -> str:
    """Return the front page over all runs in a folder. Raises ReportError as `write` does."""
    reports = {
        report.scenario: report
        for report in (_report(path.parent) for path in sorted(folder.glob("[!.]*/manifest.json")))
    }
    front = front_page()
    return templates.page(
        "published_reports.html.j2",
        {
            "topics": list(_answered_questions(front, reports)),
            "chapters": list(_chapters(folder, families, reports)),
            "count": numbers.plural(len(reports), "report"),
            "has_settings": (folder / "family-faults" / "report.html").is_file(),
            "machines": _machines(report.manifest for report in reports.values()),
        },
    )


def _report(run: Path) -> Report:
    manifest = results.document(run / "manifest.json")
    try:
        run_results = results.read(run)
    except OutdatedError:
        run_results = None
    trials = pd.read_parquet(run / "results" / "trials.parquet", columns=["system", "verdict"])
    versions = manifest.get("versions") or {}
    return Report(
        folder=run.name,
        manifest=manifest,
        answer=run_answer(run_results) if run_results else None,
        verdicts=expectations.claims(results.expectations(run)),
        trials=_trials(list(trials["verdict"]), other_runs.never_run(run)),
        changed=catalogue.has_changed(
            run / "scenario.yaml", str(manifest["scenario"]), str(manifest.get("profile") or "standard")
        ),
        versions={
            system: str(versions[system]) for system in in_order(trials["system"]) if versions.get(system)
        },
        corrections=corrections(manifest, is_fault_run=results.breaks(results.summary(run))),
    )


def _trials(verdicts: Sequence[str], missing: int) -> str:
    """How many trials count, of how many; `missing` ones were planned and never run."""
    valid_text = f"{verdicts.count('valid')} of {numbers.plural(len(verdicts), 'trial')} valid"
    return f"{valid_text}, cut short: {len(verdicts) + missing} planned" if missing else valid_text


def _machines(manifests: Iterable[Json]) -> str:
    """Say on how many cores servers and load ran together; empty where no run says so."""
    shared = [manifest for manifest in manifests if manifest.get("backend") != "external"]
    cores = sorted(
        {int(count) for manifest in shared if (count := (manifest.get("machine") or {}).get("cpus"))}
    )
    return " or ".join(numbers.plural(count, "core") for count in cores)


def _answered_questions(front: FrontPage, reports: Mapping[str, Report]) -> Iterator[AnsweredQuestion]:
    """The questions of which a scenario is published; the first that is published answers."""
    for front_question in front.questions:
        published = [reports[name] for name in front_question.scenarios if name in reports]
        if published:
            first, *other_reports = published
            answers = first.scenario == front_question.scenarios[0] and first.finding(front_question.finding)
            number = front_question.finding if answers else 1
            finding = first.finding(number)
            yield AnsweredQuestion(
                question=front_question.question,
                line=finding.text if finding else "",
                detail=finding.detail if finding else "",
                advice=first.advice(number),
                report=first,
                other_reports=tuple(other_reports),
                key=front_question.key,
                settings=front_question.settings,
            )


def _chapters(
    folder: Path, families: Mapping[str, Sequence[str]], reports: Mapping[str, Report]
) -> Iterator[Chapter]:
    family_names = {name for names in families.values() for name in names}
    usual = _usual_versions(reports.values())
    for family, names in {
        **families,
        _NO_FAMILY: [name for name in reports if name not in family_names],
    }.items():
        family_reports = [reports[name] for name in names if name in reports]
        if family_reports:
            older = [report for report in family_reports if report.changed or not _is_usual(report, usual)]
            yield Chapter(
                family=family,
                current=tuple(report for report in family_reports if report not in older),
                older=tuple(older),
                matrix=(folder / f"family-{family}" / "report.html").is_file(),
            )


def _usual_versions(reports: Iterable[Report]) -> dict[str, str]:
    """Return the version of each system that most reports are of."""
    counts: dict[str, Counter[str]] = {}
    for report in reports:
        for system, version in report.versions.items():
            counts.setdefault(system, Counter())[version] += 1
    return {system: count.most_common(1)[0][0] for system, count in counts.items()}


def _is_usual(report: Report, usual: Mapping[str, str]) -> bool:
    return all(usual[system] == version for system, version in report.versions.items())
