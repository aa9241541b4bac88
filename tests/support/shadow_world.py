"""The relay with another build in its shadow: bundles, traffic, and what is in place."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from helioc.compiler.bundle import compile_for_tc, compile_pipeline, write_bundle
from helioc.compiler.driver import check_file
from helioc.runtime.kernel.handles import Link, Program
from helioc.runtime.loading.attach import link_of
from helioc.runtime.loading.releases import ROOT, release_of, releases_of
from lab import Background, Wire, until
from leaks import PREFIX
from relay import World, marked

NAME = f"{PREFIX}shadowed"
HELIOCTL = (sys.executable, "-m", "helioc.commands.helioctl", "--local", "--name", NAME)
#: Who was not heard before is dropped.
KNOWN = (
    "remember HEARD(source = ipv4.src, port = port)\n    ipv4.tos = 1",
    "if recall HEARD(source = ipv4.src) { ipv4.tos = 1 } else {\n"
    "      remember HEARD(source = ipv4.src, port = port)\n      drop\n    }",
)
#: As the same states: what they hold means something else.
OTHER_STATE = ("match source : ip4", "match source : ip4, of : u8"), (
    "HEARD(source = ipv4.src", "HEARD(source = ipv4.src, of = 1"
)  # fmt: skip
#: The same rules, written again: a needed element more, and another name of the kind.
RENAMED = ("ROUTE", "PATH"), ("gives  way,", "gives  note, way,"), (
    "  rule", "  ie note = 9, u64\n\n  rule"
)  # fmt: skip
TEXTS = {
    "same": marked(1),
    "tos": marked(1, ("tos = 1", "tos = 2")),
    "drops": marked(1, ("stage second {", "stage second {\n    if ipv4.ttl = 64 { drop }")),
    "known": marked(1, KNOWN),
    "another state": marked(1, KNOWN, *OTHER_STATE),
    "renamed": marked(1, *RENAMED),
}


def write_builds(folder: Path, names: Sequence[str] = (), at_tc: bool = False) -> dict[str, Path]:
    """Each of TEXTS (default: all) as a bundle, by its name."""
    made = {}
    compiled = compile_for_tc if at_tc else compile_pipeline
    for name, text in TEXTS.items():
        if names and name not in names:
            continue
        made[name] = folder / name / "relay"
        made[name].parent.mkdir()
        file = made[name].with_suffix(".hp")
        file.write_text(text)
        write_bundle(compiled(check_file(file), traced=True), made[name])
    return made


@dataclass(frozen=True)
class Edge:
    world: World
    wire: Wire
    bundles: dict[str, Path]

    @contextmanager
    def traffic(self, frames: Sequence[bytes] = ()) -> Iterator[None]:
        """Frames from near to far, some thousand a second."""
        over = threading.Event()

        def send() -> None:
            for frame in cycle(frames or [self.world.frame()]):
                self.wire.send(frame)
                if over.wait(0.0005):
                    return

        thread = threading.Thread(target=send)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def helioctl(self, *words: str) -> str:
        return self.world.edge.run(*HELIOCTL, *words)

    def control(self, *words: str, frames: Sequence[bytes] = ()) -> str:
        """`helioctl`, while packets pass."""
        with self.traffic(frames):
            return self.helioctl(*words)

    def shadow(self, build: str, *words: str, frames: Sequence[bytes] = ()) -> dict[str, Any]:
        bundle = str(self.bundles[build])
        said = self.control(
            "load", "--shadow", bundle, "--for", "1s", "--json", *words, frames=frames
        )
        found: dict[str, Any] = json.loads(said)
        return found

    def start(self, build: str, *words: str) -> Background:
        """A shadow run that has begun."""
        bundle = str(self.bundles[build])
        run = self.world.edge.start(*HELIOCTL, "load", "--shadow", bundle, "--json", *words)
        until(self.traced, "a run that began", 30)
        return run

    def traced(self) -> bool:
        return bool(list((ROOT / NAME).glob("release-*/trace")))

    def plain_in_place(self) -> bool:
        """Whether every port's link leads to the plain build, and nothing of a traced one is
        left."""
        (release,) = releases_of(NAME)
        for number, role in {1: "inside", 2: "outside"}.items():
            entry = release_of(NAME, release) / f"entry_{role}"
            with Link.open_pinned(link_of(NAME, number)) as link, Program.open_pinned(entry) as own:
                if link.info().program_id != own.id:
                    return False
        return not self.traced()
