from dataclasses import replace
from typing import Any

import pytest

from bench.analysis.resources.bottleneck import TrialSetup, bottleneck
from bench.analysis.resources.telemetry import NodeFigure
from bench.analysis.resources.usage import NodeShares, usage
from bench.systems.registry import describe

IDLE = {
    "cpu_share": 0.3,
    "machine_cpu_share": 0.6,
    "machine_disk_share": 0.2,
    "network_share": 0.1,
    "system": "kafka",
    "throughput_msgs_per_s": 500.0,
    "service_mean_ns": 2_000_000,
    "request_ns": 400_000.0,
    "flush_ns": 90_000.0,
    "flushes_per_message": 1.0,
    "servers_cpu": 0.9,
    "client_cpu": 0.3,
    "other_cpu": 0.1,
}


PLAIN = TrialSetup()


def limit(asked: TrialSetup, changed: dict[str, Any]) -> dict[str, str]:
    """What limited a trial like IDLE, with what its system's servers count and do."""
    row = {**IDLE, **changed}
    system = describe(row["system"])
    logs = 1 if asked.logs is None and row["system"] == "kafka" else asked.logs
    timers = {name: getattr(system, name) for name in ("request_timer", "fsync_timer", "fsync_wait")}
    return bottleneck(row, replace(asked, logs=logs, **timers))


def verdict(asked: TrialSetup = PLAIN, **changed: Any) -> str:
    return limit(asked, changed)["bottleneck"]


def evidence(asked: TrialSetup = PLAIN, **changed: Any) -> str:
    return limit(asked, changed)["bottleneck_evidence"]


def used(
    rows: list[NodeFigure],
    messages_per_s: float | None,
    bytes_per_s: float | None,
    links: dict[str, float] | None = None,
) -> dict[str, object]:
    """What a trial's telemetry says, of the system whose roles are there."""
    system = "pulsar" if any(row.role == "bookie" for row in rows) else "kafka"
    return usage(rows, messages_per_s, bytes_per_s, NodeShares(links or {}, {}), describe(system))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "unknown"),
        ({"cpu_share": 0.9}, "client"),
        ({"cpu_share": 0.89}, "unknown"),
        ({"consumers_cpu": 0.91}, "client"),
        ({"machine_cpu_share": 0.93}, "cpu"),
        ({"machine_disk_share": 0.95}, "disk"),
        ({"flush_ns": 1_000_000.0}, "disk"),
        ({"flush_ns": 500_000.0}, "unknown"),
        ({"flush_ns": 500_000.0, "flushes_per_message": 3.0}, "disk"),  # the follower's after the leader's
        ({"flush_ns": 500_000.0, "flushes_per_message": 3.0, "system": "pulsar"}, "unknown"),  # all at once
        (
            {"flush_ns": 33_000_000.0, "flushes_per_message": 0.001},
            "unknown",
        ),  # as bookies that do not sync each
        ({"network_share": 0.97}, "network"),
        ({"request_ns": 1_500_000.0}, "broker"),
        ({"request_ns": 1_499_999.0}, "unknown"),  # Kafka rounds to whole milliseconds
        (
            {"request_ns": 1_000_000.0, "flushes_per_message": 0.01, "system": "pulsar"},
            "broker",
        ),  # Pulsar cuts off
        ({"request_ns": 999_999.0, "flushes_per_message": 0.01, "system": "pulsar"}, "unknown"),
        ({"machine_cpu_share": None}, "unknown"),
        ({"service_mean_ns": None}, "unknown"),
        ({"cpu_share": 0.95, "machine_cpu_share": None}, "client"),
        # What is certain comes before what is likely: where no core is idle, the client's share is as large as it gets.
        ({"cpu_share": 1.4, "machine_cpu_share": 0.99}, "cpu"),
        ({"cpu_share": 0.95, "flush_ns": 1_900_000.0}, "client"),
        ({"machine_cpu_share": 0.99, "flush_ns": 1_900_000.0}, "cpu"),
        ({"flush_ns": 1_100_000.0, "request_ns": 1_900_000.0}, "disk"),
    ],
)
def test_one_word_says_what_limited_a_trial(changed: dict[str, Any], expected: str) -> None:
    assert verdict(**changed) == expected


def test_who_waits_for_the_leader_only_waits_for_one_fsync() -> None:
    synced = {"flush_ns": 550_000.0, "flushes_per_message": 3.0, "request_ns": 600_000.0}

    assert verdict(TrialSetup(in_turn=2), **synced) == "disk"
    assert verdict(TrialSetup(in_turn=1), **synced) == "unknown"


