"""The LINX pipeline as a checked model, made by hand: the interpreter's tests need no checker."""

from __future__ import annotations

from collections.abc import Iterable

from helioc.compiler.model import (
    And,
    Arithmetic,
    Attribute,
    Block,
    Choose,
    ClampMss,
    Compare,
    Condition,
    Const,
    Derived,
    Edge,
    Element,
    Expr,
    Field,
    Find,
    Forward,
    Graph,
    Group,
    Hash,
    Header,
    If,
    IfGives,
    Inline,
    IsLocal,
    Kind,
    Layer4,
    Match,
    MatchReference,
    MatchValue,
    Node,
    Not,
    Own,
    Packet,
    Pipeline,
    Pop,
    PortIs,
    PortOf,
    Present,
    Push,
    PushElement,
    ReferenceArm,
    RuleKind,
    Spread,
    Stage,
    Statement,
    Test,
    Verdict,
)
from helioc.lang.source import NOWHERE

_SUM = {
    "length": Derived("length", frozenset({"header", "payload"})),
    "checksum": Derived("checksum", frozenset({"header"})),
    "checksum+": Derived("checksum", frozenset({"header", "payload"})),
    "checksum++": Derived("checksum", frozenset({"pseudo", "header", "payload"})),
}
_KINDS: dict[str, tuple[int, Kind]] = {
    "mac": (48, "mac"),
    "ip4": (32, "ip4"),
    "rest": (0, "bytes"),
}


def _fields(text: str, group: str | None = None) -> tuple[tuple[Field, ...], int]:
    """`name:type[=default]`, parts of the field before as `.name:type`; an empty name: reserved."""
    found: list[Field] = []
    at = inner = 0
    for word in text.split():
        head, _, default_text = word.partition("=")
        name, kind_text = head.split(":")
        width, kind = _KINDS.get(kind_text) or (int(kind_text[1:]), "uint")
        default: int | Derived | None = _SUM.get(default_text)
        if default is None and default_text:
            default = int(default_text, 0)
        if name.startswith("."):
            whole = next(f for f in reversed(found) if f.part_of is None)
            inner = inner if found[-1].part_of else whole.offset
            found.append(Field(name[1:], inner, width, kind, default, group, whole.name))
            inner += width
        else:
            found.append(Field(name or f"_{at}", at, width, kind, default, group))
            at += width
    return tuple(found), at


def _header(name: str, text: str, **more: object) -> Header:
    fields, fixed = _fields(text)
    known: dict[str, object] = {
        "name": name,
        "link": False,
        "fields": fields,
        "groups": (),
        "fixed": fixed,
        "minimum": fixed // 8,
        "maximum": fixed // 8,
        "protocol": name,
    }
    return Header(**{**known, **more})  # type: ignore[arg-type]


def _is(field: str, value: int, operator: str = "=") -> Condition:
    return Compare(operator, Own(field), Const(value, 8))  # type: ignore[arg-type]


def _words(field: str) -> Expr:
    return Arithmetic("*", Own(field), Const(4, 8))


ETHERNET = _header("ethernet", "dst:mac src:mac type:u16", link=True)
VLAN = _header("vlan", "pcp:u3=0 dei:u1=0 id:u12 type:u16", link=True)
IPV4 = _header(
    "ipv4",
    "version:u4=4 ihl:u4=5 tos:u8=0 .dscp:u6 .ecn:u2 total_length:u16=length id:u16=0 :u1=0 "
    "dont_fragment:u1=1 more_fragments:u1=0 fragment_offset:u13=0 ttl:u8=64 protocol:u8 "
    "checksum:u16=checksum src:ip4 dst:ip4 options:rest",
    maximum=60,
    size=_words("ihl"),
    extent=Own("total_length"),
    accept=(_is("version", 4),),
    require=(_is("ihl", 5, ">="),),
    payload=(_is("fragment_offset", 0),),
)
TCP = _header(
    "tcp",
    "src:u16 dst:u16 sequence:u32 acknowledgment:u32 data_offset:u4=5 :u4=0 flags:u8 .cwr:u1 "
    ".ece:u1 .urg:u1 .ack:u1 .psh:u1 .rst:u1 .syn:u1 .fin:u1 window:u16 checksum:u16=checksum++ "
    "urgent:u16=0 options:rest",
    maximum=60,
    size=_words("data_offset"),
    require=(_is("data_offset", 5, ">="),),
)
UDP = _header("udp", "src:u16 dst:u16 length:u16=length checksum:u16=checksum++")


