"""Filters as text: `inner.dst in 10.2.0.0/16 and udp.dst = 53`, in the terms of the pipeline.

filter    = all { "or" all }
all       = one { "and" one }
one       = "not" one | "(" filter ")" | NODE | "verdict" "=" WORD
          | NODE.FIELD ( "=" | "in" ) values | NODE.FIELD ( "!=" | "<" | "<=" | ">" | ">=" ) VALUE
values    = value { "|" value }
value     = VALUE | VALUE ".." VALUE | VALUE "/" BITS | VALUE "&" MASK
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from ...text import literals
from ...text.diagnostics import Diagnostic, Label, Refused, did_you_mean
from ...text.source import Source, Span
from .filters import All, Any, Ends, Filter, Has, Not, Within
from .schema import Field, Node

VERDICTS = ("pass", "drop", "redirect", "tx", "aborted")
_DEEPEST = 32
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<sign>\.\.|!=|<=|>=|[=<>()|/&])
    | (?P<value>[0-9a-fA-F]*:[0-9a-fA-F:]+(?:\.[0-9.]+)?|[0-9]+\.[0-9]+\.[0-9.]+(?<!\.)|[0-9]\w*)
    | (?P<word>[A-Za-z_]\w*(?:\[[0-9]+\])?(?:\.[A-Za-z_]\w*)?)
    | (?P<stray>.)
    )""",
    re.VERBOSE | re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def read_filter(text: str, nodes: Iterable[Node]) -> Filter:
    """Raises `Refused` with the first error."""
    return _Reader(Source("<filter>", text), tuple(nodes)).read()


