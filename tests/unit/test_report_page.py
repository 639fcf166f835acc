"""What a reader finds in report.html."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench import numbers
from bench.columns import CONSUMER_COUNTERS
from bench.records.steps import StrikeRecord
from bench.report import results, sweep
from bench.report.pages import html
from bench.report.sections import (
    delivery,
    expectations,
    guarantees,
    method,
    offending_messages,
    resources,
    sends_without_latency,
    throughput,
)
from bench.report.table import Cell, Table
from tests.records import altered
from tests.report_data import build
from tests.report_sketch import Sketch
from tests.spaces import with_plain_spaces

TIMES = "\N{MULTIPLICATION SIGN}"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of both systems, five rounds, all valid."""
    return with_plain_spaces(html.render(build(tmp_path_factory.mktemp("run") / "both")))


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of three rounds with a failed trial and lost messages."""
    sketch = Sketch(
        systems=("memory",),
        rounds=3,
        failed=(1,),
        lost={2: 60},
        slowed=(3,),
        drifting=(4,),
        crowded=(2, 3),
        e2e=False,
    )
    return with_plain_spaces(html.render(build(tmp_path_factory.mktemp("run") / "troubled", sketch)))


def test_first_page_gives_question_answer_and_figure(page: str) -> None:
    front = page[page.index('<header class="front">') : page.index("</header>")]

    assert "What an acknowledgement costs" in front
    assert "What does each acknowledgement setting cost" in front
    assert re.search(r'<p class="finding', front)
    assert 'id="figure-answer"' in front
    assert '<span class="chip' in front or " expectations</a>" in front


def test_the_page_names_what_limits_the_numbers(page: str) -> None:
    assert "2 cores shared by servers and clients" in page
    assert "one fsync takes 61 µs (p99 104 µs)" in page
    assert "closed loop" in page
    assert "default JIT" in page


def test_one_file_without_anything_from_outside(page: str) -> None:
    linked = re.findall(r'(?:src|href)="([^"]*)"', page) + re.findall(r"url\(([^)]*)\)", page)

    assert linked
    assert all(target.startswith(("#", "data:font/woff2")) for target in linked)
    assert "<script src" not in page
    assert "@import" not in page


def test_page_stays_small(page: str) -> None:
    assert len(page) < 3_000_000


def test_every_figure_says_in_words_what_it_shows(page: str) -> None:
    figures = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)

    assert len(figures) >= 8
    for figure in figures:
        assert 'role="img"' in figure
        assert re.search(r"<title id=[^>]*>[^<]{10,}</title>", figure)
        assert re.search(r"<desc id=[^>]*>[^<]{40,}</desc>", figure)


def test_description_gives_lowest_and_highest_case(page: str) -> None:
    assert re.search(r"<desc[^>]*>Throughput by case\. Kafka: from [\d,]+ messages/s \(replicas=4", page)


def test_price_is_drawn_over_what_an_fsync_was_measured_to_cost(tmp_path: Path) -> None:
    sketch = Sketch(systems=("pulsar",), rounds=2, disks=("as is", "1ms", "10ms"), messages=1000)

    page = with_plain_spaces(html.render(build(tmp_path / "disks", sketch)))

    front = page[page.index('<header class="front">') : page.index("</header>")]
    assert 'id="figure-price"' in front
    assert 'id="figure-price-service"' in page[page.index("</header>") :]
    assert "What a send takes, by what an fsync takes. Survives" in page
    assert ", unmodified 60 µs behind the gate that emulates longer ones" in page


def test_price_is_not_drawn_where_no_disk_was_emulated(page: str) -> None:
    assert "figure-price" not in page


def test_cases_stand_in_the_scenarios_order(page: str) -> None:
    """Not in the alphabet's: acks=all comes first in it, before 1 and 0."""
    acks = re.findall(r'data-find="kafka replicas=1 [^"]*acks=(\w+)', page)

    assert acks[:3] == ["all", "1", "0"]


