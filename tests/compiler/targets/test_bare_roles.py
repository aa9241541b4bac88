"""Roles whose packets have no link header: what cannot be asked for there is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.contract.manifest.manifest import Manifest, ManifestError
from helioc.lang.contract.manifest.read_manifest import from_json
from helioc.lang.text.diagnostics import Diagnostic, Refused

TEXT = """\
import std.ethernet, std.gre, std.ip, std.vxlan

pipeline kinds {
  ports lan at tc.ingress, tunnel at tc.ingress link ip

  parser {
    ethernet -> vlan             when type = 0x8100
    vlan     -> ipv4             when type = 0x0800
    ethernet -> ipv4             when type = 0x0800
    ethernet -> ipv4 as outer    when type = 0x0800 on push
    outer    -> gre              when protocol = 47 on push
    gre      -> ethernet as user when protocol = 0x6558 on push
    ipv4     -> udp              when protocol = 17
    udp      -> vxlan            when dst = 4789
    vxlan    -> ethernet as inner
    inner    -> ipv4 as within   when type = 0x0800
  }

  ie station   = 1, mac
  ie interface = 2, port

  rule STATION [64] {
    match  station  exact  ethernet.dst
    gives  interface
  }

  rule PORT [64] {
    match  station  optional  inner.dst
    gives  interface
  }

  stage only {
    find PORT else { drop }
    STATEMENTS
  }

  run parser -> only
}
"""


def _text(statements: str, *changes: tuple[str, str]) -> str:
    found = TEXT.replace("STATEMENTS", statements)
    for before, after in changes:
        assert before in found, before
        found = found.replace(before, after)
    return found


def _found(folder: Path, statements: str, *changes: tuple[str, str]) -> list[Diagnostic]:
    file = folder / "bare.hp"
    file.write_text(_text(statements, *changes))
    try:
        check_file(file)
    except Refused as refused:
        return list(refused.diagnostics)
    return []


@pytest.mark.parametrize(
    ("asked", "statements"),
    [
        ("`ethernet.src`", "if ethernet.src = 02:00:00:00:00:01 { drop }\n    pass"),
        ("`ethernet.dst`", "ethernet.dst = 02:00:00:00:00:01\n    send back"),
        ("`ethernet.dst`", "find STATION else { drop }\n    pass"),
        ("`ethernet.type`", "let kind = ethernet.type\n    if kind = 5 { drop }\n    pass"),
        ("`bridge`", "bridge PORT.interface"),
        (
            "a `vlan` in front",
            "if vlan or not ipv4 { drop }\n    push vlan { id = 5 } behind ethernet\n    pass",
        ),
        ("a way out", "if not inner { drop }\n    pop to inner\n    pass"),
        ("a way out", "if not inner { drop }\n    pop to inner\n    send back"),
        ("a way out", "if not inner { drop }\n    pop to inner\n    default"),
    ],
)  # fmt: skip
def test_what_needs_a_link_header(tmp_path: Path, asked: str, statements: str) -> None:
    """On the role that has none, and not where that is left out."""
    (found,) = _found(tmp_path, statements)
    assert found.code == "H0550" and "`tunnel`" in found.title and asked in found.title
    assert _found(tmp_path, f"if port is tunnel {{ drop }}\n    {statements}") == []


def test_no_frame_is_carried(tmp_path: Path) -> None:
    started = (
        ("    ethernet -> vlan ", "    start -> ethernet as user on tunnel\n"
                                  "    start -> ethernet on lan\n"
                                  "    user -> ipv4 when type = 0x0800\n    ethernet -> vlan "),
        ("gre      -> ethernet as user when", "gre -> user when"),
    )  # fmt: skip
    statements = (
        "if port is lan or not ipv4 { drop }\n"
        "    push outer { src = 192.0.2.1, dst = 192.0.2.2 } / gre\n"
        "    forward PORT.interface via ipv4.dst"
    )
    (found,) = _found(tmp_path, statements, *started)
    assert found.code == "H0550" and "a frame to carry" in found.title


@pytest.mark.parametrize(
    "statements",
    [
        "if not inner { drop }\n    pop to inner\n    bridge PORT.interface",
        "if not ipv4 { drop }\n    forward PORT.interface via ipv4.dst",
        "send back",
        "if port is lan { swap ethernet.src, ethernet.dst }\n    send back",
        "if port is lan and ethernet.src = 02:00:00:00:00:01 { drop }\n    pass",
        "if vlan { drop }\n    pass",
    ],
)
def test_what_needs_none(tmp_path: Path, statements: str) -> None:
    assert _found(tmp_path, statements) == []


def test_edges_that_no_packet_takes(tmp_path: Path) -> None:
    """Of a role alone; where others take them too nothing is said."""
    tags = ("when type = 0x8100", "when type = 0x8100 on tunnel")
    assert [found.code for found in _found(tmp_path, "pass", tags)] == ["H0553"]
    none = ("ethernet -> ipv4             when type = 0x0800", "ethernet -> ipv4 when type = 5")
    assert [found.code for found in _found(tmp_path, "pass", none)] == ["H0553"]


def test_frames_of_xdp_go_to_no_such_port(tmp_path: Path) -> None:
    at = ("lan at tc.ingress", "lan at xdp")
    forward = "if not ipv4 { drop }\n    forward PORT.interface via ipv4.dst"
    assert [found.code for found in _found(tmp_path, forward, at)] == ["H0554"]
    assert _found(tmp_path, f"if port is lan {{ pass }}\n    {forward}", at) == []


def test_the_manifest_names_such_roles(tmp_path: Path) -> None:
    """And none where there are none: releases before read that."""
    file = tmp_path / "bare.hp"
    file.write_text(_text("pass"))
    manifest = compile_pipeline(check_file(file)).manifest
    assert manifest.bare == ("tunnel",) and from_json(manifest.to_json()) == manifest
    file.write_text(_text("pass", (" link ip", "")))
    assert '"bare"' not in compile_pipeline(check_file(file)).manifest.to_json()
    fields = {name: getattr(manifest, name) for name in manifest.__dataclass_fields__}
    for wrong in ({"bare": ("other",)}, {"at": ("tc.ingress", "tc.egress")}):
        with pytest.raises(ManifestError):
            from_json(Manifest(**{**fields, **wrong}).to_json())
