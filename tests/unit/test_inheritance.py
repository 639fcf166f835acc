"""`extends` in scenario files: what is merged, what a mistake says, and that a run's copy needs no other file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import ScenarioError
from bench.scenario import find, inheritance, load, names, standalone_text
from bench.scenario.load import resolve_document
from bench.scenario.scenario_files import default_names
from bench.scenario.yaml_source import YamlDocument, merge

BASE = """\
name: base
title: The base
question: What does it cost?
systems:
  kafka:
    topic: {replicas: [1, 2], min.insync.replicas: 1}
    producer: {acks: all}
  pulsar:
    topic: {quorums: [1-1-1, 2-2-2]}
labels:
  replicas: {1: alone}
duration: 2s
profiles:
  quick: {repeats: 1, duration: 1s}
"""
OWN = """\
name: own
extends: base.yaml
title: With four replicas
systems:
  kafka:
    topic: {replicas: [1, 4]}
"""


def write(folder: Path, **texts: str) -> Path:
    """Write each text to the file of its name; return the last one."""
    for name, text in texts.items():
        file = folder / f"{name}.yaml"
        file.write_text(text, encoding="utf-8")
    return file


def complaint(file: Path, *overrides: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        load(file, overrides=overrides)
    return str(caught.value)


def test_a_scenario_has_what_its_base_has_but_for_its_own_keys(tmp_path: Path) -> None:
    scenario = load(write(tmp_path, base=BASE, own=OWN)).scenario

    assert (scenario.name, scenario.title) == ("own", "With four replicas")
    assert scenario.question == "What does it cost?"
    assert dict(scenario.systems.specs()["kafka"].topic) == {"replicas": [1, 4], "min.insync.replicas": 1}
    assert list(scenario.systems.specs()) == ["kafka", "pulsar"]


def test_a_profile_and_a_key_of_the_command_line_come_after_the_base(tmp_path: Path) -> None:
    file = write(tmp_path, base=BASE, own=OWN + "profiles: {quick: {duration: 3s}}\n")

    scenario = load(file, "quick", ["systems.kafka.topic.min.insync.replicas=2"]).scenario

    assert (scenario.repeats, scenario.duration) == (1, 3.0)
    assert scenario.systems.specs()["kafka"].topic["min.insync.replicas"] == 2


def test_null_takes_a_key_of_the_base_out(tmp_path: Path) -> None:
    file = write(
        tmp_path, base=BASE, own=OWN + "  pulsar: null\nduration: null\nmessages: 50\nlabels: null\n"
    )

    scenario = load(file).scenario

    assert list(scenario.systems.specs()) == ["kafka"]
    assert (scenario.duration, scenario.messages, scenario.labels) == (None, 50, {})


def test_several_levels_are_merged(tmp_path: Path) -> None:
    middle = OWN.replace("own", "middle")
    file = write(
        tmp_path, base=BASE, middle=middle, top="name: top\nextends: middle.yaml\nquestion: And now?\n"
    )

    scenario = load(file).scenario

    assert (scenario.name, scenario.title, scenario.question) == ("top", "With four replicas", "And now?")


def test_a_scenario_of_the_suite_is_named_without_its_folder(tmp_path: Path) -> None:
    file = write(tmp_path, slow="name: slow\nextends: acks-sweep\nload: {message_bytes: 10000}\n")

    scenario = load(file).scenario

    assert scenario.load.message_bytes == 10000
    assert scenario.load.producers == load(find("acks-sweep")).scenario.load.producers


def test_a_name_is_not_inherited(tmp_path: Path) -> None:
    file = write(tmp_path, base=BASE, own="extends: base.yaml\n")

    assert complaint(file) == f"{file}:1: name: the key 'name' is missing"


def test_a_mistake_in_a_key_of_the_base_names_the_file_of_the_base(tmp_path: Path) -> None:
    file = write(tmp_path, base=BASE.replace("duration: 2s", "duratoin: 2s"), own=OWN)

    assert f"{tmp_path}/base.yaml:12: duratoin: there is no such key; did you mean 'duration'?" in complaint(
        file
    )


def test_a_mistake_in_a_key_of_its_own_names_its_file(tmp_path: Path) -> None:
    file = write(tmp_path, base=BASE, own=OWN.replace("[1, 4]", "[1, 1]"))

    assert complaint(file).startswith(f"{file}:6: systems.kafka.topic.replicas: a value stands twice")


def test_an_item_of_a_list_that_is_replaced_has_its_own_line(tmp_path: Path) -> None:
    wrong = "{system: kafka, when: {metric: tps, at_least: 1}, cause: Why., source: Docs}"
    base = BASE + f"causes:\n  - {wrong}\n  - {wrong}\n"
    file = write(tmp_path, base=base, own=OWN + f"causes:\n  - {wrong}\n")

    assert complaint(file).startswith(f"{file}:8: causes.0.when: metric 'tps'")


def test_presentation_that_no_longer_fits_names_the_line_of_the_base(tmp_path: Path) -> None:
    file = write(tmp_path, base=BASE, own=OWN.replace("[1, 4]", "[2, 4]"))

    assert complaint(file).startswith(f"{tmp_path}/base.yaml:11: labels.replicas.1: no case has replicas=1")


@pytest.mark.parametrize(
    ("extends", "message"),
    [
        ("acks-swep", "there is no scenario and no file of defaults 'acks-swep'; did you mean 'acks-sweep'?"),
        ("xyz", "there is no scenario and no file of defaults 'xyz'; `bench list` shows the scenarios"),
        ("other.yaml", "there is no file {folder}/other.yaml"),
        ("folder.yaml", "there is no file {folder}/folder.yaml"),
        ("[a, b]", "give the name of one scenario, or the path of its file; it is ['a', 'b']"),
        ("own.yaml", "own.yaml extends own.yaml: take one of these keys out"),
        ("circle.yaml", "own.yaml extends circle.yaml extends own.yaml: take one of these keys out"),
    ],
)
def test_a_base_that_cannot_be_is_refused_with_file_line_and_key(
    tmp_path: Path, extends: str, message: str
) -> None:
    (tmp_path / "folder.yaml").mkdir()
    file = write(tmp_path, circle="extends: own.yaml\n", own=f"name: own\nextends: {extends}\n")
    faulty, line = ("circle.yaml", 1) if "circle" in extends else ("own.yaml", 2)

    assert complaint(file) == f"{tmp_path}/{faulty}:{line}: extends: {message.format(folder=tmp_path)}"


def test_a_base_that_is_no_yaml_is_named(tmp_path: Path) -> None:
    assert complaint(write(tmp_path, base="a: [\n", own=OWN)).startswith(
        f"{tmp_path}/base.yaml:2: this is not"
    )


@pytest.mark.parametrize("text", ["extends", "extend"])
def test_a_base_is_chosen_in_the_file_only(tmp_path: Path, text: str) -> None:
    assert f"{text}: there is no such key" in complaint(write(tmp_path, base=BASE), f"{text}=acks-sweep")


def test_a_copy_in_a_run_folder_stands_alone(tmp_path: Path) -> None:
    file = write(tmp_path, base=BASE, own=OWN + "expectations: [{no_message_is: lost}]\n")
    (tmp_path / "run").mkdir()
    copy = tmp_path / "run" / "scenario.yaml"

    copy.write_text(standalone_text(file), encoding="utf-8")

    assert "extends" not in yaml.safe_load(copy.read_text(encoding="utf-8"))
    assert "no_message_is" not in copy.read_text(encoding="utf-8")
    assert load(copy, "quick").scenario == load(file, "quick").scenario


def test_the_copy_of_a_scenario_that_extends_nothing_is_its_file(tmp_path: Path) -> None:
    assert standalone_text(write(tmp_path, base=BASE)) == BASE


@pytest.mark.parametrize("name", sorted(names()))
def test_the_copy_of_each_scenario_of_the_suite_is_the_same_scenario(tmp_path: Path, name: str) -> None:
    copy = tmp_path / "scenario.yaml"
    copy.write_text(standalone_text(find(name)), encoding="utf-8")

    assert resolve_document(copy).value == resolve_document(find(name)).value


def test_a_file_of_defaults_is_no_scenario() -> None:
    assert not set(names().values()) & set(default_names().values())


@pytest.mark.parametrize("name", sorted(default_names()))
def test_a_file_of_defaults_has_only_what_scenarios_share(name: str) -> None:
    document = inheritance.read(default_names()[name]).value

    assert not document.keys() & {"name", "title", "question", "expectations"}


_KEYS = st.sampled_from("abcd")
_SCALARS = st.one_of(st.integers(0, 9), st.text("xy", max_size=2), st.lists(st.integers(0, 9), max_size=3))
_MAPPINGS = st.recursive(
    st.dictionaries(_KEYS, _SCALARS, max_size=4),
    lambda inner: st.dictionaries(_KEYS, inner | _SCALARS),
    max_leaves=12,
)


def _split(content: dict[str, Any], draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a mapping into a base and what lies over it; the base may have other values, and keys of its own."""
    base: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for key, value in content.items():
        where = draw(st.sampled_from(["base", "rest", "replaced", "inside"]))
        if where == "inside" and isinstance(value, dict):
            base[key], rest[key] = _split(value, draw)
        elif where == "base":
            base[key] = value
        else:
            rest[key] = value
            if where == "replaced" and not isinstance(value, dict):
                base[key] = draw(_SCALARS | _MAPPINGS)
    for key in draw(st.lists(st.sampled_from("efg"), unique=True)):
        base[key], rest[key] = draw(_SCALARS), None
    return base, rest


@st.composite
def _splits(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    content = draw(_MAPPINGS)
    return content, *_split(content, draw)


@given(_splits())
def test_content_that_is_split_into_a_base_and_the_rest_is_the_same(
    parts: tuple[dict[str, Any], dict[str, Any], dict[str, Any]],
) -> None:
    content, base, rest = parts

    assert merge(YamlDocument(base), YamlDocument(rest)).value == content


def _paths(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner: list[tuple[Any, object]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(below for key, part in inner for below in _paths(part, (*path, key)))]


def _document(value: dict[str, Any], file: str) -> YamlDocument:
    return YamlDocument(value, {path: f"{file}:{path}" for path in _paths(value)})


@given(_splits())
def test_every_key_of_a_merged_document_has_a_place_in_the_file_that_decides_it(
    parts: tuple[dict[str, Any], dict[str, Any], dict[str, Any]],
) -> None:
    _, base, rest = parts
    document = merge(_document(base, "base"), _document(rest, "own"))

    assert set(document.places) == set(_paths(document.value))
    for path in _paths(rest):
        if path in document.places:
            assert document.places[path] == f"own:{path}"
