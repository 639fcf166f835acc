from __future__ import annotations

from typing import Any

import pytest

from bench import numbers
from bench.analysis.verdicts.headline import headline

Row = dict[str, Any]


def case(name: str, rate: float | None, p99_ns: int | None, rounds: int = 5) -> Row:
    return {
        "system": name.split(maxsplit=1)[0],
        "case": name,
        "rounds": rounds,
        "trials": 5,
        "throughput_msgs_per_s": rate,
        "service_p99_ns": p99_ns,
        "response_p99_ns": p99_ns,
    }


def trial(
    name: str = "kafka acks=1",
    lost: int | None = 0,
    verdict: str = "valid",
    *,
    unread: int = 0,
    twice: int = 0,
    disordered: int = 0,
    sent_ns: tuple[int, int] | None = None,
    gap: tuple[int, str | None] | None = None,
    failed: int = 0,
    present: int = 0,
    number: int = 0,
    rate: float | None = None,
    p99_ns: int | None = None,
) -> Row:
    return {
        "case": name,
        "round": number,
        "throughput_msgs_per_s": rate,
        "response_p99_ns": p99_ns,
        "verdict": verdict,
        "acked": 1000,
        "lost": lost,
        "unread": unread,
        "duplicates": twice,
        "out_of_order": disordered,
        **(dict(zip(("lost_first_ns", "lost_last_ns"), sent_ns, strict=True)) if sent_ns else {}),
        **(dict(zip(("unavailable_ns", "unavailable_ended"), gap, strict=True)) if gap else {}),
        "failed": failed,
        "unknown": 0,
        "fail_present": present,
        "unknown_present": 0,
    }


SWEEP = [
    case("kafka acks=0", 50_000.0, 400_000),
    case("kafka acks=1", 20_000.0, 500_000),
    case("kafka acks=all", 2_000.0, 3_100_000),
]


ROUNDS = [
    one
    for number, factor in enumerate((20.0, 25.0, 30.0, 26.0, 24.0))
    for one in (
        trial("kafka acks=0", number=number, rate=2_000 * factor, p99_ns=400_000),
        trial("kafka acks=all", number=number, rate=2_000.0, p99_ns=round(400_000 * factor)),
    )
]


def test_a_sweep_is_told_by_its_cheapest_and_its_dearest_configuration() -> None:
    first, second = headline(SWEEP, ROUNDS, closed=True)
    assert first == (
        "Kafka: of 3 configurations acks=0 is the cheapest with 50,000 messages/s (p99 service time 400 µs), "
        "acks=all the dearest with 2,000 messages/s (p99 service time 3.1 ms): "
        "25.0 times the throughput, picked as extremes."
    )
    assert second == "No acknowledged message was lost of 10,000 acknowledged in 10 valid trials."


def test_without_a_round_in_common_there_is_no_ratio() -> None:
    first, *_ = headline(SWEEP, [ROUNDS[0], ROUNDS[3]], closed=True)
    assert first.endswith(": no ratio can be given.")


def test_an_open_loop_is_told_by_its_response_time() -> None:
    first, *_ = headline(SWEEP, ROUNDS, closed=False)
    assert "acks=0 is the cheapest" in first
    assert first.endswith("25.0 times the latency, picked as extremes.")


def test_only_of_two_configurations_the_factor_has_an_interval() -> None:
    """Of several equal ones the extremes are apart by chance, beyond their interval more than once in twenty."""
    first, *_ = headline([SWEEP[0], SWEEP[2]], ROUNDS, closed=True)
    assert first.endswith(": 25.0 (20.0 to 30.0) times the throughput.")


def test_one_configuration_is_told_by_its_figures() -> None:
    first, *_ = headline([case("memory", 10.0, 1_000)], [trial()], closed=True)
    assert first == "Memory (its one configuration): 10 messages/s (p99 service time 1 µs)."


def test_a_system_without_a_valid_trial_is_not_passed_over() -> None:
    found = headline([*SWEEP, case("pulsar", None, None, rounds=0)], [trial()], closed=True)
    assert found[1] == "Pulsar: nothing can be said, none of its 5 trials is valid and measured."


def test_losses_are_told_with_the_worst_configuration() -> None:
    trials = [trial(lost=50), trial("kafka acks=0", lost=100), trial("kafka acks=all")]
    assert headline(SWEEP, trials, closed=True)[1] == (
        "150 acknowledged messages were lost of 3,000 acknowledged in 3 valid trials, in 2 of "
        "3 configurations; kafka acks=0 lost most: 100 of 1,000 (10.00%)."
    )


def test_without_a_whole_read_nothing_is_said_of_losses() -> None:
    assert headline(SWEEP, [trial(lost=None)], closed=True)[1] == (
        "Whether acknowledged messages were lost cannot be said: no valid trial was read back to the end."
    )


