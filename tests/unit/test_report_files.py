"""The files that write_report leaves, and what it says when it can't."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
from pypdf import PdfReader
from rich.console import Console

from bench.errors import ReportError
from bench.report import terminal_summary, write_report
from bench.report.pages import html
from tests.report_data import build
from tests.report_sketch import Sketch

SMALL = Sketch(systems=("pulsar", "memory"), rounds=1, messages=500)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("report") / "run", SMALL)


@pytest.fixture
def with_log(tmp_path: Path) -> Path:
    """A run of two trials, of which one has its event log."""
    run = build(tmp_path / "run", Sketch(systems=("memory",), rounds=1, messages=500))
    (run / "trials" / "0000" / "sends").mkdir()
    return run


@pytest.fixture(scope="module")
def pdf(run: Path) -> PdfReader:
    _, path = write_report(run)
    return PdfReader(path)


def test_pdf_has_pages_and_the_question_on_the_first(pdf: PdfReader) -> None:
    first = " ".join(pdf.pages[0].extract_text().split())

    assert len(pdf.pages) > 3
    assert "What does each acknowledgement setting cost" in first
    assert f"1 / {len(pdf.pages)}" in first


def test_what_the_machines_limit_means_stands_before_all_figures_behind_the_first_page(
    tmp_path: Path,
) -> None:
    run = build(tmp_path / "run", SMALL)
    table = run / "results" / "trials.parquet"
    trials = pd.read_parquet(table)
    trials.assign(bottleneck="cpu", machine_cpu_share=0.95, bottleneck_evidence="busy").to_parquet(table)

    page = html.render(run)

    limit = page.index("they are not what brokers on machines of their own would carry")
    behind = page.index('<section id="context">')
    assert behind < limit < page.index("Of these trials: in ") < page.index('class="drawing"', behind)


def test_pdf_is_titled_and_has_an_outline(pdf: PdfReader) -> None:
    assert pdf.metadata is not None
    assert pdf.metadata.title is not None
    assert pdf.metadata.title.startswith("What an acknowledgement costs")
    assert len(pdf.outline) > 0


def test_nothing_but_the_two_files_is_left(run: Path, pdf: PdfReader) -> None:
    names = {path.name for path in run.iterdir()}

    assert names == {"manifest.json", "plan.json", "results", "trials", "report.html", "report.pdf"}


def test_trial_pages_are_written_on_demand_and_removed_by_the_next_report(with_log: Path) -> None:
    command, link = "bench report run --trials", 'href="pages/0000.html"'
    page, _ = write_report(with_log, trial_pages=True)

    assert sorted(path.name for path in (with_log / "pages").iterdir()) == [
        *("0000.html", "0001.html", "style.css")
    ]
    assert link in page.read_text()
    assert command not in page.read_text()

    page, _ = write_report(with_log)

    assert not (with_log / "pages").exists()
    assert link not in page.read_text()
    assert command in page.read_text()


def test_a_report_without_an_event_log_names_no_command_for_trial_pages(run: Path) -> None:
    assert "--trials" not in html.render(run)


@pytest.mark.parametrize(
    "name", ["results/cases.parquet", "results/summary.json", "manifest.json", "plan.json"]
)
def test_missing_file_is_named(with_log: Path, name: str) -> None:
    (with_log / name).unlink()

    with pytest.raises(ReportError, match=f"{name} is missing.*bench report {with_log}"):
        write_report(with_log)


def test_what_was_published_without_its_event_log_cannot_be_computed_again(with_log: Path) -> None:
    (with_log / "results" / "cases.parquet").unlink()
    (with_log / "trials" / "0000" / "sends").rmdir()

    with pytest.raises(
        ReportError, match=r"cases\.parquet is missing\. It was published without its event log"
    ):
        write_report(with_log)


@pytest.mark.parametrize(
    "name", ["results/trials.parquet", "results/expectations.json", "trials/0000/trial.json"]
)
def test_garbled_file_is_named(with_log: Path, name: str) -> None:
    (with_log / name).write_text("no such format")

    with pytest.raises(ReportError, match=f"{name} cannot be read"):
        write_report(with_log)


def test_missing_column_is_named(with_log: Path) -> None:
    (with_log / "results" / "cases.parquet").write_bytes(
        (with_log / "results" / "errors.parquet").read_bytes()
    )

    with pytest.raises(ReportError, match=r"cases.parquet has no column system, case"):
        write_report(with_log)


def test_terminal_table_shows_settings_medians_and_loss(tmp_path: Path) -> None:
    run = build(tmp_path / "run", Sketch(systems=("kafka", "pulsar"), rounds=5, lost={0: 3}, messages=500))

    shown = _printed(run)

    for head in ("replicas", "SyncData", "msgs/s", "service", "p99 ms", "e2e", "lost", "limited"):
        assert head in shown
    assert "5/5" in shown
    assert "3 acknowledged messages lost" in shown
    assert "95 % interval" in shown


def test_terminal_table_needs_results(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="is missing"):
        terminal_summary(tmp_path)


def _printed(run: Path) -> str:
    stream = StringIO()
    Console(file=stream, width=160).print(terminal_summary(run))
    return stream.getvalue()
