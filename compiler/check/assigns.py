"""Assignment to fields of the packet: which may be changed in place, and what that asks for."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error, listed
from ...lang.text.source import Span
from .. import model
from ..model.checksums import LAYER4, NETWORK
from ..model.parse_graph import below
from . import errors
from .changes import Changed
from .flow import Scope, State
from .push_fields import own_fields
from .rule_names import Use
from .stage_names import StageNames
from .stage_program import Program
from .values import KINDS, Value, fits

#: By header, what has its addresses in a pseudo header (RFC 9293, 768, 4443; RFC 8200 section 8.1).
COVERED = {"ipv4": LAYER4, "ipv6": (*LAYER4, "icmpv6"), "srh": (*LAYER4, "icmpv6")}
#: Fields that are such an address, or hold them.
ADDRESSES = ("src", "dst", "segments")

#: What has a value, but is no field.
_READ = {
    "port": "a packet leaves by another port where `forward P via A` or `bridge P` says so",
    "frame": "how long a frame is follows from what is pushed and popped",
    "now": "the clock is only read; a moment is kept in a slot of a state: `S.seen = now`",
}


def assign(program: Program, statement: tree.Assign, state: State, scope: Scope) -> Changed:
    first = statement.target.parts[0]
    if first.text in scope.values:
        program.report(_keeps_its_value(first, scope.values[first.text]))
        return Changed(None, state)
    target = _target(program, statement.target, state, scope, "target")
    value = StageNames(program, state, scope).expressions.value(statement.value)
    if target is None or value is None:
        return Changed(None, state)
    field = target.expr
    assert isinstance(field, model.Packet | model.Item)
    if not fits(value, target.width, target.kind, target.what, target.declared, program.found):
        return Changed(None, state)
    return Changed(model.Assign(((field, value.expr),), statement.span), state)


def swap(program: Program, statement: tree.Swap, state: State, scope: Scope) -> Changed:
    left = _target(program, statement.left, state, scope, "value")
    right = _target(program, statement.right, state, scope, "value")
    if left is None or right is None:
        return Changed(None, state)
    if (left.kind, left.width) != (right.kind, right.width):
        this = f"{left.width} bits" if left.kind == right.kind else KINDS[left.kind]
        other = f"{right.width} bits" if left.kind == right.kind else KINDS[right.kind]
        program.report(_unlike((left.span, this), (right.span, other), left.what, right.what))
        return Changed(None, state)
    assert isinstance(left.expr, model.Packet) and isinstance(right.expr, model.Packet)
    both = (left.expr, right.expr), (right.expr, left.expr)
    return Changed(model.Assign(both, statement.span), state)


def _target(
    program: Program, path: tree.Path, state: State, scope: Scope, use: Use
) -> Value | None:
    """A field that may be changed; as a "target" it may be one that its header lacks, or an element
    of an array."""
    if path.parts[0].text in program.rules.known or path.parts[0].text in scope.names:
        what = "a rule" if len(path.parts) == 1 else "an element of a rule"
        help = "rules are changed by requests; what packets change is a slot of a state, `S.n += 1`"
        program.report(errors.wrong_kind(path.span, what, "a field of the packet", help=help))
        return None
    value = StageNames(program, state, scope, use).name(path)
    if value is None:
        return None
    if not isinstance(value.expr, model.Packet | model.Item if use == "target" else model.Packet):
        help = _instead(program, path)
        program.report(errors.wrong_kind(path.span, value.what, "a field of the packet", help=help))
        return None
    node = program.checked.graph.node(value.expr.node)
    field = node.header.field(value.expr.field)
    why = _why_not(program, node, field, state)
    if why is not None:
        derived = isinstance(field.default, model.Derived)
        program.report(errors.not_assigned(path.span, path.text, why, field.span, derived))
        return None
    index = value.expr.index if isinstance(value.expr, model.Item) else None
    if not (isinstance(index, model.Const) and index.value):  # no more than the last is an address
        _check_covered(program, path.span, node, field, state)
    return value


def _instead(program: Program, path: tree.Path) -> str:
    """What to write where something is assigned to that no packet has."""
    if path.parts[0].text != "l4":
        return _READ.get(path.parts[0].text, "it is only read: assign to a field, `user.ttl = 5`")
    name = path.parts[-1].text
    headers = (node for node in program.checked.graph.nodes if node.header.protocol in LAYER4)
    ways = (f"if {node.name} {{ {node.name}.{name} = … }}" for node in headers)
    return f"`l4` is whichever header a packet has: write {listed(ways)}"


def _why_not(program: Program, node: model.Node, field: model.Field, state: State) -> str | None:
    """What keeps a field from being changed in place."""
    header = node.header
    if isinstance(field.default, model.Derived):
        return f"derived: `{field.default.what}(…)`"
    graph = program.checked.graph
    chain = graph.chain(node.name)
    if chain is not None and _overlap(field, header.field(chain.by)):
        return "it says what follows in the chain"
    tested = {t.field for e in graph.leaving(node.name) for t in e.tests if not t.ahead}
    if any(_overlap(field, header.field(name)) for name in tested):
        at = program.position(node.name)
        last = all(w.chain[-1] == at for w in state) and header.protocol not in NETWORK
        if not last and header.protocol not in LAYER4:
            return "an edge tests it"
    seen = max((t.ahead for e in graph.entering(node.name) for t in e.tests), default=0)
    if (field.offset if field.group is None else header.fixed) < seen:
        return "an edge in front looks ahead at it"
    if decides_reading(header, field):
        option = header.option(field.group)
        return "it says how the option is read" if option else "it says how the header is read"
    return None


def decides_reading(header: model.Header, field: model.Field) -> bool:
    """Whether a field says how long its header is, or whether it is one."""
    options = header.options
    if options and header.option(field.group):
        whole = {group.text for group in options.groups}
        if field.offset < options.heading.fixed or field.name in whole:
            return True
    said = (*(g.count for g in header.groups), options.within if options else None)
    clauses = (*said, header.size, header.extent, header.reach, *header.accept, *header.payload)
    read = frozenset[str]().union(*(own_fields(c) for c in clauses if c is not None))
    flags = set(header.flags)
    if header.protocol == "ipv4":
        flags.add("more_fragments")
    deciding = (f for f in header.fields if f.name in read | flags)
    return any(_overlap(field, other) for other in deciding)


def _overlap(a: model.Field, b: model.Field) -> bool:
    """Whether two fields of a header share bits."""
    return a.group == b.group and a.offset < b.offset + b.width and b.offset < a.offset + a.width


def _check_covered(
    program: Program, span: Span, node: model.Node, field: model.Field, state: State
) -> None:
    """Where an address changes the checksum of the layer above does, which has to be known."""
    upper = COVERED.get(node.header.protocol, ())
    if field.name not in ADDRESSES or not upper or not program.checked.sound:
        return
    graph, at = program.checked.graph, program.position(node.name)
    if all(w.chain[-1] != at for w in state):
        return  # whatever is behind it has been read
    for role in sorted({w.role for w in state if w.chain[-1] == at}):
        known = {graph.node(n).header.protocol for n in below(graph, role, node.name)}
        missing = [p for p in upper if p not in known]
        if missing:
            what = listed(missing, "and")
            program.report(_not_covered(span, node.name, what, role, node.span))
            return


# ---- errors ---------------------------------------------------------------------------------


def _unlike(left: tuple[Span, str], right: tuple[Span, str], a: str, b: str) -> Diagnostic:
    return error(
        "H0323",
        f"{a} and {b} cannot be exchanged",
        (right[0], f"this is {right[1]}"),
        (left[0], f"this is {left[1]}"),
        help="swap fields of one type and width",
    )


def _not_covered(span: Span, node: str, what: str, role: str, where: Span) -> Diagnostic:
    return error(
        "H0324",
        f"a packet on {role} may have a checksum over `{node}` that nobody reads",
        (span, "changes what it covers"),
        (where, f"no edge leads on to {what}"),
        help=f"lead edges from `{node}` to {what}, or narrow with `if NODE {{…}}` to what is read",
    )


def _keeps_its_value(name: tree.Name, value: Value | None) -> Diagnostic:
    labels = [(name.span, "assigned here")]
    if value is not None and value.declared is not None:
        labels.append((value.declared, "named here"))
    return error(
        "H0322",
        f"`{name.text}` cannot be changed in place",
        *labels,
        help="what `let` names stays as it is: name the other value by a `let` of its own",
    )
