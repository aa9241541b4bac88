"""How calls end that do not end well."""

from __future__ import annotations

from ..http2.codes import Code


class Failed(Exception):
    """A call ended so. `details`: google.rpc.Status in octets, if the server gave one. `untouched`:
    the server has not begun it, so it can be made again."""

    def __init__(
        self, code: Code, says: str, details: bytes = b"", untouched: bool = False
    ) -> None:
        super().__init__(says)
        self.code, self.says, self.details, self.untouched = code, says, details, untouched


class Stopped(Failed):
    """This side ended it."""
