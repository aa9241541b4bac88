"""A rule kind of the manifest, prepared so that checking a rule costs lookups only."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from ...text.diagnostics import did_you_mean
from ..manifest.manifest import Manifest, Match, RuleKind
from ..request.request import IE
from .apart import never_together
from .ie_values import Codec, Fault, codec_of, fold
from .rules import Form, Matcher, Member, Reference, Rule

MATCH, ANY, VALUE, REFERENCE, PRIORITY, WEIGHT, POSITION, PARTIAL = range(8)

FORM_CODES: dict[Form, int] = {"value": 1, "prefix": 2, "mask": 3, "range": 4}
#: Distinct spellings of values kept decoded, for each kind.
_KEPT = 1 << 16
_new = tuple.__new__  # a third of what a named tuple's own takes
_ANYTHING: Any = False

Pair = tuple[str, Matcher]
_K = TypeVar("_K")
_V = TypeVar("_V")


def purpose(rule: RuleKind) -> str:
    """What rules of the kind are for: the first paragraph of its documentation, as one line."""
    return " ".join(rule.doc.split("\n\n")[0].split())


class Field(NamedTuple):
    """An element as a rule kind uses it. `wide`: the bits of one of its values in the match image;
    `shift`: where its bits begin there."""

    role: int
    nth: int
    codec: Codec
    match: Match | None = None
    wide: int = 0
    shift: int = 0
    references: tuple[str, ...] = ()


Hit = tuple[int, Any, Any, int, Field]
"""A decoded IE: its role, which of that role (a match element's number, a given one's name), what
it says, the bits that this adds to the match image, its field. It says (element, matcher), or
nothing where it matches ANY; a number; or an unresolved reference, a number or a name. PARTIAL is
MATCH or ANY that leaves bits of the value out of the comparison, of which a warning says."""

Pairs = Sequence[Pair | None]
"""What each of a rule's match elements matches; not so, where any."""

Reader = Callable[[IE], Hit]
"""Decodes IEs of one element, length and form."""


class Parts:
    """What the IEs of one rule say. `pairs`: of each match element what it matches; False for one
    that is named and matches anything, None for one that is not. Given elements by their names."""

    __slots__ = ("bits", "ignored", "pairs", "priority", "references", "values", "weight")

    def __init__(self, kind: Kind) -> None:
        self.ignored: tuple[tuple[Fault, IE], ...] = ()  # warnings
        self.pairs = kind.no_pairs.copy()
        self.bits = 0
        self.values: dict[str, int] = {}
        self.references: dict[str, tuple[int | str, IE | None]] = {}
        self.priority: int | None = None
        self.weight: int | None = None

    def taken(self, kind: Kind) -> set[str]:
        """The names of the elements given so far."""
        names = {f.codec.name for f in kind.match if self.pairs[f.nth] is not None}
        return names.union(self.values, self.references)

    @property
    def named(self) -> bool:
        """Whether any match element is."""
        return self.pairs.count(None) < len(self.pairs)

    @property
    def match(self) -> tuple[Pair, ...]:
        return tuple(filter(None, self.pairs))


