"""What is written before the first process starts: configurations, names of hosts, ZooKeeper's snapshot."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

from bench import durable_files
from bench.model import Cluster, Node, Scalar, Settings, of_role, text
from bench.systems.pulsar import metadata, storage
from bench.systems.pulsar.nodes import (
    BOOKIE,
    BROKER,
    FOLDER,
    ZOOKEEPER,
    config_file,
    data_folder,
    hosts_file,
    journal_folder,
    metadata_address,
)
from bench.systems.servers import Servers

_SHIPPED = {ZOOKEEPER: "zookeeper.conf", BOOKIE: "bookkeeper.conf", BROKER: "broker.conf"}


def prepare(servers: Servers, cluster: Cluster, nodes: Sequence[Node]) -> None:
    """Write everything below the nodes' folders, so that it outlives a power cut."""
    home = servers.home(cluster.version)
    znodes = metadata.znodes(of_role(nodes, BROKER), of_role(nodes, BOOKIE))
    for node in nodes:
        configuration = render(home, cluster, nodes, node).encode()
        durable_files.write(config_file(node.directory, node.role), configuration)
        durable_files.write(hosts_file(node.directory), _hosts(nodes, node).encode())
    for number, node in enumerate(of_role(nodes, ZOOKEEPER), start=1):
        storage.write_snapshot(data_folder(node.directory), znodes)
        durable_files.write(data_folder(node.directory) / "myid", f"{number}\n".encode())


def _hosts(nodes: Sequence[Node], node: Node) -> str:
    """Tell a JVM all names, the machine's own among them: that is how the JVM asks for its own address.

    Without it each look-up waits 20 s for a resolver that the node's network does not have.
    """
    lines = ["127.0.0.1 localhost", f"{node.address} {socket.gethostname()}"]
    return "".join(f"{line}\n" for line in [*lines, *(f"{host.address} {host.name}" for host in nodes)])


def render(home: Path, cluster: Cluster, nodes: Sequence[Node], node: Node) -> str:
    """Return a node's configuration file: every property once, below whoever decided it.

    Once, because bookies take the first of several lines and brokers the last. The distribution's file is the
    base because what it ships differs from what the code defaults to.
    """
    node_settings = {ZOOKEEPER: _zookeeper, BOOKIE: _bookie, BROKER: _broker}[node.role]
    shipped, template = home / "conf" / _SHIPPED[node.role], FOLDER / f"{node.role}.conf"
    sections: dict[str, Settings] = {
        f"As shipped: conf/{shipped.name}": read_properties(shipped),
        f"From clusters/pulsar/{template.name}, which gives the reasons": read_properties(template),
        "This node": node_settings(nodes, node),
        "From the scenario": cluster.settings_of(node.group).get(node.role, {}),
    }
    written_names: set[str] = set()
    parts: list[str] = []
    for title, settings in reversed(sections.items()):
        lines = [f"{name}={text(value)}" for name, value in settings.items() if name not in written_names]
        parts.insert(0, "\n".join([f"# --- {title}", *lines, ""]))
        written_names |= set(settings)
    return "\n".join(parts)


def _zookeeper(nodes: Sequence[Node], node: Node) -> dict[str, Scalar]:
    members = of_role(nodes, ZOOKEEPER)
    ensemble: dict[str, Scalar] = {}
    if len(members) > 1:
        ensemble = {
            f"server.{number}": f"{member.address}:2888:3888" for number, member in enumerate(members, 1)
        }
    return {"dataDir": str(data_folder(node.directory)), "clientPortAddress": node.address, **ensemble}


def _bookie(nodes: Sequence[Node], node: Node) -> dict[str, Scalar]:
    return {
        "advertisedAddress": node.address,
        # Without /ledgers at its end: with it the bookie says "cluster not initialized" and ends.
        "metadataServiceUri": f"metadata-store:zk:{metadata_address(nodes)}",
        "journalDirectories": str(journal_folder(node.directory)),
        "ledgerDirectories": str(data_folder(node.directory) / "ledgers"),
    }


def _broker(nodes: Sequence[Node], node: Node) -> dict[str, Scalar]:
    return {
        "clusterName": metadata.CLUSTER,
        "advertisedAddress": node.address,
        "metadataStoreUrl": f"zk:{metadata_address(nodes)}",
        "configurationMetadataStoreUrl": f"zk:{metadata_address(nodes)}",
        **_quorums_that_fit(len(of_role(nodes, BOOKIE))),
    }


def _quorums_that_fit(bookies: int) -> dict[str, Scalar]:
    """Shrink the broker's default, 2-2-2 as shipped, where it could not even write its own topics."""
    if bookies >= 2:
        return {}
    return {f"managedLedgerDefault{name}": bookies for name in ("EnsembleSize", "WriteQuorum", "AckQuorum")}


def read_properties(file: Path) -> dict[str, Scalar]:
    """Read a properties file as these servers ship them: one `name=value` a line, # comments."""
    pairs = (line.partition("=") for line in file.read_text(encoding="utf-8").splitlines())
    return {
        name.strip(): value.strip()
        for name, equals, value in pairs
        if equals and not name.lstrip().startswith("#")
    }
