"""A program: a port at tc.egress of a kernel without tcx, by a filter at clsact, sees what this
host sends, is upgraded and unloaded. The arguments are the bundles of `hop.hp` before and after."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.text.source import Source
from helioc.runtime.edge.config import Config
from helioc.runtime.loading import attachments
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.loader import Loaded, unload
from helioc.runtime.loading.reader import Reader
from helioc.runtime.loading.upgrade import upgrade
from helioc.runtime.loading.upgrade_plan import plan_upgrade
from helioc.runtime.ports.ports import PortConfig
from lab import Lab
from traffic import drain, udp_socket

HERE, THERE, PORT = "10.1.0.1", "10.1.0.2", 7
RULES = "create ROUTE 2 [(dst_ip, u32, 10.1.0.0/16), (note, u8, 1)]"
PORTS = PortConfig(1, "IN", 0, "in0", 0, "tc.egress"), PortConfig(2, "OUT", 1, "out0", 0)
NAME = "clsact"
before, after = (read_bundle(Path(word)) for word in sys.argv[1:])
request = parse_request(Source("rules", RULES))


def counted() -> int:
    with Reader(NAME) as reader:
        return sum(c.packets or 0 for c in reader.rules())


def upgraded() -> None:
    with Loaded.open(NAME) as loaded:
        upgrade(loaded, plan_upgrade(loaded, after)).close()


assert not attachments.has_tcx(), "this kernel has tcx"
with Lab("vm-") as lab:
    near, edge, far = (lab.namespace(name) for name in ("near", "edge", "far"))
    lab.wire(near, "eth0", edge, "in0")
    lab.wire(far, "eth0", edge, "out0")
    near.address("eth0", f"{THERE}/16")
    edge.address("in0", f"{HERE}/16")
    config = Config(PORTS, None, "native", (request,))
    edge.inside_thread(lambda: Loaded.load(before, config, NAME)).close()
    with udp_socket(near, THERE, PORT) as receiver, udp_socket(edge) as sender:
        for number, change in enumerate((lambda: None, upgraded), start=1):
            edge.inside_thread(change)
            sender.sendto(b"heard", (THERE, PORT))
            assert drain(receiver, 1)[0][0] == b"heard"
            assert counted() == number
    assert "helio" in edge.run("tc", "filter", "show", "dev", "in0", "egress")
    edge.inside_thread(lambda: unload(NAME))
    assert "clsact" not in edge.run("tc", "qdisc", "show", "dev", "in0")
sys.stdout.write(f"filters at clsact under {os.uname().release}\n")
