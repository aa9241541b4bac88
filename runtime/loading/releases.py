"""The layout of a pipeline in bpffs: its links, and the release that they lead to.

    /sys/fs/bpf/helio/NAME/about            the release in force: the `about` of its folder
                          /link_PORT        a link a port, or where its filter is: attachments.py;
                                            an upgrade leads it to another release
                          /release-N/about  what it is: manifest and ports, in a one-element map
                                    /maps/… its maps; some may be those of the release before
                                    /traced its traced build, packed, if it has one
                                    /trace/ while packets are traced: that build's PROG_ARRAYs
                                            and entry programs
                                    /tc/    of ports at tc: PROG_ARRAYs and entry programs
                    /…      its PROG_ARRAYs and entry programs, at XDP

A release is complete by itself. NAME/about is pinned last: with it a pipeline counts as loaded. A
folder of a higher number is an upgrade that never came into force; one of a lower number was in
force before, and upgrade.py has not removed it yet.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import zlib
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from ...lang.contract.manifest.manifest import ATTACH_POINTS, Manifest
from ...lang.text.diagnostics import Refused
from ..base import errors
from ..base.paths import PINNED, this_namespace
from ..edge.config import Config
from ..edge.features import SECTIONS
from ..kernel.handles import BpfError, Map, Pin, Program
from ..kernel.pinned_bytes import read_bytes, write_bytes
from ..kernel.pins import BPFFS, MOUNT, is_bpffs, remove_directory
from ..kernel.privileges import CARDS, LOADING, NUMBERS, permitted
from ..ports.ports import PortConfig
from .attachments import is_elsewhere, open_attachment

ROOT = PINNED
FIRST = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def loaded_names(namespace: int = 0) -> list[str]:
    """The pipelines that are loaded; with `namespace`, only those of that network namespace."""
    try:
        names = sorted(path.name for path in ROOT.iterdir() if (path / "about").exists())
    except OSError:
        return []
    return [n for n in names if not namespace or _namespace_of(n) == namespace]


def incomplete_names() -> list[str]:
    """Incomplete pipelines: being loaded, or left by a load that was killed."""
    try:
        return sorted(p.name for p in ROOT.iterdir() if p.is_dir() and not (p / "about").exists())
    except OSError:
        return []


def _namespace_of(name: str) -> int:
    try:
        return int(read_about(name).get("namespace", 0))
    except (BpfError, Refused):  # just being unloaded
        return 0


def pick(name: str, everywhere: bool = True) -> str:
    """The loaded pipeline by a name; without one, the only one of this network
    namespace. `everywhere`: a name may also be that of one in another. Raises `Refused`."""
    have = loaded_names(0 if name and everywhere else this_namespace())
    if not name and len(have) == 1:
        return have[0]
    if not name and have:
        raise errors.refused(errors.several_loaded(have))
    if name not in have:
        need_privilege()
        if not have:
            need_bpffs()
        raise errors.refused(errors.not_loaded(name, have or (loaded_names() * everywhere)))
    return name


def pick_to_remove(name: str) -> str:
    """As `pick`, for `unload`, which also takes incomplete pipelines: by name only, since another
    process may be loading them, for another network namespace. Raises `Refused`."""
    left = incomplete_names()
    if name in left:
        return name
    if not name and left and not loaded_names(this_namespace()):
        raise errors.refused(errors.not_whole(left))
    return pick(name)


def release_of(name: str, number: int) -> Path:
    """The folder of a release."""
    return ROOT / name / f"release-{number}"


def releases_of(name: str) -> list[int]:
    """The numbers of the releases that have a folder, lowest first. More than the one in force:
    an upgrade is on its way, or was killed."""
    folders = (ROOT / name).glob("release-*")
    return sorted(int(path.name.removeprefix("release-")) for path in folders)


def need_name(name: str) -> None:
    """Raises `Refused` where it is no name for a folder and its pins."""
    if not _NAME.fullmatch(name):
        raise errors.refused(errors.bad_name(name))


def about_of(manifest: Manifest, config: Config) -> dict[str, Any]:
    """What `read_about` will give."""
    return {
        "release": FIRST,
        "manifest": manifest.to_json(),
        **settings_of(config),
        "namespace": this_namespace(),
        # Of this load: another one of the same bundle is another pipeline, with other rules.
        "incarnation": secrets.token_hex(8),
    }


def settings_of(config: Config) -> dict[str, Any]:
    """The part of an `about` that another YAML of the edge would change."""
    return {
        "ports": [port.record() for port in config.ports],
        "default": config.default,
        "mode": config.mode,
        "control": config.control,
        **{section.key: config.settings.get(section.key) for section in SECTIONS},
    }


def write_about(directory: Path, about: dict[str, Any]) -> None:
    """The last pin of a release's folder, which makes it complete."""
    write_bytes(directory / "about", zlib.compress(json.dumps(about).encode()))


def read_traced(release: Path) -> bytes:
    """A release's packed traced build; empty if it has none. Raises BpfError."""
    path = release / "traced"
    return read_bytes(path) if path.exists() else b""


def put_in_force(name: str, release: int) -> None:
    """From now on the pipeline is this release."""
    for left in (ROOT / name).glob("about~*"):  # by who was killed in here
        left.unlink()
    with Map.open_pinned(release_of(name, release) / "about") as table:
        Pin.create(table, ROOT / name / "about", replace=True)


