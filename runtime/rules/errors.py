"""Why a transaction cannot be staged."""

from __future__ import annotations

from collections.abc import Mapping

from ...lang.contract.manifest.manifest import RuleKind
from ...lang.text.diagnostics import Diagnostic
from ..base.errors import of_kernel
from .directory import DirectoryFull
from .images import TooLong
from .pools import NoRoom


def table_full(kind: RuleKind) -> Diagnostic:
    return Diagnostic(
        "H0730", f"the lookup table of {kind.name} is full: {kind.most_keys} keys", (),
        f"a range takes a key for each prefix that it comes to: use fewer or rounder ranges, or "
        f"give {kind.name} a larger capacity; nothing was changed",
    )  # fmt: skip


def too_many_masks(kind: RuleKind) -> Diagnostic:
    return Diagnostic(
        "H0731", f"the rules of {kind.name} would need more than {kind.tuples} different masks", (),
        "rules that name the same elements with the same prefix lengths share a mask; a range "
        "needs one for each prefix length in it: use fewer forms of rules; nothing was changed",
    )  # fmt: skip


def no_slots(kind: RuleKind, what: str) -> Diagnostic:
    return Diagnostic(
        "H0732", f"one request changes more rules of {kind.name} than can be changed at once", (),
        f"all of its {kind.capacity} rules can be replaced in one request, but not twice: split "
        f"the request (no free {what}); nothing was changed",
    )  # fmt: skip


def dangling(kind: str, number: int) -> Diagnostic:
    return Diagnostic("H0733", f"there is no {kind} {number} to refer to", (),
                      f"create {kind} {number} in the same request or before")  # fmt: skip


def name_too_long(name: str) -> Diagnostic:
    return Diagnostic("H0734", f"the name `{name}` is longer than 64 bytes", (),
                      "give the rule a shorter name; nothing was changed")  # fmt: skip


def of_tables(error: Exception, kinds: Mapping[str, RuleKind]) -> Diagnostic:
    """Why a transaction could not be staged."""
    if isinstance(error, DirectoryFull):
        return too_many_masks(kinds[error.args[0]])
    if isinstance(error, NoRoom):
        kind = kinds[error.kind]
        return table_full(kind) if error.what == "keys" else no_slots(kind, error.what)
    if isinstance(error, TooLong):
        return name_too_long(str(error))
    if isinstance(error, LookupError):
        return dangling(*error.args)
    return of_kernel(error, "change a table")
