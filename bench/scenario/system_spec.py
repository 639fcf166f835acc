"""What a scenario file says of a system: nodes, versions, settings by who owns them, faults.

The keys that are a system's own are made from its description (bench/systems), so that a new system has them, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, create_model, model_validator

from bench.model import MEMBER
from bench.scenario.values import (
    Count,
    Properties,
    Scalar,
    StrictModel,
    Swept,
    SweptCores,
    SweptDiskRate,
    SweptLength,
    SweptLinkRate,
    SweptMemory,
    SweptVersion,
    about,
)
from bench.systems.description import Description, Role
from bench.systems.registry import DESCRIPTIONS, NAMES

_LEAST_HEAP_MIB = 64
_GROUP = (
    "The consumers share the messages as members of one group: its `type`{}, `work` of each over a message. With "
    "`processes: true` each is a process of its own, the node member-1 and so on: it can be killed, stopped, and "
    "started where it is `spare`."
)


_STEPS = "Steps that break things while the load runs, one after the other."
_SPARE = "How many of the nodes of a role, the last ones, wait until a step starts them (`start`)."
OF_SYSTEM = frozenset({"spare", "faults"})
"""What a variant may have in place of the system's own, beside settings."""


class Variant(StrictModel):
    """Settings that go together, by who owns them: one value of a sweep over whole configurations."""

    nodes: dict[str, Count] = Field(
        default_factory=dict, description="How many processes of a role, instead of the system's `nodes`."
    )
    topic: dict[str, Scalar] = Field(default_factory=dict, description="Settings of the topic.")
    producer: dict[str, Scalar] = Field(
        default_factory=dict, description="Settings of the producers' client."
    )
    consumer: dict[str, Scalar] = Field(
        default_factory=dict, description="Settings of the consumers' client."
    )
    spare: dict[str, Count] | None = Field(
        default=None, description=f"Instead of the system's `spare`. {_SPARE}"
    )
    faults: list[dict[str, Any]] | None = Field(
        default=None, description=f"Instead of the system's `faults`. {_STEPS}"
    )

    def settings(self) -> dict[tuple[str, str], Scalar]:
        """Return them by owner and name."""
        owners: Mapping[str, Mapping[str, Scalar]] = self.model_dump(exclude=set(OF_SYSTEM))
        return {
            (owner, name): value
            for owner, owner_settings in owners.items()
            for name, value in owner_settings.items()
        }


class Omission(StrictModel):
    """Points of the sweep that a scenario leaves out, and why."""

    where: Annotated[
        dict[str, Swept],
        Field(min_length=1),
        about(
            "Swept settings with their values; the points that have one of the values of each are left out."
        ),
    ]
    because: Annotated[str, Field(min_length=1), about("Why they are left out; the report lists it.")]


class NodeSize(StrictModel):
    """How much of the machine each node of a role gets while its cases are loaded; a list is swept."""

    cpu: Annotated[SweptCores | None, about("How many cores: 0.2 is a fifth of one.")] = None
    memory: Annotated[
        SweptMemory | None,
        about("How much memory it has, its page cache included: 512MiB, 1.5GiB."),
    ] = None
    network: Annotated[
        SweptLinkRate | None, about("How much its link carries each way: 500kbit, 50mbit, 1gbit.")
    ] = None
    disk_write: Annotated[
        SweptDiskRate | None,
        about("How much its disk takes: 500kB/s, 20MB/s; it has a disk of its own then."),
    ] = None
    fsync: Annotated[SweptLength | None, about("By how much longer each of its fsyncs takes: 1ms, 5ms.")] = (
        None
    )


