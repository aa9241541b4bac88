"""What differs between two builds, and what it means for rules that may be in force."""

from __future__ import annotations

import pytest
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.runtime.loading.compare_builds import compare
from helioc.runtime.loading.schema_change import NAMED, Answers, SchemaChange
from helioc.runtime.loading.upgrade_errors import incompatible
from relay import RELAY, layout1
from schemas import LINX, manifest


def changed(text: str, *changes: tuple[str, str]) -> Manifest:
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    return manifest(text)


def relay(*changes: tuple[str, str], answers: Answers | None = None) -> SchemaChange:
    """The relay, and what it is after these changes of its text."""
    return compare(manifest(RELAY), changed(RELAY, *changes), answers)


def kept(change: SchemaChange) -> set[str]:
    return of(change, "kept")


def of(change: SchemaChange, fate: str) -> set[str]:
    return {name for name, kind in change.kinds.items() if kind.fate == fate}


def places(change: SchemaChange, **usage: int) -> list[str]:
    """Of the obstacles, where ROUTE has so many rules that say something of what."""
    used = {("ROUTE", name): count for name, count in usage.items()}
    return [found.place for found in change.obstacles(used | {("", ""): 1})]


def test_the_same_build_differs_in_nothing() -> None:
    for text in (LINX, RELAY):
        change = compare(manifest(text), manifest(text))
        assert change.differences == () and change.events_kept
        assert kept(change) == set(change.kinds)
        assert change.states == {state.name: state.name for state in change.new.states}


def test_other_stages_leave_all_maps() -> None:
    change = relay(("tos = 1", "tos = 2"))
    assert kept(change) == {"ROUTE"} and change.states == {"HEARD": "HEARD"}


def test_a_larger_kind_moves() -> None:
    """What points at it stays: the numbers of its cells are the same."""
    for kind, was, now in ("FAR", "4k", "8k"), ("PDR", "64k", "128k"):
        larger = changed(LINX, (f"rule {kind} [{was}]", f"rule {kind} [{now}]"))
        change = compare(manifest(LINX), larger)
        assert of(change, "moved") == {kind} and kept(change) == {*change.kinds} - {kind}


def test_a_kind_of_the_layout_before_moves() -> None:
    before = layout1().manifest
    change = compare(before, manifest(RELAY))
    assert of(change, "moved") == {"ROUTE"} and not change.differences


def test_what_points_at_a_kind_that_is_written_again_is_written_again() -> None:
    more = changed(
        LINX,
        ("gives  action, ", "gives  action, more, "),
        ("  rule FAR", "  ie more = 99, u8\n\n  rule FAR"),
    )
    assert of(compare(manifest(LINX), more), "written") == {"FAR", "PDR", "PDR6", "LBR"}


def test_a_renamed_kind_keeps_its_maps() -> None:
    words = ("ROUTE", "WAY"), ("interface", "via_port")
    answers = Answers(kinds={"ROUTE": "WAY"}, elements={"interface": "via_port"})
    change = relay(*words, answers=answers)
    assert kept(change) == {"ROUTE"} and not places(change, **{"": 3, "interface": 3})
    assert change.kinds["ROUTE"].new is change.new.rules[0]
    assert places(relay(*words), **{"": 3, "interface": 3}) == ["ROUTE"]


def test_a_default_that_is_given_is_written_into_the_rules() -> None:
    assert not kept(relay(answers=Answers(defaults={"ROUTE.way": "ON"})))


