"""A rule book of images is the one of their rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.source import Source
from helioc.runtime.rules.images import ImageCodec
from helioc.runtime.rules.matches import MatchCodec
from helioc.runtime.rules.packed import PackedImages, keep
from linx_manifest import FAR, IFINDEXES, OVERLAY, PDR, PORTS, linx
from linx_maps import bare_maps, bundle, written

REQUEST = """
create OVERLAY 4 "to Zürich" [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.2),
                              (key, u32, 7), (interface, u32, wan1)];
create OVERLAY [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.3), (interface, u32, wan2)];
create FAR 9 [(action, u8, REDIRECT), (interface, u32, OVERLAY.4)];
create FAR 7 [(action, u8, REDIRECT), (interface, u32, wan1), (ifindex, u32, 12)];
create FAR 8 [(action, u8, DROP)];
create PDR 70 [(src_ip, u32, 10.0.0.0/8), (dst_ip, u32, 10.0.0.1), (weight, u16, 3), FAR 9];
create PDR [(src_ip, u32, 10.0.0.0/8), (dst_ip, u32, 10.0.0.1), (weight, u16, 2), FAR 9];
create PDR [(src_mac, u48, 02:03:04:05:06:07), (src_port, u16, 5..99), (tos, u8, 184),
            (vlan_id, u16, 4095), FAR [(action, u8, PASS)]];
create PDR [(dscp, u8, 46), (protocol, u8, TCP), FAR 8]
"""


def _book(manifest: Manifest) -> RuleBook:
    return RuleBook(manifest, PORTS, IFINDEXES)


def _plan(book: RuleBook, text: str) -> None:
    book.commit(book.plan(parse_request(Source("request", text))))


def _same(one: RuleBook, two: RuleBook) -> None:
    assert one.save() == two.save() and one.sequence == two.sequence
    for name, table in one.tables.items():
        other = two.tables[name]
        assert (table.keys, table.names, table.pointed) == (other.keys, other.names, other.pointed)
        for rule in table:
            pointing = [sorted(each.pointing(rule)) for each in (one, two)]
            assert pointing[0] == pointing[1], "by the images, and by the rules"


def test_a_book_of_images_is_that_of_their_rules() -> None:
    rules = (OVERLAY, replace(PDR, alternatives=("FAR",), priority=("precedence", "weight")), FAR)
    manifest = linx(tuple(replace(rule, image_size=256) for rule in rules))
    book = _book(manifest)
    _plan(book, REQUEST)
    kept = []
    for kind in manifest.rules:
        images, live = ImageCodec(manifest, kind), list(book.rules(kind.name))
        memory = np.full((len(live), kind.image_size), 0xFF, np.uint8)
        for row, rule in enumerate(live):
            match = MatchCodec(kind, images).of(rule).image
            images.write(memory[row].data, 0, rule, 1 + row, match)
        kept.append(PackedImages(images, memory))
    again = _book(manifest)
    again.restore((), kept)
    _same(again, book)
    for each in (again, book):
        _plan(each, "delete PDR 1; update OVERLAY 4 [(interface, u32, wan2)]; delete FAR 8, PDR 3")
        _plan(each, "create PDR [FAR 7]; update FAR 7 [(interface, u32, OVERLAY.4)]")
    _same(again, book)


def test_what_is_no_image_of_a_rule_is_refused() -> None:
    manifest = linx((replace(FAR, image_size=256),))
    images = ImageCodec(manifest, manifest.rule("FAR"))
    with pytest.raises(ValueError, match="no rule"):
        PackedImages(images, np.zeros((1, 256), np.uint8))


@pytest.mark.usefixtures("kernel")
def test_the_next_writers_book_is_that_of_the_one_before() -> None:
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)], FAR 2 [(action, u8, PASS)]")
        rules.tell("create LBR 3 [FAR 1, FAR 2]; create PDR [(dst_ip, u32, 10.0.0.0/8), LBR 3]")
        rules.tell("create PDR [(dst_ip, u32, 10.9.0.0/16), FAR [(action, u8, DROP)]]")
        rules.tell("update FAR 1 [(action, u8, PASS)]; delete PDR 1")
        again = RuleBook(bundle().manifest, rules.book.ports)
        keep(again, rules.writer)
        _same(again, rules.book)
