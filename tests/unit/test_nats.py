"""NATS JetStream: its configuration, what its servers say of streams, and which cases can exist."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import nats
import pytest
from nats.js import JetStreamContext
from nats.js.errors import APIError

from bench.errors import LoadError
from bench.model import Case, Cluster, Load, Pacing, Settings, Topic
from bench.systems.nats import config, connection, settings, streams
from bench.systems.nats.live_settings import in_force
from bench.systems.nats.outcomes import is_refusal, name_of
from bench.systems.nats.system import Nats
from bench.systems.registry import describe
from bench.systems.servers import Servers


@pytest.fixture
def system(tmp_path: Path) -> Nats:
    return Nats(Servers(home=lambda _: tmp_path / "home", archive=lambda _, role: tmp_path / role))


def cluster(servers: int = 3, **server: Any) -> Cluster:
    return Cluster("nats", "2.15.1", {"server": servers}, settings={"server": server} if server else {})


def case(servers: int = 3, topic: Settings | None = None, message_bytes: int = 100, **server: Any) -> Case:
    load = Load(1, message_bytes, Pacing(), 1, 0, 0.0, None, 1)
    return Case("nats", "nats", {}, cluster(servers, **server), 1, topic or {}, {}, {}, load)


def test_each_server_has_an_address_of_its_own_and_starts_the_program_itself(
    system: Nats, tmp_path: Path
) -> None:
    first, *_, last = system.nodes(cluster(), tmp_path / "cluster")

    assert (first.name, first.address) == ("server-1", "10.99.3.11")
    assert last.address == "10.99.3.13"
    assert first.command == (
        str(tmp_path / "home" / "bin" / "nats-server"),
        "-c",
        str(tmp_path / "cluster" / "server-1" / "server.conf"),
    )
    assert system.endpoint([first, last]) == "nats://10.99.3.11:4222,nats://10.99.3.13:4222"


def test_a_configuration_has_the_settings_in_their_block_and_routes_to_the_others(
    system: Nats, tmp_path: Path
) -> None:
    asked = cluster(2, sync_interval="always", max_payload="8MB")
    first, second = nodes = system.nodes(asked, tmp_path)

    written = config.render(asked, nodes, first)

    outside, _, rest = written.partition("jetstream {")
    inside, _, after = rest.partition("}")
    assert "max_payload: 8MB" in outside
    assert 'sync_interval: "always"' in inside
    assert f'store_dir: "{tmp_path}/server-1/data"' in inside
    assert f'"nats-route://{second.address}:6222"' in after
    assert first.address not in after.partition("routes")[2]


def test_a_server_without_others_has_no_cluster(system: Nats, tmp_path: Path) -> None:
    nodes = system.nodes(cluster(1), tmp_path)

    assert "cluster" not in config.render(cluster(1), nodes, nodes[0])


@pytest.mark.parametrize(
    ("chosen", "servers", "survives"),
    [
        ({"replicas": 1}, 1, "neither the loss of its node nor a power cut"),
        ({"replicas": 3}, 3, "the loss of any one node, not a power cut of all nodes"),
        (
            {"replicas": 3, "sync_interval": "always"},
            3,
            "the loss of any one node, and a power cut of all nodes",
        ),
        ({"replicas": 5}, 5, "the loss of any two nodes, not a power cut of all nodes"),
        ({}, 5, "the loss of any one node, not a power cut of all nodes"),  # three replicas unless it says
    ],
)
def test_a_majority_of_the_replicas_has_what_is_acknowledged(
    chosen: Settings, servers: int, survives: str
) -> None:
    promise = describe("nats").guarantee(chosen, {"nodes": {"server": servers}})

    assert promise is not None
    assert promise.survives == survives


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        ("duration", "2m", "120000000000"),
        ("sync", "1.5s", "1500000000"),
        ("sync", "always", "always"),
        ("size", "8MB", str(8 * 2**20)),
        ("size", 4096, "4096"),
        ("size", "3k", "3000"),
        ("size", "2gib", str(2 * 2**30)),
        ("int", 3, "3"),
        ("duration", "soon", None),
        ("size", "much", None),
        ("int", "2m", None),
    ],
)
def test_values_are_read_as_the_server_tells_them(kind: str, value: Any, told: str | None) -> None:
    assert settings.canonical(kind, value) == told


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (case(0), "A NATS cluster needs 1 to 200 servers, not 0."),
        (case(2, {"replicas": 3}), "3 replicas need as many servers, and the cluster has 2."),
        (case(6, {"replicas": 6}), "replicas is a whole number from 1 to 5, not 6."),
        (case(topic={"storage": "tape"}), "storage is file or memory, not tape."),
        (
            case(sync_interval="often"),
            "sync_interval of the server is always, or a duration such as 2m, not often.",
        ),
        (case(message_bytes=2**21), "Messages of 2097152 bytes exceed the servers' max_payload=1048576."),
    ],
)
def test_a_case_that_can_not_exist_is_refused(wrong: Case, said: str) -> None:
    assert said in settings.check(wrong)


def test_a_case_that_can_exist_is_not_refused() -> None:
    assert settings.check(case(3, {"replicas": 3}, 2**21, max_payload="4MB", sync_interval="10s")) == []


def test_settings_in_force_are_those_of_the_servers_own_page() -> None:
    page = {
        "max_payload": 2097152,
        "write_deadline": 7000000000,
        "jetstream": {"config": {"sync_interval": 120000000000, "max_storage": 5, "sync_always": True}},
    }

    assert in_force(page) == {
        "max_payload": "2097152",
        "write_deadline": "7000000000",
        "max_file_store": "5",
        "sync_interval": "always",
    }


def page(server: str, leader: str, current: dict[str, bool], last: int = 7) -> streams.View:
    """What a server's page says of the stream of one partition, whose replicas are current or not."""
    detail = {
        "name": "t-0",
        "state": {"last_seq": last},
        "cluster": {
            "leader": leader,
            "replicas": [{"name": name, "current": so, "active": 1} for name, so in current.items()],
        },
    }
    account = {"stream_detail": [detail]}
    return streams.view_of(server, {"account_details": [account], "meta_cluster": {"leader": "server-2"}})