def test_ids_are_unique(page: str) -> None:
    ids = re.findall(r'\bid="([^"]*)"', page)

    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    "label",
    [
        "acknowledged messages/s, log scale",
        "service time (ms), log scale",
        "end-to-end latency (ms)",
        "percentile",
        "seconds since the first send",
        "trial, in the order run",
    ],
)
def test_axes_carry_their_unit(page: str, label: str) -> None:
    assert re.search(rf"<text[^>]*>{re.escape(label)}", page)


def test_tables_hold_every_case_of_both_systems(page: str) -> None:
    tables = re.findall(r'<table class="grid measured finds".*?</table>', page, flags=re.DOTALL)

    rows = {re.findall(r'data-find="(\w+)', table)[0]: table.count("<tr") for table in tables}
    assert rows == {"kafka": 2 + 18, "pulsar": 2 + 12}


def test_five_rounds_give_an_interval(page: str) -> None:
    assert "5 rounds: medians with their 95 % bootstrap intervals (BCa) over trials" in page
    assert "(of 5 trials no interval can hold it in more than 93.8 % of cases)" in page
    assert page.count("95 % interval</th>") >= 2
    assert "there is no interval" not in page


def test_intervals_sort_by_their_low_end_not_as_text(page: str) -> None:
    found = re.findall(rf'data-sort="([0-9.]+)">([0-9,]+) {numbers.NOTHING} [0-9,]+</td>', page)

    assert len(found) == 30
    assert all(f"{float(low):,.0f}" == text for low, text in found)
    assert page.count('data-sort="5">5 / 5</td>') == 30


def row_of(table: Table, words: str) -> dict[tuple[str, str], str]:
    """Return the texts of a case's row, by group and head."""
    cells = next(row.cells for row in table.rows if words in row.find)
    return {(column.group, column.head): cell.text for column, cell in zip(table.columns, cells, strict=True)}


def test_the_tail_has_an_interval_and_few_trials_say_that_they_have_none(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), failed=(0,), messages=500)))
    (part,) = sweep.parts(found)
    made = throughput.table(found, part)
    few, enough = (found.cases[found.cases["rounds"] == rounds].iloc[0] for rounds in (4, 5))
    rate, time = "throughput, messages/s", "service time, ms"

    heads = [column.head for column in made.columns if column.group == time]
    assert heads == ["p50", "p99", "95 % interval", "p99.9", "max"]
    cells = row_of(made, f"loss={enough['loss']} ")
    ends = [numbers.ms(enough[f"service_p99_ns_ci_{end}"]) for end in ("low", "high")]
    assert cells[time, "95 % interval"] == f" {numbers.NOTHING} ".join(ends)
    cells = row_of(made, f"loss={few['loss']} ")
    ends = [numbers.rate(few[f"throughput_msgs_per_s_{end}"]) for end in ("low", "high")]
    assert cells[rate, "95 % interval"] == f"{f' {numbers.NOTHING} '.join(ends)}\n(no interval)"
    assert cells[time, "95 % interval"].endswith("\n(no interval)")


def test_what_limited_a_case_stands_beside_its_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("kafka",), rounds=1, messages=500)))
    (part,) = sweep.parts(found)

    made = guarantees.table(found, part)

    place = [column.head for column in made.columns].index("limited by")
    assert {row.cells[place].text for row in made.rows if not row.heading} == {"broker"}
    monkeypatch.setattr(results.Results, "is_fault_run", property(lambda _: True))
    assert "limited by" not in [column.head for column in guarantees.table(found, part).columns]


