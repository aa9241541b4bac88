"""`Plan`: the rules that a request creates, changes and removes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ...text.diagnostics import Diagnostic
from .block import Block
from .rules import Reference, Rule
from .ruletable import Table


class Effect(Protocol):
    """A part of a plan that knows how to be made so."""

    def commit(self, tables: Mapping[str, Table]) -> None: ...


class Plan(NamedTuple):
    """The net effect of a request. `results`: the rules that it created and did not delete again,
    in the order written (an owner before what it owns). `blocks`: rules that were planned packed;
    they are in `created` too. `warnings` need no answer. `allotted`: ids, by kind, that rules got
    which were made without one, as far as that is noted. The rest is the book's."""

    created: Sequence[Rule]
    changed: Sequence[tuple[Rule, Rule]]
    removed: Sequence[Rule]
    results: Sequence[Reference]
    warnings: Sequence[Diagnostic] = ()
    blocks: tuple[Block, ...] = ()
    effects: Sequence[Effect] = ()
    revision: int = 0
    sequence: int = 0  # the next one
    allotted: Mapping[str, Sequence[int]] = {}
