"""Documentation: every link to a file of the project, and to a heading of it, leads somewhere."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.run.plan import plan
from bench.scenario import load
from bench.scenario.requirement import read_requirement

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
PAGES = sorted(
    path
    for folder in ("", "docs", "clusters", "reports")
    for path in (ROOT / folder).glob("*.md" if not folder else "**/*.md")
)


def headings(page: Path) -> set[str]:
    """Return the names under which GitHub links to the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.strip().lower()).replace(" ", "-") for one in found}


def broken(page: Path) -> Iterator[str]:
    for path, heading in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield f"{path}: there is no such file"
        elif heading and target.suffix == ".md" and heading not in headings(target):
            yield f"{path}#{heading}: the page has no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert list(broken(page)) == []


def test_a_link_that_leads_nowhere_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One\n[a](other.md) [b](#one) [c](#two) [d](page.md#three) `[e](code.md)`\n", encoding="utf-8"
    )

    assert list(broken(page)) == [
        "other.md: there is no such file",
        "#two: the page has no such heading",
        "page.md#three: the page has no such heading",
    ]


def pages_of(menu: list[Any]) -> Iterator[str]:
    for entry in menu:
        if isinstance(entry, str):
            yield entry
        else:
            (target,) = entry.values()
            yield from pages_of([target] if isinstance(target, str) else target)


def test_the_menu_of_the_website_has_every_page() -> None:
    site = tomllib.loads((ROOT / "docs" / "zensical.toml").read_text(encoding="utf-8"))["project"]

    assert sorted(pages_of(site["nav"])) == sorted(str(page.relative_to(ROOT)) for page in PAGES)


def block(page: str, beginning: str) -> str:
    """Return the code block of a page that begins so."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks: list[str] = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    return next(one for one in blocks if one.startswith(beginning))


def test_the_tutorials_scenario_is_one(tmp_path: Path) -> None:
    file = tmp_path / "two-replicas.yaml"
    file.write_text(block("tutorial.md", "# yaml-language-server"), encoding="utf-8")

    assert [trial.case.topic["replicas"] for trial in plan(load(file), seed=1).trials[:2]] in ([1, 2], [2, 1])


def test_the_tutorials_variant_is_the_scenario_with_large_messages(tmp_path: Path) -> None:
    (tmp_path / "two-replicas.yaml").write_text(
        block("tutorial.md", "# yaml-language-server"), encoding="utf-8"
    )
    file = tmp_path / "two-replicas-large.yaml"
    variant = block("tutorial.md", "name: two-replicas-large")
    file.write_text(variant.replace("extends: two-replicas", "extends: two-replicas.yaml"), encoding="utf-8")

    scenario = load(file).scenario

    assert (scenario.load.message_bytes, scenario.load.producers, scenario.repeats) == (100000, 4, 3)


@pytest.mark.parametrize(("profile", "rounds"), [("quick", 1), ("standard", 5), ("full", 5)])
def test_the_tutorials_fault_can_be_planned(tmp_path: Path, profile: str, rounds: int) -> None:
    file = tmp_path / "two-replicas-kill.yaml"
    schema = "# yaml-language-server: $schema=../scenario.schema.json"
    file.write_text(block("tutorial.md", f"{schema}\nname: two-replicas-kill"), encoding="utf-8")

    loaded = load(file, profile)

    assert loaded.scenario.budget is None
    assert [entry.id for entry in loaded.scenario.expectations] == ["kafka-nothing-lost"]
    assert len(plan(loaded, seed=1).trials) == 2 * rounds


@pytest.mark.parametrize("profile", ["quick", "standard", "full"])
def test_the_scenario_of_ten_lines_can_be_planned(tmp_path: Path, profile: str) -> None:
    file = tmp_path / "full-disk-fast.yaml"
    text = block("scenarios.md", "# yaml-language-server")
    file.write_text(text, encoding="utf-8")

    loaded = load(file, profile)

    assert len(text.splitlines()) == 10
    assert plan(loaded, seed=1).trials
    assert [entry.id for entry in loaded.scenario.expectations] == [
        *("kafka-nothing-lost", "kafka-in-order", "pulsar-nothing-lost", "pulsar-in-order"),
    ]


def test_the_example_of_a_requirement_is_one(tmp_path: Path) -> None:
    file = tmp_path / "requirement.yaml"
    file.write_text(block("how-to/plan-capacity.md", "messages_per_s"), encoding="utf-8")

    assert read_requirement(file).p99_s == 0.2
