"""Replaces a running build by a new one: no packet is lost, and each meets one of the two.

A release is built beside the one in force: rule kinds and states whose bytes mean the same reuse
their maps, other rules are written again. Then it is put in force by one pin, and the ports are
switched one after the other, each by one link update. Until that pin, a failure or a kill leaves
the running release as it was; from then on whoever opens the pipeline next completes the upgrade
(`finish`).

A packet meets one release from its arrival to its verdict: the one that the link of its port leads
to. While ports are being switched some have the new release already and some the old one; both have
the same rules, and those of kinds and states that are kept in the same maps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from errno import ENOENT, ENOLINK
from functools import partial
from pathlib import Path
from typing import Any

from ...lang.contract.manifest.manifest import COUNTS_SIZE, from_json
from ...lang.contract.rules.rules import Rule
from ...lang.text.diagnostics import Diagnostic, Refused
from ...lang.text.source import Source
from ..base import errors as runtime_errors
from ..kernel.handles import BpfError, Map, Pin, Program
from ..kernel.netlink import Netlink
from ..kernel.pins import remove_directory
from ..ports.ports import PortConfig
from ..rules import snapshot
from ..rules.counters import before_of
from ..rules.plans import Changes
from ..rules.transaction import NEXT
from ..states.storage import SEED, new_seed
from . import attach
from . import upgrade_errors as errors
from .attachments import open_attachment
from .bundle import Bundle
from .carry_counters import carry_counters, create_before
from .compare_builds import compare
from .convert_rules import convert_rules, usage_of
from .former_events import with_events_of
from .install import entry_pin, install
from .integrity import drop_foreign_links, with_objects
from .loader import Loaded, released_on_failure
from .mapping_file import read_mapping
from .reader import Reader
from .releases import put_in_force, release_of, releases_of, write_about
from .schema_change import ALWAYS, Answers, Concern, KindChange, SchemaChange, Usage

_MAPS = ("cells", "records", "images", "tuples", "entries", "index", "filter")


@dataclass(frozen=True)
class UpgradePlan:
    """What an upgrade will do: `rules` are those that are written again."""

    bundle: Bundle
    change: SchemaChange
    usage: Usage
    rules: tuple[Rule, ...]

    @property
    def difference(self) -> str:
        """As a table; empty where nothing differs."""
        return errors.difference(self.change, self.usage)


def plan_upgrade(
    running: Loaded, bundle: Bundle, answers: Answers | Source | None = None
) -> UpgradePlan:
    """Plan an upgrade of a running pipeline, and change nothing. `answers`: those of a mapping
    file, or its text. Raises `Refused` where the new build cannot hold something that is in
    force."""
    if isinstance(answers, Source):
        builds = running.manifest, bundle.manifest
        answers = read_mapping(answers, *builds, running.port_numbers)
    change = compare(running.manifest, bundle.manifest, answers)
    usage = dict(_usage(running, change))
    if change.obstacles(usage):
        raise runtime_errors.refused(errors.incompatible(change, usage))
    again = (rule for k in change.kinds.values() if not k.stays for rule in _rules(running, k))
    if moved := list(_moved(running, change)):
        raise Refused(moved)
    made = convert_rules(change, again, running.port_numbers)
    if made.faults:
        raise Refused(errors.untranslatable(made.faults))
    if bundle.manifest.forwards and not running.manifest.forwards and running.mode == "native":
        links = {link.index: link for link in running.netlink.links()}
        unfit = [d for p in running.ports for d in attach.unfit(p, links[p.ifindex], None, True)]
        if unfit:
            raise Refused(unfit)
    return UpgradePlan(bundle, change, usage, tuple(made.rules))


def _moved(running: Loaded, change: SchemaChange) -> Iterator[Diagnostic]:
    """Of ports that the new build would have elsewhere: a packet would meet both builds."""
    for port in running.port_configs:
        was = running.manifest.attach_point(port.role)
        now = change.new.attach_point(change.roles[port.role])
        if (port.at == was != now) or (not change.new.has_programs(port.at)):
            yield errors.port_moves(port.name, port.at, now)
        roles = running.manifest.roles[port.role], change.new.roles[change.roles[port.role]]
        if (roles[0] in running.manifest.bare) != (roles[1] in change.new.bare):
            yield errors.other_link(port.name, roles[1] in change.new.bare)


def _rules(running: Loaded, kind: KindChange) -> Iterator[Rule]:
    return running.book.rules(kind.old.name)


def _usage(running: Loaded, change: SchemaChange) -> Iterator[tuple[Concern, int]]:
    for name, kind in change.kinds.items():
        yield (name, ""), running.book.count(name)
        if any(d.concern and d.concern[0] == name and d.concern[1] for d in change.differences):
            yield from usage_of(_rules(running, kind)).items()
    roles = [running.manifest.roles[port.role] for port in running.port_configs]
    yield from ((("port", role), roles.count(role)) for role in set(roles))
    yield ("port", ""), max((port.number for port in running.port_configs), default=0)
    yield ALWAYS, 1


def upgrade(running: Loaded, plan: UpgradePlan) -> Loaded:
    """Carry out a plan, with nothing applied since; returns the pipeline as it is then,
    and closes `running`. Raises `Refused` with the running release in force as before and `running`
    open, unless a request was being staged. If it fails after the switch `running` is closed, too:
    open the pipeline again."""
    running.writer.settle()
    with ExitStack() as owned:
        upgraded = owned.enter_context(closing(_built(running, plan)))
        try:
            put_in_force(running.name, upgraded.release)
            finish(running.name, upgraded.about, running.grace)
        except _NotSwitched as error:
            _put_back(running, upgraded)
            raise runtime_errors.refused(_put_back_error(error.reason, error.fix)) from error
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
    """Upgrade to the same build, where the running one may have lost any of its pins; links lead to
    the new release wherever they led."""
    drop_foreign_links(running)
    upgraded = upgrade(running, plan_upgrade(running, bundle))
    with suppress(_NotSwitched):  # it leads elsewhere still, which is found again
        _switch(running.name, upgraded.about)
    return upgraded


# ---- the new release, before it is in force -------------------------------------------------


def _built(running: Loaded, plan: UpgradePlan) -> Loaded:
    """The new release. Raises `Refused` with nothing left of it."""
    folder = release_of(running.name, running.release + 1)
    try:
        remove_directory(folder)
        return _build(running, plan)
    except BaseException as error:
        remove_directory(folder)
        _only_writer(running)
        if isinstance(error, BpfError):
            raise _refused(error, running) from error
        raise


def _build(running: Loaded, plan: UpgradePlan) -> Loaded:
    """Build the release with all rules, and what was counted so far."""
    change = plan.change
    kept = _maps(running, change)
    about = _about(running, change)
    folder = release_of(running.name, about["release"])
    install(plan.bundle, folder, {new: m for new, m in kept.items() if not _is_before(new)})
    for name, table in kept.items():
        if _is_before(name):
            Pin.create(table, folder / "maps" / name)
    for name in about["carried"]["kinds"]:
        kind = change.new.rule(name)
        if kind.counts_at is None:
            create_before(folder / "maps", f"{kind.prefix}_counts", COUNTS_SIZE, kind.cells)
    if not change.events_kept:
        create_before(folder / "maps", "events", 8, len(change.new.counters))
    _same_control(running, folder)
    with released_on_failure() as owned:
        lock = owned.enter_context(closing(running.lock.duplicate()))
        netlink = owned.enter_context(Netlink())
        prepare = partial(_move, running, change)
        upgraded = Loaded.opened(running.name, about, owned, lock, netlink, running.grace, prepare)
        upgraded.write_host_state()
        if plan.rules:
            upgraded.writer.left_out = running.writer.left_out
            upgraded.writer.try_apply(Changes(created=plan.rules))
            upgraded.writer.settle()
        upgraded.read_book()
        upgraded.about = with_objects(about, folder, upgraded.manifest)
        write_about(folder, upgraded.about)
        _carry(running.name, running.release, about)
    return upgraded


def _move(running: Loaded, change: SchemaChange, maps: Mapping[str, Map]) -> None:
    """Fill the maps of kinds that only lie elsewhere."""
    for kind in change.kinds.values():
        if kind.new is not None and kind.fate == "moved":
            snapshot.move(running.writer.tables[kind.old.name], kind.new, maps)


def _about(running: Loaded, change: SchemaChange) -> dict[str, Any]:
    ports = [replace(port, role=change.roles[port.role]) for port in running.port_configs]
    return {
        **{name: value for name, value in running.about.items() if name != "objects"},
        **with_events_of(running.about, running.manifest),
        "release": running.release + 1,
        "manifest": change.new.to_json(),
        "ports": [port.record() for port in ports],
        "carried": {
            "kinds": _carried(change),
            "states": {new: s for new, s in change.states.items() if not change.state_kept(new)},
            "events": not change.events_kept,
        },
    }


def _carried(change: SchemaChange) -> dict[str, str]:
    """Kinds of the new build that count elsewhere than before, and their old names."""
    return {
        kind.new.name: kind.old.name
        for kind in change.kinds.values()
        if kind.new and kind.old.counts and kind.new.counts and not change.counters_kept(kind)
    }


def _maps(running: Loaded, change: SchemaChange) -> dict[str, Map]:
    """The maps that are reused, by their names in the new build."""
    pairs = [("events", "events"), (before_of("events"),) * 2] if change.events_kept else []
    pairs += [("counts", "counts")] if change.counts_kept else []
    pairs += [("meters", "meters")] if change.meters_kept else []
    for kind in change.kinds.values():
        pairs += _pairs(kind, _MAPS) if kind.kept else []
        if change.counters_kept(kind) and kind.old.counts_at is None:
            pairs += _pairs(kind, ("counts", "before"))
    if any(counter.reason == "icmp limit" for counter in change.new.counters):
        # the limit is the edge's, not the build's
        pairs += [("icmp_budget", "icmp_budget"), ("icmp_taker", "icmp_taker")]
    if change.new.events is not None:
        # what is unread there stays readable: see former_events.py
        pairs.append(("event_ring", "event_ring"))
    new = {state.name: state for state in change.new.states}
    for name, was in change.states.items():
        if change.state_kept(name):
            pairs.append((f"{new[name].prefix}_state", f"{was.lower()}_state"))
    return {name: running.maps[was] for name, was in pairs if was in running.maps}


def _pairs(kind: KindChange, maps: Iterable[str]) -> list[tuple[str, str]]:
    assert kind.new is not None
    return [(f"{kind.new.prefix}_{each}", f"{kind.old.prefix}_{each}") for each in maps]


def _is_before(name: str) -> bool:
    return name.endswith("_before")


def _same_control(running: Loaded, folder: Path) -> None:
    """Copy the epoch, which reused cells compare theirs with, and which is the rules' revision; the
    seed, by which entries of reused states are found; and the next rule's sequence, as such entries
    may say which rules there were."""
    with Map.open_pinned(folder / "maps" / "control") as control:
        words = control.mmap().cast("Q")
        words[0], words[SEED] = running.writer.epoch, running.writer.control[SEED] or new_seed()
        words[NEXT] = running.book.sequence


# ---- in force -------------------------------------------------------------------------------


class _NotSwitched(Exception):
    """A port's link takes no other program."""

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(reason)
        self.reason, self.fix = reason, fix


