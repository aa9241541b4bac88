"""The C library's face: prototypes and structures of libbpf 1.x, and one error type. No policy.

Everything libbpf would print is captured and attached to the error it belongs to, so that none of
its own text reaches a terminal. Functions return Python values and raise `BpfError`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_long, c_size_t, c_uint32, c_uint64, c_void_p
from errno import ENOMEM, EPERM
from functools import cache
from typing import Any, NamedTuple

ENOTSUPP = 524  # the kernel's own "not supported", which libc has no name for
LOG_ON_FAILURE, LOG_TRACE, LOG_STATS = 0, 1, 4  # verifier log levels; the last two join by `|`
BPF_XDP = 37  # enum bpf_attach_type
BPF_F_REPLACE = 4
BPFFS_MAGIC = 0xCAFE4A11
_LOG_BYTES = 0xFFFFFF  # the most that every kernel accepts; untouched pages cost nothing
_MEMBARRIER_NUMBER = {"x86_64": 324, "aarch64": 283, "riscv64": 283, "s390x": 356, "ppc64le": 365}


class BpfError(Exception):
    """The kernel or libbpf refused `operation`.

    `errno` is positive, `log` what the verifier (or else libbpf) said, `mend` what the user can do,
    `program` the program that was refused, `damaged` that an object is none that can be loaded, and
    `done` the elements of a batch done before the error.
    """

    def __init__(
        self, operation: str, errno: int, log: str = "", *,
        mend: str = "", program: str = "", damaged: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(operation, errno, log)
        self.operation, self.errno, self.log = operation, errno, log
        self.mend = mend or _mend_of(errno)
        self.program, self.damaged, self.done = program, damaged, 0

    @property
    def reason(self) -> str:
        """The error number in words."""
        return "not supported by this kernel" if self.errno == ENOTSUPP else os.strerror(self.errno)

    def __str__(self) -> str:
        return f"{self.operation}: {self.reason}" + (f"; {self.mend}" if self.mend else "")


class LibbpfMissing(BpfError):
    """libbpf.so.1 is not installed or lacks a function this package calls."""

    def __init__(self, detail: str) -> None:
        super().__init__("load libbpf.so.1", 2, detail, mend="install it: apt-get install libbpf1")

    def __str__(self) -> str:
        return f"{self.operation}: {self.log}; {self.mend}"


def _mend_of(errno: int) -> str:
    return "run as root, or with CAP_BPF and CAP_NET_ADMIN" if errno == EPERM else ""


def check(result: int, operation: str, log: str = "", **more: Any) -> int:
    """`result`, or the error that a negative one stands for."""
    if result < 0:
        raise BpfError(operation, -result, log, **more)
    return result


_C: dict[str, Any] = {
    "int": c_int,
    "bool": ctypes.c_bool,
    "u32": c_uint32,
    "u64": c_uint64,
    "size_t": c_size_t,
    "char*": c_char_p,
    "void*": c_void_p,
}


def _layout(declarations: str) -> list[tuple[str, Any]]:
    """Fields from `u32 type, id; char[16] name`, as in C with the length beside the type."""
    fields = []
    for declaration in declarations.split(";"):
        kind, names = declaration.split(maxsplit=1)
        base, _, length = kind.rstrip("]").partition("[")
        one = ctypes.c_char if base == "char" else _C[base]
        field = one * int(length) if length else one
        fields += [(name.strip(), field) for name in names.split(",")]
    return fields


class OpenOpts(ctypes.Structure):
    _fields_ = _layout(
        "size_t sz; char* object_name; bool relaxed_maps; char* pin_root_path; u32 _removed;"
        "char* kconfig, btf_custom_path; void* kernel_log_buf; size_t kernel_log_size;"
        "u32 kernel_log_level"
    )


class MapCreateOpts(ctypes.Structure):
    _fields_ = _layout(
        "size_t sz; u32 btf_fd, btf_key_type_id, btf_value_type_id, btf_vmlinux_value_type_id;"
        "u32 inner_map_fd, map_flags; u64 map_extra; u32 numa_node, map_ifindex"
    )


class BatchOpts(ctypes.Structure):
    _fields_ = _layout("size_t sz; u64 elem_flags, flags")


class LinkCreateOpts(ctypes.Structure):
    _fields_ = _layout("size_t sz; u32 flags; u64[6] _rest")


class ProgLoadOpts(ctypes.Structure):
    """The first fields of it."""

    _fields_ = _layout(
        "size_t sz; int attempts, expected_attach_type;"
        "u32 prog_btf_fd, prog_flags, prog_ifindex, kern_version"
    )


class LinkUpdateOpts(ctypes.Structure):
    _fields_ = _layout("size_t sz; u32 flags, old_prog_fd")


class RunOpts(ctypes.Structure):
    _fields_ = _layout(
        "size_t sz; char* data_in; void* data_out; u32 data_size_in, data_size_out;"
        "void* ctx_in, ctx_out; u32 ctx_size_in, ctx_size_out, retval; int repeat;"
        "u32 duration, flags, cpu, batch_size"
    )


class XdpMd(ctypes.Structure):
    """`struct xdp_md`; in a test run the data fields are offsets from the start of the buffer."""

    _fields_ = _layout("u32 data, data_end, data_meta, ingress_ifindex, rx_queue, egress_ifindex")


class ProgInfo(ctypes.Structure):
    _fields_ = _layout(
        "u32 type, id; u32[2] tag; u32 jited_prog_len, xlated_prog_len;"
        "u64 jited_prog_insns, xlated_prog_insns, load_time; u32 created_by_uid, nr_map_ids;"
        "u64 map_ids; char[16] name; u32 ifindex, gpl_compatible; u64[13] _unused;"
        "u64 run_time_ns, run_cnt, recursion_misses; u32 verified_insns, attach_btf_obj_id;"
        "u32 attach_btf_id, _pad"
    )


class MapInfo(ctypes.Structure):
    _fields_ = _layout(
        "u32 type, id, key_size, value_size, max_entries, map_flags; char[16] name;"
        "u32 ifindex; u32[11] _rest"
    )


class LinkInfo(ctypes.Structure):
    _fields_ = _layout("u32 type, id, prog_id, _pad, ifindex; u32[7] _rest")


_XDP, _RAW_TRACEPOINT = 6, 17  # enum bpf_prog_type
_PTR, _STR = c_void_p, c_char_p
# Result, then arguments.
_GENERAL: dict[str, tuple[Any, ...]] = {
    "libbpf_set_print": (_PTR, _PTR),
    "libbpf_num_possible_cpus": (c_int,),
    "bpf_object__open_mem": (_PTR, _STR, c_size_t, POINTER(OpenOpts)),
    "bpf_object__load": (c_int, _PTR),
    "bpf_object__close": (None, _PTR),
    "bpf_object__next_program": (_PTR, _PTR, _PTR),
    "bpf_object__next_map": (_PTR, _PTR, _PTR),
    "bpf_program__name": (_STR, _PTR),
    "bpf_program__fd": (c_int, _PTR),
    "bpf_program__set_autoload": (c_int, _PTR, ctypes.c_bool),
    "bpf_program__set_ifindex": (None, _PTR, c_uint32),
    "bpf_map__set_ifindex": (c_int, _PTR, c_uint32),
    "bpf_program__set_log_level": (c_int, _PTR, c_uint32),
    "bpf_program__set_log_buf": (c_int, _PTR, _PTR, c_size_t),
    "bpf_map__name": (_STR, _PTR),
    "bpf_map__fd": (c_int, _PTR),
    "bpf_map__type": (c_int, _PTR),
    "bpf_map__key_size": (c_uint32, _PTR),
    "bpf_map__value_size": (c_uint32, _PTR),
    "bpf_map__max_entries": (c_uint32, _PTR),
    "bpf_map__map_flags": (c_uint32, _PTR),
    "bpf_map__set_max_entries": (c_int, _PTR, c_uint32),
    "bpf_map__reuse_fd": (c_int, _PTR, c_int),
    "bpf_map__set_inner_map_fd": (c_int, _PTR, c_int),
    "bpf_map_create": (c_int, c_int, _STR, c_uint32, c_uint32, c_uint32, POINTER(MapCreateOpts)),
    "bpf_map_update_batch": (c_int, c_int, _PTR, _PTR, POINTER(c_uint32), POINTER(BatchOpts)),
    "bpf_map_delete_batch": (c_int, c_int, _PTR, POINTER(c_uint32), POINTER(BatchOpts)),
    "bpf_map_lookup_batch": (c_int, c_int, _PTR, _PTR, _PTR, _PTR, POINTER(c_uint32), _PTR),
    "bpf_map_get_fd_by_id": (c_int, c_uint32),
    "bpf_prog_get_fd_by_id": (c_int, c_uint32),
    "bpf_obj_pin": (c_int, c_int, _STR),
    "bpf_obj_get": (c_int, _STR),
    "bpf_obj_get_info_by_fd": (c_int, c_int, _PTR, POINTER(c_uint32)),
    "bpf_link_create": (c_int, c_int, c_int, c_int, POINTER(LinkCreateOpts)),
    "bpf_link_update": (c_int, c_int, c_int, POINTER(LinkUpdateOpts)),
    "bpf_link_detach": (c_int, c_int),
    "bpf_enable_stats": (c_int, c_int),
    "bpf_prog_load": (c_int, c_int, _STR, _STR, _STR, c_size_t, _PTR),
    "bpf_raw_tracepoint_open": (c_int, _STR, c_int),
    "bpf_prog_test_run_opts": (c_int, c_int, POINTER(RunOpts)),
}
_ELEMENT: dict[str, tuple[Any, ...]] = {
    "bpf_map_update_elem": (c_int, c_int, _STR, _STR, c_uint64),
    "bpf_map_lookup_elem": (c_int, c_int, _STR, _PTR),
    "bpf_map_delete_elem": (c_int, c_int, _STR),
    "bpf_map_get_next_key": (c_int, c_int, _STR, _PTR),
}


@cache
def lib() -> ctypes.CDLL:
    """libbpf; every call of it releases the interpreter lock. Raises LibbpfMissing."""
    try:
        library = _with_prototypes(ctypes.CDLL("libbpf.so.1", use_errno=True), _GENERAL | _ELEMENT)
    except (OSError, AttributeError) as error:
        raise LibbpfMissing(str(error)) from None
    library.libbpf_set_print(ctypes.cast(_capture, c_void_p))
    return library


@cache
def fast() -> ctypes.PyDLL:
    """The calls for one element, made with the interpreter lock held, since giving it away costs
    more than they take: for maps where these never wait. They have no prototypes, which takes a
    third off: give them nothing but octets, buffers, and numbers that fit an int. Raises
    LibbpfMissing."""
    lib()
    return ctypes.PyDLL("libbpf.so.1")


def _with_prototypes(library: ctypes.CDLL, prototypes: dict[str, tuple[Any, ...]]) -> ctypes.CDLL:
    for name, (result, *arguments) in prototypes.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


# What libbpf says


class _Said(threading.local):
    def __init__(self) -> None:
        self.lines: list[str] | None = None


_said = _Said()


def _print(level: int, form: int, arguments: int) -> int:
    """libbpf's print function, called in the calling thread. Levels: 0 warning, 1 information,
    2 debugging (dropped unread)."""
    if level < 2 and _said.lines is not None:
        text = ctypes.create_string_buffer(65536)
        _libc().vsnprintf(text, len(text), c_void_p(form), c_void_p(arguments))
        _said.lines.append(text.value.decode(errors="replace").rstrip().removeprefix("libbpf: "))
    return 0


_capture = ctypes.CFUNCTYPE(c_int, c_int, c_void_p, c_void_p)(_print)


@contextmanager
def captured() -> Iterator[list[str]]:
    """The lines that libbpf says in this thread meanwhile; outside of this they are dropped."""
    outer, _said.lines = _said.lines, []
    try:
        yield _said.lines
    finally:
        _said.lines = outer


# Objects


class LogBuffer:
    """Room for one program's verifier log. Must stay open until the load is over."""

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
    with captured() as said:
        pointer: int | None = lib().bpf_object__open_mem(elf, len(elf), byref(options))
        errno = ctypes.get_errno()
    if not pointer:
        raise BpfError(f"read object `{name}`", errno, "\n".join(said), damaged=errno != ENOMEM)
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
    with captured() as said:
        result = lib().bpf_map_create(kind, name.encode()[:15], *sizes, byref(options))
    return check(result, f"create map `{name}`", "\n".join(said))


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
    fd: int, after: Any, cursor: Any, keys: bytearray, values: bytearray, count: int
) -> tuple[int, int]:
    """Fills `keys` and `values` from the cursor `after` (None at first): a result, and how many
    were read."""
    done, options = c_uint32(count), BatchOpts(ctypes.sizeof(BatchOpts), 0, 0)
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


