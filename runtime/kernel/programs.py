"""Loaded programs, and the links that attach them to interfaces."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from enum import IntEnum
from errno import EBUSY, EEXIST, EINVAL, ENODEV, ENOENT, ENOLINK, EOPNOTSUPP, EPERM, ERANGE
from pathlib import Path

from . import libbpf, structures
from .libbpf import BpfError
from .pins import Descriptor, duplicate_fd, open_pin, require_kind
from .structures import XdpMd

_PROG_TYPE_XDP = 6
_RUN_TIME = 0  # BPF_STATS_RUN_TIME
_LOOPBACK = 1  # its index, in every network namespace
_ETH_HLEN = 14  # linux/if_ether.h; the kernel runs no shorter packet
_ABSENT = "there is no such interface in this network namespace"
_ROOM = 4096  # what a program may add to a packet in a test run, at most


@dataclass(frozen=True)
class RunResult:
    """One test run: the program's return value, the packet it left, its XDP metadata, and the mean
    nanoseconds of a run."""

    retval: int
    data: bytes
    duration_ns: int
    metadata: bytes = b""


def count_runs() -> Descriptor:
    """Have the kernel time every run of every program, as long as the descriptor is open: it looks
    at the clock twice more for each. Raises BpfError, also before Linux 5.8."""
    fd = libbpf.lib().bpf_enable_stats(_RUN_TIME)
    return Descriptor(libbpf.check(fd, "have the kernel time programs"))


@dataclass(frozen=True)
class VerifierStats:
    """What the verifier did with a program: instructions processed, states, and stack bytes of each
    function, the main one first."""

    processed: int
    total_states: int
    peak_states: int
    stack: tuple[int, ...]

    @classmethod
    def parse(cls, log: str) -> VerifierStats | None:
        """From a log of level LOG_STATS; None where it has none."""
        counts = re.search(r"processed (\d+) insns .*total_states (\d+) peak_states (\d+)", log)
        stack = re.search(r"stack depth ([\d+]+)", log)
        if not counts or not stack:
            return None
        processed, total, peak = (int(number) for number in counts.groups())
        return cls(processed, total, peak, tuple(int(depth) for depth in stack[1].split("+")))


@dataclass(frozen=True)
class ProgramInfo:
    """The kernel's description. `insns` are 8-byte instructions after its rewriting; 0 stands for
    what this kernel does not tell (`verified_insns` before 5.16)."""

    id: int
    type: int
    name: str
    tag: str
    insns: int
    jited_bytes: int
    verified_insns: int
    map_ids: tuple[int, ...]


class Program(Descriptor):
    """A loaded program. Closing it leaves the program to its links, pins, PROG_ARRAY entries and
    other descriptors; with the last of these it is unloaded."""

    def __init__(self, fd: int, name: str = "", log: str = "") -> None:
        """Takes over `fd`. `name` is the object's, where the kernel's 15 characters cut it."""
        super().__init__(fd)
        try:
            require_kind(fd, "prog")
            self.info = _program_info(fd)
        except BpfError:
            self.close()
            raise
        self.name = name or self.info.name
        self.id, self.tag = self.info.id, self.info.tag
        self.verifier_log = log

    @classmethod
    def open_pinned(cls, path: Path) -> Program:
        """The program pinned at `path`."""
        return cls(open_pin(path))

    @classmethod
    def open_id(cls, number: int) -> Program:
        """The program with this kernel id."""
        result = libbpf.lib().bpf_prog_get_fd_by_id(number)
        return cls(libbpf.check(result, f"open program {number}"))

    def __repr__(self) -> str:
        return f"<Program {self.name} id {self.id}{' closed' if self.closed else ''}>"

    def duplicate(self) -> Program:
        """A second owner of the same program, closed on its own."""
        return Program(duplicate_fd(self.fileno()), self.name, self.verifier_log)

    def runs(self) -> tuple[int, int]:
        """How often it ran while somebody `count_runs`, and nanoseconds of that, tail calls
        included. Raises BpfError."""
        described, _ = libbpf.program_info(self.fileno())
        return described.run_cnt, described.run_time_ns

    @property
    def stats(self) -> VerifierStats | None:
        """Read from the log, so only after a load with LOG_STATS."""
        return VerifierStats.parse(self.verifier_log)

    def test_run(
        self, data: bytes, *, ingress_ifindex: int = 0, repeat: int = 1, metadata: bytes = b""
    ) -> RunResult:
        """Run on a packet of at least 14 bytes, `repeat` times on the same buffer (so each run sees
        what the one before left), with `metadata` (a multiple of 4 bytes) in front of it.
        `ingress_ifindex` is in the caller's network namespace; 0 stands for its loopback, which the
        program sees as 1. Raises BpfError."""
        if len(data) < _ETH_HLEN:
            raise BpfError(
                f"run program `{self.name}` on {len(data)} bytes",
                EINVAL,
                fix=f"a test packet has at least an Ethernet header: {_ETH_HLEN} bytes",
            )
        packet, context = metadata + data, None
        if self.info.type == _PROG_TYPE_XDP:
            context = XdpMd(len(metadata), len(packet), 0, ingress_ifindex)
        run = libbpf.test_run(self.fileno(), packet, _ROOM, repeat, context)
        if run.result == -EINVAL and ingress_ifindex in (0, _LOOPBACK) and not metadata:
            # Before 5.15 XDP test runs took no context: the packet came by the loopback.
            run = libbpf.test_run(self.fileno(), packet, _ROOM, repeat, None)
        absent = f"there is no interface {ingress_ifindex} in this network namespace"
        fix = absent if run.result == -ENODEV else ""
        libbpf.check(run.result, f"run program `{self.name}`", fix=fix)
        start = run.metadata_length
        return RunResult(run.retval, run.data[start:], run.duration_ns, run.data[:start])


def _program_info(fd: int) -> ProgramInfo:
    raw, map_ids = libbpf.program_info(fd)
    return ProgramInfo(
        id=raw.id,
        type=raw.type,
        name=raw.name.decode(errors="replace"),
        tag=bytes(raw.tag).hex(),
        insns=raw.xlated_prog_len // 8,
        jited_bytes=raw.jited_prog_len,
        verified_insns=raw.verified_insns,
        map_ids=map_ids,
    )


class XdpMode(IntEnum):
    """XDP_FLAGS_* of linux/if_link.h: in the driver, after it on any interface, or on the card."""

    NATIVE = 4
    GENERIC = 2
    OFFLOAD = 8


@dataclass(frozen=True)
class LinkInfo:
    """The kernel's description; `ifindex` is 0 once the link was detached or its interface gone."""

    id: int
    type: int
    program_id: int
    ifindex: int


