"""What the suite knows of a system beside how to run it: roles, promises, and how its own figures read.

Each system has one in its folder, and registry.py has all. A description is light: it loads no client and starts
nothing, so analysis and reports may ask it. Its defaults are those of a system of which nothing is known, such as one
whose results were imported.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import yaml

from bench.guarantee import Configuration, Guarantee, all_settings
from bench.model import Settings
from bench.sizing.published_rules import RuleSize
from bench.sizing.requirement import NodeType, Requirement
from bench.sizing.workload import Term

if TYPE_CHECKING:
    from bench.systems.protocols import System
    from bench.systems.servers import Servers

CaseSettings = Mapping[str, str]
"""Settings of a case by their own names, as text (bench.guarantee.all_settings)."""
Nodes = Mapping[str, int]
"""How many servers there are, by role."""
Words = Mapping[str, Mapping[str, str]]
"""What labels say: by setting, then by value."""


class MissingCopies(NamedTuple):
    """What a role's figure `under_replicated` counts, and whether its nodes count apart: then they are added up."""

    label: str
    add_up: bool


@dataclass(frozen=True, slots=True)
class Role:
    """A kind of server process. Scenario files name it, and it is the first part of a node's name.

    `purpose` and `settings` describe it in scenario.schema.json. `count`: how many there are where a scenario does not
    say, `least`: how few there may be. Of the roles that keep messages, and of those that take sends, there is one
    each, which may be the same. `work`: what its servers do with messages; empty for a role that sees none of them.
    """

    name: str
    count: int
    purpose: str
    settings: str
    least: int = 1
    keeps_messages: bool = False
    takes_sends: bool = False
    work: tuple[Term, ...] = ()
    missing_copies: MissingCopies | None = None


class FsyncWait(StrEnum):
    """For which fsyncs a send waits where copies are synced before it is acknowledged."""

    EACH_COPY = "each copy"
    """Copies are made one after the other: for that of the first copy, then for that of the next."""
    JOURNAL = "journal"
    """What comes during an fsync is synced by the next one: for the one under way and for its own."""


class Timer(NamedTuple):
    """How servers add up a time: by how much a mean may be too long or too short, in ns; both 0 where it is exact."""

    too_long_ns: int = 0
    too_short_ns: int = 0


EXACT = Timer()


class Colours(NamedTuple):
    """A system's colour in reports, and from dark to light for lines of it."""

    base: str
    dark: str
    light: str


class GlossaryTerm(NamedTuple):
    """A term, the pattern by which a page uses it, and its meaning in a sentence."""

    term: str
    pattern: str
    meaning: str


class PublishedImage(NamedTuple):
    """The image that a system's makers publish, and where its jars are, as Java's class path has it."""

    name: str
    class_path: str


class Installation(NamedTuple):
    """The smallest cluster that loads all classes of its servers, and its topic's settings (run/install.py)."""

    nodes: Nodes
    topic: Settings


