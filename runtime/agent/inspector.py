"""Kernel objects of the agent's pipelines, compared now and then with what was loaded."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock

from ...lang.text.diagnostics import Diagnostic, Refused
from ..base.errors import of_kernel, repaired, unsound
from ..base.logs import text as log_text
from ..kernel.handles import BpfError
from ..kernel.netlink import Netlink
from ..loading.attach import bare_ports
from ..loading.bundle import Bundle
from ..loading.integrity import defects, link_defects
from ..owner.owner import Owner

#: Seconds: for which what was seen is taken as still so, and until a busy pipeline is left for
#: another time.
_FRESH, _TURN = 0.05, 0.5
#: Seconds between two repairs of a pipeline.
_AGAIN = 10.0
_log = logging.getLogger("heliod.objects")


@dataclass(frozen=True)
class _Seen:
    """`bare`: ports that have no program. `again`: from when on another repair is tried, and `why`
    the last one failed."""

    at: float = float("-inf")
    findings: tuple[Diagnostic, ...] = ()
    bare: tuple[str, ...] = ()
    again: float = float("-inf")
    why: tuple[Diagnostic, ...] = ()


class Inspector:
    """May be used from any thread."""

    def __init__(self, bundle: Callable[[Owner], Bundle]) -> None:
        """`bundle`: that of the build that runs. Raises `Refused`."""
        self._bundle = bundle
        self._seen: dict[Owner, _Seen] = {}
        self._looking = Lock()

    def findings(self, owner: Owner, fresh: float = _FRESH) -> tuple[Diagnostic, ...]:
        """What is wrong, as of `fresh` seconds ago or later. A port that has lost its link gets
        another one; where its program is lost, too, the pipeline is repaired."""
        with self._looking:
            before = self._seen.get(owner, _Seen())
            if time.monotonic() < before.at + fresh:
                return before.findings
            self._seen = {each: seen for each, seen in self._seen.items() if not each.ended}
            found = self._look(owner, before)
            for new in (each for each in found if each not in before.findings):
                _log.error("%s", log_text(new))
            seen = self._seen.get(owner, before)
            self._seen[owner] = replace(seen, at=time.monotonic(), findings=found)
            return found

    def bare(self, owner: Owner) -> tuple[str, ...]:
        """Ports that had no program when it was looked last: their packets go to the kernel. Waits
        for nobody."""
        return self._seen.get(owner, _Seen()).bare

    def forget(self, owner: Owner) -> None:
        """It was repaired: look again."""
        with self._looking:
            self._seen.pop(owner, None)

    def _look(self, owner: Owner, before: _Seen) -> tuple[Diagnostic, ...]:
        try:
            if found := _wrong(owner):
                with suppress(Refused, BpfError):
                    owner.refresh(time.monotonic() + _TURN)
                    found = _wrong(owner)
            seen = self._seen[owner] = replace(before, bare=_bare(owner) if found else ())
            # The new link could have had a program, were that not gone.
            if seen.bare and defects(owner.loaded):
                seen = self._seen[owner] = self._repaired(owner, seen)
                found = _wrong(owner)
            return (unsound(owner.name, found, seen.bare), *seen.why) if found else ()
        except Refused as error:
            return before.findings if _busy(error) or owner.ended else tuple(error.diagnostics)
        except BpfError as error:
            return (of_kernel(error, f"look at the kernel objects of `{owner.name}`"),)

    def _repaired(self, owner: Owner, seen: _Seen) -> _Seen:
        """What is so after a repair, if it is time for one."""
        if time.monotonic() < seen.again:
            return seen
        try:
            found = owner.repair(partial(self._bundle, owner), time.monotonic() + _TURN)
        except Refused as error:
            if _busy(error):
                raise
            seen = replace(seen, again=time.monotonic() + _AGAIN, why=tuple(error.diagnostics))
        else:
            _log.warning("%s", log_text(repaired(owner.name, found)))
            seen = replace(seen, again=time.monotonic() + _AGAIN, why=())
        return replace(seen, bare=_bare(owner))


def _busy(error: Refused) -> bool:
    return any(each.code == "H0766" for each in error.diagnostics)


def _bare(owner: Owner) -> tuple[str, ...]:
    """Names of the ports whose interface is there and has no program."""
    with Netlink() as netlink:
        links = netlink.links()
    return tuple(port.name for port in bare_ports(owner.name, owner.loaded.ports, links))


def _wrong(owner: Owner) -> list[str]:
    """No request waits for the first look, which an upgrade may mislead; the second is sure."""
    loaded = owner.loaded
    if not defects(loaded) and not link_defects(loaded):
        return []
    with owner.still(time.monotonic() + _TURN) as loaded:
        return [*defects(loaded), *link_defects(loaded)]
