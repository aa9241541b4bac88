"""Packet test files: what they say, what is wrong with them, what differs when a case fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from explained import examples
from helioc.commands.helioc import cli
from helioc.compiler.packettests.cases import Case, read_tests
from helioc.compiler.packettests.runs import Interpreted, Run, run_case, run_tests
from helioc.lang.contract.world.environment import Outcome
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.lang.text.source import Source
from hypothesis import given, settings
from hypothesis import strategies as st
from linx_world import linx, linx_manifest

HEAD = """\
ports:
  LAN:  {role: lan, address: 10.1.0.1}
  WAN1: {role: wan, address: 192.0.2.1, mac: 02:00:00:00:01:01}
neighbours:
  WAN1: {192.0.2.2: 02:00:00:00:01:02}
rules: |
  create OVERLAY 1 GRE-WAN1 [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.2),
                             (interface, u32, WAN1)];
  create PDR 1 [(dst_ip, u32, 10.2.0.0/16),
                FAR 1 [(action, u8, REDIRECT), (interface, u32, GRE-WAN1)]]
cases:
"""
CASE = """\
  - name: one
    port: LAN
    packet: [{ethernet: {}}, {user: {src: 10.1.0.9, dst: 10.2.0.9}}, {udp: {src: 1, dst: 2}}]
    expect: {verdict: redirect, port: WAN1}
"""


def read(text: str) -> tuple[Case, ...]:
    return read_tests(linx(), linx_manifest(), Source("x.test.yaml", text))


def refused(text: str) -> list[Diagnostic]:
    with pytest.raises(Refused) as caught:
        read(text)
    return caught.value.diagnostics


def problems(case: str) -> tuple[str, ...]:
    (result,) = run_tests(linx(), read(HEAD + case))
    return result.problems


def test_of_rules_that_are_refused_nothing_follows() -> None:
    """What cases ask of them, in their own rules or before a packet, is not reported."""
    update = "'update FAR 1 [(action, DROP)]'"
    own = CASE.replace("    port: LAN\n", f"    rules: {update}\n    port: LAN\n")
    before = CASE.replace("    port: LAN\n", f"    before: [{{rules: {update}}}]\n    port: LAN\n")
    cases = "".join(c.replace("one", f"case {n}") for n, c in enumerate([own, before] * 4))
    (found,) = refused(HEAD.replace("(dst_ip, u32", "(dst, u32") + cases)
    assert (found.code, found.help) == ("H0411", "did you mean `dst_ip`?")
    assert [d.code for d in refused(HEAD + cases.replace("FAR 1", "FAR 2"))] == ["H0450"] * 8


PACKET = CASE[CASE.index("[{eth") : CASE.index("\n    expect")]
WRONG_SHAPES = [
    (PACKET, "{ethernet: {}, user: {}}", "H0504"),
    (PACKET, "Ether()/IP()", "H0504"),
    (PACKET, "", "H0504"),
    ("port: WAN1}", "port: WAN1, counted: PDR 1}", "H0504"),
    ("port: WAN1}", "port: WAN1, out: {ethernet: {}}}", "H0504"),
    ("port: WAN1}", "port: WAN1, emits: [X: {}]}", "H0506"),
    ("    port: LAN", "\tport: LAN", "H0501"),
    ("    port: LAN\n", "    before: {wait: 10s}\n    port: LAN\n", "H0504"),
    ("    port: LAN\n", "    rules: [delete PDR 1]\n    port: LAN\n", "H0504"),
]


@pytest.mark.parametrize("written, instead, code", WRONG_SHAPES)
def test_what_has_another_shape_is_one_error_with_a_fix(
    written: str, instead: str, code: str
) -> None:
    assert written in CASE
    (found,) = refused(HEAD + CASE.replace(written, instead))
    assert found.code == code and found.help


def test_a_case_that_holds() -> None:
    assert problems(CASE) == ()


def helioc_test(at: Path, text: str, on: str) -> tuple[int, list[str]]:
    """Status and lines of `helioc test` on a pipeline that passes all."""
    (at / "p.hp").write_text("""import std.ethernet
