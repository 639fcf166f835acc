from __future__ import annotations

from typing import Any

import pytest

from bench.analysis.verdicts import expectations
from bench.analysis.verdicts.comparisons import Comparison
from bench.analysis.verdicts.expectations import judge

Row = dict[str, Any]

ACKS = {
    "id": "acks",
    "claim": "throughput falls",
    "system": "kafka",
    "metric": "throughput_msgs_per_s",
    "decreasing": {"acks": [0, 1, "all"]},
}


def trials(metric: str, settings: dict[str, str | None], values: list[Any], **others: object) -> list[Row]:
    """A trial a round, with this value of the metric."""
    case = " ".join(f"{name}={value}" for name, value in settings.items())
    fixed = {"system": "kafka", "case": case, "verdict": "valid", **settings, **others}
    return [{**fixed, "round": number, metric: value} for number, value in enumerate(values)]


def rates(acks: str, values: list[Any], **others: Any) -> list[Row]:
    return trials("throughput_msgs_per_s", {"acks": acks, **others}, values)


def verdicts(found: Row) -> list[str]:
    return [comparison["verdict"] for comparison in found["comparisons"]]


def test_five_rounds_that_agree_hold() -> None:
    rows = [*rates("0", [9.0] * 5), *rates("1", [6.0] * 5), *rates("all", [3.0] * 5)]
    found = judge(ACKS, rows, ["acks"])
    assert found["verdict"] == "held"
    assert found["summary"] == "held in 2 of 2 comparisons over 5 rounds"
    assert found["comparisons"][0] == {
        "what": "acks=0 > acks=1",
        "rounds_for": 5,
        "rounds_against": 0,
        "rounds": 5,
        "rounds_needed": None,
        "ratio_median": 1.5,
        "ratio_low": 1.5,
        "ratio_high": 1.5,
        "values": None,
        "verdict": "held",
    }


def test_four_rounds_decide_nothing() -> None:
    rows = [*rates("0", [9.0] * 4), *rates("1", [6.0] * 4)]
    found = judge(ACKS, rows, ["acks"])
    assert found["verdict"] == "undecided"
    assert found["summary"] == (
        "undecided: as claimed in 1 of 1 comparison over 4 rounds, decided in 0; a verdict takes 5 rounds that agree"
    )


def test_one_round_of_five_that_disagrees_leaves_it_undecided() -> None:
    rows = [*rates("0", [9.0, 9.0, 5.0, 9.0, 9.0]), *rates("1", [6.0] * 5)]
    (comparison,) = judge(ACKS, rows, ["acks"])["comparisons"]
    assert (comparison["rounds_for"], comparison["rounds_against"], comparison["verdict"]) == (
        4,
        1,
        "undecided",
    )


def test_nine_rounds_of_ten_decide() -> None:
    """By chance nine or ten of ten agree in 11 of 1,024 runs."""
    rows = [*rates("0", [9.0] * 9 + [5.0]), *rates("1", [6.0] * 10)]
    (comparison,) = judge(ACKS, rows, ["acks"])["comparisons"]
    assert (comparison["rounds_for"], comparison["rounds_against"], comparison["verdict"]) == (9, 1, "held")


def test_eight_rounds_of_ten_decide_nothing() -> None:
    rows = [*rates("0", [9.0] * 8 + [5.0] * 2), *rates("1", [6.0] * 10)]
    assert judge(ACKS, rows, ["acks"])["verdict"] == "undecided"


def test_a_tie_agrees_with_nobody() -> None:
    rows = [*rates("0", [9.0, 9.0, 6.0, 9.0, 9.0, 9.0]), *rates("1", [6.0] * 6)]
    (comparison,) = judge(ACKS, rows, ["acks"])["comparisons"]
    assert (comparison["rounds_for"], comparison["rounds_against"], comparison["rounds"]) == (5, 0, 6)
    assert comparison["verdict"] == "undecided"


def test_five_rounds_against_it_mean_that_it_did_not_hold() -> None:
    rows = [*rates("0", [6.0] * 5), *rates("1", [7.0] * 5), *rates("all", [8.0] * 5)]
    found = judge(ACKS, rows, ["acks"])
    assert found["verdict"] == "did not hold"
    assert verdicts(found) == ["did not hold", "did not hold"]
    assert found["summary"] == (
        "did not hold in 2 of 2 comparisons over 5 rounds (held in 0, undecided in 0)"
    )


