"""When a ratio decides, and how it is written."""

from __future__ import annotations

import pytest

from bench.report.answer.effect import Effect, EffectOutcome

SMALLEST = 0.05


@pytest.mark.parametrize(
    ("ratio", "low", "high", "outcome"),
    [
        (2.5, 2.4, 2.6, EffectOutcome.MORE),
        (0.4, 0.38, 0.42, EffectOutcome.LESS),
        (1.01, 0.98, 1.04, EffectOutcome.SAME),
        (1.03, 1.01, 1.05, EffectOutcome.SAME),
        (1.04, 1.02, 1.07, EffectOutcome.UNDECIDED),
        (1.04, 0.97, 1.12, EffectOutcome.UNDECIDED),
        (2.5, 0.9, 6.9, EffectOutcome.UNDECIDED),
        (2.5, None, None, EffectOutcome.UNDECIDED),
        (None, None, None, EffectOutcome.UNDECIDED),
    ],
)
def test_one_is_ahead_beyond_1_and_beyond_the_smallest_effect(
    ratio: float | None, low: float | None, high: float | None, outcome: EffectOutcome
) -> None:
    assert Effect(ratio, low, high, 5).outcome(SMALLEST) is outcome


def test_a_ratio_below_1_is_written_as_a_factor_of_1_and_more() -> None:
    slots = Effect(0.4, 0.38, 0.42, 5).upward.slots

    assert (slots.factor, slots.low, slots.high) == ("2.5", "2.4", "2.6")


def test_an_interval_has_as_many_digits_as_its_ratio() -> None:
    slots = Effect(12.4, 9.71, 15.9, 5).slots

    assert (slots.factor, slots.low, slots.high) == ("12", "10", "16")


def test_without_an_interval_there_are_rounds() -> None:
    slots = Effect(2.5, None, None, 1).slots

    assert (slots.low, slots.high, slots.rounds) == ("", "", "1 round")
