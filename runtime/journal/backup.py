"""A backup: what an agent keeps, of one moment for each pipeline, in one file (docs/backup.md).

HELIOBACKUP1 SIZE DIGEST\\n    of the list
list                          JSON: `Contents`
files                         one behind the other, as the list has them
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from ...lang.text.diagnostics import Diagnostic
from ..base.errors import refused, unreadable
from . import errors
from .disk import why
from .files import DIGEST_SIZE, NONSENSE, Mark, digest_of, read_sound, write_whole
from .state import Item

MAGIC = b"HELIOBACKUP1"
#: Bytes that are read and sent at a time, and of the first line and of the list at most.
CHUNK, _LINE, _LIST = 256 << 10, 80, 64 << 20
_AGAIN = "mend that, and take it again: nothing is wrong with what is kept"
#: What a damaged byte is in, before the files.
_HEAD = "its list"


@dataclass(frozen=True)
class Pipeline:
    """`config`: as in `Item`. `program`: the digest of the build's manifest. `answers`: files, and
    how many answers each has. Files are named `NAME/build`, `NAME/snapshot`, `NAME/answers-1`."""

    name: str
    config: str
    revision: int
    program: str
    build: Mark
    snapshot: Mark
    answers: tuple[tuple[Mark, int], ...] = ()

    @property
    def files(self) -> list[Mark]:
        return [self.build, self.snapshot, *(mark for mark, _ in self.answers)]


@dataclass(frozen=True)
class Contents:
    """`taken`: when, in seconds of the Unix epoch; `release`: of who took it. `left_out`: pipelines
    that were loaded without the agent. `intents`: see ledger.py."""

    release: str
    taken: float
    pipelines: tuple[Pipeline, ...]
    intents: Mark | None = None
    left_out: tuple[str, ...] = ()

    @property
    def files(self) -> list[Mark]:
        """In their order."""
        found = [mark for each in self.pipelines for mark in each.files]
        return [*found, self.intents] if self.intents is not None else found

    def encode(self) -> bytes:
        said = json.dumps(asdict(self), indent=1).encode()
        return b"%s %d %s\n" % (MAGIC, len(said), digest_of(said).encode()) + said


# ---- taking one -----------------------------------------------------------------------------


class Taken:
    """The files of a journal as they were when this was made: they are open, so that whatever takes
    their place leaves them."""

    def __init__(self, directory: Path, items: Iterable[Item], intents: bytes, release: str,
                 now: float, left_out: tuple[str, ...]) -> None:  # fmt: skip
        """Raises `Refused`."""
        self._owned, self._open = ExitStack(), list[tuple[Path, BinaryIO]]()
        try:
            pipelines = tuple(self._pipeline(directory, item) for item in items)
        except BaseException:
            self.close()
            raise
        mark = Mark("intents", len(intents), digest_of(intents))
        self.contents = Contents(release, now, pipelines, mark, left_out)
        self._intents = intents

    def _pipeline(self, directory: Path, item: Item) -> Pipeline:
        assert item.build is not None and item.snapshot is not None

        def opened(mark: Mark, name: str) -> Mark:
            path = directory / mark.name
            try:
                self._open.append((path, self._owned.enter_context(path.open("rb"))))
            except FileNotFoundError:
                raise refused(errors.damaged(str(path), "it is gone")) from None
            except OSError as error:
                raise refused(errors.no_backup(f"`{path}`: {why(error)}", _AGAIN)) from None
            return mark._replace(name=f"{item.name}/{name}")

        return Pipeline(
            item.name, item.config, item.revision, item.build.program,
            opened(item.build.file, "build"), opened(item.snapshot, "snapshot"),
            tuple((opened(mark, f"answers-{number}"), count)
                  for number, (mark, count) in enumerate(item.answers, 1)),
        )  # fmt: skip

    def parts(self) -> Iterator[bytes]:
        """The backup. Raises `Refused` where a file is not what was written."""
        yield self.contents.encode()
        for mark, (path, file) in zip(self.contents.files, self._open, strict=False):
            digest, left = blake2b(digest_size=DIGEST_SIZE), mark.size
            while left and (chunk := file.read(min(CHUNK, left))):
                left -= len(chunk)
                digest.update(chunk)
                yield chunk
            if left or digest.hexdigest() != mark.digest:
                raise refused(errors.damaged(str(path), "it is not what was written"))
        yield self._intents

    def close(self) -> None:
        """May be called again."""
        self._owned.close()

    def __enter__(self) -> Taken:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# ---- reading one ----------------------------------------------------------------------------


class Source:
    """A backup that is read from its beginning. Everything raises `Refused` where it is damaged,
    with the byte and what that is in."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts, self._rest = iter(parts), b""
        self.at = 0
        self.contents = self._contents()

    def _contents(self) -> Contents:
        line = self._line()
        words = line.split(b" ")
        if len(words) != 3 or words[0] != MAGIC or not words[1].isdigit():
            raise self._damaged(0, _HEAD, "it does not begin as a backup of Helio")
        size = int(words[1])
        if size > _LIST:
            raise self._damaged(0, _HEAD, "its list is too long")
        said = b"".join(self._take(size, _HEAD))
        if digest_of(said).encode() != words[2]:
            raise self._damaged(self.at - size, _HEAD, "its checksum is not that of its content")
        try:
            return _decode(json.loads(said))
        except NONSENSE as error:
            raise self._damaged(
                self.at - size, _HEAD, f"it cannot be understood: {error}"
            ) from None

    def file(self, mark: Mark) -> Iterator[bytes]:
        """The next one's content, piece by piece; that it is sound is known at its end."""
        begun, digest = self.at, blake2b(digest_size=DIGEST_SIZE)
        for part in self._take(mark.size, mark.name):
            digest.update(part)
            yield part
        if digest.hexdigest() != mark.digest:
            why = "its checksum is not that of its content"
            raise self._damaged(begun, mark.name, why, self.at)

    def end(self) -> None:
        """There is nothing behind the last file."""
        if self._fill():
            raise self._damaged(self.at, "what comes behind its last file", "it is too long")

    def _line(self) -> bytes:
        while b"\n" not in self._rest[:_LINE]:
            more = next(self._parts, b"") if len(self._rest) < _LINE else b""
            if not more:
                raise self._damaged(0, _HEAD, "it does not begin as a backup of Helio")
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        self.at += len(line) + 1
        return line

    def _take(self, size: int, what: str) -> Iterator[bytes]:
        while size:
            if not self._fill():
                raise self._damaged(self.at, what, f"it ends {size:,} bytes too early")
            part, self._rest = self._rest[:size], self._rest[size:]
            size -= len(part)
            self.at += len(part)
            yield part

    def _fill(self) -> bool:
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return False
            self._rest = part
        return True

    def nonsense(self, what: str, error: Exception) -> Exception:
        """What was just read is sound, and cannot be understood."""
        return self._damaged(self.at, what, f"it cannot be understood: {error!r}")

    def _damaged(self, at: int, what: str, why: str, until: int = 0) -> Exception:
        return refused(errors.damaged_backup(at, until, what, why))


