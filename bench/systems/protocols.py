"""What a system gives: nodes, an administrator, producers, consumers. Small, typed, nothing optional."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bench.model import Case, Cluster, Node, Settings, Topic, TopicState
from bench.systems.draining import DrainResult
from bench.systems.server_metrics import Scrape

if TYPE_CHECKING:
    from bench.systems.external_access import ExternalAccess

NOT_GIVEN = -1
"""Stands for a null in the integer columns of the event log (ledger, entry, batch index, done, partition)."""


class SendResult(NamedTuple):
    """How a send ended. `outcome` is an `Outcome`; `error` the client's own name for it, None when ok."""

    outcome: int
    error: str | None
    partition: int
    ledger: int
    entry: int
    batch_index: int


class ReceivedMessage(NamedTuple):
    """A message as a consumer got it. `received_ns` is taken as soon as the client hands it over."""

    payload: bytes
    received_ns: int
    partition: int
    ledger: int
    entry: int
    batch_index: int


class Parts(NamedTuple):
    """Whom a fault may strike by the part that it plays: of a partition (`leader of 3`), or of the whole cluster."""

    of_partition: Sequence[str] = ()
    of_cluster: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """The names of all of them."""
        return [*self.of_partition, *self.of_cluster]


class Producer(Protocol):
    """One of `Producers`; a thread of its own uses it."""

    def send(self, payload: bytes, done: Callable[[SendResult], None]) -> None:
        """Hand one message to the client; `done` is called once, from a later `poll`, in the calling thread.

        With a window of 1 the call may wait for the end, and call `done`, itself. A send that the client refuses
        at once (queue full, message too large) also ends through `done`.
        """

    def poll(self, timeout_s: float) -> None:
        """Call `done` of every send that is over; wait for the first at most `timeout_s`, 0 does not wait.

        The wait releases the interpreter lock and ends as soon as one send is over.
        """


class Producers(Protocol):
    """The producers of a load, as applications would have them: none waits for another's acknowledgement."""

    @property
    def clients(self) -> Sequence[Producer]:
        """One client for each producer."""

    def effective(self) -> Settings:
        """Client properties in force, as far as the client tells them; secrets left out."""

    def patience_s(self) -> float:
        """Return how long the client itself may take to tell how a send ended; infinite where it sets no limit."""

    def close(self, timeout_s: float) -> None:
        """Release the connections, while nobody polls.

        Sends still open end through `done` (unknown): in this call, or where a `send` waits, there.
        """


class Consumer(Protocol):
    """A consumer of a whole topic: shows messages as they come."""

    def receive(self, timeout_s: float) -> Sequence[ReceivedMessage]:
        """Return what has come; wait for the first at most `timeout_s`, never for a batch to fill."""

    def close(self) -> None:
        """Leave."""


class CopyCounter(Protocol):
    """Counts the copies that one storage node writes, without taking any of its time."""

    def count(self) -> int | None:
        """Return how many copies of messages, or of batches, it has written so far; None where that cannot be told."""


SETTLES_S = 300.0
"""How long a healed cluster is given until every copy is there again."""


class Admin(Protocol):
    """What an operator does to a live cluster. Close it after use."""

    def create_topic(self, topic: Topic) -> None:
        """Create the topic and return once every partition has a leader / an owner and takes sends."""

    def delete_topic(self, topic: Topic) -> None:
        """Delete the topic with its data; it not being there is no error."""

    def effective(self, topic: Topic) -> dict[str, object]:
        """Settings read back from the live cluster: nodes, versions, what was set, how partitions lie.

        Shape: {"cluster": {...}, "topic": {...}, "roles": {role: {property: value}}}; JSON values only.
        """

    def find(self, part: str, topic: Topic) -> list[str]:
        """Return the names of the nodes that play one of the system's `parts` now; [] when nobody does.

        That of a partition may end in ` of N`, for partition N instead of 0. Raises ClusterError when nobody answers.
        """

    def layout(self, topic: Topic) -> list[dict[str, object]]:
        """Return who serves and keeps each partition now, by the nodes' names, within seconds; JSON values.

        Each has `partition`; Kafka: leader, in_sync, epoch, high_watermark; Pulsar: owner, ledgers (each with its
        segments: first entry and bookies). Leader or owner is None while nobody is; a partition of which nobody
        tells is left out.
        """

    def state(self, topic: Topic) -> TopicState:
        """Return how the topic is now, within seconds, also while nodes are down."""

    def look_up(self, topic: Topic, avoiding: Sequence[str]) -> str:
        """Ask for the topic as a client does that comes anew, through no node of `avoiding`; say who serves it now.

        Raises ClusterError when nobody answers.
        """

    def backlog(self, topic: Topic) -> int:
        """Return how many messages the processor (processing.py) has not settled yet."""

    def await_settled(self, topic: Topic) -> None:
        """Return once every copy of the topic that is expected is there again, after faults were healed.

        Nothing can be said of what is lost before. Raises ClusterError when it takes longer than SETTLES_S.
        """

    def rebalance(self, topic: Topic, bytes_per_s: float | None) -> str:
        """Spread a topic over all nodes that are there now, as an operator does; return what was done once it is.

        What is copied for it is copied at `bytes_per_s` at most, a node; None: as fast as can be. Raises ClusterError.
        """

    def drain(self, node: str, topic: Topic, bytes_per_s: float | None) -> DrainResult:
        """Let other nodes keep all that a node keeps, as an operator does who takes it away; it goes on running.

        Return when nothing was left there. What is copied is copied at `bytes_per_s` at most, a node; None: as fast as
        can be. Raises ClusterError.
        """

    def lift_expiry(self, topic: Topic) -> None:
        """Lift what skips stored messages for a reader (a TTL), so that a full read finds all that is stored.

        Raises ClusterError.
        """

    def close(self) -> None:
        """Release connections."""


