"""What the client's results say of a message: written, certainly not, or nobody knows.

The C++ client resends by itself after every reconnect until `send_timeout_millis` is over, so the last thing
it was told says nothing of the attempts before. Certain are refusals that come before a message leaves, and
those that would have met every attempt. Everything else is unknown: time-outs, lost connections, a producer
closed or fenced with sends under way (they may have been written), BrokerPersistenceError (some bookies may
have the entry).
"""

from __future__ import annotations

NEVER_LEFT = frozenset({
    "CryptoError",
    "InvalidConfiguration",
    "InvalidMessage",
    "MemoryBufferIsFull",
    "MessageTooBig",
    "ProducerNotInitialized",
    "ProducerQueueIsFull",
})  # fmt: skip
"""The client itself refuses."""

REFUSED_ALWAYS = frozenset({
    "AuthenticationError",
    "AuthorizationError",
    "ChecksumError",
    "ErrorGettingAuthenticationData",
    "IncompatibleSchema",
    "NotAllowedError",
    "OperationNotSupported",
    "TopicTerminated",
    "UnsupportedVersionError",
})  # fmt: skip
"""The broker refuses, and would have refused any attempt. A terminated topic acks what came before first."""

CERTAIN_REFUSALS = NEVER_LEFT | REFUSED_ALWAYS
