"""A new build in the place of a running one: no packet is lost, none meets a part of both.

A release is built beside the one in force: rule kinds and states whose octets mean the same take
their maps over as they are, other rules are written anew. Then it comes into force, which is one
pin, and the ports are switched one after the other, each by one link update. Until that pin a
failure or a kill leaves the running release as it was; from then on whoever opens the pipeline next
ends what was begun (`finish`).

A packet meets one release from its arrival to its verdict: that to which the link of its port
leads. While ports are being switched some have the new release already and some the old one; both
have the same rules, and those of kinds and states that are kept in the same maps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, replace
from errno import ENOENT, ENOLINK
from pathlib import Path
from typing import Any

from ...lang.contract.manifest.manifest import from_json
from ...lang.contract.rules.rules import Rule
from ...lang.text.diagnostics import Diagnostic, Refused
from ...lang.text.source import Source
from ..base import errors as runtime_errors
from ..kernel.handles import BpfError, Link, Map, Pin, Program
from ..kernel.netlink import Netlink
from ..kernel.pins import remove_directory
from ..ports.ports import Wanted
from ..rules.plans import Changes
from ..rules.sums import before_of
from . import attach
from . import upgrade_errors as errors
from .bundle import Bundle
from .carry import carry, make_before
from .compare import compare
from .loader import Loaded, released_on_failure
from .mapping import read_mapping
from .reader import Reader
from .releases import install, put_in_force, release_of, releases_of, write_about
from .schema import ALWAYS, Answers, Concern, KindChange, SchemaChange, Usage
from .soundness import drop_foreign_links, recorded
from .translate import translate, usage_of

_MAPS = ("cells", "records", "images", "tuples", "entries", "filter", "counts", "before")


@dataclass(frozen=True)
class Weighed:
    """What an upgrade will do: `rules` are those that are written anew."""

    bundle: Bundle
    change: SchemaChange
    usage: Usage
    rules: tuple[Rule, ...]

    @property
    def difference(self) -> str:
        """As a table; empty where nothing differs."""
        return errors.difference(self.change, self.usage)


def weigh(running: Loaded, bundle: Bundle, answers: Answers | Source | None = None) -> Weighed:
    """What an upgrade of a running pipeline comes to; `answers`: those of a mapping file, or its
    text. Raises `Refused` where the new build has no place for something that is in force. Changes
    nothing."""
    if isinstance(answers, Source):
        builds = running.manifest, bundle.manifest
        answers = read_mapping(answers, *builds, running.port_numbers)
    change = compare(running.manifest, bundle.manifest, answers)
    usage = dict(_usage(running, change))
    if change.obstacles(usage):
        raise runtime_errors.refused(errors.incompatible(change, usage))
    moved = (rule for k in change.kinds.values() if not k.kept for rule in _rules(running, k))
    made = translate(change, moved, running.port_numbers)
    if made.faults:
        raise Refused(errors.untranslatable(made.faults))
    if bundle.manifest.forwards and not running.manifest.forwards and running.mode == "native":
        links = {link.index: link for link in running.netlink.links()}
        unfit = [d for p in running.ports for d in attach.unfit(p, links[p.ifindex], None, True)]
        if unfit:
            raise Refused(unfit)
    return Weighed(bundle, change, usage, tuple(made.rules))


def _rules(running: Loaded, kind: KindChange) -> Iterator[Rule]:
    return running.book.rules(kind.old.name)


def _usage(running: Loaded, change: SchemaChange) -> Iterator[tuple[Concern, int]]:
    for name, kind in change.kinds.items():
        yield (name, ""), running.book.count(name)
        if any(d.concern and d.concern[0] == name and d.concern[1] for d in change.differences):
            yield from usage_of(_rules(running, kind)).items()
    roles = [running.manifest.roles[port.role] for port in running.wanted]
    yield from ((("port", role), roles.count(role)) for role in set(roles))
    yield ("port", ""), max((port.number for port in running.wanted), default=0)
    yield ALWAYS, 1


def upgrade(running: Loaded, weighed: Weighed) -> Loaded:
    """Carry out what was weighed, with nothing applied since; returns the pipeline as it is then,
    and closes `running`. Raises `Refused` with the running release in force as before and `running`
    open. If it fails after the switch `running` is closed: open the pipeline anew."""
    running.writer.settle()
    with ExitStack() as owned:
        upgraded = owned.enter_context(closing(_built(running, weighed)))
        try:
            put_in_force(running.name, upgraded.release)
            finish(running.name, upgraded.about, running.grace)
        except _NotSwitched as error:
            _put_back(running, upgraded)
            raise runtime_errors.refused(_put_back_error(error.reason, error.mend)) from error
        except BaseException as error:
            running.close()
            if isinstance(error, BpfError):
                raise _refused(error, running) from error
            raise
        owned.pop_all()
    running.close()
    return upgraded


def _refused(error: BpfError, running: Loaded) -> Refused:
    doing = f"upgrade the pipeline `{running.name}`"
    return runtime_errors.refused(runtime_errors.of_kernel(error, doing))


def repair(running: Loaded, bundle: Bundle) -> Loaded:
    """The same build beside the running one, which may have lost any of its pins, as `upgrade`; its
    links lead to it wherever they led."""
    drop_foreign_links(running)
    upgraded = upgrade(running, weigh(running, bundle))
    with suppress(_NotSwitched):  # it leads elsewhere still, which is found again
        _switch(running.name, upgraded.about)
    return upgraded


# ---- the new release, before it is in force -------------------------------------------------


def _built(running: Loaded, weighed: Weighed) -> Loaded:
    """Raises `Refused` with nothing left of it."""
    folder = release_of(running.name, running.release + 1)
    try:
        remove_directory(folder)
        return _build(running, weighed)
    except BaseException as error:
        remove_directory(folder)
        if isinstance(error, BpfError):
            raise _refused(error, running) from error
        raise


def _build(running: Loaded, weighed: Weighed) -> Loaded:
    """Whole, with all rules, and what was counted so far."""
    change = weighed.change
    kept = _maps(running, change)
    about = _about(running, change)
    folder = release_of(running.name, about["release"])
    install(weighed.bundle, folder, {new: m for new, m in kept.items() if not _is_before(new)})
    for name, table in kept.items():
        if _is_before(name):
            Pin.create(table, folder / "maps" / name)
    for name in about["carried"]["kinds"]:
        kind = change.new.rule(name)
        make_before(folder / "maps", f"{kind.prefix}_counts", 16, kind.cells)
    if not change.events_kept:
        make_before(folder / "maps", "events", 8, len(change.new.counters))
    _same_epoch(running, folder)
    with released_on_failure() as owned:
        lock = owned.enter_context(closing(running.lock.duplicate()))
        netlink = owned.enter_context(Netlink())
        upgraded = Loaded.opened(running.name, about, owned, lock, netlink, running.grace)
        upgraded.write_surroundings()
        if weighed.rules:
            upgraded.writer.absent = running.writer.absent
            upgraded.writer.try_apply(Changes(created=weighed.rules))
            upgraded.writer.settle()
        upgraded.read_book()
        upgraded.about = recorded(about, folder, upgraded.manifest)
        write_about(folder, upgraded.about)
        _carry(running.name, running.release, about)
    return upgraded


def _about(running: Loaded, change: SchemaChange) -> dict[str, Any]:
    ports = [replace(port, role=change.roles[port.role]) for port in running.wanted]
    return {
        **{name: said for name, said in running.about.items() if name != "objects"},
        "release": running.release + 1,
        "manifest": change.new.to_json(),
        "ports": [asdict(port) for port in ports],
        "carried": {
            "kinds": _carried(change),
            "states": {new: s for new, s in change.states.items() if not change.state_kept(new)},
            "events": not change.events_kept,
        },
    }


def _carried(change: SchemaChange) -> dict[str, str]:
    """The kinds of the new build that have other maps for what they counted, and what they were."""
    return {
        kind.new.name: kind.old.name
        for kind in change.kinds.values()
        if kind.new and not kind.kept and kind.old.counts and kind.new.counts
    }


def _maps(running: Loaded, change: SchemaChange) -> dict[str, Map]:
    """The maps that are taken over, by their names in the new build."""
    pairs = [("events", "events"), (before_of("events"),) * 2] if change.events_kept else []
    for kind in change.kinds.values():
        pairs += _pairs(kind) if kind.kept else []
    if any(counter.reason == "icmp limit" for counter in change.new.counters):
        # the limit is the edge's, not the build's
        pairs += [("icmp_budget", "icmp_budget"), ("icmp_taker", "icmp_taker")]
    new = {state.name: state for state in change.new.states}
    for name, was in change.states.items():
        if change.state_kept(name):
            pairs.append((f"{new[name].prefix}_state", f"{was.lower()}_state"))
    return {name: running.maps[was] for name, was in pairs if was in running.maps}


def _pairs(kind: KindChange) -> list[tuple[str, str]]:
    assert kind.new is not None
    return [(f"{kind.new.prefix}_{each}", f"{kind.old.prefix}_{each}") for each in _MAPS]


def _is_before(name: str) -> bool:
    return name.endswith("_before")


def _same_epoch(running: Loaded, folder: Path) -> None:
    """Cells that are taken over compare their epochs with it; and it is the rules' revision."""
    with Map.open_pinned(folder / "maps" / "control") as control:
        control.mmap().cast("Q")[0] = running.writer.epoch


