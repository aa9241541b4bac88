"""The limits that docs/language.md states, each by a program at the limit, which is accepted, and
one above it, which gets the code."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from helioc.compiler.check.program import check
from helioc.compiler.driver import lower_pipeline
from helioc.lang.syntax.parser import parse
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source

CHAIN = """chain c by next_header max {0} {{ small as a when 60  small as b when 61 }}
  ipv4 -> six when protocol = 41
  six -> c
  c -> udp as inner when next_header = 17"""
SMALL = "header small { next_header : u8  x : u8 }\nheader six { next_header : u8 }"
OPTION = "options : tlv(kind : u8, length : u8) max {0} {{ a when kind = 1 {{ v : u8 }} }}"
SPREAD = """ie w = 1, u16  ie m = 2, u8
  rule F [64] {{ gives m }}
  rule L [64] {{ spread F[1..{0}] by w over hash(ipv4.src) }}"""


def program(declared: str = "", body: str = "", edges: str = "", headers: str = "") -> str:
    return f"""import std.ethernet, std.ip
{headers}
pipeline p {{
  ports any
  parser {{
    ethernet -> ipv4 when type = 0x0800
    ipv4     -> udp  when protocol = 17
    {edges}
  }}
  {declared}
  stage s {{
    if not ipv4 {{ drop }}
    {body}
    pass
  }}
  run parser -> s
}}
"""


def numbered(each: str, separator: str = ", ") -> Callable[[int], str]:
    return lambda n: separator.join(each.format(i, i + 1) for i in range(n))


def headers(count: int) -> str:
    edges = numbered("udp -> h{0} when dst = {1}", "\n")(count)
    return program(edges=edges, headers=numbered("header h{0} {{ a : u8 }}", "\n")(count))


def keyed(count: int) -> str:
    elements = numbered("ie a{0} = {1}, ip6", "\n")(count)
    return program(
        f"{elements}  rule R [64] {{ match {numbered('a{0} exact given', ' ')(count)} }}"
    )


def dependent(count: int) -> str:
    """So many rules of which each two have one that is looked up if both were found, all of them
    asked for behind all of those."""
    pairs = [f"{a}_{b}" for a in range(count) for b in range(a)]
    names = [f"A{n}" for n in range(count)] + [f"B{pair}" for pair in pairs]
    kinds = [f"rule {name} [16] {{ match src exact ipv4.src gives v }}" for name in names]
    steps = [f"find A{n} else {{}}" for n in range(count)]
    steps += [
        f"if A{a} and A{b} {{ find B{a}_{b} else {{}} }}" for a in range(count) for b in range(a)
    ]
    steps += [f"if {name} {{ queue {name}.v }}" for name in names]
    return program("\n".join(("ie src = 1, ip4  ie v = 2, u8", *kinds)), "\n".join(steps))


def at_most(limit: int, text: str, code: str, where: str = "declared") -> tuple[str, str, str]:
    """Programs with `{0}` at the limit and one above it."""
    at, above = (program(**{where: text.format(n)}) for n in (limit, limit + 1))
    return at, above, code


def of_many(limit: int, made: Callable[[int], str], code: str) -> tuple[str, str, str]:
    return made(limit), made(limit + 1), code


LIMITS = {
    "rules": at_most(4 << 20, "rule R [{0}] {{ gives m }}  ie m = 1, u8", "H0251"),
    "registers": at_most(4 << 20, "registers R[{0}] : u8", "H0251"),
    "members": at_most(255, SPREAD, "H0251"),
    "values of an element": at_most(8, "ie l = 1, ip6[{0}]", "H0251"),
    "number of an element": at_most(65_535, "ie l = {0}, u8", "H0251"),
    "seconds": at_most(31_536_000, "state S [64] {{ match a : u8 gives n : u8 ages {0} }}",
                       "H0251"),
    "events a second": at_most(1_000_000, "event E {{ a : u8 }} limit {0} per second", "H0251"),
    "bytes of an element": at_most(64, "ie q = 1, bytes[{0}]", "H0473"),
    "a stack": at_most(16, "ethernet -> vlan[{0}] when type = 1\nvlan -> vlan when type = 1",
                       "H0227", "edges"),
    "a queue": at_most(255, "queue {0}", "H0220", "body"),
    "chance": at_most(1 << 32, "if random({0}) = 5 {{ drop }}", "H0390", "body"),
    "the frame": at_most(32_767, "if frame.length < {0} {{ drop }}", "H0349", "body"),
    "a chain": of_many(32, lambda n: program(edges=CHAIN.format(n), headers=SMALL), "H0382"),
    "options": of_many(64, lambda n: program(
        edges="udp -> o when dst = 1",
        headers=f"header o {{ n : u8  {OPTION.format(n)}  size n * 4 + 1 }}"), "H0396"),
    "an array": of_many(255, lambda n: program(
        edges="udp -> o when dst = 1",
        headers=f"header o {{ n : u8  x : u8[n] max {n} }}"), "H0247"),
    "nodes": of_many(29, headers, "H0218"),
    "rules that depend on others": of_many(11, dependent, "H0218"),
    "a state's key": of_many(11, lambda n: program(
        f"state S [64] {{ match {numbered('a{0} : u64')(n)} gives n : u8 }}"), "H0335"),
    "a state's slots": of_many(15, lambda n: program(
        f"state S [64] {{ match a : u8 gives {numbered('g{0} : u64')(n)} }}"), "H0335"),
    "a rule's key": of_many(5, keyed, "H0318"),
    "a hash": of_many(32, lambda n: program(
        body=f"queue hash({numbered('ipv4.src')(n)}) & 7"), "H0335"),
    "an event": of_many(14, lambda n: program(
        f"event E {{ {numbered('g{0} : u64')(n)} }}"), "H0375"),
    "a set": of_many(512, lambda n: program(
        body=f"if ipv4.id in {{ {numbered('{0}')(n)} }} {{ drop }}"), "H0367"),
    "branches": of_many(512, lambda n: program(
        body=numbered("if ipv4.id = {0} {{ count a }}", " else ")(n)), "H0108"),
    "arms": of_many(511, lambda n: program(
        body=f"match ipv4.id {{ {numbered('{0} => count a', ' ')(n)} _ => count b }}"), "H0108"),
    "operators": of_many(64, lambda n: program(
        body=f"let x = ipv4.ttl{' | ipv4.ttl' * n}\nif x = 5 {{ drop }}"), "H0108"),
    "brackets": of_many(30, lambda n: program(
        body=f"queue {'(' * n}1{')' * n}"), "H0108"),
    "a name": of_many(64, lambda n: program(f"const {'A' * n} = 5"), "H0118"),
}  # fmt: skip


def codes(text: str) -> set[str]:
    try:
        lower_pipeline(check(parse(Source("p.hp", text))))
    except Refused as refused:
        return {each.code for each in refused.diagnostics if each.severity == "error"}
    return set()


@pytest.mark.parametrize("limit", LIMITS)
def test_the_number_is_the_limit(limit: str) -> None:
    at, above, code = LIMITS[limit]
    assert codes(at) == set()
    assert code in codes(above)
