from __future__ import annotations

from typing import Any

import pytest

from bench.analysis.verdicts.headline import headline

Row = dict[str, Any]

TIMES = "\N{MULTIPLICATION SIGN}"


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
        "25.0 times the throughput (20.0 to 30.0 by round); the two were chosen for being furthest apart."
    )
    assert second == "No acknowledged message was lost of 10,000 acknowledged in 10 valid trials."


def test_without_a_round_in_common_there_is_no_ratio() -> None:
    first, *_ = headline(SWEEP, [ROUNDS[0], ROUNDS[3]], closed=True)
    assert first.endswith(": no ratio can be given.")


def test_an_open_loop_is_told_by_its_response_time() -> None:
    first, *_ = headline(SWEEP, ROUNDS, closed=False)
    assert "acks=0 is the cheapest" in first
    assert first.endswith(
        "7.8 times the latency (20.0 to 30.0 by round); the two were chosen for being furthest apart."
    )


def test_of_an_open_loop_it_is_told_how_long_until_a_consumer_has_a_message() -> None:
    seen = [one | {"e2e_p99_ns": 7_100_000} for one in SWEEP]

    assert "(p99 response time 400 µs, end to end 7.1 ms)" in headline(seen, ROUNDS, closed=False)[0]
    assert "end to end" not in headline(seen, ROUNDS, closed=True)[0]


def test_a_configuration_whose_sends_were_never_made_is_the_dearest() -> None:
    overloaded = case("kafka acks=all", 2_000.0, None)
    rounds = [
        row | {"response_p99_ns": None} if row["case"] == "kafka acks=all" and row["round"] > 1 else row
        for row in ROUNDS
    ]
    first, *_ = headline([*SWEEP[:2], overloaded], rounds, closed=False)
    assert first == (
        "Kafka: of 3 configurations acks=0 is the cheapest with 50,000 messages/s (p99 response time 400 µs), "
        "acks=all the dearest with 2,000 messages/s (more than 1 % of what was due was never sent): "
        "no ratio can be given."
    )


def test_what_limited_a_configuration_stands_beside_its_throughput() -> None:
    told = [
        one | {"bottleneck": limit}
        for one, limit in zip(SWEEP, ("client", "cpu", "cpu 3, broker 2"), strict=True)
    ]

    first, *_ = headline(told, ROUNDS, closed=True)

    assert "50,000 messages/s (p99 service time 400 µs; limited by: client)" in first
    assert "2,000 messages/s (p99 service time 3.1 ms; limited by: cpu 3, broker 2)" in first


def test_what_promises_nothing_is_neither_cheapest_nor_dearest_and_its_losses_are_told_apart() -> None:
    """By round the ratio was 10 and 12."""
    cases = [
        SWEEP[0] | {"hollow": True},
        *SWEEP[1:],
        case("kafka acks=0 late", 100.0, 900_000) | {"hollow": True},
    ]
    trials = [
        *(
            trial("kafka acks=1", number=number, rate=rate)
            for number, rate in enumerate((20_000.0, 24_000.0))
        ),
        *(trial("kafka acks=all", number=number, rate=2_000.0) for number in range(2)),
        trial("kafka acks=0", lost=7),
    ]

    first, second = headline(cases, trials, closed=True)

    assert first == (
        "Kafka: of 2 configurations that promise something acks=1 is the cheapest with 20,000 messages/s (p99 service "
        "time 500 µs), acks=all the dearest with 2,000 messages/s (p99 service time 3.1 ms): 11.0 (3.4 to 34.9) times "
        "the throughput; acks=0, which promises nothing, has 50,000 messages/s (p99 service time 400 µs)."
    )
    assert second == (
        "No acknowledged message was lost of 4,000 acknowledged in 4 valid trials. "
        "Of 1,000 more, of which nothing was promised, 7 were lost."
    )


def test_only_of_two_configurations_the_factor_has_an_interval() -> None:
    """Of several equal ones the extremes are apart by chance, beyond their interval more than once in twenty."""
    first, *_ = headline([SWEEP[0], SWEEP[2]], ROUNDS, closed=True)
    assert first.endswith(": 24.8 (20.7 to 29.7) times the throughput.")


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
        "Some figures rest on 1 valid trial only; below 2 there is no interval, and a difference may be "
        "chance; 1 of 2 trials is not valid and left out."
    )


