"""A cache of results gives what was kept, or nothing: whatever is done to its files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest
from helioc.compiler.backend.cache import (
    MOST,
    Cache,
    digest_of,
    key_of,
    most_of_user,
    read_since,
    users_folder,
)

KEY, OTHER = key_of("one"), key_of("other")
PARTS = {"object": bytes(range(256)) * 8, "empty": b"", "text": b"\n{}\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "builds"


def test_what_is_kept_is_found(folder: Path) -> None:
    cache = Cache(folder)
    assert cache.get(KEY) is None
    cache.put(KEY, PARTS)
    assert cache.get(KEY) == Cache(folder).get(KEY) == PARTS
    assert cache.get(OTHER) is None
    assert cache.used == [KEY, KEY]
    assert folder.stat().st_mode & 0o077 == (folder / KEY).stat().st_mode & 0o077 == 0


def test_keys_differ_by_each_part_and_its_place() -> None:
    keys = [key_of(*of) for of in ((), ("",), (b"",), (None,), ("", ""), (("", ""),), ("a", "b"),
                                   ("ab",), ("b", "a"), ({"a": b"b"},), ({"a": "b"},))]  # fmt: skip
    assert len(set(keys)) == len(keys)


def test_damage_is_a_miss(folder: Path) -> None:
    """Each byte is changed, and the file cut at each length."""
    cache, path = Cache(folder), folder / KEY
    cache.put(KEY, {"object": b"some"})
    whole = path.read_bytes()
    for at in range(len(whole)):
        for damaged in (whole[:at], whole[:at] + bytes((whole[at] ^ 1,)) + whole[at + 1 :]):
            path.write_bytes(damaged)
            assert cache.get(KEY) is None
    path.write_bytes(whole + b"\0")
    assert cache.get(KEY) is None
    path.write_bytes(whole)
    assert cache.get(KEY) == {"object": b"some"}


@pytest.mark.parametrize(
    "body", [b"", b"{}\n", b"[]\n", b"1\n", b"null\n", b'{"key":1}\n', b"\xff"]
)
def test_what_is_no_entry_is_a_miss(folder: Path, body: bytes) -> None:
    cache = Cache(folder)
    cache.put(OTHER, PARTS)
    (folder / KEY).write_bytes(sha256(body).digest() + body)
    (folder / KEY).chmod(0o600)
    assert cache.get(KEY) is None


def test_an_entry_under_another_name_is_a_miss(folder: Path) -> None:
    cache = Cache(folder)
    cache.put(OTHER, PARTS)
    (folder / OTHER).rename(folder / KEY)
    assert cache.get(KEY) is None


def by_others(path: Path) -> None:
    path.chmod(0o622)


def of_another_user(path: Path) -> None:
    os.chown(path, 65534, 65534)


@pytest.mark.parametrize("which", ["folder", "entry"])
@pytest.mark.parametrize("given", [by_others, of_another_user])
def test_what_another_user_may_have_written_is_a_miss(
    folder: Path, which: str, given: Callable[[Path], None], request: pytest.FixtureRequest
) -> None:
    if given is of_another_user:
        request.getfixturevalue("kernel")  # only root gives a file away
    cache = Cache(folder)
    cache.put(KEY, PARTS)
    before = (folder / KEY).read_bytes()
    given(folder if which == "folder" else folder / KEY)
    assert cache.get(KEY) is None
    cache.put(KEY, {"object": b"new"})
    if which == "folder":  # nothing is written there
        assert (folder / KEY).read_bytes() == before
    else:
        assert cache.get(KEY) == {"object": b"new"}


def test_a_link_or_a_pipe_is_a_miss(folder: Path, tmp_path: Path) -> None:
    cache = Cache(folder)
    cache.put(KEY, PARTS)
    (folder / KEY).rename(tmp_path / "elsewhere")
    (folder / KEY).symlink_to(tmp_path / "elsewhere")
    assert cache.get(KEY) is None
    (folder / KEY).unlink()
    os.mkfifo(folder / KEY, 0o600)
    assert cache.get(KEY) is None  # nor does it wait for who writes
    cache.put(KEY, PARTS)
    assert cache.get(KEY) == PARTS


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_full_disk_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(folder)
    cache.put(OTHER, PARTS)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        cache.put(KEY, PARTS)
    assert cache.get(KEY) is None and cache.get(OTHER) == PARTS
    assert [path.name for path in folder.iterdir()] == [OTHER]


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none")):
        cache = Cache(folder)
        cache.put(KEY, PARTS)
        assert cache.get(KEY) is None
        assert cache.made(KEY, lambda: (PARTS, {})) == PARTS
    assert (tmp_path / "file").read_text() == "mine"


def test_what_was_not_used_for_longest_leaves_first(folder: Path) -> None:
    cache = Cache(folder, most=10_000)
    keys = [key_of(number) for number in range(8)]
    for age, key in enumerate(keys[:4]):
        cache.put(key, {"object": bytes(2000)})
        os.utime(folder / key, (age, age))
    assert cache.get(keys[0])  # so it stays
    (folder / "new-left").write_bytes(bytes(1000))  # by who was killed
    os.utime(folder / "new-left", (0, 0))
    cache.put(keys[4], {"object": bytes(2000)})
    assert [cache.get(key) is not None for key in keys[:5]] == [True, False, False, True, True]
    assert not (folder / "new-left").exists()
    cache.put(keys[5], {"object": bytes(10_000)})  # more than there may be in all
    assert cache.get(keys[5]) is None and cache.get(keys[4])


def test_a_file_that_was_read_and_has_changed_is_a_miss(folder: Path, tmp_path: Path) -> None:
    cache, header = Cache(folder), tmp_path / "a.h"
    header.write_text("one")
    cache.put(KEY, PARTS, {str(header): digest_of(header)})
    assert cache.get(KEY) == PARTS
    header.write_text("two")
    assert cache.get(KEY) is None
    header.unlink()
    assert cache.get(KEY) is None
    header.write_text("one")
    assert cache.get(KEY) == PARTS


def test_what_changes_while_it_is_read_is_not_kept(folder: Path, tmp_path: Path) -> None:
    header, start = tmp_path / "a.h", time.time()
    header.write_text("one")
    assert read_since(start, [str(header)]) is None
    assert read_since(start + 60, [str(header)]) == {str(header): digest_of(header)}
    assert read_since(start, [str(tmp_path / "none.h")]) is None
    cache = Cache(folder)
    assert cache.made(KEY, lambda: (PARTS, None)) == PARTS
    assert cache.get(KEY) is None


def test_many_at_once(folder: Path) -> None:
    """Each finds what belongs to its key, or nothing, while others write and let go."""
    bodies = {key_of(number): {"object": bytes([number]) * 3000} for number in range(16)}

    def work(_: int) -> None:
        cache = Cache(folder, most=20_000)
        for key, parts in bodies.items():
            assert cache.get(key) in (None, parts)
            cache.put(key, parts)

    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(work, range(40)):
            pass
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 20_000


def test_the_users_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert users_folder("helio") == Path("/somewhere/helio")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the specification has us ignore
    monkeypatch.setenv("HOME", "/somebody")
    assert users_folder("helio") == Path("/somebody/.cache/helio")

    def none() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", none)
    assert users_folder("helio") is None


@pytest.mark.parametrize(
    "given, most",
    [(None, MOST), ("3", 3 << 20), ("0", 0), ("", MOST), ("1 GiB", MOST), ("-1", MOST)],
)
def test_how_much_a_user_keeps(
    given: str | None, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HELIOC_CACHE_MIB", raising=False)
    if given is not None:
        monkeypatch.setenv("HELIOC_CACHE_MIB", given)
    assert most_of_user() == most
