"""The edge's YAML: what it comes to, and what is said about mistakes (tests/golden/edge-yaml)."""

from __future__ import annotations

from pathlib import Path

import pytest
from explained import examples
from golden import Golden
from helioc.compiler.driver import check_file
from helioc.compiler.fuzzing.scenarios import Fuzzed
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.world.environment import Limit
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.render import render_all
from helioc.lang.text.source import Source
from helioc.runtime.base.files import read_source
from helioc.runtime.edge.config import Config
from helioc.runtime.edge.liveness_settings import Liveness
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
  {interval: 500 ms, multiplier: 5, hold_down: 2 min, from: 192.0.2.10, to: {GRE-WAN1: none}}
mode: generic
"""
BAD = {
    "no-yaml": "ports: [1, 2\n",
    "empty": "# nothing\n",
    "alias-bomb": "a: &a [1]\nports: &p {LAN: *p}\n",
    "within-itself": "ports:\n  LAN: &a {role: lan, interface: *a}\n",
    "not-a-mapping": "- ports\n",
    "no-ports": "default: pass\n",
    "unknown-keys": "port: {}\nports: {LAN: {roll: lan, interface: eth1}}\n",
    "unknown-role": "ports: {LAN: {role: lann, interface: eth1}}\n",
    "unknown-interface": "ports:\n  LAN: {role: lan, interface: eth9}\n",
    "interface-twice": "ports:\n  A: {role: lan, interface: eth1}\n"
                       "  B: {role: wan, interface: eth1}\n",
    "port-twice": "ports:\n  A: {role: lan, interface: eth1}\n  A: {role: wan, interface: eth2}\n",
    "numbers": "ports:\n  A: {role: lan, interface: eth1, number: 3}\n"
               "  B: {role: wan, interface: eth2, number: 3}\n"
               "  C: {role: wan, interface: lo, number: 64}\n",
    "vlan": "ports: {A: {role: lan, interface: eth1, vlan: 4095}}\n",
    "wrong-types": "ports:\n  A: lan\n  B: {role: [lan], interface: {a: b}}\ndefault: [pass]\n",
    "words": "ports: {A: {role: lan, interface: eth1}}\ndefault: allow\nmode: nativ\n",
    "names": "ports: {'12': {role: lan, interface: eth1}, '': {role: lan, interface: eth2}}\n",
    "control": "ports: {A: {role: lan, interface: eth1}}\n"
               "control: {interface: eth0, address: 192.0.2.11}\n",
    "icmp": "ports: {A: {role: lan, interface: eth1}}\nicmp: {rate: 0, burst: lots, per: 1}\n",
    "liveness": "ports: {A: {role: wan, interface: eth1}}\nliveness:\n"
                "  interval: 1 minute\n  multiplier: 0\n  hold_down: -1 s\n  from: 192.0.2.1\n"
                "  hold-down: 3 s\n  to: {G: 10.0.0.1/24}\n",
    "control-address": "ports: {A: {role: lan, interface: eth1}}\n"
                       "control: {interface: eth0, address: 192.0.2.0/24}\n",
    "control-missing": "ports: {A: {role: lan, interface: eth1}}\ncontrol: {interface: eth0}\n",
    "overlay-keys": "ports: {A: {role: wan, interface: eth1}}\n"
                    "overlays:\n  G: {local_ip: 192.0.2.1, remote: 192.0.2.2, interface: A}\n",
    "overlay-ids": "ports: {A: {role: wan, interface: eth1}}\noverlays:\n"
                   "  G: {id: 2, local_ip: 192.0.2.1, remote_ip: 192.0.2.2, interface: A}\n"
                   "  H: {id: 2, local_ip: 192.0.2.1, remote_ip: 192.0.2.3, interface: A}\n",
    "overlay-id": "ports: {A: {role: wan, interface: eth1}}\noverlays:\n"
                  "  G: {id: 4294967296, local_ip: 1, remote_ip: 2, interface: A}\n"
                  "  H: {id: 4294967295, local_ip: 1, remote_ip: 3, interface: A}\n",
    "all-at-once": "ports: {A: {role: lann, interface: eth1}}\ndefault: allow\noverlays:\n"
                   "  G: {local_ip: 192.0.2.1, remote_ip: here, interface: A}\n"
                   "  H: {local_ip: 192.0.2.1, remote: 192.0.2.3, interface: A}\n"
                   "rules: create FAR 1 [(action, u8, 9)], FAR 2 [(interface, u32, H)]\n",
    "documents": "ports: {A: {role: wan, interface: eth1}}\n---\nports: {}\n",
    "rules-quoted": "ports: {A: {role: wan, interface: eth1}}\n"
                    "rules: 'create FAR 1 [(action u8)]'\n",
    "rules-folded": "ports: {A: {role: wan, interface: eth1}}\nrules: >-\n"
                    "  create FAR 1 [(action, u8, 1)];\n  creat FAR 2 [(action, u8, 1)]\n",
    "rules-escaped": "ports: {A: {role: wan, interface: eth1}}\n"
                     'rules: "create FAR \\x31 [(action u8)]"\n',
    "rules-text": "ports: {A: {role: wan, interface: eth1}}\nrules: creat FAR 1\n",
}  # fmt: skip

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
    assert config.icmp == Limit(100, 50)
    assert config.liveness == Liveness(0.5, 5, 120, "192.0.2.10", {"GRE-WAN1": ""})
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


@pytest.mark.parametrize("name", BAD)
def test_mistakes(name: str, golden: Golden) -> None:
    with pytest.raises(Refused) as refused:
        read(BAD[name])
    golden(f"edge-yaml/{name}.txt", f"{BAD[name]}\n{render_all(refused.value.diagnostics)}")


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
