"""The edge's YAML: what it comes to, and what is said about mistakes (cases/mistakes.txt)."""

from __future__ import annotations

from pathlib import Path

import hop
import pytest
from explained import examples
from golden import Case, Golden, cases
from helioc.compiler.driver import check_file
from helioc.compiler.fuzzing.scenarios import Fuzzed
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.world.environment import Limit
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.render import render_all
from helioc.lang.text.source import Source
from helioc.runtime.base.files import read_source
from helioc.runtime.edge.config import Config
from helioc.runtime.edge.icmp_settings import ICMP
from helioc.runtime.edge.liveness_settings import LIVENESS, Liveness
from helioc.runtime.edge.read_config import Host, bundle_of, read_config
from helioc.runtime.kernel.netlink import Address, Link
from helioc.runtime.ports.ports import PortConfig
from hypothesis import example, given, settings
from hypothesis import strategies as st
from linx_maps import HP, bundle

HOST = Host(
    tuple(
        Link(i + 1, n, "", 1500, bytes(6), 0, 0, 0)
        for i, n in enumerate(("lo", "eth0", "eth1", "eth2"))
    ),
    (Address(2, b"\xc0\0\2\x0a", b"\xc0\0\2\xff"),),
)
#: Packets of `outside` are sent back.
BACK = ("forward ROUTE.interface via ipv4.dst", "if port is outside { send back }\n    pass")
GOOD = """\
bundle: linx.bundle
ports:
  LAN:  {role: lan, interface: eth1}
  WAN1: {role: wan, interface: eth2, vlan: 200, number: 7}
overlays:
  GRE-WAN1: {local_ip: 192.0.2.1, remote_ip: 192.0.2.2, key: 7, interface: eth2}
rules: |
  create FAR 17 [(action, u8, REDIRECT), (interface, u32, GRE-WAN1)]
default: drop
control: {interface: eth0, address: 192.0.2.10}
icmp: {rate: 100}
liveness:
  {interval: 500 ms, multiplier: 5, hold_down: 2 min, from: 192.0.2.10, to: {GRE-WAN1: none},
   stamp: {GRE-WAN1: session-1}}
mode: generic
"""
MISTAKES = cases(Path(__file__).parent / "cases" / "mistakes.txt")
PIECES = ["", ": ", "\n", "{", "}", "[", "- ", "&a ", "*a", "'", "\t", "\0", "ü", "  ", "#", "|",
          "!!set ", "? ", "0x7", "~", "1e9", "<<: "]  # fmt: skip


def read(text: str) -> tuple[Config, str]:
    config, warnings = read_config(Source("edge.yaml", text), bundle().manifest, HOST)
    return config, render_all(warnings.found)


def test_all_that_can_be_said() -> None:
    config, warnings = read(GOOD)
    assert not warnings
    assert config.ports == (
        PortConfig(1, "LAN", 0, "eth1", 0),
        PortConfig(7, "WAN1", 1, "eth2", 200),
    )
    assert (config.default, config.mode, config.control) == (
        "drop",
        "generic",
        ("eth0", "192.0.2.10"),
    )
    assert ICMP.of(config.settings) == Limit(100, 50)
    by_session = {"GRE-WAN1": "session-1"}
    assert LIVENESS.of(config.settings) == Liveness(
        0.5, 5, 120, "192.0.2.10", {"GRE-WAN1": ""}, by_session
    )
    overlay, rules = config.requests
    (item,) = overlay.changes[0].items
    assert item.kind == "OVERLAY" and item.name == "GRE-WAN1"  # type: ignore[union-attr]
    # An interface stands for the port on it.
    assert [ie.value for ie in item.items][-1] == "WAN1"  # type: ignore[union-attr]
    assert rules.changes[0].operation == "create"
    assert config.spans[7].text == "eth2"


def test_only_gre_is_probed() -> None:
    """Peers of VXLAN answer no probe."""
    vxlan = Fuzzed(check_file(HP.with_name("vxlan_gateway.hp"))).manifest
    source = Source("edge.yaml", "ports: {A: {role: underlay, interface: eth1}}\nliveness: {}\n")
    with pytest.raises(Refused) as error:
        read_config(source, vxlan, HOST)
    assert [found.code for found in error.value.diagnostics] == ["H0604"]


def test_the_least_that_must_be_said() -> None:
    config, _ = read("ports: {LAN: {role: lan, interface: eth1}}")
    assert config == Config((PortConfig(1, "LAN", 0, "eth1", 0),), spans=config.spans)


def test_a_bundle_is_named_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "edge.yaml").write_text(GOOD)
    assert bundle_of(read_source(tmp_path / "edge.yaml")) == tmp_path / "linx.bundle"


def test_a_control_interface_that_is_a_port_is_warned_of() -> None:
    _, warnings = read(
        "ports: {A: {role: wan, interface: eth0}}\n"
        "control: {interface: eth0, address: 192.0.2.10}\n"
    )
    assert "H0616" in warnings