def test_counters_stand_trial_by_trial_under_the_articles_names(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), rounds=1, messages=500)))
    assert delivery.counters(found) is None  # nothing struck, and the load was no number of messages
    slowed = StrikeRecord(name="slow", kind="slow-disk", asked_ns=1)
    struck = {
        number: trial.model_copy(update={"faults": [slowed]}) for number, trial in found.trial_records.items()
    }
    told: dict[str, Any] = {
        "sent": 1000,
        "acked": 900,
        "failed": 60,
        "unknown": 40,
        "received": 970,
        "lost": [7, None],
        "unread": 11,
        "fail_present": 20,
        "unknown_present": 3,
        "out_of_order": 5,
        "duplicates": 2,
    }

    made = delivery.counters(replace(found, trials=found.trials.assign(**told), trial_records=struck))

    assert made is not None
    heads = ["sent", "positive acks", "negative acks", "unknown", "received", "acked missing"]
    assert [column.head for column in made.columns[2:]] == [
        *heads,
        "non-acked received",
        "out of order",
        "duplicates",
    ]
    said = [[cell.text for cell in row.cells[2:]] for row in made.rows]
    counts = ["1,000", "900", "60", "40", "970"]
    # What the second trial's reader had not read by its end counts as missing, as in the article.
    assert said == [[*counts, "7", "23", "5", "2"], [*counts, "11", "23", "5", "2"]]


def test_what_live_consumers_saw_is_a_table_where_anything_was_counted(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), rounds=2, messages=500)))
    case = found.trials["case"].iloc[0]
    counted = found.trials["case"].eq(case).astype(int)
    consumers = pd.DataFrame(
        {"trial": trial, "consumer": 0, "partition": partition, **dict.fromkeys(CONSUMER_COUNTERS, 1)}
        for trial in found.trials.loc[counted > 0, "trial"]
        for partition in (3, 1)
    )
    told = {"polls_back": 2 * counted, "polls_skipped": counted, "read_then_gone": None}
    odd = replace(found, trials=found.trials.assign(**told), consumers=consumers)

    made = delivery.consumers(odd, sweep.parts(odd))

    assert made is not None
    (row,) = made.rows
    heads = ["went back", "skipped", "two messages", "never acknowledged", "later gone", "partitions"]
    assert [column.head for column in made.columns[1:]] == heads
    cells = ["4", "2", "0", "0", numbers.NOTHING, "consumer 0: 1, 3"]  # over two rounds
    assert [cell.text for cell in row.cells[1:]] == cells
    assert not consumers_are_mentioned(odd)


def test_live_consumers_that_saw_nothing_odd_are_one_sentence(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), rounds=1, messages=500)))
    assert delivery.consumers(found, sweep.parts(found)) is None
    (sentence,) = consumers_are_mentioned(found)
    assert sentence.endswith("every message that they read was acknowledged and is in the full read.")

    broken_off = replace(found, trials=found.trials.assign(read_then_gone=None))
    (sentence,) = consumers_are_mentioned(broken_off)
    assert sentence.endswith("every message that they read was acknowledged.")


@pytest.mark.parametrize("older", [True, False])
def test_nothing_is_said_of_consumers_that_nobody_counted(tmp_path: Path, *, older: bool) -> None:
    """Results that are older than these columns, and trials without live consumers."""
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), rounds=1, messages=500)))
    names = list(CONSUMER_COUNTERS)
    trials = found.trials.drop(columns=names) if older else found.trials.assign(**dict.fromkeys(names))
    silent = replace(found, trials=trials)

    assert delivery.consumers(silent, sweep.parts(silent)) is None
    assert not consumers_are_mentioned(silent)


def consumers_are_mentioned(found: results.Results) -> list[str]:
    texts = [statement.text for statement in delivery.statements(found)]
    return [text for text in texts if "consumer" in text]


def test_where_a_read_stopped_stands_in_the_account(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), rounds=1, messages=500)))
    assert delivery.unfinished_reads(found, sweep.parts(found)) is None
    reason = "Reading the topic back: nothing came for 30 s, and partition 0 was read to ledger 6, entry 0."
    short = altered(found.trial_records[1], verify={"complete": False, "reason": reason})
    halted = replace(
        found,
        trials=found.trials.assign(unread=[0, 58]),
        trial_records={**found.trial_records, 1: short},
    )

    made = delivery.unfinished_reads(halted, sweep.parts(halted))

    assert made is not None
    (row,) = made.rows
    assert [cell.text for cell in row.cells][3:] == ["58", reason]


