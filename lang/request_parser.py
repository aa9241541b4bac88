"""Text to a request. Raises `Refused` with every syntax error, one a change.

The grammar is `Request.g4`. ANTLR needs about a millisecond for a change, so it parses each *shape*
(the kinds of a change's tokens) once, to a recipe that says which token goes where; a change of a
known shape only fills the recipe in. A shape that comes again as a whole request gets an expression
that takes its text apart at once.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from .diagnostics import Diagnostic, Label, Refused, did_you_mean
from .request import IE, Change, Form, Operation, Request, RuleItem, unquoted
from .request_tokens import BAD, STRAY, VERBS, Tokens, expression_of, tokens
from .source import Source, Span

#: Brackets within brackets; a rule in a rule in a rule is three.
DEPTH = 16
#: Shapes kept; a controller has a dozen.
_SHAPES_KEPT = 1024
#: Of those that came twice as a request of their own: tried one by one.
_EXPECTED_KEPT = 16
_ERRORS_SHOWN = 20

_OPERATIONS: dict[str, Operation] = {
    "c": "create", "u": "update", "d": "delete", "r": "replace",
}  # fmt: skip
_FORMS: dict[str, Form] = {"/": "prefix", "&": "mask", "-": "range"}


class _IERecipe(NamedTuple):
    """Indices of tokens, counted from the change's first. `other` is 0 for a plain value; `more`
    are the further values of a list."""

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


_Recipe = tuple[_RuleRecipe | _IERecipe, ...]
_shapes: dict[str, _Recipe] = {}
_expected: list[tuple[re.Pattern[str], str, _Recipe]] = []


def parse_request(source: Source, *, cached: bool = True) -> Request:
    """Read a request. `cached=False` parses every change with ANTLR (for the tests)."""
    if cached and (known := _known(source)) is not None:
        return known
    found = tokens(source)
    errors: list[Diagnostic] = list(_unreadable(source, found))
    changes: list[Change] = []
    for start, end in _changes(source, found, errors):
        shape = found.kinds[start:end]
        if not cached or (recipe := _shapes.get(shape)) is None:
            if any(start <= _index(found, e) < end for e in errors):
                continue
            parsed = _parse(source, found, start, end)
            if isinstance(parsed, Diagnostic):
                errors.append(parsed)
                if len(errors) >= _ERRORS_SHOWN:
                    break
                continue
            recipe = parsed
            if len(_shapes) >= _SHAPES_KEPT:
                _shapes.clear()
            _shapes[shape] = recipe
        elif not changes and end == len(found.kinds):
            _expect(shape, recipe)
        changes.append(_fill(recipe, found, start))
    if errors:
        errors.sort(key=lambda d: d.span.start if d.span else 0)
        raise Refused(errors[:_ERRORS_SHOWN])
    if not changes:
        raise Refused([_empty(source)])
    return Request(tuple(changes), source)


def _known(source: Source) -> Request | None:
    """A request of one change whose shape is expected: a single expression takes it apart."""
    for expression, shape, recipe in _expected:
        match = expression.fullmatch(source.text)
        if match is not None:
            starts, ends = zip(*match.regs[1:], strict=True)
            found = Tokens(shape, match.groups(), starts, ends)
            return Request((_fill(recipe, found, 0),), source)
    return None


def _expect(shape: str, recipe: _Recipe) -> None:
    expression = expression_of(shape)
    if expression is not None:
        _expected.append((expression, shape, recipe))
        del _expected[:-_EXPECTED_KEPT]


def _changes(source: Source, found: Tokens, errors: list[Diagnostic]) -> Iterator[tuple[int, int]]:
    """Where each change's tokens begin and end: a verb begins one, `;` before it or not."""
    kinds = found.kinds
    verbs = [i for i, kind in enumerate(kinds) if kind in _OPERATIONS]
    before = next((i for i, kind in enumerate(kinds) if kind != ";"), len(kinds))
    if before < (verbs[0] if verbs else len(kinds)) and kinds[before] not in (BAD, STRAY):
        errors.append(_no_verb(source, found, before))
    for start, end in pairwise([*verbs, len(kinds)]):
        while kinds[end - 1] == ";":
            end -= 1
        yield start, end


def _fill(recipe: _Recipe, found: Tokens, base: int) -> Change:
    at = (found.starts[base], found.ends[base])
    return Change(
        _OPERATIONS[found.kinds[base]], tuple([_item(r, found, base) for r in recipe]), at
    )


