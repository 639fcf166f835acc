from itertools import pairwise
from pathlib import Path

import pytest

from bench.errors import EventLogError, ScenarioError
from bench.run import manifest as manifests
from bench.run import run_comparison
from bench.run.folder import RunFolder
from bench.run.plan import Plan, plan, replan
from bench.scenario import load

SWEEP = """\
name: sweep
title: A sweep
question: In which order?
systems:
  kafka:
    topic: {replicas: [1, 2, 4], min.insync.replicas: [1, 2]}
    producer: {acks: [all, 1]}
  memory:
    producer: {loss: [0.0, 0.1]}
duration: 1s
repeats: 3
"""


def made(folder: Path, seed: int = 1, text: str = SWEEP) -> Plan:
    file = folder / "sweep.yaml"
    file.write_text(text, encoding="utf-8")
    return plan(load(file), seed)


def test_every_case_that_can_exist_is_run_once_a_round(tmp_path: Path) -> None:
    chosen = made(tmp_path)

    by_round = [[t.case.name for t in chosen.trials if t.round == number] for number in range(3)]

    assert [len(names) for names in by_round] == [12, 12, 12]
    assert [set(names) for names in by_round] == [set(by_round[0])] * 3
    assert [trial.number for trial in chosen.trials] == list(range(36))


def test_the_order_differs_between_rounds_and_is_the_same_for_a_seed(tmp_path: Path) -> None:
    first, again, other = made(tmp_path), made(tmp_path), made(tmp_path, seed=2)

    names = [trial.case.name for trial in first.trials]

    assert names[:12] != names[12:24]
    assert names == [trial.case.name for trial in again.trials]
    assert names != [trial.case.name for trial in other.trials]


def test_each_case_has_early_and_late_places_alike(tmp_path: Path) -> None:
    places: dict[tuple[str, int], list[int]] = {}
    for _, trials in made(tmp_path).clusters():
        for place, trial in enumerate(trials):
            places.setdefault((trial.case.name, len(trials)), []).append(place)

    for (_, count), found in places.items():
        assert len(set(found)) == min(3, count)
        assert max(found) - min(found) >= count // 3


def test_another_case_comes_before_each_from_round_to_round(tmp_path: Path) -> None:
    before: dict[str, list[str]] = {}
    for _, trials in made(tmp_path).clusters():
        for one, next_one in pairwise(trials if len(trials) > 2 else ()):
            before.setdefault(next_one.case.name, []).append(one.case.name)

    assert before
    assert all(len(set(found)) == len(found) for found in before.values())


def test_a_round_starts_each_cluster_once(tmp_path: Path) -> None:
    chosen = made(tmp_path)

    starts = chosen.clusters()

    assert len(starts) == 3 * 2
    assert sum(len(trials) for _, trials in starts) == 36


def test_points_that_cannot_exist_are_left_out_with_the_reason(tmp_path: Path) -> None:
    chosen = made(tmp_path)

    assert {
        (point.settings["replicas"], point.settings["min.insync.replicas"]) for point in chosen.left_out
    } == {(1, 2)}
    assert "min.insync.replicas" in chosen.left_out[0].reason


def test_a_configuration_that_cannot_exist_at_all_is_refused_with_its_line(tmp_path: Path) -> None:
    text = SWEEP.replace("replicas: [1, 2, 4], min.insync.replicas: [1, 2]", "replicas: 9")

    with pytest.raises(
        ScenarioError, match=r"sweep\.yaml:6: systems\.kafka\.topic\.replicas: this cannot exist"
    ):
        made(tmp_path, text=text)


WITHOUT = """\
    without:
      - where: {acks: [1], min.insync.replicas: 2}
        because: Only acks=all reads it.
"""


def without(omissions: str) -> str:
    return SWEEP.replace("  memory:\n", f"{omissions}  memory:\n")


def test_points_that_a_scenario_leaves_out_are_listed_with_its_reason(tmp_path: Path) -> None:
    chosen = made(tmp_path, text=without(WITHOUT))

    left_out = {
        (point.settings["replicas"], point.settings["acks"])
        for point in chosen.left_out
        if point.reason == "Only acks=all reads it."
    }
    assert left_out == {(1, 1), (2, 1), (4, 1)}
    assert len(chosen.trials) == len(made(tmp_path).trials) - 3 * 2  # replicas=1 could not exist anyway


@pytest.mark.parametrize("where", ["{acks: [0]}", "{ack: [1]}", "{acks: 1, min.insync.replicas: 4}"])
def test_an_omission_that_leaves_nothing_out_is_refused(tmp_path: Path, where: str) -> None:
    omissions = WITHOUT.replace("{acks: [1], min.insync.replicas: 2}", where)

    with pytest.raises(ScenarioError, match=r"sweep.yaml:\d+: systems.kafka.without.*no point of the sweep"):
        made(tmp_path, text=without(omissions))


def test_a_value_that_no_case_can_have_is_refused_and_not_left_out(tmp_path: Path) -> None:
    text = SWEEP.replace("acks: [all, 1]", "acks: [all, al]")

    with pytest.raises(
        ScenarioError,
        match=r"sweep\.yaml:7: systems\.kafka\.producer\.acks: no case with acks=al can exist: acks is",
    ):
        made(tmp_path, text=text)


def test_an_unknown_setting_is_refused_with_its_line_and_the_nearest_name(tmp_path: Path) -> None:
    text = SWEEP.replace("acks: [all, 1]", "aks: 1")

    with pytest.raises(ScenarioError, match=r"sweep\.yaml:7: systems\.kafka\.producer\.aks: .*acks"):
        made(tmp_path, text=text)


def test_a_run_folder_plans_the_same_trials_again_or_says_that_it_cannot(tmp_path: Path) -> None:
    chosen = made(tmp_path)
    folder = RunFolder(tmp_path)
    (tmp_path / "sweep.yaml").rename(tmp_path / "scenario.yaml")
    folder.write("plan.json", chosen.document())
    folder.write("manifest.json", {"profile": "standard", "overrides": [], "seed": 1})

    assert replan(folder).trials == chosen.trials

    folder.amend("manifest.json", seed=2)
    with pytest.raises(EventLogError, match="plans other trials"):
        replan(folder)


def test_the_manifest_tells_how_long_clusters_may_be_warmed_up_so_that_it_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for measured in ("machine", "versions", "disks.fsync_cost"):
        monkeypatch.setattr(f"bench.run.manifest.{measured}", lambda _: {})
    text = SWEEP.replace("duration", "warm_up: {cluster: 7s}\nduration")
    one, other = (
        manifests.manifest(RunFolder(tmp_path), made(tmp_path, text=text)) for text in (SWEEP, text)
    )

    (found,) = run_comparison.differences(one, other, ({}, {}))

    assert (found.key, found.first, found.second) == ("cluster_warm_up_s", "20.0", "7.0")
    older = {name: value for name, value in one.items() if name != "cluster_warm_up_s"}
    assert [found.first for found in run_comparison.differences(older, one, ({}, {}))] == ["nothing"]
