"""What `helioc compile` built before comes from a cache, and never what is stale."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helioc.commands import kept_builds
from helioc.commands.helioc import cli
from helioc.commands.kept_builds import KeptBuilds
from helioc.compiler.backend import clang
from helioc.compiler.backend.cache import Cache

FILE = """import std.ethernet, shim
pipeline small {
  ports outside
  parser {
    ethernet -> shim when type = 0x88b5
  }
  default pass
  stage all {
    if shim and shim.kind = 1 { drop }
    pass
  }
  run parser -> all
}
"""
SHIM = "header shim {\n  kind : u8\n  other : u8\n}\n"
TYPES = Path("/usr/include/bpf/bpf_endian.h")
OPTIONS: object = ("staged", False, [], None)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The C file of each run of clang."""
    seen: list[str] = []
    run = clang._run

    def noted(command: list[str], *others: Any) -> tuple[int, str]:
        seen.extend(word for word in command[-1:] if word.endswith(".c"))
        return run(command, *others)

    monkeypatch.setattr(clang, "_run", noted)
    return seen


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the file, what it imports, headers of the system and the cache, once built."""
    at = tmp_path_factory.mktemp("made")
    (at / "small.hp").write_text(FILE)
    (at / "shim.hp").write_text(SHIM)
    (at / "system" / "bpf").mkdir(parents=True)
    shutil.copy(TYPES, at / "system" / "bpf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(at / "cache"))
        patch.setenv("CPATH", str(at / "system"))
        patch.chdir(at)
        patch.setattr("helioc.compiler.backend.cache._CLOCK", -60.0)  # its headers are that new
        compiled("--no-trace")
        yield at


def compiled(*options: str) -> tuple[str, dict[str, bytes]]:
    """What it said, and the bundle."""
    done = CliRunner().invoke(cli, ["compile", "small.hp", "-o", "out", *options])
    assert done.exit_code == 0, done.output
    return done.output, {path.name: path.read_bytes() for path in Path("out").iterdir()}


def found(at: Path, file: str = "small.hp", options: object = OPTIONS) -> bool:
    cache = Cache(at / "cache" / "helio" / "builds")
    return KeptBuilds(Path(file), options, cache).found() is not None


def test_unchanged_it_comes_from_the_cache(made: Path, runs: list[str]) -> None:
    again = compiled("--no-trace")
    assert not runs
    assert again == compiled("--no-trace", "--no-cache")
    assert len(runs) == 1
    traced = compiled()
    assert len(runs) == 2  # the plain object was there
    assert traced == compiled()
    assert len(runs) == 2
    assert traced == compiled("--no-cache") and traced != again


def test_each_option_counts(made: Path) -> None:
    assert found(made)
    others: list[tuple[str, bool, list[str], str | None]] = [
        ("fused", False, [], None), ("fused", True, [], None),
        ("staged", False, ["simplify"], None), ("staged", False, [], "tc"),
        ("staged", False, [], "host"),
    ]  # fmt: skip
    for options in others:
        assert not found(made, options=options)


def rewritten(path: Path, text: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    def change(at: Path, patch: pytest.MonkeyPatch) -> None:
        (at / path).write_text(text)

    return change


def variable(name: str, value: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    return lambda at, patch: patch.setenv(name, value.format(at=at))


def another_clang(at: Path, patch: pytest.MonkeyPatch) -> None:
    """Of another version, at the same place."""
    wrapper = at / "clang"
    wrapper.write_text('#!/bin/sh\necho "clang version 99" >&2\nexec clang-16 "$@"\n')
    wrapper.chmod(0o755)
    patch.setattr(clang, "find_clang", lambda: str(wrapper))


def of_the_package(path: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    """The package with one byte more in a file."""

    def change(at: Path, patch: pytest.MonkeyPatch) -> None:
        changed, read = kept_builds.ROOT / path, Path.read_bytes
        assert changed.is_file()
        patch.setattr(Path, "read_bytes", lambda p: read(p) + b"\n" * (p == changed))

    return change


Change = Callable[[Path, pytest.MonkeyPatch], object]


CHANGES: dict[str, Change] = {
    "file": rewritten(Path("small.hp"), FILE.replace("kind = 1", "kind = 2")),
    "import": rewritten(Path("shim.hp"), SHIM.replace("kind : u8", "kind : u16")),
    "import is gone": lambda at, _: (at / "shim.hp").unlink(),
    "header of the system": rewritten(Path("system/bpf/bpf_endian.h"), TYPES.read_text() + "\n"),
    "instruction set": variable("HELIOC_CPU", "v2"),
    "another compiler": variable("HELIOC_CLANG", "clang"),
    "none": variable("HELIOC_CLANG", "no-clang"),
    "where headers are": variable("CPATH", "{at}"),
    "what clang is told": variable("CCC_OVERRIDE_OPTIONS", "+-O1"),
    "clang's version": another_clang,
    "template": of_the_package("templates/pipeline.bpf.c.j2"),
    "our header": of_the_package("templates/helio.bpf.h"),
    "pass": of_the_package("compiler/passes/simplify.py"),
    "grammar": of_the_package("lang/grammar/HelioParser.py"),
    "standard header": of_the_package("pipelines/std/ethernet.hp"),
    "library": lambda _, patch: patch.setattr(kept_builds, "_version", lambda name: (name, "9")),
    "Python": lambda _, patch: patch.setattr("sys.version", "4.0"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_each_input_counts(made: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    kept = {path: path.read_bytes() for path in made.rglob("*.h*") if path.is_file()}
    try:
        with monkeypatch.context() as patch:
            CHANGES[what](made, patch)
            assert not found(made)
    finally:
        for path, content in kept.items():
            path.write_bytes(content)
    assert found(made)


def test_a_changed_import_is_compiled(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = compiled("--no-trace")
    (made / "shim.hp").write_text(SHIM.replace("kind : u8", "kind : u16"))
    try:
        after = compiled("--no-trace")
        assert after == compiled("--no-trace", "--no-cache") and after[1] != before[1]
    finally:
        (made / "shim.hp").write_text(SHIM)
    assert compiled("--no-trace") == before


def test_another_name_of_the_file_counts(made: Path) -> None:
    shutil.copy(made / "small.hp", made / "other.hp")
    assert not found(made, "other.hp") and not found(made, str(made / "small.hp"))


def test_what_is_written_while_it_is_compiled_is_not_kept(made: Path) -> None:
    (made / "late.hp").write_text(FILE)
    cache = Cache(made / "cache" / "helio" / "builds")
    builds, before = KeptBuilds(Path("late.hp"), OPTIONS, cache), set(made.rglob("*"))
    builds.keep(FILE + "\n", KeptBuilds(Path("small.hp"), OPTIONS, cache).found())  # type: ignore[arg-type]
    assert set(made.rglob("*")) == before


def test_warnings_are_said_again(made: Path) -> None:
    """And an error is found again."""
    (made / "small.hp").write_text(FILE.replace("kind = 1", "kind <= 255"))
    try:
        said, bundle = compiled("--no-trace")
        assert (said, bundle) == compiled("--no-trace")
    finally:
        (made / "small.hp").write_text(FILE)
    assert "warning" in said


@pytest.mark.parametrize("damage", [b"", b"damaged"])
def test_damaged_entries_are_made_again(made: Path, runs: list[str], damage: bytes) -> None:
    before = compiled("--no-trace")
    for entry in (made / "cache" / "helio" / "builds").iterdir():
        entry.write_bytes(damage or entry.read_bytes()[:-1])
    assert compiled("--no-trace") == before and len(runs) == 1
    assert compiled("--no-trace") == before and len(runs) == 1


def test_without_a_home_it_compiles(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_builds, "users_folder", lambda _: None)
    assert compiled("--no-trace") == compiled("--no-trace", "--no-cache")


def test_nothing_is_kept_where_nothing_is_to_be(made: Path) -> None:
    before = {path: os.stat(path).st_mtime_ns for path in (made / "cache").rglob("*")}
    compiled("--no-trace", "--no-cache", "--fuse")
    assert {path: os.stat(path).st_mtime_ns for path in (made / "cache").rglob("*")} == before
