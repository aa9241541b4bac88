"""tshark, which nobody here wrote, dissects packets, which scapy built, as `helioc decode` does:
the same headers at the same places, and in them the same values."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
import yaml
from checked import checked
from helioc.commands.packet_runs import decoder
from helioc.compiler.captures.pcap import PcapWriter
from helioc.compiler.captures.reading import read_capture
from helioc.compiler.decoding.decoded import Decoded, DecodedNode, Decoder
from helioc.compiler.model import Field, Header
from helioc.compiler.model.parse_graph import reachable
from oracle_packets import Maker

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EVERYTHING = HERE / "everything.hp"
PIPELINES = sorted((ROOT / "pipelines").glob("*.hp"))
NAMES: dict[str, Any] = yaml.safe_load((HERE / "fields.yaml").read_text())
#: tshark shows what they hold, not where they begin: test_error_indication.py compares them, and
#: test_domain_names.py, by scapy, what is one protocol in tshark; test_server_names.py those of
#: TLS, test_dhcp.py those of DHCP, and test_stamp.py what tshark knows behind a control connection
#: only. What ICMP errors are about (`quoted_…`) the capture has none of: examples/service/ has the
#: kernel's own.
ELEMENTS = {"gtpu_teid_data", "gtpu_peer_address", "dns", "dns_question", "dns_type", "stamp",
            "dhcp",
            "tls_record", "tls_handshake", "tls_client_hello", "tls_cipher_suites",
            "tls_compression", "tls_extensions",
            "quoted_ipv4", "quoted_ipv6", "quoted_ports"}  # fmt: skip
PROTOCOLS = {header["proto"] for header in NAMES.values()}


class Dissected(NamedTuple):
    """A protocol that tshark found: its place, and what it has by name: shown, and as bytes."""

    proto: str
    offset: int
    fields: dict[str, list[tuple[str, str]]]


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("oracle") / "built.pcap"
    with path.open("wb") as file:
        writer = PcapWriter(file)
        for packet in Maker(1).packets():
            writer.write(bytes(packet))
    return path


@pytest.fixture(scope="module")
def dissected(tshark: None, capture: Path) -> list[list[Dissected]]:
    """Each packet's protocols in order, those that no header here stands for left out."""
    command = ["tshark", "-r", str(capture), "-T", "pdml", "-o", "ip.defragment:FALSE"]
    command += ["-o", "ipv6.defragment:FALSE"]
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    packets = ElementTree.fromstring(done.stdout).iter("packet")
    return [list(_protocols(packet)) for packet in packets]


def _protocols(packet: ElementTree.Element) -> Iterator[Dissected]:
    for proto in packet.iter():  # some stand as fields of others
        if proto.get("name") in PROTOCOLS:
            found: dict[str, list[tuple[str, str]]] = {}
            for f in proto.iter("field"):
                shown = f.get("show", ""), f.get("value", "")
                found.setdefault(f.get("name", ""), []).append(shown)
            yield Dissected(proto.get("name", ""), int(proto.get("pos", "0")), found)


# ---- holding them against each other ------------------------------------------------------------


def differences(decoded: Decoded, found: Sequence[Dissected], whole: bool) -> Iterator[str]:
    """`whole`: no header may be missing that tshark has. A pipeline's own headers are not known
    there, but how often they are met is counted."""
    nodes = list(takewhile(lambda node: node.header.name in NAMES, decoded.nodes))
    ours = [(NAMES[n.header.name]["proto"], n.offset) for n in nodes]
    theirs = [(d.proto, d.offset) for d in found]
    if ours != (theirs if whole else theirs[: len(ours)]):
        yield f"headers: {ours} and {theirs}"
        return
    for node, dissection in zip(nodes, found, strict=False):
        yield from _fields(node, dissection)


def _fields(node: DecodedNode, found: Dissected) -> Iterator[str]:
    names = NAMES[node.header.name]["fields"]
    for field in node.header.fields:
        name = names.get(field.name)
        if name is None:
            continue
        ours = node.fields.get(field.name)
        theirs = _told(field, name, found.fields)
        if ours != theirs and not (theirs is None and str(name).endswith(" ?")):
            yield f"{node.name}.{field.name}: {ours} and {theirs} ({name})"


