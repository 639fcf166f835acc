from pathlib import Path
from typing import Any

import pytest

from bench.errors import ClusterError
from bench.model import Cluster, Jit, Node, of_role
from bench.systems.pulsar import readiness
from bench.systems.pulsar.system import Pulsar
from bench.systems.servers import Servers

SHIPPED = {
    "zookeeper.conf": "# ZooKeeper\ntickTime=2000\nadmin.enableServer=true\n",
    "bookkeeper.conf": "journalSyncData=true\n# journalDirectories=/a,/b\nhttpServerEnabled=false\nzkTimeout=30000\n",
    "broker.conf": "clusterName=\nhttpMaxRequestHeaderSize = 8192\nallowAutoTopicCreation=true\n",
}


@pytest.fixture
def pulsar(tmp_path: Path) -> Pulsar:
    home = tmp_path / "home"
    for folder in ("lib", "conf"):
        (home / folder).mkdir(parents=True)
    (home / "lib" / "pulsar.jar").touch()
    for name, content in SHIPPED.items():
        (home / "conf" / name).write_text(content)
    return Pulsar(Servers(home=lambda _: home, archive=lambda _, role: tmp_path / f"{role}.jsa"))


def cluster(zookeepers: int = 1, bookies: int = 4, brokers: int = 2, **changes: Any) -> Cluster:
    counts = {"zookeeper": zookeepers, "bookie": bookies, "broker": brokers}
    return Cluster("pulsar", "4.0.8", counts, **changes)


def configuration(node: Node) -> list[tuple[str, str]]:
    """Read a node's file, line by line: what stands twice must show."""
    lines = (node.directory / f"{node.role}.conf").read_text().splitlines()
    pairs = (line.split("=", 1) for line in lines if line and not line.startswith("#"))
    return [(name, value) for name, value in pairs]


def test_each_node_has_its_own_address_name_and_folder(pulsar: Pulsar, tmp_path: Path) -> None:
    laid_out = pulsar.nodes(cluster(3, 4, 2), tmp_path / "cluster")

    assert [node.name for node in laid_out][::4] == ["zookeeper-1", "bookie-2", "broker-2"]
    assert [node.address for node in laid_out][::4] == ["10.99.2.11", "10.99.2.22", "10.99.2.32"]
    assert len({node.address for node in laid_out}) == len({node.directory for node in laid_out}) == 9


def test_each_group_has_all_its_bookies_with_its_own_settings(pulsar: Pulsar, tmp_path: Path) -> None:
    groups = {name: {"bookie": {"journalSyncData": name == "on"}} for name in ("on", "off")}
    chosen = cluster(bookies=2, groups=groups)
    laid_out = pulsar.nodes(chosen, tmp_path / "cluster")

    pulsar.prepare(chosen, laid_out)

    bookies = of_role(laid_out, "bookie")
    assert [node.group for node in bookies] == ["on", "on", "off", "off"]
    assert len({node.address for node in bookies}) == 4
    synced = [dict(configuration(node))["journalSyncData"] for node in bookies]
    assert synced == ["true", "true", "false", "false"]
    assert {node.group for node in laid_out if node.role != "bookie"} == {""}


def test_laying_out_writes_nothing(pulsar: Pulsar, tmp_path: Path) -> None:
    pulsar.nodes(cluster(), tmp_path / "cluster")

    assert not (tmp_path / "cluster").exists()


def test_a_command_starts_the_jvm_itself_with_the_memory_asked_for(pulsar: Pulsar, tmp_path: Path) -> None:
    bookie = pulsar.nodes(cluster(heap_mib={"bookie": 900}, jit=Jit.C1), tmp_path)[1]

    assert bookie.command[0] == "java"
    assert {"-Xmx900m", "-XX:MaxDirectMemorySize=600m", "-XX:TieredStopAtLevel=1"} <= set(bookie.command)
    assert bookie.command[-3:] == (
        "org.apache.bookkeeper.server.Main",
        "--conf",
        str(tmp_path / "bookie-1" / "bookie.conf"),
    )
    assert bookie.memory_bytes > 1500 * 2**20


def test_clients_connect_to_brokers_only(pulsar: Pulsar, tmp_path: Path) -> None:
    laid_out = pulsar.nodes(cluster(), tmp_path)

    assert pulsar.endpoint(laid_out) == "pulsar://10.99.2.31:6650,10.99.2.32:6650"


def test_zookeeper_starts_before_who_needs_it(pulsar: Pulsar, tmp_path: Path) -> None:
    laid_out = pulsar.nodes(cluster(1, 2, 1), tmp_path)

    assert [[node.role for node in group] for group in pulsar.start_order(laid_out)] == [
        ["zookeeper"],
        ["bookie", "bookie", "broker"],
    ]


