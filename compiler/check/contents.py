"""What a header surely holds, as far as `check` knows it: of each field the least and the greatest
number, and from that the bits that it begins with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from .. import model
from ..model import guards
from ..model.arithmetic import Interval, interval

ANY: Interval = (0, (1 << 64) - 1)


class Bits(NamedTuple):
    """The first `width` bits of something: `value` where they are `known`; as a number they are
    within `interval`."""

    width: int
    known: int
    value: int
    interval: Interval

    def then(self, other: Bits) -> Bits:
        (low, high), (least, most) = self.interval, other.interval
        return Bits(
            self.width + other.width,
            self.known << other.width | other.known,
            self.value << other.width | other.value,
            (low << other.width | least, high << other.width | most),
        )

    def part(self, offset: int, width: int) -> Bits:
        down, ones = self.width - offset - width, (1 << width) - 1
        known, value = self.known >> down & ones, self.value >> down & ones
        low, high = (number >> down for number in self.interval)
        if low >> width == high >> width:  # the bits in front of the part are the same
            return Bits(width, known, value, (low & ones, high & ones))
        return Bits(width, known, value, (value, value | ones & ~known))


def bits_of(interval: Interval, width: int) -> Bits:
    """Those of a number within an interval: known are the bits that all its numbers have."""
    low, high = interval
    known = (1 << width) - 1 & ~((1 << (low ^ high).bit_length()) - 1)
    return Bits(width, known, low & known, interval)


def unknown(width: int) -> Bits:
    return bits_of((0, (1 << width) - 1), width)


NOTHING = unknown(0)


class Contents:
    """`said`: fields by name, `never`: numbers that they are not. Of a header that is `written` the
    others have their defaults; of one that came nothing is known of them."""

    def __init__(
        self,
        header: model.Header,
        said: Mapping[str, Interval],
        written: bool = True,
        never: Mapping[str, frozenset[int]] = MappingProxyType({}),
    ) -> None:
        self.header, self.said, self.written, self.never = header, said, written, never

    def but_for(self, name: str, within: Interval) -> Contents:
        """The same with other numbers in a field."""
        said = {**self.said, name: within}
        return Contents(self.header, said, self.written, self.never)

    def of(self, name: str) -> Interval:
        return self.bits(name).interval

    def bits(self, name: str) -> Bits:
        field = self.header.field(name)
        if name in self.said:
            return bits_of(self.said[name], field.width)
        parts = [f for f in self.header.fields if f.part_of == name]
        if parts:
            found = NOTHING
            for part in parts:
                found = found.then(self.bits(part.name))
            return found
        return self._by_default(field)

    def _by_default(self, field: model.Field) -> Bits:
        """Of a field that nothing is said of."""
        whole = self.header.field(field.part_of) if field.part_of else None
        if whole is not None and whole.name in self.said:
            said = bits_of(self.said[whole.name], whole.width)
            return said.part(field.offset - whole.offset, field.width)
        if not self.written or field.width == 0:
            return unknown(field.width)
        if isinstance(field.default, int):
            return bits_of((field.default, field.default), field.width)
        if whole is not None and isinstance(whole.default, int):
            default = bits_of((whole.default, whole.default), whole.width)
            return default.part(field.offset - whole.offset, field.width)
        return bits_of((0, 0), field.width) if field.name[0] == "_" else unknown(field.width)

    def begin(self, width: int) -> Bits:
        """As many of the first bits as lie in the fixed part."""
        found = NOTHING
        for field in self.header.fields:
            if field.group is None and not field.part_of and field.width:
                found = found.then(self.bits(field.name))
        return found.part(0, min(width, found.width))

    @property
    def fixed(self) -> bool:
        """Whether another header begins where the fixed part ends."""
        return not self.header.groups and self.header.size is None

    def has(self, field: model.Field) -> bool:
        """Whether the header surely has the field."""
        flags = self.header.group(field.group).flags if field.group is not None else ()
        return not flags or any(self.of(flag) == (1, 1) for flag in flags)


def begin_with(following: Iterable[Contents], width: int) -> Bits:
    """The first bits of headers that follow each other."""
    found = NOTHING
    for contents in following:
        found = found.then(contents.begin(width - found.width))
        if found.width == width or not contents.fixed:
            break
    return found.then(unknown(width - found.width))


# ---- what holds -------------------------------------------------------------------------------


def test_holds(test: model.Test, contents: Contents, behind: Bits) -> bool | None:
    """Whether an edge's test surely holds, or surely does not; None: who knows. `behind`: what
    follows the header, of as many bits as the test looks ahead."""
    if test.ahead:
        return _matches(test, behind)
    field = contents.header.field(test.field)
    if not contents.has(field):
        return None
    return _matches(test, contents.bits(test.field))


def _matches(test: model.Test, bits: Bits) -> bool | None:
    if test.mask is None:
        if not guards.without((bits.interval,), test.ranges):
            return True
        possible = any(_may_lie(a, b, bits) for a, b in test.ranges)
        return None if possible else False
    values = [low for low, _ in test.ranges]
    if not test.mask & ~bits.known:
        return bits.value & test.mask in values
    return None if any(not (v ^ bits.value) & test.mask & bits.known for v in values) else False


def _may_lie(low: int, high: int, bits: Bits) -> bool:
    """Whether one of the numbers that they may be lies between these."""
    low, high = max(low, bits.interval[0]), min(high, bits.interval[1])
    return low <= high and guards.least_at(low, bits.value, bits.known) <= high


def decided(contents: Contents, tests: Iterable[model.Test], most: int) -> list[Contents]:
    """The ways in which each of these tests holds or does not, as far as ranges of its field decide
    it; the contents alone if there would be more than `most`."""
    ways = [contents]
    for test in tests:
        if (
            test.ahead
            or test.mask is not None
            or not contents.has(contents.header.field(test.field))
        ):
            continue
        ways = [w for way in ways for w in _divided(way, test)]
        if len(ways) > most:
            return [contents]
    return ways


def _divided(contents: Contents, test: model.Test) -> list[Contents]:
    low, high = within = contents.of(test.field)
    inside = [(max(a, low), min(b, high)) for a, b in test.ranges if a <= high and low <= b]
    parts = (*inside, *guards.without((within,), test.ranges))
    return [contents.but_for(test.field, part) for part in parts] if len(parts) > 1 else [contents]


def holds(condition: model.Condition, contents: Contents) -> bool | None:
    """The same of a header's clause."""
    match condition:
        case model.Compare("!=", model.Own(name), model.Const(value)) if (
            value in contents.never.get(name, ())
        ):
            return True
        case model.Compare("=" | "!=" as operator, model.Own(name), model.Const(value)):
            bits, low, high = contents.bits(name), *contents.of(name)
            if (value ^ bits.value) & bits.known or not low <= value <= high:
                return operator == "!="
            return operator == "=" if low == high else None
        case model.Compare(operator, left, right):
            return _compare(operator, number(left, contents), number(right, contents))
        case model.Among(subject, ranges):
            return _among(subject, ranges, contents)
        case model.Not(operand):
            inner = holds(operand, contents)
            return None if inner is None else not inner
        case model.And(operands):
            found = [holds(o, contents) for o in operands]
            return False if False in found else None if None in found else True
        case model.Or(operands):
            found = [holds(o, contents) for o in operands]
            return True if True in found else None if None in found else False
    return None


