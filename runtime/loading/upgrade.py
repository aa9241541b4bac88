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

from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ...lang.contract.manifest.manifest import COUNTS_SIZE, ICMP_BURST, ICMP_RATE
from ...lang.contract.world.environment import Limit
from ...lang.text.diagnostics import Refused
from ..base import errors as runtime_errors
from ..edge.icmp_settings import ICMP
from ..edge.liveness_settings import LIVENESS
from ..kernel.handles import BpfError, Map, Pin
from ..kernel.netlink import Netlink
from ..kernel.pins import remove_directory
from ..ports.ports import write_icmp_limit
from ..rules import snapshot
from ..rules.counters import before_of
from ..rules.plans import Changes
from ..rules.transaction import NEXT
from ..states.storage import SEED, new_seed
from . import attach, port_warnings, switching
from .bundle import Bundle
from .carry_counters import create_before
from .excluded_members import exclude_members
from .former_events import with_events_of
from .install import install
from .integrity import drop_foreign_links, with_objects
from .loader import Loaded, released_on_failure
from .releases import put_in_force, release_of, write_about
from .schema_change import KindChange, SchemaChange
from .upgrade_plan import UpgradePlan, plan_upgrade

_MAPS = ("cells", "records", "images", "tuples", "entries", "index", "filter")


def upgrade(running: Loaded, plan: UpgradePlan) -> Loaded:
    """Carry out a plan, with nothing applied since; returns the pipeline as it is then,
    and closes `running`. Raises `Refused` with the running release in force as before and `running`
    open, unless a request was being staged. If it fails after the switch `running` is closed, too:
    open the pipeline again."""
    running.writer.settle()
    _nothing_left_out(running, plan)
    with ExitStack() as owned:
        upgraded = owned.enter_context(closing(_built(running, plan)))
        try:
            put_in_force(running.name, upgraded.release)
            _attach_new(upgraded, plan)
            switching.finish(running.name, upgraded.about, running.grace)
        except switching.NotSwitched as error:
            _put_back(running, upgraded)
            raise Refused(error.diagnostics) from error
        except BaseException as error:
            running.close()
            if isinstance(error, BpfError):
                raise _refused(error, running) from error
            raise
        owned.pop_all()
    running.close()
    _limit_errors(upgraded, plan)
    return upgraded


def _nothing_left_out(running: Loaded, plan: UpgradePlan) -> None:
    """Where nobody will probe overlays any more: packets find again what is left out now."""
    if plan.edge is not None and LIVENESS.of(plan.edge.config.settings) is None:
        exclude_members(running, ())


def _attach_new(upgraded: Loaded, plan: UpgradePlan) -> None:
    """Ports that the edge's YAML adds. Raises `NotSwitched`."""
    if plan.edge is not None:
        numbers = {port.number for port in plan.edge.come}
        ports = [port for port in upgraded.ports if port.number in numbers]
        mode, spans = attach.mode_of(upgraded.mode), plan.edge.config.spans
        try:
            attach.attach(upgraded, ports, mode, spans)
        except Refused as error:
            raise switching.NotSwitched(error.diagnostics) from error
        doubts = port_warnings.warnings(upgraded.manifest, ports, upgraded.netlink, mode, spans)
        upgraded.warnings = tuple(doubts)


def _limit_errors(upgraded: Loaded, plan: UpgradePlan) -> None:
    """The budget of ICMP errors is one map for both builds, where both send any."""
    if plan.edge is not None and "icmp_budget" in upgraded.maps:
        limit = ICMP.of(plan.edge.config.settings)
        write_icmp_limit(upgraded.maps, limit or Limit(ICMP_RATE, ICMP_BURST))


def _refused(error: BpfError, running: Loaded) -> Refused:
    doing = f"upgrade the pipeline `{running.name}`"
    return runtime_errors.refused(runtime_errors.of_kernel(error, doing))


def repair(running: Loaded, bundle: Bundle) -> Loaded:
    """Upgrade to the same build, where the running one may have lost any of its pins; links lead to
    the new release wherever they led."""
    drop_foreign_links(running)
    upgraded = upgrade(running, plan_upgrade(running, bundle))
    with suppress(switching.NotSwitched):  # it leads elsewhere still, which is found again
        switching.switch(running.name, upgraded.about)
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
    about = _about(running, plan)
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
        switching.carry(running.name, running.release, about)
    return upgraded


def _move(running: Loaded, change: SchemaChange, maps: Mapping[str, Map]) -> None:
    """Fill the maps of kinds that only lie elsewhere."""
    for kind in change.kinds.values():
        if kind.new is not None and kind.fate == "moved":
            snapshot.move(running.writer.tables[kind.old.name], kind.new, maps)


def _about(running: Loaded, plan: UpgradePlan) -> dict[str, Any]:
    change, edge = plan.change, plan.edge
    return {
        **{name: value for name, value in running.about.items() if name != "objects"},
        **with_events_of(running.about, running.manifest),
        "release": running.release + 1,
        "manifest": change.new.to_json(),
        **(edge.about if edge is not None else {"ports": _same_ports(running, change)}),
        "carried": {
            "kinds": _carried(change),
            "states": {new: s for new, s in change.states.items() if not change.state_kept(new)},
            "events": not change.events_kept,
        },
    }


def _same_ports(running: Loaded, change: SchemaChange) -> list[dict[str, Any]]:
    ports = running.port_configs
    return [replace(port, role=change.roles[port.role]).record() for port in ports]


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


def _put_back(running: Loaded, upgraded: Loaded) -> None:
    """Put the old release in force again, on all ports."""
    put_in_force(running.name, running.release)
    switching.detach_others(running.name, running.about)
    with suppress(switching.NotSwitched):
        switching.switch(running.name, running.about)
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
