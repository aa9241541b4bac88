"""Arrays of registers, read and changed."""

from __future__ import annotations

from typing import Literal

from ..ir.expr import Cast, RegisterCall
from ..ir.nodes import Do
from ..ir.types import U64
from ..model import RegisterChange, SetRegister
from . import trace
from .context import LoweringContext
from .values import cell_of, value

_CHANGES: dict[RegisterChange, Literal["set", "plus", "minus"]] = {
    "=": "set", "+": "plus", "-": "minus",
}  # fmt: skip


def set_register(site: LoweringContext, statement: SetRegister) -> None:
    w, register = site.writer, statement.register
    by = w.local(U64, "by", Cast(U64, value(site, statement.value).host()))
    cell = cell_of(site, register)
    what = _CHANGES[statement.operator]
    w.put(Do(RegisterCall(register.registers.lower(), what, (cell, by))))
    trace.set_register(site, register, what, cell, by)
