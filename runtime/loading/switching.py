"""Puts a release in the place of another: on all ports, with what the other counted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from errno import ENOENT, ENOLINK
from typing import Any

from ...lang.contract.manifest.read_manifest import from_json
from ...lang.text.diagnostics import Diagnostic, Refused
from ..kernel.handles import BpfError, Program
from ..kernel.pins import remove_directory
from ..ports.ports import PortConfig
from . import attach
from .attachments import open_attachment
from .carry_counters import carry_counters
from .install import entry_pin
from .reader import Reader
from .releases import ROOT, release_of, releases_of


class NotSwitched(Refused):
    """A port's link takes no other program, or a new port takes none."""


def finish(name: str, about: dict[str, Any], grace: Callable[[], None]) -> None:
    """Complete an upgrade at whatever point it stopped: switch the remaining ports to the release
    in force, then carry the counters of older releases and remove these. May be interrupted and
    called again. The pipeline is locked."""
    now = about["release"]
    others = [number for number in releases_of(name) if number != now]
    for number in (n for n in others if n > now):
        remove_directory(release_of(name, number))
    older = [n for n in others if n < now]
    if others:
        detach_others(name, about)
    if older:
        switch(name, about)
        grace()
    for number in older:
        folder = release_of(name, number)
        if (folder / "about").exists():
            carry(name, number, about)
            (folder / "about").unlink()  # so the rest counts as removed
        remove_directory(folder)


def switch(name: str, about: dict[str, Any]) -> None:
    """Switch every port's link to the release in force. A port whose interface is gone is left to
    `refresh`. Raises `NotSwitched`."""
    folder, manifest = release_of(name, about["release"]), from_json(about["manifest"])
    for port in (PortConfig(**port) for port in about["ports"]):
        with Program.open_pinned(entry_pin(folder, manifest, port)) as entry:
            try:
                with open_attachment(attach.link_of(name, port.number)) as link:
                    if link.info().program_id != entry.id:
                        link.update(entry)
            except BpfError as error:
                if error.errno not in (ENOENT, ENOLINK):
                    raise NotSwitched([_not_switched(error.reason, error.fix)]) from error


def detach_others(name: str, about: dict[str, Any]) -> None:
    """Ports that the release in force does not have."""
    here = {attach.link_of(name, port["number"]) for port in about["ports"]}
    for pin in set((ROOT / name).glob("link_*")) - here:
        with suppress(BpfError), open_attachment(pin) as link:
            link.detach()
        pin.unlink(missing_ok=True)


def carry(name: str, old: int, about: dict[str, Any]) -> None:
    """Carry what release `old` counted into the release of `about`."""
    if not any(about["carried"].values()):
        return
    with Reader(name, old) as source, Reader(name, about["release"]) as into:
        carry_counters(source, into, **about["carried"])


def _not_switched(reason: str, fix: str) -> Diagnostic:
    title = f"a port cannot be switched to the new build: {reason}"
    back = "the running build is in force again, on all ports"
    return Diagnostic("H0792", title, (), f"{fix}; {back}" if fix else back)
