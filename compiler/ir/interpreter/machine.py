"""Runs a unit's programs on frames, in a world, one packet after the other: those of a unit that is
placed, and of one before that, as if its state were in memory."""

from __future__ import annotations

from typing import Literal, cast

from ....lang.contract.base.colours import COLOUR_BITS, Colour
from ....lang.contract.manifest.manifest import Manifest
from ....lang.contract.trace.schema import EGRESS, EVENT
from ....lang.contract.world.bare_packets import framed, unframed
from ....lang.contract.world.emitted import limits_of, values_of
from ....lang.contract.world.environment import Emitted, Environment, Fate, Outcome, Port, Rules
from ....lang.contract.world.meters import BYTE, PACKET
from ....lang.contract.world.moment import Moment
from ....lang.contract.world.rule_events import RuleEvents
from ....lang.contract.world.states import States
from ..expr import RegisterCall, StateCall
from ..nodes import Body, Function
from ..unit import Program, Unit
from . import answers, checksums, forwarding, header
from .entries import Entries
from .expressions import CONSTANTS, Numbers
from .layout import TRACE_SIZE, Layout
from .memory import Fault, Frame, Pointer, Region, Value, ones
from .statements import CONTINUE, Execution, is_unplaced
from .tables import Tables
from .traces import Traces

_COLOURS: dict[int, Colour] = {bits: colour for colour, bits in COLOUR_BITS.items()}
_FATES = {number: name[4:].lower() for name, number in CONSTANTS.items() if name[:4] == "XDP_"}
_DROP, _PASS, _REDIRECT = (CONSTANTS[f"XDP_{name}"] for name in ("DROP", "PASS", "REDIRECT"))

assert answers and checksums and forwarding  # their functions are known once they are imported


class Machine:
    """`default`: what the pipeline does with packets of which its stages say nothing. The scratch
    record, state tables and the limit of ICMP errors (`states`, whose `moment` is the clock) last
    from packet to packet. Raises `NotInterpreted`."""

    def __init__(
        self,
        unit: Unit,
        environment: Environment,
        default: Literal["pass", "drop"],
        manifest: Manifest | None = None,
    ) -> None:
        """`manifest`: the unit's, by which what a traced one writes is read."""
        self.unit, self.environment = unit, environment
        self.unplaced = is_unplaced(unit)
        self.in_memory = self.unplaced and unit.target == "host"  # a card has no scratch record
        self.behind: dict[tuple[str, str], Body] = {}
        self.traces = Traces(unit, manifest) if unit.traced and manifest else None
        self.default = environment.default or default
        self.layout, self.states = Layout(unit), States()
        self.counters = {c.index: (c.group, c.reason) for c in unit.counters}
        self.events = {event: index for index, event in self.counters.items()}
        self.entries = Entries(unit.states, self.states)
        self.widths = {r.prefix: r.register_bits for r in unit.registers}
        self.emits = {kind.name: kind for kind in unit.ring.kinds} if unit.ring else {}
        kinds = [table.manifest for table in unit.tables]
        self._of_rules = RuleEvents(kinds, self.emits.values(), self.states.counted)
        self.scratch: Numbers = {}
        self.rooms: dict[str, Region] = {}
        self.decode_probe = Region("decode_probe", bytearray(8 * unit.probe_words))
        self.functions = {f.name: f for f in unit.functions}
        self.nodes = {f"{node.name}_at": node.name for node in unit.nodes}
        self._entry = {p.role: p for p in unit.programs if p.slot is None}
        self._slots = {(p.role, p.slot): p for p in unit.programs}

    def set_moment(self, moment: Moment) -> None:
        """When packets come from here on."""
        self.states.moment = moment

    def look(self, rules: Rules) -> None:
        """As `compiler.interpret.packet.Interpreter` does."""
        if not self.environment.limits_events:
            self._of_rules.fill()
        self._of_rules.look(rules, self.states.now)

    def run(self, rules: Rules, frame: bytes, port: int) -> Outcome:
        """What becomes of a frame that arrives by port number `port`; what was parsed, and the
        steps, only of a traced unit. Raises `Fault` where the program does what it must not,
        `NotInterpreted`."""
        arrival = self.environment.port(port)
        if arrival is None:
            raise LookupError(f"no port {port}")
        if not self.environment.limits_events:
            self.states.fill_buckets()
        self.look(rules)
        tables = Tables(self.unit.tables, rules, self.environment, self.unit.bare)
        data = framed(frame) if self._is_bare(port) else frame
        packet = _Packet(self, tables, arrival, data, len(frame))
        result, program = CONTINUE, self._entry.get(arrival.role)
        while result == CONTINUE and program is not None:
            result, program = self._program(packet, program)
        outcome = packet.outcome(max(result, 0))
        if self.unit.bare:
            outcome = unframed(outcome, port, self._is_bare)
        return self._of_rules.with_events(outcome, rules, self.states.now)

    def _is_bare(self, number: int) -> bool:
        """Whether a port has no link header."""
        port = self.environment.port(number)
        return port is not None and port.role in self.unit.bare

    def _program(self, packet: _Packet, program: Program) -> tuple[int, Program | None]:
        """What it returns, and the one that it calls last."""
        registers: Numbers = {}
        role = self.unit.roles.index(program.role)
        for function in map(self.unit.written, program.functions):
            result = Execution(packet, registers, role=role).run(function)
            if result != CONTINUE:
                return result, None
        after = None if program.next is None else self._slots[program.role, program.next]
        return CONTINUE, after


