"""Whether the pipeline's own parser reads a push back as what was pushed: the tests of the edges
between its headers hold, and the clauses by which these headers are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from ..model import Derived, Field
from ..model.header_sizes import first_field
from .contents import (
    Contents,
    begin_with,
    decided,
    holds,
    number,
    test_holds,
    unknown,
)
from .lengths import Lengths, Pushed, Wrong
from .ranges import Facts
from .read_as import begin, culprit, in_hexadecimal, own_fields, read_by, same_bits, shown
from .read_behind import not_followed
from .read_ways import MOST_COUNTS, Ways, every_count, not_on_one_role
from .stage_program import Program
from .written import (
    Counts,
    Written,
    bytes_of,
    contents_of,
    is_derived,
    number_of_elements,
    read_edges,
)


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
        for counts in every_count(self.written, self.tested):
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
                if unread := not_on_one_role(self.written, ways):
                    self.program.report(unread)
        return found

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
                name = culprit(w, contents, own_fields(condition))
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
                    _not_counted(w.spans[name], name, given, counter, source, items.skip)
                )

    def lengths(
        self, contents: Sequence[Contents], counts: Counts, behind: Contents | None
    ) -> Lengths:
        pushed = [
            Pushed(w.element.node, w.header, w.values, each, bytes_of(w, each, counts))
            for w, each in zip(self.written, contents, strict=True)
        ]
        graph = self.program.checked.graph
        return Lengths(graph, pushed, behind, self.target, self.ends, counts, self.tested)

    def reaches(self, w: Written, contents: Contents, lengths: Lengths, i: int) -> None:
        """A header says how far it, and what follows it, reach."""
        for wrong in lengths.wrong(i):
            name = culprit(w, contents, own_fields(wrong.expr))
            field = w.header.field(name)
            where = (
                field.span,
                f"`{wrong.word}` of `{w.header.name}` says how far it reaches by this",
            )
            span, says = self.said_of(w, name, contents)
            node = w.element.node
            self.program.report(_not_reached(span, node, field, says, where, wrong))

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
        ahead = begin(rest[0].header, test.ahead)
        if following is None:
            self.program.report(
                not_followed(w.span, self.target, ahead, read_by(edge, test), never)
            )
            return

        if not ahead:
            span, node = following.span, following.element.node
            self.program.report(_begins_otherwise(span, node, read_by(edge, test), never))
            return

        def right(other: Contents) -> bool:
            return bool(test_holds(test, contents, begin_with((other, *rest[1:]), test.ahead)))

        name = culprit(following, rest[0], ahead)
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
        self.program.report(_not_read_back(span, w.element.node, name, says, where, never, leaves))

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


def _holds(condition: model.Condition, contents: Contents) -> bool:
    return bool(holds(condition, contents))


# ---- errors ---------------------------------------------------------------------------------


def _begins_otherwise(span: Span, node: str, where: tuple[Span, str], never: bool) -> Diagnostic:
    return error(
        "H0332",
        f"the parser {'does' if never else 'may'} not read `{node}` back as it is pushed",
        (span, f"`{node}` begins with no field that a push may give"),
        where,
        help="let the edge test a field of the header in front",
    )


def _not_read_back(
    span: Span,
    node: str,
    field: str,
    says: str,
    where: tuple[Span, str],
    never: bool,
    unsaid: str | None,
) -> Diagnostic:
    """`never`: surely. `unsaid`: what the push writes if it leaves the field out, where it does not
    do that yet."""
    leave = "" if unsaid is None else f"leave `{field}` out, which writes {unsaid}, or "
    known = f"give `{field}` a number that is read"
    test = "" if never else ", or test further up what it is given: `if … = … {…}`"
    return error(
        "H0332",
        f"the parser {'does' if never else 'may'} not read `{node}` back as it is pushed",
        (span, says),
        where,
        help=f"{leave}{known}{test}",
    )


def _not_reached(
    span: Span, node: str, field: Field, says: str, where: tuple[Span, str], wrong: Wrong
) -> Diagnostic:
    """`field`: by which a header says how far it reaches."""
    help = "no length that is computed says that: write the edge in front only, `on push`"
    if wrong.plus is not None:
        plus = f" {'-' if wrong.plus < 0 else '+'} {abs(wrong.plus)}" if wrong.plus else ""
        computed = f"`{field.name} : u{field.width} = length(header, payload){plus}`"
        help = f"declare it so that it is right: {computed}"
        if not isinstance(field.default, Derived):
            help = f"let it be computed, and leave it out here: {computed} in the header"
            help = f"it has to be {wrong.right}; or {help}" if wrong.right else help
    return error(
        "H0332",
        f"the parser {'does' if wrong.never else 'may'} not read `{node}` back as it is pushed",
        (span, says),
        where,
        help=help,
    )


def _not_counted(
    span: Span, array: str, given: int, counter: Field, source: str, skip: int
) -> Diagnostic:
    """`given`: as many elements as it may be given. `skip`: so many of the values are left out."""
    return error(
        "H0332",
        f"the parser does not read `{array}` back as it is pushed",
        (span, f"may have {given} elements"),
        (counter.span, f"`{counter.name}` cannot say that"),
        help=f"push it only where it has others: `if count({source}) > {given + skip} {{…}}`",
    )
