"""Numbered packets, as many as the machine carries, and a receiver that misses none."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from helioc.runtime.kernel.handles import Link, Object
from lab import PATIENCE, Namespace, until
from tinybpf import build

WINDOW = 128  # a veth's ring holds 256
MOST = 1 << 24  # half a minute of what one core carries

#: Which bytes of a packet are its marks, 32 bits: ToS, and the lower half of the source port.
OCTETS = "at[35] << 8 | at[15]"
#: The same of 16 bits each: IPv4's id, and the source port.
WORDS = "(__u32)(at[34] << 8 | at[35]) << 16 | at[18] << 8 | at[19]"

# Element 0 counts; n + 1 is packet n's: order << 40 | times << 32 | marks.
_RECEIVER = f"""
struct {{ __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, {MOST + 1});
         __uint(map_flags, 1024); __type(key, __u32); __type(value, __u64); }} seen SEC(".maps");

SEC("xdp") int receive(struct xdp_md *ctx)
{{
    unsigned char *at = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
    __u32 zero = 0, number;
    __u64 *all = bpf_map_lookup_elem(&seen, &zero), *one;
    if (at + 46 > end || at[12] != 8 || at[13] || at[23] != 17 || !all) return XDP_PASS;
    number = (at[42] << 24 | at[43] << 16 | at[44] << 8 | at[45]) + 1;
    one = bpf_map_lookup_elem(&seen, &number);
    if (!one) return XDP_PASS;
    *one = ((*one >> 32 & 0xff) + 1) << 32 | (MARKS);
    *one |= __sync_fetch_and_add(all, 1) << 40;
    return XDP_DROP;
}}
"""


@dataclass(frozen=True)
class Journey:
    """What became of the packets that were sent, by their numbers: marks (`OCTETS`, `WORDS`), when
    among the others it came, and how many times (0: lost). `stalls`: how often nothing came for
    long."""

    sent: int
    stalls: int
    marks: npt.NDArray[np.uint64]
    order: npt.NDArray[np.uint64]
    times: npt.NDArray[np.uint64]

    @property
    def lost(self) -> int:
        return int((self.times == 0).sum())


class Flow:
    """Packets on their way, until the block ends; then `journey` has what came of them."""

    def __init__(self, process: subprocess.Popen[bytes], receiver: Object) -> None:
        self._process, self._map = process, receiver.maps()["seen"]
        self._words = np.frombuffer(self._map.mmap(), "<u8")
        self._journey: Journey | None = None

    @property
    def journey(self) -> Journey:
        """Once it has ended."""
        assert self._journey is not None
        return self._journey

    @property
    def arrived(self) -> int:
        return int(self._words[0])

    def until(self, count: int, seconds: float = PATIENCE) -> None:
        """Wait until so many more have come."""
        count += self.arrived
        until(lambda: self.arrived >= count, f"{count} packets", seconds)

    def mark(self) -> int:
        """What wrote into a packet that came just now."""
        self.until(2 * WINDOW)
        return int(self._words[self.arrived - WINDOW]) & 0xFFFFFFFF

    def end(self) -> None:
        said, _ = self._process.communicate()
        assert self._process.returncode == 0
        sent, stalls = (int(n) for n in said.split())
        words = self._words[1 : sent + 1].copy()
        self._journey = Journey(
            sent, stalls, words & np.uint64(0xFFFFFFFF), words >> np.uint64(40),
            words >> np.uint64(32) & np.uint64(0xFF),
        )  # fmt: skip


@dataclass(frozen=True)
class End:
    """A device of a host."""

    room: Namespace
    device: str


@contextmanager
def flow(
    one: End, other: End, frames: bytes, program: Path, pin: Path, marks: str = OCTETS,
    rate: int = 0,
) -> Iterator[Flow]:  # fmt: skip
    """Send frames (64 bytes each, 32 at most) again and again from one end to the other.
    `program`: the sender; `pin`: where in bpffs the receiver's map may lie meanwhile; `rate`: so
    many a second, 0: as many as go."""
    source = _RECEIVER.replace("MARKS", marks)
    with Object.open(build(source), name="receiver") as receiver:
        receiver.load()
        receive, ifindex = receiver.programs()["receive"], other.room.ifindex(other.device)
        with (
            other.room.inside_thread(lambda: Link.attach_xdp(receive, ifindex)),
            receiver.maps()["seen"].pin(pin),
        ):
            limits = (str(WINDOW), str(MOST), *([str(rate)] if rate else []))
            words = one.room.inside(str(program), one.device, str(pin), *limits)
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert process.stdin is not None
            process.stdin.write(frames)
            process.stdin.flush()
            flow = Flow(process, receiver)
            try:
                yield flow
            finally:
                flow.end()


def sender(folder: Path) -> Path:
    """Compiled there."""
    made = folder / "sender"
    source = Path(__file__).with_name("numbered.c")
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", made, source], check=True)
    return made
