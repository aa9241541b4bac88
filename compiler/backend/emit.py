"""Lowered unit to C. The only user of Jinja; templates see nothing but the unit."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ...lang.contract.base.colours import COLOUR_BITS
from ...lang.contract.base.lists import LONGEST_RUN
from ...lang.contract.manifest.manifest import (
    FLOWS,
    ICMP_BURST,
    ICMP_RATE,
    LOCAL_ADDRESSES,
    MOST_BUCKETS,
    MOST_COUNTED,
    MOST_CPUS,
    QUEUES,
    SEEN,
    SOURCES,
    STATE_LINES,
    VECTOR_KEYS,
    Counter,
    EventKind,
    RuleKind,
    State,
)
from ...lang.contract.trace import schema as trace
from ...lang.contract.world.meters import BYTE, DEEPEST, PACKET
from ..ir.expr import Call, Event, RegisterCall, StateCall, TableCall
from ..ir.names import constant_name, symbols
from ..ir.nodes import Block, Emit, Function
from ..ir.unit import Member, Program, Unit
from ..ir.walk import (
    NAMES,
    counted_in,
    ends,
    expressions,
    helpers_of,
    looked_up_in,
    may_end,
    statements,
    tables_of,
)
from ..lower.events import EMITTING
from ..lower.lookup import ARGUMENTS_MOST
from ..lower.name_keys import WORDS_OF_NAME
from ..tables.event_records import first_bucket, source_words
from ..tables.fixed import FixedTuple, fixed_tuples
from ..tables.layout import flow_size, member_name, meters_of, row_of_counts
from ..targets.targets import TARGETS
from .c import asks, folded, lines_of, prototype, shared
from .c_lines import comment
from .searches import searches
from .stack_usage import instructions
from .state_changes import changes_of

OWN_LINES = "#line 1"  # a mark: see _numbered
TEMPLATES = Path(__file__).resolve().parents[2] / "templates"


def emit(unit: Unit, lines: bool, built: bytes = b"") -> str:
    """The C text. With `lines`, `#line` makes clang, bpftool and the verifier quote the `.hp` file;
    without, it is for people to read. `built`: the unit's object, which says how long programs are.
    """
    sizes = instructions(built) if built else {}
    symbol = symbols([(c.group, c.reason) for c in unit.counters], "EVENT")
    target = TARGETS[unit.target]
    text = (
        _environment()
        .get_template(target.template)
        .render(
            unit=unit,
            target=target,
            bare_roles=sum(1 << unit.roles.index(role) for role in unit.bare),
            trace=trace,
            lines=lines,
            own_lines=OWN_LINES,
            body_of=lines_of if lines else folded,
            shared_by=_Shared().by,
            functions=_written(unit),
            searches=list(searches(unit)),
            called=partial(called, unit),
            asks=asks,
            role=partial(constant_name, "role"),
            ends=ends,
            may_end=may_end,
            prototype=partial(prototype, context=target.context),
            about=lambda program: about(unit, program, sizes.get(program.name)),
            symbols=[(symbol[c.group, c.reason], c.index) for c in _counted(unit)],
            event=lambda group, reason: symbol[group, reason],
            records={r.table: r for r in unit.records},
            members={s.name: members(s) for s in unit.states},
            registered=_registered(unit),
            most_counted=MOST_COUNTED,
            same={s.name: _same(s) for s in unit.states},
            state_lines=STATE_LINES,
            raised=raised(unit),
            source_words=source_words,
            sources=SOURCES,
            number_of_sources=partial(first_bucket, unit.ring),
            **changes_of(unit),
            nodes={f"{n.name}_at": n for n in unit.nodes},
            arguments=arguments,
            fixed=fixed_tuples,
            asked=asked_of(unit),
            counted={name for f in unit.functions for name in counted_in(f)},
            summed=_sums(unit),
            most_cpus=MOST_CPUS,
            counts_row=row_of_counts(t.manifest for t in unit.tables),
            meters=meters_of(t.manifest for t in unit.tables),
            metered=_metered(unit),
            colours=COLOUR_BITS,
            deepest=DEEPEST,
            unit_of=lambda kind: PACKET if kind.packet_meter else BYTE,
            metered_states=_metered_states(unit),
            flow_words=flow_size(t.manifest for t in unit.tables) // 8,
            flows=FLOWS,
            vector_keys=VECTOR_KEYS,
            key_words=key_words,
            given=given,
            most_buckets=MOST_BUCKETS,
            log2=lambda number: number.bit_length() - 1,
            arguments_most=ARGUMENTS_MOST,
            queues=QUEUES,
            locals=LOCAL_ADDRESSES,
            icmp=(ICMP_RATE, ICMP_BURST),
            place=place_in_key,
            word_under=word_under,
            names=_names(unit),
            name_words=WORDS_OF_NAME,
            compared_words=LONGEST_RUN // 8,
            words=max([t.key.words for t in unit.tables if t.key] or [1]),
            stages={role: sum(p.role == role for p in unit.programs) for role in unit.roles},
        )
    )
    for said, instead in target.edges:
        text = text.replace(said, instead)
    return _numbered(text, unit.name)


def _names(unit: Unit) -> bool:
    """Whether the C has to do with domain names."""
    every = (x for f in unit.functions for x in expressions(f.body))
    return any(isinstance(x, Call) and x.function in NAMES for x in every)


#: Events that templates count.
_ALWAYS = {("verdict", "pass"), ("verdict", "drop"), ("verdict", "tx"), ("drop", "internal")}


def _counted(unit: Unit) -> list[Counter]:
    """The events that the C names: some counters stay 0 on every way."""
    every = (x for f in unit.functions for x in expressions(f.body))
    named = {x.index for x in every if isinstance(x, Event)}
    always = _ALWAYS | {("evicted", s.name) for s in unit.states}
    always |= {(what, kind.name) for _, kind in raised(unit) for what in EMITTING}
    return [c for c in unit.counters if c.index in named or (c.group, c.reason) in always]


def raised(unit: Unit) -> list[tuple[int, EventKind]]:
    """The events that some function emits, each with its number."""
    every = (s for f in unit.functions for s in statements(f.body))
    names = {s.event for s in every if isinstance(s, Emit)}
    kinds = unit.ring.kinds if unit.ring else ()
    return [(i, kind) for i, kind in enumerate(kinds) if kind.name in names]


def about(unit: Unit, program: Program, size: int | None) -> str:
    """What a program does, and what it costs, as a comment of C; `size`: in instructions."""
    stages = [f"{f.stage} ({unit.source}:{f.span.line})" for f in program.functions]
    said = f"Port role {program.role}: {', '.join(stages)}."
    asked = [t.rule.name for t in unit.tables if _looks_in(program, t.manifest.prefix)]
    said += f" Looks in {', '.join(asked)}." if asked else ""
    used = {prefix for f in program.functions for prefix in tables_of(f)}
    read = [t.rule.name for t in unit.tables if t.manifest.prefix in used]
    read = [name for name in read if name not in asked]
    said += f" Reads rules of {', '.join(read)}." if read else ""
    following = next(
        (p for p in unit.programs if (p.role, p.slot) == (program.role, program.next)), None
    )
    if program.next is not None and following is not None:
        said += f" Goes on with {following.stage} by a tail call."
    said += f" clang makes {size:,} instructions of it." if size else ""
    return "\n".join(comment(said))


def _written(unit: Unit) -> list[Function]:
    """The functions that C has, each behind those that it calls: the parser of all roles calls
    those of each."""
    made = list({(f.role, f.name): f for f in map(unit.written, unit.functions)}.values())
    if unit.parser is not None:
        helpers = helpers_of(unit.parser)
        last = max((i for i, f in enumerate(made) if f.name in helpers), default=0)
        at = made.index(unit.parser)
        made.insert(max(last, at), made.pop(at))
    return made


def called(unit: Unit, f: Function, program: Program) -> str:
    """The call of a stage's function."""
    written = unit.written(f)
    role = f", {constant_name('role', program.role)}" if written is unit.parser else ""
    return f"{written.name}(ctx, &st{role})"


