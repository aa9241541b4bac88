"""Makes diagnostics of faults, with their places in the request; checks that a rule is complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import partial

from ...text.diagnostics import Diagnostic, Label, Severity, listed
from ..request.places import printed
from ..request.request import IE, Item, Place, Request, RuleItem
from .ie_values import Codec, Fault
from .kind_fields import Field
from .nest_rules import Arranger
from .rule_node import Node
from .rulekinds import Kind, Parts
from .rules import Reference

_PARTS = {"type": (0, 1), "length": (2, 3), "value": (4, 5), "other": (6, 7), "values": (4, 7)}


_LACKS = ("H0430", "H0431")


def diagnostics(
    found: Sequence[tuple[Fault, Item]], request: Request, kinds: Mapping[str, Kind],
    severity: Severity = "error",
) -> list[Diagnostic]:  # fmt: skip
    """Faults of items of a request, which is printed where it has no text. What the request itself
    does not have is nowhere."""
    source, places = request.source, dict[int, Place]()
    if source is None:
        source, places = printed(request, [item for _, item in found], partial(_spelled, kinds))
    unknown = {id(item) for fault, item in found if fault.code == "H0410"}
    made = []
    for fault, item in found:
        items = item.items if fault.code in _LACKS and isinstance(item, RuleItem) else ()
        if unknown & set(map(id, items)):
            continue  # what it lacks may be what is not known
        at = item.at or places.get(id(item), ())
        label = Label(source.span(*_ends(item, fault.part, at)), fault.text) if at else None
        labels = (label,) if label is not None else ()
        made.append(Diagnostic(fault.code, fault.title, labels, fault.help, severity))
    return made


def _ends(item: Item, part: str, at: Place) -> tuple[int, int]:
    """The characters of an item that a fault is about."""
    if isinstance(item, IE):
        start, end = _PARTS.get(part, (8, 9))
        return at[start], at[end]
    if part == "kind" and not (item.block and at[1] == at[2]):
        return at[0], at[0] + len(item.kind)
    return at[0], at[1]


def _spelled(kinds: Mapping[str, Kind], ie: IE) -> IE:
    """An element with its numbers as rules show them."""
    codec = next(iter(kinds.values())).codecs.get(ie.type)
    if not isinstance(ie.value, int) or codec is None:
        return ie
    form, value, other = codec.spellings(ie.form, ie.value, int(ie.other or 0))
    return ie._replace(form=form, value=value, other=other)


def decode(node: Node) -> Parts:
    """What the IEs of a rule say. Raises the first `Fault`, its IE in `.ie`."""
    parent = node.parent
    member = None
    if parent is not None and parent.kind.spread is not None:
        member = parent.kind if parent.kind.spread.kind == node.kind.name else None
    return node.kind.decode(node.ies, member)


def every_fault(node: Node, first: Fault) -> list[tuple[Fault, IE | None]]:
    """All that is wrong with the IEs of a rule, each looked at alone besides what was found
    first."""
    found: list[tuple[Fault, IE | None]] = [(first, first.ie)]
    parent = node.parent
    member = parent.kind if parent is not None and parent.kind.spread is not None else None
    for ie in node.ies:
        try:
            node.kind.decode((ie,), member)
        except Fault as fault:
            if ie is not found[0][1]:
                found.append((fault, ie))
    return found


def wrong_elements(request: Request, kinds: Mapping[str, Kind]) -> list[Diagnostic]:
    """What is wrong with a request whatever rules and ports there are: unknown kinds, and elements,
    each by itself. `kinds`: by folded name."""
    arranger = Arranger(kinds)
    todo = [node for change in arranger.arrange(request) for node in change.nodes]
    found: list[tuple[Fault, Item]] = [
        (fault, fault.item) for fault in arranger.faults if fault.code == "H0410"
    ]
    for node in todo:
        todo += node.children
        member = node.parent.kind if node.parent is not None else None
        for ie in node.ies:
            try:
                if not node.kind.field(ie, member).codec.element.references:
                    node.kind.decode((ie,), member)
            except Fault as fault:
                found.append((fault, ie))
    return diagnostics(found, request, kinds)


def complete(kind: Kind, values: Mapping[str, int], references: Mapping[str, Reference]) -> None:
    """Raise `Fault` unless a rule with these elements can be carried out."""
    for name, when, kinds in kind.requires:
        for other, needed in when:
            if values.get(other) not in needed:
                break
        else:
            if name in values:
                continue
            reference = references.get(name)
            if reference is None:
                raise _incomplete(kind, _lacking(kind, values, {*values, *references}))
            if kinds and reference.kind not in kinds:
                title = f"`{name}` of this {kind.name} cannot be a {reference.kind}"
                raise Fault(
                    "H0444", title, "rule", "", f"it must be a {' or a '.join(sorted(kinds))}"
                )


def _lacking(kind: Kind, values: Mapping[str, int], given: Set[str]) -> dict[str, str]:
    """Elements that a rule has to give and does not, and why: empty where always."""
    found: dict[str, str] = {}
    for name, when, _ in kind.requires:
        if name not in given and all(values.get(n) in needed for n, needed in when):
            conditions = ((kind.codecs[n], values) for n, values in when)
            found[name] = " and ".join(
                f"`{codec.name}` is {' or '.join(map(codec.format, sorted(values)))}"
                for codec, values in conditions
            )
    return {name: found[name] for name in kind.rule.gives if name in found}


def _incomplete(kind: Kind, lacking: Mapping[str, str], code: str = "H0430",
                keys: Sequence[Field] = ()) -> Fault:  # fmt: skip
    """One fault about all that a rule lacks. `keys`: what it matches exactly."""
    reasons = dict.fromkeys(lacking.values())
    groups = [([kind.codecs[name] for name in lacking if lacking[name] == why],
               f", needed where {why}" if why else "") for why in reasons]  # fmt: skip
    if keys:
        groups.insert(0, ([field.codec for field in keys], ", which it matches exactly"))
    what = ", and ".join(listed(c.name for c in group) + why for group, why in groups)
    codecs = [codec for group, _ in groups for codec in group]
    return Fault(code, f"this {kind.name} lacks {what}", "rule",
                 ", ".join(f"no `{codec.name}`" for codec in codecs),
                 f"add {', '.join(map(_example, codecs))}")  # fmt: skip


def _example(codec: Codec) -> str:
    """An IE of the element, but for its value."""
    return f"({', '.join(filter(None, (codec.name, codec.lengths[0], '…')))})"


def has_keys(kind: Kind, parts: Parts) -> None:
    missing = [field for field in kind.exact if not parts.pairs[field.nth]]
    if missing:
        given = {*parts.values, *parts.references}
        if kind.ifindex is not None and kind.ifindex[0] in given:
            given.add(kind.ifindex[1])  # the number alone names the interface
        raise _incomplete(kind, _lacking(kind, parts.values, given), "H0431", missing)
