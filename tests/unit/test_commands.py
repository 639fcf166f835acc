import pytest

from bench.backends import commands


def test_a_command_is_told_and_tells() -> None:
    done = commands.run(["cat"], "one")

    assert (done.returncode, done.stdout) == (0, "one")


def test_a_command_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_MOST_S", 0.1)

    done = commands.run(["sleep", "60"])

    assert (done.returncode, done.stderr) == (124, "no end within 0.1 s")
