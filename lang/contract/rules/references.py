"""Resolves references of a request, by number or by name, in the staged tables of a plan; also to
rules that a later change of the request makes (`Draft.forward_refs`)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from ...text.diagnostics import did_you_mean
from .draft import Draft, ForwardRef
from .ie_values import Fault, fold
from .kind_fields import Field
from .rule_node import Node
from .rulekinds import Kind, Parts
from .rules import Reference

#: Rules or ports of a kind that a help names.
_CHOICES = 8


def resolve_given(
    draft: Draft, kind: Kind, parts: Parts, values: dict[str, int], references: dict[str, Reference]
) -> tuple[dict[str, int], dict[str, Reference]]:
    """The elements that a rule gives, over those it had: references resolved, ifindex
    agreed."""
    values.update(parts.values)
    companion = kind.ifindex
    number = None
    if companion is not None:
        number = parts.values.get(companion[0])
        if number is not None and companion[1] not in parts.references:
            # The number alone names the interface.
            _by_number(draft, kind, number, references, companion[1])
        elif number is None and companion[1] in parts.references:
            values.pop(companion[0], None)
    for name, (raw, ie) in parts.references.items():
        try:
            field = kind.given[name]
            asked = number if companion is not None and companion[1] == name else None
            before = len(draft.forward_refs)
            references[name] = resolve(draft, field, raw, asked)
            for forward_ref in draft.forward_refs[before:]:
                forward_ref.fault.ie = ie
        except Fault as fault:
            fault.ie = ie
            raise
    if number is not None and companion is not None:
        reference = references[companion[1]]
        if reference.kind != "port" and not draft.staged(reference.kind).exists(reference.id):
            draft.forward_refs[-1] = draft.forward_refs[-1]._replace(ifindex=number)
        elif not agrees(draft, reference, number):
            raise disagrees(draft, reference, number)
    return values, references


def disagrees(draft: Draft, reference: Reference, number: int) -> Fault:
    title = f"ifindex {number} is not {describe(draft, reference)}"
    return Fault("H0443", title, "rule", "", "leave the ifindex out, or make them agree")


def _by_number(
    draft: Draft, kind: Kind, number: int, references: dict[str, Reference], name: str
) -> None:
    now = references.get(name)
    if now is not None and agrees(draft, now, number):
        return
    field = kind.given[name]
    if "port" in field.references and number not in draft.book.port_names:
        for port, ifindex in draft.book.ifindexes.items():
            if ifindex == number and not _numbered(draft, field, number):
                references[name] = Reference("port", port)
                return
    references[name] = resolve(draft, field, number, None)


def _numbered(draft: Draft, field: Field, number: int) -> list[Reference]:
    """What a number may mean: a rule of that id, a port of that number."""
    return [
        Reference(kind, number)
        for kind in field.references
        if (
            number in draft.book.port_names if kind == "port" else draft.staged(kind).exists(number)
        )
    ]


def resolve(draft: Draft, field: Field, raw: int | str, ifindex: int | None) -> Reference:
    """What a reference refers to, by number or by name. A number that several of the kinds have
    means the first of them, as declared, unless an ifindex beside it says which."""
    name = field.codec.name
    each = ["a port" if k == "port" else f"an {k}" if k[0] in "AEIO" else f"a {k}"
            for k in field.references]  # fmt: skip
    if isinstance(raw, int):
        found = _numbered(draft, field, raw)
        if ifindex is not None and len(found) > 1:
            found = [r for r in found if agrees(draft, r, ifindex)] or found
        if not found:
            what = " or ".join(k if k == "port" else f"{k} rule" for k in field.references)
            title = f"`{name}` refers to {raw}, but there is no such {what}"
            fault = Fault("H0441", title, "value", "nothing has this number",
                          _choices(draft, field))  # fmt: skip
            return _promised_to(draft, field, raw, "", fault)
        return not_owned(draft, found[0], "value")
    word = raw[1:-1] if raw[:1] == '"' else raw
    for kind in field.references:
        if kind == "port":
            number = draft.book.ports.get(word)
            if number is None:
                near = draft.book.folded_ports.get(fold(word), ())
                number = near[0] if len(near) == 1 else None
            if number is not None:
                return Reference("port", number)
        else:
            id_ = draft.staged(kind).named(word)
            if id_ is not None:
                return not_owned(draft, Reference(kind, id_), "value")
    exact = _spelled(draft, field, word)
    if exact is not None:
        return not_owned(draft, exact, "value")
    title = f"`{word}` is not the name of {' or '.join(each)}"
    help_ = did_you_mean(word, _names(draft, field)) or _choices(draft, field)
    fault = Fault("H0440", title, "value", "nothing has this name", help_)
    return _promised_to(draft, field, None, word, fault)


def _promised_to(draft: Draft, field: Field, id_: int | None, name: str, fault: Fault) -> Reference:
    for kind in field.references:
        if kind != "port" and _forward_id(draft, kind, id_, name) is not None:
            return forward(draft, kind, id_, name, fault)
    raise fault


def forward(draft: Draft, kind: str, id_: int | None, name: str, fault: Fault) -> Reference:
    """The rule of that id or name that a later change makes. Raises `fault` if none does."""
    found = _forward_id(draft, kind, id_, name)
    if found is None:
        raise fault
    fault.node = fault.node or draft.node
    reference = Reference(kind, found)
    draft.forward_refs.append(ForwardRef(reference, fault))
    return reference


def makes(draft: Draft, node: Node) -> bool:
    """Whether a change of the request makes the rule of this id or name."""
    item = node.item
    if item.id is None and not item.name:
        return False
    return _forward_id(draft, node.kind.name, item.id, item.name or "") is not None


def _forward_id(draft: Draft, kind: str, id_: int | None, name: str) -> int | None:
    if draft.promises is None:
        draft.promises = {}
        todo = [node for change in draft.tree for node in change.nodes]
        while todo:
            node = todo.pop()
            todo.extend(node.children)
            item = node.item
            if node.operation in ("create", "replace") and node.described():
                if item.id is not None:
                    draft.promises[node.kind.name, item.id] = item.id
                if item.name:
                    draft.promises[node.kind.name, fold(item.name)] = item.id
    key = (kind, fold(name) if id_ is None else id_)
    if key not in draft.promises:
        return None
    found = draft.promises[key]
    if found is None:
        found = draft.promises[key] = draft.staged(kind).reserve(name)
    return found


def _spelled(draft: Draft, field: Field, word: str) -> Reference | None:
    """`OVERLAY.3`, `port.2`, in a cell also `OVERLAY 3`: a number that says of what."""
    kind, dot, digits = ".".join(word.split()).rpartition(".")
    if not dot or not digits.isdecimal() or len(digits) > 10:
        return None
    found = [r for r in _numbered(draft, field, int(digits)) if fold(r.kind) == fold(kind)]
    return found[0] if found else None


def _names(draft: Draft, field: Field) -> list[str]:
    return [name for kind in field.references for name in _numbers(draft, kind)]


def _numbers(draft: Draft, kind: str) -> Mapping[str, int]:
    """Those of the ports, or of a kind's rules, by their names."""
    if kind == "port":
        return draft.book.ports
    if not draft.book.kinds[kind].rule.named:
        return {}
    rules = chain(draft.book.tables[kind], draft.staged(kind).rules.values())
    return {rule.name: rule.id for rule in rules if rule is not None and rule.name}


