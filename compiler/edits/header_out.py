"""A header that is to be written: what its fields hold, how many bytes it has."""

from __future__ import annotations

import operator
from functools import cached_property, partial

from ...lang.text.frozen import Frozen
from ..ir.edits import ArrayValues
from ..ir.expr import ONE, ZERO, Expr, Number, Operand, number
from ..ir.expr_builders import bits_joined, choose, low_bits, total
from ..ir.values import Value, constant
from ..model import TAIL, Derived, Field, Group, Header
from ..model.checksums import is_checksum
from ..model.header_sizes import first_field, solved
from .arrays import by_count


class Padding(Frozen):
    """How many bytes of zeros stand in front of the tail (`most` at most), and the value of the
    field that says the size."""

    count: Expr
    field: str
    number: Expr
    most: int


class HeaderOut(Frozen):
    """A header to be written: `given` are values by field, `writes` what the edge to the next
    header says. Fields not named take their defaults. `computed`: checksums that are asked for, so
    that their group is there. `array`: what the array holds, if the header has one. `padded`: what
    its `size` clause asks for where that is not known yet."""

    node: str
    header: Header
    given: dict[str, Value]
    writes: tuple[tuple[str, int], ...]
    computed: frozenset[str] = frozenset()
    array: ArrayValues | None = None
    padded: Padding | None = None

    @property
    def variable(self) -> bool:
        conditions = (self.condition(g.name) for g in self.header.groups)
        return self.array is not None or not all(isinstance(c, Number) for c in conditions)

    @property
    def known_size(self) -> int:
        """Of a header that is not variable."""
        return self.plain + self.padding

    @property
    def plain(self) -> int:
        """Bytes of the fixed part and of the groups that are surely there, but an array."""
        groups = (
            g.width
            for g in self.header.groups
            if self.condition(g.name) == ONE and not self._is_array(g)
        )
        return (self.header.fixed + sum(groups)) // 8

    def _is_array(self, group: Group) -> bool:
        return self.array is not None and group.count is not None

    @property
    def exact(self) -> bool:
        """Whether nothing but the array decides how many bytes it has."""
        known = all(isinstance(self.condition(g.name), Number) for g in self.header.groups)
        return known and not self.header.tail

    @property
    def possible(self) -> set[int]:
        """How many bytes it may have without padding, and numbers between them."""
        found = {self.header.fixed // 8}
        for group in self.header.groups:
            size, condition = group.width // 8, self.condition(group.name)
            most = self.array.most if self.array and self._is_array(group) else 1
            counts = range(condition == ONE and not self._is_array(group), most + 1)
            if condition != ZERO:
                found = {n + size * count for n in found for count in counts}
        return found

    @property
    def padding(self) -> int:
        """Bytes of zeros that the `size` clause asks for, in front of the tail."""
        field, _, size = self.sized
        return size - self.plain if field else 0

    @cached_property
    def sized(self) -> tuple[str, int, int]:
        """The field that says the size, its value, and the size: the least that has room."""
        if self.header.size is None or self.variable:
            return "", 0, self.plain
        return solved(self.header, self.header.size, lambda size: size >= self.plain)

    def size(self) -> Expr:
        """Its bytes."""
        parts: list[Operand] = [self.header.fixed // 8 + self.padding]
        for group in self.header.groups:
            size = group.width // 8
            if self.array is not None and group.count is not None:
                parts.append(self.array.count * size)
            else:
                parts.append(choose(self.condition(group.name), size, 0))
        if self.padded is not None and self.padded.most:
            parts.append(self.padded.count)
        return total(parts)

    def condition(self, name: str) -> Expr:
        """Whether a group is written: if one of its flags is set. A number where that is known."""
        flags = [self.flag(flag) for flag in self.header.group(name).flags]
        unknown = [flag for flag in flags if not isinstance(flag, Number)]
        if not flags or ONE in flags:
            return ONE
        return bits_joined(unknown) if unknown else ZERO

    def flag(self, name: str) -> Expr:
        """A flag's value: as given, else by what its group is given, else by the edge, else by
        default. A number where it is known."""
        otherwise = dict(self.writes).get(name, self.header.field(name).default)
        fallback = ONE if otherwise else ZERO
        if name in self.given:
            said = self.given[name]
            return said.expr if said.given is None else choose(said.given, said.expr, fallback)
        given = self._given_flags(self.header.group_of_flag(name))
        if None in given or (given and fallback == ONE):
            return ONE
        return bits_joined(each for each in given if each is not None) if given else fallback

    def _given_flags(self, group: str | None) -> list[Expr | None]:
        """When the fields of a group are given values; None is always."""
        fields = [f.name for f in self.header.fields if f.group == group and group is not None]
        if self.computed.intersection(fields):
            return [None]
        return [self.given[name].given for name in fields if name in self.given]

    def value_of(self, f: Field) -> Value | None:
        """The value of a field; None where it is derived later."""
        if f.name in self.header.flags:
            return Value(self.flag(f.name), 1)
        if f.name in self.given:
            return self._given(f)
        if self.padded is not None and f.name == self.padded.field:
            return Value(self.padded.number, f.width)
        if self.array is not None and (number_of := self._follows(f.name)) is not None:
            return Value(by_count(self.array, number_of), f.width)
        field, known, _ = self.sized
        if f.name == field:
            return constant(known, f.width)
        if isinstance(f.default, Derived) and f.default.what == "length":
            return None
        if isinstance(f.default, Derived):
            return constant(0, f.width)  # until it is summed up
        return constant(self.fallback_of(f), f.width)

    def part(self, name: str) -> Value:
        """The value of a part of a divided field, where that may be given as a whole."""
        part = self.header.field(name)
        whole = self.header.field(part.part_of) if part.part_of in self.given else None
        found = self.value_of(whole if whole and name not in self.given else part)
        assert found is not None, "a part is never derived"
        if whole is None or name in self.given:
            return found
        shift = whole.offset + whole.width - part.offset - part.width
        return Value(low_bits(found.host() >> shift, part.width), part.width)

    def _given(self, f: Field) -> Value:
        """The value that the push says; of one that a rule may leave out, what it is else."""
        said = self.given[f.name]
        if said.given is None or (f.group is not None and self.condition(f.group) == said.given):
            return said
        otherwise: Expr = number(self.fallback_of(f))
        if f.part_of in self.given:
            whole = self.header.field(f.part_of)
            shift = whole.offset + whole.width - f.offset - f.width
            otherwise = low_bits(self._given(whole).host() >> shift, f.width)
        return Value(choose(said.given, said.host(), otherwise), f.width)

    def fallback_of(self, f: Field) -> int:
        """The value of a field of which the push says nothing."""
        written = dict(self.writes)
        if f.name in written:
            return written[f.name]
        if isinstance(f.default, int):
            return f.default
        if f.part_of is None:
            parts = (p for p in self.header.fields if p.part_of == f.name)
            known = (p for p in parts if p.name in written or isinstance(p.default, int))
            end = f.offset + f.width
            return sum(self.fallback_of(p) << end - p.offset - p.width for p in known)
        whole = self.header.field(f.part_of)
        shift = whole.offset + whole.width - f.offset - f.width
        return self.fallback_of(whole) >> shift & (1 << f.width) - 1

    def _follows(self, name: str) -> list[int] | None:
        """The values of a field that follows from how many elements the array has, by that; None of
        another field."""
        header, values = self.header, self.array
        assert values is not None
        array = next(g for g in header.groups if g.count is not None)
        assert array.count is not None
        sizes = [self.plain + n * array.width // 8 for n in range(values.most + 1)]
        if name == first_field(array.count):
            count = array.count
            return [solved(header, count, partial(operator.eq, n))[1] for n in range(len(sizes))]
        if header.size is not None and name == first_field(header.size):
            size = header.size
            found = [solved(header, size, partial(operator.le, n)) for n in sizes]
            return [number for _, number, _ in found]
        return None

    def own_sum(self, f: Field) -> bool:
        """A checksum over nothing but the fixed header, summed up as the header is written."""
        return (
            is_checksum(f)
            and f.name not in self.given
            and f.default == Derived("checksum", frozenset({"header"}))
            and not self.header.groups
        )

    def sealed(self) -> list[Field]:
        """Checksums over more than that: the last to be written."""
        return [
            f
            for f in self.header.fields
            if is_checksum(f)
            and f.name not in self.given
            and not self.own_sum(f)
            and (f.group is None or self.condition(f.group) != ZERO)
        ]

    def offset_of(self, f: Field) -> Expr:
        """Where a field starts, counted from the header."""
        parts: list[Operand] = [f.offset // 8]
        if f.group is None:
            return total(parts)
        parts.append(self.header.fixed // 8)
        for group in self.header.groups:
            if group.name == f.group:
                break
            size = group.width // 8
            if self._is_array(group):
                assert self.array is not None
                parts.append(self.array.count * size)
            else:
                parts.append(choose(self.condition(group.name), size, 0))
        if f.group == TAIL:
            parts.append(self.padding if self.padded is None else self.padded.count)
        return total(parts)
