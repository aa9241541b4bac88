"""A card's life: run in a virtual machine with nfpsim and netdevsim.

card.py BUNDLE: load, rules, opened again by another, programs replaced, unloaded; then the same by
an agent, which is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.wire import encode
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.agent.agent import Agent
from helioc.runtime.edge.config import Config
from helioc.runtime.journal.store import Store
from helioc.runtime.kernel.privileges import AGENT, CARDS, confine
from helioc.runtime.loading.bundle import Bundle, read_bundle
from helioc.runtime.loading.card import LoadedCard
from helioc.runtime.loading.card_reader import CardReader
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.releases import ROOT, remove_pinned
from helioc.runtime.observe.metrics import exposition
from helioc.runtime.owner.requests import ApplyRequest
from helioc.runtime.ports.ports import PortConfig


def said(text: str) -> str:
    done = subprocess.run(text.split(), capture_output=True, text=True, check=True)
    return done.stdout


def asked(loaded: LoadedCard, text: str) -> None:
    loaded.apply(parse_request(Source("request", text)))


def config(interface: str) -> Config:
    return Config((PortConfig(1, "NIC", 0, interface, 0),))


RULES = """
create FLOW 1 one [(src_ip, u32, 10.0.0.1), (action, u8, STEER), (queue, u8, 3)],
       FLOW 2 [(src_ip, u32, 10.0.0.2), (dst_port, u16, 53), (action, u8, DROP), (queue, u8, 0)]
"""
EDGE = "ports: {NIC: {role: nic, interface: nfpsim0}}\n"
ENTRY = "/sys/fs/bpf/helio/steering/release-1/entry_nic"


def number() -> str:
    """Of the program in force."""
    return said(f"bpftool prog show pinned {ENTRY}").split(":")[0]


def life(bundle: Bundle) -> None:
    with LoadedCard.load(bundle, config("nfpsim0")) as loaded:
        assert "xdpoffload" in said("ip link show nfpsim0")
        counts = loaded.maps["flow_counts"]
        assert len(list(counts.keys())) == counts.spec.max_entries  # every slot was written
        asked(loaded, RULES)
    with LoadedCard.open("steering") as loaded:
        assert {rule.id: rule.name for rule in loaded.book.rules("FLOW")} == {1: "one", 2: ""}
        asked(loaded, "update FLOW 1 [(queue, u8, 9)]; delete FLOW 2")
        entries = loaded.maps["flow_entries"]
        (key,) = entries.keys()
        rule, program = entries.lookup(key), number()
        loaded.replace(bundle)
        assert number() != program and "xdpoffload" in said("ip link show nfpsim0")
        assert entries.lookup(key) == rule
        counted = bytes((5, *[0] * 7, 90, *[0] * 7))
        loaded.maps["flow_counts"].update((1).to_bytes(4, "little"), counted)
    reader = CardReader("steering")
    assert [(c.rule.id, c.packets, c.byte_count) for c in reader.rules()] == [(1, 5, 90)]
    assert all(count == 0 for _, count in reader.events())
    reader.close()
    shown = exposition(("FLOW",))
    assert 'helio_rules{kind="FLOW",pipeline="steering"} 1.0' in shown
    assert 'helio_rule_packets_total{kind="FLOW",pipeline="steering"} 5.0' in shown
    assert 'helio_single_rule_bytes_total{id="1",' in shown
    unload("steering")
    assert "xdpoffload" not in said("ip link show nfpsim0") and not ROOT.exists()


def child(work: Callable[[], None], *more: str) -> None:
    """Do something with the capabilities that an agent keeps, and end as if killed."""
    if not (pid := os.fork()):
        try:
            confine((*AGENT, *more))
            work()
            os._exit(0)
        finally:
            sys.stdout.flush()
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def opened() -> Agent:
    agent = Agent(Store(Path("/run/state")))
    agent.open_all()
    return agent


def by_agent(bundle: Bundle) -> None:
    """Owned by an agent, which is killed; restored by the next after a reboot."""

    def first() -> None:
        agent = opened()
        agent.load(bundle, Source("<edge>", EDGE))
        owner = agent.owner()
        for text in (RULES, "update FLOW 1 [(queue, u8, 9)]"):
            request = parse_request(Source("request", text))
            owner.apply(ApplyRequest(encode(request, owner.codecs)))
        assert agent.upgrade(bundle).rules == 2

    def second() -> None:
        agent = opened()
        (status,) = agent.status()
        assert (status.revision, status.findings, status.kinds[0].rules) == (2, (), 2)
        agent.unload()

    def powerless() -> None:
        try:
            opened().load(bundle, Source("<edge>", EDGE))
        except Refused as failed:
            assert [d.code for d in failed.diagnostics] == ["H0720"], failed
            return
        raise AssertionError("the kernel wants CAP_SYS_ADMIN of who binds maps to a device")

    child(first, CARDS)
    assert "xdpoffload" in said("ip link show nfpsim0")
    remove_pinned("steering")
    child(second, CARDS)
    assert "xdpoffload" not in said("ip link show nfpsim0") and not ROOT.exists()
    child(powerless)


def refused(bundle: Bundle, interface: str) -> None:
    try:
        LoadedCard.load(bundle, config(interface)).close()
    except Refused as failed:
        assert [d.code for d in failed.diagnostics] == ["H0754"], failed
        assert not ROOT.exists()
        return
    raise AssertionError(f"{interface} took the program")


if __name__ == "__main__":
    found = read_bundle(Path(sys.argv[1]))
    said("ip link set nfpsim0 up")
    life(found)
    by_agent(found)
    refused(found, "lo")  # no card
    Path("/sys/bus/netdevsim/new_device").write_text("7 1")
    (made,) = Path("/sys/bus/netdevsim/devices/netdevsim7/net").iterdir()
    refused(found, made.name)  # a card whose maps have two entries
