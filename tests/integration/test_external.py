"""Runs on clusters that somebody else runs: with TLS, credentials and no more rights than the docs ask for."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from typer.testing import CliRunner

from bench.backends import sandbox
from bench.cli import app
from bench.errors import BenchError, ClusterError
from bench.places import CHECKOUT
from bench.run import external_clusters, outside
from bench.run import folder as run_folder
from bench.run.folder import RunFolder
from bench.run.load_machines import AgentOptions
from tests import nightly, process_list, secured
from tests.secured import NO_RIGHTS_PASSWORD, PASSWORD, Certificates
from tests.whole_runs import bench, mentioning, only, until, without_analysis

pytestmark = pytest.mark.integration

_SOON_S = 30.0
_STARTS_S, _STOPS_S = 120.0, 60.0
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
ONE_CASE_EACH = (
    SCENARIO.replace("[1, all]", "all")
    .replace("[1-1-1, 2-2-2]", "1-1-1")
    .replace("message_bytes: 100", "message_bytes: 100, rate: 200")
)
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
BY_CERTIFICATE = "  tls_certificate_file_path: {certificate}\n  tls_private_key_file_path: {key}"
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


def pulsar_tls_file(folder: Path, certificates: Certificates, name: str) -> Path:
    files = {"certificate": certificates[f"{name}.pem"], "key": certificates[f"{name}.key"]}
    return pulsar_with(BY_CERTIFICATE.format(**files), folder, certificates)


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
    without_analysis(monkeypatch)
    plan = outside.prepare(str(written(folder, "small.yaml", scenario)), "standard", (), 1, clusters)
    assert outside.start(plan, folder / "out", web=False, agents=agents) == 0
    (path,) = (folder / "out").iterdir()
    return RunFolder(path)


def trials(folder: RunFolder) -> list[dict[str, object]]:
    return [folder.read(f"trials/{number:04d}/trial.json") for number in sorted(folder.done_trials())]


def everything(folder: RunFolder) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.path.rglob("*")) if file.is_file())


def kafka_topics() -> set[str]:
    client = AdminClient({"bootstrap.servers": f"localhost:{secured.KAFKA_PLAIN}"})
    return {name for name in client.list_topics(timeout=10).topics if name.startswith("bench-")}


def assert_measured(run: RunFolder, cases: int) -> None:
    """Every case has a valid trial."""
    records = trials(run)
    assert [trial["verdict"] for trial in records] == ["valid"] * cases, [
        trial["reason"] for trial in records
    ]


def pulsar_topics(file: Path) -> list[str]:
    (cluster,) = external_clusters.connect([file]).values()
    return external_clusters.left_topics(cluster)


@pytest.mark.usefixtures("kafka", "password")
def test_clusters_with_a_password_and_a_token_are_measured_left_as_they_were_and_no_secret_is_shown(
    tokens: Mapping[str, Path], certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = pulsar_file(tmp_path, certificates, tokens["bench"], secured.PULSAR_WEB_TLS)

    with process_list.watched() as processes:
        run = ran(tmp_path, kafka_file(tmp_path, certificates), file, monkeypatch=monkeypatch)

    assert_measured(run, cases=4)
    manifest = run.read("manifest.json")
    assert (manifest["backend"], manifest["fsync_ns"]) == ("external", {})
    assert kafka_topics() == set()
    assert pulsar_topics(file) == []
    assert all(map(processes.ran, ("bench.run.inside", "bench.load.worker", "bench.load.consumer_worker")))
    token, shown = tokens["bench"].read_bytes().strip(), everything(run) + processes.command_lines
    assert PASSWORD.encode() not in shown
    assert token not in shown + processes.environments


@pytest.mark.usefixtures("kafka", "pulsar")
def test_clusters_that_want_certificates_are_measured_and_left_as_they_were(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = pulsar_tls_file(tmp_path, certificates, "client")

    kafka_cluster = tls_file(tmp_path, certificates, "client")
    run = ran(tmp_path, kafka_cluster, file, monkeypatch=monkeypatch, scenario=ONE_CASE_EACH)

    assert_measured(run, cases=2)
    assert kafka_topics() == set()
    assert pulsar_topics(file) == []


@pytest.mark.usefixtures("pulsar", "password")
def test_clusters_that_want_access_tokens_are_measured_and_left_as_they_were(
    kafka: secured.Server, certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = secured.SigningKeys(kafka.folder / "keys")
    with (
        secured.token_server(keys.token, PASSWORD) as kafka_issuer,
        secured.token_server(secured.pulsar_token, PASSWORD) as pulsar_issuer,
    ):
        file = oauth_pulsar_file(tmp_path, certificates, pulsar_issuer)
        kafka_cluster = oauth_kafka_file(tmp_path, certificates, "bench", kafka_issuer)
        run = ran(tmp_path, kafka_cluster, file, monkeypatch=monkeypatch, scenario=ONE_CASE_EACH)
        assert pulsar_topics(file) == []

    assert_measured(run, cases=2)
    assert PASSWORD.encode() not in everything(run)
    assert kafka_topics() == set()


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
    topic: {replicas: 1, min.insync.replicas: 1}
    producer: {acks: all}
    faults:
      - {name: frozen, when: {after: 1s}, pause: broker-1, heal: {after: 2s}}
      - {name: leader killed, when: {after: 4s}, kill: leader, heal: {after: 2s}}
topic: {partitions: 2}
load: {producers: 2, window: 10, message_bytes: 100, rate: 200}
consumers: 1
warm_up: {cluster: 1s}
duration: 12s
repeats: 1
"""


