"""Converts rules of the running build to kinds and elements of the new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...lang.contract.request.request import IE
from ...lang.contract.rules.byte_values import codec_of
from ...lang.contract.rules.fault_places import complete
from ...lang.contract.rules.ie_values import NO_LENGTH, Codec, Fault, fold
from ...lang.contract.rules.kind_fields import Field
from ...lang.contract.rules.rulekinds import Kind
from ...lang.contract.rules.rules import Form, Matcher, Member, Reference, Rule
from ...lang.text.diagnostics import did_you_mean
from .schema_change import NAMED, Concern, KindChange, SchemaChange

#: Of a match, a value, or a reference; None matches anything.
Default = Matcher | int | Reference | None
_SEPARATORS: dict[str, Form] = {"..": "range", "/": "prefix", "&": "mask"}


@dataclass
class ConvertedRules:
    """`rules` of the kinds that are written again, oldest first; `faults`: what is wrong, and of
    which rule of the running build."""

    rules: list[Rule] = field(default_factory=list)
    faults: list[tuple[Rule, Fault]] = field(default_factory=list)


def convert_rules(
    change: SchemaChange, rules: Iterable[Rule], ports: Mapping[str, int], all_: bool = False
) -> ConvertedRules:
    """Rules of kinds that are dropped are skipped, and without `all_` those of kinds that keep
    their maps. `ports`: numbers by name."""
    found, seen = ConvertedRules(), _Seen()
    kinds = {
        name: _KindConverter(change, of, ports)
        for name, of in change.kinds.items()
        if of.new and (all_ or not of.stays)
    }
    for rule in sorted(rules, key=lambda rule: rule.sequence):
        if converter := kinds.get(rule.kind):
            try:
                made = converter.rule(rule)
                seen.note(converter.kind, made)
                found.rules.append(made)
            except Fault as fault:
                found.faults.append((rule, fault))
    return found


class _Seen:
    """Keys, ids and names, which two rules may not share."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, object], Rule] = {}

    def note(self, kind: Kind, rule: Rule) -> None:
        """Raises `Fault`."""
        used: list[tuple[object, str]] = []
        if kind.keyed:
            used.append((kind.key_of(rule), "match the same as"))
        if not kind.grouped:
            used.append((rule.id, "have the id of"))
            if rule.name:
                used.append((fold(rule.name), "have the name of"))
        for key, what in used:
            other = self._taken.setdefault((kind.name, key), rule)
            if other is not rule:
                raise _fault(f"it would {what} {other.kind} {other.id}")


class _KindConverter:
    """Converts the rules of one kind."""

    def __init__(self, change: SchemaChange, kind: KindChange, ports: Mapping[str, int]) -> None:
        assert kind.new is not None
        self._change, self._elements, self._new = change, kind.elements, kind.new
        self._old: dict[str, Codec] = {e.name: codec_of(e) for e in change.old.elements}
        self.kind = Kind(change.new, kind.new, ports)
        self._given = {f.codec.name: f for f in self.kind.gives}
        self._order = {match.element: i for i, match in enumerate(kind.new.match)}
        own = [(k.partition("."), v) for k, v in change.answers.defaults.items()]
        self._defaults = {
            name: default_of(self.kind, name, text, ports)
            for (of, _, name), text in own if of == kind.new.name
        }  # fmt: skip

    def rule(self, rule: Rule) -> Rule:
        """Raises `Fault`."""
        match = {e: m for name, old in rule.match if (e := self._elements[name])
                 for m in self._matcher(e, self._old[name], old)}  # fmt: skip
        values = {e: self._value(e, self._old[name], v) for name, v in rule.values
                  if (e := self._elements[name])}  # fmt: skip
        references = {e: self._reference(e, to) for name, to in rule.references
                      if (e := self._elements[name])}  # fmt: skip
        for name, default in self._defaults.items():
            if name in match or name in values or name in references:
                continue
            if isinstance(default, Matcher):
                match[name] = default
            elif isinstance(default, Reference):
                references[name] = default
            elif default is not None:
                values[name] = default
        self._check(match, values, references)
        return Rule(
            self._new.name, rule.id, rule.sequence, rule.name, rule.owner,
            self._priority(rule.priority),
            tuple(sorted(match.items(), key=lambda pair: self._order[pair[0]])),
            tuple((f, values[f]) for f in self._given if f in values),
            tuple((f, references[f]) for f in self._given if f in references),
            rule.target and self._target(rule.target), self._members(rule.members),
        )  # fmt: skip

    def _check(
        self, match: Mapping[str, Matcher], values: Mapping[str, int],
        references: Mapping[str, Reference],
    ) -> None:  # fmt: skip
        for each in self.kind.exact:
            if each.codec.name not in match:
                raise _fault(
                    f"it lacks `{each.codec.name}`, which {self._new.name} matches exactly"
                )
        complete(self.kind, values, references)

    # ---- matches ----------------------------------------------------------------------------

    def _matcher(self, name: str, old: Codec, matcher: Matcher) -> list[Matcher]:
        """None where everything matches."""
        field_ = self.kind.matched.get(name)
        if field_ is None or field_.match is None:
            raise _fault(f"it matches `{old.name}`, which {self._new.name} does not")
        found = _as_kind(matcher, old, field_.codec, field_.match.kind)
        made = field_.codec.matcher(field_.match.kind, *found)
        return [made] if made is not None else []

    # ---- what is given ----------------------------------------------------------------------

    def _field(self, name: str, old: str) -> Field:
        if name not in self._given:
            raise _fault(f"it gives `{old}`, which {self._new.name} does not")
        return self._given[name]

    def _value(self, name: str, old: Codec, value: int) -> int:
        given = self._field(name, old.name)
        if given.references:
            raise _fault(f"`{name}` refers to something, and its `{old.name}` is a value")
        return _number(old, given.codec, value)

    def _reference(self, name: str, to: Reference) -> Reference:
        given, made = self._field(name, name), self._moved(to)
        if made.kind not in given.references:
            raise _fault(f"its `{name}` refers to a {made.kind}, which it cannot any more")
        return made

    def _target(self, to: Reference) -> Reference:
        made = self._moved(to)
        if made.kind not in self._new.alternatives:
            raise _fault(f"it gives a {made.kind}, which {self._new.name} cannot any more")
        return made

    def _members(self, members: tuple[Member, ...]) -> tuple[Member, ...]:
        spread = self._new.spread
        if spread is None or not members:
            return ()
        if not spread.least <= len(members) <= spread.most:
            raise _fault(f"it has {len(members)} members, not {spread.least} to {spread.most}")
        if spread.weight is None:
            return tuple(Member(member.id, 1) for member in members)
        return members

    def _moved(self, to: Reference) -> Reference:
        if to.kind == "port":
            return to
        change = self._change.kinds[to.kind]
        if change.new is None:
            raise _fault(f"it refers to {to.kind} {to.id}, which is given up")
        return Reference(change.new.name, to.id)

    def _priority(self, value: int) -> int:
        if self._new.priority is None:
            return 0
        return self.kind.codecs[self._new.priority[1]].number(value)


