"""Whether the pipeline's own parser reads a push back as what was pushed: the tests of the edges
between its headers hold, and the clauses by which these headers are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from itertools import product, zip_longest
from math import prod
from typing import NamedTuple

from ...lang.text.source import Span
from .. import model
from ..lower.reads import walk
from ..model import guards
from ..model.sizes import first_field
from . import faults_changes as faults
from .contents import (
    Contents,
    begin_with,
    decided,
    holds,
    number,
    test_holds,
    unknown,
)
from .flow import Scope
from .lengths import Lengths, Pushed
from .ranges import Facts, excluded, narrowed
from .stage_names import Program
from .written import (
    Counts,
    Written,
    came,
    contents_of,
    is_derived,
    number_of_elements,
    octets_of,
    read_edges,
)

#: More ways in which lists may be long than this are not looked at one by one.
MOST_COUNTS = 1_024
#: The edges that read a header, in each way that it may be.
Ways = tuple[tuple[model.Edge, ...], ...]


class ReadBack(NamedTuple):
    """`written` in order; `sources`: nodes that may stand in front of the first; `behind`: what is
    known of what follows the last, in each way that may be (none where nobody reads that). `ends`:
    nothing does."""

    program: Program
    written: tuple[Written, ...]
    sources: tuple[str, ...]
    target: str
    behind: tuple[Contents, ...]
    tested: Facts
    ends: bool = False

    def check(self) -> list[tuple[Contents, ...]]:
        """Reports what would be read as something else. Returns what the headers hold, in each way
        that may be."""
        graph, names = self.program.checked.graph, [w.element.node for w in self.written]
        found = []
        for counts in self.every_count():
            contents = tuple(contents_of(w, counts, self.tested) for w in self.written)
            found.append(contents)
            for behind in self.behind or (None,):
                ways: list[Ways] = []
                rest = (*contents, *([behind] if behind else []))
                lengths = self.lengths(contents, counts, behind)
                for source in self.sources:
                    self.edge_in_front(source, rest)
                for i, (w, following) in enumerate(zip_longest(self.written, self.written[1:])):
                    target = following.element.node if following else self.target
                    if target:
                        ways.append(self.edge(w, following, target, rest[i:]))
                    front = self.sources if not i else (names[i - 1],)
                    if any(read_edges(graph, source, w.element.node) for source in front):
                        self.clauses(w, contents[i], bool(target))
                        self.elements(w, counts, contents[i])
                        self.reaches(w, contents[i], lengths, i)
                self.roles([*names, self.target], ways)
        return found

    def roles(self, names: list[str], ways: list[Ways]) -> None:
        """Whatever the headers hold, there is a role on which the whole path is read."""
        for each in product(*ways):
            left: frozenset[str] | None = None
            before: tuple[Span, str] | None = None
            for i, reading in enumerate(each):
                if not reading:
                    continue
                (edge, *_), roles = reading, frozenset[str]().union(*(e.roles for e in reading))
                here = edge.span, f"on {', '.join(sorted(roles))}"
                if before and left is not None and not left & roles:
                    span, node = self.written[i].span, self.written[i].element.node
                    self.program.report(faults.no_role_reads(span, node, before, here))
                    return
                left, before = roles if left is None else left & roles, here

    def every_count(self) -> list[Counts]:
        lists = (items for w in self.written for _, items in w.element.lists)
        keys = list(dict.fromkeys(model.Count(i.source, i.most) for i in lists))
        numbers = [self.counts_of(key) for key in keys]
        if prod(map(len, numbers)) > MOST_COUNTS:
            return [{}]
        return [dict(zip(keys, each, strict=True)) for each in product(*numbers)]

    def counts_of(self, key: model.Count) -> list[int]:
        """How many values an element may hold here."""
        low, high = narrowed(self.tested, key, 1, key.most)
        never = excluded(self.tested, key)
        return [n for n in range(low, high + 1) if n not in never]

    def edge_in_front(self, source: str, rest: tuple[Contents, ...]) -> None:
        """What a header in front is read by is written there; what it looks ahead at is not."""
        graph, first = self.program.checked.graph, self.written[0]
        edges = read_edges(graph, source, first.element.node)
        front = Contents(graph.node(source).header, {})
        ahead = [tuple(t for t in e.tests if t.ahead) for e in edges]
        failing = [self.first_failing(each, front, rest) for each in ahead]
        if failing and failing[0] and all(failing):
            self.report_ahead(first, first, edges[0], failing[0], front, rest)

    def edge(
        self, w: Written, following: Written | None, target: str, rest: tuple[Contents, ...]
    ) -> Ways:
        """`rest`: the header, and what follows it. Returns the edges that surely read it, in each
        way that it may be; none where that was reported."""
        edges = read_edges(self.program.checked.graph, w.element.node, target)
        ways = self.reading(edges, rest)
        if all(ways) or not edges:
            return ways
        every = [(e, self.first_failing(e.tests, rest[0], rest[1:])) for e in edges]
        failing = [(edge, *found) for edge, found in every if found]
        edge, test, never = next((each for each in failing if not each[2]), failing[0])
        if test.ahead:
            self.report_ahead(w, following, edge, (test, never), rest[0], rest[1:])
            return ((),)

        def right(contents: Contents) -> bool:
            return bool(test_holds(test, contents, unknown(test.ahead)))

        where, hexadecimal = read_by(edge, test), in_hexadecimal(edge, test)
        self.report(w, test.field, rest[0], where, never, right, hexadecimal)
        return ((),)

    def reading(self, edges: Sequence[model.Edge], rest: tuple[Contents, ...]) -> Ways:
        tests = (test for edge in edges for test in edge.tests)
        return tuple(
            dict.fromkeys(
                tuple(e for e in edges if not self.first_failing(e.tests, way, rest[1:]))
                for way in decided(rest[0], tests, MOST_COUNTS)
            )
        )

    def first_failing(
        self, tests: Sequence[model.Test], contents: Contents, rest: tuple[Contents, ...]
    ) -> tuple[model.Test, bool] | None:
        """The first test that does not surely hold, and whether it surely does not."""
        for test in tests:
            held = test_holds(test, contents, begin_with(rest, test.ahead))
            if not held:
                return test, held is False
        return None

    def clauses(self, w: Written, contents: Contents, going_on: bool) -> None:
        """`going_on`: whether something behind the header is to be read as well."""
        header = w.header
        words = {"accept": header.accept, "require": header.require}
        words |= {"payload when": header.payload} if going_on else {}
        for word, condition in ((word, c) for word, every in words.items() for c in every):
            held = holds(condition, contents)
            if not held:
                name = _culprit(w, contents, own_fields(condition))
                says = f"`{word}` of `{header.name}` is about this field"
                where = (header.field(name).span, says)
                right = partial(_holds, condition)
                self.report(w, name, contents, where, held is False, right)

    def elements(self, w: Written, counts: Counts, contents: Contents) -> None:
        """An array is read with as many elements as it was given."""
        for name, items in w.element.lists:
            group = w.header.array(w.header.field(name))
            assert group is not None and group.count is not None
            given = number_of_elements(w, group, counts)
            if given is not None and number(group.count, contents) != (given, given):
                counter = w.header.field(first_field(group.count))
                source = f"{items.source.binding}.{items.source.element}"
                self.program.report(
                    faults.not_counted(w.spans[name], name, given, counter, source, items.skip)
                )

    def lengths(
        self, contents: Sequence[Contents], counts: Counts, behind: Contents | None
    ) -> Lengths:
        pushed = [
            Pushed(w.element.node, w.header, w.values, each, octets_of(w, each, counts))
            for w, each in zip(self.written, contents, strict=True)
        ]
        graph = self.program.checked.graph
        return Lengths(graph, pushed, behind, self.target, self.ends, counts, self.tested)

    def reaches(self, w: Written, contents: Contents, lengths: Lengths, i: int) -> None:
        """A header says how far it, and what follows it, reach."""
        for wrong in lengths.wrong(i):
            name = _culprit(w, contents, own_fields(wrong.expr))
            field = w.header.field(name)
            where = (
                field.span,
                f"`{wrong.word}` of `{w.header.name}` says how far it reaches by this",
            )
            span, says = self.said_of(w, name, contents)
            node = w.element.node
            self.program.report(faults.not_reached(span, node, field, says, where, wrong))

    # ---- reports -----------------------------------------------------------------------------

    def report_ahead(
        self,
        w: Written,
        following: Written | None,
        edge: model.Edge,
        failing: tuple[model.Test, bool],
        contents: Contents,
        rest: tuple[Contents, ...],
    ) -> None:
        """An edge looks ahead at `rest`: what is pushed as well, or what came (`following` is None
        then)."""
        test, never = failing
        ahead = _begin(rest[0].header, test.ahead)
        if following is None:
            self.program.report(
                faults.not_followed(w.span, self.target, ahead, read_by(edge, test), never)
            )
            return

        if not ahead:
            span, node = following.span, following.element.node
            self.program.report(faults.begins_otherwise(span, node, read_by(edge, test), never))
            return

        def right(other: Contents) -> bool:
            return bool(test_holds(test, contents, begin_with((other, *rest[1:]), test.ahead)))

        name = _culprit(following, rest[0], ahead)
        where, hexadecimal = read_by(edge, test), in_hexadecimal(edge, test)
        self.report(following, name, rest[0], where, never, right, hexadecimal)

    def report(
        self,
        w: Written,
        name: str,
        contents: Contents,
        where: tuple[Span, str],
        never: bool,
        right: Callable[[Contents], bool],
        hexadecimal: bool = False,
    ) -> None:
        """`right`: whether the header would be read if it held that."""
        write = partial(shown, w.header.field(name), hexadecimal)
        span, says = self.said_of(w, name, contents, write)
        unsaid = w.unsaid(name) if name in w.spans else None
        if unsaid is not None and not right(contents.but_for(name, (unsaid, unsaid))):
            unsaid = None
        leaves = None if unsaid is None else write(unsaid)
        self.program.report(
            faults.not_read_back(span, w.element.node, name, says, where, never, leaves)
        )

    def said_of(
        self, w: Written, name: str, contents: Contents, write: Callable[[int], str] = str
    ) -> tuple[Span, str]:
        """What a field is, where the push gives it, or else at the header's name."""
        low, high = contents.of(name)
        says = f"`{name}` is {write(low)}"
        if low != high:
            says = f"`{name}` may be {write(low)} to {write(high)}"
        if is_derived(w.header.field(name)):
            says = f"`{name}` is computed"
        span = next((w.spans[n] for n in same_bits(w.header, name) if n in w.spans), w.span)
        return span, says