class System(Protocol):
    """A system under test. Stateless: everything it needs comes in, so one instance serves a whole run."""

    name: str
    states: Sequence[str]
    """What of a topic's state a step may wait for: in_sync, copies, topic."""

    def shared_cluster(self, clusters: Sequence[Cluster]) -> tuple[Cluster, Sequence[str]] | None:
        """Return one cluster on which cases of each of several clusters can run, and the group of each; None for none.

        The cases of each have their storage nodes for themselves, as many as they would have alone; these are
        stopped while cases of other groups are loaded.
        """

    def nodes(self, cluster: Cluster, folder: Path) -> list[Node]:
        """Lay out the cluster's nodes below `folder`, in start order; pure: writes nothing."""

    def data_folder(self, node: Node) -> Path:
        """Return where all data of a node lie, and nothing else: it may become a mount of its own."""

    def prepare(self, cluster: Cluster, nodes: Sequence[Node]) -> None:
        """Write configurations, format storage, seed metadata: everything before the first process."""

    def await_ready(self, cluster: Cluster, nodes: Sequence[Node], alive: Callable[[], None]) -> None:
        """Return once the whole cluster takes requests. Call `alive` at every turn: it raises if a node died.

        Raises ClusterError with what is missing once the system's own deadline has passed.
        """

    def start_order(self, nodes: Sequence[Node]) -> list[list[Node]]:
        """Group the nodes in start order: a group starts once the one before has its first ports open."""

    def stop_order(self, nodes: Sequence[Node]) -> list[list[Node]]:
        """Group the nodes in the order in which an orderly stop (SIGTERM) takes them."""

    def endpoint(self, nodes: Sequence[Node]) -> str:
        """Where clients connect (bootstrap servers, service URL, folder)."""

    def hints(self, nodes: Sequence[Node]) -> list[str]:
        """Example commands for somebody who plays with the cluster (`bench up`)."""

    def scrape(self, node: Node) -> Scrape | None:
        """Return where a node shows its own figures, and under which names; None for one that does not."""

    def copy_counter(self, node: Node) -> CopyCounter | None:
        """Return what counts the copies that a node writes, where neither acknowledgements nor readers wait for all.

        None for a node that keeps no messages, and where nothing counts them.
        """

    def parts(self, case: Case) -> Parts:
        """Name the parts that nodes play in this case, such as leader, owner or ensemble."""

    def pause_s(self, case: Case) -> float:
        """Return for how long, in seconds, consumers may get nothing after a fault although messages are there.

        That is the longest pause that the system takes, as configured, between two tries to read or to reach a node.
        """

    def admin(self, cluster: Cluster, nodes: Sequence[Node]) -> Admin:
        """Connect an administrator."""

    def producers(
        self, endpoint: str, topic: Topic, case_producer: Settings, count: int, window: int
    ) -> Producers:
        """Connect `count` producers, each with at most `window` sends open, ready to send.

        Ready: metadata is there, every partition has been looked up.
        """

    def consumer(self, endpoint: str, topic: Topic, case_consumer: Settings, group: str = "") -> Consumer:
        """Connect a live consumer at the topic's end; messages sent after the return are seen.

        With `group` it reads as the only member of that consumer group (Pulsar: subscription) instead: from where the
        group had got to, a new one from the earliest message. The group is there once this returns, and has got to what
        was received when `close` returns.
        """

    def member(self, endpoint: str, topic: Topic, case_consumer: Settings, kind: str) -> Consumer:
        """Connect a live consumer that shares the topic's messages with the other members of one group.

        `kind` says how: one of the system's own types (membership.py). The group begins at the earliest message. What a
        call of `receive` returned counts as processed with the next call. Raises LoadError.
        """

    def read_all(
        self, endpoint: str, topic: Topic, case_consumer: Settings, deadline_s: float, expected: int
    ) -> Iterator[Sequence[ReceivedMessage]]:
        """Read every partition from its earliest message to its end; batches of messages.

        While there are fewer than `expected`, more are waited for at the end until none came for a while
        (missing_messages.py). Raises LoadError naming the partitions not read to their end once `deadline_s` passed
        without one.
        """

    def process(self, endpoint: str, source: Topic, target: Topic, settings: Settings) -> Iterator[int]:
        """Read `source` as an application does, write each message to `target`, a batch at each step (its size).

        It goes on where one before it had settled, for ever; close the generator. See processing.py.
        """

    def external(self, endpoint: str) -> ExternalAccess | None:
        """Return access to a cluster that somebody else runs (external_access.py); None for a system without it."""

    def check(self, case: Case) -> list[str]:
        """Say in full sentences why this case cannot exist, such as Qa > Qw; [] when it can."""

    def unknown_settings(self, case: Case) -> list[tuple[str, str, list[str]]]:
        """List (role or client, property, nearest valid names) of settings that this system does not have."""