def test_what_has_too_few_rounds_to_decide_anything_makes_nothing_that_does_a_chance() -> None:
    """One comparison of five rounds goes against it, which chance gives in 1 of 32; the other has no valid trial."""
    rows = [*rates("0", [6.0] * 5), *rates("1", [7.0] * 5), *rates("all", [3.0] * 5)]
    for row in rows[-5:]:
        row["verdict"] = "invalid"

    found = judge(ACKS, rows, ["acks"])

    assert (found["verdict"], verdicts(found)) == ("did not hold", ["did not hold", "undecided"])


@pytest.mark.parametrize(
    "claim",
    [
        {
            "ratio": {
                "of": {"system": "kafka", "where": {"acks": "1"}},
                "to": {"system": "kafka", "where": {"acks": "0"}},
                "at_most": 2,
            }
        },
        {"system": "kafka", "decreasing": {"acks": [0, 1]}},
    ],
)
def test_a_round_whose_time_never_came_counts(claim: Row) -> None:
    """Five rounds of nine are as claimed; in four the time has no value, which is longer than any."""
    figures = {"metric": "response_p99_ns"}
    as_claimed = 15 if "ratio" in claim else 5
    rows = [
        *trials("response_p99_ns", {"acks": "0"}, [10] * 9, response_min_ns=1),
        *trials("response_p99_ns", {"acks": "1"}, [as_claimed] * 5 + [None] * 4, response_min_ns=1),
    ]

    (comparison,) = judge({**ACKS, "decreasing": None, "system": None, **figures, **claim}, rows, ["acks"])[
        "comparisons"
    ]

    assert (comparison["rounds_for"], comparison["rounds_against"]) == (5, 4)
    assert (comparison["verdict"], comparison["ratio_low"]) == ("undecided", None)


@pytest.mark.parametrize(
    ("against", "of", "verdict"),
    [
        *((1, 1, "did not hold"), (1, 2, "undecided"), (2, 2, "did not hold"), (2, 11, "did not hold")),
        *((2, 12, "undecided"), (3, 12, "did not hold"), (3, 26, "did not hold"), (3, 27, "undecided")),
    ],
)
def test_of_many_comparisons_over_five_rounds_so_many_decide_against_a_claim(
    against: int, of: int, verdict: str
) -> None:
    """Each goes against it by chance in 1 of 32: two or more of 11 do in 4.5 %, of 12 in 5.2 %."""
    verdicts_of = ["did not hold"] * against + ["held"] * (of - against)
    comparisons = [Comparison("a > b", 5, 0, 5, word) for word in verdicts_of]

    assert expectations._overall(comparisons, 0.95) == verdict


def test_as_many_against_it_as_chance_gives_decide_nothing() -> None:
    """Five rounds agree by chance in 1 of 32 cases: one of two comparisons does in 6.2 %, of eight rounds' in 6.9 %."""
    rows = [*rates("0", [9.0] * 5), *rates("1", [6.0] * 5), *rates("all", [7.0] * 5)]
    found = judge(ACKS, rows, ["acks"])
    assert (found["verdict"], verdicts(found)) == ("undecided", ["held", "did not hold"])
    assert found["summary"] == (
        "undecided: as claimed in 1 of 2 comparisons over 5 rounds, decided in 1; "
        "against it in 1, which chance alone may bring among 2"
    )

    # Nine of ten agree by chance in 1.07 %, so one of two does in 2.1 %.
    rows = [*rates("0", [9.0] * 10), *rates("1", [6.0] * 10), *rates("all", [7.0] * 10)]
    assert judge(ACKS, rows, ["acks"])["verdict"] == "did not hold"


def test_values_are_paired_by_round() -> None:
    """Each round agrees, though the rounds differ by more than the settings do."""
    rows = [*rates("0", [11.0, 21.0, 31.0, 41.0, 51.0]), *rates("1", [10.0, 20.0, 30.0, 40.0, 50.0])]
    assert judge(ACKS, rows, ["acks"])["verdict"] == "held"


def test_a_round_without_a_valid_trial_on_both_sides_is_left_out() -> None:
    rows = [*rates("0", [9.0] * 6), *rates("1", [6.0] * 6)]
    rows[0]["verdict"] = "invalid"
    rows[7]["throughput_msgs_per_s"] = None
    (comparison,) = judge(ACKS, rows, ["acks"])["comparisons"]
    assert (comparison["rounds"], comparison["verdict"]) == (4, "undecided")


