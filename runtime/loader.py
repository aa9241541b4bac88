"""A bundle into the kernel, all or nothing; a pinned pipeline opened again; and its end.

    /sys/fs/bpf/helio/NAME/about            what this is: manifest and ports, in a one-element map
                          /maps/…           every map but the PROG_ARRAYs
                          /release-1/…      this load's PROG_ARRAYs, entry programs and links

A release has everything that a later one replaces, so that an upgrade is a link update for each
port. Everything lives on without a process.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..compiler.manifest import Manifest, ManifestError, from_json
from ..compiler.requests.columns import Columns
from ..compiler.requests.rulebook import Plan, RuleBook
from ..lang.diagnostics import Refused
from ..lang.request import Request
from . import attach, faults
from .bundle import Bundle
from .config import Config
from .grace import online_cpus_grace
from .handles import BpfError, Map, MapSpec, MapType, Object, Pin, Program, XdpMode, ensure_bpffs
from .lock import Lock
from .netlink import Netlink
from .pins import BPFFS, remove_directory
from .ports import (
    Neighbourhood,
    Port,
    Wanted,
    find_ports,
    local_addresses,
    write_local,
    write_neighbours,
    write_ports,
)
from .recovery import recover
from .transaction import Writer

ROOT = BPFFS / "helio"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_VERDICTS = {"drop": 1, "pass": 2}  # enum xdp_action
RELEASE = "release-1"


def loaded_names(namespace: int = 0) -> list[str]:
    """The pipelines that are loaded; with `namespace`, only those of that network namespace."""
    try:
        names = sorted(path.name for path in ROOT.iterdir() if (path / "about").exists())
    except OSError:
        return []
    return [n for n in names if not namespace or _namespace_of(n) == namespace]


def this_namespace() -> int:
    """The network namespace that this thread is in."""
    return os.stat("/proc/thread-self/ns/net").st_ino


def _namespace_of(name: str) -> int:
    try:
        return int(read_about(name).get("namespace", 0))
    except (BpfError, Refused):  # just being unloaded
        return 0


class Loaded:
    """A pipeline in the kernel, and the only writer of its rules while it is open. Closing leaves
    the pipeline running."""

    netlink: Netlink
    neighbourhood: Neighbourhood
    writer: Writer
    book: RuleBook

    def __init__(self, name: str, about: dict[str, Any], owned: ExitStack, lock: Lock) -> None:
        self.name, self._owned, self._lock = name, owned, lock
        self.directory = ROOT / name
        self.maps: dict[str, Map] = {}
        self.ports: list[Port] = []
        try:
            self.manifest = from_json(about["manifest"])
            self.wanted = tuple(Wanted(**port) for port in about["ports"])
            self.default, self.mode = str(about["default"]), str(about["mode"])
            self.control = about["control"]
        except (ManifestError, KeyError, TypeError) as error:
            raise faults.refused(faults.damaged(name, str(error))) from None

    # ---- from nothing -----------------------------------------------------------------------

    @classmethod
    def load(
        cls,
        bundle: Bundle,
        config: Config,
        name: str = "",
        grace: Callable[[], None] = online_cpus_grace,
    ) -> Loaded:
        """Load, fill, attach. Raises `Refused`; then nothing of it is left."""
        name = name or bundle.manifest.pipeline
        if not _NAME.fullmatch(name):
            raise faults.refused(faults.bad_name(name))
        _need_privilege()
        with _released_on_failure() as owned:
            lock = owned.enter_context(closing(Lock(name)))
            if (ROOT / name / "about").exists():
                raise faults.refused(faults.already_loaded(name))
            try:
                return cls._load(bundle, config, name, owned, lock, grace)
            except BpfError as error:
                doing = f"load the pipeline `{name}`"
                raise faults.refused(faults.of_kernel(error, doing)) from error

    @classmethod
    def _load(
        cls, bundle: Bundle, config: Config, name: str, owned: ExitStack, lock: Lock,
        grace: Callable[[], None],
    ) -> Loaded:  # fmt: skip
        directory, about = ROOT / name, _about(bundle.manifest, config)
        mode = XdpMode.GENERIC if config.mode == "generic" else XdpMode.NATIVE
        remove_pinned(name)  # what a load left that was killed
        try:
            netlink = owned.enter_context(Netlink())
            links = netlink.links()
            ports = find_ports(config.ports, links, netlink.addresses())
            attach.check(ports, links, mode, config.spans)
            install(bundle, directory)
            loaded = cls._open(name, about, owned, lock, netlink, grace)
            loaded.writer.control[1] = _VERDICTS[loaded.default]
            loaded.write_surroundings()
            for request in config.requests:
                loaded.apply(request)
            entries = loaded.entry_programs()
            attach.attach(ports, entries, mode, directory / RELEASE, config.spans)
            _write_about(directory, about)
        except BaseException:
            remove_pinned(name)
            lock.remove()
            raise
        return loaded

    @classmethod
    def open(cls, name: str = "", grace: Callable[[], None] = online_cpus_grace) -> Loaded:
        """A pipeline that is loaded; without a name, the only one. Raises `Refused`."""
        name = pick(name)
        with _released_on_failure() as owned:
            lock = owned.enter_context(closing(Lock(name)))
            netlink = owned.enter_context(Netlink())
            try:
                about = read_about(name)
                if about.get("namespace") != this_namespace():
                    raise faults.refused(faults.elsewhere(name))
                return cls._open(name, about, owned, lock, netlink, grace)
            except BpfError as error:
                doing = f"open the pipeline `{name}`"
                raise faults.refused(faults.of_kernel(error, doing)) from error

    @classmethod
    def _open(
        cls, name: str, about: dict[str, Any], owned: ExitStack, lock: Lock, netlink: Netlink,
        grace: Callable[[], None],
    ) -> Loaded:  # fmt: skip
        loaded = cls(name, about, owned, lock)
        for path in sorted((loaded.directory / "maps").iterdir()):
            loaded.maps[path.name] = owned.enter_context(Map.open_pinned(path))
        loaded.netlink = netlink
        loaded.ports = loaded.find_ports()
        loaded.neighbourhood = Neighbourhood(netlink, loaded.ports)
        loaded.writer = Writer(loaded.manifest, loaded.maps, loaded.neighbourhood, grace)
        owned.callback(loaded.writer.close)
        recover(loaded.writer)
        loaded.book = RuleBook(
            loaded.manifest,
            {port.name: port.number for port in loaded.wanted},
            {port.number: port.ifindex for port in loaded.ports},
        )
        loaded.book.restore(loaded.writer.rules())
        return loaded

    # ---- rules ------------------------------------------------------------------------------

    def apply(self, request: Request) -> Plan:
        """Make a request's changes, all at one moment. Raises `Refused` with nothing changed."""
        plan = self.book.plan(request)
        self.apply_plan(plan)
        return plan

    def apply_columns(self, columns: Columns) -> Plan:
        """Create packed rules, all at one moment. Raises `Refused` with nothing changed."""
        plan = self.book.plan_columns(columns)
        self.apply_plan(plan)
        return plan

    def apply_plan(self, plan: Plan) -> None:
        """Make a plan of `book`."""
        self.writer.try_apply(plan)
        self.book.commit(plan)

    def refresh(self) -> int:
        """Bring ports, addresses, neighbours and the next hops in rules to what the kernel says
        now. Returns the number of rules whose next hop changed."""
        from .refresh import refresh

        return refresh(self)

    # ---- surroundings -----------------------------------------------------------------------

    def find_ports(self) -> list[Port]:
        """The ports as their interfaces are now."""
        return find_ports(self.wanted, self.netlink.links(), self.netlink.addresses())

    def write_surroundings(self) -> None:
        """Ports, the host's addresses and neighbours into the maps."""
        write_ports(self.maps, self.ports)
        local = local_addresses(self.netlink.addresses())
        write_local(self.maps, local | ({self.control[1]} if self.control else set()))
        write_neighbours(self.maps, self.ports, self.neighbourhood.by_port())

    def entry_programs(self) -> dict[int, Program]:
        """By role number; owned by this."""
        found = {}
        for number, role in enumerate(self.manifest.roles):
            path = self.directory / RELEASE / f"entry_{role}"
            found[number] = self._owned.enter_context(Program.open_pinned(path))
        return found

    # ---- the end ----------------------------------------------------------------------------

    def close(self) -> None:
        """Settle and let go; the pipeline runs on. May be called again."""
        self._owned.close()

    def unload(self) -> None:
        """Detach and remove everything; this is closed then."""
        remove_pinned(self.name)
        self._lock.remove()
        self.close()

    def __enter__(self) -> Loaded:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# ---- pins -----------------------------------------------------------------------------------


