"""Events that rules raise: `emit IDLE { pdr = PDR } after 300 idle`, `emit USAGE {…} each quota
bytes`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

from ...lang import tree
from ...lang.contract.manifest.manifest import Raise, Told
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error, listed
from ...lang.text.source import Span
from .. import model
from . import errors
from .elements import Elements
from .events import field_missing, no_such_field
from .kinds import Rules
from .values import KINDS, Value, fits, literal, of_width

#: The largest number of seconds, packets or bytes.
MOST = {"idle": (1 << 32) - 1, "packets": (1 << 63) - 1, "bytes": (1 << 63) - 1}
_UNITS = {"idle": "seconds", "packets": "packets", "bytes": "bytes"}
_WIDEST = {"idle": 32, "packets": 64, "bytes": 64}
_COUNTED = ("packets", "bytes")

What = Literal["idle", "packets", "bytes"]


def with_events(rules: Rules, events: Mapping[str, model.EventKind], found: Diagnostics) -> None:
    """Let the kinds know which events their rules raise."""
    uses = _Uses(rules.elements, found)
    for name, rule in rules.kinds.items():
        clauses = [c for c in rule.clauses if isinstance(c, tree.Raise)]
        for clause in rule.clauses:
            if isinstance(clause, tree.Meters):
                uses.of_meter(clause)
        kind, made = rules.known[name], dict[Raise, tree.Raise]()
        for clause in clauses:
            one = _Clause(clause, kind, rules.elements, uses, found).raised(events)
            if one is None:
                continue
            alike = replace(one, fields=())
            if made.setdefault(alike, clause) is not clause:
                found.add(_twice(clause, made[alike].span))
            else:
                kind = replace(kind, raises=(*kind.raises, one))
        rules.known[name] = kind


class _Use(NamedTuple):
    unit: str
    span: Span


class _Uses:
    """In which unit elements are used: each in one."""

    def __init__(self, elements: Elements, found: Diagnostics) -> None:
        self._elements, self._found = elements, found
        self._units: dict[str, _Use] = {}

    def of_meter(self, clause: tree.Meters) -> None:
        packets = clause.unit is not None
        for at, name in enumerate(clause.elements):
            rate = at == 0 or (at == 2 and len(clause.elements) == 4)
            unit = ("packets" if packets else "bits" if rate else "bytes") + " a second" * rate
            self._units.setdefault(name.text, _Use(unit, name.span))

    def of_amount(self, name: tree.Name, unit: str) -> None:
        first = self._units.setdefault(name.text, _Use(unit, name.span))
        if first.unit != unit:
            self._found.add(_other_unit(name, unit, first))


class _Clause:
    """One `emit` of a rule kind."""

    def __init__(
        self, written: tree.Raise, kind: model.RuleKind, elements: Elements, uses: _Uses,
        found: Diagnostics,
    ) -> None:  # fmt: skip
        self.written, self.kind, self.elements = written, kind, elements
        self.uses, self.found = uses, found

    def raised(self, events: Mapping[str, model.EventKind]) -> Raise | None:
        """None if something is wrong, which is reported."""
        written, before = self.written, len(self.found.errors)
        what, again = self._unit(), self._again()
        amount, element = self._amount(what) if what is not None else (0, "")
        event = events.get(written.event.text)
        if event is None:
            help = f"declare it: `event {written.event.text} {{ … }}`"
            self.found.add(errors.unknown("event", written.event, events, help))
            return None
        fields = self._fields(event)
        if what is None or len(self.found.errors) > before:
            return None
        return Raise(event.name, what, amount, element, again, fields)

    # ---- when ---------------------------------------------------------------------------------

    def _again(self) -> bool:
        word = self.written.word
        if word.text not in ("after", "each"):
            help = "write `after 1M bytes`, or `each 1M bytes`: again whenever as many more came"
            self.found.add(errors.unknown("moment of an event", word, ["after", "each"], help))
        return word.text == "each"

    def _unit(self) -> What | None:
        unit, counts = self.written.unit, self.kind.counts
        match unit.text:
            case "idle" as what:
                if not set(counts) & set(_COUNTED):
                    self.found.add(_counts_nothing(unit, self.kind))
                elif self.written.word.text == "each":
                    self.found.add(_idle_again(self.written))
                return what
            case "packets" | "bytes" as what:
                if what not in counts:
                    self.found.add(_not_counted(unit, self.kind))
                return what
        help = "seconds in which it was not matched are `idle`; else `packets` or `bytes`"
        self.found.add(errors.unknown("unit of events of rules", unit, [*_UNITS], help))
        return None

    def _amount(self, what: What) -> tuple[int, str]:
        """The number, or the element that says it."""
        amount = self.written.amount
        if not amount.named:
            if not 1 <= amount.value <= MOST[what]:
                of = f"the number of {_UNITS[what]}"
                self.found.add(errors.number_out_of_range(amount.span, of, 1, MOST[what]))
            return amount.value, ""
        name = tree.Name(amount.span, amount.text)
        gives = {e.name: e for e in self.kind.gives}
        element = gives.get(name.text)
        if element is None:
            help = f"let the rule give it (`gives {name.text}`), or declare a constant"
            of = f"element of what `{self.kind.name}` gives"
            self.found.add(errors.unknown(of, name, gives, help))
            return 0, ""
        plain = not (element.references or element.symbols or element.most)
        if not plain or element.kind != "uint" or element.width > _WIDEST[what]:
            self.found.add(_no_number(name, what, element))
        else:
            self.uses.of_amount(name, _UNITS[what])
        return 0, element.name

    # ---- what it tells ------------------------------------------------------------------------

    def _fields(self, event: model.EventKind) -> tuple[Told, ...]:
        known = {field.name: field for field in event.fields}
        told, begun = dict[str, Told](), dict[str, tree.Assign]()
        unknown = False
        for each in self.written.fields:
            name = each.target.parts[-1]
            if name.text not in known or len(each.target.parts) > 1:
                self.found.add(no_such_field(each.target, event))
                unknown = True
            elif begun.setdefault(name.text, each) is not each:
                first = begun[name.text].target.span
                self.found.add(errors.declared_twice("the value of", name, first))
            elif (made := self._told(each.value, known[name.text], event)) is not None:
                told[name.text] = made
        missing = [name for name in known if name not in begun]
        if missing and not unknown:
            self.found.add(field_missing(self.written.event.span, event, missing))
        return tuple(told.get(name, Told("number")) for name in known)

    def _told(
        self, value: tree.Expr, field: model.EventField, event: model.EventKind
    ) -> Told | None:
        if isinstance(value, tree.Number | tree.Address):
            return self._number(value, field, event)
        if not isinstance(value, tree.Path) or value.parts[0].text != self.kind.name:
            self.found.add(_not_of_the_rule(value.span, self.kind))
            return None
        if len(value.parts) == 1 and value.index is None:
            if field.rule != self.kind.name:
                self.found.add(_whole_rule(value.span, field, self.kind.name, event))
            return Told("rule")
        if len(value.parts) > 2 or value.index is not None:
            self.found.add(_not_of_the_rule(value.span, self.kind))
            return None
        if field.rule:
            self.found.add(_misfit(value.span, field, "a value", event))
            return None
        return self._attribute(value, field, event)

    def _number(
        self, value: tree.Number | tree.Address, field: model.EventField, event: model.EventKind
    ) -> Told | None:
        if field.rule or field.port:
            self.found.add(_misfit(value.span, field, "a number", event))
            return None
        made = literal(value)
        fits(made, field.width, field.kind, f"`{field.name}`", event.span, self.found)
        return Told("number", made.low)

    def _attribute(
        self, path: tree.Path, field: model.EventField, event: model.EventKind
    ) -> Told | None:
        name = path.parts[1]
        element = self._element(name)
        if element is None:
            return self._of_every_rule(path, field, event)
        if element.references != ("port",) if field.port else element.references:
            what = "no port" if field.port else "a reference"
            self.found.add(_misfit(path.span, field, what, event))
        elif element.most or element.kind in ("bytes", "name"):
            what = "a list" if element.most else KINDS[element.kind]
            self.found.add(_misfit(path.span, field, what, event))
        elif not field.port:
            value = of_width(
                model.Const(0, 1), element.width, element.kind, path.span, f"`{path.text}`",
                element.span,
            )  # fmt: skip
            self._fits(value, field, event)
        return Told("element", element=element.name)

    def _element(self, name: tree.Name) -> model.Element | None:
        matched = {m.element.name: m for m in self.kind.match}
        match = matched.get(name.text)
        if match is not None and match.kind == "range":
            self.found.add(_a_range(name, match))
        given = {e.name: e for e in self.kind.gives}
        return match.element if match is not None else given.get(name.text)

    def _of_every_rule(
        self, path: tree.Path, field: model.EventField, event: model.EventKind
    ) -> Told | None:
        name, counted = path.parts[1], [c for c in self.kind.counts if c in _COUNTED]
        known = {"id": 32} | dict.fromkeys(counted, 64)
        if name.text not in known:
            elements = [e.name for e in (*(m.element for m in self.kind.match), *self.kind.gives)]
            help = f"it has {listed([*known, *elements])}"
            of = f"element of `{self.kind.name}`"
            self.found.add(errors.unknown(of, name, [*known, *elements], help))
            return None
        if field.port:
            self.found.add(_misfit(path.span, field, "no port", event))
            return None
        value = of_width(
            model.Const(0, 1), known[name.text], "uint", path.span, f"`{path.text}`", None
        )
        self._fits(value, field, event)
        return Told(name.text)  # type: ignore[arg-type]

    def _fits(self, value: Value, field: model.EventField, event: model.EventKind) -> None:
        fits(value, field.width, field.kind, f"`{field.name}`", event.span, self.found)


# ---- errors ---------------------------------------------------------------------------------


def _counts_nothing(unit: tree.Name, kind: model.RuleKind) -> Diagnostic:
    return error(
        "H0491",
        f"whether a rule of `{kind.name}` is idle is not known: it counts nothing",
        (unit.span, "seen by what it counts"),
        (kind.span, "declared here"),
        help="let it count: `counts packets`",
    )


def _not_counted(unit: tree.Name, kind: model.RuleKind) -> Diagnostic:
    counts = listed(kind.counts) if kind.counts else "nothing"
    return error(
        "H0491",
        f"rules of `{kind.name}` do not count {unit.text}",
        (unit.span, f"it counts {counts}"),
        (kind.span, "declared here"),
        help=f"let it count them: `counts {', '.join((*kind.counts, unit.text))}`",
    )


def _idle_again(written: tree.Raise) -> Diagnostic:
    return error(
        "H0492",
        "a rule that stays idle raises its event once",
        (written.word.span, "not again and again"),
        help=f"write `after {written.amount.text} idle`; once it was matched, it may be idle again",
    )


def _no_number(name: tree.Name, what: What, element: model.Element) -> Diagnostic:
    return error(
        "H0493",
        f"`{name.text}` cannot say after how many {_UNITS[what]} an event is raised",
        (name.span, f"not a plain number of up to {_WIDEST[what]} bits"),
        (element.span, f"declared as {element.type}"),
        help=f"declare an element for it: `ie {name.text} = …, u{_WIDEST[what]}`",
    )


def _other_unit(name: tree.Name, unit: str, first: _Use) -> Diagnostic:
    return error(
        "H0494",
        f"`{name.text}` is in {first.unit}, and here in {unit}",
        (name.span, f"in {unit}"),
        (first.span, f"in {first.unit}"),
        help="declare an element for each of them: a controller could not tell which is meant",
    )


def _not_of_the_rule(span: Span, kind: model.RuleKind) -> Diagnostic:
    return error(
        "H0495",
        "an event that a rule raises can tell nothing but what the rule says",
        (span, "there is no packet when it is raised"),
        (kind.span, "raised by its rules"),
        help=f"name the rule (`{kind.name}`), an element or a count of it (`{kind.name}.ELEMENT`), "
        "or a number",
    )


def _whole_rule(
    span: Span, field: model.EventField, kind: str, event: model.EventKind
) -> Diagnostic:
    return error(
        "H0496",
        f"`{field.name}` does not say which {kind} it is, and this is one",
        (span, "a rule"),
        (event.span, "declared here"),
        help=f"declare `{field.name} : {kind}`, or name an element: `{kind}.ELEMENT`",
    )


def _misfit(span: Span, field: model.EventField, what: str, event: model.EventKind) -> Diagnostic:
    holds = f"which {field.rule} it is" if field.rule else "a port" if field.port else "a value"
    help = f"name the rule itself: `{field.name} = {field.rule}`"
    if not field.rule:
        help = "give it an element of the rule" + (" that is a port" if field.port else "")
    return error(
        "H0496",
        f"`{field.name}` says {holds}, and this is {what}",
        (span, "of another sort"),
        (event.span, "declared here"),
        help=help,
    )


def _a_range(name: tree.Name, match: model.Match) -> Diagnostic:
    return error(
        "H0497",
        f"`{name.text}` may be a range, which is no single value",
        (name.span, "from one value to another"),
        (match.span, "matched as a range"),
        help="tell which rule it is: a field of its kind, and the rule's name for it",
    )


def _twice(again: tree.Raise, first: Span) -> Diagnostic:
    return error(
        "H0498",
        f"`{again.event.text}` is raised twice at the same moment",
        (again.span, "again"),
        (first, "first here"),
        help="leave one of them out",
    )
