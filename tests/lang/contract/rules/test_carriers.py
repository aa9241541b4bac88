"""Requests as bytes, as YAML and as packed columns: the same rules as from text."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import Case, Golden, cases
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules import column_dict
from helioc.lang.contract.rules.columns import dump, load
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.rules import Reference
from helioc.lang.contract.rules.wire import Codecs, decode, encode
from helioc.lang.contract.rules.yaml_requests import read_yaml
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.render import render_all
from helioc.lang.text.source import Source
from hypothesis import given, settings
from hypothesis import strategies as st
from linx_manifest import PORTS, linx
from rules_world import WORLD, Say, world

MANIFEST = linx()
CODECS = Codecs(MANIFEST)
BOOK = world()
CASES = Path(__file__).parent / "cases"
REQUESTS = [
    WORLD,
    "create PDR: (IP address, u32, 167837953), (IP address, u32, 168427777), (ToS, u8, 184), "
    "FAR: (action, u8, REDIRECT), (interface, u32, GRE-WAN1)",
    "update FAR 17 [(interface, u32, 3)]; delete PDR 1 create LBR [FAR 17 [(weight, u16, 3)]]",
    "replace PDR [(src_port, u16, 1..9), (tos, u8, 8 & 0xc), (src_ip, u32, 10.0.0.0/8), FAR 19]",
    "create [(MAC address, u64, 1), [(action, u8, DROP)]]; create [(action, u8, PASS)]",
    "create (IP address, u32, 1), (IP address, u32, 2), FAR: (action, u8, PASS)",
    "replace PDR",
]

# ---- bytes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", REQUESTS)
def test_bytes_say_the_same(text: str) -> None:
    request = parse_request(Source("request", text))
    data = encode(request, CODECS)
    again = decode(data, CODECS)
    assert encode(again, CODECS) == data
    book = RuleBook(MANIFEST, PORTS) if text is WORLD else BOOK
    one, two = book.plan(request), book.plan(again)
    assert (one.created, one.changed, one.removed) == (two.created, two.changed, two.removed)


def test_the_form_of_an_ie_on_the_wire() -> None:
    request = parse_request(
        Source("r", "create PDR [(src_ip, u32, 10.1.0.0/16), (vlan_id, u16, 5)]")
    )
    data = encode(request, CODECS)
    assert data[5:] == bytes.fromhex(
        "01 0001  02 0002 04 0002"
        "01 0001 01 04 0a010000 10"  # src_ip: prefix, 4 bytes, value, /16
        "01 000e 00 02 0005"  # vlan_id: u12 travels as u16
    )


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(REQUESTS), st.data())
def test_hostile_bytes_are_refused_or_read(text: str, data: st.DataObject) -> None:
    content = bytearray(encode(parse_request(Source("r", text)), CODECS))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    try:
        BOOK.plan(decode(bytes(content), CODECS))
    except Refused as refused:
        assert render_all(refused.diagnostics)


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    try:
        decode(b"\x01\0\0\0\x01" + data, CODECS)
    except Refused as refused:
        assert {d.code for d in refused.diagnostics} <= {"H0480", "H0481"}


@pytest.mark.parametrize("case", cases(CASES / "octets.txt"), ids=lambda c: c.name)
def test_what_is_shown_of_octets(case: Case, golden: Golden) -> None:
    with pytest.raises(Refused) as refused:
        decode(bytes.fromhex(case.text), CODECS)
    golden(case, shown=render_all(refused.value.diagnostics))


# ---- YAML -----------------------------------------------------------------------------------

YAML = """
- create:
    - PDR:
        src_ip: 10.1.0.0/16
        protocol: UDP
        dscp: 46
        FAR: {action: REDIRECT, interface: GRE-WAN1}
    - FAR: {id: 20, action: PASS}
- create: {LBR: {id: 9, tos: 184 & 0xfc, FAR: [{id: 17, weight: 3}, 18, {id: 20}]}}
- update: {FAR: {id: 17, interface: GRE-WAN2}}
- create: {PDR: {IP address: [10.0.0.1, 10.0.0.2], src_port: 1..9, FAR: 20}}
- create: {PDR: {MAC address: 02:00:00:00:00:0a, FAR: 20}}
- create: {PDR: {src_mac: 12:34:56:01:02:03, FAR: 20}}    # sixties to YAML 1.1
- delete: {PDR: 2}
- create: {dst_ip: 10.9.0.0/16, FAR: {action: DROP}}
- create: [{action: DROP}, {IP address: 10.8.0.1, FAR: 20}]
"""
AS_TEXT = """
create PDR [(src_ip, u32, 10.1.0.0/16), (protocol, u8, UDP), (dscp, u8, 46),
  FAR [(action, u8, REDIRECT), (interface, u32, GRE-WAN1)]], FAR 20 [(action, u8, PASS)];
