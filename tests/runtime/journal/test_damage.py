"""Whatever happens to a file of the journal: all is there, or its loss is reported.

`HELIO_BYTES=all` damages every byte; else a sample of them, other ones each day.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.journal.heads import HEADS
from helioc.runtime.journal.ledger import Ledger
from helioc.runtime.journal.recovery import OURS
from helioc.runtime.journal.state import COPIES
from helioc.runtime.journal.store import Store
from journal_world import begin, fold, write

SAMPLE = 0 if os.environ.get("HELIO_BYTES") == "all" else 1500
#: Bytes of a page, and requests that come to the disk at a time.
PAGE, GROUP = 4096, 2
Files = dict[str, bytes]


@dataclass
class Held:
    """What a store has of each pipeline, and of the intents (\"\"): parts by name."""

    parts: dict[str, dict[str, object]] = field(default_factory=dict)
    losses: set[str] = field(default_factory=set)
    unconfirmed: set[str] = field(default_factory=set)
    whole: bool = True


def look(directory: Path) -> Held:
    """As an agent's start does."""
    found = Held()
    with closing(Store(directory)) as store:
        found.losses = {"*" if loss.what == "list" else loss.pipeline for loss in store.losses}
        found.unconfirmed = {name for name, note in store.notes if note.code == "H0787"}
        for item in store.pipelines():
            has: dict[str, object] = {}
            for part, read in (("build", store.build), ("snapshot", store.snapshot)):
                try:
                    has[part] = read(item)
                except Refused as error:
                    assert error.diagnostics[0].code == "H0781"
            has["requests"] = store.written(item).entries
            has["answers"] = store.answers(item.id)
            found.parts[item.name] = has
        found.parts[""] = {"texts": Ledger(store).texts}
    return found


def judge(directory: Path, expected: Held, what: str) -> Held:
    """What there is. Fails where something is not there and nobody says so."""
    found = look(directory)
    for name, parts in expected.parts.items():
        has = found.parts.get(name, {})
        if has == parts:
            continue
        found.whole = False
        lost = {"*", name} & found.losses
        assert lost or name in found.unconfirmed, (what, name)
        if name and "requests" in has:
            there, all_ = has["requests"], parts["requests"]
            assert isinstance(there, list) and isinstance(all_, list)
            assert there == all_[: len(there)], (what, "what is restored is what came first")
            assert lost or len(all_) - len(there) <= GROUP, (what, "no more than a group")
    return found


def files_of(directory: Path) -> Files:
    return {
        path.name: path.read_bytes() for path in directory.iterdir()
        if OURS.fullmatch(path.name) or path.name in COPIES
    }  # fmt: skip


@dataclass
class Scene:
    """A directory at work on copies of a state. `before`: what its files were once; `open`: logs of
    which only themselves know how far they go."""

    directory: Path
    files: Files
    before: list[tuple[str, bytes]]
    expected: Held
    open: set[str]

    def put(self, changed: dict[str, bytes | None]) -> Path:
        """The state but for these files; None: it is not there."""
        shutil.rmtree(self.directory)
        self.directory.mkdir()
        for name, content in {**self.files, **changed}.items():
            if content is not None:
                (self.directory / name).write_bytes(content)
        return self.directory


def build(directory: Path, idle: bool) -> list[Files]:
    """Two pipelines and some intents; one has a snapshot that was begun. Returns what the files
    were, again and again. `idle`: a second without requests came at last."""
    seen: list[Files] = []
    with closing(Store(directory)) as store:
        intents = Ledger(store)
        for name, first in (("edge", 1), ("core", 101)):
            journal = begin(store, name, name.encode())
            seen.append(files_of(directory))
            write(journal, 3, first)
            fold(journal, first + 2)
            for at in range(first + 3, first + 13, GROUP):
                write(journal, GROUP, at)
                journal.acknowledged()
                seen.append(files_of(directory))
            if name == "core":  # its snapshot was begun
                with journal.open_next() as descriptor:
                    journal.turn_over(descriptor, first + 12, [b""], "{}")
                for at in range(first + 13, first + 17, GROUP):
                    write(journal, GROUP, at)
                    journal.acknowledged()
                    seen.append(files_of(directory))
            elif idle:
                journal.confirm(journal.number, journal.log.mark)
            intents.put({len(seen): json.dumps({"of": name})})
            seen.append(files_of(directory))
            journal.close()
    return [*seen, {name: _short(content) for name, content in files_of(directory).items()}]


def _short(content: bytes) -> bytes:
    """Without what is allocated behind the records of a log."""
    return content if len(content) < HEADS else content.rstrip(b"\0").ljust(HEADS + 8, b"\0")


@pytest.fixture(params=["idle", "busy"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    with TemporaryDirectory(dir="/dev/shm") as folder:
        directory = Path(folder) / "state"
        *seen, files = build(directory, request.param == "idle")
        before = {(name, old) for each in seen for name, old in each.items() if name in files}
        open_ = {"requests-2-3"} | ({"requests-1-2"} if request.param == "busy" else set())
        made = Scene(directory, files, sorted(before - {*files.items()}), look(directory), open_)
        yield made


def test_a_state_that_nobody_touched_is_all_there(scene: Scene) -> None:
    expected = scene.expected
    assert not expected.losses and not expected.unconfirmed
    assert expected.parts["edge"]["build"] == ('{"digest": "0123"}', b"edge", b"")
    assert _counts(expected) == {"edge": (10, 2), "core": (14, 2), "": (2,)}


def _counts(held: Held) -> dict[str, tuple[int, ...]]:
    names = ("requests", "answers", "texts")
    return {
        pipeline: tuple(len(parts[name]) for name in names if name in parts)  # type: ignore[arg-type]
        for pipeline, parts in held.parts.items()
    }


def test_every_byte(scene: Scene) -> None:
    """A bit flipped there, the file cut there, and pages that are zeros."""
    cases = [(name, at, how) for name, content in scene.files.items()
             for at in range(len(content)) for how in ("flip", "cut")]  # fmt: skip
    if SAMPLE:  # most of them where there is something
        chance = random.Random(time.strftime("%F"))
        some = [case for case in cases if scene.files[case[0]][case[1]]]
        cases = [*chance.sample(some, SAMPLE * 3 // 4), *chance.sample(cases, SAMPLE // 4)]
    cases += [(name, at, "zero") for name, content in scene.files.items()
              for at in range(0, len(content), PAGE)]  # fmt: skip
    lost = dict.fromkeys(("flip", "cut", "zero"), 0)
    for name, at, how in cases:
        content = bytearray(scene.files[name])
        if how == "flip":
            content[at] ^= 1 << at % 8
        elif how == "cut":
            del content[at:]
        else:
            content[at : at + PAGE] = bytes(len(content[at : at + PAGE]))
        found = judge(scene.put({name: bytes(content)}), scene.expected, f"{name} {how} {at}")
        lost[how] += bool(found.losses)
        assert (found.whole and not found.losses) or name not in COPIES, "the other copy is there"
    assert all(lost.values())


def test_files_that_are_gone(scene: Scene) -> None:
    for name in scene.files:
        found = judge(scene.put({name: None}), scene.expected, f"{name} is gone")
        assert bool(found.losses) == (name not in COPIES), name
    both: dict[str, bytes | None] = dict.fromkeys(COPIES)
    assert judge(scene.put(both), scene.expected, "the list is gone").losses == {"*"}
    assert {path.name for path in (scene.directory / "aside").iterdir()} == {*scene.files} - {*both}


def test_files_of_another_pipeline(scene: Scene) -> None:
    files = scene.files
    for one in files:
        for other in files:
            alike = one.partition("-")[0] == other.partition("-")[0] != "state"
            if one < other and alike and files[one] != files[other]:
                changed: dict[str, bytes | None] = {one: files[other], other: files[one]}
                found = judge(scene.put(changed), scene.expected, f"{one} and {other}")
                assert len(found.losses) == 1 + (one[:-1] != other[:-1]), "both, or one twice"


def test_files_of_another_time(scene: Scene) -> None:
    lost = 0
    for name, content in scene.before:
        if name not in scene.open:
            found = judge(scene.put({name: content}), scene.expected, f"{name} of another time")
            assert found.whole or found.losses
            lost += bool(found.losses)
    assert lost
