"""Files of external clusters: what they say, and what is wrong in them."""

from pathlib import Path

import pytest

from bench.errors import LoadError, ScenarioError
from bench.scenario.cluster_file import read_cluster_file
from bench.systems import endpoint as endpoints
from bench.systems.endpoint import Endpoint

KAFKA = """\
system: kafka
bootstrap.servers: one:9093,two:9093
client:
  security.protocol: SASL_SSL
  sasl.password: ${env:PASSWORD}
most_messages_per_s: 5000
"""
PULSAR = """\
system: pulsar
service_url: pulsar+ssl://one:6651
admin_url: https://one:8443
tenant: team
client:
  token: ${file:/run/token}
most_messages_per_s: unlimited
settings: {bookie: {journalSyncData: true}}
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "staging.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_kafka_cluster_has_an_address_properties_and_a_limit(tmp_path: Path) -> None:
    found = read_cluster_file(written(tmp_path, KAFKA))

    assert found.system == "kafka"
    assert found.endpoint.address == "one:9093,two:9093"
    assert found.endpoint.client["sasl.password"] == "${env:PASSWORD}"
    assert (found.topic_prefix, found.most_messages_per_s) == ("bench-", 5000.0)


def test_a_pulsar_cluster_has_two_addresses_a_tenant_and_stated_settings(tmp_path: Path) -> None:
    found = read_cluster_file(written(tmp_path, PULSAR))

    assert found.endpoint.display_address == "pulsar+ssl://one:6651, https://one:8443"
    assert found.endpoint.tenant == "team"
    assert found.most_messages_per_s == 0.0
    assert found.settings == {"bookie": {"journalSyncData": True}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("system: kafak\n", ":1: system: it is 'kafak'; did you mean 'kafka'?"),
        ("client: {}\n", ":1: system: it is missing"),
        ("system: kafka\nmost_messages_per_s: 1\n", "bootstrap.servers"),
        (KAFKA + "tenant: team\n", ":7: tenant: there is no such key"),
        (KAFKA + "topic_prefx: a-\n", ":7: topic_prefx: there is no such key; did you mean 'topic_prefix'?"),
        (KAFKA.replace("5000", "0"), ":6: most_messages_per_s:"),
        (KAFKA.replace("${env:PASSWORD}", "hunter2"), ":5: client.sasl.password: write ${env:NAME}"),
        (KAFKA + "settings: {bookie: {a: 1}}\n", ":7: settings.bookie: kafka has no role bookie"),
        (PULSAR.replace("token: ${file:/run/token}", "token: abc"), ":6: client.token: write ${env:NAME}"),
        (
            PULSAR.replace("token: ${file:/run/token}", "basic: {username: a, password: b}"),
            "client.basic.password: write ${env:NAME}",
        ),
    ],
)
def test_a_mistake_is_said_with_its_line_and_key(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as refusal:
        read_cluster_file(written(tmp_path, text))

    assert said in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


NODE = "nodes: {{{name}: {{address: 'one:9092', {commands}}}}}\n"


@pytest.mark.parametrize(
    ("name", "commands", "said"),
    [
        (
            "one",
            "kill: x, start: y",
            ":7: nodes.one: a node is called by its role and a number, such as broker-1",
        ),
        ("broker-1", "kill: x", ":7: nodes.broker-1: start is missing"),
        ("broker-1", "pause: x, resume: y", "pause, resume and state go together"),
        ("broker-1", "kil: x", "did you mean 'kill'?"),
    ],
)
def test_a_mistake_in_a_nodes_commands_is_said(tmp_path: Path, name: str, commands: str, said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        read_cluster_file(written(tmp_path, KAFKA + NODE.format(name=name, commands=commands)))

    assert said in str(refused.value)


def test_an_address_alone_is_written_as_it_is() -> None:
    assert str(Endpoint("one:9092")) == "one:9092"
    assert endpoints.parse("one:9092") == Endpoint("one:9092")


def test_references_stay_references_until_somebody_connects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("from a file\n")
    monkeypatch.setenv("PASSWORD", "from the environment")
    client = {"a": "${env:PASSWORD}", "b": {"c": f"${{file:{tmp_path}/token}}"}, "d": "plain"}
    text = str(Endpoint("one:9093", client=client))

    assert "from" not in text
    assert endpoints.parse(text).client == client
    assert endpoints.resolve(text).client == {
        "a": "from the environment",
        "b": {"c": "from a file"},
        "d": "plain",
    }


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("${env:NOT_THERE_AT_ALL}", "the environment variable NOT_THERE_AT_ALL is not set"),
        ("${file:/not/there}", "the file cannot be read: No such file or directory"),
    ],
)
def test_a_reference_to_nothing_is_an_error(reference: str, said: str) -> None:
    with pytest.raises(LoadError, match=said):
        endpoints.resolve(str(Endpoint("one", client={"a": reference})))
