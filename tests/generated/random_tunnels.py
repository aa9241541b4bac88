"""Tunnels as people nest them: of the standard headers a random part, found, popped, pushed anew
and forwarded. What a `random_pipeline` makes is stranger, and seldom so deep."""

from __future__ import annotations

from chance import Chance

_HEAD = """\
pipeline tunnels {{
  ports lan, wan
  parser {{
{edges}
  }}
  ie src4  = 1, ip4
  ie dst4  = 2, ip4
  ie src6  = 3, ip6
  ie dst6  = 4, ip6
  ie proto = 5, u8
  ie sport = 6, u16
  ie out   = 7, port
  ie a4    = 8, ip4
  ie sids  = 9, ip6[8]
  ie teid  = 10, u32
  ie vni   = 11, u24
"""
_UDP_PORTS = {"gtpu": 2152, "vxlan": 4789, "geneve": 6081}
_KEYS = {
    "INNER": ("src4 lpm inner.src", "dst4 ternary inner.dst", "proto optional inner.protocol",
              "sport range l4.src", "dst6 lpm outer6.dst"),
    "INNER6": ("src6 lpm inner6.src", "dst6 lpm inner6.dst", "proto ternary inner6.next_header",
               "sport range l4.src"),
}  # fmt: skip


def tunnels_text(seed: int | str) -> str:
    return _Tunnels(Chance(f"tunnels {seed}")).text()


