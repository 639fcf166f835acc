"""What leaves for other people's tools and comes from them: shapes and types, without an event log."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.analysis.exchange import export, omb, omb_files, tidy_table
from bench.errors import AnalysisError, EventLogError
from bench.model import NANOS
from bench.records.trial import TrialRecord
from bench.run import outside, run_comparison
from tests.records import trial_record

Row = dict[str, Any]

OWN_FIELDS = {
    *("workload", "driver", "messageSize", "topics", "partitions", "producersPerTopic", "consumersPerTopic"),
    *("publishRate", "publishErrorRate", "consumeRate", "backlog"),
}
HEADS = ("publishLatency", "publishDelayLatency", "endToEndLatency")
SHAPE = ("messageSize", "topics", "partitions", "producersPerTopic", "consumersPerTopic")
MISSING = object()
POINTS = ("50pct", "75pct", "95pct", "99pct", "999pct", "9999pct", "Max")


def trial(window_s: float) -> TrialRecord:
    return TrialRecord.model_validate(
        {
            "format": 1,
            "trial": 0,
            "round": 0,
            "case": {
                "system": "kafka",
                "name": "kafka acks=1",
                "settings": {"acks": 1},
                "configuration": {"partitions": 12},
            },
            "load": {"pacing": "closed", "producers": 3, "consumers": 2, "message_bytes": 100},
            "state": "finished",
            "verdict": "valid",
            "window": {"start_ns": 7, "end_ns": 7 + round(window_s * NANOS)},
        }
    )


@cache
def result(window_s: float) -> Row:
    """A result in which every period, and the whole, has had a message; each took 2.0015 ms. Tests only read it."""
    one = trial(window_s)
    cut = omb.periods(one)
    timed = (2_001_500, dict.fromkeys(range(0, 100_001, 10), 2_001_500))
    times = {omb.Key(0, period, head): timed for period in range(-1, cut.number) for head in HEADS}
    counts = {(period, kind): 30 for period in range(cut.number) for kind in ("ok", "received")}
    return omb.result(one, cut, times, counts, "acks-sweep")


@pytest.mark.parametrize(
    ("window_s", "number", "length_s"),
    [(3, 1, 3.0), (12, 1, 12.0), (15, 2, 7.5), (20, 2, 10.0), (25, 3, 25 / 3)],
)
def test_a_window_is_cut_into_equal_periods_of_about_ten_seconds(
    window_s: float, number: int, length_s: float
) -> None:
    assert omb.periods(trial(window_s)) == (number, length_s)


def test_a_result_has_the_fields_of_a_test_result_and_no_others() -> None:
    """OMB's own ResultsToCsv refuses a file with a field that its TestResult has not."""
    heads = [*HEADS, *(f"aggregated{head[0].upper()}{head[1:]}" for head in HEADS)]
    fields = {f"{head}{point}" for head in heads for point in ("Avg", *POINTS)}
    quantiles = {f"{head}Quantiles" for head in heads if head.startswith("aggregated")}

    assert set(result(25)) == OWN_FIELDS | fields | quantiles


def test_delays_are_whole_microseconds_and_all_other_times_milliseconds() -> None:
    found = result(25)

    for point in POINTS:
        assert found[f"publishLatency{point}"] == [2.0015] * 3
        assert found[f"aggregatedEndToEndLatency{point}"] == 2.0015
        assert json.dumps(found[f"publishDelayLatency{point}"]) == "[2001, 2001, 2001]"
        assert json.dumps(found[f"aggregatedPublishDelayLatency{point}"]) == "2001"
    assert found["aggregatedPublishDelayLatencyAvg"] == 2001.5
    assert {type(value) for value in found["aggregatedPublishDelayLatencyQuantiles"].values()} == {int}
    assert {type(value) for value in found["aggregatedPublishLatencyQuantiles"].values()} == {float}