def test_fsyncs_that_take_longer_than_a_send_are_not_what_it_waits_for() -> None:
    """As with two of three acknowledgements where one bookie's disk is slow."""
    slow = {
        "system": "pulsar",
        "flush_ns": 6_700_000.0,
        "flushes_per_message": 3.0,
        "flush_most_ns": 6_700_000.0,
    }

    assert verdict(TrialSetup(), service_mean_ns=2_500_000, **slow) == "unknown"
    assert verdict(TrialSetup(), service_mean_ns=2_500_000, request_ns=2_000_000.0, **slow) == "broker"
    assert verdict(TrialSetup(), service_mean_ns=6_200_000, **slow) == "disk"


def test_fsyncs_speak_for_themselves_where_no_broker_told_its_requests() -> None:
    assert verdict(request_ns=None, flush_ns=1_900_000.0) == "disk"
    assert verdict(request_ns=None) == "unknown"


def test_a_load_that_kept_its_pace_met_no_limit() -> None:
    assert verdict(TrialSetup(rate=500.0), request_ns=1_900_000.0) == "none"
    assert verdict(TrialSetup(rate=600.0), request_ns=1_900_000.0) == "broker"


@pytest.mark.parametrize(
    ("open_sends", "changed", "expected"),
    [
        # One thread after the other works, so one of two cores is idle, and a faster one would carry as much more.
        (1, {"machine_cpu_share": 0.5, "servers_cpu": 0.72, "cpu_share": 0.2}, "cpu"),
        (1, {"machine_cpu_share": 0.5, "servers_cpu": 0.72, "cpu_share": 0.2, "request_ns": None}, "cpu"),
        (1, {"servers_cpu": 0.4, "cpu_share": 0.2}, "broker"),
        (1, {"servers_cpu": 0.4, "cpu_share": 0.2, "other_cpu": 0.9}, "broker"),
        (
            1,
            {"servers_cpu": 0.4, "cpu_share": 0.2, "client_cpu": 0.8},
            "broker",
        ),  # consumers are no part of a send
        (2, {"servers_cpu": 1.1, "cpu_share": 0.5}, "broker"),
        (3, {"servers_cpu": 2.3, "cpu_share": 0.5}, "cpu"),
        (None, {"servers_cpu": 0.7, "cpu_share": 0.2}, "broker"),
        (1, {"servers_cpu": 0.7, "cpu_share": 0.2, "flush_ns": 1_900_000.0}, "disk"),
        # More cores are busy than one send keeps: it is in the way of sends where something waits for a core.
        (1, {"servers_cpu": 1.3, "cpu_share": 0.2}, "broker"),
        (1, {"servers_cpu": 1.3, "cpu_share": 0.2, "cpu_waiting_share": 0.49}, "broker"),
        (1, {"servers_cpu": 1.3, "cpu_share": 0.2, "cpu_waiting_share": 0.5}, "cpu"),
        (None, {"servers_cpu": 1.3, "cpu_share": 0.2, "cpu_waiting_share": 0.8}, "broker"),
    ],
)
def test_few_open_sends_are_limited_by_cores_that_they_keep_busy_or_wait_for(
    open_sends: int | None, changed: dict[str, Any], expected: str
) -> None:
    assert verdict(TrialSetup(open_sends=open_sends), **{"request_ns": 1_900_000.0, **changed}) == expected


@pytest.mark.parametrize(
    ("beside", "changed", "expected"),
    [
        # Four bookies write at the same time: a send waits for 0.2 + 0.2 + 0.6 / 4 of 1.0 cores' work.
        (0.75, {"servers_cpu": 0.8, "keepers_cpu": 0.6, "cpu_share": 0.2}, "broker"),
        (0.75, {"servers_cpu": 0.8, "keepers_cpu": 0.1, "cpu_share": 0.2}, "cpu"),
        (0.75, {"servers_cpu": 0.8, "keepers_cpu": 0.6, "cpu_share": 0.2, "cpu_waiting_share": 0.6}, "cpu"),
        (0.75, {"servers_cpu": 1.6, "keepers_cpu": 1.0, "cpu_share": 0.2}, "cpu"),
        (0.0, {"servers_cpu": 0.8, "keepers_cpu": 0.6, "cpu_share": 0.2}, "cpu"),
        (0.0, {"servers_cpu": 0.8, "cpu_share": 0.2}, "cpu"),
    ],
)
def test_copies_that_are_made_at_once_count_once(
    beside: float, changed: dict[str, Any], expected: str
) -> None:
    asked = TrialSetup(open_sends=1, beside=beside)

    assert verdict(asked, **{"request_ns": 1_900_000.0, **changed}) == expected


