"""Makes a tree of a request's flat lists, as the paper writes them: which rule belongs to which.

`create PDR: (IP address, …), FAR: (action, …), (interface, …)` says a PDR, an element, a FAR, two
elements. An element belongs to the innermost open rule that has it; a rule to the innermost open
one that can hold it. A FAR or LBR without an id that follows a PDR which gives nothing yet is that
PDR's, in the whole request, and so is an LBR that follows its FAR. `LBR: FAR` means the FAR that
the request described last; if that was a PDR's, the LBR is the PDR's too.

A rule that holds a FAR beside an LBR, which spreads over FARs, gives the LBR. The FAR is for the
packets that no entry of the LBR takes: a member of its entry that matches every packet, which is
made if need be (spread_with_rule.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import TypeVar

from ...text.diagnostics import FEW, did_you_mean
from ..request.request import IE, Change, Operation, Request, RuleItem
from .ie_values import Fault, fold
from .infer_kind import kind_of
from .rule_node import Arranged, Node
from .rulekinds import Kind
from .spread_with_rule import fit, join


class Enough(Exception):
    """As much is wrong as is shown: the rest of the request is not looked at."""


_Found = TypeVar("_Found")


class Faults(list[_Found]):
    """What is wrong with a request. The last that is shown raises `Enough`."""

    def append(self, fault: _Found) -> None:
        super().append(fault)
        if len(self) >= FEW:
            raise Enough


class Misplaced(Fault):
    """A fault with its place: an item of the request."""

    def __init__(self, fault: Fault, item: RuleItem | IE) -> None:
        super().__init__(fault.code, fault.title, fault.part, fault.text, fault.help)
        self.item = item


def find_kind(kinds: Mapping[str, Kind], item: RuleItem) -> Kind:
    """The kind of that name, which `kinds` holds folded."""
    kind = kinds.get(fold(item.kind))
    if kind is not None:
        return kind
    names = [k.name for k in kinds.values()]
    help_ = _of_elements(kinds, item.kind) or did_you_mean(item.kind, names)
    help_ = help_ or f"the pipeline has {', '.join(names)}"
    title = f"`{item.kind}` is no kind of rule"
    raise Misplaced(Fault("H0410", title, "kind", "not declared", help_), item)


def _of_elements(kinds: Mapping[str, Kind], word: str) -> str:
    """How a word is written that is an element, or names a value of one."""
    if fold(word) in ("all", "everything"):
        return "all rules of a kind go by `replace KIND`"
    for kind in kinds.values():
        for codec in kind.codecs.values():
            if fold(codec.name) == fold(word):
                return f"it is an element, and has a value: ({codec.name}, …)"
            for symbol in codec.element.symbols:
                if fold(symbol) == fold(word):
                    return f"it is a value of `{codec.name}`: ({codec.name}, {symbol})"
    return ""


class Arranger:
    """Arranges one request. `faults`: what stood nowhere."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self.kinds = kinds
        self.faults = Faults[Misplaced]()
        self.last: dict[str, Node] = {}  # by kind: the rule described last
        self.waiting: Node | None = None  # the last top rule that may take one that follows
        self.seconds: list[tuple[Node, Node]] = []  # a rule that gives one, and what follows that

    def arrange(self, request: Request) -> list[Arranged]:
        return [self._change(change) for change in request.changes]

    def _change(self, change: Change) -> Arranged:
        made = Arranged(change)
        if self.waiting is not None and self.waiting.operation != change.operation:
            self.waiting = None
        self._list(change.items, None, change.operation, made.nodes)
        return made

    def _list(
        self, items: tuple[RuleItem | IE, ...], owner: Node | None, operation: Operation,
        top: list[Node],
    ) -> None:  # fmt: skip
        """Arrange a list under `owner` (whose brackets it stands in) or, without one, in `top`."""
        open_ = [owner] if owner is not None else []
        if owner is None and isinstance(items[0], IE):
            implied = self._implied(items, operation)
            if implied is None:
                return
            self._rule(implied, open_, owner, top)
            open_.append(implied)
        for item in items:
            if isinstance(item, IE):
                self._element(item, open_)
                continue
            try:
                node = Node(self._kind(item, open_, operation), item, operation)
            except Misplaced as fault:
                self.faults.append(fault)
                if not item.block:
                    open_ = []  # its elements would be misread as another's
                    return
                continue
            self._rule(node, open_, owner, top)
            if item.block:
                self._list(item.items, node, operation, top)
            else:
                open_.append(node)

    def _implied(self, items: tuple[RuleItem | IE, ...], operation: Operation) -> Node | None:
        """The rule that a change's elements belong to, where none stands before them."""
        ies = list(takewhile(lambda item: isinstance(item, IE), items))
        start, end = ies[0].at[-2:-1], ies[-1].at[-1:]
        item = RuleItem("", None, None, tuple(items[: len(ies) + 1]), True, start + end + end)
        try:
            kind = self._kind(item, [], operation)
        except Misplaced as fault:
            self.faults.append(fault)
            return None
        implied = Node(kind, item._replace(kind=kind.name, items=()), operation)
        implied.origin = item
        return implied

    def _kind(self, item: RuleItem, open_: list[Node], operation: Operation) -> Kind:
        """The kind that an item names or, where it names none, the one that its elements fit: first
        of those that may stand within what is open."""
        if item.kind:
            return find_kind(self.kinds, item)
        ies = [inner for inner in item.items if isinstance(inner, IE)]
        within = [find_kind(self.kinds, r).name for r in item.items
                  if isinstance(r, RuleItem) and r.kind]  # fmt: skip
        inner = {name for node in open_ for name in node.kind.children}
        kinds = list(self.kinds.values())
        near = [k for k in kinds if k.name in inner and all(map(k.has, ies))] or kinds
        try:
            return kind_of(ies, within, near, operation)
        except Fault as fault:
            raise Misplaced(fault, item) from None

    def _element(self, ie: IE, open_: list[Node]) -> None:
        if not open_:
            fault = Fault("H0438", "this element belongs to no rule", "ie", "no rule is open here",
                          "write it within its rule: create FAR [(action, u8, DROP)]")  # fmt: skip
            self.faults.append(Misplaced(fault, ie))
            return
        for node in reversed(open_):
            member = (
                node.parent.kind
                if node.parent is not None and node.kind.name in (node.parent.kind.children)
                else None
            )
            if node.kind.has(ie, member):
                node.ies.append(ie)
                break
        else:
            node = open_[-1]
            node.ies.append(ie)
        del open_[open_.index(node) + 1 :]
        if node.item.id is None or node.operation != "delete":
            self.last[node.kind.name] = node

    def _rule(self, node: Node, open_: list[Node], owner: Node | None, top: list[Node]) -> None:
        for holder in reversed(open_):
            own = node.item.id is not None or node.item.name is not None
            if _can_hold(holder, node) and not (own and _gives(holder) and holder is not owner):
                self._put(holder, node)
                del open_[open_.index(holder) + 1 :]
                return
        if owner is not None:
            title = f"a {node.kind.name} cannot stand within a {owner.kind.name}"
            holds = " or ".join(dict.fromkeys(owner.kind.children))
            help_ = f"a {owner.kind.name} holds {holds}" if holds else (
                f"give the {node.kind.name} a change of its own")  # fmt: skip
            if node.kind.name in owner.kind.children:
                self.faults.append(_second(owner, node, "leave one of them out"))
            else:
                self.faults.append(Misplaced(Fault("H0434", title, "kind", "", help_), node.place))
            return
        del open_[:]
        waiting = self.waiting
        if waiting is not None and _follows(waiting, node):
            if not _gives(waiting) or (node.kind.spread is not None and _can_hold(waiting, node)):
                self._put(waiting, node)
                return
            if waiting in top:
                self.seconds.append((waiting, node))
        top.append(node)
        if node.kind.alternatives:
            self.waiting = node
        self.last[node.kind.name] = node

    def _put(self, holder: Node, node: Node) -> None:
        item = node.item
        if (
            holder.kind.spread is not None
            and item.id is None
            and item.name is None
            and (not item.block)
        ):
            self._stand_for(node)
        node.parent = holder
        holder.children.append(node)
        if node.same is None and item.id is None:
            self.last[node.kind.name] = node

    def _stand_for(self, node: Node) -> None:
        """A bare `FAR` in an LBR, unless elements follow: the one before it in the request."""
        before = self.last.get(node.kind.name)
        if before is None or before.operation != node.operation:
            return
        node.same = before

    def settle(self, changes: list[Arranged]) -> None:
        """A bare word that was described after all stands for itself; where it stands for a rule
        that a PDR owns, the PDR holds the spread too."""
        for change in changes:
            for node in list(change.nodes):
                self._settle(node, change.nodes)
        for giver, node in self.seconds:
            if node.parent is None:
                advice = f"leave one of them out, or give the {node.kind.name} a change of its own"
                self.faults.append(_second(giver, node, advice))

    def _settle(self, node: Node, top: list[Node]) -> None:
        for child in list(node.children):
            self._settle(child, top)
        for child in node.children:
            if child.same is None:
                continue
            if child.described():
                child.same = None
                continue
            giver = child.same.parent if child.same.item.id is None else None
            if giver is not None and node in top and node.kind.name in giver.kind.alternatives:
                top.remove(node)
                node.parent = giver
                giver.children.append(node)

    def join(self, changes: list[Arranged]) -> None:
        """Give each rule beside a spread its place there."""
        for change in changes:
            for node in change.nodes:
                self._join(node)

    def _join(self, node: Node) -> None:
        for child in node.children:
            self._join(child)
        if len(node.children) > 1 and node.kind.alternatives and node.operation != "delete":
            try:
                join(node)
            except Fault as fault:
                self.faults.append(Misplaced(fault, fault.node.place))


def _can_hold(holder: Node, node: Node) -> bool:
    """By kind and by number: one alternative, or a spread and one that it spreads over; any number
    of members, and of entries of a group."""
    kind = holder.kind
    if kind.spread is not None and node.kind.name == kind.spread.kind:
        return True
    given = [child.kind for child in holder.children if child.kind.name in kind.alternatives]
    return node.kind.name in kind.alternatives and all(fit(k, node.kind) for k in given)


def _gives(node: Node) -> bool:
    return any(child.kind.name in node.kind.alternatives for child in node.children)


def _follows(waiting: Node, node: Node) -> bool:
    return (
        node.item.id is None
        and node.item.name is None
        and node.operation == waiting.operation
        and node.kind.name in waiting.kind.alternatives
        and not _none(waiting)
    )


def _none(node: Node) -> bool:
    """`replace PDR`: there is to be none, so nothing is given."""
    item = node.item
    bare = not item.block and item.id is None and item.name is None
    return node.operation == "replace" and bare and not node.described()


def _second(giver: Node, node: Node, help_: str) -> Misplaced:
    title = f"a {giver.kind.name} gives one rule, and this is the second"
    return Misplaced(Fault("H0433", title, "kind", "", help_), node.place)
