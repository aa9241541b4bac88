"""The rule book against a naive model, step by step; the fast path against the planner."""

from __future__ import annotations

from typing import Any

from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules import column_dict
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.draft import Draft
from helioc.lang.contract.rules.fast_path import fast_plan
from helioc.lang.contract.rules.planner import plan
from helioc.lang.contract.rules.rulebook import Plan, RuleBook
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from linx_manifest import PORTS, linx

CAPACITY = 6
IDS = st.none() | st.integers(1, 4)
PREFIXES = st.sampled_from(["10.0.0.0/8", "10.1.0.0/16", "10.1.1.1", "0.0.0.0/0"])
ACTIONS = st.sampled_from([2, 3])


def effects(plan: Plan) -> tuple[Any, ...]:
    return (
        sorted(plan.created, key=repr), sorted(plan.changed, key=repr),
        sorted(plan.removed, key=repr), list(plan.results), plan.sequence,
    )  # fmt: skip


class Machine(RuleBasedStateMachine):
    """`fars`: id to action; `owned`: FAR to its PDR; `pdrs`: id to (prefix, FAR)."""

    def __init__(self) -> None:
        super().__init__()
        self.book = RuleBook(linx(PDR=CAPACITY, FAR=CAPACITY), PORTS)
        self.fars: dict[int, int] = {}
        self.owned: dict[int, int] = {}
        self.pdrs: dict[int, tuple[str, int]] = {}

    def say(self, text: str) -> bool:
        request = parse_request(Source("request", text))
        fast = fast_plan(self.book, request)
        try:
            slow = plan(Draft(self.book), request)
        except Refused:
            assert fast is None
            return False
        if fast is not None:
            assert effects(fast) == effects(slow)
        self.book.commit(fast or slow)
        return True

    def lowest(self, taken: dict[int, Any]) -> int:
        return next(i for i in range(1, 99) if i not in taken)

    @rule(id_=IDS, action=ACTIONS)
    def create_far(self, id_: int | None, action: int) -> None:
        good = id_ not in self.fars and len(self.fars) < CAPACITY
        assert self.say(f"create FAR {id_ or ''} [(action, u8, {action})]") == good
        if good:
            self.fars[id_ or self.lowest(self.fars)] = action

    @rule(id_=st.integers(1, 6), action=ACTIONS)
    def update_far(self, id_: int, action: int) -> None:
        assert self.say(f"update FAR {id_} [(action, u8, {action})]") == (id_ in self.fars)
        if id_ in self.fars:
            self.fars[id_] = action

    @rule(id_=st.integers(1, 6))
    def delete_far(self, id_: int) -> None:
        pointed = any(target == id_ for _, target in self.pdrs.values())
        good = id_ in self.fars and not pointed
        assert self.say(f"delete FAR {id_}") == good
        if good:
            del self.fars[id_]

    @rule(
        id_=IDS,
        prefix=PREFIXES,
        far=st.integers(1, 6),
        action=ACTIONS,
        nested=st.booleans(),
        flat=st.booleans(),
    )
    def create_pdr(
        self, id_: int | None, prefix: str, far: int, action: int, nested: bool, flat: bool
    ) -> None:
        fits = id_ not in self.pdrs and len(self.pdrs) < CAPACITY
        fresh = all(match != prefix for match, _ in self.pdrs.values())
        if nested:
            good = fits and fresh and len(self.fars) < CAPACITY
            far, within = self.lowest(self.fars), f"FAR [(action, u8, {action})]"
        else:
            good = fits and fresh and far in self.fars and far not in self.owned
            within = f"FAR {far}"
        text = f"create PDR {id_ or ''} [(src_ip, u32, {prefix}), {within}]"
        if flat:
            text = text.replace("src_ip", "IP address").replace("[", ":").replace("]", "")
        assert self.say(text) == good
        if good:
            number = id_ or self.lowest(self.pdrs)
            self.pdrs[number] = prefix, far
            if nested:
                self.fars[far], self.owned[far] = action, number

    @rule(prefix=PREFIXES, far=st.integers(1, 6))
    def retarget(self, prefix: str, far: int) -> None:
        number = next((i for i, (match, _) in self.pdrs.items() if match == prefix), None)
        good = number is not None and far in self.fars and far not in self.owned
        assert self.say(f"update PDR [(src_ip, u32, {prefix}), FAR {far}]") == good
        if good:
            assert number is not None
            self.forget(self.pdrs[number][1])
            self.pdrs[number] = prefix, far

    def forget(self, far: int) -> None:
        if far in self.owned:
            del self.owned[far], self.fars[far]

    @rule(prefix=PREFIXES)
    def delete_pdr(self, prefix: str) -> None:
        number = next((i for i, (match, _) in self.pdrs.items() if match == prefix), None)
        assert self.say(f"delete PDR [(src_ip, u32, {prefix})]") == (number is not None)
        if number is not None:
            self.forget(self.pdrs.pop(number)[1])

    @rule(
        rows=st.lists(st.tuples(IDS, PREFIXES), max_size=4, unique_by=lambda row: row[1]),
        far=st.integers(1, 6),
    )
    def replace_pdrs(self, rows: list[tuple[int | None, str]], far: int) -> None:
        """What goes is in nobody's way, whatever it matches."""
        ids = {id_ for id_, _ in rows if id_}
        left = {i: match for i, (match, _) in self.pdrs.items()}
        kept: dict[int, tuple[str, int]] = {}
        good = not rows or (far in self.fars and far not in self.owned)
        for id_, prefix in rows:
            number = next((i for i, match in left.items() if match == prefix), None)
            if id_ or number is None:
                left.pop(number or 0, None)
                number = id_ or self.lowest({**left, **dict.fromkeys(ids)})
            good = good and number not in kept
            left[number], kept[number] = prefix, (prefix, far)
        rules = ", ".join(f"PDR {i or ''} [(src_ip, u32, {p}), FAR {far}]" for i, p in rows)
        assert self.say(f"replace {rules or 'PDR'}") == good
        if not good:
            return
        for _, old in self.pdrs.values():
            self.forget(old)
        self.pdrs = kept

    @rule(rows=st.lists(st.tuples(IDS, PREFIXES), min_size=1, max_size=4), far=st.integers(1, 6))
    def create_pdrs_by_the_column(self, rows: list[tuple[int | None, str]], far: int) -> None:
        ids, prefixes = [id_ for id_, _ in rows if id_], [prefix for _, prefix in rows]
        matched = [prefix for prefix, _ in self.pdrs.values()]
        good = far in self.fars and far not in self.owned
        good = good and len(self.pdrs) + len(rows) <= CAPACITY
        good = good and len({*ids, *self.pdrs}) == len(ids) + len(self.pdrs)
        good = good and len({*prefixes, *matched}) == len(prefixes) + len(matched)
        lines = [f"{id_ or ''},{prefix},{far}" for id_, prefix in rows]
        source = Source("pdr.csv", "\n".join(["id,src_ip,FAR", *lines]) + "\n")
        try:
            plan = self.book.plan_columns(read_csv(source, self.book.kinds["PDR"]))
        except Refused:
            assert not good
            return
        assert good
        self.book.commit(plan)
        for id_, prefix in rows:
            self.pdrs[id_ or self.lowest({**self.pdrs, **dict.fromkeys(ids)})] = prefix, far

    @rule()
    def begin_again_from_what_was_saved(self) -> None:
        again = RuleBook(self.book.manifest, PORTS)
        again.restore(self.book.save())
        self.book = again

    @rule(text=st.sampled_from(["delete FAR 1; create FAR 1 [(action, u8, 9)]",
                                "create FAR [(action, u8, 3)]; create PDR [FAR 77]"]))  # fmt: skip
    def refused_halfway(self, text: str) -> None:
        assert not self.say(text)

    @invariant()
    def same(self) -> None:
        fars = {r.id: dict(r.values)["action"] for r in self.book.rules("FAR")}
        assert fars == self.fars
        pdrs = {r.id: r.target.id for r in self.book.rules("PDR") if r.target is not None}
        assert pdrs == {i: target for i, (_, target) in self.pdrs.items()}
        owners = {r.id for r in self.book.rules("FAR") if r.owner}
        assert owners == set(self.owned)
        for table in self.book.tables.values():
            counted: dict[int, int] = {}
            for other in self.book.save():
                for reference in self.book.kinds[other.kind].owned_by(other):
                    if reference.kind == table.kind.name:
                        counted[reference.id] = counted.get(reference.id, 0) + 1
            assert table.pointed == counted
            for id_ in table.rules if not table.kind.grouped else ():
                target = table.get(id_)
                assert target is not None
                found = [*self.book.pointing(target)]
                assert len(found) == len(set(found)) == counted.get(target.id, 0)
            live = {table.kind.key_of(r) for r in table} if table.kind.keyed else set()
            assert set(table.keys) == (set() if table.kind.grouped else live)


class ColumnedMachine(Machine):
    """The same where even one rule that came by the column stays a column."""

    def __init__(self) -> None:
        super().__init__()
        self.fewest, column_dict.FEWEST = column_dict.FEWEST, 1

    def teardown(self) -> None:
        column_dict.FEWEST = self.fewest


for machine in (Machine, ColumnedMachine):
    machine.TestCase.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
TestBook = Machine.TestCase
TestBookOfColumns = ColumnedMachine.TestCase