@pytest.mark.usefixtures("password")
def test_a_node_is_broken_by_its_operators_commands_and_mended(
    kafka: secured.Server, certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = kafka_file(tmp_path, certificates)
    with secured.remote_control(kafka) as commands:
        node = {"address": f"127.0.0.1:{secured.KAFKA_SASL}", **commands}
        file.write_text(f"{file.read_text()}nodes: {json.dumps({'broker-1': node})}\n")

        run = ran(tmp_path, file, monkeypatch=monkeypatch, scenario=BROKEN)

    (trial,) = trials(run)
    assert trial["verdict"] == "valid", trial["reason"]
    steps = trial["faults"]
    assert isinstance(steps, list)
    assert [(step["kind"], step["nodes"], step["proven"]) for step in steps] == [
        ("pause", ["broker-1"], True),
        ("kill", ["broker-1"], True),
    ]
    assert all(step["healed_ns"] - step["effect_ns"] >= 2_000_000_000 for step in steps)
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
      - {name: frozen, when: {after: 1s}, pause: owner of 1, heal: {after: 2s}}
      - {name: owner killed, when: {after: 4s}, kill: owner, heal: {after: 1s}}
topic: {partitions: 2}
load: {producers: 2, window: 10, message_bytes: 100, rate: 200}
consumers: 1
warm_up: {cluster: 1s}
duration: 40s
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
        ("pause", ["broker-1"], True),
        ("kill", ["broker-1"], True),
    ]
    history = trial["history"]
    assert isinstance(history, list)
    assert {partition["owner"] for partition in history[0]["partitions"]} == {"broker-1"}
    assert history[0]["partitions"][0]["ledgers"]


ONE_BY_ONE = """\
name: small
title: A run of the tests
question: What does a run leave that ends in between?
systems:
  kafka:
    topic: {replicas: 1, min.insync.replicas: 1}
    producer: {acks: [0, 1, all]}
topic: {partitions: 2}
load: {producers: 2, message_bytes: 100, rate: 300}
messages: 400
consumers: 1
warm_up: {cluster: 0s}
repeats: 1
"""
"""A number of messages is no load in slices: its trials follow one another."""


@pytest.mark.usefixtures("kafka", "password")
def test_a_run_that_is_stopped_and_then_killed_keeps_its_trials_leaves_what_clean_deletes_and_goes_on(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strangers = {"bench-of-somebody-else"}
    made_topic(*strangers)
    file = kafka_file(tmp_path, certificates)
    scenario = written(tmp_path, "small.yaml", ONE_BY_ONE)

    process = bench("run", scenario, "--cluster", file, "--yes", "--out", tmp_path / "out")
    until(lambda: any("trial-0001" in name for name in kafka_topics()), _STARTS_S)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=_STOPS_S)

    run = RunFolder(only(tmp_path / "out"))
    assert process.returncode == 130, said
    assert kafka_topics() == strangers
    assert 0 in run.done_trials()

    process = bench("run", "--resume", run.path)
    until(lambda: any("trial-0002" in name for name in kafka_topics()), _STARTS_S)
    process.kill()
    process.wait(_STOPS_S)
    until(lambda: not mentioning(run.path))

    (left,) = kafka_topics() - strangers
    assert left == f"bench-{run.path.name}-trial-0002"
    assert run.done_trials() == {0, 1}
    finished = {
        number: (run.trials / f"{number:04d}" / "trial.json").read_bytes() for number in run.done_trials()
    }

    listed = finished_here("clean", "--cluster", file, "--dry-run")
    assert left in listed
    assert not strangers & set(listed)
    assert kafka_topics() == strangers | {left}
    assert left in finished_here("clean", "--cluster", file, "--yes")
    assert kafka_topics() == strangers

    without_analysis(monkeypatch)
    assert outside.resume(run, web=False) == 0

    assert [trial["verdict"] for trial in trials(run)] == ["valid"] * 3
    for number, content in finished.items():
        assert (run.trials / f"{number:04d}" / "trial.json").read_bytes() == content
    assert PASSWORD.encode() not in everything(run)
    assert kafka_topics() == strangers
    (cluster,) = external_clusters.connect([file]).values()
    external_clusters.delete(cluster, strangers)