def test_the_evidence_says_that_copies_were_counted_once() -> None:
    told = evidence(TrialSetup(open_sends=1, beside=0.75), servers_cpu=0.8, keepers_cpu=0.08, cpu_share=0.2)
    assert told.startswith(
        "1 send open at a time, and servers and load process used 1.00 cores, copies made at once counted once "
        "0.94: 0.80 by servers"
    )


def test_the_evidence_names_the_sends_that_were_open() -> None:
    assert evidence(TrialSetup(open_sends=1), servers_cpu=0.75, cpu_share=0.2) == (
        "1 send open at a time, and servers and load process used 0.95 cores: 0.75 by servers, "
        "0.30 by the client, 0.10 by others"
    )
    assert evidence(
        TrialSetup(open_sends=1), servers_cpu=1.3, cpu_share=0.2, cpu_waiting_share=0.72
    ).startswith(
        "1 send open at a time, and servers and load process used 1.50 cores, and for 72 % of the time something "
        "that could run waited for a core: 1.30 by servers"
    )


JOURNAL: dict[str, Any] = {
    "system": "pulsar",
    "throughput_msgs_per_s": 1_800.0,
    "service_mean_ns": 11_000_000,
    "request_ns": 10_000_000.0,
    "flush_ns": 5_200_000.0,
    "flushes_per_message": 0.21,  # 190 a second on each of two bookies
    "flush_share": 0.99,
}
"""Twenty producers, and a journal whose fsyncs follow one another."""


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "disk"),
        ({"flush_share": 0.7, "service_mean_ns": 13_000_000}, "broker"),
        # What else takes time, as a slow network: most of a send is not the two fsyncs.
        ({"service_mean_ns": 40_000_000, "request_ns": 39_000_000.0}, "broker"),
    ],
)
def test_behind_a_journal_that_never_rests_a_send_waits_for_two_fsyncs(
    changed: dict[str, Any], expected: str
) -> None:
    assert verdict(**{**JOURNAL, **changed}) == expected


def test_the_evidence_tells_that_fsyncs_were_waited_for_twice() -> None:
    assert evidence(**JOURNAL) == (
        "of 11 ms that a send took on average, 10 ms or more passed in the broker; "
        "each of two fsyncs in a row that it waits for took 5.2 ms or more"
    )


CUT: dict[str, Any] = {
    "service_mean_ns": 2_200_000,
    "throughput_msgs_per_s": 450.0,
    "request_ns": 2_000_000.0,
}
"""Of 2.2 ms half are 1.1: an fsync of 1.15 ms is more than that, and a bookie counts it as 1."""


@pytest.mark.parametrize(
    ("system", "changed", "expected"),
    [
        ("kafka", {"flush_ns": 1_150_000.0}, "disk"),
        ("kafka", {"flush_ns": 1_000_000.0}, "broker"),
        ("pulsar", {"flush_ns": 1_150_000.0}, "disk"),  # some took 2 ms
        ("pulsar", {"flush_ns": 1_000_000.0}, "unknown"),
        ("pulsar", {"flush_ns": 1_000_000.0, "fsync_ns": 1_150_000}, "disk"),  # as the gate timed it
        ("pulsar", {"flush_ns": 1_000_000.0, "fsync_ns": 1_050_000}, "broker"),
        (
            "pulsar",
            {"flush_ns": 1_000_000.0, "flush_most_ns": 1_050_000.0},
            "broker",
        ),  # the disk was idle else
        ("pulsar", {"flush_ns": 1_000_000.0, "flush_most_ns": 1_150_000.0}, "unknown"),
        ("pulsar", {"flush_ns": 90_000.0}, "broker"),
        ("pulsar", {"flush_ns": 0.0}, "broker"),
    ],
)
def test_what_a_bookie_cut_off_an_fsync_decides_nothing(
    system: str, changed: dict[str, Any], expected: str
) -> None:
    assert verdict(system=system, **CUT, **changed) == expected


