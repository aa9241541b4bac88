"""Infers the kind of a rule that names none: Schema 1 of the paper allows bare lists of elements.

`create [(action, u8, DROP)]` is a FAR, for no other kind has these elements. Of several kinds that
have them, one remains if only it can hold the rules that stand within, or, where a rule is made,
if only it would then have all that it must have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..request.request import IE, Operation
from .ie_values import Fault
from .kind_fields import POSITION
from .rulekinds import Kind


def kind_of(
    ies: Sequence[IE], within: Iterable[str], kinds: Sequence[Kind], operation: Operation
) -> Kind:
    """The kind that has these elements and holds rules of the kinds `within`. Raises `Fault`."""
    found = [kind for kind in kinds if ies and all(kind.has(ie) for ie in ies)]
    if len(found) > 1:
        inside = set(within)
        found = [kind for kind in found if inside.issubset(kind.children)] or found
    if len(found) > 1 and operation == "create":
        found = [kind for kind in found if _whole(kind, ies)] or found
    if len(found) == 1:
        return found[0]
    names = [kind.name for kind in found]
    if names:
        title = f"is this a rule of kind {' or '.join(names)}?"
        help_ = f"write the kind: {operation} {names[0]} […]"
        raise Fault("H0439", title, "rule", "each has all of these elements", help_)
    title = f"no kind of rule has {'all of these' if ies else 'no'} elements"
    raise Fault("H0439", title, "rule", "", _who(ies, kinds))


def _whole(kind: Kind, ies: Iterable[IE]) -> bool:
    """The elements that every rule of the kind must have are there."""
    left = list(kind.exact)
    left += [kind.given[name] for name, when, _ in kind.requires if not when]
    for ie in ies:
        named = kind.field(ie, None)
        by_position = named.role == POSITION
        for field in left:
            if field is named or (by_position and field.codec.kind == named.codec.kind):
                left.remove(field)
                break
    return not left


def _who(ies: Iterable[IE], kinds: Sequence[Kind]) -> str:
    said = []
    for ie in ies:
        names = [kind.name for kind in kinds if kind.has(ie)]
        said.append(
            f"`{ie.type}` is of {' or '.join(names)}" if names else f"`{ie.type}` is of none"
        )
    return ", ".join(dict.fromkeys(said)) or f"write the kind: {kinds[0].name} […]"