def test_run(fd: int, data: bytes, room: int, repeat: int, context: XdpMd | None) -> RunOutcome:
    """BPF_PROG_TEST_RUN on `data`, to which the program may add `room` bytes."""
    out, left = (ctypes.c_char * (len(data) + room))(), XdpMd()
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


def load_tracepoint(name: str, instructions: bytes) -> int:
    """A program for a raw tracepoint: its descriptor, or a negative error number."""
    with captured():
        result: int = lib().bpf_prog_load(
            _RAW_TRACEPOINT, name.encode(), b"GPL", instructions, len(instructions) // 8, None
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


# The rest of the kernel


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def possible_cpus() -> int:
    """How many CPUs the machine may ever have: the number of values of a per-CPU element."""
    return check(lib().libbpf_num_possible_cpus(), "count the possible CPUs")


def current_cpu() -> int:
    """The CPU this thread runs on at this moment."""
    cpu: int = _libc().sched_getcpu()
    return cpu


def membarrier_global() -> int:
    """membarrier(MEMBARRIER_CMD_GLOBAL), which synchronizes RCU where there are several CPUs: 0, or
    a positive error number."""
    number = _MEMBARRIER_NUMBER.get(platform.machine())
    if number is None:
        return ENOTSUPP
    return (
        ctypes.get_errno() if _libc().syscall(c_long(number), c_int(1), c_int(0), c_int(0)) else 0
    )


def prctl(option: int, *arguments: int) -> int:
    """prctl(2). Raises OSError."""
    words = [c_long(each) for each in (*arguments, 0, 0, 0, 0)[:4]]
    result: int = _libc().prctl(c_int(option), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "prctl")
    return result


def set_capabilities(mask: int) -> None:
    """capset(2): this thread may do that, by a bit for each capability, and programs that it starts
    get nothing from it. Raises OSError."""
    header = (c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3
    low, high = mask & 0xFFFFFFFF, mask >> 32
    sets = (c_uint32 * 6)(low, low, 0, high, high, 0)  # effective, permitted, inheritable
    if _libc().capset(byref(header), byref(sets)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "capset")


def filesystem_magic(path: str) -> int:
    """`statfs.f_type` of the file system that holds `path`. Raises OSError."""
    result = (c_uint64 * 32)()
    if _libc().statfs(os.fsencode(path), byref(result)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    return int(result[0]) & 0xFFFFFFFF
