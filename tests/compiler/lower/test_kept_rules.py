"""Rules that entries keep, while rules come and go beside the packets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Event

import pytest
from at_once import at_once
from helioc.compiler.bundle import compile_for_card, compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

FRAME = bytes(Ether(src="02:00:00:00:00:aa") / IP(src="10.0.0.5", dst="10.0.0.9") / bytes(40))
LAN = Port(1, "LAN", "lan", 1, 1500, bytes.fromhex("020000000001"))

pytestmark = pytest.mark.usefixtures("kernel")

#: Each server has a tag of its own, which never changes; an entry keeps both. Each
#: packet has another number: a test run goes on with what it left of the packet.
CHURN = """\
import std.ethernet, std.ip
pipeline churn {
  ports lan
  parser { ethernet -> ipv4 when type = 0x0800 }
  ie number = 1, u16
  ie tag    = 2, u32
  rule SERVER [16] {
    match number exact given
    gives tag
  }
  state KEPT [64] {
    match key : u8
    gives server : SERVER, tag : u32%s
  }
  stage main {
    if not ipv4 { drop }
    ipv4.id = (ipv4.id * 25173 + 13849) & 0xffff
    let key = ipv4.id >> 4 & 31
    let number = ipv4.id >> 10 & 15
    if recall KEPT(key = key) {
      if find SERVER from KEPT.server {
        count there
        if SERVER.tag != KEPT.tag { count wrong }
        send back
      }
    }
    find SERVER(number = number) else { drop }
    remember KEPT(key = key, server = SERVER, tag = SERVER.tag)
    send back
  }
  run parser -> main
}
"""


@pytest.mark.parametrize("counts", ["", "\n    counts packets"], ids=["written", "in place"])
def test_no_other_rule_is_found_in_the_place_of_one(tmp_path: Path, counts: str) -> None:
    """Servers come and go, and others get their places; packets on another CPU find the rule that
    an entry keeps, or none."""
    path = tmp_path / "churn.hp"
    path.write_text(CHURN % counts)
    bundle = compile_pipeline(check_file(path))
    with PrivateRun(Bundle(bundle.manifest, bundle.object)) as run:
        run.set_environment(Environment((LAN,)))
        book = RuleBook(bundle.manifest, {}, {})

        def apply(text: str) -> None:
            plan = book.plan(parse_request(Source("request", text)))
            run.writer.apply(plan)
            book.commit(plan)

        def change() -> None:
            for request in requests():
                if ended.is_set():
                    break
                apply(request)

        def send() -> None:
            for _ in range(300):
                program.test_run(FRAME, ingress_ifindex=1, repeat=2000)
            ended.set()

        program, ended = run.entry(LAN.number), Event()
        for i in range(16):
            apply(f"create SERVER {i + 1} [(number, {i}), (tag, {i})]")
        run._counted_events()
        at_once(change, send)
        found = Counter(run._counted_events())
    assert found["count", "wrong"] == 0
    assert found["count", "there"] > 10_000 and found["gone", "SERVER"] > 20


def requests() -> Iterator[str]:
    """Each makes a server anew under the id and the number of one that goes, with another tag."""
    for tag in count(16):
        i = tag % 16
        made = f"create SERVER {i + 1} [(number, {i}), (tag, {tag})]"
        if tag % 3:
            yield f"delete SERVER {i + 1}; {made}"
        else:
            yield f"delete SERVER {i + 1}"
            yield made


def test_a_card_keeps_none(tmp_path: Path) -> None:
    path = tmp_path / "churn.hp"
    path.write_text(CHURN % "")
    with pytest.raises(Refused) as refused:
        compile_for_card(check_file(path))
    assert "H0352" in {found.code for found in refused.value.diagnostics}
