"""Pulsar's server processes: ZooKeeper, bookies (BookKeeper) and brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import places
from bench.model import Cluster, Node, of_role
from bench.systems.java import Jvm
from bench.systems.servers import Servers

ZOOKEEPER = "zookeeper"
BOOKIE = "bookie"
BROKER = "broker"
ROLES = (ZOOKEEPER, BOOKIE, BROKER)
MOST_NODES = {ZOOKEEPER: 10, BOOKIE: 10, BROKER: 200}
"""How many addresses each role has, up to the next role's and to the client's own (254)."""

FOLDER = places.CLUSTERS / "pulsar"
"""What an operator looks for: templates, logging, names of properties."""

_NETWORK = "10.99.2"
_METADATA_DRIVERS = {
    "bookkeeper.metadata.bookie.drivers": "org.apache.pulsar.metadata.bookkeeper.PulsarMetadataBookieDriver",
    "bookkeeper.metadata.client.drivers": "org.apache.pulsar.metadata.bookkeeper.PulsarMetadataClientDriver",
}


@dataclass(frozen=True, slots=True)
class _Role:
    """What all nodes of a role have in common.

    `ports`: for clients and other servers, and its web server's. `beside_mib`: classes, compiled code, stacks, RocksDB.
    """

    first_host: int
    ports: tuple[int, ...]
    heap_mib: int
    direct_per_heap: float
    beside_mib: int
    main: tuple[str, ...]
    properties: Mapping[str, str] = field(default_factory=dict)


_BY_ROLE = {
    ZOOKEEPER: _Role(
        first_host=11,
        ports=(2181, 8000),
        heap_mib=192,
        direct_per_heap=1 / 3,
        beside_mib=110,
        main=("org.apache.zookeeper.server.quorum.QuorumPeerMain",),
        properties={
            "zookeeper.4lw.commands.whitelist": "*",
            "zookeeper.snapshot.trust.empty": "true",
            "zookeeper.tcpKeepAlive": "true",
        },
    ),
    BOOKIE: _Role(
        first_host=21,
        ports=(3181, 8000),
        heap_mib=384,
        direct_per_heap=2 / 3,
        beside_mib=160,
        main=("org.apache.bookkeeper.server.Main", "--conf"),
        properties={**_METADATA_DRIVERS, "io.netty.leakDetection.level": "disabled"},
    ),
    BROKER: _Role(
        first_host=31,
        ports=(6650, 8080),
        heap_mib=512,
        direct_per_heap=3 / 4,
        beside_mib=220,
        main=("org.apache.pulsar.PulsarBrokerStarter", "--broker-conf"),
        properties={**_METADATA_DRIVERS, "log4j.shutdownHookEnabled": "false"},
    ),
}

# As bin/pulsar and conf/pulsar_env.sh have them, but for the collector and the sizes.
_OPENED = (
    "java.base/java.io",
    "java.base/java.util.zip",
    "java.management/sun.management",
    "jdk.management/com.sun.management.internal",
    "java.base/java.nio",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.platform",
)
_PROPERTIES = {
    "java.net.preferIPv4Stack": "true",
    "jute.maxbuffer": "10485760",
    "zookeeper.clientTcpKeepAlive": "true",
    "io.netty.tryReflectionSetAccessible": "true",
    "org.apache.pulsar.shade.io.netty.tryReflectionSetAccessible": "true",
    "pulsar.allocator.exit_on_oom": "true",
    "io.netty.recycler.maxCapacityPerThread": "4096",
    "log4j2.is.webapp": "false",
}


def lay_out(servers: Servers, cluster: Cluster, folder: Path) -> list[Node]:
    """Return the nodes by role, in the order in which they need each other; bookies once for each group."""
    nodes = []
    for role in ROLES:
        groups = (cluster.groups if role == BOOKIE else ()) or ("",)
        node_groups = [group for group in groups for _ in range(cluster.nodes.get(role, 0))]
        nodes += [
            _node(servers, cluster, folder, role, index, group) for index, group in enumerate(node_groups)
        ]
    return nodes


def _node(  # noqa: PLR0913, PLR0917 - what one node differs in
    servers: Servers, cluster: Cluster, folder: Path, role: str, index: int, group: str
) -> Node:
    kind = _BY_ROLE[role]
    name = f"{role}-{index + 1}"
    directory = folder / name
    heap_mib = cluster.heap_mib.get(role, kind.heap_mib)
    # Direct memory grows with the heap: bookies and brokers size their caches as shares of it.
    direct_mib = round(heap_mib * kind.direct_per_heap)
    jvm = Jvm(
        class_path=servers.class_path(cluster.version),
        heap_mib=heap_mib,
        temporary_folder=directory,
        jit=cluster.jit,
        archive=servers.archive(cluster.version, role),
        properties={**_PROPERTIES, **kind.properties, **_files(directory)},
        options=(f"-XX:MaxDirectMemorySize={direct_mib}m", *_module_options()),
    )
    return Node(
        name=name,
        role=role,
        address=f"{_NETWORK}.{kind.first_host + index}",
        command=jvm.command(*kind.main, str(config_file(directory, role))),
        directory=directory,
        log=directory / "server.log",
        ports=kind.ports,
        memory_bytes=(heap_mib + direct_mib + kind.beside_mib) * 2**20,
        group=group,
    )


def _files(directory: Path) -> dict[str, str]:
    return {
        "jdk.net.hosts.file": str(hosts_file(directory)),
        "log4j.configurationFile": str(FOLDER / "log4j2.xml"),
    }


def _module_options() -> list[str]:
    opened = [word for package in _OPENED for word in ("--add-opens", f"{package}=ALL-UNNAMED")]
    return [*opened, "--enable-native-access=ALL-UNNAMED"]


def config_file(directory: Path, role: str) -> Path:
    """Return where a node's configuration is, given its folder."""
    return directory / f"{role}.conf"


def hosts_file(directory: Path) -> Path:
    """Return where a node's JVM looks up the names of hosts, given its folder."""
    return directory / "hosts"


def data_folder(directory: Path) -> Path:
    """Return where a node keeps its data, given its folder: below it, so that the folder may be a mount."""
    return directory / "data"


def journal_folder(directory: Path) -> Path:
    """Return where a bookie keeps its journal, given its folder; the files are in `current` below it."""
    return data_folder(directory) / "journal"


def start_order(nodes: Sequence[Node]) -> list[list[Node]]:
    """ZooKeeper alone first: on a busy machine the others would give up before it answers (zkTimeout)."""
    return [of_role(nodes, ZOOKEEPER), [node for node in nodes if node.role != ZOOKEEPER]]


def stop_order(nodes: Sequence[Node]) -> list[list[Node]]:
    """Brokers first, ZooKeeper last: who has lost what it depends on waits for it before it stops."""
    return [group for role in reversed(ROLES) if (group := of_role(nodes, role))]


def address(node: Node) -> str:
    """Return where clients and other servers reach a node."""
    return f"{node.address}:{node.ports[0]}"


def web(node: Node) -> str:
    """Return where a node's web server is reached."""
    return f"{node.address}:{node.ports[1]}"


def endpoint(nodes: Iterable[Node]) -> str:
    """Return the brokers as the service URL that clients take."""
    return "pulsar://" + ",".join(map(address, of_role(nodes, BROKER)))


def metadata_address(nodes: Iterable[Node]) -> str:
    """Return the ZooKeeper servers as a connect string."""
    return ",".join(map(address, of_role(nodes, ZOOKEEPER)))
