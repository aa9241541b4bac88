"""Intents without a kernel: what they come to, what is said about mistakes, and when they go."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from explained import examples
from golden import Case, Golden, cases
from helioc.commands.intent_text import intent_rows, moment
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.manifest.read_manifest import from_json
from helioc.lang.contract.request.request import item_text
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.rules import Reference, Rule
from helioc.lang.contract.rules.wire import Codecs, decode
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.render import render_all
from helioc.lang.text.source import Source
from helioc.runtime.base import agent_errors as agent_faults
from helioc.runtime.base.errors import refused
from helioc.runtime.base.outcome import Outcome, outcome_of
from helioc.runtime.intents import manager as keeping
from helioc.runtime.intents.compile import PipelineContext, compile_intent
from helioc.runtime.intents.document import read_document, seconds
from helioc.runtime.intents.manager import IntentManager
from helioc.runtime.intents.store import Intent, IntentStore
from helioc.runtime.journal import errors as journal_faults
from helioc.runtime.journal.store import Store
from helioc.runtime.owner.requests import ApplyRequest
from helioc.runtime.rpc import control_pb2 as pb
from hypothesis import given, settings
from hypothesis import strategies as st
from journal_world import failing
from slice_world import intent

PIPELINES = Path(__file__).parents[3] / "pipelines"
AROUND = PipelineContext(("nic0", "nic1"), "native", {})
GOOD = intent()
FLOW = "[ethernet, ipv4, udp, vxlan: {vni: 7}, ethernet, ipv4, udp, gtpu: {teid: 100}, ipv4: "
ENDS = {
    "ICMP": FLOW + "{src: 10.45.0.2, dst: 198.51.100.9, protocol: ICMP}]",
    "open": FLOW + "{src: 10.45.0.2, dst: 198.51.100.9}]",
    "UDP without ports": FLOW + "{src: 10.45.0.2, dst: 198.51.100.9, protocol: 17}]",
    "one port": FLOW + "{src: 10.45.0.2, dst: 198.51.100.9}, tcp: {src: 80}]",
}


@cache
def manifest(name: str) -> Manifest:
    at = Path(__file__).with_name("whole.hp") if name == "whole" else PIPELINES / f"{name}.hp"
    pipeline = check_file(at)
    made = manifest_of(pipeline, lower_pipeline(pipeline))
    return replace(made, tc="0" * 64) if made.at else made  # the digest of a bundle's second object


def rules(text: str, pipeline: str = "slice") -> list[str]:
    document = read_document(Source("intent.yaml", text), lambda: 0.0)
    request = compile_intent(document, manifest(pipeline), AROUND).request
    return [item_text(item) for change in request.changes for item in change.items]


def flow(resources: str, action: str = "{queue: 3}") -> str:
    return f"resourceId: a\nresources: {resources}\naction: {action}\n"


# ---- what they come to ----------------------------------------------------------------------


def test_headers_are_a_rule() -> None:
    assert rules(GOOD) == [
        "SERVICE video-17 [(tunnel, 4789), (tenant, 7), (teid, 100), (src_ip, 10.45.0.2), "
        "(dst_ip, 198.51.100.9), (protocol, 17), (src_port, 4000), (dst_port, 5004), "
        "(queue, 0), (overloaded, 0)]"
    ]


def test_json_says_the_same() -> None:
    assert rules(json.dumps(yaml.safe_load(GOOD))) == rules(GOOD)


@pytest.mark.parametrize(
    ("tunnel", "means"),
    [
        ("udp, geneve: {vni: 8}", "(tunnel, 6081), (tenant, 8)"),
        ("gre: {key: 9}", "(tunnel, 47), (tenant, 9)"),
        ("udp: {dst: 4789}, vxlan: {vni: 0x7}", "(tunnel, 4789), (tenant, 0x7)"),
        ("host_udp, vxlan: {vni: 7}", "(tunnel, 4789), (tenant, 7)"),
    ],
)
def test_the_tenant_layer_may_be_any(tunnel: str, means: str) -> None:
    (rule,) = rules(flow(ENDS["ICMP"].replace("udp, vxlan: {vni: 7}", tunnel, 1)))
    assert means in rule


def test_what_has_no_ports_has_ports_0() -> None:
    (rule,) = rules(flow(ENDS["ICMP"]), "whole")
    assert "(protocol, ICMP), (src_port, 0), (dst_port, 0)" in rule


@pytest.mark.parametrize(
    ("resources", "means"),
    [
        ("[gtpu: {teid: 100}]", "(teid, 100)"),
        ("[gtpu: {teid: 100}, pdu_session: {qfi: 9}]", "(teid, 100), (qfi, 9)"),
        ("[vxlan: {vni: 7}]", "(tunnel, 4789), (tenant, 7)"),
        ("[gre: {key: 7}]", "(tunnel, 47), (tenant, 7)"),
        ("[user: {src: 10.45.0.2}]", "(src_ip, 10.45.0.2)"),
        ("[gtpu, ipv4: {dst: 198.51.100.9}, tcp: {dst: 443}]",
         "(dst_ip, 198.51.100.9), (protocol, 6), (dst_port, 443)"),
        ("[ethernet, ipv4, udp, vxlan: {vni: 7}]", "(tunnel, 4789), (tenant, 7)"),
        ("[ethernet, ipv4, udp, vxlan, ethernet, ipv4, udp, gtpu: {teid: 100}]",
         "(tunnel, 4789), (teid, 100)"),
        (ENDS["UDP without ports"], "(dst_ip, 198.51.100.9), (protocol, 17)"),
    ],
)  # fmt: skip
def test_any_subset_of_the_headers_is_a_rule(resources: str, means: str) -> None:
    (rule,) = rules(flow(resources))
    assert f"{means}, (queue, 3), (overloaded, 0)]" in rule
    if not resources.startswith("[ethernet"):
        assert rule == f"SERVICE a [{means}, (queue, 3), (overloaded, 0)]"


def test_several_flows_are_several_rules() -> None:
    two = f"[{ENDS['ICMP']}, {ENDS['ICMP'].replace('100}', '101}')}]"
    assert [text[: text.index("[")] for text in rules(flow(two))] == [
        "SERVICE a-1 ",
        "SERVICE a-2 ",
    ]


def test_other_pipelines_understand_them_too() -> None:
    pair = "[ethernet, ipv4: {src: 10.0.0.1, dst: 10.0.0.2}, tcp: {dst: 80}]"
    assert rules(flow(pair, "{action: PASS, queue: 3}"), "linx_offload") == [
        "PDR [(src_ip, 10.0.0.1), (dst_ip, 10.0.0.2), (protocol, 6), (dst_port, 80), "
        "FAR [(action, PASS), (queue, 3)]]"
    ]
    net = "[ethernet, vlan: {id: 5}, ipv4: {dst: 10.2.0.0/16}, udp: {dst: 80..90}]"
    (rule,) = rules(flow(net, "{rule: PDR, action: DROP}"), "linx")
    assert "(dst_ip, 10.2.0.0/16)" in rule and "(dst_port, 80..90)" in rule


def test_manifests_tell_what_packets_are_made_of() -> None:
    for path in PIPELINES.glob("*.hp"):
        found = manifest(path.stem)
        assert from_json(found.to_json()) == found
        anatomy = found.anatomy
        assert anatomy is not None
        nodes = {layer.name for layer in anatomy.layers}
        assert {s.source for s in anatomy.steps} | {s.target for s in anatomy.steps} <= nodes
        assert {n for r in anatomy.readings for n, _ in r.fields} <= {*nodes, "l4"}


# ---- mistakes -------------------------------------------------------------------------------

#: By the pipeline that they are asked of; `whole` has rules that need all of a flow.
MISTAKES = cases(Path(__file__).parent / "cases" / "mistakes.txt")


@pytest.mark.parametrize("case", MISTAKES, ids=lambda c: c.name)
def test_mistakes(case: Case, golden: Golden) -> None:
    with pytest.raises(Refused) as error:
        rules(case.text, case.name.split()[0])
    golden(case, shown=render_all(error.value.diagnostics))


@pytest.mark.parametrize(("code", "wrong", "right"), examples("intent"))
def test_examples_get_their_codes(code: str, wrong: str, right: str) -> None:
    """They show a line of an intent: the others are of one that is sound."""
    found = [codes_of(with_line(line)) for line in (wrong, right)]
    assert code in found[0] and code not in found[1], found


def with_line(line: str) -> str:
    return yaml.safe_dump({**yaml.safe_load(GOOD), **yaml.safe_load(line)}, sort_keys=False)


def codes_of(text: str) -> set[str]:
    try:
        rules(text)
    except Refused as error:
        return {found.code for found in error.diagnostics}
    return set()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_whatever_is_written_is_answered(data: st.DataObject) -> None:
    pieces = [
        *GOOD.split(),
        ": ",
        "\n",
        "{",
        "}",
        "[",
        "]",
        "- ",
        "&a ",
        "*a",
        "~",
        "\t",
        "0x",
        "é",
    ]
    at = data.draw(st.integers(0, len(GOOD)))
    end = data.draw(st.integers(at, min(len(GOOD), at + 30)))
    text = (
        GOOD[:at] + "".join(data.draw(st.lists(st.sampled_from(pieces), max_size=4))) + GOOD[end:]
    )
    try:
        rules(text)
    except Refused as error:
        assert render_all(error.diagnostics)


def test_moments_beyond_what_a_calendar_says_are_told() -> None:
    """`duration: 9999999d` is as good as for ever."""
    for at in (0, 253402300799, 253402300800, 1e15, 8.64e17):
        assert moment(at) == ("1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z")[at > 0]
    listed = intent_rows([pb.Intent(id="video-17", begins=0, ends=1e15)])
    assert "9999-12-31T23:59:59Z" in listed


def test_durations() -> None:
    texts = ["90", "90s", "1.5h", "7d", "250ms", "2m", "2min", "", "s", "-1s", "1e9", "1 week"]
    assert [seconds(text) for text in texts] == [
        90.0, 90.0, 5400.0, 604800.0, 0.25, 120.0, 120.0, None, None, None, None, None
    ]  # fmt: skip


# ---- when they go ---------------------------------------------------------------------------


class Killed(BaseException):
    """The agent's process ends here."""