def _among(subject: model.Expr, ranges: model.Ranges, contents: Contents) -> bool | None:
    low, high = number(subject, contents)
    if any(a <= low and high <= b for a, b in ranges):
        return True
    met = [(a, b) for a, b in ranges if a <= high and low <= b]
    if isinstance(subject, model.Own):
        bits = contents.bits(subject.field)
        met = [(a, b) for a, b in met if a < b or not (a ^ bits.value) & bits.known]
    return None if met else False


def _compare(operator: model.Comparison, a: Interval, b: Interval) -> bool | None:
    match operator:
        case "=":
            sure, never = a == b and a[0] == a[1], a[1] < b[0] or b[1] < a[0]
        case "!=":
            sure, never = a[1] < b[0] or b[1] < a[0], a == b and a[0] == a[1]
        case "<":
            sure, never = a[1] < b[0], a[0] >= b[1]
        case "<=":
            sure, never = a[1] <= b[0], a[0] > b[1]
        case ">":
            sure, never = a[0] > b[1], a[1] <= b[0]
        case ">=":
            sure, never = a[0] >= b[1], a[1] < b[0]
    return True if sure else False if never else None


def number(expr: model.Expr, contents: Contents) -> Interval:
    """What an expression of a clause may be."""
    match expr:
        case model.Const(value):
            return value, value
        case model.Own(name):
            return contents.of(name)
        case model.Arithmetic("&", model.Own(name), model.Const(mask)):
            bits = contents.bits(name)
            low = bits.value & mask
            return low, low | mask & ~bits.known & (1 << bits.width) - 1
        case model.Arithmetic(width=width) if width > 64:
            return 0, (1 << width) - 1
        case model.Arithmetic(operator, left, right):
            return reckoned(operator, number(left, contents), number(right, contents))
    return ANY


def reckoned(operator: str, a: Interval, b: Interval) -> Interval:
    if (operator in ("<<", ">>") and b[1] > 63) or (operator in ("/", "%") and not b[0]):
        return ANY
    low, high = interval(operator, a, b)
    return (low, high) if low >= 0 and high <= ANY[1] else ANY
