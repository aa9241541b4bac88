"""Interpreter and kernel agree on rules that come by the column, many masks at a time, mixed with
requests and without a grace period between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv4Network
from itertools import count, product

import pytest
from agreement import Both, loaded, quick
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules import column_dict
from helioc.lang.contract.rules.columns import Columns, numbered
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.interleaving import NONE, Conflict, WriteSet, YieldPoint
from helioc.lang.contract.rules.rulebook import Plan, RuleBook
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.rules import bulk
from hypothesis import given, note, settings
from hypothesis import strategies as st
from linx_maps import udp
from linx_packets import frames
from linx_requests import ADDRESSES, BEGINNING, requests
from linx_world import LAN, WORLD, linx

PAIRS = list(product(range(1, 25), repeat=2))  # lengths of a source and a target: a mask each
FATES = ["1", "2", "3", "4"]


@pytest.fixture(scope="module")
def both(kernel: None) -> Iterator[Both]:
    with loaded(linx(), WORLD, "fused") as made:
        yield made


@pytest.fixture(autouse=True)
def as_if_they_were_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a million rules do, some do, too: all stays columns, the kernel writes beside."""
    monkeypatch.setattr(column_dict, "FEWEST", 1)
    monkeypatch.setattr(bulk, "_MANY", 20)
    monkeypatch.setattr(bulk, "_CHUNK", 7)


class Told:
    """A rule book and the kernel's rules, told the same, never settled unasked. `serial`: a book
    that is told one after the other what came into force, in that order."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self.book = both.empty()
        self.serial = RuleBook(self.book.manifest, self.book.ports, self.book.ifindexes)
        self.touched = WriteSet()
        self.request(BEGINNING)

    def request(self, text: str) -> None:
        request = parse_request(Source("request", text))
        plan = self.book.plan(request)
        self._apply(plan)
        self.touched.add(plan, self.book.kinds)
        self.serial.commit(self.serial.plan(request, plan.allotted))

    def csv(self, head: str, rows: list[str]) -> None:
        columns = self._columns(head, rows)
        self._apply_columns(columns, self.book.plan_columns(columns))

    def csv_beside(self, head: str, rows: list[str], others: dict[int, str]) -> None:
        """In pieces, with others' requests at these pauses."""
        columns, pause = self._columns(head, rows), _Others(self, others)
        self.touched.clear()
        with suppress(Conflict):
            with self.book.planned(columns, pause) as plan:
                self._apply_columns(columns, plan, pause)
            return
        note("overtaken")
        self.csv(head, rows)

    def _columns(self, head: str, rows: list[str]) -> Columns:
        source = Source("rules.csv", "\n".join([head, *rows]) + "\n")
        return read_csv(source, self.book.kinds["PDR"])

    def _apply_columns(self, columns: Columns, plan: Plan, pause: YieldPoint = NONE) -> None:
        self._apply(plan, pause)
        ids = plan.blocks[0].ids
        self.serial.commit(self.serial.plan_columns(numbered(columns, ids) or columns))

    def agree_with_one_after_the_other(self) -> None:
        """All but the numbers of their order."""
        mine, theirs = (
            sorted((r.kind, r.id, r.name, bool(r.owner), *r[5:]) for r in book.save())
            for book in (self.book, self.serial)
        )
        assert [str(rule) for rule in mine] == [str(rule) for rule in theirs]
        order, serial = ([(r.kind, r.id) for r in b.save()] for b in (self.book, self.serial))
        assert order == serial

    def delete(self, count: int) -> None:
        """The oldest PDRs."""
        ids = [rule.id for rule in self.book.rules("PDR")][:count]
        if ids:
            self.request("delete " + ", ".join(f"PDR {i}" for i in ids))

    def pairs(self, first: int, count: int) -> list[str]:
        """A PDR for each of `PAIRS`; returns frames' addresses that it is the best for."""
        rows = [_pair(*pair) for pair in PAIRS[first : first + count]]
        fates = [f"{row},{FATES[i % 4]}" for i, row in enumerate(rows)]
        self.csv("src_ip,dst_ip,FAR", fates)
        return rows

    def _apply(self, plan: Plan, pause: YieldPoint = NONE) -> None:
        self.both.kernel.writer.try_apply(plan, pause)
        self.book.commit(plan._replace(revision=self.book.revision))

    def agree_on(self, rows: list[str]) -> None:
        for row in rows:
            source, target = (prefix.partition("/")[0] for prefix in row.split(","))
            self.both.agree(self.book, udp(source, target), LAN)

    def counted(self) -> tuple[int, int]:
        """Keys in the hash, keys that the directory's tuples say they have."""
        table = self.both.kernel.writer.tables["PDR"]
        assert table.entries is not None and table.directory is not None
        tuples = [t for same in table.directory.by_mask.values() for t in same]
        keys = len(table.entries.read_all()[0])
        return keys, sum(t.keys for t in tuples)


