"""The programs that are compared, loaded and filled with one workload's rules."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from contextlib import ExitStack

import workload as w
from helioc.compiler.bundle import Bundle
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.rules.rules import Rule
from helioc.runtime.kernel.handles import Map, MapType, Object, Program
from helioc.runtime.loading.install import prepare_object
from helioc.runtime.ports.ports import write_local
from helioc.runtime.rules.transaction import Changes, Writer
from workload import Workload

LOOPBACK = (1).to_bytes(4, "little")
_PORT = struct.Struct("<IHH6sBBI4x")


class Hops:
    """Every next hop is known."""

    def next_hop(self, port: int, address: bytes) -> bytes:
        return w.next_hop(port)


def compiled(bundles: Iterable[Bundle], load: Workload, owned: ExitStack) -> list[Program]:
    """The entry programs of builds of one pipeline, on the same maps: what one takes more than
    another is then not where its rules happen to lie. The runtime puts them in."""
    first: dict[str, Map] = {}
    found = []
    for bundle in bundles:
        loaded = owned.enter_context(Object.open(bundle.object, name="linx"))
        prepare_object(bundle.manifest, loaded)
        for name, spec in loaded.map_specs().items():
            if name in first and name != "scratch" and spec.type != MapType.PROG_ARRAY:
                loaded.reuse(name, first[name])
        loaded.load()
        programs, maps = loaded.programs(), loaded.maps()
        for program in bundle.manifest.programs:
            if program.slot is not None:
                stages = maps[f"{program.role}_stages"]
                fd = programs[program.name].fileno()
                stages.update(_u32(program.slot), _u32(fd))
        if not first:
            first = maps
            _fill(bundle.manifest, maps, load, owned)
        found.append(programs[bundle.manifest.entry(load.role).name])
    return found


def _fill(manifest: Manifest, maps: dict[str, Map], load: Workload, owned: ExitStack) -> None:
    ports = maps["ports"].mmap()
    for number, role in ((w.LAN_PORT, "lan"), (w.WAN_PORT, "wan")):
        data = _PORT.pack(1, w.MTU, 0, w.MAC[:6], manifest.roles.index(role), 1, 0)
        stride = maps["ports"].spec.stride
        ports[number * stride : number * stride + len(data)] = data
    _surroundings(maps, load)
    write_local(maps, {w.LOCAL.to_bytes(4, "big")})
    apply(manifest, maps, (*load.overlays(), *load.fars(), *load.pdrs()), owned)


def apply(
    manifest: Manifest, maps: dict[str, Map], rules: Iterable[Rule], owned: ExitStack
) -> None:
    writer = Writer(manifest, maps, Hops())
    owned.callback(writer.close)
    writer.apply(Changes(created=tuple(rules)))
    writer.settle()


def by_hand(elf: bytes, load: Workload, owned: ExitStack) -> Program:
    """The entry program of linx_by_hand.bpf.c, its maps filled."""
    loaded = owned.enter_context(Object.open(elf, name="by_hand"))
    loaded.load()
    maps = loaded.maps()
    _surroundings(maps, load)
    fill = Filler(maps)
    for rule in load.overlays():
        fill.overlay(rule)
    for rule in load.fars():
        fill.far(rule)
    for rule in load.pdrs():
        fill.pdr(rule)
    fill.directory()
    return loaded.programs()[f"by_hand_{load.role}"]


def _surroundings(maps: dict[str, Map], load: Workload) -> None:
    for port in (w.LAN_PORT, w.WAN_PORT):
        maps["egress"].update(_u32(port), LOOPBACK)
    maps["local"].update(w.LOCAL.to_bytes(4, "big"), b"\1")
    if load.scenario == "downlink":
        keys = b"".join(w.neighbour_key(address) for address in load.destinations())
        hop = w.next_hop(w.LAN_PORT)
        maps["neighbours"].update_batch(keys, hop * (len(keys) // 8))


class Filler:
    """Writes rules into the maps of linx_by_hand.bpf.c; see its structures. Where it has cells,
    each rule's record has the number of its cell."""

    def __init__(self, maps: dict[str, Map]) -> None:
        self._maps = maps
        self.epoch = "control" in maps
        self._tuples: dict[bytes, tuple[int, int]] = {}  # mask: number, best rank

    def overlay(self, rule: Rule) -> None:
        local, remote, key = (matcher.value for _, matcher in rule.match)
        record = w.next_hop(w.WAN_PORT)
        record += struct.pack(">III", local, remote, key) + _u32(1)
        data = struct.pack(">III", local, remote, key) + _u32(1)
        self._maps["overlay_numbers"].update(data, _u32(rule.id))
        self._maps["overlays"].update(_u32(rule.id), record)
        self._cell("overlay_cells", rule.id)

    def far(self, rule: Rule) -> None:
        to = dict(rule.references).get("interface")
        kind = 0 if to is None else 2 if to.kind == "port" else 1
        action = dict(rule.values)["action"]
        record = struct.pack("<IBB2x", to.id if to else 0, action, kind)
        self._maps["fars"].update(_u32(rule.id), record)
        self._cell("far_cells", rule.id)

    def pdr(self, rule: Rule) -> None:
        lengths = [m.other if m.form == "prefix" else 32 for _, m in rule.match]
        mask = struct.pack(">II", *((1 << 32) - (1 << 32 - n) for n in lengths)) + bytes(20)
        rank = sum(lengths) << 48 | (1 << 48) - 1 - rule.sequence
        number, best = self._tuples.get(mask, (len(self._tuples) + 1, 0))
        self._tuples[mask] = number, max(best, rank)
        key = struct.pack(">II", *(m.value for _, m in rule.match)) + bytes(16) + _u32(number)
        assert rule.target is not None
        if self.epoch:
            self._maps["pdrs"].update(key, struct.pack("<QI4x", rank, rule.id))
            self._maps["pdr_records"].update(_u32(rule.id), struct.pack("<I4x", rule.target.id))
            self._cell("pdr_cells", rule.id)
        else:
            self._maps["pdrs"].update(key, struct.pack("<QII", rank, rule.target.id, rule.id))

    def directory(self) -> None:
        order = sorted(self._tuples.items(), key=lambda item: -item[1][1])
        data = _u32(len(order)) + bytes(4)
        for mask, (number, best) in order:
            data += struct.pack("<Q", best) + mask + _u32(number)
        directory = self._maps["directory"]
        data += bytes(directory.spec.value_size - len(data))
        slot = 1 if self.epoch else 0
        directory.update(_u32(slot), data)
        self._cell("directory_cells", 0)

    def _cell(self, cells: str, number: int) -> None:
        if self.epoch:
            slot = number or 1  # the directory's own cell is number 0
            self._maps[cells].update(_u32(number), struct.pack("<Q", slot << 24 | slot))


def _u32(number: int) -> bytes:
    return number.to_bytes(4, "little")