pipeline p { ports lan  parser { start -> ethernet on lan }
  stage s { pass }  run parser -> s }""")
    (at / "p.test.yaml").write_text(text)
    done = CliRunner().invoke(cli, ["test", str(at / "p.hp"), "--on", on], catch_exceptions=False)
    return done.exit_code, done.output.splitlines()


def test_no_case_is_no_success(tmp_path: Path) -> None:
    assert helioc_test(tmp_path, "cases: []\n", "interpreter") == (
        1, ["0 passed, 0 failed (on the interpreter)", "nothing was tested"])  # fmt: skip


def test_what_no_packet_came_to_is_listed(tmp_path: Path) -> None:
    (tmp_path / "p.hp").write_text("""import std.ethernet, std.ip
pipeline p {
  ports lan
  parser { ethernet -> ipv4 when type = 0x0800 }
  state S [16] {
    match a : ip4
    gives b : u8
  }
  stage s {
    if not ipv4 { drop }
    recall S(a = ipv4.src) else { remember S(a = ipv4.src, b = 1) }
    pass
  }
  run parser -> s
}
""")
    packet = "packet: [{ethernet: {}}, {ipv4: {src: 10.0.0.1, dst: 10.0.0.2, protocol: 9}}]"
    one = f"ports: {{LAN: {{role: lan}}}}\ncases:\n  - name: a\n    port: LAN\n    {packet}\n"
    (tmp_path / "p.test.yaml").write_text(one + "    expect: {verdict: pass}\n")
    command = ["test", str(tmp_path / "p.hp"), "--coverage"]
    done = CliRunner().invoke(cli, [*command, "--on=interpreter"], catch_exceptions=False)
    assert done.exit_code == 0
    _, head, _, *missing = done.output.splitlines()
    assert head == "reached 6 of 9 statements, hits, misses, edges and hooks"
    found = [line.partition("p.hp:")[2] for line in missing if "p.hp:" in line]
    assert found[0] == "10:19: `drop`" and len(found) == 2
    assert found[1].startswith("11:5: `recall S(") and found[1].endswith("` never hits")
    refused = CliRunner().invoke(cli, [*command, "--on=kernel"])
    assert refused.exit_code == 2 and "leave out --on=kernel" in refused.output


SHORT = """ports: {LAN: {role: lan}}
cases:
  - {name: short, port: LAN, packet: {hex: "0102"}, expect: {verdict: drop}}
"""


EMPTY = """ports: {LAN: {role: lan}}
cases:
  - name: nothing but bytes
    port: LAN
    packet: [{payload: 60}]
    expect: {verdict: pass, out: same}
  - name: too short for the kernel, in front
    before: [{port: LAN, packet: [{payload: 3}]}]
    port: LAN
    packet: [{ethernet: {}}]
    expect: {verdict: pass}
