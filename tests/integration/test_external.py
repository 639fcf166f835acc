"""Runs on clusters that somebody else runs: with TLS, credentials and no more rights than the docs ask for."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from bench.backends import sandbox
from bench.errors import BenchError
from bench.run import external_clusters, outside
from bench.run.folder import RunFolder
from bench.run.load_machines import AgentOptions
from tests import secured
from tests.secured import NO_RIGHTS_PASSWORD, PASSWORD, Certificates

pytestmark = pytest.mark.integration

_SOON_S = 30.0
SCENARIO = """\
name: small
title: A run of the tests
question: Does it work elsewhere?
systems:
  kafka:
    topic: {replicas: 1, min.insync.replicas: 1}
    producer: {acks: [1, all]}
  pulsar:
    topic: {quorums: [1-1-1, 2-2-2]}
topic: {partitions: 2}
load: {producers: 2, window: 10, message_bytes: 100}
consumers: 1
warm_up: {cluster: 1s}
slice: {length: 200ms, lead_in: 50ms}
duration: 1s
repeats: 1
"""
KAFKA = """\
system: kafka
bootstrap.servers: localhost:{port}
client:
{client}
most_messages_per_s: 2000
"""
SASL = """\
  security.protocol: SASL_SSL
  sasl.mechanism: SCRAM-SHA-512
  sasl.username: {user}
  sasl.password: ${{env:BENCH_TEST_PASSWORD}}
  ssl.ca.location: {ca}
"""
MUTUAL_TLS = """\
  security.protocol: SSL
  ssl.ca.location: {ca}
  ssl.certificate.location: {certificate}
  ssl.key.location: {key}
"""
OAUTH = """\
  security.protocol: SASL_SSL
  ssl.ca.location: {ca}
  sasl.mechanism: OAUTHBEARER
  sasl.oauthbearer.method: oidc
  sasl.oauthbearer.client.id: {user}
  sasl.oauthbearer.client.secret: ${{env:BENCH_TEST_PASSWORD}}
  sasl.oauthbearer.token.endpoint.url: {issuer}/token
