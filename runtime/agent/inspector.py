"""Kernel objects of the agent's pipelines, compared now and then with what was loaded."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock

from ...lang.diagnostics import Diagnostic, Refused
from ...lang.render import render
from ..faults import of_kernel, unsound
from ..kernel.handles import BpfError
from ..loading.soundness import links_wrong, wrong
from .owner import Owner

#: Seconds: for which what was seen is taken as still so, and until a busy pipeline is left for
#: another time.
_FRESH, _TURN = 0.05, 0.5
_log = logging.getLogger("heliod.objects")


@dataclass(frozen=True)
class _Seen:
    at: float
    findings: tuple[Diagnostic, ...]


class Inspector:
    """May be used from any thread."""

    def __init__(self) -> None:
        self._seen: dict[Owner, _Seen] = {}
        self._looking = Lock()

    def findings(self, owner: Owner, fresh: float = _FRESH) -> tuple[Diagnostic, ...]:
        """What is wrong, as of `fresh` seconds ago or later. A port that has lost its link gets
        another one."""
        with self._looking:
            before = self._seen.get(owner)
            if before is not None and time.monotonic() < before.at + fresh:
                return before.findings
            self._seen = {each: seen for each, seen in self._seen.items() if not each.ended}
            known = before.findings if before is not None else ()
            found = _look(owner, known)
            for new in (each for each in found if each not in known):
                _log.error("%s", render(new))
            self._seen[owner] = _Seen(time.monotonic(), found)
            return found

    def forget(self, owner: Owner) -> None:
        """It was repaired: look again."""
        with self._looking:
            self._seen.pop(owner, None)


def _look(owner: Owner, known: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    try:
        if not (found := _wrong(owner)):
            return ()
        with suppress(Refused, BpfError):
            owner.refresh(time.monotonic() + _TURN)
            found = _wrong(owner)
        return (unsound(owner.name, found),) if found else ()
    except Refused as error:
        busy = any(each.code == "H0766" for each in error.diagnostics)
        return known if busy or owner.ended else tuple(error.diagnostics)
    except BpfError as error:
        return (of_kernel(error, f"look at the kernel objects of `{owner.name}`"),)


def _wrong(owner: Owner) -> list[str]:
    """No request waits for the first look, which an upgrade may mislead; the second is sure."""
    loaded = owner.loaded
    if not wrong(loaded) and not links_wrong(loaded):
        return []
    with owner.still(time.monotonic() + _TURN) as loaded:
        return [*wrong(loaded), *links_wrong(loaded)]
