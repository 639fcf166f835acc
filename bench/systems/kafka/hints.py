"""Commands for a cluster of `bench up`: Kafka's own tools, started from the servers' jars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.model import Node, of_role
from bench.systems.kafka.nodes import CONTROLLER, address, endpoint


def hints(nodes: Sequence[Node]) -> list[str]:
    """Return one command a line; they need the sandbox's network, in which the nodes have their addresses."""
    brokers, controllers = endpoint(nodes), of_role(nodes, CONTROLLER)
    java = _java(nodes[0])
    tools = f"{java} org.apache.kafka.tools"
    load = "--num-records 100000 --record-size 1000 --throughput -1 --command-property acks=all"
    return [
        f"{tools}.TopicCommand --bootstrap-server {brokers} --create --topic t --partitions 4",
        f"{tools}.TopicCommand --bootstrap-server {brokers} --describe",
        f"{tools}.ProducerPerformance --bootstrap-server {brokers} --topic t {load}",
        f"{tools}.consumer.ConsoleConsumer --bootstrap-server {brokers} --topic t --from-beginning",
        *(
            f"{tools}.MetadataQuorumCommand --bootstrap-controller {address(controller)} describe --status"
            for controller in controllers[:1]
        ),
    ]


def _java(node: Node) -> str:
    """Return how to start a tool: with the jars that the node runs on, and without its log."""
    jars = node.command[node.command.index("-cp") + 1]
    return f"java -Dlog4j2.level=ERROR -cp '{Path(jars.partition(':')[0]).parent}/*'"
