"""Calls whose requests are made in their order, several at a time.

All requests that have come on a connection are made in force, wait for the disk once, and are
answered at once, by the thread that read them: to hand them to another takes longer than most of
them do. Another thread does it where nobody would be left for the sockets, for large requests, and
after who asks too fast has waited.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .calls import Call, Failed, Gone, Ordered, bare
from .timers import Timers

#: Requests of a call that are in force and not answered.
DEPTH = 64
#: Bytes of a request that is made by the thread that has the socket.
SMALL = 4 << 10

#: Waits for an answer, or says how the call ends.
_Finish = Callable[[], bytes | Failed | Gone]


class Lane:
    """Such a call. `going`: a thread is at work on it, or will be."""

    going = False
    _made: Ordered | None = None
    #: The next request has waited as it has to; seconds that it still has to; it is large.
    _paid, _wait, _large = False, 0.0, False
    #: It waits for the client to take answers; it ended nothing, and waits for nothing else.
    blocked, quiet = False, True
    _failed: Failed | None = None

    def __init__(
        self, call: Call, submit: Callable[[Callable[[], object]], object], timers: Timers
    ) -> None:
        """`submit`: have work carried out by another thread."""
        self.call, self._submit, self._timers = call, submit, timers

    def begin(self, inline: bool) -> list[_Finish]:
        """Make requests; what waits for the answer of each."""
        if self._failed is not None:  # that has waited
            return [partial(_same, self._failed)]
        begun: list[_Finish] = []
        call = self.call
        try:
            if self._made is None and call.open:
                assert call.method.ordered is not None
                self._made = call.method.ordered(call)
            made = self._made
            if made is not None and not call.room:  # of which what is begun takes none
                return begun
            while made is not None and call.asked and not made.over and len(begun) < DEPTH:
                if (request := self._next(made, inline)) is None:
                    break
                begun.append(made.begin(request))
        except Failed as error:
            failed = bare(error)
            if error.wait:
                self._failed, self._wait = failed, error.wait
            else:
                begun.append(partial(_same, failed))
        return begun

    def _next(self, made: Ordered, inline: bool) -> bytes | None:
        """The request that can be made now."""
        call = self.call
        with call.lock:
            if not call.asked:
                return None
            request = call.asked[0]
            if not self._paid:
                self._paid, self._wait = True, made.cost(request)
            self._large = inline and len(request) > SMALL
            if self._wait or self._large:
                return None
            self._paid = False
            return call.take()

    def answer(self, finish: _Finish) -> None:
        """Not sent before the connection is flushed."""
        message, call = finish(), self.call
        if isinstance(message, Failed):
            call.fail(message, flush=False)
        elif not isinstance(message, Gone):
            with call.lock:
                if call.open:
                    call.put(message)
                    if call.method.single:
                        call.finish(flush=False)

    def settle(self) -> None:
        if self._made is not None:
            self._made.settle()

    def goes_on(self) -> bool:
        """Whether this thread has more to do for it. The connection's lock is had."""
        call = self.call
        self.quiet = not call.open or not (self._wait or self._large or call.asked or call.ended)
        if not call.open:
            self._end()
        elif self._wait or self._large:
            wait, self._wait, self._large = self._wait, 0.0, False
            work = partial(self._submit, partial(serve, [self]))
            if wait:
                self._timers.after(wait, work)
            else:
                work()
        elif not call.asked and call.ended:
            self._end()
        elif not call.asked:
            self.going = False
        elif not call.room:
            self.blocked = True
            call.want_room()
        else:
            return True
        return False

    def unblocked(self) -> bool:
        """Whether it goes on that was blocked; then the caller sees to that."""
        found = self.blocked and (self.call.room or not self.call.open)
        self.blocked = self.blocked and not found
        return found

    def _end(self) -> None:
        made, self._made = self._made, None
        try:
            if made is not None:
                made.close()
            if self.call.open:
                self.call.finish(flush=False)
        except Failed as error:
            self.call.fail(error, flush=False)


def serve(lanes: list[Lane], inline: bool = False) -> bool:
    """Lanes of one connection, until they have nothing to do. Returns whether all was sent.
    `inline`: by the thread that has the socket, and sends the rest."""
    quiet = True
    while lanes:
        one, served, quiet = lanes[0].call, lanes, True
        begun: list[tuple[Lane, _Finish]] = []
        for lane in served:
            for finish in lane.begin(inline):
                begun.append((lane, finish))
        for lane, finish in begun:
            lane.answer(finish)
        with one.lock:
            one.flush()  # what is sent now has made room by then
        for lane in served:
            lane.settle()
        lanes = []
        with one.lock:
            for lane in served:
                if lane.goes_on():
                    lanes.append(lane)
                quiet = quiet and lane.quiet
            if not (quiet or inline):
                one.flush()
    return quiet


def _same(failed: Failed) -> Failed:
    return failed
