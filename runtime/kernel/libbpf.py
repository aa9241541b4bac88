"""Calls of libbpf 1.x with Python values, and one error type. No policy.

Whatever libbpf would print is captured and attached to the error it belongs to, so that none of its
text reaches a terminal. Functions return Python values and raise `BpfError`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_int, c_uint32, c_void_p
from errno import ENOMEM, EPERM
from functools import cache
from typing import Any, NamedTuple

from .structures import (
    ELEMENT,
    GENERAL,
    BatchOpts,
    LinkCreateOpts,
    LinkUpdateOpts,
    MapCreateOpts,
    OpenOpts,
    ProgInfo,
    ProgLoadOpts,
    RunOpts,
    XdpMd,
)
from .system import ENOTSUPP, libc

LOG_ON_FAILURE, LOG_TRACE, LOG_STATS = 0, 1, 4  # verifier log levels; the last two join by `|`
BPF_XDP, BPF_TCX_INGRESS, BPF_TCX_EGRESS = 37, 46, 47  # enum bpf_attach_type
_SCHED_CLS, _XDP, _RAW_TRACEPOINT = 3, 6, 17  # enum bpf_prog_type
BPF_F_REPLACE = 4
_LOG_BYTES = 0xFFFFFF  # the most that every kernel accepts; untouched pages cost nothing


class BpfError(Exception):
    """The kernel or libbpf refused `operation`.

    `errno` is positive, `log` what the verifier (or else libbpf) said, `fix` what the user can do,
    `program` the program that was refused, `map` the name of the map whose element was not taken,
    `damaged` that an object is none that can be loaded, and `done` the elements of a batch done
    before the error.
    """

    def __init__(
        self, operation: str, errno: int, log: str = "", *,
        fix: str = "", program: str = "", map: str = "", damaged: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(operation, errno, log)
        self.operation, self.errno, self.log = operation, errno, log
        self.fix = fix or _fix_of(errno)
        self.program, self.map, self.damaged, self.done = program, map, damaged, 0

    @property
    def reason(self) -> str:
        """The error number in words."""
        return "not supported by this kernel" if self.errno == ENOTSUPP else os.strerror(self.errno)

    @property
    def too_long(self) -> bool:
        """Whether what the verifier rewrites of a program is longer than a jump reaches, which it
        calls a lack of memory."""
        return self.errno == ENOMEM and "16-bit range" in self.log

    def __str__(self) -> str:
        return f"{self.operation}: {self.reason}" + (f"; {self.fix}" if self.fix else "")


class LibbpfMissing(BpfError):
    """libbpf.so.1 is not installed or lacks a function this package calls."""

    def __init__(self, detail: str) -> None:
        super().__init__("load libbpf.so.1", 2, detail, fix="install it: apt-get install libbpf1")

    def __str__(self) -> str:
        return f"{self.operation}: {self.log}; {self.fix}"


def _fix_of(errno: int) -> str:
    return "run as root, or with CAP_BPF and CAP_NET_ADMIN" if errno == EPERM else ""


def check(result: int, operation: str, log: str = "", **more: Any) -> int:
    """`result`, or the error that a negative one stands for."""
    if result < 0:
        raise BpfError(operation, -result, log, **more)
    return result


@cache
def lib() -> ctypes.CDLL:
    """libbpf; every call of it releases the interpreter lock. Raises LibbpfMissing."""
    try:
        library = _with_prototypes(ctypes.CDLL("libbpf.so.1", use_errno=True), GENERAL | ELEMENT)
    except (OSError, AttributeError) as error:
        raise LibbpfMissing(str(error)) from None
    library.libbpf_set_print(ctypes.cast(_capture, c_void_p))
    return library


@cache
def fast() -> ctypes.PyDLL:
    """The calls for one element, made with the interpreter lock held, since giving it away costs
    more than they take: for maps where these never wait. They have no prototypes, which takes a
    third off: give them nothing but bytes, buffers, and numbers that fit an int. Raises
    LibbpfMissing."""
    lib()
    return ctypes.PyDLL("libbpf.so.1")


def _with_prototypes(library: ctypes.CDLL, prototypes: dict[str, tuple[Any, ...]]) -> ctypes.CDLL:
    for name, (result, *arguments) in prototypes.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


# What libbpf prints


class _PrintedLines(threading.local):
    def __init__(self) -> None:
        self.lines: list[str] | None = None


_printed = _PrintedLines()


def _print(level: int, form: int, arguments: int) -> int:
    """libbpf's print function, called in the calling thread. Levels: 0 warning, 1 information,
    2 debugging (dropped unread)."""
    if level < 2 and _printed.lines is not None:
        text = ctypes.create_string_buffer(65536)
        libc().vsnprintf(text, len(text), c_void_p(form), c_void_p(arguments))
        _printed.lines.append(text.value.decode(errors="replace").rstrip().removeprefix("libbpf: "))
    return 0


_capture = ctypes.CFUNCTYPE(c_int, c_int, c_void_p, c_void_p)(_print)


@contextmanager
def captured() -> Iterator[list[str]]:
    """Collects the lines that libbpf prints in this thread; without it they are dropped."""
    outer, _printed.lines = _printed.lines, []
    try:
        yield _printed.lines
    finally:
        _printed.lines = outer


# Objects


class LogBuffer:
    """Buffer for one program's verifier log. Must stay open until the load is over."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _LOG_BYTES)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self.size = _LOG_BYTES

    def take(self) -> str:
        """The log's text; gives the memory back."""
        text = self._memory[: max(self._memory.find(b"\0"), 0)].decode(errors="replace")
        self._memory.close()
        return text