"""
PULSAR = """\
system: pulsar
service_url: pulsar+ssl://localhost:{port}
admin_url: {admin}
tenant: team
client:
  tls_trust_certs_file_path: {ca}
{credentials}
most_messages_per_s: unlimited
"""
BY_FILE = "  token: ${{file:{token}}}"
OAUTH2 = "  oauth2: {{issuer_url: {issuer}, private_key: {key}, audience: bench-tests}}"


@pytest.fixture(scope="module")
def certificates(in_sandbox: None, tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.make(tmp_path_factory.mktemp("tls") / "certificates")


@pytest.fixture(scope="module")
def kafka(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[secured.Server]:
    with secured.kafka(tmp_path_factory.mktemp("kafka") / "node", certificates) as server:
        yield server


@pytest.fixture(scope="module")
def pulsar(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[secured.Server]:
    with secured.pulsar(tmp_path_factory.mktemp("pulsar") / "node", certificates) as server:
        yield server


@pytest.fixture(scope="module")
def tokens(pulsar: secured.Server) -> Mapping[str, Path]:
    files = {user: pulsar.folder / f"{user}.token" for user in ("bench", "nobody")}
    for user, file in files.items():
        file.write_text(f"{secured.pulsar_token(user)}\n")
    return files


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_TEST_PASSWORD", PASSWORD)


def kafka_file(folder: Path, certificates: Certificates, user: str = "bench") -> Path:
    client = SASL.format(user=user, ca=certificates["ca.pem"]).rstrip()
    return written(folder, "kafka.yaml", KAFKA.format(port=secured.KAFKA_SASL, client=client))


def tls_file(folder: Path, certificates: Certificates, name: str) -> Path:
    files = {"certificate": certificates[f"{name}.pem"], "key": certificates[f"{name}.key"]}
    client = MUTUAL_TLS.format(ca=certificates["ca.pem"], **files).rstrip()
    return written(folder, "kafka.yaml", KAFKA.format(port=secured.KAFKA_TLS, client=client))


def pulsar_file(folder: Path, certificates: Certificates, token: Path, admin_port: int) -> Path:
    return pulsar_with(BY_FILE.format(token=token), folder, certificates, admin_port)


def pulsar_with(
    credentials: str, folder: Path, certificates: Certificates, admin_port: int = secured.PULSAR_WEB_TLS
) -> Path:
    places = {"port": secured.PULSAR_TLS, "admin": f"https://localhost:{admin_port}"}
    text = PULSAR.format(**places, ca=certificates["ca.pem"], credentials=credentials)
    return written(folder, "pulsar.yaml", text)


def oauth_kafka_file(folder: Path, certificates: Certificates, user: str, issuer: str) -> Path:
    client = OAUTH.format(ca=certificates["ca.pem"], user=user, issuer=issuer).rstrip()
    return written(folder, "kafka.yaml", KAFKA.format(port=secured.KAFKA_OAUTH, client=client))


def oauth_pulsar_file(folder: Path, certificates: Certificates, issuer: str, secret: str = PASSWORD) -> Path:
    credentials = {"type": "client_credentials", "client_id": "bench", "client_secret": secret}
    key = written(folder, "credentials.json", json.dumps(credentials | {"issuer_url": issuer}))
    return pulsar_with(OAUTH2.format(issuer=issuer, key=key), folder, certificates)


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def ran(
    folder: Path,
    *clusters: Path,
    monkeypatch: pytest.MonkeyPatch,
    scenario: str = SCENARIO,
    agents: AgentOptions | None = None,
) -> RunFolder:
    """Run a scenario on these clusters, without an analysis."""
    monkeypatch.setattr(outside, "report", lambda _: None)
    monkeypatch.setattr(outside, "_without_valid_trial", lambda _: [])
    plan = outside.prepare(str(written(folder, "small.yaml", scenario)), "standard", (), 1, clusters)
    assert outside.start(plan, folder / "out", web=False, agents=agents) == 0
    (path,) = (folder / "out").iterdir()
    return RunFolder(path)


def trials(folder: RunFolder) -> list[dict[str, object]]:
    return [folder.read(f"trials/{number:04d}/trial.json") for number in sorted(folder.done())]


def everything(folder: RunFolder) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.path.rglob("*")) if file.is_file())


def kafka_topics() -> set[str]:
    client = AdminClient({"bootstrap.servers": f"localhost:{secured.KAFKA_PLAIN}"})
    return {name for name in client.list_topics(timeout=10).topics if name.startswith("bench-")}


@pytest.mark.usefixtures("kafka", "password")
@pytest.mark.parametrize("way", ["password", "certificate"])
def test_a_secured_kafka_is_measured_and_left_as_it_was(
    way: str, certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = (
        kafka_file(tmp_path, certificates)
        if way == "password"
        else tls_file(tmp_path, certificates, "client")
    )

    run = ran(tmp_path, file, monkeypatch=monkeypatch)

    found = trials(run)
    assert [trial["verdict"] for trial in found] == ["valid", "valid"], [trial["reason"] for trial in found]
    assert run.read("manifest.json")["backend"] == "external"
    assert PASSWORD.encode() not in everything(run)
    assert kafka_topics() == set()


def test_a_secured_pulsar_is_measured_and_left_as_it_was(
    tokens: Mapping[str, Path], certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = pulsar_file(tmp_path, certificates, tokens["bench"], secured.PULSAR_WEB_TLS)

    run = ran(tmp_path, file, monkeypatch=monkeypatch)

    found = trials(run)
    assert [trial["verdict"] for trial in found] == ["valid", "valid"], [trial["reason"] for trial in found]
    assert tokens["bench"].read_bytes().strip() not in everything(run)
    (cluster,) = external_clusters.connect([file]).values()
    assert external_clusters.left_topics(cluster) == []


@pytest.mark.usefixtures("password")
def test_a_kafka_that_wants_access_tokens_is_measured(
    kafka: secured.Server, certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = secured.SigningKeys(kafka.folder / "keys")
    with secured.token_server(keys.token, PASSWORD) as issuer:
        run = ran(
            tmp_path, oauth_kafka_file(tmp_path, certificates, "bench", issuer), monkeypatch=monkeypatch
        )

    found = trials(run)
    assert [trial["verdict"] for trial in found] == ["valid", "valid"], [trial["reason"] for trial in found]
    assert PASSWORD.encode() not in everything(run)
    assert kafka_topics() == set()


@pytest.mark.usefixtures("pulsar")
def test_a_pulsar_that_wants_access_tokens_is_measured(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with secured.token_server(secured.pulsar_token, PASSWORD) as issuer:
        run = ran(tmp_path, oauth_pulsar_file(tmp_path, certificates, issuer), monkeypatch=monkeypatch)

    found = trials(run)
    assert [trial["verdict"] for trial in found] == ["valid", "valid"], [trial["reason"] for trial in found]
    assert PASSWORD.encode() not in everything(run)


@pytest.mark.usefixtures("kafka")
def test_a_secret_that_gets_no_access_token_is_a_clear_error(
    kafka: secured.Server, certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_TEST_PASSWORD", "wrong")
    keys = secured.SigningKeys(kafka.folder / "keys")
    with secured.token_server(keys.token, PASSWORD) as issuer:
        refused(oauth_kafka_file(tmp_path, certificates, "bench", issuer), "Connecting to localhost:")
        refused(
            oauth_pulsar_file(tmp_path, certificates, issuer, secret="wrong"),  # noqa: S106
            f"Getting a token from {issuer}: HTTPStatusError",
        )


@pytest.mark.usefixtures("kafka")
def test_what_others_write_meanwhile_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(
        tmp_path, "kafka.yaml", KAFKA.format(port=secured.KAFKA_PLAIN, client="  client.id: tests")
    )
    over = threading.Event()

    def write() -> None:
        producer = Producer({"bootstrap.servers": f"localhost:{secured.KAFKA_PLAIN}"})
        while not over.wait(0.01):
            producer.produce("orders", b"x")
        producer.flush(10)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        run = ran(tmp_path, file, monkeypatch=monkeypatch)
    finally:
        over.set()
        writer.join()

    for trial in trials(run):
        rate = trial["other_messages_per_s"]
        assert isinstance(rate, float)
        assert 10 < rate < 110


@pytest.mark.usefixtures("kafka", "password")
def test_agents_load_a_secured_kafka(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = written(tmp_path, "token", "a token of the tests, long enough\n")
    address = "127.0.0.1:27070"
    command = [sys.executable, "-m", "bench", "agent", "--join", address, "--token-file", str(token)]
    agents = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        options = AgentOptions(2, address, token)
        run = ran(tmp_path, kafka_file(tmp_path, certificates), monkeypatch=monkeypatch, agents=options)
        said = [agent.communicate(timeout=30)[0] for agent in agents]
    finally:
        for agent in agents:
            agent.kill()

    assert [agent.returncode for agent in agents] == [0, 0]
    assert all(f"joined the run at {address}" in lines for lines in said)
    found = trials(run)
    assert [trial["verdict"] for trial in found] == ["valid", "valid"], [trial["reason"] for trial in found]
    assert run.read("manifest.json")["load"] == {"machines": 2}
    producers = {
        producer
        for file in (run.path / "trials" / "0000" / "sends").glob("*.parquet")
        for producer in pq.read_table(file, columns=["producer"])["producer"].to_pylist()
    }
    assert producers == {0, 1}
    assert PASSWORD.encode() not in everything(run)


BROKEN = """\
name: small
title: A run of the tests
question: What does a fault do elsewhere?
systems:
  kafka:
    topic: {{replicas: 1, min.insync.replicas: 1}}
    producer: {{acks: all}}
    faults:
      - {{name: broker broken, when: {{after: 2s}}, {fault}: {target}, heal: {{after: 2s}}}}
