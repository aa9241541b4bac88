"""Rules listed by the column: the same as rule by rule, on every pipeline that ships."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from helioc.compiler.driver import check_file
from helioc.compiler.fuzzing.packets import Drawn
from helioc.compiler.fuzzing.scenarios import Fuzzed
from helioc.compiler.fuzzing.session import Session, ask, new_book
from helioc.lang.contract.manifest.manifest import RuleKind
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.ie_values import spell
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.source import Source
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc import list_columns, listing
from helioc.runtime.rules.byte_columns import Cells, colons, decimal, dotted, varint
from helioc.runtime.rules.images import ImageCodec
from helioc.runtime.rules.matches import MatchCodec
from helioc.runtime.rules.moment import Array, Moment, Rules
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

#: A rule that has a group of several entries of its own, which no example draws.
GROUPS = {"linx": "create FAR 900 [(action, u8, DROP)], PDR 900 [(dscp, u8, 1), "
                  "FAR [(action, u8, PASS)], LBR [(tos, u8, 4), FAR, FAR 900]]"}  # fmt: skip
SHIPPED = sorted((Path(__file__).parents[2] / "pipelines").glob("*.hp"))


def by_row(found: Cells) -> list[bytes]:
    raw, ends = found.tobytes(), found.lengths.cumsum().tolist()
    return [raw[first:end] for first, end in zip([0, *ends], ends, strict=False)]


@given(st.lists(st.integers(0, (1 << 64) - 1) | st.integers(0, 300), min_size=1))
def test_numbers_are_spelled_by_the_column(values: list[int]) -> None:
    column = np.array(values, np.uint64)
    assert by_row(decimal(column)) == [b"%d" % value for value in values]
    for bits, kind, spelled in ((32, "ip4", dotted), (48, "mac", colons)):
        some = column & np.uint64((1 << bits) - 1)
        assert by_row(spelled(some)) == [spell(kind, each).encode() for each in some.tolist()]
    messages = [pb.Rule(packets=value).SerializeToString()[1:] for value in values]
    assert by_row(varint(column)) == messages


def moment_of(book: RuleBook, seed: int) -> Moment:
    """What a reader finds of these rules in the maps. With a `seed` they match whatever elements
    may: forms and values that no shipped pipeline has."""

    def read(kind: RuleKind) -> Rules:
        images, rng = ImageCodec(book.manifest, kind), Random(seed)
        matches, rules = MatchCodec(kind, images), list(book.rules(kind.name))
        raw = memoryview(bytearray((len(rules) + 1) * kind.image_size))
        for slot, rule in enumerate(rules, 1):
            at = slot * kind.image_size
            images.write(raw, at, rule, slot, matches.of(rule).image)
            for match in kind.match if seed else ():
                element = book.manifest.element(match.element)
                if element.symbols or element.references:
                    continue  # of these no form has other values than theirs
                pair = [rng.choice((rng.getrandbits(match.width), 7)) for _ in range(2)]
                place = images.matched[match.element]
                packed = (each.to_bytes(place.size, "little") for each in pair)
                image = bytes([rng.randrange(5)]) + b"".join(packed)
                raw[at + place.at : at + place.at + len(image)] = image
        table = np.frombuffer(raw, np.uint8).reshape(-1, kind.image_size)
        slots = np.arange(1, len(rules) + 1)
        words = 9 if "sizes" in kind.counts else 2

        def count(cells: Array) -> Array:
            counted = [[c // 2 * 77 ** min(i, 9) for i in range(words)] for c in cells.tolist()]
            return np.array(counted, np.uint64).reshape(-1, words)

        return Rules(book.manifest, kind, slots, slots, table, count if kind.counts else None)

    return Moment(book.manifest, 7, book.ports, read).detach()


class Query(listing.Query):
    """Everything."""

    def __init__(self, text: bool, counted: bool) -> None:
        self.kinds, self.ids, self.name, self.says, self.to = [], set(), "", [], None
        self.text, self.counted, self.request = text, counted, False


def rule_by_rule(moment: Moment, query: Query) -> Iterator[pb.Rule]:
    return iter(listing.Listing(moment, query))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_lists_are_those_of_single_rules(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fuzzed = Fuzzed(check_file(path))
    monkeypatch.setattr(list_columns, "_AT_ONCE", 3)
    monkeypatch.setattr(listing, "PART", 100)
    seen = set[str]()

    @settings(max_examples=10, deadline=None, derandomize=True, database=None,
              phases=[Phase.generate])  # fmt: skip
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        packets = data.draw(st.lists(fuzzed.packets(), min_size=2, max_size=3))
        book = new_book(fuzzed.manifest, fuzzed.world.environment)
        for request in data.draw(st.composite(_asked)(fuzzed, packets)):
            assert ask(book, request) is not None
        if groups := GROUPS.get(path.stem):
            assert ask(book, parse_request(Source("groups", groups))) is not None
        moment = moment_of(book, data.draw(st.integers(0, 99)))
        seen.update(name for name, table in moment.tables.items() if len(table))
        for text, counted in ((True, False), (False, False), (True, True)):
            query = Query(text, counted)
            parts = [p if isinstance(p, bytes) else p.SerializeToString()
                     for p in listing.Listing(moment, query).parts()]  # fmt: skip
            read = [pb.ListPart.FromString(part) for part in parts]
            assert [rule for part in read for rule in part.rules] == [*rule_by_rule(moment, query)]
            assert {part.revision for part in read} == {7}
            assert all(len(part.rules) == 1 or len(raw) < 100 + 4 + max(
                rule.ByteSize() for rule in part.rules) + 2
                for raw, part in zip(parts, read, strict=True) if part.rules)  # fmt: skip

    agree()
    assert seen == {kind.name for kind in fuzzed.manifest.rules}


def _asked(draw: st.DrawFn, fuzzed: Fuzzed, packets: Sequence[Drawn]) -> list[Request]:
    session = Session(fuzzed.rules, draw, packets)
    return [*session.created(), *session.changed()]