def open_object(elf: bytes, name: str) -> int:
    """A `bpf_object *` made from an ELF file's bytes. `elf` need not outlive the call."""
    options = OpenOpts(sz=ctypes.sizeof(OpenOpts), object_name=name.encode())
    with captured() as printed:
        pointer: int | None = lib().bpf_object__open_mem(elf, len(elf), byref(options))
        errno = ctypes.get_errno()
    if not pointer:
        raise BpfError(f"read object `{name}`", errno, "\n".join(printed), damaged=errno != ENOMEM)
    return pointer


def members(pointer: int, kind: str) -> dict[str, int]:
    """Name to pointer of an object's `program`s or `map`s, in file order."""
    following = getattr(lib(), f"bpf_object__next_{kind}")
    name = getattr(lib(), f"bpf_{kind}__name")
    found: dict[str, int] = {}
    member: int | None = following(pointer, None)
    while member:
        found[name(member).decode(errors="replace")] = member
        member = following(pointer, member)
    return found


# Maps


def buffer_type(size: int) -> type[ctypes.Array[ctypes.c_char]]:
    """A writable buffer of `size` bytes, made by calling the result."""
    return ctypes.c_char * size


def create_map(
    kind: int, name: str, sizes: tuple[int, int, int], flags: int = 0, inner_fd: int = 0
) -> int:
    """A new map's descriptor. `sizes`: key bytes, value bytes, entries."""
    options = MapCreateOpts(sz=ctypes.sizeof(MapCreateOpts), map_flags=flags, inner_map_fd=inner_fd)
    with captured() as printed:
        result = lib().bpf_map_create(kind, name.encode()[:15], *sizes, byref(options))
    return check(result, f"create map `{name}`", "\n".join(printed))


def address_of(data: bytes | bytearray | memoryview) -> Any:
    """`data` as a pointer argument, without a copy unless it is a read-only view."""
    if isinstance(data, bytes):
        return data
    view = memoryview(data)
    return view.tobytes() if view.readonly else (ctypes.c_char * view.nbytes).from_buffer(view)


def update_batch(fd: int, keys: Any, values: Any, count: int, flags: int) -> tuple[int, int]:
    """A result (0 or a negative error number) and how many elements were written."""
    done, options = c_uint32(count), BatchOpts(ctypes.sizeof(BatchOpts), flags, 0)
    result = lib().bpf_map_update_batch(
        fd, address_of(keys), address_of(values), byref(done), byref(options)
    )
    return result, done.value


def delete_batch(fd: int, keys: Any, offset: int, count: int) -> tuple[int, int]:
    """Deletes `count` keys from byte `offset` on. A result (0 or a negative error number) and how
    many elements were deleted."""
    done, options = c_uint32(count), BatchOpts(ctypes.sizeof(BatchOpts), 0, 0)
    memory = address_of(keys)
    start = (ctypes.cast(memory, c_void_p).value or 0) + offset
    result = lib().bpf_map_delete_batch(fd, start, byref(done), byref(options))
    return result, done.value


def lookup_batch(
    fd: int,
    after: Any,
    cursor: Any,
    keys: bytearray,
    values: bytearray,
    count: int,
    flags: int = 0,
) -> tuple[int, int]:
    """Fills `keys` and `values` from the cursor `after` (None at first): a result, and how many
    were read."""
    done, options = c_uint32(count), BatchOpts(ctypes.sizeof(BatchOpts), flags, 0)
    out = address_of(keys), address_of(values)
    result = lib().bpf_map_lookup_batch(fd, after, cursor, *out, byref(done), byref(options))
    return result, done.value