topic: {{partitions: 2}}
load: {{producers: 2, window: 10, message_bytes: 100, rate: 200}}
consumers: 1
warm_up: {{cluster: 1s}}
duration: 12s
repeats: 1
"""


@pytest.mark.usefixtures("password")
@pytest.mark.parametrize(("fault", "target"), [("kill", "leader"), ("pause", "broker-1")])
def test_a_node_is_broken_by_its_operators_commands_and_mended(  # noqa: PLR0917 - fixtures
    fault: str,
    target: str,
    kafka: secured.Server,
    certificates: Certificates,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = kafka_file(tmp_path, certificates)
    with secured.remote_control(kafka) as commands:
        node = {"address": f"127.0.0.1:{secured.KAFKA_SASL}", **commands}
        file.write_text(f"{file.read_text()}nodes: {json.dumps({'broker-1': node})}\n")

        run = ran(tmp_path, file, monkeypatch=monkeypatch, scenario=BROKEN.format(fault=fault, target=target))

    (trial,) = trials(run)
    assert trial["verdict"] == "valid", trial["reason"]
    steps = trial["faults"]
    assert isinstance(steps, list)
    (broken,) = [step for step in steps if step["kind"] == fault]
    assert broken["nodes"] == ["broker-1"]
    assert broken["proven"]
    assert broken["healed_ns"] - broken["effect_ns"] >= 2_000_000_000
    assert kafka_topics() == set()


BROKEN_PULSAR = """\
name: small
title: A run of the tests
question: What does a fault do elsewhere?
systems:
  pulsar:
    topic: {quorums: 1-1-1}
    producer: {send_timeout_millis: 60000}
    faults:
      - {name: owner killed, when: {after: 2s}, kill: owner, heal: {after: 1s}}
      - {name: frozen, when: {topic: available}, pause: owner of 1, heal: {after: 2s}}