def default_of(kind: Kind, name: str, text: str, ports: Mapping[str, int]) -> Default:
    """What a mapping file says an element is where a rule does not. Raises `Fault`."""
    parts = kind.decode([_ie(name, text)])
    for _, matcher in parts.match:
        return matcher
    for value in parts.values.values():
        return value
    for to, _ in parts.references.values():
        number = ports.get(str(to), to)
        if number in ports.values():
            return Reference("port", int(number))
        help_ = did_you_mean(str(to), ports) or f"the ports are {', '.join(ports)}"
        raise Fault("H0793", f"`{to}` is no port", "value", "no port", help_)
    return None


def _ie(name: str, text: str) -> IE:
    """As a request would have it; the manifest knows the length."""
    for separator, form in _SEPARATORS.items():
        first, found, second = text.partition(separator)
        if found:
            return IE(name, "", form, first.strip(), second.strip(), ())
    return IE(name, "", "value", text.strip(), "", ())


def usage_of(rules: Iterable[Rule]) -> Counter[Concern]:
    """How many rules use which elements."""
    found: Counter[Concern] = Counter()
    for rule in rules:
        used = ["", *(name for name, _ in (*rule.match, *rule.values, *rule.references))]
        found.update((rule.kind, name) for name in used + [NAMED] * bool(rule.name))
    return found


def _fault(title: str) -> Fault:
    return Fault("H0791", title, "rule")


def _number(old: Codec, new: Codec, value: int) -> int:
    """A value, by its symbol where it has one, since numbers of symbols change. Raises `Fault`."""
    if {old.kind, new.kind} & {*NO_LENGTH}:
        return new.number(_as_bytes(Matcher("value", value), old, new)[1])
    if new.element.most or old.element.most:
        return new.number(old.format(value))
    named = next((name for name, known in old.element.symbols.items() if known == value), "")
    if fold(named) in new.symbols and named:
        return new.symbols[fold(named)]
    now = next((name for name, known in new.element.symbols.items() if known == value), "")
    if named and fold(now) in old.symbols:
        raise _fault(f"`{old.name}` is {named}, which is no value any more")
    return new.number(value)


def _as_kind(
    matcher: Matcher, old: Codec, new: Codec, kind: str
) -> tuple[Form, int | str, int | str]:
    """A matcher in a form that the new kind of match takes, if there is one. In a wider element the
    upper bits are zero; those that a narrower one lacks are dropped, if they are zero."""
    form, value, other = matcher
    if {old.kind, new.kind} & {*NO_LENGTH}:
        return _as_bytes(matcher, old, new)
    if form == "value" and (old.element.symbols or new.element.symbols):
        value = _number(old, new, value)
    if form == "range":
        return ("range", value, other) if kind == "range" else _as_mask(value, other, new)
    mask = {"value": old.full, "prefix": old.full ^ (old.full >> other), "mask": other}[form]
    wider = new.full & ~old.full
    mask |= wider
    if new.full < old.full:
        if value & ~new.full:
            raise _fault(f"`{old.name}` has {old.format(value)}, which does not fit any more")
        mask &= new.full
    if mask == new.full and kind != "ternary":
        return "value", value, 0
    if kind == "range" and not (host := new.full ^ mask) & (host + 1):
        return "range", value, value | host
    if kind in ("lpm", "ternary"):
        return "mask", value, mask
    return form, value, other


def _as_bytes(matcher: Matcher, old: Codec, new: Codec) -> tuple[Form, int | str, int | str]:
    """A run of bytes stays one of that size; a name may become longer or shorter."""
    if old.kind != new.kind or (old.kind == "bytes" and old.width != new.width):
        what = f"`{old.name}` was {old.element.type}, and is {new.element.type} now"
        raise _fault(f"{what}: its values are not comparable")
    if old.kind == "name":
        return old.spellings(*matcher)
    return matcher


def _as_mask(low: int, high: int, new: Codec) -> tuple[Form, int, int]:
    """A range that is a prefix; another one stays what it is, and is refused."""
    host = low ^ high
    if host & (host + 1) or low & host or high > new.full:
        return "range", low, high
    return "mask", low, new.full ^ host
