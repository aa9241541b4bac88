"""What a spread asks of the paths of its members, in elements of its rule (docs/steering.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...lang.contract.manifest.manifest import Manifest, RuleKind
from ...lang.contract.rules.rules import Rule
from .path_quality import Measured

#: An element for each bound, what it bounds, and how many of its units are a second, or all.
BOUNDS = (("max_delay", "delay", 1e6), ("max_jitter", "jitter", 1e6), ("max_loss", "loss", 1e3))
#: The least bound but 0, by what it bounds.
_LEAST = {what: 1 / units for _, what, units in BOUNDS}
PREFERENCE = "prefer"


@dataclass(frozen=True)
class Policy:
    """`bounds`: by what is measured, in its unit; `prefer`: what is to be lowest, empty: nothing in
    particular."""

    bounds: Mapping[str, float]
    prefer: str = ""

    def excess(self, seen: Measured | None) -> float | None:
        """How near to its bounds a path is: within them up to 1. None where nothing of what they
        ask for is measured."""
        if not self.bounds:
            return 0.0
        known = {name: getattr(seen, name) for name in self.bounds if seen is not None}
        parts = [_part(value, self.bounds[name], _LEAST[name]) for name, value in known.items()
                 if value is not None]  # fmt: skip
        return max(parts, default=None)

    def cost(self, seen: Measured | None) -> float | None:
        """What is to be lowest. None where it is not measured."""
        return getattr(seen, self.prefer) if seen is not None and self.prefer else None


def _part(value: float, bound: float, least: float) -> float:
    """To a bound of 0 all but 0 is above it, and less is nearer."""
    if bound:
        return value / bound
    return 1 + value / least if value else 0.0


def steers(kind: RuleKind) -> bool:
    """Whether rules of a kind can say such."""
    known = {PREFERENCE, *(element for element, *_ in BOUNDS)}
    spreads = kind.spread is not None and not kind.spread.listed
    return spreads and bool(known & {*kind.gives})


def policy_reader(manifest: Manifest) -> Callable[[Rule], Policy | None]:
    """Of rules of `steers` kinds; None of one that asks for nothing."""
    symbols = next((e.symbols for e in manifest.elements if e.name == PREFERENCE), {})
    preferences = {value: name.lower() for name, value in symbols.items()}

    def read(rule: Rule) -> Policy | None:
        said = dict(rule.values)
        bounds = {what: said[e] / unit for e, what, unit in BOUNDS if e in said}
        prefer = preferences.get(said.get(PREFERENCE, -1), "")
        prefer = prefer if prefer in Measured._fields else ""
        return Policy(bounds, prefer) if bounds or prefer else None

    return read