class Link(Descriptor):
    """An XDP or tcx program on an interface. Closing it detaches the program, unless the link is
    pinned or another descriptor holds it; pinned, it survives the process. It ends with its
    interface."""

    def __init__(self, fd: int) -> None:
        """Takes over `fd`. Raises BpfError where that is no link."""
        super().__init__(fd)
        try:
            require_kind(fd, "link")
            self.id = self.info().id
        except BpfError:
            self.close()
            raise

    @classmethod
    def attach_xdp(cls, program: Program, ifindex: int, mode: XdpMode = XdpMode.NATIVE) -> Link:
        """Attach to an interface of the caller's network namespace. Raises BpfError."""
        result = libbpf.create_link(program.fileno(), ifindex, int(mode))
        if result >= 0:
            return cls(result)
        interface = _interface_name(ifindex)
        fix = _attach_fix(-result, mode) if interface else _ABSENT
        what = f"attach `{program.name}` to interface {interface or ifindex}"
        raise BpfError(what, -result, fix=fix)

    @classmethod
    def attach_tcx(cls, program: Program, ifindex: int, egress: bool) -> Link:
        """Attach to an interface of the caller's network namespace, behind the programs that are
        there. Raises BpfError."""
        kind = libbpf.BPF_TCX_EGRESS if egress else libbpf.BPF_TCX_INGRESS
        result = libbpf.create_tcx_link(program.fileno(), ifindex, kind)
        fix = "" if _interface_name(ifindex) else _ABSENT
        return cls(libbpf.check(result, f"attach `{program.name}` at tcx", fix=fix))

    @classmethod
    def open_pinned(cls, path: Path) -> Link:
        """The link pinned at `path`."""
        return cls(open_pin(path))

    def __repr__(self) -> str:
        return f"<Link id {self.id}{' closed' if self.closed else ''}>"

    def info(self) -> LinkInfo:
        """As it is now."""
        raw = structures.LinkInfo()
        libbpf.info(self.fileno(), raw, "ask for a link's description")
        return LinkInfo(raw.id, raw.type, raw.prog_id, raw.ifindex)

    def program(self) -> Program:
        """The program that it leads to now. Close it. Raises BpfError."""
        while True:
            number = self.info().program_id
            try:
                return Program.open_id(number)
            except BpfError as error:
                # put in its place, and unloaded
                if error.errno != ENOENT or self.info().program_id == number:
                    raise

    def update(self, program: Program, *, expected: Program | None = None) -> None:
        """Put `program` in the place of the attached one; every packet meets one of the two. With
        `expected`, only if that one is attached. Raises BpfError."""
        expected_fd = expected.fileno() if expected else None
        result = libbpf.update_link(self.fileno(), program.fileno(), expected_fd)
        fixes = {
            EPERM: "another program is attached than was expected, or the privilege is missing",
            ENOLINK: "its interface is gone",
        }
        libbpf.check(result, f"switch a link to `{program.name}`", fix=fixes.get(-result, ""))

    def detach(self) -> None:
        """Take the program off the interface at once, whoever else holds the link; its pins stay as
        names of nothing. May be called again."""
        libbpf.check(libbpf.lib().bpf_link_detach(self.fileno()), "detach a link")


def _interface_name(ifindex: int) -> str:
    """Its name in the caller's network namespace, or nothing where there is none."""
    try:
        return socket.if_indextoname(ifindex)
    except OSError:
        return ""


def _attach_fix(errno: int, mode: XdpMode) -> str:
    another = "another XDP program is attached to it: detach that one first"
    unsupported = "its driver has no native XDP: use the generic mode"
    return {
        EBUSY: another,
        EEXIST: another,
        ENODEV: _ABSENT,
        EOPNOTSUPP: unsupported if mode is XdpMode.NATIVE else "",
        ERANGE: "its MTU, or its peer's, is too large for XDP",
    }.get(errno, "")