topic: {partitions: 2}
load: {producers: 2, window: 10, message_bytes: 100, rate: 200}
consumers: 1
warm_up: {cluster: 1s}
duration: 60s
repeats: 1
"""


def test_the_owner_of_a_pulsar_topic_is_broken_and_mended(
    pulsar: secured.Server,
    tokens: Mapping[str, Path],
    certificates: Certificates,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = pulsar_file(tmp_path, certificates, tokens["bench"], secured.PULSAR_WEB_TLS)
    with secured.remote_control(pulsar) as commands:
        node = {"address": f"localhost:{secured.PULSAR_TLS}", **commands}
        file.write_text(f"{file.read_text()}nodes: {json.dumps({'broker-1': node})}\n")

        run = ran(tmp_path, file, monkeypatch=monkeypatch, scenario=BROKEN_PULSAR)

    (trial,) = trials(run)
    assert trial["verdict"] == "valid", trial["reason"]
    steps = trial["faults"]
    assert isinstance(steps, list)
    assert [(step["kind"], step["nodes"], step["proven"]) for step in steps] == [
        ("kill", ["broker-1"], True),
        ("pause", ["broker-1"], True),
    ]
    history = trial["history"]
    assert isinstance(history, list)
    assert {partition["owner"] for partition in history[0]["partitions"]} == {"broker-1"}
    assert history[0]["partitions"][0]["ledgers"]


@pytest.mark.usefixtures("kafka", "password")
def test_topics_that_a_killed_run_left_are_listed_and_deleted(
    certificates: Certificates, tmp_path: Path
) -> None:
    (cluster,) = external_clusters.connect([kafka_file(tmp_path, certificates)]).values()
    admin = AdminClient({"bootstrap.servers": f"localhost:{secured.KAFKA_PLAIN}"})
    names = ["bench-20261128-101112-small-standard-trial-0003", "bench-of-somebody-else"]
    from confluent_kafka.cimpl import NewTopic  # noqa: PLC0415

    for made in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
        made.result()

    left = external_clusters.left_topics(cluster)
    external_clusters.delete(cluster, left)

    assert left == names[:1]
    assert kafka_topics() == {"bench-of-somebody-else"}
    external_clusters.delete(cluster, names[1:])


@pytest.mark.usefixtures("kafka")
@pytest.mark.parametrize(
    ("user", "password", "said"),
    [
        ("bench", "wrong", "Authentication failed"),
        ("nobody", NO_RIGHTS_PASSWORD, "topics bench-… cannot be created there: TOPIC_AUTHORIZATION_FAILED"),
    ],
)
def test_a_kafka_that_does_not_let_in_is_a_clear_error(  # noqa: PLR0917 - fixtures
    user: str,
    password: str,
    said: str,
    certificates: Certificates,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BENCH_TEST_PASSWORD", password)

    refused(kafka_file(tmp_path, certificates, user), said)


@pytest.mark.usefixtures("kafka")
def test_an_expired_certificate_is_a_clear_error(certificates: Certificates, tmp_path: Path) -> None:
    refused(tls_file(tmp_path, certificates, "expired"), "certificate")


def test_an_unreachable_kafka_is_a_clear_error(certificates: Certificates, tmp_path: Path) -> None:
    client = f"  ssl.ca.location: {certificates['ca.pem']}"
    file = written(tmp_path, "kafka.yaml", KAFKA.format(port=1, client=client))

    refused(file, "Connecting to localhost:1: ")


@pytest.mark.parametrize(
    ("user", "port", "said"),
    [
        ("nobody", secured.PULSAR_WEB_TLS, "topics bench-… cannot be created there: Listing the namespaces"),
        ("bench", 1, "Connecting: none answered: https://localhost:1 (ConnectError)"),
    ],
)
def test_a_pulsar_that_does_not_let_in_is_a_clear_error(  # noqa: PLR0917 - fixtures
    user: str, port: int, said: str, tokens: Mapping[str, Path], certificates: Certificates, tmp_path: Path
) -> None:
    refused(pulsar_file(tmp_path, certificates, tokens[user], port), said)


def refused(file: Path, said: str) -> None:
    begun = time.monotonic()
    with pytest.raises(BenchError) as refusal:
        external_clusters.connect([file])
    assert time.monotonic() - begun < _SOON_S
    assert said in str(refusal.value)
    assert str(file) in str(refusal.value)


def test_a_run_shares_the_network_of_the_machine(in_sandbox: None) -> None:
    command = sandbox.command(["readlink", "/proc/self/ns/net"], sandbox.SharedNamespaces.NETWORK)

    assert str(Path("/proc/self/ns/net").readlink()) in os.popen(" ".join(command)).read()  # noqa: S605