def _choices(draft: Draft, field: Field) -> str:
    """What has a name: of each kind the first few, with their numbers."""
    found: list[str] = []
    for kind in field.references:
        numbers = _numbers(draft, kind)
        if numbers:
            said = [f"{name} ({numbers[name]})" for name in sorted(numbers)[:_CHOICES]]
            more = f" and {len(numbers) - _CHOICES} more" if len(numbers) > _CHOICES else ""
            found.append(f"{kind} {', '.join(said)}{more}")
    if found:
        return f"there are {'; '.join(found)}"
    return f"create it first: create {field.references[0]} […]"


def not_owned(draft: Draft, reference: Reference, part: str) -> Reference:
    rules = draft.staged(reference.kind).known(reference.id) if reference.kind != "port" else []
    for rule in rules:
        if rule.owner:
            title = f"{rule.kind} {rule.id} belongs to another rule, which alone may use it"
            help_ = f"create a {rule.kind} with an id of its own for sharing"
            raise Fault("H0445", title, part, "owned", help_)
    return reference


def agrees(draft: Draft, reference: Reference, number: int) -> bool:
    """A number that may stand beside an interface: its own, or that of the port under it."""
    if number == reference.id:
        return True
    if reference.kind == "port":
        return draft.book.ifindexes.get(reference.id) == number
    return any(
        agrees(draft, under, number)
        for rule in draft.staged(reference.kind).with_id(reference.id)
        for _, under in rule.references
        if under.kind == "port"
    )


def describe(draft: Draft, reference: Reference) -> str:
    """`OVERLAY 1 (GRE-WAN1)`, `port 2 (eth1)`: for messages."""
    if reference.kind == "port":
        name = draft.book.port_names.get(reference.id, "")
    else:
        name = next((r.name for r in draft.staged(reference.kind).with_id(reference.id)), "")
    return f"{reference.kind} {reference.id}" + (f" ({name})" if name else "")
