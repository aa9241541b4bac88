"""Programs at tc by netlink, where there is no tcx: direct-action filters of a clsact qdisc
(linux/pkt_sched.h, pkt_cls.h, rtnetlink.h). All of the caller's network namespace."""

from __future__ import annotations

import struct
from errno import EEXIST, EINVAL, ENODEV, ENOENT
from typing import NamedTuple

from .libbpf import BpfError
from .netlink import ACK, CREATE, DUMP, EXCL, REPLACE, REQUEST, Netlink, attribute, attributes
from .programs import Program

INGRESS, EGRESS = 0xFFFFFFF2, 0xFFFFFFF3  # parents of filters
#: A filter without a priority of its own gets this one from the kernel, if it is the first.
PRIORITY = 0xC000
_NEWQDISC, _DELQDISC, _GETQDISC = 36, 37, 38
_NEWTFILTER, _DELTFILTER, _GETTFILTER = 44, 45, 46
_QDISC, _QDISC_PARENT = 0xFFFF0000, 0xFFFFFFF1  # TC_H_CLSACT
_ALL = 0x0300  # ETH_P_ALL, in network order
_TCMSG = struct.Struct("=BxxxiIII")
_KIND, _OPTIONS = 1, 2
_BPF_FD, _BPF_NAME, _BPF_FLAGS, _BPF_ID = 6, 7, 8, 11
_DIRECT_ACTION = 1
_GONE = (ENODEV, ENOENT, EINVAL)  # no such interface, filter, qdisc


class Place(NamedTuple):
    """Where a filter is: `parent` is INGRESS or EGRESS. Filters of one place are told apart by
    their `handle`."""

    ifindex: int
    parent: int
    handle: int


class Found(NamedTuple):
    """A filter's program, and the label that it was made with."""

    program_id: int
    label: str


class Clsact(Netlink):
    """A route socket that also speaks of qdiscs and filters. Its methods raise BpfError."""

    def qdisc_of(self, ifindex: int) -> str:
        """Which one is where clsact belongs: `clsact`, `ingress`, or none."""
        body = _TCMSG.pack(0, ifindex, 0, 0, 0)
        for answer in self._asked("look for a clsact qdisc", _GETQDISC, DUMP, body):
            _, index, handle, _, _ = _TCMSG.unpack_from(answer)
            if (index, handle) == (ifindex, _QDISC):
                return _text(dict(attributes(answer[_TCMSG.size :])), _KIND)
        return ""

    def make_qdisc(self, ifindex: int) -> None:
        """A clsact qdisc where there is none."""
        body = _TCMSG.pack(0, ifindex, _QDISC, _QDISC_PARENT, 0) + attribute(_KIND, b"clsact\0")
        self._done("make a clsact qdisc", _NEWQDISC, CREATE | EXCL, body)

    def remove_qdisc(self, ifindex: int) -> None:
        """The clsact qdisc, unless somebody has filters there, or it is gone."""
        if self.qdisc_of(ifindex) == "clsact" and not self._filters(ifindex):
            body = _TCMSG.pack(0, ifindex, _QDISC, _QDISC_PARENT, 0)
            self._done("remove a clsact qdisc", _DELQDISC, 0, body)

    def _filters(self, ifindex: int) -> bool:
        """Whether there are any. A kernel dumps a head for each priority, without a handle."""
        bodies = (_TCMSG.pack(0, ifindex, 0, parent, 0) for parent in (INGRESS, EGRESS))
        what = "look for filters at clsact"
        return any(self._asked(what, _GETTFILTER, DUMP, body) for body in bodies)

    def attach(self, place: Place, program: Program, label: str, replace: bool = False) -> None:
        """A filter at a free place; with `replace`, in the place of the one that is there: every
        packet meets one of the two."""
        options = (
            attribute(_BPF_FD, struct.pack("=I", program.fileno()))
            + attribute(_BPF_NAME, label.encode() + b"\0")
            + attribute(_BPF_FLAGS, struct.pack("=I", _DIRECT_ACTION))
        )
        body = _head(place) + attribute(_KIND, b"bpf\0") + attribute(_OPTIONS, options)
        flags = CREATE | (REPLACE if replace else EXCL)
        self._done(f"attach `{program.name}` at clsact", _NEWTFILTER, flags, body)

    def find(self, place: Place) -> Found | None:
        """The BPF filter there."""
        what = "look for a filter at clsact"
        for answer in self._asked(what, _GETTFILTER, 0, _head(place), _GONE):
            given = dict(attributes(answer[_TCMSG.size :]))
            options = dict(attributes(given.get(_OPTIONS, b"")))
            if _text(given, _KIND) == "bpf" and _BPF_ID in options:
                number = int.from_bytes(options[_BPF_ID], "little")
                return Found(number, _text(options, _BPF_NAME))
        return None

    def detach(self, place: Place) -> None:
        """The filter there; it may be gone."""
        self._done("remove a filter at clsact", _DELTFILTER, 0, _head(place), _GONE)

    def _done(
        self, what: str, kind: int, flags: int, body: bytes, fine: tuple[int, ...] = ()
    ) -> None:
        self._asked(what, kind, ACK | flags, body, fine)

    def _asked(
        self, what: str, kind: int, flags: int, body: bytes, fine: tuple[int, ...] = ()
    ) -> list[bytes]:
        """The answers; none where an error is `fine`."""
        try:
            return list(self._ask(kind, REQUEST | flags, body))
        except OSError as error:
            number = error.errno or EINVAL
            if number in fine:
                return []
            fix = "another one is at its place" if number == EEXIST else ""
            raise BpfError(what, number, fix=fix) from None


def _head(place: Place) -> bytes:
    return _TCMSG.pack(0, place.ifindex, place.handle, place.parent, PRIORITY << 16 | _ALL)


def _text(given: dict[int, bytes], kind: int) -> str:
    return given.get(kind, b"").rstrip(b"\0").decode(errors="replace")