def test_only_trials_alike_in_all_else_are_compared() -> None:
    rows = [
        *rates("0", [9.0] * 5, replicas="1"),
        *rates("1", [6.0] * 5, replicas="1"),
        *rates("0", [5.0] * 5, replicas="4"),
        *rates("1", [4.0] * 5, replicas="4"),
    ]
    found = judge(ACKS, rows, ["replicas", "acks"])
    assert [comparison["what"] for comparison in found["comparisons"]] == [
        "replicas=1: acks=0 > acks=1",
        "replicas=4: acks=0 > acks=1",
    ]


def test_a_group_with_one_value_is_passed_over() -> None:
    rows = [
        *rates("0", [9.0] * 5, replicas="1"),
        *rates("1", [6.0] * 5, replicas="1"),
        *rates("all", [1.0] * 5, replicas="4"),
    ]
    found = judge(ACKS, rows, ["replicas", "acks"])
    assert found["verdict"] == "held"
    assert len(found["comparisons"]) == 1


def test_neighbours_are_compared_across_a_value_that_is_not_there() -> None:
    rows = [*rates("0", [9.0] * 5), *rates("all", [3.0] * 5)]
    (comparison,) = judge(ACKS, rows, ["acks"])["comparisons"]
    assert comparison["what"] == "acks=0 > acks=all"


def test_a_setting_of_the_other_system_does_not_part_groups() -> None:
    rows = [*rates("0", [9.0] * 5, quorums=None), *rates("1", [6.0] * 5, quorums=None)]
    assert judge(ACKS, rows, ["acks", "quorums"])["comparisons"][0]["what"] == "acks=0 > acks=1"


def test_nothing_to_compare_is_undecided() -> None:
    found = judge(ACKS, rates("all", [3.0] * 5), ["acks"])
    assert (found["verdict"], found["comparisons"]) == ("undecided", [])
    assert found["summary"] == "undecided: no two trials of this run can be compared for it"


def test_an_increase_along_truth_values() -> None:
    rows = [
        *trials("service_p99_ns", {"journalSyncData": "false"}, [10] * 5),
        *trials("service_p99_ns", {"journalSyncData": "true"}, [30] * 5),
    ]
    claim = {**ACKS, "metric": "service_p99_ns", "increasing": {"journalSyncData": [False, True]}}
    del claim["decreasing"]
    found = judge(claim, rows, ["journalSyncData"])
    assert found["verdict"] == "held"
    assert found["comparisons"][0]["what"] == "journalSyncData=false < journalSyncData=true"
    assert found["comparisons"][0]["ratio_median"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("where", [{"replicas": 1}, {"replicas": [1]}, {"replicas": "1"}])
def test_where_chooses_trials(where: Row) -> None:
    rows = [
        *rates("0", [9.0] * 5, replicas="1"),
        *rates("1", [6.0] * 5, replicas="1"),
        *rates("0", [1.0] * 5, replicas="4"),
        *rates("1", [2.0] * 5, replicas="4"),
    ]
    assert judge({**ACKS, "where": where}, rows, ["replicas", "acks"])["verdict"] == "held"


def test_another_systems_trials_do_not_count() -> None:
    rows = [*rates("0", [9.0] * 5), *rates("1", [6.0] * 5)]
    for row in rows:
        row["system"] = "pulsar"
    assert judge(ACKS, rows, ["acks"])["comparisons"] == []


def bound(**limits: float) -> Row:
    return {"id": "bound", "claim": "nothing is lost", "system": "kafka", "metric": "lost", **limits}


def test_a_bound_holds_when_every_valid_trial_keeps_it() -> None:
    found = judge(bound(at_most=0), trials("lost", {"acks": "all"}, [0]), ["acks"])
    assert found["verdict"] == "held"
    assert found["comparisons"][0]["what"] == "acks=all: lost <= 0"
    assert found["comparisons"][0]["ratio_median"] is None


def test_one_valid_trial_against_a_bound_decides() -> None:
    rows = [*trials("lost", {"acks": "all"}, [0, 0, 0]), *trials("lost", {"acks": "1"}, [0, 7, 0])]
    found = judge(bound(at_most=0), rows, ["acks"])
    assert found["verdict"] == "did not hold"
    assert verdicts(found) == ["held", "did not hold"]


def test_an_invalid_trial_decides_nothing_about_a_bound() -> None:
    rows = trials("lost", {"acks": "all"}, [0, 7])
    rows[1]["verdict"] = "invalid"
    assert judge(bound(at_most=0), rows, ["acks"])["verdict"] == "held"


@pytest.mark.parametrize("values", [[0, None], []])
def test_a_bound_that_cannot_be_checked_is_undecided(values: list[Any]) -> None:
    rows = trials("lost", {"acks": "all"}, [0, 0])[len(values) :] + trials("lost", {"acks": "all"}, values)
    for row in rows[: len(rows) - len(values)]:
        row["verdict"] = "invalid"
    assert judge(bound(at_most=0), rows, ["acks"])["verdict"] == "undecided"


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0, 0, 3, 0, 0], "held"),
        ([0] * 14, "did not hold"),
        ([0] * 13, "undecided"),  # 0.8 ** 13 is more than 5 %: too few to say that it does not come
        ([*[0] * 13, None], "undecided"),
        ([None, 1], "held"),
    ],
)
def test_what_need_come_once_is_looked_for_in_all_trials(values: list[Any], verdict: str) -> None:
    once = bound(once_at_least=1) | {"metric": "duplicates"}
    found = judge(once, trials("duplicates", {"acks": "all"}, values), ["acks"])

    assert found["verdict"] == verdict
    assert found["comparisons"][0]["what"] == "acks=all: duplicates >= 1 in one trial or more"


