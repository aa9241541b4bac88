"""State tables: entries that are remembered, recalled, changed and forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...lang.contract.manifest.manifest import Slot
from ...lang.contract.manifest.manifest import State as Laid
from ..headers.stores import placed
from ..ir.expr import Address, Cast, Expr, Member, Name, State, StateCall
from ..ir.nodes import Do
from ..ir.types import U32, U64, Array, Int, Struct, raw
from ..model import (
    Change,
    Exchange,
    Forget,
    Identity,
    PortOf,
    Recall,
    Recalled,
    Remember,
    Said,
    Update,
)
from ..model import Expr as ModelExpr
from ..tables.layout import member_name
from . import trace
from .context import LoweringContext
from .reads import states_read
from .said import identity_of, port_number, said
from .values import got_of, value

Fill = Callable[[LoweringContext], None]

#: What the functions are called that change a slot.
CHANGES: dict[Change, str] = {
    "=": "set", "+": "plus", "-": "minus", "+%": "plus_wrapping", "-%": "minus_wrapping",
    "|": "or", "&": "and", "^": "xor",
}  # fmt: skip


def remember(site: LoweringContext, statement: Remember, present: Fill) -> None:
    """`present` lowers what happens where there is an entry already and that matters."""
    w = site.writer
    table = site.pipeline.state(statement.state)
    laid = site.states[table.name]
    words = _key(site, table.name, statement.values[: len(table.match)])
    entry = w.struct(Struct(f"{laid.prefix}_entry"), w.fresh("entry"))
    for slot, expr in zip(laid.given, statement.values[len(table.match) :], strict=True):
        place = Member(entry, member_name(slot.name), _type(slot))
        w.set(place, _said(site, expr, slot))
    arguments: tuple[Expr, ...] = words, Address(entry)
    if not laid.in_place:
        trace.remember(site, table.name, words, entry)
        w.put(Do(StateCall(laid.prefix, "remember", arguments)))
        if table.name in states_read(site.pipeline, site.stage):
            for slot in laid.gives:
                name, type_ = member_name(slot.name), _type(slot)
                w.set(Member(got_of(site, table.name), name, type_), Member(entry, name, type_))
        return
    arguments += *_places(site, table.name), *_length(site, laid)
    if not statement.if_absent:
        trace.remember(site, table.name, words, entry)
        w.put(Do(StateCall(laid.prefix, "remember", arguments)))
        return
    added = w.local(U32, "added", StateCall(laid.prefix, "add", arguments))
    with w.unless(added):
        trace.recall(site, table.name, words)
        trace.recalled(site, table.name)
        present(site)
    with w.otherwise():
        trace.remember(site, table.name, words, entry)


def _said(site: LoweringContext, given: Said, slot: Slot) -> Expr:
    match given:
        case Identity():
            return identity_of(site, given)
        case PortOf():
            return port_number(site, given)
    v = value(site, given)
    return v.host() if slot.type == "port" else v.network_of(slot.size)


def recall(site: LoweringContext, statement: Recall, miss: Fill) -> None:
    """`miss` lowers what happens where nothing is remembered. What is found is copied: another
    `remember` may use its place for something else."""
    w, laid = site.writer, site.states[statement.state]
    words = _key(site, statement.state, statement.key)
    trace.recall(site, statement.state, words)
    arguments: tuple[Expr, ...] = words, *_places(site, statement.state), *_length(site, laid)
    found = w.local(U32, "found", StateCall(laid.prefix, "recall", arguments))
    with w.unless(found):
        w.count(site.events("miss", statement.state))
        miss(site)
    with w.otherwise():
        trace.recalled(site, statement.state)


def forget(site: LoweringContext, statement: Forget) -> None:
    prefix = site.states[statement.state].prefix
    words = _key(site, statement.state, statement.key)
    trace.forget(site, statement.state, words)
    site.writer.put(Do(StateCall(prefix, "forget", (words,))))


def update(site: LoweringContext, statement: Update) -> None:
    w, slot = site.writer, statement.slot
    done = w.local(U32, "done", _change(site, slot, CHANGES[statement.operator], statement.value))
    with w.unless(done):
        w.count(site.events("lost", slot.state))
    with w.otherwise():
        trace.update(site, slot)


def exchange(site: LoweringContext, statement: Exchange, failed: Fill) -> None:
    """`failed` lowers what happens where the slot holds something else, or the entry is gone."""
    w, slot = site.writer, statement.slot
    change = _change(site, slot, "exchange", statement.before, statement.after)
    done = w.local(U32, "done", change)
    with w.unless(done):
        w.count(site.events("lost", slot.state))
    with w.when(done.is_not(0)):
        trace.update(site, slot)
    with w.unless(done.is_(1)):
        failed(site)


def _change(site: LoweringContext, slot: Recalled, what: str, *values: ModelExpr) -> StateCall:
    numbers = tuple(Cast(U64, value(site, each).host()) for each in values)
    prefix, places = site.states[slot.state].prefix, _places(site, slot.state)
    number = [s.name for s in site.states[slot.state].gives].index(slot.slot)
    return StateCall(prefix, what, (*places, *numbers), member_name(slot.slot), number)


def _type(slot: Slot) -> Int:
    return Int(slot.size * 8) if slot.type in ("port", "rule") else raw(slot.size * 8)


def _places(site: LoweringContext, state: str) -> tuple[Expr, ...]:
    """Where what is found is copied to, and where it is noted in which line it is."""
    laid, got = site.states[state], Address(got_of(site, state))
    if not laid.in_place:
        return (got,)
    return got, held_of(laid.prefix)


def held_of(prefix: str) -> Expr:
    """Where it is noted in which line of a state's table the entry that is bound is."""
    return Address(State(f"{prefix}_held", Struct("held"), scratch=True))


def _length(site: LoweringContext, laid: Laid) -> tuple[Expr, ...]:
    """What an entry counts of the packet, if it does."""
    return (site.state("length"),) if laid.counts else ()


def _key(site: LoweringContext, state: str, values: Sequence[Said]) -> Name:
    """An array with the key's bytes."""
    w, laid = site.writer, site.states[state]
    words = w.array(Array(U64, laid.key_size // 8), "key")
    for slot, expr in zip(laid.match, values, strict=True):
        assert not isinstance(expr, Identity), "H0486"
        for store in placed(said(site, expr), slot.offset, slot.size, 0):
            store.into(w, words)
    return words