def install(bundle: Bundle, directory: Path) -> None:
    """Load a bundle's object and pin it, its stages joined. Raises `Refused`, BpfError."""
    manifest = bundle.manifest
    ensure_bpffs(directory / "maps")
    release = ensure_bpffs(directory / RELEASE)
    with Object.open(bundle.object, name=manifest.pipeline) as loaded:
        check_object(manifest, loaded)
        loaded.load()
        maps, programs = loaded.maps(), loaded.programs()
        join_stages(manifest, maps, programs)
        for name, table in maps.items():
            if "." not in name:  # .rodata and its like stay with their programs
                stages = table.spec.type == MapType.PROG_ARRAY
                Pin.create(table, (release if stages else directory / "maps") / name)
        for role in manifest.roles:
            Pin.create(programs[manifest.entry(role).name], release / f"entry_{role}")


def join_stages(
    manifest: Manifest, maps: Mapping[str, Map], programs: Mapping[str, Program]
) -> None:
    """Put each stage's program where the one before looks for it."""
    for program in manifest.programs:
        if program.slot is not None:
            descriptor = programs[program.name].fileno().to_bytes(4, "little")
            maps[f"{program.role}_stages"].update(program.slot.to_bytes(4, "little"), descriptor)


def check_object(manifest: Manifest, found: Object) -> None:
    """The object has what the manifest promises. Raises `Refused`."""
    specs, programs = found.map_specs(), set(found.program_names())
    missing = [p.name for p in manifest.programs if p.name not in programs]
    missing += [name for name in ("control", "ports", "egress", "events") if name not in specs]
    for kind in manifest.rules:
        sizes = {"cells": (8, kind.cells), "records": (kind.record_size, kind.records),
                 "images": (kind.image_size, kind.records)}  # fmt: skip
        for suffix, (size, entries) in sizes.items():
            spec = specs.get(f"{kind.prefix}_{suffix}")
            if spec is None or (spec.value_size, spec.max_entries) != (size, entries):
                missing.append(f"{kind.prefix}_{suffix}")
    if missing:
        path = Path(f"{manifest.pipeline}.bpf.o")
        raise faults.refused(faults.foreign_object(path, f"no {', '.join(missing)}"))