def _gre() -> Header:
    plain, fixed = _fields(
        "checksum_present:u1=0 routing_present:u1=0 key_present:u1=0 sequence_present:u1=0 :u9=0 "
        "version:u3=0 protocol:u16"
    )
    fields, groups = list(plain), []
    for flag, text in (
        ("checksum_present", "checksum:u16=checksum+ reserved1:u16=0"),
        ("key_present", "key:u32"),
        ("sequence_present", "sequence:u32"),
    ):
        more, width = _fields(text, flag)
        fields += more
        groups.append(Group(flag, width))
    return Header(
        "gre",
        False,
        tuple(fields),
        tuple(groups),
        fixed,
        4,
        16,
        accept=(And((_is("version", 0), _is("routing_present", 0))),),
        protocol="gre",
    )


GRE = _gre()


def _edge(source: str, target: str, field: str, value: int, roles: Iterable[str]) -> Edge:
    test = Test(field, ((value, value),))
    return Edge(source, target, (test,), ((field, value),), frozenset(roles))


def graph() -> Graph:
    both = ("lan", "wan")
    nodes = [
        Node(name, header)
        for name, header in (
            ("ethernet", ETHERNET),
            ("vlan", VLAN),
            ("outer", IPV4),
            ("gre", GRE),
            ("user", IPV4),
            ("tcp", TCP),
            ("udp", UDP),
        )
    ]
    edges = (
        _edge("ethernet", "vlan", "type", 0x8100, both),
        _edge("ethernet", "user", "type", 0x0800, ["lan"]),
        _edge("vlan", "user", "type", 0x0800, ["lan"]),
        _edge("ethernet", "outer", "type", 0x0800, ["wan"]),
        _edge("outer", "gre", "protocol", 47, both),
        _edge("gre", "user", "protocol", 0x0800, both),
        _edge("user", "tcp", "protocol", 6, both),
        _edge("user", "udp", "protocol", 17, both),
    )
    return Graph(tuple(nodes), edges)


_ELEMENTS = {
    name: Element(name, number, type_, width, kind, symbols, references)  # type: ignore[arg-type]
    for number, (name, type_, width, kind, symbols, references) in enumerate(
        (
            ("src_ip", "ip4", 32, "ip4", (), ()),
            ("dst_ip", "ip4", 32, "ip4", (), ()),
            ("protocol", "u8", 8, "uint", (("TCP", 6), ("UDP", 17)), ()),
            ("tos", "u8", 8, "uint", (), ()),
            ("action", "u8", 8, "uint", (("REDIRECT", 1), ("PASS", 2), ("DROP", 3)), ()),
            ("interface", "OVERLAY | port", 32, "uint", (), ("OVERLAY", "port")),
            ("ifindex", "u32", 32, "uint", (), ()),
            ("local_ip", "ip4", 32, "ip4", (), ()),
            ("remote_ip", "ip4", 32, "ip4", (), ()),
            ("key", "u32", 32, "uint", (), ()),
            ("weight", "u16", 16, "uint", (), ()),
            ("src_port", "u16", 16, "uint", (), ()),
            ("dst_port", "u16", 16, "uint", (), ()),
            ("vlan_id", "u12", 12, "uint", (), ()),
            ("dscp", "u6", 6, "uint", (), ()),
        ),
        start=1,
    )
}


def _match(name: str, kind: str, path: str, maybe_absent: bool = False) -> Match:
    node, field = path.split(".")
    if node == "l4":
        return Match(_ELEMENTS[name], kind, Layer4(field), False)  # type: ignore[arg-type]
    header = next(n.header for n in graph().nodes if n.name == node)
    width = header.field(field).width
    return Match(_ELEMENTS[name], kind, Packet(node, field, width), maybe_absent)  # type: ignore[arg-type]


