"""What a card cannot do is refused at the line that asks for it, before anything is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from explained import examples, explained
from helioc.compiler.bundle import compile_for_card
from helioc.compiler.check.program import check
from helioc.compiler.driver import check_file
from helioc.compiler.lower.reads import reads
from helioc.compiler.nfp.nfp import own_maps
from helioc.compiler.nfp.object_file import read_object
from helioc.compiler.nfp.refusals import check_card_programs
from helioc.compiler.tables.layout import tables
from helioc.compiler.tables.offloaded import maps_of, offloaded
from helioc.lang.syntax.parser import parse
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from nfp_probes import build

PIPELINES = Path(__file__).parents[3] / "pipelines"

FRAME = """import std.ethernet, std.ip

pipeline p {{
  ports nic
  parser {{
    ethernet -> ipv4 as user when type = 0x0800
    user -> tcp when protocol = 6
    user -> udp when protocol = 17
{edges}  }}
  ie src_ip = 1, ip4
  ie dst_ip = 2, ip4
  ie protocol = 3, u8
  ie src_port = 4, u16
  ie dst_port = 5, u16
  ie precedence = 6, u32
  ie interface = 7, port
  ie next = 8, ip4
  ie sids = 9, ip6[4]
{rules}
  default pass
  stage main {{
    if not user {{ pass }}
{stage}
    pass
  }}
  run parser -> main
}}
"""
FLOW = "  rule FLOW [16] {\n    match src_ip exact user.src\n    gives interface, next, sids\n  }"
FIND = "    find FLOW else { pass }"

CASES = [
    ("H0350", FLOW, f"{FIND}\n    forward FLOW.interface via FLOW.next  //~\n  }}\n  stage s {{"),
    ("H0350", FLOW, f"{FIND}\n    bridge FLOW.interface  //~\n  }}\n  stage s {{"),
    ("H0351", FLOW.replace("exact user.src", "lpm user.src  //~"), FIND),
    ("H0351", FLOW.replace("src_ip exact user.src", "src_port range l4.src  //~"), FIND),
    ("H0351", FLOW.replace("exact user.src", "ternary user.src  //~"), FIND),
    ("H0352", "  state SEEN [16] {\n    match from : ip4\n    gives to : ip4\n  }",
     "    remember SEEN(from = user.src, to = user.dst)  //~"),
    ("H0352", "  state SEEN [16] {\n    match from : ip4\n    gives to : ip4\n  }",
     "    recall SEEN(from = user.src) else { pass }  //~"),
    ("H0353", FLOW.replace("gives interface, next, sids", "gives FAR | LBR")
     + "\n  rule FAR [4] {\n    gives next\n  }\n"
     "  rule LBR [4] {\n    match dst_ip exact user.dst\n"
     "    spread FAR[1..4] over hash(user.src)\n  }",
     f"{FIND}\n    choose FAR from FLOW.LBR else {{ pass }}  //~"),
    ("H0353", FLOW + "\n  rule FAR [4] {\n    gives next\n  }\n"
     "  rule LBR [4] {  //~\n    match dst_ip exact user.dst\n"
     "    spread FAR[1..4] over hash(user.src)\n  }", "    find LBR else { pass }"),
    ("H0354", FLOW.replace("rule FLOW [16] {", "rule FLOW [16] {  //~").replace(
        "gives interface, next, sids", "precedence precedence"), FIND),
    ("H0355", FLOW.replace("src_ip exact user.src", "interface exact port  //~").replace(
        "gives interface, next, sids", "gives next"), FIND),
    ("H0356", FLOW.replace("rule FLOW [16] {", "rule FLOW [16] {  //~").replace(
        "interface, next, sids", "sids"), f"{FIND}\n    if FLOW.sids[0] = FLOW.sids[1] {{ drop }}"),
    ("H0357", FLOW.replace("rule FLOW [16] {", "rule FLOW [4M] {  //~").replace(
        "gives interface, next, sids", "gives next"), FIND),
]  # fmt: skip


@pytest.mark.parametrize(("code", "rules", "stage"), CASES)
def test_refused_at_the_line(code: str, rules: str, stage: str, tmp_path: Path) -> None:
    path = tmp_path / "p.hp"
    text = FRAME.format(edges="", rules=rules, stage=stage)
    if "stage s {" in stage:
        text = text.replace("run parser -> main", "run parser -> main -> s")
    path.write_text(text)
    pipeline = check_file(path)
    with pytest.raises(Refused) as refused:
        compile_for_card(pipeline)
    said = [(d.code, d.span.line if d.span else 0) for d in refused.value.diagnostics]
    marked = [n for n, line in enumerate(text.split("\n"), start=1) if "//~" in line]
    assert (code, marked[0]) in said, said
    assert {c for c, _ in said} == {code}, said
    assert all(d.help for d in refused.value.diagnostics)
    assert code in explained("card")


@pytest.mark.parametrize(("code", "wrong", "right"), examples("card"))
def test_examples_get_their_codes(code: str, wrong: str, right: str, tmp_path: Path) -> None:
    path, rule = tmp_path / "p.hp", "match src_ip exact user.src"
    path.write_text(FRAME.format(edges="", rules=FLOW.replace(rule, wrong), stage=FIND))
    with pytest.raises(Refused, match=code):
        compile_for_card(check_file(path))
    path.write_text(FRAME.format(edges="", rules=FLOW.replace(rule, right), stage=FIND))
    compile_for_card(check_file(path))


CHANGES = """import std.ethernet, std.ip, std.gre
header note { next : u16 = 0x800  sum : u16 = checksum(header, payload) }
pipeline p {
  ports nic
  parser {
    EDGES
  }
  stage main {
    STAGE
    pass
  }
  run parser -> main
}
"""
IP = "ethernet -> ipv4 as user when type = 0x0800\n"
GRE = """ethernet -> ipv4 as outer when type = 0x0801
    outer -> gre when protocol = 47
    gre -> user when protocol = 0x0800