@dataclass
class Maps:
    """What outlives an agent: the rules in force and the answers, with `kill` before or behind the
    next transaction."""

    book: RuleBook = field(default_factory=lambda: RuleBook(manifest("slice")))
    answers: dict[str, Outcome] = field(default_factory=dict)
    kill: str = ""
    refuse: bool = False


class FakeOwner:
    """As `Owner`, over a rule book alone."""

    name = "slice"

    def __init__(self, maps: Maps) -> None:
        self.maps, book = maps, maps.book
        self.codecs, self.digest = Codecs(book.manifest, book.kinds), book.manifest.digest
        port = SimpleNamespace(interface="nic0")
        self.loaded = SimpleNamespace(
            manifest=book.manifest, port_configs=[port], mode="native", port_numbers={}
        )

    def answer(self, key: str) -> Outcome | None:
        return self.maps.answers.get(key)

    def find(self, references: Iterable[Reference]) -> dict[Reference, Rule]:
        found = {each: self.maps.book.get(*each) for each in references}
        return {each: rule for each, rule in found.items() if rule is not None}

    def apply(self, wish: ApplyRequest) -> Outcome:
        maps = self.maps
        if maps.kill == "before":
            raise Killed
        if maps.refuse:
            raise refused(agent_faults.late(1.0))
        plan = maps.book.plan(decode(wish.content, self.codecs))
        maps.book.commit(plan)
        outcome = outcome_of(plan, maps.book.revision)
        if wish.key:
            maps.answers[wish.key] = outcome
        if maps.kill == "behind":
            raise Killed
        return outcome


