"""`helioctl top`: rates between two samples, as a table that fits the terminal."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from ...lang.contract.rules.rule_text import format_rule
from ...lang.text.diagnostics import Refused
from ...lang.text.render import BOLD, ERROR, paint
from ..base import errors
from ..edge.steering_status import STEERED, steered_rows
from ..kernel.handles import BpfError
from ..kernel.netlink import Counts, Netlink
from ..loading.card_reader import reader_of
from ..loading.reader import Reader
from ..rules.report import QUALITY, quality_cells, table
from .metrics import busiest, gained
from .port_sample import PortSample
from .sampling import KindSample, Sample, sample

#: Up to this number a pipeline's rules are shown by their texts; of more, by their ids.
_FEW_RULES = 20_000
_SCALE = ("", "k", "M", "G", "T")
_HOME, _CLEAR_LINE, _CLEAR_BELOW, _HIDE = "\x1b[H", "\x1b[K", "\x1b[J", "\x1b[?25l"


def watched(name: str, interval: float, rules: int, screen: bool) -> Iterator[str]:
    """A text for each interval, without end. On a `screen` it takes the last one's place. Raises
    `Refused`."""
    with Netlink() as netlink:
        before = _next_view(name, netlink)
        while True:
            time.sleep(interval)
            now = _next_view(name, netlink, rules, before.sample)
            lines = now.lines()
            yield _on_screen(lines) if screen else "\n".join(line.text for line in lines)
            before = now


class Line(NamedTuple):
    text: str
    hue: str = ""


class Busy(NamedTuple):
    """A rule, and its packets and bytes a second."""

    packets: float
    byte_rate: float
    text: str


@dataclass(frozen=True)
class TopView:
    """A sample, the one before, and the busiest rules in between."""

    sample: Sample
    before: Sample
    rules: list[Busy]

    def lines(self) -> list[Line]:
        now, before = self.sample, self.before
        seconds = max(now.time - before.time, 1e-3)
        rates = _event_rates(now, before, seconds)
        verdicts = [f"{r} {_short(rate)}/s" for (g, r), rate in rates.items() if g == "verdict"]
        out = [Line("  ".join([now.name, f"revision {now.revision:,}", *verdicts]), BOLD), Line("")]
        if now.ports:
            out += _table(_PORTS, _port_rows(now.ports, before.ports, seconds), range(3, 9))
        if now.overlays:
            lines = _table(
                _OVERLAYS, [(o.name, *quality_cells(o.quality)) for o in now.overlays], range(2, 5)
            )
            dead = [False, *(each.quality.state == "dead" for each in now.overlays)]
            hued = zip(lines, dead, strict=True)
            out += [Line(""), *(x._replace(hue=ERROR) if bad else x for x, bad in hued)]
        if now.steered:
            lines = _table(STEERED, steered_rows(now.steered), range(2, 6))
            out += [Line(""), *lines]
        kinds = _kind_rows(now.kinds, before.kinds, seconds)
        out += [Line(""), *_table(_KINDS, kinds, range(1, 5))]
        if now.states:
            states = [(s.name, f"{count:,} of {s.capacity:,}") for s, count in now.states]
            out += [Line(""), *_table(_STATES, states, range(1, 2))]
        if self.rules:
            rows = [(_short(r.packets), _short(r.byte_rate * 8), r.text) for r in self.rules]
            out += [Line(""), *_table(_RULES, rows, range(2))]
        falling = sorted(rates.items(), key=lambda item: -item[1])
        lost = [(_short(rate), f"{g}: {r}") for (g, r), rate in falling if g != "verdict" and rate]
        if lost:
            head, *below = _table(("packets/s", "event"), lost, range(1))
            alarming = [name.startswith(_ALARMING) for _, name in lost]
            found = zip(below, alarming, strict=True)
            out += [Line(""), head, *(line._replace(hue=ERROR * bad) for line, bad in found)]
        return out


def _next_view(
    name: str, netlink: Netlink, rules: int = 0, before: Sample | None = None
) -> TopView:
    with reader_of(name) as reader:
        try:
            now = sample(reader, netlink)
            if before is None or before.build != now.build:
                return TopView(now, now, [])  # the first look, or it was upgraded in between
            return TopView(now, before, _busiest(reader, now, before, rules))
        except BpfError as error:
            doing = f"read the pipeline `{reader.name}`"
            raise errors.refused(errors.of_kernel(error, doing)) from error


def _busiest(reader: Reader, now: Sample, before: Sample, most: int) -> list[Busy]:
    """The rules of all kinds that counted the most packets since."""
    seconds = max(now.time - before.time, 1e-3)
    found: list[tuple[int, int, KindSample, int]] = []
    for kind, last in zip(now.kinds, before.kinds, strict=True):
        more = gained(last, kind)
        for row in busiest(more[:, 0], most):
            packets, byte_count = more[row].tolist()
            found.append((packets, byte_count, kind, row))
    found.sort(key=lambda each: -each[0])
    few = found and sum(kind.rules for kind in now.kinds) <= _FEW_RULES
    moment = None
    if few:
        with suppress(Refused):  # it is overtaken all the time: then rules go by their names
            moment = reader.snapshot()
    rows = []
    for packets, byte_count, kind, row in found[:most]:
        rule = reader.rule_in(kind.kind, int(kind.cells[row]))
        if rule is not None and rule.sequence == int(kind.sequences[row]):
            text = f"{rule.kind} {rule.id} {rule.name}".rstrip()
            if moment is not None:
                text = format_rule(rule, reader.manifest, moment)
            rows.append(Busy(packets / seconds, byte_count / seconds, text))
    return rows


# ---- rows -----------------------------------------------------------------------------------

_PORTS = ("port", "role", "interface", "in/s", "bits/s", "drops/s", "out/s", "bits/s", "drops/s")
_OVERLAYS = ("overlay", *QUALITY)
_KINDS = ("kind", "packets/s", "bits/s", "rules", "masks")
_STATES = ("state", "entries")
_RULES = ("packets/s", "bits/s", "busiest rules")
_ALARMING = ("drop: ", "malformed: ")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], right: range) -> list[Line]:
    first, *below = table(head, rows, frozenset(right)).split("\n")
    return [Line(first, BOLD), *map(Line, below)]


def _port_rows(
    now: Sequence[PortSample], before: Sequence[PortSample], seconds: float
) -> list[Sequence[str]]:
    last = {port.name: port.counts for port in before}
    rows: list[Sequence[str]] = []
    for port in now:
        if port.counts is None:
            rows.append((port.name, port.role, port.interface, "gone", *[""] * 5))
            continue
        pairs = zip(port.counts, last.get(port.name) or port.counts, strict=True)
        rates = dict(zip(Counts._fields, ((n - was) / seconds for n, was in pairs), strict=True))
        interface = port.interface + (f" ({port.state})" if port.state != "up" else "")
        cells = [
            _short(rates[f"{way}_{what}"] * (8 if what == "bytes" else 1))
            for way in ("rx", "tx") for what in ("packets", "bytes", "dropped")
        ]  # fmt: skip
        rows.append((port.name, port.role, interface, *cells))
    return rows


def _kind_rows(
    now: Sequence[KindSample], before: Sequence[KindSample], seconds: float
) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for kind, last in zip(now, before, strict=True):
        rates = ["-", "-"]
        if kind.kind.counts:
            packets, byte_count = gained(last, kind).sum(axis=0).tolist()
            rates = [_short(packets / seconds), _short(byte_count * 8 / seconds)]
        masks = f"{kind.masks} of {kind.kind.tuples}" if kind.masks is not None else "-"
        rows.append((kind.kind.name, *rates, f"{kind.rules:,} of {kind.kind.capacity:,}", masks))
    return rows


def _event_rates(now: Sample, before: Sample, seconds: float) -> dict[tuple[str, str], float]:
    pairs = zip(now.events, before.events, strict=True)
    return {(c.group, c.reason): max(n - was, 0) / seconds for (c, n), (_, was) in pairs}


def _short(rate: float) -> str:
    """Three digits and a scale: 1.23M."""
    for scale in _SCALE:
        if rate < 999.5:
            break
        if scale != _SCALE[-1]:
            rate /= 1000
    digits = 0 if rate >= 99.95 or rate == int(rate) else 1 if rate >= 9.995 else 2
    return f"{rate:.{digits}f}{scale}"


# ---- the screen -----------------------------------------------------------------------------


def _on_screen(lines: Sequence[Line]) -> str:
    """Overwrites the last table, cut to the terminal's size."""
    width, height = shutil.get_terminal_size()
    shown = [paint(line.text[:width], line.hue, bool(line.hue)) for line in lines[: height - 1]]
    return f"{_HIDE}{_HOME}" + "".join(f"{line}{_CLEAR_LINE}\n" for line in shown) + _CLEAR_BELOW
