"""One build in the place of another: what stays, what comes along, and what goes wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.runtime.kernel.handles import BpfError, Link, Object
from helioc.runtime.kernel.netlink import Netlink
from helioc.runtime.loading import switching
from helioc.runtime.loading import upgrade as upgrading
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.loading.loader import Loaded
from helioc.runtime.loading.reader import Reader
from helioc.runtime.loading.releases import releases_of
from helioc.runtime.loading.schema_change import Answers
from helioc.runtime.loading.upgrade import upgrade
from helioc.runtime.loading.upgrade_plan import plan_upgrade
from helioc.runtime.states.storage import SEED
from numbered import flow
from relay import CONFIG, World, built, layout1, layout3, marked, request

pytestmark = pytest.mark.usefixtures("kernel")
_Result = TypeVar("_Result")

LARGER = ("rule ROUTE [64]", "rule ROUTE [128]")
BY_SIZE = ("counts packets, bytes", "counts packets, bytes, sizes")
NOTES = (("  rule", "  ie note = 9, u64\n\n  rule"), ("gives  way,", "gives  note, way,"))
#: TWO's rules are written again, those of one that is only LARGER are moved.
ONE, TWO, THREE = built(marked(1)), built(marked(2, LARGER, *NOTES)), built(marked(3))


def to(running: Loaded, bundle: Bundle, answers: Answers | None = None) -> Loaded:
    return upgrade(running, plan_upgrade(running, bundle, answers))


def refused(action: Callable[[], object]) -> Diagnostic:
    with pytest.raises(Refused) as error:
        action()
    return error.value.diagnostics[0]


def attached(world: World) -> list[int]:
    """XDP program ids of in0 and out0."""

    def ask() -> list[int]:
        with Netlink() as netlink:
            by_name = {link.name: link.program for link in netlink.links()}
        return [by_name["in0"], by_name["out0"]]

    return world.edge.inside_thread(ask)


def texts(loaded: Loaded) -> list[Any]:
    return [rule._replace(sequence=0) for rule in loaded.book.save()]


@contextmanager
def running(world: World, name: str) -> Iterator[Callable[[Callable[[Loaded], _Result]], _Result]]:
    """The relay, loaded; what is called with it is called within the edge."""

    def within(action: Callable[[Loaded], _Result]) -> _Result:
        def go() -> _Result:
            with Loaded.open(name) as loaded:
                return action(loaded)

        return world.edge.inside_thread(go)

    world.edge.inside_thread(lambda: Loaded.load(ONE, CONFIG, name)).close()
    try:
        yield within
    finally:
        world.edge.inside_thread(lambda: Loaded.open(name)).unload()


def send(world: World, sender: Path, pins: Path, least: int = 1000) -> int:
    """Some packets from near to far; how many."""
    with flow(world.near, world.far, world.frame(), sender, pins / "flow") as some:
        some.until(least)
    assert some.journey.lost == 0
    return some.journey.sent


def counts(name: str) -> dict[int, tuple[int | None, int | None]]:
    with Reader(name) as reader:
        return {c.rule.id: (c.packets, c.byte_count) for c in reader.rules()}


def events(name: str) -> dict[tuple[str, str], int]:
    with Reader(name) as reader:
        return {(c.group, c.reason): count for c, count in reader.events() if count}


# ---- what stays -----------------------------------------------------------------------------


def test_rules_counters_and_states_stay(world: World, name: str, sender: Path, pins: Path) -> None:
    """Through builds with other stages, larger tables and more events, and back again."""
    asks = ("ipv4.tos = 4", "if ipv4.ttl = 9 { find ROUTE else { pass } }\n    ipv4.tos = 4")
    extra = ("  stage second", "  stage extra { if not ipv4 { pass } }\n\n  stage second")
    run = ("parser -> first", "parser -> extra -> first")
    more, larger = built(marked(4, LARGER, asks, run, extra)), built(marked(5, LARGER))
    with running(world, name) as within:
        sent, before = 0, within(texts)
        for number, bundle in enumerate((TWO, TWO, more, THREE, larger, ONE), 2):
            sent += send(world, sender, pins)
            was, heard = events(name), entries(name)
            within(lambda loaded, b=bundle: to(loaded, b).close())  # type: ignore[misc]
            assert within(texts) == before and releases_of(name) == [number]
            assert counts(name) == {1: (sent, 64 * sent), 2: (0, 0)}
            assert events(name) == was and entries(name) == heard == [("10.1.0.2", "IN")]
        sent += send(world, sender, pins)
        assert counts(name)[1] == (sent, 64 * sent)
        assert events(name)["verdict", "redirect"] == sent


def test_what_the_flow_cache_asks_for_comes_back(world: World, name: str) -> None:
    """From a build that has no cache: which bits of a packet's key any rule asks for."""
    lengths = "; ".join(
        f"create ROUTE [(dst_ip, u32, 10.0.0.0/{n}), (way, u8, BACK)]" for n in range(9, 14)
    )

    def directory(loaded: Loaded) -> bytes:
        found = loaded.writer.tables["ROUTE"].directory
        assert found is not None
        return found.published

    with running(world, name) as within:
        within(lambda loaded: loaded.apply(request(lengths)))
        before = within(directory)
        assert before[4] and any(before[-8:])
        for bundle, cached in (layout1(), 0), (layout3(), 1), (ONE, 1):
            within(lambda loaded, b=bundle: to(loaded, b).close())  # type: ignore[misc]
            assert within(directory)[4] == cached
        assert within(directory) == before