@pytest.mark.parametrize(
    ("before", "after", "used", "place"),
    [
        ("lpm  ipv4.dst", "exact  ipv4.dst", {"": 1}, ""),
        ("[64] {\n    match  dst", "[32] {\n    match  dst", {"": 33}, "ROUTE"),
        ("[64] {\n    match  dst", "[32] {\n    match  dst", {"": 32}, ""),
        ("lpm  ipv4.dst", "lpm  ipv4.dst\n  source exact ipv4.src", {"": 1}, "ROUTE.source"),
        ("lpm  ipv4.dst", "lpm  ipv4.dst\n  source exact ipv4.src", {"": 0}, ""),
        ("lpm  ipv4.dst", "lpm  ipv4.dst\n  source optional ipv4.src", {"": 9}, ""),
        ("gives  way, interface", "gives  way, interface, source", {"": 9}, ""),
        ("match  dst_ip  lpm  ipv4.dst", "match  source  lpm  ipv4.dst", {"dst_ip": 2},
         "ROUTE.dst_ip"),
        ("counts packets, bytes", "counts packets", {"": 9}, ""),
        ("gives  way, interface", "priority order\n    gives  way, interface", {"": 9}, ""),
    ],
)  # fmt: skip
def test_rules_decide_whether_a_difference_matters(
    before: str, after: str, used: dict[str, int], place: str
) -> None:
    elements = "  ie source = 8, ip4\n  ie order = 9, u32\n  rule"
    change = relay(("  rule", elements), (before, after))
    assert places(change, **used) == ([place] if place else [])
    assert not kept(change)


def test_names_and_order_are_not_lost_unsaid() -> None:
    text = RELAY.replace("rule ROUTE [64]", "rule ROUTE [64] named").replace(
        "  rule", "  ie order = 9, u32\n  rule").replace(
        "gives  way", "priority order\n    gives  way")  # fmt: skip
    change = compare(manifest(text), manifest(RELAY))
    assert places(change, **{"": 2, NAMED: 1}) == ["ROUTE names", "ROUTE order"]
    lower = text.replace("priority order", "precedence order")
    assert places(compare(manifest(text), manifest(lower)), **{"": 1}) == ["ROUTE order"]


def test_kinds_come_and_go() -> None:
    more = "  rule MORE [8] { match port exact port\n gives way }\n  /// Who"
    port, found = "  ie port = 7, port\n  rule ROUTE", "find MORE else {default}\n  ipv4.tos"
    bigger = changed(RELAY, ("  /// Who", more), ("  rule ROUTE", port), ("ipv4.tos", found))
    assert not compare(manifest(RELAY), bigger).obstacles({("ROUTE", ""): 9})
    back = compare(bigger, manifest(RELAY))
    assert not back.obstacles({("MORE", ""): 0})
    (lost,) = back.obstacles({("MORE", ""): 2})
    assert lost.answer == ("kinds", "MORE: ~")
    given_up = compare(bigger, manifest(RELAY), Answers(kinds={"MORE": None}))
    assert not given_up.obstacles({("MORE", ""): 2})


@pytest.mark.parametrize(
    ("becomes", "same"),
    [
        ("3, u8 { BACK = 1, ON = 2, OFF = 3 }", True),
        ("7, u8 { BACK = 1, ON = 2 }", True),
        ("3, u8 { BACK = 2, ON = 1 }", False),
    ],
)
def test_values_that_mean_the_same_stay(becomes: str, same: bool) -> None:
    arm = "      ON   => forward"
    off = [(arm, "      OFF => drop\n" + arm)] if "OFF" in becomes else []
    change = relay(("3, u8 { BACK = 1, ON = 2 }", becomes), *off)
    assert (kept(change) == {"ROUTE"}) is same


def test_a_value_of_another_type_has_no_place() -> None:
    change = relay(("dst_ip    = 1, ip4", "dst_ip = 1, u8"), ("lpm  ipv4.dst", "lpm ipv4.tos"))
    assert places(change, dst_ip=1) == ["ROUTE.dst_ip"]


@pytest.mark.parametrize(
    ("changes", "taken"),
    [
        ([("ages  300", "ages  20")], True),
        ([("state HEARD", "state SEEN"), ("remember HEARD", "remember SEEN")], False),
        ([("HEARD [64]", "HEARD [128]")], True),
        ([("ages  300", "ages  300 idle")], False),
        ([("source : ip4", "source : u8"), ("source = ipv4.src", "source = ipv4.tos")], False),
    ],
)
def test_states_of_the_same_layout_are_taken_over(
    changes: list[tuple[str, str]], taken: bool
) -> None:
    change = relay(*changes)
    assert bool(change.states) is taken and not change.obstacles({("ROUTE", ""): 9})


KEEPING = (
    ("gives port : port", "gives port : port, route : ROUTE"),
    ("port = port)", "port = port, route = ROUTE)"),
)


