"""What a pushed header says by its `extent`, or by `payload to`: how far it and what follows it
reach. As sums, so that a length that follows from another is known to be right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .. import model
from ..model.arithmetic import Interval
from .contents import ANY, Contents, number
from .ranges import Facts, narrowed
from .values import Value

#: How many times each thing is in a sum: expressions, what has only a name, and 1.
Sum = dict[model.Expr | str | int, int]
#: What stands behind all that is pushed, in bytes; nobody sees more of a frame.
_BEHIND, _MOST = "behind", 1 << 15


class Pushed(NamedTuple):
    """A header, what the push gives it, and its bytes (None: not always the same number)."""

    node: str
    header: model.Header
    values: Mapping[str, Value]
    contents: Contents
    size: int | None


class Wrong(NamedTuple):
    """A length that is not surely right, or surely not (`never`). `plus`: what a computed length
    has to add, None where none says it; `right`: what else the field may be given."""

    word: str
    expr: model.Expr
    never: bool
    plus: int | None
    right: str


class Lengths:
    """Of headers that are pushed in front of `behind` (None: of nothing, as `ends` says, or of what
    nobody has read), which is `target`. `counts`: how many values elements hold."""

    def __init__(
        self,
        graph: model.Graph,
        pushed: Sequence[Pushed],
        behind: Contents | None,
        target: str,
        ends: bool,
        counts: Mapping[model.Expr, int],
        tested: Facts,
    ) -> None:
        self.graph, self.pushed, self.counts, self.tested = graph, pushed, counts, tested
        self.bounds: dict[model.Expr | str | int, Interval] = {1: (1, 1)}
        self.bounds[_BEHIND] = behind.header.minimum if behind else 0, _MOST
        self.behind: list[Sum] = [{} if ends else {_BEHIND: 1}]
        if behind is not None and not behind.written:
            self.behind += self._of_what_came(behind.header, target)

    def wrong(self, i: int) -> Iterator[Wrong]:
        """Of the header at that place in the path."""
        header = self.pushed[i].header
        if header.extent is not None:
            yield from self._judge(i, "extent", header.extent)
        if header.reach is not None and self._reads_on(self.pushed[i].node):
            yield from self._judge(i, "payload to", header.reach)

    def _judge(self, i: int, word: str, expr: model.Expr) -> Iterator[Wrong]:
        said = _sum(expr, lambda leaf: self._own(i, leaf))
        needed = list(self._needed(i))
        off = [self._range(_plus(said, each, -1)) for each in needed]
        if (0, 0) in off:
            return
        plus, right = None, iter([""])
        plain = _sum(expr, lambda leaf: {leaf: 1})
        match [term for term in plain if term != 1]:
            case [model.Own(name) as own] if plain[own] == 1:
                plus = -plain.get(1, 0)
                most = (1 << self.pushed[i].header.field(name).width) - 1
                if not self.counts:
                    right = (self._shown(_plus(each, {1: plus}), most) for each in needed)
        never = off[0][0] > 0 or any(high < 0 for _, high in off)
        yield Wrong(word, expr, never, plus, next(filter(None, right), ""))

    # ---- what it has to be -------------------------------------------------------------------

    def _needed(self, i: int) -> Iterator[Sum]:
        """The header, what is pushed behind it and what stands there, in each way to know that."""
        sizes: Sum = {}
        for each in self.pushed[i:]:
            sizes = _plus(sizes, self._size(each))
        return (_plus(sizes, each) for each in self.behind)

    def _size(self, each: Pushed) -> Sum:
        if each.size is not None:
            return {1: each.size}
        name = f"size of {each.node}"
        self.bounds[name] = each.header.minimum, each.header.maximum
        return {name: 1}

    def _of_what_came(self, header: model.Header, target: str) -> Iterator[Sum]:
        """How long it is by what it says, or if nothing is read behind it."""
        if header.extent is not None:
            yield _sum(header.extent, lambda leaf: self._came(header, target, leaf))
        elif header.size is None and not header.groups and not self._reads_on(target):
            yield {1: header.fixed // 8}

    def _came(self, header: model.Header, target: str, leaf: model.Expr) -> Sum:
        if isinstance(leaf, model.Own):
            field = header.field(leaf.field)
            return self._given(model.Packet(target, field.name, field.width, field.kind))
        self.bounds[target] = ANY
        return {target: 1}

    def _reads_on(self, node: str) -> bool:
        return any(edge.roles for edge in self.graph.leaving(node))

    # ---- what it is --------------------------------------------------------------------------

    def _own(self, i: int, leaf: model.Expr) -> Sum:
        """What a field of the header is, or something that is worked out of its fields."""
        each = self.pushed[i]
        low, high = number(leaf, each.contents)
        if low == high:
            return {1: low}
        if isinstance(leaf, model.Own):
            derived = each.header.field(leaf.field).default
            given = each.values.get(leaf.field)
            if isinstance(derived, model.Derived) and derived.what == "length":
                total = _plus(next(self._needed(i)), {1: derived.plus})
                return total if "header" in derived.over else _plus(total, self._size(each), -1)
            if given and not (isinstance(given.expr, model.Attribute) and given.expr.optional):
                return _sum(given.expr, self._given)
        self.bounds[leaf] = low, high
        return {leaf: 1}

    def _given(self, leaf: model.Expr) -> Sum:
        if leaf in self.counts:
            return {1: self.counts[leaf]}
        match leaf:
            case model.Arithmetic("&", inner, model.Const(mask)) if not mask & mask + 1:
                found = _sum(inner, self._given)
                low, high = self._range(found)
                if low >= 0 and high <= mask:
                    return found
        width = getattr(leaf, "width", None)
        low, high = (0, (1 << width) - 1) if isinstance(width, int) else ANY
        self.bounds[leaf] = narrowed(self.tested, leaf, low, high)
        return {leaf: 1}

    def _range(self, terms: Sum) -> Interval:
        ends = [(self.bounds[term], many) for term, many in terms.items()]
        low = sum(min(a * n, b * n) for (a, b), n in ends)
        return low, sum(max(a * n, b * n) for (a, b), n in ends)

    def _shown(self, terms: Sum, most: int) -> str:
        """As users write it, and where it is not over `most`; empty if it is not a number, or a
        field and a number."""
        number = terms.get(1, 0)
        match [(term, many) for term, many in terms.items() if term != 1]:
            case []:
                return f"`{number}`"
            case [(model.Packet(node, field), 1)]:
                name = f"{node}.{field}"
                plus = f" {'-' if number < 0 else '+'} {abs(number)}" if number else ""
                over = self._range(terms)[1] > most
                fits = f", which fits where `{name} <= {most - number}`" if over else ""
                return f"`{name}{plus}`{fits}"
        return ""


def _sum(expr: model.Expr, leaf: Callable[[model.Expr], Sum]) -> Sum:
    match expr:
        case model.Const(value):
            return {1: value}
        case model.Arithmetic("+" | "-" as operator, left, right):
            return _plus(_sum(left, leaf), _sum(right, leaf), 1 if operator == "+" else -1)
        case model.Arithmetic("*", left, model.Const(times)):
            return _plus({}, _sum(left, leaf), times)
        case model.Arithmetic("<<", left, model.Const(bits)):
            return _plus({}, _sum(left, leaf), 1 << bits)
    return leaf(expr)


def _plus(left: Sum, right: Sum, times: int = 1) -> Sum:
    terms = dict.fromkeys((*left, *right))
    total = {t: left.get(t, 0) + times * right.get(t, 0) for t in terms}
    return {term: many for term, many in total.items() if many}