def test_what_did_not_come_in_a_few_trials_says_how_many_it_would_take() -> None:
    once = bound(once_at_least=1) | {"metric": "duplicates"}
    found = judge(once, trials("duplicates", {"acks": "all"}, [0] * 5), ["acks"])

    assert found["summary"] == (
        "undecided: as claimed in 0 of 1 comparison over 5 trials, decided in 0; "
        "no trial shows it, and to decide that none would takes 14 trials"
    )


def test_at_least_holds_from_the_bound_upwards() -> None:
    assert judge(bound(at_least=5), trials("lost", {}, [5, 6]), [])["verdict"] == "held"
    assert judge(bound(at_least=5), trials("lost", {}, [4.9]), [])["verdict"] == "did not hold"


def test_a_count_of_errors_is_told_by_the_errors_name() -> None:
    wanted = {"id": "a", "claim": "b", "system": "kafka", "metric": "errors", "error": "GONE", "at_least": 1}
    found = judge(wanted, trials("errors", {"acks": "1"}, [3, 0]), ["acks"])
    assert found["verdict"] == "did not hold"
    assert found["comparisons"][0]["what"] == "acks=1: GONE errors >= 1"


def pulsars(values: list[Any], **settings: str | None) -> list[Row]:
    rows = trials("throughput_msgs_per_s", settings, values)
    return [{**row, "system": "pulsar", "case": f"pulsar {row['case']}".strip()} for row in rows]


RATIO = {
    "id": "like",
    "claim": "Kafka behaves like Pulsar without a sync",
    "metric": "throughput_msgs_per_s",
    "ratio": {
        "of": {"system": "kafka", "where": {"acks": "all"}},
        "to": {"system": "pulsar", "where": {"journalSyncData": False}},
        "at_least": 0.8,
        "at_most": 1.25,
    },
}


def test_two_systems_are_compared_by_the_ratio_within_each_round() -> None:
    rows = [
        *rates("all", [10.0, 20.0, 30.0, 40.0, 50.0]),
        *rates("0", [1.0] * 5),
        *pulsars([11.0, 22.0, 33.0, 44.0, 55.0], journalSyncData="false"),
        *pulsars([1.0] * 5, journalSyncData="true"),
    ]
    found = judge(RATIO, rows, ["acks", "journalSyncData"])
    assert found["verdict"] == "held"
    (comparison,) = found["comparisons"]
    assert comparison["what"] == "acks=all over pulsar journalSyncData=false: at least 0.8 and at most 1.25"
    assert comparison["ratio_median"] == pytest.approx(10 / 11)
    assert found["system"] is None


def test_a_ratio_outside_of_its_bounds_in_every_round_did_not_hold() -> None:
    rows = [*rates("all", [10.0] * 5), *pulsars([20.0] * 5, journalSyncData="false")]
    assert judge(RATIO, rows, ["acks", "journalSyncData"])["verdict"] == "did not hold"


def test_a_ratio_that_is_inside_in_some_rounds_only_is_undecided() -> None:
    rows = [*rates("all", [10.0] * 5), *pulsars([20.0, 10.0, 10.0, 10.0, 10.0], journalSyncData="false")]
    assert judge(RATIO, rows, ["acks", "journalSyncData"])["verdict"] == "undecided"


STEADY = {**ACKS, "steady": {"acks": [0, 1]}, "within": 0.1}


