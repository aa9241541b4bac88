"""Which differences an upgrade may have: `--allow`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...lang.contract.manifest.manifest import Manifest
from ...lang.text.diagnostics import Diagnostic, did_you_mean
from ..base.errors import refused
from .differences import NONE, Rule

NO_PACKETS = "no packets"
_RULE = re.compile(r"(\w+)(?: +([0-9]+))?")


@dataclass(frozen=True)
class Allowed:
    """`whole` differences, as they are written; rules and kinds of which a packet found one, in
    force or in the shadow."""

    whole: frozenset[str] = frozenset()
    rules: frozenset[Rule] = frozenset()
    kinds: frozenset[str] = frozenset()

    def allows(self, differences: Sequence[str], rules: Collection[Rule], way: bool) -> bool:
        """Of a packet: a rule that it found is named, or all its differences; or the first, where
        that is its `way` (verdict or port), which others follow from."""
        return bool(
            self.rules.intersection(rules)
            or any(kind in self.kinds for kind, _ in rules)
            or self.whole.issuperset(differences[:1] if way else differences)
        )


def read_allowed(texts: Collection[str], manifests: Collection[Manifest]) -> Allowed:
    """`drop -> redirect`, `PDR 7`, `PDR`, `frame user.ttl`, `no packets`. Raises `Refused`."""
    kinds = {kind.name for manifest in manifests for kind in manifest.rules}
    whole, rules, named = set[str](), set[Rule](), set[str]()
    for text in (" ".join(each.split()) for each in texts):
        rule = _RULE.fullmatch(text)
        if "->" in text:
            sides = [side.strip() for side in text.split("->")]
            if len(sides) != 2 or not all(sides):
                raise refused(_unreadable(text, "one `->`, with something on both sides"))
            whole.add(" -> ".join(sides))
        elif text.startswith("frame "):
            whole.add(text)
        elif text == NO_PACKETS:
            continue
        elif rule is None or rule[1] not in kinds:
            help_ = did_you_mean(rule[1] if rule else text, kinds) or _EXAMPLES
            raise refused(_unreadable(text, help_))
        elif rule[2]:
            rules.add((rule[1], int(rule[2])))
        else:
            named.add(rule[1])
    return Allowed(frozenset(whole), frozenset(rules), frozenset(named))


# ---- errors ---------------------------------------------------------------------------------

_EXAMPLES = (
    "`drop -> redirect`, `PDR 7 -> PDR 9`, `PDR 7`, `PDR`, `frame user.ttl`, `no packets`, as the "
    f"report writes them (`{NONE}` is none)"
)


def _unreadable(text: str, help_: str) -> Diagnostic:
    return Diagnostic("H0749", f"`--allow '{text}'` names no difference", (), help_)
