"""Arithmetic operators, and how tightly each binds: as in P4-16 (section 8.5), which is C, but for
`& ^ |`, which bind more tightly than comparisons."""

from __future__ import annotations

#: The more tightly, the higher; operators of one level are taken from the left.
PRECEDENCE = {
    "|": 1,
    "^": 2,
    "&": 3,
    "<<": 4, ">>": 4,
    "+": 5, "-": 5, "+%": 5, "-%": 5, "+|": 5, "-|": 5,
    "*": 6, "/": 6, "%": 6, "*%": 6,
}  # fmt: skip
#: How tightly they bound before, when only these were there.
PRECEDENCE_BEFORE = {"+": 1, "-": 1, "*": 2, "&": 2, "<<": 2, ">>": 2}
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
