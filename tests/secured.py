"""Clusters that somebody else runs, with TLS, credentials and rights: one server each, apart from the suite."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import httpx
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from bench.backends import artifacts
from bench.errors import BenchError
from bench.model import Jit
from bench.run import wiring
from bench.systems.java import Jvm

PASSWORD, NO_RIGHTS_PASSWORD = "correct horse", "battery staple"
ISSUER, AUDIENCE = "tests", "bench-tests"
_TOKEN_LASTS_S = 300
_PULSAR_KEY = hashlib.sha256(b"a key of the tests").digest()
_STARTS_S = 90.0
_ASK = (
    "import http.client as h, sys, urllib.parse as u; url = u.urlsplit(sys.argv[1]); "
    'c = h.HTTPConnection(url.netloc); c.request("GET", url.path); a = c.getresponse(); '
    "print(a.read().decode()); sys.exit(a.status != 200)"
)
KAFKA_PLAIN, KAFKA_SASL, KAFKA_TLS, KAFKA_OAUTH = 29092, 29093, 29094, 29096
_KAFKA_CONTROLLER, _PULSAR_METADATA, _PULSAR_BOOKIES = 29095, 22181, (23181, 23182)
PULSAR, PULSAR_TLS, PULSAR_WEB, PULSAR_WEB_TLS = 26650, 26651, 28080, 28443


@dataclass(frozen=True)
class Certificates:
    """PEM files: an authority, a server's certificate for localhost, a client's, and one that has expired."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Certificates:
        folder.mkdir(parents=True)
        made = cls(folder)
        _openssl(
            "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=tests", folder
        )
        made._signed("server", "/CN=localhost", 2)
        made._signed("client", "/CN=bench", 2)
        made._signed("expired", "/CN=bench", 0)
        return made

    def _signed(self, name: str, subject: str, days: int) -> None:
        (self.folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        _openssl(
            f"req -newkey rsa:2048 -nodes -keyout {name}.pkcs1 -out {name}.csr -subj {subject}", self.folder
        )
        _openssl(f"pkcs8 -topk8 -nocrypt -in {name}.pkcs1 -out {name}.key", self.folder)
        _openssl(
            f"x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days {days} -extfile names "
            f"-out {name}.pem",
            self.folder,
        )
        both = (self.folder / f"{name}.key").read_text() + (self.folder / f"{name}.pem").read_text()
        (self.folder / f"{name}-both.pem").write_text(both)

    def __getitem__(self, name: str) -> str:
        return str(self.folder / name)


def _openssl(arguments: str, folder: Path) -> None:
    subprocess.run(["openssl", *arguments.split()], cwd=folder, check=True, capture_output=True)


@dataclass(frozen=True)
class SigningKeys:
    """A private key that signs tokens, and the set of public keys by which a server checks them (RFC 7517)."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> SigningKeys:
        folder.mkdir(parents=True)
        made = cls(folder)
        _openssl("genrsa -out signing.key 2048", folder)
        modulus = subprocess.run(
            ["openssl", "rsa", "-in", made.private, "-noout", "-modulus"],
            check=True,
            capture_output=True,
            text=True,
        )
        number = bytes.fromhex(modulus.stdout.strip().removeprefix("Modulus="))
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", "e": "AQAB", "n": _encoded(number)}
        made.public.write_text(json.dumps({"keys": [key]}))
        return made

    @property
    def private(self) -> Path:
        return self.folder / "signing.key"

    @property
    def public(self) -> Path:
        return self.folder / "keys.json"

    def token(self, subject: str) -> str:
        """Make a JSON web token (RFC 7519, RS256) for Kafka's listener."""

        def sign(content: bytes) -> bytes:
            return subprocess.run(
                ["openssl", "dgst", "-sha256", "-sign", self.private],
                input=content,
                check=True,
                capture_output=True,
            ).stdout

        now_s = int(time.time())
        times = {"iat": now_s, "exp": now_s + _TOKEN_LASTS_S}
        return _signed_token(
            {"alg": "RS256", "kid": "1"}, {"sub": subject, "iss": ISSUER, "aud": AUDIENCE, **times}, sign
        )


@contextmanager
def token_server(token: Callable[[str], str], secret: str) -> Iterator[str]:
    """Give a token to whom knows the secret, by the client's name (RFC 6749, 4.4); yields the issuer's address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({"issuer": ISSUER, "token_endpoint": f"{address}/token"})

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            scheme, _, basic = self.headers.get("Authorization", "").partition(" ")
            given = base64.b64decode(basic).decode().split(":", 1) if scheme == "Basic" else []
            name, password = given or (form.get("client_id", [""])[0], form.get("client_secret", [""])[0])
            if unquote(password) != secret:
                self._answer({"error": "invalid_client"}, 401)
                return
            self._answer({"access_token": token(name), "token_type": "Bearer", "expires_in": _TOKEN_LASTS_S})

        def _answer(self, content: object, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        address = f"http://127.0.0.1:{http.server_port}"
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield address
        http.shutdown()


class Server:
    """A server's process, which may be ended and started again.

    A Pulsar broker ends while it starts if the killed broker's session expires meanwhile. So one that was killed gets
    a second start, as a supervisor would give it.
    """

    def __init__(self, command: tuple[str, ...], folder: Path, is_ready: Callable[[], bool]) -> None:
        self.folder = folder
        self._command, self._is_ready = command, is_ready
        self._restarts_left = 0
        self._log = folder / "server.log"
        folder.mkdir(parents=True, exist_ok=True)
        self.start()

    def start(self) -> None:
        self._process = self._launch()
        deadline = time.monotonic() + _STARTS_S
        while not self._is_ready():
            assert time.monotonic() < deadline, self._log.read_text()[-4000:]
            time.sleep(0.1)
            if self._process.poll() is not None:
                assert self._restarts_left, self._log.read_text()[-4000:]
                self._restarts_left -= 1
                self._process = self._launch()

    def _launch(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as output:
            return subprocess.Popen(
                self._command, cwd=self.folder, stdout=output, stderr=output, process_group=0
            )

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def state(self) -> str:
        return process_state(self._process.pid)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._restarts_left = 1


@contextmanager
def _running(command: tuple[str, ...], folder: Path, is_ready: Callable[[], bool]) -> Iterator[Server]:
    server = Server(command, folder, is_ready)
    try:
        yield server
    finally:
        server.kill()


def process_state(pid: int) -> str:
    """The state of a process as ps shows it."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]


@contextmanager
def remote_control(server: Server) -> Iterator[Mapping[str, str]]:
    """Shell commands that break and mend a server; by their names."""
    actions: dict[str, Callable[[], object]] = {
        "kill": server.kill,
        "start": server.start,
        "pause": lambda: server.signal(signal.SIGSTOP),
        "resume": lambda: server.signal(signal.SIGCONT),
        "state": server.state,
    }
    with shell_commands(actions) as commands:
        yield commands


@contextmanager
def shell_commands(actions: Mapping[str, Callable[[], object]]) -> Iterator[Mapping[str, str]]:
    """Shell commands that have this process act, from any PID namespace, as ssh would; by the actions' names.

    They print what an action returns, and fail with the text of the suite's error that it raises.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                status, answer = 200, str(actions[self.path.strip("/")]() or "")
            except BenchError as error:
                status, answer = 500, str(error)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        ask = f"{sys.executable} -c '{_ASK}'"
        yield {name: f"{ask} http://127.0.0.1:{http.server_port}/{name}" for name in actions}
        http.shutdown()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@contextmanager
def kafka(folder: Path, certificates: Certificates) -> Iterator[Server]:
    """One Kafka node: SASL_SSL with SCRAM and with OAuth 2.0, mutual TLS, and an authorizer; `nobody` has no right."""
    folder.mkdir(parents=True)
    keys = SigningKeys.make(folder / "keys")
    version = artifacts.default_version("kafka")
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{_KAFKA_CONTROLLER}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAIN://127.0.0.1:{KAFKA_PLAIN},SASL://127.0.0.1:{KAFKA_SASL},"
        f"TLS://127.0.0.1:{KAFKA_TLS},OAUTH://127.0.0.1:{KAFKA_OAUTH},CONTROLLER://127.0.0.1:{_KAFKA_CONTROLLER}",
        "inter.broker.listener.name": "PLAIN",
        "listener.security.protocol.map": "PLAIN:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_SSL,TLS:SSL,OAUTH:SASL_SSL",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.oauth.oauthbearer.sasl.jaas.config": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
        ),
        "listener.name.oauth.oauthbearer.sasl.server.callback.handler.class": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
        ),
        "sasl.oauthbearer.jwks.endpoint.url": keys.public.as_uri(),
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": certificates["server-both.pem"],
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": certificates["ca.pem"],
        "listener.name.tls.ssl.client.auth": "required",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "log.dirs": str(folder / "data"),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "true",
        "log.segment.delete.delay.ms": "1000",
    }
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    class_path = wiring.servers("kafka").class_path(version)
    format_command = Jvm(class_path, 128, folder).command(
        "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(file)
    )
    subprocess.run(format_command, check=True, capture_output=True, cwd=folder)
    jvm = Jvm(
        class_path,
        256,
        folder,
        Jit.C1,
        archive=wiring.servers("kafka").archive(version, "broker"),
        properties={"org.apache.kafka.sasl.oauthbearer.allowed.urls": keys.public.as_uri()},
    )
    with _running(jvm.command("kafka.Kafka", str(file)), folder, partial(_listens, KAFKA_SASL)) as server:
        _grant()
        yield server


def _grant() -> None:
    """Give `bench` what docs/how-to/external-clusters.md asks for, and `nobody` a password and no right."""
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{KAFKA_PLAIN}"})
    upserts: list[Any] = [
        UserScramCredentialUpsertion(
            user, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), password.encode()
        )
        for user, password in (("bench", PASSWORD), ("nobody", NO_RIGHTS_PASSWORD))
    ]
    for done in admin.alter_user_scram_credentials(upserts).values():
        done.result()
    topic, group = (ResourceType.TOPIC, "bench-"), (ResourceType.GROUP, "bench")
    rights = [
        *(
            (topic, operation)
            for operation in ("CREATE", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE")
        ),
        (group, "READ"),
    ]
    bindings = [
        AclBinding(
            kind,
            name,
            ResourcePatternType.PREFIXED,
            user,
            "*",
            AclOperation[operation],
            AclPermissionType.ALLOW,
        )
        for (kind, name), operation in rights
        for user in ("User:bench", "User:CN=bench")
    ]
    for made in admin.create_acls(bindings).values():
        made.result()


@contextmanager
def pulsar(folder: Path, certificates: Certificates) -> Iterator[Server]:
    """Pulsar: mutual TLS or JSON web tokens (`pulsar_token`), authorization; `nobody` has no right.

    The broker, which this gives, has a process of its own; its ZooKeeper and two bookies share one.
    """
    folder.mkdir(parents=True)
    version = artifacts.default_version("pulsar")
    home = artifacts.server_home("pulsar", version)
    secret = folder / "secret.key"
    secret.write_bytes(_PULSAR_KEY)
    root_token = pulsar_token("root")
    configuration = folder / "standalone.conf"
    shutil.copyfile(home / "conf" / "standalone.conf", configuration)
    properties = {
        "metadataStoreUrl": f"zk:127.0.0.1:{_PULSAR_METADATA}",
        "configurationMetadataStoreUrl": f"zk:127.0.0.1:{_PULSAR_METADATA}",
        "metadataStoreSessionTimeoutMillis": 5000,
        "brokerServicePort": PULSAR,
        "brokerServicePortTls": PULSAR_TLS,
        "webServicePort": PULSAR_WEB,
        "webServicePortTls": PULSAR_WEB_TLS,
        "tlsCertificateFilePath": certificates["server.pem"],
        "tlsKeyFilePath": certificates["server.key"],
        "tlsTrustCertsFilePath": certificates["ca.pem"],
        "brokerClientTlsEnabled": "false",
        "authenticationEnabled": "true",
        "authenticationProviders": ",".join(
            f"org.apache.pulsar.broker.authentication.AuthenticationProvider{way}" for way in ("Token", "Tls")
        ),
        "tokenSecretKey": secret.as_uri(),
        "authorizationEnabled": "true",
        "superUserRoles": "root",
        "brokerClientAuthenticationPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
        "brokerClientAuthenticationParameters": f"token:{root_token}",
        "managedLedgerDefaultEnsembleSize": 1,
        "managedLedgerDefaultWriteQuorum": 1,
        "managedLedgerDefaultAckQuorum": 1,
    }
    kept = [
        line
        for line in configuration.read_text().splitlines()
        if line.partition("=")[0].strip() not in properties
    ]
    lines = [*kept, *(f"{name}={value}" for name, value in properties.items())]
    configuration.write_text("\n".join(lines) + "\n")
    jvm = Jvm(
        wiring.servers("pulsar").class_path(version),
        384,
        folder,
        Jit.C1,
        archive=wiring.servers("pulsar").archive(version, "broker"),
        options=["-XX:MaxDirectMemorySize=256m", "-Dio.netty.tryReflectionSetAccessible=true"],
    )
    common = ("org.apache.pulsar.PulsarStandaloneStarter", "--config", str(configuration), "-nfw", "-nss")
    storage = jvm.command(
        *(*common, "--no-broker", "--num-bookies", "2"),
        *("--zookeeper-port", str(_PULSAR_METADATA), "--zookeeper-dir", str(folder / "zookeeper")),
        *("--bookkeeper-dir", str(folder / "bookkeeper"), "--bookkeeper-port", str(_PULSAR_BOOKIES[0])),
    )
    broker = jvm.command(*common, "--only-broker", "-a", "localhost")
    with (
        _running(
            ("env", "PULSAR_STANDALONE_USE_ZOOKEEPER=1", *storage),
            folder / "storage",
            partial(_listens, _PULSAR_BOOKIES[1]),
        ),
        _running(broker, folder, partial(_broker_is_ready, root_token)) as server,
    ):
        _make_tenant(root_token, folder)
        yield server


def _broker_is_ready(token: str) -> bool:
    """Whether the broker has started whole: it takes connections before, and may still end."""
    url = f"http://localhost:{PULSAR_WEB}/admin/v2/brokers/ready"
    try:
        answer = httpx.get(url, headers={"Authorization": f"Bearer {token}"}, trust_env=False)
    except httpx.HTTPError:
        return False
    return answer.is_success


def pulsar_token(subject: str) -> str:
    """Make a JSON web token (RFC 7519, HS256) for Pulsar."""
    return _signed_token(
        {"alg": "HS256"}, {"sub": subject}, lambda content: hmac.new(_PULSAR_KEY, content, "sha256").digest()
    )


def _signed_token(
    head: Mapping[str, str], claims: Mapping[str, object], sign: Callable[[bytes], bytes]
) -> str:
    signed = ".".join(_encoded(json.dumps(part).encode()) for part in (head, claims))
    return f"{signed}.{_encoded(sign(signed.encode()))}"


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _make_tenant(token: str, folder: Path) -> None:
    """Make the tenant `team`, of which `bench` is the administrator."""
    url = f"http://localhost:{PULSAR_WEB}/admin/v2/tenants/team"
    tenant = {"adminRoles": ["bench"], "allowedClusters": ["standalone"]}
    deadline = time.monotonic() + _STARTS_S
    while True:
        try:
            answer = httpx.put(
                url, json=tenant, headers={"Authorization": f"Bearer {token}"}, trust_env=False
            )
            if answer.status_code < 300:
                return
            said = answer.text
        except httpx.HTTPError as error:
            said = repr(error)
        assert time.monotonic() < deadline, f"{said}\n{(folder / 'server.log').read_text()[-4000:]}"
        time.sleep(0.5)
