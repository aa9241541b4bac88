"""`remember` and `recall` as C: keys and entries of state tables."""

from __future__ import annotations

from collections.abc import Callable

from ..model import Expr, Recall, Remember
from . import trace
from .layout import member_name
from .site import Site
from .stores import placed
from .values import value

Fill = Callable[[Site], None]


def remember(site: Site, statement: Remember) -> None:
    w, table = site.writer, site.pipeline.state(statement.state)
    laid = site.states[table.name]
    keys = statement.values[: len(table.match)]
    words = _key(site, statement.state, keys)
    entry, type_ = w.fresh("entry"), f"struct {laid.prefix}_entry"
    if site.frugal:
        site.zeros(type_, entry, laid.entry_size)
        entry = f"(*{entry})"
    else:
        w.put(f"{type_} {entry} = {{}};")
    for slot, expr in zip(laid.gives, statement.values[len(table.match) :], strict=True):
        v = value(site, expr)
        text = v.host() if slot.type == "port" else v.network_of(slot.size)
        w.put(f"{entry}.{member_name(slot.name)} = {text};")
    trace.remember(site, table.name, words, entry)
    w.put(f"{laid.prefix}_remember({words}, &{entry});")


def recall(site: Site, statement: Recall, miss: Fill) -> None:
    """`miss` lowers what happens where nothing is remembered. What is found is copied: another
    `remember` may use its place anew."""
    w, laid = site.writer, site.states[statement.state]
    words = _key(site, statement.state, statement.key)
    trace.recall(site, statement.state, words)
    entry = w.fresh("entry")
    w.put(f"struct {laid.prefix}_entry *{entry} = {laid.prefix}_recall({words});")
    with w.nest(f"if (!{entry}) {{"):
        w.put(f"count_event({site.events('miss', statement.state)});")
        miss(site)
    with w.nest("else {"):
        w.put(f"st->scratch->{laid.prefix}_got = *{entry};")
        trace.recalled(site, statement.state, entry)


def _key(site: Site, state: str, values: tuple[Expr, ...]) -> str:
    """C name of an array with the key's octets."""
    w, laid = site.writer, site.states[state]
    words = w.fresh("key")
    if site.frugal:
        site.zeros("u64", words, laid.key_size)
    else:
        w.put(f"u64 {words}[{laid.key_size // 8}] = {{}};")
    for slot, expr in zip(laid.match, values, strict=True):
        w.put(*(s.into(words) for s in placed(value(site, expr), slot.offset, slot.size, 0)))
    return words
