"""A whole pipeline: its graph, its tables, and its stages in running order."""

from __future__ import annotations

from typing import Literal

from ...lang.contract.manifest.manifest import AttachPoint
from ...lang.text.frozen import Frozen
from ...lang.text.source import NOWHERE, Span
from .graph import Graph
from .statements import Block, Reply
from .tables import Element, EventKind, Registers, RuleKind, State
from .walk import walk


class Stage(Frozen):
    """`part_of`: it is a later part of the stage of that name, too much for one program."""

    name: str
    body: Block
    doc: str = ""
    span: Span = NOWHERE
    part_of: str = ""


Event = Literal["malformed", "tiny_fragment", "too_big", "ttl_expired", "no_headroom", "unresolved"]
Hook = Literal["pass", "drop", "reply icmp", "continue"]


class Pipeline(Frozen):
    """A whole checked pipeline. `stages` in running order (the parser not among them). `at`: of
    each role, where its ports are attached; nothing where all are at XDP. `bare`: roles whose ports
    have packets without a link header (`link ip`): of those, the parse graph's Ethernet header is
    not there, but for its type."""

    name: str
    roles: tuple[str, ...]
    graph: Graph
    elements: tuple[Element, ...]
    rules: tuple[RuleKind, ...]
    states: tuple[State, ...]
    registers: tuple[Registers, ...]
    emits: tuple[EventKind, ...]
    stages: tuple[Stage, ...]
    default: Literal["pass", "drop"]
    hooks: dict[Event, Hook]
    doc: str = ""
    span: Span = NOWHERE
    at: tuple[AttachPoint, ...] = ()
    bare: tuple[str, ...] = ()

    @property
    def hooks_reply(self) -> bool:
        """Whether a hook answers with ICMP errors."""
        return "reply icmp" in self.hooks.values()

    @property
    def replies(self) -> bool:
        """Whether a hook or a stage does."""
        return self.hooks_reply or any(isinstance(part, Reply) for part in walk(self.stages))

    def rule(self, name: str) -> RuleKind:
        return next(r for r in self.rules if r.name == name)

    def element(self, name: str) -> Element:
        return next(e for e in self.elements if e.name == name)

    def event(self, name: str) -> EventKind:
        return next(e for e in self.emits if e.name == name)

    def state(self, name: str) -> State:
        return next(s for s in self.states if s.name == name)

    def array(self, name: str) -> Registers:
        return next(r for r in self.registers if r.name == name)
