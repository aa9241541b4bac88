"""What `helioc fuzz` and `helioc.testing` say was never reached."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from helioc.commands.helioc import cli
from helioc.compiler.driver import check_file
from helioc.compiler.fuzzing.scenarios import Fuzzed
from helioc.compiler.fuzzing.session import new_book, read_again
from helioc.compiler.interpret.coverage import Coverage
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.interpret.reached import Reached
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.testing import Drawn, Scenario, Tested
from linx_world import PIPELINES
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

TEXT = """import std.ethernet, std.ip

pipeline watch {
  ports outside, inside

  parser {
    ethernet -> ipv4  when type = 0x0800
    ipv4     -> udp   when protocol = 17
    ipv4     -> tcp   when protocol = 6
    udp      -> dns   when dst = 53
  }

  ie src_ip = 1, ip4

  rule BLOCK [1k] { match src_ip exact ipv4.src }
  state SEEN [1k] { match src : ip4 gives port : port ages 60 }

  default pass

  action reject(BLOCK) {
    count rejected
    drop
  }

  stage filter {
    if not ipv4 { pass }
    find BLOCK else {
      if tcp {
        count missed
        drop
      }
      pass
    }
    recall SEEN(src = ipv4.src) else {
      remember SEEN(src = ipv4.src, port = port)
      default
    }
    if port is inside { bridge SEEN.port }
    if tcp { reject(BLOCK) }
    reject(BLOCK)
  }

  run parser -> filter
}

header dns { id : u16 }
"""
NOBODY = "      if tcp and ipv4.protocol = 17 { find BLOCK else { default } }\n"


@pytest.fixture
def watch(tmp_path: Path) -> Path:
    path = tmp_path / "watch.hp"
    path.write_text(TEXT)
    return path


def coverage(path: Path, *packets: Packet, block: str = "192.0.2.1") -> Coverage:
    """After these packets."""
    fuzzed, reached = Fuzzed(check_file(path)), Reached()
    environment = fuzzed.world.environment
    book = new_book(fuzzed.manifest, environment)
    if any(rule.name == "BLOCK" for rule in fuzzed.manifest.rules):
        request = parse_request(Source("rules", f"create BLOCK 1 [(src_ip, u32, {block})]"))
        book.commit(book.plan(read_again(request)))
    interpreter = Interpreter(fuzzed.pipeline, environment, reached)
    for packet in packets:
        interpreter.run(book, bytes(packet), 1)
    return Coverage(fuzzed.pipeline, reached)


def unreached(path: Path, *packets: Packet, block: str = "192.0.2.1") -> list[str]:
    """After these packets, without the file's folder."""
    lines = coverage(path, *packets, block=block).unreached()
    return [line.replace(f"{path.parent}/", "") for line in lines]


def frame(source: str, inner: Packet) -> Packet:
    return Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / IP(src=source) / inner


OTHER = frame("192.0.2.9", UDP(dport=9))
KNOWN = frame("192.0.2.1", UDP(dport=9))


def test_nothing_was_run(watch: Path) -> None:
    """Of what stands behind an edge or a statement that was not reached nothing is said."""
    assert unreached(watch) == [
        "watch.hp:7:5: edge ethernet -> ipv4",
        "watch.hp:26:5: `if not ipv4 { pass }`",
        "hook malformed", "hook tiny_fragment", "hook too_big", "hook unresolved",
    ]  # fmt: skip


def test_a_look_up_hits_and_misses(watch: Path) -> None:
    edges = ["watch.hp:9:5: edge ipv4 -> tcp", "watch.hp:10:5: edge udp -> dns"]
    hooks = [f"hook {event}" for event in ("malformed", "tiny_fragment", "too_big", "unresolved")]
    passed = "watch.hp:26:19: `pass`"
    assert unreached(watch, OTHER) == [
        *edges, passed,
        "watch.hp:27:5: `find BLOCK else` never hits",
        "watch.hp:29:9: `count missed`",
        "watch.hp:34:5: `recall SEEN(src = ipv4.src) else`",
        *hooks,
    ]  # fmt: skip
    assert unreached(watch, KNOWN, Ether(type=0x0806) / ARP()) == [
        *edges,
        "watch.hp:27:5: `find BLOCK else` never misses",
        "watch.hp:34:5: `recall SEEN(src = ipv4.src) else` never hits",
        "watch.hp:38:5: `if port is inside { bridge SEEN.port }`",
        *hooks,
    ]  # fmt: skip
    assert unreached(watch, KNOWN, KNOWN, OTHER) == [
        *edges, passed, "watch.hp:29:9: `count missed`", "watch.hp:38:25: `bridge SEEN.port`",
        "watch.hp:39:14: `reject(BLOCK)`", *hooks,
    ]  # fmt: skip