def test_an_fsync_that_was_cut_off_is_told_by_its_bounds() -> None:
    row: dict[str, Any] = {**CUT, "system": "pulsar", "flush_ns": 1_000_000.0}

    assert evidence(**row).endswith("one fsync took 1 ms to 2 ms, which may be most of it")
    assert evidence(TrialSetup(open_sends=1), **row, servers_cpu=0.8).startswith(
        "1 send open at a time, and servers and load process used 1.10 cores"
    )
    assert evidence(**row, fsync_ns=1_100_000).endswith("one fsync took 1.1 ms")


def test_fsyncs_that_fill_the_time_do_so_uncut_too() -> None:
    """870 fsyncs a second of 1.15 ms are all the time there is; counted as 1 ms they are 87 % of it."""
    journal = {**JOURNAL, "service_mean_ns": 2_600_000, "throughput_msgs_per_s": 8_300.0}
    journal |= {"flush_ns": 1_000_000.0, "flush_share": 0.87, "request_ns": 2_400_000.0}

    assert verdict(**journal, fsync_ns=1_150_000) == "disk"
    assert verdict(**journal) == "unknown"


@pytest.mark.parametrize(
    ("logs", "share", "expected"), [(1, 0.95, "disk"), (12, 0.95, "broker"), (12, 10.9, "disk")]
)
def test_a_log_that_is_always_being_synced_is_the_limit(logs: int, share: float, expected: str) -> None:
    """Kafka syncs each request by itself, and logs of several partitions at once."""
    log: dict[str, Any] = {"flush_ns": 500_000.0, "flush_share": share, "request_ns": 10_000_000.0}

    assert verdict(TrialSetup(logs=logs), service_mean_ns=11_000_000, **log) == expected


def test_under_faults_no_one_thing_is_named() -> None:
    assert verdict(TrialSetup(broken=True), machine_cpu_share=0.99) == "unknown"


def test_what_a_send_does_not_wait_for_does_not_limit_it() -> None:
    """With acks=0 a send is over when it is written; the request then takes longer than the send."""
    unasked = TrialSetup(waits=False)

    assert verdict(unasked, service_mean_ns=30_000, request_ns=1_900_000.0, flush_ns=90_000.0) == "unknown"
    assert evidence(unasked) == "no send waited for an acknowledgement; the cores were 60 % busy"
    assert verdict(unasked, machine_cpu_share=0.99) == "cpu"


def test_the_evidence_says_who_took_the_cores() -> None:
    assert evidence(machine_cpu_share=0.96) == (
        "the cores were 96 % busy, 0.90 by servers, 0.30 by the client, 0.10 by others"
    )


def test_the_clients_share_is_told_as_what_it_is() -> None:
    assert evidence(cpu_share=1.4) == (
        "the load process used 140 % of a core, its client library's threads included"
    )


def test_who_keeps_no_messages_does_not_count_among_the_fsyncs() -> None:
    rows = [
        NodeFigure(0, "bookie-1", "bookie", "bytes_in", 1000.0),
        NodeFigure(0, "bookie-1", "bookie", "flushes", 100.0),
        NodeFigure(0, "bookie-1", "bookie", "flush_s", 0.02),
        NodeFigure(0, "controller-1", "controller", "bytes_in", 0.0),
        NodeFigure(0, "controller-1", "controller", "flushes", 10.0),
        NodeFigure(0, "controller-1", "controller", "flush_s", 1.0),
    ]

    found = used(rows, 50.0, 50_000.0)

    assert found["flushes_per_message"] == pytest.approx(2.0)
    assert found["flush_ns"] == pytest.approx(200_000)
    assert found["flush_share"] == pytest.approx(0.02)


def test_the_time_of_a_request_is_that_of_the_role_that_clients_wait_for() -> None:
    rows = [
        NodeFigure(0, "bookie-1", "bookie", "requests", 200.0),
        NodeFigure(0, "bookie-1", "bookie", "request_s", 1.0),
        NodeFigure(0, "broker-1", "broker", "requests", 60.0),
        NodeFigure(0, "broker-2", "broker", "requests", 40.0),
        NodeFigure(0, "broker-1", "broker", "request_s", 0.06),
        NodeFigure(0, "broker-2", "broker", "request_s", 0.06),
    ]

    assert used(rows, 100.0, 1e5)["request_ns"] == pytest.approx(1_200_000)


def test_without_throughput_nothing_is_given_for_each_message() -> None:
    assert used([NodeFigure(0, "broker-1", "broker", "cpu_s", 0.5)], 0.0, None)["cpu_per_message_ns"] is None


