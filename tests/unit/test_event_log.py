from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.analysis.folder import read_folder
from bench.analysis.log import LogFiles, check_log
from bench.errors import EventLogError
from tests.eventlog import FORMATS, TrialLog, send, write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path, [TrialLog([send(0, 1, 2), send(1, 3, 4)], [])])


def sends(run: Path) -> Path:
    return run / "trials" / "0000" / "sends" / "0.parquet"


def check(run: Path) -> LogFiles:
    return check_log(read_folder(run))


def rewrite(run: Path, column: str, values: Any) -> None:
    table = pq.read_table(sends(run))
    pq.write_table(table.set_column(table.column_names.index(column), column, values), sends(run))


def edit(run: Path, **keys: Any) -> None:
    path = run / "trials" / "0000" / "trial.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


def test_a_log_that_follows_the_format_is_counted(run: Path) -> None:
    files = check(run)
    assert (files.rows, list(files.sends)) == (2, [0])


def test_text_may_be_kept_as_a_dictionary(run: Path) -> None:
    rewrite(run, "outcome", pa.array(["ok", "ok"]).dictionary_encode())
    assert check(run).rows == 2


def test_names_that_begin_with_a_dot_are_skipped(run: Path) -> None:
    sends(run).with_name(".1.parquet").write_bytes(b"half a file")
    run.joinpath("trials", ".0001").mkdir()
    assert check(run).rows == 2


def test_a_trial_without_folders_has_no_files(tmp_path: Path) -> None:
    assert check(write_run(tmp_path, [TrialLog(None, None)])).sends == {}


def test_a_missing_column_is_named(run: Path) -> None:
    pq.write_table(pq.read_table(sends(run)).drop_columns(["due_ns"]), sends(run))
    with pytest.raises(
        EventLogError, match=r"0000/sends/0\.parquet: column due_ns is missing, expected int64"
    ):
        check(run)


def test_a_column_of_another_type_is_named_with_both_types(run: Path) -> None:
    rewrite(run, "entry", pa.array([1, 2], pa.int32()))
    with pytest.raises(EventLogError, match="column entry is int32, expected int64"):
        check(run)


def test_nulls_where_none_may_be_are_named(run: Path) -> None:
    rewrite(run, "sent_ns", pa.array([1, None], pa.int64()))
    with pytest.raises(EventLogError, match="column sent_ns holds 1 nulls, expected none"):
        check(run)


def test_half_a_file_is_named(run: Path) -> None:
    sends(run).write_bytes(sends(run).read_bytes()[:-20])
    with pytest.raises(EventLogError, match=r"0\.parquet: it is no whole Parquet file"):
        check(run)


def test_the_builder_and_the_check_agree_on_the_format() -> None:
    from bench.analysis.log import SENDS as CHECKED  # noqa: PLC0415 - the two tables, side by side

    assert [(name, column.arrow) for name, column in CHECKED.items()] == [
        (field.name, field.type) for field in FORMATS[2]["sends"]
    ]


def test_a_folder_that_is_no_run_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(EventLogError, match=r"manifest\.json: it is not there; is this a run folder\?"):
        read_folder(tmp_path)


def test_a_wrong_key_of_a_trial_is_named(run: Path) -> None:
    edit(run, state="over")
    with pytest.raises(
        EventLogError, match=r"0000/trial\.json: state: Input should be 'finished' or 'failed'"
    ):
        read_folder(run)


def test_a_format_that_this_version_cannot_read_is_refused(run: Path) -> None:
    edit(run, format=3)
    with pytest.raises(EventLogError, match=r"trial\.json: format"):
        read_folder(run)


def test_a_trial_in_another_trials_folder_is_refused(run: Path) -> None:
    edit(run, trial=3)
    with pytest.raises(EventLogError, match="it says trial 3, its folder 0000"):
        read_folder(run)


def test_half_a_json_file_is_named(run: Path) -> None:
    run.joinpath("plan.json").write_text('{"format": 1,')
    with pytest.raises(EventLogError, match=r"plan\.json: it is not JSON"):
        read_folder(run)


def test_a_log_of_format_2_needs_the_slice_of_each_send(run: Path) -> None:
    edit(run, format=2)
    with pytest.raises(EventLogError, match="column slice is missing, expected int32"):
        check(run)