def test_sends_that_were_due_and_never_made_stand_on_the_first_page_from_a_fiftieth_on(
    tmp_path: Path,
) -> None:
    """Of 1,000 that were due in each of two cases 19 and 20 were not made; 15 of the others were not acknowledged."""
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), rounds=1, messages=500)))
    counts = {"sent": [981, 980], "failed": [10, 0], "unknown": [5, 0], "due_unsent": [19, 20]}
    short = replace(found, cases=found.cases.assign(**counts))
    worst = short.cases["case"].iloc[1]

    assert sends_without_latency.warning(found) is None
    assert sends_without_latency.warning(short) == (
        "The rate asked for was not reached in 1 of 2 configurations: 2 % of the sends that were due were never made "
        f"({worst}), as so many were open already. Response times count them as the longest."
    )
    (part,) = sweep.parts(short)
    table = throughput.table(short, part)
    place = [column.head for column in table.columns].index("not acked")
    shares = {row.cells[place].text for row in table.rows if not row.heading}
    assert shares == {"3.4 %", "2 %"}
    assert "not acked" not in [column.head for column in throughput.table(found, part).columns]


def test_the_first_page_says_how_the_cpu_was_the_limit(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), rounds=3, messages=500)))
    told: dict[str, list[Any]] = {  # one send open, of two cores: both busy, one of them, and more than one
        "machine_cpu_share": [0.95, 0.6, 0.85],
        "bottleneck_evidence": [
            "the cores were 95 % busy",
            "1 send open at a time, and servers and load process used 1.00 cores",
            "1 send open at a time, and for 60 % of the time something that could run waited for a core",
        ],
    }

    def said(*which: int) -> str:
        columns = {
            name: [values[place] for place in which] * (6 // len(which)) for name, values in told.items()
        }
        trials = found.trials.assign(bottleneck="cpu", verdict="valid", **columns)
        bound = replace(found, trials=trials)
        (limit,) = resources.limits(bound)
        assert limit.startswith(
            "In 6 of 6 valid trials work on the CPU took most of the time of a send, and servers and load share the "
            "2 cores. Such rates compare"
        )
        how = resources.busy(bound)
        assert how is not None
        return how

    assert resources.busy(replace(found, trials=found.trials.assign(bottleneck="broker"))) is None
    assert said(0, 1, 2).startswith("Of these trials: in 2 trials all of the 2 cores were busy, in 2 trials ")
    assert "in 2 trials servers and client were busy for about as long as sends were open: work" in said(
        0, 1, 2
    )
    assert said(0, 1, 2).endswith("in 2 trials work beside the open sends had further cores busy.")
    assert said(2) == "Of these trials: in 6 trials work beside the open sends had further cores busy."


def test_the_time_in_garbage_collection_is_a_cases_median(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("kafka",), rounds=3, messages=500)))
    shares = found.trials["round"].map({0: 0.02, 1: 0.05, 2: 0.004})
    (without,), (part,) = (
        sweep.parts(found),
        sweep.parts(replace(found, trials=found.trials.assign(gc_share=shares))),
    )

    made, other = resources.usage_table(found, part), resources.usage_table(found, without)

    assert made is not None
    assert other is not None
    place = [column.head for column in made.columns].index("in GC")
    assert {row.cells[place].text for row in made.rows} == {"2 %"}
    assert "in GC" not in [column.head for column in other.columns]