def _about(manifest: Manifest, config: Config) -> dict[str, Any]:
    return {
        "manifest": manifest.to_json(),
        "ports": [asdict(port) for port in config.ports],
        "default": config.default or manifest.default,
        "mode": config.mode,
        "control": config.control,
        "namespace": this_namespace(),
    }


def _write_about(directory: Path, about: dict[str, Any]) -> None:
    """The last pin: with it the pipeline counts as loaded."""
    text = zlib.compress(json.dumps(about).encode())
    size = (len(text) + 8 + 7) & ~7
    with Map.create(MapSpec(MapType.ARRAY, 4, size, 1, name="about")) as table:
        table.update(bytes(4), (len(text).to_bytes(8, "little") + text).ljust(size, b"\0"))
        Pin.create(table, directory / "about")


def read_about(name: str) -> dict[str, Any]:
    """What a load wrote about itself. Raises `Refused`, BpfError."""
    with Map.open_pinned(ROOT / name / "about") as table:
        content = table.lookup(bytes(4)) or b""
    length = int.from_bytes(content[:8], "little")
    try:
        about: dict[str, Any] = json.loads(zlib.decompress(content[8 : 8 + length]))
    except (ValueError, zlib.error) as error:
        raise faults.refused(faults.damaged(name, str(error))) from None
    return about


def pick(name: str) -> str:
    """The loaded pipeline that is meant: where none is named, the only one of this network
    namespace. Raises `Refused`."""
    have = loaded_names(0 if name else this_namespace())
    if not name and len(have) == 1:
        return have[0]
    if not name and have:
        raise faults.refused(faults.several_loaded(have))
    if name not in have:
        _need_privilege()
        raise faults.refused(faults.not_loaded(name, have or loaded_names()))
    return name


def unload(name: str) -> None:
    """Remove a pipeline, whatever state it is in. Raises `Refused`."""
    if not (_NAME.fullmatch(name) and (ROOT / name).is_dir()):
        name = pick(name)
    with closing(Lock(name)) as lock:
        try:
            remove_pinned(name)
        except OSError as error:
            raise faults.refused(faults.no_privilege(f"unload: {error.strerror}")) from None
        lock.remove()


def remove_pinned(name: str) -> None:
    """Remove a pipeline's pins; its links first, so that no packet meets half a pipeline."""
    directory = ROOT / name
    (directory / "about").unlink(missing_ok=True)
    for link in directory.glob("release-*/link_*"):
        link.unlink(missing_ok=True)
    remove_directory(directory)
    with suppress(OSError):
        ROOT.rmdir()


@contextmanager
def _released_on_failure() -> Iterator[ExitStack]:
    """A stack that is left alone when all went well."""
    owned = ExitStack()
    try:
        yield owned
    except BaseException:
        owned.close()
        raise


def _need_privilege() -> None:
    if os.geteuid() != 0 and not os.access(BPFFS, os.W_OK):
        raise faults.refused(faults.no_privilege("work with pipelines in the kernel"))
