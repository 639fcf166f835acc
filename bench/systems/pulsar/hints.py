"""Commands for somebody who plays with the cluster: Pulsar's own tools, started from the servers' jars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.model import Node, of_role
from bench.systems.pulsar.nodes import BROKER, FOLDER, endpoint, metadata_address, web

_TOPIC = "persistent://public/default/t"


def hints(nodes: Sequence[Node]) -> list[str]:
    """Return one command a line; they need the sandbox's network, in which the nodes have their addresses."""
    java, quiet, brokers = _java(nodes[0]), _quiet(_java(nodes[0])), endpoint(nodes)
    first = f"http://{web(of_role(nodes, BROKER)[0])}"
    # /dev/null stands for the tools' configuration file.
    admin = f"{quiet} org.apache.pulsar.admin.cli.PulsarAdminTool /dev/null --admin-url {first}"
    client = f"{quiet} org.apache.pulsar.client.cli.PulsarClientTool /dev/null --url {brokers}"
    load = f"org.apache.pulsar.testclient.PulsarPerfTestTool /dev/null produce -u {brokers} -s 1000 -r 1000"
    return [
        f"{admin} topics create-partitioned-topic {_TOPIC} -p 4",
        f"{admin} topics partitioned-lookup {_TOPIC}",
        f"{client} produce {_TOPIC} -m hello",
        f"{client} consume {_TOPIC} -s me -p Earliest -n 1",
        f"{java} -Xmx900m {load} -time 10 {_TOPIC}",
        f"curl -sL '{first}/admin/v2/{_TOPIC.replace('://', '/')}-partition-0/internalStats?metadata=true'",
        f"{quiet} org.apache.zookeeper.ZooKeeperMain -server {metadata_address(nodes)} ls /ledgers/available",
    ]


def _java(node: Node) -> str:
    """Return how to start a tool: with the jars that the node runs on."""
    jars = node.command[node.command.index("-cp") + 1]
    return f"java -cp '{Path(jars.partition(':')[0]).parent}/*'"


def _quiet(java: str) -> str:
    """Without a tool's log; pulsar-perf's figures are in its log."""
    return f"{java} -Dlog4j.configurationFile={FOLDER / 'log4j2.xml'} -Dbench.log.level=ERROR"
