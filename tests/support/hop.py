"""The hop between the relay's two hosts (relay.py), with ports at XDP and at tc."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from helioc.compiler.bundle import building, compile_for_tc, write_bundle
from helioc.compiler.driver import check_file
from helioc.lang.contract.manifest.manifest import AttachPoint
from helioc.runtime.edge.config import Config
from helioc.runtime.kernel.handles import Link, Object
from helioc.runtime.loading.bundle import Bundle, read_bundle
from helioc.runtime.ports.ports import PortConfig
from lab import Namespace
from relay import request
from tinybpf import build

HOP = Path(__file__).with_name("hop.hp").read_text()
RULES = request("""create ROUTE 1 [(dst_ip, u32, 10.2.0.0/16), (interface, u32, OUT)],
                          ROUTE 2 [(dst_ip, u32, 10.1.0.0/16), (interface, u32, IN)]""")
#: A role that passes what a rule knows, so that it may be at tc.egress.
PASSES = (
    ("gives  interface", "gives  note"), ("  rule", "  ie note = 3, u8\n\n  rule"),
    ("forward ROUTE.interface via ipv4.dst", "pass"),
)  # fmt: skip
_INGRESS: AttachPoint = "tc.ingress"


def text(inside: str = "tc.ingress", outside: str = "tc.ingress", *changes: tuple[str, str]) -> str:
    """The pipeline with its roles there, changed."""
    found = HOP.replace("ports inside, outside", f"ports inside at {inside}, outside at {outside}")
    for before, after in changes:
        assert before in found, before
        found = found.replace(before, after)
    return found


def write(source: str, directory: Path, traced: bool = False) -> Path:
    """As a bundle that `helioctl` reads, with programs for XDP and for tc where a role is there."""
    file = directory.with_suffix(".hp")
    file.write_text(source)
    with building(check_file(file), traced=traced, target="host") as build:
        write_bundle(build.bundle(), directory)
    return directory


@cache
def built(source: str, traced: bool = False) -> Bundle:
    with TemporaryDirectory() as folder:
        return read_bundle(write(source, Path(folder) / "hop", traced))


@cache
def alone() -> Bundle:
    """Programs for tc, and no others."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "hop.hp"
        file.write_text(HOP)
        made = compile_for_tc(check_file(file))
    return Bundle(made.manifest, made.object)


def config(inside: AttachPoint = _INGRESS, outside: AttachPoint = _INGRESS) -> Config:
    ports = PortConfig(1, "IN", 0, "in0", 0, inside), PortConfig(2, "OUT", 1, "out0", 0, outside)
    return Config(ports, None, "native", (RULES,))


#: A program of somebody else: it counts UDP that it sees, and drops that, or lets it go on.
_FOREIGN = """
#include <linux/pkt_cls.h>
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1);
         __type(key, __u32); __type(value, __u64); } seen SEC(".maps");

SEC("tc") int foreign(struct __sk_buff *ctx)
{
    unsigned char *at = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
    __u32 zero = 0;
    __u64 *count = bpf_map_lookup_elem(&seen, &zero);
    if (at + 24 > end || at[12] != 8 || at[13] || at[23] != 17 || !count) return TC_ACT_UNSPEC;
    __sync_fetch_and_add(count, 1);
    return VERDICT;
}
"""


class Foreign:
    """It, attached. `seen`: how much UDP so far."""

    def __init__(self, loaded: Object) -> None:
        self._map = loaded.maps()["seen"]

    @property
    def seen(self) -> int:
        return int.from_bytes(self._map.lookup(bytes(4)) or b"", "little")


@contextmanager
def foreign(
    room: Namespace, device: str, drops: bool, pin: Path, priority: int = 0
) -> Iterator[Foreign]:
    """At ingress: by a tcx link, which stands behind those that are there, or with a `priority` as
    a filter at clsact, which it makes. `pin`: of the program, meanwhile."""
    source = _FOREIGN.replace("VERDICT", "TC_ACT_SHOT" if drops else "TC_ACT_UNSPEC")
    with Object.open(build(source), name="foreign") as loaded:
        loaded.load()
        program, ifindex = loaded.programs()["foreign"], room.ifindex(device)
        if not priority:
            with room.inside_thread(lambda: Link.attach_tcx(program, ifindex, egress=False)):
                yield Foreign(loaded)
            return
        with program.pin(pin):
            room.run("tc", "qdisc", "replace", "dev", device, "clsact")
            given = f"ingress prio {priority} protocol all bpf da object-pinned {pin}"
            room.run("tc", "filter", "add", "dev", device, *given.split())
            yield Foreign(loaded)
            room.run("tc", "filter", "del", "dev", device, "ingress", "prio", str(priority))


def programs_at(room: Namespace, device: str) -> dict[str, list[str]]:
    """What tc says: qdiscs and filters of a device."""
    said = {
        "qdisc": room.run("tc", "qdisc", "show", "dev", device, "clsact"),
        "ingress": room.run("tc", "filter", "show", "dev", device, "ingress"),
        "egress": room.run("tc", "filter", "show", "dev", device, "egress"),
    }
    return {name: text.splitlines() for name, text in said.items()}
