"""Compares the rules in force with a desired state; the difference is a request.

A desired state is a request of `create` alone. It is about whole kinds: their rules that it lacks
are deleted. Rules are compared by their canonical text, so that spelling makes no difference, nor
do counters and ages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.request.request import IE, Change, Request, RuleItem, item_text, request_text
from ...lang.contract.request.request_parser import parse_request
from ...lang.contract.rules.ie_values import fold
from ...lang.contract.rules.rule_text import canonical, rule_item
from ...lang.contract.rules.rulebook import RuleBook
from ...lang.contract.rules.rules import Reference, Rule
from ...lang.text.diagnostics import Diagnostic, Label, Refused
from ...lang.text.source import Source
from ..base.errors import refused
from ..rules.report import Shown

Key = tuple[str, int | str]


class Listing(NamedTuple):
    """Rules of one moment, and the pipeline's revision then."""

    revision: int
    rules: Sequence[Shown]


class Difference(NamedTuple):
    """`request` makes the rules at `revision` the wanted ones; None if they are. `lines`: a line a
    rule: `+` it is missing, `-` it is not wanted, `~` it is otherwise."""

    revision: int
    request: Request | None
    lines: tuple[str, ...]


class Ports(NamedTuple):
    """Numbers by name, and the kernel's by number."""

    numbers: Mapping[str, int]
    ifindexes: Mapping[int, int]


def difference(
    manifest: Manifest, ports: Ports, listing: Listing, desired: Request,
    kinds: Collection[str] = (), leave: Collection[Reference] = (),
) -> Difference:  # fmt: skip
    """`kinds`: those that `desired` is about; without, all but the named ones, which the edge's own
    file gives, and those that it has rules of. `leave`: rules that are another's. Raises `Refused`
    if the state cannot be."""
    book = RuleBook(manifest, ports.numbers, ports.ifindexes)
    desired = canonical(_checked(desired, book), book.folded_kinds)
    about = _about(book, desired, kinds)
    mine = [s for s in listing.rules if not s.owned and s.kind in about]
    others = [s for s in listing.rules if not s.owned and s.kind not in about]
    left = [s for s in mine if Reference(s.kind, s.id) in leave]
    book.commit(book.plan(_beside(desired, [*others, *left])))
    there = Counter((_key(s.kind, s.id, s.name), _bare(s)) for s in mine)
    want = _texts(book, about)
    if there == want:
        return Difference(listing.revision, None, ())
    lines = tuple(_lines(there, want))
    now = RuleBook(manifest, ports.numbers, ports.ifindexes)
    now.commit(now.plan(_beside(Request(()), [*others, *mine])))
    changed = {key for key, _ in (there - want) + (want - there)}
    whole = _replaced(now, book, changed)
    single = [key for key in changed if key[0] not in whole]
    request = Request((*_single(now, book, single), *_whole(desired, left, whole)))
    if not _makes(now, request, want):
        request = Request(_whole(desired, left, {kind for kind, _ in changed}))
    return Difference(listing.revision, request, lines)


def _checked(desired: Request, book: RuleBook) -> Request:
    """That it says what is to be, each rule with a name or an id of its own. Raises `Refused`."""
    found = []
    for change in desired.changes:
        if change.operation != "create":
            found.append(_no_state(desired, change))
            continue
        for item in change.items:
            if not isinstance(item, RuleItem):
                continue  # what stands nowhere, which is found later
            kind = book.folded_kinds.get(fold(item.kind))
            by_name = item.name is not None and kind is not None and kind.rule.named
            if item.id is None and not by_name and (kind is not None or not item.kind):
                found.append(_no_id(desired, item))
    if found:
        raise refused(*found)
    return desired


def _about(book: RuleBook, desired: Request, kinds: Collection[str]) -> set[str]:
    chosen = {k for k, kind in book.kinds.items() if k in kinds or not (kinds or kind.rule.named)}
    return _kinds_of(desired) | chosen


def _beside(desired: Request, rules: Iterable[Shown]) -> Request:
    """The request, and after it rules as they are shown; places stay what they were."""
    name, text = "<wanted>", request_text(desired) if desired.changes else ""
    if desired.source is not None:
        name, text = desired.source.name, desired.source.text
    more = ";\n".join(f"create {rule.text}" for rule in rules)
    if not more:
        return desired
    separator = "\n;\n" if desired.changes else "\n"
    return parse_request(Source(name, f"{text.rstrip().rstrip(';')}{separator}{more}"))


def _key(kind: str, id_: int, name: str) -> Key:
    return kind, name or id_


def _bare(shown: Shown) -> str:
    """Its text; of a rule with a name without the id, which may have been allotted."""
    head = f"{shown.kind} {shown.id} "
    if shown.name and shown.text.startswith(head):
        return f"{shown.kind} {shown.text[len(head) :]}"
    return shown.text


