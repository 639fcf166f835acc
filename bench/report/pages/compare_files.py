"""A comparison for machines: JUnit XML, as CI servers read test results, and Markdown for a job's summary."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from bench.model import CaseComparison, Change
from bench.report.pages.compare import RunComparison, table, verdict


def write_junit(comparison: RunComparison, file: Path) -> None:
    """Write a test for each case: one that is proven worse has failed, one that is not decided is skipped."""
    runs = f"{comparison.first.run.name} and {comparison.second.run.name}"
    suite = ET.Element("testsuite", name=f"{runs}: {comparison.metric}")
    for case in comparison.cases:
        test = ET.SubElement(
            suite, "testcase", name=case.case, classname=f"{case.system}.{comparison.metric}"
        )
        if _is_proven_worse(case):
            ET.SubElement(test, "failure", message=_words(case)).text = comparison.summary
        elif _inconclusive(case):
            ET.SubElement(test, "skipped", message=_words(case))
    for case_name in comparison.gone:
        test = ET.SubElement(suite, "testcase", name=case_name, classname=f"gone.{comparison.metric}")
        ET.SubElement(test, "skipped", message="not in the second run")
    counts = {"tests": "testcase", "failures": "testcase/failure", "skipped": "testcase/skipped"}
    for name, path in counts.items():
        suite.set(name, str(len(suite.findall(path))))
    ET.indent(suite)
    ET.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)


def _is_proven_worse(case: CaseComparison) -> bool:
    return case.change == Change.WORSE and case.proven


def _inconclusive(case: CaseComparison) -> bool:
    return case.change == Change.INCONCLUSIVE or (case.change == Change.WORSE and not case.proven)


def _words(case: CaseComparison) -> str:
    """Say a case's verdict with its ratio and interval."""
    words = [verdict(case).text]
    if case.ratio is not None:
        words.append(f"second over first {case.ratio:.3f}")
    if case.interval is not None:
        words.append(f"95 % interval {case.interval.low:.3f} to {case.interval.high:.3f}")
    return ", ".join(words)


def write_markdown(comparison: RunComparison, file: Path) -> None:
    """Write the summary and a table of the cases."""
    shown = table(comparison)
    heads = [column.head for column in shown.columns]
    lines = [
        f"## {comparison.second.run.name} against {comparison.first.run.name}",
        "",
        comparison.summary,
        "",
        comparison.together,
        "",
        _row(heads),
        _row(["---"] * len(heads)),
        *(_row([cell.text for cell in row.cells]) for row in shown.rows),
        "",
        *(f"{line}\n" for line in (comparison.missing_cases, comparison.doubts) if line),
    ]
    file.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
