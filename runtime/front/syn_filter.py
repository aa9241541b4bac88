"""A filter at a listening socket that drops what some sources send to it (socket(7),
SO_ATTACH_FILTER): their connections cost the agent nothing. Connections have the filter that there
was when they were made, which does not drop what their own source sends: they go on.
"""

from __future__ import annotations

import socket
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_network
from struct import pack

# linux/bpf_common.h, linux/filter.h
_LOAD_WORD, _LOAD_BYTE, _SHIFT_RIGHT, _IF_EQUAL, _RETURN = 0x20, 0x30, 0x74, 0x15, 0x06
_NETWORK_HEADER = 0xFFF00000  # SKF_NET_OFF
_SOURCE4, _SOURCE6 = _NETWORK_HEADER + 12, _NETWORK_HEADER + 8
_ALL = 0xFFFFFFFF
#: What the socket module has no names for.
_SO_ATTACH_FILTER, _SO_DETACH_FILTER = 26, 27
#: Sources of each family: a jump reaches 255 instructions.
MOST = 32

_Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def drop_from(at: socket.socket, sources: Iterable[str]) -> None:
    """Drop what these send (addresses and /64 prefixes, the first MOST of each family), and nothing
    else. Raises OSError."""
    program = _program(sources)
    if not program:
        with suppress(OSError):  # there is none
            at.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)
        return
    code = array("B", b"".join(pack("HBBI", *each) for each in program))
    place, _ = code.buffer_info()
    at.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, pack("HxxxxxxP", len(program), place))


def _program(sources: Iterable[str]) -> list[_Instruction]:
    """By the IP version, since one socket may listen for both."""
    networks = [ip_network(each) for each in sources]
    four = [each for each in networks if isinstance(each, IPv4Network)][:MOST]
    six = [each for each in networks if isinstance(each, IPv6Network)][:MOST]
    if not four and not six:
        return []
    of_four, of_six = list(_of_four(four)), list(_of_six(six))
    return [
        (_LOAD_BYTE, 0, 0, _NETWORK_HEADER),
        (_SHIFT_RIGHT, 0, 0, 4),
        (_IF_EQUAL, 0, len(of_four), 4),
        *of_four,
        (_IF_EQUAL, 0, len(of_six), 6),
        *of_six,
        (_RETURN, 0, 0, _ALL),
    ]


def _of_four(sources: list[IPv4Network]) -> Iterator[_Instruction]:
    yield _LOAD_WORD, 0, 0, _SOURCE4
    for each in sources:
        yield _IF_EQUAL, 0, 1, int(each.network_address)
        yield _RETURN, 0, 0, 0
    yield _RETURN, 0, 0, _ALL


def _of_six(sources: list[IPv6Network]) -> Iterator[_Instruction]:
    for each in sources:
        prefix = int(each.network_address) >> 64
        yield _LOAD_WORD, 0, 0, _SOURCE6
        yield _IF_EQUAL, 0, 3, prefix >> 32
        yield _LOAD_WORD, 0, 0, _SOURCE6 + 4
        yield _IF_EQUAL, 0, 1, prefix & 0xFFFFFFFF
        yield _RETURN, 0, 0, 0
    yield _RETURN, 0, 0, _ALL
