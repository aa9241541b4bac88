"""Names inside a stage: fields of nodes that are surely there, elements of rules surely bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ...lang import tree
from ...lang.syntax.planned import planned
from ...lang.text.diagnostics import Diagnostic, did_you_mean, error
from ...lang.text.frozen import Frozen
from ...lang.text.source import Span
from .. import model
from . import errors
from .flow import Bound, Scope, State, roles_of
from .packets import PacketNames, hash_call
from .stage_lists import Held, SaidItems, count, items, no_list
from .stage_program import Program
from .values import KINDS, WIDEST, Expressions, Value, of_width

#: How a name is read: as a value, as one that may be left out, to match on, as a port, to hash, as
#: all the values that an element holds, as what the packet or a rule may lack.
Use = Literal["value", "group", "match", "port", "hash", "list", "option", "target"]


class StageNames(Frozen):
    """Names at one place of a stage."""

    program: Program
    state: State
    scope: Scope
    use: Use = "value"

    @property
    def expressions(self) -> Expressions:
        return Expressions(self.name, self.call, self.program.found, self.scope.tested)

    def call(self, call: tree.Call) -> Value | None:
        if call.function.text == "count":
            return count(call, self.program, self.all_of)
        if call.function.text == "first":
            return self.first(call)
        within = replace(self, use="hash").expressions
        return hash_call(call, within, self.program.found)

    def first(self, call: tree.Call) -> Value | None:
        """`first(vxlan.vni, gre.key)`: whichever is there, of the packet or of a rule."""
        within = replace(self, use="option").expressions
        options: list[model.Packet | model.Attribute] = []
        for value in [within.value(a) for a in call.arguments]:
            if value is None:
                return None
            there = isinstance(value.expr, model.Packet | model.Attribute)
            if not there or value.width > WIDEST:
                self.program.report(_no_option(value.span))
                return None
            assert isinstance(value.expr, model.Packet | model.Attribute)
            options.append(value.expr)
            wanted = options[0].kind
            if value.kind != wanted:
                self.program.report(errors.wrong_kind(value.span, KINDS[value.kind], KINDS[wanted]))
                return None
        if not options:
            help = "name fields: `first(vxlan.vni, gre.key)`"
            self.program.report(errors.missing(call.span, "what to take the first of", help))
            return None
        width, kind = max(o.width for o in options), options[0].kind
        expr = model.First(tuple(options), width, kind)
        return of_width(expr, width, kind, call.span, "`first(…)`", None)

    def name(self, path: tree.Path) -> Value | None:
        first = path.parts[0].text
        if first in self.scope.names or first in self.program.rules.known:
            return self.attribute(path) if path.index is None else self.listed(path, path.index)
        if first in self.program.states:
            return self.recalled(path)
        if path.text == "port":
            return of_width(model.Arrival(), 32, "uint", path.span, "`port`", None)
        packets = PacketNames(self.program.checked, self.program.found)
        if first != "l4" and first not in packets.nodes:
            self.unknown(path.parts[0])
            return None
        if path.index is not None:
            value = packets.item(path, self.expressions.value(path.index))
        else:
            value = packets.field(path, groups=self.use in ("option", "target"))
        if value is None or not isinstance(value.expr, model.Packet | model.Item):
            return value
        node = value.expr.node
        zeros = self.use in ("hash", "option")
        if zeros and isinstance(value.expr, model.Packet) and self.maybe_absent(node):
            return replace(value, expr=replace(value.expr, maybe_absent=True))
        self.present(node, path.span)
        return value

    def maybe_absent(self, node: str) -> bool:
        """Whether some packet lacks the node, and none has it by a push."""
        bit = self.program.bit(node)
        return any(not w.present & bit for w in self.state) and not any(
            w.pushed & bit for w in self.state
        )

    def recalled(self, path: tree.Path) -> Value | None:
        """A slot of what was recalled."""
        table = self.program.states[path.parts[0].text]
        slots = [s.name for s in table.gives]
        slot = next((s for s in table.gives if s.name == path.parts[-1].text), None)
        if slot is None or len(path.parts) != 2:
            name = path.parts[1] if len(path.parts) > 1 else path.parts[0]
            help = f"it holds {', '.join(slots)}"
            self.program.report(errors.unknown(f"slot of `{table.name}`", name, slots, help))
            return None
        if not all(table.name in w.bound for w in self.state):
            if not self.program.unsure:
                ever = self.program.missed.get(table.name)
                self.program.report(_not_recalled(path.span, table.name, ever))
            return None
        expr = model.Recalled(table.name, slot.name, slot.width, slot.kind, slot.port)
        return of_width(expr, slot.width, slot.kind, path.span, f"`{path.text}`", table.span)

    def unknown(self, name: tree.Name) -> None:
        program = self.program
        if not program.checked.sound:
            return
        nodes = [n.name for n in program.checked.graph.nodes]
        for owner in program.elements.known.values():
            if name.text in dict(owner.symbols):
                use = f"`match RULE.{owner.name} {{ {name.text} => … }}`"
                help = f"it is a symbol of `{owner.name}`: {use}"
                program.report(errors.unknown("node or rule", name, (), help))
                return
        program.report(
            errors.unknown(
                "node or rule",
                name,
                [*nodes, *program.rules.known, *self.scope.names],
                f"the parse graph has {', '.join(nodes)}",
            )
        )

    def present(self, node: str, span: Span, pushed: bool = False) -> bool:
        """Whether every packet here has the node, as it came (with `pushed`, or by a push); reports
        if not."""
        program, bit = self.program, self.program.bit(node)
        if not pushed and any(w.pushed & bit for w in self.state):
            program.report(errors.pushed_read(span, node, program.pushes[node]))
            return False
        without = [w for w in self.state if not w.present & bit]
        if without and not program.unsure:
            program.report(
                _maybe_absent(span, node, roles_of(without), len(without) == len(self.state))
            )
        return not without

    # ---- rules -------------------------------------------------------------------------------

    def bound(self, name: tree.Name) -> Bound | None:
        """The rule that a name stands for, surely bound here; reports if not."""
        program, known = self.program, self.scope.names.get(name.text)
        if known is None:
            if name.text not in program.rules.known:
                self.unknown_rule(name)
                return None
            known = Bound(name.text, name.text, program.rules.known[name.text].span)
        elif known.kind == "port":
            return known
        if not all(known.name in w.bound for w in self.state) and not program.unsure:
            program.report(errors.not_bound(name.span, name.text, program.missed.get(known.name)))
            return None
        return known

    def unknown_rule(self, name: tree.Name) -> None:
        self.program.report(
            errors.unknown(
                "rule",
                name,
                [*self.program.rules.known, *self.scope.names],
                "declare the kind: `rule NAME [CAPACITY] {…}`",
            )
        )

    def attribute(self, path: tree.Path) -> Value | None:
        """An element of a bound rule."""
        bound = self.bound(path.parts[0])
        if bound is None:
            return None
        if bound.kind == "port" or len(path.parts) != 2:
            what = (
                "a port"
                if bound.kind == "port"
                else "a rule"
                if len(path.parts) == 1
                else "a longer path"
            )
            self.program.report(
                errors.wrong_kind(
                    path.span, what, "a value", help="name an element of a rule, as in `FAR.action`"
                )
            )
            return None
        kind, name = self.program.rules.known[bound.kind], path.parts[1]
        for match in kind.match:
            if match.element.name == name.text:
                return self.matched(path, bound, match)
        element = next((e for e in kind.gives if e.name == name.text), None)
        if element is None:
            self.no_element(name, kind)
            return None
        if element.references and self.use in ("value", "group", "option"):
            self.program.report(_reference_read(path.span, element))
            return None
        if element.most and self.use != "list":
            self.program.report(errors.whole_array(path.span, path.text, element.span))
            return None
        optional = self.use in ("group", "option")
        if not optional:
            self.require(bound, element)
        return self.made(path, bound, element, optional)

    def no_element(self, name: tree.Name, kind: model.RuleKind) -> None:
        if name.text in self.program.elements.broken:
            return
        names = [e.name for e in kind.gives] + [m.element.name for m in kind.match]
        declared = name.text in self.program.elements.known
        self.program.report(_not_given(name, kind.name, kind.span, names, declared))

    def matched(self, path: tree.Path, bound: Bound, match: model.Match) -> Value | None:
        if match.kind not in ("exact", "optional") or (
            match.kind == "optional" and self.use == "match"
        ):
            self.program.report(_no_single_value(path.span, path.text, match.kind, match.span))
            return None
        return self.made(path, bound, match.element, match.kind == "optional")

    def made(self, path: tree.Path, bound: Bound, element: model.Element, optional: bool) -> Value:
        expr = model.Attribute(
            bound.name, bound.kind, element.name, element.width, element.kind, optional
        )
        return of_width(
            expr, element.width, element.kind, path.span, f"`{path.text}`", element.span
        )

    def listed(self, path: tree.Path, index: tree.Expr) -> Value | None:
        """One of the values that an element holds."""
        value, at = self.all_of(path), self.expressions.value(index)
        if value is None or at is None:
            return None
        source, most, declared = value
        if at.kind != "uint":
            self.program.report(errors.wrong_kind(at.span, KINDS[at.kind], "a number"))
            return None
        if at.low >= most:
            says = f"holds at most {most} values, from 0 on"
            self.program.report(errors.no_element(path.span, says, declared))
            return None
        expr = model.Listed(source, at.expr, most, source.width, source.kind)
        what = f"`{path.text}`"
        return of_width(expr, source.width, source.kind, path.span, what, declared)

    def items(self, expr: tree.Expr) -> SaidItems | None:
        return items(expr, self.program, self.all_of)

    def all_of(self, path: tree.Path) -> Held | None:
        """An element that holds several values, how many at most, and where it is declared."""
        if path.parts[0].text not in {*self.scope.names, *self.program.rules.known}:
            self.program.report(no_list(path.span, "no element of a rule"))
            return None
        value = replace(self, use="list").attribute(replace(path, index=None))
        if value is None:
            return None
        assert isinstance(value.expr, model.Attribute)
        element = self.program.elements.known[value.expr.element]
        if not element.most:
            self.program.report(no_list(path.span, "holds one value", element.span))
            return None
        return value.expr, element.most, element.span

    def require(self, bound: Bound, element: model.Element) -> None:
        """What is read here every rule must give, where it has the values of the arms around."""
        when = tuple((f.element, f.values) for f in self.scope.facts if f.binding == bound.name)
        references = ("port",) if self.use == "port" else ()
        required = model.Requirement(element.name, when, references)
        known = self.program.required.setdefault(bound.kind, [])
        if required not in known:
            known.append(required)


def _reference_read(span: Span, element: model.Element) -> Diagnostic:
    return errors.wrong_kind(
        span,
        "a reference",
        "a value",
        element.span,
        "`match` on it: each arm binds what it refers to",
    )


# ---- errors ---------------------------------------------------------------------------------


def _no_option(span: Span) -> Diagnostic:
    return error(
        "H0327",
        "`first` takes fields of the packet and elements of rules",
        (span, "neither, or one of more than 64 bits"),
        help="name fields of headers that the packet may have: `first(vxlan.vni, gre.key)`",
    )


def _maybe_absent(span: Span, node: str, roles: Sequence[str], absent_always: bool) -> Diagnostic:
    where = f" on {', '.join(roles)}" if roles else ""
    if absent_always:
        says, help = (
            f"no packet has `{node}` here{where}",
            f"read it where the packet has it: `if {node} {{…}}` further up",
        )
    else:
        says, help = f"some packets have no `{node}` here{where}", f"narrow with `if {node} {{…}}`"
    return error("H0270", f"`{node}` is not surely present", (span, says), help=help)


def _not_given(
    name: tree.Name, kind: str, where: Span, elements: Sequence[str], declared: bool
) -> Diagnostic:
    near = "" if declared else did_you_mean(name.text, elements)
    if not (declared or near) and (later := planned(name.span)):
        return later
    hint = f"add `{name.text}` to the `gives` of `{kind}`"
    return error(
        "H0272",
        f"a rule of kind `{kind}` has no `{name.text}`",
        (name.span, "not an element of the rule"),
        (where, f"has {', '.join(elements) or 'no elements'}"),
        help=near or hint,
    )


def _no_single_value(span: Span, what: str, kind: str, where: Span) -> Diagnostic:
    return error(
        "H0273",
        f"`{what}` has no single value",
        (span, "read as a value"),
        (where, f"matched by `{kind}`"),
        help="match it `exact`, or give the rule another element for the value",
    )


def _not_recalled(span: Span, state: str, ever: Span | None) -> Diagnostic:
    labels = [(span, "nothing was recalled on some way that leads here")]
    if ever is not None:
        labels.append((ever, "recalled here: known in this stage, where it was no miss"))
    return error(
        "H0314",
        f"`{state}` may hold nothing here",
        *labels,
        help=f"recall it in this stage: `recall {state}(…) else {{ … }}`",
    )
