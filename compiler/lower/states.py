"""`remember` and `recall`: keys and entries of state tables."""

from __future__ import annotations

from collections.abc import Callable

from ..headers.stores import placed
from ..ir.expr import Address, Deref, Member, Name, State, StateCall
from ..ir.nodes import Do
from ..ir.types import U64, Array, Int, Struct, raw
from ..model import Expr, Recall, Remember
from ..tables.layout import member_name
from . import trace
from .context import LoweringContext
from .values import value

Fill = Callable[[LoweringContext], None]


def remember(site: LoweringContext, statement: Remember) -> None:
    w, table = site.writer, site.pipeline.state(statement.state)
    laid = site.states[table.name]
    keys = statement.values[: len(table.match)]
    words = _key(site, statement.state, keys)
    type_ = Struct(f"{laid.prefix}_entry")
    entry = w.struct(type_, w.fresh("entry"))
    for slot, expr in zip(laid.gives, statement.values[len(table.match) :], strict=True):
        v = value(site, expr)
        port = slot.type == "port"
        place = Member(entry, member_name(slot.name), Int(32) if port else raw(slot.size * 8))
        w.set(place, v.host() if port else v.network_of(slot.size))
    trace.remember(site, table.name, words, entry)
    w.put(Do(StateCall(laid.prefix, "remember", (words, Address(entry)))))


def recall(site: LoweringContext, statement: Recall, miss: Fill) -> None:
    """`miss` lowers what happens where nothing is remembered. What is found is copied: another
    `remember` may use its place for something else."""
    w, laid = site.writer, site.states[statement.state]
    words = _key(site, statement.state, statement.key)
    trace.recall(site, statement.state, words)
    struct = f"{laid.prefix}_entry"
    found = StateCall(laid.prefix, "recall", (words,))
    entry = w.local(found.type, "entry", found)
    with w.unless(entry):
        w.count(site.events("miss", statement.state))
        miss(site)
    with w.otherwise():
        got = State(f"{laid.prefix}_got", Struct(struct), scratch=True)
        w.set(got, Deref(entry, Struct(struct)))
        trace.recalled(site, statement.state, entry)


def _key(site: LoweringContext, state: str, values: tuple[Expr, ...]) -> Name:
    """An array with the key's bytes."""
    w, laid = site.writer, site.states[state]
    words = w.array(Array(U64, laid.key_size // 8), "key")
    for slot, expr in zip(laid.match, values, strict=True):
        for store in placed(value(site, expr), slot.offset, slot.size, 0):
            store.into(w, words)
    return words
