"""Mutual TLS: the contexts of handshakes, and the names in a client's certificate."""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path
from typing import Any

from ..base.files import file_stamp


class Contexts:
    """The context for the next handshake, by the certificates as their files are then."""

    def __init__(self, identity: Path) -> None:
        """`identity`: see identity.read_identity. Raises OSError (ssl.SSLError is one)."""
        self._certificate, self._key = (
            identity.with_name(f"{identity.name}.{ending}") for ending in ("pem", "key")
        )
        self._authority = identity.parent / "ca.pem"
        self._stamps = self._stamp()
        self._context = self._make()

    def now(self) -> ssl.SSLContext:
        """Where the files cannot be used, such as while they are replaced, as it was before."""
        try:
            if (stamps := self._stamp()) != self._stamps:
                self._context = self._make()
                self._stamps = stamps
        except OSError:
            pass
        return self._context

    def _stamp(self) -> list[tuple[int, int, int]]:
        return [file_stamp(each) for each in (self._authority, self._certificate, self._key)]

    def _make(self) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.verify_mode = ssl.CERT_REQUIRED
        made.load_verify_locations(self._authority)
        made.load_cert_chain(self._certificate, self._key)
        made.set_alpn_protocols(["h2"])
        # OpenSSL looks at no certificate where a session is resumed. TLS 1.2 keeps its tickets:
        # without them OpenSSL keeps sessions, in memory; and each call looks at the certificate.
        made.num_tickets = 0
        return made


def need_http2(client: ssl.SSLObject) -> None:
    """Raises OSError where it does not ask for it (RFC 9113 section 3.2), as gRPC's clients do."""
    if client.selected_alpn_protocol() != "h2":
        raise OSError("its handshake does not ask for h2")


def names(client: ssl.SSLObject) -> tuple[str, tuple[str, ...], str, float]:
    """Its subject's common name, the URIs among its other names (RFC 5280 section 4.2.1.6), the
    SHA-256 of its certificate in hex, and when that ends, in seconds of the Unix epoch."""
    said: Any = client.getpeercert()
    subject = [pair for each in said["subject"] for pair in each]
    common = "".join(value for kind, value in subject if kind == "commonName")
    uris = tuple(value for kind, value in said.get("subjectAltName", ()) if kind == "URI")
    data = client.getpeercert(binary_form=True) or b""
    ends = float(ssl.cert_time_to_seconds(said["notAfter"]))
    return common, uris, hashlib.sha256(data).hexdigest(), ends
