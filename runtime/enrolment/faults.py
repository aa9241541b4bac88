"""What can go wrong with enrolment: one function for each code, H0870 to H0877, and H0880."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic

_ANEW = "have a new one made: `controller token create EDGE`"


def bad_token(why: str) -> Diagnostic:
    return Diagnostic("H0870", f"this is no token: {why}", (),
                      "take it as `controller token create EDGE` prints it")  # fmt: skip


def other_authority(controller: str) -> Diagnostic:
    title = f"`{controller}` is not the controller that the token is of"
    return Diagnostic("H0871", title, (), "its authority is another: ask whom you have the token "
                      "from where the controller is; nothing was sent")  # fmt: skip


def token_refused(why: str) -> Diagnostic:
    return Diagnostic("H0872", f"the token is not accepted: {why}", (), _ANEW)


def bad_request(why: str, help_: str = "send a PKCS #10 request, as `helioctl enrol` does") -> (
    Diagnostic
):  # fmt: skip
    return Diagnostic("H0873", f"the request for a certificate is refused: {why}", (), help_)


def no_controller(controller: str, why: str) -> Diagnostic:
    return Diagnostic("H0874", f"no controller answers at `{controller}`: {why}", (),
                      "does it run, with `--listen`, and has its certificate this name or address "
                      "(`controller init --host`)?")  # fmt: skip


def enrolled_already(name: str, controller: str) -> Diagnostic:
    title = f"this edge is enrolled already, as `{name}` with `{controller}`"
    return Diagnostic("H0875", title, (), "`--replace` takes another identity in its place")


def not_an_edge(why: str) -> Diagnostic:
    return Diagnostic("H0876", f"who asks is no edge of this fleet: {why}", (),
                      "enrol it (anew): `helioctl enrol`")  # fmt: skip


def removed(edge: str) -> Diagnostic:
    return Diagnostic("H0880", f"the edge `{edge}` was removed: who has its key is not asked", (),
                      "if it is to be one again, enrol it with a new token")  # fmt: skip


def no_certificate(edge: str) -> Diagnostic:
    return Diagnostic("H0880", f"the edge `{edge}` has no certificate that is good", (),
                      "enrol it anew, with `--replace`")  # fmt: skip


def bad_answer(controller: str, why: str) -> Diagnostic:
    return Diagnostic("H0877", f"`{controller}` answers what cannot be used: {why}", (),
                      "is it Helio's controller that listens there?")  # fmt: skip