def _pair(source: int, target: int) -> str:
    return ",".join(
        f"{IPv4Network((0x80 << 24 | 1 << 32 - n, n), False)}" for n in (source, target)
    )


class _Others:
    """The pauses of a large request, at some of which others' are made."""

    def __init__(self, rules: Told, others: dict[int, str]) -> None:
        self._told, self._others, self._at = rules, dict(others), count()

    def __call__(self) -> None:
        text = self._others.pop(next(self._at), None)
        if text is None:
            return
        try:
            self._told.request(text)
        except Refused as refused:
            note(f"beside: {refused.diagnostics[0].code}")
        draft = self._told.book.draft
        if draft is not None and draft.overtaken(self._told.touched):
            raise Conflict
        self._told.touched.clear()

    def rest(self) -> None: ...

    @contextmanager
    def without_turn(self) -> Iterator[None]:
        yield
        self()


# ---- more masks than fit ------------------------------------------------------------------------


@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize(("old", "new"), [(200, 112), (200, 100), (200, 56), (256, 256)])
def test_masks_take_the_place_of_deleted_ones(
    both: Both, old: int, new: int, settled: bool
) -> None:
    rules = Told(both)
    rules.pairs(0, old)
    rules.delete(old)
    if settled:
        both.kernel.writer.settle()
    rows = rules.pairs(old, new)
    rules.agree_on(rows)
    both.kernel.writer.settle()
    assert rules.counted() == (new, new)
    rules.agree_on(rows[::7])


@pytest.mark.parametrize("count", [400, 512, 257])
def test_more_masks_than_a_directory_holds_are_refused(both: Both, count: int) -> None:
    rules = Told(both)
    kept = rules.pairs(0, 20)
    both.kernel.writer.settle()
    before = rules.counted(), both.kernel.writer.epoch, sorted(both.kernel.writer.tables["PDR"].ids)
    with pytest.raises(Refused) as refused:
        rules.pairs(20, count)
    assert refused.value.diagnostics[0].code == "H0731"
    writer = both.kernel.writer
    assert (rules.counted(), writer.epoch, sorted(writer.tables["PDR"].ids)) == before
    rules.agree_on(kept)
    rows = rules.pairs(20, 236)
    rules.agree_on(kept + rows)
    assert rules.counted() == (256, 256)


def test_equal_keys_of_a_mask_lie_in_several_tuples(both: Both) -> None:
    """`tos` under a mask and `dscp` say the same in other words."""
    rules = Told(both)
    said = [f"10.{1 + i}.0.0/16,{words},{FATES[i % 4]}"
            for i in range(6) for words in ("184 & 0xfc,", ",46")]  # fmt: skip
    rules.csv("dst_ip,tos,dscp,FAR", said)
    directory = both.kernel.writer.tables["PDR"].directory
    assert directory is not None and [len(same) for same in directory.by_mask.values()] == [2]
    at = [udp("10.1.0.10", f"10.{1 + i}.0.5") for i in range(6)]
    for frame in at:  # a TOS of 0xb8 with its checksum made up for
        both.agree(rules.book, _expedited(frame), LAN)
    rules.delete(6)
    for frame in at:
        both.agree(rules.book, _expedited(frame), LAN)
    with pytest.raises(Refused) as refused:
        rules.pairs(0, 256)
    assert refused.value.diagnostics[0].code == "H0731"
    for frame in at:
        both.agree(rules.book, _expedited(frame), LAN)