def read_behind(program: Program, source: str, node: model.Node, span: Span, scope: Scope) -> None:
    """Reports where an edge of the link header that is to announce `node` looks ahead in vain."""
    contents = came(program, node, scope)
    failing: list[tuple[model.Edge, model.Test, bool]] = []
    edges = read_edges(program.checked.graph, source, node.name)
    for edge in edges:
        for test in (t for t in edge.tests if t.ahead):
            held = test_holds(test, contents, begin_with([contents], test.ahead))
            if not held:
                failing.append((edge, test, held is False))
                break
    if failing and len(failing) == len(edges):
        edge, test, never = failing[0]
        ahead = _begin(node.header, test.ahead)
        program.report(faults.not_followed(span, node.name, ahead, read_by(edge, test), never))


def goes_on(program: Program, node: model.Node, span: Span, scope: Scope) -> None:
    """Reports where parsing may stop behind a header that came and was the last one."""
    contents = came(program, node, scope)
    for condition in node.header.payload:
        if not holds(condition, contents):
            field = node.header.field(own_fields(condition)[0])
            program.report(faults.may_stop(span, node.name, field))


def shown(field: model.Field, hexadecimal: bool, value: int) -> str:
    """A field's value as users write it."""
    match field.kind, field.width:
        case "ip4", 32:
            return str(IPv4Address(value))
        case "ip6", 128:
            return str(IPv6Address(value))
        case "mac", 48:
            return value.to_bytes(6, "big").hex(":")
    return f"0x{value:0{-(-field.width // 4)}x}" if hexadecimal else str(value)


