"""One header, where the parser is at it: whether it is ours and whole, and what is kept of it."""

from __future__ import annotations

from contextlib import nullcontext

from ..headers import groups
from ..headers.context import FRAGMENT_OF_CHAIN, announced, place_of, pointer_to
from ..headers.fields import field_value
from ..headers.fragments import FRAGMENT, begun_within
from ..headers.frame import END
from ..ir.expr import Expr, Name, Symbol, load, not_, number
from ..ir.expr_builders import both, either
from ..ir.nodes import Goto, Stop
from ..ir.types import BYTES, U64, raw
from ..model import Chain, Condition, Field, Header, Node, Test
from ..model.checksums import LAYER4, NETWORK
from ..model.parse_graph import behind_ports, sometimes_leading, tunnels
from . import trace
from .conditions import condition
from .context import LoweringContext
from .options import bad_options
from .values import value

#: The header that the parser is at, the byte where it starts, and how many it has; the byte where
#: what is in front of it ends; whether this is a fragment; what is wrong.
P, AT, SIZE = Name("p", BYTES), Name("at"), Name("size")
LIMIT, WHOLE = Name("limit"), Name("length", U64)
FRAGMENTED, EVENT = Name("fragment", raw(16)), Name("event")


def chains_of(site: LoweringContext) -> list[Chain]:
    """Those that a packet of the role may have."""
    return [c for c in site.graph.chains if site.reachable & {*c.members}]


def fragmented(site: LoweringContext) -> Expr:
    """Whether this is a fragment: kept in memory where a function of its own may find it out."""
    return FRAGMENT_OF_CHAIN if chains_of(site) else FRAGMENTED


def read_header(site: LoweringContext, node: Node, bounded: bool, part: bool) -> None:
    """`bounded`: what is in front of it may end before the frame. `part`: it may stand in a first
    fragment, and so perhaps not be whole."""
    w, header = site.writer, node.header
    _bound(site, node, number(header.minimum), bounded, part)
    for accept in header.accept:
        with w.unless(header_holds(site, header, accept)):
            w.put(Goto("done", leaves=True))
    _size(site, node, bounded, part)
    for require in header.require:
        damage(site, not_(header_holds(site, header, require)), node, "invalid")
    if node.options:
        damage(site, bad_options(site, node, P, AT, SIZE), node, "options")
    if header.extent is not None:
        extent = value(site, header.extent, (P, header)).host()
        _within(site, extent, node, "partial" if part else "malformed")
        w.set(LIMIT, AT + extent)
    if header.reach is not None and _reaches(site, node):
        reach = value(site, header.reach, (P, header)).host()
        with w.unless(fragmented(site)):
            _within(site, reach, node)
            w.set(LIMIT, AT + reach)
    _remember(site, node)
    _announce(site, node)


def _reaches(site: LoweringContext, node: Node) -> bool:
    """Whether it matters where what stands behind the node ends."""
    behind = site.graph.leaving(node.name, site.role)
    return node.header.reach is not None and bool(behind)


def header_holds(site: LoweringContext, header: Header, clause: Condition) -> Expr:
    """A condition of a header's clause, of the header at P."""
    found = condition(site, clause, (P, header))
    return number(found) if isinstance(found, bool) else found


def damage(
    site: LoweringContext, broken: Expr, node: Node, reason: str, label: str = "malformed"
) -> None:
    """`label`: what decides, `cut` and `partial` by whether this stands in a fragment."""
    with site.writer.when(broken, unlikely=True):
        site.writer.put(Stop(label, EVENT, site.events("malformed", f"{node.name}: {reason}")))


def _within(site: LoweringContext, length: Expr, node: Node, label: str = "malformed") -> None:
    """What belongs to the header is not less than it is, and ends where what is in front does."""
    beyond = length > LIMIT - AT  # a sum could wrap
    if node.fits:
        damage(site, length < SIZE, node, "length", label)
        _does_not_fit(site, beyond, node, "length", label)
    else:
        damage(site, either((length < SIZE, beyond)), node, "length", label)


def _does_not_fit(
    site: LoweringContext, beyond: Expr, node: Node, reason: str, label: str = "malformed"
) -> None:
    """The node is absent then, or the packet malformed."""
    if not node.fits:
        damage(site, beyond, node, reason, label)
        return
    with site.writer.when(beyond):
        site.writer.put(Goto("done", leaves=True))


