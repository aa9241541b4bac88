"""Names in C that every kernel's BTF takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from checked import checked
from helioc.compiler.backend.emit import emit
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.check.program import check
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.ir.names import Names
from helioc.compiler.lower.unit import Join
from helioc.lang.syntax.lexer import NAME_MOST
from helioc.lang.syntax.parser import parse
from helioc.lang.text.source import Source

ROOT = Path(__file__).parents[3]
#: KSYM_NAME_LEN of Linux 5.10, the byte that ends a name counted.
KSYM_NAME_LEN = 128


@pytest.mark.parametrize("path", sorted((ROOT / "pipelines").glob("*.hp")), ids=lambda p: p.stem)
def test_no_function_of_what_ships_has_too_long_a_name(path: Path) -> None:
    text = emit(lower_pipeline(checked(path)), lines=False)
    names = re.findall(r"^\w[\w ]*?[ *](\w+)\(", text, re.M)
    assert names
    assert [name for name in names if len(name) >= KSYM_NAME_LEN] == []


#: All names of it are made as long as they may be.
LONG = """
import std.ethernet, std.ip
header x_h { x_kind : u8  x_flag : u1 = 0  : u7  when x_flag { x_more : u32 } }
pipeline x_p {
  ports x_lan, x_wan
  parser {
    ethernet -> ipv4 as x_ip when type = 0x0800
    ethernet -> x_h[2] as x_own when type = 0x1234
    x_own     -> x_own when x_kind = 1
    x_own     -> ipv4 as x_ip  when x_kind = 2
  }
  ie x_element = 1, ip4
  ie x_way     = 2, port
  rule x_KIND [16] { match x_element optional x_ip.src  gives x_way  counts packets }
  rule x_HOP  [16] named { match x_way exact port  gives x_element }
  state x_MET [64] { match x_slot : ip4  gives x_port : port }
  on ttl_expired { reply icmp }
  stage x_first {
    if not x_ip { pass }
    remember x_MET(x_slot = x_ip.src, x_port = port)
    recall x_MET(x_slot = x_ip.dst) else { count x_missed  drop }
    find x_KIND else { drop }
  }
  stage x_second {
    find x_HOP else { drop }
    x_ip.tos = 3
    clamp mss
    if x_own {
      x_own.x_more = 7
      pop to x_ip
      forward x_KIND.x_way via x_HOP.x_element
    }
    push x_own { x_kind = 2, x_more = 7 } before x_ip
    forward x_KIND.x_way via x_HOP.x_element
  }
  run parser -> x_first -> x_second
}
"""


@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize("traced", [False, True])
def test_the_longest_names_make_none_that_is_too_long(join: Join, traced: bool) -> None:
    """All names are as long as they may be, and begin alike."""
    names = sorted(set(re.findall(r"\bx_\w+", LONG)))
    longest = {name: name.ljust(NAME_MOST - 2, "x") + f"{i:02}" for i, name in enumerate(names)}
    text = re.sub(r"\bx_\w+", lambda m: longest[m[0]], LONG)
    pipeline = check(parse(Source("p.hp", text)))
    said = set(re.findall(r"\w+", emit(lower_pipeline(pipeline, join, traced), lines=False)))
    assert [name for name in said if len(name) >= KSYM_NAME_LEN] == []
    assert len({name[:NAME_MOST] for name in said if "xxx" in name}) > 15


def test_long_names_stay_different() -> None:
    """Their beginnings are the same."""
    names = Names()
    one, other = names.free("a" * 300 + "b"), names.free("a" * 300 + "c")
    assert one != other
    assert one[:40] == other[:40]
    assert (names.free("reply_lan"), names.free("reply_lan")) == ("reply_lan", "reply_lan_2")


#: Elements and slots by names that C, or what is generated, has other things for.
TAKEN = """
import std.ethernet, std.ip
pipeline taken {
  ports lan
  parser { ethernet -> ipv4 when type = 0x0800 }
  ie way      = 1, port
  ie next_hop = 2, ip4
  ie way_tag  = 3, u8
  ie int      = 4, u16
  ie has_int  = 5, u16
  ie ABSENT   = 6, u32
  ie int_     = 7, u16
  rule BY [16] { match int optional ipv4.id  gives way, next_hop, way_tag, has_int, ABSENT, int_ }
  state MET [64] { match register : ip4  gives seen : u32, pad_0 : u8, long : u16 }
  default pass
  stage main {
    if not ipv4 { pass }
    remember MET(register = ipv4.src, seen = 7, pad_0 = 1, long = ipv4.id)
    recall MET(register = ipv4.dst) else { pass }
    find BY else { pass }
    ipv4.id = hash(BY.int, BY.int_, BY.has_int, BY.way_tag, BY.ABSENT) & 0xffff
    ipv4.tos = hash(MET.seen, MET.pad_0, MET.long) & 0xff
    forward BY.way via BY.next_hop
  }
  run parser -> main
}
"""


@pytest.mark.parametrize("join", ["staged", "fused"])
def test_names_that_c_has_other_things_for(join: Join) -> None:
    assert compile_pipeline(check(parse(Source("taken.hp", TAKEN))), join).object


#: A stage of one port role asks for the name of another one of another role, as does what three
#: roles share.
ALIKE = """
import std.ethernet, std.ip
pipeline p {
  ports a, a_b, b
  parser {
    ethernet -> ipv4 when type = 0x0800
  }
  default pass
  stage b_c {
    if ipv4 { ipv4.ttl = 9 }
  }
  stage c {
    if port is a_b { drop }
    pass
  }
  run parser -> b_c -> c
}
"""


@pytest.mark.parametrize("join", ["staged", "fused"])
def test_no_two_functions_have_one_name(join: Join) -> None:
    compiled = compile_pipeline(check(parse(Source("p.hp", ALIKE))), join, traced=True)
    names = re.findall(r"^(?:static|int)[\w ]*?(\w+)\(struct xdp_md", compiled.c, re.M)
    assert len(names) == len(set(names))
