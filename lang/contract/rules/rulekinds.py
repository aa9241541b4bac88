"""A rule kind of the manifest, prepared so that checking a rule costs lookups only."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ...text.diagnostics import did_you_mean
from ..manifest.manifest import Manifest, RuleKind
from ..request.request import IE
from .byte_values import codec_of
from .ie_values import PER_MILLE, Codec, Fault, fold
from .kind_fields import (
    ANY,
    MATCH,
    PARTIAL,
    POSITION,
    PRIORITY,
    REFERENCE,
    VALUE,
    WEIGHT,
    Field,
    Hit,
    Pair,
    Pairs,
    Reader,
    matcher_bits,
    reader_of,
)
from .never_match import never_together
from .rules import Member, Reference, Rule
from .same_bits import agree, differences, overlapping

#: Distinct spellings of values kept decoded, for each kind.
_KEPT = 1 << 16
_new = tuple.__new__  # a third of what a named tuple's own takes
_ANYTHING: Any = False

_K = TypeVar("_K")
_V = TypeVar("_V")


def purpose(rule: RuleKind) -> str:
    """What rules of the kind are for: the first paragraph of its documentation, as one line."""
    return " ".join(rule.doc.split("\n\n")[0].split())


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
        self.overlaps = list(overlapping(self.match))
        self.exclusive_pairs = never_together(manifest, rule)
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
        if self.spread and name in PER_MILLE and codec.width > 10:
            codec = Codec(codec.element, per_mille=True)
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
        if self.rule.priority is not None and name in ("priority", "precedence"):
            takes = f"the {self.rule.priority[0]} of {self.name} is `{self.rule.priority[1]}`"
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
                agree(one, two, self.match[i], self.match[j])
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
        read = reader_of(field, ie.form)
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

    def respelled(self, bits: int, pairs: Pairs) -> Iterator[int]:
        """The match images, without id and priority, of other elements that match the same
        packets: of `dscp 46` that of `tos 184`. `bits`: the image of `pairs`."""
        for i, j in self.overlaps:
            one, two = pairs[i] or None, pairs[j] or None
            if one is None and two is None:
                continue
            known = self._respelled.get((i, one, j, two))
            if known is None:
                known = differences(one, two, self.match[i], self.match[j])
                _keep(self._respelled, (i, one, j, two), known)
            for difference in known:
                yield bits + difference

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


def _keep(cache: dict[_K, _V], key: _K, value: _V) -> _V:
    if len(cache) >= _KEPT:
        cache.clear()
    cache[key] = value
    return value
