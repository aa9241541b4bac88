"""The one owner of a loaded pipeline: requests of many clients, one transaction after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import TypeVar

from ...lang.contract.request.request import Request
from ...lang.contract.rules.columns import Columns
from ...lang.contract.rules.interleaving import Conflict
from ...lang.contract.rules.rules import Reference, Rule
from ...lang.text.diagnostics import Refused
from ..base.gc_pause import gc_paused
from ..base.outcome import Outcome
from ..loading.any_loaded import AnyLoaded
from ..loading.excluded_members import exclude_members
from ..loading.host_state import HostState, Refreshed
from ..loading.loader import Loaded
from ..ports.ports import Port, all_configured
from .events import Event, PortChanged
from .large import FEWEST, is_large, make_large
from .requests import ApplyRequest, DecodedRequest, Made, read
from .snapshot_lease import SnapshotLease
from .transactions import Transactions

_Result = TypeVar("_Result")
_new = tuple.__new__  # a third of what a named tuple's own takes


class Owner(Transactions):
    """Makes requests. Every method may be called from any thread, and raises `Refused` with nothing
    changed."""

    # ---- requests -----------------------------------------------------------------------------

    def apply(self, request: ApplyRequest, until: float | None = None) -> Outcome:
        """One transaction. `until`: the moment of `time.monotonic` from which on it is not begun
        any more. Returns when it may be acknowledged."""
        made = self.begin(request, until)
        made.acknowledge()
        made.settle()
        return made.outcome

    def begin(self, request: ApplyRequest, until: float | None = None) -> Made:
        """One transaction, in force when this returns; others may be begun before it is
        acknowledged."""
        made = Made()
        made.owner = self
        try:
            if len(request.content) < FEWEST:
                made.outcome = self._in_force(request, until)
            else:
                with gc_paused():
                    made.outcome = self._in_force(request, until)
        except Refused as error:
            self.tally.refused()
            # Its frames hold all that was read of the request: that goes now.
            error.__traceback__ = error.__context__ = error.__cause__ = None
            raise
        finally:
            made.in_force()
        if (journal := self.journal) is not None and journal.wants_care(self.loaded.book):
            self.wake_flusher()
        return made

    def _in_force(self, request: ApplyRequest, until: float | None) -> Outcome:
        codecs = self.codecs
        # In the numbers of another build it may say nothing, but may have been answered before.
        parsed: Request | Columns | None = request.parsed
        if parsed is None and request.digest in ("", self.loaded.manifest.digest):
            parsed = read(request, codecs)
        digest = blake2b(request.content, digest_size=16).digest() if request.key else b""
        asked = _new(DecodedRequest, (request, digest, parsed, codecs))
        del parsed
        if is_large(asked, self):
            return make_large(self, asked, until)
        try:
            self._begin_turn(until)
            try:
                return (self.known(asked) if request.key else None) or self.make(asked)
            finally:
                self.lock.give()
        except Conflict:
            with self.alone(until), self.turn(until):
                return self.known(asked) or self.make(asked)

    # ---- what the agent does by itself --------------------------------------------------------

    def change(
        self, work: Callable[[AnyLoaded], _Result], until: float | None = None
    ) -> tuple[_Result, int]:
        """Change the pipeline otherwise than by a request: what the agent does by itself. Returns
        what `work` does, and the revision from then on."""
        with self.turn(until):
            before = self.revision
            try:
                done = self._in_maps(lambda: work(self.loaded))
            finally:
                if self.touched is not None and self.revision != before:
                    self.touched.everything = True
                if self.journal is not None and self.revision != before:
                    self.journal.note(self.revision, self.loaded)
            return done, self.revision

    def refresh(
        self, until: float | None = None, seen: HostState | None = None
    ) -> tuple[Refreshed, int]:
        """Bring next hops, addresses and ports up to date, with what was seen or what is to be
        seen now."""

        def work(loaded: AnyLoaded) -> tuple[Refreshed, tuple[Port, ...]]:
            before = all_configured(loaded.port_configs, loaded.ports)
            done = loaded.refresh(seen)
            now = all_configured(loaded.port_configs, loaded.ports)
            return done, tuple(p for p, was in zip(now, before, strict=True) if p != was)

        (done, changed), revision = self.change(work, until)
        roles = self.loaded.manifest.roles
        for port in changed:
            self.events.tell(Event(self.name, revision, PortChanged(port, roles[port.role])))
        return done, revision

    def exclude_members(
        self, dead: Collection[Reference], steered: Mapping[int, frozenset[int]]
    ) -> tuple[int, int]:
        """Let spreads leave out the members that lead to one of these rules, and, by sequence,
        these; no others."""

        def work(loaded: AnyLoaded) -> int:
            return exclude_members(loaded, dead, steered) if isinstance(loaded, Loaded) else 0

        return self.change(work)

    # ---- reading ------------------------------------------------------------------------------

    def find(self, references: Iterable[Reference]) -> dict[Reference, Rule]:
        """Those of these rules that there are."""
        with self.turn(None):
            book = self.loaded.book  # of an upgraded pipeline, perhaps without the kind
            found = {each: book.get(*each) for each in references if each.kind in book.kinds}
        return {each: rule for each, rule in found.items() if rule is not None}

    @contextmanager
    def hold(self) -> Iterator[SnapshotLease]:
        """The rules of this moment, for somebody else to read at leisure."""
        with self.turn(None):
            held = SnapshotLease(self)
        try:
            yield held
        finally:
            held.close()
