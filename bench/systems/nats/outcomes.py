"""Which of the client's errors prove that a message was not written.

What the client refuses itself never left. A server that refuses a message by its size, or because its stream is full,
says so before it is proposed to the stream's replicas. Everything else is unknown: time-outs, lost connections, and
that no server answered for the stream, as an answer says nothing of a leader that steps down meanwhile.
"""

from __future__ import annotations

import nats
from nats.js.errors import APIError

_CERTAIN = (nats.errors.MaxPayloadError, nats.errors.BadSubjectError)
_CERTAIN_CODES = frozenset({10054, 10077, 10122})
"""Of JetStream's errors: message larger than the stream's limit, most messages reached, stream full."""


def name_of(error: BaseException) -> str:
    """Return the client's own name for an error; JetStream's errors have a number."""
    code = getattr(error, "err_code", None)
    return f"{type(error).__name__} {code}" if code else type(error).__name__


def is_refusal(error: BaseException) -> bool:
    """Whether it proves that the message was not written."""
    return isinstance(error, _CERTAIN) or (isinstance(error, APIError) and error.err_code in _CERTAIN_CODES)
