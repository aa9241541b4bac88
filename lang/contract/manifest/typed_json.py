"""JSON to frozen dataclasses, by their annotations: nothing passes that they do not say.

Understands int, str, bool, None, Literal, X | None, tuple, dict[str, X] and dataclasses.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

_T = TypeVar("_T")

#: No number is larger: values of elements have up to 128 bits.
_MOST = (1 << 128) - 1


class Misfit(Exception):
    """The JSON is not what the annotations say: `rules[2].capacity` is …, where … is expected."""


def build(cls: type[_T], data: Any, at: str = "") -> _T:
    """An instance of a dataclass. Raises `Misfit`."""
    return _build(cls, data, at)  # type: ignore[no-any-return]


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _build(cls: Any, data: Any, at: str) -> Any:
    if not isinstance(data, dict):
        raise _unfit(at, data, "an object")
    hints, made = _hints(cls), {}
    unknown = [key for key in data if key not in hints]
    if unknown:
        raise Misfit(f"{_place(at)} has a `{unknown[0][:40]}`, which this release does not know")
    for field in fields(cls):
        if field.name in data:
            inside = f"{at}.{field.name}" if at else field.name
            made[field.name] = _value(hints[field.name], data[field.name], inside)
        elif field.default is MISSING:
            raise Misfit(f"{_place(at)} lacks `{field.name}`")
    return cls(**made)


def _value(hint: Any, data: Any, at: str) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if data is None and NoneType in args:
            return None
        (inner,) = (a for a in args if a is not NoneType)
        return _value(inner, data, at)
    if origin is tuple:
        return _tuple(args, data, at)
    if origin is dict:
        if not isinstance(data, dict):
            raise _unfit(at, data, "an object")
        return {key: _value(args[1], value, f"{at}.{key}") for key, value in data.items()}
    if origin is Literal:
        if not isinstance(data, str) or data not in args:
            raise _unfit(at, data, " or ".join(f"`{a}`" for a in args))
        return data
    return _build(hint, data, at) if is_dataclass(hint) else _plain(hint, data, at)


def _tuple(args: tuple[Any, ...], data: Any, at: str) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise _unfit(at, data, "a list")
    if args[-1] is not Ellipsis:
        if len(data) != len(args):
            raise _unfit(at, data, f"a list of {len(args)}")
        return tuple(
            [_value(a, d, f"{at}[{i}]") for i, (a, d) in enumerate(zip(args, data, strict=True))]
        )
    return tuple([_value(args[0], each, f"{at}[{i}]") for i, each in enumerate(data)])


def _plain(hint: Any, data: Any, at: str) -> Any:
    if hint is int:
        if type(data) is not int or not 0 <= data <= _MOST:
            raise _unfit(at, data, "a number from 0")
    elif hint is bool:
        if type(data) is not bool:
            raise _unfit(at, data, "true or false")
    elif type(data) is not str or not _encodable(data):
        raise _unfit(at, data, "a text")
    return data


def _encodable(text: str) -> bool:
    """JSON's escapes can spell half a surrogate pair, which no file takes."""
    return text.isascii() or not any(0xD800 <= ord(c) < 0xE000 for c in text)


def _place(at: str) -> str:
    return f"`{at}`" if at else "the manifest"


def _unfit(at: str, data: Any, expected: str) -> Misfit:
    if data is None:
        found = "null"
    elif isinstance(data, bool):
        found = "true" if data else "false"
    elif isinstance(data, (int, float)):
        found = str(data) if abs(data) < 1e18 else "a number too large"
    else:
        found = "a text" if isinstance(data, str) else (
            "a list" if isinstance(data, list) else "an object")  # fmt: skip
        if isinstance(data, str) and len(data) <= 40 and _encodable(data):
            found = f"`{data}`"
        elif isinstance(data, list) and expected.startswith("a list"):
            found = f"one of {len(data)}"
    return Misfit(f"{_place(at)} is {found}, where {expected} is expected")
