"""Events that rules raise: `emit IDLE { pdr = PDR } after 300 idle`, `emit USAGE {…} each quota
bytes`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...lang import tree
from ...lang.contract.manifest.manifest import Raise, RaisedField
from ...lang.text.diagnostics import Diagnostics, listed
from .. import model
from . import errors
from . import kind_event_errors as faults
from .elements import Elements
from .events import field_missing, no_such_field
from .kind_event_errors import UNITS, WIDEST, Use, What
from .kinds import Rules
from .values import KINDS, Value, fits, literal, of_width

#: The largest number of seconds, packets or bytes.
MOST = {"idle": (1 << 32) - 1, "packets": (1 << 63) - 1, "bytes": (1 << 63) - 1}
_COUNTED = ("packets", "bytes")


def with_events(rules: Rules, events: Mapping[str, model.EventKind], found: Diagnostics) -> None:
    """Let the kinds know which events their rules raise."""
    uses = _Uses(rules.elements, found)
    for clause in (c for rule in rules.kinds.values() for c in rule.clauses):
        if isinstance(clause, tree.Meters):
            uses.of_meter(clause)
    for name, rule in rules.kinds.items():
        clauses = [c for c in rule.clauses if isinstance(c, tree.Raise)]
        kind, made = rules.known[name], dict[Raise, tree.Raise]()
        for clause in clauses:
            one = _Clause(clause, kind, rules.elements, uses, found).raised(events)
            if one is None:
                continue
            alike = replace(one, fields=())
            if made.setdefault(alike, clause) is not clause:
                found.add(faults.twice(clause, made[alike].span))
            else:
                kind = replace(kind, raises=(*kind.raises, one))
        rules.known[name] = kind


class _Uses:
    """In which unit elements are used: each in one."""

    def __init__(self, elements: Elements, found: Diagnostics) -> None:
        self._elements, self._found = elements, found
        self._units: dict[str, Use] = {}

    def of_meter(self, clause: tree.Meters) -> None:
        packets = clause.unit is not None
        for at, name in enumerate(clause.elements):
            rate = at == 0 or (at == 2 and len(clause.elements) == 4)
            unit = ("packets" if packets else "bits" if rate else "bytes") + " a second" * rate
            self._units.setdefault(name.text, Use(unit, name.span))

    def of_amount(self, name: tree.Name, unit: str) -> None:
        first = self._units.setdefault(name.text, Use(unit, name.span))
        if first.unit != unit:
            self._found.add(faults.other_unit(name, unit, first))


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
                    self.found.add(faults.counts_nothing(unit, self.kind))
                elif self.written.word.text == "each":
                    self.found.add(faults.idle_again(self.written))
                return what
            case "packets" | "bytes" as what:
                if what not in counts:
                    self.found.add(faults.not_counted(unit, self.kind))
                return what
        help = "seconds in which it was not matched are `idle`; else `packets` or `bytes`"
        self.found.add(errors.unknown("unit of events of rules", unit, [*UNITS], help))
        return None

    def _amount(self, what: What) -> tuple[int, str]:
        """The number, or the element that says it."""
        amount = self.written.amount
        if not amount.named:
            if not 1 <= amount.value <= MOST[what]:
                of = f"the number of {UNITS[what]}"
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
        if not plain or element.kind != "uint" or element.width > WIDEST[what]:
            self.found.add(faults.no_number(name, what, element))
        else:
            self.uses.of_amount(name, UNITS[what])
        return 0, element.name

    # ---- what it holds ------------------------------------------------------------------------

    def _fields(self, event: model.EventKind) -> tuple[RaisedField, ...]:
        known = {field.name: field for field in event.fields}
        held, begun = dict[str, RaisedField](), dict[str, tree.Assign]()
        unknown = False
        for each in self.written.fields:
            name = each.target.parts[-1]
            if name.text not in known or len(each.target.parts) > 1:
                self.found.add(no_such_field(each.target, event))
                unknown = True
            elif begun.setdefault(name.text, each) is not each:
                first = begun[name.text].target.span
                self.found.add(errors.declared_twice("the value of", name, first))
            elif (made := self._held(each.value, known[name.text], event)) is not None:
                held[name.text] = made
        missing = [name for name in known if name not in begun]
        if missing and not unknown:
            self.found.add(field_missing(self.written.event.span, event, missing))
        return tuple(held.get(name, RaisedField("number")) for name in known)

    def _held(
        self, value: tree.Expr, field: model.EventField, event: model.EventKind
    ) -> RaisedField | None:
        if isinstance(value, tree.Number | tree.Address):
            return self._number(value, field, event)
        if not isinstance(value, tree.Path) or value.parts[0].text != self.kind.name:
            self.found.add(faults.not_of_the_rule(value.span, self.kind))
            return None
        if len(value.parts) == 1 and value.index is None:
            if field.rule != self.kind.name:
                self.found.add(faults.whole_rule(value.span, field, self.kind.name, event))
            return RaisedField("rule")
        if len(value.parts) > 2 or value.index is not None:
            self.found.add(faults.not_of_the_rule(value.span, self.kind))
            return None
        if field.rule:
            self.found.add(faults.misfit(value.span, field, "a value", event))
            return None
        return self._attribute(value, field, event)

    def _number(
        self, value: tree.Number | tree.Address, field: model.EventField, event: model.EventKind
    ) -> RaisedField | None:
        if field.rule or field.port:
            self.found.add(faults.misfit(value.span, field, "a number", event))
            return None
        made = literal(value)
        fits(made, field.width, field.kind, f"`{field.name}`", event.span, self.found)
        return RaisedField("number", made.low)

    def _attribute(
        self, path: tree.Path, field: model.EventField, event: model.EventKind
    ) -> RaisedField | None:
        name = path.parts[1]
        element = self._element(name)
        if element is None:
            return self._of_every_rule(path, field, event)
        if element.references != ("port",) if field.port else element.references:
            what = "no port" if field.port else "a reference"
            self.found.add(faults.misfit(path.span, field, what, event))
        elif element.most or element.kind in ("bytes", "name"):
            what = "a list" if element.most else KINDS[element.kind]
            self.found.add(faults.misfit(path.span, field, what, event))
        elif not field.port:
            value = of_width(
                model.Const(0, 1), element.width, element.kind, path.span, f"`{path.text}`",
                element.span,
            )  # fmt: skip
            self._fits(value, field, event)
        return RaisedField("element", element=element.name)

    def _element(self, name: tree.Name) -> model.Element | None:
        matched = {m.element.name: m for m in self.kind.match}
        match = matched.get(name.text)
        if match is not None and match.kind == "range":
            self.found.add(faults.a_range(name, match))
        given = {e.name: e for e in self.kind.gives}
        return match.element if match is not None else given.get(name.text)

    def _of_every_rule(
        self, path: tree.Path, field: model.EventField, event: model.EventKind
    ) -> RaisedField | None:
        name, counted = path.parts[1], [c for c in self.kind.counts if c in _COUNTED]
        known = {"id": 32} | dict.fromkeys(counted, 64)
        if name.text not in known:
            elements = [e.name for e in (*(m.element for m in self.kind.match), *self.kind.gives)]
            help = f"it has {listed([*known, *elements])}"
            of = f"element of `{self.kind.name}`"
            self.found.add(errors.unknown(of, name, [*known, *elements], help))
            return None
        if field.port:
            self.found.add(faults.misfit(path.span, field, "no port", event))
            return None
        value = of_width(
            model.Const(0, 1), known[name.text], "uint", path.span, f"`{path.text}`", None
        )
        self._fits(value, field, event)
        return RaisedField(name.text)  # type: ignore[arg-type]

    def _fits(self, value: Value, field: model.EventField, event: model.EventKind) -> None:
        fits(value, field.width, field.kind, f"`{field.name}`", event.span, self.found)
