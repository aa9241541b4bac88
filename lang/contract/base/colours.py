"""Colours that meters give packets (RFC 2697, RFC 2698)."""

from __future__ import annotations

from typing import Literal

Colour = Literal["green", "yellow", "red"]

#: What programs say of a packet: so a mask asks for several colours at once.
COLOUR_BITS: dict[Colour, int] = {"green": 1, "yellow": 2, "red": 4}
