"""Events that rules of nobody's pipeline raise. Their draws are their own: what else a seed makes
stays the same."""

from __future__ import annotations

from chance import Chance
from places import Lines
from random_rules import Element, Kind, RuleMaker

_EVENT = "EVR"
#: Few enough that packets of a run come to them, and seconds that pass between two.
_AMOUNTS = {"idle": ("1", "2", "30"), "packets": ("1", "2", "5"), "bytes": ("64", "100", "500")}


def raised(rules: RuleMaker, seed: str) -> Lines:
    """Let half of the kinds that count raise some; the events that are declared for it."""
    chance, declared = Chance(f"raises {seed}"), Lines()
    for kind in rules.kinds.values():
        counted = [what for what in kind.told if what in _AMOUNTS]
        for _ in range(chance.number(1, 3) if counted and chance.maybe(0.7) else 0):
            what = chance.one(("idle", *counted))
            word = "after" if what == "idle" or chance.maybe(0.5) else "each"
            amount = chance.one(_AMOUNTS[what])
            if chance.maybe(0.5):
                element = Element(f"r{len(declared)}", "u8", "uint", 8)
                rules.elements.append(element)
                kind.own.append(element)
                amount = element.name
            name = f"{_EVENT}{len(declared)}"
            fields = _fields(chance, kind)
            inside = ", ".join(f"f{i} : {type_}" for i, (type_, _) in enumerate(fields))
            limit = chance.one(("", "", " limit 1 per second", " limit 2 per second"))
            declared.append(f"event {name} {{ {inside} }}{limit}")
            said = ", ".join(f"f{i} = {text}" for i, (_, text) in enumerate(fields))
            kind.extra.append(f"emit {name} {{ {said} }} {word} {amount} {what}")
    return declared


def _fields(chance: Chance, kind: Kind) -> list[tuple[str, str]]:
    name = kind.name
    known = [(kind.name, name), ("u32", f"{name}.id"), ("u7", str(chance.number(0, 127)))]
    known += [("u64", f"{name}.{what}") for what in kind.told if what != "id"]
    known += [(m.element.type, f"{name}.{m.element.name}") for m in kind.matches
              if m.how != "range" and not m.element.references
              and m.element.kind in ("uint", "ip4", "ip6", "mac")]  # fmt: skip
    known += [("port", f"{name}.{e.name}") for e in kind.ports if e.references == ["port"]]
    known += [(e.type, f"{name}.{e.name}") for e, _ in kind.readable if e.kind == "uint"]
    fit = [(type_, text) for type_, text in known if type_[0] != "u" or int(type_[1:]) <= 64]
    return chance.some(list(dict.fromkeys(fit)), 0, 5)
