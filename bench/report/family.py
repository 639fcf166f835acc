"""A family of scenarios on one page: what each fault cost each configuration, from the latest run of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pandas as pd

from bench.errors import ReportError
from bench.report import html, numbers, pdf, results, style, sweep
from bench.report.results import Results
from bench.report.table import Cell

_COUNTS = (("lost", "bad"), ("duplicates", "warn"), ("out_of_order", "warn"))
_BASE = {"kafka": ("producer", "acks"), "pulsar": ("topic", "quorums")}
"""What names a configuration where the scenario does not sweep it."""
_JAVA_NEVER = "9223372036854775807"
HEADS = ("configuration", "trials", "lost", "twice", "disordered", "no ack, s")


@dataclass(frozen=True, slots=True)
class Line:
    """One configuration under one fault: cells under HEADS."""

    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One scenario's latest run. `lines` holds a line a configuration, by system; `link` leads to its report."""

    name: str
    title: str
    link: str
    run: str
    about: str
    claims: tuple[tuple[str, str], ...]
    lines: Mapping[str, Sequence[Line]]

    def rows(self, systems: Sequence[str]) -> list[tuple[Line | None, ...]]:
        """Lines side by side, by system; None where a system has fewer."""
        return list(zip_longest(*(self.lines.get(system, ()) for system in systems)))


def write(family: str, scenarios: Sequence[str], out: Path) -> tuple[Path, Path]:
    """Write the family's page below `out`/family-<name>/, as HTML and PDF; return their paths.

    Of each scenario the latest run with results below `out` counts. Raises ReportError when there is none.
    """
    folder = out / f"family-{family}"
    entries = [_entry(found, folder) for name in scenarios if (found := _latest(out, name)) is not None]
    if not entries:
        raise ReportError(
            f"{out}: there is no run with results of family {family!r}; run one of its scenarios first."
        )
    systems = [system for system in _BASE if any(system in entry.lines for entry in entries)]
    missing = [name for name in scenarios if name not in {entry.name for entry in entries}]
    page = html.page(
        "family.html.j2",
        {
            "family": family,
            "entries": entries,
            "systems": systems,
            "heads": HEADS,
            "looks": {system: style.look(system) for system in systems},
            "missing": missing,
        },
    )
    folder.mkdir(parents=True, exist_ok=True)
    on_screen, on_paper = folder / "report.html", folder / "report.pdf"
    on_screen.write_text(page, encoding="utf-8")
    pdf.write(page, on_paper)
    return on_screen, on_paper


def _latest(out: Path, scenario: str) -> Results | None:
    """Return the newest run of a scenario that has results; names of run folders begin with their time."""
    for run in sorted(out.glob(f"*-{scenario}-*"), reverse=True):
        if (run / "results").is_dir():
            found = results.read(run)
            if found.manifest.get("scenario") == scenario:
                return found
    return None


def _entry(found: Results, folder: Path) -> Entry:
    manifest = found.manifest
    verdicts = Counter(str(one["verdict"]) for one in found.expectations)
    tones = (("held", "good"), ("did not hold", "bad"), ("undecided", "warn"))
    return Entry(
        name=str(manifest["scenario"]),
        title=str(manifest.get("title") or manifest["scenario"]),
        link=str(Path("..") / found.run.name / "report.html") if folder.parent == found.run.parent else "",
        run=found.run.name,
        about=f"{manifest.get('profile', '')}, {str(manifest.get('started_utc', ''))[:10]}".strip(", "),
        claims=tuple((f"{verdicts[word]} {word}", tone) for word, tone in tones if verdicts[word]),
        lines={
            part.system: [_line(found, part, case) for _, case in part.cases.iterrows()]
            for part in sweep.parts(found)
        },
    )


def _line(found: Results, part: sweep.Part, case: pd.Series[Any]) -> Line:
    trials = part.trials[part.trials["case"] == case["case"]]
    valid = trials[trials["verdict"] == "valid"]
    counted = Cell(f"{len(valid)}/{len(trials)}", "plain" if len(valid) == len(trials) else "warn")
    cells = [Cell(_label(found, part, case, trials), "plain"), counted]
    cells += [_count(valid[name], tone) for name, tone in _COUNTS]
    if "unread" in valid.columns and valid["unread"].any():
        lost = "" if cells[2].text in {"0", numbers.NOTHING} else f"{cells[2].text}, "
        cells[2] = Cell(f"{lost}{_span(valid['unread'], numbers.count)} unread", "bad" if lost else "warn")
    gaps = valid["unavailable_ns"] if "unavailable_ns" in valid.columns else pd.Series(dtype=float)
    cells.append(Cell(_span(gaps.dropna() / 1e9, "{:.1f}".format), "plain"))
    return Line(tuple(cells))


def _label(found: Results, part: sweep.Part, case: pd.Series[Any], trials: pd.DataFrame) -> str:
    swept = dict(zip(part.settings, part.values(case), strict=True))
    room, name = _BASE.get(part.system, ("", ""))
    said = []
    if name not in swept and len(trials):
        document = found.trial_files.get(int(trials["trial"].iloc[0]), {})
        given = document.get("case", {}).get("configuration", {}).get(room, {}).get(name)
        said = [_said(name, str(given))] if given is not None else []
    return ", ".join([*said, *(_said(name, value) for name, value in swept.items())]) or part.title


def _said(name: str, value: str) -> str:
    if name == "quorums":
        return value
    return f"{name}={'never' if value == _JAVA_NEVER else value}"


def _count(values: pd.Series[Any], tone: str) -> Cell:
    known = values.dropna()
    return Cell(_span(known, numbers.count), tone if known.any() else "quiet")


def _span(values: pd.Series[Any], word: Any) -> str:  # noqa: ANN401 - a format
    """Say the least and the most over the trials; one of them where they are alike."""
    if values.empty:
        return numbers.NOTHING
    low, high = word(values.min()), word(values.max())
    return low if low == high else f"{low} to {high}"
