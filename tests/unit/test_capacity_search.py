"""The search for the highest sustained rate: each way it can go, and what holds for any sequence of verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.capacity.capacity import Capacity, SearchStep
from bench.capacity.hold import Hold
from bench.capacity.judgement import HoldVerdict
from bench.capacity.search import HoldRequest, Search, SearchPlan
from bench.capacity.service_level import ServiceLevel

CLOSED_LOOP = 1000.0
PASSED, FAILED, UNDECIDED, CLIENT_LIMITED = HoldVerdict
MOST_RATES = 40
"""12 rates at most find a candidate, 15 bracket it, and 8 look for one above it that fails."""

Server = Callable[[HoldRequest], HoldVerdict]


def hold_of(request: HoldRequest, verdict: HoldVerdict) -> Hold:
    """A hold that is judged so: no late messages, 5 %, or 1 %, which no repeat decides."""
    late = {PASSED: 0, UNDECIDED: 10}.get(verdict, 50)
    seconds = int(request.seconds)
    return Hold(
        rate=request.rate,
        seconds=request.seconds,
        due=[1000] * seconds,
        sent=1000 * seconds,
        late=[late] * seconds,
        late_end_to_end=[0] * seconds,
        limited_by_client=verdict is CLIENT_LIMITED,
    )


def search_on(server: Server, plan: SearchPlan | None = None) -> tuple[Capacity, list[HoldRequest]]:
    """The result of a search, and all that it asked for."""
    search = Search(CLOSED_LOOP, ServiceLevel(), plan or SearchPlan())
    requests = []
    while search.request:
        requests.append(search.request)
        search.add(hold_of(search.request, server(search.request)))
    return search.result(), requests


def up_to(capacity: float, above: HoldVerdict = FAILED) -> Server:
    return lambda request: PASSED if request.rate <= capacity else above


def confirming(capacity: float, short_capacity: float) -> Server:
    """A server that looks better, or worse, in short holds."""
    return lambda request: PASSED if request.rate <= (short_capacity, capacity)[request.confirms] else FAILED


def rates(result: Capacity, *, confirms: bool) -> list[float]:
    return [round(step.rate, 1) for step in result.steps if step.confirms is confirms]


def ends(result: Capacity) -> tuple[float | None, float | None]:
    passed, failed = result.passed_rate, result.failed_rate
    return passed and round(passed, 1), failed and round(failed, 1)


def test_rates_double_to_the_first_failure_and_are_bisected_to_five_percent() -> None:
    result, _ = search_on(up_to(600))

    assert rates(result, confirms=False) == [100, 200, 400, 800, 565.7, 672.7, 616.9, 590.7]


def test_the_candidate_and_a_tenth_more_are_confirmed_by_long_holds() -> None:
    result, requests = search_on(up_to(600))

    assert rates(result, confirms=True) == [590.7, 649.8]
    assert [request.seconds for request in requests] == [20] * 8 + [60] * 2
    assert {request.settle_seconds for request in requests} == {10}
    assert ends(result) == (590.7, 649.8)
    assert result.finding == "591 messages/s passed and 650 failed."
    assert not result.non_monotone


def test_where_the_first_rate_fails_lower_ones_are_tried_in_growing_steps() -> None:
    result, _ = search_on(up_to(15))

    assert rates(result, confirms=False)[:4] == [100, 50, 12.5, 25]
    assert result.passed_rate is not None
    assert result.failed_rate is not None
    assert result.passed_rate <= 15 < result.failed_rate


def test_a_level_that_no_rate_meets_ends_with_the_lowest_rate() -> None:
    result, _ = search_on(up_to(5))

    assert rates(result, confirms=False) == [100, 50, 12.5, 10]
    assert ends(result) == (None, 10)
    assert result.finding == (
        "No rate meets the service level. The lowest that was tried is 10 messages/s (failed)."
    )


def test_a_candidate_that_is_not_confirmed_falls_back_until_a_lower_rate_passes() -> None:
    result, _ = search_on(confirming(450, short_capacity=600))

    assert rates(result, confirms=True) == [590.7, 563.2, 512.0, 423.2, 465.5]
    assert ends(result) == (423.2, 465.5)


def test_a_candidate_may_fall_back_to_the_lowest_rate() -> None:
    result, _ = search_on(confirming(5, short_capacity=600))

    assert ends(result) == (None, 10)


def test_of_the_lowest_rate_the_long_hold_counts() -> None:
    result, _ = search_on(confirming(5, short_capacity=11))

    assert [step.verdict for step in result.steps if step.rate == 10] == [PASSED, FAILED]
    assert result.finding.startswith("No rate meets the service level.")


def test_where_a_tenth_more_passes_higher_rates_are_tried() -> None:
    result, _ = search_on(confirming(800, short_capacity=600))

    assert result.passed_rate is not None
    assert result.failed_rate is not None
    assert result.passed_rate <= 800 < result.failed_rate <= 1.1001 * result.passed_rate
    assert result.non_monotone


def test_a_long_hold_goes_on_up_to_four_times_its_length_while_it_is_undecided() -> None:
    result, requests = search_on(
        lambda request: UNDECIDED if request.confirms and request.rate < 600 else up_to(600)(request)
    )

    first = next(request.rate for request in requests if request.confirms)
    assert [request.rate for request in requests if request.confirms].count(first) == 4
    assert next(step for step in result.steps if step.confirms).seconds == 240


def test_a_long_hold_that_is_decided_later_goes_on_no_further() -> None:
    search = Search(CLOSED_LOOP, ServiceLevel())
    while search.request is not None and not search.request.confirms:
        search.add(hold_of(search.request, up_to(600)(search.request)))
    for verdict in (UNDECIDED, UNDECIDED, PASSED):
        assert search.request is not None
        assert search.request.rate == pytest.approx(590.7, abs=0.1)
        search.add(hold_of(search.request, verdict))

    assert search.request is not None
    assert search.request.rate == pytest.approx(649.8, abs=0.1)


@pytest.mark.parametrize(("late", "next_rate"), [([0, 1, 0, 1], 200), ([2, 1, 2, 1], 50)])
def test_a_short_undecided_hold_counts_by_its_figures(late: list[int], next_rate: float) -> None:
    """Of 400 messages 2 or 6 are late, 0.5 or 1.5 %: the intervals of both shares contain the limit of 1 %."""
    search = Search(CLOSED_LOOP, ServiceLevel())
    hold = replace(hold_of(HoldRequest(100, 4, 1), PASSED), due=[100] * 4, sent=400, late=late)
    search.add(hold)

    assert search.judgement.verdict is UNDECIDED
    assert search.request is not None
    assert search.request.rate == next_rate


def test_an_undecided_rate_is_no_end_of_the_interval() -> None:
    def server(request: HoldRequest) -> HoldVerdict:
        return PASSED if request.rate < 600 else UNDECIDED if request.rate < 700 else FAILED

    result, _ = search_on(server)

    assert result.passed_rate is not None
    assert result.failed_rate is not None
    assert result.passed_rate < 600 <= min(result.undecided_rates)
    assert max(result.undecided_rates) < 700 <= result.failed_rate


def test_where_nothing_is_decided_there_is_no_interval() -> None:
    result, _ = search_on(lambda _: UNDECIDED)

    assert ends(result) == (None, None)
    assert result.finding == (
        "No rate is shown to meet the service level. The lowest that was tried is 10 messages/s (undecided)."
    )


def test_a_client_at_its_limit_makes_the_capacity_a_lower_bound() -> None:
    result, _ = search_on(up_to(600, above=CLIENT_LIMITED))

    assert ends(result) == (590.7, None)
    assert result.limited_by_client
    assert result.finding == "At least 591 messages/s: above it the client was the limit."


def test_a_system_that_never_fails_is_tried_up_to_the_highest_rate() -> None:
    result, _ = search_on(lambda _: PASSED)

    assert ends(result) == (10_000, None)
    assert not result.limited_by_client
    assert result.finding == "At least 10,000 messages/s: no rate above it failed."


def test_a_hold_that_was_not_asked_for_is_refused() -> None:
    search = Search(CLOSED_LOOP, ServiceLevel())

    with pytest.raises(ValueError, match="was not asked for"):
        search.add(hold_of(HoldRequest(123, 20, 10), PASSED))


def test_there_is_no_result_before_the_end() -> None:
    with pytest.raises(ValueError, match="not over"):
        Search(CLOSED_LOOP, ServiceLevel()).result()


def test_a_plan_sets_lengths_and_widths() -> None:
    plan = SearchPlan(
        search_seconds=5, confirm_seconds=30, settle_seconds=2, search_width=1.2, confirm_width=1.3
    )
    result, requests = search_on(up_to(600), plan)

    assert {(request.seconds, request.settle_seconds) for request in requests} == {(5, 2), (30, 2)}
    assert result.failed_rate == pytest.approx(1.3 * (result.passed_rate or 0))


any_verdicts = st.lists(st.sampled_from(HoldVerdict), max_size=60)


def scripted(verdicts: list[HoldVerdict], then: HoldVerdict) -> Server:
    """A server without any order: one verdict a hold, whatever the rate."""
    rest: Iterator[HoldVerdict] = chain(verdicts, repeat(then))
    return lambda _: next(rest)


@given(any_verdicts, st.sampled_from(HoldVerdict))
def test_a_search_ends_whatever_the_verdicts(verdicts: list[HoldVerdict], then: HoldVerdict) -> None:
    result, requests = search_on(scripted(verdicts, then))

    assert len(result.steps) <= MOST_RATES
    assert len(requests) <= 4 * MOST_RATES
    assert all(10 <= request.rate <= 10_000 for request in requests)


@given(any_verdicts, st.sampled_from(HoldVerdict))
def test_the_interval_never_inverts_and_is_never_one_number(
    verdicts: list[HoldVerdict], then: HoldVerdict
) -> None:
    result, _ = search_on(scripted(verdicts, then))

    assert (result.passed_rate or 0) < (result.failed_rate or float("inf"))


@given(any_verdicts, st.sampled_from(HoldVerdict))
def test_a_rate_that_passed_above_one_that_failed_is_flagged(
    verdicts: list[HoldVerdict], then: HoldVerdict
) -> None:
    result, _ = search_on(scripted(verdicts, then))
    last = {step.rate: step.verdict for step in result.steps}
    pairs = [(low, high) for low in last for high in last if low < high]

    assert result.non_monotone == any(last[low] is FAILED and last[high] is PASSED for low, high in pairs)


@given(st.floats(10.5, 9000))
def test_a_server_with_a_limit_has_it_within_its_interval(limit: float) -> None:
    result, _ = search_on(up_to(limit))

    assert result.passed_rate is not None
    assert result.failed_rate is not None
    assert result.passed_rate <= limit < result.failed_rate <= 1.1001 * result.passed_rate
    assert not result.non_monotone


def test_the_same_holds_lead_to_the_same_search() -> None:
    _, requests = search_on(up_to(600))
    again = Search(CLOSED_LOOP, ServiceLevel())
    for request in requests:
        again.add(hold_of(request, up_to(600)(request)))

    assert again.request is None


def test_steps_hold_the_seconds_and_the_reason() -> None:
    result, _ = search_on(up_to(600))
    first = result.steps[0]

    assert isinstance(first, SearchStep)
    assert first.seconds == 20
    assert first.judgement.reason.startswith("0 % of the messages")
