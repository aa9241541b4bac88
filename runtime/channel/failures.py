"""Errors of calls."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic
from ..http2.codes import Code
from ..http2.sockets import Tls


class Failed(Exception):
    """A call ended so. `details`: google.rpc.Status in bytes, if the server gave one. `untouched`:
    the server has not begun it, so it can be made again. `tls`: it was for want of TLS."""

    def __init__(
        self, code: Code, says: str, details: bytes = b"", untouched: bool = False,
        tls: Tls | None = None,
    ) -> None:  # fmt: skip
        super().__init__(says)
        self.code, self.says, self.details, self.untouched = code, says, details, untouched
        self.tls = tls


class Stopped(Failed):
    """This side ended it."""


#: What to do, by how TLS failed.
_TLS = {
    Tls.ENDED: "the agent's certificate has ended, or a clock is wrong: another takes the place of "
    "the files that `heliod --identity` names, without a restart",
    Tls.NOT_YET: "a clock is wrong, here or where it was made",
    Tls.OTHER_NAME: "the agent's certificate does not name this host: make one by `helioctl certs "
    "agent DIRECTORY NAME --host HOST`",
    Tls.OTHER_AUTHORITY: "another authority has signed the agent's certificate than the `ca.pem` "
    "beside `--identity`: take that of the agent's authority",
    Tls.REFUSED_HERE: "the agent refuses this client's certificate: it has ended, or another "
    "authority signed it than the agent knows: ask who runs the agent for another",
    Tls.NONE: "what listens there speaks no TLS: another program, or an agent by `--insecure-tcp`, "
    "for which `--identity` is left out",
}


def unreachable(
    address: str, why: str, identity: bool, closed: bool, tls: Tls | None = None
) -> Diagnostic:
    """`closed`: its socket is, to this user."""
    help_ = "is `heliod` running? `helioctl --local` works without it"
    if closed:
        why = "its socket is closed to this user"
        help_ = ("run `helioctl` as root, or as a member of the agent's group: `adduser USER "
                 "helio`")  # fmt: skip
    if not address.startswith("unix:"):
        help_ = "is `heliod` running, and was it told to listen there (`--tcp`)?"
        help_ = _TLS[tls] if tls else help_
        if not identity:
            help_ += " By TCP both sides show certificates: `helioctl --identity PATH`"
    return Diagnostic("H0763", f"no agent answers at `{address}`: {why}", (), help_)


def call_failed(address: str, why: str) -> Diagnostic:
    help_ = "with an idempotency key the request can be sent again without harm"
    return Diagnostic("H0764", f"the agent at `{address}` did not finish: {why}", (), help_)