def test_a_statement_of_an_action_is_one_place(watch: Path) -> None:
    """Where it is applied does not matter: here in two places, one of which is not reached."""
    said = unreached(watch, KNOWN, KNOWN, Ether(bytes(OTHER)[:30]))
    assert "watch.hp:39:14: `reject(BLOCK)`" in said
    assert not [line for line in said if ":22:" in line or ":23:" in line]
    assert "hook malformed" not in said


def test_a_fragment_that_ends_within_a_header_runs_a_hook(watch: Path) -> None:
    first = Ether() / IP(src="192.0.2.9", flags="MF", proto=6) / Raw(bytes(8))
    assert "hook tiny_fragment" not in unreached(watch, first)


def test_how_much_was_reached() -> None:
    pipeline = check_file(PIPELINES / "linx.hp")
    lines = Coverage(pipeline, Reached()).summary()
    assert lines[0].startswith("reached 0 of ")
    assert lines[0].endswith(" statements, hits, misses, edges and hooks")
    assert lines[2].startswith("  ")


@pytest.mark.parametrize("packets", [(), (OTHER,), (KNOWN, OTHER), (KNOWN, KNOWN)])
def test_the_list_and_what_stands_behind_it_are_all(
    watch: Path, packets: tuple[Packet, ...]
) -> None:
    head, never, *listed = coverage(watch, *packets).summary()
    found = re.fullmatch(r"never reached \((\d+) more stands? behind these\):", never)
    done, total = map(int, re.findall(r"\d+", head))
    assert found and done + len(listed) + int(found[1]) == total, (head, never)


def test_nothing_stands_behind(tmp_path: Path) -> None:
    path = tmp_path / "bare.hp"
    path.write_text(
        "import std.ethernet, std.ip\npipeline bare {\n  ports a\n"
        "  parser { ethernet -> ipv4 when type = 0x0800 }\n  default pass\n"
        "  stage s { pass }\n  run parser -> s\n}\n"
    )
    lines = coverage(path, OTHER).summary()
    assert lines[1:] == ["never reached:", "  hook malformed"]


def refusal(path: Path) -> tuple[str, str, list[int]]:
    done = CliRunner().invoke(cli, ["fuzz", str(path), "--packets", "60"])
    assert isinstance(done.exception, Refused), done.output
    assert "agree" not in done.output
    (found,) = done.exception.diagnostics
    return found.code, found.title, [label.span.line for label in found.labels]


@pytest.mark.usefixtures("kernel")
def test_no_packet_reaches_a_look_up(watch: Path) -> None:
    start = TEXT.index("    if not ipv4")
    rest = "    default\n  }\n\n  run parser"
    watch.write_text(TEXT[:start] + NOBODY + rest + TEXT.partition("  run parser")[2])
    assert refusal(watch) == ("H0816", "no packet reached a `find`, `choose` or `recall`", [26])


def test_no_packet_is_parsed(watch: Path) -> None:
    pipeline = check_file(PIPELINES / "linx_offload.hp")
    reached = Reached()
    assert (found := Coverage(pipeline, reached).idle()) and found.code == "H0816"
    start = TEXT.index("    if not ipv4")
    watch.write_text(
        TEXT[:start] + "    pass\n  }\n\n  run parser" + TEXT.partition("  run parser")[2]
    )
    bare = check_file(watch)
    assert (found := Coverage(bare, reached).idle()) and "beyond its link-layer" in found.title
    Interpreter(bare, Fuzzed(bare).world.environment, reached).run(_None(), bytes(OTHER), 1)
    assert Coverage(bare, reached).idle() is None


class _None:
    """No rules."""

    def rules(self, kind: str) -> tuple[()]:
        return ()


@pytest.mark.usefixtures("kernel")
def test_it_is_said_beside_the_agreement(watch: Path) -> None:
    done = CliRunner().invoke(cli, ["fuzz", str(watch), "--packets", "1"])
    lines = done.output.splitlines()
    assert done.exit_code == 0 and "interpreter and kernel agree" in lines[0]
    at = next(i for i, line in enumerate(lines) if line.startswith("never reached"))
    assert lines[at - 1].startswith("reached ")
    assert any(line.startswith(f"  {watch}:") for line in lines[at:]), done.output


@pytest.mark.usefixtures("kernel")
def test_of_ones_own_tests_too(watch: Path) -> None:
    with Tested(watch) as tested:
        before = tested.unreached()
        tested.agree(Scenario(()))
        assert tested.unreached() == before and len(before) == 6
        tested.agree(Scenario((Drawn(1, (), bytes(OTHER)),)))
        assert len(tested.unreached()) == 10
        assert any("`find BLOCK else` never hits" in line for line in tested.unreached())