def _texts(book: RuleBook, kinds: Iterable[str]) -> Counter[tuple[Key, str]]:
    return Counter(
        (_key(rule.kind, rule.id, rule.name), item_text(_item(rule, book)))
        for kind in kinds for rule in book.rules(kind) if not rule.owner
    )  # fmt: skip


def _item(rule: Rule, book: RuleBook) -> RuleItem:
    item = rule_item(rule, book.kinds, book)
    return item._replace(id=None) if rule.name else item


def _lines(there: Counter[tuple[Key, str]], want: Counter[tuple[Key, str]]) -> Iterator[str]:
    missing, extra = dict(want - there), dict(there - want)
    for key, text in sorted(extra | missing, key=str):
        others = [t for k, t in missing if k == key] if (key, text) in extra else []
        if (key, text) in missing:
            if not any(k == key for k, _ in extra):
                yield f"+ {text}"
        elif others:
            yield f"~ {text}; wanted: {others[0]}"
        else:
            yield f"- {text}"


def _replaced(now: RuleBook, then: RuleBook, keys: Iterable[Key]) -> set[str]:
    """The kinds that are replaced as a whole: those whose rules share ids, and those of a rule that
    is to give less than it does, which no update says."""
    found = set()
    for key in keys:
        old, desired = _find(now, key), _find(then, key)
        less = old is not None and desired is not None and bool(_gives(old) - _gives(desired))
        if now.kinds[key[0]].grouped or less:
            found.add(key[0])
    return found


def _gives(rule: Rule) -> set[str]:
    return {name for name, _ in (*rule.values, *rule.references)}


def _single(now: RuleBook, then: RuleBook, keys: Iterable[Key]) -> Iterator[Change]:
    """A change for each rule that differs: what stays keeps what it counted."""
    for key in sorted(keys, key=str):
        old, desired = _find(now, key), _find(then, key)
        if old is not None and desired is not None and _same_match(old, desired):
            yield Change("update", (_given(desired, then),))
            continue
        if old is not None:
            yield Change("delete", (RuleItem(old.kind, old.id, None, (), False),))
        if desired is not None:
            yield Change("create", (_item(desired, then),))


def _find(book: RuleBook, key: Key) -> Rule | None:
    kind, which = key
    return book.get(kind, which) if isinstance(which, int) else book.by_name(kind, which)


def _same_match(one: Rule, other: Rule) -> bool:
    return (one.match, one.priority) == (other.match, other.priority)


def _given(rule: Rule, book: RuleBook) -> RuleItem:
    """The rule without what it matches, which an update never changes."""
    item, kind = _item(rule, book), book.kinds[rule.kind]
    fixed = {field.codec.name for field in kind.match}
    items = [i for i in item.items if not (isinstance(i, IE) and i.type in fixed)]
    return item._replace(items=tuple(items), block=True)


def _makes(now: RuleBook, request: Request, want: Counter[tuple[Key, str]]) -> bool:
    """Whether the request leads to what is wanted. The book is spent by that."""
    try:
        now.commit(now.plan(request))
    except Refused:
        return False
    return _texts(now, {kind for (kind, _), _ in want} | _kinds_of(request)) == want


def _kinds_of(request: Request) -> set[str]:
    return {i.kind for c in request.changes for i in c.items if isinstance(i, RuleItem)}


def _whole(desired: Request, left: Sequence[Shown], kinds: set[str]) -> tuple[Change, ...]:
    """Make each of these kinds exactly what is wanted of it."""
    changes = (*desired.changes, *_beside(Request(()), left).changes)
    items = [i for c in changes for i in c.items if isinstance(i, RuleItem) and i.kind in kinds]
    # Kinds without rules first: a bare word could be taken for what the rule before it gives.
    empty = sorted(kinds - {item.kind for item in items})
    found = [Change("replace", (RuleItem(kind, None, None, (), False),)) for kind in empty]
    for kind in sorted(kinds - set(empty)):
        of = tuple(item._replace(at=()) for item in items if item.kind == kind)
        found.append(Change("replace", of))
    return tuple(found)


# ---- errors ---------------------------------------------------------------------------------


def _no_state(request: Request, change: Change) -> Diagnostic:
    labels = (Label(request.span(*change.at[:2]), "a change"),) if request.source else ()
    title = f"a wanted state says what is to be: it has no `{change.operation}`"
    return Diagnostic("H0878", title, labels, "only `create`, or rules alone")


def _no_id(request: Request, item: RuleItem) -> Diagnostic:
    labels = (Label(request.span(*item.at[:2]), "no id"),) if request.source else ()
    return Diagnostic("H0879", "a wanted rule has no id", labels,
                      f"give it one: `{item.kind or 'FAR'} 1 …`")  # fmt: skip
