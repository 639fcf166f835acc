from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from bench.records.trial import CaseRecord
from bench.report import sweep
from bench.report.results import Results, read
from bench.report.sections import resources, servers, throughput
from tests.report_data import build
from tests.report_sketch import Sketch


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return read(build(tmp_path_factory.mktemp("run") / "servers", Sketch(rounds=2, messages=1000)))


def changed(found: Results, system: str, **parts: Any) -> Results:
    """Return the results with parts of every trial of a system replaced."""
    records = {
        number: trial.model_copy(update=parts) if trial.case.system == system else trial
        for number, trial in found.trial_records.items()
    }
    return replace(found, trial_records=records)


def test_collector_and_heaps_stand_on_the_first_page_and_by_role(found: Results) -> None:
    facts = {fact.term: fact.text for fact in servers.facts(found, sweep.parts(found))}

    assert servers.memory(found) == "servers' default JIT, SerialGC, heaps of 512 MiB"
    assert "heap: broker 512 MiB" in facts["Kafka"]
    assert facts["JVM"] == "the servers' own default JIT compilers; SerialGC; heaps of 512 MiB"


def test_direct_memory_stands_beside_the_heap(found: Results) -> None:
    jvm = {"bookie": {"Xmx": "384m", "MaxDirectMemorySize": "256m", "UseZGC": True}}
    facts = servers.facts(changed(found, "pulsar", effective={"jvm": jvm}), sweep.parts(found))

    assert any("heap: bookie 384 MiB and 256 MiB direct" in fact.text for fact in facts)
    assert servers.jvms(changed(found, "pulsar", effective={"jvm": jvm})) == [
        "SerialGC",
        "ZGC",
        "heaps of 384 to 512 MiB",
    ]


def test_what_the_scenario_gave_all_cases_alike_is_told_and_what_it_sweeps_is_not(found: Results) -> None:
    case = CaseRecord(system="kafka", name="kafka", settings={})
    given = {"topic": {"replicas": 3}, "cluster_settings": {"broker": {"broker.session.timeout.ms": 6000}}}
    some = changed(
        found,
        "kafka",
        case=case.model_copy(update={"configuration": given | {"producer": {"acks": "all"}}}),
    )
    first = min(number for number, trial in some.trial_records.items() if trial.case.system == "kafka")
    other = case.model_copy(update={"configuration": given | {"producer": {"acks": 1}}})
    unlike = some.trial_records[first].model_copy(update={"case": other})
    some = replace(some, trial_records={**some.trial_records, first: unlike})

    facts = {fact.term: fact.text for fact in servers.facts(some, sweep.parts(found))}

    said = facts["Kafka, set by the scenario"]
    assert said == "topic replicas=3; broker broker.session.timeout.ms=6000"


def test_how_long_a_silent_server_is_waited_for_is_as_read_back(found: Results) -> None:
    roles = {
        "broker": {"broker.session.timeout.ms": "6000"},
        "controller": {"broker.session.timeout.ms": "9000"},
    }

    said = servers.patience(changed(found, "kafka", effective={"roles": roles}))

    assert said == "a server is taken for dead after 6 s and 9 s (Kafka)"


def test_how_long_a_silent_server_is_waited_for_is_said_once_where_systems_are_alike(found: Results) -> None:
    kafka = {"broker": {"broker.session.timeout.ms": "6000"}}
    alike = {"broker": {"metadataStoreSessionTimeoutMillis": "6000"}, "zookeeper": {}}
    some = changed(found, "kafka", effective={"roles": kafka})

    said = servers.patience(changed(some, "pulsar", effective={"roles": alike}))
    assert said == "a server is taken for dead after 6 s"

    alike["broker"] = {"metadataStoreSessionTimeoutMillis": "30000"}
    said = servers.patience(changed(some, "pulsar", effective={"roles": alike}))
    assert said == "a server is taken for dead after 6 s (Kafka), 30 s (Pulsar)"


def test_with_zookeeper_it_is_zookeepers_session_that_counts(found: Results) -> None:
    roles = {
        "broker": {"broker.session.timeout.ms": "9000", "zookeeper.session.timeout.ms": "6000"},
        "zookeeper": {"maxSessionTimeout": None},
    }

    said = servers.patience(changed(found, "kafka", effective={"roles": roles}))

    assert said == "a server is taken for dead after 6 s (Kafka)"


@pytest.mark.parametrize(("delay", "said"), [("10", "after 10 ms ("), ("0", ""), (None, "")])
def test_for_how_long_a_broker_does_not_look_for_messages_is_as_read_back(
    found: Results, delay: str | None, said: str
) -> None:
    told = {"broker": {"managedLedgerNewEntriesCheckDelayInMillis": delay} if delay else {}}

    sentence = servers.delivery_remark(changed(found, "pulsar", effective={"roles": told}))

    assert said in sentence
    assert bool(sentence) == bool(said)


def test_a_producer_without_idempotence_is_named(found: Results) -> None:
    assert servers.duplicates_remark(
        changed(found, "kafka", effective={"producer": {"enable.idempotence": False}})
    )
    assert not servers.duplicates_remark(
        changed(found, "kafka", effective={"producer": {"enable.idempotence": True}})
    )
    assert not servers.duplicates_remark(changed(found, "kafka", effective=None))


def test_a_time_among_what_never_came_is_never_and_one_that_was_not_measured_is_nothing(
    found: Results,
) -> None:
    cases = found.cases.copy()
    cases.loc[cases.index[0], "e2e_p99_ns"] = float("nan")
    unheard = cases.assign(e2e_min_ns=float("nan"))

    def shown(cases: pd.DataFrame) -> list[str]:
        part = replace(sweep.parts(found)[0], cases=cases)
        table = throughput.table(replace(found, cases=cases), part)
        place = [(column.group, column.head) for column in table.columns].index(("end to end, ms", "p99"))
        return [row.cells[place].text for row in table.rows if len(row.cells) > place]

    assert shown(cases)[0] == "never"
    assert "never" not in shown(cases)[1:]
    assert "never" not in shown(unheard)


def test_consumers_at_their_limit_are_not_called_the_load_process(found: Results) -> None:
    shares = [0.95, *[0.4] * (len(found.trials) - 1)]
    trials = found.trials.assign(
        bottleneck=["client", "client", *["broker"] * (len(found.trials) - 2)], cpu_share=shares
    )

    loads, consumers = resources.limits(replace(found, trials=trials))

    every = len(found.valid)
    assert loads.startswith(f"In 1 of {every} valid trials the load process may have been the limit")
    assert consumers.startswith(f"In 1 of {every} valid trials the consumers' process used nine tenths")