class Kind:
    """One rule kind. The match image holds, for each match element from the last byte on, the
    upper value, the value and the form; then the id (grouped kinds) and the priority."""

    def __init__(
        self, manifest: Manifest, rule: RuleKind, ports: Mapping[str, int] | None = None
    ) -> None:
        self.rule, self.name, self.number = rule, rule.name, rule.number
        self.fields: dict[str, Field] = {}
        self.match: list[Field] = []
        self.gives: list[Field] = []
        self.given: dict[str, Field] = {}
        self.grouped, self.spread = rule.grouped, rule.spread
        self.alternatives = rule.alternatives
        self.children = (*rule.alternatives, *([rule.spread.kind] if rule.spread else []))
        self.plain = not (rule.grouped or rule.spread)
        #: A name may mean one of these rules or a port.
        self.beside_ports = any({"port", rule.name} <= {*e.references} for e in manifest.elements)
        #: Alternatives that are no groups and hold no rules themselves.
        self.leaves = {r.name for r in manifest.rules if r.name in rule.alternatives
                       and not (r.grouped or r.spread or r.alternatives)}  # fmt: skip
        self.weight: Field | None = None
        self.elements = {fold(e.name): e.name for e in manifest.elements}
        self.numbers = {str(e.number): e.name for e in manifest.elements}
        self.codecs = {e.name: codec_of(e) for e in manifest.elements}
        self.cache: dict[tuple[object, ...], Hit] = {}
        self.readers: dict[tuple[str | int, ...], Reader] = {}  # by type, length and form
        shift = 0
        for i, match in enumerate(rule.match):
            codec = self.codecs[match.element]
            if codec.element.references:  # a port: its names are what symbols are to a number
                codec = Codec(replace(codec.element, symbols=dict(ports or {})))
            field = Field(MATCH, i, codec, match, 8 * codec.size, shift)
            self._add(field)
            self.match.append(field)
            shift += 8 + 2 * field.wide
        self.no_pairs: list[Pair | None] = [None] * len(self.match)
        self.matched = {field.codec.name: field for field in self.match}
        self._fixed_sizes(shift)
        for i, name in enumerate(rule.gives):
            self._add_given(i, name)
        if rule.priority is not None:
            self._add(Field(PRIORITY, 0, self.codecs[rule.priority[1]]))
        if rule.spread is not None and rule.spread.weight is not None:
            self.weight = Field(WEIGHT, 0, self.codecs[rule.spread.weight])
        self._requirements()
        self.exact = [f for f in self.match if f.match and f.match.kind == "exact"]
        self.overlaps = list(_overlapping(self.match))
        self.apart = never_together(manifest, rule)
        #: Places of elements that say a port of arrival, which is of one of some roles.
        self.arriving = [i for i, match in enumerate(rule.match) if match.roles]
        self._respelled: dict[tuple[object, ...], tuple[int, ...]] = {}
        self.ifindex = self._companion()

    def _fixed_sizes(self, shift: int) -> None:
        self.id_shift = shift
        shift += 32 if self.grouped else 0
        self.priority_shift = shift
        self.has_priority = self.rule.priority is not None
        shift += 64 if self.has_priority else 0
        self.key_size = shift // 8
        self.keyed = bool(self.match) or self.grouped

    def _add(self, field: Field) -> None:
        self.fields.setdefault(fold(field.codec.name), field)

    def _add_given(self, index: int, name: str) -> None:
        codec = self.codecs[name]
        references = codec.element.references
        for requirement in self.rule.requires:
            if requirement.element == name and not requirement.when and requirement.references:
                references = tuple(r for r in references if r in requirement.references)
        role = REFERENCE if references else VALUE
        field = Field(role, index, codec, references=references)
        self._add(field)
        self.gives.append(field)
        self.given[name] = field

    def _requirements(self) -> None:
        self.requires = [
            (r.element, tuple((name, frozenset(values)) for name, values in r.when),
             frozenset(r.references))
            for r in self.rule.requires if r.element in self.rule.gives
        ]  # fmt: skip

    def _companion(self) -> tuple[str, str] | None:
        """(ifindex, interface): Schema 1 gives an interface's number beside its name."""
        number = self.fields.get("ifindex")
        if number is None or number.role != VALUE:
            return None
        for field in self.gives:
            if field.role == REFERENCE and "port" in field.codec.element.references:
                return number.codec.name, field.codec.name
        return None

    # ---- IEs --------------------------------------------------------------------------------

    def has(self, ie: IE, member: Kind | None = None) -> bool:
        """The kind has that element. `member`: the kind that spreads over rules of this one."""
        name = fold(self.numbers.get(ie.type, ie.type))
        if name in self.fields or self._alias(name) in self.fields:
            return True
        if name in ("ipaddress", "macaddress"):
            return bool(self._positional(name))
        return (
            member is not None
            and member.weight is not None
            and (fold(member.weight.codec.name) == name)
        )

    def _alias(self, name: str) -> str:
        return "ifindex" if name == "interfaceindex" else name

    def _positional(self, name: str) -> list[Field]:
        kinds = ("ip4", "ip6") if name == "ipaddress" else ("mac",)
        return [f for f in [*self.match, *self.gives] if f.codec.kind in kinds]

    def field(self, ie: IE, member: Kind | None) -> Field:
        """The field that an IE's type names; `Fault` if there is none."""
        name = fold(self.numbers.get(ie.type, ie.type))
        field = self.fields.get(name) or self.fields.get(self._alias(name))
        if field is not None:
            return field
        weight = member.weight if member is not None else None
        if weight is not None and fold(weight.codec.name) == name:
            return weight
        if name in ("ipaddress", "macaddress") and (found := self._positional(name)):
            return Field(POSITION, 0, found[0].codec)
        raise self._unknown(ie, name)

    def _unknown(self, ie: IE, name: str) -> Fault:
        own = [f.codec.name for f in self.fields.values()]
        takes = f"{self.name} takes {', '.join(own)}" if own else f"{self.name} takes no elements"
        if name in self.elements:
            title = f"{self.name} has no `{self.elements[name]}`"
            return Fault("H0412", title, "type", "an element of other rules", takes)
        title = f"`{ie.type}` is no information element"
        return Fault("H0411", title, "type", "not declared", did_you_mean(ie.type, own) or takes)

    def decode(self, ies: Iterable[IE], member: Kind | None = None) -> Parts:
        """What the IEs say; `Fault` (with `.ie`) at the first that is wrong."""
        parts = Parts(self)
        cache, readers, pairs, bits = self.cache, self.readers, parts.pairs, 0
        try:
            for ie in ies:
                hit = cache.get(ie[:5])
                if hit is None:
                    read = readers.get(ie[:3])
                    hit = read(ie) if read is not None else self.decoded(ie, member)
                role, which, payload, more, _ = hit
                if role == MATCH and pairs[which] is None:
                    pairs[which] = payload
                    bits |= more
                elif role == VALUE and which not in parts.values:
                    parts.values[which] = payload
                else:
                    bits |= self._take(parts, hit, ie)
        except Fault as fault:
            fault.ie = ie
            raise
        parts.bits = bits
        for i, j in self.overlaps:
            one, two = pairs[i], pairs[j]
            if one and two:
                self.agree(one, two, self.match[i], self.match[j])
        return parts

    def _take(self, parts: Parts, hit: Hit, ie: IE) -> int:
        """Note what any IE says; the bits that it adds."""
        if hit[0] == POSITION:
            field = self.positioned(ie, parts.taken(self))
            hit = self.decoded(ie._replace(type=field.codec.name), None)
        role, which, payload, bits, field = hit
        if role == PARTIAL and field.match is not None:
            warning = field.codec.ignored(field.match.kind, *ie[2:5])
            parts.ignored += ((warning, ie),) if warning is not None else ()
            role = ANY if payload is None else MATCH
        if role in (MATCH, ANY):
            if parts.pairs[which] is None:
                parts.pairs[which] = payload or _ANYTHING
                return bits
        elif role == VALUE:
            if which not in parts.values:
                parts.values[which] = payload
                return 0
        elif role == REFERENCE:
            if which not in parts.references:
                parts.references[which] = (payload, ie)
                return 0
        elif role == PRIORITY:
            if parts.priority is None:
                parts.priority = payload
                return 0
        elif parts.weight is None:
            parts.weight = payload
            return 0
        title = f"`{field.codec.name}` is given twice"
        raise Fault("H0413", title, "ie", "the second time", "leave one of them out")

    def positioned(self, ie: IE, taken: Container[str]) -> Field:
        """`IP address` is the rule's next element of that kind: the first that is not `taken`."""
        found = self._positional(fold(ie.type))
        for field in found:
            if field.codec.name not in taken:
                return field
        names = ", ".join(f.codec.name for f in found)
        title = f"{self.name} has {len(found)} elements that are an `{ie.type}`"
        raise Fault("H0425", title, "type", "one too many", f"they are {names}, in this order")

    def decoded(self, ie: IE, member: Kind | None) -> Hit:
        """What an IE says of whose like none was read before."""
        read = self.readers.get(ie[:3])
        if read is not None:
            return read(ie)
        field = self.field(ie, member)
        field.codec.check_length(ie.length)
        read = self._reader(field, ie.form)
        if field.role in (WEIGHT, POSITION):  # it depends on the rules around, or the elements
            return read(ie)
        if field.codec.kind != "ip4":  # an address is seldom met again
            read = self._keeping(read)
        hit = read(ie)
        _keep(self.readers, ie[:3], read)
        return hit

    def _keeping(self, read: Reader) -> Reader:
        """One that puts what it read into the cache."""
        return lambda ie: _keep(self.cache, ie[:5], read(ie))

    def _reader(self, field: Field, form: Form) -> Reader:
        role, nth, codec, match, wide, shift, _ = field
        if role == POSITION:
            return lambda ie: (POSITION, 0, None, 0, field)
        if role != MATCH:
            return lambda ie: _given(field, ie)
        assert match is not None
        matching, name = codec.matching(match.kind, form), codec.name

        def read(ie: IE) -> Hit:
            matcher = matching(ie[3], ie[4])
            if matcher is not None:
                form, value, other = matcher
                bits = ((FORM_CODES[form] << wide | value) << wide | other) << shift
                return MATCH, nth, (name, matcher), bits, field
            if match.kind == "exact":
                raise Fault("H0418", f"`{name}` must have a value", "values")
            return ANY, nth, None, 0, field

        def read_some(ie: IE) -> Hit:
            hit = read(ie)
            partial = codec.ignored(match.kind, *ie[2:5]) is not None
            return (PARTIAL, *hit[1:]) if partial else hit

        return read_some if codec.ignores(match.kind, form) else read

    @staticmethod
    def agree(one: Pair, two: Pair, first: Field, second: Field) -> None:
        """Two elements on the same bits of the packet must be able to hold together."""
        v1, m1 = _in_packet(one[1], first)
        v2, m2 = _in_packet(two[1], second)
        if (v1 ^ v2) & m1 & m2:
            title = f"`{one[0]}` and `{two[0]}` contradict each other: no packet has both"
            raise Fault("H0424", title, "rule", "these are the same bits of the packet",
                        "leave one of them out")  # fmt: skip

    def respelled(self, bits: int, pairs: Pairs) -> Iterator[int]:
        """The match images, without id and priority, of other elements that match the same
        packets: of `dscp 46` that of `tos 184`. `bits`: the image of `pairs`."""
        for i, j in self.overlaps:
            one, two = pairs[i] or None, pairs[j] or None
            if one is None and two is None:
                continue
            known = self._respelled.get((i, one, j, two))
            if known is None:
                known = self._differences(one, two, self.match[i], self.match[j])
                _keep(self._respelled, (i, one, j, two), known)
            for difference in known:
                yield bits + difference

    @staticmethod
    def _differences(
        one: Pair | None, two: Pair | None, first: Field, second: Field
    ) -> tuple[int, ...]:
        """By which the match images differ that two elements on the same bits can make."""
        now = one[1] if one else None, two[1] if two else None
        image = _bits(first, now[0]) + _bits(second, now[1])
        return tuple(
            _bits(first, each[0]) + _bits(second, each[1]) - image
            for each in _same_packets(*now, first, second)
            if each != now
        )

    # ---- images -----------------------------------------------------------------------------

    def key(self, bits: int, id_: int, priority: int) -> bytes:
        """The match image: what two rules of the kind may not share."""
        if self.grouped:
            bits |= id_ << self.id_shift
        if self.has_priority:
            bits |= priority << self.priority_shift
        return bits.to_bytes(self.key_size, "big")

    def key_of(self, rule: Rule) -> bytes:
        bits = 0
        for name, matcher in rule.match:
            bits |= matcher_bits(self.matched[name], matcher)
        return self.key(bits, rule.id, rule.priority)

    def owned_by(self, rule: Rule) -> Iterable[Reference]:
        """Every rule that this one points at."""
        for _, reference in rule.references:
            if reference.kind != "port":
                yield reference
        if rule.target is not None:
            yield rule.target
        if rule.members and self.spread is not None:
            for member in rule.members:
                yield Reference(self.spread.kind, member.id)


