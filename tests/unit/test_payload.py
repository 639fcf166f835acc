import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import LoadError
from bench.load.payload import HEADER_BYTES, decode, encoder, join_headers, of_trial, run_hash, split_headers

RUN = "20261121-120000-acks"


def test_a_message_has_the_size_asked_for_and_carries_its_identity() -> None:
    payload = encoder(RUN, 7, 1000, seed=1)(3, 12, 99)

    assert len(payload) == 1000
    assert decode(payload) == (run_hash(RUN), 7, 3, 12, 99)


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_every_identity_comes_back(producer: int, sequence: int, sent_ns: int) -> None:
    payload = encoder(RUN, 0, HEADER_BYTES, seed=1)(producer, sequence, sent_ns)

    assert decode(payload)[2:] == (producer, sequence, sent_ns)


def test_a_size_below_the_header_is_refused() -> None:
    with pytest.raises(LoadError, match="31 bytes cannot be counted"):
        encoder(RUN, 0, HEADER_BYTES - 1, seed=1)


def test_a_message_without_header_is_refused() -> None:
    with pytest.raises(LoadError, match="no header"):
        decode(b"something else")


def test_fillers_are_the_same_for_the_same_seed_only() -> None:
    first, again, other = (encoder(RUN, 0, 200, seed)(0, 0, 0) for seed in (1, 1, 2))

    assert first == again
    assert first != other


def test_a_batch_does_not_compress() -> None:
    encode = encoder(RUN, 0, 1000, seed=1)
    batch = b"".join(encode(0, sequence, 0) for sequence in range(16))

    assert len(zlib.compress(batch)) > 0.97 * len(batch)


def test_batches_decode_at_once() -> None:
    encode = encoder(RUN, 5, 100, seed=1)
    payloads = [encode(producer, 10 * producer, 7) for producer in range(4)]

    headers = split_headers(join_headers(payloads))

    assert headers["producer"].tolist() == [0, 1, 2, 3]
    assert headers["sequence"].tolist() == [0, 10, 20, 30]
    assert headers["sent_ns"].tolist() == [7] * 4
    assert of_trial(headers, run_hash(RUN), 5).all()


def test_foreign_messages_are_told_apart() -> None:
    payloads = [
        encoder(RUN, 5, 40, seed=1)(0, 0, 0),
        encoder(RUN, 6, 40, seed=1)(0, 0, 0),
        encoder("another run", 5, 40, seed=1)(0, 0, 0),
        b"short",
        bytes(100),
    ]

    ours = of_trial(split_headers(join_headers(payloads)), run_hash(RUN), 5)

    np.testing.assert_array_equal(ours, [True, False, False, False, False])
