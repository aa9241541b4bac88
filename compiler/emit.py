"""Lowered unit to C. The only user of Jinja; templates see nothing but the unit."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .fixed import fixed_tuples
from .lowered import ARGUMENTS_MOST, Line, Member, Unit
from .manifest import FILTER_FACTOR, QUEUES, SEEN, State
from .tracing import schema as trace

OWN_LINES = "#line 1"  # a mark: see _numbered
TEMPLATES = Path(__file__).resolve().parent.parent / "templates"


def emit(unit: Unit, lines: bool) -> str:
    """The C text. With `lines`, `#line` makes clang, bpftool and the verifier quote the `.hp` file;
    without, it is for people to read."""
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
    environment.filters["hex"] = lambda number: f"{number:#x}ULL"
    environment.filters["has_bits"] = _has_bits
    index = {(c.group, c.reason): c.index for c in unit.counters}
    text = environment.get_template("pipeline.bpf.c.j2").render(
        unit=unit,
        trace=trace,
        lines=lines,
        own_lines=OWN_LINES,
        code=_code,
        event=lambda group, reason: index[group, reason],
        records={r.table: r for r in unit.records},
        members={s.name: members(s) for s in unit.states},
        same={s.name: _same(s) for s in unit.states},
        nodes={f"{n.name}_at": n for n in unit.nodes},
        slots={f"{b.name}_slot": b for b in unit.bound},
        arguments=arguments,
        fixed=fixed_tuples,
        filter_sum=filter_sum,
        key_word=key_word,
        log2=lambda number: number.bit_length() - 1,
        arguments_most=ARGUMENTS_MOST,
        masked=masked,
        queues=QUEUES,
        words=max([t.key.words for t in unit.tables if t.key] or [1]),
        stages={role: sum(p.role == role for p in unit.programs) for role in unit.roles},
    )
    return _numbered(text, unit.name)


def members(state: State) -> list[Member]:
    """An entry's members in C, with padding spelt out."""
    found, at = [], SEEN
    for slot in state.gives:
        if slot.offset > at:
            found.append(Member(f"u8 pad_{at}[{slot.offset - at}]"))
        found.append(Member(f"u{slot.size * 8} {slot.name}"))
        at = slot.offset + slot.size
    if at < state.entry_size:
        found.append(Member(f"u8 pad[{state.entry_size - at}]"))
    return found


def _same(state: State) -> str:
    """C text: and the known entry holds what the new one does."""
    return "".join(f" && known->{slot.name} == entry->{slot.name}" for slot in state.gives)


def arguments(words: int) -> str:
    """What a look-up function takes beside the epoch: the key's words, if registers hold them."""
    return "".join(f", u64 k{i}" for i in range(words)) if words <= ARGUMENTS_MOST else ""


def masked(words: int) -> str:
    """Where a look-up masks its key: on the stack, if that holds it beside what callers need."""
    return f"masked[{words}]" if words <= ARGUMENTS_MOST else "*masked = (u64 *)s->masked"


def key_word(word: int, words: int) -> str:
    """A word of the key as a look-up function has it."""
    return f"k{word}" if words <= ARGUMENTS_MOST else f"s->key[{word}]"


def _has_bits(pair: tuple[int, int], words: int) -> str:
    """Whether a word of the key has all of some bits."""
    word, bits = pair
    return f"({key_word(word, words)} & {bits:#x}ULL) == {bits:#x}ULL"


def filter_sum(words: int) -> str:
    """The masked key's words, each times a power of the filter's factor."""
    powers = [pow(FILTER_FACTOR, i + 1, 1 << 64) for i in range(words)]
    return " + ".join(f"masked[{i}] * {power:#x}ULL" for i, power in enumerate(powers))


def _numbered(text: str, name: str) -> str:
    """Each mark becomes the `#line` that leads back to the generated file's own numbering."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if line == OWN_LINES:
            lines[i] = f'#line {i + 2} "{name}.bpf.c"'
    return "\n".join(lines)


def _code(line: Line) -> str:
    """Labels stand at the margin, as in kernel C."""
    if not line.text:
        return ""
    label = line.text.endswith(":") and line.text[:-1].isidentifier()
    return line.text if label else "\t" * (line.depth + 1) + line.text
