"""A request that is planned in pieces, with others made in between: as if they had come before."""

from __future__ import annotations

import gc
import random
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.draft import Draft
from helioc.lang.contract.rules.interleaving import Conflict, WriteSet
from helioc.lang.contract.rules.rule_node import Node
from helioc.lang.contract.rules.rulebook import Plan, RuleBook
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from linx_manifest import IFINDEXES, PORTS, linx
from rules_world import WORLD

Made = tuple[Request, Plan]


def request(text: str) -> Request:
    return parse_request(Source("request", text))


def book() -> RuleBook:
    made = RuleBook(linx(), PORTS, IFINDEXES)
    made.commit(made.plan(request(WORLD)))
    return made


class Others:
    """A pause in which others' requests are made: `texts`, so many between two pieces as `often`
    says. `made`: them and their plans."""

    def __init__(self, book: RuleBook, texts: list[str], often: Any) -> None:
        self.book, self.texts, self.often = book, texts, often
        self.made: list[Made] = []
        self.touched = WriteSet()

    def __call__(self) -> None:
        for _ in range(min(self.often(), len(self.texts))):
            change = request(self.texts.pop(0))
            try:
                plan = self.book.plan(change)
            except Refused:
                continue
            self.book.commit(plan)
            self.made.append((change, plan))
            self.touched.add(plan, self.book.kinds)
        self.check()

    def check(self) -> None:
        assert self.book.draft is not None
        if self.book.draft.overtaken(self.touched):
            raise Conflict
        self.touched.clear()

    def rest(self) -> None: ...
    def without_turn(self) -> AbstractContextManager[None]:
        return nullcontext()


def plan_with(book: RuleBook, text: str, others: Others) -> Plan:
    """Planned and made."""
    with book.planned(request(text), others) as plan:
        others.check()
        plan = plan._replace(revision=book.revision)
        book.commit(plan)
    return plan


def rules(book: RuleBook) -> list[tuple[Any, ...]]:
    """With ages for sequences, of which only the order matters."""
    saved = book.save()
    age = {rule.sequence: i for i, rule in enumerate(saved, 1)} | {0: 0}
    return [rule._replace(sequence=age[rule.sequence], owner=age[rule.owner]) for rule in saved]


def state(book: RuleBook) -> dict[str, Any]:
    return {
        name: (dict(table.keys), dict(table.names), dict(table.pointed), dict(table.groups),
               len(table.rules))
        for name, table in book.tables.items()
    }  # fmt: skip


def change(pick: random.Random) -> str:
    """Something that may well be refused."""
    id_, prefix = pick.choice([1, 2, 3, 17, 18, 19]), f"10.{pick.randrange(12)}.0.0/16"
    fresh, action = pick.randrange(30, 36), pick.choice(["DROP", "PASS"])
    return pick.choice([
        f"create FAR [(action, u8, {action})]",
        f"create FAR {fresh} [(action, u8, {action})]",
        f"update FAR {pick.choice([17, 18, 19])} [(action, u8, {action})]",
        f"delete FAR {id_}",
        f"create PDR [(dst_ip, u32, {prefix}), FAR {pick.choice([17, 18, 19])}]",
        f"create PDR {fresh} [(src_ip, u32, {prefix}), FAR [(action, u8, DROP)]]",
        f"update PDR {pick.choice([1, 2])}, FAR {pick.choice([17, 18])}",
        f"delete PDR {id_}",
        f"delete PDR [(dst_ip, u32, {prefix})]",
        f"replace PDR [(dst_ip, u32, {prefix}), FAR 18]",
        f"create OVERLAY N{fresh} [(local_ip, u32, 192.0.2.{fresh}), "
        "(remote_ip, u32, 198.51.100.9), (interface, u32, wan1)]",
        f"create FAR [(action, u8, REDIRECT), (interface, u32, GRE-WAN{pick.choice([1, 2])})]",
        "create LBR [FAR 17, FAR 18]",
    ])  # fmt: skip