def test_counters_stay_where_they_lie_elsewhere(
    world: World, name: str, sender: Path, pins: Path
) -> None:
    """Behind those of another kind, in maps of older layouts, and back: no counter is lower.
    Between builds of one layout the rules' own maps are kept."""
    element = ("  rule ROUTE", "  ie tos = 4, u8\n\n  rule ROUTE")
    kind = (
        "  rule ROUTE",
        "  rule TOS [8] {\n match tos exact ipv4.tos\n counts bytes }\n  rule ROUTE",
    )
    asks = ("    find ROUTE", "    if ipv4.ttl = 9 { find TOS else { pass } }\n    find ROUTE")
    moved, before = built(marked(4, element, kind, asks)), layout1()
    with running(world, name) as within:
        sent, last, cells = (
            0,
            ONE.manifest.layout,
            within(lambda loaded: loaded.maps["route_cells"].id),
        )
        for bundle in (moved, ONE, before, before, layout3(), moved, ONE):
            sent += send(world, sender, pins)
            within(lambda loaded, b=bundle: to(loaded, b).close())  # type: ignore[misc]
            assert counts(name) == {1: (sent, 64 * sent), 2: (0, 0)}
            was, cells = cells, within(lambda loaded: loaded.maps["route_cells"].id)
            assert (was == cells) == (bundle.manifest.layout == last)
            last = bundle.manifest.layout
        here = within(lambda loaded: loaded.maps["counts"].id)
        within(lambda loaded: to(loaded, THREE).close())
        assert within(lambda loaded: loaded.maps["counts"].id) == here
        for bundle in (TWO, before):  # which write the rules again
            sent += send(world, sender, pins)
            within(lambda loaded, b=bundle: to(loaded, b).close())  # type: ignore[misc]
        sent += send(world, sender, pins)
        assert counts(name)[1] == (sent, 64 * sent)


def test_packets_that_were_not_counted_by_size_are_in_no_size(
    world: World, name: str, sender: Path, pins: Path
) -> None:
    """Through builds that count by size and that do not, of other layouts."""
    by_size = built(marked(4, BY_SIZE))

    def sizes() -> tuple[int | None, int]:
        """Of rule 1: packets, and how many of these have a size."""
        with Reader(name) as reader:
            (one, _) = reader.rules()
        assert not any((one.sizes[0], *one.sizes[2:]))  # all are of 68 bytes with the FCS
        return one.packets, sum(one.sizes)

    with running(world, name) as within:
        sent = send(world, sender, pins)
        within(lambda loaded: to(loaded, by_size).close())
        assert sizes() == (sent, 0)
        sized = send(world, sender, pins)
        assert sizes() == (sent + sized, sized)
        within(lambda loaded: to(loaded, built(marked(5, BY_SIZE, LARGER))).close())
        assert sizes() == (sent + sized, sized)
        within(lambda loaded: to(loaded, layout1()).close())
        within(lambda loaded: to(loaded, by_size).close())
        assert sizes() == (sent + sized, 0)


