"""Interpreter, intermediate representation and kernel agree on rules that may have been found or
not, of which all are read later: more of them than one program has maps for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from agreement import WAYS, Both, loaded, quick
from helioc.compiler.check.program import check
from helioc.compiler.driver import in_programs
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.syntax.parser import parse
from helioc.lang.text.source import Source
from helioc.testing import Drawn, Scenario, Tested
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

A = 1
WORLD = Environment((Port(A, "A", "a", 11, 1500, bytes(6)),))
SOURCES = [f"10.0.0.{i}" for i in range(1, 5)]
MANY = 40
FUSED = 8  # of which each has six maps, of 64 that a program has

#: How a rule comes to be found or not, by its number; `{b}`: that of the one before.
FINDS = (
    "find R{n} else {{}}",
    "if R{b} {{ find R{n} else {{}} }} else {{ count above_{n} }}",
    "if find R{n} {{ count found_{n} }} else {{ count missed_{n} }}",
    "if udp {{ find R{n} else {{}} }} else {{ if ipv4.ttl > 9 {{ find R{n} else {{ drop }} }} }}",
)
#: The same by what an entry keeps.
KEPT = (
    "if recall K{n}(src = ipv4.src) {{ find R{n} from K{n}.kept else {{}} }}\n"
    "if not R{n} {{ find R{n} else {{}} }}\n"
    "if R{n} {{ remember K{n}(src = ipv4.src, kept = R{n}) }}"
)
STATE = "state K{n} [64] {{ match src : ip4 gives kept : R{n} }}"
USES = (
    "if R{n} {{ ipv4.id = ipv4.id +% R{n}.value }}",
    "if not R{n} {{ count none_{n} }} else {{ ipv4.id = ipv4.id ^ R{n}.value }}",
    "if R{n} and R{b} {{ ipv4.id = ipv4.id +% (R{n}.value ^ R{b}.value) }}",
    "if R{n} or R{b} {{ count either_{n} }}",
)


def source(many: int, finds: tuple[str, ...] = FINDS) -> Source:
    """The rules are read in another order than they are found."""

    def each(texts: tuple[str, ...], together: int = 1) -> list[str]:
        return [
            texts[n // together % len(texts)].format(n=n, b=(n - 1) % many) for n in range(many)
        ]

    kind = "rule R{n} [16] {{ match src_ip exact ipv4.src gives value counts packets }}"
    states = [each((STATE,))[n] for n in range(many) if finds[n % len(finds)] == KEPT]
    return Source("many.hp", f"""import std.ethernet, std.ip
pipeline many {{
  ports a
  parser {{
    ethernet -> ipv4 when type = 0x0800
    ipv4     -> udp  when protocol = 17
  }}
  ie src_ip = 1, ip4
  ie value  = 2, u16
  {" ".join(each((kind,)) + states)}
  default pass
  stage look {{
    if not ipv4 {{ pass }}
    {" ".join(each(finds))}
    {" ".join(reversed(each(USES, len(finds))))}
    send back
  }}
  run parser -> look
}}
""")  # fmt: skip


@pytest.fixture(scope="module", params=WAYS)
def both(request: pytest.FixtureRequest, kernel: None) -> Iterator[Both]:
    pipeline = check(parse(source(FUSED if request.param == "fused" else MANY)))
    with loaded(pipeline, WORLD, request.param) as both:
        yield both


@st.composite
def requests(draw: st.DrawFn, many: int) -> str:
    """Of each kind a rule for some of the sources."""
    rules = []
    for source in SOURCES:
        which = draw(st.sampled_from([0, -1]) | st.integers(0, (1 << many) - 1))
        value = draw(st.integers(0, 0xFFFF))
        rules += [
            f"R{n} [(src_ip, u32, {source}), (value, u16, {(value + 77 * n) & 0xFFFF})]"
            for n in range(many)
            if which >> n & 1
        ]
    return f"create {', '.join(rules)}" if rules else ""


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    ip = IP(src=draw(st.sampled_from(SOURCES)), dst="10.9.9.9", ttl=draw(st.sampled_from([5, 64])))
    transport = draw(st.sampled_from([UDP(sport=4, dport=5), TCP(sport=4, dport=5)]))
    link = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
    return bytes(link / ip / transport / Raw(draw(st.binary(max_size=9))))


def test_rules_that_may_have_been_found(both: Both) -> None:
    many, seen = len(both.pipeline.rules), Counter[str]()

    @settings(quick, max_examples=12)
    @given(requests(many), st.lists(frames(), min_size=4, max_size=8))
    def look(rules: str, arriving: list[bytes]) -> None:
        book = both.book(rules)
        for frame in arriving:
            outcome = both.agree(book, frame, A)
            seen.update(f"{kind} {name}" for kind, name in outcome.events)
            seen.update(kind for kind, _ in outcome.counted)

    look()
    assert all(seen[f"R{n}"] for n in range(many)), seen


def rules_of(number: int) -> str:
    """For every other source, all kinds but each `number`th."""
    items = (
        f"R{n} {i} [(src_ip, u32, {source}), (value, u16, {number + n + i})]"
        for n in range(MANY)
        for i, source in enumerate(SOURCES[::2], 1)
        if n % number
    )
    return f"create {', '.join(items)}"


def test_rules_that_entries_keep(tmp_path: Path, kernel: None) -> None:
    file = tmp_path / "many.hp"
    file.write_text(source(MANY, (*FINDS, KEPT)).text)
    with Tested(file) as tested:
        ip = (IP(src=source, dst="10.9.9.9") / UDP(sport=4, dport=5) for source in SOURCES)
        link = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
        packets = tuple(tested.packet(bytes(link / each)) for each in ip)
        made = tested.request(rules_of(2))
        gone = tested.request(f"delete {', '.join(f'R{n} 1' for n in range(0, MANY, 3) if n % 2)}")
        steps: tuple[Drawn | Request, ...] = (*packets, made, *packets, gone, *packets)
        outcomes = tested.agree(Scenario(steps))
        assert len({outcome.frame for outcome in outcomes}) > len(SOURCES)

        @settings(quick, max_examples=15)
        @given(tested.scenarios())
        def look(scenario: Scenario) -> None:
            tested.agree(scenario)

        look()


def test_they_are_known_in_all_programs_that_the_stage_becomes() -> None:
    """It is divided where rules are looked up and where they are read."""
    parts = in_programs(check(parse(source(MANY))), "staged").stages
    assert len(parts) > 4 and {part.part_of or part.name for part in parts} == {"look"}
