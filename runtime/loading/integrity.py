"""Checks that the pinned objects of a pipeline are those that were loaded.

A release's `about` records kind and id of each kernel object below its folder, and the programs of
its stages. The kernel does not reuse an id before 2³¹ others, so a foreign object is found however
similar it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...lang.contract.manifest.manifest import Manifest
from ...lang.text.diagnostics import Refused
from ..kernel.handles import BpfError, Map
from ..kernel.netlink import Netlink
from ..kernel.pins import identity
from ..ports.ports import Port
from .attach import link_of
from .attachments import open_attachment
from .install import entry_pin
from .pinned import Pinned
from .pinned_maps import PinGone, why_not
from .releases import ROOT, put_in_force, read_about, release_of, write_about

#: Not recorded: the `about` itself, and what traces leave.
_TEMPORARY = ("about", "trace")
_FOLDERS = ("maps", "tc")


def with_objects(about: dict[str, Any], folder: Path, manifest: Manifest) -> dict[str, Any]:
    """`about` with the objects that are pinned in a release's folder. Raises BpfError."""
    pins = {name: identity(folder / name) for name in _names(folder)}
    return {**about, "objects": {"pins": pins, "stages": _stages(folder, manifest)}}


def record_objects(loaded: Pinned) -> None:
    """Record the objects of a release that an older Helio loaded. Raises BpfError."""
    loaded.about = with_objects(loaded.about, loaded.directory, loaded.manifest)
    (loaded.directory / "about").unlink(missing_ok=True)
    write_about(loaded.directory, loaded.about)
    put_in_force(loaded.name, loaded.release)


def _names(folder: Path) -> Iterator[str]:
    yield from (each.name for each in sorted(folder.iterdir())
                if each.name not in (*_TEMPORARY, *_FOLDERS))  # fmt: skip
    for below in (folder / name for name in _FOLDERS):
        if below.is_dir():
            yield from (f"{below.name}/{each.name}" for each in sorted(below.iterdir()))


def _stages(folder: Path, manifest: Manifest) -> dict[str, dict[str, int]]:
    """The programs' ids by PROG_ARRAY and slot. Raises BpfError."""
    found: dict[str, dict[str, int]] = {}
    for program in manifest.programs:
        if program.slot is None or manifest.target != "host":
            continue
        for below in ("", "tc/") if manifest.tc else ("",):
            name = f"{below}{program.role}_stages"
            with Map.open_pinned(folder / name) as table:
                data = table.lookup(program.slot.to_bytes(4, "little")) or b""
            found.setdefault(name, {})[str(program.slot)] = int.from_bytes(data, "little")
    return found


def defects(loaded: Pinned) -> list[str]:
    """What is missing, foreign or changed of an open release, as text; without its links. Empty for
    one that an older Helio loaded, as its objects are not recorded."""
    objects = loaded.about.get("objects")
    if objects is None:
        return []
    found = [*_about_defects(loaded)]
    for name, known in objects["pins"].items():
        if why := _pin_defects(loaded.directory / name, known):
            found.append(f"{name}: {why}")
    return found + _stage_defects(loaded, objects["stages"])


def _about_defects(loaded: Pinned) -> Iterator[str]:
    own = release_of(loaded.name, loaded.release) / "about"
    try:
        if identity(ROOT / loaded.name / "about") == identity(own):
            there = read_about(loaded.name)
            if there["incarnation"] == loaded.about["incarnation"]:
                return
        yield "about: it is of another pipeline"
    except BpfError as error:
        yield f"about: {why_not(error)}"
    except Refused:
        yield "about: it cannot be read"


def _pin_defects(path: Path, known: str) -> str:
    try:
        return "" if identity(path) == known else "something else is pinned there"
    except BpfError as error:
        return why_not(error)


def _stage_defects(loaded: Pinned, known: dict[str, dict[str, int]]) -> list[str]:
    with suppress(BpfError):  # reported for its pin
        now = _stages(loaded.directory, loaded.manifest)
        return [
            f"{name}: its program {slot} is {'gone' if not now[name][slot] else 'another one'}"
            for name, slots in known.items()
            for slot, program in slots.items() if now[name][slot] != program
        ]  # fmt: skip
    return []


def link_defects(loaded: Pinned) -> list[str]:
    """Of the links of ports whose interface exists."""
    found = []
    for port in loaded.ports:
        if why := _link_defect(loaded, port):
            found.append(f"link_{port.number} (port {port.name}): {why}")
    return found


def _link_defect(loaded: Pinned, port: Port) -> str:
    try:
        with open_attachment(link_of(loaded.name, port.number)) as link:
            about = link.info()
    except BpfError as error:
        return why_not(error)
    if about.ifindex not in (0, port.ifindex):  # 0: its interface went, and a new one has its name
        return "something else is pinned there"
    if not about.ifindex and (port.at != "xdp" or not _has_xdp(port.ifindex)):
        return "it is detached"  # of which the kernel tells nobody
    pin = entry_pin(loaded.directory, loaded.manifest, port)
    entry = str(pin.relative_to(loaded.directory))
    known = (loaded.about.get("objects") or {"pins": {}})["pins"].get(entry)
    traced = (loaded.directory / "trace").exists()
    if about.ifindex and known not in (None, f"prog {about.program_id}") and not traced:
        return "it leads to another program"
    return ""


def _has_xdp(ifindex: int) -> bool:
    """Whether an interface has an XDP program, of whomever."""
    with Netlink() as netlink:
        return any(link.program for link in netlink.links() if link.index == ifindex)


def about_defect(name: str) -> Refused | None:
    """Why the `about` of a pipeline cannot be read; None where it can, or there is none."""
    try:
        if (ROOT / name / "about").exists():
            read_about(name)
    except Refused as error:
        return error
    except BpfError as error:
        return PinGone(name, f"the pin `about`: {why_not(error)}")
    return None


def drop_foreign_links(loaded: Pinned) -> None:
    """Remove pins of foreign links, which an upgrade would switch to our programs."""
    for port in loaded.port_configs:
        path = link_of(loaded.name, port.number)
        here = next((p.ifindex for p in loaded.ports if p.number == port.number), 0)
        try:
            with open_attachment(path) as link:
                foreign = link.info().ifindex not in (0, here)
        except BpfError:
            foreign = True
        if foreign:
            with suppress(OSError):
                path.unlink(missing_ok=True)