class _Tunnels:
    def __init__(self, chance: Chance) -> None:
        self.chance = chance
        self.edges: list[str] = []
        self.imports = {"ethernet", "ip", "ipv6"}
        self.nodes: set[str] = set()

    def text(self) -> str:
        self.graph()
        kinds = self.chance.shuffled(["INNER", "INNER6"])[: self.chance.number(1, 2)]
        rules = [self.rule(kind) for kind in kinds]
        stages = [self.stage(kind, last=kind == kinds[-1]) for kind in kinds]
        hooks = [
            f"  on {event} {{ {self.chance.one(ways)} }}"
            for event, ways in (
                ("too_big", ("pass", "drop", "reply icmp")),
                ("ttl_expired", ("pass", "drop", "reply icmp")),
                ("malformed", ("pass", "drop")),
                ("unresolved", ("pass", "drop")),
            )
            if self.chance.maybe(0.7)
        ]
        if "  on malformed { pass }" in hooks:
            hooks.append("  on tiny_fragment { continue }")
            if "  on unresolved { pass }" in hooks:  # no draw of its own, as in random_pipeline
                hooks[hooks.index("  on malformed { pass }")] = "  on malformed { continue }"
        run = " -> ".join(["parser", *(kind.lower() for kind in kinds)])
        imports = ", ".join(f"std.{name}" for name in sorted(self.imports))
        head = _HEAD.format(edges="\n".join(f"    {edge}" for edge in self.edges))
        parts = [head, *rules, "  default pass", *stages, *hooks, f"  run {run}", "}"]
        return f"import {imports}\n" + "\n".join(parts) + "\n"

    # ---- the graph ---------------------------------------------------------------------------

    def graph(self) -> None:
        links = self.links()
        for link in links:
            self.edge(link, "ipv4", "outer", "type = 0x0800")
            self.edge(link, "ipv6", "outer6", "type = 0x86dd")
        for link in links:  # so that what was popped to can be announced
            self.edge(link, "ipv4", "inner", "type = 0x0800  on push")
            self.edge(link, "ipv6", "inner6", "type = 0x86dd  on push")
        if depth := self.chance.one((0, 0, 1, 2)):
            self.imports.add("mpls")
            for link in links:
                stack = f"mpls[{depth}]" if depth > 1 else "mpls"
                self.edge(link, stack, "mpls", "type = 0x8847")
            if depth > 1:
                self.edges.append("mpls -> mpls when bottom = 0")
            self.carried("mpls", "bottom = 1 and next u4 = 4", "bottom = 1 and next u4 = 6")
        fronts = self.extensions()
        self.edge("outer", "ipv4", "inner", "protocol = 4")
        self.edge("outer", "ipv6", "inner6", "protocol = 41")
        for front in fronts:
            self.carried(front, "next_header = 4", "next_header = 41")
        if self.chance.maybe(0.7):
            self.over_udp(fronts)
        if self.chance.maybe(0.4):
            self.imports.add("gre")
            self.edge("outer", "gre", "gre", "protocol = 47")
            for front in fronts:
                self.edge(front, "gre", "gre", "next_header = 47")
            self.carried("gre", "protocol = 0x0800", "protocol = 0x86dd")
        for ip, field in (("inner", "protocol"), ("inner6", "next_header")):
            self.edge(ip, "tcp", "tcp", f"{field} = 6")
            self.edge(ip, "udp", "udp", f"{field} = 17")
        self.edge("inner6", "icmpv6", "icmpv6", "next_header = 58")

    def links(self) -> list[str]:
        depth = self.chance.one((0, 0, 1, 2))
        if not depth:
            return ["ethernet"]
        stacked = f"vlan[{depth}]" if depth > 1 else "vlan"
        self.edges.append(f"ethernet -> {stacked} when type = 0x8100")
        if depth > 1:
            self.edges.append("vlan -> vlan when type = 0x8100")
        self.nodes.add("vlan")
        return ["ethernet", "vlan"]

    def extensions(self) -> list[str]:
        """IPv6 and a chain of extension headers of its own, each of which may lead on."""
        fronts = ["outer6"]
        for header, name, number, share in (
            ("ipv6_hop_by_hop", "options", 0, 0.4),
            ("ipv6_destination", "more", 60, 0.4),
            ("srh", "srh", 43, 0.5),
        ):
            if not self.chance.maybe(share):
                continue
            for front in fronts:
                self.edge(front, header, name, f"next_header = {number}")
            fronts.append(name)
            self.imports |= {"srv6"} if name == "srh" else set()
        return fronts

    def over_udp(self, fronts: list[str]) -> None:
        self.edge("outer", "udp", "carrier", "protocol = 17")
        for front in fronts:
            self.edge(front, "udp", "carrier", "next_header = 17")
        for name in self.chance.some(tuple(_UDP_PORTS), 1, 3):
            self.imports.add(name)
            self.edge("carrier", name, name, f"dst = {_UDP_PORTS[name]}")
            if name == "gtpu":
                plain = "message = 255 and extension_present = 0 and next u4 ="
                self.carried("gtpu", f"{plain} 4", f"{plain} 6")
                session = "message = 255 and extension_present = 1 and next_extension = 0x85"
                self.edge("gtpu", "pdu_session", "pdu", session)
                self.carried("pdu", *(f"next_extension = 0 and next u4 = {v}" for v in (4, 6)))
            else:
                protocol = "" if name == "vxlan" else "protocol = 0x6558"
                self.edge(name, "ethernet", "frame", protocol)
        if "frame" in self.nodes:
            self.carried("frame", "type = 0x0800", "type = 0x86dd")

    def carried(self, front: str, four: str, six: str) -> None:
        self.edge(front, "ipv4", "inner", four)
        self.edge(front, "ipv6", "inner6", six)

    def edge(self, front: str, header: str, name: str, test: str) -> None:
        new = name not in self.nodes
        self.nodes.add(name)
        target = (
            name if not new else header if header.split("[")[0] == name else f"{header} as {name}"
        )
        self.edges.append(f"{front} -> {target}" + (f" when {test}" if test else ""))

    # ---- rules and stages --------------------------------------------------------------------

    def rule(self, kind: str) -> str:
        keys = self.chance.some(_KEYS[kind], 1, 4)
        match = "\n".join(f"    match {key}" for key in keys)
        counts = "    counts packets, bytes\n" if self.chance.maybe(0.5) else ""
        return f"  rule {kind} [1k] {{\n{match}\n    gives out, a4, sids, teid, vni\n{counts}  }}"

    def stage(self, kind: str, last: bool) -> str:
        node, chance = kind.lower(), self.chance
        body = [f"find {kind} else {{ {chance.one(('pass', 'drop', 'default'))} }}"]
        body += self.changes(node)
        if popped := chance.maybe(0.8):
            body += [f"pop to {node}", *self.changes(node)]
        if popped and chance.maybe(0.8):
            body.append(self.push(kind, node))
        if chance.maybe(0.4):
            body.append("clamp mss")
        via = f"{kind}.a4" if chance.maybe(0.5) else f"{kind}.sids[0]"
        ways = ("pass", "send back") if not popped else (f"forward {kind}.out via {via}",) * 3
        body.append(chance.one((*ways, "default")))
        lines = [f"  stage {node} {{", f"    if {node} {{", *(f"      {b}" for b in body), "    }"]
        return "\n".join([*lines, *(["    default"] if last else []), "  }"])

    def changes(self, node: str) -> list[str]:
        said = (
            f"swap {node}.src, {node}.dst",
            "if tcp { tcp.src = tcp.dst }",
            f"if udp {{ udp.dst = {node}.ecn + 7 }}",
            f"{node}.dscp = 46",
        )
        return self.chance.some(said, 0, 2)

    def push(self, kind: str, node: str) -> str:
        chance, parts = self.chance, list[str]()
        if chance.maybe(0.5):
            parts.append(f"outer {{ src = 10.9.0.1, dst = {kind}.a4 }}")
        else:
            label = f"hash({node}.src, l4.src) & 0xfffff"
            parts.append(
                f"outer6 {{ src = 2001:db8::9, dst = {kind}.sids[0], flow_label = {label} }}"
            )
            if "srh" in self.nodes and chance.maybe(0.6):
                left = f"count({kind}.sids) - 1"
                parts.append(f"srh {{ segments_left = {left}, segments = reversed({kind}.sids) }}")
        means = [name for name in ("gtpu", "vxlan", "geneve", "gre") if name in self.nodes]
        if means and chance.maybe(0.8):
            parts += self.by(chance.one(means), kind, node)
        return f"push {' / '.join(parts)} before {node}"

    def by(self, means: str, kind: str, node: str) -> list[str]:
        chance = self.chance
        if means == "gre":
            return [chance.one(("gre", "gre { key = 7 }", "gre { key = 7, checksum = computed }"))]
        computed = ", checksum = computed" if chance.maybe(0.4) else ""
        said = f"src = hash({node}.src, l4.src) & 0x3fff{computed}"
        carrier = f"carrier {{ {said}, dst = {_UDP_PORTS[means]} }}"
        if means == "gtpu":
            if chance.maybe(0.5):
                gtpu = f"gtpu {{ teid = {kind}.teid, extension_present = 1 }}"
                return [carrier, gtpu, "pdu { qfi = 9, type = 1 }"]
            return [carrier, f"gtpu {{ teid = {kind}.teid, extension_present = 0 }}"]
        frame = "frame { dst = 02:00:00:00:00:01, src = 02:00:00:00:00:02 }"
        return [carrier, f"{means} {{ vni = {kind}.vni }}", frame]
