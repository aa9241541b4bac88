"""Nothing left to decide: what the templates turn into C.

Statements are lines of C with their nesting and the `.hp` line they come from; tables, maps and
programs are plain data. `str(unit)` is the golden text.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from ...lang.contract.manifest.manifest import Counter, State
from ...lang.contract.trace.schema import Node, Point, places
from ...lang.text.frozen import Frozen
from ...lang.text.source import NOWHERE, Span
from .layout import Table

#: Words of a key that a look-up function takes as arguments; a longer key goes through the scratch
#: record. A BPF function has five arguments, and one is the epoch.
ARGUMENTS_MOST = 4


def c_name(node: str) -> str:
    """The name of a node in C: `vlan[1]` is `vlan__1`, which no other node may be called."""
    return node.replace("[", "__").replace("]", "")


#: Octets of a function's name that every kernel's BTF takes: KSYM_NAME_LEN of Linux 5.10 is 128.
LONGEST_NAME = 100


def function_name(name: str) -> str:
    """The name, or where no kernel would take one so long its beginning and a digest."""
    if len(name) <= LONGEST_NAME:
        return name
    from hashlib import blake2b

    return f"{name[: LONGEST_NAME - 17]}_{blake2b(name.encode(), digest_size=8).hexdigest()}"


class Line(Frozen):
    """One line of C at a nesting depth; `span` is the `.hp` text it carries out."""

    depth: int
    text: str
    span: Span | None


class Function(Frozen):
    """`ALWAYS int name(struct xdp_md *ctx, struct state *st)`: one stage on one role. Returns an
    XDP verdict, or CONTINUE if it falls out of its end. With an empty `stage` it has two numbers
    more, and is a global function, which finds the state in the scratch record: `takes` are the
    members that its callers have to put there first."""

    name: str
    stage: str
    role: str
    body: tuple[Line, ...]
    span: Span = NOWHERE
    takes: tuple[str, ...] = ()


class NodeState(Frozen):
    """A node that stages look at: `struct state` has a pointer and an offset for it (a card's only
    where `placed`)."""

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
    """What a traced program writes down: `points` are the places that tell of a step, by index."""

    nodes: tuple[Node, ...]
    points: tuple[Point, ...]

    @property
    def places(self) -> int:
        return places(len(self.nodes))


class Unit(Frozen):
    name: str
    source: str
    join: str
    roles: tuple[str, ...]
    tables: tuple[Table, ...]
    records: tuple[Record, ...]
    states: tuple[State, ...]
    nodes: tuple[NodeState, ...]
    bound: tuple[str, ...]  # prefixes of kinds whose rules are bound across stages
    functions: tuple[Function, ...]
    programs: tuple[Program, ...]
    counters: tuple[Counter, ...]
    told: int = 0  # words of the map `told`: see lower/tell.py
    target: Literal["host", "nfp"] = "host"
    kept_plain: tuple[str, ...] = ()  # numbers in the state that a stage uses
    asks_local: tuple[
        str, ...
    ] = ()  # kinds of addresses that are asked whether they are the host's
    replies: bool = False  # it sends errors, ICMP or others
    steers: bool = False  # a stage says which receive queue packets go to
    sized: bool = False  # some rules count packets by size
    kept: int = 0  # words of the scratch record for what pushes took in an earlier stage
    aside: int = 0  # words of it for what else would lie on the stack
    traced: Traced | None = None

    def __str__(self) -> str:
        out = [f"unit {self.name} ({self.join})"]
        out += [f"  node {n.name}" for n in self.nodes]
        out += [f"  bound {name}" for name in self.bound]
        for record in self.records:
            out.append(f"  record {record.table}")
            out += [f"    {member.declaration}" for member in record.members]
        for f in self.functions:
            out.append(f"  function {f.name}")
            if f.takes:
                out.append(f"    takes {', '.join(f.takes)}")
            for line in f.body:
                where = f"{line.span.line:>4} " if line.span else "     "
                out.append(f"  {where}{'  ' * line.depth}{line.text}")
        for p in self.programs:
            parts = " ".join(f.name for f in p.functions)
            out.append(f"  program {p.name} [slot {p.slot}, next {p.next}]: {parts}")
        out += [f"  counter {c.index}: {c.group}: {c.reason}" for c in self.counters]
        return "\n".join(out) + "\n"


@dataclass
class Writer:
    """Collects lines; `at` marks where the following ones come from."""

    lines: list[Line] = field(default_factory=list)
    depth: int = 0
    span: Span | None = None
    branches: int = 0  # of the function, so far
    _names: int = 0
    _heads: list[Line] = field(default_factory=list)
    _locals: dict[int, tuple[str, str, str]] = field(default_factory=dict)  # by their lines

    def put(self, *texts: str) -> None:
        self.lines.extend(Line(self.depth, text, self.span) for text in texts)

    def local(self, type_: str, stem: str, text: str) -> str:
        """A variable with this value, for the rest of its block."""
        name = self.fresh(stem)
        declared = f"{type_}{name}" if type_.endswith("*") else f"{type_} {name}"
        self._locals[len(self.lines)] = declared, name, text
        self.put(f"{declared} = {text};")
        return name

    def outlive(self, since: int) -> None:
        """Let all of the function know the variables that were made since a line."""
        for at in [at for at in self._locals if at >= since]:
            declared, name, text = self._locals.pop(at)
            line = self.lines[at]
            self._heads.append(Line(0, f"{declared};", line.span))
            self.lines[at] = Line(line.depth, f"{name} = {text};", line.span)

    @property
    def body(self) -> tuple[Line, ...]:
        """All of the function."""
        return (*self._heads, *self.lines)

    def never(self, test: str) -> None:
        """Leave where `test` holds: the checker saw that it does not, but the verifier cannot."""
        self.put(f"if (SELDOM({test}))", "\treturn internal();")

    @contextmanager
    def nest(self, head: str, tail: str = "}") -> Iterator[None]:
        """`head` opens a brace of its own (it ends in `{`), `tail` closes it."""
        self.put(head)
        self.depth += 1
        yield
        self.depth -= 1
        self.put(tail)

    @contextmanager
    def at(self, span: Span | None) -> Iterator[None]:
        before, self.span = self.span, span or self.span
        yield
        self.span = before

    def fresh(self, stem: str) -> str:
        """A C name not used before in this function."""
        self._names += 1
        return f"{c_name(stem)}_{self._names}"
