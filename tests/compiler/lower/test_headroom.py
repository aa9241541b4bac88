"""A push that finds no headroom runs its hook, also where only the port's VLAN tag finds none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.compiler.lower.unit import Join
from helioc.lang.contract.rules.rules import Matcher, Reference, Rule
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun
from linx_maps import udp
from linx_world import LAN, WAN1, WORLD, Book

FIELDS = "\n".join(f"  w{i} : u64 = 0" for i in range(22))
WIDE = f"""
import std.ethernet, std.ip
header wide {{
{FIELDS}
}}
pipeline headroom {{
  ports lan, wan
  parser {{
    ethernet -> ipv4 as user   when type = 0x0800  on lan
    ethernet -> ipv4 as outer  when type = 0x0800  on wan
    outer    -> wide           when protocol = 253
    wide     -> user           when w0 = 0
  }}
  ie a = 1, ip4
  ie p = 2, port
  rule R [10] {{
    match  a lpm user.dst
    gives  p
    counts packets
  }}
  default pass
  stage s {{
    if port is wan {{ pass }}
    if not user {{ pass }}
    find R else {{ pass }}
    push outer {{ src = user.src, dst = user.dst }} / wide {{ w1 = 1 }} before user
    forward R.p via user.dst
  }}
  on no_headroom {{ drop }}
  run parser -> s
}}
"""


RULES = Book(
    Rule("R", 1, 1, match=(("a", Matcher("prefix", 0x0A020000, 16)),),
         references=(("p", Reference("port", WAN1)),))
)  # fmt: skip


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("join", ["staged", "fused"])
def test_a_tag_finds_its_room_before_anything_is_written(tmp_path: Path, join: Join) -> None:
    (tmp_path / "headroom.hp").write_text(WIDE)
    made = compile_pipeline(check_file(tmp_path / "headroom.hp"), join)
    untagged: dict[int, bool] = {}
    tagged: dict[int, bool] = {}
    with PrivateRun(Bundle(made.manifest, made.object)) as run:
        for vlan, fits in ((0, untagged), (200, tagged)):
            ports = [replace(p, vlan=vlan) if p.number == WAN1 else p for p in WORLD.ports]
            neighbours = {(WAN1, 0x0A020005): WORLD.neighbours[LAN, 0x0A01000A]}
            run.set_environment(replace(WORLD, ports=tuple(ports), neighbours=neighbours))
            run.set_rules(RULES)
            for taken in range(0, 36, 4):
                outcome = run.run(udp("10.1.0.10", "10.2.0.5"), LAN, bytes(taken))
                fits[taken] = outcome.verdict == "redirect"
                reasons = sorted(reason for _, reason in outcome.events)
                assert reasons == (["redirect"] if fits[taken] else ["drop", "no_headroom"])
                if fits[taken]:
                    assert outcome.frame is not None and outcome.frame[12:14].hex() == (
                        "8100" if vlan else "0800")  # fmt: skip
    assert set(untagged.values()) == {True, False}
    assert all(tagged[taken] == untagged[taken + 4] for taken in range(0, 32, 4))
