"""A page for each trial, beside the report: how it went, second by second, what it used, and what its servers wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from bench import durable_files, numbers
from bench.records.trial import CheckRecord, TrialRecord
from bench.report import fonts, results, style, templates
from bench.report.figures import Drawing, trial_figure
from bench.report.results import PAGES, Json, Results, trial_page
from bench.report.sections import faults, layout_changes, sends_without_latency
from bench.report.sections.fact import Fact

_TIMES = {"service": "Service time", "response": "Response time", "queue": "Queue time", "e2e": "End to end"}
_POINTS = ("p50", "p90", "p99", "p99_9", "max")


@dataclass(frozen=True, slots=True)
class TrialPage:
    """What the page of a trial shows.

    `previous_page` and `next_page` are the names of the files beside it. `times` has a row a measure, with a value for
    each of `points`. `checks` are the verdicts of trial.json. `logs` are the servers', each with its address.
    """

    run: str
    title: str
    trial: int
    round: int
    case: str
    look: style.Look
    verdict: str
    reason: str | None
    previous_page: str | None
    next_page: str | None
    facts: Sequence[Fact]
    times: Sequence[tuple[str, Sequence[str]]]
    points: Sequence[str]
    figure: tuple[Drawing, Markup] | None
    errors: Sequence[Json]
    checks: Sequence[CheckRecord]
    faults: Sequence[Fact]
    history: Sequence[Fact]
    settings: Sequence[Fact]
    logs: Sequence[tuple[str, str]]


def write(run: Path) -> None:
    """Write a page for every trial of a run into <run>/pages, which is replaced when all are there.

    Raises ReportError where the results are missing or garbled.
    """
    run_results = results.read(run)
    order = sorted(int(trial) for trial in run_results.trials["trial"])
    css = f"{fonts.faces()}\n{templates.text('report.css')}{templates.text('trial.css')}"
    with durable_files.replace_folder(run / PAGES) as fresh, style.typography():
        (fresh / "style.css").write_text(css, encoding="utf-8")
        for trial in order:
            row = run_results.trials[run_results.trials["trial"] == trial].iloc[0]
            page = templates.render("trial.html.j2", templates.fields(_page(run_results, row, order)))
            (fresh / Path(trial_page(trial)).name).write_text(page, encoding="utf-8")


def _page(run_results: Results, row: pd.Series[Any], order: list[int]) -> TrialPage:
    trial = int(row["trial"])
    place = order.index(trial)
    record = run_results.trial_records[trial]
    drawing = trial_figure.trial(run_results, trial)
    return TrialPage(
        run=run_results.run.name,
        title=str(run_results.manifest.get("title") or run_results.manifest.get("scenario")),
        trial=trial,
        round=int(row["round"]) + 1,
        case=str(row["case"]),
        look=style.look(str(row["system"])),
        verdict=str(row["verdict"]),
        reason=row["reason"],
        previous_page=Path(trial_page(order[place - 1])).name if place else None,
        next_page=Path(trial_page(order[place + 1])).name if place + 1 < len(order) else None,
        facts=list(_facts(row, record)),
        times=list(_times(row)),
        points=[point.replace("_", ".") for point in _POINTS],
        figure=(drawing, Markup(drawing.svg)) if drawing else None,  # noqa: S704 - our own SVG
        errors=results.records(run_results.errors[run_results.errors["trial"] == trial]),
        checks=record.verdicts,
        faults=faults.steps(record),
        history=layout_changes.in_trial(run_results, trial),
        settings=_settings(record),
        logs=_logs(run_results.run, record),
    )


def _facts(row: pd.Series[Any], record: TrialRecord) -> Iterator[Fact]:
    yield Fact("Throughput", f"{numbers.rate(row['throughput_msgs_per_s'])} acknowledged messages/s")
    if isinstance(row["bottleneck"], str):
        yield Fact("Limited by", f"{row['bottleneck']}: {row['bottleneck_evidence']}")
    yield Fact(
        "Sends",
        f"{numbers.count(row['sent'])}, of which acknowledged {numbers.count(row['acked'])}, "
        f"failed {numbers.count(row['failed'])}, unknown {numbers.count(row['unknown'])}",
    )
    yield Fact(
        "Full read",
        f"lost {numbers.count(row['lost'])}, duplicated {numbers.count(row['duplicates'])}, "
        f"out of order {numbers.count(row['out_of_order'])}",
    )
    yield Fact("Begun", record.started_utc or numbers.NOTHING)
    if isinstance(row.get("flags"), str):
        yield Fact("Flagged", row["flags"])


def _times(row: pd.Series[Any]) -> Iterator[tuple[str, list[str]]]:
    for measure, words in _TIMES.items():
        names = [f"{measure}_{point}_ns" for point in _POINTS]
        if not all(numbers.absent(row.get(name)) for name in names):
            yield words, [_time(row, name) for name in names]


def _time(row: pd.Series[Any], name: str) -> str:
    return numbers.NEVER if sends_without_latency.endless(row, name) else numbers.ms(row.get(name))


def _settings(record: TrialRecord) -> list[Fact]:
    """What the case asks for, a line each, swept or not."""
    return [Fact(*setting) for setting in _flat(record.case.configuration) if setting[0] != "faults"]


def _flat(settings: Json, under: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{under}{name}.")
        else:
            yield f"{under}{name}", str(value)


def _logs(run: Path, record: TrialRecord) -> list[tuple[str, str]]:
    """Each server's log: its name, and where the page finds it."""
    folder = run / "logs" / str(record.logs)
    return [(file.stem, f"../logs/{folder.name}/{file.name}") for file in sorted(folder.glob("*.log"))]
