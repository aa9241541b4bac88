"""Errors between a client and the agent that several modules raise."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic


def key_reused(key: str) -> Diagnostic:
    return Diagnostic("H0761", f"the idempotency key `{key}` was another request's", (),
                      "a key of its own for each request")  # fmt: skip


def bad_message(what: str, help_: str) -> Diagnostic:
    return Diagnostic("H0762", what, (), help_)


def other_build() -> Diagnostic:
    return Diagnostic("H0765", "the pipeline is another build than the request was made for", (),
                      "ask for the schema again")  # fmt: skip


def late(seconds: float) -> Diagnostic:
    return Diagnostic("H0766", f"the pipeline was busy for {seconds:.3g} s: nothing was changed",
                      (), "send it again, or with a later deadline")  # fmt: skip


def no_library(name: str, package: str) -> Diagnostic:
    return Diagnostic("H0795", f"the library `{name}` is not installed", (),
                      f"install it: `apt-get install {package}`")  # fmt: skip


def ended() -> Diagnostic:
    return Diagnostic("H0768", "the agent is ending", (), "pipelines go on working without it")


def bad_address(address: str) -> Diagnostic:
    help_ = "unix:PATH, or HOST:PORT, with a port from 1 to 65535"
    return Diagnostic("H0769", f"`{address}` is no address of an agent", (), help_)


def too_much(what: str, help_: str) -> Diagnostic:
    return Diagnostic("H0770", what, (), help_)


def bad_identity(
    path: str, why: str, help_: str = "`helioctl certs` makes some for a laboratory"
) -> Diagnostic:
    return Diagnostic("H0771", f"the certificate and key `{path}` cannot be used: {why}", (), help_)


def no_certificate(path: str, why: str, help_: str = "") -> Diagnostic:
    then = "certificates and keys are never overwritten: take another name, or directory"
    return Diagnostic("H0772", f"cannot write `{path}`: {why}", (), help_ or then)


def not_allowed(what: str, role: str, needed: str) -> Diagnostic:
    have = f"its certificate's role is `{role}`" if role else "its certificate has no role"
    return Diagnostic("H0773", f"this client may not call {what}: {have}", (),
                      f"a certificate with the role `{needed}` allows it")  # fmt: skip


def revoked(what: str) -> Diagnostic:
    return Diagnostic("H0776", f"this client may not call {what}: its certificate is revoked", (),
                      "ask who runs the agent for another certificate")  # fmt: skip


def certificate_ended(what: str) -> Diagnostic:
    return Diagnostic("H0799", f"this client may not call {what}: its certificate has ended", (),
                      "its authority can sign another one for the same key")  # fmt: skip


def overtaken() -> Diagnostic:
    return Diagnostic("H0774", "the rules changed faster than they could be read", (),
                      "ask again")  # fmt: skip


def given_up() -> Diagnostic:
    return Diagnostic("H0779", "the call has ended: nothing was changed", (),
                      "its client went away, or its deadline passed")  # fmt: skip
