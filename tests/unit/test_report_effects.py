"""How a report tells effect sizes and what is undecided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from bench.report import results, sweep
from bench.report.pages import html, terminal
from bench.report.results import Results
from bench.report.sections import context, effects, expectations, machine_speed, precision, throughput
from tests.records import altered
from tests.report_data import build
from tests.report_sketch import Sketch

X = "\N{MULTIPLICATION SIGN}"
BASELINE, OTHER = "memory loss=0", "memory loss=0.001"
THROUGHPUT, SERVICE = effects.METRICS[0], effects.METRICS[3]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sketch = Sketch(systems=("memory",), rounds=3, cycles=3, messages=200)
    return build(tmp_path_factory.mktemp("run") / "sliced", sketch)


@pytest.fixture(scope="module")
def found(run: Path) -> Results:
    return results.read(run)


def told(found: Results, metric: effects.Metric, ratio: float, *ends: float | None) -> tuple[str, str]:
    """Return the text and the tone of the cell of a case whose ratio is this."""
    low, high = ends or (None, None)
    row = {"system": "memory", "case": OTHER, "baseline": BASELINE, "metric": metric.name}
    table = pd.DataFrame([row | {"ratio": ratio, "low": low, "high": high, "rounds": 3}])
    (part,) = sweep.parts(found)
    cell = effects.cell(replace(found, ratios=table), part, OTHER, metric)
    return cell.text, cell.tone


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        ((2.8, 2.6, 3.0), (f"2.8{X} higher (2.6 to 3.0)", "strong")),
        ((0.25, 0.2, 0.3125), (f"4.0{X} lower (3.2 to 5.0)", "strong")),
        ((1.04, 1.02, 1.06), (f"1.04{X} higher (1.02 to 1.06)", "strong")),
        ((1.01, 0.98, 1.04), ("no difference (±5 %)", "neutral")),
        ((1.01, 1.001, 1.02), ("no difference (±5 %)", "neutral")),
        ((0.97, 0.91, 1.04), (f"0.97{X} (0.91 to 1.04)", "quiet")),
        ((2.8,), (f"2.8{X} higher (no interval)", "quiet")),
        ((12.4, 11.2, 13.7), (f"12{X} higher (11 to 14)", "strong")),
    ],
)
def test_a_ratio_is_a_factor_with_its_direction(
    found: Results, ratio: tuple[float, ...], said: tuple[str, str]
) -> None:
    assert told(found, THROUGHPUT, *ratio) == said


def test_times_are_longer_or_shorter(found: Results) -> None:
    assert told(found, SERVICE, 1.5, 1.4, 1.6)[0] == f"1.50{X} longer (1.40 to 1.60)"
    assert told(found, SERVICE, 0.5, 0.4, 0.625)[0] == f"2.0{X} shorter (1.6 to 2.5)"


def test_the_smallest_effect_is_the_runs(found: Results) -> None:
    """Within 1/1.1 to 1.1 nothing matters to a run whose smallest effect is a tenth."""
    tenth = replace(found, manifest={**found.manifest, "smallest_effect": 0.1})

    assert told(tenth, THROUGHPUT, 1.06, 1.04, 1.08) == ("no difference (±10 %)", "neutral")


def test_the_baseline_says_so_and_is_named(found: Results) -> None:
    (part,) = sweep.parts(found)

    assert effects.cell(found, part, BASELINE, THROUGHPUT).text == "baseline"
    assert effects.baselines(found, [part]) == "The baseline is loss=0."


def test_tables_of_cases_have_the_ratio_and_the_ms_a_send(found: Results) -> None:
    (part,) = sweep.parts(found)

    made = throughput.table(found, part)

    heads = [(column.group, column.head) for column in made.columns]
    ratio = made.rows[1].cells[heads.index(("throughput, messages/s", "against the baseline"))]
    send = made.rows[1].cells[heads.index(("", "mean service time, ms"))]
    assert ratio.text == effects.cell(found, part, OTHER, THROUGHPUT).text
    assert float(send.text) == pytest.approx(found.cases["service_mean_ns"].iloc[1] / 1e6, abs=5e-4)
    assert ("service time, ms", "95 % interval") not in heads


def with_load(found: Results, **changes: Any) -> Results:
    records = {number: altered(trial, load=changes) for number, trial in found.trial_records.items()}
    return replace(found, trial_records=records)


@pytest.mark.parametrize("changes", [{"window": 8}, {"producers": 2}, {"pacing": [[8.0, 500]]}])
def test_only_with_one_send_open_a_rate_is_told_as_a_time(found: Results, changes: dict[str, Any]) -> None:
    other = with_load(found, **changes)
    (part,) = sweep.parts(other)

    assert "mean service time, ms" not in [column.head for column in throughput.table(other, part).columns]


def test_paced_loads_are_compared_by_response_times(tmp_path: Path) -> None:
    sketch = Sketch(systems=("memory",), rounds=2, cycles=2, open_loop=True, messages=200)
    found = results.read(build(tmp_path / "run", sketch))
    (part,) = sweep.parts(found)

    lead = effects.lead(found, part)

    assert lead is not None
    assert lead.words == "response time, p50"
    heads = [column.head for column in throughput.table(found, part).columns]
    assert "response time, p50, against the baseline" in heads


def test_a_run_without_ratios_has_no_column_for_them(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), rounds=2, messages=200)))
    (part,) = sweep.parts(found)

    assert effects.tables(found, [part]) == []
    assert effects.baselines(found, [part]) == ""
    assert "against the baseline" not in [column.head for column in throughput.table(found, part).columns]


def entry(verdict: str, *ratios: float, **more: Any) -> dict[str, Any]:
    """An expectation with a comparison for each ratio, whose interval reaches 0.1 to both sides."""
    comparisons = [
        {
            "what": "a > b",
            "rounds_for": 3,
            "rounds_against": 0,
            "rounds": 3,
            "values": None,
            "ratio_median": ratio,
            "ratio_low": ratio - 0.1,
            "ratio_high": ratio + 0.1,
            "verdict": verdict,
        }
        for ratio in ratios
    ]
    return {"id": "order", "claim": "a is above b", "verdict": verdict, "summary": "s"} | {
        "comparisons": comparisons,
        "smallest_effect": 0.05,
        "effect": min(ratios),
        **more,
    }


def test_an_expectation_has_the_effect_of_its_closest_comparison(found: Results) -> None:
    one, several = expectations.expectations(
        replace(found, expectations=(entry("held", 2.8), entry("held", 2.8, 1.4, 1.9)))
    )

    assert one.counted == f"2.8{X}, interval 2.7 to 2.9"
    assert several.counted == f"1.40{X}, interval 1.30 to 1.50; the closest of 3 comparisons"


def test_no_difference_has_a_look_of_its_own_and_is_counted(found: Results) -> None:
    entries = (entry("held", 2.0), entry("no difference", 1.01), entry("undecided", 1.1), entry("held", 3.0))
    every = expectations.expectations(replace(found, expectations=entries))

    assert [(one.mark, one.tone) for one in every[1:3]] == [("=", "neutral"), ("?", "warn")]
    assert expectations.tally(every) == "2 held, 1 no difference, 1 undecided"
    assert expectations.claims(entries) == (
        ("2 held", "good"),
        ("1 no difference", "neutral"),
        ("1 undecided", "warn"),
    )


def test_what_is_undecided_is_told_with_the_minutes_that_it_takes(found: Results) -> None:
    def said(minutes: float | None, *ids: str) -> str:
        ahead: dict[str, Any] = {"expectations": list(ids), "half_widths": {}, "minutes_left": minutes}
        summary = {**found.summary, "undecided": ahead}
        return precision.undecided_expectations(
            replace(found, summary=summary, expectations=(entry("undecided", 1.1),))
        )

    assert said(0.0) == "Every expectation is decided."
    assert said(12.4, "order") == (
        "1 of 1 expectation is undecided. About 13 more minutes of measuring would decide the rest: "
        "`bench run --resume 20261121-120000-acks-sweep-standard --budget 13m`."
    )
    assert "More rounds would hardly decide the rest" in said(481.0, "order")
    assert said(None, "order").endswith("cannot be estimated from this run's rounds.")


def test_intervals_come_over_rounds_and_their_width_is_told(found: Results) -> None:
    assert precision.interval(found) == "3 rounds: means and ratios have 95 % intervals over rounds."
    assert "Half of the intervals of ratios of throughput reach at most 3.1 % to either side." in (
        precision.width(found)
    )


@pytest.mark.parametrize(
    ("rounds", "said"),
    [
        (1, "1 round: there is no interval; ranges are the lowest and the highest trial."),
        (
            2,
            "2 rounds: ratios have 95 % intervals over rounds; means have the lowest and the highest trial.",
        ),
    ],
)
def test_few_rounds_say_what_has_no_interval(tmp_path: Path, rounds: int, said: str) -> None:
    sketch = Sketch(systems=("memory",), rounds=rounds, cycles=2, messages=200)

    assert precision.interval(results.read(build(tmp_path / "run", sketch))) == said


def test_looks_at_a_run_while_it_ran_are_told(found: Results) -> None:
    assert precision.looks(found).startswith("The run was evaluated 2 times while it ran, to decide")
    assert precision.looks(replace(found, manifest={**found.manifest, "looks": 0})) == ""


def test_an_uneven_machine_does_not_touch_ratios_of_slices(found: Results) -> None:
    probes = [2.5e6, *[5e6] * (len(found.trials) - 1)]
    said = machine_speed.unsteady(replace(found, trials=found.trials.assign(machine_probe_ns=probes)))

    assert said is not None
    assert said.endswith(
        "Ratios compare slices that alternate, so they have nothing of it; throughputs of different rounds have."
    )


def test_a_quick_run_in_slices_decides_large_effects(found: Results) -> None:
    quick = replace(found, manifest={**found.manifest, "profile": "quick"})

    warnings = context.warnings(quick)

    assert warnings[-1].startswith("Profile `quick` decides large effects only")


def test_the_page_names_the_baseline_above_its_tables(run: Path) -> None:
    page = html.render(run)

    section = page[page.index('<section id="effects">') : page.index('<section id="throughput">')]
    assert "The baseline is loss=0." in section
    assert section.index("The baseline is loss=0.") < section.index("<table")
    assert '<span class="chip neutral">= no difference</span>' in page
    assert "the sign test" not in page


def test_the_terminal_has_ratios_verdicts_and_what_is_undecided(run: Path) -> None:
    console = Console(width=140)
    with console.capture() as capture:
        console.print(terminal.summary(run))
    said = capture.get()

    assert "against the" in said
    assert "baseline" in said
    assert "95 % interval" not in said.partition("The baseline is loss=0.")[0]
    assert "= no difference  Memory: A higher min.insync.replicas costs throughput." in said
    assert "Every expectation is decided." in said


def test_the_page_behind_the_first_says_what_is_undecided_and_how_to_go_on(tmp_path: Path) -> None:
    page = html.render(build(tmp_path / "run", Sketch(systems=("pulsar",), rounds=1, cycles=2, messages=100)))

    behind = page[page.index('<section id="context">') :]
    assert "1 of 1 expectation is undecided. About 13 more minutes" in behind
    assert "<code>bench run --resume 20261121-120000-acks-sweep-standard --budget 13m</code>" in behind
    assert "--resume" not in page[: page.index("</header>")]
    assert "decided by the interval of their ratio" in page
    assert "sign test" not in page
