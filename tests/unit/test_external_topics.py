"""Which topics on a cluster of others a run may delete: those that it has created, and no others."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.errors import ClusterError, TopicExistsError
from bench.model import Cluster, Topic
from bench.run import external_clusters, inside
from bench.run.folder import RunFolder
from bench.run.testbed import Testbed
from bench.systems.memory.admin import MemoryAdmin

RUN = "20261128-101112-small-standard"
FIRST, SECOND = (f"bench-{RUN}-trial-{number:04d}" for number in range(2))


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    folder = tmp_path / "cluster"
    folder.mkdir()
    return Cluster("memory", "1", {}, external=str(folder), topic_prefix="bench-")


def admin_of(cluster: Cluster) -> MemoryAdmin:
    return MemoryAdmin(Path(cluster.external))


def bed_on(admin: object, folder: Path) -> Testbed:
    live: Any = SimpleNamespace(admin=admin)
    return Testbed(live, SimpleNamespace(), RunFolder(folder / RUN), seed=1)  # type: ignore[arg-type]  # no load


def topics(cluster: Cluster) -> set[str]:
    return {entry.name for entry in Path(cluster.external).iterdir()}


def test_a_topic_of_somebody_else_stays_where_the_run_deletes_its_own(
    cluster: Cluster, tmp_path: Path
) -> None:
    admin_of(cluster).create_topic(Topic(SECOND, 1))
    testbed = bed_on(admin_of(cluster), tmp_path)

    with pytest.raises(TopicExistsError, match=SECOND):
        testbed.create_topics([Topic(FIRST, 1), Topic(SECOND, 1)])
    assert topics(cluster) == {FIRST, SECOND}
    external_clusters.delete_topics(cluster, testbed.created)

    assert topics(cluster) == {SECOND}


def test_a_topic_that_may_have_been_created_without_an_answer_is_the_runs_own(
    cluster: Cluster, tmp_path: Path
) -> None:
    def create(topic: Topic) -> None:
        admin_of(cluster).create_topic(topic)
        raise ClusterError("Nobody answers.")

    testbed = bed_on(SimpleNamespace(create_topic=create), tmp_path)

    with pytest.raises(ClusterError, match="Nobody answers"):
        testbed.create_topics([Topic(FIRST, 1)])
    external_clusters.delete_topics(cluster, testbed.created)

    assert topics(cluster) == set()


@pytest.mark.parametrize(("has_begun", "expected"), [(False, set()), (True, {FIRST})])
def test_only_a_run_that_goes_on_has_left_topics_of_its_name(
    cluster: Cluster, tmp_path: Path, has_begun: bool, expected: set[str]
) -> None:
    for name in (FIRST, f"bench-{RUN}-1-trial-0000", f"bench-{RUN}-orders"):
        admin_of(cluster).create_topic(Topic(name, 1))
    folder = RunFolder(tmp_path / RUN)
    (folder.logs / "00-memory" if has_begun else folder.logs).mkdir(parents=True)
    plan: Any = SimpleNamespace(external={"memory": SimpleNamespace(spec=cluster)})

    assert inside._left_topics(folder, plan) == expected
