"""C of what is done to states that are changed in place, for the template."""

from __future__ import annotations

from typing import Any

from ...lang.contract.manifest.manifest import Slot, State
from ..ir.expr import StateCall
from ..ir.unit import Unit
from ..ir.walk import expressions
from ..tables.layout import member_name

_HOST = {1: "{}", 2: "bpf_ntohs({})", 4: "bpf_ntohl({})", 8: "bpf_be64_to_cpu({})"}
_NETWORK = {1: "{}", 2: "bpf_htons({})", 4: "bpf_htonl({})", 8: "bpf_cpu_to_be64({})"}
#: What a slot holds behind a change `by` of `value`, of which `{most}` is the largest.
_CHANGED = {
    "set": "by",
    "plus": "by > {most} - value ? {most} : value + by",
    "minus": "by > value ? 0 : value - by",
    "plus_wrapping": "(value + by) & {most}",
    "minus_wrapping": "(value - by) & {most}",
    "or": "value | by",
    "and": "value & by",
    "xor": "value ^ by",
}


def changes_of(unit: Unit) -> dict[str, Any]:
    """What the template needs to know: `stateful`, which functions are called; `changes`: by
    state, its slots' and what they do."""
    every = (x for f in unit.functions for x in expressions(f.body) if isinstance(x, StateCall))
    calls = {(x.state, x.function): x for x in every}.values()
    return {
        "stateful": {(x.state, x.what) for x in calls if not x.slot},
        "changes": {
            s.prefix: [x for x in calls if x.slot and x.state == s.prefix] for s in unit.states
        },
        "host": _host,
        "network": _network,
        "changed": _changed,
        "same_key": _same_key,
    }


def _same_key(words: int) -> str:
    """And the known key is this one."""
    return "".join(f" && known[{word}] == key[{word}]" for word in range(words))


def _slot(state: State, name: str) -> Slot:
    return next(s for s in state.gives if name in (s.name, member_name(s.name)))


def _host(state: State, name: str) -> str:
    """A slot of `entry`, in host order."""
    slot = _slot(state, name)
    return _HOST[slot.size].format(f"entry->{member_name(slot.name)}")


def _network(state: State, name: str) -> str:
    """`value`, as the slot has it."""
    return _NETWORK[_slot(state, name).size].format("value")


def _changed(what: str, state: State, name: str) -> str:
    slot = _slot(state, name)
    bits = int(slot.type[1:]) if slot.type[0] == "u" else 8 * slot.size
    return _CHANGED[what].format(most=f"{(1 << bits) - 1:#x}ULL")
