"""The `docker` backend: each node a container with an address of its own, on a Docker daemon of this machine.

The load processes run on the machine itself and reach containers by the network's bridge. Everything that is made has
the label LABEL, by which it is removed again: at the end of the run, or by the next run where one was killed.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests

from bench.backends.docker_images import image_of
from bench.backends.netns import NodeNetwork
from bench.backends.node_backend import NodeBackend
from bench.errors import ClusterError, SetupError
from bench.model import Node

if TYPE_CHECKING:
    import docker
    from docker.models.containers import Container
    from docker.models.networks import Network as BridgeNetwork

LABEL = "ackbench"
_POLL_S = 0.02
_KILLED = 128 + signal.SIGKILL
_AGENT = "-javaagent:"
_ARCHIVE = ("-XX:SharedArchiveFile=", "-Xshare:")
"""An archive of classes fits one class path, and a container has another."""


@contextmanager
def daemon() -> Iterator[docker.DockerClient]:
    """Connect to the Docker daemon, by DOCKER_HOST or its usual socket. Raises SetupError where there is none."""
    import docker  # noqa: PLC0415 - only runs in containers need it
    from docker.errors import DockerException  # noqa: PLC0415 - as above

    try:
        client = docker.from_env()
        client.ping()
    except (DockerException, requests.RequestException) as error:
        message = f"--backend docker: there is no Docker daemon to talk to: {error}"
        raise SetupError(message) from error
    try:
        yield client
    finally:
        client.close()


def remove_left(client: docker.DockerClient, *, dry_run: bool = False) -> list[str]:
    """Remove what killed runs left, by its label; return the names. With `dry_run` it stays. Raises SetupError."""
    from docker.errors import DockerException  # noqa: PLC0415 - as above

    removed: list[str] = []
    try:
        for container in client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True):
            if not dry_run:
                container.remove(force=True, v=True)
            removed.append(str(container.name))
        for network in client.networks.list(filters={"label": LABEL}):
            if not dry_run:
                network.remove()
            removed.append(str(network.name))
    except DockerException as error:
        message = f"removing containers that an earlier run left failed: {error}"
        raise SetupError(message) from error
    return removed


class ContainerProcess:
    """The first process of a container, as node_backend.NodeProcess has it."""

    def __init__(self, container: Container) -> None:
        """Use a container that was started. Raises SetupError where its process does not run on this machine."""
        self.returncode: int | None = None
        self._container = container
        container.reload()
        self._pid = int(container.attrs["State"]["Pid"])
        self._stat = Path(f"/proc/{self._pid}/stat")
        if self._stat.exists() and not Path(f"/proc/{self._pid}/root/.dockerenv").exists():
            message = "--backend docker: the Docker daemon does not run on this machine itself"
            raise SetupError(message)

    @property
    def pid(self) -> int:
        """The process id, on this machine; 0 for one that ended at once."""
        return self._pid

    def poll(self) -> int | None:
        """Return the exit status, None while it runs; one that was killed by a signal has its negative number."""
        if self.returncode is None and not (self._pid and self._stat.exists()):
            self._container.reload()
            state = self._container.attrs["State"]
            if not state["Running"]:
                status = int(state["ExitCode"])
                self.returncode = -signal.SIGKILL if status == _KILLED else status
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status once there is one. Raises subprocess.TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self._container.name), timeout or 0.0)
            time.sleep(_POLL_S)
        return status

    def send_signal(self, sig: int) -> None:
        """Send a signal, if it runs."""
        from docker.errors import APIError  # noqa: PLC0415 - as above

        with suppress(APIError):  # it has ended meanwhile
            self._container.kill(signal=signal.Signals(sig).name)

    def kill(self) -> None:
        """Send SIGKILL, if it runs."""
        self.send_signal(signal.SIGKILL)


class ContainerNetwork(NodeNetwork):
    """A Docker network with the nodes' addresses; `client` is that of its bridge."""

    def __init__(self, client: docker.DockerClient, nodes: Sequence[Node], name: str) -> None:
        """Make the network. Raises SetupError where another one has its addresses."""
        import docker  # noqa: PLC0415 - as above

        super().__init__(nodes)
        pool = docker.types.IPAMPool(subnet=f"{self.prefix}.0/24", gateway=self.client)
        try:
            self.bridge: BridgeNetwork = client.networks.create(
                name, driver="bridge", ipam=docker.types.IPAMConfig(pool_configs=[pool]), labels={LABEL: name}
            )
        except docker.errors.APIError as error:
            message = f"making the Docker network {self.prefix}.0/24 failed: {error.explanation}"
            raise SetupError(message) from error
        self._pids: dict[str, int] = {}

    def set_pid(self, node: Node, pid: int) -> None:
        """Note in which process's namespace a node is."""
        self._pids[node.name] = pid

    def enter(self, node: Node) -> list[str]:
        """See NodeNetwork."""
        return ["nsenter", f"--net=/proc/{self._pids[node.name]}/ns/net", "--"]

    def close(self) -> None:
        """Remove the network."""
        self.bridge.remove()


