"""What is written before the first process starts: a configuration for each server."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

from bench import durable_files
from bench.model import Cluster, Node, Settings, text
from bench.systems.nats.nodes import FOLDER, SERVER, configuration_file, data_folder, route
from bench.systems.nats.settings import DURATIONS, JETSTREAM, server_properties


def prepare(cluster: Cluster, nodes: Sequence[Node]) -> None:
    """Write each server's configuration; it makes its store by itself."""
    for node in nodes:
        data_folder(node.directory).mkdir(parents=True, exist_ok=True)
        durable_files.write(configuration_file(node.directory), render(cluster, nodes, node).encode())


def render(cluster: Cluster, nodes: Sequence[Node], node: Node) -> str:
    """Return a server's configuration; one that is alone has no cluster block, and no Raft."""
    settings = cluster.settings.get(SERVER, {})
    routes = "\n".join(f'    "{route(peer)}"' for peer in nodes if peer.name != node.name)
    return _fill_template(
        "server.conf",
        name=node.name,
        address=node.address,
        data=str(data_folder(node.directory)),
        settings=_lines({name: value for name, value in settings.items() if name not in JETSTREAM}),
        jetstream=_lines({name: value for name, value in settings.items() if name in JETSTREAM}, "  "),
        cluster=_fill_template("cluster.conf", address=node.address, routes=routes) if len(nodes) > 1 else "",
    )


def _fill_template(file: str, **values: str) -> str:
    return Template((FOLDER / file).read_text(encoding="utf-8")).substitute(values)


def _lines(settings: Settings, indent: str = "") -> str:
    return "\n".join(f"{indent}{name}: {_value(name, text(value))}" for name, value in settings.items())


def _value(name: str, value: str) -> str:
    """Return a setting's value; a duration stands in quotes, without which 2m is two million (seconds)."""
    return f'"{value}"' if server_properties().get(name) in DURATIONS else value