def test_bytes_to_disks_stand_with_their_range_where_trials_differ_much(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("kafka",), rounds=3, messages=500)))

    def told(*values: float) -> Cell:
        bytes_ = found.trials["round"].map(dict(enumerate(values)))
        cases = found.cases.assign(disk_bytes_per_byte=sorted(values)[1])
        trials = found.trials.assign(disk_bytes_per_byte=bytes_)
        (part,) = sweep.parts(replace(found, trials=trials, cases=cases))
        made = resources.usage_table(found, part)
        assert made is not None
        return made.rows[0].cells[[column.head for column in made.columns].index("to disks")]

    assert told(4.1, 4.5, 4.2).text == "4.2"
    assert (told(4.1, 36.4, 9.0).text, told(4.1, 36.4, 9.0).sort) == ("9 (4.1 to 36.4)", 9.0)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (False, "the first trials there may be slower than the later ones."),
        (True, "are those of servers that have just started."),
    ],
)
def test_servers_that_were_not_warm_are_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, *, broken: bool
) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("kafka",), rounds=1, messages=500)))
    ends = [[{"rested": False, "compilers": 0.97}], [{"rested": True, "compilers": 0.1}]]
    clusters = [{"warm_up": rounds} for rounds in ends]
    found = replace(found, manifest={**found.manifest, "timings_s": {"clusters": clusters}})
    monkeypatch.setattr(results.Results, "is_fault_run", property(lambda _: broken))

    warning = method.cold(found)

    assert warning is not None
    assert warning.startswith("On 1 of 2 cluster starts the warm-up's time was over")
    assert warning.endswith(said)


def test_a_claim_stands_with_its_ratios() -> None:
    def comparison(ratio: float | None, verdict: str, *interval: float) -> dict[str, object]:
        low, high = interval or (None, None)
        found = {"ratio_median": ratio, "ratio_low": low, "ratio_high": high}
        return {"rounds_for": 3, "rounds": 5, "values": None, "verdict": verdict, **found}

    def counted(comparisons: list[dict[str, object]], verdict: str) -> str:
        return expectations._evidence_words({"comparisons": comparisons, "verdict": verdict})

    several = [comparison(1.74, "held"), comparison(1.61, "undecided"), comparison(None, "undecided")]
    between = f"median ratios 1.61{TIMES} to 1.74{TIMES}"
    assert counted(several, "undecided") == f"{between}, 1 of 3 comparisons decided"
    assert counted(several, "held") == between
    one = [comparison(0.979, "held", 0.941, 1.008)]
    assert counted(one, "held") == f"median ratio 0.979{TIMES}, 0.941{TIMES} to 1.01{TIMES}"
    assert counted([comparison(0.979, "held")], "held") == f"median ratio 0.979{TIMES}"
    assert counted([comparison(None, "undecided")], "undecided") == ""


def test_a_run_says_how_wide_the_intervals_of_its_throughputs_are(page: str) -> None:
    assert re.search(
        r"Half of the throughputs.{1,5} intervals reach at most [\d.]+ % of the median to either side", page
    )


def test_nothing_lost_is_said_plainly(page: str) -> None:
    assert re.search(r'class="good">Nothing lost: the full read found all [\d,]+ acknowledged messages', page)


def test_points_left_out_are_listed_with_their_reason(page: str) -> None:
    assert "min.insync.replicas is greater than the number of replicas" in page
    assert "<li>replicas=1 min.insync.replicas=2 acks=0</li>" in page


def test_settings_read_back_tell_common_from_differing(page: str) -> None:
    assert re.search(r"<dt>num.io.threads</dt><dd>8</dd>", page)
    assert re.search(r"<dt>journalSyncData</dt><dd>false, true by case</dd>", page)


def test_fewer_than_five_rounds_give_no_interval(troubled: str) -> None:
    assert "there is no interval, for that takes at least 5" in troubled


def test_failed_trial_is_listed_with_its_reason(troubled: str) -> None:
    assert "Trials that do not count: 1 of 6" in troubled
    assert "broker-2 ended with exit code 1" in troubled
    assert "1 of 6 trials does not count" in troubled


def test_loss_is_flagged_on_the_first_page_and_in_the_account(troubled: str) -> None:
    sentence = "60 acknowledged messages lost, in 1 trial of 1 case"

    assert f'<p class="notice">{sentence}' in troubled
    assert f'<li class="bad">{sentence}' in troubled
    assert "Nothing lost" not in troubled