def rule_of(
    kind: Kind, id_: int, sequence: int, name: str, owner: int, priority: int,
    match: tuple[Pair, ...], values: Mapping[str, int], references: Mapping[str, Reference],
    target: Reference | None, members: tuple[Member, ...] = (),
) -> Rule:  # fmt: skip
    """A rule whose given elements are in any order."""
    gives = kind.rule.gives
    return _new(Rule, (
        kind.name, id_, sequence, name, owner, priority, match,
        tuple([(n, values[n]) for n in gives if n in values]) if values else (),
        tuple([(n, references[n]) for n in gives if n in references]) if references else (),
        target, members,
    ))  # fmt: skip


def _given(field: Field, ie: IE) -> Hit:
    """What an IE says that no packet is matched by."""
    role, codec = field.role, field.codec
    if ie.form != "value":
        title = f"`{codec.name}` takes one value"
        raise Fault("H0419", title, "values", "more than a value", "write the value alone")
    if role == REFERENCE and isinstance(ie.value, str) and not ie.value[:1].isdigit():
        return REFERENCE, codec.name, ie.value, 0, field
    number = codec.number(ie.value)
    if role == WEIGHT and number == 0:
        raise Fault("H0437", "a member of weight 0 gets no flows", "value", "",
                    "leave the member out, or delete it from the rule")  # fmt: skip
    return role, codec.name, number, 0, field


