"""Receive queues on the host: each stands for a CPU, on which the packet goes on."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.text.source import Source
from helioc.runtime.edge.config import Config
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.loading.loader import Loaded, unload
from helioc.runtime.ports.ports import PortConfig
from lab import Lab

SO_INCOMING_CPU = 49
STEERING = Path(__file__).parents[1] / "runtime" / "loading" / "steering.hp"
CPUS = sorted(os.sched_getaffinity(0))
FLOW = "FLOW [(src_ip, u32, 10.9.0.2), (dst_port, u16, {}), (action, u8, STEER), (queue, u8, {})]"
RULES = "create " + ", ".join(FLOW.format(9000 + n, n) for n in range(4))


@pytest.mark.usefixtures("kernel")
@pytest.mark.skipif(len(CPUS) < 2, reason="one CPU: every queue stands for it")
def test_a_packet_goes_on_where_its_queue_says(lab: Lab) -> None:
    outside, host = lab.namespace("far"), lab.namespace("near")
    lab.wire(outside, "eth0", host, "nic0")
    outside.address("eth0", "10.9.0.2/24")
    host.address("nic0", "10.9.0.1/24")
    compiled = compile_pipeline(check_file(STEERING))
    bundle = Bundle(compiled.manifest, compiled.object)
    config = Config((PortConfig(1, "NIC", 0, "nic0", 0),))
    name = f"hq{os.getpid()}"

    def load() -> list[socket.socket]:
        with Loaded.load(bundle, config, name) as loaded:
            loaded.apply(parse_request(Source("request", RULES)))
        return [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]

    receivers = host.inside_thread(load)
    try:
        sender = outside.inside_thread(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        with ExitStack() as sockets:
            for each in (*receivers, sender):
                sockets.enter_context(each)
            sender.bind(("10.9.0.2", 5000))
            for queue, receiver in enumerate(receivers):
                receiver.settimeout(10)
                receiver.bind(("10.9.0.1", 9000 + queue))
                receiver.connect(("10.9.0.2", 5000))  # or the kernel keeps no CPU
                sender.sendto(b"hello", ("10.9.0.1", 9000 + queue))
                assert receiver.recv(100) == b"hello"
                cpu = receiver.getsockopt(socket.SOL_SOCKET, SO_INCOMING_CPU)
                assert cpu == CPUS[queue % len(CPUS)], f"queue {queue} came on CPU {cpu}"
    finally:
        host.inside_thread(lambda: unload(name))
