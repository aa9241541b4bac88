"""What is known of the rules that raise events, in a file below /run: an agent that is killed, and
begins again, tells of nothing twice and forgets no age. It goes with the pipeline (lock.py).

    length u64, header: JSON, padded to a multiple of 8, then u64s in this machine's order:

    for each event       records that rules raised, and events that were due at the last look and
                         beyond the limit
    for each rule kind   [column, cell]: `SEQUENCE`, `PACKETS` …

Another build has a file of its own, with what is known of the same rules: each has its sequence.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import Manifest, Raise, RuleKind
from .paths import RUN

Words = npt.NDArray[np.uint64]

#: Columns of each cell: the sequence of its rule, the packets that it had counted, when that number
#: was last seen to change (ns of the monotonic clock); then, of each event that it may raise, what
#: was told of.
SEQUENCE, PACKETS, USED, TOLD = range(4)
#: Cells, and the sequences of their rules.
Live = tuple[npt.NDArray[Any], npt.NDArray[Any]]

_WORD = 8
#: Of an event: raised, due.
RAISED, DUE = range(2)


class Memory(NamedTuple):
    """`events`: [event, `RAISED` and `DUE`] in the manifest's order; `kinds`: the columns of each
    kind whose rules raise any; `mapped`: the file, None without one."""

    events: Words
    kinds: dict[str, Words]
    mapped: mmap.mmap | None = None

    @property
    def whole(self) -> bool:
        """Whether nobody has cut the file: who touches what is no more of it gets SIGBUS."""
        return self.mapped is None or self.mapped.size() >= len(self.mapped)


def raising(manifest: Manifest) -> list[RuleKind]:
    """The kinds whose rules raise events, which a card's do not."""
    return [kind for kind in manifest.rules if kind.raises and manifest.target == "host"]


def memory_of(
    pipeline: str, about: Mapping[str, Any], manifest: Manifest, live: Callable[[str], Live]
) -> Memory:
    """That of a build, with what is known of its rules by now. `live`: the cells and sequences of a
    kind's. Where no file can be written, what is known ends with this process."""
    header = _header(about, manifest)
    path, fresh, size = _path(pipeline), _path(pipeline).with_suffix(".rules.new"), _size(header)
    known = None
    with suppress(OSError, ValueError):
        known = _read_header(path)
        if known == header:
            with path.open("r+b") as file:
                return _parts(header, mmap.mmap(file.fileno(), size))
    try:
        with fresh.open("w+b") as file:
            os.posix_fallocate(file.fileno(), 0, size)  # to write where no page is left is SIGBUS
            made = _parts(header, mmap.mmap(file.fileno(), size))
        _carry(header, made, known, path, live)
        fresh.rename(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        made = _parts(header, bytearray(size))
        _carry(header, made, known, path, live)
    return made


def raised_by_rules(pipeline: str, incarnation: str) -> dict[str, tuple[int, int]]:
    """By event, how many rules raised, and how many were due at the last look and beyond the
    limit."""
    with suppress(OSError, ValueError):
        header = _read_header(_path(pipeline))
        if header["incarnation"] == incarnation:
            with _path(pipeline).open("rb") as file:
                head = file.read(_start(header) + 16 * len(header["events"]))
            found = np.frombuffer(head, np.uint64, offset=_start(header)).reshape(-1, 2).tolist()
            return {name: (each[0], each[1]) for name, each in zip(header["events"], found,
                                                                   strict=True)}  # fmt: skip
    return {}


# ---- the file -------------------------------------------------------------------------------


def _path(pipeline: str) -> Path:
    return RUN / f"{pipeline}.rules"


def columns_of(kind: RuleKind) -> int:
    return TOLD + len(kind.raises)


def _header(about: Mapping[str, Any], manifest: Manifest) -> dict[str, Any]:
    events = [kind.name for kind in manifest.events.kinds] if manifest.events else []
    kinds = {
        kind.name: [kind.cells, list(map(_key, kind.raises))] for kind in raising(manifest)
    }  # fmt: skip
    return {"incarnation": about["incarnation"], "release": about["release"], "events": events,
            "kinds": kinds}  # fmt: skip


def _key(raised: Raise) -> str:
    """By which another build knows it again."""
    return f"{raised.event} {raised.what} {raised.element} {'each' if raised.again else 'after'}"


def _text(header: Mapping[str, Any]) -> bytes:
    text = json.dumps(header).encode()
    return text + b" " * (-len(text) % _WORD)


def _start(header: Mapping[str, Any]) -> int:
    return _WORD + len(_text(header))


def _size(header: Mapping[str, Any]) -> int:
    columns: int = sum(cells * (TOLD + len(keys)) for cells, keys in header["kinds"].values())
    return _start(header) + _WORD * (2 * len(header["events"]) + columns)


def _read_header(path: Path) -> Any:
    """Raises OSError, ValueError."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_WORD), "little")
        try:
            found = json.loads(file.read(min(length, 1 << 20)))
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        if not _is_header(found):
            raise ValueError("it is no header")
        if os.fstat(file.fileno()).st_size != _size(found):
            raise ValueError("it was not written to its end")
        return found


def _is_header(found: Any) -> bool:
    """Who else has written the file may have written anything."""
    match found:
        case {"incarnation": _, "release": _, "events": [*events], "kinds": {**kinds}}:
            return _are_texts(events) and all(map(_is_kind, kinds.values()))
    return False


def _is_kind(found: Any) -> bool:
    match found:
        case [int(cells), [*keys]]:
            return cells > 0 and _are_texts(keys)
    return False


def _are_texts(found: list[Any]) -> bool:
    return all(isinstance(each, str) for each in found)


def _parts(header: Mapping[str, Any], memory: mmap.mmap | bytearray) -> Memory:
    text = _text(header)
    if not any(memory[:_WORD]):
        memory[_WORD : _WORD + len(text)] = text
        memory[:_WORD] = len(text).to_bytes(_WORD, "little")
    words = np.frombuffer(memory, np.uint64, offset=_start(header))
    at = 2 * len(header["events"])
    events, kinds = words[:at].reshape(-1, 2), dict[str, Words]()
    for name, (cells, keys) in header["kinds"].items():
        shape = TOLD + len(keys), cells
        kinds[name] = words[at : at + shape[0] * cells].reshape(shape)
        at += shape[0] * cells
    return Memory(events, kinds, memory if isinstance(memory, mmap.mmap) else None)


# ---- another build --------------------------------------------------------------------------


def _carry(
    header: Mapping[str, Any], into: Memory, known: Any, path: Path,
    live: Callable[[str], Live],
) -> None:  # fmt: skip
    """What the build before knew of the rules that are there still, whatever their kind's name and
    their cells were."""
    if known is None or known["incarnation"] != header["incarnation"]:
        return
    was = _parts(known, bytearray(path.read_bytes()))
    for at, event in enumerate(header["events"]):
        if event in known["events"]:
            into.events[at] = was.events[known["events"].index(event)]
    for name, (_, keys) in header["kinds"].items():
        cells, sequences = live(name)
        for old, (_, old_keys) in known["kinds"].items():
            words, before = into.kinds[name], was.kinds[old]
            _, to, of = np.intersect1d(sequences, before[SEQUENCE], return_indices=True)
            words[:TOLD, cells[to]] = before[:TOLD, of]
            for column, key in enumerate(keys, TOLD):
                if key in old_keys:
                    words[column, cells[to]] = before[TOLD + old_keys.index(key), of]
