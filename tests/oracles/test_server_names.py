"""The server's name of a TLS ClientHello: what OpenSSL sends is what tshark reads and a rule
matches; what is cut off, or has lengths that lie, is the same to all semantics."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from struct import pack

import pytest
from helioc.compiler.driver import check_file
from helioc.compiler.interpret.parse_packet import parse_packet
from helioc.lang.contract.base.domain_names import compared_plain
from helioc.testing import Scenario, Tested
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

FILTER = check_file(Path(__file__).with_name("server_names.hp"))
RULES = (
    'create BLOCK 1 [(whole, "ads.example.org")], BLOCK 2 [(end, "*.as.org")], '
    'BLOCK 3 [(end, "1.x.org"), (whole, "1.x.org")], BLOCK 4 [(whole, ".")]'
)
KNOWN = ("ads.example.org", "ADS.Example.ORG", "ads.example.org.", "x.ads.example.org", "a.as.org",
         "as.org", "xas.org", ".as.org", "1.x.org", "0.1.x.org", "", ".", "..")  # fmt: skip


def frame(record: bytes, port: int = 4000) -> bytes:
    front = Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01")
    tcp = TCP(sport=port, dport=443, flags="PA")
    return bytes(front / IP(src="10.0.0.1", dst="10.0.0.2") / tcp / record)


def sent(host: str) -> bytes:
    """The first record that OpenSSL sends to a server of that name."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=host).do_handshake()
    return outgoing.read()


def hello(
    host: bytes,
    *,
    says: int | None = None,
    listed: int | None = None,
    extension: int | None = None,
    extensions: int | None = None,
    message: int | None = None,
    record: int | None = None,
    session: int = 0,
    before: bytes = b"",
) -> bytes:
    """A ClientHello with a server's name, of which lengths may say what is not so."""

    def counted(form: str, content: bytes, said: int | None) -> bytes:
        return pack(form, len(content) if said is None else said) + content

    names = counted(">H", b"\0" + counted(">H", host, says), listed)
    all_ = counted(">H", before + b"\0\0" + counted(">H", names, extension), extensions)
    body = b"\x03\x03" + bytes(32) + bytes([session]) + bytes(session & 31)
    body += b"\0\x04\x13\x01\x13\x02" + b"\x01\0" + all_
    handshake = b"\x01" + (len(body) if message is None else message).to_bytes(3, "big") + body
    return b"\x16\x03\x01" + counted(">H", handshake, record)


@pytest.mark.usefixtures("tshark")
def test_what_openssl_sends_is_read_as_tshark_reads_it(tmp_path: Path) -> None:
    hosts = ["www.example.org", "a.b", "x" * 63 + ".example", "xn--bcher-kva.example"]
    frames = [frame(sent(host), 4000 + i) for i, host in enumerate(hosts)]
    wrpcap(str(tmp_path / "tls.pcap"), [Ether(each) for each in frames])
    handshake = ("extensions_server_name", "extensions_length", "cipher_suites_length",
                 "comp_methods_length", "session_id_length", "length")  # fmt: skip
    shown = [f"tls.handshake.{each}" for each in handshake]
    shown += ["tls.record.length", "tls.record.content_type"]
    command = ["tshark", "-r", str(tmp_path / "tls.pcap"), "-T", "fields"]
    command += [part for each in shown for part in ("-e", each)]
    lines = subprocess.run(command, capture_output=True, timeout=120, check=True, text=True).stdout
    for host, data, line in zip(hosts, frames, lines.splitlines(), strict=True):
        layers = parse_packet(FILTER.graph, "inside", data).by_name
        text = layers["extensions"].view.get("server_name.host")
        assert isinstance(text, tuple)
        fields = [("extensions", "length"), ("suites", "length"), ("compression", "length"),
                  ("hello", "session_length"), ("tls_handshake", "length"),
                  ("tls_record", "length"), ("tls_record", "type")]  # fmt: skip
        ours = [bytes(text).decode(), *(str(layers[n].view.get(f)) for n, f in fields)]
        assert ours == line.split("\t") and ours[0] == host


@given(st.binary(max_size=300), st.integers(1, 8))
def test_a_text_is_compared_by_its_last_bytes(text: bytes, words: int) -> None:
    size = 8 * words
    number, plain = compared_plain(text, size).to_bytes(size, "big"), text.removesuffix(b".")
    if 0 in plain[-size:]:
        assert number == b"\xff" * size
    elif len(plain) > size:
        assert number == b"\xff" + plain.lower()[-size + 1 :]
    else:
        assert number == plain.lower().rjust(size, b"\0")


