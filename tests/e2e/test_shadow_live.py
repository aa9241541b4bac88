"""Another build runs beside the relay on frames of its traffic: what it would have done, and that
nothing changes by that."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import relay
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.loader import Loaded, unload
from helioc.runtime.loading.reader import Reader
from helioc.runtime.loading.releases import ROOT, releases_of
from helioc.runtime.shadow import shadow
from helioc.runtime.shadow.in_force import InForce
from helioc.runtime.shadow.options import ShadowOptions
from helioc.runtime.tracing import control
from lab import Lab, LabError, Wire, until
from leaks import PREFIX
from relay import CONFIG, World
from shadow_world import HELIOCTL, NAME, Edge, write_builds


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory, kernel: None) -> dict[str, Path]:
    return write_builds(tmp_path_factory.mktemp("builds"))


@pytest.fixture(scope="module")
def world(kernel: None) -> Iterator[World]:
    with Lab(f"{PREFIX}sh-") as lab:
        yield relay.build(lab)


@pytest.fixture(scope="module")
def wire(world: World) -> Wire:
    return world.near.room.wire("eth0")


@pytest.fixture
def edge(world: World, wire: Wire, bundles: dict[str, Path]) -> Iterator[Edge]:
    bundle = read_bundle(bundles["same"])
    world.edge.inside_thread(lambda: Loaded.load(bundle, CONFIG, NAME)).close()
    yield Edge(world, wire, bundles)
    unload(NAME)
    assert not (ROOT / NAME).exists()


def test_the_same_build_does_the_same(edge: Edge) -> None:
    found = edge.shadow("same")
    assert found["compared"] > 100
    assert (found["differing"], found["unlike"], found["left_out"]) == (0, 0, {})
    assert found["differences"] == []


def test_a_build_that_drops(edge: Edge) -> None:
    found = edge.shadow("drops")
    assert found["verdicts"] == [
        {"in_force": "redirect by OUT", "shadow": "drop", "packets": found["compared"]}
    ]
    (rule,) = found["rules"]
    assert rule == {"kind": "ROUTE", "id": 1, "name": "", "in_force": found["compared"],
                    "shadow": found["compared"]}  # fmt: skip
    (group,) = found["differences"]
    assert group["differences"] == ["redirect -> drop"]
    assert group["packets"] == found["compared"] == found["differing"] and not group["allowed"]
    sample = group["sample"]
    assert (sample["in_force"]["verdict"], sample["shadow"]["verdict"]) == ("redirect", "drop")
    assert sample["frame_shadow"] is None
    left = bytes.fromhex(sample["frame_in_force"])
    assert left[:6].hex(":") == edge.world.far.room.mac("eth0") and left[15] == 1  # the mark


def test_other_bytes(edge: Edge) -> None:
    found = edge.shadow("tos")
    assert [group["differences"] for group in found["differences"]] == [["frame ipv4.tos"]]
    sample = found["differences"][0]["sample"]
    one, other = (bytes.fromhex(sample[f"frame_{which}"]) for which in ("in_force", "shadow"))
    assert (one[15], other[15]) == (1, 2) and one[26:] == other[26:]


def test_for_people(edge: Edge) -> None:
    said = edge.control("load", "--shadow", str(edge.bundles["tos"]), "--for", "1s")
    assert "met something else in the shadow" in said
    assert "in force         shadow           packets   share\n" in said
    assert "    packet 1 at " in said and " on IN, 64 bytes\n" in said
    assert "  -     ipv4.tos: 0 → 1\n  +     ipv4.tos: 0 → 2\n" in said


def test_a_frame_is_sampled_whole(edge: Edge) -> None:
    """Of those that are longer than what a trace has of a frame, and too long."""
    sizes = (300, 301, 1500, 1514)
    frames = [edge.world.frame().ljust(size, b"\xa5") for size in sizes]
    found = edge.shadow("same", frames=frames)
    assert (found["differing"], found["unlike"]) == (0, 0) and found["compared"] > 100
    found = edge.shadow("drops", "--filter", "ethernet", frames=frames)
    sample = found["differences"][0]["sample"]
    frame = bytes.fromhex(sample["frame"])
    assert frame in frames and len(bytes.fromhex(sample["frame_in_force"])) == len(frame)


def test_nothing_changes(edge: Edge) -> None:
    """What a shadow remembers and counts is its own, and the plain build is in place again."""
    sent = edge.world.frame().replace(b"\x0a\x01\x00\x02", b"\x0a\x01\x00\x09")
    with Reader(NAME) as reader:
        edge.shadow("drops", frames=[sent])
        assert edge.plain_in_place() and releases_of(NAME) == [1]
        events = {(c.group, c.reason): n for c, n in reader.events() if n}
        assert list(events) == [("verdict", "redirect")]
        passed = events["verdict", "redirect"]
        assert sum(c.packets or 0 for c in reader.rules()) == passed > 500
        assert reader.count_entries(reader.manifest.states[0]) == 1
        assert reader.revision == 1


def test_at_tc(world: World, wire: Wire, tmp_path: Path) -> None:
    """The same by an skb, of which the kernel holds a part elsewhere."""
    bundles = write_builds(tmp_path, ("same", "tos"), at_tc=True)
    edge = Edge(world, wire, bundles)
    ports = tuple(replace(port, at="tc.ingress") for port in CONFIG.ports)
    bundle, config = read_bundle(bundles["same"]), replace(CONFIG, ports=ports)
    world.edge.inside_thread(lambda: Loaded.load(bundle, config, NAME)).close()
    try:
        frames = [world.frame().ljust(size, b"\xa5") for size in (64, 256, 257, 300, 1514)]
        for build, expected in (("same", []), ("tos", [["frame ipv4.tos"]])):
            found = edge.shadow(build, frames=frames)
            assert found["compared"] > 100
            assert (found["unlike"], found["left_out"]) == (0, {})
            assert [group["differences"] for group in found["differences"]] == expected
        sample = edge.shadow("tos", "--filter", "udp.dst = 9", frames=frames[-1:])["differences"][0]
        assert bytes.fromhex(sample["sample"]["frame"]) == frames[-1]
    finally:
        unload(NAME)


def test_states_are_those_in_force(edge: Edge) -> None:
    """The source was heard before the run began. A build of which the state has another key begins
    without it, and then knows it, too."""
    edge.control("upgrade", str(edge.bundles["known"]), frames=[edge.world.frame()])
    with edge.traffic(), Reader(NAME) as reader:
        until(lambda: reader.count_entries(reader.manifest.states[0]) == 1, "an entry")
        entry = edge.shadow("known")
        assert (entry["differing"], entry["unlike"]) == (0, 0) and entry["compared"] > 100
        assert {each["in_force"] for each in entry["verdicts"]} == {"redirect by OUT"}
    found = edge.shadow("another state")
    assert found["unlike"] == 0 and found["compared"] > 100
    (group,) = found["differences"]
    assert (group["differences"], group["packets"]) == (["redirect -> drop"], 1)


def test_rules_in_the_new_builds_words(edge: Edge, tmp_path: Path) -> None:
    """Written again by a mapping: the same rules, under other names."""
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text("kinds: {ROUTE: PATH}\ndefaults: {PATH.note: 7}\n")
    found = edge.shadow("renamed", "--mapping", str(mapping))
    assert (found["differing"], found["unlike"]) == (0, 0) and found["compared"] > 100
    (rule,) = found["rules"]
    assert (rule["kind"], rule["id"]) == ("PATH", 1)
    assert rule["in_force"] == rule["shadow"] == found["compared"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_is_ended(edge: Edge, number: int) -> None:
    with edge.traffic():
        running = edge.start("same")
        running.stop(number)
        if number == signal.SIGKILL:
            assert running.output == ""
            edge.helioctl("list")  # as of a killed trace
        else:
            assert json.loads(running.output)["ended"] == ""
    assert edge.plain_in_place()


def test_an_upgrade_that_does_the_same(edge: Edge) -> None:
    said = edge.control("upgrade", "--shadow", "1s", str(edge.bundles["same"]))
    assert "the shadow did the same with all" in said and "upgraded" in said
    assert releases_of(NAME) == [2]


def test_an_upgrade_with_differences(edge: Edge) -> None:
    words = ("upgrade", "--shadow", "1s", str(edge.bundles["drops"]))
    with pytest.raises(LabError, match="H0748.*redirect -> drop"):
        edge.control(*words)
    with pytest.raises(LabError, match="H0748"):
        edge.control(*words, "--allow", "drop -> redirect", "--allow", "ROUTE 2")
    with pytest.raises(LabError, match="(?s)H0749.*did you mean `ROUTE`"):
        edge.control(*words, "--allow", "ROUT 2")
    assert releases_of(NAME) == [1] and edge.plain_in_place()
    edge.control(*words, "--allow", "redirect -> drop")
    assert releases_of(NAME) == [2]


def test_an_upgrade_without_packets(edge: Edge) -> None:
    words = ("upgrade", "--shadow", "1s", str(edge.bundles["same"]))
    with pytest.raises(LabError, match="H0747.*: nothing was compared: no packet came by"):
        edge.helioctl(*words)
    assert releases_of(NAME) == [1]
    edge.helioctl(*words, "--allow", "no packets")
    assert releases_of(NAME) == [2]


def test_an_upgrade_that_is_stopped(edge: Edge) -> None:
    with edge.traffic():
        words = ("upgrade", "--shadow", "60s", str(edge.bundles["same"]))
        running = edge.world.edge.start(*HELIOCTL, *words)
        until(edge.traced, "a run that began", 30)
        assert "H0810" in running.stop(signal.SIGINT)
    assert releases_of(NAME) == [1] and edge.plain_in_place()


class _Bare(InForce):
    """As if a role had no link headers."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.manifest = replace(self.manifest, bare=("inside",))


