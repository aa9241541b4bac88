"""A small certificate authority for a laboratory: certificates for mutual TLS, issued, revoked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from . import agent_errors as errors
from .errors import refused
from .files import read_bytes
from .identity import _LARGEST, ROLE_URI, Role, read_identity

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import (
        EllipticCurvePrivateKey,
        EllipticCurvePublicKey,
    )

#: What a certificate may be for.
_LABEL = re.compile(r"[A-Za-z0-9_*-]{1,63}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
YEAR = timedelta(days=365)


# ---- a small authority ----------------------------------------------------------------------


def make_authority(directory: Path, hosts: list[str]) -> list[Path]:
    """A new authority (`ca.pem`, `ca.key`), and by it certificates of an agent at these names and
    addresses (`agent.*`) and of an administrator (`admin.*`). Overwrites nothing; raises `Refused`.
    """
    check_hosts(hosts)
    made = new_authority(directory)
    made += issue(directory, "agent", None, ["localhost", "127.0.0.1", "::1", *hosts])
    return made + issue(directory, "admin", "admin")


def new_authority(directory: Path, called: str = "ca") -> list[Path]:
    """An authority alone."""
    from cryptography import x509

    key = new_key()
    name = name_of("Helio laboratory authority")
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name)
        .public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1)).not_valid_after(now + 10 * YEAR)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )  # fmt: skip
    return _write(directory, called, _sign(certificate, key), key)


def issue(
    directory: Path, name: str, role: Role | None, hosts: list[str] | None = None
) -> list[Path]:
    """A certificate by the authority in a directory, for a client with a role, or for an agent
    (without) at `hosts`. Raises `Refused`."""

    check_name(name)
    check_hosts(hosts or ())
    authority, signer = read_authority(directory)
    key = new_key()
    certificate = certify(authority, signer, name, key.public_key(), role, hosts or (), YEAR)
    return _write(directory, name, certificate, key)


def revoke(directory: Path, certificate: Path) -> str:
    """Add a certificate (a PEM file) to a directory's list of those that are let in no more (see
    revoked.py), if it is not there. Returns its fingerprint. Raises `Refused`."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256

    from .revoked import Revoked

    try:
        found = x509.load_pem_x509_certificate(read_bytes(certificate, _LARGEST))
    except ValueError as error:
        raise refused(
            errors.bad_identity(str(certificate), f"it cannot be read: {error}")
        ) from None
    if _is_authority(found):
        help_ = "`helioctl certs rotate`, then `retire`, take an authority away"
        raise refused(errors.bad_identity(str(certificate), "it is an authority's", help_))
    fingerprint, path = found.fingerprint(SHA256()).hex(), directory / "revoked"
    if fingerprint in Revoked(path):
        return fingerprint
    try:
        last = path.read_bytes()[-1:] if path.exists() else b""
        with path.open("a") as file:
            file.write("" if last in (b"", b"\n") else "\n")  # it would be a part of a comment
            file.write(f"{fingerprint}  # {certificate.name}\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        help_ = "DIRECTORY is the one that has the agent's identity"
        why = (error.strerror or "").lower()
        raise refused(errors.no_certificate(str(path), why, help_)) from None
    return fingerprint


def _is_authority(certificate: x509.Certificate) -> bool:
    from cryptography import x509

    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def check_hosts(hosts: Iterable[str]) -> None:
    """Check that each is an address or a DNS name. Raises `Refused`."""
    for host in hosts:
        with suppress(ValueError):
            ip_address(host)
            continue
        if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in host.split(".")):
            help_ = "an IP address, or a name: letters, digits, `-` and `_` between dots"
            raise refused(errors.bad_message(f"`{host}` is no host", help_))


def check_name(name: str) -> None:
    """Check that it may be a certificate's name. Raises `Refused`."""
    if not NAME.fullmatch(name):
        help_ = "letters, digits, `-`, `_` and `.`, at most 64"
        raise refused(errors.bad_message(f"`{name}` cannot be a certificate's name", help_))


def certify(
    authority: x509.Certificate, signer: EllipticCurvePrivateKey, name: str,
    key: EllipticCurvePublicKey, role: Role | None, hosts: Iterable[str], lifetime: timedelta,
) -> x509.Certificate:  # fmt: skip
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    names: list[x509.GeneralName] = [_host(host) for host in hosts]
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
    if role is not None:
        names.append(x509.UniformResourceIdentifier(f"{ROLE_URI}{role}"))
    else:
        usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(name_of(name)).issuer_name(authority.subject)
        .public_key(key).serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1)).not_valid_after(now + lifetime)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )  # fmt: skip
    return _sign(certificate, signer)


def issued_again(
    before: x509.Certificate, authority: x509.Certificate, signer: EllipticCurvePrivateKey,
    lifetime: timedelta,
) -> x509.Certificate:  # fmt: skip
    """The same certificate for the same key, signed by this authority and valid from now on."""
    from cryptography import x509

    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder().subject_name(before.subject).issuer_name(authority.subject)
        .public_key(before.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1)).not_valid_after(now + lifetime)
    )  # fmt: skip
    key_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    for each in before.extensions:
        same = not isinstance(each.value, x509.AuthorityKeyIdentifier)
        made = made.add_extension(each.value if same else key_id, each.critical)
    return _sign(made, signer)


def read_authority(directory: Path) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    found = read_identity(directory / "ca")
    key = load_pem_private_key(found.key, None)
    if not isinstance(key, EllipticCurvePrivateKey):
        why = "its key is of another kind than those that `helioctl certs` makes"
        raise refused(errors.bad_identity(str(directory / "ca"), why))
    return x509.load_pem_x509_certificate(found.authority), key


def new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def private_pem(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _sign(certificate: x509.CertificateBuilder, key: EllipticCurvePrivateKey) -> x509.Certificate:
    from cryptography.hazmat.primitives.hashes import SHA256

    return certificate.sign(key, SHA256())


def name_of(common: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _host(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_usage(signs: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs, key_cert_sign=signs, crl_sign=signs,
        content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _write(
    directory: Path, name: str, certificate: x509.Certificate, key: EllipticCurvePrivateKey
) -> list[Path]:
    from cryptography.hazmat.primitives.serialization import Encoding

    public = certificate.public_bytes(Encoding.PEM)
    files = {f"{name}.key": (private_pem(key), 0o600), f"{name}.pem": (public, 0o644)}
    made, path = [], directory
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file, (content, mode) in files.items():
            path = directory / file
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            with os.fdopen(descriptor, "wb") as out:
                out.write(content)
            made.append(path)
    except OSError as error:
        raise refused(errors.no_certificate(str(path), (error.strerror or "").lower())) from None
    return made
