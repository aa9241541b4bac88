"""What `helioc explain` says about state tables."""

from __future__ import annotations

from ...lang.explain import Explanation

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
}
