"""A case's client properties as arguments of the Python client, which has them on three methods.

A producer's properties are those of `Client` and `Client.create_producer`, a consumer's those of `Client` and
`Client.subscribe`, under their own names; enumerations by the name of the member (LZ4, Exclusive).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any

import pulsar

from bench.model import Scalar, Settings
from bench.systems.pulsar.router import FEWEST_OPEN


class ClientKind(StrEnum):
    """Whose properties: a producer's or a consumer's."""

    PRODUCER = "producer"
    CONSUMER = "consumer"


_METHODS: Mapping[ClientKind, Callable[..., object]] = {
    ClientKind.PRODUCER: pulsar.Client.create_producer,
    ClientKind.CONSUMER: pulsar.Client.subscribe,
}
ROUTER = "message_router"
"""A property that is a function of the client: a scenario gives the name of one of the suite's (router.py)."""
_ENUMERATIONS = {
    "access_mode": pulsar.ProducerAccessMode,
    "batching_type": pulsar.BatchingType,
    "compression_type": pulsar.CompressionType,
    "consumer_type": pulsar.ConsumerType,
    "crypto_failure_action": pulsar.ConsumerCryptoFailureAction,
    "initial_position": pulsar.InitialPosition,
    "message_routing_mode": pulsar.PartitionsRoutingMode,
    "regex_subscription_mode": pulsar.RegexSubscriptionMode,
}
_UNTYPED = {
    "consumer_name": str,
    "initial_sequence_id": int,
    "listener_name": str,
    ROUTER: str,
    "producer_name": str,
    "subscription_name": str,
    "tls_certificate_file_path": str,
    "tls_private_key_file_path": str,
    "tls_trust_certs_file_path": str,
    "unacked_messages_timeout_ms": int,
}
"""Properties whose default, None, does not say what they are. What else is None by default is no scalar."""
_NO_EFFECT = {"log_conf_file_path", "use_tls"}


@cache
def _defaults(method: Callable[..., object]) -> Mapping[str, Any]:
    """Return what a scenario can set: parameters that a scalar or a member's name can be given for."""
    parameters = inspect.signature(method).parameters.items()
    return {
        name: parameter.default
        for name, parameter in parameters
        if name not in _NO_EFFECT and _is_scalar(name, parameter.default)
    }


def _is_scalar(name: str, default: object) -> bool:
    return name in _ENUMERATIONS or name in _UNTYPED or isinstance(default, (bool, int, float, str))


def _client_defaults() -> Mapping[str, Any]:
    return _defaults(pulsar.Client.__init__)


def names(kind: ClientKind) -> frozenset[str]:
    """Return the names that a scenario's producer or consumer may have settings under."""
    return frozenset({*_client_defaults(), *_defaults(_METHODS[kind])})


def of_client(settings: Settings) -> dict[str, Any]:
    """Return the arguments for `pulsar.Client`."""
    return {name: _value(name, value) for name, value in settings.items() if name in _client_defaults()}


def of_kind(kind: ClientKind, settings: Settings) -> dict[str, Any]:
    """Return the arguments for `create_producer` or `subscribe`."""
    defaults = _defaults(_METHODS[kind])
    return {name: _value(name, value) for name, value in settings.items() if name in defaults}


def in_force(kind: ClientKind, settings: Settings) -> dict[str, Scalar]:
    """Return every property of a client by name, defaults included, as far as it lets them be seen."""
    defaults = {**_client_defaults(), **_defaults(_METHODS[kind])}
    default_values = {
        name: getattr(value, "name", value) for name, value in defaults.items() if value is not None
    }
    return {**default_values, **settings}


def _value(name: str, value: Scalar) -> Any:  # noqa: ANN401 - the client's own enumerations
    return getattr(_ENUMERATIONS[name], str(value)) if name in _ENUMERATIONS else value


def why_wrong(kind: ClientKind, name: str, value: Scalar) -> str | None:
    """Say in a sentence why a property can't have a value; None when it can."""
    if name in _ENUMERATIONS:
        members = sorted(_ENUMERATIONS[name].__members__)
        return None if value in members else f"{name} is one of {', '.join(members)}, not {value}."
    if name == ROUTER:
        return None if value == FEWEST_OPEN else f"{name} is {FEWEST_OPEN!r}, not {value!r}."
    default = {**_client_defaults(), **_defaults(_METHODS[kind])}[name]
    value_type = _UNTYPED.get(name) or type(default)
    if type(value) is value_type:
        return None
    return f"{name} is of the type {value_type.__name__}, and {value!r} is not."