def _bound(site: LoweringContext, node: Node, size: Expr, bounded: bool, part: bool) -> None:
    beyond = [P + size > END, *([AT + size > LIMIT] if bounded else [])]
    _does_not_fit(site, either(beyond), node, "truncated", "cut" if part else "malformed")


def _size(site: LoweringContext, node: Node, bounded: bool, part: bool) -> None:
    """Set SIZE; check the bounds again where it is more than the minimum."""
    w, header = site.writer, node.header
    if header.takes_rest:
        _rest(site, node, part)
        return
    w.set(SIZE, groups.size(site, header, P))
    if header.size is not None:
        damage(site, groups.parts(site, header, P) > SIZE, node, "length")
    if header.size is not None or header.groups:
        _bound(site, node, SIZE, bounded, part)


def _rest(site: LoweringContext, node: Node, part: bool) -> None:
    """Of a header that goes on to the packet's end: SIZE is what is left."""
    w, header = site.writer, node.header
    if part:
        with w.when(fragmented(site)):
            w.put(Goto("done", leaves=True))
    w.set(SIZE, LIMIT - AT)
    with w.when(header.maximum < SIZE):
        w.put(Goto("done", leaves=True))
    _does_not_fit(site, groups.parts(site, header, P) > SIZE, node, "truncated")


def _remember(site: LoweringContext, node: Node) -> None:
    w, protocol, graph = site.writer, node.header.protocol, site.graph
    if graph.chain(node.name):
        with w.when(place_of(node.name).is_(Symbol("ABSENT"))):  # the first of its kind
            w.set(place_of(node.name), AT)
    else:
        trace.node(site, node, AT)
        with w.only(memory=False):
            w.set(pointer_to(node.name), P)
        if not site.leads(node.name):
            w.set(place_of(node.name), AT)
    if node.name in site.links:
        perhaps = node.name in sometimes_leading(graph, site.role)
        with w.when(site.state("link").is_(AT)) if perhaps else nullcontext():
            w.set(site.state("link"), AT + SIZE)
    if protocol in FRAGMENT:
        said = FRAGMENT[protocol](P)
        (w.set if protocol in NETWORK else w.join)(fragmented(site), said)
    if node.name in tunnels(graph, site.role):
        w.set(site.state("l4"), 0)
    if protocol in LAYER4:
        with w.unless(fragmented(site)):
            w.set(site.state("l4"), load(P, 0, 32))
        if node.name in behind_ports(graph, site.role):
            with w.otherwise():
                w.set(site.state("l4"), 0)


def _announce(site: LoweringContext, node: Node) -> None:
    """Keep what the header says of what stands behind it, or behind a chain."""
    w, header = site.writer, node.header
    for chain in site.graph.chains:
        if node.name not in (*chain.fronts, *chain.members):
            continue
        field = header.field(chain.by)
        if field.group is None:
            w.set(announced(chain), field_value(P, field).host())
        else:
            base = groups.group_pointer(site, header, field.group, P, END)
            with w.when(base):
                w.set(announced(chain), field_value(base, field).host())


def begun(site: LoweringContext, node: Node) -> None:
    """Of a later fragment: whether it begins within the header that the node leads to."""
    graph, header = site.graph, node.header
    for edge in begun_within(graph, node, site.role):
        offset = field_value(P, header.field("fragment_offset")).host()
        tests = [field_test(test, header.field(test.field), P) for test in edge.tests]
        inside = offset * 8 < graph.node(edge.target).header.minimum
        with site.writer.when(both([*tests, inside])):
            site.writer.put(Goto("tiny", leaves=True))


def field_test(test: Test, found: Field, base: Expr) -> Expr:
    """Whether a field behind `base` passes a test."""
    return value_test(test, field_value(base, found).host())


def value_test(test: Test, read: Expr) -> Expr:
    if test.mask is not None:
        read = read & test.mask
    return either(
        read.is_(low) if low == high else both((read >= low, read <= high))
        for low, high in test.ranges
    )


def ahead_test(test: Test, base: Expr) -> Expr:
    """Whether what stands there, of what follows a header, passes a test."""
    return field_test(test, Field(test.field, 0, test.ahead, "uint"), base)


def bytes_ahead(test: Test) -> int:
    return (test.ahead + 7) // 8


def frame_begins(
    site: LoweringContext, target: Node, header: Header, parts: frozenset[str]
) -> None:
    """A link header behind another header begins a frame that has no length of its own."""
    if target.header.link and not header.link:
        label = "partial" if target.name in parts else "malformed"
        _does_not_fit(site, LIMIT.is_not(WHOLE), target, "length", label)
