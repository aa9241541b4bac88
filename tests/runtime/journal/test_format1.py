"""State directories of the format before: what a kill of a released agent left is taken over.

`format1.tar.gz` was written by its code: pipelines `edge` (10 requests in its snapshot, 5 behind
it, an upgrade prepared) and `core` (none behind its snapshot), `later` begun, two intents.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helioc.lang.diagnostics import Refused
from helioc.runtime.intents.kept import Kept
from helioc.runtime.journal import format1
from helioc.runtime.journal.faults import cannot_write
from helioc.runtime.journal.store import Store

KEYS = ["k1", "k3", "k5", "k7", "k9"]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    made = tmp_path / "state"
    with tarfile.open(Path(__file__).with_name("format1.tar.gz")) as archive:
        archive.extractall(made)
    return made


def need_all(directory: Path, aside: bool = True) -> None:
    with closing(Store(directory)) as store:
        assert not store.losses
        core, edge = store.pipelines()
        assert store.build(edge) == ('{"digest": "d-edge"}', b"object edge", b"traced")
        assert store.build(core) == ('{"digest": "d-core"}', b"object core", b"")
        assert store.snapshot(edge) == store.snapshot(core) == b"rules"
        assert edge.prepared is not None and edge.prepared.program == "next"
        written = store.written(edge)
        assert [e.revision for e in written.entries] == [11, 12, 13, 14, 15] and not written.marred
        assert not store.written(core).entries and core.revision == edge.revision == 10
        assert [e.key for e in store.answers(edge.id)] == KEYS
        assert [begun.name for begun in store.begun()] == ["later"]
        intents = Kept(store)
        assert [(i.serial, i.id, i.ends) for i in intents.all()] == [(1, "a", None), (3, "c", None)]
        assert intents.add(intents.all()[0]).serial == 4
        assert [code for _, found in store.notes for code in [found.code]] == ["H0789"] * aside


def test_it_is_taken_over_once(old: Path) -> None:
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    need_all(old)
    assert {path.name: path.read_bytes() for path in (old / "aside").iterdir()} == before
    with closing(Store(old)) as store:
        assert not store.notes and store.begin("another", ('{"digest": ""}', b"", b"")) == 4


def test_a_kill_while_it_is_taken_over_costs_nothing(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    steps = 0
    while True:
        left = steps

        def step(whole: Callable[..., Any], *arguments: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Refused([cannot_write("state", "killed")])
            return whole(*arguments)

        with monkeypatch.context() as patched:
            for name in ("write_whole", "begin", "write_build"):
                patched.setattr(format1, name, partial(step, getattr(format1, name)))
            try:
                Store(old).close()
                break
            except Refused:
                steps += 1
        assert {name: (old / name).read_bytes() for name in before} == before
    assert steps > 8
    need_all(old, aside=False)


def test_what_its_database_has_lost_is_reported(old: Path) -> None:
    """SQLite ends at the first bad frame of its log, and says nothing."""
    log = old / "journal.db-wal"
    content = bytearray(log.read_bytes())
    content[100] ^= 1
    log.write_bytes(content)
    with closing(Store(old)) as store:
        assert {loss.file for loss in store.losses} >= {"journal.db"} and not store.pipelines()
    with closing(Store(old)) as store:
        assert store.losses, "until somebody accepts it"


def test_a_damaged_log_of_it_is_reported(old: Path) -> None:
    log = old / "log-1-1"
    content = bytearray(log.read_bytes())
    content[100] ^= 1
    log.write_bytes(content)
    with closing(Store(old)) as store:
        (loss,) = store.losses
        assert (loss.pipeline, loss.what, loss.revision) == ("edge", "requests", 12)
        assert [e.revision for e in store.written(store.pipelines()[1]).entries] == [11, 12]
