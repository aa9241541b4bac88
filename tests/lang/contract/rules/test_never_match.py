"""A rule that matches headers of which a packet has one is warned of: no packet finds it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.diagnostics import Diagnostic
from helioc.lang.text.source import Source

PIPELINES = Path(__file__).parents[4] / "pipelines"
TEXT = """import std.ethernet, std.ip, std.ipv6

pipeline either {
  ports outside

  parser {
    ethernet -> vlan  when type = 0x8100
    ethernet -> ipv4  when type = 0x0800
    ethernet -> ipv6  when type = 0x86dd
    vlan     -> ipv4  when type = 0x0800
    ipv4     -> udp   when protocol = 17
    ipv6     -> udp   when next_header = 17
    ipv4     -> tcp   when protocol = 6
  }

  ie vlan_id = 1, u12
  ie ttl     = 2, u8
  ie hops    = 3, u8
  ie dst     = 4, u16
  ie flags   = 5, u16
  ie either  = 6, u16

  rule CLASS [1k] {
    match vlan_id optional vlan.id
          ttl     range    ipv4.ttl
          hops    ternary  ipv6.hop_limit
          dst     optional udp.dst
          flags   optional tcp.dst
          either  optional l4.dst
  }

  rule SAID [1k] {
    match ttl  optional ipv4.ttl
          hops optional given
  }

  default pass

  stage filter {
    find CLASS else { find SAID(hops = first(ipv6.hop_limit)) else { pass } }
    drop
  }

  run parser -> filter
}
"""


@cache
def manifest(path: Path) -> Manifest:
    pipeline = check_file(path)
    return manifest_of(pipeline, lower_pipeline(pipeline))


@pytest.fixture(scope="module")
def either(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    path = tmp_path_factory.mktemp("either") / "either.hp"
    path.write_text(TEXT)
    return manifest(path)


def warned(made: Manifest, text: str) -> list[Diagnostic]:
    book = RuleBook(made, {"OUT": 1}, {1: 11})
    return list(book.plan(parse_request(Source("request", f"create {text}"))).warnings)


def test_a_slice_of_two_families() -> None:
    edge = manifest(PIPELINES / "srv6_edge.hp")
    four, six = "(src4, u32, 10.1.0.0/16)", "(src6, u128, 2001:db8::/32)"
    (found,) = warned(edge, f"SLICE 7 [{four}, {six}, (table, u32, 1)]")
    assert (found.code, found.severity) == ("H0465", "warning")
    assert found.title == "SLICE 7 never matches: no packet has both `src4` and `src6`"
    assert found.labels[0].text == "a packet has `user4` or `user6`"
    for alone in (four, six, f"{four}, (src6, u128, ::/0)", f"{four}, (protocol, u8, 6)"):
        assert not warned(edge, f"SLICE 7 [{alone}, (table, u32, 1)]")


def exclusive(made: Manifest) -> Iterator[tuple[str, str]]:
    values = {"vlan_id": "u16, 5", "ttl": "u8, 5..9", "hops": "u8, 4 & 12", "dst": "u16, 53",
              "flags": "u16, 80", "either": "u16, 80"}  # fmt: skip
    for one, two in combinations(values, 2):
        if warned(made, f"CLASS [({one}, {values[one]}), ({two}, {values[two]})]"):
            yield one, two


def test_by_the_parse_graph(either: Manifest) -> None:
    assert set(exclusive(either)) == {
        ("ttl", "hops"), ("vlan_id", "hops"), ("hops", "flags"), ("dst", "flags"),
    }  # fmt: skip


def test_a_header_that_is_absent_may_be_read_as_0(either: Manifest) -> None:
    assert not warned(either, "SAID [(ttl, u8, 5), (hops, u8, 0)]")
    assert not warned(either, "SAID [(ttl, u8, 5), (hops, u8, 3)]")
    assert not warned(either, "CLASS [(ttl, u8, 0..9), (hops, u8, 4)]")


def test_rows_of_a_file(either: Manifest) -> None:
    book = RuleBook(either, {}, {})
    rows = "ttl,hops\n5,\n5,6\n,6\n7,8\n"
    plan = book.plan_columns(read_csv(Source("class.csv", rows), book.kinds["CLASS"]))
    (found,) = plan.warnings
    assert found.code == "H0465" and str(found.span) == "class.csv:3:3"
    assert found.title == "2 of these rules never match: no packet has both `ttl` and `hops`"