def entries(name: str) -> list[tuple[str, ...]]:
    with Reader(name) as reader:
        (state,) = reader.manifest.states
        return [
            tuple(value for _, value in entry.values)
            for entry in reader.state(state.name).entries()
        ]


def test_entries_are_copied_into_a_state_of_another_size(
    world: World, name: str, sender: Path, pins: Path
) -> None:
    larger = built(marked(2, ("HEARD [64]", "HEARD [256]")))
    with running(world, name) as within:
        send(world, sender, pins)
        within(lambda loaded: to(loaded, larger).close())
        assert entries(name) == [("10.1.0.2", "IN")]
        with Reader(name) as reader:
            assert reader.map("heard_state").spec.max_entries == 256


def test_entries_keep_rules_that_keep_their_places(
    world: World, name: str, sender: Path, pins: Path
) -> None:
    """Where these are written again they are gone: a rule that was made since then is not found in
    their place."""
    keeping = (
        ("gives port : port", "gives port : port, route : ROUTE"),
        ("port = port)", "port = port, route = ROUTE)"),
    )
    wider = ("ie way       = 3, u8", "ie way       = 3, u16")
    with running(world, name) as within:
        within(lambda loaded: to(loaded, built(marked(2, *keeping))).close())
        send(world, sender, pins)
        assert entries(name) == [("10.1.0.2", "IN", "ROUTE 1")]
        within(lambda loaded: to(loaded, built(marked(3, *keeping, LARGER))).close())
        assert entries(name) == [("10.1.0.2", "IN", "ROUTE 1")]

        def other(loaded: Loaded) -> None:
            """In the place of the first."""
            loaded.apply(request("delete ROUTE 1; delete ROUTE 2"))
            loaded.apply(request("create ROUTE 2 [(dst_ip, 10.1.0.0/16), (way, BACK)]"))
            to(loaded, built(marked(4, *keeping, wider))).close()

        within(other)
        assert entries(name) == [("10.1.0.2", "IN", "ROUTE 1 (gone)")]
        within(
            lambda loaded: loaded.apply(
                request("create ROUTE 1 [(dst_ip, 10.2.0.0/16), (way, ON), (interface, OUT)]")
            )
        )
        assert entries(name) == [("10.1.0.2", "IN", "ROUTE 1 (gone)")]


def test_rules_with_priorities_that_entries_keep_stay_at_their_places(
    world: World, name: str, sender: Path, pins: Path
) -> None:
    """Where entries begin to keep them, in a larger table, and where none does any more: packets
    are sent on by the rule of the entry, whatever its priority was, and it goes on counting."""
    ranked = (
        ("  rule ROUTE", "  ie rank = 5, u16\n\n  rule ROUTE"),
        ("    counts packets", "    priority rank\n    counts packets"),
    )
    keeping = (
        ("gives port : port", "gives port : port, route : ROUTE"),
        (
            "    find ROUTE else { default }\n",
            "    if recall HEARD(source = ipv4.src) { find ROUTE from HEARD.route else { drop } }\n"
            "    if not ROUTE { find ROUTE else { drop } }\n",
        ),
        ("port = port)", "port = port, route = ROUTE)"),
    )
    kept, larger = built(marked(2, *ranked, *keeping)), built(marked(3, *ranked, *keeping, LARGER))
    assert kept.manifest.rule("ROUTE").two_cells
    sent = 0
    with running(world, name) as within:
        within(lambda loaded: to(loaded, built(marked(4, *ranked))).close())
        builds = kept, kept, larger, larger, built(marked(5, *ranked, LARGER))
        for rank, bundle in enumerate(builds, start=1):
            change = f"update ROUTE 1 [(rank, {rank})]"
            within(lambda loaded, text=change: loaded.apply(request(text)))  # type: ignore[misc]
            sent += send(world, sender, pins)
            within(lambda loaded, b=bundle: to(loaded, b).close())  # type: ignore[misc]
            assert counts(name)[1] == (sent, 64 * sent)
        sent += send(world, sender, pins)
        assert counts(name)[1] == (sent, 64 * sent)
        assert ("gone", "ROUTE") not in events(name)