def _bits(field: Field, matcher: Matcher | None) -> int:
    return matcher_bits(field, matcher) if matcher is not None else 0


def matcher_bits(field: Field, matcher: Matcher) -> int:
    wide = field.wide
    form, value, other = matcher
    return ((FORM_CODES[form] << wide | value) << wide | other) << field.shift


def _keep(cache: dict[_K, _V], key: _K, value: _V) -> _V:
    if len(cache) >= _KEPT:
        cache.clear()
    cache[key] = value
    return value


def _overlapping(fields: list[Field]) -> Iterable[tuple[int, int]]:
    for i, first in enumerate(fields):
        for j in range(i + 1, len(fields)):
            one, two = first.match, fields[j].match
            assert one is not None and two is not None
            if one.position < two.position + two.width and two.position < one.position + one.width:
                yield i, j


def _same_packets(
    one: Matcher | None, two: Matcher | None, first: Field, second: Field
) -> Iterable[tuple[Matcher | None, Matcher | None]]:
    """What either or both of two elements on the same bits can say to match what these match."""
    if any(matcher is not None and matcher.form == "range" for matcher in (one, two)):
        return ()
    (v1, m1), (v2, m2) = (_in_packet(matcher, field) if matcher is not None else (0, 0)
                          for matcher, field in ((one, first), (two, second)))  # fmt: skip
    value, mask = v1 | v2, m1 | m2
    a, b = _out_of_packet(value, mask, first), _out_of_packet(value, mask, second)
    covers = [(_in_packet(m, f)[1] if m is not None else 0) for m, f in ((a, first), (b, second))]
    found = {(a, None): covers[0], (None, b): covers[1], (a, b): covers[0] | covers[1]}
    return [each for each, covered in found.items() if covered == mask]


def _out_of_packet(value: int, mask: int, field: Field) -> Matcher | None:
    """What an element says of bits in a key, as far as it has them; None where it cannot."""
    assert field.match is not None
    at, full = field.match.position, field.codec.full
    value, mask = value >> at & full, mask >> at & full
    if mask == full:
        return Matcher("value", value)
    if mask and field.match.kind == "ternary":
        return Matcher("mask", value, mask)
    host = full ^ mask
    if mask and field.match.kind == "lpm" and not host & (host + 1):
        return Matcher("prefix", value, mask.bit_count())
    return None


def _in_packet(matcher: Matcher, field: Field) -> tuple[int, int]:
    """Value and mask of a matcher where they stand in a key; a range says nothing of single
    bits."""
    form, value, other = matcher
    assert field.match is not None
    at, full = field.match.position, field.codec.full
    if form == "value":
        return value << at, full << at
    if form == "prefix":
        return value << at, (full ^ full >> other) << at
    return (value << at, other << at) if form == "mask" else (0, 0)