def test_first_fifty_offending_messages_are_listed(troubled: str) -> None:
    assert "Of 60 in all at most 50 rows of each kind stand here, the gravest first" in troubled
    assert troubled.count('<td class="name bad">lost</td>') == 50


def test_lost_messages_that_follow_one_another_share_a_row(tmp_path: Path) -> None:
    """Of producer 0 the sequences 5 to 8 and 10, of producer 1 sequence 11: which follows nobody's."""
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), lost={0: 6}, messages=500)))
    those = found.messages.assign(sequence=[5, 6, 7, 8, 10, 11], producer=[0] * 5 + [1], partition=0)

    table = offending_messages.table(replace(found, messages=those), sweep.parts(found))

    assert table is not None
    place = [column.head for column in table.columns].index("sequence")
    assert [row.cells[place].text for row in table.rows] == ["5 to 8", "10", "11"]


def test_of_older_results_the_copy_before_is_the_first_one(tmp_path: Path) -> None:
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), lost={0: 1}, messages=500)))
    those = found.messages.assign(
        kind="duplicate", sequence=6, entry=9, previous_sequence=6, previous_entry=3
    )
    older = those.drop(columns=[name for name in those if str(name).startswith("first_")])

    table = offending_messages.table(replace(found, messages=older), sweep.parts(found))

    assert table is not None
    cells = dict(zip([column.head for column in table.columns], table.rows[0].cells, strict=True))
    assert "read before it" not in {column.group for column in table.columns}
    assert (cells["position"].text, cells["sequence"].text, cells["first copy at"].text) == ("9", "6", "3")


def test_copies_that_were_read_one_after_the_other_share_a_row(tmp_path: Path) -> None:
    """3 4 5 6 7 lie in the log, then 3 4 5 and, after 8, 6 once more."""
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), lost={0: 4}, messages=500)))
    those = found.messages.assign(
        kind="duplicate",
        partition=0,
        sequence=[6, 3, 4, 5],
        entry=[9, 5, 6, 7],
        previous_sequence=[8, 7, 3, 4],
        previous_entry=[8, 4, 5, 6],
        first_entry=[3, 0, 1, 2],
    )

    table = offending_messages.table(replace(found, messages=those), sweep.parts(found))

    assert table is not None
    heads = ["partition", "position", "sequence", "position", "sequence", "messages", "first copy at"]
    begin = [column.head for column in table.columns].index("partition")
    assert [column.head for column in table.columns[begin:]] == heads
    assert [[cell.text for cell in row.cells[begin + 1 :]] for row in table.rows] == [
        ["4", "7", "5", "3 to 5", "3", "0"],
        ["8", "8", "9", "6", "1", "3"],
    ]


def test_missing_end_to_end_latency_is_said(troubled: str) -> None:
    assert "no live consumer received messages" in troubled
    assert "end to end, ms" not in troubled


def test_a_machine_that_changes_its_speed_is_said(page: str, troubled: str) -> None:
    said = f"it took up to that many times as long as before another: 1.6{TIMES} for a fixed piece of work"
    assert said in troubled
    assert "The machine itself did not run evenly" not in page


def test_other_work_beside_a_run_is_said(page: str, troubled: str) -> None:
    assert "Other work took more than 0.5 of the 2 cores, up to 1.2, in 2 of 6 trials (2, 3)" in troubled
    assert "Other work took" not in page


def test_flagged_trials_are_counted_on_the_first_page_and_listed(page: str, troubled: str) -> None:
    assert '<p class="notice">1 of 5 valid trials flagged (1 as trend): see Repeatability.' in troubled
    assert "<h3>Flagged trials</h3>" in troubled
    assert "+31 %" in troubled
    assert "Flagged trials" not in page


def test_busy_client_is_a_suspect(troubled: str) -> None:
    assert "the load process may have been the limit, not the servers" in troubled