def test_entries_that_are_changed_in_place_stay_where_they_are(
    world: World, name: str, sender: Path, pins: Path
) -> None:
    """And go on being found: under the same seed. In a table of another size there are none."""
    in_place = (
        ("gives port : port", "gives port : port, packets : u64"),
        (
            "remember HEARD(source = ipv4.src, port = port)",
            "remember HEARD(source = ipv4.src, port = port, packets = 0) else {}\n"
            "    HEARD.packets += 1",
        ),
    )
    builds = [
        built(marked(number, *in_place, *more))
        for number, more in enumerate(
            ((), (("HEARD [64]", "HEARD [40]"), ("ages  300", "ages  20"), LARGER)), 2
        )
    ]
    with running(world, name) as within:
        send(world, sender, pins)
        sent = 0
        for bundle in (*builds, builds[0]):
            within(lambda loaded, b=bundle: to(loaded, b).close())  # type: ignore[misc]
            sent += send(world, sender, pins)
            assert entries(name) == [("10.1.0.2", "IN", str(sent))]
            assert within(lambda loaded: loaded.writer.control[SEED]) != 0
            with Reader(name) as reader:
                heard = reader.state("HEARD")
                assert heard.entry([("source", "10.1.0.2")]).values[-1] == ("packets", str(sent))
        with Reader(name) as reader:
            reader.state("HEARD").delete([("source", "10.1.0.2")])
        assert entries(name) == []
        send(world, sender, pins)
        assert len(entries(name)) == 1
        larger = built(marked(4, *in_place, ("HEARD [64]", "HEARD [256]")))
        within(lambda loaded: to(loaded, larger).close())
        assert entries(name) == []


def test_a_rule_that_comes_later_counts_from_zero(
    world: World, name: str, sender: Path, pins: Path
) -> None:
    """Though it takes the cell of one whose counts came along."""
    with running(world, name) as within:
        send(world, sender, pins)
        within(lambda loaded: to(loaded, TWO).close())
        assert counts(name)[1][0]
        within(lambda loaded: loaded.apply(request("delete ROUTE 1")))
        route = "create ROUTE 3 [(dst_ip, u32, 10.2.0.0/24), (way, u8, ON), (interface, u32, OUT)]"
        cell = within(lambda loaded: loaded.apply(request(route)) and _cell(loaded, 3))
        assert cell == 1 and counts(name) == {2: (0, 0), 3: (0, 0)}
        sent = send(world, sender, pins)
        assert counts(name)[3] == (sent, 64 * sent)


def _cell(loaded: Loaded, id_: int) -> int:
    return loaded.writer.tables["ROUTE"].ids[id_]


def test_a_mapping_renames_what_is_there(world: World, name: str) -> None:
    words = [("ROUTE", "WAY"), ("inside", "near"), ("HEARD", "KNOWN"), ("interface", "by")]
    other = built(marked(2, *words))
    answers = Answers("", {"inside": "near"}, {"ROUTE": "WAY", "HEARD": "KNOWN"},
                      {"interface": "by"})  # fmt: skip
    with running(world, name) as within:
        assert within(lambda loaded: refused(lambda: plan_upgrade(loaded, other))).code == "H0790"
        before = within(texts)
        within(lambda loaded: to(loaded, other, answers).close())
        assert [r._replace(kind="ROUTE", references=()) for r in within(texts)] == [
            r._replace(references=()) for r in before
        ]
        assert within(lambda loaded: loaded.manifest.roles) == ("near", "outside")


def test_requests_go_on_where_they_were(world: World, name: str) -> None:
    """The revision never goes back, and rules made later are the younger ones."""
    with running(world, name) as within:
        first = within(lambda loaded: (loaded.writer.epoch, loaded.book.sequence))
        within(lambda loaded: to(loaded, TWO).close())
        route = "create ROUTE [(dst_ip, u32, 10.9.0.0/16), (way, u8, BACK)]"
        within(lambda loaded: loaded.apply(request(route)))
        last = within(lambda loaded: (loaded.writer.epoch, loaded.book.sequence))
        assert last[0] > first[0] and last[1] == first[1] + 1


