"""Transactions: all or nothing, settled, undone, recovered."""

from __future__ import annotations

import struct

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.rules.counters import FlatCounters
from helioc.runtime.rules.recovery import recover
from helioc.runtime.rules.steps import Steps
from helioc.runtime.rules.stored import EPOCHS, SLOT
from helioc.runtime.rules.tables import Table
from helioc.runtime.rules.transaction import FARTHEST, Writer
from helioc.runtime.rules.versions import Tuple
from linx_maps import (
    DROP,
    PASS,
    Nowhere,
    bare_maps,
    bundle,
    changes,
    far,
    hash_keys,
    pdr,
    wanted_keys,
    written,
)

pytestmark = pytest.mark.usefixtures("kernel")

NET = 0x0A000000
PORTS = "(src_port, u16, 1..65534), (dst_port, u16, 1..65534)"  # 225 masks


def test_what_is_told_is_in_the_maps() -> None:
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)], FAR 2 [(action, u8, PASS)]")
        rules.tell("create PDR 1 [(dst_ip, u32, 10.0.0.0/8), (src_port, u16, 10..99), FAR 1]")
        rules.tell("create LBR 9 [FAR 1 [(weight, u16, 3)], FAR 2]; update PDR 1 [FAR 2]")
        rules.agree()
        rules.tell("delete PDR 1; create PDR 1 [(dst_ip, u32, 10.0.0.0/8), FAR 1]")
        rules.agree()
        rules.tell("delete LBR 9, PDR 1, FAR 1")
        rules.agree()
        rules.writer.settle()
        assert not any(hash_keys(rules.writer).values())


def test_who_asks_a_closed_writer_is_told_the_last_revision() -> None:
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        last = rules.writer.epoch
        rules.writer.close()
        assert rules.writer.epoch == last > 0 and rules.writer.broken
        rules.writer.close()


def test_every_cell_is_settled_after_grace_and_nothing_dead_is_left() -> None:
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)], FAR 2 [(action, u8, PASS)]")
        for i in range(20):
            rules.tell(f"create PDR [(dst_ip, u32, 10.{i}.0.0/16), FAR {1 + i % 2}]")
        rules.tell("update FAR 1 [(action, u8, PASS)]; delete PDR 3, PDR 4")
        rules.writer.settle()
        for table in rules.writer.tables.values():
            live = set(table.sequences.values())
            for cell, word in enumerate(table.cells):
                old, new = word & SLOT, word >> 24 & SLOT
                assert old == new and (cell == 0 or bool(new) == (cell in live))
        keys = {name: len(found) for name, found in hash_keys(rules.writer).items()}
        assert keys == wanted_keys(rules.writer)


def test_a_rule_takes_the_number_of_the_one_that_it_gives() -> None:
    """So that packets fetch both at once; of two that give the same the first does."""
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)], FAR 2 [(action, u8, PASS)]")
        rules.tell("create FAR 3 [(action, u8, DROP)]")
        for number, to in (1, "FAR 3"), (2, "FAR 2"), (3, "FAR 2"):
            rules.tell(f"create PDR {number} [(dst_ip, u32, 10.{number}.0.0/16), {to}]")
        own = "FAR 5 [(action, u8, PASS)]"
        rules.tell(f"create PDR 4 [(dst_ip, u32, 10.4.0.0/16), {own}]")
        tables = rules.writer.tables
        fars, pdrs = tables["FAR"].ids, tables["PDR"].ids
        assert pdrs[1] == fars[3] and pdrs[2] == fars[2] and pdrs[4] == fars[5]
        assert len(set(pdrs.values())) == 4
        rules.agree()


def test_without_a_directory_nothing_is_said_of_keys() -> None:
    """Packets would take the epoch for the directory's count."""
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        table = rules.writer.tables["PDR"]
        table.keys_change(7)
        assert table.directory is not None and table.directory.since == 0
        rules.tell("create PDR 1 [(dst_ip, u32, 10.0.0.0/8), FAR 1]")
        assert table.directory.since == rules.writer.epoch


def test_cells_are_reused_and_their_counters_begin_at_zero() -> None:
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        table = rules.writer.tables["FAR"]
        cell = table.ids[1]
        counters = table.counters
        assert isinstance(counters, FlatCounters)
        counters.words[:, cell] = 1
        rules.tell("delete FAR 1")
        rules.writer.settle()
        rules.tell("create FAR 2 [(action, u8, DROP)]")
        assert table.ids[2] == cell
        assert not counters.words[:, cell].any()