class SystemSpec(StrictModel):
    """What each system has: its version, and settings by who owns them. A list is swept."""

    description: ClassVar[Description]

    version: Annotated[
        SweptVersion | None, about("The servers' version; without it the suite's own; a list is swept.")
    ] = None
    heap_mib: dict[str, Annotated[int, Field(ge=_LEAST_HEAP_MIB)]] = Field(
        default_factory=dict,
        description="Heap of a role's JVMs in MiB, by role; without it clusters/*/README.md's.",
    )
    topic: Properties = Field(default_factory=dict, description="Settings of the topic.")
    producer: Properties = Field(default_factory=dict, description="The client's own producer properties.")
    consumer: Properties = Field(default_factory=dict, description="The client's own consumer properties.")
    processor: Properties = Field(
        default_factory=dict,
        description="An application between two topics: when it settles, `batch`, `work`.",
    )
    consumer_group: Properties = Field(
        default_factory=dict,
        description=_GROUP.format(""),
    )
    without: list[Omission] = Field(
        default_factory=list, description="Points of the sweep that are left out, with the reason."
    )
    node_size: dict[str, NodeSize] = Field(
        default_factory=dict,
        description="How much of the machine each node gets, by role; set after the warm-up.",
    )
    spare: dict[str, Count] = Field(
        default_factory=dict,
        description=_SPARE,
    )
    faults: list[dict[str, Any]] = Field(default_factory=list, description=_STEPS)

    @model_validator(mode="after")
    def _variants_fit(self) -> SystemSpec:
        """Refuse variants that set what is swept elsewhere, or what this cluster does not have."""
        variant_by_setting: dict[tuple[str, str], str] = {}
        for name, values in self.named_variants().items():
            keys = {key for variant in values.values() for key in variant.settings()}
            for owner, setting in sorted(keys):
                if owner == "nodes" and setting not in self.node_counts():
                    message = f"variants.{name} sets nodes.{setting}, and there is no {setting}"
                    raise ValueError(message)
                swept = owner != "nodes" and isinstance(getattr(self, owner, {}).get(setting), list)
                if swept or (owner, setting) in variant_by_setting:
                    message = f"variants.{name} sets {owner}.{setting}, which is swept elsewhere too"
                    raise ValueError(message)
                if setting == "partitions":
                    message = f"variants.{name}: partitions are swept by topic.partitions"
                    raise ValueError(message)
                if owner in self.roles() and not self.node_counts().get(owner):
                    message = f"variants.{name} sets {owner}.{setting}, and there is no {owner}"
                    raise ValueError(message)
                variant_by_setting[owner, setting] = name
        return self

    @model_validator(mode="after")
    def _own_steps_once(self) -> SystemSpec:
        """Refuse two sweeps with steps or spare nodes of their own: which of them would count?"""
        for key in sorted(OF_SYSTEM):
            names = [
                name
                for name, values in self.named_variants().items()
                if any(getattr(variant, key) is not None for variant in values.values())
            ]
            if len(names) > 1:
                message = f"variants.{names[0]} and variants.{names[1]} both have {key}: give them to one"
                raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _sizes_of_known_roles(self) -> SystemSpec:
        for role in self.node_size:
            if not self.node_counts().get(role):
                message = (
                    f"node_size.{role}: there is no {role}; nodes: {', '.join(self.node_counts()) or 'none'}"
                )
                raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _spare_of_more(self) -> SystemSpec:
        by_variant = [
            (f"variants.{name}.{value}.", {**self.node_counts(), **variant.nodes}, variant.spare or {})
            for name, variants in self.named_variants().items()
            for value, variant in variants.items()
        ]
        for place, counts, spare in (("", self.node_counts(), self.spare), *by_variant):
            for role, count in spare.items():
                if role != MEMBER and count >= counts.get(role, 0):
                    message = (
                        f"{place}spare.{role}: one {role} at least is started with the cluster: "
                        f"{count} are too many"
                    )
                    raise ValueError(message)
        return self

    def step_lists(self) -> dict[tuple[str, ...], list[dict[str, Any]]]:
        """Return every list of steps that some case has, by where it stands below the system.

        The system's own counts where a case has it: not where every variant of a sweep has its own.
        """
        step_lists: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        sweeps = self.named_variants().items()
        if all(any(variant.faults is None for variant in variants.values()) for _, variants in sweeps):
            step_lists["faults",] = self.faults
        for name, variants in sweeps:
            for value, variant in variants.items():
                if variant.faults is not None:
                    step_lists["variants", name, value, "faults"] = variant.faults
        return step_lists

    def versions(self) -> list[str]:
        """Return the servers' versions that the scenario names."""
        if self.version is None:
            return []
        return self.version if isinstance(self.version, list) else [self.version]

    @classmethod
    def roles(cls) -> list[str]:
        """Return the roles that the system's servers may have."""
        return [role.name for role in cls.description.roles]

    def node_counts(self) -> dict[str, int]:
        """Return how many nodes there are, by role that has any; none for a system without server processes."""
        nodes = getattr(self, "nodes", None)
        return {role: count for role in self.roles() if (count := getattr(nodes, role))}

    def named_variants(self) -> Mapping[str, Mapping[str, Variant]]:
        """Return the sweeps over whole configurations: by name, the values with their settings."""
        variants: Mapping[str, Mapping[str, Variant]] = getattr(self, "variants", {})
        return variants

    def server_properties(self) -> dict[str, Properties]:
        """Return settings of the cluster, by role that there is, or other key that is set."""
        counts = self.node_counts()
        keys = (*self.roles(), *self.description.other_settings)
        properties_by_key: dict[str, Properties] = {key: getattr(self, key) for key in keys}
        return {
            key: properties for key, properties in properties_by_key.items() if properties or key in counts
        }