"""
FRAME_INSIDE = """ethernet -> ipv4 as outer when type = 0x0801
    outer -> gre when protocol = 47
    gre -> ethernet as frame when protocol = 0x6558
    frame -> user when type = 0x0800
"""
TAG = "ethernet -> vlan when type = 0x8100\n    vlan -> user when type = 0x0800\n"


@pytest.mark.parametrize(
    ("edges", "stage", "what"),
    [
        (TAG, "if vlan { pop vlan  pass }", "popping a link header"),
        (TAG + FRAME_INSIDE + "frame -> vlan when type = 0x8100", "if user { pop to user  pass }",
         "popping a link header that other packets have in front of all else"),
        ("ethernet -> note when type = 0x88b5\n    note -> user when next = 0x800",
         "if user and not note { push note before user  send back }",
         "a checksum over the payload of a packet"),
        (FRAME_INSIDE, "if user and not outer { push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre"
         " / frame { src = 02:00:00:00:00:01, dst = 02:00:00:00:00:02 } before user  send back }",
         "pushing a frame within a tunnel"),
        (GRE, "if user { user.tos = 1 }", "keeping a checksum that packets may lack"),
    ],
)  # fmt: skip
def test_changes_of_packets(edges: str, stage: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "p.hp"
    path.write_text(CHANGES.replace("EDGES", IP + edges).replace("STAGE", stage))
    with pytest.raises(Refused) as refused:
        compile_for_card(check_file(path))
    (found,) = refused.value.diagnostics
    assert (found.code, found.title) == ("H0360", f"a card cannot do this: {what}")
    assert found.span is not None and found.span.text in stage


def test_options_of_a_header(tmp_path: Path) -> None:
    edges = """ethernet -> ipv4 as user when type = 0x0800
    user -> tcp when protocol = 6"""
    path = tmp_path / "p.hp"
    path.write_text(CHANGES.replace("EDGES", edges).replace("STAGE", "if tcp.mss { drop }"))
    with pytest.raises(Refused) as refused:
        compile_for_card(check_file(path))
    assert [d.code for d in refused.value.diagnostics] == ["H0360"]
    assert "walking the options of a header" in refused.value.diagnostics[0].title


def test_events_of_rules(tmp_path: Path) -> None:
    path, rule = tmp_path / "p.hp", "match src_ip exact user.src"
    raising = f"{rule}\n    counts packets\n    emit IDLE {{}} after 9 idle"
    rules = "event IDLE {}\n  " + FLOW.replace(rule, raising)
    assert raising in rules
    path.write_text(FRAME.format(edges="", rules=rules, stage=FIND))
    with pytest.raises(Refused) as refused:
        compile_for_card(check_file(path))
    assert [d.code for d in refused.value.diagnostics] == ["H0360"]
    assert "rules that raise events" in refused.value.diagnostics[0].title


def test_a_chain_of_headers(tmp_path: Path) -> None:
    chain = """header short {
      type : u8
    }
    """
    edges = """ethernet -> short as front when type = 0x88b5
    chain rest by type max 4 { short as other when 3 }
    front -> rest
    rest -> ipv4 as user when type = 4"""
    path = tmp_path / "p.hp"
    text = CHANGES.replace("EDGES", edges).replace("STAGE", "if user { drop }")
    path.write_text(text.replace("pipeline ", f"{chain}pipeline ", 1))
    with pytest.raises(Refused) as refused:
        compile_for_card(check_file(path))
    assert [d.code for d in refused.value.diagnostics] == ["H0360"]
    assert "walking a chain of headers" in refused.value.diagnostics[0].title


def test_too_deep(tmp_path: Path) -> None:
    path = tmp_path / "p.hp"
    deep = "".join(f"    node{n} -> long as node{n + 1} when next = 1\n" for n in range(1, 9))
    text = FRAME.format(
        edges=f"    user -> long as node1 when protocol = 99\n{deep}", rules="", stage=""
    )
    header = (
        "header long {\n  length : u8\n  next : u8\n  rest : bytes[rest]\n  size length + 2\n}\n"
    )
    path.write_text(text.replace("pipeline p", f"{header}pipeline p"))
    with pytest.raises(Refused) as refused:
        compile_for_card(check_file(path))
    (found,) = refused.value.diagnostics
    assert found.code == "H0358" and found.span is not None
    assert found.span.text.startswith("node7 -> long as node8"), found


def test_too_long(tmp_path: Path) -> None:
    fields = "user.src, user.dst, user.id, user.tos"
    hashes = "\n".join(  # each over something else, or clang would reckon once
        f"    if hash({fields}, user.ttl + {n}) & {1 << n} = 0 {{ drop }}" for n in range(30)
    )
    path = tmp_path / "p.hp"
    path.write_text(FRAME.format(edges="", rules="", stage=hashes))
    with pytest.raises(Refused) as refused:
        compile_for_card(check_file(path))
    (found,) = refused.value.diagnostics
    assert found.code == "H0359" and len(found.labels) == 4, found
    assert any("hash(" in label.span.text for label in found.labels[1:]), found


def test_too_much_stack(tmp_path: Path) -> None:
    pipeline = check_file(PIPELINES / "slice_offload.hp")
    with pytest.raises(Refused) as refused:
        check_card_programs(build("stack_subprog", tmp_path / "case.o"), pipeline)
    (found,) = refused.value.diagnostics
    assert found.code == "H0359" and "576 bytes of stack" in found.title, found


def test_linx_says_all_at_once() -> None:
    with pytest.raises(Refused) as refused:
        compile_for_card(check_file(PIPELINES / "linx.hp"))
    codes = [d.code for d in refused.value.diagnostics]
    assert {"H0350", "H0351", "H0353"} <= set(codes) and len(codes) > 8


@pytest.mark.parametrize("name", ["slice_offload", "linx_offload"])
def test_counts_the_maps_that_come_out(name: str) -> None:
    pipeline = check_file(PIPELINES / f"{name}.hp")
    counted = [entries for *_, entries in maps_of(offloaded(tables(pipeline, reads(pipeline))))]
    made = read_object(compile_for_card(pipeline).object).maps.values()
    assert sorted([*counted, *own_maps(pipeline)]) == sorted(spec.entries for spec in made)


def test_slice_fits() -> None:
    bundle = compile_for_card(check_file(PIPELINES / "slice_offload.hp"))
    (report,) = bundle.reports
    assert report.instructions <= 2540 and report.stack <= 512 and report.reach <= 1888
    assert bundle.manifest.target == "nfp" and bundle.manifest.atomic == "rule"
    ways = {k.name: k.offload.way for k in bundle.manifest.rules if k.offload}
    assert ways == {"SERVICE": "masked", "CONGESTION": "hash", "SERVER": "array"}


def test_a_card_reads_what_packets_may_lack() -> None:
    text = """import std.ethernet, std.ip
pipeline p {
  ports lan
  parser {
    ethernet -> ipv4 when type = 0x0800
    ipv4     -> udp  when protocol = 17
    ipv4     -> tcp  when protocol = 6
  }
  stage s {
    if not ipv4 { pass }
    if hash(ipv4.src, udp.src) & 1 = 0 { drop }
    if first(udp.dst, tcp.dst) = 9 { drop }
    pass
  }
  run parser -> s
}
"""
    (report,) = compile_for_card(check(parse(Source("p.hp", text)))).reports
    assert not report.violations
