"""Text to a request. Raises `Refused` with every syntax error, one a change.

The grammar is `Request.g4`. ANTLR needs about a millisecond for a rule, so it parses each *shape*
(the kinds of the tokens of a change's entry) once, to a recipe that says which token goes where; an
entry of a known shape only fills the recipe in: 22 us for a PDR. A change that comes again in the
same shapes as a whole request gets an expression that takes its text apart at once: 9 us.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from ...text.cancel import check_cancelled
from ...text.diagnostics import FEW, Diagnostic, Refused
from ...text.source import Source
from .request import IE, Change, Form, Operation, Request, RuleItem, unquoted
from .request_errors import (
    DEPTH,
    LONGEST,
    empty,
    index,
    no_verb,
    span,
    syntax,
    too_deep,
    too_long,
    unreadable,
)  # fmt: skip
from .request_tokens import BAD, STRAY, Tokens, expression_of, tokens

#: Shapes kept; a controller has a dozen.
_SHAPES_KEPT = 1024
#: Of those that came twice as a request of their own: tried one by one.
_EXPECTED_KEPT = 16
#: Characters of a text that one expression takes apart: no other thread goes on until then.
_EXPECTED_LONGEST = 64 << 10

_OPERATIONS: dict[str, Operation] = {
    "c": "create", "u": "update", "d": "delete", "r": "replace",
}  # fmt: skip
_MARKS = re.compile(r"[][(),]")
_FORMS: dict[str, Form] = {"/": "prefix", "&": "mask", "-": "range"}


class _IERecipe(NamedTuple):
    """Indices of tokens, counted from the change's first. `length` is 0 where it is left out,
    `other` for a plain value; `more` are the further values of a list."""

    first: int
    type_last: int
    length: int
    value: int
    form: Form
    other: int
    last: int
    more: tuple[int, ...] = ()


class _RuleRecipe(NamedTuple):
    """`kind`, `id` and `name` are 0 where there is none."""

    first: int
    kind: int
    id: int
    name: int
    head_last: int
    last: int
    block: bool
    items: tuple[_RuleRecipe | _IERecipe, ...]


#: Of an entry; its tokens count from 1.
_Recipe = tuple[_RuleRecipe | _IERecipe, ...]
#: Of a change: the number of tokens before those of each entry, and its recipe.
_Recipes = list[tuple[int, _Recipe]]
_shapes: dict[str, _Recipe] = {}
_expected: list[tuple[re.Pattern[str], str, _Recipes]] = []


def parse_request(source: Source, *, cached: bool = True) -> Request:
    """Read a request. `cached=False` parses every change with ANTLR (for the tests)."""
    if cached and (known := _known(source)) is not None:
        return known
    found = tokens(source)
    errors: list[Diagnostic] = list(unreadable(source, found))
    short = len(source.text) <= _EXPECTED_LONGEST
    changes: list[Change] = []
    for start, end in _changes(source, found, errors):
        if any(start <= index(found, e) < end for e in errors):
            continue
        again, recipes = True, list[tuple[int, _Recipe]]()
        for first, last in _entries(found.kinds, start + 1, end):
            check_cancelled()
            shape = found.kinds[first:last]
            if not cached or (recipe := _shapes.get(shape)) is None:
                parsed = _parse(source, found, start, first, last, end)
                if isinstance(parsed, Diagnostic):
                    errors.append(parsed)
                    break
                again, recipe = False, parsed
                if len(_shapes) >= _SHAPES_KEPT:
                    _shapes.clear()
                _shapes[shape] = recipe
            recipes.append((first - start - 1, recipe))
        else:
            if again and short and not changes and end == len(found.kinds):
                _expect(found.kinds[start:end], recipes)
            changes.append(_fill(recipes, found, start))
        if len(errors) >= FEW:
            break
    if errors:
        errors.sort(key=lambda d: d.span.start if d.span else 0)
        raise Refused(errors[:FEW])
    if not changes:
        raise Refused([empty(source)])
    return Request(tuple(changes), source)


def _known(source: Source) -> Request | None:
    """A request of one change whose shape is expected: a single expression takes it apart."""
    if len(source.text) > _EXPECTED_LONGEST:
        return None
    for expression, shape, recipes in _expected:
        match = expression.fullmatch(source.text)
        if match is not None:
            starts, ends = zip(*match.regs[1:], strict=True)
            found = Tokens(shape, match.groups(), starts, ends)
            return Request((_fill(recipes, found, 0),), source)
    return None


def _expect(shape: str, recipes: _Recipes) -> None:
    expression = expression_of(shape)
    if expression is not None:
        _expected.append((expression, shape, recipes))
        del _expected[:-_EXPECTED_KEPT]


def _changes(source: Source, found: Tokens, errors: list[Diagnostic]) -> Iterator[tuple[int, int]]:
    """Where each change's tokens begin and end: a verb begins one, `;` before it or not."""
    kinds = found.kinds
    verbs = [i for i, kind in enumerate(kinds) if kind in _OPERATIONS]
    before = next((i for i, kind in enumerate(kinds) if kind != ";"), len(kinds))
    if before < (verbs[0] if verbs else len(kinds)) and kinds[before] not in (BAD, STRAY):
        errors.append(no_verb(source, found, before))
    for start, end in pairwise([*verbs, len(kinds)]):
        while kinds[end - 1] == ";":
            end -= 1
        yield start, end


