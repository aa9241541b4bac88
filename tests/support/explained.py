"""What `errors/` says, for tests that try its examples."""

from __future__ import annotations

from helioc.lang.text.errors import Explanation, codes, explanation


def explained(*met: str) -> dict[str, Explanation]:
    """By code, of the errors that are met there; of all without an argument."""
    every = {code: explanation(code) for code in codes()}
    return {code: found for code, found in every.items() if not met or found.met in met}


def examples(*met: str) -> list[tuple[str, str, str]]:
    """Those of the errors that are met there: code, what is wrong, the same when it is right."""
    return [(code, of.wrong, of.right) for code, of in explained(*met).items() if of.wrong]
