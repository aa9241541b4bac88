"""The staged tables of a plan, and what the references of a request refer to in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from ...text.diagnostics import did_you_mean
from .arrange import take_apart
from .ie_values import Fault, fold
from .meanwhile import NONE, ROOM, Pause, Touched, paced
from .rulekinds import Field, Kind, Parts
from .rules import Reference
from .ruletable import Allotted, Staged

if TYPE_CHECKING:
    from .arrange import Arranged, Node
    from .plan import Plan
    from .rulebook import RuleBook


#: Rules or ports of a kind that a help names.
_CHOICES = 8


class Awaited(NamedTuple):
    """A rule that one refers to before the request makes it; the fault if it does not."""

    reference: Reference
    fault: Fault
    ifindex: int | None = None  # must agree with it


class Draft:
    """The staged tables of one plan, and the next sequence. `tree`: the arranged request, `node`:
    what is being planned of it; `awaited`: what rules refer to that a later change makes."""

    node: Node

    def __init__(
        self, book: RuleBook, pause: Pause = NONE, again: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        """`pause`: between two rules; `again`: see `Allotted`."""
        self.book, self.pause = book, pause
        self.stages: dict[str, Staged] = {}
        self.allotted = Allotted(again)
        self.sequence = self.first = book.sequence + (0 if pause is NONE else ROOM)
        self.tree: list[Arranged] = []
        self.awaited: list[Awaited] = []
        self._promises: dict[tuple[str, int | str], int | None] | None = None

    def staged(self, kind: str) -> Staged:
        found = self.stages.get(kind)
        if found is None:
            found = self.stages[kind] = Staged(self.book.tables[kind], self.allotted)
            if self.pause is not NONE:
                found.table.draft = found
        return found

    def overtaken(self, touched: Touched) -> bool:
        """Whether it rests on anything that transactions changed which were made meanwhile."""
        return self.book.sequence > self.first or touched.meets(self.stages)

    def met_by(self, plan: Plan) -> bool:
        """Whether it rests on anything that this one would change."""
        touched = Touched()
        touched.add(plan, self.book.kinds)
        return touched.meets(self.stages)

    def end(self) -> None:
        """It is in force, or will not be."""
        for table in self.book.tables.values():
            table.draft = None
        self.let_go()

    def let_go(self) -> None:
        """Of the request: the plan is made. All at once it would hold up every thread."""
        for _ in paced(take_apart(self.tree), self.pause.rest):
            pass

    # ---- references -------------------------------------------------------------------------

    def given(
        self, kind: Kind, parts: Parts, values: dict[str, int], references: dict[str, Reference]
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
                self._by_number(kind, number, references, companion[1])
            elif number is None and companion[1] in parts.references:
                values.pop(companion[0], None)
        for name, (raw, ie) in parts.references.items():
            try:
                field = kind.given[name]
                asked = number if companion is not None and companion[1] == name else None
                before = len(self.awaited)
                references[name] = self.resolve(field, raw, asked)
                for awaited in self.awaited[before:]:
                    awaited.fault.ie = ie
            except Fault as fault:
                fault.ie = ie
                raise
        if number is not None and companion is not None:
            reference = references[companion[1]]
            if reference.kind != "port" and not self.staged(reference.kind).exists(reference.id):
                self.awaited[-1] = self.awaited[-1]._replace(ifindex=number)
            elif not self._agrees(reference, number):
                raise self._disagree(reference, number)
        return values, references

    def _disagree(self, reference: Reference, number: int) -> Fault:
        title = f"ifindex {number} is not {self.describe(reference)}"
        return Fault("H0443", title, "rule", "", "leave the ifindex out, or make them agree")

    def _by_number(
        self, kind: Kind, number: int, references: dict[str, Reference], name: str
    ) -> None:
        now = references.get(name)
        if now is not None and self._agrees(now, number):
            return
        field = kind.given[name]
        if "port" in field.references and number not in self.book.port_names:
            for port, ifindex in self.book.ifindexes.items():
                if ifindex == number and not self._numbered(field, number):
                    references[name] = Reference("port", port)
                    return
        references[name] = self.resolve(field, number, None)

    def _numbered(self, field: Field, number: int) -> list[Reference]:
        """What a number may mean: a rule of that id, a port of that number."""
        return [
            Reference(kind, number)
            for kind in field.references
            if (
                number in self.book.port_names
                if kind == "port"
                else self.staged(kind).exists(number)
            )
        ]

    def resolve(self, field: Field, raw: int | str, ifindex: int | None) -> Reference:
        """What a reference refers to, by number or by name. A number that several of the kinds have
        means the first of them, as declared, unless an ifindex beside it says which."""
        name = field.codec.name
        each = ["a port" if k == "port" else f"an {k}" if k[0] in "AEIO" else f"a {k}"
                for k in field.references]  # fmt: skip
        if isinstance(raw, int):
            found = self._numbered(field, raw)
            if ifindex is not None and len(found) > 1:
                found = [r for r in found if self._agrees(r, ifindex)] or found
            if not found:
                what = " or ".join(k if k == "port" else f"{k} rule" for k in field.references)
                title = f"`{name}` refers to {raw}, but there is no such {what}"
                fault = Fault("H0441", title, "value", "nothing has this number",
                              self._choices(field))  # fmt: skip
                return self._promised_to(field, raw, "", fault)
            return self._not_owned(found[0], "value")
        word = raw[1:-1] if raw[:1] == '"' else raw
        for kind in field.references:
            if kind == "port":
                number = self.book.ports.get(word)
                if number is None:
                    near = self.book.folded_ports.get(fold(word), ())
                    number = near[0] if len(near) == 1 else None
                if number is not None:
                    return Reference("port", number)
            else:
                id_ = self.staged(kind).named(word)
                if id_ is not None:
                    return self._not_owned(Reference(kind, id_), "value")
        exact = self._spelled(field, word)
        if exact is not None:
            return self._not_owned(exact, "value")
        title = f"`{word}` is not the name of {' or '.join(each)}"
        help_ = did_you_mean(word, self._names(field)) or self._choices(field)
        fault = Fault("H0440", title, "value", "nothing has this name", help_)
        return self._promised_to(field, None, word, fault)

    # ---- what a later change of the request makes -------------------------------------------

    def _promised_to(self, field: Field, id_: int | None, name: str, fault: Fault) -> Reference:
        for kind in field.references:
            if kind != "port" and self._promise(kind, id_, name) is not None:
                return self.promised(kind, id_, name, fault)
        raise fault

    def promised(self, kind: str, id_: int | None, name: str, fault: Fault) -> Reference:
        """The rule of that id or name that a later change makes. Raises `fault` if none does."""
        found = self._promise(kind, id_, name)
        if found is None:
            raise fault
        fault.node = fault.node or self.node
        reference = Reference(kind, found)
        self.awaited.append(Awaited(reference, fault))
        return reference

    def makes(self, node: Node) -> bool:
        """Whether a change of the request makes the rule of this id or name."""
        item = node.item
        if item.id is None and not item.name:
            return False
        return self._promise(node.kind.name, item.id, item.name or "") is not None

    def _promise(self, kind: str, id_: int | None, name: str) -> int | None:
        if self._promises is None:
            self._promises = {}
            todo = [node for change in self.tree for node in change.nodes]
            while todo:
                node = todo.pop()
                todo.extend(node.children)
                item = node.item
                if node.operation in ("create", "replace") and node.described():
                    if item.id is not None:
                        self._promises[node.kind.name, item.id] = item.id
                    if item.name:
                        self._promises[node.kind.name, fold(item.name)] = item.id
        key = (kind, fold(name) if id_ is None else id_)
        if key not in self._promises:
            return None
        found = self._promises[key]
        if found is None:
            found = self._promises[key] = self.staged(kind).reserve(name)
        return found

    def _spelled(self, field: Field, word: str) -> Reference | None:
        """`OVERLAY.3`, `port.2`, in a cell also `OVERLAY 3`: a number that says of what."""
        kind, dot, digits = ".".join(word.split()).rpartition(".")
        if not dot or not digits.isdecimal() or len(digits) > 10:
            return None
        found = [r for r in self._numbered(field, int(digits)) if fold(r.kind) == fold(kind)]
        return found[0] if found else None

    def _names(self, field: Field) -> list[str]:
        return [name for kind in field.references for name in self._numbers(kind)]

    def _numbers(self, kind: str) -> Mapping[str, int]:
        """Those of the ports, or of a kind's rules, by their names."""
        if kind == "port":
            return self.book.ports
        if not self.book.kinds[kind].rule.named:
            return {}
        rules = chain(self.book.tables[kind], self.staged(kind).rules.values())
        return {rule.name: rule.id for rule in rules if rule is not None and rule.name}

    def _choices(self, field: Field) -> str:
        """What has a name: of each kind the first few, with their numbers."""
        found: list[str] = []
        for kind in field.references:
            numbers = self._numbers(kind)
            if numbers:
                said = [f"{name} ({numbers[name]})" for name in sorted(numbers)[:_CHOICES]]
                more = f" and {len(numbers) - _CHOICES} more" if len(numbers) > _CHOICES else ""
                found.append(f"{kind} {', '.join(said)}{more}")
        if found:
            return f"there are {'; '.join(found)}"
        return f"create it first: create {field.references[0]} […]"

    def _not_owned(self, reference: Reference, part: str) -> Reference:
        rules = self.staged(reference.kind).known(reference.id) if reference.kind != "port" else []
        for rule in rules:
            if rule.owner:
                title = f"{rule.kind} {rule.id} belongs to another rule, which alone may use it"
                help_ = f"create a {rule.kind} with an id of its own for sharing"
                raise Fault("H0445", title, part, "owned", help_)
        return reference

    def _agrees(self, reference: Reference, number: int) -> bool:
        """A number that may stand beside an interface: its own, or that of the port under it."""
        if number == reference.id:
            return True
        if reference.kind == "port":
            return self.book.ifindexes.get(reference.id) == number
        return any(
            self._agrees(under, number)
            for rule in self.staged(reference.kind).with_id(reference.id)
            for _, under in rule.references
            if under.kind == "port"
        )

    def describe(self, reference: Reference) -> str:
        """`OVERLAY 1 (GRE-WAN1)`, `port 2 (eth1)`: for messages."""
        if reference.kind == "port":
            name = self.book.port_names.get(reference.id, "")
        else:
            name = next((r.name for r in self.staged(reference.kind).with_id(reference.id)), "")
        return f"{reference.kind} {reference.id}" + (f" ({name})" if name else "")