def test_open_loop_shows_response_time(tmp_path: Path) -> None:
    sketch = Sketch(systems=("memory",), rounds=2, open_loop=True, messages=500)

    page = html.render(build(tmp_path / "run", sketch))

    assert 'id="figure-response"' in page
    assert "open loop: 500/s throughout" in page


def test_run_without_a_valid_trial_still_reports(tmp_path: Path) -> None:
    page = html.render(build(tmp_path / "run", Sketch(systems=("memory",), rounds=1, failed=(0, 1))))

    assert "No trial is valid" in page
    assert "<svg" not in page


def test_scenario_text_cannot_break_the_page(tmp_path: Path) -> None:
    run = build(tmp_path / "run", Sketch(systems=("memory",), rounds=1, messages=500))
    manifest = run / "manifest.json"
    text = manifest.read_text().replace("What does an", "<script>alert(1)</script>")
    manifest.write_text(
        text.replace('"acks-sweep"', '"of old"')
    )  # so that no scenario of today has its words

    page = html.render(run)

    assert page.count("<script") == 1  # its own
    assert "&lt;script&gt;" in page


def test_promises_lead_to_what_became_of_them_where_something_broke(tmp_path: Path) -> None:
    one_system = Sketch(systems=("kafka",), rounds=1, messages=500)
    run = build(tmp_path / "20261121-120000-acks-sweep-standard", one_system)
    broken = build(tmp_path / "20261122-120000-power-loss-standard", replace(one_system, lost={0: 61}))
    for name, changes in (
        ("manifest.json", {"scenario": "power-loss", "title": "The power goes"}),
        ("results/summary.json", {"figure": "timeline"}),
    ):
        file = broken / name
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    step = {"name": "power cut", "kind": "power-loss", "nodes": ["broker-1"], "away": True, "proven": True}
    for file in broken.glob("trials/*/trial.json"):
        times = {"asked_ns": 1, "effect_ns": 2, "healed_ns": 3}
        file.write_text(json.dumps(json.loads(file.read_text()) | {"faults": [step | times]}))

    page = html.render(run)

    assert "Where something broke" in page
    assert f'href="../{broken.name}/report.html"' in page
    assert "The power goes (standard)" in page
    alone = html.render(build(tmp_path / "alone" / "run", one_system))
    assert "No run in this folder broke anything" in alone
    assert "No run in this folder broke anything" not in page


def test_a_bound_that_every_trial_keeps_alike_takes_one_line(tmp_path: Path) -> None:
    bound = {"rounds_for": 3, "rounds_against": 0, "rounds": 3, "ratio_median": None, "verdict": "held"}
    lost = [bound | {"what": f"kafka acks={acks}: lost <= 0", "values": [0, 0, 0]} for acks in ("all", "1")]
    moved = [bound | {"what": "kafka: moves >= 1", "values": [1, 2, 1]}]
    broken = [bound | {"what": "kafka: lost <= 0", "values": [7, 7, 7], "verdict": "did not hold"}]
    entries: list[dict[str, Any]] = [
        {"claim": "none lost", "metric": "lost", "verdict": "held", "summary": "held", "comparisons": lost},
        {"claim": "one", "metric": "lost", "verdict": "held", "summary": "held", "comparisons": lost[:1]},
        {"claim": "moved", "metric": "moves", "verdict": "held", "summary": "held", "comparisons": moved},
        {
            "claim": "lost",
            "metric": "lost",
            "verdict": "did not hold",
            "summary": "not",
            "comparisons": broken,
        },
    ]
    found = results.read(build(tmp_path / "run", Sketch(systems=("memory",), rounds=1, messages=500)))

    told = expectations.expectations(replace(found, expectations=tuple(entries)))

    assert [entry.summary for entry in told] == [
        "held (lost <= 0): 0 in every trial of 2 cases",
        "held (lost <= 0): 0 in every trial of kafka acks=all",
        "held",
        "not",
    ]
    assert [len(entry.comparisons.rows) for entry in told] == [0, 0, 1, 1]