def test_a_reader_knows_that_it_reads_what_was(world: World, name: str) -> None:
    with running(world, name) as within, Reader(name) as before:
        assert before.in_force
        within(lambda loaded: to(loaded, TWO).close())
        assert not before.in_force and len(before.rules()) == 2
        with Reader(name) as now:
            assert now.in_force and now.manifest.rules[0].capacity == 128


# ---- what goes wrong ------------------------------------------------------------------------


def untouched(world: World, name: str, action: Callable[[Loaded], Diagnostic]) -> Diagnostic:
    """What `action` is refused with; the relay must be as it was, and take requests."""
    with running(world, name) as within:

        def go(loaded: Loaded) -> tuple[Diagnostic, list[int]]:
            before, programs = texts(loaded), attached(world)
            found = action(loaded)
            assert texts(loaded) == before and attached(world) == programs
            loaded.apply(request("update ROUTE 1 [(way, u8, BACK)]"))
            return found, programs

        found, programs = within(go)
        assert attached(world) == programs and releases_of(name) == [1]
        (rule, _) = within(texts)
        assert dict(rule.values)["way"] == 1
    return found


def test_a_build_without_place_for_the_rules(world: World, name: str) -> None:
    small = built(marked(2, ("rule ROUTE [64]", "rule ROUTE [1]")))
    found = untouched(world, name, lambda loaded: refused(lambda: plan_upgrade(loaded, small)))
    assert found.code == "H0790" and "2 cannot be kept" in found.help


def test_a_rule_that_the_build_cannot_hold(world: World, name: str) -> None:
    exact = built(marked(2, ("dst_ip  lpm", "dst_ip  exact")))
    found = untouched(world, name, lambda loaded: refused(lambda: plan_upgrade(loaded, exact)))
    assert found.code == "H0791" and found.title.startswith("ROUTE 1 cannot be taken over")


