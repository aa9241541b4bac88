"""Pipelines of the journal: loaded again after a reboot, and compared with their maps after a kill.

A request is written before it is made, so that of two revisions the higher tells what happened: the
journal's, where the agent was killed in between (then the request is made now; nobody was told that
it is); the maps', where somebody changed them without the agent (then a snapshot of them is taken).

A build that is to replace another is written down before it does, too, and no request is taken
until the journal says that it has. If the agent was killed in between, the maps are in force.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from ...lang.contract.request.request import Request
from ...lang.contract.rules.columns import Columns
from ...lang.contract.rules.columns import load as unpack
from ...lang.contract.rules.wire import Codecs, decode
from ...lang.text.diagnostics import Diagnostic, Refused
from ..base.errors import refused
from ..edge.config import Config
from ..edge.features import SECTIONS
from ..intents.store import check as check_intents
from ..journal import errors as store_faults
from ..journal.backup import Received
from ..journal.files import NONSENSE
from ..journal.journal import Journal, answer_of, config_of, ifindexes_of
from ..journal.records import ALLOTTED, NOTE, PACKED, Entry, allotted
from ..journal.records import decode as decode_entries
from ..journal.state import Build, Bundled, Item, read_build
from ..journal.store import Store
from ..kernel.handles import Map
from ..loading import card_snapshot
from ..loading.any_loaded import AnyLoaded, load
from ..loading.bundle import Bundle, make_bundle, sent, unpack_traced
from ..loading.loader import Loaded, released_on_failure
from ..loading.pinned import Pinned
from ..loading.refresh import refresh_rules
from ..loading.releases import need_name
from ..ports.ports import PortConfig
from ..rules import snapshot
from ..stamp.store import check as check_sessions


def reopen(store: Store, loaded: AnyLoaded) -> tuple[Journal | None, list[Diagnostic]]:
    """The journal of a pipeline that is loaded, brought in line with it; None where it has none.
    Raises `Refused`."""
    kept, upgraded = _kept_of(store, loaded), False
    if kept is not None and _program(kept.build) != loaded.manifest.digest:
        upgraded = _program(kept.prepared) == loaded.manifest.digest  # it may have been killed
        if not upgraded:
            store.remove(kept.name)  # a reboot must not bring back what has been replaced
            kept = None
    if kept is None:
        with suppress(Refused):  # the findings say so
            store.note_unknown(loaded.name)
        return None, []
    known, found = _is_of(kept, loaded), list[Diagnostic]()
    written = store.written(kept) if kept.snapshot is not None else store.unwritten(kept.id)
    entries, sound = written.entries, store.in_force(kept) and not written.marred
    if upgraded:
        store.promoted(kept)
    last = entries[-1].revision if entries else kept.revision
    if known and not upgraded and last > loaded.revision:
        found += replay(loaded, entries, json.loads(kept.config)["ifindexes"])
    in_order = known and not upgraded and last == loaded.revision and sound and not found
    in_order = in_order and _config(json.loads(kept.config)) == _config(loaded.about)
    with released_on_failure() as owned:
        journal = owned.enter_context(closing(Journal(store, kept.id, written)))
        if not in_order or _ifindexes(kept, entries) != ifindexes_of(loaded):
            journal.withheld, journal.unkept = True, upgraded
            with suppress(Refused):  # whoever owns it tries again
                with journal.open_next() as descriptor:
                    parts, config = loaded.snapshot(), config_of(loaded)
                    made = journal.turn_over(descriptor, loaded.revision, parts, config)
                journal.fold(made, upgraded)
                journal.unkept = False
        return journal, found


def _kept_of(store: Store, loaded: AnyLoaded) -> Item | None:
    """What the journal has of it: that of its own load, if this was killed before it said that it
    is in force, what it began with."""
    kept = next((k for k in store.pipelines() if k.name == loaded.name), None)
    if kept is None or not _is_of(kept, loaded):
        for begun in store.begun():
            if begun.name == loaded.name and _program(begun.build) == loaded.manifest.digest:
                return begun
    store.give_up(loaded.name)
    return kept


def _is_of(kept: Item, loaded: AnyLoaded) -> bool:
    """Whether the same load wrote it."""
    return not kept.begun and bool(
        json.loads(kept.config)["incarnation"] == loaded.about["incarnation"]
    )


def restore(store: Store, kept: Item) -> tuple[AnyLoaded, Journal, list[Diagnostic]]:
    """Load a pipeline as the journal has it. Raises `Refused`."""
    bundle = bundle_of(store, kept)
    written = store.written(kept)
    content = Restoration(kept, bundle, store.snapshot(kept), written.entries)
    with released_on_failure() as owned:
        journal = owned.enter_context(closing(Journal(store, kept.id, written)))
        loaded = load(bundle, content.config, kept.name, content)
        return loaded, journal, content.findings


def bundle_of(store: Store, kept: Item) -> Bundle:
    """Raises `Refused` where it is damaged."""
    return _bundle(store.build(kept))


def _bundle(build: Build) -> Bundle:
    manifest, object_, packed, *tc = build
    return make_bundle(manifest, sent(object_, b"".join(tc)), traced=unpack_traced(packed))


def is_whole(store: Store, kept: Item) -> bool:
    """Whether the journal has all of a pipeline."""
    try:
        store.build(kept)
        store.snapshot(kept)
        return not store.written(kept).marred
    except Refused:
        return False


def _ifindexes(kept: Item, entries: Iterable[Entry]) -> Any:
    """The ports' as the journal knows them."""
    notes = [entry.content for entry in entries if entry.form == NOTE]
    return json.loads(notes[-1]) if notes else json.loads(kept.config)["ifindexes"]


