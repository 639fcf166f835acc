from pathlib import Path

import pytest

from bench.errors import SetupError
from bench.model import Jit
from bench.systems.java import Jvm, archiving_command, flags
from bench.systems.servers import Servers


def test_a_server_has_a_heap_of_fixed_size_and_ends_when_out_of_memory() -> None:
    command = Jvm("a.jar:b.jar", 512, Path("folder")).command("some.Main", "its.properties")

    assert command[0] == "java"
    assert {"-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"} <= set(command)
    assert command[-4:] == ("-cp", "a.jar:b.jar", "some.Main", "its.properties")


def test_what_a_server_unpacks_goes_with_its_own_folder(tmp_path: Path) -> None:
    assert f"-Djava.io.tmpdir={tmp_path}" in Jvm("a.jar", 64, tmp_path).command("some.Main")


def test_only_a_cluster_that_asks_for_it_starts_with_the_fast_compiler() -> None:
    assert "-XX:TieredStopAtLevel=1" in Jvm("a.jar", 64, Path("folder"), jit=Jit.C1).command("some.Main")
    assert "-XX:TieredStopAtLevel=1" not in Jvm("a.jar", 64, Path("folder")).command("some.Main")


def test_properties_and_flags_stand_before_the_class(tmp_path: Path) -> None:
    jvm = Jvm(
        "a.jar", 64, Path("folder"), properties={"key": "value"}, options=("-XX:MaxDirectMemorySize=64m",)
    )

    command = jvm.command("some.Main")

    assert command.index("-Dkey=value") < command.index("some.Main")
    assert command.index("-XX:MaxDirectMemorySize=64m") < command.index("some.Main")


def test_an_archive_is_used_only_where_it_exists(tmp_path: Path) -> None:
    archive = tmp_path / "broker.jsa"
    jvm = Jvm("a.jar", 64, Path("folder"), archive=archive)
    assert not any(word.startswith("-XX:SharedArchiveFile") for word in jvm.command("some.Main"))

    archive.touch()

    assert f"-XX:SharedArchiveFile={archive}" in jvm.command("some.Main")


def test_an_archiving_server_writes_an_archive_and_reads_none(tmp_path: Path) -> None:
    old, new = tmp_path / "old.jsa", tmp_path / "new.jsa"
    old.touch()
    command = Jvm("a.jar", 64, Path("folder"), archive=old).command("some.Main", "argument")

    changed = archiving_command(command, new)

    assert changed[:3] == ("java", f"-XX:ArchiveClassesAtExit={new}", "-Xlog:cds*=error")
    assert not any(str(old) in word or word == "-Xshare:auto" for word in changed)
    assert changed[-4:] == command[-4:]


def test_what_a_jvm_was_told_is_its_sizes_and_flags_but_not_its_files(tmp_path: Path) -> None:
    archive = tmp_path / "broker.jsa"
    archive.touch()
    jvm = Jvm(
        "a.jar",
        64,
        Path("folder"),
        Jit.C1,
        archive,
        {"key": "value"},
        ("-XX:MaxDirectMemorySize=48m", "-javaagent:agent.jar"),
    )

    assert flags(jvm.command("some.Main", "-XX:Of=nobody")) == {
        "Xms": "64m",
        "Xmx": "64m",
        "UseSerialGC": True,
        "PerfDisableSharedMem": True,
        "ExitOnOutOfMemoryError": True,
        "TieredStopAtLevel": "1",
        "MaxDirectMemorySize": "48m",
    }
    assert flags(("python", "-XX:Of=nobody")) == {}


def test_the_class_path_is_every_jar_in_order(tmp_path: Path) -> None:
    lib = tmp_path / "lib"
    lib.mkdir()
    for name in ("b.jar", "a.jar", "notes.txt"):
        (lib / name).touch()

    servers = Servers(home=lambda _: tmp_path, archive=lambda *_: tmp_path)

    assert servers.class_path("1") == f"{lib / 'a.jar'}:{lib / 'b.jar'}"


def test_a_server_that_is_not_installed_has_an_empty_class_path(tmp_path: Path) -> None:
    servers = Servers(home=lambda version: tmp_path / version, archive=lambda *_: tmp_path)

    assert not servers.class_path("9.9")


def test_a_home_without_jars_says_what_to_do(tmp_path: Path) -> None:
    servers = Servers(home=lambda _: tmp_path, archive=lambda *_: tmp_path)

    with pytest.raises(SetupError, match="make setup"):
        servers.class_path("1")