def _decode(about: Any) -> Contents:
    pipelines = tuple(_pipeline(each) for each in about["pipelines"])
    if len({each.name for each in pipelines}) < len(pipelines):
        raise ValueError("two pipelines of one name")
    intents = _mark(about["intents"]) if about["intents"] else None
    left_out = tuple(map(str, about["left_out"]))
    return Contents(str(about["release"]), float(about["taken"]), pipelines, intents, left_out)


def _pipeline(about: Any) -> Pipeline:
    answers = tuple((_mark(mark), int(count)) for mark, count in about["answers"])
    name, config, program = (str(about[each]) for each in ("name", "config", "program"))
    if not 0 <= about["revision"] < 1 << 63:
        raise ValueError(f"the revision of `{name}`")
    marks = _mark(about["build"]), _mark(about["snapshot"])
    return Pipeline(name, config, int(about["revision"]), program, *marks, answers)


def _mark(about: Any) -> Mark:
    name, size, digest = about
    if not isinstance(size, int) or size < 0:
        raise ValueError(f"the size of `{name}` is none")
    return Mark(str(name), size, str(digest))


class Received:
    """A backup that is all there and sound, in files of a directory of their own: those of the list
    by their number."""

    def __init__(self, parts: Iterable[bytes], directory: Path) -> None:
        """Raises `Refused`, and leaves what it has written to the caller."""
        source = Source(parts)
        self.contents, self.directory = source.contents, directory
        for number, mark in enumerate(source.contents.files):
            write_whole(directory / str(number), source.file(mark))
        source.end()
        self._numbers = {mark.name: n for n, mark in enumerate(source.contents.files)}

    def path(self, mark: Mark) -> Path:
        return self.directory / str(self._numbers[mark.name])

    def content(self, mark: Mark) -> bytes:
        """Of a file that is small."""
        found = mark._replace(name=str(self._numbers[mark.name]))
        return read_sound(self.directory, found)


def copy(parts: Iterable[bytes], path: Path) -> Contents:
    """Write a backup to a file as it comes, readable by its owner only, and look whether it is
    sound. Raises `Refused`, OSError (where there is no room), and then there is no such file."""
    if path.exists() and not path.is_file():
        raise refused(_no_file(path))
    new = path.with_name(f"{path.name}~")
    how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        descriptor = os.open(new, how, 0o600)
    except OSError as error:
        raise refused(_unwritable(str(path), why(error))) from None
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            contents = check(_written(parts, file))
            file.flush()
            os.fsync(file.fileno())
        new.rename(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    return contents


def check(parts: Iterable[bytes]) -> Contents:
    """Raises `Refused` where it is damaged."""
    source = Source(parts)
    for mark in source.contents.files:
        for _ in source.file(mark):
            pass
    source.end()
    return source.contents


def _written(parts: Iterable[bytes], file: BinaryIO) -> Iterator[bytes]:
    for part in parts:
        file.write(part)
        yield part


def parts_of(path: Path) -> Iterator[bytes]:
    """A file piece by piece. Raises `Refused`."""
    try:
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk
    except OSError as error:
        raise refused(unreadable(str(path), error.strerror or str(error))) from None


# ---- errors ---------------------------------------------------------------------------------


def _unwritable(path: str, why: str) -> Diagnostic:
    help_ = "check its directory and the permissions"
    return Diagnostic("H0740", f"cannot write `{path}`: {why}", (), help_)


def _no_file(path: Path) -> Diagnostic:
    return Diagnostic("H0864", f"`{path}` is no file", (), "a backup takes the place of FILE when "
                      "all of it is on the disk: name a file, which need not be there")  # fmt: skip
