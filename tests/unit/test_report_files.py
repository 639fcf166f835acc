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
from tests.report_data import build
from tests.report_sketch import Sketch

SMALL = Sketch(systems=("pulsar", "memory"), rounds=1, messages=500)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("report") / "run", SMALL)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """One that a test breaks; its event log is there."""
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
    run = build(tmp_path / "run", Sketch(rounds=5, messages=500))
    table = run / "results" / "trials.parquet"
    trials = pd.read_parquet(table)
    trials.assign(bottleneck="cpu", machine_cpu_share=0.95, bottleneck_evidence="busy").to_parquet(table)

    html, _ = write_report(run, of_trials=False)

    page = html.read_text()
    limit = page.index("they are not what brokers on machines of their own would carry")
    behind = page.index('<section id="context">')
    assert (
        behind
        < limit
        < page.index("Where the CPU was the limit: in ")
        < page.index('class="drawing"', behind)
    )


def test_pdf_is_titled_and_has_an_outline(pdf: PdfReader) -> None:
    assert pdf.metadata is not None
    assert pdf.metadata.title is not None
    assert pdf.metadata.title.startswith("What an acknowledgement costs")
    assert len(pdf.outline) > 0


def test_nothing_but_the_two_files_and_the_trials_pages_is_left(run: Path, pdf: PdfReader) -> None:
    names = {path.name for path in run.iterdir()}

    assert names == {"manifest.json", "plan.json", "results", "trials", "report.html", "report.pdf", "pages"}
    assert len(list((run / "pages").glob("*.html"))) == len(list((run / "trials").iterdir()))


@pytest.mark.parametrize(
    "name", ["results/cases.parquet", "results/summary.json", "manifest.json", "plan.json"]
)
def test_missing_file_is_named(broken: Path, name: str) -> None:
    (broken / name).unlink()

    with pytest.raises(ReportError, match=f"{name} is missing.*bench report {broken}"):
        write_report(broken)


def test_what_was_published_without_its_event_log_cannot_be_computed_again(broken: Path) -> None:
    (broken / "results" / "cases.parquet").unlink()
    (broken / "trials" / "0000" / "sends").rmdir()

    with pytest.raises(
        ReportError, match=r"cases\.parquet is missing\. It was published without its event log"
    ):
        write_report(broken)


@pytest.mark.parametrize(
    "name", ["results/trials.parquet", "results/expectations.json", "trials/0000/trial.json"]
)
def test_garbled_file_is_named(broken: Path, name: str) -> None:
    (broken / name).write_text("no such format")

    with pytest.raises(ReportError, match=f"{name} cannot be read"):
        write_report(broken)


def test_missing_column_is_named(broken: Path) -> None:
    (broken / "results" / "cases.parquet").write_bytes((broken / "results" / "errors.parquet").read_bytes())

    with pytest.raises(ReportError, match=r"cases.parquet has no column system, case"):
        write_report(broken)


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