def point(values: Row, ratio: float | None, *, same: bool | None = True, **others: Any) -> Row:
    known = {"first": 1000.0, "second": 500.0, "ratio": ratio, "low": None, "high": None, "rounds": 1}
    cases = {"cases": ["kafka level=a", "pulsar level=a"], "go_on": [True, True]}
    return {"values": values, "same": same, **cases, "throughput_msgs_per_s": known | others}


def told(*points: Row, closed: bool = True) -> list[str]:
    both = [
        case("kafka level=a", 10.0, 1) | {"bottleneck": "cpu"},
        case("pulsar level=a", 5.0, 1) | {"bottleneck": "disk"},
    ]
    sides = {"systems": ["kafka", "pulsar"], "settings": ["level"], "matched": False, "points": list(points)}
    return headline(both, [trial()], sides, closed=closed)


def test_where_both_promise_the_same_their_ratio_is_the_answer() -> None:
    more = point({"level": "no copy"}, 2.0, low=1.9, high=2.1)
    less = point({"level": "one"}, 0.5, low=0.4, high=0.8, first=500.0, second=1000.0)
    neither = point({"level": "both nodes"}, 1.02, low=0.98, high=1.1) | {"go_on": [False, True]}

    assert told(more, less, neither)[:-1] == [
        (
            f"No copy: Kafka has 2{TIMES} (1.9{TIMES} to 2.1{TIMES}) the throughput of Pulsar, "
            "1,000 against 500 messages/s (limited by: cpu / disk)."
        ),
        (
            f"level=one: Pulsar has 2{TIMES} (1.25{TIMES} to 2.5{TIMES}) the throughput of Kafka, "
            "1,000 against 500 messages/s (limited by: disk / cpu)."
        ),
        (
            f"Both nodes: no difference can be told: Kafka has 1.02{TIMES} (0.98{TIMES} to 1.1{TIMES}) the throughput "
            "of Pulsar, 1,000 against 500 messages/s (limited by: cpu / disk); with one node gone writes go on in "
            "Pulsar only."
        ),
    ]


def test_no_ratio_is_told_where_the_promises_are_not_known_to_be_the_same() -> None:
    found = told(
        point({"level": "a b"}, 2.0, same=False),
        point({"level": "c d"}, 3.0, same=None),
        point({"level": "e f"}, None),
    )

    assert found[:3] == [
        "E f: no ratio can be given, no round has both.",
        "Kafka and Pulsar do not promise the same at a b: no ratio is told there.",
        "Kafka and Pulsar are not known to promise the same at c d: no ratio is told there.",
    ]


def test_where_nothing_is_the_same_each_system_is_told_by_itself() -> None:
    found = told(*(point({"partitions": n}, 2.0, same=False) for n in range(6)))

    assert [sentence.partition(" ")[0] for sentence in found[:2]] == ["Kafka", "Pulsar"]
    assert found[2] == "Kafka and Pulsar do not promise the same at 6 of 6 points: no ratio is told there."


def test_a_system_that_acknowledged_nothing_has_no_ratio_the_other_way() -> None:
    (found, *_) = told(point({"level": "no copy"}, 0.0, low=0.0, high=0.5, first=0.0))

    assert found.startswith(f"No copy: Kafka has 0{TIMES} (0{TIMES} to 0.5{TIMES}) the throughput of Pulsar")


def test_of_emulated_disks_the_one_as_it_is_is_told() -> None:
    found = told(
        *(
            point({"level": "no copy", "emulated_fsync": disk}, 2.0)
            for disk in ("as is", "1ms", "5ms", "10ms")
        )
    )

    assert found[0].startswith(
        f"No copy, fsyncs as is: Kafka has 2{TIMES} (in 1 round, no interval) the throughput"
    )
    assert len(found) == 2