def test_a_cell_changes_once_in_a_grace_period() -> None:
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)], FAR 2 [(action, u8, DROP)]")
        rules.writer.settle()
        before = rules.writer.graces
        rules.tell("update FAR 1 [(action, u8, PASS)]")
        rules.tell("update FAR 2 [(action, u8, PASS)]")
        assert rules.writer.graces == before
        rules.tell("update FAR 1 [(action, u8, DROP)]")
        assert rules.writer.graces == before + 1


@pytest.mark.parametrize("waits", [True, False])
def test_a_packet_of_the_epoch_before_sees_what_it_saw(
    waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two grace periods a cell answers rightly for the epoch at their beginning too. The
    control: a writer that does not wait changes what a packet under way sees."""
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        rules.writer.settle()
        table = rules.writer.tables["FAR"]
        cell, epoch = table.ids[1], rules.writer.epoch
        slot = _seen(table.cells[cell], epoch)
        asked: list[int] = []

        def grace() -> None:
            asked.append(_seen(table.cells[cell], epoch))

        rules.writer._grace = grace
        rules.tell("update FAR 1 [(action, u8, PASS)]")
        if not waits:
            monkeypatch.setattr(Table, "settled", lambda *_: True)
        rules.tell("update FAR 1 [(action, u8, DROP)]")
        if waits:
            assert asked == [slot]
        else:
            assert not asked and _seen(table.cells[cell], epoch) != slot


def _seen(cell: int, epoch: int) -> int:
    """helio.bpf.h's cell_slot."""
    ahead = (epoch - (cell >> 48)) % EPOCHS
    return cell >> 24 & SLOT if ahead < EPOCHS // 2 else cell & SLOT


def test_200_000_commits_beside_an_untouched_rule() -> None:
    with bare_maps() as maps:
        writer = Writer(bundle().manifest, maps, Nowhere())
        untouched = far(1, 1, DROP)
        others = [far(2 + i, 2 + i, PASS) for i in range(400)]
        writer.apply(changes(created=(untouched, *others)))
        table = writer.tables["FAR"]
        cell, slot = table.ids[1], table.live_slot(table.ids[1])
        plans = [changes(changed=((rule, rule),)) for rule in others]
        for i in range(200_000):
            writer.apply(plans[i % len(plans)])
            assert _seen(table.cells[cell], writer.epoch) == slot
        assert writer.epoch == 200_001
        assert writer.graces > 200_000 / FARTHEST
        assert table.rule_at(cell) == untouched
        writer.close()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"create PDR [{PORTS}, FAR 1], PDR [(protocol, u8, UDP), {PORTS}, FAR 1]", "H0731"),
        ("create PDR [(dst_ip, u32, 10.9.0.0/16), FAR 77]", "H04"),
        ("create PDR [(dst_ip, u32, 10.0.0.0/16), FAR 1]", "H0452"),
        ("delete FAR 1", "H04"),
        ("create FAR 9 [(action, u32, DROP)]", "H0414"),
        ("create PRD [(dst_ip, u32, 10.9.0.0/16), FAR 1]", "H04"),
    ],
)
def test_a_refused_request_changes_nothing(text: str, code: str) -> None:
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        rules.tell("create PDR [(dst_ip, u32, 10.0.0.0/16), FAR 1]")
        rules.writer.settle()
        before = _everything(rules.writer)
        with pytest.raises(Refused) as refused:
            rules.tell(f"create FAR 8 [(action, u8, PASS)]; {text}")
        assert refused.value.diagnostics[0].code.startswith(code)
        rules.writer.settle()
        assert _everything(rules.writer) == before
        rules.agree()
        rules.tell("create FAR 8 [(action, u8, PASS)]")
        rules.agree()


def test_a_full_lookup_table_is_said_and_undone() -> None:
    with bare_maps(pdr_index=2) as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        for i in range(12):
            rules.tell(f"create PDR [(dst_ip, u32, 10.{i}.0.0/16), FAR 1]")
        rules.writer.settle()
        before = _everything(rules.writer)
        with pytest.raises(Refused) as refused:
            rules.tell("create PDR [(dst_ip, u32, 10.99.0.0/16), FAR 1]")
        assert refused.value.diagnostics[0].code == "H0730"
        assert _everything(rules.writer) == before
        # What is only owed to a grace period counts as room.
        rules.tell("delete PDR 5")
        rules.tell("create PDR [(dst_ip, u32, 10.99.0.0/16), FAR 1]")
        rules.agree()


def test_a_first_request_that_is_refused_takes_nothing() -> None:
    """The maps say revision 0 before it and behind it."""
    with bare_maps(pdr_index=2) as maps, written(maps) as rules:
        before = _everything(rules.writer)
        pdrs = ", ".join(f"PDR [(dst_ip, u32, 10.{i}.0.0/16), FAR 1]" for i in range(13))
        for _ in range(3):
            with pytest.raises(Refused) as refused:
                rules.tell(f"create FAR 1 [(action, u8, DROP)], {pdrs}")
            assert refused.value.diagnostics[0].code == "H0730"
            assert _everything(rules.writer) == before
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        rules.agree()