# Programs and links


class RunOutcome(NamedTuple):
    result: int  # 0 or a negative error number
    retval: int
    data: bytes  # from the start of the metadata on
    metadata_length: int
    duration_ns: int


def test_run(fd: int, data: bytes, space: int, repeat: int, context: XdpMd | None) -> RunOutcome:
    """BPF_PROG_TEST_RUN on `data`, to which the program may add `space` bytes."""
    out, left = (ctypes.c_char * (len(data) + space))(), XdpMd()
    run = RunOpts(
        sz=ctypes.sizeof(RunOpts), data_in=data, data_size_in=len(data), repeat=repeat,
        data_out=ctypes.addressof(out), data_size_out=len(out),
    )  # fmt: skip
    if context is not None:
        run.ctx_in, run.ctx_out = ctypes.addressof(context), ctypes.addressof(left)
        run.ctx_size_in = run.ctx_size_out = ctypes.sizeof(XdpMd)
    result = lib().bpf_prog_test_run_opts(fd, byref(run))
    bytes_left = ctypes.string_at(out, run.data_size_out if result == 0 else 0)
    return RunOutcome(result, run.retval, bytes_left, left.data, run.duration)


def program_info(fd: int) -> tuple[ProgInfo, tuple[int, ...]]:
    """The description, and the ids of the maps the program uses."""
    first = ProgInfo()
    info(fd, first, "ask for a program's description")
    maps = (c_uint32 * first.nr_map_ids)()
    if first.nr_map_ids:
        again = ProgInfo(nr_map_ids=first.nr_map_ids, map_ids=ctypes.addressof(maps))
        info(fd, again, "ask for a program's maps")
    return first, tuple(maps)


def create_link(program_fd: int, ifindex: int, flags: int) -> int:
    """An XDP link's descriptor, or a negative error number. `flags`: XDP_FLAGS_*."""
    options = LinkCreateOpts(sz=ctypes.sizeof(LinkCreateOpts), flags=flags)
    with captured():
        result: int = lib().bpf_link_create(program_fd, ifindex, BPF_XDP, byref(options))
    return result


def create_tcx_link(program_fd: int, ifindex: int, attach_type: int) -> int:
    """A tcx link's descriptor, behind those that are there, or a negative error number: EINVAL
    before Linux 6.6. `attach_type`: BPF_TCX_*, of which libbpf 1.1 only knows the number."""
    with captured():
        result: int = lib().bpf_link_create(program_fd, ifindex, attach_type, None)
    return result


def load_tracepoint(name: str, instructions: bytes) -> int:
    """A program for a raw tracepoint: its descriptor, or a negative error number."""
    with captured():
        result: int = lib().bpf_prog_load(
            _RAW_TRACEPOINT, name.encode(), b"GPL", instructions, len(instructions) // 8, None
        )
    return result


def load_classifier(name: str, instructions: bytes) -> int:
    """A program for test runs on packets: its descriptor, or a negative error number."""
    with captured():
        result: int = lib().bpf_prog_load(
            _SCHED_CLS, name.encode(), b"GPL", instructions, len(instructions) // 8, None
        )
    return result


def load_for_device(name: str, instructions: bytes, ifindex: int) -> int:
    """An XDP program for a device itself: its descriptor, or a negative error number."""
    options = ProgLoadOpts(sz=ctypes.sizeof(ProgLoadOpts), prog_ifindex=ifindex)
    with captured():
        result: int = lib().bpf_prog_load(
            _XDP, name.encode(), b"GPL", instructions, len(instructions) // 8, byref(options)
        )
    return result


def update_link(link_fd: int, program_fd: int, expected_fd: int | None) -> int:
    """0 or a negative error number; with `expected_fd`, only if that program is attached."""
    options = LinkUpdateOpts(sz=ctypes.sizeof(LinkUpdateOpts))
    if expected_fd is not None:
        options.flags, options.old_prog_fd = BPF_F_REPLACE, expected_fd
    result: int = lib().bpf_link_update(link_fd, program_fd, byref(options))
    return result


def info(fd: int, into: ctypes.Structure, operation: str) -> None:
    """Fills one of the `*Info` structures; what an older kernel does not know stays 0."""
    size = c_uint32(ctypes.sizeof(into))
    check(lib().bpf_obj_get_info_by_fd(fd, byref(into), byref(size)), operation)


# CPUs


def possible_cpus() -> int:
    """How many CPUs the machine may ever have: the number of values of a per-CPU element."""
    return check(lib().libbpf_num_possible_cpus(), "count the possible CPUs")
