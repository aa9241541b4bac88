"""A manifest is read as it was written; a damaged one is refused in words, or does no harm."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.manifest.manifest import Manifest, ManifestError
from helioc.lang.contract.manifest.read_manifest import from_json
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.edge.read_config import Host, read_config
from helioc.runtime.kernel.netlink import Link
from helioc.runtime.rules.codec import KindCodec
from helioc.runtime.rules.images import ImageCodec
from helioc.runtime.rules.matches import MatchCodec
from hypothesis import given, settings
from hypothesis import strategies as st
from linx_maps import compiled

PIPELINES = sorted((Path(__file__).parents[4] / "pipelines").glob("*.hp"))
HOST = Host((Link(2, "eth1", "", 1500, bytes(6), 0, 0, 0),), ())
EDGE = """\
ports: {WAN1: {role: wan, interface: eth1}}
overlays: {G: {local_ip: 192.0.2.1, remote_ip: 192.0.2.2, key: 7, interface: WAN1}}
"""
RULES = """
create OVERLAY G [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.2), (interface, u32, WAN1)];
create FAR 17 [(action, u8, REDIRECT), (interface, u32, G)];
create LBR 7 [FAR 17, (tos, u8, 184)];
create PDR 1 [(src_ip, u32, 10.9.0.0/16), (dst_port, u16, 5..900), LBR 7]
"""
Place = tuple[str | int, ...]


def places(value: Any, at: Place = ()) -> list[Place]:
    inner = value.items() if isinstance(value, dict) else (
        enumerate(value) if isinstance(value, list) else ())  # fmt: skip
    return [p for key, each in inner for p in [(*at, key), *places(each, (*at, key))]]


DATA = json.loads(compiled().manifest.to_json())
PLACES = places(DATA)


def changed(place: Place, value: object, delete: bool = False) -> str:
    data = copy.deepcopy(DATA)
    inner = data
    for step in place[:-1]:
        inner = inner[step]
    if delete:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return json.dumps(data)


def use(manifest: Manifest) -> None:
    """Whatever the control plane makes of a manifest before it asks the kernel."""
    book = RuleBook(manifest, {"WAN1": 1}, {1: 2})
    try:
        read_config(Source("edge.yaml", EDGE), manifest, HOST)
        book.commit(book.plan(parse_request(Source("r", RULES))))
    except Refused:
        pass
    for kind in manifest.rules:
        codec, images = KindCodec(manifest, kind), ImageCodec(manifest, kind)
        matches = MatchCodec(kind, images)
        for rule in book.rules(kind.name):
            into = memoryview(bytearray(kind.record_size))
            codec.record(into, 0, rule, lambda *_: 1, lambda *_: bytes(24))
            found = matches.of(rule)
            for mask, key in found.patterns:
                assert (mask | key).to_bytes(max(1, kind.key_size), "big")
            images.write(memoryview(bytearray(kind.image_size)), 0, rule, 1, found.image)


def test_what_was_written_is_read() -> None:
    assert from_json(compiled().manifest.to_json()) == compiled().manifest
    use(compiled().manifest)


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda path: path.stem)
def test_what_ships_is_read(pipeline: Path) -> None:
    checked = check_file(pipeline)
    manifest = manifest_of(checked, lower_pipeline(checked, "staged"))
    if manifest.at:  # a bundle has the digest of a second object then
        manifest = replace(manifest, tc="0" * 64)
    assert from_json(manifest.to_json()) == manifest


def test_a_spread_over_as_many_as_may_be_is_read(tmp_path: Path) -> None:
    text = (PIPELINES[0].parent / "linx.hp").read_text()
    (tmp_path / "linx.hp").write_text(text.replace("FAR[1..16]", "FAR[1..255]"))
    checked = check_file(tmp_path / "linx.hp")
    manifest = manifest_of(checked, lower_pipeline(checked))
    assert [r.spread.most for r in manifest.rules if r.spread] == [255]
    assert from_json(manifest.to_json()) == manifest


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(PLACES),
    st.sampled_from([None, "", "x", "port", -1, 0, 3, 1 << 40, 1 << 200, 1.5, True, [], [[]], {}]),
    st.booleans(),
)
def test_one_damaged_value(place: Place, value: object, delete: bool) -> None:
    try:
        use(from_json(changed(place, value, delete)))
    except ManifestError as error:
        for word in ("NoneType", "object is not", "KeyError", "argument"):
            assert word not in str(error)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("max_ports",), None, "`max_ports` is null, where a number from 0 is expected"),
        (("default",), None, "`default` is null, where `pass` or `drop` is expected"),
        (("rules", 0, "capacity"), 0, "`capacity` is 0"),
        (("rules", 0, "record", 0, "size"), 3, "bytes, not"),
        (("rules", 1, "match", 0, "position"), 1 << 20, "outside of the key"),
        (("rules", 0, "key_size"), 1 << 40, "`key_size` is 1099511627776, not a multiple of 4"),
        (("elements", 12, "most"), 3, "is matched, and holds several values"),
        (("rules", 1, "filter"), 1000, "not a power of two"),
        (("rules", 0, "fixed"), ["00", "ff"], "are not different masks of"),
        (("roles",), [], "there is no role"),
        (("rules",), None, "`rules` is null, where a list is expected"),
        (("scratch",), 7, "`scratch` is 7, where an object is expected"),
        (("layout",), 5, "the layout 5 is not 1 or 2 or 3 or 4, which this release reads"),
        (("counts",), 256, "`counts` is 256, not "),
        (("rules", 1, "counts_at"), 1, "`counts_at` is 1, which is not its own"),
    ],
)
def test_what_is_said(place: Place, value: object, said: str) -> None:
    with pytest.raises(ManifestError) as refused:
        from_json(changed(place, value))
    assert said in str(refused.value)


@pytest.mark.parametrize("text", ["", "[", "7", "[]", "{}", "[" * 100000, '{"format": 1}'])
def test_what_is_no_manifest(text: str) -> None:
    with pytest.raises(ManifestError):
        from_json(text)


RAISING = """import std.ethernet, std.ip
pipeline p {
  ports lan
  parser { ethernet -> ipv4 as user when type = 0x0800 }
  ie src   = 1, ip4
  ie quota = 2, u64
  event USED { of : K, src : ip4, volume : u64 }
  rule K [8] {
    match  src exact user.src
    gives  quota
    counts packets, bytes
    emit   USED { of = K, src = K.src, volume = K.bytes } after quota bytes
  }
  stage s {
    if not user { pass }
    find K else { drop }
    pass
  }
  run parser -> s
}
"""


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("event",), "USES", "it raises `USES`, which is not there or has other fields"),
        (("fields",), [], "it raises `USED`, which is not there or has other fields"),
        (("what",), "idler", "`idler`"),
        (("amount",), -1, "-1"),
        (("element",), "src", "`src` says when it raises `USED`, and is not given"),
        (("fields", 1, "element"), "sauce", "it holds `sauce`, which it does not have"),
        (("fields", 0, "what"), "id", "`of` of `USED` does not say which of its rules it is"),
        (("fields", 1, "what"), "rule", "`src` of `USED` does not say which of its rules it is"),
        (("fields", 1, "what"), "bytes", "`src` of `USED` has no room for what it holds"),
    ],
)
def test_events_of_rules(place: Place, value: object, said: str, tmp_path: Path) -> None:
    path = tmp_path / "p.hp"
    path.write_text(RAISING)
    pipeline = check_file(path)
    text = manifest_of(pipeline, lower_pipeline(pipeline)).to_json()
    assert from_json(text).rules[0].raises[0].event == "USED"
    data = json.loads(text)
    inner = data["rules"][0]["raises"][0]
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    with pytest.raises(ManifestError) as refused:
        from_json(json.dumps(data))
    assert said in str(refused.value)


def test_an_event_of_what_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "p.hp"
    path.write_text(RAISING)
    pipeline = check_file(path)
    data = json.loads(manifest_of(pipeline, lower_pipeline(pipeline)).to_json())
    data["rules"][0]["counts"] = ["packets"]
    with pytest.raises(ManifestError, match="when it raises `USED` is not known"):
        from_json(json.dumps(data))
