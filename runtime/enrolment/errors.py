"""Errors of enrolment that several modules find."""

from __future__ import annotations

import os

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


# ---- the console of a controller --------------------------------------------------------------


def open_token(path: str, mode: int) -> Diagnostic:
    title = f"the token in `{path}` may be read by others: its mode is {mode:04o}"
    help_ = f"`chmod 600 {path}`, and another token if somebody may have read it"
    return Diagnostic("H0806", title, (), help_)


def token_of_another(path: str, user: int) -> Diagnostic:
    title = (
        f"the token in `{path}` is another user's, whose number is {user}, and may be read by them"
    )
    help_ = f"remove the file, and a new one is made; or `chown {os.geteuid()} {path}`"
    return Diagnostic("H0806", title, (), help_)


def no_token(path: str, shortest: int) -> Diagnostic:
    help_ = f"one word of {shortest} characters or more; without the file one is made"
    return Diagnostic("H0806", f"`{path}` holds no token", (), help_)


def no_console_address(text: str) -> Diagnostic:
    return Diagnostic("H0807", f"`{text}` is no address for a console", (),
                      "HOST:PORT, as 127.0.0.1:8480 or [::1]:8480")  # fmt: skip


def console_in_the_clear(text: str) -> Diagnostic:
    title = f"a console at `{text}` would send its token in the clear"
    help_ = "for TLS make an authority (`init`); without, a console listens at the loopback only"
    return Diagnostic("H0807", title, (), help_)


def console_not_listening(text: str, error: OSError) -> Diagnostic:
    # `socket.create_server` appends the address to what the system says
    number = error.errno or 0  # below 0: of a name that is not known
    why = os.strerror(number) if number > 0 else str(error.strerror)
    title = f"a console cannot listen at `{text}`: {why.lower()}"
    help_ = "an address of this host and a free port; `ss -ltnp` tells who has it"
    return Diagnostic("H0807", title, (), help_)
