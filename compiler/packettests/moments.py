"""When packets of a test come: `clock`, `random` and `wait`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import yaml

from ...lang.contract.rules.yaml_text import Yaml, bad_value
from ...lang.contract.world.moment import SECOND, UNKNOWN_ERROR, Moment
from ...lang.text.yaml_reader import Entry

#: Keys of a file and of a case: the moment of the first packet.
KEYS = ("clock", "random")
#: Keys of what comes before: what the next packets find.
CHANGES = ("wait", "clock", "random")

_CLOCK = ("boot", "utc", "tai", "error")
_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND,
          "d": 86_400 * SECOND}  # fmt: skip
_DURATION = re.compile(rf"(\d+)(?:\.(\d{{1,9}}))? ?({'|'.join(_UNITS)})")
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")
_MOST = 100 * 365 * _UNITS["d"]


def begun(text: Yaml, entries: Mapping[str, Entry], moment: Moment) -> Moment:
    """The moment with what a file or a case says of it."""
    if "clock" in entries:
        moment = _set(text, text.mapping(entries["clock"].value, "`clock`", _CLOCK), moment)
    return _drawn(text, entries, moment)


def gone_on(text: Yaml, entries: Mapping[str, Entry], moment: Moment) -> Moment:
    """The moment after what a step says of it."""
    if "wait" in entries:
        moment = moment.later(_duration(text, entries["wait"].value, _MOST) or 0)
    return begun(text, entries, moment)


def _drawn(text: Yaml, entries: Mapping[str, Entry], moment: Moment) -> Moment:
    if "random" not in entries:
        return moment
    return replace(moment, random=text.number(entries["random"].value, (1 << 32) - 1) or 0)


def _set(text: Yaml, said: Mapping[str, Entry], moment: Moment) -> Moment:
    changes: dict[str, int | None] = {}
    if "boot" in said:
        changes["now"] = _duration(text, said["boot"].value, _MOST, least=1)
    if "utc" in said:
        changes["utc"] = _date(text, said["utc"].value)
    if "tai" in said:
        changes["tai"] = _duration(text, said["tai"].value, _UNITS["h"])
    if "error" in said:
        unknown = text.text(said["error"].value) == "unknown"
        changes["error"] = (
            UNKNOWN_ERROR if unknown else _duration(text, said["error"].value, UNKNOWN_ERROR - 1)
        )
    return replace(moment, **{name: value for name, value in changes.items() if value is not None})


def _duration(text: Yaml, node: yaml.Node, most: int, least: int = 0) -> int | None:
    """In ns."""
    written = text.text(node)
    if written is None:
        return None
    found = _DURATION.fullmatch(written)
    if found is not None:
        whole, part, unit = found.groups()
        ns: int
        ns, rest = divmod(int(whole + (part or "")) * _UNITS[unit], 10 ** len(part or ""))
        if not rest and least <= ns <= most:
            return ns
    limits = f"from {least} ns to {most} ns" if most < SECOND * 10 else f"of {least} ns or more"
    expected = f"a time {limits}, such as `50us`, `1.5 s` or `10m`"
    text.found.add(bad_value(text.span(node), written, expected))
    return None


def _date(text: Yaml, node: yaml.Node) -> int | None:
    """In ns since 1970."""
    written = text.text(node)
    if written is None:
        return None
    found = _DATE.fullmatch(written)
    try:
        if found is not None:
            day, time, part = found.groups()
            seconds = int(datetime.fromisoformat(f"{day}T{time}+00:00").timestamp())
            if seconds >= 0:
                return seconds * SECOND + int((part or "0").ljust(9, "0"))
    except ValueError:
        pass  # 30 February, say
    expected = "a time in UTC from 1970 on, such as `2026-01-31T12:00:00Z`"
    text.found.add(bad_value(text.span(node), written, expected))
    return None
