"""Members of a spread that a delete says by their names leave it, as those by their ids do."""

from __future__ import annotations

import pytest
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from services_world import Book

WORLD = """
create BACKEND 1 one [(address, 10.0.0.1), (port, 80), (place, HERE),
           (phase, READY), (interface, POD-A)],
       BACKEND 2 two [(address, 10.0.0.2), (port, 80), (place, HERE),
           (phase, READY), (interface, POD-B)];
create POOL 7 web [BACKEND one, BACKEND two];
create SERVICE 1 [(address, 10.9.0.1), (port, 80), (protocol, TCP), POOL web]
"""


def book() -> Book:
    made = Book()
    made.apply(parse_request(Source("world", WORLD)))
    return made


@pytest.mark.parametrize("said", ["BACKEND one", "BACKEND 1"])
def test_a_member_leaves(said: str) -> None:
    made = book()
    made.apply(parse_request(Source("request", f"delete POOL web [{said}]")))
    assert made.rules()["POOL", "web"].refers == ("two",)


def test_nobody_of_this_name() -> None:
    with pytest.raises(Refused) as caught:
        book().apply(parse_request(Source("request", "delete POOL web [BACKEND three]")))
    assert [found.code for found in caught.value.diagnostics] == ["H0440"]
