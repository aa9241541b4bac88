"""What tests of an agent begin with: certificates, and the wires of its edge."""

from agent_world import wires
from tls_world import certs, secure

__all__ = ["certs", "secure", "wires"]