def _looks_in(program: Program, table: str) -> bool:
    return any(table in looked_up_in(f) for f in program.functions)


class _Shared:
    """Blocks that are functions, each once."""

    def __init__(self) -> None:
        self._written: set[str] = set()

    def by(self, function: Function) -> list[Block]:
        """Those that a function is the first to call."""
        found: dict[str, Block] = {}
        for block in shared(function.body):
            if block.name not in self._written:
                found.setdefault(block.name, block)
        self._written |= found.keys()
        return list(found.values())


@cache
def _environment() -> Environment:
    """Keeps the templates that it has read."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        variable_start_string="${",
        variable_end_string="}",
        line_statement_prefix="//%",
        line_comment_prefix="//#",
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["has_bits"] = _has_bits
    return environment


def members(state: State) -> list[Member]:
    """An entry's members in C, with padding spelt out."""
    found, at = [], SEEN
    for slot in state.gives:
        if slot.offset > at:
            found.append(Member(f"u8 pad_{at}[{slot.offset - at}]"))
        found.append(Member(f"u{slot.size * 8} {member_name(slot.name)}"))
        at = slot.offset + slot.size
    if at < state.entry_size:
        found.append(Member(f"u8 pad[{state.entry_size - at}]"))
    return found


def _same(state: State) -> str:
    """C text: and the known entry holds what the new one does."""
    names = [member_name(slot.name) for slot in state.gives]
    return "".join(f" && known->{name} == entry->{name}" for name in names)


