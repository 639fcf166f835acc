from __future__ import annotations

from typing import Any

import pytest

from bench.analysis.cases import case_rows
from bench.records.trial import TrialRecord

Row = dict[str, Any]


def record(number: int, name: str = "kafka acks=1", system: str = "kafka", **settings: Any) -> TrialRecord:
    case = {"system": system, "name": name, "settings": settings}
    made = {"format": 1, "trial": number, "round": number, "case": case, "load": {"pacing": "closed"}}
    return TrialRecord.model_validate(made | {"state": "finished", "verdict": "valid"})


def rows(*values: Row) -> list[Row]:
    return [{"verdict": "valid", "bottleneck": "unknown", **value} for value in values]


def one_case(*values: Row) -> Row:
    (case,) = case_rows([record(number, acks=1) for number in range(len(values))], rows(*values), ["acks"])
    return case


def test_a_figure_is_the_geometric_mean_with_the_range_over_trials() -> None:
    case = one_case(*[{"throughput_msgs_per_s": value} for value in (40.0, 10.0, 20.0)])
    names = ("throughput_msgs_per_s", "throughput_msgs_per_s_low", "throughput_msgs_per_s_high")
    assert [case[name] for name in names] == pytest.approx([20.0, 10.0, 40.0])


def test_where_something_broke_it_is_the_median() -> None:
    step = {"name": "kill", "kind": "kill", "asked_ns": 1, "effect_ns": 2, "proven": True}
    records = [record(number, acks=1).model_copy(update={"faults": [step]}) for number in range(3)]

    (case,) = case_rows(
        records, rows(*[{"throughput_msgs_per_s": value} for value in (40.0, 10.0, 30.0)]), ["acks"]
    )

    assert case["throughput_msgs_per_s"] == 30.0


def test_a_cases_level_has_the_t_interval_of_its_logarithms() -> None:
    """The logarithms' mean is 2.47788, their deviation 0.13298; t(4) = 2.7764: 11.916 divided by, and times, 1.1795."""
    case = one_case(*[{"throughput_msgs_per_s": value} for value in (10.0, 11.0, 12.0, 13.0, 14.0)])
    ends = [case[f"throughput_msgs_per_s_ci_{end}"] for end in ("low", "high")]
    assert ends == pytest.approx([10.10, 14.055], abs=0.01)


def test_two_trials_give_no_interval() -> None:
    case = one_case(*[{"service_p99_ns": value} for value in (10, 11)])
    assert case["service_p99_ns_ci_low"] is None


def test_times_stay_whole_nanoseconds() -> None:
    case = one_case({"service_p99_ns": 11}, {"service_p99_ns": 16})
    assert case["service_p99_ns"] == 13  # the root of 176 is 13.27


def test_a_trial_without_a_time_is_above_all_that_have_one() -> None:
    """So many of its messages have none that the percentile falls among them."""
    some = one_case({"response_p99_ns": 10}, {"response_p99_ns": None}, {"response_p99_ns": 30})
    assert [some[f"response_p99_ns{end}"] for end in ("", "_low", "_high")] == [30, 10, None]

    most = one_case({"response_p99_ns": 10}, {"response_p99_ns": None}, {"response_p99_ns": None})
    assert [most[f"response_p99_ns{end}"] for end in ("", "_low", "_high")] == [None, 10, None]

    five = one_case(*[{"response_p99_ns": value} for value in (10, 11, 12, 13, 14, None)])
    assert (five["response_p99_ns"], five["response_p99_ns_ci_low"]) == (12, None)  # 12.5, rounded to even


def test_what_is_known_of_a_loss_is_told_where_the_sum_is_not() -> None:
    case = one_case({"lost": 3}, {"lost": None, "unread": 5}, {"lost": 4})
    assert (case["lost"], case["lost_at_least"]) == (None, 7)


def test_only_valid_trials_count() -> None:
    case = one_case(
        {"throughput_msgs_per_s": 10.0, "lost": 1},
        {"throughput_msgs_per_s": 99.0, "lost": 50, "verdict": "invalid"},
        {"throughput_msgs_per_s": 99.0, "lost": 50, "verdict": "unknown"},
    )
    assert (case["rounds"], case["trials"]) == (1, 3)
    assert (case["throughput_msgs_per_s"], case["lost"]) == (10.0, 1)


def test_what_limited_the_trials_is_one_word_where_they_agree() -> None:
    assert one_case({"bottleneck": "cpu"}, {"bottleneck": "cpu"})["bottleneck"] == "cpu"
    several = one_case({"bottleneck": "disk"}, {"bottleneck": "cpu"}, {"bottleneck": "cpu"})
    assert several["bottleneck"] == "cpu 2, disk 1"
    assert one_case({"verdict": "invalid"})["bottleneck"] is None


def test_what_a_message_took_is_the_median_of_those_that_know() -> None:
    case = one_case({"cpu_per_message_ns": 5.0}, {"cpu_per_message_ns": None}, {"cpu_per_message_ns": 7.0})
    assert case["cpu_per_message_ns"] == 6.0


def test_counters_are_added_up() -> None:
    assert one_case({"acked": 5}, {"acked": 7})["acked"] == 12


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    assert one_case({"lost": 5}, {"lost": None})["lost"] is None


def test_a_case_without_a_valid_trial_has_no_figures() -> None:
    case = one_case({"throughput_msgs_per_s": 1.0, "acked": 3, "verdict": "invalid"})
    assert (case["rounds"], case["throughput_msgs_per_s"], case["acked"]) == (0, None, None)


def test_cases_come_in_the_order_in_which_they_first_ran() -> None:
    trials = [record(0, "kafka acks=1"), record(1, "kafka acks=0"), record(2, "kafka acks=1")]
    cases = case_rows(trials, rows({}, {}, {}), [])
    assert [(case["case"], case["trials"]) for case in cases] == [("kafka acks=1", 2), ("kafka acks=0", 1)]


def test_settings_are_text_and_null_where_the_system_has_none() -> None:
    trials = [record(0, "pulsar", "pulsar", journalSyncData=True, quorums="3-2-2")]
    (case,) = case_rows(trials, rows({}), ["acks", "journalSyncData"])
    assert (case["acks"], case["journalSyncData"]) == (None, "true")
    assert case["guarantee"].startswith("all 2 bookies")
