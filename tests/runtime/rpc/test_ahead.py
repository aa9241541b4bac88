"""A stream's requests are begun before the answers to those before them, and answered in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from helioc.lang.diagnostics import Diagnostic, Refused
from helioc.runtime.rpc import ahead as module
from helioc.runtime.rpc.ahead import DEPTH, ahead
from lab import until


def test_all_are_begun_before_the_first_is_answered() -> None:
    begun, all_there = list[int](), threading.Event()

    def begin(request: int) -> Callable[[], int]:
        begun.append(request)
        if request == 9:
            all_there.set()

        def answer() -> int:
            assert all_there.wait(10)
            return request

        return answer

    assert [answer() for answer in ahead(begin, range(10))] == begun == list(range(10))


def test_what_is_refused_is_answered_in_its_place() -> None:
    def begin(request: int) -> Callable[[], int]:
        if request == 1:
            raise Refused([Diagnostic("H0001", "no", ())])
        return lambda: request

    first, second, third = ahead(begin, range(3))
    assert (first(), third()) == (0, 2)
    with pytest.raises(Refused, match="H0001"):
        second()


def test_a_fault_of_the_stream_ends_it() -> None:
    def requests() -> Iterator[int]:
        yield 0
        raise ZeroDivisionError

    found = ahead(lambda request: lambda: request, requests())
    assert next(found)() == 0
    with pytest.raises(ZeroDivisionError):
        next(found)


def test_who_reads_no_answers_is_held_back_and_may_leave() -> None:
    begun = list[int]()

    def begin(request: int) -> Callable[[], int]:
        begun.append(request)
        return lambda: request

    def threads() -> list[threading.Thread]:
        return [each for each in threading.enumerate() if each.name == module.__name__]

    found = ahead(begin, range(10 * DEPTH))
    assert next(found)() == 0
    until(lambda: len(begun) == DEPTH + 1, "so many are begun")
    found.close()
    until(lambda: not threads(), "its thread ends")
    assert len(begun) == DEPTH + 1
