"""What tests of an agent that listens by TLS begin with."""

from tls_world import certs, secure

__all__ = ["certs", "secure"]