create LBR 9 [(tos, u8, 184 & 0xfc), FAR 17 [(weight, u16, 3)], FAR 18, FAR 20];
update FAR 17 [(interface, u32, GRE-WAN2)];
create PDR [(src_ip, u32, 10.0.0.1), (dst_ip, u32, 10.0.0.2), (src_port, u16, 1..9), FAR 20]
create PDR [(src_mac, u48, 02:00:00:00:00:0a), FAR 20]
create PDR [(MAC address, u64, 20015990505987), FAR 20]
delete PDR 2
create [(dst_ip, u32, 10.9.0.0/16), FAR [(action, u8, DROP)]]
create [(action, u8, DROP)], [(IP address, u32, 10.8.0.1), FAR 20]
"""


def test_yaml_says_the_same() -> None:
    one = BOOK.plan(read_yaml(Source("r.yaml", YAML), MANIFEST))
    two = BOOK.plan(parse_request(Source("r", AS_TEXT)))
    assert (one.created, one.changed, one.removed) == (two.created, two.changed, two.removed)


def test_one_change_needs_no_list() -> None:
    request = read_yaml(Source("r.yaml", "replace: {PDR: []}"), MANIFEST)
    assert [rule.kind for rule in BOOK.plan(request).removed if rule.kind == "PDR"] == [
        "PDR",
        "PDR",
    ]


@pytest.mark.parametrize("case", cases(CASES / "yaml.txt"), ids=lambda c: c.name)
def test_what_is_shown_of_yaml(case: Case, golden: Golden) -> None:
    with pytest.raises(Refused) as refused:
        BOOK.plan(read_yaml(Source("r.yaml", case.text.removesuffix("\n")), MANIFEST))
    assert case.name[:5] in [d.code for d in refused.value.diagnostics]
    golden(case, shown=render_all(refused.value.diagnostics))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_mutated_yaml(data: st.DataObject) -> None:
    text = YAML
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        put = data.draw(
            st.sampled_from(["", "{", "]", ":", "-", "&a ", "*a", "!x ", "\n", "9", "~"])
        )
        text = text[:at] + put + text[at + data.draw(st.integers(0, 3)) :]
    try:
        BOOK.plan(read_yaml(Source("r.yaml", text), MANIFEST))
    except Refused as refused:
        assert render_all(refused.diagnostics)


# ---- columns --------------------------------------------------------------------------------

LENGTHS = {"src_ip": "u32", "dst_ip": "u32", "protocol": "u8", "tos": "u8", "dscp": "u8",
           "src_port": "u16", "vlan_id": "u16", "src_mac": "u64", "priority": "u16"}  # fmt: skip
CELLS = {
    "id": ["", "", "", "5", "900"],
    "src_ip": ["", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "0.0.0.0/0", " 10.0.0.1 ", "167772161"],
    "dst_ip": ["", "255.255.255.255", "128.0.0.0/1", "10.0.0.0 & 255.0.0.0"],
    "protocol": ["", "TCP", "udp", "6"],
    "tos": ["", "184", "8 & 0x0c", "185 & 0xff"],
    "dscp": ["", "46", "2", "0x2e"],
    "src_port": ["", "0", "80", "1000..2000", "0..65535", "65535"],
    "vlan_id": ["", "4095", "1"],
    "src_mac": ["", "02:00:00:00:00:0a", "02:00:00:00:00:0A", "2199023255553", "0xffffffffffff"],
    "priority": ["", "0", "7", "65535"],
    "FAR": ["", "19", "18"],
    "LBR": ["", "7"],
}
BAD = {"src_ip": "10.0.0.1/8", "tos": "256", "dscp": "64", "src_port": "9..1",
       "FAR": "99", "vlan_id": "4096", "src_mac": "02:00:00:00:0a", "protocol": "ICMP",
       "dst_ip": "01.2.3.4", "priority": "65536"}  # fmt: skip


def request_of(header: list[str], row: list[str]) -> str:
    cells = dict(zip(header, row, strict=True))
    items = [f"({n}, {LENGTHS[n]}, {c})" for n, c in cells.items() if c and n in LENGTHS]
    items += [f"{kind} {cells[kind]}" for kind in ("FAR", "LBR") if cells.get(kind)]
    return f"create PDR {cells.get('id', '')} [{', '.join(items)}]"


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_columns_make_what_text_makes(data: st.DataObject) -> None:
    header = data.draw(st.lists(st.sampled_from(sorted(CELLS)), unique=True, min_size=1))
    row = st.tuples(*(st.sampled_from(CELLS[name]) for name in header))
    rows = [list(r) for r in data.draw(st.lists(row, min_size=1, max_size=8))]
    rows = [r for r in rows if any(r)] or [["1" if n == "id" else CELLS[n][-1] for n in header]]
    if data.draw(st.integers(0, 5)) == 0 and (bad := [n for n in header if n in BAD]):
        name = data.draw(st.sampled_from(bad))
        rows[-1][header.index(name)] = BAD[name]
    text = "\n".join(",".join(cells) for cells in [header, *rows])
    if data.draw(st.booleans()):
        text = text.replace("\n", "\r\n") + "\n"
    expected = None
    try:
        asked = ";".join(request_of(header, r) for r in rows)
        expected = BOOK.plan(parse_request(Source("request", asked)))
    except Refused:
        pass
    try:
        columns = read_csv(Source("rules.csv", text), BOOK.kinds["PDR"])
        made = BOOK.plan_columns(load(dump(columns)))
    except Refused as refused:
        assert expected is None, render_all(refused.diagnostics)
        return
    if expected is None:
        # Ids given later in the file are free for no rule before them: a request is in order.
        assert "id" in header
        return
    assert list(made.created) == list(expected.created) or "id" in header
    assert [r.match for r in made.created] == [r.match for r in expected.created]


def test_the_last_packed_rule_goes_by_itself(
    empty: RuleBook, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The columns forget where it was: the same match comes again, by a column and by a request."""
    monkeypatch.setattr(column_dict, "FEWEST", 1)
    say(empty, "create FAR 1 [(action, u8, DROP)]")
    for _ in range(2):
        say(empty, "create PDR [(src_ip, u32, 10.9.0.0/16), FAR 1]")
        say(empty, "delete PDR [(src_ip, u32, 10.9.0.0/16)]")
        columns = read_csv(Source("r.csv", "src_ip,FAR\n10.9.0.0/16,1"), empty.kinds["PDR"])
        empty.commit(empty.plan_columns(columns))
        say(empty, "delete PDR [(src_ip, u32, 10.9.0.0/16)]")
        assert empty.count("PDR") == 0 and not dict(empty.tables["PDR"].keys)


