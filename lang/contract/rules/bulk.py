"""Packed columns to a plan: the checks of `planner.py` on whole columns at a time.

The rules stay packed in the book (`block.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...text.diagnostics import Diagnostic, Label, Refused
from ..request.request import is_name
from . import identical
from .block import Block, Lazy
from .column_dict import among, hash_of, within
from .columns import Array, Column, Columns, one
from .draft import Draft
from .ie_values import Codec, Fault, fold
from .interleaving import NONE, WriteSet, YieldPoint, paced
from .kind_fields import MATCH, PRIORITY, REFERENCE, Field
from .packing import Claimed
from .plan import Plan
from .references import agrees, describe, resolve
from .rule_warnings import full, wrong_port
from .rulekinds import Kind
from .rules import Reference
from .rules_in_force import RulesInForce
from .ruletable import Table

_ALLOWED = {
    "exact": (1,), "optional": (0, 1), "lpm": (0, 1, 2), "ternary": (0, 1, 3), "range": (0, 1, 4),
}  # fmt: skip
_FAULTS_SHOWN = 5


class _Wrong(Exception):
    """Rows that are wrong in one way."""

    def __init__(self, fault: Fault, rows: Array, column: str) -> None:
        super().__init__(fault.title)
        self.fault, self.rows, self.column = fault, rows, column


class Bulk(Draft):
    """The planning of one set of columns."""

    def __init__(self, book: RulesInForce, columns: Columns, pause: YieldPoint = NONE) -> None:
        super().__init__(book, pause)
        self.columns = columns
        self.found: list[Diagnostic] = []
        self.kind = book.folded_kinds.get(fold(columns.kind))
        # What it takes in its table, as far as it was looked for there: hashes of match images.
        self._taken_ids: Array = np.zeros(0, np.uint64)
        self._taken_keys: Array = np.zeros(0, np.uint64)
        self._taken_names: set[str] = set()

    def overtaken(self, touched: WriteSet) -> bool:
        """Whether others took any of it, or its room, or changed what it refers to."""
        if super().overtaken(touched):
            return True
        if self.kind is None or (mine := touched.of(self.kind.name)) is None:
            return False
        ids = np.array([id_ for id_ in mine.moved if isinstance(id_, int)], np.uint64)
        keys = np.fromiter(map(hash_of, mine.keys), np.uint64, len(mine.keys))
        return bool(
            among(self._taken_ids, ids).any()
            or among(self._taken_keys, keys).any()
            or not self._taken_names.isdisjoint(mine.names)
            or len(self.book.tables[self.kind.name].rules) + self.columns.count
            > self.kind.rule.capacity
        )

    def plan(self) -> Plan:
        """Create these rules. Raises `Refused`; changes nothing."""
        columns, book, kind = self.columns, self.book, self.kind
        try:
            if kind is None or not kind.plain:
                why = "is no kind of rule" if kind is None else "rules cannot be packed"
                raise self._all_rows("H0470", f"{columns.kind} {why}")
            table = book.tables[kind.name]
            block = Block(kind, columns.count, self.sequence)
            self._fill(block)
            self._complete(block)
            self._ids(block, table)
            hashes = self._keys(block, table)
            # Last: the same file again is full of duplicates, and that is what to say.
            if len(table.rules) + columns.count > kind.rule.capacity:
                raise self._full(kind, len(table.rules) + columns.count)
        except _Wrong as wrong:
            self._report(wrong)
        if self.found:
            raise Refused(self.found)
        with self.pause.without_turn():
            warnings = *columns.warnings, *self._strange(block), *identical.warnings(block, columns)
        block.packing = table.packing(block, hashes, self.pause.without_turn)
        return Plan(
            Lazy(len(block), block.rule), (), (), Lazy(len(block), block.reference), warnings,
            (block,), (block,), book.revision,
            self.sequence + columns.count,
        )  # fmt: skip

    def _strange(self, block: Block) -> Iterator[Diagnostic]:
        """A warning at the first of the rules that no packet finds by its port of arrival."""
        kind, roles = block.kind, self.book.roles
        for match in (kind.rule.match[place] for place in kind.arriving):
            column = block.matchers.get(match.element)
            if column is None:
                continue
            others = [port for port, role in roles.items() if role not in match.roles]
            rows = np.flatnonzero((column.forms == 1) & np.isin(column.values, others))
            if len(rows):
                port = int(np.broadcast_to(column.values, block.count)[rows[0]])
                fault = wrong_port(self.book, kind.name, port, match.roles)
                text = f"{fault.text}; {len(rows)} such rules" if len(rows) > 1 else fault.text
                label = Label(self.columns.place(int(rows[0]), column.name).span, text)
                yield Diagnostic(fault.code, fault.title, (label,), fault.help, "warning")

    def _all_rows(self, code: str, title: str, help_: str = "") -> _Wrong:
        return _Wrong(Fault(code, title, "", "", help_), np.zeros(1, np.intp), "")

    def _full(self, kind: Kind, count: int) -> _Wrong:
        over = count - kind.rule.capacity
        return _Wrong(full(kind, count), np.array([max(0, self.columns.count - over)]), "")

    def _report(self, wrong: _Wrong) -> None:
        fault = wrong.fault
        for row in wrong.rows[:_FAULTS_SHOWN].tolist():
            place = self.columns.place(row, wrong.column)
            label = Label(place.span, fault.text)
            self.found.append(Diagnostic(fault.code, fault.title, (label,), fault.help))

    # ---- columns ----------------------------------------------------------------------------

    def _fill(self, block: Block) -> None:
        for column in self.columns.columns:
            field = block.kind.fields.get(fold(column.name))
            if column.name == "id":
                block.ids = column.values
            elif column.name == "name" and block.kind.rule.named:
                words = ["", *column.words]
                with self.pause.without_turn():
                    block.names = [words[i] for i in column.values.tolist()]
            elif column.name in block.kind.alternatives:
                self._target(block, column)
            elif field is None or not _fits(field, column):
                title = f"{block.kind.name} has no column `{column.name}` of this kind"
                raise self._all_rows("H0470", title)
            elif field.role == REFERENCE:
                self._reference(block, field, column)
            elif field.role == MATCH:
                with self.pause.without_turn():
                    self._matcher(field, column)
                block.matchers[column.name] = column
            else:
                with self.pause.without_turn():
                    self._value(field, column)
                if field.role == PRIORITY:
                    block.priorities = column.values
                else:
                    block.values[column.name] = column

    def _bad(self, rows: Array, column: Column, fault: Fault) -> None:
        if rows.any():
            every = np.broadcast_to(rows, column.values.shape)
            raise _Wrong(fault, np.flatnonzero(every), column.name)

    def _value(self, field: Field, column: Column) -> None:
        codec = field.codec
        assert column.forms is not None
        title = f"a value does not fit `{codec.name}`, which {codec.range}"
        self._bad(column.values > codec.full, column, Fault("H0416", title, "", "too large"))
        if codec.values:
            known = np.isin(column.values, list(codec.values)) | (column.forms == 0)
            names = ", ".join(f"{n} = {v}" for n, v in codec.element.symbols.items())
            title = f"this is none of the values of `{codec.name}`"
            self._bad(~known, column, Fault("H0417", title, "", "", f"it takes {names}"))
        self._bad(column.forms > 1, column, Fault("H0472", "the file is damaged", ""))

    def _matcher(self, field: Field, column: Column) -> None:
        """Every row is one of the matchers that the codec would have made."""
        codec, match = field.codec, field.match
        assert match is not None and column.forms is not None and column.others is not None
        forms, values, others = one(column.forms), column.values, one(column.others)
        wide = (values > codec.full) | (others > codec.full)
        title = f"a value does not fit `{codec.name}`, which has {codec.width} bits"
        self._bad(wide, column, Fault("H0416", title, "", "too large"))
        title = f"this form does not fit `{codec.name}`, which matches {match.kind}"
        self._bad(~np.isin(forms, _ALLOWED[match.kind]), column, Fault("H0418", title, ""))
        wrong = np.zeros(1, np.bool_)
        for form in np.unique(forms).tolist():
            wrong = wrong | (forms == form) & _unusual(form, values, others, codec)
        title = f"`{codec.name}` is not packed as it must be"
        self._bad(wrong, column, Fault("H0472", title, "", "", "make the file anew from its CSV"))
        if codec.values and match.kind in ("exact", "optional"):  # others may have said 7..7
            known = np.isin(values, list(codec.values)) | (forms != 1)
            self._bad(
                ~known, column, Fault("H0417", f"this is none of the values of `{codec.name}`", "")
            )

    def _meaning(self, block: Block, column: Column, field: Field) -> Array:
        """References by row, as indices into `block.meant`."""
        codes = [0]
        for i, word in enumerate(paced(column.words, self.pause)):
            reference: Reference | None
            try:
                raw: int | str = int(word) if word.isdecimal() and len(word) < 12 else word
                reference = resolve(self, field, raw, None)
            except Fault as fault:
                rows = np.flatnonzero(column.values == i + 1)
                if len(rows):
                    raise _Wrong(fault, rows, column.name) from None
                reference = None
            block.meant.append(reference)
            codes.append(len(block.meant) - 1)
        return np.array(codes, np.uint32)[column.values]

    def _reference(self, block: Block, field: Field, column: Column) -> None:
        block.references[column.name] = self._meaning(block, column, field)

    def _target(self, block: Block, column: Column) -> None:
        kind = self.book.kinds[column.name]
        codec = next(iter(block.kind.codecs.values()))
        field = Field(REFERENCE, 0, codec, references=(kind.name,))
        try:
            targets = self._meaning(block, column, field)
        except _Wrong as wrong:
            word = column.words[int(column.values[wrong.rows[0]]) - 1]
            said, _, number = word.replace(" ", ".").rpartition(".")
            which = number if fold(said) == fold(kind.name) else word
            wrong.fault.title = f"there is no {kind.name} {which}"
            raise
        if block.targets is not None:
            both = (block.targets != 0) & (targets != 0)
            self._bad(
                both, column, Fault("H0433", f"a {block.kind.name} gives one rule", "", "a second")
            )
            targets = np.where(targets != 0, targets, block.targets)
        block.targets = targets

    # ---- rules ------------------------------------------------------------------------------

    def _complete(self, block: Block) -> None:
        kind = block.kind
        with self.pause.without_turn():
            self._required_all(block)
        if self.found:
            raise Refused(self.found)
        if kind.ifindex is not None and kind.ifindex[0] in block.values:
            self._ifindex(block, *kind.ifindex)
        with self.pause.without_turn():
            for i, j in kind.overlaps:
                self._overlap(block, kind.match[i], kind.match[j])

    def _required_all(self, block: Block) -> None:
        kind, count = block.kind, block.count
        for field in kind.exact:
            column = block.matchers.get(field.codec.name)
            if column is None or column.forms is None or (column.forms != 1).any():
                title = f"{kind.name} rules need `{field.codec.name}`"
                rows = np.zeros(1, np.intp) if column is None else np.flatnonzero(column.forms != 1)
                self._report(_Wrong(Fault("H0431", title, "", "left out"), rows, field.codec.name))
        for required, when, kinds in kind.requires:
            needed = np.ones(count, bool)
            for name, allowed in when:
                column = block.values.get(name)
                needed &= (
                    np.isin(column.values, list(allowed)) & (column.forms == 1) if column else False
                )
            self._required(block, required, needed, kinds)

    def _required(self, block: Block, name: str, needed: Array, kinds: frozenset[str]) -> None:
        column, references = block.values.get(name), block.references.get(name)
        if column is not None:
            assert column.forms is not None
            needed = needed & (column.forms == 0)
        elif references is not None:
            good = np.array([r is not None and (not kinds or r.kind in kinds) for r in block.meant])
            needed = needed & ~good[references]
        if needed.any():
            fault = Fault("H0430", f"{block.kind.name} rules need `{name}` here", "", "left out")
            self._report(_Wrong(fault, np.flatnonzero(needed), name))

    def _ifindex(self, block: Block, number: str, interface: str) -> None:
        """Each distinct pair of interface and number must agree."""
        column, references = block.values[number], block.references.get(interface)
        assert column.forms is not None
        meant = references if references is not None else np.zeros(block.count, np.uint32)
        pairs = np.stack([meant.astype(np.uint64), column.values.astype(np.uint64)])
        distinct, inverse = np.unique(pairs[:, column.forms == 1], axis=1, return_inverse=True)
        rows = np.flatnonzero(column.forms == 1)
        for i, (code, value) in enumerate(paced(distinct.T.tolist(), self.pause)):
            reference = block.meant[code]
            if reference is None or not agrees(self, reference, value):
                what = (
                    describe(self, reference) if reference else "any interface: name one beside it"
                )
                fault = Fault("H0443", f"ifindex {value} is not {what}", "")
                raise _Wrong(fault, rows[inverse.ravel() == i], column.name)

    def _overlap(self, block: Block, one: Field, two: Field) -> None:
        a, b = block.matchers.get(one.codec.name), block.matchers.get(two.codec.name)
        if a is None or b is None:
            return
        assert one.match is not None and two.match is not None
        base = min(one.match.position, two.match.position)
        (v1, m1), (v2, m2) = identical.bits(a, one, base), identical.bits(b, two, base)
        bad = ((v1 ^ v2) & m1 & m2) != 0
        title = f"`{a.name}` and `{b.name}` contradict each other: no packet has both"
        self._bad(bad, b, Fault("H0424", title, "", f"not with this {a.name}"))

    def _ids(self, block: Block, table: Table) -> None:
        """Give each rule one, and look whether they are free."""
        ids, staged = block.ids, self.staged(block.kind.name)
        with self.pause.without_turn():
            given = np.sort(ids[ids != 0].astype(np.uint64))
            twice = bool((given[1:] == given[:-1]).any())
        self._taken_ids = given  # by now: what others take from here on is held against these
        if len(given):
            staged.claimed = Claimed(given)
            with self.pause.without_turn():
                twice = twice or bool(within(table.rules, given).any())
            if twice:
                raise self._id_taken(block, table)
        if len(given) < block.count:
            found = _lowest(table, given, block.count - len(given))
            block.ids = ids.copy()
            block.ids[ids == 0] = found
            self._taken_ids = np.sort(block.ids.astype(np.uint64))
            staged.claimed = Claimed(self._taken_ids)
        if block.names:
            self._names_free(block, table)

    def _id_taken(self, block: Block, table: Table) -> _Wrong:
        seen: set[int] = set()
        for row, id_ in enumerate(block.ids.tolist()):
            if id_ and (id_ in table.rules or id_ in seen):
                title = f"{block.kind.name} {id_} exists"
                return _Wrong(Fault("H0451", title, "", "in use"), np.array([row]), "id")
            seen.add(id_)
        raise LookupError("none is taken")

    def _names_free(self, block: Block, table: Table) -> None:
        ports = self.book.folded_ports if block.kind.beside_ports else {}
        for row, name in enumerate(paced(block.names, self.pause)):
            folded = fold(name)
            used = folded in self._taken_names or folded in table.names or folded in ports
            if name and (used or len(name.encode()) > 63 or not is_name(name)):
                title = f"the name `{name}` is in use, or no name"
                if folded in ports:
                    title = f"a port has the name `{name}`"
                fault = Fault("H0453", title, "")
                raise _Wrong(fault, np.array([row]), "name")
            self._taken_names.add(folded)

    def _keys(self, block: Block, table: Table) -> Array | None:
        """No two match images are equal; their hashes."""
        kind = block.kind
        if not kind.keyed:
            return None
        with self.pause.without_turn():
            hashes = block.hashes(kind)
            order = np.sort(hashes)
        self._taken_keys = order  # as with ids
        with self.pause.without_turn():
            rows = identical.suspects(block, kind, hashes, order, table.keys)
        found = identical.duplicate(block, kind, rows, table.keys, self.pause)
        if found is not None:
            row, fault = found
            raise _Wrong(fault, np.array([row]), "")
        return hashes


def _unusual(form: int, values: Array, others: Array, codec: Codec) -> Array:
    """Of matchers of a form which the codec would have made otherwise."""
    v, o = values.astype(np.uint64), others.astype(np.uint64)
    wrong: Array
    match form:
        case 0:
            wrong = (v != 0) | (o != 0)
        case 1:
            wrong = o != 0
        case 2:
            length = np.minimum(o, np.uint64(codec.width))
            host = (np.uint64(1) << (np.uint64(codec.width) - length)) - np.uint64(1)
            wrong = (o == 0) | (o >= codec.width) | (v & host != 0)
        case 3:
            wrong = (o == 0) | (o == codec.full) | (v & ~o != 0)
        case _:
            wrong = (v >= o) | ((v == 0) & (o == codec.full))
    return wrong


def _fits(field: Field, column: Column) -> bool:
    expected = {MATCH: "matcher", REFERENCE: "reference"}.get(field.role, "value")
    return column.kind == expected


def _lowest(table: Table, given: Array, count: int) -> Array:
    """That many lowest ids that neither the table nor the file has."""
    found = np.array(sorted(set(table.free)), np.uint32)
    given, top = np.sort(given), table.top
    while True:
        found = found[~within(table.rules, found) & ~among(given, found)][:count]
        if len(found) == count:
            return found
        more = count - len(found)
        found = np.concatenate([found, np.arange(top, top + more, dtype=np.uint32)])
        top += more
