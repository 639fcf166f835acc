"""What a scenario says of how its results are presented: labels, comparisons, causes, a note.

All of it comes from the scenario file of today, so that a published run gets new words without being run again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from bench import numbers
from bench.errors import ReportError, ScenarioError
from bench.model import text, texts
from bench.report import results
from bench.scenario import Scenario, catalogue, load
from bench.scenario.presentation import CauseSpec, ComparisonSpec
from bench.systems.description import Words
from bench.systems.registry import describe, system_title

_COMMON_LABELS = Path(__file__).with_name("labels.yaml")
_THROUGHPUT = "throughput_msgs_per_s"


@dataclass(frozen=True, slots=True)
class Labels:
    """Short names of configurations.

    `scenario_words` are the words of the scenario, which go before those of the system and of labels.yaml.
    """

    scenario_words: Words = field(default_factory=dict)

    def label(self, system: str, settings: Mapping[str, str]) -> str:
        """Name a configuration by the settings given: "4 replicas, wait for all"; without any the system's title.

        Give only settings whose values differ between the cases of the system. A setting without effect beside the
        others (min.insync.replicas with acks=1) is left out.
        """
        return self._join_values(system, {name: settings[name] for name in _effective(system, settings)})

    def distinct(self, system: str, cases: Sequence[Mapping[str, str]]) -> list[str]:
        """Name several configurations of a system; where two labels are the same, settings without effect are named."""
        labels = [self.label(system, settings) for settings in cases]
        return [
            self._join_values(system, settings) if labels.count(label) > 1 else label
            for label, settings in zip(labels, cases, strict=True)
        ]

    def value(self, system: str, setting: str, value: str) -> str:
        """Name one value of a setting; empty where it says nothing."""
        words = self.scenario_words.get(setting, {})
        return words[value] if value in words else _default_words(system, setting, value)

    def _join_values(self, system: str, settings: Mapping[str, str]) -> str:
        words = (self.value(system, name, value) for name, value in settings.items())
        return ", ".join(filter(None, words)) or system_title(system)


@dataclass(frozen=True, slots=True)
class DeclaredComparison:
    """A comparison of the first page, in one of two forms.

    With `change`: the case `of` of `system` over its case `to`. Both are swept settings with values as results have
    them, and pick one case of the scenario's standard profile, or several for a time without writes. A run that sweeps
    more (`full` adds emulated fsyncs) has several such cases: the one on the unmodified disk counts. With `guarantee`:
    both systems, each by the configuration that promises it with the fewest copies, `at` these settings. `metric` is a
    column of results/trials. `advice` is a sentence by outcome: more, less, same; or the faster system's name, same.
    """

    metric: str
    change: str = ""
    system: str = ""
    of: Mapping[str, str] = field(default_factory=dict)
    to: Mapping[str, str] = field(default_factory=dict)
    guarantee: str = ""
    at: Mapping[str, str] = field(default_factory=dict)
    advice: Mapping[str, str] = field(default_factory=dict)

    def is_promised(self, survives: Iterable[str | None]) -> bool:
        """Whether two configurations with the same guarantee have this one.

        `survives` are both systems' words for it (Guarantee.survives): Kafka loses a node where Pulsar loses a bookie.
        """
        return bool(self.guarantee) and self.guarantee in survives

    def advice_for(self, outcome: str) -> tuple[str, ...]:
        """Return what to do about an outcome; nothing where nothing is declared for it."""
        return (self.advice[outcome],) if self.advice.get(outcome) else ()


@dataclass(frozen=True, slots=True)
class DeclaredCause:
    """Why a fault did what it did to the cases of `system` that have one of the values of `setting_values`.

    It may be shown only where the data agree (`agrees`).
    """

    system: str
    setting_values: Mapping[str, tuple[str, ...]]
    metric: str
    at_least: float | None
    at_most: float | None
    cause: str
    prevention: str
    source: str

    def explained_trials(self, trials: pd.DataFrame) -> pd.DataFrame:
        """Return the valid trials of the cases that it explains; `trials` as in results/trials."""
        explained_trials = trials[(trials["verdict"] == "valid") & (trials["system"] == self.system)]
        for name, values in self.setting_values.items():
            if name not in explained_trials:
                return explained_trials.iloc[:0]
            explained_trials = explained_trials[explained_trials[name].map(numbers.text).isin(values)]
        return explained_trials

    def agrees(self, trials: pd.DataFrame) -> bool:
        """Whether there are valid trials of these cases, and the metric of each is known and within the bounds."""
        explained_trials = self.explained_trials(trials)
        if explained_trials.empty or self.metric not in explained_trials:
            return False
        return all(self._within(value) for value in explained_trials[self.metric])

    def _within(self, value: object) -> bool:
        if numbers.absent(value):
            return False
        number = float(value)  # type: ignore[arg-type]  # a cell of a column of numbers
        low, high = self.at_least, self.at_most
        return (low is None or number >= low) and (high is None or number <= high)


@dataclass(frozen=True, slots=True)
class Presentation:
    """What a scenario says of how its results are presented.

    `note` is a sentence of the first page, or empty. `title`, `question`, `source` and `claims` (by the id of an
    expectation) are today's words: they go before those of a run's manifest and expectations.json where they are not
    empty.
    """

    labels: Labels = Labels()
    comparisons: tuple[DeclaredComparison, ...] = ()
    causes: tuple[DeclaredCause, ...] = ()
    note: str = ""
    title: str = ""
    question: str = ""
    source: str = ""
    claims: Mapping[str, str] = field(default_factory=dict)


def presentation(run: Path) -> Presentation:
    """Return what the scenario file of a run's name says today; without one what the run's own copy says.

    Of a run that was read in from elsewhere, or whose copy is no scenario any more, only the default words of labels.
    Raises ReportError where the manifest or today's scenario file cannot be read.
    """
    name = str(results.document(run / "manifest.json").get("scenario"))
    today = catalogue.names().get(name)
    if today is not None:
        try:
            return of_scenario(load(today).scenario)
        except ScenarioError as error:
            raise ReportError(f"{run}: its scenario file cannot be read: {error}") from error
    copy = run / "scenario.yaml"
    try:
        return of_scenario(load(copy).scenario) if copy.is_file() else Presentation()
    except ScenarioError:
        return Presentation()


def compared_since(run: Path) -> bool:
    """Whether the comparisons of the first page are not those that the scenario named when the run began."""
    copy, today = run / "scenario.yaml", presentation(run)
    try:
        return copy.is_file() and of_scenario(load(copy).scenario).comparisons != today.comparisons
    except ScenarioError:  # a file of an older version
        return bool(today.comparisons)


def of_scenario(scenario: Scenario) -> Presentation:
    """Return what a scenario says of how its results are presented."""
    metric = scenario.expectations[0].metric if scenario.expectations else _THROUGHPUT
    return Presentation(
        labels=Labels(scenario.labels),
        comparisons=tuple(_comparison(entry, metric) for entry in scenario.answer),
        causes=tuple(_cause(entry) for entry in scenario.causes),
        note=scenario.note,
        title=scenario.title,
        question=scenario.question,
        source=scenario.source or "",
        claims={expectation.id: expectation.claim for expectation in scenario.expectations},
    )


def _comparison(entry: ComparisonSpec, metric: str) -> DeclaredComparison:
    return DeclaredComparison(
        metric=entry.metric or metric,
        change=entry.change or "",
        system=entry.system or "",
        of=_as_text(entry.of),
        to=_as_text(entry.to),
        guarantee=entry.guarantee or "",
        at=_as_text(entry.at),
        advice={outcome: sentence for outcome, sentence in entry.advice.items()},  # noqa: C416 - literals become text
    )


def _cause(entry: CauseSpec) -> DeclaredCause:
    return DeclaredCause(
        system=entry.system,
        setting_values={name: tuple(texts(values)) for name, values in entry.where.items()},
        metric=entry.when.metric,
        at_least=entry.when.at_least,
        at_most=entry.when.at_most,
        cause=entry.cause,
        prevention=entry.prevention or "",
        source=entry.source,
    )


def _as_text(settings: Mapping[str, Any]) -> dict[str, str]:
    return {name: text(value) for name, value in settings.items()}


def _effective(system: str, settings: Mapping[str, str]) -> list[str]:
    """Name the settings that have an effect beside the others."""
    without = describe(system).without_effect
    return [
        name
        for name in settings
        if not any(
            settings.get(other_setting) in values for other_setting, values in without.get(name, {}).items()
        )
    ]


def _default_words(system: str, setting: str, value: str) -> str:
    _, _, without_owner = setting.partition(".")
    for words in (describe(system).labels, _common_labels()):
        for pattern, phrase in (words.get(setting) or words.get(without_owner) or {}).items():
            if match := re.fullmatch(pattern, value):
                return match.expand(phrase)
    return value if " " in value else f"{setting}={value}"


@cache
def _common_labels() -> Words:
    labels: Words = yaml.safe_load(_COMMON_LABELS.read_text(encoding="utf-8"))
    return labels
