"""What `bench help SCENARIO` prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import ScenarioError
from bench.run.manual import manual


def sections(name: str) -> dict[str, str]:
    parts = (part.split("\n", 1) for part in manual(name).split("\n\n"))
    return {title: "\n".join(line.strip() for line in text.splitlines()) for title, text in parts}


def test_a_page_says_what_a_fault_scenario_asks_runs_and_expects() -> None:
    page = sections("broker-kill")

    assert list(page) == [
        *("NAME", "QUESTION", "SOURCE", "CONFIGURATIONS", "EXPECTATIONS", "TIME AND MEMORY", "ANSWER", "RUN"),
    ]
    assert page["NAME"] == "broker-kill - The broker that serves the topic is killed"
    assert page["CONFIGURATIONS"].splitlines()[:3] == [
        "Kafka: 2 configurations; 1 controller, 3 brokers",
        "session: as shipped, 6 s",
        "after 300,000 acknowledged sends: leader killed",
    ]
    assert "Kafka: With a session of 6 s writes never stop for 20 s" in page["EXPECTATIONS"].splitlines()
    assert page["TIME AND MEMORY"].startswith("broker-kill (quick): 4 trials on 4 cluster starts, about ")
    assert "bench run broker-kill --profile quick" in page["RUN"]


def test_a_scenario_without_expectations_steps_or_a_published_run_has_only_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    text = "name: small\ntitle: Small\nquestion: How small?\nsystems: {memory: {}}\nduration: 1s\n"
    file.write_text(text, encoding="utf-8")

    page = sections(str(file))

    assert list(page) == ["NAME", "QUESTION", "CONFIGURATIONS", "TIME AND MEMORY", "RUN"]
    assert page["CONFIGURATIONS"] == "Memory: 1 configuration"


def test_values_stand_in_the_scenarios_order() -> None:
    assert "emulated_fsync: as is, 1ms, 5ms, 10ms" in sections("parity")["CONFIGURATIONS"].splitlines()


def test_steps_that_some_configurations_have_stand_with_what_tells_those_apart() -> None:
    lines = sections("scale-out")["CONFIGURATIONS"].splitlines()

    assert "Pulsar: 2 configurations; 1 zookeeper, 3 or 4 bookies, 2 or 3 brokers" in lines
    assert lines.count("5 s later: partitions given anew") == 1
    lines = sections("version-faults")["CONFIGURATIONS"].splitlines()
    kafka = lines[: lines.index("Pulsar: 6 configurations; 1 zookeeper, 3 bookies, 2 brokers")]
    assert kafka[3:5] == ["fault=leader killed", "4 s later: leader killed"]
    assert kafka[-2:] == ["fault=power cut", "4 s later: power cut"]


@pytest.mark.parametrize("name", ["capacity", "ttl", "cursor-quorums"])
def test_lines_are_no_longer_than_a_terminal(name: str) -> None:
    assert max(map(len, manual(name).splitlines())) <= 100


def test_a_name_that_no_scenario_has_is_an_error_with_the_nearest() -> None:
    with pytest.raises(ScenarioError, match="did you mean 'broker-kill'"):
        manual("broker-kil")
