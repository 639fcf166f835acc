"""Which cases of a scenario an external cluster can run: it is taken as it is, and nothing of it is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bench.backends.external_backend import missing_commands
from bench.faults import Step, read_steps
from bench.faults.drain import Drain
from bench.faults.step import Rebalance
from bench.model import Case, Scalar, text
from bench.run import process_cases
from bench.run.external_clusters import ExternalCluster, access_to
from bench.systems import membership
from bench.systems.properties import same
from bench.systems.registry import describe

_COMMANDS = {
    "kill": ("kill", "start"),
    "stop": ("stop", "start"),
    "pause": ("pause", "resume", "state"),
}
"""What each kind of fault takes of a cluster's file."""
_Setting = tuple[str, str]
"""A role and the name of a property of its servers; or another key of a cluster, and a role."""


def place_cases(cluster: ExternalCluster, cases: Sequence[Case]) -> list[tuple[Case, list[str]]]:
    """Return each case on this cluster, with the reasons why it cannot run there, in full sentences."""
    varied = _varied_settings(cases)
    return [(_on(cluster, case), [*_reasons(cluster, case, varied)]) for case in cases]


def _on(cluster: ExternalCluster, case: Case) -> Case:
    """Return a case on the cluster; nothing of the machine's own is emulated there."""
    spec = cluster.spec
    topic = {**access_to(spec).topic_defaults(), **case.topic}
    load = replace(case.load, most_per_s=cluster.most_messages_per_s)
    return replace(case, cluster=spec, topic=topic, disk={}, node_size={}, load=load)


def _reasons(cluster: ExternalCluster, case: Case, varied: Iterable[_Setting]) -> Iterator[str]:
    if case.cluster.pinned:
        yield "Servers of others are not pinned to cores (pin)."
    steps = read_steps(case.faults)
    broken = dict.fromkeys(step.name for step in steps if step.fault is not None)
    if broken and not cluster.nodes:
        yield (
            f"Its steps ({', '.join(broken)}) act on nodes, and the cluster file gives no commands for nodes (key "
            "`nodes`)."
        )
    else:
        yield from _impossible(cluster, steps)
    group_type = case.consumer_group.get(membership.TYPE)
    if group_type in access_to(cluster.spec).group_types_with_settings:
        yield f"A consumer group of type {group_type} takes a setting of the cluster, which must not be changed."
    yield from process_cases.reasons(case)
    yield from _too_fast(cluster, case)
    for role, name in varied:
        yield from _other_value(cluster, case, role, name)


def _impossible(cluster: ExternalCluster, steps: Sequence[Step]) -> Iterator[str]:
    """Say which steps cannot be carried out on a cluster, and which its file has no commands for."""
    access = access_to(cluster.spec)
    for step in steps:
        if step.when.copies is not None and not access.tells_copies:
            yield f"{step.name!r} waits until copies are missing, which this system does not report to clients."
        if step.fault is None:
            if isinstance(step.action, (Drain, Rebalance)):
                yield f"Nothing is moved on an external cluster: {step.name}."
            continue
        commands = _COMMANDS.get(step.fault.key)
        if commands is None:
            yield f"{step.fault.key} is not possible on an external cluster; possible are {', '.join(_COMMANDS)}."
            continue
        missing = [
            f"{node} lacks {', '.join(names)}"
            for node in cluster.nodes
            if (names := missing_commands(cluster.nodes, commands, node))
        ]
        known_targets = (*cluster.nodes, "all ", "any ", "node ", *access.parts)
        for target in step.fault.names():
            if not target.startswith(known_targets):
                yield f"Nobody outside the cluster knows who is its {target}."
        if missing:
            yield f"{step.name!r} needs commands that {cluster.file} does not have: {'; '.join(missing)}."


def _too_fast(cluster: ExternalCluster, case: Case) -> Iterator[str]:
    most = cluster.most_messages_per_s
    if not most:
        return
    if case.capacity:
        yield f"A search for capacity has no limit, and {cluster.file} sets most_messages_per_s: {most:,.0f}."
    fastest = max((rate for _, rate in case.load.pacing.steps), default=0.0)
    if fastest > most:
        yield f"{fastest:,.0f} messages/s are more than most_messages_per_s: {most:,.0f} of {cluster.file}."


def _varied_settings(cases: Sequence[Case]) -> list[_Setting]:
    """Return what of the servers differs between cases: a cluster that is there has one value of it."""
    everything: dict[_Setting, list[object]] = {}
    for case in cases:
        for key in _of_servers(case):
            everything[key] = []
    for case in cases:
        settings = _of_servers(case)
        for key, values in everything.items():
            values.append(settings.get(key))
    return [key for key, values in everything.items() if any(value != values[0] for value in values)]


def _of_servers(case: Case) -> dict[_Setting, Scalar]:
    """Return everything that a case asks of its servers."""
    cluster = case.cluster
    return {
        ("", "version"): cluster.version,
        **{("nodes", role): count for role, count in cluster.nodes.items()},
        **{("heap_mib", role): size for role, size in cluster.heap_mib.items()},
        **{
            (role, name): value
            for role, settings in cluster.settings.items()
            for name, value in settings.items()
        },
        **{
            ("node_size", f"{role}.{name}"): value
            for role, sizes in case.node_size.items()
            for name, value in sizes.items()
        },
    }


def _other_value(cluster: ExternalCluster, case: Case, role: str, name: str) -> Iterator[str]:
    """Say why a case's value of something that differs between cases is not the cluster's."""
    label, case_value = ".".join(filter(None, (role, name))), _of_servers(case).get((role, name))
    live = _live_values(cluster).get((role, name))
    if live is None:
        state = f"; state it in {cluster.file} below `settings`" if role in _roles(cluster) else ""
        yield f"The cluster's value of {label} cannot be read{state}."
    elif case_value is None or not same(text(case_value), text(live)):
        yield f"{label} is {text(live)} there."


def _live_values(cluster: ExternalCluster) -> dict[_Setting, Scalar]:
    spec = cluster.spec
    return {
        **({("", "version"): spec.version} if spec.version else {}),
        **{("nodes", role): count for role, count in spec.nodes.items()},
        **{
            (role, name): value
            for role, settings in spec.settings.items()
            for name, value in settings.items()
        },
    }


def _roles(cluster: ExternalCluster) -> set[str]:
    return {role.name for role in describe(cluster.system).roles}


def not_applied(cluster: ExternalCluster, cases: Sequence[Case]) -> list[str]:
    """List what the scenario sets of its own servers and this cluster does not have, as far as is known."""
    system_cases = [case for case in cases if case.system == cluster.system]
    live, varied = _live_values(cluster), _varied_settings(system_cases)
    scenario_settings: dict[_Setting, Scalar] = {}
    for case in system_cases:
        scenario_settings |= {
            key: value
            for key, value in _of_servers(case).items()
            if key not in varied and (key in live or key[0] in _roles(cluster) or key[0] == "node_size")
        }
    return [
        f"{role}.{name}={text(value)}"
        for (role, name), value in scenario_settings.items()
        if not ((role, name) in live and same(text(value), text(live[role, name])))
    ]
