"""A client that does nobody any harm, as a process: so many calls a second, all of which are to be
answered. For each line of its input it prints what it saw since the line before.

    python tests/support/steady_client.py JSON    (Client: address, pipeline, identity, server_name)
"""

from __future__ import annotations

import json
import select
import sys
import time
from itertools import cycle

from helioc.lang.text.diagnostics import Refused
from helioc.runtime.client import Client

#: Calls a second.
RATE = 100.0


def main() -> None:
    with Client(**json.loads(sys.argv[1])) as client:
        update = client.message("update FAR 1 [(action, u8, DROP)]").request
        looks = (lambda: client.rule("FAR", 1), client.status)
        calls = cycle(
            [
                *[lambda: client.apply(update)] * 9,
                looks[0],
                *[lambda: client.apply(update)] * 9,
                looks[1],
            ]
        )
        taken: list[float] = []
        refused: list[str] = []
        sys.stdout.write("going\n")
        sys.stdout.flush()
        due = time.monotonic()
        while True:
            due = max(due + 1 / RATE, time.monotonic() - 1)
            if select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))[0]:
                if not sys.stdin.readline():
                    return
                print_report(taken, refused)
                taken, refused = [], []
            begun = time.monotonic()
            try:
                next(calls)()
            except Refused as error:
                refused.append(error.diagnostics[0].code + ": " + error.diagnostics[0].title)
            taken.append(time.monotonic() - begun)


def print_report(taken: list[float], refused: list[str]) -> None:
    """Milliseconds."""
    ranked = sorted(taken) or [0.0]
    said = {"calls": len(taken), "refused": refused[:5], "p50": ranked[len(ranked) // 2] * 1000,
            "p90": ranked[int(len(ranked) * 0.9)] * 1000,
            "p99": ranked[int(len(ranked) * 0.99)] * 1000, "most": ranked[-1] * 1000}  # fmt: skip
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
