"""Which of a moment's rules may say something: found in their images by the column, a hundred times
quicker than by making every rule and its text.

What is found may be more than what says it, and is never less: who asks looks at those themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...lang.contract.request.request import IE
from ...lang.contract.rules.ie_values import Fault, fold
from ...lang.contract.rules.kind_fields import MATCH, VALUE, Field
from ...lang.contract.rules.rule_text import element_of, reference_text
from ...lang.contract.rules.rulekinds import Kind
from ...lang.contract.rules.rules import Reference
from .images import FORMS, Given, Matched
from .moment import Moment, Rules

Mask = npt.NDArray[np.bool_]


def saying(moment: Moment, table: Rules, element: str, text: str) -> Mask:
    """By row. `element`: its folded name; `text`: its value as texts of rules show it."""
    kind, codec = moment.kinds[table.kind.name], table.codec
    found = np.zeros(len(table), np.bool_)
    for field in (*kind.match, *kind.gives):
        name = field.codec.name
        if fold(name) != element:
            continue
        if field.role == MATCH:
            found |= _matching(table, codec.matched[name], kind, field, text)
        elif field.role == VALUE:
            found |= _giving(table, codec.given[name], kind, field, text)
        else:
            found |= _referring(moment, table, codec.given[name], field, text)
    priority = table.kind.priority
    if priority is not None and fold(priority[1]) == element:
        found[:] = True
    return found


def pointing(table: Rules, to: Reference) -> Mask:
    """By row: rules that point at this one."""
    found, codec = np.zeros(len(table), np.bool_), table.codec
    for given in codec.given.values():
        if to.kind in given.references:
            tag = 2 + given.references.index(to.kind)
            found |= _is(table, given.at, given.form.pack(tag, _packed(to.id, given.size)))
    if to.kind in table.kind.alternatives:
        tag = 1 + table.kind.alternatives.index(to.kind)
        found |= _is(table, codec.target_at, bytes([tag]) + to.id.to_bytes(4, "little"))
    if table.kind.spread is not None and table.kind.spread.kind == to.kind:
        found[:] = True
    return found


def _matching(table: Rules, at: Matched, kind: Kind, field: Field, text: str) -> Mask:
    try:
        pair = kind.decode([element_of(field.codec, text)]).pairs[field.nth]
    except Fault:  # no rule says what cannot be said
        pair = None
    if not pair:
        return np.zeros(len(table), np.bool_)
    form, value, other = pair[1]
    packed = (FORMS.index(form) + 1, _packed(value, at.size), _packed(other, at.size))
    return _is(table, at.at, at.form.pack(*packed))


def _giving(table: Rules, at: Given, kind: Kind, field: Field, text: str) -> Mask:
    try:
        said = IE(field.codec.name, field.codec.lengths[0], "value", text)
        value = kind.decode([said]).values.get(field.codec.name)
    except Fault:
        value = None
    if value is None:
        return np.zeros(len(table), np.bool_)
    return _is(table, at.at, at.form.pack(1, _packed(value, at.size)))


def _referring(moment: Moment, table: Rules, at: Given, field: Field, text: str) -> Mask:
    """References have several spellings: there are few of them, and each is spelled once."""
    data = np.ascontiguousarray(table.image_part(at.at, at.form.size))
    different, which = np.unique(data.view(f"V{at.form.size}")[:, 0], return_inverse=True)
    said = [_spelled(moment, at, field, bytes(each)) == text for each in different.tolist()]
    mask: Mask = np.array(said, np.bool_)[which]
    return mask


def _spelled(moment: Moment, at: Given, field: Field, data: bytes) -> str:
    tag, value = at.form.unpack(data)
    number = int.from_bytes(value, "little") if isinstance(value, bytes) else value
    if tag < 2:
        return field.codec.format(number) if tag else ""
    return reference_text(Reference(at.references[tag - 2], number), moment)


def _is(table: Rules, at: int, expected: bytes) -> Mask:
    """By row: whether its image has these bytes there."""
    found: Mask = np.ones(len(table), np.bool_)
    data = table.image_part(at, len(expected))
    for place, byte in enumerate(expected):
        found &= data[:, place] == byte
    return found


def _packed(value: int, size: int) -> Any:
    """As the image's struct takes it."""
    return value.to_bytes(size, "little") if size > 8 else value