def test_a_whole_kind_can_be_replaced_in_one_request() -> None:
    with bare_maps() as maps, written(maps) as rules:
        count = bundle().manifest.rule("OVERLAY").capacity
        rules.tell(_overlays("create", 1, count))
        rules.tell(_overlays("replace", 2, count))
        rules.agree()
        rules.tell(_overlays("replace", 3, count))
        rules.agree()
        assert len(list(rules.book.rules("OVERLAY"))) == count


def _overlays(verb: str, remote: int, count: int) -> str:
    rules = [
        f"OVERLAY {n} [(local_ip, u32, 192.0.2.{n & 255}), "
        f"(remote_ip, u32, 198.51.{n >> 8}.{remote}), (interface, u32, WAN1)]"
        for n in range(1, count + 1)
    ]
    return f"{verb} {', '.join(rules)}"


def test_rules_that_point_at_a_replaced_one_follow_it() -> None:
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create OVERLAY 1 [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.2), "
                   "(interface, u32, WAN1)]; create FAR 1 [(action, u8, REDIRECT), "
                   "(interface, u32, OVERLAY.1)]")  # fmt: skip
        old = next(rules.book.rules("OVERLAY"))
        moved = ("remote_ip", old.match[1][1]._replace(value=0xC0000203))
        new = old._replace(match=(old.match[0], moved))
        rules.writer.apply(changes(changed=((old, new),)))
        overlay, fars = rules.writer.tables["OVERLAY"], rules.writer.tables["FAR"]
        at = fars.record_at(fars.ids[1], fars.live_slot(fars.ids[1]))
        member = next(m for m in fars.kind.record if m.kind == "reference")
        record = fars.records[at + member.offset : at + member.offset + 4]
        assert int.from_bytes(record, "little") == overlay.ids[1]


def test_an_overlay_s_endpoints_change_under_a_far() -> None:
    overlay = ("OVERLAY GRE-WAN1 [(local_ip, u32, 192.0.2.{}), (remote_ip, u32, 192.0.2.8), "
               "(interface, u32, WAN1)]")  # fmt: skip
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, REDIRECT), (interface, u32, GRE-WAN1)]; create "
                   + overlay.format(1))  # fmt: skip
        for last in range(2, 9):
            rules.tell(f"delete OVERLAY GRE-WAN1; create {overlay.format(last)}")
            rules.agree()
            assert rules.writer.tables["OVERLAY"].ids[1] in _records(rules.writer, "FAR")[0][1]


def test_rules_and_spreads_follow_an_id_that_is_made_anew() -> None:
    """Those that point at it get new records; all others keep theirs."""
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)], FAR 2 [(action, u8, PASS)], "
                   "LBR 3 [FAR 1, FAR 2], LBR 4 [FAR 2]")  # fmt: skip
        for i, to in enumerate(("FAR 1", "FAR 2", "LBR 3", "FAR 1")):
            rules.tell(f"create PDR [(dst_ip, u32, 10.{i}.0.0/16), {to}]")
        rules.writer.settle()
        tables = rules.writer.tables
        before = {kind: _records(rules.writer, kind) for kind in ("PDR", "LBR")}
        old = next(rule for rule in rules.book.rules("FAR") if rule.id == 1)
        was = tables["FAR"].ids[1]
        rules.writer.apply(changes(created=(far(1, 99, PASS),), removed=(old,)))
        now = tables["FAR"].ids[1]
        assert now != was
        after = {kind: _records(rules.writer, kind) for kind in ("PDR", "LBR")}
        assert [x[0] != y[0] for x, y in zip(before["PDR"], after["PDR"], strict=True)] == [
            True, False, False, True,
        ]  # fmt: skip
        assert [x[0] != y[0] for x, y in zip(before["LBR"], after["LBR"], strict=True)] == [
            True, False,
        ]  # fmt: skip
        for kind in before:
            for (_, said), (_, says) in zip(before[kind], after[kind], strict=True):
                assert says == [now if cell == was else cell for cell in said]


def _records(writer: Writer, kind: str) -> list[tuple[int, list[int]]]:
    """Of each rule, oldest first: its record's slot, and the cells that the record leads to."""
    table = writer.tables[kind]
    found = []
    for _, cell in sorted(table.sequences.items()):
        slot = table.live_slot(cell)
        at = table.record_at(cell, slot)
        members = [m for m in table.kind.record if m.kind in ("reference", "slots")]
        data = b"".join(
            bytes(table.records[at + m.offset : at + m.offset + m.size]) for m in members
        )
        found.append((slot, [x for (x,) in struct.iter_unpack("<I", data)]))
    return found


