"""REST interfaces of brokers and bookies. Any node answers, if by a redirect; where one is down, the next is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import httpx

from bench.errors import ClusterError
from bench.model import Node
from bench.systems.pulsar.credentials import http_client
from bench.systems.pulsar.nodes import web

UNDER_REPLICATED = "api/v1/autorecovery/list_under_replicated_ledger"
"""What a bookie is asked for the ledgers on AutoRecovery's list; not found where there are none."""

_ANSWER_S = 60.0
_SHOWN = 500


class Host(NamedTuple):
    """A server with a REST interface: its name in messages, and its URL."""

    name: str
    url: str


def hosts(nodes: Sequence[Node]) -> list[Host]:
    """Return nodes of a cluster that the suite started as hosts."""
    return [Host(node.name, f"http://{web(node)}") for node in nodes]


class RefusedError(ClusterError):
    """A server answered with an HTTP status that says no; `status` has it."""

    def __init__(self, message: str, status: int) -> None:
        """Keep the status beside the message."""
        super().__init__(message)
        self.status = status


class RestClient:
    """Requests to whichever of some hosts answers. Close it after use."""

    def __init__(
        self, hosts: Sequence[Host], answer_s: float = _ANSWER_S, client: Mapping[str, Any] | None = None
    ) -> None:
        """Connect with the first request; `client` has security properties (credentials.py)."""
        self._hosts = hosts
        self._answer_s = answer_s
        self._client = client or {}

    @cached_property
    def _http(self) -> httpx.Client:
        return http_client(self._client, self._answer_s)

    def ask(
        self, doing: str, method: str, path: str, body: object = None, *, absent_is_fine: bool = False
    ) -> Any:  # noqa: ANN401 - JSON
        """Return the answer's JSON, None where it has none.

        Raises ClusterError, beginning with `doing`, when none answers, and RefusedError when a host refuses.
        """
        silent: list[str] = []
        for host in tuple(self._hosts):
            try:
                answer = self._http.request(method, f"{host.url}/{path}", json=body)
            except (httpx.RequestError, httpx.InvalidURL) as error:
                silent.append(f"{host.name} ({_cause(error)})")
                # Asked last from now on: one that is frozen takes its time each time.
                self._hosts = [*(candidate for candidate in self._hosts if candidate is not host), host]
                continue
            if answer.is_success:
                return _content(answer)
            if absent_is_fine and answer.status_code == httpx.codes.NOT_FOUND:
                return None
            raise RefusedError(
                f"{doing}: {host.name} answered {method} /{path} with {answer.status_code}: {_reason(answer)}",
                answer.status_code,
            )
        raise ClusterError(f"{doing}: none answered: {', '.join(silent)}.")

    def close(self) -> None:
        """Release connections."""
        if "_http" in vars(self):
            self._http.close()


def _cause(error: Exception) -> str:
    """Name an error, with what it says where it says something: of TLS what is wrong with a certificate."""
    return ": ".join(filter(None, (type(error).__name__, str(error))))


def _content(answer: httpx.Response) -> Any:  # noqa: ANN401 - JSON
    """Return what was answered; the version comes as bare text that calls itself JSON."""
    if not answer.content:
        return None
    try:
        return answer.json()
    except ValueError:
        return answer.text


def _reason(answer: httpx.Response) -> str:
    """Return what the server says went wrong, without the page around it."""
    try:
        reason = answer.json()["reason"]
    except (ValueError, KeyError, TypeError):
        reason = answer.text
    return str(reason).strip()[:_SHOWN]
