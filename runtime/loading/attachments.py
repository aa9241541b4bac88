"""What leads an interface's packets to a program, kept by a pin: an XDP or tcx link, or, before
Linux 6.6, a filter at clsact, for which the kernel has no link: where it is stands in the pin."""

from __future__ import annotations

import json
import os
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from errno import EINVAL, ENOLINK, EPERM
from functools import cache
from pathlib import Path
from typing import Protocol, Self

from ...lang.contract.manifest.manifest import AttachPoint
from ..base.paths import namespace_exists, this_namespace
from ..kernel import libbpf
from ..kernel.clsact import EGRESS, INGRESS, Clsact, Found, Place
from ..kernel.handles import BpfError, Link, LinkInfo, Pin, Program, XdpMode
from ..kernel.pinned_bytes import read_bytes, write_bytes

_PASS = bytes.fromhex("b700000000000000 9500000000000000")  # r0 = 0; exit


class Attachment(Protocol):
    """See `Link`, whose methods these are."""

    def info(self) -> LinkInfo: ...
    def program(self) -> Program: ...
    def update(self, program: Program, *, expected: Program | None = None) -> None: ...
    def detach(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


def attach(
    program: Program, at: AttachPoint, ifindex: int, mode: XdpMode, pin: Path, pipeline: str
) -> None:
    """Attach a program of a pipeline to an interface, and pin that. `mode`: of XDP. Raises
    BpfError."""
    if at == "xdp":
        link = Link.attach_xdp(program, ifindex, mode)
    elif has_tcx():
        link = Link.attach_tcx(program, ifindex, at == "tc.egress")
    else:
        Filter.attach(program, ifindex, at == "tc.egress", pin, pipeline)
        return
    with link:
        Pin.create(link, pin)


def open_attachment(pin: Path) -> Attachment:
    """What is pinned there. Raises BpfError, with EINVAL where that is something else."""
    try:
        return Link.open_pinned(pin)
    except BpfError as error:
        if error.errno != EINVAL:
            raise
    return Filter.open_pinned(pin)


def is_elsewhere(pin: Path) -> bool:
    """Whether it is of a filter in another network namespace, which only from there can be
    removed."""
    with suppress(BpfError), open_attachment(pin) as found:
        return isinstance(found, Filter) and found.elsewhere
    return False


@cache
def has_tcx() -> bool:
    """Whether the kernel has tcx links: from Linux 6.6 on. Raises BpfError."""
    what = "ask for tcx"
    descriptor = libbpf.check(libbpf.load_classifier("ask_for_tcx", _PASS), what)
    try:  # there is no interface 0, which a kernel that has none does not come to see
        return libbpf.create_tcx_link(descriptor, 0, libbpf.BPF_TCX_INGRESS) != -EINVAL
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Filter:
    """A program at clsact. `namespace`: the network namespace of its interface; `qdisc`: it was
    made for this filter, and goes with it."""

    ifindex: int
    parent: int
    pipeline: str
    namespace: int
    qdisc: bool

    @classmethod
    def attach(cls, program: Program, ifindex: int, egress: bool, pin: Path, pipeline: str) -> None:
        """Also where the kernel still has the filter of a pin that was lost."""
        parent = EGRESS if egress else INGRESS
        with Clsact() as netlink:
            there = netlink.qdisc_of(ifindex)
            made = cls(ifindex, parent, pipeline, this_namespace(), not there)
            if (left := made._found(netlink)) is not None:
                made = replace(made, qdisc=left.label == made._labels[True])
            # first, so that a kill leaves nothing of which nobody knows
            write_bytes(pin, json.dumps(asdict(made)).encode())
            if not there or (there == "ingress" and egress):
                netlink.make_qdisc(ifindex)
            netlink.attach(made._place, program, made._label, replace=left is not None)

    @classmethod
    def open_pinned(cls, pin: Path) -> Filter:
        with suppress(ValueError, TypeError):
            return cls(**json.loads(read_bytes(pin)))
        raise BpfError(f"open the pin `{pin}`", EINVAL)

    @property
    def elsewhere(self) -> bool:
        """Whether it is in another network namespace, which still exists."""
        return self.namespace != this_namespace() and namespace_exists(self.namespace)

    @property
    def _place(self) -> Place:
        return Place(self.ifindex, self.parent, zlib.crc32(self.pipeline.encode()) or 1)

    @property
    def _labels(self) -> tuple[str, str]:
        """By which we know our own; the second's qdisc is its own."""
        return f"helio {self.pipeline}", f"helio {self.pipeline}, and the qdisc"

    @property
    def _label(self) -> str:
        return self._labels[self.qdisc]

    def _found(self, netlink: Clsact) -> Found | None:
        if self.namespace != this_namespace():
            return None
        found = netlink.find(self._place)
        return found if found is not None and found.label in self._labels else None

    def info(self) -> LinkInfo:
        with Clsact() as netlink:
            found = self._found(netlink)
        if found is None:
            return LinkInfo(0, 0, 0, 0)
        return LinkInfo(0, 0, found.program_id, self.ifindex)

    def program(self) -> Program:
        return Program.open_id(self.info().program_id)

    def update(self, program: Program, *, expected: Program | None = None) -> None:
        what = f"switch a filter to `{program.name}`"
        with Clsact() as netlink:
            found = self._found(netlink)
            if found is None:
                raise BpfError(what, ENOLINK, fix="its interface is gone")
            if expected is not None and found.program_id != expected.id:
                raise BpfError(what, EPERM, fix="another program is attached than was expected")
            netlink.attach(self._place, program, self._label, replace=True)

    def detach(self) -> None:
        with Clsact() as netlink:
            if self._found(netlink) is not None:
                netlink.detach(self._place)
            if self.qdisc and self.namespace == this_namespace():
                netlink.remove_qdisc(self.ifindex)

    def __enter__(self) -> Filter:
        return self

    def __exit__(self, *_: object) -> None:
        pass
