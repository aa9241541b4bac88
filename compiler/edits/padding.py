"""Headers whose `size` clause asks for more bytes than they have, where that is known only once a
packet is there: by its flags, or by how many elements an array is given."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ..headers.fields import pieces
from ..headers.frame import END, place_behind
from ..ir.builder import Builder
from ..ir.expr import ZERO, Cast, Expr, number
from ..ir.expr_builders import choose, low_bits
from ..ir.types import BYTES, U32
from ..model.header_sizes import first_field, solved
from .header_out import HeaderOut, Padding


def padded(w: Builder, out: HeaderOut) -> HeaderOut:
    """The same header with its padding, if that is not known now."""
    header = out.header
    if header.size is None or not out.variable:
        return out
    sizes = {n: solved(header, header.size, partial(operator.le, n)) for n in out.possible}
    if out.exact and all(whole == n for n, (_, _, whole) in sizes.items()):
        return out  # its array says it all
    field = first_field(header.size)
    unsaid = out.fallback_of(header.field(field)) if field else 0
    size = w.capture(U32, "size", out.size())
    count = w.capture(U32, "padding", 0)
    more = {n: whole - n if name else 0 for n, (name, _, whole) in sizes.items()}
    said = {n: value if name else unsaid for n, (name, value, _) in sizes.items()}
    most = max(more.values())
    if most:
        w.set(count, _by(size, more))
    w.set(size, _by(size, said))
    return replace(out, padded=Padding(_bounded(count, most), field, size, most))


def kept_padding(said: Padding, keep: Callable[[Expr], Expr]) -> Padding:
    """The same where later stages find it."""
    count = _bounded(keep(said.count), said.most)
    return replace(said, count=count, number=keep(said.number))


def _bounded(count: Expr, most: int) -> Expr:
    """So that the verifier sees it."""
    return low_bits(Cast(U32, count), most.bit_length()) if most else ZERO


def _by(size: Expr, values: dict[int, int]) -> Expr:
    """What a number of bytes comes to: steps are tested from below."""
    *steps, (_, last) = sorted(values.items())
    found: Expr = number(last)
    for n, value in reversed(steps):
        found = choose(size.is_(n), value, found)
    return found


def put_padding(w: Builder, out: HeaderOut, pointer: Expr, at: Expr) -> Expr:
    """Zeros up to the size that the header says, in front of its tail. Returns where they end."""
    if out.padded is not None and out.padded.most:
        where = w.local(BYTES, "padding", place_behind(pointer, at))
        for i in range(out.padded.most):
            with w.when(out.padded.count > i):
                w.assume_not(where + (i + 1) > END)
                w.store(where, i, 8, 0)
        return at + out.padded.count
    if not out.padding:
        return at
    where = w.local(BYTES, "padding", place_behind(pointer, at))
    w.assume_not(where + out.padding > END)
    for done, size in pieces(out.padding, most=16):
        w.store(where, done, size * 8, 0)
    return at + out.padding
