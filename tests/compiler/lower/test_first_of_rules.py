"""`first(…)` of elements of rules: what a rule leaves out is passed over."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from helioc.commands.helioc import cli
from helioc.compiler.driver import check_file
from helioc.lang.text.diagnostics import Refused

PIPELINE = """
import std.ethernet, std.ip

pipeline marks {
  ports lan
  parser {
    ethernet -> vlan          when type = 0x8100
    ethernet -> ipv4 as user  when type = 0x0800
    vlan     -> user          when type = 0x0800
  }
  ie dst      = 1, ip4
  ie vlan_id  = 2, u12
  ie own_mark = 3, u6
  ie mark     = 4, u6
  rule MARK [16] {
    match  dst      exact     user.dst
           vlan_id  optional  given
    gives  own_mark, mark
    counts packets
  }
  default pass
  stage mark {
    if not user { pass }
    find MARK(vlan_id = first(vlan.id)) else { pass }
    if MARK.vlan_id != first(vlan.id) { drop }
    user.dscp = first(MARK.own_mark, MARK.mark)
    pass
  }
  run parser -> mark
}
"""
TESTS = """
ports:
  LAN: {role: lan}
rules: |
  create MARK 1 [(dst, u32, 10.0.0.1)],
         MARK 2 [(dst, u32, 10.0.0.2), (mark, u8, 5)],
         MARK 3 [(dst, u32, 10.0.0.3), (mark, u8, 5), (own_mark, u8, 0)],
         MARK 4 [(dst, u32, 10.0.0.4), (vlan_id, u16, 7), (own_mark, u8, 9)]
cases:
  - name: neither
    port: LAN
    packet: [{ethernet: {}}, {user: {dst: 10.0.0.1, dscp: 3, protocol: 59}}]
    expect: {verdict: pass, out: [{ethernet: {}}, {user: {dst: 10.0.0.1, protocol: 59}}]}
  - name: the second
    port: LAN
    packet: [{ethernet: {}}, {user: {dst: 10.0.0.2, protocol: 59}}]
    expect: {verdict: pass, out: [{ethernet: {}}, {user: {dst: 10.0.0.2, dscp: 5, protocol: 59}}]}
  - name: the first, a 0 that the rule says
    port: LAN
    packet: [{ethernet: {}}, {user: {dst: 10.0.0.3, dscp: 3, protocol: 59}}]
    expect: {verdict: pass, out: [{ethernet: {}}, {user: {dst: 10.0.0.3, protocol: 59}}]}
  - name: one that is matched
    port: LAN
    packet: [{ethernet: {}}, {vlan: {id: 7}}, {user: {dst: 10.0.0.4, protocol: 59}}]
    expect:
      verdict: pass
      out: [{ethernet: {}}, {vlan: {id: 7}}, {user: {dst: 10.0.0.4, dscp: 9, protocol: 59}}]
  - name: one that the rule does not match
    port: LAN
    packet: [{ethernet: {}}, {vlan: {id: 7}}, {user: {dst: 10.0.0.1, protocol: 59}}]
    expect: {verdict: drop, counted: [MARK 1]}
"""


@pytest.mark.usefixtures("kernel")
def test_on_both_backends(tmp_path: Path) -> None:
    (tmp_path / "marks.hp").write_text(PIPELINE)
    (tmp_path / "marks.test.yaml").write_text(TESTS)
    result = CliRunner().invoke(cli, ["test", str(tmp_path / "marks.hp")])
    assert "5 passed, 0 failed (on the interpreter and kernel)" in result.output, result.output


@pytest.mark.parametrize(
    ("options", "code"), [("MARK.mark, 5", "H0327"), ("user.src, MARK.mark", "H0239")]
)
def test_what_it_does_not_take(tmp_path: Path, options: str, code: str) -> None:
    path = tmp_path / "marks.hp"
    path.write_text(PIPELINE.replace("MARK.own_mark, MARK.mark", options))
    with pytest.raises(Refused) as refused:
        check_file(path)
    assert [d.code for d in refused.value.diagnostics] == [code]
