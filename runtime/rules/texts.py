"""The texts of many rules at a time, by the column: what `rule_text.format_rule` says of each. That
is the definition, and makes those that are not made here: spreads, and what gives a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from ...lang.contract.request.request import IE, item_text, quoted
from ...lang.contract.rules.ie_values import Codec, ListCodec, fold
from ...lang.contract.rules.kind_fields import Field
from ...lang.contract.rules.rule_text import reference_text, rule_item
from ...lang.contract.rules.rulekinds import Kind
from ...lang.contract.rules.rules import Matcher, Reference
from .byte_columns import (
    Cells,
    Mask,
    Numbers,
    colons,
    constant,
    decimal,
    dotted,
    numbers,
    texts,
)
from .images import FORMS
from .moment import Moment, Rules

Rows = npt.NDArray[np.int64]
Item = tuple[Mask, list[Cells]]

_SPELLED: dict[str, Callable[[Numbers], Cells]] = {"uint": decimal, "ip4": dotted, "mac": colons}
#: A kind, an element of it, and whether it is matched or given.
_Of = tuple[str, str, bool]
#: Texts that are remembered of one.
_MOST = 1 << 16


class Texts:
    """Of one moment's rules."""

    def __init__(self, moment: Moment) -> None:
        self._moment = moment
        self._known: dict[_Of, dict[bytes, bytes]] = {}
        self._owning: dict[str, Numbers] = {}

    def of(self, table: Rules, rows: Rows, nested: bool = False) -> list[Cells]:
        """Of these rows, each in parts. `nested`: within their owners' texts, so without their
        ids."""
        alone = self._alone(table, rows)
        if not alone.any():
            return self._by_column(table, rows, nested)
        parts = [self._one_by_one(table, rows[alone], nested).among(alone)]
        if not alone.all():
            rest = self._by_column(table, rows[~alone], nested)
            parts += [part.among(~alone) for part in rest]
        return parts

    def _alone(self, table: Rules, rows: Rows) -> Mask:
        """Which of them are not made by the column: spreads, and those that have a group of their
        own."""
        found = np.full(len(rows), table.kind.spread is not None)
        for name in table.kind.alternatives:
            if self._moment.kinds[name].grouped:
                found |= np.isin(table.sequences[rows], self._owners(name))
        return found

    def _owners(self, name: str) -> Numbers:
        """The sequences of those that own rules of a kind."""
        if name not in self._owning:
            table = self._moment.tables.get(name)
            all_ = np.arange(len(table) if table is not None else 0)
            owners = table.head("owner", all_) if table is not None else all_.astype(np.uint64)
            self._owning[name] = np.unique(owners[owners > 0])
        return self._owning[name]

    def _by_column(self, table: Rules, rows: Rows, nested: bool) -> list[Cells]:
        kind = self._moment.kinds[table.kind.name]
        every = np.ones(len(rows), np.bool_)
        parts = [constant(kind.name.encode(), every)]
        if not nested:
            parts += [constant(b" ", every), decimal(table.ids[rows].astype(np.uint64))]
        if table.kind.named and (said := self._names(table, rows)) is not None:
            parts += [constant(b" ", said.lengths > 0), said]
        parts.append(constant(b" [", every))
        before = ~every
        for present, item in self._items(table, rows, kind):
            parts += [constant(b", ", before & present), *item]
            before = before | present
        return [*parts, constant(b"]", every)]

    def _one_by_one(self, table: Rules, rows: Rows, nested: bool) -> Cells:
        moment = self._moment
        items = (rule_item(table.rule(row), moment.kinds, moment, nested) for row in rows.tolist())
        return texts([item_text(item).encode() for item in items])

    def _names(self, table: Rules, rows: Rows) -> Cells | None:
        """As requests spell them; None where no rule has one."""
        found = table.said_names(rows)
        if not any(found):
            return None
        return texts([quoted(name.decode()).encode() if name else b"" for name in found])

    def _items(self, table: Rules, rows: Rows, kind: Kind) -> Iterator[Item]:
        """Elements and targets in their order: in which rows, and what is said there."""
        for field in kind.match:
            yield from self._matched(table, rows, kind, field)
        rank = table.kind.priority
        if rank is not None:
            priorities = table.head("priority", rows).astype(np.uint64)
            there = (priorities > 0) | (rank[0] == "precedence")
            codec = kind.fields[fold(rank[1])].codec
            yield there, _element(codec, [decimal(priorities).only(there)], there)
        for name in table.kind.gives:
            yield from self._given(table, rows, kind.fields[fold(name)].codec)
        if table.kind.alternatives:
            yield from self._targets(table, rows)

    # ---- elements ---------------------------------------------------------------------------

    def _matched(self, table: Rules, rows: Rows, kind: Kind, field: Field) -> Iterator[Item]:
        codec, at = field.codec, table.codec.matched[field.codec.name]
        data = table.image_part(at.at, at.form.size, rows)
        form = data[:, 0]
        present, plain, parts = form > 0, np.zeros(len(rows), np.bool_), list[Cells]()
        if not present.any() or field.match is None:
            return
        match_kind = field.match.kind
        if spell := _plainly(codec):
            plain = present & (form != 1 + FORMS.index("mask"))
            value, other = (numbers(data[:, i : i + at.size]) for i in (1, 1 + at.size))
            said = [spell(value).only(plain)]
            for name, between, spell_other in (("prefix", b"/", decimal), ("range", b"..", spell)):
                where = form == 1 + FORMS.index(name)
                if where.any():
                    said += [constant(between, where), spell_other(other).only(where)]
            parts = _element(codec, said, plain)

        def text(key: bytes) -> str:
            _, low, high = at.form.unpack(key)
            matcher = Matcher(FORMS[key[0] - 1], _narrow(low), _narrow(high))
            ie = codec.spelled(match_kind, matcher)
            return item_text(IE(codec.name, codec.lengths[0], *ie))

        if (rest := present & ~plain).any():
            parts.append(self._spelled((kind.name, codec.name, True), data[rest], text).among(rest))
        yield present, parts

    def _given(self, table: Rules, rows: Rows, codec: Codec) -> Iterator[Item]:
        given = table.codec.given[codec.name]
        data = table.image_part(given.at, given.form.size, rows)
        tag = data[:, 0]
        present, plain, parts = tag > 0, np.zeros(len(rows), np.bool_), list[Cells]()
        if not present.any():
            return
        if spell := _plainly(codec):
            plain = tag == 1
            said = [spell(numbers(data[:, 1:])).only(plain)]
            parts = _element(codec, said, plain)

        def text(key: bytes) -> str:
            which, packed = given.form.unpack(key)
            value = _narrow(packed)
            if which == 1:
                spelled = codec.format(value)
            else:
                reference = Reference(given.references[which - 2], value)
                spelled = reference_text(reference, self._moment)
            return item_text(IE(codec.name, codec.lengths[0], "value", spelled))

        if (rest := present & ~plain).any():
            parts.append(
                self._spelled((table.kind.name, codec.name, False), data[rest], text).among(rest)
            )
        yield present, parts

    def _spelled(self, of: _Of, data: npt.NDArray[np.uint8], text: Callable[[bytes], str]) -> Cells:
        """By what the image has, each value of which is spelled once."""
        known = self._known.setdefault(of, {})
        if len(known) > _MOST:
            known.clear()
        size, found = data.shape[1], list[bytes]()
        together = data.tobytes()
        for at in range(0, len(together), size):
            key = together[at : at + size]
            said = known.get(key)
            if said is None:
                said = known[key] = text(key).encode()
            found.append(said)
        return texts(found)

    # ---- targets ----------------------------------------------------------------------------

    def _targets(self, table: Rules, rows: Rows) -> Iterator[Item]:
        data = table.image_part(table.codec.target_at, 5, rows)
        tag, ids = data[:, 0], numbers(data[:, 1:])
        for number, name in enumerate(table.kind.alternatives, 1):
            where = tag == number
            if where.any():
                said = self._target(name, ids[where], table.sequences[rows[where]])
                yield where, said if where.all() else [part.among(where) for part in said]

    def _target(self, name: str, ids: Numbers, owners: Numbers) -> list[Cells]:
        """Of rules of a kind: whole where these own them, else by name or id."""
        target, every = self._moment.tables.get(name), np.ones(len(ids), np.bool_)
        rest, parts = every, list[Cells]()
        if target is not None and len(target):
            at = np.minimum(np.searchsorted(target.ids, ids), len(target) - 1)
            there = target.ids[at] == ids
            own = there & (target.head("owner", at) == owners)
            if own.any():
                parts = [part.among(own) for part in self.of(target, at[own], nested=True)]
            others = there & ~own
            said = self._names(target, at[others]) if target.kind.named and others.any() else None
            named = ~every
            if said is not None:
                names = said.among(others)
                named = names.lengths > 0
                parts += [constant(f"{name} ".encode(), named), names]
            rest = ~own & ~named
        return [*parts, constant(f"{name} ".encode(), rest), decimal(ids).only(rest)]


def _plainly(codec: Codec) -> Callable[[Numbers], Cells] | None:
    """What spells its values by the column; None where each has to be looked at."""
    named = codec.element.symbols or codec.implied_mask is not None or isinstance(codec, ListCodec)
    return None if named or codec.width > 64 else _SPELLED.get(codec.kind)


def _element(codec: Codec, value: list[Cells], where: Mask) -> list[Cells]:
    """`(tos, u8, 184)`"""
    front = f"({codec.name}, {codec.lengths[0]}, ".encode()
    return [constant(front, where), *value, constant(b")", where)]


def _narrow(value: int | bytes) -> int:
    return int.from_bytes(value, "little") if isinstance(value, bytes) else value
