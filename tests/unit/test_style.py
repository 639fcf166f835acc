"""Colours that everybody can tell apart, also in grey print, and read on white."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.colors import to_rgb

from bench.report import style

SYSTEMS = ("kafka", "pulsar", "memory")
# Machado, Oliveira and Fernandes (2009), severity 1.0.
DEFICIENCIES = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}
APART = 0.25
"""So far apart, of 1.73 between black and white, two colours are told apart in a thin line."""


def seen(colour: str, matrix: list[list[float]]) -> npt.NDArray[np.float64]:
    linear: npt.NDArray[np.float64] = np.clip(np.array(matrix) @ np.array(to_rgb(colour)), 0, 1)
    return linear


@pytest.mark.parametrize("matrix", DEFICIENCIES.values(), ids=DEFICIENCIES)
def test_kafka_and_pulsar_differ_for_colour_blind_readers(matrix: list[list[float]]) -> None:
    kafka, pulsar = (seen(style.look(system).base, matrix) for system in ("kafka", "pulsar"))

    assert float(np.linalg.norm(kafka - pulsar)) > APART


def test_kafka_and_pulsar_differ_in_grey() -> None:
    kafka, pulsar = (style.luminance(style.look(system).base) for system in ("kafka", "pulsar"))

    assert (pulsar + 0.05) / (kafka + 0.05) > 2


def test_systems_differ_in_their_markers_too() -> None:
    for one, other in combinations(SYSTEMS, 2):
        assert style.look(one).marker != style.look(other).marker


@pytest.mark.parametrize("system", SYSTEMS)
def test_text_in_a_systems_colour_can_be_read_on_white(system: str) -> None:
    look = style.look(system)

    assert style.contrast(look.ink) >= style.LEAST_CONTRAST
    assert all(style.contrast(style.readable(shade)) >= style.LEAST_CONTRAST for shade in look.shades(5))


@pytest.mark.parametrize("colour", [style.INK, style.SOFT, style.QUIET, style.BAD])
def test_all_other_text_can_be_read_on_white(colour: str) -> None:
    assert style.contrast(colour) >= style.LEAST_CONTRAST


def test_contrast_is_that_of_the_guidelines() -> None:
    assert style.contrast("#000000") == pytest.approx(21.0)
    assert style.contrast("#767676") == pytest.approx(4.54, abs=0.01)
