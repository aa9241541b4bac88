"""The reader: a process of the agent's that only reads rules, so that nothing slow stands beside
what changes them; and deletes entries of states, which belong to no transaction. This is its side;
readers.py is the agent's.

At further sockets, which listen, the reader also serves metrics.

The agent sends, over a socket of packets that the reader begins with, for each call one byte
(the method) and one or two descriptors: a stream socket for this call, and for what lists rules a
memory file with what leads to the rules of a moment (`Writer.copies`, `CardWriter.copies`); for
what deletes entries a program (`StateTable.remover`), which the reader may run and could not load.
Until the reader says `COPIED` the agent lets nothing that this leads to be overwritten.

On the stream socket frames go both ways: kind u8, length u32 (little-endian), bytes. First the
agent's request: the object's digest and the message; then the reader's answers: PART after PART,
then END; or FAILED with a `Failure`.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext, suppress

from google.protobuf.message import Message

from ...lang.text.exit_status import diagnosed
from ..base import agent_errors as faults
from ..base.errors import refused
from ..kernel.handles import Program
from ..kernel.pins import duplicate_fd
from ..loading.card_reader import reader_of
from ..loading.reader import Reader
from ..rules.moment import Moment
from . import control_pb2 as pb
from . import entries, listing
from .failures import failure
from .methods import LISTING, LISTINGS

PART, END, FAILED, COPIED = range(4)
METHODS = ("List", "Get", "Stats", "States", "Entries", "GetEntry", "DeleteEntry", "Flush")
FRAME = struct.Struct("<BI")
DIGEST = 64
#: Seconds without a call after which a reader ends. The next takes some tenths of one to begin.
IDLE = 60.0


def send(to: socket.socket, kind: int, data: bytes = b"") -> None:
    to.sendall(FRAME.pack(kind, len(data)) + data)


def receive(from_: socket.socket) -> tuple[int, bytes]:
    """A frame. Raises EOFError where the other side is gone."""
    kind, length = FRAME.unpack(_exactly(from_, FRAME.size))
    return kind, _exactly(from_, length)


def _exactly(from_: socket.socket, count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        part = from_.recv(count - len(found))  # MSG_WAITALL waits at no socket that has a timeout
        if not part:
            raise EOFError
        found += part
    return bytes(found)


# ---- the process ----------------------------------------------------------------------------


def main() -> None:
    """Answer until the agent is gone. Who serves no metrics ends, too, when there was no call for a
    while: the next one starts another."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the agent ends us
    # Whoever waits for a list can wait for requests to come into force, too; whatever the agent's
    # own CPU and priority are.
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        os.nice(10)
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    for descriptor in map(int, sys.argv[2:]):
        from ..observe.metrics_server import MetricsServer  # without --metrics nobody needs it

        MetricsServer(socket.socket(fileno=descriptor))
    with socket.socket(fileno=int(sys.argv[1])) as control:
        control.settimeout(None if sys.argv[2:] else IDLE)
        _serve(control)


def _serve(control: socket.socket) -> None:
    slots, ending = threading.Semaphore(LISTINGS), False
    while True:
        try:
            method, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        except TimeoutError:
            if threading.active_count() > 1:
                continue
            control.shutdown(socket.SHUT_RD)  # from now on the agent cannot send; what came is done
            ending = True
            continue
        if not method:
            return
        call = socket.socket(fileno=descriptors[0])
        work = _Call(METHODS[method[0]], call, descriptors[1:], slots)
        if ending:
            work.answer()
        else:
            try:
                threading.Thread(target=work.answer, daemon=True).start()
            except RuntimeError:  # there may be no more of them: others wait
                work.answer()


def _named(message: bytes) -> str:
    """The pipeline that a StatsRequest means."""
    return pb.StatsRequest.FromString(message).pipeline


class _Call:
    """One call, in a thread of its own."""

    def __init__(
        self, method: str, call: socket.socket, more: list[int], slots: threading.Semaphore
    ) -> None:
        self.method, self.call, self._slots = method, call, slots
        #: Of a memory file, or a program.
        self._given = more[0] if more else -1

    def answer(self) -> None:
        with self.call, suppress(OSError, EOFError):  # by which the agent's client went away
            _, asked = receive(self.call)
            try:
                with self._slots if self.method in LISTING else nullcontext():
                    for part in self._parts(asked[:DIGEST].decode(), asked[DIGEST:]):
                        send(self.call, PART, _bytes(part))
                send(self.call, END)
            except (OSError, EOFError):
                raise
            except Exception as error:
                send(self.call, FAILED, failure(diagnosed(error, "heliod")).SerializeToString())
        if self._given >= 0:
            os.close(self._given)

    def _parts(self, digest: str, data: bytes) -> Iterator[Message | bytes]:
        answers: dict[str, Callable[[str, bytes], Iterator[Message | bytes]]] = {
            "List": self._list, "Get": self._get, "Stats": self._stats,
        }  # fmt: skip
        return answers.get(self.method, self._of_states)(digest, data)

    def _list(self, digest: str, data: bytes) -> Iterator[Message | bytes]:
        asked = pb.ListRequest.FromString(data)
        with reader_of(asked.pipeline, False) as reader:
            query = listing.Query(reader, asked.filter, asked.form)
            moment = self._moment(reader, digest, query).detach()
            send(self.call, COPIED)
            yield from listing.Listing(moment, query).parts()

    def _get(self, digest: str, data: bytes) -> Iterator[Message]:
        asked = pb.GetRequest.FromString(data)
        with reader_of(asked.pipeline, False) as reader:
            query = listing.Query(reader, listing.one(asked), asked.form)
            found = next(iter(listing.Listing(self._moment(reader, digest, query), query)), None)
            send(self.call, COPIED)
            if found is None:
                raise listing.none_of(reader, asked)
            yield found

    def _stats(self, digest: str, data: bytes) -> Iterator[Message]:
        with reader_of(_named(data), False) as reader:
            yield listing.stats(reader)

    def _of_states(self, digest: str, data: bytes) -> Iterator[Message]:
        kind, answers = entries.ANSWERS[self.method]
        asked = kind.FromString(data)
        with ExitStack() as owned:
            reader = owned.enter_context(reader_of(asked.pipeline, False))
            given, program = self._given, None
            if given >= 0:
                program = owned.enter_context(Program(duplicate_fd(given)))
            yield from answers(reader, asked, program)

    def _moment(self, reader: Reader, digest: str, query: listing.Query) -> Moment:
        if reader.manifest.digest != digest:
            raise refused(faults.other_build())
        return reader.snapshot_in(self._given, query.within)


def _bytes(part: Message | bytes) -> bytes:
    return part if isinstance(part, bytes) else part.SerializeToString()
