"""Backups: what they hold, and that a damaged one is found whatever is wrong with it."""

from __future__ import annotations

import os
import shutil
import stat
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.journal import backup
from helioc.runtime.journal.files import digest_of
from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.ledger import Ledger
from helioc.runtime.journal.store import Store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from journal_world import INTENTS, NAMES, build, fold, held, made, taken, write


def restored(store: Store, data: bytes, piece: int = 1000) -> None:
    pieces = (data[at : at + piece] for at in range(0, len(data), piece))
    with store.receiving() as directory:
        store.restore(backup.Received(pieces, directory))


@pytest.fixture
def small(tmp_path: Path) -> Iterator[bytes]:
    with closing(made(tmp_path / "small", [("edge", 4)])) as store:
        yield taken(store)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.dictionaries(NAMES, st.integers(0, 40), max_size=4),
    st.dictionaries(NAMES, st.integers(0, 9), max_size=2),
    st.integers(1, 5000),
)
def test_what_is_backed_up_is_restored(
    tmp_path_factory: pytest.TempPathFactory, there: dict[str, int], before: dict[str, int],
    piece: int,
) -> None:  # fmt: skip
    tmp_path = tmp_path_factory.mktemp("backup")
    with closing(made(tmp_path / "one", there.items())) as store:
        expected, data = held(store), taken(store)
    with closing(made(tmp_path / "two", before.items())) as store:
        restored(store, data, piece)
        assert held(store) == expected
    with closing(Store(tmp_path / "two")) as store:  # as the next start finds it
        assert held(store) == expected
        assert not store.losses and not store.notes
        ledger = Ledger(store)
        assert (ledger.last, ledger.texts) == (3, {3: "{}"})
        ledger.put({4: "new"})
        for item in store.pipelines():
            with closing(Journal(store, item.id, store.written(item))) as journal:
                write(journal, 2, item.revision + 1)
                journal.acknowledged()
    with closing(Store(tmp_path / "two")) as store:
        assert not store.losses
        assert all(len(store.written(item).entries) == 2 for item in store.pipelines())
    shutil.rmtree(tmp_path)


def test_every_byte_is_looked_at(tmp_path: Path, small: bytes) -> None:
    for at in range(len(small)):
        data = bytearray(small)
        data[at] ^= 1 + at % 255
        with pytest.raises(Refused) as error:
            backup.check([bytes(data)])
        assert "H0860" in str(error.value) and "byte" in str(error.value), at
    for end in range(len(small)):
        with pytest.raises(Refused, match="H0860"):
            backup.check([small[:end]])
    with pytest.raises(Refused, match=f"byte {len(small):,}"):
        backup.check([small, b"x"])


NONE = b"", b"HELIO", b"{}", bytes(5000), b"HELIOBACKUP1 99999999999 x\n"


@pytest.mark.parametrize("wrong", NONE)
def test_what_is_no_backup(wrong: bytes) -> None:
    with pytest.raises(Refused, match="H0860"):
        backup.check([wrong])


def test_a_list_that_says_nonsense() -> None:
    for said in (b"[]", b"{}", b'{"pipelines": [1]}', b"\xff", b'"x"'):
        line = b"HELIOBACKUP1 %d %s\n" % (len(said), digest_of(said).encode())
        with pytest.raises(Refused, match="H0860"):
            backup.check([line + said])


def test_a_damaged_one_changes_nothing(tmp_path: Path, small: bytes) -> None:
    with closing(made(tmp_path / "two", [("other", 3)])) as store:
        expected = held(store)
        for data in (small[:-1], small[:200], small[:-10] + b"0123456789", small + b"x"):
            with pytest.raises(Refused, match="H0860"):
                restored(store, data)
        assert held(store) == expected
        assert not list(store.directory.glob("restore~*"))


def test_who_is_killed_before_it_is_in_force_has_what_was_there(
    tmp_path: Path, small: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with closing(made(tmp_path / "two", [("other", 3)])) as store:
        expected, ledger = held(store), Ledger(store)
        for number in range(1, 8):
            ledger.put({number: "{}"})
        with monkeypatch.context() as patched:
            patched.setattr(Store, "_save", killed)
            with pytest.raises(KeyboardInterrupt):
                restored(store, small)
    for _ in range(2):
        with closing(Store(tmp_path / "two")) as store:
            ledger = Ledger(store)
            assert not store.losses and held(store) == expected and len(ledger.texts) == 7
    with closing(Store(tmp_path / "two")) as store:
        ledger = Ledger(store)
        for number in range(8, 2_000):  # over the log's end
            ledger.put({number: "x" * 400})
    with closing(Store(tmp_path / "two")) as store:
        assert not store.losses and len(Ledger(store).texts) == 1_999
        restored(store, small)
    with closing(Store(tmp_path / "two")) as store:
        ledger = Ledger(store)
        assert not store.losses and ledger.content() == INTENTS
        ledger.put({4: "four"})
    with closing(Store(tmp_path / "two")) as store:
        assert not store.losses and Ledger(store).texts == {3: "{}", 4: "four"}


def test_what_is_damaged_where_it_is_taken_is_refused(tmp_path: Path) -> None:
    with closing(made(tmp_path / "one", [("edge", 4)])) as store:
        (snapshot,) = store.directory.glob("snapshot-*")
        snapshot.write_bytes(b"RULES")
        with pytest.raises(Refused, match=f"H0781.*{snapshot.name}"):
            taken(store)
        snapshot.unlink()
        with pytest.raises(Refused, match=f"H0781.*{snapshot.name}"):
            taken(store)


def test_it_stays_as_it_was_when_it_began(tmp_path: Path) -> None:
    with closing(made(tmp_path / "one", [("edge", 4)])) as store:
        expected = held(store)
        with store.take(INTENTS, ()) as found:
            parts = found.parts()
            first = next(parts)
            (item,) = store.pipelines()
            with closing(Journal(store, item.id, store.written(item))) as journal:
                write(journal, 20, 5)
                fold(journal, 24)  # the files of before are gone by now
            data = first + b"".join(parts)
    with closing(Store(tmp_path / "two")) as store:
        restored(store, data)
        assert held(store) == expected


def test_a_file_of_ones_own(tmp_path: Path, small: bytes) -> None:
    path = tmp_path / "backup"
    path.write_bytes(b"old")
    path.chmod(0o644)
    with pytest.raises(Refused, match="H0860"):
        backup.copy([small[:-1]], path)
    assert path.read_bytes() == b"old" and list(tmp_path.glob("backup*")) == [path]
    contents = backup.copy([small], path)
    assert [each.name for each in contents.pipelines] == ["edge"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == small


def test_large_ones_take_little_memory(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "one")) as store:
        journal = Journal(store, store.begin("edge", build()))
        with closing(journal), journal.open_next() as descriptor:
            rules = [bytes([n]) * (1 << 20) for n in range(64)]
            journal.fold(journal.turn_over(descriptor, 1, rules, "{}"))
        del rules
        tracemalloc.start()
        try:
            with store.take(INTENTS, ()) as found, store.receiving() as directory:
                backup.Received(found.parts(), directory)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 4 << 20


def test_what_is_no_file_is_not_replaced(tmp_path: Path, small: bytes) -> None:
    """A device, say."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(Refused, match="H0864.*is no file"):
        backup.copy([small], path)
    assert stat.S_ISFIFO(path.stat().st_mode) and not (tmp_path / "pipe~").exists()
