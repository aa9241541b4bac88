"""Replaces the plain build by the traced one: the same maps, and a link update for each port.

    /sys/fs/bpf/helio/NAME/release-N/trace/…    the traced entry programs and PROG_ARRAYs

These are pinned so that no packet is lost where a trace is killed: its programs then work like the
plain ones (they record nothing once nobody reads), until `restore_plain_builds` replaces them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from errno import ENOLINK, EPERM
from pathlib import Path

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.manifest.read_manifest import from_json
from ...lang.contract.trace.schema import Schema, SchemaError, TracedBuild, unpack
from ...lang.text.diagnostics import Diagnostic, Refused
from ..base import errors as general
from ..base.paths import RUN, this_namespace
from ..kernel.grace import online_cpus_grace
from ..kernel.handles import BpfError, Map, Object, Program, ensure_bpffs
from ..kernel.pins import remove_directory
from ..loading.attach import link_of
from ..loading.attachments import Attachment, open_attachment
from ..loading.install import entry_pin, pin_programs, prepare_object, share_maps
from ..loading.lock import Exclusive
from ..loading.releases import ROOT, pick, read_about, read_traced, release_of
from ..loading.table_memory import load_object
from ..ports.ports import PortConfig
from .stale_traces import stale_traces
from .tracer import Tracer


@dataclass(frozen=True)
class Tracing:
    """A pipeline whose traced build is in place. `ports`: numbers by name. `untraced`: names of
    those that have none."""

    name: str
    tracer: Tracer
    schema: Schema
    ports: Mapping[str, int]
    folder: Path
    untraced: frozenset[str]

    @property
    def ended(self) -> bool:
        """Whether the pipeline was unloaded or upgraded since then."""
        return not self.folder.exists()

    def renew(self) -> None:
        """Trace ports again that have the plain build: an interface is back, or an upgrade was put
        back."""
        with suppress(BpfError, Refused):  # it is being unloaded or upgraded
            _lead(self.name, self.folder.parent)


@contextmanager
def tracing(name: str) -> Iterator[Tracing]:
    """Puts the traced build of a loaded pipeline in place (without a name, of the only one) and
    the plain one back in the end. It records nothing before a filter is set. Raises `Refused`."""
    name = pick(name)
    with ExitStack() as owned:
        try:
            about = read_about(name)
            if about["namespace"] != this_namespace():
                raise general.refused(general.elsewhere(name))
            manifest, release = from_json(about["manifest"]), release_of(name, about["release"])
            ports = [PortConfig(**port) for port in about["ports"]]
            owned.enter_context(_alone(name))
            _restore(name, release)
            traced = traced_build(name, release)
            second = {p.name for p in ports if entry_pin(release, manifest, p).parent != release}
            plain = set[str]() if traced.tc else second
            if len(plain) == len(ports):
                raise general.refused(_all_at_tc(name))
            maps = _install(owned, manifest, release, traced)
            _lead_back(name, release)  # a link may lead to a traced build whose pins are gone
            tracer = owned.enter_context(Tracer(traced.schema, manifest, maps))
            owned.callback(_restore, name, release)
            _lead(name, release)
        except BpfError as error:
            doing = f"trace the packets of `{name}`"
            raise general.refused(general.of_kernel(error, doing)) from error
        numbers = {port.name: port.number for port in ports}
        folder = release / "trace"
        yield Tracing(name, tracer, traced.schema, numbers, folder, frozenset(plain))


def restore_plain_builds() -> list[str]:
    """Put the plain build back wherever a trace was killed. Returns the names of the pipelines."""
    mended = []
    for folder in stale_traces():
        name = folder.parts[-3]
        with suppress(BpfError, Refused), _alone(name):
            _restore(name, folder.parent)
            mended.append(name)
    return mended


# ---- the traced build -----------------------------------------------------------------------


def traced_build(name: str, release: Path) -> TracedBuild:
    """Of a release of a loaded pipeline. Raises `Refused`."""
    packed = read_traced(release)
    if not packed:
        raise general.refused(_no_traced_build(name))
    try:
        return unpack(packed)
    except SchemaError as error:
        raise general.refused(_bad_traced_build(name, str(error))) from None


def _install(
    owned: ExitStack, manifest: Manifest, release: Path, traced: TracedBuild
) -> Mapping[str, Map]:
    """Load it on the release's maps, and pin what packets need of it. Returns all its maps."""
    here = ensure_bpffs(release / "trace")
    owned.callback(remove_directory, here)
    loaded = owned.enter_context(Object.open(traced.object, name=manifest.pipeline))
    prepare_object(manifest, loaded)
    with ExitStack() as opened:
        pins = (release / "maps").iterdir()
        share_maps(loaded, {p.name: opened.enter_context(Map.open_pinned(p)) for p in pins})
    load_object(manifest, loaded)
    pin_programs(manifest, loaded, here)
    if traced.tc:
        _install_tc(manifest, loaded.maps(), traced.tc, ensure_bpffs(here / "tc"))
    return loaded.maps()


