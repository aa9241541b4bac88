"""Names inside a stage: fields of nodes that are surely there, what was recalled, and rules'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from . import errors
from .expressions import Expressions
from .extremes import EXTREMES, extreme_call, one_of_two
from .flow import knowing, roles_of, surely_bound
from .moments import clock, in_nanoseconds, now, now_call, random_call
from .packets import PacketNames, called, hash_call
from .ranges import narrowed
from .rule_names import RuleNames
from .stage_lists import SaidItems, count, items
from .values import KINDS, WIDEST, Value, of_width


class StageNames(RuleNames):
    """Names at one place of a stage."""

    @property
    def expressions(self) -> Expressions:
        return Expressions(self.name, self.call, self.program.found, self.scope.tested)

    def call(self, call: tree.Call) -> Value | None:
        if call.function.text == "count":
            return count(call, self.program, self.all_of)
        if call.function.text == "first":
            return self.first(call)
        if call.function.text == "pick":
            return self.pick(call)
        if call.function.text == "now":
            return now_call(call, self.program)
        if call.function.text in self.program.states:
            self.program.report(errors.is_state(call.function))
            return None
        if call.function.text in self.program.registers:
            return self.register(tree.Path(call.span, (call.function,)))
        if call.function.text == "random":
            return random_call(call, self.program, self.expressions)
        if call.function.text in EXTREMES:
            return extreme_call(call, self.expressions, self.program.found)
        within = replace(self, use="hash").expressions
        known = ("count", "first", "max", "min", "now", "pick", "random")
        return hash_call(call, within, self.program.found, known)

    def pick(self, call: tree.Call) -> Value | None:
        """`pick(tcp, tcp.dst, 0)`: one of two values, each for the packets that it is read of."""
        if len(call.arguments) != 3:
            self.program.report(_not_three(call))
            return None
        test, *sides = call.arguments
        asked = self.program.narrow(self.program, test, self.state, self.scope)
        values = [
            replace(self, state=state, scope=knowing(self.scope, asked, holds)).expressions.value(
                side
            )
            for side, state, holds in zip(sides, (asked.yes, asked.no), (True, False), strict=True)
        ]
        then, otherwise = values
        if asked.condition is None or then is None or otherwise is None:
            return None
        return one_of_two(call, asked.condition, then, otherwise, self.program.found)

    def first(self, call: tree.Call) -> Value | None:
        """`first(vxlan.vni, gre.key)`: whichever is there, of the packet or of a rule."""
        within = replace(self, use="option").expressions
        options: list[model.Packet | model.Attribute | model.Announced] = []
        kind: model.Kind | None = None
        for value in [within.value(a) for a in call.arguments]:
            if value is None:
                return None
            read = value.expr
            if (
                not isinstance(read, model.Packet | model.Attribute | model.Announced)
                or value.width > WIDEST
            ):
                self.program.report(_no_option(value.span))
                return None
            options.append(read)
            kind = kind or value.kind
            if value.kind != kind:
                self.program.report(errors.wrong_kind(value.span, KINDS[value.kind], KINDS[kind]))
                return None
        if kind is None:
            help = "name fields: `first(vxlan.vni, gre.key)`"
            self.program.report(errors.missing(call.span, "what to take the first of", help))
            return None
        width = max(o.width for o in options)
        expr = model.First(tuple(options), width, kind)
        return of_width(expr, width, kind, call.span, "`first(…)`", None)

    def name(self, path: tree.Path) -> Value | None:
        first = path.parts[0].text
        if first in self.scope.names or first in self.program.rules.known:
            return self.attribute(path) if path.index is None else self.listed(path, path.index)
        if first in self.program.states:
            return self.slot(path)
        if first in self.program.registers:
            return self.register(path)
        if first in self.scope.values:
            return self.named(path)
        if path.text == "port":
            return of_width(model.Arrival(), 32, "uint", path.span, "`port`", None)
        packets = PacketNames(self.program.checked, self.program.found)
        if path.text == "frame.length" and "frame" not in packets.nodes:
            whole = of_width(model.FrameLength(), 32, "uint", path.span, "`frame.length`", None)
            return replace(whole, seen=errors.LONGEST_FRAME)
        if path.text == "now" and "now" not in packets.nodes:
            return now(path.span)
        if first == "clock" and "clock" not in packets.nodes:
            return clock(path, self.program)
        if first == "now" and "now" not in packets.nodes:
            unit = in_nanoseconds(path.parts[-1].text) or in_nanoseconds("seconds")
            self.program.report(_no_parts(path.span, now(path.parts[0].span), unit))
            return None
        if first != "l4" and first not in packets.nodes.keys() | packets.chains.keys():
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
        if self.present(node, path.span) and self.use == "value":
            self.has_option(value.expr, path)
        return value

    def has_option(self, read: model.Packet | model.Item, path: tree.Path) -> None:
        """Whether every packet here has the option that the field is of; reports if not."""
        program = self.program
        header = program.checked.graph.node(read.node).header
        option = header.option(header.field(read.field).group)
        if option is None or program.unsure:
            return
        asked = model.HasOption(read.node, option.name)
        if narrowed(self.scope.tested, asked, 0, 1)[0] == 0:
            program.report(_maybe_no_option(path, f"{read.node}.{option.name}"))

    def named(self, path: tree.Path) -> Value | None:
        """What a `let` named."""
        known = self.scope.values[path.parts[0].text]
        if known is None:
            return None
        if len(path.parts) > 1 or path.index is not None:
            self.program.report(_no_parts(path.span, known))
            return None
        return replace(known, span=path.span)

    def maybe_absent(self, node: str) -> bool:
        """Whether some packet lacks the node, and none has it by a push."""
        bit = self.program.bit(node)
        return any(not w.present & bit for w in self.state) and not any(
            w.pushed & bit for w in self.state
        )

    def slot(self, path: tree.Path) -> Value | None:
        """The value of a slot of what was recalled."""
        found = self.recalled(path)
        if found is not None and isinstance(found.expr, model.Recalled) and found.expr.rule:
            self.program.report(_rule_read(path, found.expr))
            return None
        return found

    def recalled(self, path: tree.Path) -> Value | None:
        """A slot of what was recalled."""
        table = self.program.states[path.parts[0].text]
        slots = [s.name for s in table.gives]
        name = path.parts[1] if len(path.parts) > 1 else path.parts[0]
        slot = next((s for s in table.gives if s.name == name.text), None)
        if slot is None and f"{table.name}.{name.text}" in self.program.broken:
            self.program.unsure = True
            return None
        if slot is None or len(path.parts) != 2:
            self.program.report(_no_slot(path, table, slot, slots))
            return None
        if not surely_bound(self.state, table.name):
            if not self.program.unsure:
                ever, gone = self.program.missed, self.program.forgotten
                where = ever.get(table.name), gone.get(table.name)
                self.program.report(_not_recalled(path.span, table.name, *where))
            return None
        if path.index is not None:
            self.program.report(errors.no_element(path.span, "its slots are no arrays", table.span))
            return None
        expr = model.Recalled(table.name, slot.name, slot.width, slot.kind, slot.port, slot.rule)
        return of_width(expr, slot.width, slot.kind, path.span, f"`{path.text}`", slot.span)

    def register(self, path: tree.Path) -> Value | None:
        """One of an array of registers. An index is counted modulo the array's length."""
        table = self.program.registers[path.parts[0].text]
        written = [each for each in (path.index, path.column) if each is not None]
        if len(path.parts) > 1 or len(written) != len(table.shape):
            self.program.report(_wrong_indexes(path, table))
            return None
        at: list[model.Expr] = []
        for each, length in zip(written, table.shape, strict=True):
            index = replace(self, use="value").expressions.value(each)
            if index is None:
                return None
            if index.kind != "uint" or index.width > WIDEST:
                self.program.report(errors.wrong_kind(index.span, KINDS[index.kind], "a number"))
                return None
            if index.low >= length:
                self.program.report(_beyond(index, length, table))
                return None
            at.append(index.expr)
        expr = model.Register(table.name, tuple(at), table.width)
        return of_width(expr, table.width, "uint", path.span, f"`{path.text}`", table.span)

    def unknown(self, name: tree.Name) -> None:
        program = self.program
        if not program.checked.sound:
            return
        nodes = [n.name for n in program.checked.graph.nodes]
        for owner in program.elements.known.values():
            if name.text in dict(owner.symbols):
                use = f"`match RULE.{owner.name} {{ {name.text} => … }}`"
                number = dict(owner.symbols)[name.text]
                help = f"it is a symbol of `{owner.name}`: {use}; a field is compared with {number}"
                program.report(errors.unknown("node or rule", name, (), help))
                return
        help = called(name.text, program.checked.graph.nodes)
        if name.text in program.roles:
            help = f"it is a role of ports: `port is {name.text}`"
        if help:
            program.report(errors.unknown("node or rule", name, (), help))
            return
        help = f"the parse graph has {', '.join(nodes)}"
        if name.text in program.locals:
            help = (
                f"`{name.text}` is known behind its `let` in that block only: name it further out"
            )
        elif self.use == "target":
            help = f"a value of this packet is named by `let {name.text} = …`"
        elif name.text.partition("[")[0] == "frame":
            help = "of the frame there is only `frame.length`"
        elif name.text.isupper():
            help = f"a constant is declared beside the stages: `const {name.text} = …`"
        known = [*nodes, *program.rules.known, *self.scope.names, *self.scope.values]
        program.report(errors.unknown("node or rule", name, known, help))

    def present(self, node: str, span: Span, pushed: bool = False) -> bool:
        """Whether every packet here has the node, as it came (with `pushed`, or by a push); reports
        if not."""
        program, bit = self.program, self.program.bit(node)
        if not pushed and any(w.pushed & bit for w in self.state):
            program.report(errors.pushed_read(span, node, program.pushes[node]))
            return False
        without = [w for w in self.state if not w.present & bit]
        if without and not program.unsure:
            every = len(without) == len(self.state)
            program.report_lack(node, _maybe_absent(span, node, roles_of(without), every))
        return not without

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


