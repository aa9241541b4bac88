"""Answers that are remembered: by number, and by what they name."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from helioc.compiler.requests.rules import Reference
from helioc.lang.diagnostics import Refused
from helioc.runtime.agent import answers
from helioc.runtime.agent.answers import Answers
from helioc.runtime.agent.outcome import Outcome


def outcome(revision: int, named: int = 0) -> Outcome:
    created = tuple(Reference("FAR", number) for number in range(1, named + 1))
    return Outcome(revision, created, named, 0, 0)


def test_the_same_request_has_the_same_answer() -> None:
    known = Answers(OrderedDict())
    known.remember("key", b"one", outcome(7, 2))
    found = known.repeated("key", b"one")
    assert found is not None and found.repeated and len(found.created) == 2
    with pytest.raises(Refused, match="H076"):
        known.repeated("key", b"other")
    assert known.repeated("another", b"one") is None


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "KEYS", 10)
    monkeypatch.setattr(answers, "NAMED", 100)
    known = Answers(OrderedDict((str(n), (b"", outcome(n, 1))) for n in range(1, 20)))
    assert [n for n in range(1, 20) if known.of(str(n))] == [*range(10, 20)]
    known.remember("large", b"", outcome(20, 95))
    assert [n for n in range(1, 20) if known.of(str(n))] == [*range(15, 20)]
    known.remember("larger", b"", outcome(21, 400))
    assert known.of("large") is None and known.of("larger") is not None, "the last one stays"
    known.remember("small", b"", outcome(22, 1))
    assert known.of("larger") is None and known.of("small") is not None
