"""Headers whose `size` clause asks for more octets than they have, where that is known only once a
packet is there: by its flags, or by how many elements an array is given."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ...lang.text.frozen import Frozen
from ..model.sizes import first_field, solved
from .fields import pieces
from .lowered import Writer

if TYPE_CHECKING:
    from .headers_out import HeaderOut


class Padding(Frozen):
    """C texts of how many octets of zeros stand in front of the tail (`most` at most), and of the
    value of the field that says the size."""

    octets: str
    field: str
    number: str
    most: int


def padded(w: Writer, out: HeaderOut) -> HeaderOut:
    """The same header with its padding, if that is not known now."""
    header = out.header
    if header.size is None or not out.variable:
        return out
    sizes = {n: solved(header, header.size, partial(operator.le, n)) for n in out.possible}
    if out.exact and all(size == n for n, (_, _, size) in sizes.items()):
        return out  # its array says it all
    field = first_field(header.size)
    unsaid = out.untold(header.field(field)) if field else 0
    number = w.local("u32", "size", out.size_text())
    octets = w.local("u32", "padding", "0")
    more = {n: size - n if name else 0 for n, (name, _, size) in sizes.items()}
    said = {n: value if name else unsaid for n, (name, value, _) in sizes.items()}
    most = max(more.values())
    if most:
        w.put(f"{octets} = {_by(number, more)};")
    w.put(f"{number} = {_by(number, said)};")
    return replace(out, padded=Padding(_bounded(octets, most), field, number, most))


def kept_padding(said: Padding, keep: Callable[[str], str]) -> Padding:
    """The same where later stages find it."""
    octets = _bounded(keep(said.octets), said.most)
    return replace(said, octets=octets, number=keep(said.number))


def _bounded(text: str, most: int) -> str:
    """So that the verifier sees it."""
    return f"((u32){text} & {(1 << most.bit_length()) - 1})" if most else "0"


def _by(number: str, values: dict[int, int]) -> str:
    """C text of what a number of octets comes to: steps are tested from below."""
    steps = [(n, v) for n, v in sorted(values.items())]
    texts = [f"{number} == {n} ? {v} : " for n, v in steps[:-1]]
    return f"{''.join(texts)}{steps[-1][1]}"


def put_padding(w: Writer, out: HeaderOut, pointer: str, at: str) -> str:
    """Zeros up to the size that the header says, in front of its tail. Returns C text of where they
    end."""
    if out.padded is not None and out.padded.most:
        where = _where(w, pointer, at)
        for i in range(out.padded.most):
            with w.nest(f"if ({out.padded.octets} > {i}) {{"):
                w.never(f"{where} + {i + 1} > end")
                w.put(f"PUT8({where}, {i}, 0);")
        return f"{at} + {out.padded.octets}"
    if not out.padding:
        return at
    where = _where(w, pointer, at)
    w.never(f"{where} + {out.padding} > end")
    w.put(*(f"PUT{size * 8}({where}, {done}, 0);" for done, size in pieces(out.padding, most=16)))
    return f"{at} + {out.padding}"


def _where(w: Writer, pointer: str, at: str) -> str:
    name = w.fresh("padding")
    w.put(f"void *{name} = {pointer} + {at};")
    return name