def test_it_is_as_if_the_others_had_come_before() -> None:
    """Random requests in random places. What was allotted makes the same of them one by one."""
    outcomes = {"made": 0, "overtaken": 0, "refused": 0}
    for seed in range(300):
        pick = random.Random(seed)
        one, other = book(), book()
        for _ in range(6):  # what is there
            text = change(pick)
            for each in (one, other):
                try:
                    each.commit(each.plan(request(text)))
                except Refused:
                    continue
        text = "; ".join(change(pick) for _ in range(pick.randrange(1, 4)))
        texts = [change(pick) for _ in range(pick.randrange(1, 4))]
        others = Others(one, texts, lambda pick=pick: pick.randrange(3) == 0)
        plan: Plan | None = None
        outcome = "made"
        try:
            plan = plan_with(one, text, others)
        except Conflict:
            outcome = "overtaken"
        except Refused:
            outcome = "refused"
        outcomes[outcome] += bool(others.made)
        for said, made in others.made:
            other.commit(other.plan(said, made.allotted))
        if plan is not None:
            other.commit(other.plan(request(text), plan.allotted))
        assert rules(one) == rules(other), seed
        assert {n: s[1:] for n, s in state(one).items()} == {
            n: s[1:] for n, s in state(other).items()
        }, seed
        assert one.draft is None and all(table.draft is None for table in one.tables.values())
    assert min(outcomes.values()) > 20, outcomes


@pytest.mark.parametrize(("large", "between"), [
    ("update FAR 17 [(action, u8, DROP)]", "delete LBR 7, PDR 1; delete FAR 17"),
    ("create PDR [(dst_ip, u32, 10.7.0.0/16), FAR 18]",
     "create PDR [(dst_ip, u32, 10.7.0.0/16), FAR 19]"),
    ("delete FAR 19", "create PDR [(dst_ip, u32, 10.7.0.0/16), FAR 19]"),
    ("create PDR 9 [(dst_ip, u32, 10.7.0.0/16), FAR 19]", "delete FAR 19"),
    ("create FAR 20 [(action, u8, DROP)]", "create FAR 20 [(action, u8, PASS)]"),
    ("create FAR [(action, u8, DROP)]", "create FAR 2 [(action, u8, PASS)]"),
    ("replace PDR [(dst_ip, u32, 10.7.0.0/16), FAR 18]",
     "create PDR [(dst_ip, u32, 10.6.0.0/16), FAR 18]"),
])  # fmt: skip
def test_what_it_rests_on_must_not_have_changed(large: str, between: str) -> None:
    made = book()
    # At the last moment: by then it has looked at everything.
    others = Others(made, [between], iter([0] * 99).__next__)
    with pytest.raises(Conflict), made.planned(request(large), others):
        others.often = lambda: 1
        others()


@pytest.mark.parametrize(("large", "between"), [
    ("create PDR [(dst_ip, u32, 10.7.0.0/16), FAR 19]", "update FAR 19 [(action, u8, PASS)]"),
    ("update FAR 19 [(action, u8, PASS)]", "create PDR [(dst_ip, u32, 10.7.0.0/16), FAR 19]"),
    ("create FAR [(action, u8, DROP)]", "create FAR [(action, u8, PASS)]"),
    ("create PDR [(dst_ip, u32, 10.7.0.0/16), FAR 19]",
     "create PDR [(dst_ip, u32, 10.6.0.0/16), FAR 19]"),
])  # fmt: skip
def test_what_is_apart_does_not_hinder_it(large: str, between: str) -> None:
    made = book()
    others = Others(made, [between], lambda: 0)
    with made.planned(request(large), others) as plan:
        others.often = lambda: 1
        others()
        made.commit(plan._replace(revision=made.revision))
    assert len(others.made) == 1 and others.made[0][1] is not plan
    (kind,) = {rule.kind for rule in others.made[0][1].created} or {"FAR"}
    ids = [rule.id for rule in made.rules(kind)]
    assert len(set(ids)) == len(ids)


def test_room_for_those_who_come_before_may_end() -> None:
    made = book()
    draft = Draft(made, Others(made, [], lambda: 0))
    assert not draft.overtaken(WriteSet())
    made.sequence = draft.first + 1
    assert draft.overtaken(WriteSet())


def nodes() -> int:
    return sum(type(each) is Node for each in gc.get_objects())


def test_nothing_of_a_request_stays_when_it_was_planned() -> None:
    """Not until a collection: the agent has none of what was there when rules came."""
    made = book()
    nested = "create PDR [(dst_ip, u32, 10.7.0.0/16), LBR [FAR 18, FAR [(action, u8, DROP)]]]"
    gc.collect()
    gc.disable()
    try:
        before = nodes()
        made.plan(request(nested))
        with made.planned(request(nested), Others(made, [], lambda: 0)):
            assert nodes() > before
        with pytest.raises(Conflict), made.planned(request(nested), Others(made, [], lambda: 0)):
            raise Conflict
        assert nodes() == before
    finally:
        gc.enable()