class _Reader:
    def __init__(self, source: Source, nodes: tuple[Node, ...]) -> None:
        self._source, self._nodes = source, {node.name: node for node in nodes}
        self._tokens = [
            _Token(m.lastgroup or "", m[m.lastgroup or 0], *m.span(m.lastgroup or 0))
            for m in _TOKEN.finditer(source.text.rstrip())
        ]
        self._at = self._depth = 0

    def read(self) -> Filter:
        found = self._any()
        if self._at < len(self._tokens):
            self._expected("`and`, `or` or the end")
        return found

    # ---- tokens -----------------------------------------------------------------------------

    def _peek(self) -> _Token:
        if self._at < len(self._tokens):
            return self._tokens[self._at]
        end = len(self._source.text)
        return _Token("end", "", end, end)

    def _take(self, *texts: str) -> _Token | None:
        token = self._peek()
        if token.text not in texts or token.kind not in ("sign", "word"):
            return None
        self._at += 1
        return token

    def _span(self, token: _Token) -> Span:
        return Span(self._source, token.start, token.end)

    def _expected(self, what: str) -> NoReturn:
        token = self._peek()
        found = f"`{token.text}`" if token.text else "the end"
        help_ = "`inner.dst in 10.2.0.0/16 and udp.dst = 53`, for instance"
        raise Refused([_bad_filter(self._span(token), f"expected {what}, found {found}", help_)])

    # ---- expressions ------------------------------------------------------------------------

    def _any(self) -> Filter:
        found = [self._all()]
        while self._take("or"):
            found.append(self._all())
        return found[0] if len(found) == 1 else Any(tuple(found))

    def _all(self) -> Filter:
        found = [self._one()]
        while self._take("and"):
            found.append(self._one())
        return found[0] if len(found) == 1 else All(tuple(found))

    def _one(self) -> Filter:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._expected("no more brackets in brackets")
        try:
            if self._take("not"):
                return Not(self._one())
            if self._take("("):
                inner = self._any()
                if not self._take(")"):
                    self._expected("`)`")
                return inner
            return self._test()
        finally:
            self._depth -= 1

    def _test(self) -> Filter:
        token = self._peek()
        if token.kind != "word" or token.text in ("and", "or", "in"):
            self._expected("a field")
        self._at += 1
        name, dot, field = token.text.partition(".")
        if name == "verdict" and name not in self._nodes:
            return self._verdict()
        node = self._nodes.get(name)
        if node is None:
            raise Refused([_unknown(self._span(token), f"node `{name}`", name, self._nodes)])
        if not dot:
            return Has(node)
        found = next((f for f in node.fields if f.name == field), None)
        if found is None:
            names = [f.name for f in node.fields]
            what = f"field `{field}` of `{name}` that a filter can ask for"
            raise Refused([_unknown(self._span(token), what, field, names)])
        return self._compared(node, found)

    def _verdict(self) -> Filter:
        if not self._take("="):
            self._expected("`=`")
        token = self._peek()
        if token.text not in VERDICTS:
            self._expected(f"a verdict ({', '.join(VERDICTS)})")
        self._at += 1
        return Ends(token.text)

    def _compared(self, node: Node, field: Field) -> Filter:
        most = (1 << field.width) - 1
        sign = self._take("=", "in", "!=", "<", "<=", ">", ">=")
        if sign is None:
            self._expected(f"`=` or `in` behind `{node.name}.{field.name}`")
        if sign.text in ("=", "in"):
            found: list[Filter] = [self._value(node, field, most)]
            while self._take("|"):
                found.append(self._value(node, field, most))
            return found[0] if len(found) == 1 else Any(tuple(found))
        value = self._number(field)
        match sign.text:
            case "!=":
                return Within(node, field, most, value, value, otherwise=True)
            case "<":
                return Within(node, field, most, value, most, otherwise=True)
            case "<=":
                return Within(node, field, most, 0, value)
            case ">":
                return Within(node, field, most, 0, value, otherwise=True)
        return Within(node, field, most, value, most)

    # ---- values -----------------------------------------------------------------------------

    def _value(self, node: Node, field: Field, most: int) -> Within:
        low = self._number(field)
        if self._take(".."):
            first = self._tokens[self._at - 2]
            high = self._number(field)
            if high < low:
                span = Span(self._source, first.start, self._tokens[self._at - 1].end)
                raise Refused([_bad_filter(span, "the range is empty", "low..high")])
            return Within(node, field, most, low, high)
        if self._take("/"):
            bits = self._number(field, prefix=True)
            mask = most & ~(most >> bits)
            return Within(node, field, mask, low & mask, low & mask)
        if self._take("&"):
            mask = self._number(field)
            return Within(node, field, mask, low & mask, low & mask)
        return Within(node, field, most, low, low)

    def _number(self, field: Field, prefix: bool = False) -> int:
        token = self._peek()
        if token.kind != "value":
            self._expected("a value")
        self._at += 1
        number = literals.number(token.text)
        if prefix:
            if number is None or number > field.width:
                why = f"a prefix of `{field.name}` has 0 to {field.width} bits"
                raise Refused([_bad_value(self._span(token), why)])
            return number
        address = literals.address(token.text) if number is None else None
        if address is not None and address[0] == field.kind:
            return address[1]
        expected = {"ip4": "an IPv4 address", "ip6": "an IPv6 address", "mac": "a MAC address"}
        if number is None or field.kind in expected:
            why = f"`{field.name}` is {expected.get(field.kind, 'a number')}"
            raise Refused([_bad_value(self._span(token), why)])
        if number >> field.width:
            why = f"`{field.name}` has {field.width} bits"
            raise Refused([_bad_value(self._span(token), why)])
        return number


# ---- errors ---------------------------------------------------------------------------------


def _bad_filter(span: Span, why: str, help_: str) -> Diagnostic:
    return Diagnostic("H0855", f"this is no filter: {why}", (Label(span),), help_)


def _unknown(span: Span, what: str, name: str, have: Iterable[str]) -> Diagnostic:
    names = list(have)
    help_ = did_you_mean(name, names) or f"there are {', '.join(names)}"
    return Diagnostic("H0856", f"the pipeline has no {what}", (Label(span),), help_)


def _bad_value(span: Span, why: str) -> Diagnostic:
    return Diagnostic("H0857", f"this value does not fit: {why}", (Label(span),))