def read_about(name: str, release: int = 0) -> dict[str, Any]:
    """The `about` of the release in force, or of another one. Raises `Refused`, BpfError."""
    directory = release_of(name, release) if release else ROOT / name
    data = read_bytes(directory / "about")
    try:
        about = json.loads(zlib.decompress(data))
    except (ValueError, zlib.error):
        raise errors.refused(errors.damaged(name, "it cannot be read")) from None
    if why := _damage(about):
        raise errors.refused(errors.damaged(name, why))
    return dict(about)


def on_card(name: str) -> bool:
    """Whether the loaded pipeline runs on a card. Raises `Refused`."""
    try:
        return bool(read_about(name)["mode"] == "offload")
    except BpfError as error:
        doing = f"open the pipeline `{name}`"
        raise errors.refused(errors.of_kernel(error, doing)) from error


def about_id(name: str) -> int:
    """An id of the release in force, which no other has. Raises BpfError."""
    with Map.open_pinned(ROOT / name / "about") as table:
        return table.id


def _damage(about: Any) -> str:
    """What is wrong with an `about`, as text; empty if nothing is."""
    if not isinstance(about, dict):
        return "it is no record"
    control = about.get("control")
    good = {
        "release": isinstance(about.get("release"), int),
        "manifest": isinstance(about.get("manifest"), str),
        "ports": isinstance(about.get("ports"), list) and all(map(_is_port, about["ports"])),
        "default": about.get("default") in (None, "pass", "drop"),
        "mode": about.get("mode") in ("native", "generic", "offload"),
        "control": control is None or (isinstance(control, list) and len(control) == 2),
        **{section.key: section.understands(about) for section in SECTIONS},
        "namespace": isinstance(about.get("namespace"), int),
        "incarnation": isinstance(about.get("incarnation"), str),
        "objects": _is_record(about.get("objects", {"pins": {}, "stages": {}})),
    }
    wrong = [f"`{name}`" for name, fine in good.items() if not fine]
    return f"its {', '.join(wrong)} cannot be understood" if wrong else ""


def _is_record(objects: Any) -> bool:
    """See integrity.py."""
    return isinstance(objects, dict) and all(
        isinstance(objects.get(name), dict) for name in ("pins", "stages")
    )


def _is_port(port: Any) -> bool:
    expected = {field.name: int if field.type == "int" else str for field in fields(PortConfig)}
    return (
        isinstance(port, dict)
        and {"at": "xdp", **port}.keys() == expected.keys()
        and port.get("at", "xdp") in ATTACH_POINTS
        and all(type(value) is expected[name] for name, value in port.items())
    )


def remove_pinned(name: str) -> None:
    """Remove a pipeline's pins; its links first, so that no packet meets half a pipeline. Raises
    `Refused` where it has filters in another network namespace."""
    directory = ROOT / name
    attached = list(directory.glob("link_*"))
    if any(map(is_elsewhere, attached)):
        raise errors.refused(errors.elsewhere(name))
    (directory / "about").unlink(missing_ok=True)
    for path in attached:
        # Some kernels free a link that has lost its last name later: by then nothing may run.
        with suppress(BpfError), open_attachment(path) as link:
            link.detach()
        path.unlink(missing_ok=True)
    remove_directory(directory)
    with suppress(OSError):
        if ROOT.stat().st_uid == 0:  # another user may be unable to make it again
            ROOT.rmdir()


def need_bpffs() -> None:
    """Raises `Refused` where no bpf file system is mounted, so that nothing can be seen."""
    if not is_bpffs(BPFFS):
        raise errors.refused(errors.no_bpffs(MOUNT))


def holder_of(program: int) -> str:
    """The loaded pipeline of which the XDP program with this id is one; empty if it is none's."""
    for name in loaded_names():
        for path in (ROOT / name).glob("release-*/**/entry_*"):
            with suppress(BpfError), Program.open_pinned(path) as entry:
                if entry.info.id == program:
                    return name
    return ""


def need_capabilities() -> None:
    """Raises `Refused` where we lack a capability to load programs; the kernel's own message could
    read like an error in them."""
    have = permitted()
    lacking = [name for name in LOADING if not have >> NUMBERS[name] & 1]
    if lacking and not have >> NUMBERS["CAP_SYS_ADMIN"] & 1:
        raise errors.refused(errors.no_privilege(f"load: {' and '.join(lacking)} is missing"))


def need_to_bind() -> None:
    """As `need_capabilities`, to bind maps to a device."""
    if not permitted() >> NUMBERS[CARDS] & 1:
        raise errors.refused(errors.no_card_privilege(CARDS))


def need_privilege() -> None:
    """Raises `Refused` where bpffs is closed to us."""
    if os.geteuid() == 0:
        return
    if not permitted() >> NUMBERS["CAP_BPF"] & 1:
        raise errors.refused(errors.no_privilege("work with pipelines in the kernel"))
    if not any(os.access(each, os.W_OK | os.X_OK) for each in (ROOT, BPFFS)):
        raise errors.refused(errors.no_place_for_pins(str(ROOT), os.geteuid()))
