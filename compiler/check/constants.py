"""Constants: what a file names, put where it is used, before anything else is checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from ...lang.text.source import Span
from . import errors
from .expressions import MOST_MEMBERS, Expressions
from .extremes import EXTREMES, extreme_call
from .names import WORDS
from .values import Value

N = TypeVar("N")

#: What is no expression although it is written as a path or a name, by the node it belongs to.
_NO_VALUES: dict[type[object], tuple[str, ...]] = {
    tree.Assign: ("target",),
    tree.Bridge: ("port",),
    tree.Choose: ("origin",),
    tree.Exchange: ("slot",),
    tree.Find: ("origin",),
    tree.Forward: ("port", "via"),
    tree.Import: ("path",),
    tree.Is: ("subject",),
    tree.Match: ("operand",),
    tree.Mirror: ("port",),
    tree.Swap: ("left", "right"),
    tree.Update: ("slot",),
}


class Known(NamedTuple):
    """A constant: where it is declared, and the literals that it stands for."""

    name: tree.Name
    values: tuple[tree.Range, ...]


Constants = Mapping[str, Known]


def constants_of(
    declared: Iterable[tree.Constant], around: Constants, found: Diagnostics
) -> dict[str, Known]:
    """These, and those that can be seen `around` them; each may be made of those above it."""
    known, declared = dict(around), tuple(declared)
    own: dict[str, tree.Name] = {}
    for at, constant in enumerate(declared):
        name = constant.name
        later = {each.name.text for each in declared[at:]} - own.keys()
        if name.text in own:
            found.add(errors.declared_twice("constant", name, own[name.text].span))
            continue
        if name.text in WORDS:
            found.add(errors.name_taken(name, WORDS[name.text]))
            continue
        if name.text in known:
            found.add(errors.name_taken(name, "another constant", known[name.text].name.span))
        own[name.text] = name
        given = _Putting(known, found).ranges(constant.values)
        values = tuple(_literals(given, known, later, found))
        if len(values) < len(given):  # reported: what uses it is not to be blamed
            values = (tree.Range(name.span, tree.Number(name.span, 1, name.text)),)
        known[name.text] = Known(name, values)
    return known


def _literals(
    written: Sequence[tree.Range], known: Constants, later: Iterable[str], found: Diagnostics
) -> Iterator[tree.Range]:
    """Each value worked out: a literal, or a range between two. `later`: what is declared further
    down."""

    def no_name(path: tree.Path) -> Value | None:
        of_packet = len(path.parts) > 1
        found.add(_no_constant(path.span) if of_packet else _unknown(path.parts[0], known, later))
        return None

    def extreme(call: tree.Call) -> Value | None:
        if call.function.text in EXTREMES:
            return extreme_call(call, expressions, found)
        found.add(errors.no_such_function(call.function, sorted(EXTREMES)))
        return None

    expressions = Expressions(no_name, extreme, found)
    for each in written:
        ends = expressions.ends(each)
        if ends is None:
            continue
        low, high = (_literal(end, each, found) for end in ends)
        if low and high:
            yield tree.Range(each.span, low, None if ends[0] is ends[1] else high)


def _literal(
    value: Value, written: tree.Range, found: Diagnostics
) -> tree.Number | tree.Address | None:
    if not value.literal:
        found.add(_no_constant(written.span))
        return None
    text = written.span.text
    match value.kind:
        case "uint":
            return tree.Number(written.span, value.low, text)
        case "ip4" | "ip6" | "mac" as kind:
            return tree.Address(written.span, kind, value.low, text)
    return None


def with_constants(program: tree.Program, around: Constants, found: Diagnostics) -> tree.Program:
    """The file with values in place of names, also in its own constants. `around`: those of the
    files that it imports."""
    known = constants_of(program.constants, around, found)
    own = any(isinstance(d, tree.Constant) for p in program.pipelines for d in p.declarations)
    if not (known or own or program.named):
        return program
    constants = tuple(
        replace(c, values=known[c.name.text].values)
        for c in program.constants
        if c.name.text in known
    )
    headers = tuple(_Putting(_but_for(known, h), found).put(h) for h in program.headers)
    pipelines = tuple(_in_pipeline(p, known, found) for p in program.pipelines)
    return replace(program, constants=constants, headers=headers, pipelines=pipelines)


def _but_for(known: Constants, header: tree.Header) -> Constants:
    """Those that no field of a header has the name of."""
    within = [f for m in header.members if isinstance(m, tree.Field) and m.options
              for f in m.options.heading]  # fmt: skip
    own = {field.name.text for field in (*fields(header.members), *within) if field.name}
    return {name: each for name, each in known.items() if name not in own}


def fields(members: Iterable[tree.Node]) -> Iterator[tree.Field]:
    """All fields of a header, parts and those of groups among them."""
    for member in members:
        if isinstance(member, tree.Field):
            yield member
            yield from fields(member.parts)
        elif isinstance(member, tree.Group):
            yield from fields(member.fields)


def _in_pipeline(pipeline: tree.Pipeline, around: Constants, found: Diagnostics) -> tree.Pipeline:
    declared = [d for d in pipeline.declarations if isinstance(d, tree.Constant)]
    known, taken = constants_of(declared, around, found), set[str]()
    for name, everywhere in _names(pipeline):
        if name.text in known:
            found.add(errors.name_taken(name, "a constant", known[name.text].name.span))
            taken |= {name.text} if everywhere else set()
    known = {name: constant for name, constant in known.items() if name not in taken}
    return _Putting(known, found).put(pipeline)


def _names(node: object) -> Iterator[tuple[tree.Name, bool]]:
    """Names that a pipeline gives to what expressions may be about, everywhere or in a block."""
    match node:
        case tree.Edge():
            yield node.alias or node.target, True
        case tree.ChainMember():
            yield node.node, True
        case tree.Rule() | tree.State() | tree.Registers() | tree.Chain():
            yield node.name, True
        case tree.Let():
            yield node.name, False
        case tree.Arm() if node.binding:
            yield node.binding, False
    if isinstance(node, tuple):
        for each in node:
            yield from _names(each)
    elif isinstance(node, tree.Node) and not isinstance(node, tree.Name):
        parts: tuple[str, ...] = node.__match_args__[1:]
        for part in parts:
            yield from _names(getattr(node, part))


class _Putting:
    """Puts values in the place of names."""

    def __init__(self, known: Constants, found: Diagnostics) -> None:
        self.known, self.found = known, found

    def put(self, node: N) -> N:
        match node:
            case tree.Constant() | tree.Name():
                return node
            case tree.Number(named=True):
                return self._number(node)  # type: ignore[return-value]
            case tree.State():
                made = self._inside(node, ("clauses",))
                clauses = tuple(map(partial(self._clause, node), node.clauses))
                return replace(made, clauses=clauses)
            case tree.Raise(amount=tree.Number(named=True, text=name)) if name not in self.known:
                # an element may say when it is due; what is none of both `kind_events` reports
                return self._inside(node, ("amount",))
            case tree.Path(parts=(name,), index=None) if name.text in self.known:
                return self._value(name)  # type: ignore[return-value]
            case tree.Arm():  # a name may be a symbol: what is matched on says it
                values = self.ranges(node.patterns)
                return replace(self._inside(node, ("patterns",)), values=values)
            case tree.Test() | tree.ChainMember() | tree.In():
                return self._of_ranges(node)
            case tuple():
                return tuple(map(self.put, node))  # type: ignore[return-value]
            case tree.Node():
                return self._inside(node)
        return node

    def _clause(self, state: tree.State, clause: tree.Slots | tree.Ages) -> tree.Slots | tree.Ages:
        """A slot may say how long an entry is kept: it stands in front of a constant."""
        given = (c for c in state.clauses if isinstance(c, tree.Slots) and c.word == "gives")
        slots = {slot.name.text for each in given for slot in each.slots}
        own = isinstance(clause, tree.Ages) and clause.seconds.text in slots
        return clause if own else self.put(clause)

    def _inside(self, node: N, without: tuple[str, ...] = ()) -> N:
        left = (*_NO_VALUES.get(type(node), ()), *without)
        changed = {}
        for name in node.__match_args__[1:]:  # type: ignore[attr-defined]
            before = getattr(node, name)
            index_alone = name in left and isinstance(before, tree.Path)
            if index_alone or (name not in left and isinstance(before, tuple | tree.Node)):
                after = self._inside(before) if index_alone else self.put(before)
                if after is not before and after != before:
                    changed[name] = after
        return replace(node, **changed) if changed else node  # type: ignore[type-var]

    def _of_ranges(self, node: N) -> N:
        guard = isinstance(node, tree.Test | tree.ChainMember)
        name = "alternatives" if guard else "members"
        made = self._inside(node, without=(name,))
        ranges = self.ranges(getattr(node, name), known_only=guard)
        return replace(made, **{name: ranges})  # type: ignore[type-var]

    def ranges(
        self, written: Sequence[tree.Range], known_only: bool = False
    ) -> tuple[tree.Range, ...]:
        """Alternatives; a constant that is a set stands for all its members. `known_only`: nothing
        else has a name here."""
        made: list[tree.Range] = []
        for each in written:
            match each:
                case tree.Range(_, tree.Path(_, (name,), None), None, None) if (
                    name.text in self.known
                ):
                    of = self.known[name.text].values
                    made += (self._at(name, member) for member in of[: MOST_MEMBERS + 1])
                case _:
                    put = self._inside(each)
                    unknown = [e for e in (put.low, put.high, put.mask) if isinstance(e, tree.Path)]
                    if known_only and unknown:
                        self.found.add(_unknown(unknown[0].parts[0], self.known))
                        put = tree.Range(each.span, tree.Number(each.span, 0, "0"))
                    made.append(put)
        return tuple(dict.fromkeys(made[: MOST_MEMBERS + 1]))

    def _at(self, name: tree.Name, member: tree.Range) -> tree.Range:
        """A member of a constant, where its name is written."""
        high = None if member.high is None else replace(member.high, span=name.span)
        return tree.Range(name.span, replace(member.low, span=name.span), high)

    def _number(self, number: tree.Number) -> tree.Number:
        name = tree.Name(number.span, number.text)
        if name.text not in self.known:
            self.found.add(_unknown(name, self.known))
            return replace(number, value=1, named=False)
        value = self._value(name)
        if isinstance(value, tree.Number):
            return value
        self.found.add(errors.wrong_kind(name.span, "an address", "a number"))
        return replace(number, value=1, named=False)

    def _value(self, name: tree.Name) -> tree.Number | tree.Address:
        constant = self.known[name.text]
        (first, *more) = constant.values
        if more or first.high is not None:
            self.found.add(_a_set(name, constant.name))
        low = first.low
        assert isinstance(low, tree.Number | tree.Address)
        return replace(low, span=name.span, text=name.text)


# ---- errors ---------------------------------------------------------------------------------


def _unknown(name: tree.Name, known: Constants, later: Iterable[str] = ()) -> Diagnostic:
    if name.text in later:
        help = f"`{name.text}` is declared further down: move it up, in front of what is made of it"
        return error(
            "H0203",
            f"there is no constant `{name.text}` by then",
            (name.span, "not declared above"),
            help=help,
        )
    return errors.unknown("constant", name, known, f"declare it: `const {name.text} = …`")


def _no_constant(span: Span) -> Diagnostic:
    return error(
        "H0364",
        "this is no constant",
        (span, "not known when the pipeline is compiled"),
        help="a constant is a number, an address, a prefix, a range, or a set of these; in a stage "
        "`let` names a value of the packet",
    )


def _a_set(name: tree.Name, declared: tree.Name) -> Diagnostic:
    return error(
        "H0364",
        f"`{name.text}` is a set, and no single value",
        (name.span, "one value is wanted here"),
        (declared.span, "declared here"),
        help=f"ask whether a value is in it: `a in {name.text}`",
    )
