"""Security properties of Pulsar's clients, for the binary protocol and for the REST interface alike.

`client` of a cluster file has the client's own names for TLS, such as tls_trust_certs_file_path. It has at most one of
`token`, `basic` {username, password} and `oauth2` {issuer_url, private_key, audience, scope}. A certificate with its
key and none of these is mutual TLS.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pulsar

from bench.errors import ClusterError, did_you_mean

TOKEN, BASIC, OAUTH2 = "token", "basic", "oauth2"
METHODS = (TOKEN, BASIC, OAUTH2)
_NEEDED = {BASIC: {"username", "password"}, OAUTH2: {"issuer_url", "private_key"}}
_CERTIFICATE, _KEY = "tls_certificate_file_path", "tls_private_key_file_path"
_TRUST = "tls_trust_certs_file_path"
_INSECURE, _CHECK_HOST = "tls_allow_insecure_connection", "tls_validate_hostname"
TLS_PROPERTIES = (_TRUST, _CERTIFICATE, _KEY, _INSECURE, _CHECK_HOST)
_EARLY_S = 30.0
"""A token is fetched again so long before it expires."""


def mistakes(client: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List (name, what is wrong with it) of the security properties of a cluster file."""
    valid_names = (*TLS_PROPERTIES, *METHODS)
    complaints = [
        (name, f"there is no such property{did_you_mean(name, valid_names)}; one of {', '.join(valid_names)}")
        for name in client
        if name not in valid_names
    ]
    methods = [method for method in METHODS if method in client]
    complaints += [(methods[1], f"give {methods[0]} or {methods[1]}, not both")] if len(methods) > 1 else []
    for file_property, partner_property in ((_CERTIFICATE, _KEY), (_KEY, _CERTIFICATE)):
        complaints += (
            [(file_property, f"give {partner_property}, too")]
            if file_property in client and partner_property not in client
            else []
        )
    for method, needed in _NEEDED.items():
        parameters = client.get(method, {})
        if method in client and not (isinstance(parameters, Mapping) and needed <= parameters.keys()):
            complaints.append((method, f"a mapping is wanted here, with {' and '.join(sorted(needed))}"))
        elif method == OAUTH2 and str(parameters.get("private_key", "")).startswith("data:"):
            complaints.append(
                (method, "private_key is a file's path: a secret does not stand in a cluster file")
            )
    return complaints


def client_arguments(client: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `pulsar.Client` takes, of security properties whose references are resolved."""
    tls_properties = {name: value for name, value in client.items() if name in TLS_PROPERTIES}
    authentication = _authentication(client)
    return tls_properties if authentication is None else {**tls_properties, "authentication": authentication}


def _authentication(client: Mapping[str, Any]) -> pulsar.Authentication | None:
    if TOKEN in client:
        return pulsar.AuthenticationToken(client[TOKEN])
    if BASIC in client:
        return pulsar.AuthenticationBasic(client[BASIC]["username"], client[BASIC]["password"])
    if OAUTH2 in client:
        return pulsar.AuthenticationOauth2(json.dumps(client[OAUTH2]))
    if _CERTIFICATE in client:
        return pulsar.AuthenticationTLS(client[_CERTIFICATE], client[_KEY])
    return None


def http_client(client: Mapping[str, Any], timeout_s: float) -> httpx.Client:
    """Return a client of the REST interface. Raises ClusterError for a file of TLS that cannot be read."""
    # trust_env: a proxy in the user's environment knows nothing of the sandbox's addresses.
    return httpx.Client(
        timeout=timeout_s,
        follow_redirects=True,
        trust_env=False,
        verify=_tls(client),
        # A hook, as a broker redirects to another one: httpx leaves its own credentials out there.
        event_hooks={"request": [_authorise(client, timeout_s)]},
    )


def _tls(client: Mapping[str, Any]) -> ssl.SSLContext:
    name = str(client.get(_TRUST, ""))
    try:
        context = ssl.create_default_context(cafile=name or None)
        if _CERTIFICATE in client:
            name = f"{client[_CERTIFICATE]} with {client[_KEY]}"
            context.load_cert_chain(client[_CERTIFICATE], client[_KEY])
    except (OSError, ssl.SSLError) as error:
        raise ClusterError(f"{name}: not usable for TLS: {error.strerror or error}.") from error
    context.check_hostname = bool(client.get(_CHECK_HOST, True)) and not client.get(_INSECURE)
    if client.get(_INSECURE):
        context.verify_mode = ssl.CERT_NONE
    return context


def _authorise(client: Mapping[str, Any], timeout_s: float) -> Callable[[httpx.Request], None]:
    """Return what adds the credentials to each request."""
    if TOKEN in client:
        return _header(f"Bearer {client[TOKEN]}")
    if BASIC in client:
        basic = httpx.BasicAuth(client[BASIC]["username"], client[BASIC]["password"])
        return lambda request: request.headers.update(next(basic.sync_auth_flow(request)).headers)
    if OAUTH2 in client:
        return _OAuth2(client[OAUTH2], timeout_s)
    return lambda _: None


def _header(value: str) -> Callable[[httpx.Request], None]:
    def add(request: httpx.Request) -> None:
        request.headers["Authorization"] = value

    return add


class _OAuth2:
    """Adds an access token, got with the client's credentials (RFC 6749, 4.4) and renewed before it expires."""

    def __init__(self, parameters: Mapping[str, str], timeout_s: float) -> None:
        self._parameters = parameters
        self._timeout_s = timeout_s
        self._token = ""
        self._until_s = 0.0

    def __call__(self, request: httpx.Request) -> None:
        if time.monotonic() >= self._until_s:
            self._fetch()
        request.headers["Authorization"] = f"Bearer {self._token}"

    def _fetch(self) -> None:
        """Ask the issuer for a token. Raises ClusterError; no message has the secret."""
        issuer = self._parameters["issuer_url"]
        try:
            request = self._request()
            configuration = httpx.get(
                f"{issuer.rstrip('/')}/.well-known/openid-configuration", timeout=self._timeout_s
            ).raise_for_status()
            answer = httpx.post(
                configuration.json()["token_endpoint"], data=request, timeout=self._timeout_s
            ).raise_for_status()
            token = answer.json()
            self._token = str(token["access_token"])
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, KeyError, TypeError) as error:
            raise ClusterError(f"Getting a token from {issuer}: {type(error).__name__}.") from error
        self._until_s = time.monotonic() + max(0.0, float(token.get("expires_in", 0)) - _EARLY_S)

    def _request(self) -> dict[str, str]:
        key = json.loads(Path(urlsplit(self._parameters["private_key"]).path).read_text(encoding="utf-8"))
        return {
            "grant_type": "client_credentials",
            "client_id": key["client_id"],
            "client_secret": key["client_secret"],
            **{name: self._parameters[name] for name in ("audience", "scope") if name in self._parameters},
        }
