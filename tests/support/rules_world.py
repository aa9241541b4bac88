"""A small world to speak to: overlays, FARs, an LBR and two PDRs of linx."""

from __future__ import annotations

from collections.abc import Callable

from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import Plan, RuleBook
from helioc.lang.text.source import Source
from linx_manifest import IFINDEXES, PORTS, linx

WORLD = """
create OVERLAY GRE-WAN1 [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 198.51.100.1),
                         (key, u32, 7), (interface, u32, wan1)],
       OVERLAY GRE-WAN2 [(local_ip, u32, 192.0.2.5), (remote_ip, u32, 198.51.100.1),
                         (interface, u32, wan2)];
create FAR 17 [(action, u8, REDIRECT), (interface, u32, GRE-WAN1)], FAR 18 [(action, u8, PASS)],
       FAR 19 [(action, u8, DROP)];
create LBR 7 [FAR 17, FAR 18, (tos, u8, 184)];
create PDR 1 [(src_ip, u32, 10.9.0.0/16), LBR 7];
create PDR 2 [(dst_ip, u32, 10.8.0.0/16), FAR [(action, u8, DROP)]]
"""


def world() -> RuleBook:
    """A rule book with these rules in force."""
    book = RuleBook(linx(), PORTS, IFINDEXES)
    book.commit(book.plan(parse_request(Source("world", WORLD))))
    return book


Say = Callable[[RuleBook, str], Plan]