def test_where_nothing_was_timed_types_are_the_same() -> None:
    found = omb.result(trial(10), omb.Periods(1, 10.0), {}, {}, "")

    assert json.dumps(found["publishDelayLatencyMax"]) == "[0]"
    assert json.dumps(found["publishLatencyMax"]) == "[0.0]"
    assert json.dumps(found["aggregatedPublishDelayLatencyAvg"]) == "0.0"


def test_what_was_not_timed_reads_back_as_nothing(tmp_path: Path) -> None:
    export.write([trial(10)], {0: omb.result(trial(10), omb.Periods(1, 10.0), {}, {}, "")}, tmp_path)
    omb_files.write(omb_files.read(omb_files.files_in(tmp_path)), tmp_path / "run")

    row = read(tmp_path / "run")
    assert {value for name, value in row.items() if name.startswith(("e2e_", "service_"))} == {None}


@pytest.mark.parametrize("window_s", [3.0, 15.0, 20.0, 25.0])
def test_what_was_exported_reads_back_with_its_window_its_rate_and_its_shape(
    tmp_path: Path, window_s: float
) -> None:
    found = result(window_s)
    export.write([trial(window_s)], {0: found}, tmp_path)
    omb_files.write(omb_files.read(omb_files.files_in(tmp_path)), tmp_path / "run")

    row = read(tmp_path / "run")
    assert row["window_s"] == window_s
    assert row["throughput_msgs_per_s"] == pytest.approx(30 * len(found["publishRate"]) / window_s)
    document = json.loads((tmp_path / "run" / "trials" / "0000" / "trial.json").read_text())
    assert document["case"]["configuration"] == {"partitions": 12}
    assert document["load"] == {"pacing": None, "message_bytes": 100, "producers": 3, "consumers": 2}


def read(run: Path) -> Row:
    import pyarrow.parquet as pq  # noqa: PLC0415

    row: Row
    (row,) = pq.read_table(run / "results" / "trials.parquet").to_pylist()
    return row


def imported(folder: Path, **changes: Any) -> Row:
    """Read one result file in; return its trial.json."""
    folder.mkdir()
    several(folder, changes)
    omb_files.write(omb_files.read(omb_files.files_in(folder)), folder / "run")
    document: Row = json.loads((folder / "run" / "trials" / "0000" / "trial.json").read_text())
    return document


def several(folder: Path, *changes: Row) -> omb_files.ImportedTrials:
    """Write a result file for each set of changes, in this order, and read them."""
    for number, changed in enumerate(changes):
        content = {name: value for name, value in (result(20) | changed).items() if value is not MISSING}
        (folder / f"{number}.json").write_text(json.dumps(content))
    return omb_files.read(omb_files.files_in(folder))


def test_a_file_without_lengths_has_periods_of_ten_seconds(tmp_path: Path) -> None:
    imported(tmp_path / "omb")

    assert read(tmp_path / "omb" / "run")["window_s"] == 20.0


def test_lengths_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(result(20)))
    (tmp_path / "periods.csv").write_text("file,length\na.json,10\n")

    with pytest.raises(EventLogError, match=r"periods\.csv: it has no columns file and period_s"):
        omb_files.read(omb_files.files_in(tmp_path))


def test_results_of_another_shape_or_pacing_are_unlike(tmp_path: Path) -> None:
    """OMB sends at a rate: its results are no closed loop's, and no other shape's."""
    case = {"system": "kafka", "name": "kafka acks=1", "settings": {}, "configuration": {"partitions": 12}}
    ours = trial_record(case=case, load=trial(20).load.model_dump())
    theirs = TrialRecord.model_validate(imported(tmp_path / "one", topics=2, partitions=6))

    unlike = run_comparison.differences({}, {}, ({0: theirs}, {0: ours}))

    assert {(one.key, one.first, one.second) for one in unlike} == {
        ("case.configuration.partitions", "6", "12"),
        ("case.configuration.topics", "2", "nothing"),
        ("case.load.producers", "6", "3"),
        ("case.load.consumers", "4", "2"),
        ("case.load.pacing", "nothing", "closed"),
    }


