"""Limits of pops, pushes and appends: all are found at once, and only where packets come."""

from __future__ import annotations

import pytest
from check_frame import checked, framed
from helioc.compiler.driver import lower_pipeline
from helioc.lang.text.diagnostics import Diagnostic


def found(text: str) -> list[Diagnostic]:
    """The errors; what has none is lowered, too."""
    pipeline, diagnostics = checked(framed(text))
    if pipeline is not None:
        lower_pipeline(pipeline)
    return [d for d in diagnostics if d.severity == "error"]


ODD = """import std.ethernet, std.ip
header cover { sum : u16 = checksum(header, payload)  next : u16 = 0x800 }
header odd { a : u16  {more}next : u8 = 17 }
pipeline p {
  ports lan
  parser {
    ethernet -> cover when type = 0x9999
    cover -> ipv4 when next = 0x800
    ipv4 -> odd when protocol = 200
    ipv4 -> udp when protocol = 17
    ipv4 -> tcp when protocol = 6
    odd -> udp as inner when next = 17
  }
  stage s {
    if not ipv4 { pass }
    ipv4.{change}
    send back
  }
  run parser -> s
}
"""


@pytest.mark.parametrize(
    ("more", "change", "codes"),
    [
        ("", "src = 10.1.2.3", ["H0348"]),
        ("pad : u8  ", "src = 10.1.2.3", []),
        ("", "tos = 4", []),
    ],
)
def test_a_checksum_behind_a_header_of_odd_bytes(more: str, change: str, codes: list[str]) -> None:
    """One in front knows its words where they are aligned."""
    errors = found(ODD.replace("{more}", more).replace("{change}", change))
    assert [d.code for d in errors] == codes
    assert all(d.labels[0].span.text == "ipv4.src = 10.1.2.3" for d in errors)


NEXT = """ie hop = 40, ip4
ie way = 41, port
rule NEXT [16] {
  match dst_ip lpm user.dst
  gives way, hop
}
"""


def test_all_are_found_at_once() -> None:
    text = f"""{NEXT}action clamped(NEXT) {{ if user.tos = 1 {{ clamp mss }} }}
stage main {{
  if not user {{ pass }}
  find NEXT else {{ pass }}
  find PDR(dscp = 1) else {{ pass }}
  clamped(NEXT)
  forward NEXT.way via NEXT.hop
}}
"""
    errors = found(text)
    assert [d.code for d in errors] == ["H0341", "H0319"]
    assert errors[0].labels[0].span.text == "clamp mss"


def test_only_where_the_role_comes() -> None:
    """`if port is` decides, as does a node that packets of a role never have."""
    branches = "if port is lan { clamp mss }\n  if gre and user.tos = 1 { pop to user  pass }"
    text = f"""{NEXT}stage main {{
  if not user {{ pass }}
  find NEXT else {{ pass }}
  {branches}
  forward NEXT.way via NEXT.hop
}}
"""
    assert found(text) == []


def test_pushes_of_constants_may_meet() -> None:
    """They are the same packet, wherever they are written."""
    text = """header mark { next : u16 = 0x0800 }
parser {
  ethernet -> mark         when type = 0x88b5
  ethernet -> ipv4 as user when type = 0x0800
  mark     -> user         when next = 0x0800
}
stage main {
  if not user or mark { pass }
  if user.tos = 1 { user.tos = 2  push mark } else { push mark }
  send back
}
"""
    assert found(text) == []
