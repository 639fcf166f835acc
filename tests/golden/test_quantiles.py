"""Quantiles of awkward samples against the definition, written out in fractions."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from pyspark.sql import SparkSession

from bench.analysis.speed.latency import CURVE
from bench.analysis.speed.quantiles import SCALE, quantiles

RANDOM = random.Random(7)

SAMPLES: dict[str, list[int]] = {
    "one": [42],
    "two": [7, 3],
    "negative, from clocks that differ": [-5_000_000, -1, 0, 1, 5_000_000],
    "all alike": [1_000] * 257,
    "ties": [RANDOM.choice([1, 2, 3, 1_000_000]) for _ in range(1000)],
    "exactly a hundred": RANDOM.sample(range(10**9), 100),
    "a long tail": [int(RANDOM.lognormvariate(14, 2)) for _ in range(5000)],
    "one narrow bucket": [10**9 + RANDOM.randrange(10**6) for _ in range(3000)],
    "hours": [RANDOM.randrange(10**13) for _ in range(2000)],
}


NEVER = 10**15
"""Stands above for what has no value."""


def nearest_rank(values: list[int], quantile: Fraction) -> int:
    """The smallest value with a cumulative share of at least `quantile`, found by looking at all of them."""
    ordered = sorted(values)
    return next(
        value for rank, value in enumerate(ordered, start=1) if Fraction(rank, len(ordered)) >= quantile
    )


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, dict[int, tuple[int, int, float]]]:
    rows = [(name, value) for name, values in SAMPLES.items() for value in values]
    frame = spark.createDataFrame(rows, "sample string, value long")
    by_sample: dict[str, dict[int, tuple[int, int, float]]] = {name: {} for name in SAMPLES}
    for row in quantiles(frame, ["sample"], CURVE).collect():
        assert row["quantile"] not in by_sample[row["sample"]]
        by_sample[row["sample"]][row["quantile"]] = (row["value"], row["count"], row["mean"])
    return by_sample


@pytest.mark.parametrize("name", SAMPLES)
def test_every_quantile_is_the_nearest_rank(
    found: dict[str, dict[int, tuple[int, int, float]]], name: str
) -> None:
    expected = {q: nearest_rank(SAMPLES[name], Fraction(q, SCALE)) for span in CURVE for q in span}
    assert {q: value for q, (value, _, _) in found[name].items()} == expected


@pytest.mark.parametrize("name", SAMPLES)
def test_count_and_mean_are_of_the_whole_sample(
    found: dict[str, dict[int, tuple[int, int, float]]], name: str
) -> None:
    values = SAMPLES[name]
    ((count, mean),) = {(count, mean) for _, count, mean in found[name].values()}
    assert count == len(values)
    assert mean == pytest.approx(sum(values) / len(values))


@pytest.mark.parametrize(("known", "never"), [(1000, 1), (1000, 10), (990, 10), (3, 4), (0, 5), (5, 0)])
def test_what_has_no_value_ranks_above_all_that_has(spark: SparkSession, known: int, never: int) -> None:
    values: list[int | None] = [RANDOM.randrange(10**9) for _ in range(known)]
    frame = spark.createDataFrame(
        [("s", value) for value in [*values, *[None] * never]], "sample string, value long"
    )

    rows = quantiles(frame, ["sample"], CURVE).collect()

    every = [NEVER if value is None else value for value in [*values, *[None] * never]]
    expected = {q: nearest_rank(every, Fraction(q, SCALE)) for span in CURVE for q in span}
    assert {row["quantile"]: NEVER if row["value"] is None else row["value"] for row in rows} == expected
    assert {(row["count"], row["known"]) for row in rows} == {(known + never, known)}