def test_a_file_from_before_shapes_were_told_reads_in_without_one(tmp_path: Path) -> None:
    """OMB tells them since August 2020, some of its forks do not."""
    document = imported(tmp_path / "omb", **dict.fromkeys(SHAPE, MISSING))

    assert (document["case"]["configuration"], document["load"]) == ({}, {"pacing": None})
    row = read(tmp_path / "omb" / "run")
    assert row["throughput_msgs_per_s"] == 3.0
    assert row["throughput_bytes_per_s"] is None


@pytest.mark.parametrize(
    ("changes", "cases"),
    [
        (({}, {}), ["kafka acks=1"] * 2),
        (({}, {"workload": "b"}), ["kafka acks=1, acks-sweep", "kafka acks=1, b"]),
        (({}, {"workload": None}), ["kafka acks=1, acks-sweep", "kafka acks=1"]),
        (
            ({}, {"messageSize": 1000, "partitions": 1}, {}),
            [
                "kafka acks=1 message_bytes=100 partitions=12",
                "kafka acks=1 message_bytes=1000 partitions=1",
                "kafka acks=1 message_bytes=100 partitions=12",
            ],
        ),
        (
            ({}, {"producersPerTopic": 4}, {"driver": "Pulsar", "partitions": 1}),
            ["kafka acks=1 producers=3", "kafka acks=1 producers=4", "Pulsar"],
        ),
        (
            ({}, {"messageSize": MISSING}),
            ["kafka acks=1 message_bytes=100", "kafka acks=1 message_bytes=unknown"],
        ),
    ],
)
def test_files_of_one_name_that_differ_in_shape_are_cases_of_their_own(
    tmp_path: Path, changes: tuple[Row, ...], cases: list[str]
) -> None:
    found = several(tmp_path, *changes)

    assert [row["case"] for row in found.rows] == cases
    assert [row["round"] for row in found.rows] == [cases[:at].count(case) for at, case in enumerate(cases)]


