"""Settings of one live node, asked of that node itself.

Brokers tell every property, defaults included. Bookies tell what they were started with. ZooKeeper tells little:
for the rest its configuration file speaks, as a bookie's does where its web server is switched off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import httpx

from bench.errors import ClusterError
from bench.model import Node, of_role
from bench.systems.pulsar.config import read_properties
from bench.systems.pulsar.nodes import BOOKIE, BROKER, ZOOKEEPER, config_file, web
from bench.systems.pulsar.readiness import four_letter_word

SHOWN_SETTINGS: Mapping[str, Sequence[str]] = {
    BROKER: (
        "bookkeeperClientHealthCheckIntervalSeconds",
        "bookkeeperClientTimeoutInSeconds",
        "bookkeeperNumberOfChannelsPerBookie",
        "bookkeeperUseV2WireProtocol",
        "brokerDeduplicationEnabled",
        "defaultRetentionSizeInMB",
        "defaultRetentionTimeInMinutes",
        "dispatcherMaxReadBatchSize",
        "loadManagerClassName",
        "managedLedgerCacheSizeMB",
        "managedLedgerDefaultAckQuorum",
        "managedLedgerDefaultEnsembleSize",
        "managedLedgerDefaultWriteQuorum",
        "managedLedgerMaxEntriesPerLedger",
        "managedLedgerMaxLedgerRolloverTimeMinutes",
        "managedLedgerMaxSizePerLedgerMbytes",
        "managedLedgerMinLedgerRolloverTimeMinutes",
        "managedLedgerNewEntriesCheckDelayInMillis",
        "maxMessagePublishBufferSizeInMB",
        "maxMessageSize",
        "maxPendingPublishRequestsPerConnection",
        "metadataStoreSessionTimeoutMillis",
        "numIOThreads",
        "systemTopicEnabled",
        "topicLevelPoliciesEnabled",
        "zookeeperSessionExpiredPolicy",
    ),
    BOOKIE: (
        "autoRecoveryDaemonEnabled",
        "dbStorage_readAheadCacheMaxSizeMb",
        "dbStorage_writeCacheMaxSizeMb",
        "flushInterval",
        "journalAdaptiveGroupWrites",
        "journalBufferedWritesThreshold",
        "journalFlushWhenQueueEmpty",
        "journalMaxGroupWaitMSec",
        "journalMaxSizeMB",
        "journalRemoveFromPageCache",
        "journalSyncData",
        "journalWriteData",
        "ledgerStorageClass",
        "lostBookieRecoveryDelay",
        "numAddWorkerThreads",
        "openLedgerRereplicationGracePeriod",
        "zkTimeout",
    ),
    ZOOKEEPER: ("forceSync", "initLimit", "maxSessionTimeout", "minSessionTimeout", "syncLimit", "tickTime"),
}
"""What belongs beside every measurement, whether set or not."""

_ANSWER_S = 10.0
_SECRET = re.compile("password|secret|token|authparam|authenticationparam", re.IGNORECASE)
_OPTIONAL = re.compile(r"Optional\[(.*)\]")


def node_settings(node: Node) -> dict[str, str | None]:
    """Return a live node's properties; secrets are None. Raises ClusterError where it does not answer."""
    settings = {BROKER: _broker, BOOKIE: _bookie, ZOOKEEPER: _zookeeper}[node.role](node)
    return {name: None if _SECRET.search(name) else _plain(str(value)) for name, value in settings.items()}


def _plain(value: str) -> str:
    """Return a broker's value without Java's Optional around it, in which it shows some of its settings."""
    optional = _OPTIONAL.fullmatch(value)
    return optional[1] if optional else value


def _broker(node: Node) -> Mapping[str, object]:
    runtime = _json(node, f"http://{web(node)}/admin/v2/brokers/configuration/runtime")
    return {**_file(node), **runtime}


def _bookie(node: Node) -> Mapping[str, object]:
    started_with = _file(node)
    if str(started_with.get("httpServerEnabled")).lower() != "true":
        return started_with
    return _json(node, f"http://{web(node)}/api/v1/config/server_config")


def _zookeeper(node: Node) -> Mapping[str, object]:
    lines = (line.partition("=") for line in four_letter_word(node, "conf").splitlines())
    return {**_file(node), **{name: value for name, _, value in lines}}


def _file(node: Node) -> Mapping[str, object]:
    return read_properties(config_file(node.directory, node.role))


def _json(node: Node, url: str) -> Mapping[str, object]:
    try:
        answer = httpx.get(url, timeout=_ANSWER_S, trust_env=False).raise_for_status()
    except httpx.HTTPError as error:
        raise ClusterError(f"Reading {node.name}'s settings back from {url}: {error!r}.") from error
    document: Mapping[str, object] = answer.json()
    return document


def sessions_ms(nodes: Sequence[Node]) -> dict[str, int]:
    """Return the session time-outs that ZooKeeper granted; they may not be the ones asked for."""
    text = "".join(four_letter_word(node, "cons") for node in of_role(nodes, ZOOKEEPER))
    granted: dict[str, int] = {}
    for address, milliseconds in re.findall(r"/([0-9.]+):\d+\[.*?\bto=(\d+)", text):
        granted[address] = max(granted.get(address, 0), int(milliseconds))
    return {node.name: granted[node.address] for node in nodes if node.address in granted}