def spec_of(description: Description) -> type[SystemSpec]:
    """Return the model of a system's part of a scenario file: what all systems have, and its own roles."""
    own_settings = {role.name: role.settings for role in description.roles} | dict(description.other_settings)
    keys: dict[str, Any] = {
        key: (Properties, Field(default_factory=dict, description=words))
        for key, words in (own_settings | dict(description.common_settings)).items()
    }
    if description.group_types:
        keys["consumer_group"] = (
            Properties,
            Field(default_factory=dict, description=_GROUP.format(_types(description))),
        )
    if description.roles:
        keys |= _nodes_and_variants(description)
    spec: type[SystemSpec] = create_model(
        f"{_type_name(description)}Spec", __base__=SystemSpec, __doc__=description.about, **keys
    )
    spec.description = description
    return spec


def _types(description: Description) -> str:
    return f" ({', '.join(description.group_types)})"


def _type_name(description: Description) -> str:
    return description.name.capitalize()


def _nodes_and_variants(description: Description) -> dict[str, Any]:
    title = _type_name(description)
    nodes = create_model(
        f"{title}Nodes",
        __base__=StrictModel,
        __doc__=f"{description.title}'s processes by role.",
        **{role.name: _count(role) for role in description.roles},
    )
    variant = create_model(
        f"{title}Variant",
        __base__=Variant,
        __doc__=f"Settings of {description.title} that go together, by who owns them.",
        **{role.name: _settings(role) for role in description.roles},
    )
    variants = dict[str, Annotated[dict[str, variant], Field(min_length=2)]]  # type: ignore[valid-type]
    by_name = "Sweeps over whole configurations: by name, each value with its settings."
    return {
        "nodes": (nodes, Field(default=nodes(), description="How many processes of each role.")),
        "variants": (variants, Field(default_factory=dict, description=by_name)),
    }


def _count(role: Role) -> Any:  # noqa: ANN401 - what create_model takes
    return Annotated[int, Field(ge=role.least)], Field(default=role.count, description=role.purpose)


def _settings(role: Role) -> Any:  # noqa: ANN401 - as above
    return dict[str, Scalar], Field(default_factory=dict, description=f"Settings of each {role.name}.")


class AnySystems(StrictModel):
    """The systems that a scenario compares."""

    @model_validator(mode="after")
    def _any(self) -> AnySystems:
        if not self.specs():
            message = f"name at least one system: {', '.join(NAMES)}"
            raise ValueError(message)
        return self

    def specs(self) -> dict[str, SystemSpec]:
        """Return the systems that are there, by name."""
        spec_by_system: dict[str, SystemSpec | None] = {name: getattr(self, name) for name in NAMES}
        return {name: spec for name, spec in spec_by_system.items() if spec is not None}


if TYPE_CHECKING:
    Systems = AnySystems
else:
    Systems = create_model(
        "Systems",
        __base__=AnySystems,
        __doc__=AnySystems.__doc__,
        **{
            name: (spec_of(system) | None, Field(default=None, description=system.about))
            for name, system in DESCRIPTIONS.items()
        },
    )
