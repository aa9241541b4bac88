"""The token that an edge enrols with: EDGE:SECRET:HASH.

The secret is 128 random bits, the hash the SHA-256 of the authority's certificate (DER, hex), as
`openssl x509 -fingerprint -sha256` shows it.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from ...lang.text.diagnostics import Diagnostic
from ..base.certs import NAME
from ..base.errors import refused

_LONGEST = 256
_SECRET, _PIN = re.compile(r"[A-Za-z0-9_-]{22}"), re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Token:
    edge: str
    secret: str
    pin: str

    def __str__(self) -> str:
        return f"{self.edge}:{self.secret}:{self.pin}"


def new_secret() -> str:
    return secrets.token_urlsafe(16)


def read_token(text: str) -> Token:
    """Raises `Refused`."""
    if len(text) > _LONGEST:
        raise refused(_bad_token(f"it has more than {_LONGEST} characters"))
    parts = text.strip().split(":")
    if len(parts) != 3:
        raise refused(_bad_token("EDGE:SECRET:HASH is expected"))
    edge, secret, pin = parts
    for part, what, pattern in (
        (edge, "the edge's name", NAME), (secret, "the secret", _SECRET), (pin, "the hash", _PIN)
    ):  # fmt: skip
        if not pattern.fullmatch(part):
            raise refused(_bad_token(f"{what} is not whole"))
    return Token(edge, secret, pin)


# ---- errors ---------------------------------------------------------------------------------


def _bad_token(why: str) -> Diagnostic:
    return Diagnostic("H0870", f"this is no token: {why}", (),
                      "take it as `controller token create EDGE` prints it")  # fmt: skip
