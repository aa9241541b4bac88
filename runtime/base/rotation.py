"""Replaces an authority by another one, with a time in which both are valid (docs/certificates.md).

`rotate`: `ca.pem` has the new authority and the old one behind it, so that agents accept clients of
both. Clients' certificates in the directory are signed again, for the same keys; agents show the
old one's until `retire`, since a client elsewhere may know only that. Each file is replaced in one
step, and each command may be interrupted and given again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ...lang.text.diagnostics import Diagnostic
from . import agent_errors as errors
from .certs import YEAR, check_name, issued_again, new_authority, read_authority
from .errors import refused
from .files import read_bytes
from .identity import role_of
from .revoked import Revoked

if TYPE_CHECKING:
    from cryptography import x509

_LARGEST = 1 << 20
#: The authority that is being made.
_NEXT = "ca-next"


def rotate(directory: Path) -> list[Path]:
    """Create an authority beside the present one. Returns the written files. Raises `Refused`."""
    _go_on(directory)
    read_authority(directory)
    old = read_bytes(directory / "ca.pem", _LARGEST)
    if len(_certificates(directory / "ca.pem")) > 1:
        raise refused(_rotating(str(directory)))
    for left in (f"{_NEXT}.pem", f"{_NEXT}.key"):  # of one that was interrupted before
        (directory / left).unlink(missing_ok=True)
    new_authority(directory, _NEXT)
    _replace(directory / "ca.pem", (directory / f"{_NEXT}.pem").read_bytes() + old)
    _go_on(directory)
    return [directory / "ca.pem", directory / "ca.key", *_sign_again(directory, clients=True)]


def retire(directory: Path) -> list[Path]:
    """Agents show the new authority's certificates, and know the old authority no more. Returns
    what was written. Raises `Refused`."""
    _go_on(directory)
    new, *old = _certificates(directory / "ca.pem")
    if not old:
        raise refused(_not_rotating(str(directory)))
    made = [*_sign_again(directory, clients=True), *_sign_again(directory, clients=False)]
    _replace(directory / "ca.pem", _pem(new))
    return [*made, directory / "ca.pem"]


def _go_on(directory: Path) -> None:
    """The key of an authority that `ca.pem` has already takes its place."""
    key, made = directory / f"{_NEXT}.key", directory / f"{_NEXT}.pem"
    if not key.exists() or not made.exists():
        return
    first, *_ = _certificates(directory / "ca.pem")
    if _pem(first) == made.read_bytes():
        key.rename(directory / "ca.key")
        made.unlink()


def _sign_again(directory: Path, clients: bool) -> Iterator[Path]:
    """Certificates of an authority before, for clients (which have a role) or agents; but not those
    that are revoked."""
    from cryptography.hazmat.primitives.hashes import SHA256

    authority, signer = read_authority(directory)
    revoked = Revoked(directory / "revoked")
    for path in sorted(directory.glob("*.pem")):
        if path.name == "ca.pem" or not path.with_suffix(".key").exists():
            continue
        found, *_ = _certificates(path)
        known = found.fingerprint(SHA256()).hex() in revoked
        if known or _signed_by(found, authority) or (_role(found) is not None) != clients:
            continue
        check_name(path.stem)
        _replace(path, _pem(issued_again(found, authority, signer, YEAR)))
        yield path


def _signed_by(found: x509.Certificate, authority: x509.Certificate) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        found.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _role(found: x509.Certificate) -> str | None:
    from cryptography import x509

    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return None
    return role_of(names.get_values_for_type(x509.UniformResourceIdentifier))


def _certificates(path: Path) -> list[x509.Certificate]:
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificates(read_bytes(path, _LARGEST))
    except ValueError as error:
        raise refused(errors.bad_identity(str(path), f"it cannot be read: {error}")) from None


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _replace(path: Path, content: bytes) -> None:
    """In one step."""
    new = path.with_name(f"{path.name}~")
    how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        with open(os.open(new, how, 0o644), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.rename(path)
    except OSError as error:
        raise refused(errors.no_certificate(str(path), (error.strerror or "").lower())) from None


# ---- errors ---------------------------------------------------------------------------------


def _rotating(directory: str) -> Diagnostic:
    return Diagnostic("H0866", f"`{directory}` has two authorities already", (),
                      "`helioctl certs retire` ends the rotation that is under way; then begin "
                      "another")  # fmt: skip


def _not_rotating(directory: str) -> Diagnostic:
    return Diagnostic("H0867", f"`{directory}` has one authority: there is none to retire", (),
                      "`helioctl certs rotate` makes another beside it")  # fmt: skip
