"""`helioctl trace`: the selected packets as text."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from ...lang.contract.trace.decode import Recorded
from ...lang.contract.trace.filter_text import read_filter
from ...lang.contract.trace.filters import Filter, passes
from ...lang.contract.trace.text import TraceText
from ...lang.text.diagnostics import Diagnostic, did_you_mean
from ..base.errors import refused
from .control import TraceFilter
from .filter_terms import compile_filter
from .swap import Tracing, tracing

#: Seconds that the data path goes on telling without hearing of us, and between two words.
_TRUST, _BEAT = 3.0, 0.5


@dataclass(frozen=True)
class TraceOptions:
    """Which packets are shown, and how. `filter` and `port` may be empty, `count` None: then
    all."""

    filter: str = ""
    sample: str = "1/1"
    port: str = ""
    count: int | None = None
    as_json: bool = False
    colour: bool = False


class TraceOutput:
    """The output of a trace."""

    def __init__(self, session: Tracing, watched: TraceOptions, condition: Filter | None) -> None:
        self._session, self._watched, self._condition = session, watched, condition
        ports = {number: name for name, number in session.ports.items()}
        self._text = TraceText(ports, watched.colour)
        self._told = 0
        # what a record's time, of CLOCK_MONOTONIC, is by the clock
        self._epoch = time.time() - time.clock_gettime(time.CLOCK_MONOTONIC)

    def texts(self) -> Iterator[str]:
        """A packet each, until there are as many as were asked for, or the pipeline is gone."""
        tracer = self._session.tracer
        while not self._session.ended:
            tracer.extend(_TRUST)
            tracer.wait(_BEAT)
            self._session.renew()
            for recorded in tracer.recorded():
                if self._condition is not None and not passes(self._condition, recorded):
                    continue
                self._told += 1
                yield self._said(recorded)
                if self._told == self._watched.count:
                    return

    def _said(self, recorded: Recorded) -> str:
        at = self._epoch + recorded.time / 1e9
        if self._watched.as_json:
            more = {"number": self._told, "time": round(at, 6), "frame": recorded.frame.hex()}
            return self._text.to_json(recorded.trace, **more)
        clock = datetime.fromtimestamp(at).strftime("%H:%M:%S.%f")
        return self._text.text(recorded.trace, f"packet {self._told} at {clock}")

    def account(self) -> str:
        """A summary for the end; empty where there is nothing to report."""
        lines = []
        if lost := self._session.tracer.lost:
            lines.append(f"{lost:,} more came too fast to be recorded: ask for fewer, by a filter "
                        "or --sample")  # fmt: skip
        if self._session.ended:
            lines.append(f"`{self._session.name}` was unloaded or upgraded")
        return "\n".join(lines)


@contextmanager
def watch(name: str, watched: TraceOptions) -> Iterator[TraceOutput]:
    """Raises `Refused`."""
    sample_of(watched.sample)  # before anything is loaded
    with tracing(name) as session:
        asked, condition = asked_of(session, watched)
        session.tracer.ask(asked, _TRUST)
        yield TraceOutput(session, watched, condition)


def asked_of(session: Tracing, watched: TraceOptions) -> tuple[TraceFilter, Filter | None]:
    """What the data path decides of the options, and all of their filter. Raises `Refused`."""
    condition = read_filter(watched.filter, session.schema.nodes) if watched.filter else None
    sample, port = sample_of(watched.sample), watched.port
    number = session.ports.get(port, 0)
    if port and not number:
        help_ = did_you_mean(port, session.ports) or f"its ports: {', '.join(session.ports)}"
        raise refused(_no_such_port(session.name, port, help_))
    if port in session.untraced:
        raise refused(_port_at_tc(port))
    return compile_filter(condition, session.schema.nodes, number, sample), condition


def sample_of(text: str) -> int:
    """N of `1/N`. Raises `Refused`."""
    found = re.fullmatch(r"1/([1-9][0-9]{0,8})", text)
    if found is None:
        raise refused(_bad_sample(text))
    return int(found[1])


# ---- errors ---------------------------------------------------------------------------------


def _port_at_tc(port: str) -> Diagnostic:
    return Diagnostic(
        "H0567", f"the port `{port}` is at tc, where its packets are not traced", (),
        "the bundle has a traced build for xdp alone: compile it again, and `helioctl upgrade`",
    )  # fmt: skip


def _no_such_port(name: str, port: str, help_: str) -> Diagnostic:
    return Diagnostic("H0853", f"the pipeline `{name}` has no port `{port}`", (), help_)


def _bad_sample(text: str) -> Diagnostic:
    return Diagnostic("H0854", f"`--sample {text}` cannot be understood", (),
                      "1/100 is one packet of a hundred")  # fmt: skip