class DockerBackend(NodeBackend):
    """Starts and stops the nodes of one cluster in containers. Close it whatever happens."""

    def __init__(self, nodes: Sequence[Node], system: str, version: str, name: str) -> None:
        """Find the image of a system's version and make the network, which is called `name`.

        The names of containers begin with it, too.

        Raises SetupError without a daemon or an image.
        """
        self._stack = ExitStack()
        self._containers: dict[str, Container] = {}
        self._holders: list[Container] = []
        try:
            self._client = self._stack.enter_context(daemon())
            self._image = image_of(self._client, system, version)
            self._name = name
            network = ContainerNetwork(self._client, nodes, name)
            self._stack.callback(network.close)
        except BaseException:
            self._stack.close()
            raise
        self._own_network = network
        super().__init__(nodes, network)

    def _start(self, node: Node) -> None:
        from docker.errors import APIError  # noqa: PLC0415 - as above

        node.directory.mkdir(parents=True, exist_ok=True)
        try:
            container = self._containers.get(node.name) or self._create_container(node)
            container.start()
        except APIError as error:
            message = f"starting the container of {node.name} failed: {error.explanation}"
            raise ClusterError(message) from error
        self._processes[node.name] = ContainerProcess(container)

    def _create_container(self, node: Node) -> Container:
        """Create a node's container, in the network of one that outlives it: packet rules stay when a server ends."""
        command = _command(node, self._image.class_path)
        mounts = _mounts(node.directory, command)
        holder = self._network_holder(node)
        # The shell keeps its place as the container's first process, so that signals meet the server.
        logged = ["sh", "-c", f'exec "$0" "$@" >>{node.log} 2>&1']
        self._containers[node.name] = self._client.containers.create(
            self._image.reference,
            [*logged, *command],
            name=f"{self._name}-{node.name}",
            working_dir=str(node.directory),
            environment=dict(node.environment),
            volumes={path: {"bind": path, "mode": mode} for path, mode in mounts.items()},
            network_mode=f"container:{holder.id}",
            **self._common(),
        )
        return self._containers[node.name]

    def _network_holder(self, node: Node) -> Container:
        """Start a container that waits, and has a node's address."""
        networking = self._client.api.create_endpoint_config(ipv4_address=node.address)
        holder = self._client.containers.create(
            self._image.reference,
            ["sh", "-c", "read _"],
            name=f"{self._name}-{node.name}-network",
            hostname=node.name,
            stdin_open=True,
            network=self.bridge_name,
            networking_config={self.bridge_name: networking},
            **self._common(),
        )
        self._holders.append(holder)
        holder.start()
        self._own_network.set_pid(node, ContainerProcess(holder).pid)
        return holder

    def _common(self) -> dict[str, Any]:
        import docker  # noqa: PLC0415 - as above

        return {
            "entrypoint": [],
            "user": "0:0",
            "labels": {LABEL: self._name},
            "log_config": docker.types.LogConfig(type="none"),
        }

    @property
    def bridge_name(self) -> str:
        """The name of the network."""
        return str(self._own_network.bridge.name)

    def close(self) -> None:
        """Kill what still runs and remove containers and network, each of them whatever becomes of the others."""
        with self._stack as last:
            for container in [*self._holders, *self._containers.values()]:
                last.callback(container.remove, force=True, v=True)
            last.callback(self.kill)


def _command(node: Node, class_path: str) -> list[str]:
    """Return a node's command as it runs in a container, whose servers are elsewhere."""
    words = [word for word in node.command if not word.startswith(_ARCHIVE)]
    if "-cp" in words:
        words[words.index("-cp") + 1] = class_path
    return words


def _mounts(directory: Path, command: Sequence[str]) -> Mapping[str, str]:
    """Return what a container sees of this machine, at the same place, and how: its folder, files that it names."""
    mounts = {str(directory): "rw"}
    for word in command:
        path = Path(
            word.removeprefix(_AGENT).partition("=")[0]
            if word.startswith(_AGENT)
            else word.rpartition("=")[2]
        )
        if path.is_absolute() and path.is_file() and not path.is_relative_to(directory):
            mounts[str(path)] = "ro"
    return mounts