@dataclass
class Edge:
    """An agent's keeper over a journal and rules that outlive it, with a clock of its own."""

    directory: Path
    maps: Maps = field(default_factory=Maps)
    clock: float = 1000.0
    store: Store | None = None

    def start(self) -> IntentManager:
        if self.store is not None:
            self.store.close()
        self.maps.kill = ""
        self.store = Store(self.directory)
        owner: Any = FakeOwner(self.maps)
        return IntentManager(lambda _: owner, IntentStore(self.store), lambda: self.clock)

    def names(self) -> set[str]:
        return {rule.name for rule in self.maps.book.rules("SERVICE")}


@contextmanager
def edge() -> Iterator[Edge]:
    with TemporaryDirectory(dir="/dev/shm") as folder:
        made = Edge(Path(folder))
        try:
            yield made
        finally:
            if made.store is not None:
                made.store.close()


def tell(keeper: IntentManager, text: str) -> Intent:
    return keeper.apply(Source("intent.yaml", text), "slice")


def state(keeper: IntentManager, name: str) -> str:
    return next((each.state for each in keeper.find() if each.id == name), "none")


def test_states() -> None:
    with edge() as made:
        keeper = made.start()
        assert tell(keeper, intent("a", start="+10s", duration="10s")).state == "pending"
        assert keeper.advance() == 1010 and made.names() == set()
        made.clock = 1010
        assert keeper.advance() == 1020 and made.names() == {"a"} and state(keeper, "a") == "active"
        made.clock = 1025
        assert keeper.advance() == float("inf") and made.names() == set()
        assert state(keeper, "a") == "expired"
        keeper.remove("a", "")
        with pytest.raises(Refused, match="H0832"):
            keeper.remove("a", "slice")
        with pytest.raises(Refused, match="H0823"):
            tell(keeper, intent("b", start="1970-01-01T00:00:00Z", duration="10s"))