def _told(field: Field, name: str | list[str], found: dict[str, list[tuple[str, str]]]) -> Any:
    """A field's value by tshark, as `decode` has it; None where tshark has none."""
    if isinstance(name, list):
        data = "".join(found[one][0][1] for one in name if one in found)
        return data if field.kind == "bytes" else int(data or "0", 16)
    if name.startswith("each "):
        return [shown for shown, _ in found[name.removeprefix("each ")]]
    name, _, divisor = name.removesuffix(" ?").partition(" / ")
    if name not in found:
        return None
    shown = found[name][0][0]
    if field.kind in ("ip4", "ip6"):
        return str(ip_address(shown))
    return shown if field.kind == "mac" else int(shown, 0) // int(divisor or "1")


def check(decoded: list[Decoded], dissected: list[list[Dissected]], whole: bool) -> dict[str, int]:
    """How often each header was met. Every difference fails."""
    met: dict[str, int] = {}
    problems = []
    for packet, found in zip(decoded, dissected, strict=True):
        assert packet.result == "ok", packet.to_tree()
        problems += [f"{packet.to_tree()}\n{d}" for d in differences(packet, found, whole)]
        for node in packet.nodes:
            met[node.header.name] = met.get(node.header.name, 0) + 1
    assert not problems, "\n\n".join(problems[:3])
    return met


# ---- the tests ----------------------------------------------------------------------------------


def headers() -> dict[str, Header]:
    return {n.header.name: n.header for n in checked(EVERYTHING).graph.nodes}


def shipped() -> set[str]:
    """The names of all headers in pipelines/std."""
    lines = [line for path in (ROOT / "pipelines" / "std").glob("*.hp")
             for line in path.read_text().splitlines()]  # fmt: skip
    words = [line.removeprefix("link ").split() for line in lines]
    return {w[1] for w in words if len(w) > 2 and w[0] == "header"}


def test_every_header_that_ships_has_names_there() -> None:
    """A new header needs its names in fields.yaml, an edge in everything.hp, and packets."""
    assert headers().keys() == shipped() - ELEMENTS == NAMES.keys()
    for name, header in headers().items():
        named = {f.name for f in header.fields if not f.name.startswith("_")}
        assert NAMES[name]["fields"].keys() == named, name


@pytest.mark.parametrize("kernel_too", [False, True], ids=["interpreter", "kernel"])
def test_every_header(
    kernel_too: bool,
    capture: Path,
    dissected: list[list[Dissected]],
    request: pytest.FixtureRequest,
) -> None:
    if kernel_too:
        request.getfixturevalue("kernel")
    with decoder(checked(EVERYTHING), None, kernel_too) as asked:
        met = check([asked.decode(p) for p in read_capture(capture)], dissected, whole=True)
    assert met.keys() == NAMES.keys() and min(met.values()) >= 10, met


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("path", PIPELINES, ids=lambda path: path.stem)
def test_every_pipeline(path: Path, capture: Path, dissected: list[list[Dissected]]) -> None:
    """By the generated parser, on every role."""
    pipeline = checked(path)
    met: dict[str, int] = {}
    for role in pipeline.roles:
        with decoder(pipeline, role, by_kernel=True) as asked:
            met |= check([asked.decode(p) for p in read_capture(capture)], dissected, whole=False)
    read = {n for role in pipeline.roles for n in reachable(pipeline.graph, role)}
    named = {n.header.name for n in pipeline.graph.nodes if n.name in read}
    assert met.keys() - ELEMENTS == named - ELEMENTS


def test_a_difference_would_be_seen(capture: Path, dissected: list[list[Dissected]]) -> None:
    packet = next(read_capture(capture))
    decoded = Decoder(checked(EVERYTHING).graph, "any").decode(packet)
    first = dissected[0]
    assert not list(differences(decoded, first, whole=True))
    moved = [first[0], first[1]._replace(offset=15), *first[2:]]
    assert "headers: " in next(differences(decoded, moved, whole=True))
    lied = first[0]._replace(fields={**first[0].fields, "eth.type": [("0x0801", "0801")]})
    assert "ethernet.type: " in next(differences(decoded, [lied, *first[1:]], whole=True))