def made_topic(*names: str) -> None:
    admin = AdminClient({"bootstrap.servers": f"localhost:{secured.KAFKA_PLAIN}"})
    for made in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
        made.result()


def finished_here(*arguments: object) -> list[str]:
    """Call `bench` in this process; return the lines that it prints."""
    call = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert call.exit_code == 0, call.output
    return call.output.splitlines()


class StandingClock(datetime):
    """A clock by which a run's name is known beforehand."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "StandingClock":
        return cls(2026, 11, 28, 10, 11, 12, tzinfo=tz)


@pytest.mark.usefixtures("kafka", "password")
def test_a_topic_that_exists_is_a_clear_error_and_not_touched(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_folder, "datetime", StandingClock)
    name = "bench-20261128-101112-small-standard-trial-0001"
    made_topic(name)
    places_of_brokers = {"bootstrap.servers": f"localhost:{secured.KAFKA_PLAIN}"}
    producer, consumer = Producer(places_of_brokers), Consumer({**places_of_brokers, "group.id": "tests"})
    producer.produce(name, b"an order")
    producer.flush(10)
    file = kafka_file(tmp_path, certificates)

    with pytest.raises(ClusterError, match=f"{file}: topic {name} exists already"):
        ran(tmp_path, file, monkeypatch=monkeypatch)

    assert consumer.get_watermark_offsets(TopicPartition(name, 0), timeout=10) == (0, 1)
    consumer.close()
    assert kafka_topics() == {name}
    assert list((tmp_path / "out").iterdir()) == []
    (cluster,) = external_clusters.connect([file]).values()
    external_clusters.delete(cluster, [name])


QUICK = "--budget 1s --set warm_up.cluster=0s --set duration=200ms --set slice.length=200ms"
WITHOUT_REPORT = (
    "from bench import cli; from bench.run import outside; from tests.whole_runs import analysed_with_others; "
    "outside.report = analysed_with_others; cli.main()"
)
"""The command, but for drawing the report of a run, which takes as long again."""
SHORT_NIGHT = {"--budget 30m --set repeats=5": QUICK, "--accept bench": "--accept bench --accept machine"}
"""One round takes the place of half an hour, and the machine of the tests is not evenly fast."""


@pytest.mark.usefixtures("kafka", "password")
def test_the_nightly_job_of_the_docs_compares_a_run_with_the_last_good_one(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = nightly.checkout(
        tmp_path, f"exec {sys.executable} -c '{WITHOUT_REPORT}' \"$@\" --out reports/out"
    )
    cluster, out = checkout / "staging.yaml", checkout / "reports" / "out"
    kafka_file(tmp_path, certificates).rename(cluster)
    with monkeypatch.context() as patched:
        without_analysis(patched)
        finished_here("run", "acks-sweep", "--cluster", cluster, "--yes", *QUICK.split(), "--out", out)
    old_run = only(out)
    (out / "last-good").symlink_to(old_run.name)
    script = nightly.script()
    for documented, short in SHORT_NIGHT.items():
        assert documented in script
        script = script.replace(documented, short)

    job = nightly.job(script, tmp_path, {**os.environ, "PYTHONPATH": str(CHECKOUT)})

    assert job.returncode == 3, job.stdout  # one trial of each case decides nothing
    (new_run,) = set(out.glob("[0-9]*")) - {old_run}
    assert (out / "last-good").resolve() == old_run
    suite = ET.parse(checkout / "compare.xml").getroot()  # noqa: S314 - we wrote it ourselves
    cases = [f"kafka replicas=1 min.insync.replicas=1 acks={acks}" for acks in (0, 1, "all")]
    assert sorted(case.attrib["name"] for case in suite) == cases
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "3")
    summary = (checkout / "compare.md").read_text(encoding="utf-8")
    assert summary.startswith(f"## {new_run.name} against {old_run.name}")
    assert all(f"| {case} |" in summary for case in cases)
    assert kafka_topics() == set()


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
        ("bench", 1, "Connecting: none answered: https://localhost:1 (ConnectError: "),
    ],
)
def test_a_pulsar_that_does_not_let_in_is_a_clear_error(  # noqa: PLR0917 - fixtures
    user: str, port: int, said: str, tokens: Mapping[str, Path], certificates: Certificates, tmp_path: Path
) -> None:
    refused(pulsar_file(tmp_path, certificates, tokens[user], port), said)


@pytest.mark.usefixtures("pulsar")
@pytest.mark.parametrize(("name", "said"), [("", "with 401: "), ("expired", "certificate")])
def test_a_pulsar_client_without_a_valid_certificate_gets_a_clear_error(
    name: str, said: str, certificates: Certificates, tmp_path: Path
) -> None:
    file = pulsar_tls_file(tmp_path, certificates, name) if name else pulsar_with("", tmp_path, certificates)

    refused(file, said)


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
