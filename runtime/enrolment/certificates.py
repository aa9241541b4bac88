"""Requests for certificates, and certificates, as enrolment passes them on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.certs import certify, name_of, new_key, private_pem, read_authority

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import (
        EllipticCurvePrivateKey,
        EllipticCurvePublicKey,
    )


def new_key_pem() -> bytes:
    return private_pem(new_key())


def make_request(key: bytes, name: str) -> bytes:
    """A request for a certificate (PKCS #10, DER) with that key (PEM)."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding

    builder = x509.CertificateSigningRequestBuilder().subject_name(name_of(name))
    return builder.sign(_private(key), SHA256()).public_bytes(Encoding.DER)


@dataclass(frozen=True)
class Asked:
    """A request that is sound: the name, and the key's hash (SHA-256 of SubjectPublicKeyInfo)."""

    name: str
    key_hash: str
    key: EllipticCurvePublicKey


def read_asked(der: bytes) -> Asked:
    """Raises ValueError with what is wrong."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        request = x509.load_der_x509_csr(der)
        sound, key = request.is_signature_valid, request.public_key()
    except Exception:  # of whatever kind the library's parser raises
        raise ValueError("it cannot be read") from None
    if not sound:
        raise ValueError("its signature is not by its key")
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("its key is not on the curve P-256")
    return Asked(_common_name(request.subject), _key_hash(key), key)


def grant(directory: Path, asked: Asked, hosts: Iterable[str], lifetime: timedelta) -> bytes:
    """A certificate (DER) for an agent at its name and `hosts`, by a directory's authority."""
    from cryptography.hazmat.primitives.serialization import Encoding

    authority, signer = read_authority(directory)
    at = dict.fromkeys((asked.name, *hosts))
    made = certify(authority, signer, asked.name, asked.key, None, at, lifetime)
    return made.public_bytes(Encoding.DER)


def peer_of(der: bytes) -> tuple[str, str]:
    """Name and key's hash of a certificate that TLS has verified."""
    from cryptography import x509

    certificate = x509.load_der_x509_certificate(der)
    return _common_name(certificate.subject), _key_hash(certificate.public_key())


def degenerate(certificates: Iterable[bytes]) -> bytes:
    """Certificates (DER) as a PKCS #7 without a signature (RFC 7030 section 4.1.3)."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, pkcs7

    found = [x509.load_der_x509_certificate(der) for der in certificates]
    return pkcs7.serialize_certificates(found, Encoding.DER)


def certificates_in(der: bytes) -> list[bytes]:
    """The certificates (DER) in a PKCS #7. Raises ValueError."""
    from cryptography.hazmat.primitives.serialization import Encoding, pkcs7

    try:
        found = pkcs7.load_der_pkcs7_certificates(der)
    except Exception:  # of whatever kind the library's parser raises
        raise ValueError("no PKCS #7") from None
    return [each.public_bytes(Encoding.DER) for each in found]


def der_of(pem: bytes) -> bytes:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    return x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)


def pem_of(der: bytes) -> bytes:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    return x509.load_der_x509_certificate(der).public_bytes(Encoding.PEM)


def fingerprint(der: bytes) -> str:
    """SHA-256, in hex."""
    return hashlib.sha256(der).hexdigest()


def check_granted(certificate: bytes, authority: bytes, key: bytes, name: str) -> bytes:
    """That a certificate (DER) is by the authority (DER), for a key (PEM) and a name: it as PEM.
    Raises ValueError with what is wrong."""
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.serialization import Encoding

    granted = x509.load_der_x509_certificate(certificate)
    try:
        granted.verify_directly_issued_by(x509.load_der_x509_certificate(authority))
    except (ValueError, TypeError, InvalidSignature):
        raise ValueError("the certificate is by another authority") from None
    if granted.public_key() != _private(key).public_key():
        raise ValueError("the certificate is for another key")
    if _common_name(granted.subject) != name:
        raise ValueError("the certificate is for another name")
    return granted.public_bytes(Encoding.PEM)


def renewal_due(certificate: bytes) -> bool:
    """Whether the last third of a certificate's time has begun."""
    from cryptography import x509

    found = x509.load_pem_x509_certificate(certificate)
    begins, ends = found.not_valid_before_utc, found.not_valid_after_utc
    return datetime.now(UTC) > ends - (ends - begins) / 3


def end_of(der: bytes) -> float:
    """Until when a certificate is good, in seconds of the Unix epoch."""
    from cryptography import x509

    return x509.load_der_x509_certificate(der).not_valid_after_utc.timestamp()


def subject_of(certificate: bytes) -> str:
    """The name in a certificate (PEM)."""
    from cryptography import x509

    return _common_name(x509.load_pem_x509_certificate(certificate).subject)


def _common_name(subject: x509.Name) -> str:
    from cryptography.x509.oid import NameOID

    names = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if len(names) == 1 else ""


def _key_hash(key: Any) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def _private(pem: bytes) -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = load_pem_private_key(pem, None)
    assert isinstance(key, EllipticCurvePrivateKey)
    return key
