"""The table of capacities."""

import pandas as pd
import pytest

from bench.report.sections import capacities


@pytest.mark.parametrize(("non_monotone", "words"), [(0, "3"), (1, "3 (1 not monotone)")])
def test_starts_on_which_a_higher_rate_passed_than_one_that_failed_are_counted(
    non_monotone: int, words: str
) -> None:
    capacity = pd.Series({"starts": 3, "non_monotone": non_monotone})

    assert capacities._starts(capacity) == words


@pytest.mark.parametrize(
    ("figures", "factor"),
    [
        ({"late": 11}, "response time"),
        ({"copies_missing": True}, "copies that did not keep up"),
        ({"late_copies_share": 0.18}, "copies that did not keep up"),
        ({"late_copies_share": float("nan")}, "a growing backlog"),
        ({}, "a growing backlog"),
    ],
    ids=["late", "missing copies", "late copies", "copies not counted", "backlog"],
)
def test_the_limit_that_a_hold_broke_has_a_name(figures: dict[str, object], factor: str) -> None:
    hold = {"verdict": "failed", "due": 1000, "sent": 1000, "failed": 0, "late": 0, "late_end_to_end": 0}

    assert capacities._limiting_factor(pd.Series(hold | figures), 0.01) == factor
