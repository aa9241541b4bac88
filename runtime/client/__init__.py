"""A typed client of the agent: `Client`, and what its calls return and raise."""

from .calls import Rejected
from .client import LOCAL, TIMEOUT, Client, Schema
from .streams import Stream, Watch

__all__ = ["LOCAL", "TIMEOUT", "Client", "Rejected", "Schema", "Stream", "Watch"]
