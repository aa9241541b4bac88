"""Programs and links against the real kernel: what they do, survive and say."""

from __future__ import annotations

from errno import EBUSY, EEXIST, ENODEV
from pathlib import Path

import pytest
from helioc.runtime.kernel.handles import BpfError, Link, Object, Program, XdpMode
from lab import Lab, until
from tinybpf import DROP, PACKET, PASS, TX, word

pytestmark = pytest.mark.usefixtures("kernel")


def test_a_test_run_gives_verdict_bytes_and_time(small: Object) -> None:
    result = small.programs()["entry"].test_run(PACKET, repeat=100)
    assert (result.retval, result.data, result.metadata) == (PASS, PACKET, b"")
    assert 0 < result.duration_ns < 1_000_000
    assert small.programs()["longer"].test_run(PACKET).data[4:] == PACKET


def test_a_test_run_comes_from_an_interface(small: Object, lab: Lab) -> None:
    here, there = lab.namespace("here"), lab.namespace("there")
    lab.wire(here, "veth0", there, "veth0")
    index, entry = here.ifindex("veth0"), small.programs()["entry"]
    assert index != 1 and entry.test_run(PACKET).retval == PASS  # the kernel's choice: loopback
    run = here.inside_thread(lambda: entry.test_run(PACKET, ingress_ifindex=index))
    assert run.retval == TX
    with pytest.raises(BpfError, match="no interface 99999999 in this network namespace") as error:
        entry.test_run(PACKET, ingress_ifindex=99999999)
    assert error.value.errno == ENODEV


def test_metadata_is_told_from_the_packet(small: Object) -> None:
    result = small.programs()["tagged"].test_run(PACKET)
    assert result.metadata == bytes([4, 3, 2, 1]) and result.data == PACKET
    given = small.programs()["dropper"].test_run(PACKET, metadata=b"abcdefgh")
    assert given.metadata == b"abcdefgh" and given.data == PACKET


def test_a_packet_too_short_for_the_kernel_is_refused_in_words(small: Object) -> None:
    with pytest.raises(BpfError, match="on 13 bytes.*Ethernet header: 14 bytes"):
        small.programs()["entry"].test_run(bytes(13))
    assert len(small.programs()["entry"].test_run(bytes(14)).data) == 14


def test_a_long_packet_comes_back_whole(small: Object) -> None:
    packet = bytes(index & 0xFF for index in range(3000))
    assert small.programs()["longer"].test_run(packet).data[4:] == packet


def test_programs_are_found_by_pin_and_id(small: Object, pins: Path) -> None:
    program = small.programs()["dropper"]
    with program.pin(pins / "dropper"), Program.open_pinned(pins / "dropper") as again:
        assert (again.id, again.tag, again.name) == (program.id, program.tag, "dropper")
        assert again.test_run(PACKET).retval == DROP
    with Program.open_id(program.id) as found:
        assert found.id == program.id
    with pytest.raises(BpfError, match="open program 4294967295"):
        Program.open_id(0xFFFFFFFF)


def test_a_program_in_a_prog_array_runs_by_tail_call(small: Object) -> None:
    stages, entry, dropper = (
        small.maps()["stages"], small.programs()["entry"], small.programs()["dropper"]
    )  # fmt: skip
    stages.update(word(0), word(dropper.fileno()))
    assert entry.test_run(PACKET).retval == DROP
    stages.delete(word(0))
    assert entry.test_run(PACKET).retval == PASS


# Links


def test_a_link_attaches_updates_and_detaches(small: Object, lab: Lab) -> None:
    here, there = lab.namespace("here"), lab.namespace("there")
    lab.wire(here, "veth0", there, "veth0")
    index = here.ifindex("veth0")
    entry, dropper = small.programs()["entry"], small.programs()["dropper"]
    with here.inside_thread(lambda: Link.attach_xdp(entry, index)) as link:
        assert (link.info().program_id, link.info().ifindex) == (entry.id, index)
        link.update(dropper, expected=entry)
        assert link.info().program_id == dropper.id
        with pytest.raises(BpfError, match="another program is attached than was expected"):
            link.update(dropper, expected=entry)
        with pytest.raises(BpfError, match="another XDP program is attached") as error:
            here.inside_thread(lambda: Link.attach_xdp(entry, index))
        assert error.value.errno in (EBUSY, EEXIST)
        link.detach()
        link.detach()
        assert link.info().ifindex == 0
        with pytest.raises(BpfError, match="its interface is gone"):
            link.update(entry)


def test_a_pinned_link_stays_and_a_closed_one_goes(small: Object, lab: Lab, pins: Path) -> None:
    here, there = lab.namespace("here"), lab.namespace("there")
    lab.wire(here, "veth0", there, "veth0")
    index = here.ifindex("veth0")
    dropper = small.programs()["dropper"]

    def attached() -> bool:
        return "prog/xdp" in here.ip("link", "show", "veth0")

    with here.inside_thread(lambda: Link.attach_xdp(dropper, index)) as link:
        pin = link.pin(pins / "link")
    assert attached()
    with pin, Link.open_pinned(pins / "link") as again:
        assert again.info().program_id == dropper.id
    until(lambda: not attached(), "the kernel to detach", 5)  # it puts a pin's link later


def test_generic_mode_and_refusals_in_words(small: Object, lab: Lab) -> None:
    here, dropper = lab.namespace("here"), small.programs()["dropper"]
    index = here.ifindex("lo")
    with pytest.raises(BpfError, match="to interface lo: .*no native XDP: use the generic mode"):
        here.inside_thread(lambda: Link.attach_xdp(dropper, index))
    with here.inside_thread(lambda: Link.attach_xdp(dropper, index, XdpMode.GENERIC)):
        assert "xdpgeneric" in here.ip("link", "show", "lo")
    assert "xdpgeneric" not in here.ip("link", "show", "lo")
    with pytest.raises(BpfError, match="attach `dropper` to interface 4242: .*no such interface"):
        here.inside_thread(lambda: Link.attach_xdp(dropper, 4242))


def test_a_link_ends_with_its_interface(small: Object, lab: Lab) -> None:
    here, there = lab.namespace("here"), lab.namespace("there")
    lab.wire(here, "veth0", there, "veth0")
    index, dropper = here.ifindex("veth0"), small.programs()["dropper"]
    with here.inside_thread(lambda: Link.attach_xdp(dropper, index)) as link:
        here.ip("link", "delete", "veth0")
        assert link.info().ifindex == 0