@pytest.mark.parametrize(
    ("more", "answers", "taken", "gone"),
    [
        ([], Answers(), True, False),
        ([("ROUTE [64]", "ROUTE [128]")], Answers(), True, False),
        ([("ie way       = 3, u8", "ie way       = 3, u16")], Answers(), True, True),
        ([("ROUTE", "PATH")], Answers(), False, False),
        ([("ROUTE", "PATH")], Answers(kinds={"ROUTE": "PATH"}), True, False),
    ],
)
def test_states_that_keep_rules(
    more: list[tuple[str, str]], answers: Answers, taken: bool, gone: bool
) -> None:
    """They are told what becomes of these."""
    change = compare(changed(RELAY, *KEEPING), changed(RELAY, *KEEPING, *more), answers)
    assert bool(change.states) is taken
    assert [d.becomes for d in change.differences if d.place == "HEARD.route"] == (
        ["may be gone: all are written anew"] if gone else []
    )


def test_a_renamed_state_is_taken_over() -> None:
    words = ("state HEARD", "state SEEN"), ("remember HEARD", "remember SEEN")
    assert relay(*words, answers=Answers(kinds={"HEARD": "SEEN"})).states == {"SEEN": "HEARD"}


def test_ports_must_have_a_role() -> None:
    change = relay(("outside", "world"))
    assert change.roles == {0: 0}
    assert [f.place for f in change.obstacles({("port", "outside"): 1})] == ["ports outside"]
    assert not change.obstacles({("port", "inside"): 1})
    answered = relay(("outside", "world"), answers=Answers(ports={"outside": "world"}))
    assert answered.roles == {0: 0, 1: 1} and not answered.obstacles({("port", "outside"): 1})


def test_another_pipeline_is_none_by_accident() -> None:
    change = compare(manifest(RELAY), changed(RELAY, ("pipeline relay", "pipeline other")))
    assert places(change) == ["pipeline"]


def test_the_refusal_shows_all_of_it() -> None:
    change = relay(
        ("lpm  ipv4.dst", "lpm  ipv4.dst\n  source exact ipv4.src\n  hops exact ipv4.ttl"),
        ("[64] {\n    match  dst", "[32] {\n    match  dst"),
        ("  rule", "  ie source = 8, ip4\n  ie hops = 9, u8\n  rule"),
    )
    found = incompatible(change, {("ROUTE", ""): 12})
    assert (found.code, found.title) == (
        "H0790", "the new build has no place for 2 parts of what is in force",
    )  # fmt: skip
    assert found.help == (
        "nothing was changed; this is the difference:\n"
        "what          running   new build               rules\n"
        "ROUTE         up to 64  up to 32                12 written anew\n"
        "ROUTE.source  -         exact, 32 bits, needed  12 cannot be kept\n"
        "ROUTE.hops    -         exact, 8 bits, needed   12 cannot be kept\n"
        "a file for --mapping says what becomes of it:\n"
        "defaults: {ROUTE.source: …, ROUTE.hops: …}"
    )


def test_meters_stay_where_all_metered_kinds_do() -> None:
    """Else their buckets begin full, as where a kind gets or loses its meter; its rules stay."""
    metered = (
        "    counts packets, bytes",
        "    meters ie_rate, ie_burst\n    counts packets, bytes",
    )
    declared = ("  rule ROUTE", "  ie ie_rate = 98, u64\n  ie ie_burst = 99, u32\n\n  rule ROUTE")
    with_meter = changed(RELAY, metered, declared)
    given = ("meters ie_rate, ie_burst", "gives ie_rate, ie_burst")
    without = changed(RELAY, (metered[0], metered[1].replace(*given)), declared)
    assert compare(with_meter, with_meter).meters_kept
    for change in (compare(with_meter, without), compare(without, with_meter)):
        assert kept(change) == {"ROUTE"} and not change.meters_kept
    assert not compare(without, without).meters_kept  # there is no such map
    packets = changed(
        RELAY, (metered[0], metered[1].replace("burst\n", "burst in packets\n")), declared
    )
    change = compare(with_meter, packets)
    assert kept(change) == {"ROUTE"} and not change.meters_kept
    larger = changed(RELAY, metered, declared, ("ROUTE [", "ROUTE [1"))
    assert not compare(with_meter, larger).meters_kept