"""


@pytest.mark.usefixtures("kernel")
def test_frames_without_headers(tmp_path: Path) -> None:
    """Neither ends in an internal error: the one is run on both, the other is not."""
    status, said = helioc_test(tmp_path, EMPTY, "both")
    assert (status, said[0]) == (0, "2 passed, 0 failed (on the interpreter and kernel)")
    assert said[1].startswith("1 on the interpreter alone: ")


@pytest.mark.usefixtures("kernel")
def test_what_no_kernel_ran_did_not_pass(tmp_path: Path) -> None:
    status, said = helioc_test(tmp_path, SHORT, "kernel")
    assert (status, said[0], said[-1]) == (
        1, "0 passed, 0 failed (on the kernel)", "nothing was tested")  # fmt: skip
    assert said[1].startswith("1 not run: ")
    assert helioc_test(tmp_path, SHORT, "both")[0] == 0


# ---- what is wrong with a file --------------------------------------------------------------

WRONG = [
    ("cases:\n  - name: [", "H0501", ""),
    ("", "H0501", ""),
    (HEAD + CASE.replace("port: LAN", "prot: LAN"), "H0502", "prot"),
    (HEAD + CASE.replace("dst: 10.2", "dts: 10.2"), "H0502", "dts"),
    (HEAD + CASE.replace("udp:", "upd:"), "H0502", "upd"),
    (HEAD + CASE.replace("verdict: redirect, ", ""), "H0503", "{port: WAN1}"),
    (HEAD + CASE.replace("    port: LAN\n", ""), "H0503", "name: one"),
    (HEAD.replace("role: lan, ", "") + CASE, "H0503", "LAN"),
    (HEAD + CASE.replace("{verdict: redirect, port: WAN1}", "redirect"), "H0504", "redirect"),
    (HEAD + CASE.replace("{src: 1, dst: 2}", "[1, 2]"), "H0504", "[1, 2]"),
    (
        HEAD
        + CASE.replace(
            "[{ethernet: {}}, {user: {src: 10.1.0.9, dst: 10.2.0.9}}, {udp: {src: 1, dst: 2}}]",
            "[]",
        ),
        "H0504",
        "[]",
    ),
    (HEAD + CASE.replace("port: WAN1}", "out: []}"), "H0504", "[]"),
    (HEAD + CASE.replace("port: WAN1}", "emits: [{SCAN: {}}]}"), "H0506", "SCAN"),
    (HEAD + CASE.replace("{src: 10.1.0.9", "{src: ::1"), "H0501", ":"),
    (HEAD + CASE.replace("dst: 2", "dst: 65536"), "H0505", "65536"),
    (HEAD + CASE.replace("10.2.0.9", "10.2.0"), "H0505", "10.2.0"),
    (HEAD + CASE.replace("{ethernet: {}}", "{ethernet: {dst: 02:00}}"), "H0505", "02:00"),
    (HEAD + CASE + "    default: maybe\n", "H0506", "maybe"),
    (HEAD + CASE.replace("port: LAN", "port: LAN1"), "H0506", "LAN1"),
    (HEAD + CASE.replace("verdict: redirect", "verdict: redirected"), "H0506", "redirected"),
    (HEAD + CASE.replace("port: WAN1}", "events: [{miss: PRD}]}"), "H0506", "PRD"),
    (HEAD + CASE.replace("port: WAN1}", "counted: [PDR 2]}"), "H0506", "PDR 2"),
    (HEAD + CASE.replace("port: WAN1}", "counted: [PRD]}"), "H0506", "PRD"),
    (HEAD + CASE.replace("port: WAN1}", "counted: [LBR]}"), "H0520", "LBR"),
    (HEAD + CASE + CASE, "H0507", "one"),
    (HEAD + CASE.replace("port: WAN1}", "verdict: drop}"), "H0507", "verdict"),
    (
        HEAD + CASE.replace("[{ethernet: {}},", "[{payload: x}, {ethernet: {}},"),
        "H0508",
        "ethernet",
    ),
]


@pytest.mark.parametrize(("text", "code", "place"), WRONG, ids=[f"{c} {p}" for _, c, p in WRONG])
def test_a_mistake_is_said_with_its_place(text: str, code: str, place: str) -> None:
    (found,) = refused(text)
    assert found.code == code
    assert found.span is not None
    if place:
        assert found.span.text == place
        assert found.span.source.text == text


EXPECT = "{verdict: redirect, port: WAN1}"
FRAMES = (
    "%s",
    HEAD + "%s",
    HEAD + CASE.replace(f"expect: {EXPECT}", "%s"),
    HEAD + CASE.replace(EXPECT, "{verdict: redirect, port: WAN1, %s}"),
    HEAD + CASE.replace("user: {src: 10.1.0.9, dst: 10.2.0.9}", "%s"),
    HEAD + CASE.replace("port: LAN", "%s"),
)  # fmt: skip


def codes_of(text: str) -> set[str]:
    try:
        read(text)
    except Refused as error:
        return {found.code for found in error.diagnostics}
    return set()


@pytest.mark.parametrize(("code", "wrong", "right"), examples("packet test"))
def test_examples_get_their_codes(code: str, wrong: str, right: str) -> None:
    """In a file that is sound without them; or, of what is no YAML or a part of a packet, is not
    wrong for the same reason."""
    fitting = [f for f in FRAMES if not codes_of(f % right)]
    if code == "H0501":
        fitting = ["%s"]
    elif code == "H0508":
        fitting = [HEAD + CASE.replace("packet: [{eth", "packet: %s\n    before: [{eth")]
        wrong, right = wrong.removeprefix("- "), right.removeprefix("- ")
    assert code in {c for f in fitting for c in codes_of(f % wrong)}, fitting
    assert code not in {c for f in fitting for c in codes_of(f % right)}


HELP = (
    ("udp:", "upd:", "did you mean `udp`?"),
    ("src: 1,", "sport: 1,", "here it is called `src`"),
    ("udp:", "udph:", "here it is called `udp`"),
    ("{udp: {src: 1, dst: 2}}", "udp", "write `{udp: {}}`"),
    ("{verdict: redirect, port: WAN1}", "redirect", "write a key and a colon: `{verdict: …}`"),
    ("redirect", "forward", "write `redirect`"),
    ("10.1.0.9", "::1", 'an address that begins so stands in quotes: "::1"'),
    ("port: WAN1}", "emits: [{SCAN: {}}]}", "there is no event at all here"),
)


@pytest.mark.parametrize(("right", "wrong", "help"), HELP)
def test_what_is_meant_is_suggested(right: str, wrong: str, help: str) -> None:
    (found,) = refused(HEAD + CASE.replace(right, wrong))
    assert found.help == help


def test_a_request_is_checked_where_it_stands() -> None:
    text = HEAD.replace("(action, u8, REDIRECT)", "(action, u8, REDIRCT)") + CASE
    (found,) = refused(text)
    assert found.span is not None
    assert found.span.source.text == text
    assert found.span.text == "REDIRCT"
    (found,) = refused(text.replace("port: WAN1}", "port: WAN1, counted: [PDR 1, FAR 1]}"))
    assert found.span is not None and found.span.text == "REDIRCT"
    quoted = HEAD + CASE + "    rules: 'create FAR 2 [(acton, u8, 1)]'\n"
    (found, *_) = refused(quoted)
    assert found.span is not None
    assert found.span.text == "acton"


def test_several_mistakes_are_said_at_once() -> None:
    text = HEAD + CASE.replace("dst: 2", "dst: x").replace("10.2.0.9", "y")
    assert [d.code for d in refused(text)] == ["H0505", "H0505"]


def test_an_alias_of_itself_is_no_trap() -> None:
    (found, *_) = refused("cases: &a [*a]\n")
    assert found.code == "H0501" and "contains itself" in found.title
    assert found.span is not None and str(found.span).endswith(":1:8")
    bomb = "\n".join(f"  a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 30))
    text = f"define:\n  a0: &a0 [{{payload: x}}]\n{bomb}\n" + HEAD
    case = CASE.replace("[{ethernet: {}}, ", "[*a29, {ethernet: {}}, ")
    assert refused(text + case)


PIECES = ["", " ", "\n", "{", "]", "&a ", "*a", "0x", ":", "- ", "é", "|\n"]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_mutilated_file_never_raises_anything_else(data: st.DataObject) -> None:
    text = HEAD + CASE
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(at, min(len(text), at + 12)))
        new = data.draw(st.sampled_from(PIECES) | st.text(max_size=3))
        text = text[:at] + new + text[end:]
    try:
        for case in read(text):
            run_case(linx(), case, [Interpreted(linx())])
    except Refused as refused:
        assert refused.diagnostics


# ---- what differs ---------------------------------------------------------------------------


def test_a_wrong_verdict_and_port_are_told() -> None:
    assert problems(CASE.replace("redirect, port: WAN1", "drop, port: LAN")) == (
        "interpreter: verdict: expected drop, got redirect",
        "interpreter: port: expected LAN, got WAN1",
    )


def test_a_wrong_packet_is_told_field_by_field() -> None:
    case = CASE.replace(
        "port: WAN1}",
        "out: [{ethernet: {dst: 02:00:00:00:01:02, src: 02:00:00:00:01:01}}, "
        "{outer: {src: 192.0.2.1, dst: 192.0.2.3}}, {gre: {}}, "
        "{user: {src: 10.1.0.9, dst: 10.2.0.9, ttl: 64}}, {udp: {src: 1, dst: 2}}]}",
    )
    shown = "\n".join(problems(case))
    assert "outer.dst: expected 192.0.2.3, got 192.0.2.2" in shown
    assert "user.ttl: expected 64 (0x40), got 63 (0x3f)" in shown
    assert re.search(r"user\.checksum: expected \d+", shown)
    assert "udp" not in shown


def test_a_wrong_packet_in_hex_is_told_by_the_parse_graph() -> None:
    (good,) = read(HEAD + CASE)
    frame = Interpreted(linx()).prepare(good)
    with frame as run:
        sent = run(good.frame, good.port).frame
    assert sent is not None
    wrong = sent[:22] + b"\x3f" + sent[23:]  # the outer TTL
    shown = problems(CASE.replace("port: WAN1}", f"out: {{hex: '{wrong.hex(' ')}'}}}}"))
    assert shown == ("interpreter: outer.ttl: expected 63 (0x3f), got 64 (0x40)",)


def test_a_missing_packet_is_told() -> None:
    dropped = CASE.replace("port: LAN", "port: LAN\n    rules: update FAR 1 [(action, u8, DROP)]")
    shown = problems(dropped.replace("redirect, port: WAN1", "drop, out: same"))
    assert shown == ("interpreter: packet: expected one, got none",)


def test_wrong_events_and_counts_are_told() -> None:
    case = CASE.replace("port: WAN1", "events: [{miss: PDR}], counted: [PDR 1]")
    assert problems(case) == (
        "interpreter: events: expected miss: PDR, got none",
        "interpreter: counted: expected PDR 1, got PDR 1, FAR 1, OVERLAY GRE-WAN1",
    )


class Other:
    """A backend that sees the world a little differently."""

    name = "other"
    shortest, longest = 0, 1 << 17

    def __init__(self, **changes: object) -> None:
        self._changes = changes

    @contextmanager
    def prepare(self, case: Case) -> Iterator[Run]:
        with Interpreted(linx()).prepare(case) as run:
            yield Changed(run, self._changes)


class Changed:
    """What a backend says, and what is said in its place."""

    def __init__(self, run: Run, changes: dict[str, object]) -> None:
        self._run, self._changes = run, changes
        self.ask, self.set_moment = run.ask, run.set_moment

    def __call__(self, frame: bytes, port: int) -> Outcome:
        return replace(self._run(frame, port), **self._changes)  # type: ignore[arg-type]


def test_backends_that_disagree_are_told() -> None:
    (case,) = read(HEAD + CASE)
    assert run_case(linx(), case, [Interpreted(linx()), Other()]).ok
    result = run_case(linx(), case, [Interpreted(linx()), Other(egress=1, frame=bytes(70))])
    assert result.backends == ("interpreter", "other")
    assert "other: port: expected WAN1, got LAN" in result.problems
    assert "other and interpreter disagree: egress: 2 and 1" in result.problems
    assert any("disagree: outer.ttl: expected 64" in p for p in result.problems)
