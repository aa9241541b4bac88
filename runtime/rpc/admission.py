"""Whether a call is let in, by its certificate and its role, and the error of one that is not."""

from __future__ import annotations

import time
from collections.abc import Hashable

from google.protobuf.descriptor import MethodDescriptor

from ...lang.text.diagnostics import Refused
from ...lang.text.exit_status import diagnosed
from ..base import agent_errors as faults
from ..base.errors import refused
from ..base.outcome import RevisionConflict
from ..base.revoked import Revoked
from ..front.calls import Failed, Gone, bare
from . import control_pb2 as pb
from .access import CHANGING, LASTING, NEEDED, TIMED, may
from .audit import Audit
from .callers import Caller
from .clients import Client, Clients, Limits
from .failures import failure, status_code, trailer
from .recorded import Call


class Admission(Clients):
    """The beginning and the end of every call."""

    def __init__(self, limits: Limits, audit: Audit | None) -> None:
        super().__init__(limits)
        self._audit = audit or Audit()
        #: Of certificates that TLS lets in and we do not; without TLS there is none.
        self.revoked: Revoked | None = None

    def call_of(self, name: str, described: MethodDescriptor) -> Call:
        return Call(self._audit, name, described, NEEDED.get(name, "admin") in CHANGING)

    def failed(self, error: Exception, call: Call) -> Failed | Gone:
        """What ends a call. Those of a client one after the other, so that who is refused all the
        time has no more than a turn."""
        if isinstance(error, Failed | Gone):
            call.over()
            return bare(error)
        away = error if isinstance(error, TurnedAway) else None
        wait, whose = (away.wait, away.whose) if away else (0.0, call.caller.whose)
        with self._known(whose).refusing:
            failed = failure_of(error)
            call.refused(failed)
            first = next(f for f in failed.findings if f.code)
            code, said = status_code(first.code), f"{first.code}: {first.title}"
            return Failed(code, said, trailer(failed, code, said), wait)

    def let_in(self, name: str, call: Call, caller: Caller) -> Client:
        """Then comes `leave`. Raises `TurnedAway`."""
        call.by(caller)
        known = False
        try:
            self._need_let_in(name, caller)
            known = True
            return self._enter(caller, int(name in TIMED), int(name in LASTING))
        except Refused as error:
            whose = caller.whose if known else caller.itself
            raise TurnedAway(error, whose, self._turned_away(whose)) from None

    def _need_let_in(self, name: str, caller: Caller) -> None:
        """Raises `Refused` where its certificate does not allow the call."""
        needed = NEEDED.get(name, "admin")
        if caller.ends <= time.time():
            raise refused(faults.certificate_ended(name))
        if self.revoked is not None and caller.fingerprint:
            self.revoked.need_valid(caller.fingerprint, name)
        if needed and not may(caller.role, needed):
            raise refused(faults.not_allowed(name, caller.role or "", needed))


class TurnedAway(Refused):
    """At the door; it is told after `wait` seconds. `whose`: who was charged for it."""

    def __init__(self, why: Refused, whose: Hashable, wait: float) -> None:
        super().__init__(why.diagnostics)
        self.whose, self.wait = whose, wait


def failure_of(error: Exception) -> pb.Failure:
    """What is told of an error."""
    revision = error.revision if isinstance(error, RevisionConflict) else 0
    return failure(diagnosed(error, "heliod"), revision)
