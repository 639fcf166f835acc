"""What the first page says of a run in which nothing breaks but time passes, in whole sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from bench.model import NANOS
from bench.report import style, sweep
from bench.report.answer import answer
from bench.report.answer.model import Answer
from bench.report.figures import disk_usage
from bench.report.message_retention import FoundMessages
from bench.report.presentation import Labels, Presentation
from bench.report.results import Results
from bench.report.sections import delivery, over_time
from bench.report.sections.readings import table
from tests.fault_sketch import Case, Trial, results
from tests.records import altered

_STEPS = [
    {
        "name": "the group comes back",
        "kind": "consume",
        "group": "away",
        "asked_ns": 8 * NANOS,
        "effect_ns": 9 * NANOS,
    },
    {"name": "a minute later", "kind": "mark", "asked_ns": 68 * NANOS, "effect_ns": 68 * NANOS},
]


def _reading(trial: int, found: int) -> dict[str, Any]:
    times = {"asked_ns": 8 * NANOS, "missing_first_ns": None, "missing_last_ns": None}
    counts = {"received": found, "acked": 60_000, "found": found, "missing": 60_000 - found}
    return (
        {"trial": trial, "reading": "the group comes back", "group": "away", "reason": None} | times | counts
    )


def retained() -> Results:
    """Kafka keeps all 60,000; Pulsar nothing as shipped, and all with a retention, but not for the group."""
    found = results(
        Case("kafka", {}, [Trial(lost=0)]),
        Case("pulsar", {"kept": "as shipped"}, [Trial(lost=60_000)]),
        Case("pulsar", {"kept": "an hour"}, [Trial(lost=0)]),
    )
    looked = {"node": "bookie-1", "role": "bookie", "metric": "stored_bytes"}
    stored_bytes = [
        {"trial": trial, "at_ns": at_s * NANOS, "value": size} | looked
        for trial, sizes in enumerate(((180e6, 180e6), (180e6, 1.2e6), (180e6, 180e6)))
        for at_s, size in zip((8, 68), sizes, strict=True)
    ]
    waiting = {"configuration": {"faults": [{"name": "later", "when": {"load": "over"}, "mark": True}]}}
    records = {
        trial: altered(
            record, faults=_STEPS, window={"start_ns": 0, "end_ns": 8 * NANOS}, case=waiting, slices=None
        )
        for trial, record in found.trial_records.items()
    }
    return replace(
        found,
        trials=found.trials.assign(
            account_complete=True,
            fail_present=0,
            stored_most_bytes=180e6,
            stored_last_bytes=[180e6, 1.2e6, 180e6],
        ),
        faults=found.faults.iloc[:0],
        telemetry=pd.DataFrame(stored_bytes),
        readings=pd.DataFrame([_reading(0, 60_000), _reading(1, 0), _reading(2, 0)]),
        trial_records=records,
    )


def answered() -> Answer:
    return answer(retained(), Presentation())


def test_what_is_left_for_whom_and_on_disk() -> None:
    new, group, disk = (finding.text for finding in answered().findings)

    assert new == (
        "At the end a new reader found all acknowledged messages on Kafka and Pulsar (an hour); none on Pulsar (as "
        "shipped)."
    )
    assert group == ('The consumer group "away" found all messages on Kafka; none on Pulsar.')
    assert disk == (
        "The files of all servers held 180 MB to the end on Kafka and Pulsar (an hour); 180 MB at most and 1.2 MB at "
        "the end on Pulsar (as shipped)."
    )


def test_a_deletion_that_was_asked_for_is_no_alarm() -> None:
    found = retained()

    assert answered().alarms == ()
    (deleted,) = [one for one in delivery.statements(found) if "deleted" in one.text]
    assert deleted.tone == "warn"
    assert deleted.text.startswith("60,000 acknowledged messages deleted, in 1 trial")


def test_the_table_has_who_finds_what() -> None:
    shown = answered().table

    assert shown is not None
    assert [column.head for column in shown.columns if "find" in column.head] == [
        "a new reader finds",
        "group away finds",
    ]
    shipped = next(row for row in shown.rows if row.cells[0].text == "as shipped")
    assert [cell.text for cell in shipped.cells[-4:]] == [
        "none of 60,000",
        "none of 60,000",
        "180 MB",
        "1.2 MB",
    ]


def test_each_reading_has_a_row() -> None:
    found = retained()
    shown = table(found, sweep.parts(found))

    assert shown is not None
    assert len(shown.rows) == 3


def test_bytes_are_drawn_over_time_with_the_steps() -> None:
    found = retained()
    courses = disk_usage.courses(found, sweep.parts(found), Labels())
    with style.typography():
        kafka, pulsar = disk_usage.disk_usage(courses).axes

    assert [course.label for course in courses] == ["Kafka", "as shipped", "an hour"]
    assert {text.get_text() for text in kafka.texts} == {"Kafka", "the group comes back", "a minute later"}
    assert len(pulsar.lines) == 2 + len(_STEPS)


def test_what_differs_most_between_configurations_stands_first() -> None:
    """Everything is there in all; partitions had 4 segments, 21 and 2, and the disks stay as they were."""
    found = retained()
    trials = found.trials.assign(lost=0, segments=[4, 21, 2], stored_last_bytes=180e6)
    nobody = found.readings.iloc[:0]

    texts = [
        finding.text
        for finding in answer(replace(found, trials=trials, readings=nobody), Presentation()).findings
    ]

    assert texts == [
        "A partition had 4 segments or ledgers on Kafka, 21 on Pulsar (as shipped) and 2 on Pulsar (an hour).",
        "At the end a new reader found all acknowledged messages, in every configuration.",
        "The files of all servers held 180 MB to the end on Kafka and Pulsar.",
    ]


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ((200, 100), "all"),
        ((0, 0), "none"),
        ((1, 0), "at most 1 %"),
        ((3, 1), "at most 2 %"),
        ((48, 26), "24 to 26 %"),
        ((50, 25), "25 %"),
    ],
)
def test_what_was_found_is_said_without_counts(found: tuple[int, int], text: str) -> None:
    """Of 200 messages in the first trial and 100 in the second."""
    assert FoundMessages((200, 100), found).brief == text


def test_the_bytes_of_each_server_stand_at_whole_times() -> None:
    """68 s in steps of 20 s: at 20, 40 and 60 s each has what the look at 8 s saw; the most counts the last, too."""
    found = retained()
    second = found.telemetry.assign(node="bookie-2", value=found.telemetry["value"] * 2)

    shown = over_time.by_server(
        replace(found, telemetry=pd.concat([found.telemetry, second])), sweep.parts(found)
    )

    assert shown is not None
    assert [column.head for column in shown.columns] == [
        *("case", "server", "at 20 s", "at 40 s", "at 60 s", "most"),
    ]
    assert [
        [cell.text for cell in row.cells[1:]] for row in shown.rows if "as shipped" in row.cells[0].text
    ] == [
        ["bookie-1", "180 MB", "180 MB", "180 MB", "180 MB"],
        ["bookie-2", "360 MB", "360 MB", "360 MB", "360 MB"],
    ]
    assert [row.opens for row in shown.rows] == [False, False, True, False, True, False]
