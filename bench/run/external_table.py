"""What the command prints about external clusters: what one is and allows, and what a plan will write there."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from bench import numbers
from bench.model import Case, text
from bench.pacing import sends
from bench.run import estimate, external_cases
from bench.run.external_clusters import ExternalCluster
from bench.run.plan import Plan
from bench.systems.endpoint import parse


def facts_table(cluster: ExternalCluster) -> Table:
    """Show what a cluster says about itself, and what its file says."""
    shown = Table("", cluster.file)
    shown.add_row("system", cluster.system)
    shown.add_row("address", parse(cluster.endpoint).display_address)
    shown.add_row("version", cluster.facts.version or "unknown: the cluster does not say it")
    for role, count in cluster.facts.nodes.items():
        shown.add_row(f"nodes: {role}", str(count))
    for role, settings in cluster.spec.settings.items():
        for name, value in settings.items():
            stated = " (stated)" if name in cluster.stated.get(role, {}) else ""
            shown.add_row(f"{role}.{name}", f"{text(value)}{stated}")
    for sentence in cluster.facts.unreadable:
        shown.add_row("not readable", sentence)
    shown.add_row("topics", f"{cluster.topic_prefix}… can be created")
    shown.add_row("load", _limit(cluster))
    return shown


def _limit(cluster: ExternalCluster) -> str:
    most = cluster.most_messages_per_s
    return f"{most:,.0f} messages/s at most" if most else "no limit is set"


def lines(plan: Plan) -> Iterator[str]:
    """Say for each external cluster what a plan will write there, and what of the scenario is not so there."""
    for cluster in plan.external.values():
        cases = [trial.case for trial in plan.trials if trial.case.system == cluster.system]
        topics = len(cases) + len({case.name for case in cases})
        yield (
            f"{cluster.file}: {cluster.system} at {parse(cluster.endpoint).display_address}. "
            f"It will get {numbers.plural(topics, 'topic')} {cluster.topic_prefix}… at most, deleted at the end, with "
            f"{_write_volume(plan, cluster, cases)}."
        )
        if cluster.facts.unreadable:
            yield f"  Not readable there: {' '.join(cluster.facts.unreadable)}"
        if not_applied := external_cases.not_applied(cluster, plan.scenario_cases):
            yield f"  Set by the scenario and not there, as far as is known: {', '.join(not_applied)}"


def _write_volume(plan: Plan, cluster: ExternalCluster, cases: list[Case]) -> str:
    """Say how many messages and bytes a plan writes at most."""
    most = [_most_messages(case, cluster.most_messages_per_s) for case in cases]
    rounds = "a round " if plan.loaded.scenario.budget else ""
    if any(count is None for count in most):
        return f"as many messages {rounds}as it takes, as {cluster.file} sets no limit"
    messages = sum(count or 0 for count in most)
    size = sum((count or 0) * case.load.message_bytes for count, case in zip(most, cases, strict=True))
    return f"{messages:,.0f} messages {rounds}at most ({numbers.size(size)}, before copies and without the warm-up)"


def _most_messages(case: Case, most_per_s: float) -> float | None:
    """Return how many messages a trial sends at most; None where nothing limits it."""
    load_messages = case.load.messages if sends(case.load) is None else sends(case.load)
    if load_messages is not None:
        return load_messages
    return estimate.trial_s(case) * most_per_s or None
