"""From a scenario to its cases: the product of everything that is swept, system by system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeAlias

from bench.model import EMULATED_FSYNC, PROCESSES, Case, Cluster, Jit, Load, Scalar, Settings, text, texts
from bench.scenario.schema import Scenario
from bench.scenario.system_spec import OF_SYSTEM, Omission, SystemSpec, Variant
from bench.scenario.values import AS_IS, Properties

Key: TypeAlias = tuple[str, str]
"""Who owns a setting (load, topic, broker, producer …) and its name."""

_VARIANT = "variant"
_SIZE = "node_size"
_VERSION: Key = ("cluster", "version")


def cases(scenario: Scenario, version: Callable[[str], str]) -> list[Case]:
    """Return every point of the sweep of every system, possible or not, in the scenario's order.

    `version` gives a system's default version, where the scenario names none.
    """
    sweep_cases: list[Case] = []
    for system, spec in scenario.systems.specs().items():
        variants = spec.named_variants()
        levels: dict[Key, Scalar | list[Scalar]] = {
            (_VARIANT, name): [*variants_by_value] for name, variants_by_value in variants.items()
        }
        settings = levels | _settings(scenario, spec)
        swept = {key: values for key, values in settings.items() if isinstance(values, list)}
        names = _names(swept)
        for point in product(*swept.values()):
            point_values = dict(zip(swept, point, strict=True))
            case_settings: dict[Key, Scalar] = {
                key: point_values[key] if isinstance(value, list) else value
                for key, value in settings.items()
            }
            point_variants = [
                variants[key[1]][str(case_settings.pop(key))]
                for key in [key for key in case_settings if key[0] == _VARIANT]
            ]
            for variant in point_variants:
                case_settings |= variant.settings()
            case = _case(
                scenario,
                system,
                _with_steps_of(spec, point_variants),
                case_settings,
                str(case_settings.get(_VERSION) or version(system)),
            )
            sweep_cases.append(_name_case(case, {names[key]: value for key, value in point_values.items()}))
    return sweep_cases


def has(case: Case, settings: Settings) -> bool:
    """Return whether a case has these values of swept settings."""
    return all(
        name in case.swept and text(case.swept[name]) == text(value) for name, value in settings.items()
    )


def omits(omission: Omission, case: Case) -> bool:
    """Return whether a scenario leaves this case out."""
    return all(
        name in case.swept and text(case.swept[name]) in texts(values)
        for name, values in omission.where.items()
    )


def _with_steps_of(spec: SystemSpec, variants: Sequence[Variant]) -> SystemSpec:
    """Return what a system has, with the steps and spare nodes of these variants in place of its own."""
    replacements = {
        key: value
        for variant in variants
        for key in OF_SYSTEM
        if (value := getattr(variant, key)) is not None
    }
    return spec.model_copy(update=replacements)


def _settings(scenario: Scenario, spec: SystemSpec) -> dict[Key, Scalar | list[Scalar]]:
    """Flatten everything that may be swept, in the order that names cases."""
    owners: dict[str, Mapping[str, object] | Properties] = {
        _VERSION[0]: {_VERSION[1]: spec.version} if spec.version else {},
        "load": {
            "partitions": spec.topic.get("partitions", scenario.topic.partitions),
            "producers": scenario.load.producers,
            "message_bytes": scenario.load.message_bytes,
            "window": scenario.load.window,
            **({} if scenario.load.rate is None else {"rate": scenario.load.rate}),
            "consumers": scenario.consumers,
            "telemetry": scenario.telemetry,
        },
        "topic": {name: value for name, value in spec.topic.items() if name != "partitions"},
        **spec.server_properties(),
        "producer": spec.producer,
        "consumer": spec.consumer,
        "processor": spec.processor,
        "consumer_group": spec.consumer_group,
        "disk": _disk(scenario),
        _SIZE: {
            f"{role}.{name}": value
            for role, size in spec.node_size.items()
            for name, value in size.model_dump(exclude_none=True).items()
        },
    }
    return {
        (owner, name): value  # type: ignore[misc]  # the schema has checked every value
        for owner, settings in owners.items()
        for name, value in settings.items()
    }


def _disk(scenario: Scenario) -> Mapping[str, object]:
    """Give what an fsync is to cost. One emulated cost is a sweep of one: it stands with every number of it."""
    if scenario.disk is None:
        return {}
    cost = scenario.disk.emulated_fsync
    return {EMULATED_FSYNC: cost if isinstance(cost, list) or cost == AS_IS else [cost]}


def _names(swept: Mapping[Key, object]) -> dict[Key, str]:
    """Name each swept setting: its own name, with its owner before it where two owners share the name."""
    plain = [name for _, name in swept]
    return {key: key[1] if plain.count(key[1]) == 1 else f"{key[0]}.{key[1]}" for key in swept}


def _case(
    scenario: Scenario, system: str, spec: SystemSpec, case_settings: Mapping[Key, Scalar], version: str
) -> Case:
    def settings_of(owner: str) -> Settings:
        return {name: value for (who, name), value in case_settings.items() if who == owner}

    servers = {role: settings_of(role) for role in spec.server_properties()}
    nodes = dict(spec.node_counts()) | {role: int(count) for role, count in settings_of("nodes").items()}
    jit = scenario.jit if isinstance(scenario.jit, Jit) else Jit(scenario.jit)
    return Case(
        system=system,
        name="",
        swept={},
        cluster=Cluster(
            system=system,
            version=version,
            nodes=nodes,
            settings=servers,
            heap_mib=spec.heap_mib,
            jit=jit,
            processor=bool(spec.processor),
            members=int(case_settings["load", "consumers"])
            if settings_of("consumer_group").get(PROCESSES)
            else 0,
            spare=dict(spec.spare),
            pinned=scenario.pin,
        ),
        partitions=int(case_settings["load", "partitions"]),
        topic=settings_of("topic"),
        producer=settings_of("producer"),
        consumer=settings_of("consumer"),
        load=_load(scenario, settings_of("load"), interleaved=scenario.is_interleaved(spec)),
        processor=settings_of("processor"),
        consumer_group=settings_of("consumer_group"),
        disk=settings_of("disk"),
        telemetry=bool(case_settings["load", "telemetry"]),
        faults=tuple(spec.faults),
        node_size=_by_role(settings_of(_SIZE)),
        capacity={} if scenario.capacity is None else scenario.capacity.settings(),
    )


def _by_role(sizes: Settings) -> dict[str, dict[str, Scalar]]:
    """Return sizes of nodes, whose names are `broker.cpu`, by role."""
    sizes_by_role: dict[str, dict[str, Scalar]] = {}
    for name, value in sizes.items():
        role, _, size_name = name.partition(".")
        sizes_by_role.setdefault(role, {})[size_name] = value
    return sizes_by_role


def _load(scenario: Scenario, load_settings: Settings, *, interleaved: bool) -> Load:
    rate = load_settings.get("rate")
    trial_load = Load(
        producers=int(load_settings["producers"]),
        message_bytes=int(load_settings["message_bytes"]),
        pacing=scenario.load.pacing(None if rate is None else float(rate)),
        window=int(load_settings["window"]),
        consumers=int(load_settings["consumers"]),
        warm_up_s=scenario.warm_up.trial,
        duration_s=scenario.duration,
        messages=scenario.messages,
        keys=scenario.load.keys or 0,
        processes=scenario.load.processes,
    )
    if not interleaved or scenario.duration is None:
        return trial_load
    cut = scenario.slice
    slices = max(1, round(scenario.duration / cut.length))
    return replace(trial_load, warm_up_s=cut.lead_in, duration_s=cut.length, slices=slices)


def _name_case(case: Case, swept: Settings) -> Case:
    words = [f"{name}={text(value)}" for name, value in swept.items()]
    return replace(case, name=" ".join([case.system, *words]), swept=swept)
