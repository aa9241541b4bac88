"""Errors of enrolment that several modules find."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic

_ANEW = "have a new one made: `controller token create EDGE`"


def token_refused(why: str) -> Diagnostic:
    return Diagnostic("H0872", f"the token is not accepted: {why}", (), _ANEW)


def bad_request(why: str, help_: str = "send a PKCS #10 request, as `helioctl enrol` does") -> (
    Diagnostic
):  # fmt: skip
    return Diagnostic("H0873", f"the request for a certificate is refused: {why}", (), help_)


def not_an_edge(why: str) -> Diagnostic:
    return Diagnostic("H0876", f"who asks is no edge of this fleet: {why}", (),
                      "enrol it (again): `helioctl enrol`")  # fmt: skip


def removed(edge: str) -> Diagnostic:
    return Diagnostic("H0880", f"the edge `{edge}` was removed: who has its key is not asked", (),
                      "if it is to be one again, enrol it with a new token")  # fmt: skip