# ---- in force -------------------------------------------------------------------------------


class _NotSwitched(Exception):
    """A port's link takes no other program."""

    def __init__(self, reason: str, mend: str) -> None:
        super().__init__(reason)
        self.reason, self.mend = reason, mend


def finish(name: str, about: dict[str, Any], grace: Callable[[], None]) -> None:
    """Bring a pipeline to the release in force, whatever an upgrade was in the middle of: switch
    the ports that are not, then take what older releases counted and remove them. May be
    interrupted, and begun again. The pipeline is locked."""
    now = about["release"]
    others = [number for number in releases_of(name) if number != now]
    for number in (n for n in others if n > now):
        remove_directory(release_of(name, number))
    older = [n for n in others if n < now]
    if older:
        _switch(name, about)
        grace()
    for number in older:
        folder = release_of(name, number)
        if (folder / "about").exists():
            _carry(name, number, about)
            (folder / "about").unlink()  # the rest of it says nothing any more
        remove_directory(folder)


def _put_back(running: Loaded, upgraded: Loaded) -> None:
    """The release before is in force again, on all ports."""
    put_in_force(running.name, running.release)
    with suppress(_NotSwitched):
        _switch(running.name, running.about)
    running.grace()
    upgraded.close()
    remove_directory(upgraded.directory)