def test_what_has_no_shadow(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    """A traced build of an earlier release, a card, a port without link headers."""
    bundle = read_bundle(edge.bundles["same"])

    def begin() -> None:
        with shadow.shadowing(NAME, bundle, None, ShadowOptions()):
            pass

    with monkeypatch.context() as patched, pytest.raises(Refused, match="H0808"):
        patched.setattr(control, "_WHOLE_AT", 1 << 20)
        edge.world.edge.inside_thread(begin)
    with monkeypatch.context() as patched, pytest.raises(Refused, match="H0809"):
        patched.setattr(shadow, "on_card", lambda _: True)
        edge.world.edge.inside_thread(begin)
    with monkeypatch.context() as patched, pytest.raises(Refused, match="H0819"):
        patched.setattr(shadow, "InForce", _Bare)
        edge.world.edge.inside_thread(begin)
    assert edge.plain_in_place()


def test_rules_that_change_meanwhile(edge: Edge) -> None:
    """Both have them at once: packets go on to meet the same."""
    with edge.traffic():
        running = edge.start("same", "--for", "6s")
        for number in range(3, 9):
            there = f"(dst_ip, u32, 10.2.0.{number}/32), (way, u8, ON), (interface, u32, OUT)"
            edge.helioctl("create", f"ROUTE {number} [{there}]")
            edge.helioctl("delete", "ROUTE 1")
            everywhere = "(dst_ip, u32, 10.2.0.0/16), (way, u8, ON), (interface, u32, OUT)"
            edge.helioctl("create", f"ROUTE 1 [{everywhere}]")
        found = json.loads(running.wait(30))
        running.stop()
    assert found["compared"] > 500 and found["differing"] == 0
    assert found["unlike"] == 0 and found["left_out"].keys() <= {
        "rules or the host changed just then"
    }


def test_an_upgrade_ends_it(edge: Edge) -> None:
    with edge.traffic():
        running = edge.start("same")
        edge.helioctl("upgrade", str(edge.bundles["tos"]))
        found = json.loads(running.wait(30))
        running.stop()
    assert found["ended"] == "the pipeline was unloaded or upgraded"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--shadow", "--config", "x.yaml", "BUNDLE"], "takes a BUNDLE"),
        (["--rate", "7", "--config", "x.yaml", "BUNDLE"], "--rate: only with `--shadow`"),
        (["--shadow", "--for", "1d", "BUNDLE"], "is no time"),
        (["--shadow", "--port", "INN", "BUNDLE"], "did you mean `IN`?"),
        (["--shadow", "--sample", "7", "BUNDLE"], "H0854"),
        (["--shadow", "UNTRACED"], "H0759"),
        (["BUNDLE"], "Missing option '--config'"),
    ],
)
def test_what_is_refused(edge: Edge, tmp_path: Path, words: list[str], said: str) -> None:
    for file in ("manifest.json", "relay.bpf.o"):
        (tmp_path / file).write_bytes((edge.bundles["same"] / file).read_bytes())
    known = {"BUNDLE": str(edge.bundles["same"]), "UNTRACED": str(tmp_path)}
    with pytest.raises(LabError, match=re.escape(said)):
        edge.helioctl("load", *(known.get(word, word) for word in words))
    assert edge.plain_in_place()
