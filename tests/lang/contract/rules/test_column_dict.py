"""What came by the column, with changes over it, is a dictionary like any other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np
import pytest
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules import column_dict
from helioc.lang.contract.rules.column_dict import (
    ColumnDict,
    Imaged,
    columns_of,
    hash_of,
    hashes_of,
    joined,
    within,
)
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.rules import Reference
from helioc.lang.contract.rules.ruletable import Table
from helioc.lang.text.source import Source
from hypothesis import given, settings
from hypothesis import strategies as st
from rules_world import world

numbers = st.integers(0, 12) | st.sampled_from([1 << 31, (1 << 48) - 1])
step = st.one_of(
    st.tuples(st.just("join"), st.lists(numbers, min_size=1, unique=True)),
    st.tuples(st.just("set"), numbers),
    st.tuples(st.just("delete"), numbers),
)
Steps = list[tuple[str, int | list[int]]]
quick = settings(max_examples=150, deadline=None)


def _same(made: Mapping[int, int], model: dict[int, int]) -> None:
    everything = [*range(14), 1 << 31, (1 << 48) - 1, 1 << 63]
    assert made == model and len(made) == len(model)
    assert sorted(made) == sorted(model) and dict(made.items()) == model
    assert [made.get(k, -1) for k in everything] == [model.get(k, -1) for k in everything]
    assert [k in made for k in everything] == [k in model for k in everything]
    asked = np.array(everything, np.uint64)
    assert within(made, asked).tolist() == [k in model for k in everything]
    keys, values = columns_of(made)
    assert dict(zip(keys.tolist(), values.tolist(), strict=True)) == model
    for key in everything:
        if key not in model:
            with pytest.raises(KeyError):
                made[key]
            with pytest.raises(KeyError):
                del made[key]  # type: ignore[attr-defined]


@quick
@given(st.lists(step, max_size=12))
def test_numbers(steps: Steps) -> None:
    made: ColumnDict[int] = ColumnDict({3: 7, 1 << 31: 8})
    model = {3: 7, 1 << 31: 8}
    for count, (what, said) in enumerate(steps):
        if isinstance(said, list):
            fresh = [key for key in said if key not in model]
            values = range(100 * count, 100 * count + len(fresh))
            made.join(np.array(fresh, np.uint64), np.array(values, np.uint32))
            model.update(zip(fresh, values, strict=True))
        elif what == "set":
            made[said] = model[said] = count
        else:
            assert made.pop(said, -1) == model.pop(said, -1)
        _same(made, model)


def test_to_join_some_to_many_looks_at_none_of_those(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one by one: some became an entry each over the columns, and stayed that."""
    count = 100 * column_dict.FEWEST
    keys = np.arange(2, 2 + count, dtype=np.uint64)
    many = joined(dict[int, int](), keys, keys.astype(np.uint32))
    more = joined(many, keys[: column_dict.FEWEST] + np.uint64(count), keys[: column_dict.FEWEST])
    assert isinstance(more, ColumnDict) and not [*more.singles()]
    images = Imaged({}, lambda i: (b"", i))
    images.join(keys, 0)
    with monkeypatch.context() as patched:
        patched.setattr(np, "isin", None)  # which takes as long as there are
        assert within(more, np.array([1, 2, count + 2])).tolist() == [False, True, True]
        assert images.near(keys[:3] - np.uint64(1), list).tolist() == [False, True, True]


def test_packed_rules_that_a_request_changes_are_not_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When it comes into force: others wait for that."""
    book = world()
    count = column_dict.FEWEST
    lines = "".join(f"10.{i >> 8}.{i & 255}.0/24,19\n" for i in range(count))
    columns = read_csv(Source("pdr.csv", f"dst_ip,FAR\n{lines}"), book.kinds["PDR"])
    first = book.plan_columns(columns)
    book.commit(first)
    ids = [to.id for to in first.results]
    text = "; ".join(f"update PDR {id_}, FAR 18" for id_ in ids)
    plan = book.plan(parse_request(Source("request", text)))
    with monkeypatch.context() as patched:
        patched.setattr(Table, "unpack", None)
        book.commit(plan)
    rule = book.get("PDR", ids[-1])
    assert rule is not None and rule.target == Reference("FAR", 18)


def test_few_are_kept_as_they_are_and_many_as_columns() -> None:
    few = joined({7: 1}, np.array([1, 2]), np.array([3, 4]))
    assert few == {7: 1, 1: 3, 2: 4} and type(few) is dict
    keys = np.arange(100, 100 + column_dict.FEWEST)
    many = joined(few, keys, keys + 1)
    assert isinstance(many, ColumnDict) and many[7] == 1 and many[100 + 17] == 118
    more = joined(many, np.array([5]), np.array([6]))
    assert more is many and more[5] == 6


# ---- match images -----------------------------------------------------------------------------


def _images(numbers: Iterable[int]) -> list[bytes]:
    return [number.to_bytes(9, "big") for number in numbers]


def _hashes(images: list[bytes]) -> column_dict.Array:
    return np.array([hash_of(image) for image in images], np.uint64)


@quick
@given(st.sampled_from([5, column_dict.PRIME]), st.lists(step, max_size=12))
def test_images(prime: int, steps: Steps) -> None:
    """Modulo 5 most hashes are equal."""
    rules: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_dict, "PRIME", prime)
        begun: dict[bytes, column_dict.Handle] = dict(zip(_images([3]), [70], strict=True))
        made, model = Imaged(begun, lambda i: (rules[i], 1000 + i)), dict(begun)
        was: set[bytes] = set()  # of these a mark that they are gone may be left
        for count, (what, said) in enumerate(steps):
            if isinstance(said, list):
                fresh = [image for image in _images(said) if image not in model]
                made.join(_hashes(fresh), len(rules))
                model.update((image, 1000 + len(rules) + i) for i, image in enumerate(fresh))
                rules += fresh
                continue
            (image,) = _images([said])
            if what == "set":
                made[image] = model[image] = count
            else:
                was |= {image} & model.keys()
                assert made.pop(image, -1) == model.pop(image, -1)
            assert made == model and len(made) == len(model) and sorted(made) == sorted(model)
            asked = _images([*range(14), 1 << 31, (1 << 48) - 1])
            for some in (asked, asked[:1], [image for image in asked if image in model]):
                near = column_dict.near(made, _hashes(some), partial(list, some)).tolist()
                assert all(near[i] for i, image in enumerate(some) if image in model)
                if prime > 5:
                    assert not any(near[i] for i, x in enumerate(some) if x not in was | {*model})
            for other in _images(range(14)):
                assert (other in made, made.get(other)) == (other in model, model.get(other))


@quick
@given(
    st.lists(
        st.tuples(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 32) - 1), st.integers(0, 4)),
        min_size=1,
    )
)
def test_hashes_by_the_column_are_those_of_images(rows: list[tuple[int, int, int]]) -> None:
    wide, middle, narrow = zip(*rows, strict=True)
    parts: list[tuple[int, column_dict.Array]] = [
        (8, np.array(wide, np.uint64)),
        (200, np.array(middle, np.uint32)),
        (72, np.array(narrow, np.uint8)),
        (80, np.array([3], np.uint8)),
    ]
    images = [(a << 8 | b << 200 | c << 72 | 3 << 80).to_bytes(40, "big") for a, b, c in rows]
    assert hashes_of(parts, len(rows)).tolist() == [hash_of(image) for image in images]