def test_the_next_writer_finds_everything() -> None:
    with bare_maps() as maps:
        with written(maps) as rules:
            rules.tell("create FAR 1 [(action, u8, DROP)], LBR 3 [FAR 1]")
            rules.tell("create PDR [(dst_ip, u32, 10.0.0.0/16), (src_port, u16, 5..99), FAR 1]")
            saved = rules.book.save()
            tuples = {t.number: t.mask for t in _tuples(rules.writer)}
        with written(maps) as again:
            assert sorted(again.writer.rules(), key=lambda r: r.sequence) == saved
            assert {t.number: t.mask for t in _tuples(again.writer)} == tuples
            again.book.restore(again.writer.rules())
            again.tell("delete PDR 1; create PDR [(dst_ip, u32, 10.0.0.0/16), LBR 3]")
            again.agree()


@pytest.mark.parametrize(("of", "step"), [(Writer, "_publish_directories"), (Steps, "write_cells")])
def test_a_writer_that_died_at_any_step_is_waited_for(
    of: type, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though no cell of its last transaction is written: packets may read the directory that its
    own took the place of. One that settled leaves nothing to wait for."""
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        rules.writer.settle()
        after = Writer(bundle().manifest, maps, Nowhere())
        recover(after)
        assert after.graces == 0
        after.close()

        def die(*_: object) -> None:
            raise SystemExit

        with monkeypatch.context() as patched, pytest.raises(SystemExit):
            patched.setattr(of, step, die)
            patched.setattr(Writer, "_undo", lambda *_: None)
            rules.tell("create PDR [(dst_ip, u32, 10.0.0.0/16), FAR 1]")
        after = Writer(bundle().manifest, maps, Nowhere())
        recover(after)
        assert after.graces == 2
        assert [rule.kind for rule in after.rules()] == ["FAR"]
        assert not any(hash_keys(after).values())
        after.close()


def _tuples(writer: Writer) -> list[Tuple]:
    directory = writer.tables["PDR"].directory
    assert directory is not None
    return [t for same in directory.by_mask.values() for t in same]


def test_directories_come_and_go_with_their_masks() -> None:
    """More masks over time than a directory holds at once."""
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        masks: set[int] = set()
        for _ in range(3):
            for length in range(1, 33):
                for other in range(1, 17):
                    rules.tell(f"create PDR 5 [(dst_ip, u32, 128.0.0.0/{length}), "
                               f"(src_ip, u32, 128.0.0.0/{other}), FAR 1]")  # fmt: skip
                    masks.update(t.mask for t in _tuples(rules.writer))
                    rules.tell("delete PDR 5")
            rules.agree()
        assert len(masks) == 32 * 16 > bundle().manifest.rule("PDR").tuples
        rules.writer.settle()
        assert not any(hash_keys(rules.writer).values())


def test_equal_matches_of_one_request_take_turns() -> None:
    """Deleting and creating the same match again and again, without a grace period between."""
    with bare_maps() as maps:
        writer = Writer(bundle().manifest, maps, Nowhere())
        recover(writer)
        writer.apply(changes(created=(far(1, 1, DROP),)))
        rule = pdr(1, 2, 1, NET, 16)
        writer.apply(changes(created=(rule,)))
        for i in range(50):
            new = pdr(1, 3 + i, 1, NET, 16)
            writer.apply(changes(created=(new,), removed=(rule,)))
            rule = new
        assert sorted(writer.rules(), key=lambda r: r.sequence) == [far(1, 1, DROP), rule]
        writer.settle()
        assert len(hash_keys(writer)["PDR"]) == 1
        writer.close()


def _everything(writer: Writer) -> object:
    rules = sorted(writer.rules(), key=lambda r: r.sequence)
    visible = {
        name: [table.live_slot(cell) for cell in range(1, len(table.cells))]
        for name, table in writer.tables.items()
    }
    return rules, visible, hash_keys(writer), writer.epoch


def test_a_rule_that_moves_to_another_cell_is_not_forgotten() -> None:
    """It leaves its old cell and comes to a new one in one transaction, under one sequence."""
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        writer, table = rules.writer, rules.writer.tables["PDR"]
        old, new = pdr(1, 9, 1, NET, 16), pdr(1, 9, 1, NET + (1 << 16), 16)
        writer.apply(changes(created=(old,)))
        before = table.ids[1]
        writer.apply(changes(changed=((old, new),)))
        assert table.sequences[9] == table.ids[1] != before
        writer.settle()
        assert list(table.rules()) == [new]
        writer.apply(changes(removed=(new,)))
        writer.settle()
        assert not table.sequences and not hash_keys(writer)["PDR"]
