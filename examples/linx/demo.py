"""LINX at work: two SD-WAN edges and a foreign peer, from linx.hp to real packets.

    .venv/bin/python examples/linx/demo.py [--prefix linx-]

Needs root. Everything happens in network namespaces whose names begin with the prefix; they, and
what is loaded into the kernel, are gone at the end, also after Ctrl-C or a failure. Every fact that
is printed was measured: if one does not hold the demo says so, stops, and exits with 1.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[1]))

from lab import Lab, LabError
from linx import steps
from linx.account import Account, Unsettled
from linx.edges import Edge
from linx.world import build

STEPS: tuple[Callable[[steps.Demo], None], ...] = (
    steps.load_edges,
    steps.talk,
    steps.keep_packets_small,
    steps.meet_the_peer,
    steps.move_a_flow,
    steps.drop_a_class,
    steps.balance,
    steps.count,
)

PICTURE = """
    host A ── edge A ══ GRE-WAN1 ═══ internet ══ edge B ── host B
  10.1.0.10        ╚═══ GRE-WAN2 ═══════╝           10.2.0.10
                    ╚══ GRE-SITE-C ══ a peer that scapy plays, 10.9.0.0/16"""


class Stopped(BaseException):
    """A signal asked the demo to end."""

    def __init__(self, number: int) -> None:
        self.number = number


def main() -> int:
    """Run the demo. Exit status: 0 all holds, 1 something does not, 128 + n ended by signal n."""
    options = argparse.ArgumentParser(description="LINX at work, in network namespaces.")
    options.add_argument("--prefix", default="linx-", help="of the namespaces' names")
    prefix = options.parse_args().prefix
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    account = Account()
    try:
        show(account, prefix)
    except Unsettled as fact:
        account.close(f"This does not hold: {fact}")
        return 1
    except (LabError, OSError) as error:
        account.close(f"The demo failed: {error}")
        return 1
    except Stopped as stopped:
        account.close("Stopped; everything is taken away again.")
        return 128 + stopped.number
    return 0


def show(account: Account, prefix: str) -> None:
    account.title("Helio: the SD-WAN edge LINX, from linx.hp to real packets", PICTURE)
    with ExitStack() as owned:
        out = Path(owned.enter_context(tempfile.TemporaryDirectory(prefix="helio-demo-")))
        steps.compile_linx(account, out)
        lab = owned.enter_context(Lab(prefix))
        world = build(lab)
        edges = Edge(world.edge_a), Edge(world.edge_b)
        for edge in edges:
            owned.callback(edge.forget)
        demo = steps.Demo(account, lab, world, *edges, out)
        for step in STEPS:
            step(demo)
    account.step("Clean up")
    steps.check_nothing_is_left(account, prefix)
    account.close(f"All of it held, in {account.seconds():.1f} s.")


def _stop(number: int, _frame: FrameType | None) -> None:
    for again in (signal.SIGINT, signal.SIGTERM):
        signal.signal(again, signal.SIG_IGN)  # cleaning up is not interrupted
    raise Stopped(number)


if __name__ == "__main__":
    sys.exit(main())
