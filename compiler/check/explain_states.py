"""What `helioc explain` says about state tables."""

from __future__ import annotations

from ...lang.text.explain import Explanation

_COUNTED = (
    "state FLOWS [1k] {\n  match flow : u32\n  gives packets : u32\n}\n"
    "stage main {\n  if not user { pass }\n"
)
_FLOWS = "state FLOWS [1k] {\n  match flow : u32\n  gives seen : ip4\n}\n"

STATES: dict[str, Explanation] = {
    "H0310": Explanation(
        "a state keeps nothing",
        "A state table has entries: `match` says what they are found by, `gives` what they hold.",
        "state FLOWS [1k] {\n  match flow : u32\n}",
        "state FLOWS [1k] {\n  match flow : u32\n  gives seen : ip4\n}",
    ),
    "H0311": Explanation(
        "a state has no such slot",
        "`remember` gives all slots of a state, `recall` those that it matches.",
        _FLOWS + "stage main {\n"
        "  if not user { pass }\n"
        "  remember FLOWS(flow = hash(user.src), sen = user.src)\n"
        "  pass\n"
        "}",
        _FLOWS + "stage main {\n"
        "  if not user { pass }\n"
        "  remember FLOWS(flow = hash(user.src), seen = user.src)\n"
        "  pass\n"
        "}",
    ),
    "H0312": Explanation(
        "a slot of a state is not given",
        "`remember` gives all slots of a state, `recall` all those that it matches.",
        _FLOWS + "stage main {\n"
        "  if not user { pass }\n"
        "  remember FLOWS(flow = hash(user.src))\n"
        "  pass\n"
        "}",
        _FLOWS + "stage main {\n"
        "  if not user { pass }\n"
        "  remember FLOWS(flow = hash(user.src), seen = user.src)\n"
        "  pass\n"
        "}",
    ),
    "H0313": Explanation(
        "a port and a value are mixed up",
        "A slot of type `port` takes `port`, the port a packet came in by, or a port that was "
        "recalled; no other slot does.",
        "state FLOWS [1k] {\n  match flow : u32\n  gives way : port\n}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  remember FLOWS(flow = hash(user.src), way = 3)\n"
        "  pass\n"
        "}",
        "state FLOWS [1k] {\n  match flow : u32\n  gives way : port\n}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  remember FLOWS(flow = hash(user.src), way = port)\n"
        "  pass\n"
        "}",
    ),
    "H0314": Explanation(
        "a state is read where nothing may have been recalled",
        "What `recall` finds is known behind it, in the same stage, on the ways where it was no "
        "miss.",
        _FLOWS + "stage main {\n"
        "  if not user { pass }\n"
        "  recall FLOWS(flow = hash(user.src))\n"
        "  if FLOWS.seen = user.src { drop }\n"
        "  pass\n"
        "}",
        _FLOWS + "stage main {\n"
        "  if not user { pass }\n"
        "  recall FLOWS(flow = hash(user.src)) else { pass }\n"
        "  if FLOWS.seen = user.src { drop }\n"
        "  pass\n"
        "}",
    ),
    "H0316": Explanation(
        "an update of a state may be lost",
        "The entry is recalled, and a value that follows from it is remembered under the same key. "
        "Packets of one entry may be on several CPUs at once: two that read the same value write "
        "the same new one, and one of the two updates is lost (1 to 4 of 100, where two CPUs do "
        "nothing else). A value that does not depend on the one before loses nothing: an address, "
        "a port of arrival. Packets and bytes that rules count (`counts`) are exact, each CPU "
        "counts by itself. This is a warning: where the value is an estimate it may do.",
        _COUNTED + "  recall FLOWS(flow = hash(user.src)) else { pass }\n"
        "  remember FLOWS(flow = hash(user.src), packets = (FLOWS.packets + 1) & 0xffffffff)\n"
        "  pass\n"
        "}",
        _COUNTED + "  remember FLOWS(flow = hash(user.src), packets = 1)\n  pass\n}",
    ),
}