def test_a_time_that_is_not_a_number_was_not_measured(tmp_path: Path) -> None:
    """Java writes the mean of nothing as the text "NaN"."""
    mean = "aggregatedEndToEndLatencyAvg"
    (row,) = several(tmp_path, {mean: "NaN"}).rows

    assert "e2e_mean_ns" not in row
    assert row["e2e_p50_ns"] == 2_001_500
    assert "e2e_mean_ns" not in several(tmp_path, {mean: float("nan")}).rows[0]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("aggregatedPublishLatencyMax", "much", r"aggregatedPublishLatencyMax: 'much' is no number; is it a"),
        ("publishRate", [1.0, float("nan")], r"publishRate\.1: Input should be a finite number; is it a"),
        ("driver", None, r"driver: Input should be a valid string; is it a"),
        ("messageSize", 0, r"messageSize: Input should be greater than 0; is it a"),
    ],
)
def test_what_cannot_be_read_is_named_before_anything_is_written(
    tmp_path: Path, key: str, value: object, said: str
) -> None:
    (tmp_path / "omb").mkdir()
    (tmp_path / "omb" / "a.json").write_text(json.dumps(result(20) | {key: value}))

    with pytest.raises(EventLogError, match=rf"a\.json: {said}"):
        outside.read_in(tmp_path / "omb", tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_a_promise_that_nobody_knows_is_not_stated(tmp_path: Path) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415

    imported(tmp_path / "omb")

    (case,) = pq.read_table(tmp_path / "omb" / "run" / "results" / "cases.parquet").to_pylist()
    assert (case["system"], case["guarantee"]) == ("kafka", None)


def test_a_trial_of_unknown_pacing_is_no_open_loop(tmp_path: Path) -> None:
    assert not TrialRecord.model_validate(imported(tmp_path / "omb")).open_loop


def test_a_tidy_row_tells_how_to_read_its_figure() -> None:
    row = {
        "system": "kafka",
        "case": "kafka acks=1",
        "acks": "1",
        "round": 0,
        "trial": 3,
        "verdict": "valid",
        "bottleneck": "disk",
        "flags": "trend",
        "fsync_ns": None,
        "drift": 0.2,
        "lost": 0,
    }
    manifest = {"scenario": "acks-sweep", "profile": "quick", "fsync_ns": {"p50": 60_000}}

    drift, lost = sorted(
        tidy_table.rows("run", manifest, ["acks"], [row]), key=lambda found: str(found["metric"])
    )

    assert {**lost, "metric": "drift", "value": 0.2, "unit": "1"} == drift
    assert lost == {
        "run": "run",
        "scenario": "acks-sweep",
        "profile": "quick",
        "system": "kafka",
        "case": "kafka acks=1",
        "acks": "1",
        "round": 0,
        "trial": 3,
        "verdict": "valid",
        "bottleneck": "disk",
        "flags": "trend",
        "fsync_ns": 60_000,
        "metric": "lost",
        "value": 0.0,
        "unit": "count",
    }
    (moved,) = tidy_table.rows("run", manifest, [], [{"network_bytes_per_byte": 4.0}])
    (synced,) = tidy_table.rows("run", manifest, [], [{"flushes_per_message": 1.5}])
    assert (moved["unit"], synced["unit"]) == ("1", "1")
    kept = tidy_table.rows("run", manifest, [], [{"stored_most_bytes": 9, "broker_spread": 0.1}])
    assert {row["metric"]: row["unit"] for row in kept} == {
        "stored_most_bytes": "bytes",
        "broker_spread": "1",
    }
    (emulated,) = tidy_table.rows("run", manifest, [], [{"fsync_ns": 5_100_000, "lost": 0}])
    assert emulated["fsync_ns"] == 5_100_000
    (unsent,) = tidy_table.rows("run", manifest, [], [{"due_unsent": 7}])
    assert (unsent["metric"], unsent["value"], unsent["unit"]) == ("due_unsent", 7.0, "count")


def export_without_log(run: str, to: Path, monkeypatch: pytest.MonkeyPatch, verdict: str = "valid") -> None:
    """Export a run of one trial; its results are as made up here, as reading an event log takes Spark."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    folder = to.parent / run
    (folder / "results").mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text('{"format": 1}')
    pq.write_table(
        pa.table({"trial": [0], "verdict": [verdict], "sent": [1]}), folder / "results" / "trials.parquet"
    )
    read = SimpleNamespace(settings=[], trials=[trial(20)])
    monkeypatch.setattr(export, "read_folder", lambda _: read)
    monkeypatch.setattr(export, "_results", lambda *_: {0: result(20)})
    export.export(folder, to)


def there(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_an_export_takes_the_place_of_an_earlier_one_of_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_without_log("one", tmp_path / "to", monkeypatch)
    assert there(tmp_path / "to") == ["omb/0000-kafka-acks=1.json", "omb/periods.csv", "tidy.csv"]

    export_without_log("one", tmp_path / "to", monkeypatch, verdict="invalid")

    assert there(tmp_path / "to") == ["omb/periods.csv", "tidy.csv"]


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("tidy.csv", "run,trial\nanother,0\n", "the export of another"),
        ("tidy.csv", "mine\n1\n", "the export of an unknown run"),
        ("omb/0000-kafka.json", "{}", "the export of an unknown run"),
        ("notes.txt", "", "notes.txt"),
        ("omb/results.json", "{}", "results.json"),
    ],
)
def test_a_folder_that_holds_anything_else_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, content: str, said: str
) -> None:
    to = tmp_path / "to"
    (to / "omb").mkdir(parents=True)
    (to / file).write_text(content)

    with pytest.raises(AnalysisError, match=rf"exporting one: \S*/to holds {said}; give another folder"):
        export_without_log("one", to, monkeypatch)

    assert there(to) == [file]