def _program(build: Bundled | None) -> str:
    return build.program if build is not None else ""


@dataclass
class Restoration:
    """What a pipeline of the journal held: `either.load` asks for it. `findings`: what could not be
    made again."""

    kept: Item
    bundle: Bundle
    snapshot: bytes
    entries: list[Entry]
    findings: list[Diagnostic] = field(default_factory=list)

    @property
    def config(self) -> Config:
        return _config(json.loads(self.kept.config))

    def prepare(self, maps: Mapping[str, Map]) -> None:
        manifest, revision = self.bundle.manifest, self.kept.revision
        try:
            if manifest.target == "host":
                snapshot.put(self.snapshot, maps, manifest)
                maps["control"].mmap().cast("Q")[0] = revision
            else:
                card_snapshot.put(self.snapshot, revision, maps, manifest)
        except snapshot.Misfit as misfit:
            raise refused(store_faults.damaged(self.kept.name, str(misfit))) from None

    def fill(self, loaded: Pinned) -> None:
        ifindexes = json.loads(self.kept.config)["ifindexes"]
        self.findings += replay(loaded, self.entries, ifindexes)
        if isinstance(loaded, Loaded):
            refresh_rules(loaded)


def _config(about: dict[str, Any]) -> Config:
    ports = tuple(PortConfig(**port) for port in about["ports"])
    control = tuple(about["control"]) if about["control"] else None
    settings = {section.key: about.get(section.key) for section in SECTIONS}
    return Config(ports, about["default"], about["mode"], (), {}, control, settings)


def check(received: Received) -> None:
    """Whether a backup can be understood, before anything gives way to it. Raises `Refused`.

    It may have bundles that this release cannot drive: the status of their pipelines says so."""
    for each in received.contents.pipelines:
        need_name(each.name)
        with _understood(f"the configuration of `{each.name}`"):
            about = json.loads(each.config)
            _config(about)
            _numbers(about["ifindexes"])
            str(about["incarnation"])
        with _understood(each.build.name), suppress(Refused):
            _bundle(read_build(received.content(each.build)))
        for mark, _ in each.answers:
            with _understood(mark.name):
                for entry, _ in decode_entries(received.content(mark)):
                    answer_of(entry)
    if (intents := received.contents.intents) is not None:
        with _understood(intents.name):
            check_intents(received.content(intents))
            check_sessions(received.content(intents))


@contextmanager
def _understood(what: str) -> Iterator[None]:
    try:
        yield
    except NONSENSE as error:
        why = f"it cannot be understood: {error!r:.100}"
        raise refused(store_faults.damaged_backup(0, 0, what, why)) from None


def replay(
    loaded: Pinned, entries: Iterable[Entry], ifindexes: Mapping[str, int]
) -> list[Diagnostic]:
    """Make those requests again that are not in force, each at its revision. Returns why some were
    not. `ifindexes`: the ports' when the first was made."""
    findings: list[Diagnostic] = []
    codecs, book = Codecs(loaded.manifest, loaded.book.kinds), loaded.book
    now, book.ifindexes = book.ifindexes, _numbers(ifindexes)
    made = loaded.revision
    for entry in entries:
        if entry.form == NOTE:
            book.ifindexes = _numbers(json.loads(entry.content))
            loaded.skip_to(entry.revision)
            continue
        if entry.revision <= made:
            continue
        loaded.skip_to(entry.revision - 1)
        try:
            loaded.apply(*_recorded(entry, codecs))
        except Refused as error:
            findings.append(store_faults.not_replayed(loaded.name, entry.revision))
            findings += error.diagnostics
    book.ifindexes = now
    return findings


def _recorded(
    entry: Entry, codecs: Codecs
) -> tuple[Request | Columns, Mapping[str, Sequence[int]] | None]:
    """What was asked for, and the ids that it gave, where they are written down."""
    if entry.form == PACKED:
        return unpack(entry.content), None
    ids, content = allotted(entry.content) if entry.form == ALLOTTED else (None, entry.content)
    return decode(content, codecs), ids


def _numbers(ifindexes: Mapping[str, Any]) -> dict[int, int]:
    return {int(number): ifindex for number, ifindex in ifindexes.items()}
