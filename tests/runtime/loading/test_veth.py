"""What a veth needs of its other end: what `load` says of that is so, and what it advises works."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner
from edges import hear_answers
from helioc.commands.helioctl import cli
from helioc.compiler.bundle import compile_pipeline, write_bundle
from helioc.compiler.driver import check_file
from helioc.compiler.lower.reads import answers
from helioc.lang.contract.manifest.read_manifest import from_json
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.kernel.netlink import Link
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.port_warnings import not_answering
from helioc.runtime.loading.releases import ROOT
from lab import Lab, Namespace
from leaks import PREFIX
from linx_maps import udp
from linx_maps import write as write_linx

BACK = Path(__file__).with_name("back.hp")
PIPELINES = Path(__file__).parents[3] / "pipelines"
_numbers = count(1)


class Pair:
    """A host with the veth `near0`, whose other end `eth0` is in another namespace; both down."""

    def __init__(self, lab: Lab, directory: Path) -> None:
        self.host, self.peer = lab.namespace("host"), lab.namespace("peer")
        self.directory, self.name = directory, f"{PREFIX}veth{next(_numbers)}"
        self.host.ip("link", "add", "near0", "type", "veth", "peer", "name", "eth0",
                     "netns", self.peer.name)  # fmt: skip
        self.host.offload("near0", tx="off")
        self.peer.offload("eth0", tx="off")

    def up(self, *ends: str) -> None:
        for end in ends:
            room = self.host if end == "near0" else self.peer
            room.ip("link", "set", end, "up")

    def gro(self, *states: str) -> None:
        for state in states:
            self.peer.offload("eth0", gro=state)

    def load(self, role: str = "near", mode: str = "native") -> list[str]:
        """What `helioctl load` warns of, a code each. Raises `Refused`."""
        config = f"mode: {mode}\nports: {{P: {{role: {role}, interface: near0}}}}\n"
        (self.directory / "edge.yaml").write_text(config)
        words = ["--name", self.name, "--local", "load", str(self.directory / "bundle")]
        words += ["--config", str(self.directory / "edge.yaml")]
        done = self.host.inside_thread(lambda: CliRunner().invoke(cli, words))
        if done.exception is not None:
            raise done.exception
        return re.findall(r"warning\[(\w+)\]", done.stderr)


@pytest.fixture
def pair(lab: Lab, tmp_path: Path) -> Iterator[Pair]:
    made = Pair(lab, tmp_path)
    yield made
    if (ROOT / made.name).exists():
        unload(made.name)


# ---- frames that are forwarded to it --------------------------------------------------------


def on_while_down(pair: Pair) -> None:
    pair.up("near0")
    pair.gro("on")
    pair.up("eth0")


def never_on(pair: Pair) -> None:
    pair.up("near0", "eth0")


def peer_down(pair: Pair) -> None:
    pair.up("near0")


def carry_out(help_: str, inside: Namespace) -> None:
    """The commands that it gives, in its order."""
    for words in re.findall(r"`((?:ip|ethtool|echo) [^`]+)`", help_):
        inside.run("sh", "-c", words)


@pytest.mark.parametrize("state", [on_while_down, never_on, peer_down])
def test_the_advice_for_redirected_frames_works(pair: Pair, state: Callable[[Pair], None]) -> None:
    """Also where GRO is on, and the veth does not know it."""
    write_linx(pair.directory / "bundle")
    state(pair)
    with pytest.raises(Refused) as refused:
        pair.load("lan")
    (found,) = refused.value.diagnostics
    assert found.code == "H0726" and "in its network namespace" in found.help
    carry_out(found.help, pair.peer)
    assert "H0726" not in pair.load("lan")


def test_a_veth_with_too_few_queues(pair: Pair) -> None:
    write_linx(pair.directory / "bundle")
    pair.up("near0", "eth0")
    pair.peer.run("ethtool", "-L", "eth0", "tx", "2")
    with pytest.raises(Refused) as refused:
        pair.load("lan")
    (found,) = refused.value.diagnostics
    assert found.code == "H0725" and "more queues" in found.title


BRIDGE = """
import std.ethernet, std.ip
pipeline wire {
  ports near
  parser { ethernet -> ipv4 when type = 0x0800 }
  ie from = 1, port
  ie to   = 2, port
  rule WIRE [8] { match from exact port  gives to }
  stage s { if not ipv4 { drop }  find WIRE else { drop }  OUT }
  run parser -> s
}
"""


@pytest.mark.parametrize(
    ("way_out", "warned"),
    [("bridge WIRE.to", []), ("forward WIRE.to via ipv4.dst", ["H0744"])],
)
def test_a_kernel_that_does_not_route(
    pair: Pair, tmp_path: Path, way_out: str, warned: list[str]
) -> None:
    """That matters where next hops are asked for."""
    path = tmp_path / "wire.hp"
    path.write_text(BRIDGE.replace("OUT", way_out))
    bundle = compile_pipeline(check_file(path))
    assert from_json(bundle.manifest.to_json()) == bundle.manifest
    write_bundle(bundle, pair.directory / "bundle")
    pair.up("near0", "eth0")
    assert pair.load(mode="generic") == warned


# ---- frames that are sent back --------------------------------------------------------------


def nothing(pair: Pair) -> None:
    pass


def gro(pair: Pair) -> None:
    pair.gro("on")


def program(pair: Pair) -> None:
    hear_answers([(pair.peer, "eth0")])


@pytest.mark.parametrize(("other_end", "works"), [(nothing, False), (gro, False), (program, True)])
def test_what_is_sent_back(pair: Pair, other_end: Callable[[Pair], None], works: bool) -> None:
    write_bundle(compile_pipeline(check_file(BACK)), pair.directory / "bundle")
    pair.up("near0", "eth0")
    pair.host.until_up("near0")
    other_end(pair)
    assert pair.load() == ([] if works else ["H0729"])
    wire = pair.peer.wire("eth0")
    wire.send(udp("10.1.0.1", "10.1.0.2"))
    answer = wire.receive(seconds=10 if works else 0.2)
    assert (answer is not None) == works


def test_the_advice_for_what_is_sent_back_works(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `load` and the docs say it, from the root of the repository, without anything at hand."""
    write_bundle(compile_pipeline(check_file(BACK)), pair.directory / "bundle")
    pair.up("near0", "eth0")
    assert pair.load() == ["H0729"]
    unload(pair.name)
    other = Link(2, "eth0", "veth", 1500, bytes(6), 0, 0, 0)
    advice = not_answering("near0", None, other).help
    docs = (PIPELINES.parent / "docs" / "edge-yaml.md").read_text()
    for words in re.findall(r"`((?:ip|echo) [^`]+)`", advice):
        assert f"    {words.replace(' eth0 ', ' PEER ')}" in docs
    monkeypatch.chdir(tmp_path)
    carry_out(advice, pair.peer)
    assert pair.load() == []


def test_no_warning_where_nothing_is_sent_back(pair: Pair) -> None:
    write_bundle(compile_pipeline(check_file(BACK)), pair.directory / "bundle")
    pair.up("near0", "eth0")
    assert pair.load("far") == []
    unload(pair.name)
    assert pair.load("near", mode="generic") == []


def test_which_roles_may_send_back(tmp_path: Path) -> None:
    found = {path.stem: answers(check_file(path)) for path in PIPELINES.glob("*.hp")}
    assert found["vxlan_gateway"] == () and found["slice"] == ("nic",)
    assert found["linx"] == ("lan", "wan"), "forwarding comes to ICMP errors"
    text = BACK.read_text()
    cases = {
        "not port is near": ("far",), "port is near or ipv4.ttl = 1": ("near", "far"),
        "port is far and ipv4.ttl = 1": ("far",), "port is far { pass } if ipv4.ttl = 1": ("near",),
        "not (port is near and ipv4.ttl = 1)": ("near", "far"),
    }  # fmt: skip
    for condition, roles in cases.items():
        path = tmp_path / "back.hp"
        path.write_text(text.replace("port is near", condition))
        assert answers(check_file(path)) == roles, condition
