"""Kubernetes' objects in memory, and the rules that they come to: planned again where they change.

However it got there, what is wanted is what `plan_service` says of the objects that are there. Two
services that claim the same address and port are the older one's. Where there are more rules than
the pipeline has room for, the youngest services have none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from .objects import Key as Name
from .objects import Node, Service, Slice
from .plan import NOTHING, Note, Part, Settings, plan_node, plan_service
from .wanted import Key, Rule

_Claims = dict[Name, Rule]


class Cache:
    """Objects come by `put_…` and `drop_…`; `plan` says which rules may be others then."""

    def __init__(self, settings: Settings, room: Mapping[str, int] | None = None) -> None:
        """`room`: how many rules of a kind there can be; without a limit where it says nothing."""
        self.settings, self.room = settings, room or {}
        self.wanted: dict[Key, Rule] = {}
        self.services: dict[Name, Service] = {}
        self.slices: dict[Name, Slice] = {}
        self.node: Node | None = None
        self._slices_of: dict[Name, dict[Name, Slice]] = {}
        self._parts: dict[Name, Part] = {}
        self._claims: dict[Key, _Claims] = {}
        self._claimed = Counter[str]()  # keys with a claim, by kind
        self._dirty: set[Name] = set()
        self._node_changed = False
        self._left_out: set[Name] = set()
        #: Services that have not got what they claim, as an older one has it.
        self._contested: dict[Key, list[Name]] = {}

    # ---- objects ----------------------------------------------------------------------------

    def put_service(self, name: Name, service: Service | None) -> None:
        """None: it is gone, or is not ours."""
        if service is None:
            self.services.pop(name, None)
        else:
            self.services[name] = service
        self._dirty.add(name)

    def put_slice(self, name: Name, slice_: Slice | None) -> None:
        before = self.slices.pop(name, None)
        if before is not None:
            self._dirty.add(before.service)
            del self._slices_of[before.service][name]
            if not self._slices_of[before.service]:
                del self._slices_of[before.service]
        if slice_ is not None:
            self.slices[name] = slice_
            self._slices_of.setdefault(slice_.service, {})[name] = slice_
            self._dirty.add(slice_.service)

    def put_node(self, node: Node | None) -> None:
        if node != self.node:
            self.node = node
            self.plan_all()

    def plan_all(self) -> None:
        """Plan all again with the next `plan`: the settings have changed."""
        self._node_changed = True
        self._dirty.update(self.services, self._parts)

    def replace_services(self, found: Mapping[Name, Service | None]) -> None:
        """These are all."""
        for name in [*self.services]:
            if name not in found:
                self.put_service(name, None)
        for name, service in found.items():
            if service != self.services.get(name):
                self.put_service(name, service)

    def replace_slices(self, found: Mapping[Name, Slice | None]) -> None:
        for name in [*self.slices]:
            if name not in found:
                self.put_slice(name, None)
        for name, slice_ in found.items():
            if slice_ != self.slices.get(name):
                self.put_slice(name, slice_)

    # ---- rules ------------------------------------------------------------------------------

    @property
    def astray(self) -> list[Name]:
        """Services with an endpoint here that has no port."""
        return [name for name, part in self._parts.items() if part.astray]

    @property
    def notes(self) -> list[Note]:
        """What cannot be, now."""
        notes = [note for part in self._parts.values() for note in part.notes]
        for (_, address), names in self._contested.items():
            notes += [Note("H0890", f"{name}: {address}") for name in names]
        return notes + [Note("H0891", str(name)) for name in self._left_out]

    def plan(self, again: Iterable[Name] = ()) -> set[Key]:
        """Have `wanted` follow what came, and plan these services again; returns the rules that may
        be others."""
        dirty = self._dirty.union(again)
        self._dirty = set()
        touched = set[Key]()
        if self._node_changed:
            self._node_changed = False
            touched |= self._plan_node()
        for name in dirty:
            self._put_part(name, self._planned(name), touched)
        if touched:
            self._fit(touched)
            for key in touched:
                self._choose(key)
        return touched

    def _planned(self, name: Name) -> Part:
        service = self.services.get(name)
        if service is None or self.node is None:
            return NOTHING
        slices = self._slices_of.get(name, {})
        return plan_service(service, [*slices.values()], self.node, self.settings)

    def _plan_node(self) -> set[Key]:
        made = plan_node(self.node, self.settings) if self.node is not None else {}
        nobody = Name("", "")
        touched = set(made) | {key for key in self._claims if key[0] in ("NODE", "NODE6")}
        for key in touched:
            self._unclaim(key, nobody)
            if key in made:
                self._claim(key, nobody, made[key])
        return touched

    def _put_part(self, name: Name, part: Part, touched: set[Key]) -> None:
        before = self._parts.pop(name, NOTHING)
        if part is not NOTHING:
            self._parts[name] = part
        # Of an object that was made anew all are looked at: the age of what claims them counts.
        touched.update(before.rules, part.rules)
        for key in before.rules.keys() - part.rules.keys():
            self._unclaim(key, name)
        for key, rule in part.rules.items():
            self._claim(key, name, rule)

    def _claim(self, key: Key, name: Name, rule: Rule) -> None:
        claims = self._claims.get(key)
        if claims is None:
            claims = self._claims[key] = {}
            self._claimed[key[0]] += 1
        claims[name] = rule

    def _unclaim(self, key: Key, name: Name) -> None:
        claims = self._claims.get(key, {})
        if claims.pop(name, None) is not None and not claims:
            del self._claims[key]
            self._claimed[key[0]] -= 1

    def _choose(self, key: Key) -> None:
        claims = self._claims.get(key, {})
        if self._left_out:
            claims = {name: rule for name, rule in claims.items() if name not in self._left_out}
        self._contested.pop(key, None)
        if not claims:
            self.wanted.pop(key, None)
        elif len(claims) == 1:
            (self.wanted[key],) = claims.values()
        else:
            best, self.wanted[key] = min(claims.items(), key=self._merit)
            if key[0].startswith("SERVICE"):
                self._contested[key] = [name for name in claims if name != best]

    def _merit(self, claim: tuple[Name, Rule]) -> tuple[object, ...]:
        """An endpoint takes connections if it does so for anybody; else the older one is first."""
        name, rule = claim
        service = self.services.get(name)
        return ("phase", "READY") not in rule.values, service.age if service else ()

    # ---- room -------------------------------------------------------------------------------

    def _fit(self, touched: set[Key]) -> None:
        """Leave out the youngest services where there is no room for all."""
        if not self.room:
            return
        before, self._left_out = self._left_out, set()
        if any(self._claimed[kind] > most for kind, most in self.room.items()):
            self._left_out = self._youngest()
        for name in before ^ self._left_out:
            if name in self._parts:
                touched.update(self._parts[name].rules)

    def _youngest(self) -> set[Name]:
        used, taken, left_out = Counter[str](), set[Key](), set[Name]()
        for name in sorted(self._parts, key=lambda name: self.services[name].age):
            new = [key for key in self._parts[name].rules if key not in taken]
            more = used + Counter(kind for kind, _ in new)
            if any(more[kind] > self.room.get(kind, more[kind]) for kind in more):
                left_out.add(name)
                continue
            used = more
            taken.update(new)
        return left_out


def from_scratch(
    services: Collection[Service], slices: Collection[Slice], node: Node, settings: Settings,
    room: Mapping[str, int] | None = None,
) -> dict[Key, Rule]:  # fmt: skip
    """What is wanted where these are all."""
    cache = Cache(settings, room)
    cache.put_node(node)
    for service in services:
        cache.put_service(service.key, service)
    for slice_ in slices:
        cache.put_slice(slice_.key, slice_)
    cache.plan()
    return cache.wanted
