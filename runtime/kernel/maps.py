"""Kernel maps: one owner class, and what a map must look like before it is reused."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import suppress
from errno import E2BIG, EEXIST, EINVAL, ENODEV, ENOENT, ENOSPC
from pathlib import Path

from . import libbpf
from .libbpf import BpfError
from .map_spec import BPF_F_MMAPABLE, IncompatibleMap, MapSpec, MapType
from .pins import Descriptor, duplicate_fd, open_pin, require_kind
from .structures import MapInfo
from .system import ENOTSUPP

Bytes = bytes | bytearray | memoryview
BPF_ANY, BPF_NOEXIST, BPF_EXIST = 0, 1, 2  # flags of an update
BPF_F_LOCK = 4
_BATCH = 4096


_PER_CPU = {MapType.PERCPU_HASH, MapType.PERCPU_ARRAY, MapType.LRU_PERCPU_HASH}
# The kernel waits for RCU, or patches code, when elements of these change.
_WAITING = {MapType.PROG_ARRAY, MapType.ARRAY_OF_MAPS, MapType.HASH_OF_MAPS}


class Map(Descriptor):
    """A kernel map. Closing it leaves the map to its pins, other descriptors and the programs that
    use it; when none is left, its content is gone (a PROG_ARRAY empties itself already when the
    last descriptor or pin goes). Safe for several threads."""

    def __init__(self, fd: int) -> None:
        """Takes over `fd`. Raises BpfError where that is no map."""
        super().__init__(fd)
        try:
            self.spec, self.id = _describe(fd)
        except BpfError:
            self.close()
            raise
        self.key_size = self.spec.key_size
        self.per_cpu = self.spec.type in _PER_CPU
        self.element_size = self.spec.value_size
        if self.per_cpu:
            self.element_size = self.spec.stride * libbpf.possible_cpus()
        self._memory: mmap.mmap | None = None
        self._views: list[memoryview] = []
        calls = libbpf.lib() if self.spec.type in _WAITING else libbpf.fast()
        self._update, self._lookup = calls.bpf_map_update_elem, calls.bpf_map_lookup_elem
        self._delete, self._next = calls.bpf_map_delete_elem, calls.bpf_map_get_next_key
        self._lookup_flags = calls.bpf_map_lookup_elem_flags
        self._element = libbpf.buffer_type(self.element_size)
        self._key = libbpf.buffer_type(self.key_size)

    @classmethod
    def create(cls, spec: MapSpec, *, inner: Map | None = None) -> Map:
        """A new map that belongs to no object. `inner` is the pattern of a map of maps."""
        sizes = spec.key_size, spec.value_size, spec.max_entries
        inner_fd = inner.fileno() if inner else 0
        return cls(libbpf.create_map(spec.type, spec.name, sizes, spec.flags, inner_fd))

    @classmethod
    def open_pinned(cls, path: Path, expected: MapSpec | None = None) -> Map:
        """The map pinned at `path`, refused with IncompatibleMap where it is not as `expected`."""
        found = cls(open_pin(path))
        if expected and (differences := expected.differences(found.spec)):
            found.close()
            raise IncompatibleMap(str(path), differences)
        return found

    @classmethod
    def open_id(cls, number: int) -> Map:
        """The map with this kernel id."""
        return cls(libbpf.check(libbpf.lib().bpf_map_get_fd_by_id(number), f"open map {number}"))

    @property
    def name(self) -> str:
        """At most 15 characters: the kernel cuts longer names."""
        return self.spec.name

    def __repr__(self) -> str:
        return f"<Map {self.name} id {self.id}{' closed' if self.closed else ''}>"

    def duplicate(self) -> Map:
        """A second owner of the same map, closed on its own; mmapped views stay with the first."""
        return Map(duplicate_fd(self.fileno()))

    # One element

    def update(self, key: bytes, value: bytes, flags: int = BPF_ANY) -> None:
        """Write one element: `element_size` bytes. Raises BpfError (E2BIG full, EEXIST, ENOENT)."""
        if len(key) != self.key_size or len(value) != self.element_size:
            raise self._wrong_size(key, value)
        error = self._update(self._fd, key, value, flags)
        if error:
            raise self._error("write", -error)

    def lookup(self, key: bytes, flags: int = 0) -> bytes | None:
        """The element's bytes, or None where there is none. Per-CPU maps: see `lookup_per_cpu`.
        `flags`: BPF_F_LOCK where it is to be read under its lock."""
        if len(key) != self.key_size:
            raise self._wrong_size(key)
        element = self._element()
        error = (self._lookup_flags(self._fd, key, element, flags) if flags
                 else self._lookup(self._fd, key, element))  # fmt: skip
        if error == -ENOENT:
            return None
        if error:
            raise self._error("read", -error)
        return element.raw

    def lookup_per_cpu(self, key: bytes) -> list[bytes] | None:
        """One value for each possible CPU, in the order of their numbers."""
        element, stride = self.lookup(key), self.spec.stride
        if element is None:
            return None
        starts = range(0, self.element_size, stride)
        return [element[at : at + self.spec.value_size] for at in starts]

    def delete(self, key: bytes) -> bool:
        """Delete one element; False where there was none."""
        if len(key) != self.key_size:
            raise self._wrong_size(key)
        error = self._delete(self._fd, key)
        if error and error != -ENOENT:
            raise self._error("delete from", -error)
        return not error

    def keys(self) -> Iterator[bytes]:
        """Every key, in the kernel's order. The element just yielded may be deleted; if
        others come and go, keys may be missed or repeated."""
        following = self._next_key(None)
        while following is not None:
            key = following
            following = self._next_key(key)
            yield key

    def _next_key(self, after: bytes | None) -> bytes | None:
        key = self._key()
        error = self._next(self._fd, after, key)
        if error and error != -ENOENT:
            raise self._error("walk", -error)
        return None if error else key.raw

    # Many elements. Keys and values lie back to back, in bytes or an array's memoryview.

    def update_batch(self, keys: Bytes, values: Bytes, flags: int = BPF_ANY) -> int:
        """Write elements, one system call where the kernel can; returns how many. Not atomic: on
        BpfError, `done` elements were written."""
        fd, count = self.fileno(), self._count(keys, values)
        if not count:
            return 0
        result, done = libbpf.update_batch(fd, keys, values, count, flags)
        if result == -ENOTSUPP:
            return self._update_each(keys, values, flags)
        if result:
            raise self._error("write", -result, done)
        return count

    def delete_batch(self, keys: Bytes) -> int:
        """Delete elements, passing over keys that are not there. Returns how many were deleted."""
        at, deleted, count = 0, 0, self._count(keys)
        while at < count:
            start = at * self.key_size
            result, done = libbpf.delete_batch(self.fileno(), keys, start, count - at)
            if result == -ENOTSUPP:
                return sum(self.delete(key) for key in _pieces(keys, self.key_size))
            if result not in (0, -ENOENT):
                raise self._error("delete from", -result, deleted + done)
            deleted, at = deleted + done, at + done + (result != 0)
        return deleted

    def read_all(self) -> tuple[bytes, bytes]:
        """All keys and all elements, back to back, in the same order."""
        parts = [(bytes(keys), bytes(values)) for keys, values in self.read_parts()]
        return b"".join(keys for keys, _ in parts), b"".join(values for _, values in parts)

    def read_parts(self, flags: int = 0) -> Iterator[tuple[memoryview, memoryview]]:
        """The same, some thousands at a time. `flags`: BPF_F_LOCK where each element is to be read
        under its lock."""
        chunk, after = _BATCH, None
        while True:
            cursor = libbpf.buffer_type(max(self.key_size, 8))()
            keys, values = bytearray(chunk * self.key_size), bytearray(chunk * self.element_size)
            result, done = libbpf.lookup_batch(
                self.fileno(), after, cursor, keys, values, chunk, flags
            )
            if result == -ENOTSUPP:
                yield from self._read_each()
                return
            if result == -ENOSPC:  # one bucket holds more than a chunk
                chunk *= 2
                continue
            if result not in (0, -ENOENT):
                raise self._error("read", -result, done)
            yield (
                memoryview(keys)[: done * self.key_size],
                memoryview(values)[: done * self.element_size],
            )
            if result:
                return
            after = cursor

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Every key with its element, as `read_all` found them."""
        keys, values = self.read_all()
        return zip(_pieces(keys, self.key_size), _pieces(values, self.element_size), strict=True)

    def _update_each(self, keys: Bytes, values: Bytes, flags: int) -> int:
        pairs = zip(_pieces(keys, self.key_size), _pieces(values, self.element_size), strict=True)
        done = 0
        try:
            for done, (key, value) in enumerate(pairs):  # noqa: B007
                self.update(key, value, flags)
        except BpfError as error:
            error.done = done
            raise
        return self._count(keys)

    def _read_each(self) -> Iterator[tuple[memoryview, memoryview]]:
        found = [(key, value) for key in self.keys() if (value := self.lookup(key)) is not None]
        keys, values = b"".join(key for key, _ in found), b"".join(value for _, value in found)
        yield memoryview(keys), memoryview(values)

    # Memory

    def mmap(self) -> memoryview:
        """The values of a BPF_F_MMAPABLE array, writable, `spec.stride` bytes each, which programs
        see at once. Through `.cast("Q")` an item assignment is one 8-byte store, in program order
        on x86-64. The view lives until this map is closed; casts and arrays made of it keep the
        memory until they go."""
        length = self.spec.stride * self.spec.max_entries
        try:
            self._memory = self._memory or mmap.mmap(self.fileno(), length, mmap.MAP_SHARED)
        except OSError as error:
            fix = "" if self.spec.flags & BPF_F_MMAPABLE else "it is no BPF_F_MMAPABLE array"
            raise BpfError(f"mmap map `{self.name}`", error.errno or EINVAL, fix=fix) from None
        self._views.append(memoryview(self._memory))
        return self._views[-1]

    def close(self) -> None:
        """Give the map up and release its views. May be called again."""
        memory = getattr(self, "_memory", None)
        if memory is not None:
            with suppress(BufferError):  # someone's array still looks at it: freed with that
                for view in self._views:
                    view.release()
                memory.close()
        self._memory, self._views = None, []
        super().close()

    # Errors

    def _count(self, keys: Bytes, values: Bytes | None = None) -> int:
        size = memoryview(keys).nbytes
        count = size // self.key_size if self.key_size else 0
        expected = count * self.element_size
        if size != count * self.key_size or (
            values is not None and memoryview(values).nbytes != expected
        ):
            raise self._wrong_size(keys, values)
        return count

    def _wrong_size(self, key: Bytes, value: Bytes | None = None) -> ValueError:
        given = f"{memoryview(key).nbytes}"
        given += f" and {memoryview(value).nbytes}" if value is not None else ""
        expected = f"{self.key_size}-byte keys and {self.element_size}-byte elements"
        return ValueError(f"map `{self.name}` has {expected}, given {given} bytes")

    def _error(self, verb: str, errno: int, done: int = 0) -> BpfError:
        fixes = {
            E2BIG: f"its capacity is {self.spec.max_entries}",
            EEXIST: "the key is there already",
            ENOENT: "there is no such key",
            ENODEV: "there is no such interface",
        }
        what = f"{verb} map `{self.name}`"
        error = BpfError(what, errno, fix=fixes.get(errno, ""), map=self.name)
        error.done = done
        return error


def _pieces(data: Bytes, size: int) -> list[bytes]:
    view = memoryview(data).cast("B")
    return [bytes(view[at : at + size]) for at in range(0, len(view), size)]


def _describe(fd: int) -> tuple[MapSpec, int]:
    info = MapInfo()
    require_kind(fd, "map")
    libbpf.info(fd, info, "ask for a map's description")
    sizes = info.type, info.key_size, info.value_size, info.max_entries
    return MapSpec(*sizes, info.map_flags, info.name.decode(errors="replace")), info.id
