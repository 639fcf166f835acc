"""What the first page of a fault says, in whole sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.report.answer import faults, outage_changes
from bench.report.answer.fault_findings import fault_run, findings
from bench.report.answer.fault_notices import alarms, notices
from bench.report.pages.compared_cases import compared_cases
from bench.report.presentation import DeclaredComparison, Labels, Presentation
from bench.report.results import Results
from tests.fault_sketch import RATE, Case, Trial, results

WAIT_ALL, WAIT_LEADER = {"acks": "all"}, {"acks": "1"}
TWO_IN_SYNC = {"topic": {"replicas": 3, "min.insync.replicas": 2}}
TWO_OF_THREE = {"topic": {"quorums": "3-3-2"}}


def texts(found: Results) -> list[str]:
    return [finding.full_text for finding in findings(fault_run(found, Labels()))]


def boxed(found: Results, note: str = "") -> tuple[str, ...]:
    return notices(fault_run(found, Labels()), note)


def kafka(*trials: Trial, **settings: str) -> Case:
    return Case("kafka", settings, trials, asked=TWO_IN_SYNC)


def pulsar(*trials: Trial, **settings: str) -> Case:
    return Case("pulsar", settings, trials, asked=TWO_OF_THREE)


def test_a_fault_without_loss_says_for_how_long_nobody_could_write_on_each_system() -> None:
    found = results(
        kafka(*Trial().copies(5.81, 7.79, 6.8, 6.79, 7.76)), pulsar(*Trial().copies(13, 12.9, 7.02, 13, 13))
    )

    assert texts(found) == [
        "Nothing was lost; writes and reads stopped for 5.8 to 7.8 s on Kafka and for 7.0 to 13 s on Pulsar."
    ]


def test_systems_stand_beside_each_other_at_equal_settings() -> None:
    found = results(
        kafka(*Trial().copies(5.81, 7.79, 6.8, 6.79, 7.76), session="6 s"),
        kafka(*Trial().copies(31.7, 33.9, 32.7, 33.8, 33.9), session="30 s"),
        pulsar(*Trial().copies(13.0, 12.9, 7.02, 13.0, 12.8), session="6 s"),
        pulsar(*Trial().copies(81.1, 77.5, 30.3, 30.6, 30.4), session="30 s"),
    )

    (text,) = texts(found)

    assert text == (
        "Nothing was lost; writes and reads stopped. Session timeout of 6 s: for 5.8 to 7.8 s on Kafka and for 7.0 to "
        "13 s on Pulsar. Session timeout of 30 s: for 32 to 34 s on Kafka and for 30 to 81 s (half of the trials at "
        "most 31 s) on Pulsar."
    )


def test_reads_are_named_apart_where_they_stop_for_another_time() -> None:
    found = results(kafka(*[Trial(writes=(6.0,))] * 5), pulsar(*[Trial(writes=(30.0,), reads=(49.0,))] * 5))

    assert texts(found) == [
        "Nothing was lost; writes stopped for 6.0 s on Kafka and for 30 s on Pulsar.",
        "Reads stopped for as long as writes, except: for 49 s on Pulsar.",
    ]


def test_reads_that_differ_within_each_configuration_are_named_though_together_they_do_not() -> None:
    found = results(
        pulsar(*[Trial(writes=(6.0,))] * 5, routing="in turn"),
        pulsar(
            *[Trial(writes=(10.4,), reads=(12.6,))] * 2,
            *[Trial(writes=(10.8,), reads=(16.4,))] * 3,
            routing="one each",
        ),
        pulsar(
            *[Trial(writes=(11.3,), reads=(15.3,))] * 2,
            *[Trial(writes=(13.9,), reads=(15.6,))] * 3,
            routing="fewest open",
        ),
    )

    assert texts(found)[1] == (
        "Reads stopped for as long as writes, except: for 13 to 16 s on Pulsar (one each or fewest open)."
    )


def test_a_loss_is_a_span_of_writes_and_a_count_a_trial_and_the_scripts_part_is_named() -> None:
    lossy = Trial(writes=(0.2,), reads=(14.0,), ended="healing", script=12.0)
    isolated = [
        replace(lossy, lost=lost, sent=(0.0, end))
        for lost, end in ((30319, 15.17), (28161, 14.07), (27866, 13.93), (25561, 12.78), (25937, 12.94))
    ]
    waiting = Trial(ended="healing", script=12.0).copies(15.4, 14.1, 14.2, 14.2, 15.2)
    found = results(
        replace(kafka(*waiting, **WAIT_ALL), kind="isolate"),
        replace(kafka(*isolated, **WAIT_LEADER), kind="isolate"),
        replace(pulsar(*Trial(out_of_order=3).copies(1.7, 1.4, 0.84, 3.7, 0.78)), kind="isolate"),
    )

    loss, writes, reads, order = texts(found)

    assert loss == (
        "Acknowledged messages were lost on Kafka (wait for the leader), none on Kafka (wait for all) and Pulsar. "
        "Kafka lost 13 to 15 s of writes from the isolation on, which the script ended after 12 s: about 28,000 "
        "messages in each trial."
    )
    assert writes == (
        "Writes stopped for 14 to 15 s on Kafka (wait for all; 12 s of it set by the script), for 0.2 s on Kafka (wait "
        "for the leader), for 0.78 to 3.7 s (half of the trials at most 1.4 s) on Pulsar."
    )
    assert reads == (
        "Reads stopped for as long as writes, except: for 14 s on Kafka (wait for the leader; 12 s of it set by the "
        "script)."
    )
    assert order == "A trial had up to 3 messages out of order on Pulsar."


def test_all_that_was_sent_before_a_power_cut_is_named_so() -> None:
    cut = Trial(writes=(14.0,), ended="healing", script=1.1, lost=15900, sent=(-8.0, -0.02))
    short = replace(cut, writes=(28.0,), script=10.0, lost=1700, sent=(-0.85, -0.01))
    found = results(
        replace(kafka(*[cut] * 5, **{"flush.messages": "never"}), kind="power-loss"),
        replace(kafka(*[replace(cut, lost=0)] * 5, **{"flush.messages": "1"}), kind="power-loss"),
        replace(pulsar(*[short] * 5), kind="power-loss"),
    )

    loss, outage = texts(found)

    assert loss == (
        "Acknowledged messages were lost on Kafka (no forced fsync) and Pulsar, none on Kafka (fsync every message). "
        "Kafka lost everything written before the power cut (8.0 s of writes, as many as the script allowed): 16,000 "
        "messages in each trial; Pulsar lost the last 0.85 s of writes before the power cut: 1,700 messages in each "
        "trial."
    )
    assert outage == (
        "Writes and reads stopped for 14 s on Kafka (1.1 s of it set by the script) and for 28 s on Pulsar (10 s of it "
        "set by the script)."
    )
    (script,) = boxed(found)
    assert script == (
        "The script decides how much Kafka loses: the power cut comes 8.0 s after the first send, and a longer run "
        "would lose more."
    )


def test_sends_without_an_acknowledgement_are_named_where_they_are_many() -> None:
    given_up = Trial(writes=(30.0,), unanswered=9_000)
    found = results(
        kafka(*[Trial(unanswered=20)] * 5), pulsar(*[given_up] * 4, replace(given_up, unanswered=12_000))
    )

    *_, unanswered = texts(found)

    assert unanswered == (
        "Sends that failed or were never answered: 9,000 to 12,000 in a trial on Pulsar. The application has to send "
        "these again."
    )


def test_where_messages_are_gone_unequal_promises_are_named() -> None:
    safe, lossy = (
        results(kafka(*[Trial(lost=lost, sent=(0, 9))] * 5), pulsar(*[Trial()] * 5)) for lost in (0, 9)
    )

    assert boxed(safe) == ()
    assert " ".join(boxed(lossy)) == (
        "Kafka and Pulsar do not promise the same: a message survives the loss of any one node, not a power cut on "
        "Kafka, the loss of any one bookie, and a power cut on Pulsar."
    )


def test_a_loss_here_and_there_names_its_time_and_in_how_many_trials() -> None:
    some = Trial(lost=113, sent=(-0.03, 12.1))
    found = results(
        kafka(some, replace(some, lost=2956), Trial(), some, some, **WAIT_LEADER),
        kafka(*[Trial()] * 5, **WAIT_ALL),
    )

    assert texts(found)[0] == (
        "Acknowledged messages were lost on Kafka (wait for the leader), none on Kafka (wait for all). Kafka lost 110 "
        "to 3,000 messages, sent within 12 s of the kill, in 4 of 5 trials."
    )


def test_what_could_not_be_read_is_an_upper_bound_of_the_loss() -> None:
    unread = Trial(lost=None, unread=12_000)
    found = results(
        kafka(*[unread] * 5, replicas="1"), kafka(*[Trial()] * 5, replicas="2"), pulsar(*[Trial()] * 5)
    )

    assert texts(found)[0] == (
        "60,000 of 300,000 acknowledged messages could not be read on Kafka (1 replica); how many are lost is not "
        "known. Kafka (2 replicas) and Pulsar lost nothing."
    )


def test_trials_that_ended_before_all_was_read_leave_open_what_is_lost() -> None:
    endless = Trial(lost=None, unread=12_000, verdict="unknown")
    found = results(
        kafka(*[endless] * 4, Trial(), replicas="1"),
        kafka(*[Trial()] * 5, replicas="2"),
        pulsar(*[Trial()] * 5),
    )

    unsettled, outage = texts(found)

    assert unsettled == (
        "On Kafka (1 replica), 48,000 of 240,000 acknowledged messages had not been read when 4 of 5 trials ended. How "
        "many are lost is not known."
    )
    assert outage.startswith("Writes and reads stopped for 6.0 s")


def test_who_may_have_lost_messages_is_not_said_to_have_lost_none() -> None:
    endless = Trial(lost=None, unread=12_000, verdict="unknown")
    found = results(
        kafka(*[Trial(lost=7, sent=(0, 1))] * 5),
        pulsar(Trial(), *[endless] * 4, quorums="2-2-2"),
        pulsar(Trial(), quorums="3-3-2"),
    )

    loss, unfinished, *_ = texts(found)

    assert loss.startswith("Acknowledged messages were lost on Kafka, none on Pulsar (3 copies, wait for 2).")
    assert unfinished.startswith(
        "On Pulsar (2 copies, wait for all), 48,000 of 240,000 acknowledged messages had"
    )


def test_a_trial_that_is_invalid_for_another_reason_leaves_nothing_open() -> None:
    found = results(kafka(*[Trial()] * 5, Trial(lost=None, unread=9, verdict="invalid")))

    assert texts(found)[0].startswith("Nothing was lost;")


def test_where_a_fault_repeats_the_times_are_added_up() -> None:
    kills = (7.31, 6.52, 5.93, 7.65, 6.73, 6.05, 7.13, 5.56, 5.87, 7.25, 6.04)
    mostly_short = (0.24, 0.06, 0.24, 0.18, 0.22, 0.08, 0.1, 0.71, 14.75, 0.84, 0.12)
    found = results(kafka(Trial(writes=kills)), pulsar(Trial(writes=mostly_short)), window_s=480)

    (finding,) = findings(fault_run(found, Labels()))

    assert finding.text == (
        "Nothing was lost; writes and reads stopped for 72 s in all on Kafka (11 kills in 8 min, 5.6 to 7.7 s each) "
        "and for 18 s in all on Pulsar (11 kills in 8 min: 15 s at one, at most 0.84 s at the others)."
    )
    assert not finding.decided
    assert boxed(found) == ("Each configuration has 1 trial of 8 min: another run may differ.",)
    assert boxed(found, "A note.") == ("A note.",)


def test_a_trial_that_was_set_aside_is_named_where_it_is_the_worst() -> None:
    disturbed = Trial(writes=(45.6,), other_cpu=1.0)
    uncounted = Trial(writes=(43.1,), verdict="invalid")
    found = results(
        kafka(*Trial().copies(27.4, 33.3, 29, 30, 30.3), disturbed),
        pulsar(*Trial().copies(27, 28, 29, 26, 30), uncounted),
    )

    (text,) = texts(found)

    assert text == (
        "Nothing was lost; writes and reads stopped for 27 to 33 s on Kafka (46 s in a disturbed trial) and "
        "for 26 to 30 s on Pulsar (43 s in an invalid trial)."
    )
    assert boxed(found) == ("1 of 12 trials does not count; the report lists why.",)


def test_an_outage_without_an_end_is_a_lower_bound() -> None:
    found = results(kafka(*Trial(ended="no end").copies(44.9, 45.2, 45, 45, 45)))

    assert texts(found) == ["Nothing was lost; writes and reads stopped for at least 45 s on Kafka."]


def test_configurations_with_like_outages_share_a_name_that_only_they_have() -> None:
    fast, slow = Trial(writes=(0.3,)), Trial(writes=(12.0,))
    found = results(
        kafka(*[slow] * 5, acks="all", **{"min.insync.replicas": "1"}),
        kafka(*[slow] * 5, acks="all", **{"min.insync.replicas": "2"}),
        kafka(*[fast] * 5, acks="1", **{"min.insync.replicas": "1"}),
        kafka(*[fast] * 5, acks="1", **{"min.insync.replicas": "2"}),
    )

    (text,) = texts(found)

    assert text == (
        "Nothing was lost; writes and reads stopped for 12 s on Kafka (wait for all), for 0.3 s on Kafka (wait for the "
        "leader)."
    )


def test_duplicates_and_disorder_are_counted_a_trial() -> None:
    found = results(
        kafka(Trial(duplicates=104, out_of_order=36), *[Trial()] * 4),
        pulsar(Trial(duplicates=1), *[Trial()] * 4),
    )

    assert texts(found)[1] == (
        "A trial had up to 104 duplicates and up to 36 messages out of order on Kafka, up to 1 duplicate on Pulsar."
    )


def test_an_order_that_every_trial_kept_is_said_beside_duplicates() -> None:
    found = results(kafka(Trial(duplicates=2)), pulsar(Trial()))

    assert texts(found)[1] == "There were 2 duplicates on Kafka; no message was out of order."


def test_a_run_without_a_valid_trial_answers_nothing() -> None:
    found = results(kafka(Trial(verdict="invalid")))

    assert texts(found) == [
        "No trial of this run is valid, so it answers nothing; the reasons are listed below."
    ]


def test_the_box_has_at_most_three_notices_and_how_many_more_there_are() -> None:
    found = results(kafka(Trial(), Trial(verdict="invalid")), profile="quick", overrides=["rate=5"])

    assert boxed(found, "A note.")[-1] == "And 1 more behind this page."
    assert len(boxed(found, "A note.")) == 4


def test_what_waits_for_a_replica_is_not_called_lost() -> None:
    found = results(
        replace(kafka(*[Trial(lost=None, unread=7)] * 5), asked=TWO_REPLICAS), pulsar(*[Trial()] * 5)
    )

    assert texts(found)[0] == (
        "On Kafka, 35 of 300,000 acknowledged messages cannot be read until another replica is in sync. Pulsar lost "
        "nothing."
    )


ALL_PROMISED = (
    "its configuration promises that a message survives the loss of any one node, "
    "not a power cut of all nodes."
)
TWO_REPLICAS = {"topic": {"replicas": 2, "min.insync.replicas": 2}}
"""With one of them gone, the other serves nothing above its high watermark."""
ALARMS = (
    f"Kafka lost up to 5 acknowledged messages in a trial, although {ALL_PROMISED}",
    f"Kafka: 35 acknowledged messages could not be read at the end, although {ALL_PROMISED}",
)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (kafka(Trial(lost=5, sent=(0, 1)), **WAIT_ALL), ALARMS[:1]),
        (kafka(Trial(lost=None, unread=35), **WAIT_ALL), ALARMS[1:]),
        (kafka(Trial(lost=5, sent=(0, 1)), **WAIT_LEADER), ()),
        (kafka(Trial(lost=5, sent=(0, 1), unread=35), **WAIT_ALL), ALARMS[:1]),
        (kafka(Trial(), **WAIT_ALL), ()),
        (replace(kafka(Trial(lost=None, unread=35), **WAIT_ALL), asked=TWO_REPLICAS), ()),
        (replace(kafka(Trial(lost=None, unread=35, script=3.0), **WAIT_ALL), asked=TWO_REPLICAS), ALARMS[1:]),
        (replace(kafka(Trial(lost=5, sent=(0, 1)), **WAIT_ALL), asked=TWO_REPLICAS), ALARMS[:1]),
    ],
    ids=[
        *("lost", "unread", "not promised", "lost and unread", "nothing"),
        *("waits for a replica", "all replicas are back", "lost with two replicas"),
    ],
)
def test_only_a_loss_that_a_promise_covers_is_an_alarm(case: Case, expected: tuple[str, ...]) -> None:
    assert tuple(alarms(fault_run(results(case), Labels()))) == expected


def test_duplicates_are_an_alarm_where_the_producer_is_idempotent() -> None:
    found = results(replace(kafka(Trial(duplicates=7)), effective={"enable.idempotence": "true"}))

    assert list(alarms(fault_run(found, Labels()))) == [
        "Kafka has up to 7 duplicates in a trial, although its configuration promises each message once."
    ]


NOT_IDEMPOTENT = {"enable.idempotence": "false", "acks": "all"}
TWICE = Trial(duplicates=7)


@pytest.mark.parametrize(
    ("cases", "noticed"),
    [
        ([replace(kafka(TWICE), effective=NOT_IDEMPOTENT)], True),
        ([replace(kafka(Trial(out_of_order=1)), effective=NOT_IDEMPOTENT)], True),
        ([replace(kafka(Trial()), effective=NOT_IDEMPOTENT)], False),
        ([replace(kafka(TWICE), effective=NOT_IDEMPOTENT | {"acks": "1"})], False),
        ([replace(kafka(TWICE), effective=NOT_IDEMPOTENT, asked={"processor": {"commit": "after"}})], False),
        (
            [
                replace(kafka(TWICE, idempotence="off"), effective=NOT_IDEMPOTENT),
                replace(kafka(Trial(), idempotence="on"), effective={"enable.idempotence": "true"}),
            ],
            False,
        ),
        ([pulsar(TWICE)], False),
    ],
    ids=["duplicates", "order", "none", "acks=1", "application", "idempotence is compared", "pulsar"],
)
def test_repeats_that_kafkas_java_producer_prevents_are_a_notice(cases: list[Case], noticed: bool) -> None:
    text = (
        "Kafka's producer runs without idempotence here (librdkafka's default), so a message that is sent again can be "
        "stored again or out of order. Java's producer has it on."
    )

    assert (text in boxed(results(*cases), "A note.")) is noticed


@pytest.mark.parametrize(
    ("due", "notices_"),
    [
        (1.0, ()),
        (1.1, ()),  # 91 % of what was due
        (
            2.0,
            (
                "Kafka acknowledged only 50 % of what was due before the first fault: it did not carry this load.",
                "A note.",
            ),
        ),
    ],
)
def test_a_load_that_was_not_carried_before_anything_broke_is_said(
    due: float, notices_: tuple[str, ...]
) -> None:
    found = results(kafka(*[Trial()] * 5), pulsar(*[Trial()] * 5))
    records = {
        number: record.model_copy(
            update={"load": record.load.model_copy(update={"pacing": [(1.0, due * RATE)]})}
        )
        for number, record in found.trial_records.items()
        if record.case.system == "kafka"
    }
    found = replace(found, trial_records={**found.trial_records, **records})

    assert {*boxed(found, "A note.")} == {"A note.", *notices_}


UPGRADE = DeclaredComparison(
    "unavailable_ns", "4.4.0 instead of 3.9.2", "kafka", of={"version": "4.4.0"}, to={"version": "3.9.2"}
)


def upgrade(trials: int) -> Results:
    return results(
        kafka(*Trial().copies(*[6.0, 6.2, 5.8, 6.1, 5.9][:trials]), fault="killed", version="3.9.2"),
        kafka(*Trial().copies(*[8.0, 8.2, 7.8, 8.1, 7.9][:trials]), fault="killed", version="4.4.0"),
        kafka(*[Trial((14.0,), ended="healing", script=12.0)] * trials, fault="cut off", version="3.9.2"),
        kafka(*[Trial((14.0,), ended="healing", script=12.0)] * trials, fault="cut off", version="4.4.0"),
    )


def changes(found: Results) -> list[str]:
    run = fault_run(found, Labels({"fault": {"killed": "it is killed", "cut off": "it is cut off"}}))
    return [finding.full_text for finding in findings(run, outage_changes.findings(run, [UPGRADE]))]


def test_a_declared_change_is_compared_fault_by_fault() -> None:
    (text,) = changes(upgrade(5))

    assert text == (
        "Nothing was lost. With 4.4.0 instead of 3.9.2, writes stopped for 7.8 to 8.2 s instead of 5.8 to 6.2 s where "
        "it is killed: longer; for 14 s instead of 14 s where it is cut off (12 s by the script): no difference."
    )


def test_few_trials_of_a_change_are_said_not_to_decide() -> None:
    (text,) = changes(upgrade(2))

    assert text == (
        "Nothing was lost. With 4.4.0 instead of 3.9.2, writes stopped for 8.0 to 8.2 s instead of 6.0 to 6.2 s where "
        "it is killed, for 14 s instead of 14 s where it is cut off (12 s by the script). 2 trials of each cannot tell "
        "a difference from chance."
    )


def test_a_change_that_lost_messages_is_said_to_have_lost_them_first() -> None:
    found = results(
        kafka(*[Trial((6.0,))] * 5, version="3.9.2"),
        kafka(*[Trial((6.0,), lost=7, sent=(1.0, 2.0))] * 5, version="4.4.0"),
    )

    loss, change = changes(found)

    assert loss.startswith(
        "Acknowledged messages were lost on Kafka (version=4.4.0), none on Kafka (version=3.9.2)."
    )
    assert change == (
        "With 4.4.0 instead of 3.9.2, writes stopped for 6.0 s instead of 6.0 s: no difference."
    )


def test_the_first_figure_shows_the_cases_of_declared_changes() -> None:
    found = upgrade(5)
    shown = Presentation(Labels({"version": {"4.4.0": "Kafka 4.4.0"}}), comparisons=(UPGRADE,))

    compared = compared_cases(found, shown)

    assert faults.answer(found, shown).figure == "answer"
    assert [comparison.title for comparison in compared] == [
        "4.4.0 instead of 3.9.2 (fault=killed)",
        "4.4.0 instead of 3.9.2 (cut off)",
    ]
    assert [row.name for row in compared[0].rows] == ["Kafka 4.4.0", "Kafka: version=3.9.2"]
    assert compared_cases(found, Presentation(Labels())) == []
