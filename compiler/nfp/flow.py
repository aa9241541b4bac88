"""What registers and stack hold at each instruction of a program: every way through it at once.

Memory safety is the kernel's verifier's to judge. This is about what a card asks beyond that: which
kind of memory an instruction touches, at which place, and how large a number can be.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from . import values as v
from .object_file import CALL, LOAD_WIDE, Function, Instruction, ObjectFile
from .values import Number, Pointer, Value

SIZES = {0x10: 1, 0x08: 2, 0x00: 4, 0x18: 8}  # of loads and stores, bytes
OPERATIONS = {0x00: "+", 0x10: "-", 0x20: "*", 0x30: "/", 0x40: "|", 0x50: "&", 0x60: "<<",
              0x70: ">>", 0x80: "neg", 0x90: "%", 0xA0: "^", 0xB0: "mov", 0xC0: "s>>",
              0xD0: "swap"}  # fmt: skip
LD, LDX, ST, STX, ALU, JMP, JMP32, ALU64 = range(8)
EXIT, ATOMIC, MEM = 0x95, 0xC0, 0x60
LOOK_UP = 1
_ROUNDS = 12  # before what grows is widened


@dataclass(frozen=True)
class State:
    """Registers, and what was stored on the stack: by the byte from its top, and how many."""

    registers: tuple[Value, ...]
    stack: tuple[tuple[tuple[int, int], Value], ...] = ()

    def with_register(self, number: int, value: Value) -> State:
        changed = list(self.registers)
        changed[number] = value
        return replace(self, registers=tuple(changed))

    def slot(self, at: int, size: int) -> Value | None:
        """What was stored just there; None where that is not known."""
        return dict(self.stack).get((at, size))

    def with_slot(self, at: int, size: int, value: Value) -> State:
        """A store, over whatever was there."""
        slots = {
            (start, length): known for (start, length), known in self.stack
            if start + length <= at or start >= at + size
        }  # fmt: skip
        most = (1 << size * 8) - 1
        fits = size == 8 or (isinstance(value, Number) and value.high <= most)
        slots[at, size] = value if fits else Number(0, most)
        return replace(self, stack=tuple(sorted(slots.items(), key=lambda s: s[0])))


@dataclass
class Facts:
    """What is known of a function: the state in front of each instruction that can be reached, of
    all callers joined, and what it returns."""

    function: Function
    states: dict[int, State] = field(default_factory=dict)
    returned: Value | None = None


def analyse(program: ObjectFile, name: str) -> dict[str, Facts]:
    """Facts of a program and of all that it calls, by function."""
    found: dict[str, Facts] = {}
    start = State((v.UNSET, Pointer("ctx"), *[v.UNSET] * 8, Pointer("stack", name)))
    _walk(program, name, start, found)
    return found


def _walk(program: ObjectFile, name: str, start: State, found: dict[str, Facts]) -> Value:
    """Follow every way through a function; what it returns."""
    function = program.functions[name]
    facts = found.setdefault(name, Facts(function))
    waiting, rounds = [(0, start)], dict[int, int]()
    while waiting:
        at, state = waiting.pop()
        known = facts.states.get(at)
        if known is not None:
            joined = _join(known, state, (name, at))
            if joined == known:
                continue
            rounds[at] = rounds.get(at, 0) + 1
            if rounds[at] > _ROUNDS:
                joined = _widened(known, joined)
            state = joined
        facts.states[at] = state
        insn = function.instructions[at]
        if insn.code == EXIT:
            value, before = state.registers[0], facts.returned
            facts.returned = value if before is None else v.join(before, value, (name, at))
            continue
        waiting += _steps(program, function, at, insn, state, found)
    return facts.returned if facts.returned is not None else v.ANY


def _join(a: State, b: State, where: tuple[str, int]) -> State:
    pairs = enumerate(zip(a.registers, b.registers, strict=True))
    registers = tuple(v.join(x, y, (where, n)) for n, (x, y) in pairs)
    left, right = dict(a.stack), dict(b.stack)
    slots = {at: v.join(left[at], right[at], (where, at)) for at in left if at in right}
    return State(registers, tuple(sorted(slots.items(), key=lambda s: s[0])))


def _widened(a: State, b: State) -> State:
    pairs = zip(a.registers, b.registers, strict=True)
    return replace(b, registers=tuple(v.widened(x, y) for x, y in pairs))


# ---- one instruction ------------------------------------------------------------------------


def _steps(
    program: ObjectFile,
    function: Function,
    at: int,
    insn: Instruction,
    state: State,
    found: dict[str, Facts],
) -> list[tuple[int, State]]:
    kind = insn.code & 7
    if insn.code == CALL:
        return [(at + 1, _call(program, insn, state, found))]
    if kind in (JMP, JMP32):
        return _jump(at, insn, state)
    if insn.code == LOAD_WIDE:
        value = _wide(insn, function.instructions[at + 1])
        return [(at + 2, state.with_register(insn.dst, value))]
    if kind in (ALU, ALU64):
        return [(at + 1, state.with_register(insn.dst, _computed(function, at, insn, state)))]
    if kind == LDX:
        return [(at + 1, state.with_register(insn.dst, _loaded(insn, state)))]
    target = state.registers[insn.dst]
    stores = kind in (ST, STX) and insn.code & 0xE0 == MEM
    on_stack = isinstance(target, Pointer) and target.kind == "stack" and target.at is not None
    if stores and on_stack:
        assert isinstance(target, Pointer) and target.at is not None
        value = state.registers[insn.src] if kind == STX else v.number(insn.imm)
        state = state.with_slot(target.at + insn.off, SIZES[insn.code & 0x18], value)
    return [(at + 1, state)]


def _wide(insn: Instruction, upper: Instruction) -> Value:
    if insn.refers:
        return Pointer("map", insn.refers)
    return v.number((insn.imm & v.MOST32) | (upper.imm & v.MOST32) << 32)


def operand(insn: Instruction, state: State) -> Value:
    """The second operand of an instruction."""
    return state.registers[insn.src] if insn.code & 8 else v.number(insn.imm)


def _computed(function: Function, at: int, insn: Instruction, state: State) -> Value:
    operation, wide = OPERATIONS[insn.code & 0xF0], insn.code & 7 == ALU64
    a, b = state.registers[insn.dst], operand(insn, state)
    if operation == "mov":
        if wide:
            return b
        return v.alu("&", False, b, v.number(v.MOST32), at) if isinstance(b, Number) else v.ANY32
    if operation in ("swap", "neg"):
        return v.ANY  # the kernel's verifier, whose numbers the driver takes, forgets what it knew
    return v.alu(operation, wide, a, b, (function.name, at))


def _loaded(insn: Instruction, state: State) -> Value:
    source, size = state.registers[insn.src], SIZES[insn.code & 0x18]
    if isinstance(source, Pointer):
        if source.kind == "ctx" and insn.off in (0, 4):
            return Pointer("packet") if insn.off == 0 else Pointer("end")
        if source.kind == "stack" and source.at is not None:
            value = state.slot(source.at + insn.off, size)
            if value is not None:
                return value
    return Number(0, (1 << size * 8) - 1)


def _call(program: ObjectFile, insn: Instruction, state: State, found: dict[str, Facts]) -> State:
    result: Value = v.ANY
    if insn.calls:
        name = insn.refers
        given = state.registers[1:6]
        start = State((v.UNSET, *given, *[v.UNSET] * 4, Pointer("stack", name)))
        result = _walk(program, name, start, found)
    elif insn.imm == LOOK_UP and isinstance(table := state.registers[1], Pointer):
        result = Pointer("value", table.of)
    return replace(state, registers=(result, *[v.UNSET] * 5, *state.registers[6:]))


# ---- jumps ----------------------------------------------------------------------------------

_TESTS = {0x10: "=", 0x20: ">", 0x30: ">=", 0x50: "!=", 0xA0: "<", 0xB0: "<="}
_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
    "<": operator.lt, "<=": operator.le,
}  # fmt: skip
_OPPOSITE = {"=": "!=", "!=": "=", ">": "<=", "<=": ">", ">=": "<", "<": ">="}


def _jump(at: int, insn: Instruction, state: State) -> list[tuple[int, State]]:
    target = at + 1 + insn.off
    if insn.code & 0xF0 == 0:
        return [(target, state)]
    test = _TESTS.get(insn.code & 0xF0)
    value, other = state.registers[insn.dst], operand(insn, state)
    constant = other.constant if isinstance(other, Number) else None
    wide = insn.code & 7 == JMP
    if test is None or constant is None or not isinstance(value, Number):
        return [(at + 1, state), (target, state)]
    if not wide and value.high > v.MOST32:
        return [(at + 1, state), (target, state)]
    constant = constant if wide else constant & v.MOST32
    ways = []
    for where, holds in ((at + 1, _OPPOSITE[test]), (target, test)):
        narrowed = _narrowed(value, holds, constant)
        if narrowed is not None:
            ways.append((where, state.with_register(insn.dst, narrowed)))
    return ways


def _narrowed(value: Number, test: str, constant: int) -> Number | None:
    """The numbers for which the test holds; None where it cannot."""
    if value.among:
        left = frozenset(x for x in value.among if _HOLDS[test](x, constant))
        return v.numbers(left) if left else None
    low, high = value.low, value.high
    match test:
        case "=":
            low, high = max(low, constant), min(high, constant)
        case "!=":
            low, high = low + (low == constant), high - (high == constant)
        case ">":
            low = max(low, constant + 1)
        case ">=":
            low = max(low, constant)
        case "<":
            high = min(high, constant - 1)
        case "<=":
            high = min(high, constant)
    return Number(low, high) if low <= high else None