def _begin(header: model.Header, bits: int) -> list[str]:
    """The fields that a header begins with, so far."""
    fields = (f for f in header.fields if f.group is None and not f.part_of and f.width)
    return [f.name for f in fields if f.offset < bits and f.name[0] != "_"]


def _holds(condition: model.Condition, contents: Contents) -> bool:
    return bool(holds(condition, contents))


def read_by(edge: model.Edge, test: model.Test) -> tuple[Span, str]:
    return edge.span, f"this edge reads it where `{test.field} = {_as_written(edge, test)}`"


def in_hexadecimal(edge: model.Edge, test: model.Test) -> bool:
    return _as_written(edge, test).startswith("0x")


def _as_written(edge: model.Edge, test: model.Test) -> str:
    """A test's alternatives as the edge has them."""
    text = re.sub(r"//.*", "", edge.span.text)
    found = re.search(rf"\b{test.field} *=(.*?)(\b(and|write|on)\b|$)", text, re.DOTALL)
    return " ".join(found[1].split()) if found else guards.shown(test)


def own_fields(part: object) -> list[str]:
    """The header's fields that one of its clauses reads."""
    return [p.field for p in walk(part) if isinstance(p, model.Own)]


def same_bits(header: model.Header, name: str) -> list[str]:
    """A field, what it is a part of, and its parts."""
    field = header.field(name)
    parts = [f.name for f in header.fields if f.part_of == name]
    return [name, *([field.part_of] if field.part_of else []), *parts]


def _culprit(w: Written, contents: Contents, names: Sequence[str]) -> str:
    """Which of some fields the push says, or else what is not known."""
    said = [n for n in names if w.spans.keys() & set(same_bits(w.header, n))]
    open_ = [n for n in names if contents.of(n)[0] != contents.of(n)[1]]
    both = [n for n in said if n in open_]
    return (both or said or open_ or list(names))[0]
