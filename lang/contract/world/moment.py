"""When a packet comes, and what chance gives it."""

from __future__ import annotations

from dataclasses import dataclass, replace

SECOND = 1_000_000_000
#: Seconds from 1900, where NTP counts from, to 1970 (RFC 5905 figure 4).
NTP_1970 = 2_208_988_800
#: Of an error: nobody knows how large it is.
UNKNOWN_ERROR = (1 << 32) - 1


@dataclass(frozen=True)
class Moment:
    """All in ns. `now`: since the host started, CLOCK_MONOTONIC. `utc`: since 1970, CLOCK_REALTIME;
    `tai`: how far CLOCK_TAI is ahead of that; `error`: how wrong both may be. `random`: what
    `random(n)` gives is the remainder of it by n. A test starts at the beginning of 2026."""

    now: int = 1_000 * SECOND
    utc: int = 1_767_225_600 * SECOND
    tai: int = 37 * SECOND
    error: int = UNKNOWN_ERROR
    random: int = 0

    def later(self, ns: int) -> Moment:
        return replace(self, now=self.now + ns, utc=self.utc + ns)

    def time(self, clock: str) -> int:
        """What `now` (`boot`), `now(utc)`, `now(ntp)` and `now(ptp)` give: see `model.Now`."""
        if clock in ("boot", "utc"):
            return self.now if clock == "boot" else self.utc
        if clock == "ntp":
            seconds, ns = divmod(self.utc, SECOND)
            return (seconds + NTP_1970) % (1 << 32) << 32 | (ns << 32) // SECOND
        seconds, ns = divmod(self.utc + self.tai, SECOND)
        return seconds % (1 << 32) << 32 | ns

    def drawn(self, bound: int) -> int:
        """What `random(bound)` gives."""
        return self.random % bound if bound else 0
