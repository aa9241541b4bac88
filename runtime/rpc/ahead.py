"""Requests of a stream, begun ahead of the answers to those before them.

So the disk is waited for once for all that came meanwhile, not once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import NoReturn, TypeVar

from ...lang.diagnostics import Refused

#: Requests of one stream that are in force and not answered: who sends more is held back.
DEPTH = 256

_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")


def ahead(
    begin: Callable[[_Request], Callable[[], _Answer]], requests: Iterable[_Request]
) -> Generator[Callable[[], _Answer], None, None]:
    """For each request, in order, what waits for its answer; where `begin` raised `Refused`, that
    raises it. `begin` is called by a thread of this one's, which ends with the generator."""
    begun = SimpleQueue[Callable[[], _Answer] | BaseException | None]()
    room = Semaphore(DEPTH)
    left = False

    def work() -> None:
        try:
            for request in requests:
                try:
                    begun.put(begin(request))
                except Refused as error:
                    begun.put(_raising(error))
                room.acquire()
                if left:
                    return
            begun.put(None)
        except BaseException as error:
            begun.put(error)

    thread = Thread(target=work, name=__name__, daemon=True)
    thread.start()
    try:
        while (found := begun.get()) is not None:
            if isinstance(found, BaseException):
                raise found
            yield found
            room.release()
    finally:
        left = True
        room.release()


def _raising(error: Refused) -> Callable[[], NoReturn]:
    def raise_it() -> NoReturn:
        raise error

    return raise_it
