"""A packet test as text: what `helioc fuzz` prints of a failure, ready for `X.test.yaml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address

from ...lang.contract.manifest.manifest import EventField, EventKind
from ...lang.contract.request.request import Request, request_text
from ...lang.contract.rules.ie_values import format_ip4
from ...lang.contract.world.emitted import shown, split_identity
from ...lang.contract.world.environment import Environment, Outcome
from ..decoding.decoded import json_value
from ..interpret.header_view import Value
from ..model import Field
from .packets import Drawn, Given
from .scenarios import Scenario
from .world import World


def packet_test(
    name: str,
    world: World,
    scenario: Scenario,
    expected: Outcome,
    by_headers: Sequence[bool],
    kinds: Mapping[str, EventKind],
) -> str:
    """A whole file of one case: the last packet is what is tested, what is in front comes before.
    `kinds` of events; `by_headers`: whether a packet is written by its headers, or in hex."""
    steps, packets = scenario.steps, scenario.packets
    environment = world.environment
    opening = steps[0] if isinstance(steps[0], Request) else None
    lines = [*_surroundings(environment), "", *_rules(opening), "", "cases:", f"  - name: {name}"]
    ports = {port.number: port.name for port in environment.ports}
    whole = iter(by_headers)
    shown, random = list[list[str]](), 0
    for step in steps if opening is None else steps[1:]:
        if isinstance(step, Request):
            shown.append(list(_rules(step)))
            continue
        if moment := list(_moment(step, random)):
            shown.append(moment)
        random = step.random
        shown.append([f"port: {ports[step.port]}", *_packet(step, next(whole), world)])
    if len(shown) > 1:
        lines.append("    before:")
        for each in shown[:-1]:
            lines += _indented(each, 6)
    lines += [f"    {line}" for line in shown[-1]]
    lines.append("    expect:")
    lines += [f"      {line}" for line in _expected(expected, packets[-1].arriving(world), ports)]
    lines += [f"      {line}" for line in _emits(expected, kinds, ports)]
    return "\n".join(lines) + "\n"


def _indented(lines: Sequence[str], by: int) -> Iterator[str]:
    """As an item of a list."""
    for i, line in enumerate(lines):
        yield " " * by + ("- " if i == 0 else "  ") + line


# ---- around the packet ----------------------------------------------------------------------


def _surroundings(environment: Environment) -> Iterator[str]:
    yield "ports:"
    for p in environment.ports:
        more = f", address: {IPv4Address(p.address)}" if p.address else ""
        more += f", address6: '{IPv6Address(p.address6)}'" if p.address6 else ""
        more += f", vlan: {p.vlan}" if p.vlan else ""
        said = f"role: {p.role}, number: {p.number}, ifindex: {p.ifindex}, mtu: {p.mtu}"
        yield f"  {p.name}: {{{said}, mac: {p.mac.hex(':')}{more}}}"
    local = sorted(environment.local - {p.address for p in environment.ports})
    local6 = sorted(environment.local6 - {p.address6 for p in environment.ports})
    yield f"local: [{', '.join([*map(format_ip4, local), *map(_ip6, local6)])}]"
    yield "neighbours:"
    for p in environment.ports:
        known = [
            (format_ip4(a), m) for (n, a), m in environment.neighbours.items() if n == p.number
        ]
        known += [(_ip6(a), m) for (n, a), m in environment.neighbours6.items() if n == p.number]
        shown = ", ".join(f"{a}: {m.hex(':')}" for a, m in known)
        yield f"  {p.name}: {{{shown}}}"
    if environment.default:
        yield f"default: {environment.default}"


def _ip6(address: int) -> str:
    return f'"{IPv6Address(address)}"'


def _rules(request: Request | None) -> Iterator[str]:
    if request is not None:
        yield "rules: |"
        yield from (f"  {line}" for line in request_text(request).splitlines())


def _moment(packet: Drawn, random: int) -> Iterator[str]:
    """`random`: what chance gave the packet before."""
    if packet.wait:
        yield f"wait: {packet.wait}ns"
    if packet.random != random:
        yield f"random: {packet.random}"


# ---- the packet -----------------------------------------------------------------------------


def _packet(packet: Drawn, by_headers: bool, world: World) -> Iterator[str]:
    if not by_headers:
        yield f'packet: {{hex: "{packet.arriving(world).hex()}"}}'
        return
    yield "packet:"
    headers = packet.headers[1:] if packet.port in world.bare else packet.headers
    yield from (f"  - {_header(header)}" for header in headers)
    if packet.payload:
        plain = len(packet.payload) if not any(packet.payload) else f"0x{packet.payload.hex()}"
        yield f"  - payload: {plain}"
    if packet.padding:
        yield f"  - padding: 0x{packet.padding.hex()}"
    if packet.cut is not None:
        yield f"  - cut: {packet.cut}"


def _header(given: Given) -> str:
    fields = {f.name: f for f in given.node.header.fields}
    values = ", ".join(f"{n}: {_value(fields[n], v)}" for n, v in given.values.items())
    return f"{given.node.name}: {{{values}}}"


def _value(field: Field, value: Value) -> str:
    shown = json_value(field, value)
    if field.kind == "bytes" or not field.width:
        return f"0x{shown}"
    return f'"{shown}"' if field.kind == "ip6" else str(shown)


# ---- what must become of it -----------------------------------------------------------------


def _expected(outcome: Outcome, sent: bytes, ports: dict[int, str]) -> Iterator[str]:
    yield f"verdict: {outcome.verdict}"
    if outcome.egress is not None:
        yield f"port: {ports.get(outcome.egress, outcome.egress)}"
    if outcome.queue is not None:
        yield f"queue: {outcome.queue}"
    if outcome.frame is not None:
        same = outcome.frame == sent
        yield "out: same" if same else f'out: {{hex: "{outcome.frame.hex()}"}}'
    if outcome.copies:
        each = ((ports[port], frame.hex()) for port, frame in outcome.copies)
        copies = (f'{{port: {port}, out: {{hex: "{frame}"}}}}' for port, frame in each)
        yield f"copies: [{', '.join(copies)}]"
    events = [f"{{{g}: '{what}'}}" for g, what in outcome.events if g != "verdict"]
    yield f"events: [{', '.join(events)}]"


def _emits(
    outcome: Outcome, kinds: Mapping[str, EventKind], ports: dict[int, str]
) -> Iterator[str]:
    if not kinds:
        return
    found = []
    for event, values in outcome.emitted:
        fields = zip(kinds[event].fields, values, strict=True)
        said = ", ".join(f"{field.name}: {_told(field, value, ports)}" for field, value in fields)
        found.append(f"{{{event}: {{{said}}}}}")
    yield f"emits: [{', '.join(found)}]"


def _told(field: EventField, value: int, ports: dict[int, str]) -> str:
    if field.type == "rule":
        return str(split_identity(value)[1])
    if field.type == "port":
        return ports[value]
    text = shown(field, value)
    return f'"{text}"' if ":" in text else text