# ---- interpreter, representation and kernel -----------------------------------------------------


@pytest.fixture(scope="module")
def tested() -> Iterator[Tested]:
    with Tested(Path(__file__).with_name("server_names.hp")) as made:
        yield made


def outcomes(tested: Tested, records: list[bytes]) -> list[tuple[str, list[int]]]:
    packets = [tested.packet(frame(record)) for record in records]
    found = tested.agree(Scenario((tested.request(RULES), *packets)))
    return [(o.verdict, [sequence for _, sequence in o.counted]) for o in found]


@pytest.mark.usefixtures("kernel")
def test_names_of_openssl_meet_their_rules(tested: Tested) -> None:
    asked = ("Ads.example.ORG", "x.ads.example.org", "b.a.as.org", "xas.org", "1.x.org")
    counted = [rules for _, rules in outcomes(tested, [sent(name) for name in asked])]
    assert counted == [[1], [], [2], [], [3]]


@pytest.mark.usefixtures("kernel")
def test_a_hello_that_is_cut_anywhere_is_not_there(tested: Tested) -> None:
    whole = hello(b"ads.example.org", session=31)
    cut = outcomes(tested, [whole[:size] for size in range(len(whole))])
    assert cut == [("pass", [])] * len(whole)
    assert outcomes(tested, [whole]) == [("drop", [1])]


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(("name", "come"), [
    (b"ads.example.org", [1]), (b"ADS.EXAMPLE.ORG.", [1]), (b"ads.example.org..", []), (b"", [4]),
    (b".", [4]), (b"..", []), (b"a" * 248 + b".as.org", [2]), (b"a" * 249 + b".as.org", []),
    (b"ads.example\0org", []), (b"\0.as.org", []), (b"\0a.as.org", [2]),
], ids=repr)  # fmt: skip
def test_names(tested: Tested, name: bytes, come: list[int]) -> None:
    assert [rules for _, rules in outcomes(tested, [hello(name)])] == [come]


@pytest.mark.usefixtures("kernel")
def test_lengths_that_lie(tested: Tested) -> None:
    host = b"ads.example.org"
    longer = [hello(host, says=n) for n in (16, 255, 256, 65535)]  # past its extension
    longer += [hello(host, message=n) for n in (0, 3, 200, 0xFFFFFF)]
    longer += [hello(host, record=n) for n in (0, 3, 200, 65535)]
    longer += [hello(host, extensions=n) for n in (0, 25, 65535)]
    longer += [hello(host, session=n) for n in (33, 255)]
    assert not any(rules for _, rules in outcomes(tested, longer))
    past = outcomes(tested, [hello(host, extension=n) for n in (21, 255, 65535)])
    assert past == [("drop", [])] * 3  # malformed
    assert outcomes(tested, [hello(host, listed=n) for n in (0, 65535)]) == [("drop", [1])] * 2


@pytest.mark.usefixtures("kernel")
def test_a_name_behind_as_many_extensions_as_are_looked_at(tested: Tested) -> None:
    empty = b"\0\x10\0\0"
    come = outcomes(tested, [hello(b"a.as.org", before=empty * n) for n in (0, 1, 47, 48)])
    assert [rules for _, rules in come] == [[2], [2], [2], []]


@st.composite
def records(draw: st.DrawFn) -> bytes:
    """Known names below anything, with some lengths that lie, and some bytes that are others."""
    front = draw(st.sampled_from([b"", b"", b"a.", b"\0", b"q" * 64 + b".", b"." * 45]))
    said = st.none() | st.none() | st.integers(0, 40) | st.integers(0, 65535)
    made = hello(
        front + draw(st.sampled_from(KNOWN)).encode(),
        says=draw(said),
        listed=draw(said),
        extension=draw(said),
        extensions=draw(said),
        record=draw(said),
    )
    if draw(st.booleans()):
        return made
    at = draw(st.integers(0, len(made) - 1))
    return made[:at] + draw(st.binary(max_size=2)) + made[at + draw(st.integers(0, 2)) :]


@pytest.mark.usefixtures("kernel")
@settings(deadline=None, max_examples=300, suppress_health_check=list(HealthCheck))
@given(st.lists(records(), min_size=1, max_size=8))
def test_the_kernel_reads_hellos_as_the_interpreter_does(
    tested: Tested, records: list[bytes]
) -> None:
    outcomes(tested, records)
