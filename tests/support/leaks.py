"""What a test may leave behind on a machine, as a snapshot that two moments can be compared by.

Names on the machine (pins, namespaces, links) count only when they begin with this process's
PREFIX, since other test workers, and other users, come and go meanwhile. The prefix holds the
process id, which no two living workers share.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab import LabError, command, namespaces, remove_namespace, until

BPFFS, RUN = Path("/sys/fs/bpf"), Path("/run/helio")
PREFIX = f"ht{os.getpid()}-"

# What stays open for good reasons: the standard streams' files, and what pytest itself captures to.
_UNCOUNTED = re.compile(r"^(/dev/(null|urandom|pts/.*|tty)|/tmp/[^/]* \(deleted\))$")

GRPC = 20.0  # seconds that gRPC may take to end what it has of a closed channel
_OF_GRPC = re.compile(r"\d+ descriptors? of (socket|anon_inode:\[event(fd|poll)\])$")


@dataclass(frozen=True)
class Snapshot:
    """Open descriptors by what they lead to, and the names of everything else that can be left."""

    descriptors: Counter[str]
    pins: frozenset[str]
    namespaces: frozenset[str]
    links: frozenset[str]
    files: frozenset[str]
    children: frozenset[int]

    def leaks_since(self, before: Snapshot) -> list[str]:
        """One line for each thing that is here and was not there before."""
        lines = [
            f"{count} descriptor{'s' * (count > 1)} of {target}"
            for target, count in sorted((self.descriptors - before.descriptors).items())
        ]
        lines += self.names_since(before)
        lines += [_describe(pid) for pid in sorted(self.children - before.children)]
        return lines

    def names_since(self, before: Snapshot) -> list[str]:
        """The part of it that outlives this process."""
        kinds = {
            "pin": self.pins - before.pins,
            "network namespace": self.namespaces - before.namespaces,
            "network device": self.links - before.links,
            "file": self.files - before.files,
        }
        return [f"{kind} {name}" for kind, names in kinds.items() for name in sorted(names)]


def snapshot(prefix: str = PREFIX) -> Snapshot:
    """What there is now. With an empty prefix, every name on the machine counts."""
    return Snapshot(
        descriptors=Counter(_descriptors()),
        pins=frozenset(_pins(prefix)),
        namespaces=frozenset(namespaces(prefix)),
        links=frozenset(path.name for path in Path("/sys/class/net").glob(f"{prefix}*")),
        files=frozenset(_files(prefix)),
        children=frozenset(_children()),
    )


def _files(prefix: str) -> Iterator[str]:
    """Those in /run/helio, but for a loaded pipeline's own: they go with it."""
    for path in RUN.glob(f"{prefix}*"):
        if not (BPFFS / "helio" / path.stem).exists():
            yield str(path)


def leaked(before: Snapshot) -> list[str]:
    """What was left since `before`, in words; unreachable objects are collected first, and gRPC
    may end what it has of a closed channel, which a thread of its own does."""
    found = snapshot().leaks_since(before)
    if found:
        gc.collect()
        found = snapshot().leaks_since(before)
    if found and all(map(_OF_GRPC.match, found)):
        with contextlib.suppress(LabError):
            until(lambda: not snapshot().leaks_since(before), "gRPC", GRPC)
        found = snapshot().leaks_since(before)
    return found


def sweep(before: Snapshot) -> None:
    """Take away what was left since `before`, so that the next test starts on a clean machine."""
    now = snapshot()
    for pid in now.children - before.children:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    for name in now.namespaces - before.namespaces:
        remove_namespace(name)
    for name in now.links - before.links:
        with contextlib.suppress(LabError):  # the other end of a pair that went just now
            command("ip", "link", "delete", name)
    for name in now.files - before.files:
        Path(name).unlink(missing_ok=True)
    for name in sorted(now.pins - before.pins, reverse=True):
        remove_pins(Path(name))


def remove_pins(path: Path) -> None:
    """Remove a pin, or a folder in bpffs with all pins below it."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _descriptors() -> Iterator[str]:
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the descriptor of the listing itself
            target = os.readlink(f"/proc/self/fd/{name}")
            if not _UNCOUNTED.match(target) and not target.startswith("/proc/"):
                # Sockets carry their inode's number: the count matters, not which ones.
                yield re.sub(r"^(socket|pipe|net|mnt):\[\d+\]", r"\1", target)


def _pins(prefix: str) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for top in (*BPFFS.glob(f"{prefix}*"), *BPFFS.glob(f"helio/{prefix}*")):
            yield str(top)
            if top.is_dir():
                yield from (str(path) for path in top.rglob("*"))


def _children() -> Iterator[int]:
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            yield from map(int, (thread / "children").read_text().split())


def _describe(pid: int) -> str:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        # None: it has ended and nobody waited for it, or it is in its exec.
        return f"child process {pid}: {words or 'without a command line'}"
    return f"child process {pid}"
