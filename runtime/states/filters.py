"""Which entries of a state are meant: `src=10.0.0.0/8 port=53`, values as requests write them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import Element, Slot, State
from ...lang.contract.request.request import Form, unquoted
from ...lang.contract.rules.csv_columns import split_value
from ...lang.contract.rules.ie_values import Codec, Fault, fold
from ...lang.contract.rules.rules import Matcher
from ...lang.text.diagnostics import Diagnostic, Diagnostics, Refused
from . import errors
from .entry import Where
from .kept_rules import KEPT, KeptRules
from .storage import Array, Part, words_of

#: Conditions at a time, and characters of the value of one: a mask of IPv6 has 81.
MOST, LONGEST = 64, 100

_WIDTHS = {"ip4": 32, "ip6": 128, "mac": 48, "port": 32, "rule": 32}
#: As which kind of element a slot takes values of a form.
_KINDS: dict[Form, str] = {
    "value": "exact", "prefix": "ternary", "mask": "ternary", "range": "range",
}  # fmt: skip
_U64 = (1 << 64) - 1


class Named(NamedTuple):
    """A rule that is there by this name."""

    name: str


class Condition(NamedTuple):
    """`given`: of a slot of the entry, not of its key. `matcher`: None fits any value."""

    slot: Slot
    given: bool
    matcher: Matcher | Named | None


class Filter:
    """An entry passes that fits all conditions."""

    def __init__(
        self, state: State, ports: Mapping[str, int], where: Where, rules: KeptRules
    ) -> None:
        """`ports`: numbers by name; `rules`: that entries keep. Raises `Refused`, with all that is
        wrong."""
        self._conditions, self._rules = _read(state, ports, where, rules), rules
        #: The slots of the entry that it asks for.
        self.given = {c.slot for c in self._conditions if c.given and c.matcher is not None}

    def passes(self, part: Part) -> Array:
        """By row."""
        found = np.ones(len(part.keys), np.bool_)
        for slot, given, matcher in self._conditions:
            if isinstance(matcher, Named):
                rows = np.flatnonzero(found)
                data = slot_bytes(part, slot, given)[rows]
                found[rows] = self._rules.have_name(slot, data, matcher.name)
            elif matcher is not None:
                found &= _fits(matcher, words_at(part, slot, given), width_of(slot))
        return found


def key_of(state: State, ports: Mapping[str, int], where: Where, rules: KeptRules) -> bytes:
    """The bytes of a key, of which each slot is said. Raises `Refused`."""
    conditions, found = _read(state, ports, where, rules), Diagnostics()
    said, key = set[str](), bytearray(state.key_size)
    for slot, given, matcher in conditions:
        if given:
            found.add(errors.no_whole_key(state, f"`{slot.name}` is what an entry holds"))
        elif slot.name in said:
            found.add(errors.no_whole_key(state, f"`{slot.name}` is said twice"))
        elif not isinstance(matcher, Matcher) or matcher.form != "value":
            found.add(errors.no_whole_key(state, f"`{slot.name}` is to have one value"))
        else:
            number = matcher.value
            key[slot.offset : slot.offset + slot.size] = number.to_bytes(slot.size, "big")
        said.add(slot.name)
    if missing := [f"`{slot.name}`" for slot in state.match if slot.name not in said]:
        are = "are" if len(missing) > 1 else "is"
        found.add(errors.no_whole_key(state, f"{' and '.join(missing)} {are} missing"))
    found.stop_if_errors()
    return bytes(key)


def slot_bytes(part: Part, slot: Slot, given: bool) -> npt.NDArray[np.uint8]:
    """The bytes of a slot, by row."""
    return (part.entries if given else part.keys)[:, slot.offset : slot.offset + slot.size]


def words_at(part: Part, slot: Slot, given: bool) -> list[Array]:
    """The values of a slot, as `words_of` has them. In an entry (`given`) the number of a port is
    in host order, and of a rule the id is looked at."""
    data = slot_bytes(part, slot, given)
    if slot.type == "rule":
        return [np.ascontiguousarray(data).view(KEPT)[:, 0]["id"].astype(np.uint64)]
    if given and slot.type == "port" and sys.byteorder == "little":
        data = data[:, ::-1]
    return words_of(data)


def width_of(slot: Slot) -> int:
    """In bits."""
    return _WIDTHS.get(slot.type) or int(slot.type[1:])


def _read(
    state: State, ports: Mapping[str, int], where: Where, rules: KeptRules
) -> list[Condition]:
    if len(where) > MOST:
        raise Refused([errors.too_many_conditions(len(where), MOST)])
    found, made = Diagnostics(), list[Condition]()
    for name, text in where:
        given, slot = _slot(state, name)
        if slot is None:
            found.add(errors.no_such_slot(state, name))
        elif len(text) > LONGEST:
            found.add(errors.too_long(slot.name, len(text), LONGEST))
        else:
            try:
                made.append(Condition(slot, given, _matcher(slot, text, ports, rules)))
            except Refused as error:
                found.extend(error.diagnostics)
            except Fault as fault:
                found.add(Diagnostic(fault.code, str(fault), (), fault.help))
    found.stop_if_errors()
    return made


def _slot(state: State, name: str) -> tuple[bool, Slot | None]:
    """Whether it is one of the entry, and it; the one of just this name before one like it."""
    slots = [(False, slot) for slot in state.match] + [(True, slot) for slot in state.gives]
    like = [each for each in slots if fold(each[1].name) == fold(name)]
    exact = (each for each in like if each[1].name == name)
    return next(exact, like[0] if like else (False, None))


def _matcher(
    slot: Slot, text: str, ports: Mapping[str, int], rules: KeptRules
) -> Matcher | Named | None:
    """Raises `Fault`, `Refused`."""
    if slot.type == "port":
        return Matcher("value", _port(text, ports))
    if slot.type == "rule":
        text = text.removeprefix(f"{slot.rule} ")  # as a list shows it
        if not text[:1].isdigit():
            if not rules.are_named(slot.rule):
                raise Refused([errors.no_names(slot.rule, text)])
            return Named(unquoted(text))
    kind = slot.type if slot.type in ("ip4", "ip6", "mac") else "uint"
    codec = Codec(Element(slot.name, 0, slot.type, width_of(slot), kind, {}, ()))
    form, value, other = split_value(text)
    return codec.matcher(_KINDS[form], form, value, other)


def _port(text: str, ports: Mapping[str, int]) -> int:
    """Also of one that has no name, as it is shown."""
    name, number = unquoted(text), text.removeprefix("port.")
    if name in ports:
        return ports[name]
    if number != text and number.isascii() and number.isdecimal() and len(number) < 10:
        return int(number)
    raise Refused([errors.no_such_port(text, list(ports))])


def _fits(matcher: Matcher, words: list[Array], width: int) -> Array:
    form, value, other = matcher
    if form == "range":
        return _at_least(words, value) & ~_at_least(words, other + 1)
    full = (1 << width) - 1
    mask = other if form == "mask" else full
    if form == "prefix":
        mask = full & ~(full >> other)
    found = np.ones(len(words[0]), np.bool_)
    for word, bits, wanted in zip(words, _split(mask, words), _split(value, words), strict=True):
        found &= (word & bits) == wanted
    return found


def _at_least(words: list[Array], number: int) -> Array:
    """Whether a value is that great."""
    if number >> 64 * len(words):
        return np.zeros(len(words[0]), np.bool_)
    equal, more = np.ones(len(words[0]), np.bool_), np.zeros(len(words[0]), np.bool_)
    for word, bound in zip(words, _split(number, words), strict=True):
        more |= equal & (word > bound)
        equal &= word == bound
    return more | equal


def _split(number: int, words: list[Array]) -> Iterator[np.uint64]:
    for at in reversed(range(len(words))):
        yield np.uint64(number >> 64 * at & _U64)