def test_an_agent_that_was_down_misses_nothing() -> None:
    with edge() as made:
        keeper = made.start()
        tell(keeper, intent("a", teid=1, duration="10s"))
        tell(keeper, intent("b", teid=2, start="+5s", duration="10s"))
        tell(keeper, intent("c", teid=3, start="+5s"))
        made.clock = 1030
        keeper = made.start()
        keeper.advance()
        assert made.names() == {"c"}
        assert [state(keeper, name) for name in "abc"] == ["expired", "expired", "active"]


def test_what_fails_for_the_moment_is_tried_again() -> None:
    with edge() as made:
        keeper = made.start()
        tell(keeper, intent("a", start="+1s", duration="100s"))
        made.clock, made.maps.refuse = 1001, True
        assert keeper.advance() == 1011 and state(keeper, "a") == "pending"
        assert "H0766" in keeper.find()[0].why
        made.clock, made.maps.refuse = 1011, False
        keeper.advance()
        assert made.names() == {"a"} and keeper.find()[0].why == ""


def test_it_is_tried_again_although_the_clock_was_set_back() -> None:
    with edge() as made:
        keeper = made.start()
        tell(keeper, intent("a", start="+1s", duration="100s"))
        made.clock, made.maps.refuse = 1090, True
        assert keeper.advance() == 1100
        made.clock, made.maps.refuse = 1020, False
        keeper.advance()
        assert made.names() == {"a"}


def test_those_of_an_unloaded_pipeline_are_forgotten_though_the_disk_fails() -> None:
    with edge() as made:
        keeper = made.start()
        tell(keeper, intent("a", start="+1s"))
        with failing(next(made.directory.glob("requests-0-*")), "pwrite"):
            keeper.forget("slice")
            assert not keeper.find() and keeper.advance() == float("inf")
        keeper.advance()
        assert not made.start().find()


def test_one_that_is_perhaps_not_on_the_disk_is_in_force() -> None:
    """As the next agent finds it."""
    with edge() as made:
        keeper = made.start()
        tell(keeper, intent("a", start="+100s"))
        log = next(made.directory.glob("requests-0-*"))
        with failing(log, "fdatasync"), pytest.raises(Refused, match="H0783"):
            tell(keeper, intent("b"))
        assert made.names() == {"b"} and state(keeper, "b") == "active"
        with pytest.raises(Refused, match="H0783"):
            tell(keeper, intent("b"))
        with pytest.raises(Refused, match="H0780"):
            tell(keeper, intent("c", start="+100s"))
        keeper = made.start()
        keeper.advance()  # which finds that its rules were made
        assert state(keeper, "b") == "active" and state(keeper, "c") == "none"


def test_those_of_a_backup_leave_no_file_open() -> None:
    with edge() as made:
        keeper = made.start()
        tell(keeper, intent("a", start="+100s"))
        assert made.store is not None
        before = len(os.listdir("/proc/self/fd"))
        keeper.replace(IntentStore(made.store))
        assert len(os.listdir("/proc/self/fd")) < before


