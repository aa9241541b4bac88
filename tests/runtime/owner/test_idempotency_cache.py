"""IdempotencyCache that are remembered: by number, and by what they name."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from helioc.lang.contract.rules.rules import Reference
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base.outcome import Outcome
from helioc.runtime.owner import idempotency_cache
from helioc.runtime.owner.idempotency_cache import IdempotencyCache


def outcome(revision: int, named: int = 0) -> Outcome:
    created = tuple(Reference("FAR", number) for number in range(1, named + 1))
    return Outcome(revision, created, named, 0, 0)


def test_the_same_request_has_the_same_answer() -> None:
    known = IdempotencyCache(OrderedDict())
    known.remember("key", b"one", outcome(7, 2))
    found = known.repeated("key", b"one")
    assert found is not None and found.repeated and len(found.created) == 2
    with pytest.raises(Refused, match="H076"):
        known.repeated("key", b"other")
    assert known.repeated("another", b"one") is None


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency_cache, "KEYS", 10)
    monkeypatch.setattr(idempotency_cache, "NAMED", 100)
    known = IdempotencyCache(OrderedDict((str(n), (b"", outcome(n, 1))) for n in range(1, 20)))
    assert [n for n in range(1, 20) if known.of(str(n))] == [*range(10, 20)]
    known.remember("large", b"", outcome(20, 95))
    assert [n for n in range(1, 20) if known.of(str(n))] == [*range(15, 20)]
    known.remember("larger", b"", outcome(21, 400))
    assert known.of("large") is None and known.of("larger") is not None, "the last one stays"
    known.remember("small", b"", outcome(22, 1))
    assert known.of("larger") is None and known.of("small") is not None


def test_a_key_that_is_made_twice_is_known_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency_cache, "KEYS", 2)
    known = IdempotencyCache(OrderedDict())
    for n, client in enumerate(("me", "me", "other")):
        known.remember("key", b"", outcome(n, 1), client)
    for n in range(3):
        known.remember(f"key {n}", b"", outcome(n, 1), "me")
    assert known._named == 2 and known.of("key 2") is not None


def test_a_clients_keys_stay_whatever_others_send(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be they known from before, or of a client that is there."""
    monkeypatch.setattr(idempotency_cache, "KEYS", 12)
    known = IdempotencyCache(OrderedDict((str(n), (b"", outcome(n))) for n in range(6)))
    for n in range(4):
        known.remember(f"mine {n}", b"", outcome(n), "me")
    for n in range(100):
        known.remember(f"other {n}", b"", outcome(n), "other")
        assert len(known._known) <= 12
    assert [known.of(f"mine {n}") is not None for n in range(4)] == [True] * 4
    assert [n for n in range(6) if known.of(str(n))] == [2, 3, 4, 5]
    assert [n for n in range(100) if known.of(f"other {n}")] == [*range(96, 100)]
    for n in range(100):
        known.remember(f"more {n}", b"", outcome(n), f"client {n % 12}")
    assert len(known._known) == 12 and len(known._clients) <= 12
    assert len([n for n in range(100) if known.of(f"more {n}")]) > 6


def test_a_clients_answers_stay_however_many_rules_others_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(idempotency_cache, "NAMED", 100)
    known = IdempotencyCache(OrderedDict())
    known.remember("mine", b"", outcome(1, 30), "me")
    for n in range(20):
        known.remember(f"other {n}", b"", outcome(n, 40), "other")
    known.remember("large", b"", outcome(21, 400), "other")
    assert known.of("mine") is not None and known.of("large") is not None
    assert known.of("other 19") is None and known._named == 430
    known.remember("small", b"", outcome(22, 1), "other")
    assert known.of("large") is None and known._named == 31
