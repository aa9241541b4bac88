"""Names of the packet: `user`, `user.src`, `l4.dst`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...lang import tree
from ...lang.syntax.foreign_words import BYTES
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from ...lang.text.field_names import HEADERS
from .. import model
from ..model.checksums import LAYER4
from . import errors
from .edges import CheckedGraph
from .expressions import Expressions
from .values import KINDS, Value, of_width


class PacketNames:
    """Resolves paths to fields of nodes, without asking whether the node is present."""

    def __init__(self, checked: CheckedGraph, found: Diagnostics) -> None:
        self.checked = checked
        self.graph = checked.graph
        self.found = found
        self.nodes = {n.name: n for n in self.graph.nodes}
        self.chains = {c.name: c for c in self.graph.chains}

    def node(self, name: tree.Name) -> model.Node | None:
        if name.text in self.nodes:
            return self.nodes[name.text]
        if self.checked.sound or name.text not in self.checked.headers:
            self.unknown_node(name)
        return None

    def unknown_node(self, name: tree.Name) -> None:
        if name.text in self.chains:
            self.found.add(_no_header(name, self.chains[name.text]))
        elif self.checked.sound:
            help = called(name.text, self.nodes.values())
            if not help and name.text in self.checked.declared:
                help = f"lead an edge to it: `… -> {name.text} when …`, with `on push` at its end "
                help += "if it is only written"
            known = () if help else self.nodes
            help = help or f"the parse graph has {', '.join(self.nodes)}"
            self.found.add(errors.unknown("node", name, known, help))

    def field(self, path: tree.Path, groups: bool = False) -> Value | None:
        """The field, or the element of an array; of an optional group only where `groups`."""
        if path.index is not None:
            expressions = Expressions(self.field, self.call, self.found)
            return self.item(path, expressions.value(path.index))
        if path.parts[0].text == "l4":
            return self.layer4(path)
        if path.parts[0].text in self.chains:
            return self.announced(path, self.chains[path.parts[0].text])
        found = self.node_and_field(path)
        if found is None:
            return None
        node, field = found
        if node.header.optional(field) and not (groups or node.header.option(field.group)):
            self.found.add(
                errors.may_be_left_out(
                    path.span,
                    field.name,
                    node.name,
                    field.span,
                    f"write `first({path.text})`, which is 0 where it is not there; or match it in "
                    "a rule, where a packet without it is no match",
                )
            )
            return None
        if field.kind == "bytes":
            self.found.add(errors.unsupported(path.span, "reading a run of bytes", _READ))
            return None
        if field.kind in model.NAME_KINDS:
            self.found.add(_name_read(path, field))
            return None
        if node.header.array(field):
            self.found.add(errors.whole_array(path.span, path.text, field.span))
            return None
        expr = model.Packet(node.name, field.name, field.width, field.kind)
        return of_width(expr, field.width, field.kind, path.span, f"`{path.text}`", field.span)

    def matched(self, path: tree.Path) -> Value | None:
        """What a rule may match: also a run of bytes, and a domain name."""
        if not 2 <= len(path.parts) <= 3 or path.parts[0].text in ("l4", *self.chains):
            return self.field(path, groups=True)
        found = self.node_and_field(path)
        if found is None:
            return None
        node, field = found
        if field.kind not in ("bytes", *model.NAME_KINDS) or not field.width:
            return self.field(path, groups=True)
        expr = model.Packet(node.name, field.name, field.width, field.kind)
        return of_width(expr, field.width, field.kind, path.span, f"`{path.text}`", field.span)

    def item(self, path: tree.Path, index: Value | None) -> Value | None:
        """An element of an array; `index` has been checked as an expression."""
        found = self.node_and_field(path)
        if found is None or index is None:
            return None
        node, field = found
        array = node.header.array(field)
        if field.kind in model.NAME_KINDS:
            self.found.add(_name_read(path, field))
            return None
        if array is None:
            self.found.add(errors.no_element(path.span, "is no array", field.span))
        elif index.kind != "uint":
            self.found.add(errors.wrong_kind(index.span, KINDS[index.kind], "a number"))
        elif index.low >= array.most:
            says = f"has at most {array.most} elements, from 0 on"
            self.found.add(errors.no_element(path.span, says, field.span))
        else:
            expr = model.Item(node.name, field.name, index.expr, field.width, field.kind)
            what = f"`{path.text}`"
            return of_width(expr, field.width, field.kind, path.span, what, field.span)
        return None

    def node_and_field(self, path: tree.Path) -> tuple[model.Node, model.Field] | None:
        node = self.node(path.parts[0])
        if node is None:
            return None
        option = option_of(node.header, path)
        if len(path.parts) > 1 and path.parts[1].text in self.checked.headers[node.name].broken:
            return None
        if option is not None and len(path.parts) < 4:
            field = self.option_field(node, option, path)
            return None if field is None else (node, field)
        if len(path.parts) != 2:
            alone = len(path.parts) == 1
            last = path.parts[-1].text
            known = any(f.name == last for f in node.header.fields)
            self.found.add(
                errors.wrong_kind(
                    path.span,
                    "a node" if alone else "a longer path",
                    "one of its fields",
                    help=f"write `{node.name}.{last if known else 'FIELD'}`"
                    + (f"; `if {node.name} {{…}}` asks whether a packet has it" if alone else ""),
                )
            )
            return None
        field = self.field_of(node, path.parts[1])
        return None if field is None else (node, field)

    def field_of(self, node: model.Node, name: tree.Name) -> model.Field | None:
        field = next(
            (f for f in node.header.fields if f.name == name.text and name.text[0] != "_"), None
        )
        if field is None and name.text not in self.checked.headers[node.name].broken:
            names = [f.name for f in node.header.fields if f.name[0] != "_"]
            options = [g.name for g in node.header.options.groups] if node.header.options else []
            help = f"its fields are {', '.join(names[:8])}"
            if name.text in ("payload", "data"):
                help = BYTES
            if name.text == "is_fragment":
                names, help = [], f"write `{node.name} is fragment`"
            names += options
            self.found.add(errors.unknown(f"field of `{node.name}`", name, names, help))
        return field

    def option_field(
        self, node: model.Node, option: model.Group, path: tree.Path
    ) -> model.Field | None:
        """The field of an option: `tcp.mss.value`."""
        assert node.header.options is not None
        fields = {f.name: f for f in node.header.options.fields if f.group == option.name}
        own = [name.removeprefix(f"{option.name}.") for name in fields]
        whole = f"{node.name}.{option.name}"
        if len(path.parts) == 2:
            self.found.add(_is_option(path, own))
            return None
        field = fields.get(f"{option.name}.{path.parts[2].text}")
        if field is None:
            help = f"its fields are {', '.join(own)}"
            self.found.add(errors.unknown(f"field of `{whole}`", path.parts[2], own, help))
        return field

    def layer4(self, path: tree.Path) -> Value | None:
        which = path.parts[1] if len(path.parts) == 2 else None
        if which is None or which.text not in ("src", "dst"):
            where = path.parts[-1]
            self.found.add(
                errors.unknown("field of `l4`", where, ("src", "dst"), "its fields are src, dst")
            )
            return None
        transport = [n for n in self.graph.nodes if n.header.protocol in LAYER4]
        if not transport and self.checked.sound:
            self.found.add(
                errors.missing(
                    path.span,
                    "a `tcp` or `udp` node for `l4`",
                    "lead an edge to `tcp` or `udp`, or read another field",
                )
            )
            return None
        expr = model.Layer4("src" if which.text == "src" else "dst")
        return of_width(expr, 16, "uint", path.span, f"`{path.text}`", None)

    def announced(self, path: tree.Path, chain: model.Chain) -> Value | None:
        """What says what stands behind a chain."""
        if len(path.parts) != 2 or path.parts[1].text != chain.by:
            self.found.add(_no_header(path.parts[0], chain))
            return None
        expr = model.Announced(chain.name, chain.by, chain.width)
        return of_width(expr, chain.width, "uint", path.span, f"`{path.text}`", chain.span)

    def call(self, call: tree.Call) -> Value | None:
        return hash_call(call, Expressions(self.field, self.call, self.found), self.found)


def called(name: str, nodes: Iterable[model.Node]) -> str:
    """In words, the nodes that a name means, by their header or as one too far in a stack; "" if
    there are none."""
    nodes = tuple(nodes)
    front, header = name.partition("[")[0], HEADERS.get(name, name)
    stack = [node for node in nodes if node.name.partition("[")[0] == front]
    if stack and front != name:
        few = len(stack) == 1
        return f"it is no stack: `{front}`" if few else f"the last one is `{stack[-1].name}`"
    named = [f"`{node.name}`" for node in nodes if node.header.name == header]
    return f"the header {header} has the name {' or '.join(named)} here" if named else ""


def option_of(header: model.Header, path: tree.Path) -> model.Group | None:
    """The option of a header that a path names, or a field of it."""
    return header.option(path.parts[1].text) if len(path.parts) > 1 else None


def hash_call(
    call: tree.Call, expressions: Expressions, found: Diagnostics, others: Sequence[str] = ()
) -> Value | None:
    """`hash(a, b …)`: 32 bits wide. `others`: what else might be called here."""
    if call.function.text != "hash":
        found.add(errors.no_such_function(call.function, ["hash", *others]))
        return None
    if not call.arguments:
        found.add(
            errors.missing(call.span, "what to hash", "name fields: `hash(user.src, user.dst)`")
        )
        return None
    arguments = [expressions.value(a) for a in call.arguments]
    checked = tuple(a.expr for a in arguments if a is not None)
    if len(checked) < len(arguments):
        return None
    return of_width(model.Hash(checked), 32, "uint", call.span, "`hash(…)`", None)


# ---- errors ---------------------------------------------------------------------------------


def _is_option(path: tree.Path, fields: Sequence[str]) -> Diagnostic:
    return error(
        "H0399",
        f"`{path.text}` is an option, not a field",
        (path.span, "names all of it"),
        help=f"name a field, `{path.text}.{fields[-1]}`, or ask whether it is there: "
        f"`if {path.text} {{…}}`",
    )


_READ = "match it in a rule, by an element `ie NAME = NUMBER, bytes[16]`, or declare it as numbers"


def _no_header(name: tree.Name, chain: model.Chain) -> Diagnostic:
    first, by = chain.members[0], chain.by
    return error(
        "H0387",
        f"`{chain.name}` is a chain, not a header",
        (name.span, "names all of its headers"),
        (chain.span, "the chain"),
        help=f"name one of its headers, such as `{first}`; `{chain.name}.{by}` says what stands "
        "behind the last",
    )


def _name_read(path: tree.Path, field: model.Field) -> Diagnostic:
    return error(
        "H0474",
        f"`{path.text}` is a domain name, which no stage reads",
        (path.span, "read here"),
        (field.span, "declared here"),
        help=f"match it in a rule, with an element `ie NAME = NUMBER, name[64]`: "
        f"`match NAME exact {'.'.join(part.text for part in path.parts)}`",
    )