def test_one_that_can_neither_begin_nor_be_taken_back_begins_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise refused(journal_faults.cannot_write("log", "no space left on device"))

    with edge() as made:
        keeper = made.start()
        made.maps.refuse = True
        with monkeypatch.context() as patched:
            patched.setattr(IntentStore, "remove", full)
            with pytest.raises(Refused, match="H0837") as failed:
                tell(keeper, intent("a"))
        assert [each.code for each in failed.value.diagnostics] == ["H0837", "H0780"]
        assert state(keeper, "a") == "pending" and not made.names()
        made.maps.refuse = False
        keeper.advance()
        assert state(keeper, "a") == "active" and made.names() == {"a"}


def test_what_can_never_be_fails() -> None:
    with edge() as made:
        keeper = made.start()
        tell(keeper, intent("a"))
        tell(keeper, intent("twin", start="+1s"))
        made.clock = 1001
        keeper.advance()
        (twin,) = keeper.find(ids=["twin"])
        assert twin.state == "failed" and twin.why and made.names() == {"a"}


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_killed_anywhere_it_goes_on(data: st.DataObject) -> None:
    """Whenever the agent is killed: once the next has looked, those rules are in force that are
    due, and no others."""
    due: dict[str, tuple[float, float | None]] = {}
    with edge() as made:
        keeper = made.start()
        for step in range(data.draw(st.integers(1, 12))):
            name = data.draw(st.sampled_from("abc"))
            what = data.draw(st.sampled_from(["tell", "tell", "wait", "remove", "restart"]))
            made.maps.kill = data.draw(st.sampled_from(["", "", "before", "behind"]))
            before, expected = due.get(name), None
            try:
                if what == "tell":
                    start = data.draw(st.integers(0, 5))
                    duration = data.draw(st.none() | st.integers(1, 20))
                    said: dict[str, Any] = {"start": f"+{start}s"}
                    if duration is not None:
                        said["duration"] = duration
                    begins = made.clock + start
                    expected = begins, begins + duration if duration is not None else None
                    text = intent(name, teid="abc".index(name) + 1, port=step + 1, **said)
                    tell(keeper, text)
                    due[name] = expected
                elif what == "remove":
                    keeper.remove(name, "slice")
                    due.pop(name, None)  # one that has ended is told, too
                elif what == "wait":
                    made.clock += data.draw(st.integers(1, 10))
                else:
                    raise Killed
                keeper.advance()
            except Refused:
                pass
            except Killed:
                keeper = made.start()
                keeper.advance()
                if what == "tell" and due.get(name) == before:
                    _whole_or_absent(keeper, name, due, expected)
                elif (
                    what == "remove" and name in due and state(keeper, name) in ("none", "expired")
                ):
                    del due[name]
            made.maps.kill = ""
            keeper.advance()
            now = made.clock
            assert made.names() == {
                n for n, (b, e) in due.items() if b <= now and (e is None or now < e)
            }


def _whole_or_absent(
    keeper: IntentManager, name: str, due: dict[str, tuple[float, float | None]],
    expected: tuple[float, float | None] | None,
) -> None:  # fmt: skip
    """What nobody was told of is there or not."""
    found = keeper.find(ids=[name])
    if expected is not None and found and (found[0].begins, found[0].ends) == expected:
        due[name] = expected


def test_all_together_have_bounded_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever lists them gets them all."""
    with edge() as made:
        keeper, text = made.start(), intent("a", start="+10s", duration="10s")
        monkeypatch.setattr(keeping, "ROOM", 2 * len(text) + 20)
        tell(keeper, text)
        tell(keeper, text.replace("a", "a", 1) + "# more\n")  # in place of the first
        tell(keeper, intent("b", teid=1, start="+10s", duration="10s"))
        with pytest.raises(Refused, match="H0835.*MiB of text"):
            tell(keeper, intent("c", teid=2, start="+10s", duration="10s"))
        keeper.remove("a", "slice")
        tell(keeper, intent("c", teid=2, start="+10s", duration="10s"))
