"""What an agent does with its journal by chance, what it promises, and whether that is kept."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from helioc.runtime.base.outcome import Outcome
from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.ledger import Ledger
from helioc.runtime.journal.store import Store
from journal_world import build


@dataclass
class Promise:
    """What was acknowledged from a moment on: `pipelines` by their last revision; `going` are being
    loaded or unloaded. `intents`: how many were told."""

    at: int = 0
    pipelines: dict[str, int] = field(default_factory=dict)
    going: frozenset[str] = frozenset()
    intents: int = 0


class Work:
    """What an agent does, by chance, and what it promises by then."""

    def __init__(self, directory: Path, clock: Callable[[], int], seed: int) -> None:
        """`clock`: what the moment of a promise is."""
        self.clock, self.chance = clock, random.Random(seed)
        self.promises = [Promise()]
        self.last: dict[str, int] = {}
        self.journals: dict[str, Journal] = {}
        with closing(Store(directory)) as self.store:
            self.ledger = Ledger(self.store)
            for _ in range(40):
                self.step()
            for journal in self.journals.values():
                journal.close()

    def promise(self, going: str = "", intents: int = 0) -> None:
        before = self.promises[-1]
        made = Promise(self.clock(), {n: self.last[n] for n in self.journals},
                       frozenset({going} - {""}), before.intents + intents)  # fmt: skip
        self.promises.append(made)

    def step(self) -> None:
        name = self.chance.choice(("edge", "core"))
        if name not in self.journals:
            return self.load(name)
        what = self.chance.choices(
            (self.group, self.fold, self.unload, self.confirm, self.intent, self.prepare),
            (12, 3, 1, 2, 2, 1),
        )[0]
        what(name)

    def load(self, name: str) -> None:
        self.promise(going=name)
        self.last.setdefault(name, 0)
        self.journals[name] = Journal(self.store, self.store.begin(name, build()))
        self.fold(name, promised=False)
        self.promise()

    def unload(self, name: str) -> None:
        journal = self.journals.pop(name)
        self.promise(going=name)
        self.store.retire(name)
        journal.close()
        self.store.remove(name)
        self.promise()

    def write(self, name: str, text: bytes = b"request") -> None:
        revision = self.last[name] + 1
        key = f"k{revision}" if revision % 3 else ""
        outcome = Outcome(revision, (), 0, 0, 0)
        content = b"%s %d %s" % (text, revision, b"." * self.chance.choice((0, 40, 900)))
        self.journals[name].request(content, False, key, b"d", outcome)
        self.last[name] = revision

    def group(self, name: str) -> None:
        for _ in range(self.chance.randrange(5)):
            self.write(name)
        if self.chance.random() < 0.3:  # one that others have waited for cannot be made
            self.write(name, b"withdrawn")
            if self.chance.random() < 0.5:
                self.journals[name].acknowledged()
            self.journals[name].withdraw(self.last[name])
            self.last[name] -= 1
        self.journals[name].acknowledged()
        self.promise()

    def fold(self, name: str, promised: bool = True) -> None:
        journal = self.journals[name]
        if promised and self.chance.random() < 0.5:  # not acknowledged before it goes on
            self.write(name)
        revision = self.last[name]
        with journal.open_next() as descriptor:
            made = journal.turn_over(descriptor, revision, [b"rules %d" % revision], "{}")
        if promised:
            self.group(name)
        journal.fold(made)

    def confirm(self, name: str) -> None:
        journal = self.journals[name]
        journal.confirm(journal.number, journal.log.mark)

    def intent(self, name: str) -> None:
        self.ledger.put({self.promises[-1].intents + 1: name})
        self.promise(intents=1)

    def prepare(self, name: str) -> None:
        self.store.prepare(self.journals[name].pipeline, build(b"another"))


def judge(directory: Path, promised: Promise) -> list[str]:
    """What is not as it was promised."""
    wrong: list[str] = []
    with closing(Store(directory)) as store:
        if store.losses:
            return [f"{loss}" for loss in store.losses]
        there = {item.name: item for item in store.pipelines()}
        for name, revision in promised.pipelines.items():
            item = there.pop(name, None)
            if item is None:
                wrong.append(f"{name} is gone")
                continue
            entries = store.written(item).entries
            last = entries[-1].revision if entries else item.revision
            if last < revision:
                wrong.append(f"{name}: {last} of {revision}")
            assert store.build(item) == build()
            assert store.snapshot(item) == b"rules %d" % item.revision
            assert [e.revision for e in entries] == list(range(item.revision + 1, last + 1))
            for entry in entries:
                assert entry.content.startswith(b"request") or entry.revision > revision
        wrong += [f"{name} is there" for name in there if name not in promised.going]
        if len(Ledger(store).texts) < promised.intents:
            wrong.append("an intent is gone")
    return wrong
