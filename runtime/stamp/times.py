"""Timestamps of test packets: NTP's (RFC 5905 section 6), and the truncated one of IEEE 1588-2008.

Both count seconds in 32 bits, so that only distances of less than 68 years mean anything.
"""

from __future__ import annotations

import time
from typing import Literal

Clock = Literal["NTP", "PTP"]
CLOCKS: tuple[Clock, ...] = ("NTP", "PTP")
SECOND = 1_000_000_000
_NTP_BEGINS = 2_208_988_800  # seconds from 1900 to 1970
_NTP_WRAPS, _PTP_WRAPS = 1 << 64, SECOND << 32
#: Of an error estimate (RFC 4656 section 4.1.2): a source of UTC sets the clock; PTP's format.
_SYNCHRONISED, _PTP = 0x8000, 0x4000
_UNKNOWN = 0x3FFF  # the largest error that it can say


def now(clock: Clock) -> int:
    if clock == "PTP":
        seconds, ns = divmod(time.clock_gettime_ns(time.CLOCK_TAI), SECOND)
        return (seconds & 0xFFFFFFFF) << 32 | ns
    seconds, ns = divmod(time.time_ns(), SECOND)
    return (seconds + _NTP_BEGINS & 0xFFFFFFFF) << 32 | (ns << 32) // SECOND


def distance(earlier: int, later: int, clock: Clock) -> int:
    """Nanoseconds from one timestamp to the other, below 0 where that is before."""
    if clock == "PTP":
        return _signed(_ptp_ns(later) - _ptp_ns(earlier), _PTP_WRAPS)
    return _signed(later - earlier, _NTP_WRAPS) * SECOND >> 32


def format_of(estimate: int) -> Clock:
    """Of the timestamps beside an error estimate."""
    return "PTP" if estimate & _PTP else "NTP"


def converted(timestamp: int, of: Clock, to: Clock) -> int:
    """The same moment in the other format: PTP's counts TAI, which is ahead of UTC by as much as
    this machine's kernel says (0 where nobody told it)."""
    if of == to:
        return timestamp
    ahead = _ahead()
    if of == "PTP":
        seconds = (timestamp >> 32) - ahead + _NTP_BEGINS
        return (seconds & 0xFFFFFFFF) << 32 | ((timestamp & 0xFFFFFFFF) << 32) // SECOND
    ns = (timestamp & 0xFFFFFFFF) * SECOND + (1 << 31) >> 32
    whole = ((timestamp >> 32) + ahead - _NTP_BEGINS) * SECOND + ns
    return (whole // SECOND & 0xFFFFFFFF) << 32 | whole % SECOND


def _ahead() -> int:
    """Seconds by which TAI is ahead of UTC."""
    return round((time.clock_gettime_ns(time.CLOCK_TAI) - time.time_ns()) / SECOND)


def error_estimate(error: int | None, clock: Clock) -> int:
    """How far off the clock is at most: `error` in ns, None where nothing synchronises it."""
    format_ = _PTP if clock == "PTP" else 0
    if error is None:
        return format_ | _UNKNOWN
    multiplier, scale = (error << 32) // SECOND + 1, 0  # in units of 2^-32 s
    while multiplier > 0xFF:
        multiplier, scale = (multiplier >> 1) + 1, scale + 1
    return _SYNCHRONISED | format_ | scale << 8 | multiplier


def _ptp_ns(timestamp: int) -> int:
    return (timestamp >> 32) * SECOND + (timestamp & 0xFFFFFFFF)


def _signed(value: int, wraps: int) -> int:
    value %= wraps
    return value - wraps if value >= wraps // 2 else value
