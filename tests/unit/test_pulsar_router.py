"""The router to the partition with the fewest open sends."""

from bench.model import Outcome
from bench.systems.protocols import NOT_GIVEN, SendResult
from bench.systems.pulsar.router import FewestOpen

DONE = SendResult(int(Outcome.OK), None, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN)


def test_without_open_sends_messages_go_to_all_partitions_in_turn() -> None:
    router = FewestOpen(3)

    assert [router(None, 3) for _ in range(5)] == [0, 1, 2, 0, 1]


def test_a_partition_whose_sends_stay_open_gets_no_more_than_the_others_have_open() -> None:
    """Partition 1 never answers; of the others one send is open at a time."""
    router = FewestOpen(3)
    told: list[SendResult] = []
    sent = []
    for _ in range(30):
        partition = router(None, 3)
        over = router.track_send(told.append)
        sent.append(partition)
        if partition != 1:
            over(DONE)

    assert sent.count(1) == 1
    assert sent.count(0) + sent.count(2) == 29
    assert len(told) == 29


def test_a_partition_that_answers_again_is_back() -> None:
    router = FewestOpen(2)
    router(None, 2)
    over = router.track_send(lambda _: None)
    assert [router(None, 2) for _ in range(2)] == [1, 1]

    over(DONE)

    assert router(None, 2) == 0
