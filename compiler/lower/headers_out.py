"""Headers written in front of a packet: field values to stores, lengths and checksums derived."""

from __future__ import annotations

import operator
from functools import cached_property, partial

from ...lang.text.frozen import Frozen
from ..model import TAIL, Derived, Field, Group, Header
from ..model.sizes import first_field, solved
from ..model.sums import UPPER_LAYER, is_checksum, nearest_network
from .fields import Value, constant, pieces
from .lowered import Writer
from .padding import Padding, put_padding
from .stores import is_known, stores


class HeaderOut(Frozen):
    """A header to be written: `given` are values by field, `writes` what the edge to the next
    header says. Fields not named take their defaults. `computed`: checksums that are asked for, so
    that their group is there. `listed`: what the array holds, if the header has one. `padded`: what
    its `size` clause asks for where that is not known yet."""

    node: str
    header: Header
    given: dict[str, Value]
    writes: tuple[tuple[str, int], ...]
    computed: frozenset[str] = frozenset()
    listed: ListOut | None = None
    padded: Padding | None = None

    @property
    def variable(self) -> bool:
        conditions = (self.condition(g.name) for g in self.header.groups)
        return self.listed is not None or any(c not in ("0", "1") for c in conditions)

    @property
    def octets(self) -> int:
        """Of a header that is not variable."""
        return self.plain + self.padding

    @property
    def plain(self) -> int:
        """Octets of the fixed part and of the groups that are surely there, but an array."""
        groups = (
            g.width
            for g in self.header.groups
            if self.condition(g.name) == "1" and not self._is_listed(g)
        )
        return (self.header.fixed + sum(groups)) // 8

    def _is_listed(self, group: Group) -> bool:
        return self.listed is not None and group.count is not None

    @property
    def exact(self) -> bool:
        """Whether nothing but the array decides how many octets it has."""
        unknown = [g for g in self.header.groups if self.condition(g.name) not in ("0", "1")]
        return not unknown and not self.header.tail

    @property
    def possible(self) -> set[int]:
        """How many octets it may have without padding, and numbers between them."""
        found = {self.header.fixed // 8}
        for group in self.header.groups:
            octets, condition = group.width // 8, self.condition(group.name)
            most = self.listed.most if self.listed and self._is_listed(group) else 1
            counts = range(condition == "1" and not self._is_listed(group), most + 1)
            if condition != "0":
                found = {n + octets * count for n in found for count in counts}
        return found

    @property
    def padding(self) -> int:
        """Octets of zeros that the `size` clause asks for, in front of the tail."""
        field, _, size = self.sized
        return size - self.plain if field else 0

    @cached_property
    def sized(self) -> tuple[str, int, int]:
        """The field that says the size, its value, and the size: the least that has room."""
        if self.header.size is None or self.variable:
            return "", 0, self.plain
        return solved(self.header, self.header.size, lambda size: size >= self.plain)

    def size_text(self) -> str:
        """C text of its octets."""
        parts = [str(self.header.fixed // 8 + self.padding)]
        for group in self.header.groups:
            c = self.condition(group.name)
            octets = group.width // 8
            if self.listed is not None and group.count is not None:
                parts.append(f"{self.listed.count} * {octets}")
            elif c != "0":
                parts.append(str(octets) if c == "1" else f"({c} ? {octets} : 0)")
        if self.padded is not None and self.padded.most:
            parts.append(self.padded.octets)
        return " + ".join(parts)

    def condition(self, name: str) -> str:
        """C text of whether a group is written: if one of its flags is set."""
        flags = self.header.group(name).flags
        texts = [text for text in map(self.flag, flags) if text != "0"]
        if not flags or "1" in texts:
            return "1"
        if len(texts) < 2:
            return texts[0] if texts else "0"
        return f"({' | '.join(texts)})"

    def flag(self, name: str) -> str:
        """C text of a flag's value: as given, else by what its group is given, else by the edge,
        else by default. "0" and "1" where it is known."""
        otherwise = dict(self.writes).get(name, self.header.field(name).default)
        fallback = "1" if otherwise else "0"
        if name in self.given:
            said = self.given[name]
            text = str(int(said.text, 0)) if is_known(said) else said.text
            return f"({said.given} ? {text} : {fallback})" if said.given else text
        told = self._told(self.header.group_of_flag(name))
        if "" in told or (told and fallback == "1"):
            return "1"
        if len(told) < 2:
            return told[0] if told else fallback
        return f"({' | '.join(told)})"

    def _told(self, group: str | None) -> list[str]:
        """When the fields of a group are given values, as C conditions; "" is always."""
        fields = [f.name for f in self.header.fields if f.group == group and group is not None]
        if self.computed.intersection(fields):
            return [""]
        return [self.given[name].given for name in fields if name in self.given]

    def value_of(self, f: Field) -> Value | None:
        """The value of a field; None where it is derived later."""
        if f.name in self.header.flags:
            return Value(self.flag(f.name), 1)
        if f.name in self.given:
            return self._given(f)
        if self.padded is not None and f.name == self.padded.field:
            return Value(self.padded.number, f.width)
        if self.listed is not None and (number_of := self._follows(f.name)) is not None:
            return Value(self.listed.text(number_of), f.width)
        field, number, _ = self.sized
        if f.name == field:
            return Value(f"{number:#x}", f.width)
        if isinstance(f.default, Derived) and f.default.what == "length":
            return None
        if isinstance(f.default, Derived):
            return Value("0x0", f.width)  # until it is summed up
        return constant(self.untold(f), f.width)

    def part(self, name: str) -> Value:
        """The value of a part of a divided field, where that may be given as a whole."""
        part = self.header.field(name)
        whole = self.header.field(part.part_of) if part.part_of in self.given else None
        found = self.value_of(whole if whole and name not in self.given else part)
        assert found is not None, "a part is never derived"
        if whole is None or name in self.given:
            return found
        shift = whole.offset + whole.width - part.offset - part.width
        return Value(f"({found.host()} >> {shift} & {(1 << part.width) - 1:#x})", part.width)

    def _given(self, f: Field) -> Value:
        """The value that the push says; of one that a rule may leave out, what it is else."""
        said = self.given[f.name]
        if not said.given or (f.group is not None and self.condition(f.group) == said.given):
            return said
        otherwise = constant(self.untold(f), f.width).text
        if f.part_of in self.given:
            whole = self.header.field(f.part_of)
            shift = whole.offset + whole.width - f.offset - f.width
            otherwise = f"({self._given(whole).host()} >> {shift} & {(1 << f.width) - 1:#x})"
        return Value(f"({said.given} ? {said.host()} : {otherwise})", f.width)

    def untold(self, f: Field) -> int:
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
            return sum(self.untold(p) << end - p.offset - p.width for p in known)
        whole = self.header.field(f.part_of)
        shift = whole.offset + whole.width - f.offset - f.width
        return self.untold(whole) >> shift & (1 << f.width) - 1

    def _follows(self, name: str) -> list[int] | None:
        """The values of a field that follows from how many elements the array has, by that; None of
        another field."""
        header, listed = self.header, self.listed
        assert listed is not None
        array = next(g for g in header.groups if g.count is not None)
        assert array.count is not None
        sizes = [self.plain + n * array.width // 8 for n in range(listed.most + 1)]
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
            and (f.group is None or self.condition(f.group) != "0")
        ]

    def octet_of(self, f: Field) -> str:
        """C text of where a field starts, counted from the header."""
        at = str(f.offset // 8)
        if f.group is None:
            return at
        at = f"{self.header.fixed // 8} + {at}"
        for group in self.header.groups:
            if group.name == f.group:
                break
            if self._is_listed(group):
                assert self.listed is not None
                at += f" + {self.listed.count} * {group.width // 8}"
                continue
            at += f" + ({self.condition(group.name)} ? {group.width // 8} : 0)"
        padding = self.padded.octets if self.padded is not None else str(self.padding)
        return at if f.group != TAIL else f"{at} + {padding}"


class ListOut(Frozen):
    """What an array is to hold: C names of how many values and of where their first is, and which
    way they are taken from there. `most`: so many at most."""

    count: str
    first: str
    most: int
    backwards: bool

    def text(self, by_count: list[int]) -> str:
        """C text of a number that follows from the count."""
        step = by_count[2] - by_count[1] if len(by_count) > 2 else 0
        start = by_count[1] - step
        if any(v != start + n * step for n, v in enumerate(by_count) if n):
            texts = [f"{self.count} == {n} ? {v} : " for n, v in enumerate(by_count[:-1])]
            return f"({''.join(texts)}{by_count[-1]})"
        text = f"({self.count} * {step} + {start})" if start >= 0 else ""
        text = text or f"({self.count} * {step} - {-start})"
        return text if by_count[0] == start else f"({self.count} ? {text} : {by_count[0]})"

    def put(self, w: Writer, where: str, octets: int) -> None:
        """Write the values one behind the other from `where` on."""
        for i in range(self.most):
            with w.nest(f"if ({self.count} > {i}) {{"):
                w.never(f"{where} + {(i + 1) * octets} > end")
                at = f"{i * octets}"
                if self.backwards:
                    at = w.fresh("at")
                    w.put(f"u64 {at} = {self.count} - {i + 1};")
                    w.put(f"OPAQUE({at}); /* clang knows its bound, the verifier does not */")
                    w.never(f"{at} >= {self.most}")
                    w.put(f"OPAQUE({at}); /* reckoned with only here, where it is bounded */")
                    at = f"{at} * {octets}"
                for done, size in pieces(octets, most=16):
                    value = f"RAW{size * 8}({self.first}, {at} + {done})"
                    w.put(f"PUT{size * 8}({where}, {i * octets + done}, {value});")


def put_headers(
    w: Writer,
    headers: tuple[HeaderOut, ...],
    start: int,
    extent: str,
) -> None:
    """Write headers one behind the other from octet `start` of `data`. `extent` is C text of the
    octets that follow the last one. The caller has checked all up to the fixed part of the first
    variable one."""
    constant_so_far = True
    base = str(start)
    for i, out in enumerate(headers):
        name = w.fresh(out.node)
        behind = [h.size_text() for h in headers[i + 1 :]]
        w.put(f"void *{name} = data + {base};")
        if not constant_so_far:
            w.never(f"{name} + {out.header.fixed // 8} > end")
        _put_header(w, out, name, " + ".join([extent, *behind]))
        constant_so_far = constant_so_far and not out.variable
        base = f"{base} + {out.size_text()}"


def _put_header(w: Writer, out: HeaderOut, pointer: str, payload: str) -> None:
    fixed = stores(out, None, payload)
    for s in fixed:
        w.put(f"PUT{s.octets * 8}({pointer}, {s.at}, {s.text});")
    for f in out.header.fields:
        if out.own_sum(f):
            total = " + ".join(word for s in fixed for word in s.words())
            w.put(f"PUT16({pointer}, {f.offset // 8}, fold({total}));")
    at = str(out.header.fixed // 8)
    for group in out.header.groups:
        condition = out.condition(group.name)
        if condition == "0":
            continue
        if group.name == TAIL:
            at = put_padding(w, out, pointer, at)
        octets = group.width // 8
        where = w.fresh("group")
        if out.listed is not None and group.count is not None:
            w.put(f"void *{where} = {pointer} + {at};")
            out.listed.put(w, where, octets)
            at = f"{at} + {out.listed.count} * {octets}"
            continue
        with w.nest(f"if ({condition}) {{"):
            w.put(f"void *{where} = {pointer} + {at};")
            w.never(f"{where} + {octets} > end")
            for s in stores(out, group.name, payload):
                w.put(f"PUT{s.octets * 8}({where}, {s.at}, {s.text});")
        at = f"{at} + {octets}" if condition == "1" else f"{at} + ({condition} ? {octets} : 0)"
    if not out.header.tail:
        put_padding(w, out, pointer, at)


def told_network(header: Header, at: str, routed: str = "") -> str:
    """C text of where an IP header starts, as `seal` asks. `routed`: of how many octets behind that
    a segment routing header does."""
    if header.protocol != "ipv6":
        return f"({at})"
    return f"(({at}) | OF_IPV6 | ({routed}) >> 3 << 24)" if routed else f"(({at}) | OF_IPV6)"


def seal_headers(
    w: Writer,
    headers: tuple[HeaderOut, ...],
    start: int | str,
    extent: str,
) -> None:
    """Checksums over more than their header, innermost first: the last thing to be done to a frame
    whose `headers` start at octet `start` and are followed by `extent` octets."""
    sizes = [h.size_text() for h in headers]
    places = [" + ".join([str(start), *sizes[:i]]) for i in range(len(headers))]
    for i, out in reversed(list(enumerate(headers))):
        network = nearest_network([h.header for h in headers[:i]])
        for f in out.sealed():
            assert isinstance(f.default, Derived)
            over, covered = f.default.over, []
            if "header" in over:
                covered.append(sizes[i])
            if "payload" in over:
                covered += [*sizes[i + 1 :], extent]
            at = places[i] if "header" in over else f"{places[i]} + {sizes[i]}"
            pseudo = "0"
            if "pseudo" in over and network is not None:
                upper = UPPER_LAYER.get(out.header.protocol, 0)
                between = [h.header.protocol for h in headers[network:i]]
                routing = between.index("srh") if "srh" in between else 0
                routed = " + ".join(sizes[network : network + routing])
                told = told_network(headers[network].header, places[network], routed)
                pseudo = f"{told} | {upper} << 16"
            field = f"{places[i]} + {out.octet_of(f)}"
            call = f"seal(ctx, {pseudo}, {at}, {' + '.join(covered)}, {field})"
            present = "1" if f.group is None else out.condition(f.group)
            when = f"!{call}" if present == "1" else f"{present} && !{call}"
            w.never(when)