def _expedited(frame: bytes) -> bytes:
    total = int.from_bytes(frame[24:26], "big") - 0xB8
    return frame[:15] + b"\xb8" + frame[16:24] + (total % 0xFFFF).to_bytes(2, "big") + frame[26:]


# ---- rules that nobody wrote --------------------------------------------------------------------

HEAD = "src_ip,dst_ip,protocol,tos,dscp,src_port,dst_port,vlan_id,src_mac,FAR"
lengths = st.sampled_from([8, 14, 15, 16, 24, 31, 32]) | st.integers(0, 32)
prefixes = st.builds(
    lambda address, length: str(IPv4Network((address, length), strict=False)),
    st.sampled_from(ADDRESSES),
    lengths,
)
ranges = ["0..65535", "0..1023", "1024..65535", "1..65534", "80..90"]
plain_ports = ["", "", "0", "53", "80", "65535"]


def _rows(ports: list[str]) -> st.SearchStrategy[list[str]]:
    row = st.tuples(
        prefixes | st.just(""),
        prefixes | st.just(""),
        st.sampled_from(["", "", "TCP", "UDP", "17"]),
        st.sampled_from(["", "", "184", "0", "184 & 0xfc", "1 & 3", "0xb8 & 0xe0"]),
        st.sampled_from(["", "", "46", "0", "63"]),
        st.sampled_from(ports),
        st.sampled_from(ports),
        st.sampled_from(["", "", "7", "0", "4095"]),
        st.sampled_from(["", "", "02:00:00:00:00:0a", "2199023255563"]),
        st.sampled_from(FATES),
    )
    return st.lists(row.map(",".join), min_size=1, max_size=12)


# What others ask for meanwhile: also for what is in the columns, and against it.
some = [f"10.{i}.0.0/16" for i in range(1, 6)]
clashes = st.sampled_from(
    [f"create PDR [(dst_ip, u32, {prefix}), FAR 3]" for prefix in some] + ["delete FAR 4"] * 3
)
clashing = st.lists(
    st.builds(lambda prefix, far: f",{prefix},,,,,,,,{far}", st.sampled_from(some), st.just(4)),
    min_size=3, max_size=9, unique=True,
)  # fmt: skip
beside = st.dictionaries(st.integers(0, 35), requests | clashes, max_size=4)
grids = st.tuples(st.integers(0, 400), st.integers(30, 150))
steps = st.one_of(
    requests.map(lambda text: ("request", text)),
    _rows(plain_ports).map(lambda rows: ("csv", rows)),
    _rows(plain_ports + ranges).map(lambda rows: ("csv", rows)),
    st.tuples(_rows(plain_ports), beside).map(lambda both: ("beside", both)),
    st.tuples(clashing, beside).map(lambda both: ("beside", both)),
    st.tuples(_rows(plain_ports + ranges), beside).map(lambda both: ("beside", both)),
    grids.map(lambda grid: ("pairs", grid)),
    st.sampled_from([3, 40, 1000]).map(lambda count: ("delete", count)),
)


@settings(quick, max_examples=60)
@given(st.lists(steps, min_size=2, max_size=7), st.lists(frames(), min_size=4, max_size=8))
def test_rules_by_the_column_that_come_and_go(
    both: Both,
    said: list[tuple[str, object]],
    arriving: list[tuple[bytes, int]],
) -> None:
    """After each step, taken or refused, every packet meets the same rule in both."""
    rules = Told(both)
    for step in said:
        note(repr(step))
        _step(rules, step)
        for frame, port in arriving:
            both.agree(rules.book, frame, port)
        if step[0] == "pairs":
            rules.agree_on([_pair(*pair) for pair in PAIRS[:: len(PAIRS) // 5]])
    rules.agree_with_one_after_the_other()
    both.kernel.writer.settle()
    keys, counted = rules.counted()
    assert keys == counted


def _step(rules: Told, step: tuple[str, object]) -> None:
    try:
        match step:
            case "request", str(text):
                rules.request(text)
            case "csv", list(rows):
                rules.csv(HEAD, rows)
            case "beside", (list(rows), dict(others)):
                rules.csv_beside(HEAD, rows, others)
            case "pairs", (int(first), int(count)):
                rules.pairs(first, count)
            case "delete", int(count):
                rules.delete(count)
    except Refused as refused:
        note(refused.diagnostics[0].code)
