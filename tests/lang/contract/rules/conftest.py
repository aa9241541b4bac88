"""What the rule book's tests share: see tests/support/rules_world.py."""

from __future__ import annotations

import pytest
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import Plan, RuleBook
from helioc.lang.text.source import Source
from linx_manifest import IFINDEXES, PORTS, linx
from rules_world import Say, world


@pytest.fixture
def book() -> RuleBook:
    return world()


@pytest.fixture
def empty() -> RuleBook:
    return RuleBook(linx(), PORTS, IFINDEXES)


@pytest.fixture
def say() -> Say:
    """say(book, text): plan and commit."""

    def done(book: RuleBook, text: str) -> Plan:
        plan = book.plan(parse_request(Source("request", text)))
        book.commit(plan)
        return plan

    return done
