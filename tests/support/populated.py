"""A pipeline with rules of every kind and entries of every state, on a host of this test's own."""

from __future__ import annotations

import time
from collections.abc import Sequence

from helioc.compiler.fuzzing.scenarios import Fuzzed
from helioc.compiler.fuzzing.session import Session, ask, new_book
from helioc.lang.contract.manifest.manifest import (
    GENERATION,
    SEEN,
    STATE_HEAD,
    STATE_LINES,
    TAGS_AT,
    State,
)
from helioc.lang.contract.request.request import Request
from helioc.runtime.loading.reader import Reader
from helioc.runtime.states.storage import SEED, state_hash
from hypothesis import Phase, find, settings
from hypothesis import strategies as st
from lab import Lab, Namespace


def requests(fuzzed: Fuzzed) -> Sequence[Request]:
    """Requests after which every rule kind has a rule; the same each time. None is refused."""

    @st.composite
    def created(draw: st.DrawFn) -> list[Request]:
        drawn = draw(st.lists(fuzzed.packets(), min_size=2, max_size=3))
        return list(Session(fuzzed.rules, draw, drawn).created())

    def complete(made: list[Request]) -> bool:
        book = new_book(fuzzed.manifest, fuzzed.world.environment)
        assert all(ask(book, request) for request in made)
        return all(book.count(kind) for kind in book.kinds)

    only = settings(derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    return find(created(), complete, settings=only)


def wire_ports(lab: Lab, host: Namespace, far: Namespace, fuzzed: Fuzzed) -> str:
    """An interface for each port of the fuzzed world; returns the edge's YAML."""
    lines = ["ports:"]
    for port in fuzzed.world.environment.ports:
        interface = f"{fuzzed.pipeline.name[:8]}{port.number}"
        lab.wire(far, interface, host, interface)
        vlan = f", vlan: {port.vlan}" if port.vlan else ""
        lines.append(f"  {port.name}: {{role: {port.role}, interface: {interface}{vlan}}}")
    return "\n".join(lines) + "\n"


def fill_states(name: str) -> None:
    """Two entries in every state table of a loaded pipeline, as packets would leave them."""
    with Reader(name) as reader:
        for state in reader.manifest.states:
            for number in (1, 2):
                key = bytes([number] * state.key_size)
                seen = time.clock_gettime_ns(time.CLOCK_MONOTONIC).to_bytes(SEEN, "little")
                entry = seen + bytes([number] * (state.entry_size - SEEN))
                table = reader.map(f"{state.prefix}_state")
                if not state.in_place:
                    table.update(key, entry)
                    continue
                control = reader.map("control").lookup(bytes(4)) or b""
                seed = int.from_bytes(control[8 * SEED :][:8], "little")
                at = state_hash(key, seed) & (state.sets - 1)
                table.update(at.to_bytes(4, "little"), set_of(state, key + entry))


def set_of(state: State, line: bytes) -> bytes:
    """A set whose first line is in use."""
    head = bytearray(STATE_HEAD)
    head[TAGS_AT] = 1
    lines = bytes(GENERATION) + line
    return bytes(head) + lines.ljust(STATE_LINES * state.line_size, b"\0")
