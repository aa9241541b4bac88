"""Results that are kept on disk by what they were made of, for one user.

An entry is a file of a folder, named by its key: the SHA-256 of what goes into a result, which
`key_of` makes. It has the files that were read besides, with their SHA-256, and begins with the
SHA-256 of all behind it. What is missing, damaged, another user's or made of a file that has
changed is a miss; what cannot be written is not kept. Nothing here raises, but what `make` does.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp

#: Bytes of all entries of a folder.
MOST = 256 << 20
_DIGEST = sha256().digest_size
#: Seconds: how far a file system's clock may be behind.
_CLOCK = 0.1

Parts = dict[str, bytes]
#: The SHA-256 of files that were read.
Read = Mapping[str, str]


def key_of(*made_of: object) -> str:
    """Of strings, bytes, numbers, None and tuples and dicts of them."""
    return sha256(repr(made_of).encode()).hexdigest()


def users_folder(program: str) -> Path | None:
    """$XDG_CACHE_HOME/PROGRAM or ~/.cache/PROGRAM. None where there is no home."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    with suppress(RuntimeError):
        return (given if given.is_absolute() else Path.home() / ".cache") / program
    return None


def most_of_user() -> int:
    """Bytes of all entries of a user's folder: what HELIOC_CACHE_MIB says, if that is a number."""
    given = os.environ.get("HELIOC_CACHE_MIB", "")
    return int(given) << 20 if given.isdecimal() else MOST


_in_use: Cache | None = None


def in_use() -> Cache | None:
    """Where results are kept; None where they are not."""
    return _in_use


@contextmanager
def using(cache: Cache | None) -> Iterator[None]:
    """Until the end, for all threads."""
    global _in_use
    before, _in_use = _in_use, cache
    try:
        yield
    finally:
        _in_use = before


class Cache:
    """Several threads and processes may use a folder. `used`: the keys that were found or made."""

    def __init__(self, folder: Path, most: int = MOST) -> None:
        self.used = list[str]()
        self._folder, self._most = folder, most

    def get(self, key: str) -> Parts | None:
        """What was kept by this key."""
        try:
            data = self._read(key)
            if sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
                return None
            found_key, read, parts = _unpacked(data[_DIGEST:])
            if found_key != key or any(digest_of(Path(file)) != read[file] for file in read):
                return None
            os.utime(self._folder / key)  # what is used stays
        except (OSError, ValueError):
            return None
        self.used.append(key)
        return parts

    def put(self, key: str, parts: Parts, read: Read | None = None) -> None:
        """Keep it, and let go what was not used for longest where that is too much. `read`: the
        files that it was made of besides."""
        body = _packed(key, read or {}, parts)
        if len(body) + _DIGEST > self._most:
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._need_own(os.stat(self._folder))
            number, beside = mkstemp(dir=self._folder, prefix="new-")
            try:
                with open(number, "wb") as file:
                    file.write(sha256(body).digest() + body)
                os.replace(beside, self._folder / key)
            except BaseException:
                os.unlink(beside)
                raise
            self.used.append(key)
            self._trim()

    def made(self, key: str, make: Callable[[], tuple[Parts, Read | None]]) -> Parts:
        """What is kept by this key, or what `make` makes, of the files that it says it read."""
        with self.making(key):
            if (found := self.get(key)) is None:
                found, read = make()
                if read is not None:
                    self.put(key, found, read)
        return found

    def making(self, key: str) -> AbstractContextManager[object]:
        """Around a look at a key, and what is made where nothing is found."""
        return nullcontext(key)

    def _read(self, key: str) -> bytes:
        """Raises `OSError`, also where another user could have written it."""
        self._need_own(os.stat(self._folder))
        number = os.open(self._folder / key, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(number, "rb") as file:
            status = os.fstat(number)
            self._need_own(status)
            if not stat.S_ISREG(status.st_mode) or status.st_size > self._most:
                raise OSError("no entry")
            return file.read()

    @staticmethod
    def _need_own(status: os.stat_result) -> None:
        if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError("another user may write it")

    def _trim(self) -> None:
        """To three quarters, so that it is not done for each entry."""
        there = list[tuple[int, int, str]]()
        with os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # another process lets go the same
                    status = entry.stat(follow_symlinks=False)
                    there.append((status.st_mtime_ns, status.st_size, entry.path))
        size = sum(each for _, each, _ in there)
        if size <= self._most:
            return
        for _, each, path in sorted(there):
            with suppress(OSError):
                os.unlink(path)
            size -= each
            if size <= self._most * 3 // 4:
                break


def digest_of(file: Path) -> str:
    """SHA-256 of a file's content. Raises `OSError`."""
    return sha256(file.read_bytes()).hexdigest()


def read_since(start: float, files: list[str]) -> Read | None:
    """The files with their SHA-256; None where one has changed since `start`, on time.time(), so
    that nobody knows what was read of it."""
    try:
        found = {file: digest_of(Path(file)) for file in files}
        unchanged = all(os.stat(file).st_ctime < start - _CLOCK for file in files)
    except OSError:
        return None
    return found if unchanged else None


def _packed(key: str, read: Read, parts: Parts) -> bytes:
    head = {"key": key, "read": dict(read), "parts": {name: len(parts[name]) for name in parts}}
    return b"\n".join((json.dumps(head).encode(), b"".join(parts.values())))


def _unpacked(body: bytes) -> tuple[str, Read, Parts]:
    """Raises `ValueError`."""
    line, _, contents = body.partition(b"\n")
    parts, at = Parts(), 0
    try:
        head = json.loads(line)
        for name, length in head["parts"].items():
            parts[name] = contents[at : at + length]
            at += length
        return head["key"], head["read"], parts
    except (AttributeError, KeyError, TypeError, RecursionError):
        raise ValueError("no entry") from None