def test_packed_rules_are_rules(say: Say) -> None:
    book = world()
    text = "src_ip,FAR\n" + "".join(f"10.{i}.0.0/16,19\n" for i in range(20, 60))
    plan = book.plan_columns(read_csv(Source("r.csv", text), book.kinds["PDR"]))
    book.commit(plan)
    assert book.count("PDR") == 42
    with pytest.raises(Refused):
        say(book, "delete FAR 19")
    with pytest.raises(Refused) as refused:
        book.plan_columns(
            read_csv(Source("r.csv", "src_ip,FAR\n10.20.0.0/16,19"), book.kinds["PDR"])
        )
    assert refused.value.diagnostics[0].code == "H0452"
    say(book, "update PDR [(src_ip, u32, 10.25.0.0/16), FAR 18]; delete PDR 3")
    say(book, "replace PDR; delete FAR 19")
    assert book.count("PDR") == 0
    again = RuleBook(MANIFEST, PORTS)
    again.restore(book.save())


def test_overlays_have_columns_too() -> None:
    book = world()
    text = (
        'name,local_ip,remote_ip,key,interface\nA-1,10.0.0.1,10.0.0.2,,wan1\n"B,2",1,2,9,port.3\n'
    )
    made = book.plan_columns(read_csv(Source("r.csv", text), book.kinds["OVERLAY"])).created
    assert [rule.name for rule in made] == ["A-1", "B,2"]
    assert [rule.references[0][1].id for rule in made] == [2, 3]
    text = "action,interface,ifindex\n1,GRE-WAN1,1\n3,,\n1,wan2,13\n"
    made = book.plan_columns(read_csv(Source("r.csv", text), book.kinds["FAR"])).created
    assert [rule.values for rule in made] == [
        (("action", 1), ("ifindex", 1)), (("action", 3),), (("action", 1), ("ifindex", 13)),
    ]  # fmt: skip


@pytest.mark.parametrize("case", cases(CASES / "csv.txt"), ids=lambda c: c.name)
def test_what_is_shown_of_csv(case: Case, golden: Golden) -> None:
    kind = BOOK.kinds[case.name.split()[0]]
    with pytest.raises(Refused) as refused:
        BOOK.plan_columns(read_csv(Source("rules.csv", case.text), kind))
    golden(case, shown=render_all(refused.value.diagnostics))


