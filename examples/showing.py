"""How every demo is run: its namespaces and edges are gone at its end, also after Ctrl-C or a
failure."""

from __future__ import annotations

import argparse
import signal
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from account import Account, Unsettled
from edges import Edge, agent_in, compile_pipeline, pinned, running
from lab import Lab, LabError, Namespace, namespaces


@dataclass(frozen=True)
class Demo:
    """What a demo has while it runs; what `owned` holds and what is in `folder` is gone after.
    `stay`: it goes on at its end, to be looked at."""

    say: Account
    lab: Lab
    folder: Path
    owned: ExitStack
    stay: bool = False

    def edge(self, room: Namespace) -> Edge:
        """An edge that is unloaded at the end, if it is loaded then."""
        edge = Edge(room)
        self.owned.callback(edge.forget)
        return edge

    def edge_with_agent(self, room: Namespace) -> Edge:
        """The same by an agent of its own."""
        folder = self.folder / f"agent{len(list(self.folder.glob('agent*')))}"
        folder.mkdir()
        edge = Edge(room, self.owned.enter_context(agent_in(room, folder)))
        self.owned.callback(edge.forget)
        return edge

    def running(self, pipeline: str, room: Namespace, files: Path) -> Edge:
        """An edge with a pipeline that ships, and with edge.yaml and rules.req of a folder."""
        compile_pipeline(self.folder, pipeline)
        given = files / "edge.yaml", files / "rules.req"
        edge = self.owned.enter_context(running(room, self.folder, *given))
        modes = edge.modes()
        self.say.fact(set(modes.values()) == {"xdp"}, f"native XDP on {', '.join(sorted(modes))}")
        return edge


class Stopped(BaseException):
    """A signal asked the demo to end."""

    def __init__(self, number: int) -> None:
        self.number = number


def run(show: Callable[[Demo], None], title: str, picture: str, prefix: str) -> int:
    """Run a demo. Exit status: 0 all holds, 1 something does not, 128 + n ended by signal n."""
    options = argparse.ArgumentParser(description=f"{title}: in network namespaces.")
    options.add_argument("--prefix", default=prefix, help="of the namespaces' names")
    options.add_argument("--stay", action="store_true", help="go on until Ctrl-C, to be looked at")
    given = options.parse_args()
    prefix = given.prefix
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    say = Account()
    try:
        say.title(f"Helio: {title}", picture)
        with ExitStack() as owned:
            folder = Path(owned.enter_context(tempfile.TemporaryDirectory(prefix="helio-demo-")))
            show(Demo(say, owned.enter_context(Lab(prefix)), folder, owned, given.stay))
            if given.stay:
                say.step("It goes on until Ctrl-C")
                signal.pause()
        say.step("Clean up")
        left = namespaces(prefix) + pinned(prefix)
        what = ", ".join(left) or "no namespace, program or map"
        say.fact(not left, f"left in the kernel: {what}")
    except Unsettled as fact:
        say.close(f"This does not hold: {fact}")
        return 1
    except (LabError, OSError) as error:
        say.close(f"The demo failed: {error}")
        return 1
    except Stopped as stopped:
        say.close("Stopped; everything is taken away again.")
        return 128 + stopped.number
    say.close(f"All checks passed, in {say.seconds():.1f} s.")
    return 0


def _stop(number: int, _frame: FrameType | None) -> None:
    for again in (signal.SIGINT, signal.SIGTERM):
        signal.signal(again, signal.SIG_IGN)  # cleaning up is not interrupted
    raise Stopped(number)
