"""Which of the client's errors prove that a message was not written.

The client librdkafka knows (rd_kafka_message_status), but confluent-kafka does not pass it on. So an error's name
and the number of retries decide. The error of the last attempt says nothing of those before it: the first may have
been written and have timed out, and the second been refused. So what depends on the cluster's state at the time
(NOT_ENOUGH_REPLICAS) is certain only where `retries` is 0. What would have been refused each time (too large,
malformed) always is. Everything else is unknown: time-outs, lost connections, NOT_ENOUGH_REPLICAS_AFTER_APPEND.
With retries (librdkafka's default) a refusal that lasts ends as _MSG_TIMED_OUT, and that is unknown as well.

NOT_LEADER_FOR_PARTITION and UNKNOWN_TOPIC_OR_PART are never certain: a leader that steps down answers so of
messages it has already appended, and librdkafka sends them again without counting that as a retry. For the
same reason a message that is `fail` with `retries` 0 can be in the log where its leader changed meanwhile.
"""

from __future__ import annotations

from bench.model import Settings
from bench.systems.kafka.settings import lookup

REFUSED_ALWAYS = frozenset({
    "INVALID_MSG",
    "INVALID_MSG_SIZE",
    "INVALID_RECORD",
    "INVALID_REQUIRED_ACKS",
    "INVALID_TIMESTAMP",
    "MSG_SIZE_TOO_LARGE",
    "POLICY_VIOLATION",
    "RECORD_LIST_TOO_LARGE",
    "TOPIC_EXCEPTION",
    "UNSUPPORTED_COMPRESSION_TYPE",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    "UNSUPPORTED_VERSION",
})  # fmt: skip
"""No attempt that ends so can have been written."""

REFUSED_THIS_TIME = frozenset({
    "CLUSTER_AUTHORIZATION_FAILED",
    "NOT_ENOUGH_REPLICAS",
    "TOPIC_AUTHORIZATION_FAILED",
    "_PURGE_QUEUE",
    "_UNKNOWN_PARTITION",
    "_UNKNOWN_TOPIC",
})  # fmt: skip
"""This attempt was not written; one before it may have been."""


def certain_refusals(producer: Settings) -> frozenset[str]:
    """Return the errors that mean, with these producer settings, that a message was not written."""
    if str(lookup(producer, "retries")) == "0":
        return REFUSED_ALWAYS | REFUSED_THIS_TIME
    return REFUSED_ALWAYS
