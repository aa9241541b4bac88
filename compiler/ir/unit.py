"""A whole program before C: functions of the intermediate representation, tables, maps and programs
as plain data. `str(unit)` is the golden text."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ...lang.contract.manifest.manifest import Counter, EventRing, State
from ...lang.contract.trace.schema import Node, Point, places
from ...lang.text.frozen import Frozen
from ..model import Graph
from ..tables.layout import Table
from .nodes import Function


class NodeState(Frozen):
    """A node that stages look at: `struct state` has a pointer for it, and an offset where
    `placed`."""

    name: str
    placed: bool = False


class Member(Frozen):
    """A member of a record structure in C."""

    declaration: str


class Record(Frozen):
    """`struct <table>_record`, padded to its size."""

    table: str
    members: tuple[Member, ...]


class Program(Frozen):
    """An XDP program: the functions it runs one after the other. `slot` is its index in the
    PROG_ARRAY of its role (None: the entry); `next` the slot it tail-calls (None: none). `ways`:
    those through the parser, where it leaves pointers in registers (None: in memory)."""

    name: str
    role: str
    stage: str
    functions: tuple[Function, ...]
    slot: int | None
    next: int | None
    ways: int | None = None


class Traced(Frozen):
    """What a traced program writes down: `points` are the places that record a step, by index."""

    nodes: tuple[Node, ...]
    points: tuple[Point, ...]

    @property
    def places(self) -> int:
        return places(len(self.nodes))


Moment = Literal["now", "utc", "random"]


class Unit(Frozen):
    name: str
    source: str
    join: Literal["staged", "fused"]
    roles: tuple[str, ...]
    tables: tuple[Table, ...]
    records: tuple[Record, ...]
    states: tuple[State, ...]
    nodes: tuple[NodeState, ...]
    bound: tuple[str, ...]  # prefixes of kinds whose rules are bound across stages
    functions: tuple[Function, ...]
    programs: tuple[Program, ...]
    counters: tuple[Counter, ...]
    graph: Graph = Graph((), ())
    hooks: tuple[tuple[str, str], ...] = ()  # what is done at an event
    probe_words: int = 0  # of the map `decode_probe`: see lower/decode_probe.py
    target: Literal["host", "nfp", "tc"] = "host"
    constants: tuple[tuple[str, int], ...] = ()  # names of numbers
    kept_plain: tuple[str, ...] = ()  # numbers in the state that a stage uses
    locals: tuple[tuple[str, int], ...] = ()  # of it, what `let` named, and their bits
    asks_local: tuple[
        str, ...
    ] = ()  # kinds of addresses that are asked whether they are the host's
    registers: tuple[State, ...] = ()  # arrays of registers
    ring: EventRing | None = None  # of the events that packets raise
    replies: bool = False  # it sends errors, ICMP or others
    moments: tuple[Moment, ...] = ()  # what the scratch record keeps of when a packet came
    copies: bool = False  # a stage makes copies of packets
    parts: bool = False  # some are not of all of them
    steers: bool = False  # a stage says which receive queue packets go to
    sized: bool = False  # some rules count packets by size
    kept: int = 0  # words of the scratch record for what pushes took in an earlier stage
    spill_words: int = 0  # of it, for what else would lie on the stack
    traced: Traced | None = None
    edited: bool = False  # what does not ask where the state is kept was done
    bare: tuple[str, ...] = ()  # roles whose packets have no link header
    parser: Function | None = None  # of all roles, in C: see passes/join_parsers.py

    @property
    def every_function(self) -> tuple[Function, ...]:
        """Those that programs run, and the parser of all roles."""
        return self.functions if self.parser is None else (*self.functions, self.parser)

    def written(self, f: Function) -> Function:
        """The function that C has for one."""
        return self.parser if self.parser is not None and f.stage == "parser" else f


def with_functions(unit: Unit, functions: list[Function]) -> Unit:
    """The unit with other functions of the same names."""
    named = {(f.role, f.name): f for f in functions}
    programs = tuple(
        replace(p, functions=tuple(named[f.role, f.name] for f in p.functions))
        for p in unit.programs
    )
    return replace(unit, functions=tuple(functions), programs=programs)
