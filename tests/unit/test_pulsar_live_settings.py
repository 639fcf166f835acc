"""Settings read back from a broker, as it shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.model import Node
from bench.systems.pulsar import live_settings

BROKER = Node("broker-1", "broker", "10.99.2.31", (), Path(), Path(), (6650, 8080), 0)


@pytest.mark.parametrize(
    ("shown", "value"),
    [("Optional[0.02]", "0.02"), ("Optional.empty", "Optional.empty"), ("0.02", "0.02"), (0.02, "0.02")],
)
def test_a_value_has_no_optional_around_it(
    monkeypatch: pytest.MonkeyPatch, shown: object, value: str
) -> None:
    monkeypatch.setattr(live_settings, "_file", lambda _: {})
    monkeypatch.setattr(
        live_settings, "_json", lambda _, __: {"loadBalancerOverrideBrokerNicSpeedGbps": shown}
    )

    assert live_settings.node_settings(BROKER) == {"loadBalancerOverrideBrokerNicSpeedGbps": value}