def _rules() -> tuple[RuleKind, ...]:
    counts = ("packets", "bytes")
    gives = _ELEMENTS["interface"]
    hashed = Hash(
        (
            Packet("user", "src", 32),
            Packet("user", "dst", 32),
            Packet("user", "protocol", 8),
            Layer4("src"),
            Layer4("dst"),
        )
    )
    overlay = (
        _match("local_ip", "exact", "outer.dst"),
        _match("remote_ip", "exact", "outer.src"),
        _match("key", "optional", "gre.key", True),
    )
    pdr = (
        _match("src_ip", "lpm", "user.src"),
        _match("dst_ip", "lpm", "user.dst"),
        _match("protocol", "optional", "user.protocol"),
        _match("tos", "ternary", "user.tos"),
        _match("dscp", "optional", "user.dscp"),
        _match("src_port", "range", "l4.src"),
        _match("dst_port", "range", "l4.dst"),
        _match("vlan_id", "optional", "vlan.id", True),
    )
    far = tuple(_ELEMENTS[n] for n in ("action", "interface", "ifindex"))
    return (
        RuleKind("OVERLAY", 256, True, overlay, (gives,), counts=counts),
        RuleKind("PDR", 65536, match=pdr, alternatives=("FAR", "LBR"), counts=counts),
        RuleKind("FAR", 4096, gives=far, counts=counts),
        RuleKind(
            "LBR",
            1024,
            match=(_match("tos", "ternary", "user.tos"),),
            spread=Spread("FAR", 1, 16, "weight", hashed),
            grouped=True,
        ),
    )


def _block(*statements: Statement, ends: bool = True) -> Block:
    return Block(statements, ends)


def _say(verdict: str) -> Block:
    return _block(Verdict(verdict, NOWHERE))  # type: ignore[arg-type]


_NOTHING = Block(())


def _apply() -> Inline:
    def of_overlay(element: str, optional: bool = False) -> Attribute:
        return Attribute("o", "OVERLAY", element, 32, optional=optional)

    user = Packet("user", "tos", 8), Packet("user", "dst", 32)
    outer = (("src", of_overlay("local_ip")), ("dst", of_overlay("remote_ip")), ("tos", user[0]))
    tunnel = _block(
        Push(
            (PushElement("outer", outer), PushElement("gre", (("key", of_overlay("key", True)),))),
            "user",
            NOWHERE,
        ),
        ClampMss(NOWHERE),
        Forward(PortOf(of_overlay("interface")), of_overlay("remote_ip"), NOWHERE),
    )
    arms = (
        ReferenceArm("OVERLAY", "o", tunnel),
        ReferenceArm("port", "p", _block(Forward(PortOf("p"), user[1], NOWHERE))),
    )
    out = MatchReference(Attribute("FAR", "FAR", "interface", 32), arms, NOWHERE)
    fates = (((3,), _say("drop")), ((2,), _say("pass")), ((1,), _block(out)))
    body = _block(MatchValue(Attribute("FAR", "FAR", "action", 8), fates, NOWHERE))
    return Inline("apply", body, NOWHERE)


def _stages() -> tuple[Stage, ...]:
    is_wan = PortIs("wan")
    pop = _block(Pop("user", NOWHERE), ends=False)
    find_overlay = Find("OVERLAY", _say("pass"), NOWHERE)
    host = _block(If(is_wan, pop, _NOTHING, NOWHERE), Verdict("pass", NOWHERE))
    classifier = _block(
        If(Not(Present("user")), _say("pass"), _NOTHING, NOWHERE),
        If(is_wan, _block(find_overlay, ends=False), _NOTHING, NOWHERE),
        If(IsLocal(Packet("user", "dst", 32)), host, _NOTHING, NOWHERE),
        Find("PDR", _say("default"), NOWHERE),
        ends=False,
    )
    forwarder = _block(
        If(is_wan, pop, _NOTHING, NOWHERE),
        IfGives("PDR", "PDR", "FAR", _block(_apply()), _NOTHING, NOWHERE),
        ends=False,
    )
    balancer = _block(Choose("FAR", "LBR", "PDR", "PDR", _say("default"), NOWHERE), _apply())
    return (
        Stage("classifier", classifier),
        Stage("forwarder", forwarder),
        Stage("balancer", balancer),
    )


def linx() -> Pipeline:
    return Pipeline(
        "linx",
        ("lan", "wan"),
        graph(),
        tuple(_ELEMENTS.values()),
        _rules(),
        _stages(),
        "pass",
        {
            "malformed": "drop",
            "too_big": "reply icmp",
            "ttl_expired": "reply icmp",
            "unresolved": "pass",
        },
    )
