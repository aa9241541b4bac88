"""The list of what must be there, kept twice (docs/journal.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from .files import Mark, Unsound, digest_of, read, write_twice, write_whole
from .loss import Loss

#: A bundle: manifest, object, packed traced build (empty: it has none).
#: Manifest, object, packed traced build; and the object for tc, if there is one.
Build = tuple[str, bytes, bytes] | tuple[str, bytes, bytes, bytes]
#: The number of the intents' log.
INTENTS = 0
COPIES = ("state-a", "state-b")
_MAGIC = b"HELIO2 "
#: Bytes of a copy at most: an item has one or two thousand.
_LIST = 256 << 20


@dataclass(frozen=True)
class Bundled:
    """The file of a build. `program`: the digest of its manifest."""

    program: str
    file: Mark


@dataclass(frozen=True)
class Item:
    """A pipeline of the list. `begun`: nobody has said yet that it is in force. `config`: see
    journal.py. `snapshot`: its rules at `revision`; `number`: of the log behind it, which is known
    to have `length` bytes of records, the last of revision `last`. `answers`: files, and how many
    each has."""

    id: int
    name: str
    begun: bool = True
    build: Bundled | None = None
    prepared: Bundled | None = None
    config: str = ""
    revision: int = 0
    snapshot: Mark | None = None
    number: int = 0
    length: int = 0
    last: int = 0
    answers: tuple[tuple[Mark, int], ...] = ()

    @property
    def marks(self) -> Iterator[Mark]:
        """All files but its logs."""
        builds = (build.file for build in (self.build, self.prepared) if build is not None)
        yield from builds
        yield from (mark for mark, _ in self.answers)
        if self.snapshot is not None:
            yield self.snapshot


@dataclass(frozen=True)
class State:
    """`directory`: bytes in hex by which logs know it. `next`: the next pipeline's number."""

    directory: str
    generation: int = 0
    next: int = 1
    items: dict[int, Item] = field(default_factory=dict)
    losses: tuple[Loss, ...] = ()

    def having(self, *items: Item) -> State:
        """With these in place of those of the same number."""
        return replace(self, items={**self.items, **{item.id: item for item in items}})

    def without(self, *ids: int) -> State:
        return replace(self, items={i: item for i, item in self.items.items() if i not in ids})

    def named(self, name: str, begun: bool = False) -> Item | None:
        return next(
            (each for each in self.items.values() if (each.name, each.begun) == (name, begun)), None
        )

    def save(self, directory: Path) -> None:
        """Raises `Refused`."""
        said = {**asdict(self), "items": [asdict(item) for item in self.items.values()]}
        content = json.dumps(said, indent=1).encode()
        paths = [directory / name for name in COPIES]
        write_twice(paths, _MAGIC + digest_of(content).encode() + b"\n" + content)


def write_build(path: Path, build: Build) -> Bundled:
    """Raises `Refused`."""
    manifest, *rest = build
    parts = [manifest.encode(), *rest]
    sized = (each for part in parts for each in (len(part).to_bytes(8, "little"), part))
    program: str = json.loads(manifest)["digest"]
    return Bundled(program, write_whole(path, sized))


def read_build(content: bytes) -> Build:
    """What `write_build` wrote."""
    parts, at = list[bytes](), 0
    while at < len(content) or len(parts) < 3:
        start = at + 8
        at = start + int.from_bytes(content[at:start], "little")
        parts.append(content[start:at])
    manifest, object_, traced, *tc = parts
    return (manifest.decode(), object_, traced, *tc[:1])  # type: ignore[return-value]


def new() -> State:
    return State(os.urandom(8).hex())


def load(directory: Path) -> tuple[State | None, dict[str, str]]:
    """The list; None where neither copy can be read. And why a copy cannot be, by its name."""
    found: list[State] = []
    wrong: dict[str, str] = {}
    for name in COPIES:
        try:
            found.append(_decode(read(directory / name, _LIST)))
        except Unsound as error:
            wrong[name] = str(error)
    return max(found, key=lambda state: state.generation, default=None), wrong


def _decode(content: bytes) -> State:
    head, _, said = content.partition(b"\n")
    if head != _MAGIC + digest_of(said).encode():
        raise Unsound("its checksum is not that of its content")
    about = json.loads(said)
    items = {each["id"]: _item(each) for each in about["items"]}
    losses = tuple(Loss(**each) for each in about["losses"])
    return State(about["directory"], about["generation"], about["next"], items, losses)


def _item(about: dict[str, Any]) -> Item:
    answers = tuple((Mark(*mark), count) for mark, count in about["answers"])
    snapshot = Mark(*about["snapshot"]) if about["snapshot"] else None
    builds = {name: _build(about[name]) for name in ("build", "prepared")}
    return Item(**{**about, **builds, "answers": answers, "snapshot": snapshot})


def _build(about: dict[str, Any] | None) -> Bundled | None:
    return Bundled(about["program"], Mark(*about["file"])) if about else None