@dataclass(frozen=True, slots=True)
class Description:
    """A system of which nothing is known but its name."""

    name: str

    title: ClassVar[str] = ""
    colours: ClassVar[Colours | None] = None
    marker: ClassVar[str] = ""
    roles: ClassVar[tuple[Role, ...]] = ()
    """In start order."""
    other_settings: ClassVar[Mapping[str, str]] = {}
    """What scenario files set of the cluster beside its roles' settings, by key, with its description."""
    common_settings: ClassVar[Mapping[str, str]] = {}
    """Which keys it has of those that scenario files set on every system (`topic` and so on), with a description."""
    group_types: ClassVar[tuple[str, ...]] = ()
    """How the members of a consumer group may share messages: values of `consumer_group.type`."""
    about: ClassVar[str] = ""
    """What scenario.schema.json says of it."""
    start_s: ClassVar[float] = 0.5
    """From a cluster's start to its end without warm-up and trials: servers start, clients connect, all are stopped."""
    writes_per_copy: ClassVar[int] = 0
    """How often a server writes each copy; 0 where it writes none to a disk."""
    installation: ClassVar[Installation | None] = None
    """None for a system that has no servers to install."""
    image: ClassVar[PublishedImage | None] = None
    """None for a system that does not run in containers here."""
    address_key: ClassVar[str] = ""
    """What a file of an external cluster calls the address that clients connect to; empty where there is no such file.
    """
    admin_key: ClassVar[str] = ""
    """What it calls the URL of the REST interface; empty for a system without."""
    has_tenants: ClassVar[bool] = False
    libraries: ClassVar[tuple[str, ...]] = ()
    """Client libraries, by their names in manifest.json."""
    producer_settings: ClassVar[tuple[str, ...]] = ()
    """What of the producer decides what its figures mean, beside what the scenario sets."""
    naming_settings: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """What names a configuration where it was asked for, also where it is not swept: keys of trial.json."""
    guarantee_settings: ClassVar[tuple[str, ...]] = ()
    """The settings that decide what an acknowledgement promises."""
    shipped: ClassVar[Mapping[str, str]] = {}
    """What those of them are that a case does not set."""
    deviations: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Settings, with values, that change a promise or a figure and are not as shipped: named where they are so."""
    self_explaining: ClassVar[frozenset[str]] = frozenset()
    """Settings whose value says what it is of."""
    copy_settings: ClassVar[frozenset[str]] = frozenset()
    """Settings that decide how many copies are made, and how many an acknowledgement waits for."""
    batch_settings: ClassVar[frozenset[str]] = frozenset()
    """Settings that decide how many messages producers send together."""
    fsync_setting: ClassVar[str] = ""
    """A key below `systems.<name>`, with its value, that has messages synced before they are acknowledged."""
    resends_remark: ClassVar[str] = ""
    """What comes of producers for which `resends` holds; a system has both or neither."""
    terms: ClassVar[tuple[GlossaryTerm, ...]] = ()
    """The most needed first."""
    request_timer: ClassVar[Timer] = EXACT
    fsync_timer: ClassVar[Timer] = EXACT
    fsync_wait: ClassVar[FsyncWait] = FsyncWait.EACH_COPY
    spare_of_partition: ClassVar[bool] = False
    """Whether a promise's `spare` is of the nodes of one partition: more nodes do not help it."""
    segment: ClassVar[str] = "segment"
    """What a part of a partition's log is called whose copies lie on nodes of its own."""

    @property
    def storage_role(self) -> str:
        """The role whose nodes keep messages; empty where there is none."""
        return next((role.name for role in self.roles if role.keeps_messages), "")

    @property
    def front_role(self) -> str:
        """The role that clients send to; empty where there is none."""
        return next((role.name for role in self.roles if role.takes_sends), "")

    @property
    def labels(self) -> Words:
        """What labels say of its settings' values, which are regular expressions, by labels.yaml in its folder."""
        labels: Words = _labels_beside(type(self).__module__).get("labels", {})
        return labels

    @property
    def without_effect(self) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """Settings that have no effect beside these values of other settings."""
        content = _labels_beside(type(self).__module__)
        left_out: Mapping[str, Mapping[str, Sequence[str]]] = content.get("without effect", {})
        return left_out

    @property
    def model_inputs(self) -> frozenset[str]:
        """Swept settings that the model of costs takes in: copies and batches, and the nodes' CPU."""
        return self.copy_settings | self.batch_settings | {f"{role.name}.cpu" for role in self.roles}

    @property
    def work(self) -> Mapping[str, tuple[Term, ...]]:
        """What the servers of each role do with messages, the front role first; not of roles that see none."""
        roles = sorted(self.roles, key=lambda role: not role.takes_sends)
        return {role.name: role.work for role in roles if role.work}

    def guarantee(self, settings: Settings, configuration: Configuration) -> Guarantee | None:
        """State what an acknowledgement promises under this configuration; None where no promise is known.

        `settings` are the swept ones, `configuration` the whole (trial.json, `case`); the swept ones go first.
        """
        return self.promise(all_settings(settings, configuration), configuration.get("nodes", {}))

    def guarantee_words(self, case_settings: CaseSettings) -> str:
        """Name what decides a case's guarantee: replicas=3, min.insync.replicas=1, acks=all; empty without any."""
        known_settings = {**self.shipped, **case_settings}
        named = [(name, known_settings[name]) for name in self.guarantee_settings if name in known_settings]
        named += [(name, value) for name, value in self.deviations if case_settings.get(name) == value]
        return ", ".join(
            value if name in self.self_explaining else f"{name}={value}" for name, value in named
        )

    def copies_of(self, settings: Settings, configuration: Configuration) -> int:
        """Return how many copies of a message a case makes, by its part of a trial.json."""
        return self.copies(all_settings(settings, configuration), configuration.get("nodes", {}))

    def promise(self, case_settings: CaseSettings, nodes: Nodes) -> Guarantee | None:  # noqa: ARG002
        """State what an acknowledgement promises; None where no promise is known."""
        return None

    def copies(self, case_settings: CaseSettings, nodes: Nodes) -> int:  # noqa: ARG002
        """Return how many copies of a message are written; 1 where that is not said."""
        return 1

    def copies_in_turn(self, case_settings: CaseSettings) -> int:  # noqa: ARG002
        """Return how many copies are made one after the other before a send is acknowledged."""
        return 1

    def waits(self, case_settings: CaseSettings) -> bool:  # noqa: ARG002
        """Whether a send is over only when a server has acknowledged it."""
        return True

    def synced_logs(self, case_settings: CaseSettings, partitions: int, nodes: Nodes) -> int | None:  # noqa: ARG002
        """Return how many logs of a topic a server syncs one by one, at most; None where all go through one journal."""
        return None

    def deduplicates(self, case_settings: CaseSettings, producer: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Whether a configuration promises that no message is written twice; `producer`: its properties in force."""
        return False

    def resends(self, producer: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Whether a producer, by its properties in force, may write a message twice where the shipped one would not."""
        return False

    def session_timeouts(self, roles: Collection[str]) -> Sequence[str]:  # noqa: ARG002
        """Name the settings, in ms, that say after how long without a word a server is taken for dead."""
        return ()

    def delivery_remark(self, effective: Sequence[Mapping[str, Any]]) -> str:  # noqa: ARG002
        """Say what settings in force (`effective` of each trial.json) add to end-to-end times; empty for nothing."""
        return ""

    def duplicates_remark(self, effective: Sequence[Mapping[str, Any]]) -> str:  # noqa: ARG002
        """Name the producers that may send a message twice by themselves; empty where there are none."""
        return ""

    def fsync_remark(self, configuration: Configuration) -> str:  # noqa: ARG002
        """Say what else is synced with each message under this configuration; empty where nothing is."""
        return ""

    def position(self, segment: int, entry: int) -> str:  # noqa: ARG002
        """Name a message's place in its partition."""
        return f"offset {entry}"

    def published_rules(
        self,
        requirement: Requirement,  # noqa: ARG002
        nodes: Mapping[str, NodeType],  # noqa: ARG002
    ) -> list[RuleSize]:
        """Return what published sizing rules for it ask for; `nodes` are types of nodes by role."""
        return []

    def build_profiles(self, version: str) -> Sequence[str]:  # noqa: ARG002
        """Return the Maven options that this version's jars take beside those of the system's pom.xml."""
        return ()

    def client_versions(self) -> dict[str, str]:
        """Return the versions of the client's `libraries`."""
        return {name: metadata.version(name) for name in self.libraries}

    def connect(self, servers: Servers, folder: Path) -> System:
        """Return the system itself. `folder` is where one without servers keeps its data."""
        raise NotImplementedError(self.name)


@cache
def _labels_beside(module: str) -> Mapping[str, Any]:
    """Return what labels.yaml in a module's folder holds; nothing where there is none."""
    file = Path(str(sys.modules[module].__file__)).with_name("labels.yaml")
    content: Mapping[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
    return content
