"""State tables that nobody wrote."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chance import Chance

#: Kind and width by type.
TYPES = {"u8": ("uint", 8), "u16": ("uint", 16), "u24": ("uint", 24), "u32": ("uint", 32),
         "u12": ("uint", 12), "u64": ("uint", 64), "mac": ("mac", 48), "ip4": ("ip4", 32),
         "ip6": ("ip6", 128), "port": ("port", 32)}  # fmt: skip
NUMBERS = ("u8", "u12", "u16", "u24", "u32", "u64")
#: A slot that says how many seconds an entry is kept: more than a run takes, or for ever.
LIFETIME, LIFETIMES = "lifetime", ("0", "300", "60000")


@dataclass(frozen=True)
class Slot:
    """`kind` is "port" for the number of one."""

    name: str
    type: str

    @property
    def kind(self) -> str:
        return TYPES[self.type][0]

    @property
    def width(self) -> int:
        return TYPES[self.type][1]


@dataclass(frozen=True)
class State:
    name: str
    match: tuple[Slot, ...]
    gives: tuple[Slot, ...]
    ages: str
    counts: tuple[str, ...] = ()
    meters: tuple[str, ...] = ()
    unit: str = ""

    @property
    def readable(self) -> tuple[Slot, ...]:
        """What a stage may read of an entry."""
        return (*self.gives, *(Slot(name, "u64") for name in self.counts))

    @property
    def text(self) -> str:
        clauses = [f"  {word} {', '.join(f'{s.name} : {s.type}' for s in slots)}"
                   for word, slots in (("match", self.match), ("gives", self.gives))]  # fmt: skip
        clauses += [f"  counts {', '.join(self.counts)}"] if self.counts else []
        clauses += [f"  meters {', '.join(self.meters)}{self.unit}"] if self.meters else []
        clauses += [f"  ages {self.ages}"] if self.ages else []
        return "\n".join([f"state {self.name} [4k] {{", *clauses, "}"])


def state(chance: Chance, name: str, address: str) -> State:
    """One that holds a port and, mostly, an address to forward to."""
    key = [Slot(f"k{i}", t) for i, t in enumerate(_types(chance, chance.number(1, 3)))]
    gives = [Slot("out", "port")] if chance.maybe(0.9) else []
    gives += [Slot("hop", address)] if chance.maybe(0.85) else []
    gives += [Slot(f"v{i}", t) for i, t in enumerate(_types(chance, chance.number(0, 2)))]
    gives += [Slot("n", chance.one(NUMBERS))] if chance.maybe(0.6) else []
    gives = gives or [Slot("v", "u32")]
    ages = chance.one(("", "", "", "300", "300", "300 idle", LIFETIME, f"{LIFETIME} idle"))
    gives += [Slot(LIFETIME, chance.one(("u16", "u24", "u32")))] if LIFETIME in ages else []
    made = State(name, tuple(key), tuple(chance.shuffled(gives)), ages)
    own = Chance(f"counts {made.text}")  # of its own: all else stays what it would be
    counts = own.one((("packets", "bytes"), ("bytes",), ("packets",), ()))
    numbers = [slot for slot in made.gives if slot.kind == "uint"]
    small = [slot for slot in numbers if slot.width <= 32]
    meters = [own.one(numbers if what == "r" else small).name for what in own.one(_METERS)
              if small]  # fmt: skip
    return replace(made, counts=counts, meters=tuple(meters), unit=own.one((" in packets", "")))


#: Rates and bursts: token bucket, RFC 2697, RFC 2698.
_METERS = ("rb", "rbb", "rbb", "rbrb")


def _types(chance: Chance, count: int) -> list[str]:
    return [chance.one(list(TYPES)) for _ in range(count)]