class _Packet:
    """One packet's way."""

    def __init__(
        self, machine: Machine, tables: Tables, arrival: Port, data: bytes, length: int
    ) -> None:
        self._machine, self._tables = machine, tables
        self.environment, self.arrival = machine.environment, arrival
        self.bare = machine.unit.bare
        self.moment = machine.states.moment
        self.layout, self.scratch, self.decode_probe = (
            machine.layout,
            machine.scratch,
            machine.decode_probe,
        )
        self.unplaced, self.in_memory = machine.unplaced, machine.in_memory
        self.behind = machine.behind
        self.frame = Frame(data)
        self._words: list[int] = []  # of the trace
        self._found: dict[int, int] = {}  # nodes, and one more than where they start
        self._events: list[tuple[str, str]] = []
        self._counted: list[tuple[str, int]] = []
        self._emitted: list[Emitted] = []
        self._copies: list[tuple[int, bytes]] = []
        self._kept = b""  # of a packet of which a copy is made
        self._metered: dict[str, tuple[int, int]] = {}  # by table: cell and colour of the last
        self._egress = 0
        self._queue: int | None = None
        self._length = length

    def outcome(self, result: int) -> Outcome:
        fate = cast("Fate", _FATES.get(result, f"verdict {result}"))
        traces = self._machine.traces
        path, steps = traces.read(self._found, self._words, self._tables) if traces else ((), ())
        return Outcome(
            fate,
            self.frame.content if fate in ("pass", "tx", "redirect") else None,
            {"redirect": self._egress, "tx": self.arrival.number}.get(fate),
            tuple(self._events),
            tuple(self._counted),
            path,
            steps,
            queue=self._queue if fate == "pass" else None,
            emitted=tuple(self._emitted),
            copies=tuple(self._copies),
        )

    # ---- counters ---------------------------------------------------------------------------

    def count(self, event: int) -> None:
        if event not in self._machine.counters:
            raise Fault(f"no event {event}")
        self._events.append(self._machine.counters[event])
        self.trace_step(EVENT | event << 32, [])

    def count_verdict(self, event: int, action: int) -> int:
        self.count(event)
        return action

    def count_rule(self, table: str, cell: int, length: int) -> None:
        rule = self._tables.rule(table, cell)
        if rule is None:
            raise Fault(f"{table}: a packet is counted for no rule, of cell {cell}")
        if length != self._length:
            self._events.append(("bytes", rule.kind))
        self._counted.append((rule.kind, rule.sequence))
        self._machine.states.count(rule.kind, rule.sequence, length)

    def emit(self, event: str, record: Pointer) -> None:
        kind = self._machine.emits[event]
        emitted = Emitted(event, values_of(kind, record.read(kind.size)))
        within = self._machine.states.may_emit(limits_of(kind, emitted.values))
        self.count(self._machine.events["emitted" if within else "suppressed", event])
        if within:
            self._emitted.append(emitted)

    def internal(self) -> int:
        self.count(self._machine.events["drop", "internal"])
        return self._ends("drop")

    def _ends(self, action: str) -> int:
        event = self._machine.events["verdict", action]
        return self.count_verdict(event, CONSTANTS[f"XDP_{action.upper()}"])

    # ---- traces -----------------------------------------------------------------------------

    def trace_step(self, point: int, words: list[int]) -> None:
        self._words += [point, *words]

    def trace_node(self, index: int, at: int) -> None:
        self._found[index] = (at + 1) & ones(16)  # as a record has it: what is absent has 0

    def trace_rule(self, table: str, point: int, cell: int) -> None:
        rule = self._tables.rule(table, cell)
        if rule is None:
            raise Fault(f"{table}: no rule is bound, of cell {cell}")
        identity = rule.id | (rule.priority or 0) << 32
        self.trace_step(point, [rule.sequence, identity, cell])

    # ---- memory -----------------------------------------------------------------------------

    def room(self, member: str, size: int) -> Pointer:
        rooms = self._machine.rooms
        if member not in rooms:
            rooms[member] = Region(member, bytearray(self._arrays().get(member, size)))
        return Pointer(rooms[member])

    def _arrays(self) -> dict[str, int]:
        """Bytes of the scratch record's arrays."""
        unit = self._machine.unit
        words = max([t.key.words for t in unit.tables if t.key] or [1])
        return {"kept": 8 * unit.kept, "spill": 8 * unit.spill_words, "key": 8 * words} | {
            "trace": TRACE_SIZE
        }

    # ---- functions --------------------------------------------------------------------------

    def call(self, function: str, arguments: list[Value | str]) -> Value:
        return header.call(self, function, arguments)

    def helper(self, name: str, registers: Numbers, a: int, b: int) -> int:
        function: Function = self._machine.functions[name]
        for member in function.takes:
            node = self._machine.nodes.get(member)
            there = node is None or registers.get(f"{node}_h", 0) != 0
            self.scratch[member] = registers.get(member, 0) if there else CONSTANTS["ABSENT"]
        return Execution(self, {}, a & ones(32), b & ones(32)).run(function) & ones(32)

    def look(self, table: str, what: str, arguments: list[Value]) -> Value:
        if what == "find" and isinstance(arguments[0], Pointer):  # a card's: the entry for a key
            return self.record(table, self._find(table, arguments[0]) & ones(32))
        numbers = [each for each in arguments if isinstance(each, int)]
        if what == "cell_of":
            return numbers[0]
        if what == "meter":
            return self._meter(table, *numbers)
        if what == "find":
            words = numbers[1:]
            if words:
                cell = self._tables.find(table, words)
            else:  # too long for registers
                cell = self._find(table, self.room("key", 0))
            return cell << 32 | cell
        if what in ("sequence_of", "id_of"):
            rule = self._tables.rule(table, numbers[0])
            return 0 if rule is None else rule.sequence if what == "sequence_of" else rule.id
        if what == "kept":  # cells are others for each packet here
            return self._tables.cell_of(table, numbers[2])
        if what in ("packets", "bytes"):
            return self._so_far(table, numbers[0])[what == "bytes"]
        if what == "at":
            return self.record(table, numbers[0])
        return numbers[0] if self._tables.rule(table, numbers[0]) else 0

    def _so_far(self, table: str, cell: int) -> tuple[int, int]:
        rule = self._tables.rule(table, cell)
        if rule is None:
            raise Fault(f"{table}: no rule counts, of cell {cell}")
        return self._machine.states.counted(rule.kind, rule.sequence)

    def _meter(self, table: str, cell: int, length: int, *numbers: int) -> int:
        rule = self._tables.rule(table, cell)
        if rule is None:
            raise Fault(f"{table}: a packet is measured by no rule, of cell {cell}")
        packets = self._tables.tables[table].manifest.packet_meter
        return self._measured(table, cell, (rule.kind, rule.sequence), packets, length, *numbers)

    def _measured(
        self, table: str, which: int, of: tuple[str, int], packets: bool, length: int, *numbers: int
    ) -> int:
        """By the rule or entry `which` of a table: once, until another one of it does."""
        if self._metered.get(table, (0, 0))[0] != which:
            *values, given = numbers
            states, unit = self._machine.states, PACKET if packets else BYTE
            colour = states.colour(of, values, length, unit, _COLOURS.get(given, "green"))
            self._metered[table] = which, COLOUR_BITS[colour]
        return self._metered[table][1]

    def _find(self, table: str, words: Pointer) -> int:
        """By a key that is an array of words."""
        key = self._tables.tables[table].key
        assert key is not None
        return self._tables.find(table, [words.load(64, 8 * i) for i in range(key.words)])

    def record(self, table: str, slot: int) -> Value:
        found = self._tables.record(table, slot)
        return 0 if found is None else Pointer(found)

    def ask_state(self, call: StateCall, arguments: list[Value]) -> Value:
        entries = self._machine.entries
        if call.what != "meter":
            return entries.ask(call, arguments)
        mark, there, packets = entries.held(call.state, arguments[0])
        if not there and self._metered.get(call.state, (0, 0))[0] != mark:
            return 0
        numbers = [each for each in arguments if isinstance(each, int)]
        return self._measured(call.state, mark, (call.state, mark), packets, *numbers)

    def ask_registers(self, call: RegisterCall, numbers: list[int]) -> int:
        states, cell = self._machine.states, numbers[0]
        value = states.register(call.registers, cell)
        if call.what == "read":
            return value
        most = ones(self._machine.widths[call.registers])
        by = numbers[1]
        changed = {"set": by, "plus": min(value + by, most), "minus": max(value - by, 0)}
        states.set_register(call.registers, cell, changed[call.what])
        return 0

    # ---- the host ---------------------------------------------------------------------------

    def take_answer(self) -> bool:
        limit = self.environment.icmp
        return limit is None or self._machine.states.may_answer(limit)

    def redirect(self, port: int, event: int) -> int:
        if self.environment.port(port) is None:
            return self.internal()
        self._egress = port
        self.trace_step(EGRESS | port << 32, [])
        return self.count_verdict(event, _REDIRECT)

    def begin_copy(self) -> None:
        self._kept = self.frame.content

    def send_copy(self, port: int, sent: int, failed: int, most: int = 0) -> None:
        there = self.environment.port(port) is not None
        if there:
            content = self.frame.content
            self._copies.append((port, content[:most] if most else content))
        self.count(sent if there else failed)

    def end_copy(self) -> None:
        self.frame.becomes(self._kept)

    def steer(self, queue: int, event: int) -> int:
        self._queue = queue - 1 if queue else None
        return self.count_verdict(event, _PASS)

    def default_verdict(self) -> int:
        return _PASS if self._machine.default == "pass" else _DROP

    def default_action(self) -> int:
        return self._ends(self._machine.default)