def _item(recipe: _RuleRecipe | _IERecipe, found: Tokens, base: int) -> RuleItem | IE:
    _, texts, starts, ends = found
    if type(recipe) is _IERecipe:
        first, type_last, length, value, form, other, last, more = recipe
        one = base + first + 1
        two, three, four = base + length, base + value, base + (other or value)
        name = texts[one]
        for i in range(one + 1, base + type_last + 1):
            name += " " + texts[i]
        said = texts[three]
        if more:
            said = ", ".join([said, *[texts[base + i] for i in more]])
            four = base + more[-1]
        return IE(
            name, texts[two], form, said, texts[four] if other else "",
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


def _parse(source: Source, found: Tokens, start: int, end: int) -> _Recipe | Diagnostic:
    """The recipe of the change in tokens [start, end), or what is wrong with it."""
    depth = 0
    for i in range(start, end):
        depth += {"[": 1, "]": -1}.get(found.kinds[i], 0)
        if depth > DEPTH:
            return _too_deep(_span(source, found, i))
    from .request_antlr import SyntaxFault, parse_change

    try:
        tree = parse_change(found, start, end)
    except SyntaxFault as fault:
        return _syntax(source, found, end, fault.index, fault.rule, fault.expected)
    return tuple(_list_recipe(tree.list_()))


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


def _ie_recipe(element: Any) -> _IERecipe:
    value = element.value()
    literals = value.literal()
    pair = len(literals) == 2
    separator = value.getChild(1).getText() if pair else ""
    return _IERecipe(
        first=element.start.tokenIndex,
        type_last=element.type_().stop.tokenIndex,
        length=element.length().start.tokenIndex,
        value=literals[0].start.tokenIndex,
        form=_FORMS["-" if separator == ".." else separator] if pair else "value",
        other=literals[1].start.tokenIndex if pair else 0,
        last=element.stop.tokenIndex,
        more=tuple(literal.start.tokenIndex for literal in element.literal()),
    )


# ---- what may be wrong ----------------------------------------------------------------------


def _span(source: Source, found: Tokens, index: int) -> Span:
    if index >= len(found.starts):
        end = len(source.text.rstrip())
        return source.span(max(0, end - 1), end)
    return source.span(found.starts[index], found.ends[index])


def _index(found: Tokens, diagnostic: Diagnostic) -> int:
    return bisect_left(found.starts, diagnostic.span.start) if diagnostic.span else -1


def _unreadable(source: Source, found: Tokens) -> Iterator[Diagnostic]:
    if BAD not in found.kinds and STRAY not in found.kinds:
        return
    shown = 0
    for i, kind in enumerate(found.kinds):
        if kind not in (BAD, STRAY) or shown >= _ERRORS_SHOWN:
            continue
        shown += 1
        if kind == BAD:
            title, help_ = (
                f"`{found.texts[i]}` is neither a number nor an address",
                (
                    "numbers are decimal or 0x…, addresses 10.0.0.1; "
                    'a name that begins with a digit stands in quotes: "1st"'
                ),
            )
        elif found.texts[i] == '"':
            title, help_ = "this quote is not closed", 'a name in quotes ends on its line: "my WAN"'
        else:
            title = f"{_spoken(found.texts[i])} has no meaning in a request"
            help_ = 'a name with other characters stands in quotes: "Zürich"'
        yield Diagnostic("H0401", title, (Label(_span(source, found, i)),), help_)


def _spoken(character: str) -> str:
    """Octets of the command line that are no UTF-8 come as surrogates: PEP 383."""
    if "\udc80" <= character <= "\udcff":
        return f"the byte {ord(character) & 0xFF:#04x}"
    return f"the character {character!r}"


def _empty(source: Source) -> Diagnostic:
    return Diagnostic(
        "H0404",
        "the request is empty",
        (Label(source.span(0, min(1, len(source.text))), "nothing is asked for here"),),
        "say for example: create FAR [(action, u8, DROP)]",
    )


def _no_verb(source: Source, found: Tokens, index: int) -> Diagnostic:
    word = found.texts[index]
    help_ = did_you_mean(word, VERBS) or "say for example: create FAR [(action, u8, DROP)]"
    label = Label(_span(source, found, index), "expected create, update, delete or replace")
    return Diagnostic("H0405", f"`{word}` is nothing a request can do", (label,), help_)


def _verb_behind_verb(source: Source, found: Tokens, index: int) -> Diagnostic:
    """`create create PDR …`, where `index` is the second."""
    one, two = found.texts[index - 1 : index + 1]
    title = f"no rule stands between `{one}` and `{two}`"
    place = _span(source, found, index - 1).to(_span(source, found, index))
    help_ = f"a change begins with one of create, update, delete and replace: leave out `{one}`"
    return Diagnostic("H0402", title, (Label(place, "two verbs in a row"),), help_)


def _too_deep(span: Span) -> Diagnostic:
    return Diagnostic(
        "H0403",
        f"rules are nested more than {DEPTH} deep",
        (Label(span, "one bracket too many"),),
        "a rule of another kind may stand within a rule; close the brackets before the next one",
    )


_FORM_OF_IE = "an element is (type, length, value), for example (tos, u8, 184)"
_FORM_OF_RULE = (
    "a rule has its items in [ ], parted by commas: FAR 1 [(action, u8, DROP)]; or behind a colon: "
    "LBR: FAR 1, FAR 2"
)
_HELP = {
    "element": _FORM_OF_IE,
    "type": _FORM_OF_IE,
    "length": "lengths are u8, u16, u32, u64 (u48 for MAC, u128 for IPv6 addresses)",
    "value": "a value is a number, an address or a name; prefix /16, mask & 0xfc, range ..2000",
    "literal": "a value is a number, an address or a name; prefix /16, mask & 0xfc, range ..2000",
    "block": _FORM_OF_RULE,
}


def _syntax(
    source: Source, found: Tokens, end: int, index: int, rule: str, expected: str
) -> Diagnostic:
    at_end = index >= end
    verbs = [kind for kind in found.kinds[end - 1 : end + 1] if kind in _OPERATIONS]
    if at_end and len(verbs) == 2:
        return _verb_behind_verb(source, found, end)
    place = _span(source, found, end - 1 if at_end else index)
    what = "the change ends here" if at_end else f"expected {expected}, not `{found.texts[index]}`"
    title = f"expected {expected}"
    if not at_end and found.kinds[index] == ";":
        while found.kinds[index] == ";":
            index += 1
        place = _span(source, found, index)
        title = f"`{found.texts[index]}` does not begin a change"
        what = "expected create, update, delete or replace"
        return Diagnostic(
            "H0405", title, (Label(place, what),), did_you_mean(found.texts[index], VERBS)
        )
    help_ = _HELP.get(rule, _FORM_OF_RULE)
    return Diagnostic("H0402", title, (Label(place, what),), help_)
