"""A large request: planned and staged in pieces, between which others' are made.

They come before it in the order of all. If one of them changed what its plan rests on, it is
planned again; and at last who would change that waits for it, so that it is made some day whatever
others ask for.
"""

from __future__ import annotations

from ...lang.contract.request.request import Request
from ...lang.contract.rules.columns import Array, Columns, dump, numbered
from ...lang.contract.rules.interleaving import Conflict, WriteSet
from ..base.outcome import Outcome
from ..loading.loader import Loaded
from .fair_lock import Slices
from .requests import DecodedRequest
from .transactions import Transactions

#: Bytes of a request from which on it is one: it has some 200 rules.
FEWEST = 4096
#: How often it is planned with all others let in.
TRIES = 3


def is_large(asked: DecodedRequest, owner: Transactions) -> bool:
    """Whether it takes long. A card's rules change one by one anyway."""
    parsed = asked.parsed
    if parsed is None or not isinstance(owner.loaded, Loaded):
        return False
    if len(asked.request.content) >= FEWEST:
        return True
    if isinstance(parsed, Request):
        for change in parsed.changes:
            if change.operation == "replace":
                return True
    return False


def make_large(owner: Transactions, asked: DecodedRequest, until: float | None) -> Outcome:
    """As `Transactions.make`, with turns taken here. Raises `Refused` with nothing changed."""
    with owner.alone(until):
        for number in range(TRIES + 1):
            try:
                with owner.turn(until):
                    return owner.known(asked) or _in_pieces(owner, asked, number == TRIES)
            except Conflict:
                continue
        with owner.turn(until):  # what the agent does by itself does not wait
            return owner.known(asked) or owner.make(asked)


def _in_pieces(owner: Transactions, asked: DecodedRequest, last: bool) -> Outcome:
    loaded, parsed = owner.loaded, owner.fresh(asked)
    if not isinstance(loaded, Loaded):  # by now
        return owner.make(asked)
    book, touched = loaded.book, WriteSet()

    def check() -> None:
        owner.need_open()
        owner.expect(asked.request.if_revision)
        if owner.loaded is not loaded:
            raise Conflict
        if book.draft is not None and book.draft.overtaken(touched):
            raise Conflict
        touched.clear()

    pause = Slices(owner.lock, check)
    owner.touched, owner.goes_first = touched, last
    try:
        with book.planned(parsed, pause) as plan:
            if plan.blocks and isinstance(parsed, Columns):
                with pause.without_turn():
                    asked = _with_ids(asked, parsed, plan.blocks[0].ids)
            outcome = owner.carry_out(asked, plan, pause, check)
        owner.touched = None
        loaded.writer.settle(pause)
    finally:
        owner.touched, owner.goes_first = None, False
    return outcome


def _with_ids(asked: DecodedRequest, parsed: Columns, ids: Array) -> DecodedRequest:
    """The same, for the journal: others' rules, which come before it, may have other ids when they
    are made again alone."""
    made = numbered(parsed, ids)
    if made is None:
        return asked
    return asked._replace(request=asked.request._replace(content=dump(made)))