def finish(name: str, about: dict[str, Any], grace: Callable[[], None]) -> None:
    """Complete an upgrade at whatever point it stopped: switch the remaining ports to the release
    in force, then carry the counters of older releases and remove these. May be interrupted and
    called again. The pipeline is locked."""
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
            (folder / "about").unlink()  # so the rest counts as removed
        remove_directory(folder)


def _put_back(running: Loaded, upgraded: Loaded) -> None:
    """Put the old release in force again, on all ports."""
    put_in_force(running.name, running.release)
    with suppress(_NotSwitched):
        _switch(running.name, running.about)
    running.grace()
    upgraded.close()
    _only_writer(running)
    remove_directory(upgraded.directory)


def _only_writer(running: Loaded) -> None:
    """Another writer had the maps that stay, and is gone. It took out the keys of a request that
    was being staged: that must not go on."""
    if running.writer.staging:
        running.close()
    else:
        running.writer.make_vectors()


def _switch(name: str, about: dict[str, Any]) -> None:
    """Switch every port's link to the release in force. A port whose interface is gone is left to
    `refresh`. Raises `_NotSwitched`."""
    folder, manifest = release_of(name, about["release"]), from_json(about["manifest"])
    for port in (PortConfig(**port) for port in about["ports"]):
        with Program.open_pinned(entry_pin(folder, manifest, port)) as entry:
            try:
                with open_attachment(attach.link_of(name, port.number)) as link:
                    if link.info().program_id != entry.id:
                        link.update(entry)
            except BpfError as error:
                if error.errno not in (ENOENT, ENOLINK):
                    raise _NotSwitched(error.reason, error.fix) from error


def _carry(name: str, old: int, about: dict[str, Any]) -> None:
    """Carry what release `old` counted into the release of `about`."""
    if not any(about["carried"].values()):
        return
    with Reader(name, old) as source, Reader(name, about["release"]) as into:
        carry_counters(source, into, **about["carried"])


# ---- errors ---------------------------------------------------------------------------------


def _put_back_error(reason: str, fix: str) -> Diagnostic:
    title = f"a port cannot be switched to the new build: {reason}"
    back = "the running build is in force again, on all ports"
    return Diagnostic("H0792", title, (), f"{fix}; {back}" if fix else back)