def _install_tc(manifest: Manifest, maps: Mapping[str, Map], data: bytes, folder: Path) -> None:
    """The second object, on the same maps, but for the record of the packet that it is at."""
    shared = {name: table for name, table in maps.items() if name != "trace_records"}
    with Object.open(data, name=manifest.pipeline) as loaded:
        prepare_object(manifest, loaded)
        share_maps(loaded, shared)
        load_object(manifest, loaded)
        pin_programs(manifest, loaded, folder)


# ---- links ----------------------------------------------------------------------------------


def _restore(name: str, release: Path) -> None:
    """The plain build back, where the traced one is in place."""
    folder = release / "trace"
    if folder.exists():
        _lead_back(name, release)
        online_cpus_grace()  # whoever is in a traced program may still look for the next stage
        remove_directory(folder)


def _lead(name: str, release: Path) -> None:
    """Each port's link from the plain build to the traced one. Raises `Refused` where it leads
    elsewhere, and BpfError."""
    for port, plain, link in _links(name, release):
        pin = _traced_pin(release, plain)
        if not pin.exists():
            continue
        with (
            Program.open_pinned(plain) as expected,
            Program.open_pinned(pin) as traced,
        ):
            if link.info().program_id == traced.id:
                continue
            try:
                link.update(traced, expected=expected)
            except BpfError as error:
                if error.errno == EPERM:
                    raise general.refused(_another_in_place(name, port)) from None
                if error.errno != ENOLINK:  # its interface is gone
                    raise


def _lead_back(name: str, release: Path) -> None:
    """Each port's link from the traced build to the plain one; it stays where it leads elsewhere.
    Any load of the traced build counts, by its tag: an older one's pins may be gone."""
    for _, plain, link in _links(name, release):
        pin = _traced_pin(release, plain)
        if not pin.exists():
            continue
        with Program.open_pinned(pin) as traced, Program.open_pinned(plain) as untraced:
            if link.info().program_id == untraced.id:
                continue
            with _present(link, traced) as present:
                if present.tag != traced.tag:
                    continue
                try:
                    link.update(untraced, expected=present)
                except BpfError as error:
                    if error.errno not in (ENOLINK, EPERM):  # gone; led elsewhere just now
                        raise


def _present(link: Attachment, traced: Program) -> Program:
    """What the link leads to. Only what is not pinned is opened by its id: that takes
    CAP_SYS_ADMIN, which the agent has given up."""
    return traced.duplicate() if link.info().program_id == traced.id else link.program()


def _links(name: str, release: Path) -> Iterator[tuple[str, Path, Attachment]]:
    """The name of each port that is attached, the pin of its plain entry program, and its link."""
    about = read_about(name)
    manifest = from_json(about["manifest"])
    for port in (PortConfig(**port) for port in about["ports"]):
        plain, pin = entry_pin(release, manifest, port), link_of(name, port.number)
        if pin.exists() and plain.exists():
            with open_attachment(pin) as link:
                yield port.name, plain, link


def _traced_pin(release: Path, plain: Path) -> Path:
    """Of the entry program that takes the place of one."""
    return release / "trace" / plain.relative_to(release)


# ---- one trace at a time --------------------------------------------------------------------


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Raises `Refused` where another process traces the pipeline. The lock ends with its process,
    however that ends."""
    try:
        RUN.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = Exclusive(RUN / f"{name}.trace")
    except BlockingIOError:
        raise general.refused(_traced_already(name)) from None
    except OSError as error:
        what = f"trace the pipeline `{name}`: {error.strerror}"
        raise general.refused(general.no_privilege(what)) from None
    with lock:
        try:
            yield
        finally:
            if not (ROOT / name / "about").exists():  # it was unloaded in the meantime
                lock.remove()


# ---- errors ---------------------------------------------------------------------------------


def _no_traced_build(name: str) -> Diagnostic:
    return Diagnostic(
        "H0850", f"the pipeline `{name}` was loaded without a traced build", (),
        "compile it without `--no-trace`, and load it again",
    )  # fmt: skip


def _all_at_tc(name: str) -> Diagnostic:
    return Diagnostic(
        "H0567", f"all ports of `{name}` are at tc, where its packets are not traced", (),
        "its bundle has a traced build for xdp alone: compile it again, and `helioctl upgrade`",
    )  # fmt: skip


def _traced_already(name: str) -> Diagnostic:
    return Diagnostic(
        "H0851", f"the packets of `{name}` are being traced already", (),
        "one trace at a time: end the other one first",
    )  # fmt: skip


def _bad_traced_build(name: str, why: str) -> Diagnostic:
    return Diagnostic(
        "H0852", f"the traced build of `{name}` cannot be used: {why}", (),
        "compile it with the helioc of this release, and load it again",
    )  # fmt: skip


def _another_in_place(name: str, port: str) -> Diagnostic:
    return Diagnostic(
        "H0858", f"at the port `{port}` another program is in the place of `{name}`'s own", (),
        "is it being upgraded? try again; or unload the pipeline and load it again",
    )  # fmt: skip