def test_a_build_that_does_not_load(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(self: Object) -> None:
        raise BpfError("load program `relay_first`", 13, "; a @ relay.hp:9\nno\n", program="x")

    def action(loaded: Loaded) -> Diagnostic:
        weighed = plan_upgrade(loaded, TWO)
        with monkeypatch.context() as patched:
            patched.setattr(Object, "load", load)
            return refused(lambda: upgrade(loaded, weighed))

    found = untouched(world, name, action)
    assert found.code == "H0723" and "relay.hp:9" in found.title


@pytest.mark.parametrize("nth", [1, 2])
def test_a_port_that_cannot_be_switched(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    update, calls = Link.update, list[object]()

    def fails(self: Link, program: Any) -> None:
        calls.append(program)
        if len(calls) == nth:
            raise BpfError("switch a link", 12)
        update(self, program)

    monkeypatch.setattr(Link, "update", fails)
    found = untouched(world, name, lambda loaded: refused(lambda: to(loaded, TWO)))
    assert found.code == "H0792" and "in force again" in found.help
    assert len(calls) == {1: 1, 2: 3}[nth]


def test_after_one_that_failed_keys_have_bits_of_their_own(
    world: World, name: str, sender: Path, pins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other writer made the bit vectors of the maps that both have."""

    def fails(self: Link, program: Any) -> None:
        raise BpfError("switch a link", 12)

    def go(loaded: Loaded) -> None:
        made = "; ".join(
            f"create ROUTE {n} [(dst_ip, u32, 10.0.0.0/{n}), (way, u8, BACK)]" for n in range(9, 16)
        )
        loaded.apply(request(made))
        loaded.apply(request("delete ROUTE 1"))
        loaded.writer.settle()
        # The first takes the bit of what went.
        loaded.apply(request("create ROUTE 20 [(dst_ip, u32, 10.0.0.0/20), (way, u8, BACK)]"))
        route = "create ROUTE 1 [(dst_ip, u32, 10.2.0.0/24), (way, u8, ON), (interface, u32, OUT)]"
        loaded.apply(request(route))
        with monkeypatch.context() as patched:
            patched.setattr(Link, "update", fails)
            assert refused(lambda: to(loaded, THREE)).code == "H0792"
        loaded.apply(request("delete ROUTE 20"))
        loaded.writer.settle()
        vectors = loaded.writer.tables["ROUTE"].vectors
        assert vectors is not None and vectors.used
        send(world, sender, pins)

    with running(world, name) as within:
        within(go)


class Interrupted(Exception):
    pass


def test_one_that_fails_in_a_pause_ends_the_request(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its keys are gone: the other writer took them for those of a writer that died."""

    def fails(self: Link, program: Any) -> None:
        raise BpfError("switch a link", 12)

    class Pause:
        def __init__(self, loaded: Loaded) -> None:
            self.loaded, self.left = loaded, 5

        def __call__(self) -> None:
            self.left -= 1
            if not self.left:
                assert self.loaded.writer.staging
                with monkeypatch.context() as patched:
                    patched.setattr(Link, "update", fails)
                    assert refused(lambda: to(self.loaded, THREE)).code == "H0792"
                if self.loaded.closed:  # as `Slices` finds
                    raise Interrupted

        def rest(self) -> None: ...

        def without_turn(self) -> AbstractContextManager[None]:
            return nullcontext()

    def go(loaded: Loaded) -> None:
        made = (f"create ROUTE [(dst_ip, u32, 10.9.0.{n}), (way, u8, BACK)]" for n in range(60))
        plan = loaded.book.plan(request("; ".join(made)))
        with pytest.raises(Interrupted):
            loaded.writer.apply(plan, Pause(loaded))

    with running(world, name) as within:
        before = within(texts)
        within(go)
        assert within(texts) == before
        within(lambda loaded: loaded.apply(request("update ROUTE 1 [(way, u8, BACK)]")))


def test_an_interface_that_is_gone_gets_the_new_build_when_it_is_back(
    world: World, name: str
) -> None:
    with running(world, name) as within:
        world.edge.ip("link", "delete", "in0")
        within(lambda loaded: to(loaded, TWO).close())
        world.edge.ip("link", "add", "in0", "type", "veth", "peer", "name", "in9")
        for end in ("in9", "in0"):
            world.edge.offload(end, gro="on")
            world.edge.ip("link", "set", end, "up")
        assert within(lambda loaded: loaded.refresh().attached) == ("IN",)
        assert all(attached(world))


# ---- killed ---------------------------------------------------------------------------------

# What is done, and for the how manieth time.
STEPS: list[tuple[Any, str, int]] = [
    (upgrading, "install", 1), (upgrading, "_same_control", 1), (switching, "carry", 1),
    (upgrading, "write_about", 1), (upgrading, "put_in_force", 1), (Link, "update", 1),
    (Link, "update", 2), (switching, "switch", 1), (switching, "carry", 2),
    (switching, "remove_directory", 1),
]  # fmt: skip


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[1]}-{step[2]}")
def test_killed_at_each_step_one_build_is_whole(
    world: World, name: str, step: tuple[Any, str, int], after: bool
) -> None:
    """Whoever opens it next finds one release, all rules, and both ports on it."""
    where, what, nth = step
    real, calls = getattr(where, what), count(1)

    def killed(*arguments: Any) -> None:
        last = next(calls) == nth
        if after or not last:
            real(*arguments)
        if last:
            os._exit(7)

    def child(loaded: Loaded) -> None:
        weighed = plan_upgrade(loaded, TWO)
        pid = os.fork()
        if not pid:
            try:
                setattr(where, what, killed)
                upgrade(loaded, weighed)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7

    with running(world, name) as within:
        before, programs = within(texts), attached(world)
        within(child)
        assert all(attached(world))
        with Reader(name) as reader:  # before anyone has put anything right
            release = reader.about["release"]
            assert [c.rule._replace(sequence=0) for c in reader.rules()] == before
        assert within(texts) == before and releases_of(name) == [release]
        new = release == 2
        assert all((a != b) is new for a, b in zip(attached(world), programs, strict=True))
        within(lambda loaded: to(loaded, THREE).close())
        assert within(texts) == before and releases_of(name) == [release + 1]