def test_a_full_table_of_columns() -> None:
    book = RuleBook(linx(PDR=3))
    text = "dscp\n1\n2\n3\n4\n"
    with pytest.raises(Refused) as refused:
        book.plan_columns(read_csv(Source("rules.csv", text), book.kinds["PDR"]))
    assert refused.value.diagnostics[0].code == "H0454"
    assert refused.value.diagnostics[0].labels[0].span.text == "4"


PACKED = dump(
    read_csv(
        Source("r.csv", "id,src_ip,src_port,FAR\n9,10.0.0.0/8,1..2,19\n,10.0.0.1,,18\n"),
        BOOK.kinds["PDR"],
    )
)


def sealed(data: bytes) -> bytes:
    """With the digest of what it holds now."""
    digest = hashlib.blake2b(data[24:], digest_size=16).digest()
    return data[:8] + digest + data[24:]


def test_a_byte_that_changed_on_the_way_is_noticed() -> None:
    for at in range(len(PACKED)):
        data = bytearray(PACKED)
        data[at] ^= 0xFF
        with pytest.raises(Refused) as refused:
            load(bytes(data))
        assert refused.value.diagnostics[0].code == "H0472"
    assert sealed(PACKED) == PACKED


def test_the_same_file_twice_is_duplicates_and_not_too_many() -> None:
    book = RuleBook(linx(PDR=3))
    for text in ("id,dscp\n1,1\n2,2\n", "dscp\n1\n2\n"):
        columns = read_csv(Source("rules.csv", text), book.kinds["PDR"])
        if not book.count("PDR"):
            book.commit(book.plan_columns(columns))
        with pytest.raises(Refused) as refused:
            book.plan_columns(columns)
        assert refused.value.diagnostics[0].code in ("H0451", "H0452")


def test_a_name_in_a_column_is_no_ports() -> None:
    book = world()
    text = "name,local_ip,remote_ip,interface\nWAN-1,1,2,wan1\n"
    with pytest.raises(Refused, match="a port has the name `WAN-1`"):
        book.plan_columns(read_csv(Source("r.csv", text), book.kinds["OVERLAY"]))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_hostile_columns_are_refused_or_read(data: st.DataObject) -> None:
    content = bytearray(PACKED)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(len(content) // 2, len(content)))]
    try:
        plan = BOOK.plan_columns(load(sealed(bytes(content))))
    except Refused as refused:
        assert render_all(refused.diagnostics)
        return
    assert len(list(plan.created)) == len(plan.created)


@pytest.mark.parametrize("what", ["count", "columns", "kind"])
def test_hostile_headers(what: str) -> None:
    start = 28 + int.from_bytes(PACKED[24:28], "little")
    header = json.loads(PACKED[28:start])
    values: tuple[Any, ...] = (None, -1, 2**40, "x", [], [{}], {"a": 1}, True, 1e300)
    for value in values:
        changed = json.dumps({**header, what: value}).encode()
        data = PACKED[:24] + len(changed).to_bytes(4, "little") + changed + PACKED[start:]
        with pytest.raises(Refused):
            BOOK.plan_columns(load(sealed(data)))


def test_images_are_those_of_single_rules() -> None:
    text = "src_ip,src_port,tos,FAR\n10.0.0.0/8,1..2,8 & 0xc,19\n"
    plan = BOOK.plan_columns(read_csv(Source("r.csv", text), BOOK.kinds["PDR"]))
    kind, block = BOOK.kinds["PDR"], plan.blocks[0]
    assert block.images(kind) == [kind.key_of(plan.created[0])]
    assert block.ids.dtype == np.uint32


@pytest.mark.parametrize("cell", ["17", "FAR 17", "far 17", "FAR.17"])
def test_a_cell_says_a_rule_as_requests_do(book: RuleBook, cell: str) -> None:
    columns = read_csv(Source("r.csv", f"src_ip,FAR\n10.20.0.0/16,{cell}"), book.kinds["PDR"])
    (made,) = book.plan_columns(columns).created
    assert made.target == Reference("FAR", 17)
    wrong = f"src_ip,FAR\n10.20.0.0/16,{cell.replace('17', '77')}"
    with pytest.raises(Refused) as refused:
        book.plan_columns(read_csv(Source("r.csv", wrong), book.kinds["PDR"]))
    assert refused.value.diagnostics[0].title == "there is no FAR 77"