def test_a_link_that_was_made_narrow_is_held_against_what_it_carries_then() -> None:
    rows = [
        NodeFigure(0, "broker-1", "broker", "net_out_bytes", 900_000.0),
        NodeFigure(0, "broker-2", "broker", "net_in_bytes", 480_000.0),
        NodeFigure(0, "machine", "machine", "net_link_bytes_per_s", 1.25e9),
    ]

    assert used(rows, 400.0, 4e5)["network_share"] == pytest.approx(0.00072)
    assert used(rows, 400.0, 4e5, {"broker-2": 500_000.0})["network_share"] == pytest.approx(0.96)
    # More than 0.5 MB/s passed: the most of it to others, to whom the link is as wide as ever.
    assert used(rows, 400.0, 4e5, {"broker-1": 500_000.0})["network_share"] == pytest.approx(0.00072)
    assert evidence(TrialSetup(narrowed=True), network_share=0.96) == (
        "a node moved 96 % of what its link carries, which was made narrow"
    )


def test_what_the_suite_takes_is_not_others() -> None:
    rows = [
        NodeFigure(0, "machine", "machine", "cpu_busy_s", 1.5),
        NodeFigure(0, "machine", "machine", "cores", 2.0),
        NodeFigure(0, "broker-1", "broker", "cpu_s", 0.6),
        NodeFigure(0, "suite 17", "suite", "cpu_s", 0.1),
        NodeFigure(0, "suite 40", "suite", "cpu_s", 0.5),
    ]

    found = used(rows, None, None)

    assert found["suite_cpu"] == pytest.approx(0.6)
    assert found["other_cpu"] == pytest.approx(0.3)


def test_an_application_is_no_server() -> None:
    rows = [
        NodeFigure(0, "broker-1", "broker", "cpu_s", 0.6),
        NodeFigure(0, "broker-1", "broker", "net_out_bytes", 3000.0),
        NodeFigure(0, "processor-1", "processor", "cpu_s", 0.5),
        NodeFigure(0, "processor-1", "processor", "net_in_bytes", 1000.0),
        NodeFigure(0, "producers", "client", "cpu_s", 0.1),
    ]

    found = used(rows, 1.0, 1000.0)

    assert (found["servers_cpu"], found["client_cpu"]) == (0.6, pytest.approx(0.6))
    assert found["network_bytes_per_byte"] == pytest.approx(3.0)


def test_what_scrapes_bring_is_no_traffic_of_messages() -> None:
    rows = [
        NodeFigure(0, "bookie-1", "bookie", "net_in_bytes", 2000.0),
        NodeFigure(0, "bookie-1", "bookie", "net_out_bytes", 60_000.0),
        NodeFigure(0, "bookie-1", "bookie", "scraped_bytes", 58_000.0),
    ]

    assert used(rows, 1.0, 1000.0)["network_bytes_per_byte"] == pytest.approx(4.0)


def test_of_the_servers_bookies_keep_messages_where_there_are_some() -> None:
    broker, bookie = (
        NodeFigure(0, "broker-1", "broker", "cpu_s", 0.6),
        NodeFigure(0, "bookie-1", "bookie", "cpu_s", 0.2),
    )

    assert used([broker, bookie], None, None)["keepers_cpu"] == pytest.approx(0.2)
    assert used([broker], None, None)["keepers_cpu"] == pytest.approx(0.6)


def test_messages_a_request_and_how_far_a_broker_is_from_the_mean() -> None:
    """300 messages a second in 60 requests; brokers take 100, 200 and 600 bytes a second in, 300 in the mean."""
    rows = [
        NodeFigure(0, "broker-1", "broker", "requests", 20.0),
        NodeFigure(0, "broker-2", "broker", "requests", 40.0),
    ]
    rows += [
        NodeFigure(0, f"broker-{number}", "broker", "bytes_in", taken)
        for number, taken in enumerate((100.0, 200.0, 600.0), 1)
    ]
    rows.append(NodeFigure(0, "bookie-1", "bookie", "bytes_in", 5_000.0))

    found = used(rows, 300.0, 3e5)

    assert found["messages_per_request"] == pytest.approx(5)
    assert found["broker_spread"] == pytest.approx(1)


def test_one_broker_is_the_mean_of_itself() -> None:
    rows = [NodeFigure(0, "broker-1", "broker", "bytes_in", 100.0)]

    assert used(rows, 300.0, 3e5)["broker_spread"] is None
