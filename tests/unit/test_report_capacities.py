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