def arguments(words: int) -> str:
    """What a look-up function takes beside the epoch: the key's words, if registers hold them."""
    return "".join(f", u64 k{i}" for i in range(words)) if words <= ARGUMENTS_MOST else ""


def key_words(words: int) -> str:
    """The same as they are given."""
    return ", ".join(f"k{i}" for i in range(words))


def given(words: int) -> str:
    """The same behind the epoch."""
    return f", {key_words(words)}" if words <= ARGUMENTS_MOST else ""


def asked_of(unit: Unit) -> set[tuple[str, str]]:
    """Which functions of which rule kinds' tables are called: see `TableCall`."""
    every = (x for f in unit.functions for x in expressions(f.body))
    return {(x.table, x.what) for x in every if isinstance(x, TableCall)}


def _metered(unit: Unit) -> list[RuleKind]:
    """Kinds of which a meter is asked."""
    asked = asked_of(unit)
    return [t.manifest for t in unit.tables if (t.manifest.prefix, "meter") in asked]


def _metered_states(unit: Unit) -> list[State]:
    """States of whose entries a meter is asked."""
    every = (x for f in unit.functions for x in expressions(f.body) if isinstance(x, StateCall))
    asked = {x.state for x in every if x.what == "meter"}
    return [s for s in unit.states if s.prefix in asked]


def _registered(unit: Unit) -> list[tuple[State, set[str], int]]:
    """Arrays of registers: what is done to each, and the largest number that one holds."""
    every = [x for f in unit.functions for x in expressions(f.body) if isinstance(x, RegisterCall)]
    done = ((r, {x.what for x in every if x.registers == r.prefix}) for r in unit.registers)
    return [(r, set[str](what), (1 << r.register_bits) - 1) for r, what in done]


def _sums(unit: Unit) -> bool:
    """Whether what rules counted is read."""
    return bool({"packets", "bytes"} & {what for _, what in asked_of(unit)})


def _has_bits(pair: tuple[int, int], key: str) -> str:
    """Whether a word of the key has all of some bits."""
    word, bits = pair
    return f"({key}[{word}] & {bits:#x}ULL) == {bits:#x}ULL"


def word_under(tuple_: FixedTuple, key: str, word: int) -> str:
    """A word of the key as a tuple's entry has it."""
    mask, last = tuple_.mask[word], word == len(tuple_.mask) - 1
    under = f"{key}[{word}]" if mask == (1 << 64) - 1 else f"{key}[{word}] & {mask:#x}ULL"
    if not last:
        return under if mask else "0"
    return f"({under}) | {tuple_.tag:#x}ULL" if mask else f"{tuple_.tag:#x}ULL"


def place_in_key(kind: RuleKind) -> tuple[int, int, int]:
    """Of the value of a kind's only match element: the word of the key, the bit of it at which the
    32 bits start that hold the value, and how far the value is to be shifted in them, swapped."""
    (match,) = kind.match
    quad = (kind.key_size * 8 - match.position - match.width) // 32
    return quad // 2, quad % 2 * 32, match.position % 32


def _numbered(text: str, name: str) -> str:
    """Each mark becomes the `#line` that leads back to the generated file's own numbering."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if line == OWN_LINES:
            lines[i] = f'#line {i + 2} "{name}.bpf.c"'
    return "\n".join(lines)