def test_of_a_stream_its_leader_is_believed() -> None:
    leader = page("server-1", "server-1", {"server-2": True, "server-3": False})
    stale = page("server-3", "server-2", {"server-1": True, "server-2": True})

    found = streams.reconcile([stale, leader], "t-0")

    assert found == streams.StreamView("server-1", ["server-1", "server-2"], ["server-3"], 7, leads=True)
    assert leader.meta_leader == "server-2"
    assert streams.reconcile([leader], "other-0") is None


def test_where_no_leader_answers_most_others_are_believed() -> None:
    views = [
        page("server-2", "", {"server-1": False, "server-3": True}),
        page("server-3", "", {"server-1": False, "server-2": True}),
        page("server-4", "server-1", {"server-2": True}),
    ]

    found = streams.reconcile(views, "t-0")

    assert found is not None
    assert (found.leader, found.leads) == (None, False)


def test_a_server_without_others_leads_all_that_it_keeps() -> None:
    detail = {"name": "t-0", "state": {"last_seq": 3}}
    view = streams.view_of("server-1", {"account_details": [{"stream_detail": [detail]}]})

    assert view.streams["t-0"] == streams.StreamView("server-1", ["server-1"], [], 3, leads=True)
    assert view.meta_leader == "server-1"


class FakeStreams:
    """JetStream as a client sees it: each request has the next of these ends, an error or nothing."""

    def __init__(self, *ends: Exception | None) -> None:
        self.ends = list(ends)

    async def publish(self, *_: object, **__: object) -> None:
        await self.request()

    async def request(self) -> None:
        if (end := self.ends.pop(0)) is not None:
            raise end


@pytest.mark.parametrize(
    ("error", "leads"),
    [
        (nats.js.errors.BadRequestError(code=400, err_code=10060, description="expected stream"), True),
        (nats.js.errors.NoStreamResponseError(), False),
        (nats.js.errors.ServiceUnavailableError(), False),
        (nats.errors.TimeoutError(), False),
    ],
)
def test_a_leader_is_who_refuses_what_is_for_another_stream(error: Exception, leads: bool) -> None:
    jetstream = cast("JetStreamContext", FakeStreams(error))

    assert asyncio.run(streams.has_leader(jetstream, "orders-0")) is leads


def test_another_error_of_a_stream_is_raised() -> None:
    jetstream = cast("JetStreamContext", FakeStreams(APIError(code=500, err_code=10049)))

    with pytest.raises(APIError):
        asyncio.run(streams.has_leader(jetstream, "orders-0"))


def _no_peers(reason: str) -> APIError:
    return APIError(code=400, err_code=10005, description=f"no suitable peers for placement, {reason}")


def test_a_request_that_is_lost_or_early_is_made_again_and_a_refused_one_is_not() -> None:
    lost = FakeStreams(nats.errors.TimeoutError(), nats.js.errors.ServiceUnavailableError(), None)
    early = FakeStreams(_no_peers("peer offline"), None)
    refused = FakeStreams(APIError(code=400, err_code=10058), None)
    impossible = FakeStreams(_no_peers("insufficient storage"), None)

    for requests in (lost, early):
        asyncio.run(connection.repeat(requests.request))
    for requests in (refused, impossible):
        with pytest.raises(APIError):
            asyncio.run(connection.repeat(requests.request))

    assert (lost.ends, early.ends, refused.ends, impossible.ends) == ([], [], [None], [None])


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (TimeoutError(), LoadError),
        (ConnectionRefusedError("refused"), LoadError),
        (nats.errors.NoServersError(), LoadError),
        (LoadError("told already"), LoadError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_a_client_that_cannot_be_opened_leaves_no_loop(
    error: BaseException, raised: type[BaseException]
) -> None:
    with pytest.raises(raised), connection.client_loop("Connecting") as loop:
        raise error

    assert loop.loop.is_closed()


def test_a_client_that_was_opened_keeps_its_loop() -> None:
    with connection.client_loop("Connecting") as loop:
        pass

    assert not loop.loop.is_closed()
    loop.close()


def test_each_partition_is_a_stream() -> None:
    assert streams.names(Topic("orders", 2)) == ["orders-0", "orders-1"]


@pytest.mark.parametrize(
    ("error", "refused", "name"),
    [
        (nats.errors.MaxPayloadError(), True, "MaxPayloadError"),
        (APIError(code=503, err_code=10077, description="maximum messages exceeded"), True, "APIError 10077"),
        (APIError(code=503, err_code=10008, description="temporarily unavailable"), False, "APIError 10008"),
        (nats.errors.TimeoutError(), False, "TimeoutError"),
        (nats.js.errors.NoStreamResponseError(), False, "NoStreamResponseError"),
    ],
)
def test_only_what_was_certainly_not_written_is_a_refusal(error: Exception, refused: bool, name: str) -> None:
    assert is_refusal(error) is refused
    assert name_of(error) == name