# ---- errors ---------------------------------------------------------------------------------


def _not_three(call: tree.Call) -> Diagnostic:
    return error(
        "H0542",
        "`pick` takes a condition and two values",
        (call.span, "which of what?"),
        help="write `pick(user.ttl < 5, 1, 2)`: the first if the condition holds, else the second",
    )


def _no_option(span: Span) -> Diagnostic:
    return error(
        "H0327",
        "`first` takes fields of the packet and elements of rules",
        (span, "neither, or one of more than 64 bits"),
        help="name fields of headers that the packet may have: `first(vxlan.vni, gre.key)`, "
        "which is 0 where it has none",
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


def _maybe_no_option(path: tree.Path, option: str) -> Diagnostic:
    return error(
        "H0398",
        f"some packets have no `{option}` here",
        (path.span, "read where it may not be there"),
        help=f"narrow with `if {option} {{…}}`, or read `first({path.text})`, which is 0 then",
    )


def _not_recalled(span: Span, state: str, ever: Span | None, gone: Span | None) -> Diagnostic:
    labels = [(span, "nothing was recalled on some way that leads here")]
    if gone is not None:
        labels.append((gone, "forgotten here: no entry is known behind that"))
    elif ever is not None:
        labels.append((ever, "recalled here: known in this stage, where it was no miss"))
    return error(
        "H0314",
        f"`{state}` may hold nothing here",
        *labels,
        help=f"recall it in this stage: `recall {state}(…) else {{ … }}`",
    )


def _no_slot(
    path: tree.Path, table: model.State, slot: model.Slot | None, slots: list[str]
) -> Diagnostic:
    """`slot`: of which more is asked than what it holds."""
    holds = f"it holds {', '.join(slots)}"
    if len(path.parts) == 1:
        help = f"{holds}: `{path.text}.{[*slots, '…'][0]}`"
        labels = (path.span, "which of its slots?")
        return error("H0203", f"`{path.text}` is a state, and no slot of one", labels, help=help)
    if slot is None:
        return errors.unknown(f"slot of `{table.name}`", path.parts[1], slots, holds)
    held = f"{table.name}.{slot.name}"
    help = f"write `{held}`"
    if slot.rule:
        help = f"find the rule: `find {slot.rule} from {held} else {{…}}`, then read "
        help += f"`{slot.rule}.{path.parts[-1].text}`"
    return error("H0203", f"slots have no parts: `{path.text}`", (path.span, "of one"), help=help)


def _rule_read(path: tree.Path, slot: model.Recalled) -> Diagnostic:
    return error(
        "H0489",
        f"`{path.text}` is a rule, which may be gone",
        (path.span, "read as a value"),
        help=f"find the rule: `find {slot.rule} from {path.text} else {{…}}`, then name an element "
        f"of it: `{slot.rule}.id`",
    )


def _wrong_indexes(path: tree.Path, table: model.Registers) -> Diagnostic:
    shape, name = "".join(f"[{length}]" for length in table.shape), table.name
    index = "[0][hash(user.src)]" if len(table.shape) > 1 else "[hash(user.src)]"
    return error(
        "H0482",
        f"`{path.text}` is no single register",
        (path.span, "says not which one of the array"),
        (table.span, f"declared as `{name}{shape}`"),
        help=f"write an index for each length: `{name}{index}`",
    )


def _beyond(index: Value, length: int, table: model.Registers) -> Diagnostic:
    said = f"always {index.low}" if index.low == index.high else f"{index.low} or more"
    return error(
        "H0483",
        f"`{table.name}` has no register of this index",
        (index.span, f"{said} here"),
        (table.span, f"indexes from 0 to {length - 1}" if length > 1 else "its only index is 0"),
        help="an index that may be beyond the end is counted modulo the length; this one always is",
    )


def _no_parts(span: Span, known: Value, help: str = "") -> Diagnostic:
    labels = [(span, "asks for a part of it")]
    if known.declared is not None:
        labels.append((known.declared, "named here"))
    return error(
        "H0365",
        f"{known.what} is a value, and has no parts",
        *labels,
        help=help or "name the part itself by `let`, or cut it out: `value >> 8 & 0xff`",
    )