def test_what_survives_a_power_cut_is_told_at_every_cost_of_an_fsync() -> None:
    ratios = {"as is": 2.0, "1ms": 0.8, "5ms": None}
    points = [
        point({"level": level, "emulated_fsync": disk}, ratio, low=0.5, high=3.0)
        | {"power": level == "on disk"}
        for level in ("in memory", "on disk")
        for disk, ratio in ratios.items()
    ]

    in_memory, on_disk, *_ = told(*points)

    assert "emulated" not in in_memory
    assert on_disk.endswith(
        f" Where each fsync takes longer (emulated), Kafka over Pulsar, in messages/s: by 1ms 0.8{TIMES} "
        f"(0.5{TIMES} to 3{TIMES}), 1,000 against 500; by 5ms no ratio."
    )


def test_a_ratio_of_trials_beside_other_work_says_so() -> None:
    found = told(point({"level": "no copy"}, 2.0) | {"crowded": 2})

    assert "2 trials of these ran beside other work." in found[0]


def test_of_many_points_the_span_is_told_without_intervals() -> None:
    found = told(*(point({"partitions": n}, n / 2, low=n / 3, high=n) for n in (1, 2, 4, 8, 12, 64)))

    assert found[0] == (
        f"At the 6 points where both promise the same Kafka has from 0.5{TIMES} (partitions=1) to 32{TIMES} "
        "(partitions=64) the throughput of Pulsar."
    )


def test_an_open_loop_was_given_its_rate_and_has_no_ratio_of_rates() -> None:
    assert all("the throughput of" not in sentence for sentence in told(point({}, 1.0), closed=False))


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
            "Kafka: acks=0 lost 60 and doubled 3 of 2,000; acks=1 left unread 400 of 1,000 (the full read ended at "
            "the first that it could not get; nobody knows of those behind it); "
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


def test_of_several_configurations_each_ones_time_is_told_and_of_many_all_together() -> None:
    cases = [case(f"kafka acks={acks}", 4.0, 1) for acks in (0, 1, 2, 3)]
    trials = [
        trial("kafka acks=0", gap=(9_300_000_000, "healing")),
        trial("kafka acks=0", gap=(10_000_000_000, "no end")),
        trial("kafka acks=1", gap=(400_000_000, None)),
        trial("kafka acks=2", gap=(500_000_000, None)) | {"other_cpu": 0.7},
    ]

    (few, *_) = headline(cases, trials, closed=False, broken=True)
    (many, *_) = headline(
        cases, [*trials, trial("kafka acks=3", gap=(20_000_000_000, None))], closed=False, broken=True
    )

    assert few.endswith(
        "; the longest time without an acknowledgement was at least 9.3 s to 10 s with acks=0 (until something was "
        "healed in 1 of 2 trials, with no end before the load's in 1 of 2 trials), 400 ms with acks=1, "
        "500 ms with acks=2 (beside other work)."
    )
    assert many.endswith(
        "; the longest time without an acknowledgement was 400 ms to 20 s, over 4 configurations."
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
        [trial("kafka", failed=3000, present=2000), trial("kafka", failed=10)] * 3,
        closed=False,
        broken=True,
    )
    (none,) = headline(cases, [trial("kafka", failed=30)] * 5, closed=False, broken=True)

    unknown = {"unknown": 4, "unknown_present": 1}
    (both,) = headline(
        cases, [trial("kafka", failed=30) | unknown, trial("kafka") | unknown], closed=False, broken=True
    )[:1]

    assert both.endswith(
        "; none of the 30 sends that were refused is in the log; 2 of the 8 sends that were never answered are in "
        "the log."
    )
    assert some.endswith("; 6,000 of the 9,030 sends that were refused are in the log.")
    assert none.endswith("; none of the 150 sends that were refused is in the log.")


def test_what_became_of_refused_messages_is_not_said_where_the_read_stopped_short() -> None:
    trials = [trial("kafka", failed=10), trial("kafka", None, failed=30)]

    (said,) = headline([case("kafka", 4.0, 1)], trials, closed=False, broken=True)

    assert said.endswith(
        "; none of the 10 sends that were refused is in the log; whether 30 more are there cannot be said, as the "
        "full read did not reach the end."
    )


def test_where_no_read_reached_the_end_nothing_is_said_of_what_was_not_acknowledged() -> None:
    trials = [trial("kafka", None, failed=30), trial("kafka", None, failed=5)]

    (said,) = headline([case("kafka", 4.0, 1)], trials, closed=False, broken=True)

    assert said.endswith(
        "; whether the 35 sends that were refused are there cannot be said, as the full read did not reach the end."
    )


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