@pytest.mark.parametrize(("other", "verdict"), [(10.5, "held"), (9.2, "held"), (12.0, "did not hold")])
def test_a_setting_that_hardly_matters(other: float, verdict: str) -> None:
    claim = {name: value for name, value in STEADY.items() if name != "decreasing"}
    rows = [*rates("0", [10.0] * 5), *rates("1", [other] * 5)]
    found = judge(claim, rows, ["acks"])
    assert found["verdict"] == verdict
    assert found["comparisons"][0]["what"] == "acks=1 within 10 % of acks=0"


def test_small_steps_that_add_up_are_not_steady() -> None:
    claim = {**STEADY, "steady": {"acks": [0, 1, "all"]}, "decreasing": None}
    rows = [*rates("0", [10.0] * 5), *rates("1", [9.2] * 5), *rates("all", [8.5] * 5)]
    assert verdicts(judge(claim, rows, ["acks"])) == ["held", "did not hold"]


def test_the_two_sides_of_a_ratio_may_have_metrics_of_their_own() -> None:
    rows = [{**row, "service_p50_ns": 10, "e2e_p50_ns": 12 + row["round"]} for row in rates("all", [1.0] * 5)]
    side = {"system": "kafka"}
    claim = {
        "id": "later",
        "claim": "End to end takes longer than a send",
        "metric": "e2e_p50_ns",
        "ratio": {"of": side, "to": {**side, "metric": "service_p50_ns"}, "at_least": 1.0},
    }
    found = judge(claim, rows, ["acks"])
    assert found["verdict"] == "held"
    assert found["comparisons"][0]["what"] == "acks=all e2e_p50_ns over acks=all service_p50_ns: at least 1"
    assert found["system"] == "kafka"  # both sides are of it


def test_what_can_happen_has_happened_where_one_case_showed_it() -> None:
    once = bound(once_at_least=1) | {"metric": "duplicates"}
    rows = [
        *trials("duplicates", {"acks": "1"}, [0] * 5),
        *trials("duplicates", {"acks": "all"}, [0, 0, 231, 0, 0]),
    ]
    found = judge(once, rows, ["acks"])

    assert found["verdict"] == "held"
    (comparison,) = found["comparisons"]
    assert comparison["what"] == "2 cases: duplicates >= 1 in one trial or more"
    assert (comparison["rounds_for"], comparison["rounds"]) == (1, 10)


BOUND = {
    "id": "back",
    "claim": "it is back soon",
    "system": "kafka",
    "metric": "copies_missing_ns",
    "at_most": 10,
}


def test_a_trial_that_other_work_crowded_says_nothing_of_times() -> None:
    """Its copies came late, perhaps since others had the cores; four trials of five keep the bound."""
    rows = trials("copies_missing_ns", {}, [5, 6, 99, 7, 8])
    rows[2]["other_cpu"] = 0.7

    found = judge(BOUND, rows, [])

    assert found["verdict"] == "held"
    assert found["comparisons"][0]["values"] == [5, 6, 7, 8]
    assert (
        found["summary"] == "held in 1 of 1 comparison over 4 trials; without 1 trial disturbed by other work"
    )


@pytest.mark.parametrize("metric", ["lost", "moves", "reader_short_entries"])
def test_what_was_counted_in_a_crowded_trial_counts(metric: str) -> None:
    rows = trials(metric, {}, [0, 0, 4, 0, 0], other_cpu=0.7)

    found = judge({**BOUND, "metric": metric, "at_most": 0}, rows, [])

    assert (found["verdict"], found["comparisons"][0]["values"]) == ("did not hold", [0, 0, 4, 0, 0])


def test_a_case_whose_trials_were_all_crowded_leaves_a_claim_on_times_undecided() -> None:
    rows = [
        *trials("copies_missing_ns", {"acks": "1"}, [5] * 5),
        *trials("copies_missing_ns", {"acks": "0"}, [5] * 5, other_cpu=0.5),
    ]

    assert judge(BOUND, rows, ["acks"])["verdict"] == "undecided"


def test_a_ratio_of_rates_leaves_crowded_rounds_out() -> None:
    sides = {
        "of": {"system": "kafka", "where": {"acks": "0"}},
        "to": {"system": "kafka", "where": {"acks": "1"}},
    }
    ratio = {"id": "r", "claim": "", "metric": "throughput_msgs_per_s", "ratio": {**sides, "at_least": 1.0}}
    rows = [*rates("0", [9.0] * 6), *rates("1", [6.0] * 6)]
    rows[3]["other_cpu"] = 0.9

    found = judge(ratio, rows, ["acks"])

    assert found["comparisons"][0]["rounds"] == 5
    assert found["summary"].endswith("without 1 trial disturbed by other work")