def _switch(name: str, about: dict[str, Any]) -> None:
    """Lead every port's link to the release in force. A port whose interface is gone is left to
    `refresh`. Raises `_NotSwitched`."""
    folder, manifest = release_of(name, about["release"]), from_json(about["manifest"])
    with ExitStack() as owned:
        entries = [
            owned.enter_context(Program.open_pinned(folder / f"entry_{role}"))
            for role in manifest.roles
        ]
        for port in (Wanted(**port) for port in about["ports"]):
            try:
                with Link.open_pinned(attach.link_of(name, port.number)) as link:
                    if link.info().program_id != entries[port.role].id:
                        link.update(entries[port.role])
            except BpfError as error:
                if error.errno not in (ENOENT, ENOLINK):
                    raise _NotSwitched(error.reason, error.mend) from error


def _carry(name: str, old: int, about: dict[str, Any]) -> None:
    """What release `old` counted so far, into the one that `about` is of."""
    if not any(about["carried"].values()):
        return
    with Reader(name, old) as source, Reader(name, about["release"]) as into:
        carry(source, into, **about["carried"])


# ---- errors ---------------------------------------------------------------------------------


def _put_back_error(reason: str, mend: str) -> Diagnostic:
    title = f"a port cannot be switched to the new build: {reason}"
    back = "the running build is in force again, on all ports"
    return Diagnostic("H0792", title, (), f"{mend}; {back}" if mend else back)
