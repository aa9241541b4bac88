"""One pipeline's part of the journal: what its owner writes. restore.py makes it again.

`Kept.config` is JSON: what the load wrote about itself (`releases.about_of`) but for the manifest,
and as `ifindexes` those of the ports by number, for requests that name interfaces so.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable

from ..compiler.requests.rules import Reference
from .loader import Loaded
from .outcome import Outcome
from .store import IES, NOTE, PACKED, Entry, Store

#: Idempotency keys that are remembered.
KEYS = 65_536
#: Requests since the last snapshot, and as a part of all rules, from which on there is a new one.
_MANY, _SHARE = 10_000, 0.2

Answered = OrderedDict[str, tuple[bytes, Outcome]]


class Journal:
    """What is written of one pipeline. Raises `Refused`, and then nothing is."""

    def __init__(self, store: Store, pipeline: int, since: int = 0) -> None:
        """`since`: requests that no snapshot has yet."""
        self.store, self.pipeline = store, pipeline
        self._since = since

    def request(
        self, content: bytes, packed: bool, key: str, digest: bytes, outcome: Outcome
    ) -> None:
        """A request that is about to be made, and its answer."""
        form, said = (PACKED if packed else IES), None
        if key:
            created = [list(reference) for reference in outcome.created]
            said = json.dumps([created, outcome.created_count, outcome.changed_count,
                               outcome.removed_count])  # fmt: skip
        entry = Entry(outcome.revision, form, content, key or None, digest or None, said)
        self.store.append(self.pipeline, entry)
        self._since += 1

    def acknowledged(self) -> None:
        """Return when what was written may be answered for."""
        self.store.stir()
        self.store.acknowledged()

    def withdraw(self, revision: int) -> None:
        """The request could not be made."""
        self.store.withdraw(self.pipeline, revision)

    def note(self, revision: int, loaded: Loaded) -> None:
        """Another transaction than a request's: nothing that a replay would have to make again."""
        said = json.dumps(ifindexes_of(loaded))
        self.store.append(self.pipeline, Entry(revision, NOTE, said.encode()))
        self._since += 1

    def due(self, rules: int) -> bool:
        """Whether so much was written that a snapshot is worth it."""
        return self._since > max(_MANY, rules * _SHARE)

    def fold(
        self, revision: int, parts: Iterable[bytes], config: str,
        build: tuple[str, bytes] | None = None,
    ) -> None:  # fmt: skip
        """See `Store.fold`."""
        self._since = 0
        self.store.fold(self.pipeline, revision, parts, config, KEYS, build)

    def answered(self) -> Answered:
        """The last requests with a key: its digest and answer, oldest first."""
        found: Answered = OrderedDict()
        for entry in self.store.keyed(self.pipeline, KEYS):
            if entry.key is not None and entry.answer is not None:
                created, *counts = json.loads(entry.answer)
                references = tuple(Reference(*each) for each in created)
                found[entry.key] = entry.digest or b"", Outcome(entry.revision, references, *counts)
        return found


def config_of(loaded: Loaded) -> str:
    """`Kept.config`"""
    about = {name: value for name, value in loaded.about.items() if name != "manifest"}
    return json.dumps({**about, "ifindexes": ifindexes_of(loaded)})


def ifindexes_of(loaded: Loaded) -> dict[str, int]:
    return {str(port.number): port.ifindex for port in loaded.ports}
