from pathlib import Path
from typing import Any

import pytest

from bench.errors import ClusterError
from bench.model import Cluster, Jit, Node
from bench.systems.kafka import readiness
from bench.systems.kafka.system import Kafka
from bench.systems.servers import Servers


@pytest.fixture
def kafka(tmp_path: Path) -> Kafka:
    lib = tmp_path / "home" / "lib"
    lib.mkdir(parents=True)
    (lib / "kafka.jar").touch()
    return Kafka(Servers(home=lambda _: tmp_path / "home", archive=lambda _, role: tmp_path / f"{role}.jsa"))


def cluster(controllers: int = 1, brokers: int = 4, **changes: Any) -> Cluster:
    nodes = {"controller": controllers, "broker": brokers}
    return Cluster(**{"system": "kafka", "version": "4.4.0", "nodes": nodes, **changes})


def properties(node: Node) -> dict[str, str]:
    """Read a server.properties as Java does: the later line wins."""
    lines = (node.directory / "server.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_each_node_has_its_own_address_name_and_folder(kafka: Kafka, tmp_path: Path) -> None:
    nodes = kafka.nodes(cluster(3, 4), tmp_path / "cluster")

    assert [node.name for node in nodes] == [
        *(f"controller-{number}" for number in (1, 2, 3)),
        *(f"broker-{number}" for number in (1, 2, 3, 4)),
    ]
    assert [node.address for node in nodes][::3] == ["10.99.1.1", "10.99.1.11", "10.99.1.14"]
    assert len({node.address for node in nodes}) == len({node.directory for node in nodes}) == 7


def test_laying_out_writes_nothing(kafka: Kafka, tmp_path: Path) -> None:
    kafka.nodes(cluster(), tmp_path / "cluster")

    assert not (tmp_path / "cluster").exists()


def test_a_command_starts_the_jvm_itself_with_the_heap_asked_for(kafka: Kafka, tmp_path: Path) -> None:
    broker = kafka.nodes(cluster(heap_mib={"broker": 1024}, jit=Jit.C1), tmp_path)[-1]

    assert broker.command[0] == "java"
    assert {"-Xmx1024m", "-XX:TieredStopAtLevel=1"} <= set(broker.command)
    assert broker.command[-2:] == ("kafka.Kafka", str(tmp_path / "broker-4" / "server.properties"))
    assert broker.memory_bytes > 1024 * 2**20


@pytest.mark.parametrize(
    ("version", "name", "option"),
    [
        ("4.4.0", "log4j2.properties", "-Dlog4j2.configurationFile="),
        ("3.9.2", "log4j.properties", "-Dlog4j.configuration=file://"),
    ],
)
def test_logging_is_configured_in_the_versions_own_way(
    kafka: Kafka, tmp_path: Path, version: str, name: str, option: str
) -> None:
    node = kafka.nodes(cluster(version=version), tmp_path)[0]

    assert f"{option}{tmp_path / 'controller-1' / name}" in node.command


def test_clients_connect_to_brokers_only(kafka: Kafka, tmp_path: Path) -> None:
    nodes = kafka.nodes(cluster(1, 2), tmp_path)

    assert kafka.endpoint(nodes) == "10.99.1.11:9092,10.99.1.12:9092"


def test_brokers_stop_before_their_controllers(kafka: Kafka, tmp_path: Path) -> None:
    nodes = kafka.nodes(cluster(3, 2), tmp_path)

    assert [[node.role for node in group] for group in kafka.stop_order(nodes)] == [
        ["broker"] * 2,
        ["controller"] * 3,
    ]
    assert kafka.stop_order(nodes[-1:]) == [nodes[-1:]]


def test_configuration_fits_the_cluster(kafka: Kafka, tmp_path: Path) -> None:
    spec = cluster(3, 2)
    nodes = kafka.nodes(spec, tmp_path)

    kafka.prepare(spec, nodes)

    voters = "1001@10.99.1.1:9093,1002@10.99.1.2:9093,1003@10.99.1.3:9093"
    controller, broker = properties(nodes[0]), properties(nodes[-1])
    assert (controller["process.roles"], controller["node.id"]) == ("controller", "1001")
    assert (broker["process.roles"], broker["node.id"]) == ("broker", "2")
    assert controller["controller.quorum.voters"] == broker["controller.quorum.voters"] == voters
    assert broker["advertised.listeners"] == "BROKER://10.99.1.12:9092"
    assert broker["offsets.topic.replication.factor"] == "2"  # no more copies than brokers


def test_one_broker_gets_internal_topics_that_it_can_hold(kafka: Kafka, tmp_path: Path) -> None:
    spec = cluster(1, 1)
    nodes = kafka.nodes(spec, tmp_path)

    kafka.prepare(spec, nodes)

    broker = properties(nodes[-1])
    assert (
        broker["transaction.state.log.replication.factor"] == broker["transaction.state.log.min.isr"] == "1"
    )


def test_what_the_scenario_sets_wins_over_the_template(kafka: Kafka, tmp_path: Path) -> None:
    settings = {"broker": {"log.retention.hours": 5, "auto.create.topics.enable": True}}
    spec = cluster(settings=settings)
    nodes = kafka.nodes(spec, tmp_path)

    kafka.prepare(spec, nodes)

    assert properties(nodes[-1])["log.retention.hours"] == "5"
    assert properties(nodes[-1])["auto.create.topics.enable"] == "true"
    assert "log.retention.hours" not in properties(nodes[0])


def test_storage_is_formatted_alike_but_for_the_node(kafka: Kafka, tmp_path: Path) -> None:
    spec = cluster(1, 2)
    nodes = kafka.nodes(spec, tmp_path)

    kafka.prepare(spec, nodes)

    metas = [
        dict(line.split("=") for line in (node.directory / "data/meta.properties").read_text().splitlines())
        for node in nodes
    ]
    assert [meta["node.id"] for meta in metas] == ["1001", "1", "2"]
    assert len({meta["cluster.id"] for meta in metas}) == 1
    assert len({meta["directory.id"] for meta in metas}) == 3
    assert all(len(meta["cluster.id"]) == 22 and meta["cluster.id"][0] != "-" for meta in metas)
    snapshot = "data/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
    assert (nodes[0].directory / snapshot).stat().st_size == 411
    assert not any((node.directory / snapshot).exists() for node in nodes[1:])


def test_a_dead_node_ends_the_wait(kafka: Kafka, tmp_path: Path) -> None:
    def alive() -> None:
        raise ClusterError("broker-1 ended with status 1")

    with pytest.raises(ClusterError, match="broker-1 ended"):
        kafka.await_ready(cluster(), kafka.nodes(cluster(), tmp_path), alive)


def test_a_wait_in_vain_names_the_brokers() -> None:
    silent = Node("broker-1", "broker", "127.0.0.1", (), Path(), Path(), (1,), 0)

    with pytest.raises(ClusterError, match="no answer yet from broker-1"):
        readiness.await_ready([silent], lambda: None, deadline_s=0)


def test_hints_name_the_brokers_and_the_jars(kafka: Kafka, tmp_path: Path) -> None:
    hints = kafka.hints(kafka.nodes(cluster(1, 2), tmp_path))

    assert any("10.99.1.11:9092,10.99.1.12:9092" in hint for hint in hints)
    assert all(f"'{tmp_path / 'home' / 'lib'}/*'" in hint for hint in hints)


def test_before_4_a_cluster_may_have_zookeeper_in_the_controllers_place(kafka: Kafka, tmp_path: Path) -> None:
    spec = cluster(version="3.9.2", nodes={"zookeeper": 3, "broker": 2})
    nodes = kafka.nodes(spec, tmp_path)
    kafka.prepare(spec, nodes)

    assert [[node.role for node in group] for group in kafka.start_order(nodes)] == [
        ["zookeeper"] * 3,
        ["broker"] * 2,
    ]
    assert [group[0].role for group in kafka.stop_order(nodes)] == ["broker", "zookeeper"]
    zookeeper, broker = properties(nodes[1]), properties(nodes[3])
    assert zookeeper["server.3"] == "10.99.1.223:2888:3888"
    assert (nodes[1].directory / "data" / "myid").read_text() == "2\n"
    assert broker["zookeeper.connect"] == "10.99.1.221:2181,10.99.1.222:2181,10.99.1.223:2181"
    assert broker["broker.id"] == "1"
    assert broker["log.retention.hours"] == "-1"  # what differs from the defaults is the same
    assert "process.roles" not in broker
    assert not (nodes[3].directory / "data").exists()  # nothing to format


def test_a_single_zookeeper_stands_alone(kafka: Kafka, tmp_path: Path) -> None:
    spec = cluster(version="3.9.2", nodes={"zookeeper": 1, "broker": 1})
    nodes = kafka.nodes(spec, tmp_path)
    kafka.prepare(spec, nodes)

    assert not [name for name in properties(nodes[0]) if name.startswith("server.")]