def test_probes_of_an_overlay_that_comes_later_are_warned_of() -> None:
    _, warnings = read(GOOD.replace("to: {GRE-WAN1: none}", "to: {GRE-WAN: 10.2.0.1}"))
    assert "H0618" in warnings and "did you mean `GRE-WAN1`?" in warnings


def test_more_ports_than_there_can_be() -> None:
    ports = "".join(f"  P{i}: {{role: lan, interface: eth{i}}}\n" for i in range(64))
    with pytest.raises(Refused) as refused:
        read(f"ports:\n{ports}")
    (found,) = (d for d in refused.value.diagnostics if d.code == "H0612")
    assert "more than 63 ports" in found.title and "63 at most" in found.help


@pytest.mark.parametrize("case", MISTAKES, ids=lambda c: c.name)
def test_mistakes(case: Case, golden: Golden) -> None:
    with pytest.raises(Refused) as refused:
        read(case.text)
    golden(case, shown=render_all(refused.value.diagnostics))


def codes_of(text: str, manifest: Manifest) -> set[str]:
    try:
        read_config(Source("edge.yaml", text), manifest, HOST)
    except Refused as refused:
        return {found.code for found in refused.diagnostics}
    return set()


@pytest.mark.parametrize(("code", "wrong", "right"), examples("edge"))
def test_examples_get_their_codes(code: str, wrong: str, right: str) -> None:
    manifest = bundle().manifest
    if code == "H0620":  # of a pipeline that asks for congestion
        manifest = Fuzzed(check_file(HP.with_name("slice.hp"))).manifest
    assert code in codes_of(wrong, manifest)
    assert code not in codes_of(right, manifest)


def test_a_port_is_where_its_role_says_or_the_edge() -> None:
    egress = "ports: {A: {role: inside, interface: eth1, at: tc.egress}}"
    ports = """ports:
  A: {role: inside, interface: eth1}
  B: {role: outside, interface: eth2, at: xdp}"""
    manifest = hop.built(hop.text("tc.egress", "tc.ingress", BACK)).manifest
    config, _ = read_config(Source("edge.yaml", ports), manifest, HOST)
    assert [port.at for port in config.ports] == ["tc.egress", "xdp"]
    assert ["at" in port.record() for port in config.ports] == [True, False]
    back = hop.built(hop.text("xdp", "tc.ingress", BACK)).manifest
    assert codes_of(egress.replace("inside", "outside"), back) == {"H0566"}
    assert codes_of(egress, back) == set()


def test_a_port_without_link_headers_is_where_its_role_says() -> None:
    """It has no tag; and what forwards to it is at tc, too."""
    bare = hop.built(hop.text("tc.ingress", "tc.ingress link ip")).manifest
    both = """
ports:
  IN:  {role: inside, interface: eth1}
  OUT: {role: outside, interface: eth2}
"""
    out = "OUT: {role: outside, "
    assert codes_of(both, bare) == set()
    for at in ("xdp", "tc.egress"):
        assert codes_of(both.replace(out, f"{out}at: {at}, "), bare) == {"H0562"}
    assert codes_of(both.replace("IN:  {", "IN:  {at: xdp, "), bare) == {"H0562"}
    assert codes_of(both.replace(out, f"{out}at: tc.ingress, "), bare) == set()
    assert codes_of(both.replace(out, f"{out}vlan: 5, "), bare) == {"H0563"}


def test_too_deep_is_said_where_it_becomes_so() -> None:
    for text in ("ports: " + "[" * 4000, "ports: " + "[" * 40, "ports: " + "[" * 20 + "]" * 20):
        with pytest.raises(Refused) as refused:
            read(text)
        (found,) = refused.value.diagnostics
        assert "nested more than 16 deep" in found.title
        assert found.span is not None and 20 <= found.span.start <= 24


def test_a_mistake_in_a_block_of_rules_stands_where_the_file_has_it() -> None:
    with pytest.raises(Refused) as refused:
        read(GOOD.replace("create FAR 17 [", "create FAR 17 [)"))
    found = refused.value.diagnostics[0].span
    assert found is not None and str(found) == "edge.yaml:8:18"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"ports: \xe9")
    for path in (tmp_path, tmp_path / "none", tmp_path / "latin"):
        with pytest.raises(Refused):
            read_source(path)


@settings(max_examples=300, deadline=None)
@given(st.data())
@example(None)
def test_mutated_files_are_read_or_refused(data: st.DataObject | None) -> None:
    text = GOOD
    for _ in range(data.draw(st.integers(1, 4)) if data else 0):
        assert data is not None
        at = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(at, min(len(text), at + 8)))
        piece = st.sampled_from(PIECES)
        text = text[:at] + data.draw(piece) + text[end:]
    try:
        read(text)
        bundle_of(Source("edge.yaml", text))
    except Refused as refused:
        assert render_all(refused.diagnostics)
