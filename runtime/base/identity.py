"""Reads identities for mutual TLS: a certificate, its key and its authority.

A client's certificate has its role as a URI among its subject's other names (RFC 5280 section
4.2.1.6): `urn:helio:role:rules`. The agent reads nothing else, whatever authority signed it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from ...lang.text.diagnostics import Diagnostic
from . import agent_errors as errors
from .errors import refused
from .files import read_bytes

#: What a client may do: see a controller's console, and nothing of an agent; look; also change
#: rules; also load, upgrade and unload.
Role = Literal["console", "read", "rules", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
ROLE_URI = "urn:helio:role:"
_LARGEST = 1 << 20
#: Seconds before the expiry of a certificate from which on there is a warning.
SOON = 30 * 86400.0


@dataclass(frozen=True)
class Identity:
    """PEM: the authority, a certificate chain by it, and the certificate's key."""

    authority: bytes
    certificate: bytes
    key: bytes


def read_identity(path: Path, ended: bool = False) -> Identity:
    """`PATH.pem` and `PATH.key`, and the `ca.pem` beside them. `ended`: also where the certificate
    has. Raises `Refused`."""
    beside = path.parent / "ca.pem"
    files = (beside, path.with_name(f"{path.name}.pem"), path.with_name(f"{path.name}.key"))
    found = Identity(*(read_bytes(file, _LARGEST) for file in files))
    _check(found, path, ended)
    return found


def _check(found: Identity, path: Path, ended: bool) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        x509.load_pem_x509_certificate(found.authority)
        certificate = x509.load_pem_x509_certificate(found.certificate)
        key = load_pem_private_key(found.key, None)
    except (ValueError, TypeError) as error:
        raise refused(errors.bad_identity(str(path), f"they cannot be read: {error}")) from None
    if key.public_key() != certificate.public_key():
        raise refused(errors.bad_identity(str(path), "the key is another certificate's"))
    if not ended and certificate.not_valid_after_utc < datetime.now(UTC):
        when = f"{certificate.not_valid_after_utc:%Y-%m-%d}"
        raise refused(errors.bad_identity(str(path), f"the certificate expired on {when}"))


class CertificateExpiry(NamedTuple):
    """A certificate: what it is (`agent`, `authority`), of whom (RFC 4514), and when it ends, in
    seconds of the Unix epoch."""

    name: str
    subject: str
    ends: float


def read_expiries(path: Path) -> list[CertificateExpiry]:
    """Of an identity's certificates (see `read_identity`), expired ones included. Raises
    `Refused`."""
    from cryptography import x509

    found = []
    for name, file in (("agent", f"{path}.pem"), ("authority", path.parent / "ca.pem")):
        try:
            all_ = x509.load_pem_x509_certificates(read_bytes(Path(file), _LARGEST))
        except ValueError as error:
            raise refused(errors.bad_identity(str(file), f"it cannot be read: {error}")) from None
        # of the agent what it shows; of authorities each that it knows
        for read in all_[:1] if name == "agent" else all_:
            subject = read.subject.rfc4514_string()
            found.append(CertificateExpiry(name, subject, read.not_valid_after_utc.timestamp()))
    return found


def expiring_soon(certificates: Iterable[CertificateExpiry], now: float) -> list[Diagnostic]:
    """Warnings of certificates that expire soon, or have expired."""
    return [certificate_ends(each, now) for each in certificates if each.ends - now < SOON]


def role_of(uris: Container[str]) -> Role | None:
    """The role among a certificate's URIs."""
    for role in reversed(ROLES):
        if f"{ROLE_URI}{role}" in uris:
            return role
    return None


def certificate_ends(certificate: CertificateExpiry, now: float) -> Diagnostic:
    """A warning of one that ends soon, or has."""
    days = int((certificate.ends - now) // 86400)
    when = f"ends in {days} day{'s' * (days != 1)}" if certificate.ends > now else "has ended"
    help_ = "put a new one in its place: it is used from the next connection on"
    title = f"the certificate of the {certificate.name} ({certificate.subject}) {when}"
    return Diagnostic("H0778", title, (), help_, "warning")
