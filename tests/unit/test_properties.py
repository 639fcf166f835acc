from __future__ import annotations

import pytest

from bench.errors import ClusterError
from bench.systems.properties import require


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        *((1, "1"), (1000, "1000"), (10**12, "1000000000000"), (5, 5), (0.50, "0.5"), (0.5, "0.50")),
        *((True, "true"), (True, True), ("ON", "on"), ("a, b", "a,b"), ("secret", None)),
    ],
)
def test_values_are_compared_as_java_reads_them(asked: str | float | bool, found: object) -> None:
    require("broker-1", {"name": asked}, {"name": found})


@pytest.mark.parametrize(
    ("found", "said"),
    [({"a": "2"}, "a was asked to be 1 and is 2"), ({}, "a was asked to be 1 and is not there")],
)
def test_a_value_that_is_not_the_one_asked_for_is_named(found: dict[str, object], said: str) -> None:
    with pytest.raises(ClusterError, match=f"broker-1 are not the scenario's: {said}"):
        require("broker-1", {"a": 1}, found)


@pytest.mark.parametrize(("asked", "found"), [("a, b", "b,a"), (True, "false"), (1, "one")])
def test_what_java_reads_as_another_value_is_refused(asked: str | int | bool, found: str) -> None:
    with pytest.raises(ClusterError, match="and is"):
        require("broker-1", {"a": asked}, {"a": found})
