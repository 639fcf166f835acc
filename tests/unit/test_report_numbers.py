"""Numbers, orders and scales as the report shows them."""

from __future__ import annotations

import math

import pytest

from bench import numbers
from bench.report import sweep
from bench.report.figures.scale import fit_scale


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [
        (61_000, "61 µs"),
        (1_420_000, "1.42 ms"),
        (2_500_000_000, "2.5 s"),
        (0, "0 ns"),
        (999, "999 ns"),
        (1_500, "1.5 µs"),
        (412_345, "412 µs"),
        (12e9, "12 s"),
        (-4_100_000_000, "-4.1 s"),
        (None, "\N{EN DASH}"),
    ],
)
def test_duration_picks_its_unit(value_ns: float | None, text: str) -> None:
    assert numbers.duration(value_ns) == text


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [(52_000, "0.052"), (2_104_000, "2.10"), (45_010_000, "45.0"), (12_129_250_000, "12,129")],
)
def test_ms_keep_three_significant_digits(value_ns: float, text: str) -> None:
    assert numbers.ms(value_ns) == text


@pytest.mark.parametrize(
    ("row", "name", "endless"),
    [
        ({"response_min_ns": 1, "due_unsent": 3}, "response_p99_ns", True),
        ({"due_unsent": 3}, "response_p99_ns", True),  # nothing at all was acknowledged in the window
        ({"due_unsent": 3}, "queue_p99_ns", True),
        ({"due_unsent": 0}, "response_p99_ns", False),  # a closed loop has no such times
        ({"throughput_msgs_per_s": 0.0}, "service_p99_ns", True),
        ({"throughput_msgs_per_s": 5.0}, "service_p99_ns", False),
        ({"throughput_msgs_per_s": 5.0, "e2e_messages": 0}, "e2e_p99_ns", True),
        ({"throughput_msgs_per_s": 0.0, "e2e_messages": 0}, "e2e_p99_ns", False),  # nothing was to come
    ],
)
def test_a_time_is_endless_where_what_it_speaks_of_never_came(
    row: dict[str, float],
    name: str,
    endless: bool,
) -> None:
    assert numbers.endless(row, name) == endless
    assert not numbers.endless({**row, name: 5}, name)


def test_null_is_never_a_number() -> None:
    nothing = "\N{EN DASH}"

    assert numbers.count(math.nan) == nothing
    assert numbers.rate(None) == nothing
    assert numbers.ms(math.nan) == nothing


@pytest.mark.parametrize(("value", "text"), [(34_054.2, "34,054"), (99.94, "99.9"), (0.5, "0.5")])
def test_rate_is_whole_from_a_hundred_on(value: float, text: str) -> None:
    assert numbers.rate(value) == text


def test_settings_sort_as_people_count() -> None:
    assert sorted(["10", "2", "all", "1"], key=sweep.natural) == ["1", "2", "10", "all"]
    assert sorted(["10-2-2", "3-3-2", "3-2-2"], key=sweep.natural) == ["3-2-2", "3-3-2", "10-2-2"]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("min.insync.replicas", ["min.", "insync.", "replicas"]),
        ("journalSyncData", ["journal", "SyncData"]),
        ("acks", ["acks"]),
    ],
)
def test_long_setting_names_break_where_words_end(name: str, lines: list[str]) -> None:
    assert sweep.wrap_name(name) == lines


def test_evenly_keeps_both_ends() -> None:
    assert sweep.evenly(list(range(100)), 5) == [0, 25, 50, 74, 99]


def test_scale_is_logarithmic_from_a_factor_of_twenty_on() -> None:
    wide, narrow = fit_scale([300.0, 30_000.0]), fit_scale([300.0, 3_000.0])

    assert wide is not None
    assert narrow is not None
    assert wide.log
    assert wide.label("messages/s") == "messages/s, log scale"
    assert not narrow.log
    assert narrow.low == 0


def test_no_values_no_scale() -> None:
    assert fit_scale([math.nan]) is None