def _entries(kinds: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the entries' tokens begin and end: commas part them, but for those in brackets."""
    depth, first = 0, start
    for mark in _MARKS.finditer(kinds, start, end):
        kind = mark[0]
        if kind == ",":
            if depth == 0:
                yield first, mark.start()
                first = mark.end()
        else:
            depth += 1 if kind in "[(" else -1
    yield first, end


def _fill(recipes: _Recipes, found: Tokens, base: int) -> Change:
    at = (found.starts[base], found.ends[base])
    items = [_item(item, found, base + before) for before, recipe in recipes for item in recipe]
    return Change(_OPERATIONS[found.kinds[base]], tuple(items), at)


def _item(recipe: _RuleRecipe | _IERecipe, found: Tokens, base: int) -> RuleItem | IE:
    _, texts, starts, ends = found
    if type(recipe) is _IERecipe:
        first, type_last, length, value, form, other, last, more = recipe
        one = base + first + 1
        two, three, four = base + (length or value), base + value, base + (other or value)
        name = texts[one]
        for i in range(one + 1, base + type_last + 1):
            name += " " + texts[i]
        said = texts[three]
        if more:
            said = ", ".join([said, *[texts[base + i] for i in more]])
            four = base + more[-1]
        return IE(
            name, texts[two] if length else "", form, said, texts[four] if other else "",
            (starts[one], ends[base + type_last], starts[two], ends[two], starts[three],
             ends[four if more else three], starts[four], ends[four], starts[base + first],
             ends[base + last]),
        )  # fmt: skip
    assert type(recipe) is _RuleRecipe
    first, kind, id_, name_, head_last, last, block, items = recipe
    return RuleItem(
        texts[base + kind] if kind else "",
        number(texts[base + id_]) if id_ else None,
        unquoted(texts[base + name_]) if name_ else None,
        tuple([_item(r, found, base) for r in items]) if items else (),
        block,
        (starts[base + first], ends[base + head_last], ends[base + last]),
    )


def number(text: str) -> int:
    """Decimal or 0x. What is too long for any element is only surely too large."""
    if len(text) > 50:
        return 1 << 160
    return int(text, 16) if text[:2] in ("0x", "0X") else int(text)


# ---- the grammar ----------------------------------------------------------------------------


def _parse(
    source: Source, found: Tokens, verb: int, start: int, end: int, stop: int
) -> _Recipe | Diagnostic:
    """The recipe of the entry in tokens [start, end), or what is wrong with it. The change begins
    with `verb` and goes to `stop`."""
    if end - start > LONGEST:
        return too_long(source, found, start, end)
    depth = 0
    for i in range(start, end):
        depth += {"[": 1, "]": -1}.get(found.kinds[i], 0)
        if depth > DEPTH:
            return too_deep(span(source, found, i))
    from .request_antlr import SyntaxFault, parse_entry  # ANTLR is slow to import

    try:
        return tuple(_list_recipe(parse_entry(found, verb, start, end).list_()))
    except SyntaxFault as fault:
        return syntax(source, found, stop, fault.index, fault.rule, fault.expected)
    except _NoSingleValue as no:
        return syntax(source, found, stop, start - 1 + no.index, "element", "`,` or `)`")


def _list_recipe(context: Any) -> Iterator[_RuleRecipe | _IERecipe]:
    for entry in context.entry():
        for head in entry.head():
            yield _rule_recipe(head, None)
        item = entry.item()
        head, block, element = item.head(), item.block(), item.element()
        if head is not None or block is not None:
            yield _rule_recipe(head, block)
        if element is not None:
            yield _ie_recipe(element)


def _rule_recipe(head: Any, block: Any) -> _RuleRecipe:
    inner = block.list_() if block is not None else None
    if head is None:  # `[IEs]`: its elements say of which kind it is
        items = tuple(_list_recipe(inner)) if inner is not None else ()
        first, last = block.start.tokenIndex, block.stop.tokenIndex
        return _RuleRecipe(first, 0, 0, 0, last, last, True, items)
    id_, name = head.id_(), head.name()
    return _RuleRecipe(
        first=head.start.tokenIndex,
        kind=head.start.tokenIndex,
        id=id_.start.tokenIndex if id_ is not None else 0,
        name=name.start.tokenIndex if name is not None else 0,
        head_last=head.stop.tokenIndex,
        last=(block if block is not None else head).stop.tokenIndex,
        block=block is not None,
        items=tuple(_list_recipe(inner)) if inner is not None else (),
    )


class _NoSingleValue(Exception):
    """A prefix, mask or range among several values; `index` of its sign."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index


def _ie_recipe(element: Any) -> _IERecipe:
    first, *rest = element.value()
    said, *end = first.literal()
    of_length = bool(rest) and not end and bool(said.WORD() or said.NUMBER())
    value, *others = rest if of_length else (first, *rest)
    for other in (value, *others) if others or element.literal() else ():
        if len(other.literal()) == 2:
            raise _NoSingleValue(other.getChild(1).symbol.tokenIndex)
    more = [*(other.literal()[0] for other in others), *element.literal()]
    literals = value.literal()
    pair = len(literals) == 2
    separator = value.getChild(1).getText() if pair else ""
    return _IERecipe(
        first=element.start.tokenIndex,
        type_last=element.type_().stop.tokenIndex,
        length=first.start.tokenIndex if of_length else 0,
        value=literals[0].start.tokenIndex,
        form=_FORMS["-" if separator == ".." else separator] if pair else "value",
        other=literals[1].start.tokenIndex if pair else 0,
        last=element.stop.tokenIndex,
        more=tuple(literal.start.tokenIndex for literal in more),
    )
