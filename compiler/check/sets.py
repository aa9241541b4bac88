"""Members of sets, patterns of `match`, values of constants: what a prefix comprises."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from ...lang.text.literals import shown_address
from .values import ADDRESS_BITS, Value, literal


def prefix(expr: tree.Binary, found: Diagnostics) -> tuple[Value, Value] | None:
    """The first and the last address of `10.0.0.0/8`."""
    address, length = expr.left, expr.right
    assert isinstance(address, tree.Address)
    bits = ADDRESS_BITS[address.kind]
    if not isinstance(length, tree.Number) or length.value > bits:
        found.add(_no_length(length, bits))
        return None
    host = (1 << bits - length.value) - 1
    if address.value & host:
        found.add(_bits_behind(expr, address, length.value, host))
        return None
    return tuple(
        literal(tree.Address(expr.span, address.kind, value, expr.span.text))
        for value in (address.value, address.value | host)
    )  # type: ignore[return-value]


# ---- errors ---------------------------------------------------------------------------------


def _no_length(length: tree.Expr, bits: int) -> Diagnostic:
    return error(
        "H0362",
        f"a prefix of this address has 0 to {bits} bits",
        (length.span, "not a number of bits"),
        help="write the length of the prefix, as in `10.0.0.0/8` or `2001:db8::/32`",
    )


def _bits_behind(expr: tree.Binary, address: tree.Address, length: int, host: int) -> Diagnostic:
    meant = shown_address(address.kind, address.value & ~host)
    return error(
        "H0362",
        f"`{address.text}` has bits behind the first {length}",
        (expr.span, "not the first address of a prefix"),
        help=f"write `{meant}/{length}`, or compare with the address alone",
    )
