"""How much memory an agent takes that nobody asks, and what `helioctl` imports to ask it.

Memory is the proportional set size: pages that several processes share are counted once. Not
counted are a pipeline's maps, which are the kernel's and which the agent only looks into.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from agent_world import ANEW, World
from tls_world import secured

MOST_IDLE = 60  # MB
#: What a call by the agent has no use for.
HEAVY = {
    "numpy", "cryptography", "grpc", "yaml", "jinja2", "http.client", "importlib.metadata",
    "prometheus_client", "helioc.runtime.kernel.handles", "helioc.runtime.loading.releases",
}  # fmt: skip
#: The same of who only looks.
LOOKING = {
    "helioc.lang.contract.request.request_parser", "helioc.lang.contract.rules.rulekinds",
    "helioc.lang.contract.rules.wire",
}  # fmt: skip
_MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(?P<file>.*)$")


def processes(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            yield from processes(int(child))


def size(pid: int) -> float:
    """MB, without maps."""
    found, is_map = 0, False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if mapping := _MAPPING.match(line):
            is_map = "bpf-map" in mapping["file"]
        elif line.startswith("Pss:") and not is_map:
            found += int(line.split()[1])
    return found / 1024


def test_an_idle_agent_is_small(here: World, certs: Path) -> None:
    with secured(here, certs, by=ANEW), here.client() as client:
        client.apply("create FAR 1 [(action, u8, DROP)], PDR 1 [(dst_port, u16, 7), FAR 1]")
        sizes = {each: size(each) for each in processes(client.status().pid)}
    assert len(sizes) == 1, "readers run only where somebody reads"
    assert sum(sizes.values()) <= MOST_IDLE, sizes


def imported(world: World, *words: str) -> set[str]:
    """What `helioctl` imports for this."""
    program = [sys.executable, "-X", "importtime", "-m", "helioc.commands.helioctl"]
    program += ["--agent", world.address, "--name", world.name, *words]
    done = subprocess.run(world.edge.inside(*program), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


def test_helioctl_imports_no_more_than_it_needs(secure: World) -> None:
    for words in ("show FAR", "show", "status", "stats", "refresh"):
        found = imported(secure, *words.split())
        assert "helioc.runtime.client" in found and not found & (LOOKING | HEAVY), words
    found = imported(secure, "create", "FAR 1 [(action, u8, DROP)]")
    assert found > LOOKING and not found & HEAVY
