"""Pipelines of the journal: loaded again after a reboot, and compared with their maps after a kill.

A request is written before it is made, so that of two revisions the higher tells what happened: the
journal's, where the agent was killed in between (then the request is made now; nobody was told that
it is); the maps', where somebody changed them without the agent (then a snapshot of them is taken).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..compiler.requests.columns import load as unpack
from ..compiler.requests.wire import Codecs, decode
from ..lang.diagnostics import Diagnostic, Refused
from . import snapshot, store_faults
from .bundle import Bundle, make_bundle
from .config import Config
from .faults import refused
from .handles import Map
from .journal import Journal, config_of
from .loader import Loaded
from .ports import Wanted
from .refresh import refresh_rules
from .store import NOTE, PACKED, Entry, Kept, Store


def reopen(
    store: Store, loaded: Loaded, kept: Kept | None
) -> tuple[Journal | None, list[Diagnostic]]:
    """The journal of a pipeline that is loaded, brought in line with it; None where it has none.
    Raises `Refused`."""
    if kept is None or _digest(kept) != loaded.manifest.digest:
        return None, [store_faults.not_kept(loaded.name)]
    known = kept.snapshot is not None and (
        json.loads(kept.config)["incarnation"] == loaded.about["incarnation"]
    )
    entries = store.entries(kept.id, kept.revision)
    last = entries[-1].revision if entries else kept.revision
    found: list[Diagnostic] = []
    if known and last > loaded.writer.epoch:
        new = [entry for entry in entries if entry.revision > loaded.writer.epoch]
        found = replay(loaded, new, json.loads(kept.config)["ifindexes"])
    journal = Journal(store, kept.id, len(entries))
    if not known or last != loaded.writer.epoch:
        parts = snapshot.take(loaded.writer, loaded.manifest)
        journal.fold(loaded.writer.epoch, parts, config_of(loaded))
    return journal, found


def restore(store: Store, kept: Kept) -> tuple[Loaded, Journal, list[Diagnostic]]:
    """Load a pipeline as the journal has it. Raises `Refused`."""
    if kept.snapshot is None:  # killed while it was being loaded: nobody was told that it is
        store.remove(kept.name)
        raise refused(store_faults.not_restored(kept.name))
    bundle = make_bundle(kept.manifest, lambda _: kept.object)
    entries = store.entries(kept.id, kept.revision)
    content = Restoration(kept, bundle, store.snapshot(kept), entries, [])
    loaded = Loaded.load(bundle, content.config, kept.name, content=content)
    return loaded, Journal(store, kept.id, len(entries)), content.findings


def _digest(kept: Kept) -> str:
    digest: str = json.loads(kept.manifest)["digest"]
    return digest


@dataclass
class Restoration:
    """What a pipeline of the journal held: `Loaded.load` asks for it. `findings`: what could not be
    made again."""

    kept: Kept
    bundle: Bundle
    snapshot: bytes
    entries: list[Entry]
    findings: list[Diagnostic]

    @property
    def config(self) -> Config:
        about = json.loads(self.kept.config)
        ports = tuple(Wanted(**port) for port in about["ports"])
        control = tuple(about["control"]) if about["control"] else None
        return Config(ports, about["default"], about["mode"], (), {}, control)

    def prepare(self, maps: Mapping[str, Map]) -> None:
        try:
            snapshot.put(self.snapshot, maps, self.bundle.manifest)
        except snapshot.Misfit as misfit:
            path = str(self.kept.snapshot)
            raise refused(store_faults.damaged(path, str(misfit))) from None
        maps["control"].mmap().cast("Q")[0] = self.kept.revision

    def fill(self, loaded: Loaded) -> None:
        ifindexes = json.loads(self.kept.config)["ifindexes"]
        self.findings += replay(loaded, self.entries, ifindexes)
        refresh_rules(loaded)


def replay(
    loaded: Loaded, entries: Iterable[Entry], ifindexes: Mapping[str, int]
) -> list[Diagnostic]:
    """Make requests again, each at its revision. Returns why some were not. `ifindexes`: the ports'
    when the first was made."""
    findings: list[Diagnostic] = []
    codecs, book = Codecs(loaded.manifest, loaded.book.kinds), loaded.book
    now, book.ifindexes = book.ifindexes, _numbers(ifindexes)
    for entry in entries:
        if entry.content is None:
            continue
        if entry.form == NOTE:
            book.ifindexes = _numbers(json.loads(entry.content))
            loaded.writer.skip_to(entry.revision)
            continue
        loaded.writer.skip_to(entry.revision - 1)
        try:
            packed = entry.form == PACKED
            loaded.apply(unpack(entry.content) if packed else decode(entry.content, codecs))
        except Refused as error:
            findings.append(store_faults.not_replayed(loaded.name, entry.revision))
            findings += error.diagnostics
    book.ifindexes = now
    return findings


def _numbers(ifindexes: Mapping[str, Any]) -> dict[int, int]:
    return {int(number): ifindex for number, ifindex in ifindexes.items()}
