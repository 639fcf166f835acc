"""Where the clients of a system connect, and with which credentials.

A cluster that the suite starts itself has an address and nothing else. One that somebody else runs also has security
properties. Secrets in them are references to an environment variable or a file. Only the process that connects
resolves them, so no plan, log, report or command line holds a secret.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.errors import LoadError

_REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`address`: bootstrap servers, a service URL or a folder. `admin`: URL of the system's REST interface, if any.

    `client`: security properties that every client gets, under the system's own names; they may hold references.
    `tenant`: where topics are created, in a system that has tenants.
    """

    address: str
    admin: str = ""
    client: Mapping[str, Any] = field(default_factory=dict)
    tenant: str = ""

    def __str__(self) -> str:
        """Write it as the text that `parse` reads: the bare address where there is nothing else."""
        if not (self.admin or self.client or self.tenant):
            return self.address
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def display_address(self) -> str:
        """What messages and reports say: the addresses, without any property."""
        return ", ".join(filter(None, (self.address, self.admin)))


def parse(text: str) -> Endpoint:
    """Read what `str(Endpoint)` wrote; references stay references."""
    return Endpoint(**json.loads(text)) if text.startswith("{") else Endpoint(text)


def resolve(text: str) -> Endpoint:
    """Read an endpoint with its references replaced by their values. Raises LoadError for one that has none."""
    endpoint = parse(text)
    return Endpoint(endpoint.address, endpoint.admin, _resolve_references(endpoint.client), endpoint.tenant)


def _resolve_references(value: Any) -> Any:  # noqa: ANN401 - what YAML holds
    if isinstance(value, Mapping):
        return {name: _resolve_references(element) for name, element in value.items()}
    return _REFERENCE.sub(_reference_value, value) if isinstance(value, str) else value


def _reference_value(reference: re.Match[str]) -> str:
    kind, name = reference.groups()
    if kind == "env":
        if name not in os.environ:
            raise LoadError(f"{reference[0]}: the environment variable {name} is not set.")
        return os.environ[name]
    try:
        return Path(name).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise LoadError(f"{reference[0]}: the file cannot be read: {reason}.") from None
