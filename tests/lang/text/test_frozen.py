"""Frozen data is what dataclasses are, though no class has methods of its own."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, asdict, fields, replace
from typing import Any

import pytest
from helioc.lang.text.frozen import Frozen


class Place(Frozen):
    x: int
    y: int = 0


class Named(Place):
    """With a name."""

    name: str = ""


class Nothing(Frozen):
    pass


def test_fields_come_by_place_by_name_and_by_default() -> None:
    assert [f.name for f in fields(Named)] == ["x", "y", "name"]
    assert Named(1, name="a") == Named(y=0, name="a", x=1)
    assert (Place(1).x, Place(1).y, Place(1, 2).y) == (1, 0, 2)
    assert Nothing() == Nothing()


@pytest.mark.parametrize(
    ("given", "named"),
    [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1}), ((), {"y": 1, "z": 1})],
)
def test_what_does_not_fit_is_refused(given: tuple[int, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"Place takes \(x, y\)"):
        Place(*given, **named)


def test_equal_ones_are_of_one_class_and_have_one_hash() -> None:
    assert Place(1, 2) == Place(1, 2)
    assert Place(1, 2) != Place(2, 1)
    assert Place(1, 0) != Named(1, 0)
    assert len({Place(1), Place(1, 0), Place(2), Nothing(), Nothing()}) == 3


def test_nothing_changes() -> None:
    place = Place(1)
    with pytest.raises(FrozenInstanceError):
        place.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del place.x
    assert replace(place, x=2) == Place(2)
    assert place == Place(1)


def test_the_standard_library_knows_them() -> None:
    named = Named(1, 2, "a")
    assert asdict(named) == {"x": 1, "y": 2, "name": "a"}
    assert repr(named) == "Named(x=1, y=2, name='a')"
    assert pickle.loads(pickle.dumps(named)) == named
    match named:
        case Named(x, 2, name):
            assert (x, name) == (1, "a")
        case _:
            pytest.fail("no pattern fits")