def test_few_rounds_and_invalid_trials_are_owned_up_to() -> None:
    cases = [case("kafka acks=0", 5.0, 1, rounds=1), case("kafka acks=1", 4.0, 1, rounds=5)]
    assert headline(cases, [trial(), trial(verdict="invalid")], closed=True)[-1] == (
        "Some figures rest on 1 valid trial only; below 5 there is no interval, and a difference may be "
        "chance; 1 of 2 trials is not valid and left out."
    )


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_500, "1.5 µs"),
        (412_345, "412 µs"),
        (3_149_000, "3.15 ms"),
        (12e9, "12 s"),
    ],
)
def test_a_duration_has_the_unit_that_suits_it(value_ns: float, text: str) -> None:
    assert numbers.duration(value_ns) == text


def test_where_something_broke_the_worth_of_an_ack_comes_first() -> None:
    trials = [
        trial("kafka acks=0", lost=50, twice=3),
        trial("kafka acks=0", lost=10),
        trial("kafka acks=1", lost=None, unread=400),
        trial("kafka acks=all"),
        trial("kafka acks=all", lost=999, verdict="invalid"),
    ]
    assert headline(SWEEP, trials, closed=False, broken=True) == [
        (
            "Kafka: acks=0 lost 60 and doubled 3 of 2,000; acks=1 left unread 400 of 1,000; "
            "with acks=all none was lost, doubled or disordered."
        ),
        "1 of 5 trials is not valid and left out.",
    ]


@pytest.mark.parametrize(
    ("first_s", "last_s", "said"),
    [
        (-8.02, -0.5, "sent 8.02 s to 500 ms before the first fault"),
        (-8.02, 1.5, "sent from 8.02 s before to 1.5 s after the first fault"),
        (0.25, 1.5, "sent 250 ms to 1.5 s after the first fault"),
    ],
)
def test_what_was_lost_is_told_with_when_it_had_been_sent(first_s: float, last_s: float, said: str) -> None:
    sent = round(first_s * 1e9), round(last_s * 1e9)
    trials = [trial("kafka", lost=3, sent_ns=sent), trial("kafka", disordered=2)]

    (found,) = headline([case("kafka", 4.0, 1)], trials, closed=False, broken=True)[:1]

    assert found == f"Kafka: its one configuration lost 3 and disordered 2 of 2,000 ({said})."


def test_how_long_nothing_was_acknowledged_is_told_with_what_ended_it() -> None:
    gaps = [
        (9_300_000_000, "healing"),
        (10_650_000_000, "healing"),
        (400_000_000, None),
        (27_000_000_000, "no end"),
    ]
    trials = [trial("kafka", gap=gap) for gap in gaps]

    (found, *_) = headline([case("kafka", 4.0, 1)], trials, closed=False, broken=True)

    assert found == (
        "Kafka: of 4,000 acknowledged messages none was lost, doubled or disordered; the longest time without an "
        "acknowledgement was 400 ms to 27 s (until something was healed in 2 of 4 trials, with no end before the "
        "load's in 1 of 4 trials)."
    )


def test_what_lost_most_is_told_first() -> None:
    cases = [case("pulsar", 5.0, 1), case("kafka acks=all", 4.0, 1), case("kafka acks=1", 4.0, 1)]
    trials = [trial("pulsar", twice=7), trial("kafka acks=all", twice=2), trial("kafka acks=1", lost=9)]

    kafka, pulsar = headline(cases, trials, closed=False, broken=True)

    assert kafka == "Kafka: acks=1 lost 9 of 1,000; acks=all doubled 2 of 1,000."
    assert pulsar == "Pulsar: its one configuration doubled 7 of 1,000."


def test_refused_messages_that_are_there_are_counted() -> None:
    cases = [case("kafka", 4.0, 1)]
    (some,) = headline(
        cases,
        [trial("kafka", failed=30, present=2), trial("kafka", failed=10)] * 3,
        closed=False,
        broken=True,
    )
    (none,) = headline(cases, [trial("kafka", failed=30)] * 5, closed=False, broken=True)

    assert some.endswith("; 6 of the 120 sends that were refused or never answered are in the log.")
    assert none.endswith("; none of the 150 sends that were refused or never answered is in the log.")


def test_where_something_broke_in_a_closed_loop_the_price_follows() -> None:
    worth, price = headline(SWEEP, [trial()], closed=True, broken=True)
    assert worth == "Kafka: of 1,000 acknowledged messages none was lost, doubled or disordered."
    assert "acks=0 is the cheapest" in price


def test_where_something_broke_a_system_without_a_valid_trial_is_not_passed_over() -> None:
    found = headline(SWEEP, [trial(verdict="invalid")], closed=False, broken=True)
    assert found[0] == "Kafka: nothing can be said, no trial is valid."


def test_a_case_without_a_valid_trial_goes_into_the_headline_as_the_table_has_it() -> None:
    from bench.analysis.cases import case_rows  # noqa: PLC0415
    from tests.unit.test_cases import record  # noqa: PLC0415

    row = {"verdict": "invalid", "case": "kafka acks=1", "system": "kafka", "acked": 0, "lost": None}
    cases = case_rows([record(0, acks=1)], [row], ["acks"])

    (first, *_) = headline(cases, [row], closed=True)

    assert first.startswith("Kafka: nothing can be said")