def test_who_depends_on_others_stops_before_them(pulsar: Pulsar, tmp_path: Path) -> None:
    laid_out = pulsar.nodes(cluster(3, 2, 1), tmp_path)

    assert [[node.role for node in group] for group in pulsar.stop_order(laid_out)] == [
        ["broker"],
        ["bookie"] * 2,
        ["zookeeper"] * 3,
    ]
    assert pulsar.stop_order(laid_out[:1]) == [laid_out[:1]]


def test_configuration_is_what_is_shipped_with_our_own_lines_over_it(pulsar: Pulsar, tmp_path: Path) -> None:
    spec = cluster()
    laid_out = pulsar.nodes(spec, tmp_path)

    pulsar.prepare(spec, laid_out)

    bookie, broker = dict(configuration(laid_out[1])), dict(configuration(laid_out[-1]))
    assert (bookie["journalSyncData"], bookie["zkTimeout"]) == ("true", "30000")  # shipped
    assert bookie["httpServerEnabled"] == "true"  # the template's
    assert bookie["advertisedAddress"] == "10.99.2.21"
    assert bookie["metadataServiceUri"] == "metadata-store:zk:10.99.2.11:2181"
    assert broker["httpMaxRequestHeaderSize"] == "8192"
    assert (broker["clusterName"], broker["allowAutoTopicCreation"]) == ("bench", "false")


def test_every_property_stands_once_and_what_the_scenario_sets_wins(pulsar: Pulsar, tmp_path: Path) -> None:
    settings = {"bookie": {"journalSyncData": False, "httpServerEnabled": False}}
    spec = cluster(settings=settings)
    laid_out = pulsar.nodes(spec, tmp_path)

    pulsar.prepare(spec, laid_out)

    lines = configuration(laid_out[1])
    assert len(lines) == len(dict(lines))
    assert dict(lines)["journalSyncData"] == dict(lines)["httpServerEnabled"] == "false"


def test_zookeeper_servers_know_each_other_and_who_they_are(pulsar: Pulsar, tmp_path: Path) -> None:
    spec = cluster(3)
    laid_out = pulsar.nodes(spec, tmp_path)

    pulsar.prepare(spec, laid_out)

    zookeepers = of_role(laid_out, "zookeeper")
    assert [(node.directory / "data/myid").read_text() for node in zookeepers] == ["1\n", "2\n", "3\n"]
    assert all(dict(configuration(node))["server.3"] == "10.99.2.13:2888:3888" for node in zookeepers)
    assert len({(node.directory / "data/version-2/snapshot.0").read_bytes() for node in zookeepers}) == 1


def test_one_zookeeper_stands_alone(pulsar: Pulsar, tmp_path: Path) -> None:
    spec = cluster(1)
    laid_out = pulsar.nodes(spec, tmp_path)

    pulsar.prepare(spec, laid_out)

    assert not any(name.startswith("server.") for name, _ in configuration(laid_out[0]))


def test_every_jvm_knows_every_name(pulsar: Pulsar, tmp_path: Path) -> None:
    spec = cluster(1, 1, 1)
    laid_out = pulsar.nodes(spec, tmp_path)

    pulsar.prepare(spec, laid_out)

    for node in laid_out:
        hosts = (node.directory / "hosts").read_text().splitlines()
        assert {"127.0.0.1 localhost", "10.99.2.21 bookie-1", "10.99.2.31 broker-1"} <= set(hosts)
        assert f"-Djdk.net.hosts.file={node.directory / 'hosts'}" in node.command


@pytest.mark.parametrize(("bookies", "quorum"), [(1, "1"), (2, None)])
def test_a_broker_asks_for_no_more_bookies_than_there_are(
    pulsar: Pulsar, tmp_path: Path, bookies: int, quorum: str | None
) -> None:
    spec = cluster(1, bookies, 1)
    laid_out = pulsar.nodes(spec, tmp_path)

    pulsar.prepare(spec, laid_out)

    assert dict(configuration(laid_out[-1])).get("managedLedgerDefaultEnsembleSize") == quorum


def test_a_dead_node_ends_the_wait(pulsar: Pulsar, tmp_path: Path) -> None:
    def alive() -> None:
        raise ClusterError("bookie-1 ended with status 1")

    with pytest.raises(ClusterError, match="bookie-1 ended"):
        pulsar.await_ready(cluster(), pulsar.nodes(cluster(), tmp_path), alive)


def test_a_wait_in_vain_names_who_is_missing() -> None:
    silent = Node("zookeeper-1", "zookeeper", "127.0.0.1", (), Path(), Path("/logs/x"), (1,), 0)

    with pytest.raises(ClusterError, match="zookeeper-1 serves no requests"):
        readiness.await_ready([silent], lambda: None, deadline_s=0)


def test_hints_name_the_brokers_and_the_jars(pulsar: Pulsar, tmp_path: Path) -> None:
    hints = pulsar.hints(pulsar.nodes(cluster(), tmp_path))

    assert any("pulsar://10.99.2.31:6650,10.99.2.32:6650" in hint for hint in hints)
    assert any(f"'{tmp_path / 'home' / 'lib'}/*'" in hint for hint in hints)
