"""Whether a card runs a compiled program, and rightly: what the kernel's driver for the NFP refuses
(drivers/net/ethernet/netronome/nfp/bpf), and what it takes and translates wrongly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from . import limits
from . import values as v
from .btf import MapSpec
from .cost import count
from .flow import (
    ALU,
    ALU64,
    ATOMIC,
    EXIT,
    JMP,
    JMP32,
    LD,
    LDX,
    LOOK_UP,
    MEM,
    OPERATIONS,
    SIZES,
    ST,
    STX,
    Facts,
    State,
    analyse,
    operand,
)
from .frames import frames_of, stack_bytes
from .object_file import CALL, LOAD_WIDE, Instruction, ObjectFile
from .values import Number, Pointer

HASH, ARRAY = 1, 2  # enum bpf_map_type
HELPERS = {LOOK_UP: "bpf_map_lookup_elem", 7: "bpf_get_prandom_u32", 44: "bpf_xdp_adjust_head",
           65: "bpf_xdp_adjust_tail"}  # fmt: skip
DATA, DATA_END, QUEUE = 0, 4, 16  # struct xdp_md
QUEUES, VERDICTS = 255, 3


@dataclass(frozen=True)
class Violation:
    """`line` is a file and a line in it, where that is known."""

    why: str
    line: tuple[str, int] | None = None


@dataclass(frozen=True)
class Report:
    """A program on a card: `instructions` of the card and `lines`, how many each line comes to;
    bytes of `stack` used and of a packet that may be looked at."""

    program: str
    violations: tuple[Violation, ...]
    instructions: int
    stack: int
    reach: int
    lines: dict[tuple[str, int], int] = field(default_factory=dict)


def check_object(program: ObjectFile) -> Iterator[Violation]:
    """What is wrong with what all programs of an object share."""
    for kind in program.kinds - {"xdp"}:
        yield Violation(f"programs in a section `{kind}` are not for cards")
    for section in program.data:
        yield Violation(f"global data in `{section}` would be a map of another kind")
    maps = program.maps.values()
    for spec in maps:
        yield from _map(spec)
    if sum(spec.entries for spec in maps) > limits.ENTRIES:
        yield Violation(f"its maps have more than {limits.ENTRIES:,} entries")
    if len(maps) > limits.MAPS:
        yield Violation(f"it has more than {limits.MAPS} maps")


def _map(spec: MapSpec) -> Iterator[Violation]:
    if spec.type not in (HASH, ARRAY):
        yield Violation(f"the map `{spec.name}` is neither HASH nor ARRAY")
    if spec.flags:
        yield Violation(f"the map `{spec.name}` has flags")
    size = limits.element_bytes(spec.key, spec.value)
    if spec.key > limits.KEY or spec.value > limits.VALUE or size > limits.ELEMENT:
        yield Violation(f"an element of the map `{spec.name}` is too large: {size} bytes")


def check_program(program: ObjectFile, name: str) -> Report:
    """Hold one program against the card."""
    facts = analyse(program, name)
    checked = _Checked(program)
    for function in facts.values():
        checked.function(function, function.function.name == name)
    frames = frames_of(facts, name)
    instructions, counted = count(frames)
    stack = stack_bytes(frames, name)
    unique = tuple(dict.fromkeys(checked.found))
    return Report(name, unique, instructions, stack, checked.reach, _by_line(facts, counted))


def _by_line(
    facts: dict[str, Facts], counted: dict[str, dict[int, int]]
) -> dict[tuple[str, int], int]:
    """Card instructions by line of a pipeline; what is of none belongs to the one before."""
    found: dict[tuple[str, int], int] = {}
    for name, each in counted.items():
        line = ("", 0)
        for at, cost in sorted(each.items()):
            here = facts[name].function.lines.get(at, line)
            line = here if here[0].endswith(".hp") and here[1] else line
            found[line] = found.get(line, 0) + cost
    return found


class _Checked:
    """Goes through a program's instructions. A word of a map's value is read or counted in."""

    def __init__(self, program: ObjectFile) -> None:
        self.program = program
        self.found: list[Violation] = []
        self.reach = 0
        self._uses: dict[tuple[str, int], str] = {}
        self._line: tuple[str, int] | None = None

    def function(self, facts: Facts, main: bool) -> None:
        for at, state in sorted(facts.states.items()):
            insn = facts.function.instructions[at]
            self._line = facts.function.lines.get(at)
            if insn.code == EXIT:
                if main:
                    self._verdict(state)
            elif insn.code == CALL:
                self._call(insn, state)
            elif insn.code & 7 in (ALU, ALU64):
                self._alu(insn, state)
            elif insn.code & 7 in (JMP, JMP32):
                self._jump(insn)
            elif insn.code != LOAD_WIDE:
                self._memory(insn, state)
            elif insn.src and not insn.refers:
                self._wrong("loads the address of something that is no map")

    def _wrong(self, why: str) -> None:
        self.found.append(Violation(why, self._line))

    def _verdict(self, state: State) -> None:
        result = state.registers[0]
        if not isinstance(result, Number) or result.high > VERDICTS:
            self._wrong("its verdict may be another than ABORTED, DROP, PASS and TX")

    def _call(self, insn: Instruction, state: State) -> None:
        if insn.calls:
            return
        if insn.src:
            self._wrong("calls a function of the kernel")
        elif insn.imm not in HELPERS:
            self._wrong(f"calls helper {insn.imm} of the kernel, which a card lacks")
        elif insn.imm == LOOK_UP:
            table, key = state.registers[1:3]
            if not isinstance(table, Pointer) or table.kind != "map":
                self._wrong("it looks into something that is no map")
            if not isinstance(key, Pointer) or key.kind != "stack":
                self._wrong("a key must lie on the stack")
            elif key.at is None:
                self._wrong("a key must lie at a fixed place of the stack")
            elif key.at % 4:
                self._wrong("a key must be aligned to 4 bytes")

    def _alu(self, insn: Instruction, state: State) -> None:
        operation = OPERATIONS.get(insn.code & 0xF0, "")
        left, right = state.registers[insn.dst], operand(insn, state)
        if insn.off:
            self._wrong("sign extension and signed division are translated wrongly")
        if operation == "%":
            self._wrong("there is no remainder on a card")
        if operation == "swap" and (insn.code & 8 == 0 or insn.code & 7 == ALU64):
            self._wrong("only swaps between host and network order are translated")
        if operation in ("*", "/") and not (isinstance(left, Number) and left.high <= v.MOST32):
            self._wrong("multiplies or divides what may have more than 32 bits")
        narrow = isinstance(right, Number) and right.high <= v.MOST32
        if operation == "*" and insn.code & 8 and not narrow:
            self._wrong("multiplies by what may have more than 32 bits")
        if operation == "*" and not insn.code & 8 and insn.code & 7 == ALU64 and insn.imm < 0:
            self._wrong("multiplies by a negative number")
        if operation == "/":
            fixed = isinstance(right, Number) and right.constant is not None
            if not fixed or (not insn.code & 8 and insn.imm < 0):
                self._wrong("divides by what is no fixed number")

    def _jump(self, insn: Instruction) -> None:
        operation = insn.code & 0xF0
        if operation == 0 and insn.code & 7 == JMP32:
            self._wrong("long jumps are not translated")

    # ---- memory -----------------------------------------------------------------------------

    def _memory(self, insn: Instruction, state: State) -> None:
        kind, mode = insn.code & 7, insn.code & 0xE0
        if kind == LD or mode not in (MEM, ATOMIC):
            self._wrong("an access to memory that is not translated")
            return
        if kind == ST:
            self._wrong("storing a constant is not translated")
            return
        pointer = state.registers[insn.src if kind == LDX else insn.dst]
        size = SIZES[insn.code & 0x18]
        if not isinstance(pointer, Pointer) or pointer.kind not in (
            "ctx",
            "stack",
            "value",
            "packet",
        ):
            self._wrong("one instruction touches different kinds of memory")
        elif pointer.kind == "ctx":
            self._context(insn, state, size)
        elif pointer.kind == "stack":
            if pointer.at is None:
                self._wrong("a place on the stack varies")
            elif mode == ATOMIC:
                self._wrong("adds atomically to the stack")
        elif pointer.kind == "packet":
            self.reach = max(self.reach, pointer.reach + (pointer.at or 0) + insn.off + size)
            if mode == ATOMIC:
                self._wrong("adds atomically to the packet")
        else:
            self._value(insn, state, pointer, size)

    def _context(self, insn: Instruction, state: State, size: int) -> None:
        if insn.code & 7 == LDX:
            if insn.off not in (DATA, DATA_END) or size != 4:
                self._wrong("of a packet's context a card has only its begin and end")
        elif insn.off != QUEUE or size != 4 or insn.code & 0xE0 != MEM:
            self._wrong("of a packet's context only the receive queue can be written")
        else:
            queue = state.registers[insn.src]
            if not isinstance(queue, Number) or queue.high > QUEUES:
                self._wrong(f"the receive queue may be beyond {QUEUES}")

    def _value(self, insn: Instruction, state: State, pointer: Pointer, size: int) -> None:
        atomic = insn.code & 0xE0 == ATOMIC
        if insn.code & 7 == STX and not atomic:
            self._wrong("a card's program cannot write into maps")
            return
        if pointer.at is None:
            self._wrong("a place in a map's value varies")
            return
        if atomic and insn.imm:
            self._wrong("only additions are atomic, and they do not fetch")
        if atomic and not isinstance(state.registers[insn.src], Number):
            self._wrong("adds what is no number")
        use = "counted in" if atomic else "read"
        first = pointer.at + insn.off
        words = range(first // 4, (first + size + 3) // 4)
        for name, word in product(pointer.of.split("|"), words):
            if self._uses.setdefault((name, word), use) != use:
                self._wrong(f"a word of the map `{name}` is both read and counted in")
