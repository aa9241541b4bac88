"""What `load` says of ports on which a part of the pipeline does not work, beside test_veth.py."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helioc.commands.helioctl import cli
from helioc.compiler.backend.clang import find_clang
from helioc.compiler.bundle import compile_pipeline, write_bundle
from helioc.compiler.driver import check_file
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.port_warnings import reads_tags
from helioc.runtime.loading.releases import ROOT
from lab import Lab, Namespace, until
from leaks import PREFIX
from linx_maps import udp

TAGS = """import std.ethernet, std.ip
pipeline tags {
  ports near
  parser {
    ethernet -> vlan  when type = 0x8100
    ethernet -> ipv4  when type = 0x0800
  }
  stage tell {
    if vlan {
      count tagged
      drop
    }
    count plain
    drop
  }
  run parser -> tell
}
"""
#: A VLAN device, which not every kernel has, sends as this does: bpf_skb_vlan_push (helper 18).
TAG = """static long (*push)(void *, unsigned short, unsigned short) = (void *) 18;
__attribute__((section("tc"))) int tag(void *skb) { return push(skb, 0x0081, 5) ? 2 : 0; }
"""
NAME = f"{PREFIX}tags"


@pytest.fixture
def host(lab: Lab, tmp_path: Path) -> Iterator[Namespace]:
    """With the veth `near0`, whose other end `far0` is here too, and sends all with a VLAN tag."""
    made = lab.namespace("host")
    made.ip("link", "add", "near0", "type", "veth", "peer", "name", "far0")
    (tmp_path / "tag.c").write_text(TAG)
    made.run(
        str(find_clang()),
        "-O2",
        "-target",
        "bpf",
        "-c",
        f"{tmp_path}/tag.c",
        "-o",
        f"{tmp_path}/tag.o",
    )
    made.run("tc", "qdisc", "add", "dev", "far0", "clsact")
    made.run(
        "tc",
        "filter",
        "add",
        "dev",
        "far0",
        "egress",
        "bpf",
        "da",
        "obj",
        f"{tmp_path}/tag.o",
        "sec",
        "tc",
    )
    for device in ("near0", "far0"):
        made.ip("link", "set", device, "up")
    yield made
    if (ROOT / NAME).exists():
        unload(NAME)


def ctl(host: Namespace, *words: str) -> Any:
    command = ["--name", NAME, "--local", *words]
    return host.inside_thread(lambda: CliRunner().invoke(cli, command, catch_exceptions=False))


def counted(host: Namespace, reason: str) -> int:
    found: int = json.loads(ctl(host, "stats", "--json").stdout)["events"]["count"][reason]
    return found


def test_tags_that_stand_beside_a_frame_are_reported(host: Namespace, tmp_path: Path) -> None:
    (tmp_path / "tags.hp").write_text(TAGS)
    write_bundle(compile_pipeline(check_file(tmp_path / "tags.hp")), tmp_path / "bundle")
    (tmp_path / "edge.yaml").write_text("ports: {P: {role: near, interface: near0}}\n")
    load = ("load", str(tmp_path / "bundle"), "--config", str(tmp_path / "edge.yaml"))
    said = ctl(host, *load).stderr
    assert "warning[H0746]" in said and "edge.yaml:1:" in said and "far0, keeps them" in said
    wire = host.wire("far0")
    before = counted(host, "plain")
    wire.send(udp("10.1.0.1", "10.1.0.2"))
    until(lambda: counted(host, "plain") > before, "a frame without its tag")
    ctl(host, "unload")
    advice = re.search(r"`(ethtool [^`]+)`", said)
    assert advice is not None
    host.run(*advice[1].split())
    assert "H0746" not in ctl(host, *load).stderr
    before = counted(host, "tagged")
    wire.send(udp("10.1.0.1", "10.1.0.2"))
    until(lambda: counted(host, "tagged") > before, "a frame with its tag")


def test_which_pipelines_read_tags(tmp_path: Path) -> None:
    for text, expected in ((TAGS, True), (TAGS.replace("0x8100", "0x0806"), False)):
        (tmp_path / "tags.hp").write_text(text)
        assert reads_tags(compile_pipeline(check_file(tmp_path / "tags.hp")).manifest) is expected
